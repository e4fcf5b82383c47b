#include "core/data/data.h"

#include "core/plan/commit_view.h"

/* Staged data: the document that a run receives (docs/spec/data.md, "Staged data"). The file owns
 * no state: staging reads committed data only and changes no row. While a plan is computed, user
 * data is read through core.view, as its commit would publish it.
 *
 * Order: the parts are merged in the order of the functions below; a later part overrides an
 * earlier one. Staging happens for every run, and most noderoles of a large installation have no
 * data, so stage_is_empty() first checks the rows without building a tree.
 *
 * Failure: a value that would be nested too deeply is left out, so that the run can start. The
 * size of the result is not limited here; the caller fails a run whose data is too large
 * (required.c). */

#define STAGED_EMPTY STR("{\"hints\":{},\"quirks\":[]}")

/* ---- rows without data ---- */

static bool stage_has_own_data(const struct core *c, const struct noderole *nr)
{
    return nr->wall || nr->computed || nr->sysdata || view_noderole_data(c, nr);
}

static bool stage_has_data(const struct core *c, const struct noderole *nr)
{
    const struct deployment_role *dr = deployment_role_at(c, nr->dr);
    return stage_has_own_data(c, nr) || dr->wall || view_role_data(c, dr) ||
           role_at(c, nr->role)->template;
}

/* An ancestor has a smaller cohort, and the list of the node is sorted by cohort. */
static bool stage_node_ancestor_has_data(const struct core *c, const struct noderole *nr)
{
    const struct vec *v = &node_at(c, nr->node)->noderoles;
    bool has_data = false;
    for (uint32_t i = 0; i < v->count && !has_data; i++) {
        const struct noderole *other = noderole_at(c, (noderole_ix){vec_at(c, v, i)});
        if (other->cohort >= nr->cohort)
            break;
        has_data = stage_has_data(c, other);
    }
    return has_data;
}

static bool stage_needs_ancestors(const struct core *c, const struct noderole *nr)
{
    return nr->parents.count && (stage_node_ancestor_has_data(c, nr) || c->vars.server_count);
}

static bool stage_is_empty(const struct core *c, const struct noderole *nr)
{
    const struct role *role = role_at(c, nr->role);
    const struct node *node = node_at(c, nr->node);
    return !node->hint && !node->discovery && !node->quirks && !role->attribs.count &&
           !role->wanted.count && !stage_has_data(c, nr) && !stage_needs_ancestors(c, nr);
}

/* ---- parts, in the order in which they are merged ---- */

struct stage {
    const struct core *c;
    struct arena *arena;
    noderole_ix self;          /* the noderole that is staged */
    const struct noderole *nr; /* its row */
    struct json *tree;         /* the parts that were merged so far */
};

static void stage_put_value(struct stage *s, struct str path, const struct json *value)
{
    const struct json null = {.kind = JSON_NULL};
    /* A value that would be nested too deeply is left out, so that the run can start. */
    ignore(data_put(s->arena, s->tree, path, value ? value : &null), "see above");
}

static struct str stage_wanted_path(const struct stage *s, uint32_t wanted, attrib_ix attrib)
{
    const struct vec *v = &role_at(s->c, s->nr->role)->wanted;
    const text_h at = vec_at(s->c, v, wanted + 1);
    return text_of(s->c, at ? at : attrib_at(s->c, attrib)->map);
}

/* Part 1: attribs of the node that the role wants. */
static void stage_node_attribs(struct stage *s)
{
    const struct vec *wanted = &role_at(s->c, s->nr->role)->wanted;
    struct json *node = NULL;
    for (uint32_t i = 0; i < wanted->count; i += 2) {
        const attrib_ix attrib = {vec_at(s->c, wanted, i)};
        if (attrib_at(s->c, attrib)->role.v)
            continue;
        if (!node)
            node = data_node(s->c, s->nr->node, s->arena);
        const struct json *value = data_value(s->c, attrib, node, s->arena);
        if (value)
            stage_put_value(s, stage_wanted_path(s, i, attrib), value);
    }
}

/* The ancestor that supplies a wanted attrib; none if no link exists. */
static noderole_ix stage_link_parent(const struct stage *s, attrib_ix attrib)
{
    const struct vec *links = &s->nr->links;
    for (uint32_t i = 0; i < links->count; i += 2)
        if (vec_at(s->c, links, i + 1) == attrib.v)
            return (noderole_ix){vec_at(s->c, links, i)};
    return (noderole_ix){0};
}

