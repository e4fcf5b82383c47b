#include "core/core_private.h"

/* Binding a role to a node, with every parent that is missing (SEMANTICS 2). The whole bind is one
 * step: if anything is refused, nothing of it remains.
 *
 * Parents may want parents of their own, so there is a stack of frames instead of recursion; its
 * depth is bounded by the number of roles, for the role graph has no cycle. */

/* ---- what is there already ---- */

noderole_ix noderole_find(const struct core *c, node_ix n, role_ix r)
{
    const struct vec *v = &node_at(c, n)->noderoles;
    for (uint32_t i = 0; i < v->count; i++) {
        const noderole_ix ix = {vec_at(c, v, i)};
        if (noderole_at(c, ix)->role.v == r.v)
            return ix;
    }
    return (noderole_ix){0};
}

deployment_role_ix deployment_role_find(const struct core *c, deployment_ix d, role_ix r)
{
    /* Few deployments carry one role, or few roles one deployment: take the shorter list. */
    const struct vec *of_role = &role_at(c, r)->deployed;
    const struct vec *of_deployment = &deployment_at(c, d)->roles;
    const struct vec *v = of_role->count < of_deployment->count ? of_role : of_deployment;
    for (uint32_t i = 0; i < v->count; i++) {
        const deployment_role_ix ix = {vec_at(c, v, i)};
        const struct deployment_role *dr = deployment_role_at(c, ix);
        if (dr->deployment.v == d.v && dr->role.v == r.v)
            return ix;
    }
    return (deployment_role_ix){0};
}

static bool lists_name(const struct core *c, const struct vec *names, text_h name)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (vec_at(c, names, i) == name)
            return true;
    return false;
}

bool role_provides(const struct core *c, role_ix provider, role_ix provided)
{
    return lists_name(c, &role_at(c, provider)->provided, role_at(c, provided)->name);
}

static bool lower_id(const struct core *c, noderole_ix a, noderole_ix b)
{
    return !b.v || noderole_at(c, a)->o.id < noderole_at(c, b)->o.id;
}

static noderole_ix provider_on_node(const struct core *c, node_ix n, role_ix wanted)
{
    const struct vec *v = &node_at(c, n)->noderoles;
    noderole_ix best = {0};
    for (uint32_t i = 0; i < v->count; i++) {
        const noderole_ix ix = {vec_at(c, v, i)};
        if (role_provides(c, noderole_at(c, ix)->role, wanted) && lower_id(c, ix, best))
            best = ix;
    }
    return best;
}

static noderole_ix first_of(const struct core *c, deployment_role_ix dr)
{
    const struct vec *v = &deployment_role_at(c, dr)->noderoles;
    return (noderole_ix){v->count ? vec_at(c, v, 0) : 0};
}

static noderole_ix in_deployment(const struct core *c, deployment_ix d, role_ix wanted)
{
    const deployment_role_ix own = deployment_role_find(c, d, wanted);
    if (own.v && first_of(c, own).v)
        return first_of(c, own);
    const struct vec *v = &deployment_at(c, d)->roles;
    noderole_ix best = {0};
    for (uint32_t i = 0; i < v->count; i++) {
        const deployment_role_ix dr = {vec_at(c, v, i)};
        if (!role_provides(c, deployment_role_at(c, dr)->role, wanted))
            continue;
        const noderole_ix first = first_of(c, dr);
        if (first.v && lower_id(c, first, best))
            best = first;
    }
    return best;
}

/* SEMANTICS 2.1 step 3: who can be the parent for `wanted`? */
static noderole_ix find_parent(const struct core *c, role_ix wanted, node_ix n, deployment_ix d)
{
    noderole_ix found = noderole_find(c, n, wanted);
    if (!found.v)
        found = provider_on_node(c, n, wanted);
    if (found.v || role_at(c, wanted)->flags & ROLE_IMPLICIT)
        return found;
    for (; d.v && !found.v; d = deployment_at(c, d)->parent)
        found = in_deployment(c, d, wanted);
    return found;
}

/* ---- may it be there? ---- */

static bool provides_overlap(const struct core *c, role_ix a, role_ix b)
{
    const struct vec *v = &role_at(c, a)->provided;
    for (uint32_t i = 0; i < v->count; i++)
        if (lists_name(c, &role_at(c, b)->provided, vec_at(c, v, i)))
            return true;
    return false;
}

