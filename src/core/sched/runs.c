#include "core/boot/boot_service.h"
#include "core/machine/grants.h"
#include "core/network/network_private.h"

/* The state machine of a run, the execution of one noderole (docs/spec/runs.md).
 *
 *   QUEUED   -> RUNNING            it starts
 *   RUNNING  -> PARKED             it waits for a resume, or for the backoff after a failure
 *   RUNNING  -> STOPPING           its noderole left TRANSITION without a result of the run
 *   PARKED   -> QUEUED             resumed, or its time is over
 *
 * Any other end removes the row. RUNNING and STOPPING runs hold the slot of their node and a worker
 * of their pool; QUEUED and PARKED runs hold neither. run_set_state() keeps slot, queue and timer
 * in step with the state, except for STOPPING (run_cancel) and a run that is created RUNNING
 * (run_start).
 *
 * Ordering: the row is part of the batch that is committed before EFFECT_RUN_START is performed, so
 * a crash cannot leave work without a row. A cancelled run keeps its slot until the runner reports
 * that it has ended; otherwise a second run could start on the node while the first still acts.
 *
 * Failure: a runner may repeat results, and results may arrive late. They carry (run, attempt), and
 * every start has a new attempt number, so a result of no live attempt changes nothing. */

/* ---- slot, queue and timer ---- */

static void run_occupy_node(struct core *c, run_ix ix)
{
    const struct run *run = run_at(c, ix);
    must(!node_at(c, run->node)->run.v); /* one running run per node */
    node_derive(c, run->node)->run = ix;
    vars_edit(c)->busy[run->queue]++;
}

static void run_release_node(struct core *c, run_ix ix)
{
    const struct run *run = run_at(c, ix);
    must(c->vars.busy[run->queue] > 0);
    vars_edit(c)->busy[run->queue]--;
    if (run->node.v) {
        must(node_at(c, run->node)->run.v == ix.v);
        node_derive(c, run->node)->run = (run_ix){0};
        sched_enqueue_node(c, run->node);
    }
}

static void run_enqueue_on_node(struct core *c, run_ix ix)
{
    ids_insert(c, &node_derive(c, run_at(c, ix)->node)->queued, TABLE_RUN, ix.v);
    sched_enqueue_node(c, run_at(c, ix)->node);
}

static void run_dequeue(struct core *c, run_ix ix)
{
    ids_remove(c, &node_derive(c, run_at(c, ix)->node)->queued, TABLE_RUN, ix.v);
    anneal_forget_candidates(c, run_at(c, ix)->node);
}

/* A timer key is the deadline in the high bits and the index of the run in the low bits, so that
 * runs with equal deadlines have different keys. */
enum { TIMER_BITS = 21 };
_Static_assert(RUNS_MAX < 1u << TIMER_BITS, "the index of a run must fit below the deadline");

static uint64_t run_timer_key(const struct core *c, run_ix ix)
{
    const int64_t deadline = run_at(c, ix)->park_deadline;
    return (uint64_t)(deadline > 0 ? deadline : 0) << TIMER_BITS | ix.v;
}

static void run_set_state(struct core *c, run_ix ix, enum run_state to)
{
    struct run *run = run_edit(c, ix);
    const enum run_state from = run->state;
    run->state = to;
    if (from == RUN_QUEUED)
        run_dequeue(c, ix);
    if (from == RUN_PARKED)
        omap_remove(&c->timers, run_timer_key(c, ix));
    if (from == RUN_RUNNING && to == RUN_PARKED)
        run_release_node(c, ix);
    if (to == RUN_RUNNING)
        run_occupy_node(c, ix);
    if (to == RUN_QUEUED)
        run_enqueue_on_node(c, ix);
    if (to == RUN_PARKED)
        omap_put(&c->timers, run_timer_key(c, ix), ix.v);
}

static void run_unlink_noderole(struct core *c, run_ix ix)
{
    const noderole_ix nr = run_at(c, ix)->noderole;
    if (!nr.v)
        return;
    struct noderole *row = noderole_derive(c, nr);
    if (row->run.v == ix.v)
        row->run = (run_ix){0};
    if (row->queued.v != ix.v)
        return;
    row->queued = (run_ix){0};
    boot_due_run_dropped(c, nr);
}

