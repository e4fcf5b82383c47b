#include "core/network/network_private.h"

/* Binding a role to a node, with every parent that is missing (docs/spec/binding.md, ADR 0021).
 * This file creates the rows of noderoles and deployment roles.
 *
 * bind_role() walks up the graph of roles. For each parent role it searches an existing noderole,
 * on the node and then in the deployment and the deployments above; if there is none, it binds
 * that role to the same node first. A stack of frames replaces recursion; its depth is bounded by
 * the number of roles, because the graph of roles has no cycle.
 *
 * Order: a frame is completed when all its parents exist, so a bind creates parents before
 * children. Edges to parents and, for a new member of a cluster, to children come first; then the
 * checks that need them (provided roles among ancestors); then attrib links, which are searched
 * along the edges; then hooks, which see the finished noderole.
 *
 * Failure: problems are recorded and the step is rolled back, so nothing of a refused bind
 * remains. */

/* ---- lookup ---- */

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
    /* Scan the shorter of the two lists. */
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

static bool role_names_contain(const struct core *c, const struct vec *names, text_h name)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (vec_at(c, names, i) == name)
            return true;
    return false;
}

bool role_provides(const struct core *c, role_ix provider, role_ix provided)
{
    return role_names_contain(c, &role_at(c, provider)->provided, role_at(c, provided)->name);
}

static bool bind_is_older(const struct core *c, noderole_ix a, noderole_ix b)
{
    return !b.v || noderole_at(c, a)->o.id < noderole_at(c, b)->o.id;
}

static noderole_ix bind_find_provider_on_node(const struct core *c, node_ix n, role_ix wanted)
{
    const struct vec *v = &node_at(c, n)->noderoles;
    noderole_ix best = {0};
    for (uint32_t i = 0; i < v->count; i++) {
        const noderole_ix ix = {vec_at(c, v, i)};
        if (role_provides(c, noderole_at(c, ix)->role, wanted) && bind_is_older(c, ix, best))
            best = ix;
    }
    return best;
}

static noderole_ix bind_first_noderole(const struct core *c, deployment_role_ix dr)
{
    const struct vec *v = &deployment_role_at(c, dr)->noderoles;
    return (noderole_ix){v->count ? vec_at(c, v, 0) : 0};
}

static noderole_ix bind_find_in_deployment(const struct core *c, deployment_ix d, role_ix wanted)
{
    const deployment_role_ix own = deployment_role_find(c, d, wanted);
    if (own.v && bind_first_noderole(c, own).v)
        return bind_first_noderole(c, own);
    const struct vec *v = &deployment_at(c, d)->roles;
    noderole_ix best = {0};
    for (uint32_t i = 0; i < v->count; i++) {
        const deployment_role_ix dr = {vec_at(c, v, i)};
        if (!role_provides(c, deployment_role_at(c, dr)->role, wanted))
            continue;
        const noderole_ix first = bind_first_noderole(c, dr);
        if (first.v && bind_is_older(c, first, best))
            best = first;
    }
    return best;
}

/* The existing noderole that becomes the parent for `wanted` (docs/spec/binding.md, Parent search).
 * */
static noderole_ix bind_find_parent(const struct core *c, role_ix wanted, node_ix n,
                                    deployment_ix d)
{
    noderole_ix found = noderole_find(c, n, wanted);
    if (!found.v)
        found = bind_find_provider_on_node(c, n, wanted);
    if (found.v || role_at(c, wanted)->flags & ROLE_IMPLICIT)
        return found;
    for (; d.v && !found.v; d = deployment_at(c, d)->parent)
        found = bind_find_in_deployment(c, d, wanted);
    return found;
}

/* ---- validation ---- */

static bool bind_provides_overlap(const struct core *c, role_ix a, role_ix b)
{
    const struct vec *v = &role_at(c, a)->provided;
    for (uint32_t i = 0; i < v->count; i++)
        if (role_names_contain(c, &role_at(c, b)->provided, vec_at(c, v, i)))
            return true;
    return false;
}

static void bind_refuse_pair(struct core *c, enum problem_code code, role_ix a, role_ix b,
                             const char *why)
{
    refuse(c, code, STR("role_id"),
           STR_CONCAT(c->arena, STR("roles "), text_of(c, role_at(c, a)->name), STR(" and "),
                      text_of(c, role_at(c, b)->name), STR(" "), str_from(why)));
}

