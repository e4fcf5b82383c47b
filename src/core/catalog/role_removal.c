#include "core/catalog/roles_private.h"

/* Roles that their barclamp does not define any more. A role that is in no deployment is removed
 * with its attribs. A role that is in use is withdrawn: its noderoles keep their state and can
 * run, but it has no hooks and cannot be bound to further nodes. A later import that defines the
 * name again, of any barclamp, makes it an ordinary role.
 *
 * Order in role_remove(): attribs first, because their removal reads the lists of the role; then
 * the edges and the name, which other rows are found by; then the derived lists, the strings and
 * the row. References from other rows (targets of nodes, queued hooks) are cleared once after the
 * last removal, by roles_drop_references(), since that scans all nodes and outbox rows.
 *
 * Failure: nothing here refuses. The caller (import_roles.c) has checked that the role is in no
 * deployment and attached to nothing; a refusal of the import rolls the removals back. */

enum { ROLE_BOUND_BY_FLAG = ROLE_BOOTSTRAP | ROLE_DISCOVERY };

bool role_withdraw(struct core *c, role_ix r)
{
    if (role_at(c, r)->flags & ROLE_WITHDRAWN)
        return false;
    struct role *role = role_edit(c, r);
    role->hooks = 0;
    role->flags = (role->flags & ~(uint32_t)ROLE_BOUND_BY_FLAG) | ROLE_WITHDRAWN;
    return true;
}

void role_change_barclamp(struct core *c, role_ix r, barclamp_ix to)
{
    const barclamp_ix from = role_at(c, r)->barclamp;
    role_edit(c, r)->barclamp = to;
    for (uint32_t i = 0; i < role_at(c, r)->attribs.count; i++) {
        const attrib_ix attrib = {vec_at(c, &role_at(c, r)->attribs, i)};
        if (attrib_at(c, attrib)->barclamp.v == from.v)
            attrib_edit(c, attrib)->barclamp = to;
    }
}

uint32_t role_count_bound(const struct core *c, role_ix r)
{
    const struct vec *deployed = &role_at(c, r)->deployed;
    uint32_t count = 0;
    for (uint32_t i = 0; i < deployed->count; i++) {
        const deployment_role_ix dr = {vec_at(c, deployed, i)};
        count += deployment_role_at(c, dr)->noderoles.count;
    }
    return count;
}

/* ---- removal ---- */

static void role_drop_handles(struct core *c, struct vec *v, uint32_t from, uint32_t stride)
{
    for (uint32_t i = from; i < v->count; i += stride)
        if (vec_at(c, v, i))
            blob_drop(&c->blobs, vec_at(c, v, i));
    vec_clear(&c->heap, v);
}

void role_remove(struct core *c, role_ix r)
{
    must(role_at(c, r)->deployed.count == 0 && role_at(c, r)->attaching.count == 0);
    while (role_at(c, r)->attribs.count)
        attrib_remove(c, (attrib_ix){vec_at(c, &role_at(c, r)->attribs, 0)});
    role_set_network(c, r, (network_ix){0});

    /* Edges and name. Roles that require it become unresolved and are resolved again. */
    for (uint32_t i = 0; i < role_at(c, r)->parents.count; i++) {
        const role_ix parent = {vec_at(c, &role_at(c, r)->parents, i)};
        ids_remove(c, &role_derive(c, parent)->children, TABLE_ROLE, r.v);
    }
    for (uint32_t i = 0; i < role_at(c, r)->children.count; i++) {
        struct role *child = role_derive(c, (role_ix){vec_at(c, &role_at(c, r)->children, i)});
        ids_remove(c, &child->parents, TABLE_ROLE, r.v);
        child->unresolved = true;
    }
    name_remove(c, TABLE_ROLE, r.v);

    /* Derived lists, strings and the row. */
    struct role *role = role_derive(c, r);
    role_drop_handles(c, &role->provided, 0, 1);
    role_drop_handles(c, &role->conflicting, 0, 1);
    role_drop_handles(c, &role->wanted, 1, 2);
    struct vec *const plain[] = {&role->parents, &role->children, &role->attribs, &role->deployed};
    for (uint32_t i = 0; i < sizeof plain / sizeof *plain; i++)
        vec_clear(&c->heap, plain[i]);
    role = role_edit(c, r);
    uint32_t *const texts[] = {
        &role->name,  &role->description, &role->class_name,    &role->jig_name,  &role->requires,
        &role->wants, &role->provides,    &role->conflicts,     &role->announces, &role->template,
        &role->notes, &role->per_name,    &role->lists_services};
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++)
        put_text(c, texts[i], STR(""));
    core_remove_row(c, TABLE_ROLE, r.v);
}

/* ---- references of other rows ---- */

void roles_drop_references(struct core *c)
{
    /* A node is not held at a role that was removed. */
    for (uint32_t ix = core_next_row(c, TABLE_NODE, 0); ix;
         ix = core_next_row(c, TABLE_NODE, node_at(c, (node_ix){ix})->o.id)) {
        const role_ix target = node_at(c, (node_ix){ix})->target;
        if (target.v && !pool_is_live(&c->tables[TABLE_ROLE].pool, target.v))
            node_set_target(c, (node_ix){ix}, (role_ix){0});
    }
    /* Queued hooks of roles whose code does not exist any more are deleted; the calls would only
     * fail. */
    int64_t after = 0;
    for (outbox_ix ix = {core_next_row(c, TABLE_OUTBOX, 0)}; ix.v;
         ix.v = core_next_row(c, TABLE_OUTBOX, after)) {
        const struct outbox *row = outbox_at(c, ix);
        const role_ix r = role_by_id(c, row->role_id);
        after = row->o.id;
        if (row->kind != OUTBOX_HOOK || (r.v && !(role_at(c, r)->flags & ROLE_WITHDRAWN)))
            continue;
        const noderole_ix nr =
            row->object == TABLE_NODEROLE ? noderole_by_id(c, row->object_id) : (noderole_ix){0};
        if (nr.v) {
            noderole_derive(c, nr)->hooks_pending_count--;
            sched_enqueue_node(c, noderole_at(c, nr)->node);
        }
        put_text(c, &outbox_edit(c, ix)->detail, STR(""));
        core_remove_row(c, TABLE_OUTBOX, ix.v);
    }
}
