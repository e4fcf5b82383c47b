#include "core/data/data.h"

#include "core/plan/commit_view.h"

/* Documents, layers and the owner of a value (docs/spec/data.md, "Layers" to "Read buckets").
 *
 * A value is not stored with its attrib: an attrib is a name for a path into documents that are
 * merged in layers. The later layer overrides the earlier one: template of the role, wall (values
 * that runs returned) and committed data of the deployment role, then wall, computed, system and
 * user data of the noderole. For a node the hint overrides the discovery data.
 *
 * The file owns no state. Merging allocates only; no function changes a row, except those that
 * request reruns. If a plan is being computed (core.view), user data is read as if its commit had
 * been executed.
 *
 * Failure: an attrib that does not apply to a target has no owner (data_find_owner returns false).
 * A value that is absent or null is NULL. data_put() changes nothing if the result would be too
 * deep. */

/* ---- JSON trees ---- */

struct json *data_object(struct arena *a, struct str doc)
{
    struct json *tree = doc_tree(a, doc);
    return tree->kind == JSON_OBJECT ? tree : json_make(a, JSON_OBJECT);
}

/* Merges `doc` over `below`; the result may be `below` itself. */
static struct json *data_merge_doc(struct arena *a, struct json *below, struct str doc)
{
    if (doc.len <= 2) /* "" or "{}" */
        return below;
    struct json *above = data_object(a, doc);
    return below->count ? json_merge(a, below, above) : above;
}

uint32_t data_depth(struct str path, const struct json *value)
{
    uint32_t levels = json_depth(value);
    if (path.len == 0)
        return levels;
    for (uint32_t at = 0; at < path.len; at++)
        levels += path.at[at] == '/';
    return levels + 1;
}

static struct json *data_find_member(struct json *object, struct str key)
{
    struct json *member = object->first;
    while (member && str_cmp(member->key, key) < 0)
        member = member->next;
    return member && str_eq(member->key, key) ? member : NULL;
}

bool data_put(struct arena *a, struct json *tree, struct str path, const struct json *value)
{
    if (data_depth(path, value) > JSON_DEPTH_MAX)
        return false;
    if (path.len == 0) { /* the root itself: replace its members by the merged ones */
        must(value->kind == JSON_OBJECT);
        const struct json *merged = json_merge(a, tree, value);
        tree->first = merged->first;
        tree->last = merged->last;
        tree->count = merged->count;
        return true;
    }
    uint32_t from = 0;
    for (;;) {
        const uint32_t to = str_find(path, '/', from);
        const struct str key = str_slice(path, from, to);
        struct json *inner = data_find_member(tree, key);
        if (to == path.len) {
            json_set(tree, key, inner ? json_merge(a, inner, value) : json_clone(a, value));
            return true;
        }
        if (!inner || inner->kind != JSON_OBJECT) {
            inner = json_make(a, JSON_OBJECT);
            json_set(tree, key, inner);
        }
        tree = inner;
        from = to + 1;
    }
}

/* ---- layers ---- */

struct json *data_deployment_role(const struct core *c, deployment_role_ix dr, bool committed_only,
                                  struct arena *a)
{
    const struct deployment_role *row = deployment_role_at(c, dr);
    struct json *tree = data_object(a, doc_of(c, role_at(c, row->role)->template));
    tree = data_merge_doc(a, tree, doc_of(c, row->wall));
    tree = data_merge_doc(a, tree, doc_of(c, view_role_data(c, row)));
    if (!committed_only && row->proposed)
        tree = data_merge_doc(a, tree, doc_of(c, row->proposed_data));
    return tree;
}

static struct json *data_merge_own(const struct core *c, const struct noderole *row,
                                   struct json *tree, struct str wall, doc_h user, struct arena *a)
{
    tree = data_merge_doc(a, tree, wall);
    tree = data_merge_doc(a, tree, doc_of(c, row->computed));
    tree = data_merge_doc(a, tree, doc_of(c, row->sysdata));
    return data_merge_doc(a, tree, doc_of(c, user));
}

/* User data of a noderole: the proposed document while it is PROPOSED and the caller reads
 * proposals, otherwise the committed one. */
static doc_h data_user_doc(const struct core *c, const struct noderole *row, bool committed_only)
{
    return row->state == NODEROLE_PROPOSED && !committed_only ? row->proposed_data
                                                              : view_noderole_data(c, row);
}