/* Part 2: attribs of ancestors that the role wants. */
static void stage_links(struct stage *s)
{
    const struct vec *wanted = &role_at(s->c, s->nr->role)->wanted;
    for (uint32_t i = 0; i < wanted->count && s->nr->links.count; i += 2) {
        const attrib_ix attrib = {vec_at(s->c, wanted, i)};
        const noderole_ix parent = stage_link_parent(s, attrib);
        if (!parent.v)
            continue;
        const struct str path = stage_wanted_path(s, i, attrib);
        const deployment_role_ix dr = noderole_at(s->c, parent)->dr;
        struct json *tree = data_deployment_role(s->c, dr, true, s->arena);
        stage_put_value(s, path, data_value(s->c, attrib, tree, s->arena));
        tree = data_noderole(s->c, parent, true, s->arena);
        stage_put_value(s, path, data_value(s->c, attrib, tree, s->arena));
    }
}

static void stage_merge(struct stage *s, struct json *tree)
{
    if (tree->count)
        s->tree = s->tree->count ? json_merge(s->arena, s->tree, tree) : tree;
}

static bool stage_is_same_node(const struct stage *s, const struct noderole *other)
{
    return other->node.v == s->nr->node.v;
}

static bool stage_uses_ancestor(const struct stage *s, const struct noderole *ancestor)
{
    if (stage_is_same_node(s, ancestor))
        return stage_has_data(s->c, ancestor);
    return role_at(s->c, ancestor->role)->flags & ROLE_SERVER && stage_has_own_data(s->c, ancestor);
}

/* Part 3: ancestors on the same node with all their layers, and roles with the flag `server` on
 * other nodes with their own data only. The nearest ancestor overrides. */
static void stage_ancestors(struct stage *s)
{
    uint32_t count, kept = 0;
    if (!stage_needs_ancestors(s->c, s->nr))
        return;
    noderole_ix *all = graph_ancestors(s->c, s->self, s->arena, &count);
    for (uint32_t i = 0; i < count; i++)
        if (stage_uses_ancestor(s, noderole_at(s->c, all[i])))
            all[kept++] = all[i];
    graph_sort_by_cohort(s->c, all, kept, false);
    for (uint32_t i = 0; i < kept; i++)
        stage_merge(s, stage_is_same_node(s, noderole_at(s->c, all[i]))
                           ? data_noderole(s->c, all[i], true, s->arena)
                           : data_own(s->c, all[i], s->arena));
}

/* Parts 4 and 5: its own data, then its own attribs, which adds the defaults. */
static void stage_own(struct stage *s)
{
    const struct vec *attribs = &role_at(s->c, s->nr->role)->attribs;
    struct json *own = data_noderole(s->c, s->self, true, s->arena);
    /* s->tree is modified below while `own` is still read, so they must not share nodes. */
    stage_merge(s, s->tree->count ? own : json_clone(s->arena, own));
    for (uint32_t i = 0; i < attribs->count; i++) {
        const attrib_ix attrib = {vec_at(s->c, attribs, i)};
        const struct json *value = data_value(s->c, attrib, own, s->arena);
        if (value)
            stage_put_value(s, text_of(s->c, attrib_at(s->c, attrib)->map), value);
    }
}

/* Part 6: reservations of the node. Discovery data can be long, so it is parsed only if the text
 * contains the key. */
static void stage_reservations(struct stage *s)
{
    const struct node *node = node_at(s->c, s->nr->node);
    const struct str key = STR("\"reservations\":");
    if (!str_has(doc_of(s->c, node->hint), key) && !str_has(doc_of(s->c, node->discovery), key))
        return;
    const struct json *tree = data_node(s->c, s->nr->node, s->arena);
    const struct json *found = json_get(tree, STR("reservations"));
    if (found && found->kind != JSON_NULL)
        stage_put_value(s, STR("crowbar_wall/reservations"), found);
}

/* Part 7: hints and quirks of the node, which replace anything else of these names. */
static void stage_hints(struct stage *s)
{
    const struct node *node = node_at(s->c, s->nr->node);
    struct json *hints = data_object(s->arena, doc_of(s->c, node->hint));
    if (json_depth(hints) >= JSON_DEPTH_MAX)
        hints = json_make(s->arena, JSON_OBJECT);
    struct json *quirks = node->quirks ? doc_tree(s->arena, doc_of(s->c, node->quirks))
                                       : json_make(s->arena, JSON_ARRAY);
    json_set(s->tree, STR("hints"), hints);
    json_set(s->tree, STR("quirks"), quirks);
}

struct str stage_noderole(const struct core *c, noderole_ix nr, struct arena *a)
{
    const struct noderole *row = noderole_at(c, nr);
    if (stage_is_empty(c, row))
        return STAGED_EMPTY;
    struct stage s = {.c = c, .arena = a, .self = nr, .nr = row};
    s.tree = json_make(a, JSON_OBJECT);
    stage_node_attribs(&s);
    stage_links(&s);
    stage_ancestors(&s);
    stage_own(&s);
    stage_reservations(&s);
    stage_hints(&s);
    return json_write(a, s.tree);
}

struct str core_staged(const struct core *c, int64_t noderole_id, struct arena *a)
{
    const noderole_ix nr = noderole_by_id(c, noderole_id);
    return nr.v ? stage_noderole(c, nr, a) : STR("");
}