static void refuse_pair(struct core *c, enum problem_code code, role_ix a, role_ix b,
                        const char *why)
{
    refuse(c, code, STR("role_id"),
           STR_CONCAT(c->arena, STR("roles "), text_of(c, role_at(c, a)->name), STR(" and "),
                      text_of(c, role_at(c, b)->name), STR(" "), str_from(why)));
}

static void check_neighbour(struct core *c, role_ix r, noderole_ix other)
{
    const role_ix o = noderole_at(c, other)->role;
    const struct role *role = role_at(c, r), *there = role_at(c, o);
    if (lists_name(c, &role->conflicting, there->name) ||
        lists_name(c, &there->conflicting, role->name))
        refuse_pair(c, PROBLEM_ROLE_CONFLICT, r, o, "conflict and cannot share a node");
    if (role_provides(c, r, o) || role_provides(c, o, r) || provides_overlap(c, r, o))
        refuse_pair(c, PROBLEM_PROVIDES_CLASH, r, o,
                    "stand in for each other and cannot share a node");
}

/* SEMANTICS 2.3, all problems at once. */
static bool may_create(struct core *c, role_ix r, node_ix n)
{
    const struct role *role = role_at(c, r);
    role_refuse_unusable(c, r);
    if (role->flags & ROLE_ABSTRACT)
        refuse(c, PROBLEM_ABSTRACT_ROLE, STR("role_id"),
               STR_CONCAT(c->arena, STR("role "), text_of(c, role->name),
                          STR(" is abstract: bind a role that provides it")));
    const struct vec *v = &node_at(c, n)->noderoles;
    for (uint32_t i = 0; i < v->count; i++)
        check_neighbour(c, r, (noderole_ix){vec_at(c, v, i)});
    return !refused(c);
}

/* ---- making it ---- */

deployment_role_ix deployment_role_ensure(struct core *c, deployment_ix d, role_ix r)
{
    const deployment_role_ix found = deployment_role_find(c, d, r);
    if (found.v)
        return found;
    authority_touch(c, d);
    const deployment_role_ix ix = deployment_role_add(c);
    if (!ix.v)
        return ix;
    struct deployment_role *dr = deployment_role_edit(c, ix);
    dr->deployment = d;
    dr->role = r;
    ids_insert(c, &deployment_derive(c, d)->roles, TABLE_DEPLOYMENT_ROLE, ix.v);
    ids_insert(c, &role_derive(c, r)->deployed, TABLE_DEPLOYMENT_ROLE, ix.v);
    if (role_at(c, r)->hooks & 1u << HOOK_DEPLOYMENT_CREATE)
        hooks_ask(c, HOOK_DEPLOYMENT_CREATE, r, hooks_deployment_role_argument(c, ix));
    return ix;
}

static noderole_ix create(struct core *c, role_ix r, node_ix n, deployment_ix d)
{
    const deployment_role_ix dr = deployment_role_ensure(c, d, r);
    const noderole_ix ix = dr.v ? noderole_add(c) : (noderole_ix){0};
    if (!ix.v)
        return ix;
    authority_touch(c, d);
    /* Phantom nodes are the machine of the daemon and carry services (rule 4 of ADR 0051). Judged
     * here as well, because requirements and reverts bind roles that no command names. */
    if (node_at(c, n)->system && !(role_at(c, r)->flags & ROLE_SERVICE))
        authority_touch(c, deployment_system(c));
    struct noderole *nr = noderole_edit(c, ix);
    nr->node = n;
    nr->role = r;
    nr->deployment = d;
    nr->dr = dr;
    nr->state = NODEROLE_PROPOSED;
    nr->since = c->now_ms;
    nr->order = 10000;
    node_place(c, ix);
    node_derive(c, n)->counts[NODEROLE_PROPOSED]++;
    deployment_derive(c, d)->counts[NODEROLE_PROPOSED]++;
    ids_insert(c, &deployment_role_derive(c, dr)->noderoles, TABLE_NODEROLE, ix.v);
    return ix;
}

