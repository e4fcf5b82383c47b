/* Goal: any barclamp file is read to a document, or to an error with a position in the file. A
 * document is canonical JSON, every value of its tree has a position, and the core imports it or
 * refuses it with problems that have a position. A second import changes nothing. With an error
 * there may be a draft, whose import dry run changes nothing. Entries that are made for each
 * network come and go with a network.
 * Method: the input is the file; its document or draft is imported into a new core. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json/json.h"
#include "content/barclamp_file.h"
#include "content/yaml.h"
#include "core/core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void stop(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

/* ---- positions ---- */

/* libyaml also ends lines at CR, NEL, LS and PS, so there are at most as many as bytes. */
static void check_position(struct text_position at, struct str text, const char *what)
{
    if (at.line == 0 || at.line > text.len + 1 || at.column == 0 || at.column > text.len + 1)
        stop(what);
}

/* Recursion is bounded by JSON_DEPTH_MAX, which yaml_read keeps. */
static void check_tree(const struct json *value, struct str text)
{
    check_position(yaml_position(value), text, "a value has no position");
    uint32_t count = 0;
    for (const struct json *child = value->first; child; child = child->next, count++) {
        if (value->kind == JSON_OBJECT && child->next && str_cmp(child->key, child->next->key) >= 0)
            stop("the members of a map are not sorted");
        check_tree(child, text);
    }
    if (count != value->count)
        stop("a list or map has a wrong count");
}

static void check_report(const struct diagnostics *r, struct str text)
{
    uint32_t count = 0;
    for (const struct diagnostics_entry *e = r->first; e; e = e->next, count++) {
        struct buf shown = buf_in(r->arena);
        if (e->text.len == 0)
            stop("an entry has no text");
        if (e->at.line)
            check_position(e->at, text, "an entry has a position outside the file");
        diagnostics_format(e, &shown);
    }
    if (count != r->count || (count < DIAGNOSTICS_ENTRIES_MAX && count != r->errors + r->warnings))
        stop("the counts of the report are wrong");
}

/* ---- documents ---- */

static void check_document(struct arena *a, struct str document)
{
    struct str canonical;
    uint32_t offset;
    const char *what;
    if (json_canonical(a, document, &canonical, &offset, &what) != OK)
        stop(what);
    if (!str_eq(canonical, document))
        stop("the document is not canonical");
}

static void check_problems(const struct barclamp_file *file, const struct outcome *outcome,
                           struct str text)
{
    for (const struct problem *p = outcome->problems; p; p = p->next) {
        if (p->code == PROBLEM_BAD_JSON)
            stop("the core refuses the document as invalid JSON");
        check_position(barclamp_field_position(file, p->field), text, "a problem has no position");
    }
    if ((outcome->verdict == VERDICT_REFUSED) != (outcome->problems != NULL))
        stop("problems without a refusal, or a refusal without problems");
}

static void import_twice(struct arena *a, const struct barclamp_file *file, struct str text)
{
    struct core *core = core_new();
    struct digest128 digests[2];
    core_bootstrap(core, 1000);
    for (int i = 0; i < 2; i++) {
        /* The same time for both: an attrib that is listed twice is written twice, with the
         * time. */
        struct command command = {.kind = COMMAND_IMPORT, .now_ms = 1001, .mono_ms = 1001};
        struct effects effects = {0};
        struct outcome outcome = {0};
        command.import.barclamp = file->document;
        core_step(core, &command, a, &effects, &outcome);
        check_problems(file, &outcome, text);
        const char *broken = core_check(core, a);
        if (broken)
            stop(broken);
        digests[i] = core_digest_now(core);
    }
    if (!digest_eq(digests[0], digests[1]))
        stop("the second import changed something");
    core_free(core);
}

static struct outcome step_network(struct core *core, struct arena *a, struct command command)
{
    struct effects effects = {0};
    struct outcome outcome = {0};
    command.now_ms = command.mono_ms = 1002;
    core_step(core, &command, a, &effects, &outcome);
    const char *broken = core_check(core, a);
    if (broken)
        stop(broken);
    return outcome;
}

/* Entries that are made for each network: a network that comes and goes leaves the roles and
 * attribs that were there before, whether the document or another network came first. A refused
 * network changes nothing. */
static void import_with_networks(struct arena *a, const struct barclamp_file *file)
{
    struct core *core = core_new();
    struct command import = {.kind = COMMAND_IMPORT};
    struct command first = {.kind = COMMAND_NETWORK_CREATE}, second = first;
    struct command removal = {.kind = COMMAND_NETWORK_DELETE};
    core_bootstrap(core, 1000);
    import.import.barclamp = file->document;
    first.network_create.name = STR("lab");
    first.network_create.conduit = STR("1g0");
    first.network_create.given = GIVEN_NETWORK_CONDUIT;
    second = first;
    second.network_create.name = STR("a-network-name-with-forty-eight-characters-here-");
    step_network(core, a, first);
    step_network(core, a, import);
    const uint32_t roles = core_count(core, TABLE_ROLE), attribs = core_count(core, TABLE_ATTRIB);
    const struct digest128 before = core_digest_now(core);
    const struct outcome made = step_network(core, a, second);
    if (made.verdict == VERDICT_DONE) {
        removal.network_delete.id = made.id;
        if (step_network(core, a, removal).verdict != VERDICT_DONE)
            stop("a network cannot be deleted");
    } else if (!digest_eq(before, core_digest_now(core))) {
        stop("a refused network changed something");
    }
    if (core_count(core, TABLE_ROLE) != roles || core_count(core, TABLE_ATTRIB) != attribs)
        stop("a network left roles or attribs, or removed others");
    core_free(core);
}

/* The draft twice in one dry run: the second import sees the objects of the first, and nothing is
 * changed at the end. */
static void import_dry_run(struct arena *a, const struct barclamp_file *file, struct str text)
{
    struct core *core = core_new();
    struct outcome outcomes[2];
    const struct str drafts[] = {file->draft, file->draft};
    core_bootstrap(core, 1000);
    const struct digest128 before = core_digest_now(core);
    core_import_dry_run(core, drafts, 2, a, outcomes);
    check_problems(file, &outcomes[0], text);
    check_problems(file, &outcomes[1], text);
    if (outcomes[0].verdict != outcomes[1].verdict)
        stop("the second import of a dry run has another verdict");
    const char *broken = core_check(core, a);
    if (broken)
        stop(broken);
    if (!digest_eq(before, core_digest_now(core)))
        stop("a dry run changed something");
    core_free(core);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > UINT32_MAX)
        return 0;
    struct arena arena = {0};
    struct diagnostics report = diagnostics_begin(&arena);
    const struct str text = {(const char *)data, (uint32_t)size};
    struct barclamp_file file = {.path = "fuzz.yml", .source_path = STR("/src"), .is_yaml = true};
    barclamp_from_yaml(&report, text, NULL, &file);
    check_report(&report, text);
    if ((file.document.len == 0) != (report.errors > 0))
        stop("neither a document nor an error");
    if (file.tree)
        check_tree(file.tree, text);
    if (file.document.len && file.draft.len)
        stop("both a document and a draft");
    if (file.document.len) {
        check_document(&arena, file.document);
        import_twice(&arena, &file, text);
        import_with_networks(&arena, &file);
    }
    if (file.draft.len) {
        check_document(&arena, file.draft);
        import_dry_run(&arena, &file, text);
    }
    arena_fini(&arena);
    return 0;
}
