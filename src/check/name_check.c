#include "check/name_check.h"

#include <stdio.h>

#include "base/text/suggest.h"
#include "core/core.h"
#include "model/names.h"

/* Reports names in one barclamp file that refer to no role or attrib: those in `requires` and
 * `wants-attribs` of its roles and in `implementor` of its jigs, which is the role that a jig
 * requires on its nodes.
 *
 * Stateless: reads the core and the tree, and adds warnings to the report. It must run after all
 * imports, because a name may be that of an object of a later file. There is no failure: a member
 * of the wrong type, which is possible in a draft, counts as absent. */

struct name_check {
    const struct core *core;          /* has the objects that exist */
    const struct content_tree *tree;  /* its drafts define objects that will exist */
    const struct barclamp_file *file; /* the file that is checked */
    struct diagnostics *report;
    const struct json *role;    /* the role of the file that is checked */
    uint32_t role_ix;           /* index in the list of the file */
    uint32_t *suggestions_left; /* count of suggestions that may still be computed for the file */
};

/* A suggestion compares a name with every role or attrib, and in the daemon this runs on the main
 * loop. The count per file is therefore bounded; after a correction the check is repeated anyway.
 */
enum { SUGGESTIONS_MAX = 5 };

/* The first item of a list; NULL: empty, or not a list, which is possible in a draft. */
static const struct json *name_check_first(const struct json *object, const char *key)
{
    const struct json *list = json_get(object, str_from(key));
    return list && list->kind == JSON_ARRAY ? list->first : NULL;
}

/* The name in an item of a list, which is the name itself or an object with a member `name`. */
static struct str name_check_name(const struct json *named)
{
    const struct json *name = named->kind == JSON_OBJECT ? json_get(named, STR("name")) : named;
    return name && name->kind == JSON_STRING ? name->text : STR("");
}

static bool name_is_listed(const struct json *object, const char *key, struct str name)
{
    for (const struct json *item = name_check_first(object, key); item; item = item->next)
        if (str_eq_nocase(name_check_name(item), name))
            return true;
    return false;
}

/* True if a draft defines the object. The barclamp or one of its roles may define an attrib. */
static bool name_is_in_draft(const struct name_check *c, enum table table, struct str name)
{
    for (uint32_t i = 0; i < c->tree->draft_count; i++) {
        const struct json *draft = c->tree->drafts[i].tree;
        if (name_is_listed(draft, table == TABLE_ROLE ? "roles" : "attribs", name))
            return true;
        for (const struct json *role = name_check_first(draft, "roles"); role; role = role->next)
            if (table == TABLE_ATTRIB && name_is_listed(role, "attribs", name))
                return true;
    }
    return false;
}

/* True if no object has this name. An invalid name is reported elsewhere and does not count. */
static bool name_is_missing(const struct name_check *c, enum table table, struct str name)
{
    const char *wrong = table == TABLE_ROLE ? names_check_role(name) : names_check_attrib(name);
    return !wrong && core_find(c->core, table, name) == 0 && !name_is_in_draft(c, table, name);
}

static struct text_position name_check_position(const struct name_check *c, const char *key,
                                                uint32_t i)
{
    char field[100];
    snprintf(field, sizeof field, "roles/%u/%s/%u", c->role_ix, key, i);
    return barclamp_field_position(c->file, str_from(field));
}

/* "; did you mean x?" with the nearest name of the table; empty if no name is near. */
static struct str name_suggestion(const struct name_check *c, enum table table, struct str name)
{
    struct suggestion nearest = {0};
    struct record record;
    if (*c->suggestions_left == 0)
        return STR("");
    --*c->suggestions_left;
    for (int64_t id = core_next_id(c->core, table, 0); id; id = core_next_id(c->core, table, id))
        if (core_record(c->core, table, id, &record))
            suggest_offer_str(&nearest, name,
                              table == TABLE_ROLE ? record.role.name : record.attrib.name);
    const struct str word = suggest_str(&nearest);
    return word.len ? STR_CONCAT(c->report->arena, STR("; did you mean "), word, STR("?")) : word;
}

static void name_check_requires(const struct name_check *c)
{
    uint32_t i = 0;
    for (const struct json *item = name_check_first(c->role, "requires"); item;
         item = item->next, i++)
        if (name_is_missing(c, TABLE_ROLE, name_check_name(item)))
            diagnostics_warning(
                diagnostics_as(c->report, "require_unresolved"), str_from(c->file->path),
                name_check_position(c, "requires", i),
                "role %.*s requires role %.*s, which does not exist; it cannot be "
                "bound%.*s",
                STR_FMT_ARGS(diagnostics_brief(name_check_name(c->role))),
                STR_FMT_ARGS(diagnostics_brief(name_check_name(item))),
                STR_FMT_ARGS(name_suggestion(c, TABLE_ROLE, name_check_name(item))));
}

static void name_check_wants(const struct name_check *c)
{
    uint32_t i = 0;
    for (const struct json *item = name_check_first(c->role, "wants-attribs"); item;
         item = item->next, i++)
        if (name_is_missing(c, TABLE_ATTRIB, name_check_name(item)))
            diagnostics_warning(
                diagnostics_as(c->report, "attrib_unknown"), str_from(c->file->path),
                name_check_position(c, "wants-attribs", i),
                "role %.*s wants attrib %.*s, which does not exist; it cannot be "
                "bound%.*s",
                STR_FMT_ARGS(diagnostics_brief(name_check_name(c->role))),
                STR_FMT_ARGS(diagnostics_brief(name_check_name(item))),
                STR_FMT_ARGS(name_suggestion(c, TABLE_ATTRIB, name_check_name(item))));
}

static void name_check_jigs(const struct name_check *c)
{
    uint32_t i = 0;
    for (const struct json *jig = name_check_first(c->file->tree, "jigs"); jig;
         jig = jig->next, i++) {
        char field[100];
        const struct json *client = json_get(jig, STR("implementor"));
        if (!client || !name_is_missing(c, TABLE_ROLE, name_check_name(client)))
            continue;
        snprintf(field, sizeof field, "jigs/%u/implementor", i);
        diagnostics_warning(diagnostics_as(c->report, "require_unresolved"),
                            str_from(c->file->path),
                            barclamp_field_position(c->file, str_from(field)),
                            "jig %.*s requires role %.*s on its nodes, which does not exist",
                            STR_FMT_ARGS(diagnostics_brief(name_check_name(jig))),
                            STR_FMT_ARGS(diagnostics_brief(client->text)));
    }
}

void name_check_run(struct diagnostics *report, const struct core *core,
                    const struct content_tree *tree, const struct barclamp_file *file)
{
    uint32_t suggestions_left = SUGGESTIONS_MAX;
    struct name_check c = {.core = core,
                           .tree = tree,
                           .file = file,
                           .report = report,
                           .suggestions_left = &suggestions_left};
    name_check_jigs(&c);
    for (c.role = name_check_first(file->tree, "roles"); c.role;
         c.role = c.role->next, c.role_ix++) {
        name_check_requires(&c);
        name_check_wants(&c);
    }
}
