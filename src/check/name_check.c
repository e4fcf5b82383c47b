#include "check/name_check.h"

#include <stdio.h>

#include "base/text/suggest.h"
#include "core/core.h"
#include "model/names.h"

struct looking {
    const struct core *core;
    const struct content_tree *tree;
    const struct barclamp_file *file;
    struct diagnostics *report;
    const struct json *role;
    uint32_t role_ix;     /* in its list */
    uint32_t *meant_left; /* names that are still compared with all others */
};

/* A name is compared with every role or attrib there is, on the daemon's loop: of one file so many
 * are, and a person who corrects these checks again. */
enum { MEANT_MAX = 5 };

/* The first of a list; NULL when it has none. In a draft it may be anything. */
static const struct json *first_of(const struct json *object, const char *key)
{
    const struct json *list = json_get(object, str_from(key));
    return list && list->kind == JSON_ARRAY ? list->first : NULL;
}

static struct str name_of(const struct json *named)
{
    const struct json *name = named->kind == JSON_OBJECT ? json_get(named, STR("name")) : named;
    return name && name->kind == JSON_STRING ? name->text : STR("");
}

static bool lists(const struct json *object, const char *key, struct str name)
{
    for (const struct json *item = first_of(object, key); item; item = item->next)
        if (str_eq_nocase(name_of(item), name))
            return true;
    return false;
}

/* A draft that brings it is to be mended, and then it is there. */
static bool is_drafted(const struct looking *l, enum table table, struct str name)
{
    for (uint32_t i = 0; i < l->tree->draft_count; i++) {
        const struct json *draft = l->tree->drafts[i].tree;
        if (lists(draft, table == TABLE_ROLE ? "roles" : "attribs", name))
            return true;
        for (const struct json *role = first_of(draft, "roles"); role; role = role->next)
            if (table == TABLE_ATTRIB && lists(role, "attribs", name))
                return true;
    }
    return false;
}

/* A text that is no name was already reported as an error. */
static bool is_missing(const struct looking *l, enum table table, struct str name)
{
    const char *wrong = table == TABLE_ROLE ? names_check_role(name) : names_check_attrib(name);
    return !wrong && core_find(l->core, table, name) == 0 && !is_drafted(l, table, name);
}

static struct text_place place_in_role(const struct looking *l, const char *key, uint32_t i)
{
    char field[100];
    snprintf(field, sizeof field, "roles/%u/%s/%u", l->role_ix, key, i);
    return barclamp_place(l->file, str_from(field));
}

/* "; did you mean x?" for a name that no object of the table has, or nothing. */
static struct str meant(const struct looking *l, enum table table, struct str name)
{
    struct suggestion nearest = {0};
    struct record record;
    if (*l->meant_left == 0)
        return STR("");
    --*l->meant_left;
    for (int64_t id = core_next_id(l->core, table, 0); id; id = core_next_id(l->core, table, id))
        if (core_record(l->core, table, id, &record))
            suggest_offer_str(&nearest, name,
                              table == TABLE_ROLE ? record.role.name : record.attrib.name);
    const struct str word = suggest_str(&nearest);
    return word.len ? STR_CONCAT(l->report->arena, STR("; did you mean "), word, STR("?")) : word;
}

static void look_at_requires(const struct looking *l)
{
    uint32_t i = 0;
    for (const struct json *item = first_of(l->role, "requires"); item; item = item->next, i++)
        if (is_missing(l, TABLE_ROLE, name_of(item)))
            diagnostics_warning(diagnostics_as(l->report, "require_unresolved"),
                                str_from(l->file->path), place_in_role(l, "requires", i),
                                "role %.*s requires role %.*s, which is not here; it cannot be "
                                "bound%.*s",
                                STR_FMT_ARGS(diagnostics_brief(name_of(l->role))),
                                STR_FMT_ARGS(diagnostics_brief(name_of(item))),
                                STR_FMT_ARGS(meant(l, TABLE_ROLE, name_of(item))));
}

static void look_at_wants(const struct looking *l)
{
    uint32_t i = 0;
    for (const struct json *item = first_of(l->role, "wants-attribs"); item; item = item->next, i++)
        if (is_missing(l, TABLE_ATTRIB, name_of(item)))
            diagnostics_warning(diagnostics_as(l->report, "attrib_unknown"),
                                str_from(l->file->path), place_in_role(l, "wants-attribs", i),
                                "role %.*s wants attrib %.*s, which is not here; it cannot be "
                                "bound%.*s",
                                STR_FMT_ARGS(diagnostics_brief(name_of(l->role))),
                                STR_FMT_ARGS(diagnostics_brief(name_of(item))),
                                STR_FMT_ARGS(meant(l, TABLE_ATTRIB, name_of(item))));
}

static void look_at_jigs(const struct looking *l)
{
    uint32_t i = 0;
    for (const struct json *jig = first_of(l->file->tree, "jigs"); jig; jig = jig->next, i++) {
        char field[100];
        const struct json *client = json_get(jig, STR("implementor"));
        if (!client || !is_missing(l, TABLE_ROLE, name_of(client)))
            continue;
        snprintf(field, sizeof field, "jigs/%u/implementor", i);
        diagnostics_warning(diagnostics_as(l->report, "require_unresolved"),
                            str_from(l->file->path), barclamp_place(l->file, str_from(field)),
                            "jig %.*s wants role %.*s on its nodes, which is not here",
                            STR_FMT_ARGS(diagnostics_brief(name_of(jig))),
                            STR_FMT_ARGS(diagnostics_brief(client->text)));
    }
}

void name_check_run(struct diagnostics *report, const struct core *core,
                    const struct content_tree *tree, const struct barclamp_file *file)
{
    uint32_t meant_left = MEANT_MAX;
    struct looking l = {
        .core = core, .tree = tree, .file = file, .report = report, .meant_left = &meant_left};
    look_at_jigs(&l);
    for (l.role = first_of(file->tree, "roles"); l.role; l.role = l.role->next, l.role_ix++) {
        look_at_requires(&l);
        look_at_wants(&l);
    }
}
