#include "check/barclamp_check.h"

#include <stdlib.h>
#include <string.h>

#include "check/barclamp_files.h"
#include "check/import_dry_run.h"
#include "check/name_check.h"
#include "check/script_syntax.h"
#include "core/core.h"
#include "hooks/code_finder.h"

/* Own files are those of the directories to check; other files come from `with` and are imported
 * only so that own ones can refer to what they define. Own files are imported last: a daemon that
 * gets a new barclamp has the others already. Warnings are collected after all imports, because a
 * file may refer to objects of a later one. */

static int check_compare_paths(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* A part of the files of a tree. */
struct files {
    const struct barclamp_file *list;
    uint32_t count;
};

/* For each file of `all`, whether it is also in `own` (compared by path). */
static bool *check_find_own(struct arena *a, struct files all, struct files own)
{
    bool *is_own = arena_array(a, bool, all.count);
    const char **paths = arena_array(a, const char *, own.count);
    for (uint32_t i = 0; i < own.count; i++)
        paths[i] = own.list[i].path;
    qsort(paths, own.count, sizeof *paths, check_compare_paths);
    for (uint32_t i = 0; i < all.count; i++)
        is_own[i] = bsearch(&all.list[i].path, paths, own.count, sizeof *paths,
                            check_compare_paths) != NULL;
    return is_own;
}

static struct files check_files(const struct content_tree *tree)
{
    return (struct files){tree->files, tree->count};
}

static struct files check_drafts(const struct content_tree *tree)
{
    return (struct files){tree->drafts, tree->draft_count};
}

/* Move own files to the end; the order is kept otherwise. */
static void check_put_own_last(struct arena *a, struct content_tree *tree, bool *is_own)
{
    struct barclamp_file *files = arena_array(a, struct barclamp_file, tree->count);
    uint32_t count = 0, other_count = 0;
    for (uint32_t i = 0; i < tree->count; i++)
        if (!is_own[i])
            files[count++] = tree->files[i];
    other_count = count;
    for (uint32_t i = 0; i < tree->count; i++)
        if (is_own[i])
            files[count++] = tree->files[i];
    tree->files = files;
    for (uint32_t i = 0; i < count; i++)
        is_own[i] = i >= other_count;
}

/* Read own and other directories together, own ones first: of two barclamps with the same name the
 * own one is used, as in a daemon that has both. Errors of the other files are not reported. */
static struct content_tree check_read_with(struct arena *a, const char *directories,
                                           const char *with, const struct content_tree *own)
{
    struct diagnostics ignored = diagnostics_begin(a);
    struct code_finder code = {0};
    const struct hook_finder finder = code_finder_hook_finder(&code);
    const struct str both = STR_CONCAT(a, str_from(directories), STR(":"), str_from(with));
    struct content_tree tree = content_read_tree(&ignored, str_z(a, both), &finder);
    /* Own files that were excluded because of a script must be excluded here as well. */
    for (uint32_t i = 0; i < own->draft_count; i++)
        for (uint32_t k = 0; k < tree.count; k++)
            if (strcmp(tree.files[k].path, own->drafts[i].path) == 0)
                script_syntax_exclude(&tree, k--);
    return tree;
}

/* ---- checks of daemon and command line ---- */

struct content_tree barclamp_check_read(struct diagnostics *r, const char *directories,
                                        const struct hook_finder *finder, const atomic_bool *stop)
{
    struct content_tree tree = content_read_tree(r, directories, finder);
    barclamp_files_check_owners(r, &tree);
    script_syntax_check(r, &tree, stop);
    diagnostics_sort(r);
    return tree;
}

void barclamp_check_draft(struct diagnostics *r, const struct core *core,
                          const struct content_tree *tree, uint32_t i,
                          const struct outcome *outcome)
{
    content_report_draft(r, tree, i, outcome->problems);
    if (outcome->verdict == VERDICT_DONE)
        content_report_warnings(r, &tree->drafts[i], outcome->doc);
    name_check_run(r, core, tree, &tree->drafts[i]);
}

void barclamp_check_imported(struct diagnostics *r, const struct core *core,
                             const struct content_tree *tree, const struct barclamp_file *file,
                             struct str doc)
{
    name_check_run(r, core, tree, file);
    content_report_warnings(r, file, doc);
}

/* ---- check of the command line ---- */

struct barclamp_check barclamp_check_directories(struct arena *a, const char *directories,
                                                 const char *with)
{
    struct barclamp_check check = {.report = diagnostics_begin(a)};
    struct import_dry_run dry_run;
    struct code_finder code = {0};
    const struct hook_finder finder = code_finder_hook_finder(&code);
    const struct content_tree own = barclamp_check_read(&check.report, directories, &finder, NULL);
    check.is_empty = own.count == 0 && check.report.errors == 0;
    struct import_dry_run_files files = {.report = &check.report};
    files.tree = with ? check_read_with(a, directories, with, &own) : own;
    bool *is_own = check_find_own(a, check_files(&files.tree), check_files(&own));
    check_put_own_last(a, &files.tree, is_own);
    files.is_reported = is_own;
    files.is_draft_reported = check_find_own(a, check_drafts(&files.tree), check_drafts(&own));
    import_dry_run_init(&dry_run);
    const struct import_dry_run_count in = import_dry_run_import(&dry_run, &files);
    const struct barclamp_files beside = {dry_run.core, &code, &check.report};
    for (uint32_t i = 0; i < own.count; i++)
        barclamp_files_check_roles(&beside, &own.files[i]);
    import_dry_run_fini(&dry_run);
    diagnostics_sort(&check.report);
    check.barclamps = in.barclamps;
    check.roles = in.roles;
    return check;
}
