#include "core/catalog/import_private.h"

/* Import of the attribs of a barclamp document: those of roles, and those of nodes (see
 * import_private.h). It writes attrib rows; which of them this document has defined is noted in
 * struct import.
 *
 * Order: the attribs of a role follow the row of the role, which owns them. An attrib of nodes with
 * `per: network` is checked once and then written for each network (import_per.c).
 *
 * Failure: an attrib with a problem is not written, and the next one is read, so that all problems
 * are reported; the step is rolled back. */

/* ---- definitions ---- */

static struct str import_attrib_default(struct import *im, const struct json *entry)
{
    const struct json *value = import_get(entry, "default");
    if (!value)
        return STR("");
    struct buf b = buf_in(im->c->arena);
    buf_put_z(&b, "{\"value\":");
    json_write_to(&b, value);
    buf_put_z(&b, "}");
    return buf_str(&b);
}

static struct attrib_def import_attrib_def(struct import *im, const struct json *entry,
                                           struct str path)
{
    const struct str none = STR("");
    const struct json *schema = import_get(entry, "schema");
    return (struct attrib_def){
        .name = import_text(im, entry, "name", path, none),
        .description = import_text(im, entry, "description", path, none),
        .map = import_text(im, entry, "map", path, none),
        .ui_renderer = import_text(im, entry, "ui_renderer", path, none),
        .schema = schema ? json_write(im->c->arena, schema) : none,
        .default_value = import_attrib_default(im, entry),
        .writable = json_is_true(import_get(entry, "writable")),
        .barclamp = im->barclamp,
    };
}

/* Checks whether this document may define the attrib that has the name already. */
static bool import_may_define_attrib(struct import *im, attrib_ix ix, const struct attrib_def *def,
                                     struct str field)
{
    struct core *c = im->c;
    const struct attrib *a = attrib_at(c, ix);
    if (!import_spelling_matches(im, def->name, text_of(c, a->name), field))
        return false;
    if (im->barclamp.v && a->barclamp.v != im->barclamp.v) {
        /* A network uses an attrib of nodes that another barclamp has defined for it. */
        if (im->is_copy && !def->role.v && !a->role.v && str_eq(text_of(c, a->map), def->map))
            return false;
        import_refuse(im, PROBLEM_OWNER_DIFFERS, field,
                      STR_CONCAT(c->arena, STR("attrib "), def->name, STR(" belongs to "),
                                 a->barclamp.v ? text_of(c, barclamp_at(c, a->barclamp)->name)
                                               : STR("no barclamp")));
        return false;
    }
    if (im->is_copy && im->barclamp.v && import_attrib_is_in_the_way(im, ix, def)) {
        import_refuse(im, PROBLEM_NAME_TAKEN, field,
                      STR_CONCAT(c->arena, STR("there is an attrib "), def->name,
                                 STR(" already; give the network another name")));
        return false;
    }
    if (im->attribs_seen[ix.v])
        import_warn(im, "attrib_twice", field,
                    STR_CONCAT(c->arena, STR("attrib "), def->name,
                               STR(" is defined twice; the last definition is used")));
    return true;
}

/* Imports one attrib, of the role `owner` or of nodes. With `write` false it is only checked. */
static void import_attrib(struct import *im, const struct json *entry, struct str path,
                          role_ix owner, bool write)
{
    struct core *c = im->c;
    struct violations odd = {0}, misfits = {0};
    if (!import_is_object(im, entry, path))
        return;
    struct attrib_def def = import_attrib_def(im, entry, path);
    def.role = owner;
    if (!attrib_check(c, &def, path, &odd)) {
        im->problems++;
        return;
    }
    for (const struct violation *v = odd.first; v; v = v->next)
        import_warn(im, "schema_unchecked", import_path_of(im, path, "schema"),
                    STR_CONCAT(c->arena, v->path, STR(" "), v->text));
    if (!attrib_default_fits(c, &def, &misfits))
        import_warn(im, "default_misfit", import_path_of(im, path, "default"),
                    STR_CONCAT(c->arena, STR("the default does not fit the schema: "),
                               violations_format(c->arena, &misfits)));
    /* Write the row, unless its name belongs to an attrib of another barclamp. */
    attrib_ix ix = {name_find(c, TABLE_ATTRIB, def.name)};
    if (!write ||
        (ix.v && !import_may_define_attrib(im, ix, &def, import_path_of(im, path, "name"))))
        return;
    if (ix.v && attrib_at(c, ix)->role.v != owner.v)
        im->attribs_moved = true;
    if (attrib_write(c, ix, &def, &ix))
        im->changed = true;
    if (ix.v)
        im->attribs_seen[ix.v] = 1;
}

/* ---- lists of attribs ---- */

void import_role_attribs(struct import *im, const struct json *entry, struct str path, role_ix r)
{
    uint32_t k = 0;
    const struct str attribs = import_path_of(im, path, "attribs");
    for (const struct json *item = import_list(im, entry, "attribs", path);
         item && !import_is_given_up(im); item = item->next, k++) {
        const struct str at = import_path_at(im, attribs, k);
        if (item->kind == JSON_OBJECT && import_get(item, "per"))
            import_refuse(im, PROBLEM_BAD_VALUE, import_path_of(im, at, "per"),
                          STR("per belongs to the role, not to its attribs"));
        import_attrib(im, item, at, r, r.v != 0);
    }
}

/* An attrib of nodes with `per` is checked once, and then written for each network. */
static void import_node_attrib(struct import *im, const struct json *entry, struct str path)
{
    struct arena *a = im->c->arena;
    const bool is_object = entry->kind == JSON_OBJECT;
    const uint32_t before = im->problems;
    const bool is_per = is_object && import_is_per_network(im, entry, path);
    const bool is_stray = is_object && !is_per && import_has_stray_variable(im, entry, path);
    if (!is_per && !is_stray) {
        if (!im->network.v)
            import_attrib(im, entry, path, (role_ix){0}, true);
        return;
    }
    if (!im->network.v) {
        if (is_per)
            import_check_per_name(im, entry, path);
        import_attrib(im, import_per_sample(im, entry, path), path, (role_ix){0}, false);
    }
    im->is_copy = true;
    for (network_ix w = import_next_network(im, (network_ix){0}); w.v && im->problems == before;
         w = import_next_network(im, w))
        import_attrib(im, import_per_copy(a, entry, text_of(im->c, network_at(im->c, w)->name)),
                      path, (role_ix){0}, true);
    im->is_copy = false;
}

void import_node_attribs(struct import *im)
{
    uint32_t i = 0;
    for (const struct json *entry = import_list(im, im->doc, "attribs", STR(""));
         entry && !import_is_given_up(im); entry = entry->next, i++)
        import_node_attrib(im, entry, import_path_at(im, STR("attribs"), i));
}
