#include "core/network/network_private.h"

#include "model/names.h"

/* Deployments: a tree below the deployment `system`. This file owns the deployment rows. Each one
 * owns its head (its newest snapshot) and its phantom node, the system node that carries its
 * services; both are created and deleted with it.
 *
 * A deletion destroys the noderoles from the highest cohort down, then the deployment roles and
 * the phantom node; then it moves the nodes to the parent deployment, deletes tokens that are
 * restricted to the deployment, and removes the row last, since all of these refer to it.
 *
 * Propose adds a new PROPOSED head; recall changes a COMMITTED head back to PROPOSED. Both set the
 * state of the head first and then drop enqueued runs, since nothing starts below a head that is
 * not COMMITTED. Runs in progress continue.
 *
 * Failure: names are checked before anything changes. A refusal later, for example of a noderole
 * on which others depend, rolls the step back. */

static deployment_ix deployment_get_for_command(struct core *c, int64_t id)
{
    const deployment_ix d = deployment_by_id(c, id);
    if (!d.v)
        refuse_missing(c, "id", "deployment", id);
    c->out->id = id;
    return d;
}

deployment_ix deployment_system(const struct core *c)
{
    return deployment_by_id(c, 1);
}

/* ---- states ---- */

enum deployment_state deployment_state(const struct core *c, deployment_ix ix)
{
    const struct deployment *d = deployment_at(c, ix);
    if (!d->committed)
        return DEPLOYMENT_PROPOSED;
    bool all_active = true;
    for (uint32_t state = 0; state < NODEROLE_STATE_COUNT; state++)
        all_active &= state == NODEROLE_ACTIVE || d->counts[state] == 0;
    if (all_active)
        return DEPLOYMENT_ACTIVE;
    return d->counts[NODEROLE_ERROR] ? DEPLOYMENT_ERROR : DEPLOYMENT_COMMITTED;
}

enum deployment_state core_deployment_state(const struct core *c, int64_t deployment_id)
{
    const deployment_ix d = deployment_by_id(c, deployment_id);
    return d.v ? deployment_state(c, d) : DEPLOYMENT_PROPOSED;
}

enum noderole_state node_state(const struct core *c, node_ix n)
{
    const uint32_t *counts = node_at(c, n)->counts;
    if (counts[NODEROLE_ERROR])
        return NODEROLE_ERROR;
    if (counts[NODEROLE_TRANSITION])
        return NODEROLE_TRANSITION;
    if (counts[NODEROLE_PROPOSED])
        return NODEROLE_PROPOSED;
    return counts[NODEROLE_TODO] || counts[NODEROLE_BLOCKED] ? NODEROLE_TODO : NODEROLE_ACTIVE;
}

enum noderole_state core_node_state(const struct core *c, int64_t node_id)
{
    const node_ix n = node_by_id(c, node_id);
    return n.v ? node_state(c, n) : NODEROLE_ACTIVE;
}

/* ---- creation ---- */

static struct str deployment_phantom_name(struct core *c, struct str name)
{
    return str_lower(c->arena, STR_CONCAT(c->arena, name, STR("-phantom.internal.local")));
}

/* `self` is the deployment that may have the name already; none for a new one. */
static void deployment_check_name(struct core *c, struct str name, deployment_ix self)
{
    const char *wrong = names_check_deployment(name);
    if (wrong) {
        refuse(c, name.len ? PROBLEM_NAME_INVALID : PROBLEM_MISSING, STR("name"),
               STR_CONCAT(c->arena, STR("name "), str_from(wrong)));
        return;
    }
    const uint32_t taken = name_find(c, TABLE_DEPLOYMENT, name);
    if (taken && taken != self.v)
        refuse(c, PROBLEM_NAME_TAKEN, STR("name"),
               STR_CONCAT(c->arena, STR("there is a deployment called "), name, STR(" already")));
    const node_ix phantom = self.v ? deployment_at(c, self)->phantom : (node_ix){0};
    node_check_name(c, deployment_phantom_name(c, name), phantom);
}

static void deployment_check_depth(struct core *c, deployment_ix parent)
{
    const uint32_t max = core_settings(c)->max_depth;
    uint32_t layers = 1; /* layers down to the new deployment; system alone is one */
    for (deployment_ix d = parent; d.v; d = deployment_at(c, d)->parent)
        layers++;
    if (max && layers > max)
        refuse(c, PROBLEM_TOO_DEEP, STR("parent_id"),
               STR_CONCAT(c->arena, STR("the deployment tree may have at most "),
                          str_from_i64(c->arena, max), STR(" layers")));
}

