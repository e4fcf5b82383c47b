#include "barclamp/barclamp_commands.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "barclamp/skeleton.h"
#include "base/json/json.h"
#include "check/barclamp_check.h"
#include "cli/args/args.h"

/* The verbs check and new of `halligan barclamp`: arguments, output and exit status. The checks are
 * in src/check, the files of a new barclamp in skeleton.c. Nothing outlives a verb; its memory is
 * one arena.
 *
 * Order of check: the command line is validated first, then the directories of --with, because what
 * cannot be read there is not reported and would only appear as missing names. The directories to
 * check are tested after the check, which reports them itself; the test decides only on the exit
 * status.
 *
 * Failure: CLI_USAGE for a wrong command line, CLI_IO_ERROR if a directory cannot be read or has no
 * barclamp, CLI_FAILED for errors in barclamps (with --strict also for warnings) or if the target
 * of new exists. If the command line or --with is wrong, nothing is checked; otherwise the report
 * is always printed. */

/* ---- check: arguments ---- */

struct check_options {
    bool strict, json;
    const char *directories; /* "DIR:DIR" */
    const char *with;        /* likewise; NULL: none */
};

static bool check_parse_args(struct arena *a, struct args *args, struct check_options *out)
{
    const char *form = "text";
    const struct args_option options[] = {
        {.name = "strict", .flag = &out->strict},
        {.name = "output", .letter = 'o', .value = &form},
        {.name = "with", .value = &out->with},
    };
    bool right = args_parse_options(args, options, sizeof options / sizeof options[0]);
    struct buf list = buf_in(a);
    for (int i = 0; i < args->count; i++) {
        buf_put_z(&list, i ? ":" : "");
        buf_put_z(&list, args->words[i]);
    }
    out->directories = str_z(a, buf_str(&list));
    out->json = strcmp(form, "json") == 0;
    if (!out->json && strcmp(form, "text") != 0) {
        args_error(args, "--output must be text or json, not", form);
        right = false;
    }
    if (out->directories[strspn(out->directories, ":")] == 0) { /* nothing but separators */
        args_error(args, "missing operand", "DIR");
        right = false;
    } else if (!str_is_clean(str_from(out->directories))) {
        args_error(args, "the path is not valid UTF-8", out->directories);
        right = false;
    }
    return right;
}

/* ---- check: output ---- */

static const char *check_severity(const struct diagnostics_entry *entry)
{
    return entry->severity == DIAGNOSTICS_ERROR ? "error" : "warning";
}

/* A path below the working directory `here` is shown relative to it. */
static struct str check_relative_path(struct str path, struct str here)
{
    const bool is_below = here.len > 1 && path.len > here.len + 1 && str_starts(path, here) &&
                          path.at[here.len] == '/';
    return is_below ? str_slice(path, here.len + 1, path.len) : path;
}

static void check_put_count(struct buf *out, uint32_t count, const char *noun, const char *end)
{
    buf_put_u64(out, count);
    buf_put_c(out, ' ');
    buf_put_z(out, noun);
    buf_put_z(out, count == 1 ? "" : "s");
    buf_put_z(out, end);
}

static void check_put_text(struct arena *a, const struct barclamp_check *check, struct buf *out)
{
    char here[PATH_MAX];
    const struct diagnostics *report = &check->report;
    const struct str folder = str_from(getcwd(here, sizeof here));
    for (const struct diagnostics_entry *e = report->first; e; e = e->next) {
        struct diagnostics_entry line = *e;
        const struct str severity = str_from(check_severity(e));
        line.file = check_relative_path(e->file, folder);
        line.text = STR_CONCAT(a, severity, STR(": "), e->text);
        diagnostics_format(&line, out);
        buf_put_c(out, '\n');
    }
    if (report->errors + report->warnings > report->count) {
        check_put_count(out, report->errors + report->warnings - report->count, "line", "");
        buf_put_z(out, " more\n");
    }
    check_put_count(out, check->barclamps, "barclamp", ", ");
    check_put_count(out, check->roles, "role", ", ");
    check_put_count(out, report->errors, "error", ", ");
    check_put_count(out, report->warnings, "warning", "\n");
}

static void check_set_number(struct arena *a, struct json *object, const char *key, uint32_t value)
{
    json_set(object, str_from(key), json_make_i64(a, value));
}

