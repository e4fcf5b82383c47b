#include "turn/turn_private.h"

/* Start, failure of the store, and recovery. Recovery is the start: the core is dropped and loaded
 * again from the store, so there is one path for both.
 *
 * A batch that was not committed is failed to its clients at once. If the answer of the store was
 * lost (ERR_UNKNOWN), the batch is in doubt: its replies are held until leadership is acquired
 * again, which fences or completes everything that was in progress; the turn of the store then
 * shows whether the batch is in.
 *
 * Order of recovery: without a batch in doubt, load first and lead afterwards, so that a store that
 * is refused as damaged has not been written to; with a batch in doubt, or if the store cannot be
 * read before lead() has connected to it again, lead first. Replies of a batch that turned out to
 * be committed are sent only after the load, because their readers expect a core that has its rows.
 * Effects are not repeated from the batch but derived from the loaded rows (core_resume).
 *
 * This file owns the fields of struct turn that are listed under "Failure and recovery". A failed
 * load or commit is retried with exponential delays of 100 ms to 6.4 s. Two results are final:
 * another daemon has the leadership (fenced), or the store is not at the turn this daemon wrote
 * last. */

enum { RETRY_FIRST_MS = 100, RETRY_DOUBLINGS = 6 };

/* ---- failing requests ---- */

void turn_fail_request(struct turn *t, int64_t request, err why)
{
    if (request)
        t->ports.reply.failed(t->ports.reply.self, request, why);
}

/* Fail all commands of the batch and free it. */
static void recover_fail_batch(struct turn *t, err why)
{
    for (const struct pending_reply *r = t->replies; r; r = r->next)
        turn_fail_request(t, r->input->command.request, why);
    turn_forget_batch(t);
}

struct request_failure {
    struct turn *turn;
    err why;
};

static void recover_fail_one(void *self, int64_t request)
{
    const struct request_failure *failure = self;
    turn_fail_request(failure->turn, request, failure->why);
}

void turn_fail_inputs(struct turn *t, err why)
{
    struct request_failure failure = {t, why};
    command_queue_drop_requests(&t->inputs, recover_fail_one, &failure);
}

/* Fail all requests that are queued or wait for a plan. */
static void recover_fail_waiting(struct turn *t, err why)
{
    turn_fail_inputs(t, why);
    plans_fail_requests(t, why);
}

static void recover_fail_pending(struct turn *t, err why)
{
    for (uint32_t i = 0; i < TURN_PENDING_MAX; i++) {
        struct pending_command *pending = &t->pending.slots[i];
        if (!pending->token)
            continue;
        int64_t request = pending->input.command.request;
        pending_remove(&t->pending, pending);
        turn_fail_request(t, request, why);
    }
}

/* ---- a store that does not answer ---- */

void turn_set_stalled(struct turn *t, bool is_stalled)
{
    t->is_stalled = is_stalled;
}

void turn_expire_requests(struct turn *t)
{
    for (struct pending_reply *r = t->replies; r; r = r->next) {
        const int64_t request = r->input->command.request;
        if (request <= 0)
            continue;
        r->input->command.request = 0;
        turn_fail_request(t, request, ERR_UNKNOWN);
    }
}

/* ---- failure of the store ---- */

static enum turn_status recover_stop(struct turn *t, err why, const char *text)
{
    t->phase = PHASE_STOPPED;
    t->trouble = why;
    t->trouble_text = text;
    /* A batch in doubt may be committed, and one with unsent replies is committed; ERR_FENCED would
     * state that it is not. */
    recover_fail_batch(t, t->in_doubt || t->replies_unsent ? ERR_UNKNOWN : ERR_FENCED);
    recover_fail_waiting(t, ERR_FENCED);
    recover_fail_pending(t, ERR_FENCED);
    return TURN_STOPPED;
}

static int64_t recover_retry_delay_ms(uint32_t failures)
{
    if (failures <= 1)
        return 0;
    uint32_t doublings = failures - 2 < RETRY_DOUBLINGS ? failures - 2 : RETRY_DOUBLINGS;
    return (int64_t)RETRY_FIRST_MS << doublings;
}

/* The core has rows that are not in the store, or may not be, so it must be dropped. The first
 * reload is tried at once; after repeated failures the next batch waits longer each time. */
enum turn_status turn_commit_failed(struct turn *t, err why, const char *text)
{
    t->in_flight = false;
    if (why == ERR_FENCED)
        return recover_stop(t, why, "another daemon leads the store");
    t->phase = PHASE_DOWN;
    t->reload = t->is_ahead = true;
    t->reload_ms = t->mono_ms;
    t->loads_failed = 0;
    t->commits_failed++;
    t->write_ms = t->mono_ms + recover_retry_delay_ms(t->commits_failed);
    t->trouble = why;
    t->trouble_text = text;
    if (why == ERR_UNKNOWN)
        t->in_doubt = true;
    else
        recover_fail_batch(t, why == ERR_LIMIT ? ERR_LIMIT : ERR_UNAVAILABLE);
    return TURN_DOWN;
}

