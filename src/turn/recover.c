#include "turn/turn_private.h"

enum { RETRY_FIRST_MS = 100, RETRY_DOUBLINGS = 6 };

/* ---- saying that something was not done ---- */

void turn_fail_request(struct turn *t, int64_t request, err why)
{
    if (request)
        t->ports.reply.failed(t->ports.reply.self, request, why);
}

/* The commands of the batch will never be done by us. */
static void fail_batch_requests(struct turn *t, err why)
{
    for (const struct pending_reply *d = t->debts; d; d = d->next)
        turn_fail_request(t, d->input->command.request, why);
    turn_forget_batch(t);
}

struct excuse {
    struct turn *turn;
    err why;
};

static void excuse_one(void *self, int64_t request)
{
    const struct excuse *excuse = self;
    turn_fail_request(excuse->turn, request, excuse->why);
}

void turn_excuse_inputs(struct turn *t, err why)
{
    struct excuse excuse = {t, why};
    command_queue_drop_requests(&t->inputs, excuse_one, &excuse);
}

/* Answer all requests that wait for their turn or for a plan. */
static void excuse_waiting(struct turn *t, err why)
{
    turn_excuse_inputs(t, why);
    plans_excuse(t, why);
}

static void excuse_parked(struct turn *t, err why)
{
    for (uint32_t i = 0; i < TURN_PARKED_MAX; i++) {
        struct parked *parked = &t->parking.places[i];
        if (!parked->token)
            continue;
        int64_t request = parked->input.command.request;
        parking_remove(&t->parking, parked);
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
    for (struct pending_reply *d = t->debts; d; d = d->next) {
        const int64_t request = d->input->command.request;
        if (request <= 0)
            continue;
        d->input->command.request = 0;
        turn_fail_request(t, request, ERR_UNKNOWN);
    }
}

/* ---- when the store fails ---- */

static enum turn_status stop(struct turn *t, err why, const char *text)
{
    t->phase = PHASE_STOPPED;
    t->trouble = why;
    t->trouble_text = text;
    fail_batch_requests(t, t->in_doubt || t->replies_unsent ? ERR_UNKNOWN : ERR_FENCED);
    excuse_waiting(t, ERR_FENCED);
    excuse_parked(t, ERR_FENCED);
    return TURN_STOPPED;
}

static int64_t retry_delay(uint32_t failures)
{
    if (failures <= 1)
        return 0;
    uint32_t doublings = failures - 2 < RETRY_DOUBLINGS ? failures - 2 : RETRY_DOUBLINGS;
    return (int64_t)RETRY_FIRST_MS << doublings;
}

/* The store did not take the batch, or may not have: what the core shows cannot be trusted. The
 * first reload is tried at once; batches that keep failing are tried ever more seldom. */
enum turn_status turn_commit_failed(struct turn *t, err why, const char *text)
{
    t->in_flight = false;
    if (why == ERR_FENCED)
        return stop(t, why, "another daemon leads the store");
    t->phase = PHASE_DOWN;
    t->reload = t->is_ahead = true;
    t->reload_ms = t->mono_ms;
    t->loads_failed = 0;
    t->commits_failed++;
    t->write_ms = t->mono_ms + retry_delay(t->commits_failed);
    t->trouble = why;
    t->trouble_text = text;
    if (why == ERR_UNKNOWN)
        t->in_doubt = true;
    else
        fail_batch_requests(t, why == ERR_LIMIT ? ERR_LIMIT : ERR_UNAVAILABLE);
    return TURN_DOWN;
}

/* The next ones are made of fewer rows. A single command that needs more cannot be done. */
enum turn_status turn_batch_too_large(struct turn *t)
{
    enum { SHARE = 16 };
    t->rows_max = t->rows_max > SHARE ? t->rows_max / SHARE : 1;
    return turn_commit_failed(t, ERR_LIMIT, "a batch grew larger than a store can take");
}

enum turn_status turn_store_lost(struct turn *t, err why)
{
    const enum turn_status status = turn_commit_failed(t, why, "the store was lost");
    t->is_ahead = core_changed(t->core) > 0;
    return status;
}

enum turn_status turn_reload_core(struct turn *t)
{
    t->phase = PHASE_DOWN;
    t->reload = true;
    t->reload_ms = t->write_ms = t->mono_ms;
    t->trouble_text = "loading afresh";
    return turn_recover(t);
}

/* ---- start and recovery ---- */

static enum turn_status load_failed(struct turn *t, err why, const char *text)
{
    t->phase = PHASE_DOWN;
    t->reload = true;
    t->loads_failed++;
    t->reload_ms = t->mono_ms + retry_delay(t->loads_failed + 1);
    t->trouble = why;
    t->trouble_text = text;
    excuse_waiting(t, ERR_UNAVAILABLE);
    return TURN_DOWN;
}

/* The store says where it stands, so the doubt about the last batch is over. If it is in, its
 * commands are done; they are told so when there is a core again that shows it, and its effects
 * come back out of core_resume. */
static void resolve_doubt(struct turn *t)
{
    if (!t->in_doubt)
        return;
    t->in_doubt = false;
    if (t->mark.turn == t->batch.turn) {
        turn_now_durable(t);
        t->replies_unsent = true;
        return;
    }
    fail_batch_requests(t, ERR_UNAVAILABLE);
}

/* Somebody who led must find the store where it was left: at the last turn that was acknowledged,
 * or behind the batch in doubt. Anywhere else it is another store, or an older copy of this one
 * (a standby that had not heard everything), and going on would give out the same ids twice. */
static bool is_where_we_left_it(const struct turn *t, const struct store_mark *mark)
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

static err load_record(void *self, const struct record *record)
{
    struct loading *loading = self;
    if (turn_dies(loading->turn, TURN_POINT_LOAD_RECORD))
        return ERR_IO;
    loading->records++;
    return core_load(loading->turn->core, record, &loading->what);
}

/* I1: what comes out is what went in. */
static err finish_load(struct turn *t, struct loading *loading)
{
    err e = core_load_end(t->core, t->mono_ms, &loading->what);
    if (e != OK || !loading->mark->has_digest ||
        digest_eq(core_digest(t->core), loading->mark->digest))
        return e;
    loading->what = "the records are not those that were written: their digest differs";
    return ERR_CORRUPT;
}

static err load_all(struct turn *t, struct loading *loading)
{
    const struct store_port *store = &t->ports.store;
    plans_forget(t);
    core_free(t->core);
    t->core = core_new();
    err e = store->load(store->self, (struct store_visitor){loading, load_record});
    if (e != OK)
        return e;
    if (loading->records)
        return finish_load(t, loading);
    if (loading->mark->turn != 0) {
        loading->what = "the store has turns but no records";
        return ERR_CORRUPT;
    }
    core_bootstrap(t->core, t->now_ms);
    return OK;
}

/* `mark` is where the store stands. */
static enum turn_status load(struct turn *t, const struct store_mark *mark)
{
    if (turn_dies(t, TURN_POINT_LOAD_BEFORE))
        return TURN_CRASHED;
    struct loading loading = {.turn = t, .mark = mark, .what = "the store could not be read"};
    err e = load_all(t, &loading);
    if (t->phase == PHASE_CRASHED)
        return TURN_CRASHED;
    if (e != OK) {
        plans_forget(t);
        core_free(t->core);
        t->core = NULL;
        return load_failed(t, e, loading.what);
    }
    if (turn_dies(t, loading.records ? TURN_POINT_LOAD_AFTER : TURN_POINT_FOUND_AFTER))
        return TURN_CRASHED;
    t->reload = t->is_ahead = false;
    t->loads++;
    t->loads_failed = 0;
    return TURN_AGAIN;
}

/* Tell the world again what it may not have heard: we cannot know how far we came. */
static enum turn_status resume(struct turn *t)
{
    struct effects effects = {0};
    if (turn_dies(t, TURN_POINT_RESUME_BEFORE))
        return TURN_CRASHED;
    core_resume(t->core, &t->arena, &effects);
    if (!turn_perform_effects(t, &effects) || turn_dies(t, TURN_POINT_RESUME_AFTER))
        return TURN_CRASHED;
    turn_forget_batch(t);
    return TURN_AGAIN;
}

static enum turn_status lead(struct turn *t)
{
    const struct store_port *store = &t->ports.store;
    struct store_mark mark = {0};
    if (turn_dies(t, TURN_POINT_LEAD_BEFORE))
        return TURN_CRASHED;
    err e = store->lead(store->self, t->mark.epoch, &mark);
    if (e == ERR_FENCED)
        return stop(t, e, "another daemon leads the store");
    if (e != OK)
        return load_failed(t, e, "the store does not let us lead");
    if (!is_where_we_left_it(t, &mark))
        return stop(t, ERR_CORRUPT, "the store is not where we left it: it lost or gained turns");
    t->mark = mark;
    times_anchor(t, mark.now_ms);
    if (turn_dies(t, TURN_POINT_LEAD_AFTER))
        return TURN_CRASHED;
    resolve_doubt(t);
    return TURN_AGAIN;
}

/* With a batch in doubt leading comes first: it settles what is still on its way. */
static enum turn_status lead_then_read(struct turn *t)
{
    enum turn_status status = lead(t);
    if (status == TURN_AGAIN)
        status = load(t, &t->mark);
    if (status != TURN_AGAIN || !t->replies_unsent)
        return status;
    if (!turn_send_replies(t))
        return TURN_CRASHED;
    turn_forget_batch(t);
    return TURN_AGAIN;
}

/* What is there is read and judged before anything is written: a store that is refused stays as it
 * was, and one that can be read but not written can be read. If somebody wrote before we led, it is
 * read again. */
static enum turn_status read_then_lead(struct turn *t)
{
    const struct store_port *store = &t->ports.store;
    struct store_mark mark;
    err e = store->look(store->self, &mark);
    if (e != OK && t->mark.epoch)
        return lead_then_read(t); /* leading mends a connection that broke */
    if (e != OK)
        return load_failed(t, e, "the store could not be read");
    times_anchor(t, mark.now_ms);
    enum turn_status status = load(t, &mark);
    if (status == TURN_AGAIN)
        status = lead(t);
    if (status == TURN_AGAIN && t->mark.turn != mark.turn)
        status = load(t, &t->mark);
    return status;
}

/* Down: load when it is time to, and write again when it is time to. In between the core that was
 * loaded can be read. */
enum turn_status turn_recover(struct turn *t)
{
    if (t->reload) {
        if (t->mono_ms < t->reload_ms)
            return TURN_DOWN;
        enum turn_status status =
            t->in_doubt || t->replies_unsent ? lead_then_read(t) : read_then_lead(t);
        if (status == TURN_AGAIN)
            status = resume(t);
        if (status != TURN_AGAIN)
            return status;
    }
    if (t->mono_ms < t->write_ms) {
        excuse_waiting(t, ERR_UNAVAILABLE);
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
