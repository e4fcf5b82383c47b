#include "core/core_private.h"

/* Rows of work. A run row is durable before the work begins; it says who holds a node and a
 * worker. Answers name the run and its attempt, and an answer to anything else changes nothing. */

/* ---- holding and letting go ---- */

static void hold(struct core *c, run_ix ix)
{
    const struct run *run = run_at(c, ix);
    must(!node_at(c, run->node)->run.v); /* one running run per node */
    node_derive(c, run->node)->run = ix;
    vars_edit(c)->busy[run->queue]++;
}

static void let_go(struct core *c, run_ix ix)
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

static void line_up(struct core *c, run_ix ix)
{
    ids_insert(c, &node_derive(c, run_at(c, ix)->node)->queued, TABLE_RUN, ix.v);
    sched_enqueue_node(c, run_at(c, ix)->node);
}

static void step_out(struct core *c, run_ix ix)
{
    ids_remove(c, &node_derive(c, run_at(c, ix)->node)->queued, TABLE_RUN, ix.v);
    anneal_forget_candidates(c, run_at(c, ix)->node);
}

/* Deadlines first, then the index of the run, so that equal deadlines stay apart. */
enum { TIMER_BITS = 21 };
_Static_assert(RUNS_MAX < 1u << TIMER_BITS, "a run's index must fit below the deadline");

static uint64_t timer_key(const struct core *c, run_ix ix)
{
    const int64_t deadline = run_at(c, ix)->park_deadline;
    return (uint64_t)(deadline > 0 ? deadline : 0) << TIMER_BITS | ix.v;
}

static void set_state(struct core *c, run_ix ix, enum run_state to)
{
    struct run *run = run_edit(c, ix);
    const enum run_state from = run->state;
    run->state = to;
    if (from == RUN_QUEUED)
        step_out(c, ix);
    if (from == RUN_PARKED)
        omap_remove(&c->timers, timer_key(c, ix));
    if (from == RUN_RUNNING && to == RUN_PARKED)
        let_go(c, ix);
    if (to == RUN_RUNNING)
        hold(c, ix);
    if (to == RUN_QUEUED)
        line_up(c, ix);
    if (to == RUN_PARKED)
        omap_put(&c->timers, timer_key(c, ix), ix.v);
}

static void unlink_noderole(struct core *c, run_ix ix)
{
    const noderole_ix nr = run_at(c, ix)->noderole;
    if (!nr.v)
        return;
    struct noderole *row = noderole_derive(c, nr);
    if (row->run.v == ix.v)
        row->run = (run_ix){0};
    if (row->queued.v == ix.v)
        row->queued = (run_ix){0};
}

static void run_remove(struct core *c, run_ix ix)
{
    const uint32_t state = run_at(c, ix)->state;
    unlink_noderole(c, ix);
    if (state == RUN_QUEUED)
        step_out(c, ix);
    if (state == RUN_PARKED)
        omap_remove(&c->timers, timer_key(c, ix));
    if (state == RUN_RUNNING || state == RUN_STOPPING)
        let_go(c, ix);
    struct run *run = run_edit(c, ix);
    put_text(c, &run->job, STR(""));
    put_doc(c, &run->data, STR(""));
    core_remove_row(c, TABLE_RUN, ix.v);
}

