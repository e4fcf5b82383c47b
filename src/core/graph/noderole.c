#include "core/boot/boot_service.h"
#include "core/plan/commit_view.h"
#include "core/machine/grants.h"

/* The state machine of a noderole, one role bound to one node (docs/spec/states.md, ADR 0006).
 *
 * A total table defines the effect of each event in each state, and noderole_enter_by() is the only
 * function that writes the state. It also applies all consequences, in an order that matters:
 *   1. the state, its time and the counts of node and deployment;
 *   2. runs: leaving TRANSITION cancels the live run, entering PROPOSED, BLOCKED or ERROR removes
 *      the enqueued one, so that a run never outlives the state that allowed it;
 *   3. the scheduler and the boot barrier are notified;
 *   4. state hooks of this noderole are put into the outbox;
 *   5. children and descendants are notified. This comes last, so that the hooks of a parent are
 *      delivered before those of its children.
 * Notified noderoles apply events of their own, so steps 1 to 5 recurse, at most three levels deep:
 * all descendants of a noderole in ERROR get ANC_ERROR from one loop; one of them that leaves
 * ACTIVE sends LOST to its children; LOST never applies to an ACTIVE noderole, so it ends there.
 *
 * Three functions bypass the table: noderole_reset() for redeploy, noderole_request_rerun() and
 * noderole_block_children() for a growing cluster. A refused event changes nothing and records no
 * problem; callers that need a message check the state first. */

/* s settle: TODO if every parent is ACTIVE, else BLOCKED      p PROPOSED   b BLOCKED   t TODO
 * d set the rerun mark if a run is live, else settle          x TRANSITION a ACTIVE    e ERROR
 * = no effect   . refused (a missing cell is zero and refuses as well) */
static const char moves[NODEROLE_STATE_COUNT][NODEROLE_EVENT_COUNT + 1] = {
    /* clang-format off */
    /*                        commit
     *                        |propose
     *                        ||ready
     *                        |||lost
     *                        ||||ancestor error
     *                        |||||start
     *                        ||||||ok
     *                        |||||||failed
     *                        ||||||||retry
     *                        |||||||||deactivate */
    [NODEROLE_PROPOSED]   =  "s====.==.=",
    [NODEROLE_BLOCKED]    =  ".pt==.==.=",
    [NODEROLE_TODO]       =  ".p=bbx=e=s",
    [NODEROLE_TRANSITION] =  ".p===.aeds",
    [NODEROLE_ACTIVE]     =  ".p==bx=ets",
    [NODEROLE_ERROR]      =  ".p=bb.==ts",
    /* clang-format on */
};

/* ---- entering a state ---- */

static void noderole_enter(struct core *c, noderole_ix ix, enum noderole_state to);

/* A parent entered ACTIVE. */
static void noderole_notify_children_ready(struct core *c, noderole_ix parent)
{
    for (uint32_t i = 0; i < noderole_at(c, parent)->children.count; i++) {
        const noderole_ix child = {vec_at(c, &noderole_at(c, parent)->children, i)};
        struct noderole *row = noderole_derive(c, child);
        must(row->inactive_parents > 0);
        if (--row->inactive_parents == 0)
            noderole_apply(c, child, EVENT_READY);
    }
}

/* A parent left ACTIVE. If it was proposed, only a TODO noderole among its children, which has not
 * started, is affected; children in ERROR stay in ERROR. */
static void noderole_notify_children_lost(struct core *c, noderole_ix parent)
{
    const bool proposed = noderole_at(c, parent)->state == NODEROLE_PROPOSED;
    for (uint32_t i = 0; i < noderole_at(c, parent)->children.count; i++) {
        const noderole_ix child = {vec_at(c, &noderole_at(c, parent)->children, i)};
        struct noderole *row = noderole_derive(c, child);
        row->inactive_parents++;
        if (!proposed || row->state == NODEROLE_TODO)
            noderole_apply(c, child, EVENT_LOST);
    }
}

/* Apply ANC_ERROR to every descendant once, by ascending cohort. */
static void noderole_notify_descendants_error(struct core *c, noderole_ix from)
{
    uint32_t count;
    noderole_ix *below = graph_descendants(c, from, c->arena, &count);
    graph_sort_by_cohort(c, below, count, false);
    for (uint32_t i = 0; i < count; i++)
        noderole_apply(c, below[i], EVENT_ANC_ERROR);
}

/* Enter a state that differs from the current one, with all consequences (see the top of the file).
 * committed_run, silent: see noderole_apply_run(). */
