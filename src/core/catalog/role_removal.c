#include "core/catalog/roles_private.h"

/* The end of a role: its barclamp's document does not name it any more. Where it is bound it keeps
 * running as it is, without hooks, and cannot be bound anew; where it is not it goes, with its
 * attribs. Whoever names it again, be it another barclamp, makes it a role like any other. */

enum { COMES_BY_ITSELF = ROLE_BOOTSTRAP | ROLE_DISCOVERY };

bool role_withdraw(struct core *c, role_ix r)
{
    if (role_at(c, r)->flags & ROLE_WITHDRAWN)
        return false;
    struct role *role = role_edit(c, r);
    role->hooks = 0;
    role->flags = (role->flags & ~(uint32_t)COMES_BY_ITSELF) | ROLE_WITHDRAWN;
    return true;
}

void role_take_over(struct core *c, role_ix r, barclamp_ix to)
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

/* ---- removing ---- */

/* Those that require it find out when they look again. */
static void leave_graph(struct core *c, role_ix r)
{
    for (uint32_t i = 0; i < role_at(c, r)->parents.count; i++) {
        const role_ix parent = {vec_at(c, &role_at(c, r)->parents, i)};
        ids_remove(c, &role_derive(c, parent)->children, TABLE_ROLE, r.v);
    }
    for (uint32_t i = 0; i < role_at(c, r)->children.count; i++) {
        struct role *child = role_derive(c, (role_ix){vec_at(c, &role_at(c, r)->children, i)});
        ids_remove(c, &child->parents, TABLE_ROLE, r.v);
        child->unresolved = true;
    }
}

static void drop_handles(struct core *c, struct vec *v, uint32_t from, uint32_t stride)
{
    for (uint32_t i = from; i < v->count; i += stride)
        if (vec_at(c, v, i))
            blob_drop(&c->blobs, vec_at(c, v, i));
    vec_clear(&c->heap, v);
}

static void drop_lists(struct core *c, role_ix r)
{
    struct role *role = role_derive(c, r);
    drop_handles(c, &role->provided, 0, 1);
    drop_handles(c, &role->conflicting, 0, 1);
    drop_handles(c, &role->wanted, 1, 2);
    struct vec *const plain[] = {&role->parents, &role->children, &role->attribs, &role->deployed};
    for (uint32_t i = 0; i < sizeof plain / sizeof *plain; i++)
        vec_clear(&c->heap, plain[i]);
}

static void drop_texts(struct core *c, role_ix r)
{
    struct role *role = role_edit(c, r);
    uint32_t *const slots[] = {&role->name,     &role->description, &role->class_name,
                               &role->jig_name, &role->requires,    &role->wants,
                               &role->provides, &role->conflicts,   &role->announces,
                               &role->template, &role->notes};
    for (uint32_t i = 0; i < sizeof slots / sizeof *slots; i++)
        put_text(c, slots[i], STR(""));
}

void role_remove(struct core *c, role_ix r)
{
    must(role_at(c, r)->deployed.count == 0 && role_at(c, r)->attaching.count == 0);
    while (role_at(c, r)->attribs.count)
        attrib_remove(c, (attrib_ix){vec_at(c, &role_at(c, r)->attribs, 0)});
    leave_graph(c, r);
    name_remove(c, TABLE_ROLE, r.v);
    drop_lists(c, r);
    drop_texts(c, r);
    core_remove_row(c, TABLE_ROLE, r.v);
}

/* ---- afterwards ---- */

/* A node is not held at what is not there. */
static void forget_targets(struct core *c)
{
    for (uint32_t ix = core_next_row(c, TABLE_NODE, 0); ix;
         ix = core_next_row(c, TABLE_NODE, node_at(c, (node_ix){ix})->o.id)) {
        const role_ix target = node_at(c, (node_ix){ix})->target;
        if (target.v && !pool_is_live(&c->tables[TABLE_ROLE].pool, target.v))
            node_set_target(c, (node_ix){ix}, (role_ix){0});
    }
}

static bool has_hooks(const struct core *c, int64_t role_id)
{
    const role_ix r = role_by_id(c, role_id);
    return r.v && !(role_at(c, r)->flags & ROLE_WITHDRAWN);
}

static void forget_hook(struct core *c, outbox_ix ix)
{
    const struct outbox *row = outbox_at(c, ix);
    const noderole_ix nr =
        row->object == TABLE_NODEROLE ? noderole_by_id(c, row->object_id) : (noderole_ix){0};
    if (nr.v) {
        noderole_derive(c, nr)->hooks_waiting--;
        sched_enqueue_node(c, noderole_at(c, nr)->node);
    }
    put_text(c, &outbox_edit(c, ix)->detail, STR(""));
    core_remove_row(c, TABLE_OUTBOX, ix.v);
}

/* What waits to be told to code that is not there any more would only fail. */
static void forget_hooks(struct core *c)
{
    int64_t after = 0;
    for (outbox_ix ix = {core_next_row(c, TABLE_OUTBOX, 0)}; ix.v;
         ix.v = core_next_row(c, TABLE_OUTBOX, after)) {
        after = outbox_at(c, ix)->o.id;
        if (outbox_at(c, ix)->kind == OUTBOX_HOOK && !has_hooks(c, outbox_at(c, ix)->role_id))
            forget_hook(c, ix);
    }
}

void roles_withdrawn(struct core *c)
{
    forget_targets(c);
    forget_hooks(c);
}