/* Work that began must be seen to end before its place is given away (X25). */
void run_cancel(struct core *c, run_ix ix)
{
    if (run_at(c, ix)->state != RUN_RUNNING) {
        run_remove(c, ix);
        return;
    }
    unlink_noderole(c, ix);
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

/* A person does not want to wait for the next start. */
bool run_skip_backoff(struct core *c, run_ix ix)
{
    if (run_at(c, ix)->state != RUN_PARKED || !run_at(c, ix)->tries)
        return false;
    set_state(c, ix, RUN_QUEUED);
    return true;
}

void run_drop_queued(struct core *c, noderole_ix nr)
{
    const run_ix queued = noderole_at(c, nr)->queued;
    if (queued.v)
        run_remove(c, queued);
}

/* The node goes; what still runs there keeps its worker until it stopped. */
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

/* ---- asking for a run ---- */

static run_ix make_run(struct core *c, noderole_ix nr, enum queue queue)
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

static bool wants_queue(const struct core *c, noderole_ix nr)
{
    const uint8_t state = noderole_at(c, nr)->state;
    return noderole_is_runnable(c, nr) &&
           (state == NODEROLE_ACTIVE || state == NODEROLE_TODO || state == NODEROLE_TRANSITION);
}

void run_enqueue(struct core *c, noderole_ix nr)
{
    run_ix ix = noderole_at(c, nr)->queued;
    if (!ix.v && !wants_queue(c, nr)) {
        noderole_mark_rerun(c, nr, true); /* X8: not dropped, remembered */
        return;
    }
    if (run_lacks_attrib(c, nr))
        return;
    const struct str staged = stage_noderole(c, nr, c->arena);
    if (run_is_too_large(c, nr, staged))
        return;
    if (!ix.v) {
        ix = make_run(c, nr, QUEUE_HIGH);
        if (!ix.v)
            return;
        run_edit(c, ix)->frozen = true;
        noderole_derive(c, nr)->queued = ix;
        noderole_derive(c, nr)->chain = c->depth;
        line_up(c, ix);
    }
    put_doc(c, &run_edit(c, ix)->data, staged);
    if (hooks_compute(c, nr)) /* it is staged again when that is known */
        run_edit(c, ix)->frozen = false;
}

/* ---- starting ---- */

bool run_is_instant(const struct core *c, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    const bool done_once = role_at(c, nr->role)->flags & ROLE_DESTRUCTIVE && nr->run_count > 0;
    return done_once || role_is_noop(c, nr->role);
}

static void clear_log(struct core *c, noderole_ix ix)
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

static void activate(struct core *c, noderole_ix nr, bool committed_run, bool skipped);

/* No-ops, and destructive roles that have had their one run, end as they begin (D10, K1). */
void run_instant(struct core *c, noderole_ix ix, run_ix queued)
{
    const bool skipped = role_at(c, noderole_at(c, ix)->role)->flags & ROLE_DESTRUCTIVE &&
                         noderole_at(c, ix)->run_count > 0;
    if (queued.v)
        run_remove(c, queued);
    noderole_mark_rerun(c, ix, false);
    clear_log(c, ix);
    if (noderole_at(c, ix)->state != NODEROLE_TRANSITION)
        noderole_apply_run(c, ix, EVENT_START, true, skipped);
    if (!skipped) {
        noderole_edit(c, ix)->run_count++;
        defaults_take(c, ix);
    }
    activate(c, ix, true, skipped);
}

/* The noderole moves, unless a parked run takes up its work again. Either way the start has a
 * number of its own: a late repeat of what an earlier one said must not be taken for its answer. */
static void begin(struct core *c, noderole_ix ix, run_ix run)
{
    const bool again = noderole_at(c, ix)->run.v == run.v;
    struct noderole *nr = noderole_edit(c, ix);
    must(nr->attempt < UINT32_MAX);
    nr->attempt++;
    noderole_mark_rerun(c, ix, false); /* it is given what is true now */
    if (again)
        return;
    clear_log(c, ix);
    if (nr->queued.v == run.v)
        nr->queued = (run_ix){0};
    noderole_apply_run(c, ix, EVENT_START, true, false);
    noderole_derive(c, ix)->run = run;
}

static void order_start(struct core *c, run_ix ix)
{
    const struct run *run = run_at(c, ix);
    struct effect *e = effect_add(c, EFFECT_RUN_START, run->o.id);
    e->attempt = run->attempt;
    e->node_id = run->node_id;
    e->noderole_id = run->noderole_id;
    e->jig = str_copy(c->arena, role_jig_name(c, noderole_at(c, run->noderole)->role));
    e->data = str_copy(c->arena, doc_of(c, run->data));
}

void run_start(struct core *c, noderole_ix ix, run_ix queued)
{
    const bool frozen = queued.v && run_at(c, queued)->frozen;
    if (!frozen && run_lacks_attrib(c, ix))
        return;
    const struct str staged = frozen ? STR("") : stage_noderole(c, ix, c->arena);
    if (run_is_too_large(c, ix, staged))
        return;
    const run_ix run = queued.v ? queued : make_run(c, ix, QUEUE_NORMAL);
    if (!run.v)
        return;
    if (!frozen) {
        put_doc(c, &run_edit(c, run)->data, staged);
        defaults_take(c, ix);
    }
    begin(c, ix, run);
    struct run *row = run_edit(c, run);
    row->attempt = noderole_at(c, ix)->attempt;
    row->started_at = c->now_ms;
    row->begun = false;
    row->committed = deployment_at(c, noderole_at(c, ix)->deployment)->committed;
    if (queued.v)
        set_state(c, run, RUN_RUNNING);
    else {
        row->state = RUN_RUNNING;
        hold(c, run);
    }
    order_start(c, run);
}

/* ---- answers ---- */

/* The run succeeded: ACTIVE, unless the ground moved meanwhile (K2). */
static void activate(struct core *c, noderole_ix ix, bool committed_run, bool skipped)
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

static void take_wall(struct core *c, noderole_ix ix, const struct run_done_command *p)
{
    if (!p->has_wall)
        return;
    struct noderole *nr = noderole_edit(c, ix);
    const struct str old = str_copy(c->arena, doc_of(c, nr->wall));
    put_doc(c, &nr->wall, p->wall);
    if (!str_eq(old, doc_of(c, noderole_at(c, ix)->wall)))
        data_after_run(c, ix, old);
}

/* A machine that nobody can ask to start again, or to stop, is made to. */
static struct str offered(const struct core *c, node_ix n, struct str action)
{
    const struct str harder = str_eq(action, STR("reboot")) ? STR("reset")
                              : str_eq(action, STR("off"))  ? STR("halt")
                                                            : STR("");
    const bool replaced =
        harder.len && !node_can_power(c, n, action) && node_can_power(c, n, harder);
    return replaced ? harder : action;
}

/* What the work asks for its machine, once its own result is booked (D21). */
static void serve_machine(struct core *c, node_ix n, const struct run_done_command *p)
{
    if (p->stop && !node_at(c, n)->stopped)
        node_edit(c, n)->stopped = true;
    if (p->node_dead) {
        node_set_alive(c, n, false);
        node_changed(c, n);
    }
    if (p->power.len)
        outbox_power(c, n, offered(c, n, p->power));
}

static void run_succeeded(struct core *c, run_ix run, noderole_ix nr,
                          const struct run_done_command *p)
{
    const bool committed = run_at(c, run)->committed;
    const node_ix n = run_at(c, run)->node;
    run_remove(c, run);
    take_wall(c, nr, p);
    noderole_edit(c, nr)->run_count++;
    clear_log(c, nr); /* of starts that failed before */
    activate(c, nr, committed, false);
    serve_machine(c, n, p);
}

/* ---- failures ---- */

enum { BACKOFF_S_DEFAULT = 10 };

/* How long to wait before the next start: doubled each time, a week at most. */
static int64_t backoff_ms(const struct role *role, uint32_t tries)
{
    int64_t ms = (role->backoff_s ? role->backoff_s : BACKOFF_S_DEFAULT) * INT64_C(1000);
    while (tries-- > 0 && ms < PARK_MS_MAX)
        ms *= 2;
    return ms < PARK_MS_MAX ? ms : PARK_MS_MAX;
}

/* Nobody knows what a lost one has done, and one that may destroy is not started twice unasked. */
static bool may_try_again(const struct core *c, run_ix run, noderole_ix nr, uint32_t result)
{
    const struct role *role = role_at(c, noderole_at(c, nr)->role);
    return result == RESULT_FAILED && !(role->flags & ROLE_DESTRUCTIVE) &&
           run_at(c, run)->tries + 1 < role->attempts;
}

static void park(struct core *c, run_ix run, int64_t ms)
{
    struct run *row = run_edit(c, run);
    row->park_left_ms = ms;
    row->park_deadline = c->mono_ms + ms;
    row->frozen = false; /* it starts again with what is true then */
    set_state(c, run, RUN_PARKED);
}

static void try_again(struct core *c, run_ix run, noderole_ix nr, struct failure failure)
{
    const struct role *role = role_at(c, noderole_at(c, nr)->role);
    const uint32_t tries = ++run_edit(c, run)->tries;
    const int64_t wait_ms = backoff_ms(role, tries - 1);
    failure.status =
        STR_CONCAT(c->arena, STR("start "), str_from_i64(c->arena, tries), STR(" of "),
                   str_from_i64(c->arena, role->attempts), STR(" failed; the next comes in "),
                   str_from_i64(c->arena, wait_ms / 1000), STR(" s"));
    noderole_note_failure(c, nr, &failure);
    park(c, run, wait_ms);
}

static void run_failed(struct core *c, run_ix run, noderole_ix nr, const struct run_done_command *p)
{
    const bool committed = run_at(c, run)->committed;
    const bool lost = p->result == RESULT_LOST;
    const struct str status = lost ? STR("run lost") : STR("run failed");
    const struct failure failure = {
        .status = status, .runlog = p->runlog.len ? p->runlog : status, .why = run_reason(p)};
    if (may_try_again(c, run, nr, p->result)) {
        try_again(c, run, nr, failure);
        return;
    }
    run_remove(c, run);
    noderole_note_failure(c, nr, &failure);
    noderole_apply_run(c, nr, EVENT_FAILED, committed, false);
}

/* When its machine goes down with it, the noderole has to be done again anyway once the machine is
 * back, and the run is not needed any more. */
static void run_parked(struct core *c, run_ix run, noderole_ix nr, const struct run_done_command *p)
{
    const node_ix n = run_at(c, run)->node;
    take_wall(c, nr, p);
    run_edit(c, run)->tries = 0; /* it got somewhere */
    park(c, run, p->park_ms);
    serve_machine(c, n, p);
}

/* Somebody else does the work, and a retry will come. If it came while we were still asking, or
 * what we asked for changed, it is asked again at once: nobody would come a second time. */
static void run_left_open(struct core *c, run_ix run, noderole_ix nr,
                          const struct run_done_command *p)
{
    take_wall(c, nr, p);
    run_remove(c, run);
    if (noderole_at(c, nr)->rerun)
        noderole_apply(c, nr, EVENT_DEACTIVATE);
}

/* The run an answer is about, or none when the answer came too late. */
static run_ix answered(const struct core *c, int64_t id, uint32_t attempt)
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
        refuse(c, PROBLEM_BAD_VALUE, STR("result"), STR("is not a result a run can have"));
        return;
    }
    if (p->has_wall && p->wall.len && p->wall.at[0] != '{') {
        refuse(c, PROBLEM_BAD_JSON, STR("wall"), STR("must be a JSON object"));
        return;
    }
    if (p->park_ms < 0 || p->park_ms > PARK_MS_MAX) {
        refuse(c, PROBLEM_BAD_VALUE, STR("park_ms"), STR("is not a time a run can be parked for"));
        return;
    }
    if (p->reason >= REASON_COUNT) {
        refuse(c, PROBLEM_BAD_VALUE, STR("reason"), STR("is not a reason a run can fail for"));
        return;
    }
    const run_ix run = answered(c, p->run_id, p->attempt);
    if (!run.v)
        return;
    const struct reason why = run_reason(p);
    run_archive(c, run, p->result, p->runlog, &why);
    if (run_at(c, run)->state == RUN_STOPPING) {
        run_remove(c, run); /* it has stopped; what it says no longer matters */
        return;
    }
    const noderole_ix nr = run_at(c, run)->noderole;
    switch ((enum run_result)p->result) {
    case RESULT_OK: run_succeeded(c, run, nr, p); return;
    case RESULT_FAILED:
    case RESULT_LOST: run_failed(c, run, nr, p); return;
    case RESULT_ASYNC: run_left_open(c, run, nr, p); return;
    case RESULT_PARKED: run_parked(c, run, nr, p); return;
    case RESULT_COUNT: break;
    }
    impossible("a result outside the enum");
}

