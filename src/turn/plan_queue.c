#include "turn/plan_queue.h"

#include "model/limits.h"
#include "turn/turn_private.h"

/* turn_slice(): take the oldest request without a reply, find or begin a plan for it, compute one
 * slice, and send the replies whose turn is durable. This file owns turn.plans: the requests, each
 * with an arena of its own, and the slots with plans.
 *
 * Ordering: an outcome may point into the memory of its plan, so a plan is freed only after all
 * replies that use it were sent (plans_is_needed). Plans refer to the core and must be ended before
 * it is freed (plans_forget); their requests stay and get new plans from the next core.
 *
 * Failure: requests fail when the store does (plans_fail_requests), and are refused with `busy`
 * when rows change faster than a plan can be computed. */

/* ---- requests ---- */

static void plans_drop_request(struct turn *t, struct plan_request *r)
{
    arena_fini(&r->arena);
    *r = (struct plan_request){0};
    t->plans.count--;
}

err plans_take(struct turn *t, const struct input *input)
{
    struct plans *plans = &t->plans;
    uint32_t i = 0;
    while (i < PLAN_REQUESTS_MAX && plans->requests[i].is_used)
        i++;
    if (i == PLAN_REQUESTS_MAX)
        return ERR_LIMIT;
    struct plan_request *r = &plans->requests[i];
    r->is_used = true;
    r->number = ++plans->numbers;
    r->input.command = command_copy(&r->arena, &input->command);
    r->input.rounds = input->rounds;
    plans->count++;
    return OK;
}

static void plans_end(struct made_plan *made)
{
    core_plan_end(made->plan);
    *made = (struct made_plan){0};
}

/* Unfinished plans are ended as well: otherwise a later request would inherit their number of
 * restarts. */
void plans_fail_requests(struct turn *t, err why)
{
    for (uint32_t i = 0; t->plans.count && i < PLAN_REQUESTS_MAX; i++) {
        struct plan_request *r = &t->plans.requests[i];
        if (!r->is_used)
            continue;
        const int64_t request = r->input.command.request;
        plans_drop_request(t, r);
        turn_fail_request(t, request, why);
    }
    for (uint32_t i = 0; i < PLANS_KEPT; i++)
        if (t->plans.made[i].plan && !core_plan_is_done(t->plans.made[i].plan))
            plans_end(&t->plans.made[i]);
}

void plans_fini(struct turn *t)
{
    plans_forget(t);
    for (uint32_t i = 0; i < PLAN_REQUESTS_MAX; i++)
        if (t->plans.requests[i].is_used)
            plans_drop_request(t, &t->plans.requests[i]);
}

void plans_forget(struct turn *t)
{
    for (uint32_t i = 0; i < PLANS_KEPT; i++)
        plans_end(&t->plans.made[i]);
    for (uint32_t i = 0; i < PLAN_REQUESTS_MAX; i++)
        t->plans.requests[i].is_answered = false;
}

/* ---- replies ---- */

/* True if a reply that was not sent yet points into the plan of this slot. */
static bool plans_is_needed(const struct turn *t, uint32_t made)
{
    for (uint32_t i = 0; t->plans.count && i < PLAN_REQUESTS_MAX; i++)
        if (t->plans.requests[i].is_answered && t->plans.requests[i].made == made)
            return true;
    return false;
}

/* Send the replies whose turn is durable. */
static void plans_send_replies(struct turn *t)
{
    for (uint32_t i = 0; t->plans.count && i < PLAN_REQUESTS_MAX; i++) {
        struct plan_request *r = &t->plans.requests[i];
        if (!r->is_answered || r->seen > t->mark.turn)
            continue;
        if (r->outcome.verdict == VERDICT_NEEDS_HOOKS) {
            if (!turn_wait_for_hooks(t, &r->input, &r->outcome))
                return;
        } else if (r->input.command.request) {
            t->ports.reply.outcome(t->ports.reply.self, r->input.command.request, &r->outcome,
                                   t->mark.turn);
        }
        plans_drop_request(t, r);
    }
}