struct json *data_noderole(const struct core *c, noderole_ix nr, bool committed_only,
                           struct arena *a)
{
    const struct noderole *row = noderole_at(c, nr);
    struct json *tree = data_deployment_role(c, row->dr, committed_only, a);
    return data_merge_own(c, row, tree, doc_of(c, row->wall), data_user_doc(c, row, committed_only),
                          a);
}

uint32_t data_noderole_size(const struct core *c, noderole_ix nr)
{
    const struct noderole *row = noderole_at(c, nr);
    const struct deployment_role *dr = deployment_role_at(c, row->dr);
    const doc_h layers[] = {role_at(c, dr->role)->template,
                            dr->wall,
                            view_role_data(c, dr),
                            row->wall,
                            row->computed,
                            row->sysdata,
                            data_user_doc(c, row, true)};
    uint32_t size = 0;
    for (uint32_t i = 0; i < sizeof layers / sizeof *layers; i++)
        size += doc_of(c, layers[i]).len;
    return size;
}

struct json *data_own(const struct core *c, noderole_ix nr, struct arena *a)
{
    const struct noderole *row = noderole_at(c, nr);
    struct json *tree = json_make(a, JSON_OBJECT);
    return data_merge_own(c, row, tree, doc_of(c, row->wall), view_noderole_data(c, row), a);
}

struct json *data_with_wall(const struct core *c, noderole_ix nr, struct str wall, struct arena *a)
{
    const struct noderole *row = noderole_at(c, nr);
    struct json *tree = data_deployment_role(c, row->dr, true, a);
    return data_merge_own(c, row, tree, wall, view_noderole_data(c, row), a);
}

struct json *data_node(const struct core *c, node_ix n, struct arena *a)
{
    const struct node *row = node_at(c, n);
    return data_merge_doc(a, data_object(a, doc_of(c, row->discovery)), doc_of(c, row->hint));
}

/* ---- values ---- */

static const struct json *data_not_null(const struct json *value)
{
    return value && value->kind != JSON_NULL ? value : NULL;
}

const struct json *data_value(const struct core *c, attrib_ix attrib, const struct json *tree,
                              struct arena *a)
{
    const struct attrib *row = attrib_at(c, attrib);
    const struct json *value = data_not_null(json_at(tree, text_of(c, row->map)));
    if (value || !row->default_value)
        return value;
    return data_not_null(json_get(doc_tree(a, doc_of(c, row->default_value)), STR("value")));
}

/* ---- owner of a value ---- */

/* The noderole of the role on the node; otherwise the one that provides the role, with the highest
 * cohort and among those the lowest id. */
static noderole_ix data_owner_noderole(const struct core *c, node_ix n, role_ix owner)
{
    noderole_ix best = noderole_find(c, n, owner);
    if (best.v)
        return best;
    const struct vec *v = &node_at(c, n)->noderoles;
    /* The list is sorted by (cohort, id): the first of the highest cohort is selected. */
    for (uint32_t i = 0; i < v->count; i++) {
        const noderole_ix nr = {vec_at(c, v, i)};
        if (role_provides(c, noderole_at(c, nr)->role, owner) &&
            (!best.v || noderole_at(c, nr)->cohort > noderole_at(c, best)->cohort))
            best = nr;
    }
    return best;
}

static uint32_t data_role_cohort(const struct core *c, deployment_role_ix dr)
{
    return role_at(c, deployment_role_at(c, dr)->role)->cohort;
}

static deployment_role_ix data_owner_deployment_role(const struct core *c, deployment_ix d,
                                                     role_ix owner)
{
    deployment_role_ix best = deployment_role_find(c, d, owner);
    if (best.v)
        return best;
    const struct vec *v = &deployment_at(c, d)->roles;
    for (uint32_t i = 0; i < v->count; i++) {
        const deployment_role_ix dr = {vec_at(c, v, i)};
        if (role_provides(c, deployment_role_at(c, dr)->role, owner) &&
            (!best.v || data_role_cohort(c, dr) > data_role_cohort(c, best)))
            best = dr;
    }
    return best;
}

/* The role of a row; none for a node or a deployment. */
static role_ix data_role_of_row(const struct core *c, enum table table, uint32_t ix)
{
    if (table == TABLE_ROLE)
        return (role_ix){ix};
    if (table == TABLE_NODEROLE)
        return noderole_at(c, (noderole_ix){ix})->role;
    if (table == TABLE_DEPLOYMENT_ROLE)
        return deployment_role_at(c, (deployment_role_ix){ix})->role;
    return (role_ix){0};
}

