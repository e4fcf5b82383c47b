#include "core/data/data.h"

#include "core/plan/commit_view.h"

/* What a run is given (SEMANTICS 6.6): everything its noderole may know, merged into one document,
 * later parts winning. It is made for every run, and most noderoles of a large installation know
 * nothing, so there is a short way that looks at rows and builds no tree. */

#define NOTHING STR("{\"hints\":{},\"quirks\":[]}")

/* ---- who holds anything ---- */

static bool holds_own(const struct core *c, const struct noderole *nr)
{
    return nr->wall || nr->computed || nr->sysdata || view_noderole_data(c, nr);
}

static bool holds_anything(const struct core *c, const struct noderole *nr)
{
    const struct deployment_role *dr = deployment_role_at(c, nr->dr);
    return holds_own(c, nr) || dr->wall || view_role_data(c, dr) || role_at(c, nr->role)->template;
}

/* An ancestor lies in a smaller cohort, and the node's list is sorted by it. */
static bool neighbour_holds(const struct core *c, const struct noderole *nr)
{
    const struct vec *v = &node_at(c, nr->node)->noderoles;
    bool holds = false;
    for (uint32_t i = 0; i < v->count && !holds; i++) {
        const struct noderole *other = noderole_at(c, (noderole_ix){vec_at(c, v, i)});
        if (other->cohort >= nr->cohort)
            break;
        holds = holds_anything(c, other);
    }
    return holds;
}

static bool ancestors_matter(const struct core *c, const struct noderole *nr)
{
    return nr->parents.count && (neighbour_holds(c, nr) || c->vars.server_count);
}

static bool is_nothing(const struct core *c, const struct noderole *nr)
{
    const struct role *role = role_at(c, nr->role);
    const struct node *node = node_at(c, nr->node);
    return !node->hint && !node->discovery && !node->quirks && !role->attribs.count &&
           !role->wanted.count && !holds_anything(c, nr) && !ancestors_matter(c, nr);
}

/* ---- the parts, in the order they are merged ---- */

struct stage {
    const struct core *c;
    struct arena *arena;
    noderole_ix self;
    const struct noderole *nr;
    struct json *tree;
};

static void put_value(struct stage *s, struct str path, const struct json *value)
{
    const struct json null = {.kind = JSON_NULL};
    /* What has no place there stays out: the run is better than no run. */
    ignore(data_put(s->arena, s->tree, path, value ? value : &null), "see above");
}

static struct str destination(const struct stage *s, uint32_t wanted, attrib_ix attrib)
{
    const struct vec *v = &role_at(s->c, s->nr->role)->wanted;
    const text_h at = vec_at(s->c, v, wanted + 1);
    return text_of(s->c, at ? at : attrib_at(s->c, attrib)->map);
}

/* 1: attribs of the node that the role wants. */
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
            put_value(s, destination(s, i, attrib), value);
    }
}

/* The ancestor that answers for a wanted attrib; none when nobody does. */
static noderole_ix link_parent(const struct stage *s, attrib_ix attrib)
{
    const struct vec *links = &s->nr->links;
    for (uint32_t i = 0; i < links->count; i += 2)
        if (vec_at(s->c, links, i + 1) == attrib.v)
            return (noderole_ix){vec_at(s->c, links, i)};
    return (noderole_ix){0};
}

/* 2: attribs of ancestors that the role wants. */
static void stage_links(struct stage *s)
{
    const struct vec *wanted = &role_at(s->c, s->nr->role)->wanted;
    for (uint32_t i = 0; i < wanted->count && s->nr->links.count; i += 2) {
        const attrib_ix attrib = {vec_at(s->c, wanted, i)};
        const noderole_ix parent = link_parent(s, attrib);
        if (!parent.v)
            continue;
        const struct str path = destination(s, i, attrib);
        const deployment_role_ix dr = noderole_at(s->c, parent)->dr;
        struct json *tree = data_deployment_role(s->c, dr, true, s->arena);
        put_value(s, path, data_value(s->c, attrib, tree, s->arena));
        tree = data_noderole(s->c, parent, true, s->arena);
        put_value(s, path, data_value(s->c, attrib, tree, s->arena));
    }
}

static void merge_tree(struct stage *s, struct json *tree)
{
    if (tree->count)
        s->tree = s->tree->count ? json_merge(s->arena, s->tree, tree) : tree;
}

static bool is_neighbour(const struct stage *s, const struct noderole *other)
{
    return other->node.v == s->nr->node.v;
}

static bool is_of_use(const struct stage *s, const struct noderole *ancestor)
{
    if (is_neighbour(s, ancestor))
        return holds_anything(s->c, ancestor);
    return role_at(s->c, ancestor->role)->flags & ROLE_SERVER && holds_own(s->c, ancestor);
}

/* 3: ancestors on the same node with all their layers, and servers elsewhere with what is their
 * own (DECISIONS D16); the nearest wins. */
static void stage_ancestors(struct stage *s)
{
    uint32_t count, kept = 0;
    if (!ancestors_matter(s->c, s->nr))
        return;
    noderole_ix *all = graph_ancestors(s->c, s->self, s->arena, &count);
    for (uint32_t i = 0; i < count; i++)
        if (is_of_use(s, noderole_at(s->c, all[i])))
            all[kept++] = all[i];
    graph_sort_by_cohort(s->c, all, kept, false);
    for (uint32_t i = 0; i < kept; i++)
        merge_tree(s, is_neighbour(s, noderole_at(s->c, all[i]))
                          ? data_noderole(s->c, all[i], true, s->arena)
                          : data_own(s->c, all[i], s->arena));
}

/* 4 and 5: its own data, then its own attribs, which adds the defaults. */
static void stage_own(struct stage *s)
{
    const struct vec *attribs = &role_at(s->c, s->nr->role)->attribs;
    struct json *own = data_noderole(s->c, s->self, true, s->arena);
    /* The tree changes below while `own` is still read. */
    merge_tree(s, s->tree->count ? own : json_clone(s->arena, own));
    for (uint32_t i = 0; i < attribs->count; i++) {
        const attrib_ix attrib = {vec_at(s->c, attribs, i)};
        const struct json *value = data_value(s->c, attrib, own, s->arena);
        if (value)
            put_value(s, text_of(s->c, attrib_at(s->c, attrib)->map), value);
    }
}

/* 6: reservations of the node. Discovery can be long, so it is read only when they are in it. */
static void stage_reservations(struct stage *s)
{
    const struct node *node = node_at(s->c, s->nr->node);
    const struct str key = STR("\"reservations\":");
    if (!str_has(doc_of(s->c, node->hint), key) && !str_has(doc_of(s->c, node->discovery), key))
        return;
    const struct json *tree = data_node(s->c, s->nr->node, s->arena);
    const struct json *found = json_get(tree, STR("reservations"));
    if (found && found->kind != JSON_NULL)
        put_value(s, STR("crowbar_wall/reservations"), found);
}

/* 7: hints and quirks of the node; whatever else had these names gives way. */
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
    if (is_nothing(c, row))
        return NOTHING;
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
