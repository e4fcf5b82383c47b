#include "turn/plan_queue.h"

#include "model/limits.h"
#include "turn/turn_private.h"

/* ---- requests ---- */

static void drop_request(struct turn *t, struct plan_request *r)
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

static void end_plan(struct made_plan *made)
{
    core_plan_end(made->plan);
    *made = (struct made_plan){0};
}

/* The plans that they waited for are ended too: a request that comes later would be charged with
 * their restarts. */
void plans_excuse(struct turn *t, err why)
{
    for (uint32_t i = 0; t->plans.count && i < PLAN_REQUESTS_MAX; i++) {
        struct plan_request *r = &t->plans.requests[i];
        if (!r->is_used)
            continue;
        const int64_t request = r->input.command.request;
        drop_request(t, r);
        turn_fail_request(t, request, why);
    }
    for (uint32_t i = 0; i < PLANS_KEPT; i++)
        if (t->plans.made[i].plan && !core_plan_is_done(t->plans.made[i].plan))
            end_plan(&t->plans.made[i]);
}

void plans_fini(struct turn *t)
{
    plans_forget(t);
    for (uint32_t i = 0; i < PLAN_REQUESTS_MAX; i++)
        if (t->plans.requests[i].is_used)
            drop_request(t, &t->plans.requests[i]);
}

void plans_forget(struct turn *t)
{
    for (uint32_t i = 0; i < PLANS_KEPT; i++)
        end_plan(&t->plans.made[i]);
    for (uint32_t i = 0; i < PLAN_REQUESTS_MAX; i++)
        t->plans.requests[i].is_answered = false;
}

/* ---- answering ---- */

static bool is_needed(const struct turn *t, uint32_t made)
{
    for (uint32_t i = 0; t->plans.count && i < PLAN_REQUESTS_MAX; i++)
        if (t->plans.requests[i].is_answered && t->plans.requests[i].made == made)
            return true;
    return false;
}

/* Plans that are done and that no request can use. */
static void end_useless(struct turn *t)
{
    for (uint32_t i = 0; i < PLANS_KEPT; i++) {
        struct made_plan *made = &t->plans.made[i];
        if (!made->plan || !core_plan_is_done(made->plan) || is_needed(t, i))
            continue;
        if (made->owner || core_plan_is_stale(made->plan) ||
            core_plan_bytes(made->plan) > PLAN_KEPT_BYTES)
            end_plan(made);
    }
}

/* Answers that show what is durable. */
static void let_out(struct turn *t)
{
    for (uint32_t i = 0; t->plans.count && i < PLAN_REQUESTS_MAX; i++) {
        struct plan_request *r = &t->plans.requests[i];
        if (!r->is_answered || r->seen > t->mark.turn)
            continue;
        if (r->outcome.verdict == VERDICT_NEEDS_HOOKS) {
            if (!turn_park(t, &r->input, &r->outcome))
                return;
        } else if (r->input.command.request) {
            t->ports.reply.outcome(t->ports.reply.self, r->input.command.request, &r->outcome,
                                   t->mark.turn);
        }
        drop_request(t, r);
    }
}

/* `made`: the plan that the outcome lies in; PLANS_KEPT: it is in memory of the request. */
static void set_answer(const struct turn *t, struct plan_request *r, uint32_t made)
{
    if (r->outcome.verdict == VERDICT_NEEDS_HOOKS && r->input.rounds >= ASKS_ROUNDS_MAX)
        r->outcome = turn_unsettled(&r->arena);
    r->made = made;
    r->seen = turn_seen(t);
    r->is_answered = true;
}

static void answer(struct turn *t, struct plan_request *r, uint32_t made)
{
    struct made_plan *m = &t->plans.made[made];
    core_plan_outcome(m->plan, &r->input.command, &r->outcome);
    /* Hooks are asked for each request; what they answer is for that request alone. */
    if (r->outcome.verdict == VERDICT_NEEDS_HOOKS)
        m->owner = m->owner ? m->owner : r->number;
    set_answer(t, r, made);
    m->used = ++t->plans.numbers;
}

static bool is_for(const struct made_plan *m, const struct plan_request *r)
{
    const struct command *c = &r->input.command;
    return !c->is_brief && m->deployment_id == c->deployment_commit.id &&
           (m->is_detailed || c->is_summary) &&
           (c->answer_count ? m->owner == r->number : m->owner == 0);
}

/* All that wait for the plan, which is done. */
static void answer_all(struct turn *t, uint32_t made)
{
    const struct made_plan *m = &t->plans.made[made];
    bool is_first = true;
    for (uint32_t i = 0; i < PLAN_REQUESTS_MAX; i++) {
        struct plan_request *r = &t->plans.requests[i];
        if (!r->is_used || r->is_answered || !is_for(m, r))
            continue;
        t->plans.counts.reused += !is_first;
        is_first = false;
        answer(t, r, made);
    }
}

