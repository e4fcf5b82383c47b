#include "cli/rehearsal.h"

#include <stdio.h>

#include "content/rounds.h"
#include "core/core.h"
#include "model/jig_class.h"
#include "model/names.h"

enum { NOW_MS = 1 }; /* nobody asks when a rehearsal was */

/* ---- one command ---- */

/* What comes of it lives until the next one. */
static struct outcome step(struct rehearsal *r, struct command *command)
{
    struct effects effects = {0};
    struct outcome outcome = {0};
    command->actor = STR("rehearsal");
    command->now_ms = command->wall_ms = command->mono_ms = NOW_MS;
    arena_reset(&r->step);
    core_step(r->core, command, &r->step, &effects, &outcome);
    must(outcome.verdict != VERDICT_ASKING); /* nothing is bound, so there is nobody to ask */
    return outcome;
}

static struct outcome import(struct rehearsal *r, const struct barclamp_file *file)
{
    struct command command = {.kind = COMMAND_IMPORT};
    command.import.barclamp = file->document;
    return step(r, &command);
}

static void add_jig(struct rehearsal *r, const char *name)
{
    struct command command = {.kind = COMMAND_JIG_CREATE};
    command.jig_create.name = command.jig_create.class_name = str_from(name);
    command.jig_create.active = true;
    const struct outcome outcome = step(r, &command);
    must(outcome.verdict == VERDICT_DONE);
}

void rehearsal_init(struct rehearsal *r)
{
    static const char *const jigs[] = {"noop", "test", "script", "role-provided", "puppet"};
    *r = (struct rehearsal){.core = core_new()};
    core_found(r->core, NOW_MS);
    for (uint32_t i = 0; i < sizeof jigs / sizeof jigs[0]; i++)
        add_jig(r, jigs[i]);
}

void rehearsal_fini(struct rehearsal *r)
{
    core_free(r->core);
    arena_fini(&r->step);
    arena_fini(&r->import);
}

/* ---- names that lead nowhere ---- */

struct looking {
    const struct core *core;
    const struct content_tree *tree;
    const struct barclamp_file *file;
    struct report *report;
    const struct json *role;
    uint32_t role_ix; /* in its list */
};

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

/* What is no name is an error, and was told as that. */
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

static void look_at_requires(const struct looking *l)
{
    uint32_t i = 0;
    for (const struct json *item = first_of(l->role, "requires"); item; item = item->next, i++)
        if (is_missing(l, TABLE_ROLE, name_of(item)))
            report_warning(l->report, str_from(l->file->path), place_in_role(l, "requires", i),
                           "role %.*s requires role %.*s, which is not here; it cannot be bound",
                           STR_FMT_ARGS(report_brief(name_of(l->role))),
                           STR_FMT_ARGS(report_brief(name_of(item))));
}

static void look_at_wants(const struct looking *l)
{
    uint32_t i = 0;
    for (const struct json *item = first_of(l->role, "wants-attribs"); item; item = item->next, i++)
        if (is_missing(l, TABLE_ATTRIB, name_of(item)))
            report_warning(l->report, str_from(l->file->path), place_in_role(l, "wants-attribs", i),
                           "role %.*s wants attrib %.*s, which is not here; it cannot be bound",
                           STR_FMT_ARGS(report_brief(name_of(l->role))),
                           STR_FMT_ARGS(report_brief(name_of(item))));
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
        report_warning(l->report, str_from(l->file->path), barclamp_place(l->file, str_from(field)),
                       "jig %.*s wants role %.*s on its nodes, which is not here",
                       STR_FMT_ARGS(report_brief(name_of(jig))),
                       STR_FMT_ARGS(report_brief(client->text)));
    }
}