/* An edge from a member of a cluster comes with edges from all its peers (SEMANTICS 2.5). */
static void add_parent(struct core *c, noderole_ix parent, noderole_ix child)
{
    graph_add_edge(c, parent, child);
    const struct noderole *nr = noderole_at(c, parent);
    if (!(role_at(c, nr->role)->flags & ROLE_CLUSTER))
        return;
    const deployment_role_ix dr = nr->dr;
    for (uint32_t i = 0; i < deployment_role_at(c, dr)->noderoles.count; i++)
        graph_add_edge(c, (noderole_ix){vec_at(c, &deployment_role_at(c, dr)->noderoles, i)},
                       child);
}

/* A new member adopts every child of each peer. */
static void adopt_children(struct core *c, noderole_ix member)
{
    const deployment_role_ix dr = noderole_at(c, member)->dr;
    for (uint32_t i = 0; i < deployment_role_at(c, dr)->noderoles.count; i++) {
        const noderole_ix peer = {vec_at(c, &deployment_role_at(c, dr)->noderoles, i)};
        if (peer.v == member.v)
            continue;
        for (uint32_t k = 0; k < noderole_at(c, peer)->children.count; k++) {
            const noderole_ix child = {vec_at(c, &noderole_at(c, peer)->children, k)};
            if (graph_has_edge(c, member, child))
                continue;
            graph_add_edge(c, member, child);
            if (refused(c))
                return;
        }
    }
    uint32_t count;
    const noderole_ix *below = graph_descendants(c, member, c->arena, &count);
    for (uint32_t i = 0; i < count; i++)
        links_rebuild(c, below[i]); /* the new member may answer better than who did so far */
}

/* One noderole for each role among `items`: only roles matter for what follows. */
static uint32_t one_per_role(struct core *c, noderole_ix *items, uint32_t count)
{
    bool *seen = arena_array(c->arena, bool, c->tables[TABLE_ROLE].pool.high + 1);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool *role = &seen[noderole_at(c, items[i])->role.v];
        if (!*role)
            items[kept++] = items[i];
        *role = true;
    }
    return kept;
}

static void check_pair(struct core *c, noderole_ix above, noderole_ix below)
{
    const role_ix a = noderole_at(c, above)->role, b = noderole_at(c, below)->role;
    if (role_provides(c, a, b) || role_provides(c, b, a))
        refuse(c, PROBLEM_PROVIDES_ANCESTRY, STR("role_id"),
               STR_CONCAT(c->arena, noderole_label(c, below, c->arena), STR(" would depend on "),
                          noderole_label(c, above, c->arena),
                          STR(" and they stand in for each other")));
}

/* Provider and provided may not lie on one line of descent (D13): neither with the new noderole,
 * nor above and below it, when it adopted children. */
static void check_ancestry(struct core *c, noderole_ix ix)
{
    uint32_t up, down;
    noderole_ix *above = graph_ancestors(c, ix, c->arena, &up);
    noderole_ix *below = graph_descendants(c, ix, c->arena, &down);
    up = one_per_role(c, above, up);
    down = one_per_role(c, below, down);
    for (uint32_t i = 0; i < up; i++)
        check_pair(c, above[i], ix);
    for (uint32_t k = 0; k < down; k++)
        check_pair(c, ix, below[k]);
    for (uint32_t i = 0; i < up; i++)
        for (uint32_t k = 0; k < down; k++)
            check_pair(c, above[i], below[k]);
}

/* Edges, links and questions: the noderole takes its place. */
static void finish(struct core *c, noderole_ix ix)
{
    if (role_at(c, noderole_at(c, ix)->role)->flags & ROLE_CLUSTER)
        adopt_children(c, ix);
    if (refused(c))
        return;
    if (roles_have_provides(c))
        check_ancestry(c, ix);
    links_rebuild(c, ix);
    const role_ix r = noderole_at(c, ix)->role;
    if (role_at(c, r)->hooks & 1u << HOOK_NODE_BIND)
        hooks_ask(c, HOOK_NODE_BIND, r, hooks_noderole_argument(c, ix));
    hooks_proposed(c, ix);
    hooks_compute(c, ix);
}

/* ---- the walk up the roles ---- */

struct frame {
    role_ix role;
    uint32_t next;        /* parent role to look at */
    noderole_ix *parents; /* found or made so far */
};

struct frames {
    struct frame *items;
    uint32_t count, cap;
};