/* `made`: slot of the plan that the outcome points into; PLANS_KEPT: it is in the arena of the
 * request. */
static void plans_set_reply(const struct turn *t, struct plan_request *r, uint32_t made)
{
    if (r->outcome.verdict == VERDICT_NEEDS_HOOKS && r->input.rounds >= ASKS_ROUNDS_MAX)
        r->outcome = turn_hooks_unsettled(&r->arena);
    r->made = made;
    r->seen = turn_seen(t);
    r->is_answered = true;
}

static bool plans_matches(const struct made_plan *m, const struct plan_request *r)
{
    const struct command *c = &r->input.command;
    return !c->is_brief && m->deployment_id == c->deployment_commit.id &&
           (m->is_detailed || c->is_summary) &&
           (c->veto_reply_count ? m->owner == r->number : m->owner == 0);
}

/* Set the replies of all requests that wait for this complete plan. */
static void plans_reply_all(struct turn *t, uint32_t made)
{
    struct made_plan *m = &t->plans.made[made];
    bool is_first = true;
    for (uint32_t i = 0; i < PLAN_REQUESTS_MAX; i++) {
        struct plan_request *r = &t->plans.requests[i];
        if (!r->is_used || r->is_answered || !plans_matches(m, r))
            continue;
        t->plans.counts.reused += !is_first;
        is_first = false;
        core_plan_outcome(m->plan, &r->input.command, &r->outcome);
        /* Veto requests are sent for each request; the replies apply to that request only. */
        if (r->outcome.verdict == VERDICT_NEEDS_HOOKS)
            m->owner = m->owner ? m->owner : r->number;
        plans_set_reply(t, r, made);
        m->used = ++t->plans.numbers;
    }
}

static void plans_refuse_busy(struct turn *t, const struct made_plan *m)
{
    for (uint32_t i = 0; i < PLAN_REQUESTS_MAX; i++) {
        struct plan_request *r = &t->plans.requests[i];
        if (!r->is_used || r->is_answered || !plans_matches(m, r))
            continue;
        struct problem *problem = arena_new(&r->arena, struct problem);
        problem->code = PROBLEM_BUSY;
        problem->field = STR("id");
        problem->text =
            STR("the deployment, or an object that its plan depends on, changed each time "
                "before the plan was complete; try again when there are fewer changes");
        r->outcome = (struct outcome){.verdict = VERDICT_REFUSED, .problems = problem};
        r->made = PLANS_KEPT;
        r->seen = t->mark.turn;
        r->is_answered = true;
        t->plans.counts.busy++;
    }
}

/* ---- computing ---- */

static struct plan_request *plans_first_request(struct turn *t)
{
    struct plan_request *first = NULL;
    for (uint32_t i = 0; t->plans.count && i < PLAN_REQUESTS_MAX; i++) {
        struct plan_request *r = &t->plans.requests[i];
        if (r->is_used && !r->is_answered && (!first || r->number < first->number))
            first = r;
    }
    return first;
}

/* A slot for a new plan: a free one, or that of the least recently used plan without unsent
 * replies. PLANS_KEPT: none. */
static uint32_t plans_find_slot(struct turn *t)
{
    uint32_t best = PLANS_KEPT;
    for (uint32_t i = 0; i < PLANS_KEPT; i++) {
        const struct made_plan *m = &t->plans.made[i];
        if (!m->plan)
            return i;
        if (!plans_is_needed(t, i) && (best == PLANS_KEPT || m->used < t->plans.made[best].used))
            best = i;
    }
    if (best < PLANS_KEPT)
        plans_end(&t->plans.made[best]);
    return best;
}

static struct plan *plans_begin(struct turn *t, const struct plan_request *r, bool is_detailed)
{
    t->plans.counts.computed++;
    return core_plan_begin(t->core, &r->input.command, is_detailed);
}