/* Later batches have fewer rows. A single command that exceeds the limit fails with ERR_LIMIT. */
enum turn_status turn_batch_too_large(struct turn *t)
{
    enum { SHARE = 16 };
    t->rows_max = t->rows_max > SHARE ? t->rows_max / SHARE : 1;
    return turn_commit_failed(t, ERR_LIMIT, "a batch exceeds the size that the store accepts");
}

enum turn_status turn_store_lost(struct turn *t, err why)
{
    const enum turn_status status =
        turn_commit_failed(t, why, "the connection to the store was lost");
    /* No batch was in flight, so only changes that are not collected are missing in the store. */
    t->is_ahead = core_changed(t->core) > 0;
    return status;
}

enum turn_status turn_reload_core(struct turn *t)
{
    t->phase = PHASE_DOWN;
    t->reload = true;
    t->reload_ms = t->write_ms = t->mono_ms;
    t->trouble_text = "reloading the core";
    return turn_recover(t);
}

/* ---- start and recovery ---- */

static enum turn_status recover_load_failed(struct turn *t, err why, const char *text)
{
    t->phase = PHASE_DOWN;
    t->reload = true;
    t->loads_failed++;
    t->reload_ms = t->mono_ms + recover_retry_delay_ms(t->loads_failed + 1);
    t->trouble = why;
    t->trouble_text = text;
    recover_fail_waiting(t, ERR_UNAVAILABLE);
    return TURN_DOWN;
}

/* The turn of the store is known, which decides about a batch in doubt. If it is committed, its
 * replies are sent after the load, and its effects are repeated by core_resume(). */
static void recover_resolve_doubt(struct turn *t)
{
    if (!t->in_doubt)
        return;
    t->in_doubt = false;
    if (t->mark.turn == t->batch.turn) {
        turn_now_durable(t);
        t->replies_unsent = true;
        return;
    }
    recover_fail_batch(t, ERR_UNAVAILABLE);
}

/* A daemon that has led must find the store at the last turn that was acknowledged, or after its
 * batch in doubt. Any other turn means another store, or an older copy of this one, for example a
 * standby that lagged; continuing would assign the same ids twice. */
static bool recover_store_is_unchanged(const struct turn *t, const struct store_mark *mark)
{
    return t->mark.epoch == 0 || mark->turn == t->mark.turn ||
           (t->in_doubt && mark->turn == t->batch.turn);
}

struct loading {
    struct turn *turn;
    const struct store_mark *mark;
    uint64_t records;
    const char *what;
};

static err recover_load_record(void *self, const struct record *record)
{
    struct loading *loading = self;
    if (turn_crashes_at(loading->turn, TURN_POINT_LOAD_RECORD))
        return ERR_IO;
    loading->records++;
    return core_load(loading->turn->core, record, &loading->what);
}

/* Invariant I1: the loaded records have the digest that was stored with the last batch. */
static err recover_check_digest(struct turn *t, struct loading *loading)
{
    err e = core_load_end(t->core, t->mono_ms, &loading->what);
    if (e != OK || !loading->mark->has_digest ||
        digest_eq(core_digest(t->core), loading->mark->digest))
        return e;
    loading->what =
        "the stored records are damaged: their digest differs from the one that was stored";
    return ERR_CORRUPT;
}

static err recover_load_records(struct turn *t, struct loading *loading)
{
    const struct store_port *store = &t->ports.store;
    plans_forget(t);
    core_free(t->core);
    t->core = core_new();
    if (t->ports.deletion_rows)
        core_set_deletion_rows(t->core, t->ports.deletion_rows);
    if (t->ports.boot_part)
        core_set_boot_part(t->core, t->ports.boot_part);
    err e = store->load(store->self, (struct record_callback){loading, recover_load_record});
    if (e != OK)
        return e;
    if (loading->records)
        return recover_check_digest(t, loading);
    if (loading->mark->turn != 0) {
        loading->what = "the store has turns but no records";
        return ERR_CORRUPT;
    }
    core_bootstrap(t->core, t->now_ms);
    return OK;
}