void do_run_begun(struct core *c, const struct run_begun_command *p)
{
    const run_ix ix = answered(c, p->run_id, p->attempt);
    if (!ix.v || run_at(c, ix)->begun)
        return;
    struct run *run = run_edit(c, ix);
    run->begun = true;
    put_text(c, &run->job, p->job);
}

void do_run_stopped(struct core *c, const struct run_stopped_command *p)
{
    const run_ix run = answered(c, p->run_id, p->attempt);
    if (!run.v || run_at(c, run)->state != RUN_STOPPING)
        return;
    run_archive(c, run, RESULT_CANCELLED, STR(""), &(struct reason){.code = REASON_NONE});
    run_remove(c, run);
}

void do_run_resume(struct core *c, const struct run_resume_command *p)
{
    const run_ix run = run_by_id(c, p->run_id);
    if (run.v && run_at(c, run)->state == RUN_PARKED)
        set_state(c, run, RUN_QUEUED);
}

/* An operator stops a run: it has failed, and its worker is told. */
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

/* ---- time ---- */

void do_tick(struct core *c, const struct tick_command *p)
{
    uint64_t key;
    uint32_t ix;
    must(p);
    while (omap_ceil(&c->timers, 0, &key, &ix) && (int64_t)(key >> TIMER_BITS) <= c->mono_ms)
        set_state(c, (run_ix){ix}, RUN_QUEUED);
    boot_tick(c);
}

