/* spawn.h - running a program and collecting what it says.
 *
 * The seam that the hammers run ipmitool, ssh and scp through, and the one implementation of it
 * that needs nobody else: children of this process, in the loop, each in a session of its own. A
 * command ends once, with its exit, its deadline, or because it could not be started; when it has
 * ended nothing of its session is left. The process must ignore SIGPIPE: a child need not read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/text/str.h"

#define COMMAND_OUTPUT_MAX ((uint32_t)1 << 20) /* of each stream; more is dropped, and counted */

struct spawn_run;

struct spawn_result {
    const char *why; /* it could not be started; NULL otherwise    */
    bool is_late;    /* killed at its deadline                     */
    int status;      /* exit code; 128 + signal when one ended it  */
    struct str out;  /* live for the call; any bytes               */
    struct str err;
    uint64_t dropped; /* bytes beyond COMMAND_OUTPUT_MAX            */
};

struct spawn_order {
    const char *const *argv; /* NULL at the end; argv[0] is looked for in the usual places */
    struct str input;        /* its standard input */
    uint64_t deadline_ms;    /* from now */
    void *self;
    void (*done)(void *self, const struct spawn_result *result);
};

/* `start` copies the order and never calls done() itself. NULL: out of memory. `cancel` ends it
 * without a result, and is not for one that has given its result. */
struct spawn_seam {
    void *self;
    struct spawn_run *(*start)(void *self, const struct spawn_order *order);
    void (*cancel)(void *self, struct spawn_run *run);
};

/* Children of this process. */
struct spawn_seam spawn_seam_own(uv_loop_t *loop);