/* Replace the core by one that is loaded from the store; `mark` is the position of the store. */
static enum turn_status recover_load(struct turn *t, const struct store_mark *mark)
{
    if (turn_crashes_at(t, TURN_POINT_LOAD_BEFORE))
        return TURN_CRASHED;
    struct loading loading = {.turn = t, .mark = mark, .what = "the store could not be read"};
    err e = recover_load_records(t, &loading);
    if (t->phase == PHASE_CRASHED)
        return TURN_CRASHED;
    if (e != OK) {
        plans_forget(t);
        core_free(t->core);
        t->core = NULL;
        return recover_load_failed(t, e, loading.what);
    }
    if (turn_crashes_at(t, loading.records ? TURN_POINT_LOAD_AFTER : TURN_POINT_FOUND_AFTER))
        return TURN_CRASHED;
    t->reload = t->is_ahead = false;
    t->loads++;
    t->loads_failed = 0;
    /* Now, although the leadership may have to be acquired yet: if that fails, the core that was
     * loaded remains, and a base image must not have entries of two cores. */
    return turn_report_boot_load(t) ? TURN_AGAIN : TURN_CRASHED;
}

/* Repeat the effects that may not have been performed; it is not recorded which were. */
static enum turn_status recover_resume(struct turn *t)
{
    struct effects effects = {0};
    if (turn_crashes_at(t, TURN_POINT_RESUME_BEFORE))
        return TURN_CRASHED;
    core_resume(t->core, &t->arena, &effects);
    if (!turn_perform_effects(t, &effects) || turn_crashes_at(t, TURN_POINT_RESUME_AFTER))
        return TURN_CRASHED;
    turn_forget_batch(t);
    return TURN_AGAIN;
}

static enum turn_status recover_lead(struct turn *t)
{
    const struct store_port *store = &t->ports.store;
    struct store_mark mark = {0};
    if (turn_crashes_at(t, TURN_POINT_LEAD_BEFORE))
        return TURN_CRASHED;
    err e = store->lead(store->self, t->mark.epoch, &mark);
    if (e == ERR_FENCED)
        return recover_stop(t, e, "another daemon leads the store");
    if (e != OK)
        return recover_load_failed(t, e, "the leadership of the store could not be acquired");
    if (!recover_store_is_unchanged(t, &mark))
        return recover_stop(
            t, ERR_CORRUPT,
            "the store is not at the turn that this daemon wrote last: turns were lost or added");
    t->mark = mark;
    times_anchor(t, mark.now_ms);
    if (turn_crashes_at(t, TURN_POINT_LEAD_AFTER))
        return TURN_CRASHED;
    recover_resolve_doubt(t);
    return TURN_AGAIN;
}

/* With a batch in doubt, acquire the leadership first: it decides what becomes of the batch. Also
 * used if the connection to the store was lost, because lead() connects again. */
static enum turn_status recover_lead_then_load(struct turn *t)
{
    enum turn_status status = recover_lead(t);
    if (status == TURN_AGAIN)
        status = recover_load(t, &t->mark);
    if (status != TURN_AGAIN || !t->replies_unsent)
        return status;
    if (!turn_send_replies(t))
        return TURN_CRASHED;
    turn_forget_batch(t);
    return TURN_AGAIN;
}

/* Load and check before anything is written: a store that is refused is left unchanged, and one
 * that can be read but not written can still be read. If another daemon wrote between load and
 * lead, load again. */
static enum turn_status recover_load_then_lead(struct turn *t)
{
    const struct store_port *store = &t->ports.store;
    struct store_mark mark;
    err e = store->read_mark(store->self, &mark);
    if (e != OK && t->mark.epoch)
        return recover_lead_then_load(t); /* lead() reconnects */
    if (e != OK)
        return recover_load_failed(t, e, "the store could not be read");
    times_anchor(t, mark.now_ms);
    enum turn_status status = recover_load(t, &mark);
    if (status == TURN_AGAIN)
        status = recover_lead(t);
    if (status == TURN_AGAIN && t->mark.turn != mark.turn)
        status = recover_load(t, &t->mark);
    return status;
}

/* Phase DOWN: load when reload_ms has come, continue with batches when write_ms has come. Between
 * the two the loaded core can be read. */
enum turn_status turn_recover(struct turn *t)
{
    if (t->reload) {
        if (t->mono_ms < t->reload_ms)
            return TURN_DOWN;
        enum turn_status status = t->in_doubt || t->replies_unsent ? recover_lead_then_load(t)
                                                                   : recover_load_then_lead(t);
        if (status == TURN_AGAIN)
            status = recover_resume(t);
        if (status != TURN_AGAIN)
            return status;
    }
    if (t->mono_ms < t->write_ms) {
        recover_fail_waiting(t, ERR_UNAVAILABLE);
        return TURN_DOWN;
    }
    t->phase = PHASE_LIVE;
    t->trouble = OK;
    t->trouble_text = "";
    return TURN_AGAIN;
}

const char *turn_point_name(enum turn_point point)
{
    static const char *const names[] = {
#define X(name, text) [TURN_POINT_##name] = text,
        TURN_POINTS(X)
#undef X
    };
    must(point < TURN_POINT_COUNT);
    return names[point];
}