int64_t core_next_deadline(const struct core *c)
{
    uint64_t key;
    uint32_t ix;
    const int64_t boot = boot_next_deadline(c);
    const int64_t park = omap_ceil(&c->timers, 0, &key, &ix) ? (int64_t)(key >> TIMER_BITS) : -1;
    return park < 0 || (boot >= 0 && boot < park) ? boot : park;
}

void run_load_timer(struct core *c, run_ix ix)
{
    struct run *run = run_derive(c, ix);
    run->park_deadline = c->mono_ms + run->park_left_ms;
    omap_put(&c->timers, timer_key(c, ix), ix.v);
}

void core_resume(const struct core *c, struct arena *arena, struct effects *fx)
{
    for (uint32_t t = 0; t < 2; t++) {
        const enum table table = t ? TABLE_OUTBOX : TABLE_RUN;
        for (int64_t id = core_next_id(c, table, 0); id; id = core_next_id(c, table, id)) {
            const run_ix run = t ? (run_ix){0} : run_by_id(c, id);
            if (!t && run_at(c, run)->state != RUN_RUNNING && run_at(c, run)->state != RUN_STOPPING)
                continue;
            if (t && boot_waits(c, outbox_by_id(c, id)))
                continue;
            struct effect *e = arena_new(arena, struct effect);
            e->id = id;
            e->kind = EFFECT_OUTBOX;
            if (!t) {
                const struct run *row = run_at(c, run);
                e->kind = row->state == RUN_RUNNING ? EFFECT_RUN_QUERY : EFFECT_RUN_CANCEL;
                e->attempt = row->attempt;
                e->node_id = row->node_id;
                e->noderole_id = row->noderole_id;
                e->data = str_copy(arena, doc_of(c, row->data));
                if (row->noderole.v)
                    e->jig = str_copy(arena, role_jig_name(c, noderole_at(c, row->noderole)->role));
            }
            if (fx->last)
                fx->last->next = e;
            else
                fx->first = e;
            fx->last = e;
            fx->count++;
        }
    }
}
