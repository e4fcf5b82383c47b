/* hooks.h - executes the Lua code of roles in a thread of its own (ADR 0007, ADR 0043).
 *
 * It implements port/hooks_port.h. Deliveries and veto requests are only recorded when they arrive;
 * the code is called in the thread, one call at a time, veto requests first. Results wait until the
 * loop calls hooks_pump(), so that the turn is never entered from its own order. The thread has no
 * access to the core: the arguments of a hook are created by hooks_callbacks.facts in the thread of
 * the loop, from hooks_pump() and in small portions, and names in hook commands are resolved there
 * when the call has ended.
 *
 * No Lua runs in the thread of the loop: a new file of a role is only recorded, and the worker
 * thread reads, compiles, runs and frees it.
 *
 * Rows of one role are answered in order, and so are those about one object. There is no order
 * between roles if there is a backlog: roles are served round-robin, however long one of them
 * takes. Rows of on_node_change that wait for the same role and node are combined into one call.
 *
 * All functions belong to the thread of the loop. Deliveries that exceed the queue wait as rows
 * without arguments, limited only by the outbox. Deliveries that are not answered when the
 * module is closed are delivered again after the next start. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "hooks/code_file.h"
#include "model/command.h"
#include "port/hooks_port.h"

/* Limits of deliveries with their arguments: number and bytes. Half of it is reserved for roles
 * that have none in the queue. */
#define HOOKS_QUEUE_MAX      256u
#define HOOKS_QUEUE_SIZE_MAX (4u << 20)
#define HOOKS_PUMP_MS        2     /* ms for creating arguments in one call of hooks_pump() */
#define HOOKS_CALLS_MAX      64u   /* calls of do_transition; more are refused with ERR_LIMIT */
#define HOOKS_VETOES_MAX     1024u /* lists of veto requests; more are answered with a veto */

struct hooks;

/* The arguments of a hook, as canonical JSON: hook(argument, context). */
struct hooks_facts {
    struct str argument;
    struct str context; /* empty = nil */
};

/* The result of do_transition. */
struct hooks_result {
    bool failed;     /* it raised an error or reached a limit */
    struct str text; /* the error with a traceback */
    /* result, runlog, wall data; ids are zero. A failure is RESULT_FAILED with the text as runlog
     */
    struct run_done_command done;
};

struct hooks_callbacks {
    void *self;
    /* From either thread: request a call of hooks_pump() soon, in the thread of the loop and not
     * from here. Must not block on the loop. */
    void (*wake)(void *self);
    /* From either thread: monotonic time in ms. NULL: the clock of the kernel. */
    int64_t (*mono_ms)(void *self);
    /* The others are called in the thread of the loop, from hooks_pump() unless stated otherwise.
     */

    /* A function of the role is about to be called: make its code available. Returns its name,
     * valid until the next call; empty: unknown. Also called from ask() and hooks_call(). May be
     * NULL. */
    struct str (*prepare)(void *self, int64_t role_id);
    /* The arguments of the hook of this row; strings are created in the arena or are static. False:
     * its object was deleted, and the row is answered without a call. Not called for HOOK_TEMPLATE,
     * which has no arguments. */
    bool (*facts)(void *self, const struct outbox_record *row, struct arena *arena,
                  struct hooks_facts *out_facts);
    /* The id of a node, role, deployment or attrib by name; 0: none. */
    int64_t (*find)(void *self, enum table table, struct str name);
    /* Submits a result. ERR_LIMIT: try again later; any other error is final. */
    err (*submit)(void *self, const struct command *command);
    err (*answer)(void *self, uint64_t token, const struct veto_reply *veto_replies,
                  uint32_t count);
    /* The result of hooks_call(); those of one role in the order of the calls. Strings are valid
     * during the call. */
    void (*called)(void *self, uint64_t key, const struct hooks_result *result);
    /* The result of hooks_load() or hooks_keep_code(), unless the code of the role was changed
     * again since. Strings are valid during the call. May be NULL. */
    void (*loaded)(void *self, int64_t role_id, err error, const struct hooks_report *report);
};

/* NULL if the thread could not be started. */
struct hooks *hooks_open(struct hooks_callbacks callbacks, struct sandbox_limits limits);
/* Ends the active call and drops pending ones. NULL is ignored. */
void hooks_close(struct hooks *h);
struct hooks_port hooks_port(struct hooks *h);

/* ---- code ---- */

/* Which functions does this file define? It is read, compiled and run at once in the calling
 * thread, which must not be that of the loop. ERR_SYNTAX: the file is invalid; ERR_LIMIT: it is too
 * large; ERR_NOT_FOUND, ERR_IO. Strings of the report are allocated in the arena. */
NODISCARD err hooks_inspect(const char *path, struct arena *arena, struct hooks_report *out_report);

/* Each of these functions applies to every call that starts after it, also to pending ones; an
 * active call finishes with the code it started with. */

/* Set the file with the code of the role. The thread reads it before the next call of the role,
 * or when it is idle, and hooks_callbacks.loaded() gets OK or an error as above. If the file is
 * invalid, the old code stays in use; without old code, calls fail with the text of the report.
 * A file that was not read when the next one is set is never read. */
void hooks_load(struct hooks *h, int64_t role_id, const char *path);
/* The role should have other code that cannot be read: same as an invalid file, with ERR_IO. */
void hooks_keep_code(struct hooks *h, int64_t role_id, struct str why);
/* The role has no code any more: pending hooks are answered without a call, and only do_transition
 * fails. */
void hooks_unload(struct hooks *h, int64_t role_id);
/* The role should have code and there is none: calls fail with this reason. */
void hooks_set_missing(struct hooks *h, int64_t role_id, struct str why);

/* ---- calls ---- */

/* Call do_transition(noderole, data), with the data as context. hooks_callbacks.called() gets the
 * result with `key`. ERR_LIMIT: too many calls are pending. */
NODISCARD err hooks_call(struct hooks *h, int64_t role_id, const struct hooks_facts *facts,
                         uint64_t key);
/* True if hooks_call() would accept a call. */
bool hooks_can_call(const struct hooks *h);

/* Submit results and queue pending rows. True if a result was submitted. To be called when woken,
 * and again after each turn while a result was refused with ERR_LIMIT. */
bool hooks_pump(struct hooks *h);
/* Execute and submit everything, until nothing is pending or nothing is accepted. True if a result
 * was submitted. A caller that uses this instead of hooks_pump(), and loads code only when nothing
 * is pending for it, gets the same results in the same order for the same rows: no clock and no
 * round-robin, but first the results of files, then veto replies, then calls and rows, each in
 * order of arrival. The thread is idle afterwards, and not inside hooks_callbacks.wake(). */
bool hooks_run_until_idle(struct hooks *h);
/* Number of deliveries, veto requests and calls without a submitted result. */
uint32_t hooks_pending_count(const struct hooks *h);
