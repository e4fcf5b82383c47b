#include "core/catalog/import_private.h"
#include "core/data/data.h"

#include "model/names.h"

/* Attribs of earlier versions of a barclamp: the section `removed-attribs`
 * (docs/spec/barclamp-format.md). An attrib that a document does not define any more stays, since
 * another document may define it; one that is listed here is removed with its stored values
 * (data/removed_values.c).
 *
 * Order: all rows are removed first, because the paths of the attribs that remain decide which
 * values are removed. An attrib that another barclamp owns, or that does not exist, is left alone,
 * so that a document can be imported again and again.
 *
 * Failure: a name that is invalid, or that the same document defines, refuses the import. */

/* The place of the name in the document, in which it may be repeated. */
static struct str import_removed_field(struct import *im, struct str name)
{
    uint32_t i = 0;
    const struct json *item = import_get(im->doc, "removed-attribs")->first;
    for (; !str_eq(item->text, name); item = item->next)
        i++;
    return import_path_at(im, STR("removed-attribs"), i);
}

/* The attrib to remove. None: there is nothing to do, or the name is refused. */
static attrib_ix import_removed_attrib(struct import *im, struct str name)
{
    struct core *c = im->c;
    const attrib_ix ix = {name_find(c, TABLE_ATTRIB, name)};
    if (!ix.v)
        return ix;
    if (im->attribs_seen[ix.v]) {
        import_refuse(im, PROBLEM_BAD_VALUE, import_removed_field(im, name),
                      STR_CONCAT(c->arena, STR("attrib "), name,
                                 STR(" is defined in this barclamp and listed as removed")));
        return (attrib_ix){0};
    }
    const struct attrib *a = attrib_at(c, ix);
    return a->barclamp.v && a->barclamp.v == im->barclamp.v ? ix : (attrib_ix){0};
}

/* An attrib that was removed. */
struct removed_attrib {
    role_ix owner;  /* none: the attrib of nodes */
    struct str map; /* in the arena of the step; empty if it is done */
};

/* Removes the values of all attribs of one owner. */
static void import_remove_values(struct core *c, struct removed_attrib *all, uint32_t count,
                                 role_ix owner)
{
    struct removed_values values = {.maps = arena_array(c->arena, struct str, count + 1)};
    for (uint32_t i = 0; i < count; i++) {
        if (all[i].owner.v != owner.v || !all[i].map.len)
            continue;
        values.maps[values.count++] = all[i].map;
        all[i].map = STR("");
    }
    if (owner.v)
        data_remove_role_values(c, owner, &values);
    else
        data_remove_node_values(c, &values);
}

void import_removed_attribs(struct import *im)
{
    struct core *c = im->c;
    const struct json *names =
        import_words(im, im->doc, "removed-attribs", STR(""), names_check_attrib);
    attrib_ix *found = arena_array(c->arena, attrib_ix, names->count + 1);
    uint32_t count = 0, i;
    for (const struct json *name = names->first; name; name = name->next) {
        found[count] = import_removed_attrib(im, name->text);
        count += found[count].v != 0;
    }
    if (refused(c))
        return;
    /* Remove the rows, then the values. */
    struct removed_attrib *removed = arena_array(c->arena, struct removed_attrib, count + 1);
    for (i = 0; i < count; i++) {
        const struct attrib *a = attrib_at(c, found[i]);
        removed[i] = (struct removed_attrib){a->role, str_copy(c->arena, text_of(c, a->map))};
        attrib_remove(c, found[i]);
        im->changed = im->attribs_moved = true;
    }
    for (i = 0; i < count; i++)
        if (removed[i].map.len)
            import_remove_values(c, removed, count, removed[i].owner);
}
