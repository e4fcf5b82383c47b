#include "core/plan/plan.h"

/* What a plan has read, and which changes make it stale (ADR 0079).
 *
 * All writes of rows pass core_edit_row() and core_derive_row(), which call plans_row_changed().
 * Rows of the deployment and of its nodes, noderoles that were read elsewhere, and all content and
 * settings count. A step that is refused or dry restores the stale marks with its rows.
 *
 * This file owns plan.is_stale and the marks of what was read in plan.view. Order: whatever reads a
 * noderole of another deployment calls plan_read() in the same unit. Failure: nothing here fails; a
 * row that has no entry in the view makes the plan stale. */

/* ---- reads ---- */

void plan_read(struct plan *p, noderole_ix nr)
{
    const struct noderole *row = noderole_at(p->c, nr);
    if (!p->is_projected)
        return;
    if (nr.v >= p->view.noderoles || row->node.v >= p->view.nodes || row->dr.v >= p->view.roles ||
        row->deployment.v >= p->view.deployments) {
        p->is_stale = true;
        return;
    }
    p->view.node_flags[row->node.v] |= SEEN_NODE_READ;
    if (row->deployment.v == p->d.v)
        return;
    p->view.flags[nr.v] |= SEEN_READ;
    p->view.role_reads[row->dr.v] = 1;
    p->view.deployment_reads[row->deployment.v] = 1;
}

void plan_read_node(struct plan *p, node_ix n)
{
    const struct vec *all = &node_at(p->c, n)->noderoles;
    for (uint32_t i = 0; i < all->count; i++)
        plan_read(p, (noderole_ix){vec_at(p->c, all, i)});
    plan_cost(p, all->count);
}

void plan_read_ancestors(struct plan *p, noderole_ix nr)
{
    uint32_t count;
    const struct arena_mark mark = arena_mark(&p->scratch);
    const noderole_ix *above = graph_ancestors(p->c, nr, &p->scratch, &count);
    for (uint32_t i = 0; i < count; i++)
        plan_read(p, above[i]);
    plan_cost(p, count);
    arena_rewind(&p->scratch, mark);
}

/* ---- staleness ---- */

static bool plan_watches_noderole(const struct plan *p, noderole_ix nr)
{
    if (nr.v >= p->view.noderoles)
        return true;
    return nr.v &&
           (p->view.flags[nr.v] & SEEN_READ || noderole_at(p->c, nr)->deployment.v == p->d.v);
}

/* A noderole that is being created has no role yet. */
static bool plan_watches_boots(const struct plan *p, noderole_ix nr)
{
    const role_ix role = noderole_at(p->c, nr)->role;
    return p->view.has_read_boots && role.v && role_at(p->c, role)->flags & ROLE_SERVES_BOOT;
}

static bool plan_watches_node(const struct plan *p, node_ix n)
{
    return n.v >= p->view.nodes || (n.v && p->view.node_flags[n.v] & SEEN_NODE_READ);
}

/* Whether the head of another deployment is committed decides whether its noderoles run. Derived
 * fields of its row, such as the counts, are not read. */
static bool plan_watches_deployment(const struct plan *p, deployment_ix d, bool is_edit)
{
    return d.v == p->d.v || d.v >= p->view.deployments ||
           (is_edit && p->view.deployment_reads[d.v]);
}

/* Every edit of content and settings counts, also of name filters. Counters, groups, users, tokens,
 * leases, interfaces and the rows of DNS names are not read; a new or deleted address of a node
 * also changes the row of the node. */
static bool plan_watches_row(const struct plan *p, enum table table, uint32_t ix, bool is_edit)
{
    const struct core *c = p->c;
    if (table == TABLE_NODEROLE)
        return plan_watches_noderole(p, (noderole_ix){ix}) ||
               (is_edit && plan_watches_boots(p, (noderole_ix){ix}));
    if (table == TABLE_BOOT_DUE)
        return p->view.has_read_boots;
    if (table == TABLE_NODE)
        return plan_watches_node(p, (node_ix){ix});
    if (table == TABLE_DEPLOYMENT)
        return plan_watches_deployment(p, (deployment_ix){ix}, is_edit);
    if (table == TABLE_SNAPSHOT)
        return plan_watches_deployment(p, snapshot_at(c, (snapshot_ix){ix})->deployment, is_edit);
    if (table == TABLE_DEPLOYMENT_ROLE)
        return ix >= p->view.roles ||
               deployment_role_at(c, (deployment_role_ix){ix})->deployment.v == p->d.v ||
               (is_edit && p->view.role_reads[ix]);
    if (table == TABLE_RUN)
        return plan_watches_noderole(p, run_at(c, (run_ix){ix})->noderole) ||
               plan_watches_node(p, run_at(c, (run_ix){ix})->node);
    if (table == TABLE_HAMMER)
        return plan_watches_node(p, hammer_at(c, (hammer_ix){ix})->node);
    if (table == TABLE_OUTBOX)
        return outbox_at(c, (outbox_ix){ix})->kind != OUTBOX_HOOK &&
               plan_watches_node(p, node_by_id(c, outbox_at(c, (outbox_ix){ix})->object_id));
    return is_edit && table != TABLE_COUNTER && table != TABLE_GROUP && table != TABLE_USER &&
           table != TABLE_TOKEN && table != TABLE_LEASE && table != TABLE_NIC &&
           table != TABLE_NETWORK_ALLOCATION && table != TABLE_DNS_NAME_ENTRY &&
           table != TABLE_BOOTENV;
}

void plans_row_changed(struct core *c, enum table table, uint32_t ix, bool is_edit)
{
    for (struct plan *p = c->plans; p; p = p->next)
        p->is_stale = p->is_stale || plan_watches_row(p, table, ix, is_edit);
}

/* At most PLANS_MAX plans are registered, so the marks of all fit into a word. */
uint32_t plans_stale(const struct core *c)
{
    uint32_t bits = 0, i = 0;
    for (const struct plan *p = c->plans; p; p = p->next)
        bits |= (uint32_t)p->is_stale << i++;
    return bits;
}

void plans_set_stale(struct core *c, uint32_t bits)
{
    uint32_t i = 0;
    for (struct plan *p = c->plans; p; p = p->next)
        p->is_stale = bits >> i++ & 1;
}
