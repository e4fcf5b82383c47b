#include "check/name_check.h"

#include <stdio.h>

#include "base/text/suggest.h"
#include "core/core.h"
#include "model/names.h"

struct name_check {
    const struct core *core;
    const struct content_tree *tree;
    const struct barclamp_file *file;
    struct diagnostics *report;
    const struct json *role;
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

/* True if a draft defines the object. */
static bool name_is_in_draft(const struct name_check *l, enum table table, struct str name)
{
    for (uint32_t i = 0; i < l->tree->draft_count; i++) {
        const struct json *draft = l->tree->drafts[i].tree;
        if (name_is_listed(draft, table == TABLE_ROLE ? "roles" : "attribs", name))
            return true;
        for (const struct json *role = name_check_first(draft, "roles"); role; role = role->next)
            if (table == TABLE_ATTRIB && name_is_listed(role, "attribs", name))
                return true;
    }
    return false;
}

/* True if no object has this name. An invalid name is reported elsewhere and does not count. */
static bool name_is_missing(const struct name_check *l, enum table table, struct str name)
{
    const char *wrong = table == TABLE_ROLE ? names_check_role(name) : names_check_attrib(name);
    return !wrong && core_find(l->core, table, name) == 0 && !name_is_in_draft(l, table, name);
}

static struct text_position name_check_position(const struct name_check *l, const char *key,
                                                uint32_t i)
{
    char field[100];
    snprintf(field, sizeof field, "roles/%u/%s/%u", l->role_ix, key, i);
    return barclamp_field_position(l->file, str_from(field));
}

/* "; did you mean x?" with the nearest name of the table; empty if no name is near. */
static struct str name_suggestion(const struct name_check *l, enum table table, struct str name)
{
    struct suggestion nearest = {0};
    struct record record;
    if (*l->suggestions_left == 0)
        return STR("");
    --*l->suggestions_left;
    for (int64_t id = core_next_id(l->core, table, 0); id; id = core_next_id(l->core, table, id))
        if (core_record(l->core, table, id, &record))
            suggest_offer_str(&nearest, name,
                              table == TABLE_ROLE ? record.role.name : record.attrib.name);
    const struct str word = suggest_str(&nearest);
    return word.len ? STR_CONCAT(l->report->arena, STR("; did you mean "), word, STR("?")) : word;
}

static void name_check_requires(const struct name_check *l)
{
    uint32_t i = 0;
    for (const struct json *item = name_check_first(l->role, "requires"); item;
         item = item->next, i++)
        if (name_is_missing(l, TABLE_ROLE, name_check_name(item)))
            diagnostics_warning(
                diagnostics_as(l->report, "require_unresolved"), str_from(l->file->path),
                name_check_position(l, "requires", i),
                "role %.*s requires role %.*s, which does not exist; it cannot be "
                "bound%.*s",
                STR_FMT_ARGS(diagnostics_brief(name_check_name(l->role))),
                STR_FMT_ARGS(diagnostics_brief(name_check_name(item))),
                STR_FMT_ARGS(name_suggestion(l, TABLE_ROLE, name_check_name(item))));
}

static void name_check_wants(const struct name_check *l)
{
    uint32_t i = 0;
    for (const struct json *item = name_check_first(l->role, "wants-attribs"); item;
         item = item->next, i++)
        if (name_is_missing(l, TABLE_ATTRIB, name_check_name(item)))
            diagnostics_warning(
                diagnostics_as(l->report, "attrib_unknown"), str_from(l->file->path),
                name_check_position(l, "wants-attribs", i),
                "role %.*s wants attrib %.*s, which does not exist; it cannot be "
                "bound%.*s",
                STR_FMT_ARGS(diagnostics_brief(name_check_name(l->role))),
                STR_FMT_ARGS(diagnostics_brief(name_check_name(item))),
                STR_FMT_ARGS(name_suggestion(l, TABLE_ATTRIB, name_check_name(item))));
}

static void name_check_jigs(const struct name_check *l)
{
    uint32_t i = 0;
    for (const struct json *jig = name_check_first(l->file->tree, "jigs"); jig;
         jig = jig->next, i++) {
        char field[100];
        const struct json *client = json_get(jig, STR("implementor"));
        if (!client || !name_is_missing(l, TABLE_ROLE, name_check_name(client)))
            continue;
        snprintf(field, sizeof field, "jigs/%u/implementor", i);
        diagnostics_warning(diagnostics_as(l->report, "require_unresolved"),
                            str_from(l->file->path),
                            barclamp_field_position(l->file, str_from(field)),
                            "jig %.*s requires role %.*s on its nodes, which does not exist",
                            STR_FMT_ARGS(diagnostics_brief(name_check_name(jig))),
                            STR_FMT_ARGS(diagnostics_brief(client->text)));
    }
}

void name_check_run(struct diagnostics *report, const struct core *core,
                    const struct content_tree *tree, const struct barclamp_file *file)
{
    uint32_t suggestions_left = SUGGESTIONS_MAX;
    struct name_check l = {.core = core,
                           .tree = tree,
                           .file = file,
                           .report = report,
                           .suggestions_left = &suggestions_left};
    name_check_jigs(&l);
    for (l.role = name_check_first(file->tree, "roles"); l.role;
         l.role = l.role->next, l.role_ix++) {
        name_check_requires(&l);
        name_check_wants(&l);
    }
}