static void run_remove(struct core *c, run_ix ix)
{
    const uint32_t state = run_at(c, ix)->state;
    run_unlink_noderole(c, ix);
    if (state == RUN_QUEUED)
        run_dequeue(c, ix);
    if (state == RUN_PARKED)
        omap_remove(&c->timers, run_timer_key(c, ix));
    if (state == RUN_RUNNING || state == RUN_STOPPING)
        run_release_node(c, ix);
    struct run *run = run_edit(c, ix);
    put_text(c, &run->job, STR(""));
    put_doc(c, &run->data, STR(""));
    core_remove_row(c, TABLE_RUN, ix.v);
}

/* Work that has started must be confirmed to have ended before its slot is released: the run
 * becomes STOPPING and is cancelled; run_remove() follows when its result arrives. The noderole is
 * unlinked at once, because it may be deleted or get another run before that. */
void run_cancel(struct core *c, run_ix ix)
{
    if (run_at(c, ix)->state != RUN_RUNNING) {
        run_remove(c, ix);
        return;
    }
    run_unlink_noderole(c, ix);
    struct run *run = run_edit(c, ix);
    run->state = RUN_STOPPING;
    run->noderole = (noderole_ix){0};
    struct effect *e = effect_add(c, EFFECT_RUN_CANCEL, run->o.id);
    e->attempt = run->attempt;
    e->node_id = run->node_id;
    e->noderole_id = run->noderole_id;
}

bool run_is_parked(const struct core *c, int64_t id)
{
    const run_ix ix = run_by_id(c, id);
    return ix.v && run_at(c, ix)->state == RUN_PARKED;
}

bool run_skip_backoff(struct core *c, run_ix ix)
{
    if (run_at(c, ix)->state != RUN_PARKED || !run_at(c, ix)->tries)
        return false;
    run_set_state(c, ix, RUN_QUEUED);
    return true;
}

void run_drop_queued(struct core *c, noderole_ix nr)
{
    const run_ix queued = noderole_at(c, nr)->queued;
    if (queued.v)
        run_remove(c, queued);
}

/* The node is deleted: a STOPPING run keeps its worker until it has ended. */
void run_forget_node(struct core *c, node_ix n)
{
    const run_ix ix = node_at(c, n)->run;
    must(!node_at(c, n)->queued.count);
    if (!ix.v)
        return;
    must(run_at(c, ix)->state == RUN_STOPPING);
    run_derive(c, ix)->node = (node_ix){0};
    node_derive(c, n)->run = (run_ix){0};
}

/* ---- enqueue ---- */

static run_ix run_make(struct core *c, noderole_ix nr, enum queue queue)
{
    const run_ix ix = run_add(c);
    if (!ix.v)
        return ix;
    const struct noderole *row = noderole_at(c, nr);
    struct run *run = run_edit(c, ix);
    run->node = row->node;
    run->noderole = nr;
    run->node_id = node_at(c, row->node)->o.id;
    run->noderole_id = row->o.id;
    run->queue = queue;
    return ix;
}

static bool run_may_be_queued(const struct core *c, noderole_ix nr)
{
    const uint8_t state = noderole_at(c, nr)->state;
    return noderole_is_runnable(c, nr) &&
           (state == NODEROLE_ACTIVE || state == NODEROLE_TODO || state == NODEROLE_TRANSITION);
}

void run_enqueue(struct core *c, noderole_ix nr)
{
    run_ix ix = noderole_at(c, nr)->queued;
    if (!ix.v && !run_may_be_queued(c, nr)) {
        noderole_mark_rerun(c, nr, true); /* the request is kept until the noderole can run */
        return;
    }
    if (run_fail_if_attrib_missing(c, nr))
        return;
    const struct str staged = stage_noderole(c, nr, c->arena);
    if (run_fail_if_too_large(c, nr, staged))
        return;
    if (!ix.v) {
        ix = run_make(c, nr, QUEUE_HIGH);
        if (!ix.v)
            return;
        run_edit(c, ix)->frozen = true;
        noderole_derive(c, nr)->queued = ix;
        noderole_derive(c, nr)->chain = c->depth;
        run_enqueue_on_node(c, ix);
    }
    put_doc(c, &run_edit(c, ix)->data, staged);
    if (hooks_compute(c, nr)) /* stage again at the start, with the result of these hooks */
        run_edit(c, ix)->frozen = false;
}