/* The slot of a plan for the request: an existing one, or a new one; PLANS_KEPT: none can be begun
 * now. */
static uint32_t plans_plan_for(struct turn *t, const struct plan_request *r)
{
    /* Use an existing plan. One that became stale during the computation is started again in its
     * slot, so that the restarts are counted; after too many its requests are refused. */
    for (uint32_t i = 0; i < PLANS_KEPT; i++) {
        struct made_plan *m = &t->plans.made[i];
        if (!m->plan || !plans_matches(m, r))
            continue;
        if (!core_plan_is_stale(m->plan)) {
            t->plans.counts.reused += core_plan_is_done(m->plan);
            return i;
        }
        if (plans_is_needed(t, i))
            continue; /* an unsent reply points into it; use another slot */
        const bool was_done = core_plan_is_done(m->plan);
        if (was_done) { /* no request waits for it */
            plans_end(m);
            continue;
        }
        core_plan_end(m->plan);
        m->plan = NULL;
        if (m->restarts < PLAN_RESTARTS_MAX) {
            m->restarts++;
            t->plans.counts.restarted++;
            m->plan = plans_begin(t, r, m->is_detailed);
            return i;
        }
        plans_refuse_busy(t, m);
        *m = (struct made_plan){0};
        return PLANS_KEPT;
    }
    /* Begin a new plan. */
    const uint32_t slot = plans_find_slot(t);
    if (slot == PLANS_KEPT)
        return slot;
    t->plans.made[slot] =
        (struct made_plan){.plan = plans_begin(t, r, !r->input.command.is_summary),
                           .deployment_id = r->input.command.deployment_commit.id,
                           .is_detailed = !r->input.command.is_summary,
                           .owner = r->input.command.veto_reply_count ? r->number : 0,
                           .used = ++t->plans.numbers};
    return slot;
}

/* False while every slot has an unsent reply. They wait for the store, whose commit wakes the loop.
 * */
static bool plans_has_slot(const struct turn *t)
{
    for (uint32_t i = 0; i < PLANS_KEPT; i++)
        if (!t->plans.made[i].plan || !plans_is_needed(t, i))
            return true;
    return false;
}

static bool plans_slice(struct turn *t)
{
    struct plan_request *r = plans_first_request(t);
    const bool is_brief = r && r->input.command.is_brief;
    const uint32_t made = r && !is_brief ? plans_plan_for(t, r) : PLANS_KEPT;
    if (is_brief) { /* computed at once, as turn.c does when the store is not stalled */
        core_plan(t->core, &r->input.command, &r->arena, &r->outcome);
        plans_set_reply(t, r, PLANS_KEPT);
    }
    if (made < PLANS_KEPT) {
        struct plan *plan = t->plans.made[made].plan;
        if (core_plan_is_done(plan) || core_plan_advance(plan, PLAN_SLICE_UNITS))
            plans_reply_all(t, made);
    }
    plans_send_replies(t);
    return plans_first_request(t) && plans_has_slot(t);
}

bool turn_may_plan(const struct turn *t)
{
    return !t->is_stalled || turn_seen(t) == t->mark.turn;
}

bool turn_slice(struct turn *t)
{
    const bool may_work = t->plans.count && t->phase == PHASE_LIVE && t->core && turn_may_plan(t);
    const bool has_more = may_work && plans_slice(t);
    /* End complete plans that no later request can use. */
    for (uint32_t i = 0; i < PLANS_KEPT; i++) {
        struct made_plan *made = &t->plans.made[i];
        if (!made->plan || !core_plan_is_done(made->plan) || plans_is_needed(t, i))
            continue;
        if (made->owner || core_plan_is_stale(made->plan) ||
            core_plan_bytes(made->plan) > PLAN_KEPT_BYTES)
            plans_end(made);
    }
    return has_more;
}

struct turn_plan_counts turn_plan_counts(const struct turn *t)
{
    return t->plans.counts;
}