static void noderole_enter_by(struct core *c, noderole_ix ix, enum noderole_state to,
                              bool committed_run, bool silent)
{
    struct noderole *nr = noderole_edit(c, ix);
    const uint8_t from = nr->state;
    must(from != to);

    /* State and counts. */
    defaults_count(c, ix, false);
    unproposed_count(c, ix, false);
    nr->state = (uint8_t)to;
    defaults_count(c, ix, true);
    unproposed_count(c, ix, true);
    nr->since = c->now_ms;
    struct node *node = node_derive(c, nr->node);
    node->counts[from]--;
    node->counts[to]++;
    struct deployment *d = deployment_derive(c, nr->deployment);
    d->counts[from]--;
    d->counts[to]++;

    /* Runs that the new state does not allow, scheduler and boot barrier. */
    if (from == NODEROLE_TRANSITION && nr->run.v)
        run_cancel(c, nr->run);
    if (nr->queued.v && (to == NODEROLE_PROPOSED || to == NODEROLE_BLOCKED || to == NODEROLE_ERROR))
        run_drop_queued(c, ix);
    if (to == NODEROLE_TODO) {
        nr->chain = c->depth;
        node_lower_todo_cursor(c, ix);
    }
    sched_enqueue_node(c, nr->node);
    if (to == NODEROLE_PROPOSED)
        boot_due_forget(c, ix);
    boot_service_noderole_changed(c, ix);
    if (to == NODEROLE_ERROR || to == NODEROLE_PROPOSED) {
        grant_noderole_changed(c, ix,
                               to == NODEROLE_ERROR ? GRANT_VOID_ERROR : GRANT_VOID_PROPOSED);
    }
    if (from == NODEROLE_PROPOSED)
        nr->grant_barred = GRANT_VOID_NONE; /* a new commit */

    /* Hooks of this noderole, then its children and descendants. */
    hooks_state(c, ix, to, committed_run, silent);
    if (to == NODEROLE_TODO || from == NODEROLE_PROPOSED)
        hooks_compute(c, ix);

    if (from == NODEROLE_ACTIVE)
        noderole_notify_children_lost(c, ix);
    if (to == NODEROLE_ACTIVE)
        noderole_notify_children_ready(c, ix);
    if (to == NODEROLE_ERROR)
        noderole_notify_descendants_error(c, ix);
}

static void noderole_enter(struct core *c, noderole_ix ix, enum noderole_state to)
{
    noderole_enter_by(c, ix, to, false, false);
}

static void noderole_settle(struct core *c, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    const enum noderole_state to = nr->inactive_parents ? NODEROLE_BLOCKED : NODEROLE_TODO;
    if (nr->state != to)
        noderole_enter(c, ix, to);
}

/* ---- events ---- */

static void noderole_retry_or_mark_rerun(struct core *c, noderole_ix ix)
{
    const run_ix run = noderole_at(c, ix)->run;
    if (!run.v)
        noderole_settle(c, ix);
    else if (!run_skip_backoff(c, run))
        noderole_mark_rerun(c, ix, true);
}

static bool noderole_move(struct core *c, noderole_ix ix, char cell, bool committed_run,
                          bool silent)
{
    switch (cell) {
    case '=': return true;
    case 's': noderole_settle(c, ix); return true;
    case 'd': noderole_retry_or_mark_rerun(c, ix); return true;
    case 'p': noderole_enter_by(c, ix, NODEROLE_PROPOSED, committed_run, silent); return true;
    case 'b': noderole_enter_by(c, ix, NODEROLE_BLOCKED, committed_run, silent); return true;
    case 't': noderole_enter_by(c, ix, NODEROLE_TODO, committed_run, silent); return true;
    case 'x': noderole_enter_by(c, ix, NODEROLE_TRANSITION, committed_run, silent); return true;
    case 'a': noderole_enter_by(c, ix, NODEROLE_ACTIVE, committed_run, silent); return true;
    case 'e': noderole_enter_by(c, ix, NODEROLE_ERROR, committed_run, silent); return true;
    default: return false;
    }
}

char noderole_cell(uint8_t state, enum noderole_event event)
{
    must(state < NODEROLE_STATE_COUNT && event < NODEROLE_EVENT_COUNT);
    return moves[state][event];
}

bool noderole_apply(struct core *c, noderole_ix ix, enum noderole_event event)
{
    const uint8_t state = noderole_at(c, ix)->state;
    must(state < NODEROLE_STATE_COUNT && event < NODEROLE_EVENT_COUNT);
    return noderole_move(c, ix, moves[state][event], false, false);
}

bool noderole_apply_run(struct core *c, noderole_ix ix, enum noderole_event event,
                        bool committed_run, bool silent)
{
    return noderole_move(c, ix, moves[noderole_at(c, ix)->state][event], committed_run, silent);
}