/* Validate a new noderole and record all problems (docs/spec/binding.md, Validations). */
static bool bind_may_create(struct core *c, role_ix r, node_ix n)
{
    const struct role *role = role_at(c, r);
    role_refuse_unusable(c, r);
    if (role->flags & ROLE_ABSTRACT)
        refuse(c, PROBLEM_ABSTRACT_ROLE, STR("role_id"),
               STR_CONCAT(c->arena, STR("role "), text_of(c, role->name),
                          STR(" is abstract: bind a role that provides it")));
    const struct vec *v = &node_at(c, n)->noderoles;
    for (uint32_t i = 0; i < v->count; i++) {
        const role_ix o = noderole_at(c, (noderole_ix){vec_at(c, v, i)})->role;
        const struct role *there = role_at(c, o);
        if (role_names_contain(c, &role->conflicting, there->name) ||
            role_names_contain(c, &there->conflicting, role->name))
            bind_refuse_pair(c, PROBLEM_ROLE_CONFLICT, r, o, "conflict and cannot share a node");
        if (role_provides(c, r, o) || role_provides(c, o, r) || bind_provides_overlap(c, r, o))
            bind_refuse_pair(c, PROBLEM_PROVIDES_CLASH, r, o,
                             "provide each other or the same role and cannot share a node");
    }
    return !refused(c);
}

/* ---- creation ---- */

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
        hooks_request_veto(c, HOOK_DEPLOYMENT_CREATE, r, hooks_deployment_role_argument(c, ix));
    return ix;
}

static noderole_ix bind_create_noderole(struct core *c, role_ix r, node_ix n, deployment_ix d)
{
    const deployment_role_ix dr = deployment_role_ensure(c, d, r);
    const noderole_ix ix = dr.v ? noderole_add(c) : (noderole_ix){0};
    if (!ix.v)
        return ix;
    authority_touch(c, d);
    /* A role that is not a service runs on a phantom node, which is the machine of the daemon: that
     * requires rights in the system deployment (rule 4 of ADR 0051). It is checked here as well as
     * for commands, because requirements and reverts bind roles that no command names. */
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
    node_insert_noderole(c, ix);
    node_derive(c, n)->counts[NODEROLE_PROPOSED]++;
    deployment_derive(c, d)->counts[NODEROLE_PROPOSED]++;
    ids_insert(c, &deployment_role_derive(c, dr)->noderoles, TABLE_NODEROLE, ix.v);
    return ix;
}

/* Add an edge from the parent. If it is a member of a cluster, all members become parents. */
static void bind_add_parent(struct core *c, noderole_ix parent, noderole_ix child)
{
    const network_ix w = network_by_id(c, role_at(c, noderole_at(c, parent)->role)->network_id);
    if (w.v && network_refuse_deleting(c, w, STR("role_id")))
        return;
    graph_add_edge(c, parent, child);
    const struct noderole *nr = noderole_at(c, parent);
    if (!(role_at(c, nr->role)->flags & ROLE_CLUSTER))
        return;
    const deployment_role_ix dr = nr->dr;
    for (uint32_t i = 0; i < deployment_role_at(c, dr)->noderoles.count; i++)
        graph_add_edge(c, (noderole_ix){vec_at(c, &deployment_role_at(c, dr)->noderoles, i)},
                       child);
}

/* A new member of a cluster becomes a parent of every child of the other members. */
static void bind_adopt_children(struct core *c, noderole_ix member)
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
        links_rebuild(c, below[i]); /* the new member may be the better source of an attrib */
}

/* Keep one noderole for each role among `items`, because bind_check_pair() compares only roles. */
static uint32_t bind_one_per_role(struct core *c, noderole_ix *items, uint32_t count)
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

static void bind_check_pair(struct core *c, noderole_ix above, noderole_ix below)
{
    const role_ix a = noderole_at(c, above)->role, b = noderole_at(c, below)->role;
    if (role_provides(c, a, b) || role_provides(c, b, a))
        refuse(c, PROBLEM_PROVIDES_ANCESTRY, STR("role_id"),
               STR_CONCAT(c->arena, noderole_label(c, below, c->arena), STR(" would depend on "),
                          noderole_label(c, above, c->arena),
                          STR(", and one of the two roles provides the other")));
}

/* A role and one that provides it may not be ancestor and descendant. Check the new noderole with
 * its ancestors and descendants, and its ancestors with its descendants: it has descendants if it
 * is a new member of a cluster, and then connects the two groups. */