static struct frame *push(struct core *c, struct frames *f, role_ix role)
{
    if (f->count == f->cap) {
        const uint32_t cap = f->cap ? f->cap * 2 : 16;
        struct frame *items = arena_array(c->arena, struct frame, cap);
        if (f->count)
            memcpy(items, f->items, f->count * sizeof *items);
        f->items = items;
        f->cap = cap;
    }
    struct frame *top = &f->items[f->count++];
    const uint32_t wanted = role_at(c, role)->parents.count;
    *top = (struct frame){.role = role, .parents = arena_array(c->arena, noderole_ix, wanted + 1)};
    return top;
}

/* The frame has all its parents: make the noderole, with what its user wants of it. */
static noderole_ix complete(struct core *c, const struct frame *f, node_ix n, deployment_ix d,
                            struct str data)
{
    if (!may_create(c, f->role, n))
        return (noderole_ix){0};
    const noderole_ix ix = create(c, f->role, n, d);
    if (ix.v && data.len)
        put_doc(c, &noderole_edit(c, ix)->proposed_data, data);
    for (uint32_t i = 0; i < f->next && ix.v && !refused(c); i++)
        add_parent(c, f->parents[i], ix);
    if (ix.v && !refused(c))
        finish(c, ix);
    return refused(c) ? (noderole_ix){0} : ix;
}

noderole_ix bind_role(struct core *c, role_ix role, node_ix n, deployment_ix d, struct str data)
{
    const noderole_ix there = noderole_find(c, n, role);
    if (there.v) {
        if (noderole_at(c, there)->deployment.v == d.v)
            return there;
        refuse(c, PROBLEM_BOUND_ELSEWHERE, STR("deployment_id"),
               STR_CONCAT(c->arena, STR("the role is on this node already: "),
                          noderole_label(c, there, c->arena)));
        return (noderole_ix){0};
    }
    struct frames stack = {0};
    noderole_ix made = {0};
    push(c, &stack, role);
    while (stack.count) {
        struct frame *top = &stack.items[stack.count - 1];
        if (made.v) { /* the parent this frame waited for */
            top->parents[top->next++] = made;
            made = (noderole_ix){0};
        }
        if (top->next < role_at(c, top->role)->parents.count) {
            const role_ix wanted = {vec_at(c, &role_at(c, top->role)->parents, top->next)};
            const noderole_ix parent = find_parent(c, wanted, n, d);
            if (parent.v)
                top->parents[top->next++] = parent;
            else
                push(c, &stack, wanted);
            must(stack.count <= ROLES_MAX);
            continue;
        }
        made = complete(c, top, n, d, stack.count == 1 ? data : STR(""));
        if (!made.v)
            return made;
        stack.count--;
    }
    if (node_at(c, n)->target.v)
        node_apply_target(c, n); /* only what the target needs is free */
    return made;
}

void do_noderole_bind(struct core *c, const struct noderole_bind_command *p)
{
    const node_ix n = node_by_id(c, p->node_id);
    const role_ix r = role_by_id(c, p->role_id);
    deployment_ix d = deployment_by_id(c, p->deployment_id);
    if (!n.v)
        refuse_missing(c, "node_id", "node", p->node_id);
    if (!r.v)
        refuse_missing(c, "role_id", "role", p->role_id);
    if (!d.v && p->deployment_id)
        refuse_missing(c, "deployment_id", "deployment", p->deployment_id);
    if (p->data.len && p->data.at[0] != '{')
        refuse(c, PROBLEM_BAD_JSON, STR("data"), STR("must be a JSON object"));
    if (refused(c))
        return;
    if (!d.v)
        d = node_at(c, n)->deployment;

    const bool fresh = !noderole_find(c, n, r).v;
    const noderole_ix ix = bind_role(c, r, n, d, p->data);
    if (!ix.v)
        return;
    c->out->id = noderole_at(c, ix)->o.id;
    if (noderole_at(c, ix)->removing)
        noderole_mark_removing(c, ix,
                               false); /* a revert would have it go; it is wanted after all */
    if (!fresh && p->data.len)
        noderole_set_data(c, ix, p->data);
    if (fresh && node_at(c, n)->available)
        hooks_node(c, HOOK_NODE_CHANGE, n);
}