/* ---- failures and marks ---- */

struct reason reason_truncate(uint32_t code, struct str subject, struct str text)
{
    return (struct reason){.code = code < REASON_COUNT ? (enum reason_code)code : REASON_NONE,
                           .subject = str_clip(subject, REASON_SUBJECT_MAX),
                           .text = str_clip(text, REASON_TEXT_MAX)};
}

void noderole_note_failure(struct core *c, noderole_ix ix, const struct failure *failure)
{
    struct noderole *nr = noderole_edit(c, ix);
    put_text(c, &nr->status, failure->status);
    nr->status_hook = 0;
    put_text(c, &nr->runlog, runlog_tail(failure->runlog));
    nr->reason = failure->why.code;
    put_text(c, &nr->reason_subject, failure->why.subject);
    put_text(c, &nr->reason_text, failure->why.text);
}

void noderole_clear_reason(struct core *c, noderole_ix ix)
{
    struct noderole *nr = noderole_edit(c, ix);
    nr->reason = REASON_NONE;
    put_text(c, &nr->reason_subject, STR(""));
    put_text(c, &nr->reason_text, STR(""));
}

void noderole_fail(struct core *c, noderole_ix ix, const struct failure *failure)
{
    const uint8_t state = noderole_at(c, ix)->state;
    if (moves[state][EVENT_FAILED] != 'e')
        return;
    noderole_note_failure(c, ix, failure);
    noderole_apply(c, ix, EVENT_FAILED);
}

void noderole_fail_cancelled(struct core *c, noderole_ix nr)
{
    const struct str text = STR_CONCAT(c->arena, STR("cancelled by "), c->command->actor);
    noderole_fail(c, nr,
                  &(struct failure){.status = STR("cancelled"),
                                    .runlog = text,
                                    .why = {.code = REASON_CANCELLED,
                                            .subject = STR_CONCAT(c->arena, c->command->actor),
                                            .text = text}});
}

void noderole_mark_rerun(struct core *c, noderole_ix ix, bool on)
{
    if (noderole_at(c, ix)->rerun == on)
        return;
    struct noderole *nr = noderole_edit(c, ix);
    defaults_count(c, ix, false);
    nr->rerun = on;
    defaults_count(c, ix, true);
    struct deployment *d = deployment_derive(c, nr->deployment);
    d->reruns = on ? d->reruns + 1 : d->reruns - 1;
}

void noderole_mark_removing(struct core *c, noderole_ix nr, bool removing)
{
    if (noderole_at(c, nr)->removing == removing)
        return;
    authority_touch(c, noderole_at(c, nr)->deployment);
    struct noderole *row = noderole_edit(c, nr);
    row->removing = removing;
    struct deployment *d = deployment_derive(c, row->deployment);
    d->removing = removing ? d->removing + 1 : d->removing - 1;
}

bool noderole_is_runnable(const struct core *c, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    const uint8_t state = view_state(c, ix);
    return node_at(c, nr->node)->alive && view_is_available(c, nr->node) &&
           !view_is_held_back(c, ix) && view_is_committed(c, nr->deployment) &&
           state != NODEROLE_PROPOSED && state != NODEROLE_ERROR && role_can_run(c, nr->role);
}

void noderole_request_rerun(struct core *c, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    if (nr->state == NODEROLE_TRANSITION && nr->run.v)
        noderole_mark_rerun(c, ix, true);
    else if (!noderole_is_runnable(c, ix)) {
        /* It cannot run now: keep the request as a rerun mark (ADR 0010). */
        if (nr->state == NODEROLE_ACTIVE)
            noderole_mark_rerun(c, ix, true);
    } else if (nr->state == NODEROLE_TRANSITION || nr->state == NODEROLE_ACTIVE)
        noderole_settle(c, ix);
}

/* ---- propose and commit ---- */

void noderole_propose(struct core *c, noderole_ix ix)
{
    if (noderole_at(c, ix)->state == NODEROLE_PROPOSED)
        return;
    authority_touch(c, noderole_at(c, ix)->deployment);
    noderole_apply(c, ix, EVENT_PROPOSE);
}

void noderole_reset(struct core *c, noderole_ix ix)
{
    authority_touch(c, noderole_at(c, ix)->deployment);
    noderole_edit(c, ix)->run_count = 0;
    if (noderole_at(c, ix)->state != NODEROLE_PROPOSED)
        noderole_enter_by(c, ix, NODEROLE_PROPOSED, false, true);
}

