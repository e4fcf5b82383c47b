#include "core/data/data.h"
#include "core/network/network_private.h"

#include <stddef.h>

/* The stored values of attribs that an import has removed (docs/spec/barclamp-format.md,
 * "removed-attribs"): of an attrib of nodes in the hint and the notes of every node, of an attrib
 * of a role in the system data, the wall data and the notes of its noderoles, and of those of roles
 * that provide it. User data and
 * discovery data stay: they belong to operators and machines.
 *
 * This file owns no rows. It is called after the rows of the attribs are gone: a value stays if the
 * path of an attrib that remains contains it, or is inside of it.
 *
 * Cost: each document is searched for the last step of each path as text, and parsed only if that
 * occurs; only documents that contain a value are written. Nothing is rerun and no hook is called,
 * because nothing can read the value. Nothing here fails. */

/* True if one of the paths is the other one, or a beginning of it. The empty path, of an attrib
 * that shows the whole document, overlaps none: such an attrib is no reason to keep a value. */
static bool removed_paths_overlap(struct str a, struct str b)
{
    const uint32_t len = a.len < b.len ? a.len : b.len;
    if (!str_eq(str_slice(a, 0, len), str_slice(b, 0, len)))
        return false;
    return len && (a.len == b.len || (a.len > len ? a.at[len] : b.at[len]) == '/');
}

static struct str removed_last_step(struct str map)
{
    uint32_t from = map.len;
    while (from > 0 && map.at[from - 1] != '/')
        from--;
    return str_slice(map, from, map.len);
}

/* Removes the value, and the objects around it that are empty then. False if there is none. */
static bool removed_from_tree(struct json *tree, struct str map)
{
    struct json *around[JSON_DEPTH_MAX];
    struct str keys[JSON_DEPTH_MAX];
    uint32_t depth = 0;
    for (uint32_t from = 0, to; from <= map.len && depth < JSON_DEPTH_MAX; from = to + 1) {
        to = str_find(map, '/', from);
        if (!tree || tree->kind != JSON_OBJECT)
            return false;
        keys[depth] = str_slice(map, from, to);
        around[depth++] = tree;
        struct json *member = tree->first;
        while (member && !str_eq(member->key, keys[depth - 1]))
            member = member->next;
        tree = member;
    }
    if (!tree)
        return false;
    do {
        depth--;
        must(json_unset(around[depth], keys[depth]));
    } while (depth > 0 && around[depth]->count == 0);
    return true;
}

/* The document without the values; false if it has none of them. The result is in `a`. */
static bool removed_from_doc(struct arena *a, struct str doc, const struct removed_values *v,
                             struct str *out_doc)
{
    struct json *tree = NULL;
    bool is_changed = false;
    for (uint32_t i = 0; i < v->count; i++) {
        if (!str_has(doc, removed_last_step(v->maps[i])))
            continue;
        if (!tree)
            tree = data_object(a, doc);
        is_changed = removed_from_tree(tree, v->maps[i]) || is_changed;
    }
    if (is_changed)
        *out_doc = tree->count ? json_write(a, tree) : STR("");
    return is_changed;
}

/* Removes the values from one document of a row. */
static bool removed_from_row(struct core *c, enum table table, uint32_t ix, size_t offset,
                             const struct removed_values *v)
{
    struct arena scratch = {0};
    struct str doc;
    const char *row = pool_at(&c->tables[table].pool, ix);
    const doc_h old = *(const doc_h *)(const void *)(row + offset);
    const bool is_changed = old && removed_from_doc(&scratch, doc_of(c, old), v, &doc);
    if (is_changed) {
        char *open = core_edit_row(c, table, ix);
        put_doc(c, (doc_h *)(void *)(open + offset), doc);
    }
    arena_fini(&scratch);
    return is_changed;
}

static void removed_from_nodes(struct core *c, const struct removed_values *v)
{
    bool has_hints = false; /* the engine itself reads one of the values */
    for (uint32_t i = 0; i < v->count; i++)
        has_hints = has_hints || nics_depend_on(v->maps[i]) || network_hints_depend_on(v->maps[i]);
    int64_t after = 0;
    for (node_ix n; (n.v = core_next_row(c, TABLE_NODE, after)) != 0;) {
        after = node_at(c, n)->o.id;
        removed_from_row(c, TABLE_NODE, n.v, offsetof(struct node, notes), v);
        if (removed_from_row(c, TABLE_NODE, n.v, offsetof(struct node, hint), v) && has_hints) {
            nics_follow(c, n, STR(""), STR(""));
            node_changed(c, n);
        }
    }
}

static void removed_from_noderoles(struct core *c, role_ix r, const struct removed_values *v)
{
    static const size_t docs[] = {offsetof(struct noderole, sysdata),
                                  offsetof(struct noderole, wall),
                                  offsetof(struct noderole, notes)};
    const struct vec *deployed = &role_at(c, r)->deployed;
    for (uint32_t i = 0; i < deployed->count; i++) {
        const struct vec *members =
            &deployment_role_at(c, (deployment_role_ix){vec_at(c, deployed, i)})->noderoles;
        for (uint32_t k = 0; k < members->count; k++)
            for (uint32_t d = 0; d < sizeof docs / sizeof *docs; d++)
                removed_from_row(c, TABLE_NODEROLE, vec_at(c, members, k), docs[d], v);
    }
}

/* ---- which values ---- */

/* A copy in the arena of the step. */
static struct removed_values removed_copy(struct core *c, const struct removed_values *v)
{
    struct removed_values copy = {.count = v->count,
                                  .maps = arena_array(c->arena, struct str, v->count + 1)};
    for (uint32_t i = 0; i < v->count; i++)
        copy.maps[i] = v->maps[i];
    return copy;
}

/* Leaves out the paths that overlap with the path of an attrib that remains. */
static void removed_leave_out(struct removed_values *v, struct str map)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < v->count; i++)
        if (!removed_paths_overlap(v->maps[i], map))
            v->maps[count++] = v->maps[i];
    v->count = count;
}

void data_remove_node_values(struct core *c, const struct removed_values *v)
{
    struct removed_values left = removed_copy(c, v);
    int64_t after = 0;
    for (uint32_t ix; left.count && (ix = core_next_row(c, TABLE_ATTRIB, after)) != 0;) {
        const struct attrib *attrib = attrib_at(c, (attrib_ix){ix});
        after = attrib->o.id;
        if (!attrib->role.v)
            removed_leave_out(&left, text_of(c, attrib->map));
    }
    if (left.count)
        removed_from_nodes(c, &left);
}

void data_remove_role_values(struct core *c, role_ix owner, const struct removed_values *v)
{
    int64_t after = 0;
    for (role_ix r; v->count && (r.v = core_next_row(c, TABLE_ROLE, after)) != 0;) {
        after = role_at(c, r)->o.id;
        if (r.v != owner.v && !role_provides(c, r, owner))
            continue;
        uint32_t count;
        const attrib_ix *attribs = data_attribs_of(c, r, c->arena, &count);
        struct removed_values left = removed_copy(c, v);
        for (uint32_t i = 0; i < count; i++)
            removed_leave_out(&left, text_of(c, attrib_at(c, attribs[i])->map));
        if (left.count)
            removed_from_noderoles(c, r, &left);
    }
}