static struct json *check_entry_json(struct arena *a, const struct diagnostics_entry *entry)
{
    struct json *object = json_make(a, JSON_OBJECT);
    json_set(object, STR("file"), json_make_string(a, entry->file));
    check_set_number(a, object, "line", entry->at.line);
    check_set_number(a, object, "column", entry->at.column);
    json_set(object, STR("severity"), json_make_string(a, str_from(check_severity(entry))));
    json_set(object, STR("code"), json_make_string(a, str_from(entry->code)));
    json_set(object, STR("text"), json_make_string(a, entry->text));
    return object;
}

static void check_put_json(struct arena *a, const struct barclamp_check *check, struct buf *out)
{
    struct json *object = json_make(a, JSON_OBJECT), *entries = json_make(a, JSON_ARRAY);
    for (const struct diagnostics_entry *e = check->report.first; e; e = e->next)
        json_append(entries, check_entry_json(a, e));
    check_set_number(a, object, "barclamps", check->barclamps);
    check_set_number(a, object, "roles", check->roles);
    check_set_number(a, object, "errors", check->report.errors);
    check_set_number(a, object, "warnings", check->report.warnings);
    json_set(object, STR("entries"), entries);
    json_write_to(out, object);
    buf_put_c(out, '\n');
}

/* False if a directory cannot be opened. The report has the error already; the exit status differs
 * from that for barclamps with errors. */
static bool check_dirs_readable(struct arena *a, const char *directories)
{
    const struct str list = str_from(directories);
    bool all = true;
    for (uint32_t from = 0; from < list.len;) {
        const uint32_t to = str_find(list, ':', from);
        DIR *folder = to > from ? opendir(str_z(a, str_slice(list, from, to))) : NULL;
        if (folder)
            ignore(closedir(folder), "opened only for the test");
        else if (to > from)
            all = false;
        from = to + 1;
    }
    return all;
}

enum cli_exit barclamp_check(struct args *args)
{
    struct arena a = {0};
    struct check_options c = {0};
    if (!check_parse_args(&a, args, &c)) {
        arena_fini(&a);
        return CLI_USAGE;
    }
    if (c.with && !check_dirs_readable(&a, c.with)) {
        args_error(args, "cannot read a directory of --with", c.with);
        arena_fini(&a);
        return CLI_IO_ERROR;
    }
    const struct barclamp_check check = barclamp_check_directories(&a, c.directories, c.with);
    const uint32_t wrong = check.report.errors + (c.strict ? check.report.warnings : 0);
    enum cli_exit status = wrong ? CLI_FAILED : CLI_OK;
    if (check.is_empty || !check_dirs_readable(&a, c.directories))
        status = CLI_IO_ERROR;
    struct buf out = buf_in(&a);
    if (c.json)
        check_put_json(&a, &check, &out);
    else
        check_put_text(&a, &check, &out);
    fwrite(out.at, 1, out.len, stdout);
    arena_fini(&a);
    return status;
}

/* ---- new ---- */

enum cli_exit barclamp_new(struct args *args)
{
    const char *folder = ".";
    const struct args_option options[] = {{.name = "dir", .letter = 'd', .value = &folder}};
    if (!args_parse_options(args, options, 1))
        return CLI_USAGE;
    if (args->count != 1) {
        if (args->count == 0)
            args_error(args, "missing operand", "NAME");
        else
            args_error(args, "unexpected operand", args->words[1]);
        return CLI_USAGE;
    }
    const char *name = args->words[0];
    const char *wrong = skeleton_check_name(str_from(name));
    if (wrong) {
        fprintf(stderr, "%s: the name %s: %s\n", args->prog, wrong, name);
        return CLI_USAGE;
    }
    struct arena a = {0};
    const bool is_here = strcmp(folder, ".") == 0;
    const err e = skeleton_write(&a, folder, str_from(name));
    const char *why = e == ERR_EXISTS ? "exists already" : strerror(errno);
    arena_fini(&a);
    if (e == OK) {
        printf("created %s%s%s\n", is_here ? "" : folder, is_here ? "" : "/", name);
        return CLI_OK;
    }
    fprintf(stderr, "%s: nothing was created: %s%s%s: %s\n", args->prog, is_here ? "" : folder,
            is_here ? "" : "/", name, why);
    return e == ERR_EXISTS ? CLI_FAILED : CLI_IO_ERROR;
}
