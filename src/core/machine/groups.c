#include "core/core_private.h"

#include "model/names.h"

/* Groups of nodes: named sets within a category (ui, rack, tag, class). This file owns the group
 * rows and the memberships, which are stored as a relation. The group ui/not_set holds the nodes
 * without another group; node_changed() adds them, so that group can be neither renamed nor
 * deleted. Deleting a group or node removes the memberships first. A command is checked completely
 * before a row is written, so a refused one changes nothing. */

enum { ORDER_DEFAULT = 10000 };

/* ---- members ---- */

void group_join(struct core *c, group_ix g, node_ix n)
{
    if (ids_has(c, &group_at(c, g)->nodes, TABLE_NODE, n.v))
        return;
    ids_insert(c, &group_derive(c, g)->nodes, TABLE_NODE, n.v);
    node_derive(c, n)->group_count++;
    relation_note(c, TABLE_MEMBERSHIP, false, group_at(c, g)->o.id, node_at(c, n)->o.id, 0);
}

static void group_leave(struct core *c, group_ix g, node_ix n)
{
    if (!ids_has(c, &group_at(c, g)->nodes, TABLE_NODE, n.v))
        return;
    ids_remove(c, &group_derive(c, g)->nodes, TABLE_NODE, n.v);
    node_derive(c, n)->group_count--;
    relation_note(c, TABLE_MEMBERSHIP, true, group_at(c, g)->o.id, node_at(c, n)->o.id, 0);
}

void groups_forget_node(struct core *c, node_ix n)
{
    for (uint32_t ix = core_next_row(c, TABLE_GROUP, 0); ix && node_at(c, n)->group_count;
         ix = core_next_row(c, TABLE_GROUP, group_at(c, (group_ix){ix})->o.id))
        group_leave(c, (group_ix){ix}, n);
}

/* ---- names ---- */

struct group_name {
    struct str name, category;
};

/* `self` is the group that may have the name already; none for a new group. */
static void group_check_name(struct core *c, struct group_name wanted, group_ix self)
{
    const char *wrong = names_check_group(wanted.name);
    const char *odd = names_check_category(wanted.category);
    if (wrong)
        refuse(c, wanted.name.len ? PROBLEM_NAME_INVALID : PROBLEM_MISSING, STR("name"),
               STR_CONCAT(c->arena, STR("name "), str_from(wrong)));
    if (odd)
        refuse(c, PROBLEM_NAME_INVALID, STR("category"),
               STR_CONCAT(c->arena, STR("category "), str_from(odd)));
    if (wrong || odd)
        return;
    const uint32_t taken =
        name_find(c, TABLE_GROUP, STR_CONCAT(c->arena, wanted.category, STR("/"), wanted.name));
    if (taken && taken != self.v)
        refuse(c, PROBLEM_NAME_TAKEN, STR("name"),
               STR_CONCAT(c->arena, STR("there is a group called "), wanted.name,
                          STR(" in category "), wanted.category, STR(" already")));
}

/* Nodes without a group are added to it by name, so it must keep its name (ADR 0024). */
static bool group_is_not_set(const struct core *c, group_ix g)
{
    const struct group *group = group_at(c, g);
    return str_eq_nocase(text_of(c, group->name), STR("not_set")) &&
           str_eq(text_of(c, group->category), STR("ui"));
}

/* ---- commands ---- */

void do_group_create(struct core *c, const struct group_create_command *p)
{
    const struct group_name name = {p->name, p->category.len ? p->category : STR("ui")};
    group_check_name(c, name, (group_ix){0});
    const group_ix g = refused(c) ? (group_ix){0} : group_add(c);
    if (!g.v)
        return;
    struct group *group = group_edit(c, g);
    put_text(c, &group->name, name.name);
    put_text(c, &group->category, name.category);
    put_text(c, &group->description, p->description);
    group->order = p->order ? p->order : ORDER_DEFAULT;
    name_add(c, TABLE_GROUP, g.v);
    c->out->id = group->o.id;
}

static group_ix group_get_for_update(struct core *c, int64_t id)
{
    const group_ix g = group_by_id(c, id);
    if (!g.v)
        refuse_missing(c, "id", "group", id);
    return g;
}

void do_group_update(struct core *c, const struct group_update_command *p)
{
    const group_ix g = group_get_for_update(c, p->id);
    if (!g.v)
        return;
    const struct group *now = group_at(c, g);
    struct group_name name = {text_of(c, now->name), text_of(c, now->category)};
    if (p->given & GIVEN_NAME)
        name.name = p->name;
    if (p->given & GIVEN_GROUP_CATEGORY)
        name.category = p->category.len ? p->category : STR("ui");
    const bool is_renamed = !str_eq(name.name, text_of(c, now->name)) ||
                            !str_eq(name.category, text_of(c, now->category));
    group_check_name(c, name, g);
    if (group_is_not_set(c, g) && is_renamed)
        refuse(c, PROBLEM_IN_USE, STR("name"),
               STR("the group not_set cannot be renamed: nodes without a group are added to it"));
    if (refused(c))
        return;
    c->out->id = p->id;
    if (is_renamed) {
        name_remove(c, TABLE_GROUP, g.v);
        struct group *group = group_edit(c, g);
        put_text(c, &group->name, name.name);
        put_text(c, &group->category, name.category);
        name_add(c, TABLE_GROUP, g.v);
    }
    if ((p->given & GIVEN_DESCRIPTION) && !str_eq(text_of(c, now->description), p->description))
        put_text(c, &group_edit(c, g)->description, p->description);
    if ((p->given & GIVEN_GROUP_ORDER) && now->order != p->order)
        group_edit(c, g)->order = p->order;
}

void do_group_delete(struct core *c, const struct group_delete_command *p)
{
    const group_ix g = group_get_for_update(c, p->id);
    if (!g.v)
        return;
    if (group_is_not_set(c, g)) {
        refuse(c, PROBLEM_IN_USE, STR("id"), STR("the group not_set cannot be deleted"));
        return;
    }
    c->out->id = p->id;
    while (group_at(c, g)->nodes.count) {
        const struct vec *nodes = &group_at(c, g)->nodes;
        group_leave(c, g, (node_ix){vec_at(c, nodes, nodes->count - 1)});
    }
    name_remove(c, TABLE_GROUP, g.v);
    struct group *group = group_edit(c, g);
    put_text(c, &group->name, STR(""));
    put_text(c, &group->description, STR(""));
    put_text(c, &group->category, STR(""));
    core_remove_row(c, TABLE_GROUP, g.v);
}

static bool group_find_with_node(struct core *c, int64_t group_id, int64_t node_id,
                                 group_ix *out_group, node_ix *out_node)
{
    *out_group = group_get_for_update(c, group_id);
    *out_node = node_by_id(c, node_id);
    if (!out_node->v)
        refuse_missing(c, "node_id", "node", node_id);
    return out_group->v && out_node->v;
}

void do_group_add(struct core *c, const struct group_add_command *p)
{
    group_ix g;
    node_ix n;
    if (!group_find_with_node(c, p->id, p->node_id, &g, &n))
        return;
    c->out->id = p->id;
    group_join(c, g, n);
}

void do_group_remove(struct core *c, const struct group_remove_command *p)
{
    group_ix g;
    node_ix n;
    if (!group_find_with_node(c, p->id, p->node_id, &g, &n))
        return;
    c->out->id = p->id;
    group_leave(c, g, n);
}