static bool noderole_may_commit(struct core *c, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    if (nr->state != NODEROLE_PROPOSED)
        return refuse(c, PROBLEM_WRONG_STATE, STR("state"),
                      STR_CONCAT(c->arena, noderole_label(c, ix, c->arena), STR(" is "),
                                 str_from(noderole_state_name(nr->state)),
                                 STR(", only a proposed noderole can be committed")));
    if (nr->hook_failed)
        refuse(c, PROBLEM_HOOK_FAILED, STR("status"),
               STR_CONCAT(c->arena, noderole_label(c, ix, c->arena), STR(": on_proposed failed: "),
                          text_of(c, nr->status)));
    if (deployment_role_at(c, nr->dr)->proposed)
        refuse(
            c, PROBLEM_DATA_PROPOSED, STR("deployment_role"),
            STR_CONCAT(
                c->arena, noderole_label(c, ix, c->arena),
                STR(": the data of its role are proposed in the deployment; commit them first")));
    return !refused(c);
}

/* A cluster grows: its children wait for the new member as well, also ACTIVE ones (ADR 0012). */
static void noderole_block_children(struct core *c, noderole_ix member)
{
    for (uint32_t i = 0; i < noderole_at(c, member)->children.count; i++) {
        const noderole_ix child = {vec_at(c, &noderole_at(c, member)->children, i)};
        const uint8_t state = noderole_at(c, child)->state;
        if (state == NODEROLE_ACTIVE || state == NODEROLE_TODO || state == NODEROLE_ERROR)
            noderole_enter(c, child, NODEROLE_BLOCKED);
    }
}

/* Commit one noderole. If on_commit has not replied, the veto request is recorded and the commit
 * continues, so that a batch sees its result; the step is rolled back at its end. */
static void noderole_commit(struct core *c, noderole_ix ix)
{
    if (!noderole_may_commit(c, ix))
        return;
    const struct noderole *nr = noderole_at(c, ix);
    authority_touch(c, nr->deployment);
    const role_ix role = nr->role;
    const uint32_t defines = role_at(c, role)->hooks;
    if (defines & 1u << HOOK_COMMIT &&
        !hooks_request_veto(c, HOOK_COMMIT, role, hooks_noderole_argument(c, ix)))
        return;

    timeline_commit_noderole(c, ix, doc_of(c, nr->proposed_data));
    noderole_apply(c, ix, EVENT_COMMIT);
    if (role_at(c, role)->flags & ROLE_CLUSTER)
        noderole_block_children(c, ix);
}

/* True if the node of a committed noderole is off and can be switched on. */
static bool noderole_needs_power_on(const struct core *c, noderole_ix ix)
{
    const node_ix n = noderole_at(c, ix)->node;
    return !node_at(c, n)->alive && node_can_power(c, n, STR("on"));
}

enum { PREFETCH_AHEAD = 8 }; /* rows */

bool noderole_commit_all(struct core *c, const noderole_ix *items, uint32_t count)
{
    bool any_off = false;
    for (uint32_t i = 0; i < count; i++) {
        if (i + PREFETCH_AHEAD < count)
            row_prefetch(c, TABLE_NODEROLE, items[i + PREFETCH_AHEAD].v);
        noderole_commit(c, items[i]);
        any_off = any_off || noderole_needs_power_on(c, items[i]);
    }
    /* Switch nodes on last: the boot barrier waits for noderoles that serve boots, and those may be
     * among the noderoles that are committed here. */
    for (uint32_t i = 0; any_off && i < count && !refused(c); i++)
        if (noderole_needs_power_on(c, items[i]))
            outbox_power_once(c, noderole_at(c, items[i])->node, STR("on"));
    return !refused(c);
}

/* ---- order and label ---- */

uint64_t noderole_key(const struct noderole *nr)
{
    must(nr->cohort <= COHORT_MAX && nr->o.id < (int64_t)1 << 48);
    return (uint64_t)nr->cohort << 48 | (uint64_t)nr->o.id;
}

int noderole_cmp(const struct core *c, noderole_ix a, noderole_ix b)
{
    const uint64_t x = noderole_key(noderole_at(c, a)), y = noderole_key(noderole_at(c, b));
    return (x > y) - (x < y);
}

struct str noderole_label(const struct core *c, noderole_ix ix, struct arena *a)
{
    const struct noderole *nr = noderole_at(c, ix);
    struct buf b = buf_in(a);
    buf_put_str(&b, text_of(c, deployment_at(c, nr->deployment)->name));
    buf_put_z(&b, ": ");
    buf_put_str(&b, text_of(c, node_at(c, nr->node)->name));
    buf_put_z(&b, ": ");
    buf_put_str(&b, text_of(c, role_at(c, nr->role)->name));
    return buf_str(&b);
}