static void bind_check_ancestry(struct core *c, noderole_ix ix)
{
    uint32_t up, down;
    noderole_ix *above = graph_ancestors(c, ix, c->arena, &up);
    noderole_ix *below = graph_descendants(c, ix, c->arena, &down);
    up = bind_one_per_role(c, above, up);
    down = bind_one_per_role(c, below, down);
    for (uint32_t i = 0; i < up; i++)
        bind_check_pair(c, above[i], ix);
    for (uint32_t k = 0; k < down; k++)
        bind_check_pair(c, ix, below[k]);
    for (uint32_t i = 0; i < up; i++)
        for (uint32_t k = 0; k < down; k++)
            bind_check_pair(c, above[i], below[k]);
}

/* Connect the new noderole with its children and links, and call its hooks. */
static void bind_connect(struct core *c, noderole_ix ix)
{
    if (role_at(c, noderole_at(c, ix)->role)->flags & ROLE_CLUSTER)
        bind_adopt_children(c, ix);
    if (refused(c))
        return;
    if (roles_have_provides(c))
        bind_check_ancestry(c, ix);
    links_rebuild(c, ix);
    const role_ix r = noderole_at(c, ix)->role;
    if (role_at(c, r)->hooks & 1u << HOOK_NODE_BIND)
        hooks_request_veto(c, HOOK_NODE_BIND, r, hooks_noderole_argument(c, ix));
    hooks_proposed(c, ix);
    hooks_compute(c, ix);
}

/* ---- the stack of roles that are being bound ---- */

struct frame {
    role_ix role;
    uint32_t next;        /* index of the parent role that is resolved next */
    noderole_ix *parents; /* the first `next` parents, found or created */
};

struct frames {
    struct frame *items;
    uint32_t count, cap;
};

static struct frame *bind_push_frame(struct core *c, struct frames *f, role_ix role)
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

/* All parents of the frame exist: create its noderole with the proposed user data. */
static noderole_ix bind_complete_frame(struct core *c, const struct frame *f, node_ix n,
                                       deployment_ix d, struct str data)
{
    if (!bind_may_create(c, f->role, n))
        return (noderole_ix){0};
    const noderole_ix ix = bind_create_noderole(c, f->role, n, d);
    if (ix.v && data.len) {
        authority_touch_data(c, f->role);
        put_doc(c, &noderole_edit(c, ix)->proposed_data, data);
    }
    if (ix.v && role_at(c, f->role)->network_id)
        network_role_bound(c, f->role, n); /* hooks see the address */
    for (uint32_t i = 0; i < f->next && ix.v && !refused(c); i++)
        bind_add_parent(c, f->parents[i], ix);
    if (ix.v && !refused(c))
        bind_connect(c, ix);
    return refused(c) ? (noderole_ix){0} : ix;
}

noderole_ix bind_role(struct core *c, role_ix role, node_ix n, deployment_ix d, struct str data)
{
    const noderole_ix there = noderole_find(c, n, role);
    if (there.v) {
        if (noderole_at(c, there)->deployment.v == d.v)
            return there;
        refuse(c, PROBLEM_BOUND_ELSEWHERE, STR("deployment_id"),
               STR_CONCAT(c->arena, STR("the role is already bound to this node: "),
                          noderole_label(c, there, c->arena)));
        return (noderole_ix){0};
    }
    struct frames stack = {0};
    noderole_ix made = {0};
    bind_push_frame(c, &stack, role);
    while (stack.count) {
        struct frame *top = &stack.items[stack.count - 1];
        if (made.v) { /* the parent that this frame waited for */
            top->parents[top->next++] = made;
            made = (noderole_ix){0};
        }
        if (top->next < role_at(c, top->role)->parents.count) {
            const role_ix wanted = {vec_at(c, &role_at(c, top->role)->parents, top->next)};
            const noderole_ix parent = bind_find_parent(c, wanted, n, d);
            if (parent.v)
                top->parents[top->next++] = parent;
            else
                bind_push_frame(c, &stack, wanted);
            must(stack.count <= ROLES_MAX);
            continue;
        }
        made = bind_complete_frame(c, top, n, d, stack.count == 1 ? data : STR(""));
        if (!made.v)
            return made;
        stack.count--;
    }
    if (node_at(c, n)->target.v)
        node_apply_target(c, n); /* the target may keep the new noderoles from running */
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
        noderole_mark_removing(c, ix, false); /* a bind cancels the removal by a revert */
    if (!fresh && p->data.len)
        noderole_set_data(c, ix, p->data);
    if (fresh && node_at(c, n)->available)
        hooks_node(c, HOOK_NODE_CHANGE, n);
}