/* ---- starting ---- */

bool run_is_instant(const struct core *c, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    const bool done_once = role_at(c, nr->role)->flags & ROLE_DESTRUCTIVE && nr->run_count > 0;
    return done_once || role_is_noop(c, nr->role);
}

static void run_clear_log(struct core *c, noderole_ix ix)
{
    struct noderole *nr = noderole_edit(c, ix);
    if (nr->runlog)
        put_text(c, &nr->runlog, STR(""));
    if (nr->status)
        put_text(c, &nr->status, STR(""));
    nr->status_hook = 0;
    if (nr->reason)
        noderole_clear_reason(c, ix);
}

static void run_activate_noderole(struct core *c, noderole_ix nr, bool committed_run, bool skipped);

/* A no-op, or a destructive role that has already run (skipped), ends in the step that starts it,
 * without a worker, an attempt number or an effect (ADR 0009). */
void run_instant(struct core *c, noderole_ix ix, run_ix queued)
{
    const bool skipped = role_at(c, noderole_at(c, ix)->role)->flags & ROLE_DESTRUCTIVE &&
                         noderole_at(c, ix)->run_count > 0;
    if (queued.v)
        run_remove(c, queued);
    noderole_mark_rerun(c, ix, false);
    run_clear_log(c, ix);
    if (noderole_at(c, ix)->state != NODEROLE_TRANSITION)
        noderole_apply_run(c, ix, EVENT_START, true, skipped);
    if (!skipped) {
        noderole_edit(c, ix)->run_count++;
        defaults_mark_staged(c, ix);
    }
    run_activate_noderole(c, ix, true, skipped);
}

/* Assign the attempt number and enter TRANSITION. A resumed run gets a new number as well, although
 * its noderole is in TRANSITION already: a late repeat of the result of the earlier attempt must
 * not be accepted as the result of this one (ADR 0031). */
static void run_begin_attempt(struct core *c, noderole_ix ix, run_ix run)
{
    const bool is_resumed = noderole_at(c, ix)->run.v == run.v;
    struct noderole *nr = noderole_edit(c, ix);
    must(nr->attempt < UINT32_MAX);
    nr->attempt++;
    noderole_mark_rerun(c, ix, false); /* this attempt uses the current data */
    if (is_resumed)
        return;
    run_clear_log(c, ix);
    if (nr->queued.v == run.v)
        nr->queued = (run_ix){0};
    noderole_apply_run(c, ix, EVENT_START, true, false);
    noderole_derive(c, ix)->run = run;
}

void run_start(struct core *c, noderole_ix ix, run_ix queued)
{
    /* Check the input. All checks put the noderole into ERROR and start nothing. */
    const bool frozen = queued.v && run_at(c, queued)->frozen;
    struct boot_portion part = {0};
    if (grant_fail_destruction(c, ix))
        return;
    if (!frozen && run_fail_if_attrib_missing(c, ix))
        return;
    const struct str data =
        frozen ? doc_of(c, run_at(c, queued)->data) : stage_noderole(c, ix, c->arena);
    const struct str staged = boot_stage_run(c, ix, data, c->arena, &part);
    if (run_fail_if_too_large(c, ix, staged))
        return;
    const run_ix run = queued.v ? queued : run_make(c, ix, QUEUE_NORMAL);
    if (!run.v)
        return;

    /* Fill the row. */
    if (!frozen || staged.at != data.at)
        put_doc(c, &run_edit(c, run)->data, staged);
    if (!frozen)
        defaults_mark_staged(c, ix);
    run_begin_attempt(c, ix, run);
    if (part.tree)
        boot_due_begin(c, ix, &part);
    struct run *row = run_edit(c, run);
    row->attempt = noderole_at(c, ix)->attempt;
    row->started_at = c->now_ms;
    row->begun = false;
    row->committed = deployment_at(c, noderole_at(c, ix)->deployment)->committed;

    /* Occupy the slot. A new row has never been QUEUED, so it is in no queue to be removed from. */
    if (queued.v)
        run_set_state(c, run, RUN_RUNNING);
    else {
        row->state = RUN_RUNNING;
        run_occupy_node(c, run);
    }

    /* Order the start, with a copy of the data: the row may change before the effect is
     * performed. */
    struct effect *e = effect_add(c, EFFECT_RUN_START, row->o.id);
    e->attempt = row->attempt;
    e->node_id = row->node_id;
    e->noderole_id = row->noderole_id;
    e->jig = str_copy(c->arena, role_jig_name(c, noderole_at(c, row->noderole)->role));
    e->data = str_copy(c->arena, doc_of(c, row->data));
}

