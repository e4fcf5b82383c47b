/* task.h - one call of a function of a role: what goes in and what came of it.
 *
 * Made in the loop's thread, carried out in the thread of the hooks, read in the loop's thread
 * again; never in two of them at once. Texts live in its arena.
 */
#pragma once

#include <stdbool.h>

#include "base/mem/arena.h"
#include "base/text/str.h"
#include "hooks/hook_commands.h"
#include "model/command.h"
#include "model/reason.h"
#include "sys/log.h"

enum task_kind {
    TASK_READ,       /* the file is run to see what it defines       */
    TASK_TELL,       /* something happened: the answer is wishes     */
    TASK_ASK,        /* may this be? the answer is yes or a veto     */
    TASK_COMPUTE,    /* what are your data? the answer is a document */
    TASK_TRANSITION, /* do it: the answer is the result of a run     */
};

struct lane;

struct task {
    struct arena *arena;
    enum task_kind kind;
    int64_t role_id;
    struct lane *lane;       /* of the role */
    struct str role;         /* its name, for messages; empty = not known */
    const char *function;    /* "on_todo"; static text */
    struct str arguments[2]; /* canonical JSON; empty = not given */
    bool is_void;            /* there is nothing to call any more */
    /* what came of it */
    bool failed;
    bool ran_out; /* of processor time */
    bool veto;
    enum reason_code reason; /* of the failure */
    struct str text;         /* of the failure, with a traceback; or of the veto */
    struct hook_commands wishes;
    struct str value;             /* TASK_COMPUTE: an object; empty before the call */
    struct run_done_command done; /* TASK_TRANSITION; ids are left to the asker */
    struct str log;               /* the end of what it logged           */
    struct arena_mark kept;       /* behind what is kept of the arena    */
};

/* Whose call it is, for lines of the log. */
static inline struct log_field task_log_role(const struct task *task)
{
    return (struct log_field){
        .key = "role", .is_text = task->role.len > 0, .text = task->role, .number = task->role_id};
}
