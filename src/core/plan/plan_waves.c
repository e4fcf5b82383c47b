#include "core/plan/plan.h"

/* Waves of a plan: which noderoles start after the commit, and in which order, if every run
 * succeeds. A noderole is in the wave after the last of its parents; a noderole that does not
 * start is held (WAVE_HELD). This file owns plan.wave, plan.next_of_wave and the list plan.runs.
 *
 * Order: noderoles are visited in ascending order of cohort, so the waves of all parents are
 * known. Then the noderoles of each wave are counted, and then stored at the position of their
 * wave (counting sort). This imitates annealing (core/sched/anneal.c): a condition that is added
 * there must be added here. Nothing is changed in the core, and nothing fails. */

bool plan_waits(uint8_t state)
{
    return state == NODEROLE_TODO || state == NODEROLE_BLOCKED;
}

/* True if the node starts nothing until an operator acts: it is stopped, a noderole is in ERROR, or
 * one waits for an asynchronous result. */
static bool plan_node_is_closed(const struct core *c, node_ix n)
{
    const struct node *node = node_at(c, n);
    if (node->stopped)
        return true;
    const bool may_be = node->counts[NODEROLE_ERROR] || node->counts[NODEROLE_TRANSITION] ||
                        view_node_flags(c, n) & SEEN_NODE_FAILED;
    for (uint32_t i = 0; may_be && i < node->noderoles.count; i++) {
        const noderole_ix nr = {vec_at(c, &node->noderoles, i)};
        const uint8_t state = view_state(c, nr);
        if (state == NODEROLE_ERROR || (state == NODEROLE_TRANSITION && !noderole_at(c, nr)->run.v))
            return true;
    }
    return false;
}

noderole_ix plan_blocking_parent(struct plan *p, noderole_ix nr, uint32_t *out_wave)
{
    const struct vec *parents = &noderole_at(p->c, nr)->parents;
    noderole_ix first = {0};
    uint32_t done = 0;
    plan_cost(p, parents->count / 4);
    for (uint32_t i = 0; i < parents->count; i++) {
        const noderole_ix parent = {vec_at(p->c, parents, i)};
        const struct noderole *row = noderole_at(p->c, parent);
        const uint8_t state = view_state(p->c, parent);
        /* The parent is ACTIVE, or will be by its current run. */
        const bool is_now =
            state == NODEROLE_ACTIVE || (state == NODEROLE_TRANSITION && row->run.v);
        /* The wave after which it is ACTIVE; WAVE_HELD if it does not become ACTIVE by the plan. */
        const bool waits = row->deployment.v == p->d.v && plan_waits(state);
        const uint32_t wave = waits ? p->wave[parent.v] : WAVE_HELD;
        plan_read(p, parent);
        if (!is_now && wave == WAVE_HELD && (!first.v || noderole_cmp(p->c, parent, first) < 0))
            first = parent;
        done = wave > done ? wave : done;
    }
    *out_wave = done;
    return first;
}

attrib_ix plan_missing_attrib(struct plan *p, noderole_ix nr)
{
    uint8_t *known = &p->role_requires[noderole_at(p->c, nr)->role.v];
    if (!*known)
        *known = required_any(p->c, noderole_at(p->c, nr)->role, &p->scratch) ? 2 : 1;
    if (*known == 1)
        return (attrib_ix){0};
    plan_read_ancestors(p, nr);
    plan_cost(p, 30);
    return required_missing(p->c, nr, &p->scratch);
}

/* Parents have lower cohorts, so one pass in that order decides about all noderoles. */
bool plan_waves_unit(struct plan *p)
{
    uint32_t done;
    if (p->at == p->all.count)
        return true;
    const noderole_ix nr = p->all.items[p->at++];
    plan_read(p, nr);
    if (plan_blocking_parent(p, nr, &done).v || !noderole_is_runnable(p->c, nr) ||
        plan_node_is_closed(p->c, noderole_at(p->c, nr)->node) || plan_missing_attrib(p, nr).v)
        return false;
    p->wave[nr.v] = done + 1;
    p->last_wave = done + 1 > p->last_wave ? done + 1 : p->last_wave;
    return false;
}

/* Counts the noderoles of each wave; at the end turns the counts into the position at which the
 * next noderole of each wave is stored. The count of wave w is in entry w + 1. */
bool plan_count_waves_unit(struct plan *p)
{
    if (!p->next_of_wave) {
        p->order_pages = plan_pages(((size_t)p->last_wave + 2) * sizeof *p->next_of_wave);
        p->next_of_wave = p->order_pages.at;
    }
    if (p->at < p->all.count) {
        p->next_of_wave[p->wave[p->all.items[p->at++].v] + 1]++;
        return false;
    }
    const uint32_t held = p->next_of_wave[WAVE_HELD + 1];
    p->next_of_wave[WAVE_HELD + 1] = 0;
    for (uint32_t w = 1; w <= p->last_wave; w++)
        p->next_of_wave[w + 1] += p->next_of_wave[w];
    p->runs.count = p->all.count - held;
    p->runs.pages = plan_pages(((size_t)p->runs.count + 1) * sizeof *p->runs.items);
    p->runs.items = p->runs.pages.at;
    return true;
}

/* Stores the noderoles that start, wave by wave, each wave by (cohort, id). */
bool plan_order_unit(struct plan *p)
{
    if (p->at == p->all.count)
        return true;
    const noderole_ix nr = p->all.items[p->at++];
    if (p->wave[nr.v] != WAVE_HELD)
        p->runs.items[p->next_of_wave[p->wave[nr.v]]++] = nr;
    return false;
}