/* ---- success ---- */

/* The run succeeded: enter ACTIVE, unless the node died or a rerun was requested during the run. In
 * that case settle instead, so that no child starts on an outdated result (ADR 0010). */
static void run_activate_noderole(struct core *c, noderole_ix ix, bool committed_run, bool skipped)
{
    const struct noderole *nr = noderole_at(c, ix);
    if (!node_at(c, nr->node)->alive || nr->rerun) {
        noderole_apply(c, ix, EVENT_DEACTIVATE);
        return;
    }
    const bool powersave = role_at(c, nr->role)->flags & ROLE_POWERSAVE;
    noderole_apply_run(c, ix, EVENT_OK, committed_run, skipped);
    if (powersave && noderole_at(c, ix)->state == NODEROLE_ACTIVE)
        node_powersave(c, ix);
}

static void run_store_wall(struct core *c, noderole_ix ix, const struct run_done_command *p)
{
    if (!p->has_wall)
        return;
    struct noderole *nr = noderole_edit(c, ix);
    const struct str old = str_copy(c->arena, doc_of(c, nr->wall));
    put_doc(c, &nr->wall, p->wall);
    data_after_run(c, ix, old);
}

/* Called after the state of its noderole has changed, so that `node_dead` settles it as well. */
static void run_apply_machine_requests(struct core *c, node_ix n, const struct run_done_command *p)
{
    if (p->stop && !node_at(c, n)->stopped)
        node_edit(c, n)->stopped = true;
    if (p->node_dead) {
        node_set_alive(c, n, false);
        node_changed(c, n);
    }
    if (p->power.len)
        outbox_power(c, n, node_choose_power(c, n, p->power));
}

static void run_handle_ok(struct core *c, run_ix run, noderole_ix nr,
                          const struct run_done_command *p)
{
    const bool committed = run_at(c, run)->committed;
    const uint32_t attempt = run_at(c, run)->attempt;
    const node_ix n = run_at(c, run)->node;
    run_remove(c, run);
    run_store_wall(c, nr, p);
    noderole_edit(c, nr)->run_count++;
    run_clear_log(c, nr); /* of earlier attempts that failed */
    run_activate_noderole(c, nr, committed, false);
    boot_due_end(c, nr, attempt);
    run_apply_machine_requests(c, n, p);
}

/* ---- failures ---- */

enum { BACKOFF_S_DEFAULT = 10 };

/* The wait before the next attempt in ms: doubled with each failure, at most PARK_MS_MAX. */
static int64_t run_backoff_ms(const struct role *role, uint32_t tries)
{
    int64_t ms = (role->backoff_s ? role->backoff_s : BACKOFF_S_DEFAULT) * INT64_C(1000);
    while (tries-- > 0 && ms < PARK_MS_MAX)
        ms *= 2;
    return ms < PARK_MS_MAX ? ms : PARK_MS_MAX;
}

/* A lost run may still be working, and a destructive role may have done damage: neither is started
 * again without a request of an operator (ADR 0046). */