bool data_find_owner(const struct core *c, enum table target, int64_t id, attrib_ix attrib,
                     struct data_owner *out_owner)
{
    const role_ix role = attrib_at(c, attrib)->role; /* none: the attrib belongs to nodes */
    if (target >= TABLE_OBJECTS || id <= 0)
        return false;
    struct data_owner owner = {target, omap_find(&c->tables[target].by_id, (uint64_t)id)};
    if (!owner.ix)
        return false;
    if (target == TABLE_NODE && role.v) {
        const node_ix n = {owner.ix};
        owner = (struct data_owner){TABLE_NODEROLE, data_owner_noderole(c, n, role).v};
    } else if (target == TABLE_DEPLOYMENT && role.v) {
        const deployment_ix d = {owner.ix};
        owner =
            (struct data_owner){TABLE_DEPLOYMENT_ROLE, data_owner_deployment_role(c, d, role).v};
    } else if (target != TABLE_NODE) {
        const role_ix target_role = data_role_of_row(c, target, owner.ix);
        /* A role has its own attribs and those of the roles that it provides. */
        if (!target_role.v || !role.v ||
            (target_role.v != role.v && !role_provides(c, target_role, role)))
            return false;
    }
    if (!owner.ix)
        return false;
    *out_owner = owner;
    return true;
}

/* ---- views ---- */

static struct json *data_view_node(const struct core *c, node_ix n, enum data_view view,
                                   struct arena *a)
{
    const struct node *row = node_at(c, n);
    switch (view) {
    case VIEW_ALL: return data_node(c, n, a);
    case VIEW_COMMITTED:
    case VIEW_PROPOSED:
    case VIEW_USER: return data_object(a, doc_of(c, row->hint));
    case VIEW_NOTE: return data_object(a, doc_of(c, row->notes));
    case VIEW_SYSTEM:
    case VIEW_WALL:
    case VIEW_DISCOVERY: break;
    }
    return data_object(a, doc_of(c, row->discovery));
}

static struct json *data_view_deployment_role(const struct core *c, deployment_role_ix dr,
                                              enum data_view view, struct arena *a)
{
    const struct deployment_role *row = deployment_role_at(c, dr);
    switch (view) {
    case VIEW_ALL:
    case VIEW_PROPOSED:
    case VIEW_USER: return data_deployment_role(c, dr, false, a);
    case VIEW_COMMITTED: return data_deployment_role(c, dr, true, a);
    case VIEW_NOTE: return data_object(a, doc_of(c, row->notes));
    case VIEW_SYSTEM:
    case VIEW_WALL:
    case VIEW_DISCOVERY: break;
    }
    return data_object(a, doc_of(c, row->wall));
}

static struct json *data_view_noderole(const struct core *c, noderole_ix nr, enum data_view view,
                                       struct arena *a)
{
    const struct noderole *row = noderole_at(c, nr);
    switch (view) {
    case VIEW_ALL: return data_noderole(c, nr, false, a);
    case VIEW_COMMITTED: return data_noderole(c, nr, true, a);
    case VIEW_PROPOSED:
        return data_merge_own(c, row, data_deployment_role(c, row->dr, false, a),
                              doc_of(c, row->wall), row->proposed_data, a);
    case VIEW_USER: return data_object(a, doc_of(c, data_user_doc(c, row, false)));
    case VIEW_SYSTEM:
        return data_merge_doc(a, data_object(a, doc_of(c, row->computed)), doc_of(c, row->sysdata));
    case VIEW_NOTE: return data_object(a, doc_of(c, row->notes));
    case VIEW_WALL:
    case VIEW_DISCOVERY: break;
    }
    return data_object(a, doc_of(c, row->wall));
}

struct json *data_view(const struct core *c, struct data_owner owner, enum data_view view,
                       struct arena *a)
{
    if (owner.table == TABLE_NODE)
        return data_view_node(c, (node_ix){owner.ix}, view, a);
    if (owner.table == TABLE_NODEROLE)
        return data_view_noderole(c, (noderole_ix){owner.ix}, view, a);
    if (owner.table == TABLE_DEPLOYMENT_ROLE)
        return data_view_deployment_role(c, (deployment_role_ix){owner.ix}, view, a);
    must(owner.table == TABLE_ROLE);
    const struct role *role = role_at(c, (role_ix){owner.ix});
    return data_object(a, doc_of(c, view == VIEW_NOTE ? role->notes : role->template));
}

