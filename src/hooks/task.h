/* task.h - one call of a function of a role: arguments and result.
 *
 * Created in the thread of the loop, executed in the worker thread, and read in the thread of the
 * loop; never accessed by both at once. Strings are allocated in its arena. */
#pragma once

#include <stdbool.h>

#include "base/mem/arena.h"
#include "base/text/str.h"
#include "hooks/hook_commands.h"
#include "model/command.h"
#include "model/reason.h"
#include "sys/log.h"

enum task_kind {
    TASK_INSPECT,    /* run the file to list its functions */
    TASK_NOTIFY,     /* notification: the result is hook commands */
    TASK_VETO,       /* veto request: the result is consent or a veto */
    TASK_COMPUTE,    /* computed data: the result is a document */
    TASK_TRANSITION, /* do_transition: the result of a run */
};

struct role_queue;

struct task {
    struct arena *arena;
    enum task_kind kind;
    int64_t role_id;
    struct role_queue *role_queue; /* queue of the role */
    struct str role;               /* its name, for messages; empty: unknown */
    const char *function;          /* "on_todo"; static string */
    struct str arguments[2];       /* canonical JSON; empty: nil */
    bool is_obsolete;              /* its object was deleted: do not call */
    /* result */
    bool failed;
    bool timed_out; /* it reached the limit of processor time */
    bool veto;
    enum reason_code reason; /* code of the failure */
    struct str text;         /* text of the failure with a traceback, or of the veto */
    struct hook_commands commands;
    struct str value;             /* TASK_COMPUTE: an object; empty before the call */
    struct run_done_command done; /* TASK_TRANSITION; ids are set by the caller */
    struct str log;               /* last part of its log lines */
    struct arena_mark kept;       /* end of the part of the arena that is kept */
};

/* The role as a field of log lines. */
static inline struct log_field task_log_role(const struct task *task)
{
    return (struct log_field){
        .key = "role", .is_text = task->role.len > 0, .text = task->role, .number = task->role_id};
}