static bool run_may_retry(const struct core *c, run_ix run, noderole_ix nr, uint32_t result)
{
    const struct role *role = role_at(c, noderole_at(c, nr)->role);
    return result == RESULT_FAILED && !(role->flags & ROLE_DESTRUCTIVE) &&
           run_at(c, run)->tries + 1 < role->attempts;
}

static void run_park(struct core *c, run_ix run, int64_t ms)
{
    struct run *row = run_edit(c, run);
    row->park_left_ms = ms;
    row->park_deadline = c->mono_ms + ms;
    row->frozen = false; /* data are staged again when it starts */
    run_set_state(c, run, RUN_PARKED);
}

static void run_retry_later(struct core *c, run_ix run, noderole_ix nr, struct failure failure)
{
    const struct role *role = role_at(c, noderole_at(c, nr)->role);
    const uint32_t tries = ++run_edit(c, run)->tries;
    const int64_t wait_ms = run_backoff_ms(role, tries - 1);
    failure.status =
        STR_CONCAT(c->arena, STR("attempt "), str_from_i64(c->arena, tries), STR(" of "),
                   str_from_i64(c->arena, role->attempts), STR(" failed; next attempt in "),
                   str_from_i64(c->arena, wait_ms / 1000), STR(" s"));
    noderole_note_failure(c, nr, &failure);
    run_park(c, run, wait_ms);
}

static void run_handle_failed(struct core *c, run_ix run, noderole_ix nr,
                              const struct run_done_command *p)
{
    const bool committed = run_at(c, run)->committed;
    const bool lost = p->result == RESULT_LOST;
    const struct str status = lost ? STR("run lost") : STR("run failed");
    const struct failure failure = {
        .status = status, .runlog = p->runlog.len ? p->runlog : status, .why = run_reason(p)};
    if (run_may_retry(c, run, nr, p->result)) {
        run_retry_later(c, run, nr, failure);
        return;
    }
    run_remove(c, run);
    noderole_note_failure(c, nr, &failure);
    noderole_apply_run(c, nr, EVENT_FAILED, committed, false);
}

/* Park before the requests about the machine are applied: `node_dead` deactivates the noderole,
 * which removes the parked run. The noderole runs again from the beginning when the machine is
 * back. */
static void run_handle_parked(struct core *c, run_ix run, noderole_ix nr,
                              const struct run_done_command *p)
{
    const node_ix n = run_at(c, run)->node;
    run_store_wall(c, nr, p);
    run_edit(c, run)->tries = 0; /* the attempt did not fail: count failures anew */
    run_park(c, run, p->park_ms);
    run_apply_machine_requests(c, n, p);
}

/* RESULT_ASYNC: the work continues elsewhere, and the noderole stays in TRANSITION without a run
 * until a retry arrives. If a retry or a rerun request arrived during the run, the noderole settles
 * and runs again at once, because that request is not repeated. */
static void run_handle_async(struct core *c, run_ix run, noderole_ix nr,
                             const struct run_done_command *p)
{
    run_store_wall(c, nr, p);
    run_remove(c, run);
    if (noderole_at(c, nr)->rerun)
        noderole_apply(c, nr, EVENT_DEACTIVATE);
}

/* The run with this id and attempt; none if the report is late or repeated. */
static run_ix run_find_for_result(const struct core *c, int64_t id, uint32_t attempt)
{
    const run_ix run = run_by_id(c, id);
    const bool live =
        run.v && run_at(c, run)->attempt == attempt &&
        (run_at(c, run)->state == RUN_RUNNING || run_at(c, run)->state == RUN_STOPPING);
    return live ? run : (run_ix){0};
}

