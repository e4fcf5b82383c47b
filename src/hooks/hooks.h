/* hooks.h - the thread in which the code of roles runs (DECISIONS D20).
 *
 * It stands behind port/hooks_port.h. Deliveries and questions are only noted when they come; the
 * code is called in the thread, one call at a time, questions before the rest. What came of it
 * waits until the loop calls hooks_pump(), so the turn is never entered from its own order. The
 * thread sees no core: what a hook is given is made by hooks_seams.facts in the loop's thread, from
 * hooks_pump() and only a little of it at a time, and names in its wishes are looked up there when
 * it has answered.
 *
 * Nothing of Lua happens in the loop's thread: that a role has a file is only noted as well, and
 * the thread reads it, compiles it, runs it and gets rid of it.
 *
 * Rows of one role are answered in their order, so also those about one object. Between roles there
 * is no order when they are behind: each that has something to do gets its turn, however long
 * another one takes. Rows of on_node_change that wait for the same role and node are one call.
 *
 * All functions belong to the loop's thread. Deliveries beyond the queue wait as their bare rows,
 * without limit but that of the outbox. What is not answered when it closes is not answered at
 * all: rows are delivered again after the next start.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "hooks/code_file.h"
#include "model/command.h"
#include "port/hooks_port.h"

/* Deliveries with what they are given, and its bytes; half of it is for roles that have none. */
#define HOOKS_QUEUE_MAX      256u
#define HOOKS_QUEUE_SIZE_MAX (4u << 20)
#define HOOKS_PUMP_MS        2     /* for making what they are given, in one go */
#define HOOKS_CALLS_MAX      64u   /* calls; more are refused for now */
#define HOOKS_ASKS_MAX       1024u /* lists of questions; more are answered with a veto */

struct hooks;

/* What a hook is called with, as canonical JSON: hook(argument, context). */
struct hooks_facts {
    struct str argument;
    struct str context; /* empty = nil */
};

/* What do_transition answered. */
struct hooks_result {
    bool failed;                  /* it did not come to an answer */
    struct str text;              /* why, with a traceback        */
    struct run_done_command done; /* result, runlog, wall ...; ids are zero. A failure is
                                   * RESULT_FAILED with the text as runlog */
};

struct hooks_seams {
    void *self;
    /* From either thread: have hooks_pump() called soon, in the loop's thread and not from here. It
     * must not wait for the loop. */
    void (*wake)(void *self);
    /* From either thread: milliseconds that never go back. NULL: those of the kernel. */
    int64_t (*mono_ms)(void *self);
    /* The rest is called in the loop's thread, from hooks_pump() if it does not say otherwise. */

    /* Something of the role is about to be called: see to its code. Its name, which lives for the
     * moment; empty: nobody knows. From ask() and hooks_call() too. May be NULL. */
    struct str (*prepare)(void *self, int64_t role_id);
    /* What the hook of this row is given; texts are made in the arena, or live for ever. False: its
     * object is gone, and the row is answered without a call. Not asked for HOOK_TEMPLATE, which is
     * given nothing. */
    bool (*facts)(void *self, const struct outbox_record *row, struct arena *arena,
                  struct hooks_facts *out_facts);
    /* The id behind a name of a node, role, deployment or attrib; 0 = none. */
    int64_t (*find)(void *self, enum table table, struct str name);
    /* Takes an answer. ERR_LIMIT: later; any other error: never. */
    err (*submit)(void *self, const struct command *command);
    err (*answer)(void *self, uint64_t token, const struct answer *answers, uint32_t count);
    /* What came of hooks_call(); those of one role in the order of the calls. Texts live for the
     * call. */
    void (*called)(void *self, uint64_t key, const struct hooks_result *result);
    /* What came of hooks_load() or hooks_keep(), unless something else was said of the role's code
     * since. Texts live for the call. May be NULL. */
    void (*loaded)(void *self, int64_t role_id, err error, const struct hooks_report *report);
};

/* NULL when no thread could be started. */
struct hooks *hooks_open(struct hooks_seams seams, struct sandbox_limits limits);
/* Ends what is running, drops what waits. NULL is fine. */
void hooks_close(struct hooks *h);
struct hooks_port hooks_port(struct hooks *h);

/* ---- code ---- */

/* What would this file define? It is read, compiled and run at once, in whichever thread asks: not
 * in one that anybody waits for. ERR_SYNTAX: the file is wrong; ERR_LIMIT: it is too large;
 * ERR_NOT_FOUND, ERR_IO. Texts of the report go into the arena. */
NODISCARD err hooks_inspect(const char *path, struct arena *arena, struct hooks_report *out_report);

/* Each of these is true of every call that begins from now on, also of those that wait already; a
 * call that runs finishes with what it began with. */

/* This file is the code of the role. The thread reads it before the next call of the role, or when
 * it gets round to it, and hooks_seams.loaded() is told: OK, or an error as above. The old code
 * stays when the file is wrong; if there was none, calls fail with the text of the report. A file
 * that was not read when the next one is named is never read. */
void hooks_load(struct hooks *h, int64_t role_id, const char *path);
/* The role should have other code and that cannot be had: as a file that is wrong, with ERR_IO. */
void hooks_keep(struct hooks *h, int64_t role_id, struct str why);
/* The role has no code any more: what was to be called is answered without a call, and only work
 * fails. */
void hooks_unload(struct hooks *h, int64_t role_id);
/* The role should have code and there is none to be had: calls fail, and say why. */
void hooks_miss(struct hooks *h, int64_t role_id, struct str why);

/* ---- calls ---- */

/* Call the one function of a role that is no hook: do_transition(noderole, data), with the data as
 * context. hooks_seams.called() gets the result under `key`. ERR_LIMIT: too many wait. */
NODISCARD err hooks_call(struct hooks *h, int64_t role_id, const struct hooks_facts *facts,
                         uint64_t key);
/* Would a call be taken now? */
bool hooks_takes_calls(const struct hooks *h);

/* Hand over what was answered, and queue what waits. True when an answer was handed over. To be
 * called when woken, and again after each turn while an answer was not taken (ERR_LIMIT). */
bool hooks_pump(struct hooks *h);
/* Let the thread read and answer everything, and hand it over: until nothing waits, or nothing is
 * taken. True when an answer was handed over. Whoever calls this instead of hooks_pump(), and loads
 * code only when nothing waits for it, gets the same answers in the same order for the same rows:
 * no clock and no turns, but first what came of files, then of questions, then calls and rows, each
 * as they came. The thread is idle afterwards, and not inside hooks_seams.wake(). */
bool hooks_settle(struct hooks *h);
/* Deliveries, questions and calls that were not handed back yet. */
uint32_t hooks_waiting(const struct hooks *h);
