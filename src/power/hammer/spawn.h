/* spawn.h - running a program with a deadline and collecting its output.
 *
 * The hammers run ipmitool, ssh and scp through `struct spawn_ops`, so that tests can replace them.
 * The default implementation starts children of this process with libuv, each in its own session. A
 * command ends once: by its exit, at its deadline, or because it could not be started. No process
 * of its session is left then. The calling process must ignore SIGPIPE, because a child may close
 * its standard input.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/text/str.h"

/* Kept bytes of each output stream; further ones are counted in spawn_result.dropped. */
#define COMMAND_OUTPUT_MAX ((uint32_t)1 << 20)

struct spawn_run;

struct spawn_result {
    const char *why; /* why it could not be started; NULL: it was started    */
    bool is_late;    /* killed at its deadline                                */
    int status;      /* exit status, or 128 + the signal that ended it        */
    struct str out;  /* any bytes; valid during the callback                  */
    struct str err;
    uint64_t dropped; /* bytes beyond COMMAND_OUTPUT_MAX, of both streams      */
};

struct spawn_order {
    const char *const *argv; /* ends with NULL; argv[0] is searched in a fixed PATH */
    struct str input;        /* standard input */
    uint64_t deadline_ms;    /* from now */
    void *self;
    void (*done)(void *self, const struct spawn_result *result);
};

/* `start` copies the order and never calls done() itself. NULL: out of memory. `cancel` ends a run
 * without a result; it must not have had one. */
struct spawn_ops {
    void *self;
    struct spawn_run *(*start)(void *self, const struct spawn_order *order);
    void (*cancel)(void *self, struct spawn_run *run);
};

/* Starts children of this process. */
struct spawn_ops spawn_ops_default(uv_loop_t *loop);
