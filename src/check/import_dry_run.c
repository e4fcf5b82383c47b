#include "check/import_dry_run.h"

#include "check/barclamp_check.h"
#include "content/import_rounds.h"
#include "core/core.h"

/* Owns a temporary core (the engine without store and daemon) and the arenas of its steps. A step
 * is the execution of one command by the core; here each file is one import command.
 *
 * Order: files are imported in rounds until no further one is accepted. Only then the refused ones
 * are imported once more for their problems: earlier problems may be about objects that a later
 * round has created. Drafts (the usable parts of files with errors) are imported after all files
 * and rolled back, so that no file is accepted because of a draft. Warnings come last, because they
 * depend on all objects.
 *
 * Failure: a refused file is left out, its problems are added to the report and the others
 * continue. No function returns an error; must() marks outcomes that only a defect could cause. */

enum { NOW_MS = 1 }; /* no time of the dry run is visible */

/* ---- one command ---- */

/* The outcome is valid until the next step, which resets the arena. */
static struct outcome dry_run_step(struct import_dry_run *r, struct command *command)
{
    struct effects effects = {0};
    struct outcome outcome = {0};
    command->actor = STR("dry run");
    command->now_ms = command->wall_ms = command->mono_ms = NOW_MS;
    arena_reset(&r->step);
    core_step(r->core, command, &r->step, &effects, &outcome);
    must(outcome.verdict != VERDICT_NEEDS_HOOKS); /* no role is bound, so no hook can veto */
    return outcome;
}

static struct outcome dry_run_import(struct import_dry_run *r, const struct barclamp_file *file)
{
    struct command command = {.kind = COMMAND_IMPORT};
    command.import.barclamp = file->document;
    return dry_run_step(r, &command);
}

void import_dry_run_init(struct import_dry_run *r)
{
    /* The jigs of the shipped barclamps, with their classes. */
    static const struct {
        const char *name, *class_name;
    } jigs[] = {{"noop", "noop"},
                {"test", "test"},
                {"script", "script"},
                {"role-provided", "role-provided"},
                {"puppet-sa", "puppet"}};
    *r = (struct import_dry_run){.core = core_new()};
    core_bootstrap(r->core, NOW_MS);
    for (uint32_t i = 0; i < sizeof jigs / sizeof jigs[0]; i++) {
        struct command command = {.kind = COMMAND_JIG_CREATE};
        command.jig_create.name = str_from(jigs[i].name);
        command.jig_create.class_name = str_from(jigs[i].class_name);
        command.jig_create.active = true;
        const struct outcome outcome = dry_run_step(r, &command);
        must(outcome.verdict == VERDICT_DONE);
    }
}

void import_dry_run_fini(struct import_dry_run *r)
{
    core_free(r->core);
    arena_fini(&r->step);
    arena_fini(&r->import);
}

/* ---- all files ---- */

/* The core executes the imports of all drafts one after the other and rolls them back. */
static void dry_run_drafts(struct import_dry_run *r, const struct import_dry_run_files *files)
{
    const struct content_tree *tree = &files->tree;
    struct str *texts = arena_array(&r->import, struct str, tree->draft_count);
    struct outcome *outcomes = arena_array(&r->import, struct outcome, tree->draft_count);
    for (uint32_t i = 0; i < tree->draft_count; i++)
        texts[i] = tree->drafts[i].draft;
    arena_reset(&r->step);
    core_import_dry_run(r->core, texts, tree->draft_count, &r->step, outcomes);
    for (uint32_t i = 0; i < tree->draft_count; i++) {
        if (files->is_draft_reported[i])
            barclamp_check_draft(files->report, r->core, tree, i, &outcomes[i]);
    }
}

struct import_dry_run_count import_dry_run_import(struct import_dry_run *r,
                                                  const struct import_dry_run_files *files)
{
    struct import_dry_run_count count = {0};
    const struct content_tree *tree = &files->tree;
    uint32_t next;
    arena_reset(&r->import);
    bool *is_imported = arena_array(&r->import, bool, tree->count); /* by index of the file */
    /* The same loop as in import/content_import.c. Only its results determine which files count as
     * imported. */
    struct import_rounds rounds = import_rounds_begin(&r->import, tree->count);
    while (import_rounds_next(&rounds, &next)) {
        const struct outcome outcome = dry_run_import(r, &tree->files[next]);
        is_imported[next] = outcome.verdict == VERDICT_DONE;
        import_rounds_set_result(&rounds, next,
                                 is_imported[next] ? ROUNDS_IMPORTED : ROUNDS_REFUSED);
    }
    /* Import a refused file once more for its problems. No file was imported after its last
     * refusal, so it is refused again. */
    for (uint32_t i = 0; i < tree->count; i++) {
        if (!files->is_reported[i] || is_imported[i])
            continue;
        const struct outcome outcome = dry_run_import(r, &tree->files[i]);
        must(outcome.verdict == VERDICT_REFUSED);
        content_report_problems(files->report, &tree->files[i], outcome.problems);
    }
    dry_run_drafts(r, files);
    /* An import also warns of names that a later barclamp defines. Those warnings are not faults,
     * so the import is repeated after all barclamps are in, and only the warnings of that are
     * reported. */
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct json *roles = json_get(tree->files[i].tree, STR("roles"));
        if (!files->is_reported[i] || !is_imported[i])
            continue;
        const struct outcome outcome = dry_run_import(r, &tree->files[i]);
        barclamp_check_imported(files->report, r->core, tree, &tree->files[i],
                                outcome.verdict == VERDICT_DONE ? outcome.doc : STR(""));
        count.barclamps++;
        count.roles += roles ? roles->count : 0;
    }
    return count;
}
