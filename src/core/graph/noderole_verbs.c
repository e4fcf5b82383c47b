#include "core/core_private.h"

/* The commands on one noderole (docs/spec/states.md, Noderole verbs), and its deletion. The state
 * machine itself is in noderole.c.
 *
 * Order: noderole_destroy() removes a row without children: first everything that refers to the
 * noderole (timeline, hooks, runs, links, edges), while its own fields are intact; then it leaves
 * the lists and counts of node and deployment; then its strings and the row itself. Callers
 * destroy descendants first, deepest first.
 *
 * Failure: a retry or a deletion that is not allowed is refused before anything changes. A commit
 * that is vetoed, or whose consent differs, is rolled back. */

static noderole_ix noderole_by_command_id(struct core *c, int64_t id)
{
    const noderole_ix nr = noderole_by_id(c, id);
    if (!nr.v)
        refuse_missing(c, "id", "noderole", id);
    c->out->id = id;
    return nr;
}

void do_noderole_propose(struct core *c, const struct noderole_propose_command *p)
{
    const noderole_ix nr = noderole_by_command_id(c, p->id);
    if (nr.v)
        noderole_propose(c, nr);
}

void do_noderole_commit(struct core *c, const struct noderole_commit_command *p)
{
    noderole_ix nr = noderole_by_command_id(c, p->id);
    if (nr.v && cluster_commit(c, &nr, 1))
        consent_check(c, &(struct commit){.items = &nr, .count = 1}, p->consent);
}

/* The first parent that is not ACTIVE; with such a parent the noderole could not run after a retry.
 * None if all are ACTIVE. */
static noderole_ix noderole_first_inactive_parent(const struct core *c, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    for (uint32_t i = 0; i < nr->parents.count; i++) {
        const noderole_ix parent = {vec_at(c, &nr->parents, i)};
        if (noderole_at(c, parent)->state != NODEROLE_ACTIVE)
            return parent;
    }
    return (noderole_ix){0};
}

void do_noderole_retry(struct core *c, const struct noderole_retry_command *p)
{
    const noderole_ix ix = noderole_by_command_id(c, p->id);
    if (!ix.v)
        return;
    const struct noderole *nr = noderole_at(c, ix);
    if (nr->state == NODEROLE_PROPOSED || nr->state == NODEROLE_BLOCKED) {
        refuse(c, PROBLEM_WRONG_STATE, STR("state"),
               STR_CONCAT(c->arena, noderole_label(c, ix, c->arena), STR(" is "),
                          str_from(noderole_state_name(nr->state)), STR(" and cannot be retried")));
        return;
    }
    const noderole_ix parent = noderole_first_inactive_parent(c, ix);
    if (parent.v) {
        refuse(c, PROBLEM_PARENTS_NOT_ACTIVE, STR("id"),
               STR_CONCAT(c->arena, noderole_label(c, ix, c->arena), STR(" depends on "),
                          noderole_label(c, parent, c->arena), STR(", which is "),
                          str_from(noderole_state_name(noderole_at(c, parent)->state)),
                          STR("; make that one active first, or propose this one so that its node "
                              "continues without it")));
        return;
    }
    if (node_at(c, nr->node)->stopped)
        node_clear_stopped(c, nr->node);
    sched_enqueue_node(c, nr->node);
    noderole_apply(c, ix, EVENT_RETRY);
}

void do_noderole_enqueue(struct core *c, const struct noderole_enqueue_command *p)
{
    const noderole_ix nr = noderole_by_command_id(c, p->id);
    if (!nr.v)
        return;
    const bool due = noderole_at(c, nr)->state == NODEROLE_TODO || noderole_at(c, nr)->rerun;
    if (due || !p->if_due)
        run_enqueue(c, nr);
}

/* ---- deletion ---- */

static void noderole_destroy(struct core *c, noderole_ix ix)
{
    authority_touch(c, noderole_at(c, ix)->deployment);
    timeline_drop_noderole(c, ix);
    outbox_forget_noderole(c, ix);
    run_drop_queued(c, ix);
    if (noderole_at(c, ix)->run.v)
        run_cancel(c, noderole_at(c, ix)->run);
    noderole_mark_rerun(c, ix, false);
    links_clear(c, ix);
    must(!noderole_at(c, ix)->children.count);
    graph_detach(c, ix);

    const struct noderole *nr = noderole_at(c, ix);
    const uint32_t place = node_noderole_position(c, ix);
    struct node *node = node_derive(c, nr->node);
    vec_remove(&c->heap, &node->noderoles, place);
    node->counts[nr->state]--;
    if (node->todo_cursor > place)
        node->todo_cursor--;
    struct deployment *d = deployment_derive(c, nr->deployment);
    d->counts[nr->state]--;
    if (nr->removing)
        d->removing--;
    defaults_count(c, ix, false);
    unproposed_count(c, ix, false);
    struct deployment_role *dr = deployment_role_derive(c, nr->dr);
    ids_remove(c, &dr->noderoles, TABLE_NODEROLE, ix.v);

    const node_ix n = nr->node;
    const bool was_target = node_at(c, n)->target.v == nr->role.v;
    anneal_forget_candidates(c, n);
    struct noderole *row = noderole_edit(c, ix);
    text_h *const texts[] = {
        &row->status,  &row->runlog, &row->proposed_data, &row->committed_data, &row->computed,
        &row->sysdata, &row->wall,   &row->notes,         &row->reason_subject, &row->reason_text};
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++)
        put_text(c, texts[i], STR(""));
    core_remove_row(c, TABLE_NODEROLE, ix.v);
    if (was_target)
        node_set_target(c, n, (role_ix){0}); /* a target must be bound to the node */
}

void do_noderole_delete(struct core *c, const struct noderole_delete_command *p)
{
    const noderole_ix ix = noderole_by_command_id(c, p->id);
    if (!ix.v || !graph_can_delete(c, ix))
        return;
    noderole_destroy_all(c, &ix, 1);
}

void noderole_destroy_all(struct core *c, const noderole_ix *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t below_count;
        if (!pool_is_live(&c->tables[TABLE_NODEROLE].pool, items[i].v))
            continue; /* deleted as a descendant of an earlier one */
        noderole_ix *below = graph_descendants(c, items[i], c->arena, &below_count);
        graph_sort_by_cohort(c, below, below_count, true);
        for (uint32_t k = 0; k < below_count; k++)
            noderole_destroy(c, below[k]);
        noderole_destroy(c, items[i]);
    }
}