void do_run_done(struct core *c, const struct run_done_command *p)
{
    if (p->result >= RESULT_COUNT) {
        refuse(c, PROBLEM_BAD_VALUE, STR("result"), STR("is not a result code"));
        return;
    }
    if (p->has_wall && p->wall.len && p->wall.at[0] != '{') {
        refuse(c, PROBLEM_BAD_JSON, STR("wall"), STR("must be a JSON object"));
        return;
    }
    if (p->park_ms < 0 || p->park_ms > PARK_MS_MAX) {
        refuse(c, PROBLEM_BAD_VALUE, STR("park_ms"),
               STR("must be from 0 to 604800000 ms (a week)"));
        return;
    }
    if (p->reason >= REASON_COUNT) {
        refuse(c, PROBLEM_BAD_VALUE, STR("reason"), STR("is not a reason code"));
        return;
    }
    const run_ix run = run_find_for_result(c, p->run_id, p->attempt);
    if (!run.v)
        return;
    const struct reason why = run_reason(p);
    run_archive(c, run, p->result, p->runlog, &why);
    if (run_at(c, run)->state == RUN_STOPPING) {
        run_remove(c, run); /* it has ended; the result of a cancelled run is ignored */
        return;
    }
    const noderole_ix nr = run_at(c, run)->noderole;
    switch ((enum run_result)p->result) {
    case RESULT_OK: run_handle_ok(c, run, nr, p); return;
    case RESULT_FAILED:
    case RESULT_LOST: run_handle_failed(c, run, nr, p); return;
    case RESULT_ASYNC: run_handle_async(c, run, nr, p); return;
    case RESULT_PARKED: run_handle_parked(c, run, nr, p); return;
    case RESULT_COUNT: break;
    }
    impossible("a result outside the enum");
}

void do_run_begun(struct core *c, const struct run_begun_command *p)
{
    const run_ix ix = run_find_for_result(c, p->run_id, p->attempt);
    if (!ix.v || run_at(c, ix)->begun)
        return;
    struct run *run = run_edit(c, ix);
    run->begun = true;
    put_text(c, &run->job, p->job);
}

void do_run_stopped(struct core *c, const struct run_stopped_command *p)
{
    const run_ix run = run_find_for_result(c, p->run_id, p->attempt);
    /* A run that core_resume() stopped: its noderole fails, and it becomes STOPPING. */
    if (run.v && run_at(c, run)->state == RUN_RUNNING)
        grant_fail_destruction(c, run_at(c, run)->noderole);
    if (!run.v || run_at(c, run)->state != RUN_STOPPING)
        return;
    run_archive(c, run, RESULT_CANCELLED, STR(""), &(struct reason){.code = REASON_NONE});
    run_remove(c, run);
}

void do_run_resume(struct core *c, const struct run_resume_command *p)
{
    const run_ix run = run_by_id(c, p->run_id);
    if (run.v && run_at(c, run)->state == RUN_PARKED)
        run_set_state(c, run, RUN_QUEUED);
}

/* An operator cancels a run. An enqueued run is only removed; for a run that has started, the
 * noderole enters ERROR, which cancels the run. */
void do_run_cancel(struct core *c, const struct run_cancel_command *p)
{
    const run_ix ix = run_by_id(c, p->run_id);
    if (!ix.v) {
        refuse_missing(c, "run_id", "run", p->run_id);
        return;
    }
    const noderole_ix nr = run_at(c, ix)->noderole;
    if (!nr.v) {
        refuse(c, PROBLEM_WRONG_STATE, STR("run_id"), STR("the run is being stopped already"));
        return;
    }
    if (noderole_at(c, nr)->queued.v == ix.v)
        run_remove(c, ix);
    else
        noderole_fail_cancelled(c, nr);
}

/* ---- deadlines ---- */

void runs_tick(struct core *c)
{
    uint64_t key;
    uint32_t ix;
    while (omap_ceil(&c->timers, 0, &key, &ix) && (int64_t)(key >> TIMER_BITS) <= c->mono_ms)
        run_set_state(c, (run_ix){ix}, RUN_QUEUED);
}

int64_t runs_next_deadline(const struct core *c)
{
    uint64_t key;
    uint32_t ix;
    return omap_ceil(&c->timers, 0, &key, &ix) ? (int64_t)(key >> TIMER_BITS) : -1;
}

void run_load_timer(struct core *c, run_ix ix)
{
    struct run *run = run_derive(c, ix);
    run->park_deadline = c->mono_ms + run->park_left_ms;
    omap_put(&c->timers, run_timer_key(c, ix), ix.v);
}