deployment_ix deployment_make(struct core *c, struct str name, struct str description,
                              deployment_ix parent, bool system)
{
    const deployment_ix d = deployment_add(c);
    if (!d.v)
        return d;
    struct deployment *row = deployment_edit(c, d);
    put_text(c, &row->name, name);
    put_text(c, &row->description, description);
    row->parent = parent;
    row->system = system;
    name_add(c, TABLE_DEPLOYMENT, d.v);
    if (parent.v)
        deployment_derive(c, parent)->child_count++;

    const struct node_create_command phantom = {.name = deployment_phantom_name(c, name)};
    const node_ix n = node_make(c, &phantom, d, true);
    const enum snapshot_state state = system ? SNAPSHOT_COMMITTED : SNAPSHOT_PROPOSED;
    if (!n.v || !timeline_begin(c, d, state).v)
        return (deployment_ix){0};
    deployment_edit(c, d)->phantom = n;
    hooks_node(c, HOOK_NODE_CREATE, n);
    return d;
}

void do_deployment_create(struct core *c, const struct deployment_create_command *p)
{
    deployment_check_name(c, p->name, (deployment_ix){0});
    const deployment_ix parent =
        p->parent_id ? deployment_by_id(c, p->parent_id) : deployment_system(c);
    if (!parent.v)
        refuse_missing(c, "parent_id", "deployment", p->parent_id);
    else
        deployment_check_depth(c, parent);
    if (refused(c))
        return;
    const deployment_ix d = deployment_make(c, p->name, p->description, parent, false);
    if (d.v)
        c->out->id = deployment_at(c, d)->o.id;
}

/* ---- update ---- */

static void deployment_rename(struct core *c, deployment_ix d, struct str name)
{
    name_remove(c, TABLE_DEPLOYMENT, d.v);
    put_text(c, &deployment_edit(c, d)->name, name);
    if (c->vars.name_filters.count)
        dns_names_evaluate_all(c); /* tests and tokens read the names of deployments */
    name_add(c, TABLE_DEPLOYMENT, d.v);

    const node_ix phantom = deployment_at(c, d)->phantom;
    const struct str node_name = deployment_phantom_name(c, name);
    if (str_eq(text_of(c, node_at(c, phantom)->name), node_name))
        return; /* only the case of the name changed */
    node_rename(c, phantom, node_name);
    node_changed(c, phantom);
}

void do_deployment_update(struct core *c, const struct deployment_update_command *p)
{
    const deployment_ix d = deployment_get_for_command(c, p->id);
    if (d.v && p->given & GIVEN_NAME)
        deployment_check_name(c, p->name, d);
    if (refused(c))
        return;
    const struct deployment *now = deployment_at(c, d);
    if (p->given & GIVEN_NAME && !str_eq(text_of(c, now->name), p->name))
        deployment_rename(c, d, p->name);
    if (p->given & GIVEN_DESCRIPTION && !str_eq(text_of(c, now->description), p->description))
        put_text(c, &deployment_edit(c, d)->description, p->description);
}

/* ---- delete ---- */

static bool deployment_any_noderole(const struct noderole *nr)
{
    return nr != NULL;
}

/* Destroys the noderoles from the highest cohort down, so that graph_can_delete() sees only
 * dependants outside of what was destroyed already. */
static bool deployment_destroy_noderoles(struct core *c, deployment_ix d)
{
    uint32_t count;
    const noderole_ix *all = deployment_select(c, d, deployment_any_noderole, UINT32_MAX, &count);
    for (uint32_t i = count; i-- > 0;) {
        if (!pool_is_live(&c->tables[TABLE_NODEROLE].pool, all[i].v))
            continue; /* destroyed with an earlier one */
        if (!graph_can_delete(c, all[i]))
            return false;
        noderole_destroy_all(c, &all[i], 1);
    }
    return true;
}

static void deployment_move_nodes_to_parent(struct core *c, deployment_ix from)
{
    const deployment_ix parent = deployment_at(c, from)->parent;
    for (uint32_t ix = core_next_row(c, TABLE_NODE, 0); ix;
         ix = core_next_row(c, TABLE_NODE, node_at(c, (node_ix){ix})->o.id)) {
        const node_ix n = {ix};
        if (node_at(c, n)->deployment.v != from.v)
            continue;
        node_move(c, n, parent);
        node_changed(c, n);
    }
}