static void refuse_busy(struct turn *t, const struct made_plan *m)
{
    for (uint32_t i = 0; i < PLAN_REQUESTS_MAX; i++) {
        struct plan_request *r = &t->plans.requests[i];
        if (!r->is_used || r->is_answered || !is_for(m, r))
            continue;
        struct problem *problem = arena_new(&r->arena, struct problem);
        problem->code = PROBLEM_BUSY;
        problem->field = STR("id");
        problem->text = STR("the deployment, or what its plan depends on, changed each time before "
                            "the plan was computed; ask again when less is going on in it");
        r->outcome = (struct outcome){.verdict = VERDICT_REFUSED, .problems = problem};
        r->made = PLANS_KEPT;
        r->seen = t->mark.turn;
        r->is_answered = true;
        t->plans.counts.busy++;
    }
}

/* ---- making ---- */

static struct plan_request *first_request(struct turn *t)
{
    struct plan_request *first = NULL;
    for (uint32_t i = 0; t->plans.count && i < PLAN_REQUESTS_MAX; i++) {
        struct plan_request *r = &t->plans.requests[i];
        if (r->is_used && !r->is_answered && (!first || r->number < first->number))
            first = r;
    }
    return first;
}

/* A place for a new plan: a free one, or that of the one that was not used for longest. Plans that
 * answers lie in stay. */
static uint32_t find_place(struct turn *t)
{
    uint32_t best = PLANS_KEPT;
    for (uint32_t i = 0; i < PLANS_KEPT; i++) {
        const struct made_plan *m = &t->plans.made[i];
        if (!m->plan)
            return i;
        if (!is_needed(t, i) && (best == PLANS_KEPT || m->used < t->plans.made[best].used))
            best = i;
    }
    if (best < PLANS_KEPT)
        end_plan(&t->plans.made[best]);
    return best;
}

static struct plan *begin(struct turn *t, const struct plan_request *r, bool is_detailed)
{
    t->plans.counts.computed++;
    return core_plan_begin(t->core, &r->input.command, is_detailed);
}

/* The plan for the request: one that there is, or a new one; PLANS_KEPT: none can be begun now. */
static uint32_t plan_for(struct turn *t, const struct plan_request *r)
{
    for (uint32_t i = 0; i < PLANS_KEPT; i++) {
        struct made_plan *m = &t->plans.made[i];
        if (!m->plan || !is_for(m, r))
            continue;
        if (!core_plan_is_stale(m->plan)) {
            t->plans.counts.reused += core_plan_is_done(m->plan);
            return i;
        }
        if (is_needed(t, i))
            continue; /* an answer lies in it; the next is made elsewhere */
        const bool was_done = core_plan_is_done(m->plan);
        if (was_done) { /* no request waits for it */
            end_plan(m);
            continue;
        }
        core_plan_end(m->plan);
        m->plan = NULL;
        if (m->restarts < PLAN_RESTARTS_MAX) {
            m->restarts++;
            t->plans.counts.restarted++;
            m->plan = begin(t, r, m->is_detailed);
            return i;
        }
        refuse_busy(t, m);
        *m = (struct made_plan){0};
        return PLANS_KEPT;
    }
    const uint32_t place = find_place(t);
    if (place == PLANS_KEPT)
        return place;
    t->plans.made[place] =
        (struct made_plan){.plan = begin(t, r, !r->input.command.is_summary),
                           .deployment_id = r->input.command.deployment_commit.id,
                           .is_detailed = !r->input.command.is_summary,
                           .owner = r->input.command.answer_count ? r->number : 0,
                           .used = ++t->plans.numbers};
    return place;
}

/* False while each place has an answer that waits for the store; there is nothing to do until the
 * store has written, and that is reported to the loop. */
static bool has_place(const struct turn *t)
{
    for (uint32_t i = 0; i < PLANS_KEPT; i++)
        if (!t->plans.made[i].plan || !is_needed(t, i))
            return true;
    return false;
}

static bool slice(struct turn *t)
{
    struct plan_request *r = first_request(t);
    const bool is_brief = r && r->input.command.is_brief;
    const uint32_t made = r && !is_brief ? plan_for(t, r) : PLANS_KEPT;
    if (is_brief) { /* one step, as it is when the store answers (turn.c) */
        core_plan(t->core, &r->input.command, &r->arena, &r->outcome);
        set_answer(t, r, PLANS_KEPT);
    }
    if (made < PLANS_KEPT) {
        struct plan *plan = t->plans.made[made].plan;
        if (core_plan_is_done(plan) || core_plan_advance(plan, PLAN_SLICE_UNITS))
            answer_all(t, made);
    }
    let_out(t);
    return first_request(t) && has_place(t);
}

bool turn_may_plan(const struct turn *t)
{
    return !t->is_stalled || turn_seen(t) == t->mark.turn;
}

bool turn_slice(struct turn *t)
{
    const bool may_work = t->plans.count && t->phase == PHASE_LIVE && t->core && turn_may_plan(t);
    const bool has_more = may_work && slice(t);
    end_useless(t);
    return has_more;
}

struct turn_plan_counts turn_plan_counts(const struct turn *t)
{
    return t->plans.counts;
}