struct subject core_attrib_owner(const struct core *c, struct subject target, int64_t attrib_id)
{
    struct data_owner owner;
    const attrib_ix attrib = attrib_by_id(c, attrib_id);
    if (!attrib.v || !data_find_owner(c, target.table, target.id, attrib, &owner))
        return (struct subject){.table = TABLE_COUNT};
    const struct object *o = pool_at(&c->tables[owner.table].pool, owner.ix);
    return (struct subject){.table = owner.table, .id = o->id};
}

const struct json *core_data(const struct core *c, struct subject owner, enum data_view view,
                             struct arena *a)
{
    must(owner.table < TABLE_OBJECTS && owner.id > 0);
    const uint32_t ix = omap_find(&c->tables[owner.table].by_id, (uint64_t)owner.id);
    must(ix);
    return data_view(c, (struct data_owner){owner.table, ix}, view, a);
}

struct str core_value_in(const struct core *c, const struct json *data, int64_t attrib_id,
                         struct arena *a)
{
    const struct json *value = data_value(c, attrib_by_id(c, attrib_id), data, a);
    return value ? json_write(a, value) : STR("null");
}

bool core_value(const struct core *c, enum table target, int64_t id, int64_t attrib_id,
                enum data_view view, struct arena *a, struct str *out_value)
{
    const struct subject owner = core_attrib_owner(c, (struct subject){target, id}, attrib_id);
    if (owner.table == TABLE_COUNT)
        return false;
    *out_value = core_value_in(c, core_data(c, owner, view, a), attrib_id, a);
    return true;
}

/* ---- attribs of a role, reruns ---- */

attrib_ix *data_attribs_of(const struct core *c, role_ix role, struct arena *a, uint32_t *out_count)
{
    const struct role *row = role_at(c, role);
    uint32_t count = 0, capacity = row->attribs.count;
    role_ix *others = arena_array(a, role_ix, row->provided.count + 1);
    for (uint32_t i = 0; i < row->provided.count; i++) {
        const struct str name = text_of(c, vec_at(c, &row->provided, i));
        others[i] = (role_ix){name_find(c, TABLE_ROLE, name)};
        capacity += others[i].v ? role_at(c, others[i])->attribs.count : 0;
    }
    attrib_ix *attribs = arena_array(a, attrib_ix, capacity + 1);
    for (uint32_t i = 0; i < row->attribs.count; i++)
        attribs[count++] = (attrib_ix){vec_at(c, &row->attribs, i)};
    for (uint32_t i = 0; i < row->provided.count; i++) {
        const struct vec *v = others[i].v ? &role_at(c, others[i])->attribs : NULL;
        for (uint32_t k = 0; v && others[i].v != role.v && k < v->count; k++)
            attribs[count++] = (attrib_ix){vec_at(c, v, k)};
    }
    *out_count = count;
    return attribs;
}

void data_rerun_all(struct core *c, const struct vec *noderoles)
{
    const uint32_t count = noderoles->count;
    if (count == 0)
        return;
    /* A rerun may change the row that contains the list, so the list is copied first. */
    const uint32_t *items =
        arena_copy(c->arena, vec_items(&c->heap, noderoles), count * sizeof *items);
    for (uint32_t i = 0; i < count; i++)
        noderole_request_rerun(c, (noderole_ix){items[i]});
}

static bool data_role_wants(const struct core *c, role_ix role, attrib_ix attrib)
{
    const struct vec *wanted = &role_at(c, role)->wanted;
    for (uint32_t i = 0; i < wanted->count; i += 2)
        if (vec_at(c, wanted, i) == attrib.v)
            return true;
    return false;
}

void data_rerun_wanting(struct core *c, node_ix n, attrib_ix attrib, noderole_ix but)
{
    for (uint32_t i = 0; i < node_at(c, n)->noderoles.count; i++) {
        const noderole_ix nr = {vec_at(c, &node_at(c, n)->noderoles, i)};
        if (nr.v != but.v && data_role_wants(c, noderole_at(c, nr)->role, attrib))
            noderole_request_rerun(c, nr);
    }
}