void do_deployment_delete(struct core *c, const struct deployment_delete_command *p)
{
    const deployment_ix d = deployment_get_for_command(c, p->id);
    if (!d.v)
        return;
    if (deployment_at(c, d)->system)
        refuse(c, PROBLEM_SYSTEM_DEPLOYMENT, STR("id"),
               STR("the system deployment cannot be deleted"));
    if (deployment_at(c, d)->child_count)
        refuse(c, PROBLEM_HAS_CHILDREN, STR("id"),
               STR("the deployment has child deployments; delete these first"));
    for (uint32_t ix = core_next_row(c, TABLE_NETWORK, 0); ix;
         ix = core_next_row(c, TABLE_NETWORK, network_at(c, (network_ix){ix})->o.id))
        if (network_at(c, (network_ix){ix})->deployment.v == d.v)
            refuse(c, PROBLEM_IN_USE, STR("id"),
                   STR_CONCAT(c->arena, STR("the deployment has the network "),
                              text_of(c, network_at(c, (network_ix){ix})->name),
                              STR("; delete it first")));
    if (refused(c))
        return;
    timeline_keep_head(c, d); /* its own deletion makes no snapshot */
    if (!deployment_destroy_noderoles(c, d))
        return;
    while (deployment_at(c, d)->roles.count) {
        const struct vec *roles = &deployment_at(c, d)->roles;
        deployment_role_destroy(c, (deployment_role_ix){vec_at(c, roles, roles->count - 1)});
    }
    if (!node_remove(c, deployment_at(c, d)->phantom))
        return;
    deployment_move_nodes_to_parent(c, d);
    tokens_forget_deployment(c, d);

    /* The timeline, the strings and the row. */
    timeline_destroy(c, d);
    defaults_forget(c, d);
    name_remove(c, TABLE_DEPLOYMENT, d.v);
    deployment_derive(c, deployment_at(c, d)->parent)->child_count--;
    struct deployment *row = deployment_edit(c, d);
    put_text(c, &row->name, STR(""));
    put_text(c, &row->description, STR(""));
    core_remove_row(c, TABLE_DEPLOYMENT, d.v);
}

/* ---- propose and recall (ADR 0011) ---- */

static bool deployment_would_start(const struct noderole *nr)
{
    return nr->queued.v || nr->state == NODEROLE_TODO || nr->state == NODEROLE_TRANSITION;
}

/* Prevents further starts in the deployment. An enqueued run is removed and its request kept as a
 * rerun mark (ADR 0010). */
static void deployment_stop_starts(struct core *c, deployment_ix d)
{
    const uint32_t *counts = deployment_at(c, d)->counts;
    const uint32_t most =
        counts[NODEROLE_TODO] + counts[NODEROLE_TRANSITION] + counts[NODEROLE_ACTIVE];
    uint32_t count;
    const noderole_ix *items = deployment_select(c, d, deployment_would_start, most, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct noderole *nr = noderole_at(c, items[i]);
        if (nr->queued.v) {
            run_drop_queued(c, items[i]);
            if (nr->state != NODEROLE_TODO)
                noderole_mark_rerun(c, items[i], true);
        }
        sched_enqueue_node(c, nr->node);
    }
}

static bool deployment_check_not_system(struct core *c, deployment_ix d)
{
    if (!deployment_at(c, d)->system)
        return true;
    return refuse(c, PROBLEM_SYSTEM_DEPLOYMENT, STR("id"),
                  STR("the system deployment is always committed"));
}

static void deployment_recall(struct core *c, deployment_ix d)
{
    if (!deployment_at(c, d)->committed)
        return;
    authority_touch(c, d);
    snapshot_set_state(c, deployment_at(c, d)->head, SNAPSHOT_PROPOSED);
    deployment_stop_starts(c, d);
}

bool deployment_propose(struct core *c, deployment_ix d, struct str name)
{
    if (!deployment_check_not_system(c, d))
        return false;
    const enum deployment_state state = deployment_state(c, d);
    if (state == DEPLOYMENT_ACTIVE || state == DEPLOYMENT_ERROR) {
        authority_touch(c, d);
        if (!timeline_next(c, d, SNAPSHOT_PROPOSED, name).v)
            return false;
        deployment_stop_starts(c, d);
    } else {
        deployment_recall(c, d);
    }
    return true;
}

void do_deployment_propose(struct core *c, const struct deployment_propose_command *p)
{
    const deployment_ix d = deployment_get_for_command(c, p->id);
    const char *wrong = p->name.len ? names_check_snapshot(p->name) : NULL;
    if (wrong)
        refuse(c, PROBLEM_NAME_INVALID, STR("name"),
               STR_CONCAT(c->arena, STR("name "), str_from(wrong)));
    if (!refused(c))
        deployment_propose(c, d, p->name);
}

void do_deployment_recall(struct core *c, const struct deployment_recall_command *p)
{
    const deployment_ix d = deployment_get_for_command(c, p->id);
    if (d.v && deployment_check_not_system(c, d))
        deployment_recall(c, d);
}
