/* Bytes are a barclamp's file. Whatever they are, reading them ends with a document or with an
 * error that says where. A document is canonical JSON, every value of its tree has a place in the
 * file, and the engine takes it or refuses it with problems that can be placed as well: it has
 * the shape that imports want. Taken again it changes nothing. With an error there may be a draft:
 * the engine can say what it thinks of it, and nothing of it stays. */
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

/* ---- places ---- */

/* libyaml also ends lines at CR, NEL, LS and PS, so there are at most as many as bytes. */
static void check_place(struct text_position at, struct str text, const char *what)
{
    if (at.line == 0 || at.line > text.len + 1 || at.column == 0 || at.column > text.len + 1)
        stop(what);
}

/* Recursion is bounded by JSON_DEPTH_MAX, which yaml_read keeps. */
static void check_tree(const struct json *value, struct str text)
{
    check_place(yaml_position(value), text, "a value stands nowhere");
    uint32_t count = 0;
    for (const struct json *child = value->first; child; child = child->next, count++) {
        if (value->kind == JSON_OBJECT && child->next && str_cmp(child->key, child->next->key) >= 0)
            stop("the members of a map are not sorted");
        check_tree(child, text);
    }
    if (count != value->count)
        stop("a list or map does not know how many it has");
}

static void check_report(const struct diagnostics *r, struct str text)
{
    uint32_t count = 0;
    for (const struct diagnostics_entry *e = r->first; e; e = e->next, count++) {
        struct buf shown = buf_in(r->arena);
        if (e->text.len == 0)
            stop("an entry says nothing");
        if (e->at.line)
            check_place(e->at, text, "an entry is about no line of the file");
        diagnostics_format(e, &shown);
    }
    if (count != r->count || (count < DIAGNOSTICS_ENTRIES_MAX && count != r->errors + r->warnings))
        stop("the report has miscounted");
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
            stop("the engine does not take this for a document");
        check_place(barclamp_field_position(file, p->field), text, "a problem stands nowhere");
    }
    if ((outcome->verdict == VERDICT_REFUSED) != (outcome->problems != NULL))
        stop("a refusal and its problems do not fit");
}

static void import_twice(struct arena *a, const struct barclamp_file *file, struct str text)
{
    struct core *core = core_new();
    struct digest128 digests[2];
    core_bootstrap(core, 1000);
    for (int i = 0; i < 2; i++) {
        /* At the same instant: an attrib that comes twice is written twice, and stamped. */
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

/* Twice in one rehearsal, so that the second sees what the first brought; nothing stays. */
static void rehearse(struct arena *a, const struct barclamp_file *file, struct str text)
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
        stop("what was rehearsed is refused the second time");
    const char *broken = core_check(core, a);
    if (broken)
        stop(broken);
    if (!digest_eq(before, core_digest_now(core)))
        stop("a rehearsal left something");
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
    }
    if (file.draft.len) {
        check_document(&arena, file.draft);
        rehearse(&arena, &file, text);
    }
    arena_fini(&arena);
    return 0;
}