static void look_for_names(const struct rehearsal *r, const struct rehearsal_files *files,
                           const struct barclamp_file *file)
{
    struct looking l = {
        .core = r->core, .tree = &files->tree, .file = file, .report = files->report};
    look_at_jigs(&l);
    for (l.role = first_of(file->tree, "roles"); l.role; l.role = l.role->next, l.role_ix++) {
        look_at_requires(&l);
        look_at_wants(&l);
    }
}

/* ---- all of them ---- */

/* As daemon/content.c does it: this, and nothing that comes later, says who gets in. */
static void import_in_rounds(struct rehearsal *r, const struct content_tree *tree, bool *in)
{
    uint32_t i;
    struct rounds rounds = rounds_begin(&r->import, tree->count);
    while (rounds_next(&rounds, &i)) {
        const struct outcome outcome = import(r, &tree->files[i]);
        in[i] = outcome.verdict == VERDICT_DONE;
        rounds_tell(&rounds, i, in[i] ? ROUNDS_TAKEN : ROUNDS_REFUSED);
    }
}

/* Nothing got in since it was refused last, so it is for the same reasons. */
static void tell_refused(struct rehearsal *r, const struct barclamp_file *file,
                         struct report *report)
{
    const struct outcome outcome = import(r, file);
    must(outcome.verdict == VERDICT_REFUSED);
    content_report_problems(report, file, outcome.problems);
}

/* A daemon warns on its way also of what comes behind; nobody needs to mend that. So the engine is
 * asked once more, now that everybody is there. */
static void tell_warnings(struct rehearsal *r, const struct barclamp_file *file,
                          struct report *report)
{
    const struct outcome outcome = import(r, file);
    if (outcome.verdict == VERDICT_DONE)
        content_report_warnings(report, file, outcome.doc);
}

/* Nothing of them gets in, so that nobody else does for their sake. */
static void rehearse_drafts(struct rehearsal *r, const struct rehearsal_files *files)
{
    const struct content_tree *tree = &files->tree;
    struct str *texts = arena_array(&r->import, struct str, tree->draft_count);
    struct outcome *outcomes = arena_array(&r->import, struct outcome, tree->draft_count);
    for (uint32_t i = 0; i < tree->draft_count; i++)
        texts[i] = tree->drafts[i].draft;
    arena_reset(&r->step);
    core_rehearse(r->core, texts, tree->draft_count, &r->step, outcomes);
    for (uint32_t i = 0; i < tree->draft_count; i++) {
        if (!files->is_draft_heard[i])
            continue;
        content_report_draft(files->report, tree, i, outcomes[i].problems);
        if (outcomes[i].verdict == VERDICT_DONE)
            content_report_warnings(files->report, &tree->drafts[i], outcomes[i].doc);
        look_for_names(r, files, &tree->drafts[i]);
    }
}

struct rehearsal_count rehearsal_import(struct rehearsal *r, const struct rehearsal_files *files)
{
    struct rehearsal_count count = {0};
    const struct content_tree *tree = &files->tree;
    arena_reset(&r->import);
    bool *in = arena_array(&r->import, bool, tree->count);
    import_in_rounds(r, tree, in);
    for (uint32_t i = 0; i < tree->count; i++)
        if (files->is_heard[i] && !in[i])
            tell_refused(r, &tree->files[i], files->report);
    rehearse_drafts(r, files);
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct json *roles = json_get(tree->files[i].tree, STR("roles"));
        if (!files->is_heard[i] || !in[i])
            continue;
        look_for_names(r, files, &tree->files[i]);
        tell_warnings(r, &tree->files[i], files->report);
        count.barclamps++;
        count.roles += roles ? roles->count : 0;
    }
    return count;
}

const char *rehearsal_jig_class(const struct rehearsal *r, struct str jig)
{
    struct record record;
    const int64_t id = core_find(r->core, TABLE_JIG, jig);
    if (id == 0 || !core_record(r->core, TABLE_JIG, id, &record))
        return "";
    const struct jig_class *class = jig_class_find(record.jig.class_name);
    return class ? class->name : "";
}
