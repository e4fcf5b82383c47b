#include "check/barclamp_check.h"

#include <stdlib.h>
#include <string.h>

#include "check/barclamp_files.h"
#include "check/import_dry_run.h"
#include "check/name_check.h"
#include "check/script_syntax.h"
#include "core/core.h"
#include "hooks/code_finder.h"

/* Order of the checks of barclamps, for the daemon and for `halligan barclamp check`. The checks
 * themselves are in the other files of this folder; a barclamp is a package of content (roles and
 * what they need).
 *
 * A tree is what was read from a list of directories: its files, and its drafts. A draft is the
 * usable part of a YAML file with errors; it is never imported, only checked for further problems.
 *
 * On the command line, own files are those of the directories to check; other files come from the
 * directories `with` and are imported only so that own files can refer to what they define.
 *
 * Orders that matter:
 * - barclamp_check_read: owners before scripts, because the check of owners takes every error in
 *   the report for a file that could not be read.
 * - barclamp_check_directories: own files are imported last, because a daemon that gets a new
 *   barclamp has the others already. Files of roles are checked while the core of the dry run
 *   exists, because it has the classes of the jigs.
 * - Names and warnings are checked after all imports, because a file may refer to objects of a
 *   later one. The callers of barclamp_check_draft and barclamp_check_imported guarantee this.
 *
 * Failure: no function fails. Everything found is added to the report; a file with an error is left
 * out of the import, and the checks of the other files continue. Memory is in the arena of the
 * report. */

/* ---- own and other files (command line) ---- */

static int check_compare_paths(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* The files of a tree, or its drafts. */
struct check_list {
    const struct barclamp_file *list;
    uint32_t count;
};

/* For each file of `all`, whether it is also in `own` (compared by path). */
static bool *check_mark_own(struct arena *a, struct check_list all, struct check_list own)
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

static struct check_list check_files(const struct content_tree *tree)
{
    return (struct check_list){tree->files, tree->count};
}

static struct check_list check_drafts(const struct content_tree *tree)
{
    return (struct check_list){tree->drafts, tree->draft_count};
}

/* Move own files to the end, and their marks with them. Apart from that the order, which is that of
 * dependencies, is kept. */
static void check_move_own_last(struct arena *a, struct content_tree *tree, bool *is_own)
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
 * first one is used, as in a daemon that has both. The report of this second reading is dropped:
 * errors of own files are reported already, and those of other files are not wanted. */
static struct content_tree check_read_with(struct arena *a, const char *directories,
                                           const char *with, const struct content_tree *own)
{
    struct diagnostics ignored = diagnostics_begin(a);
    struct code_finder code = {0};
    const struct hook_finder finder = code_finder_hook_finder(&code);
    const struct str both = STR_CONCAT(a, str_from(directories), STR(":"), str_from(with));
    struct content_tree tree = content_read_tree(&ignored, str_z(a, both), &finder);
    /* Scripts are not checked a second time. An own YAML file with a syntax error in a script
     * became a draft in `own`; it must become one here as well. Excluding file k moves the next one
     * to its index. */
    for (uint32_t i = 0; i < own->draft_count; i++)
        for (uint32_t k = 0; k < tree.count; k++)
            if (strcmp(tree.files[k].path, own->drafts[i].path) == 0)
                script_syntax_exclude(&tree, k--);
    return tree;
}

/* ---- checks of daemon and command line ---- */

/* Read the files, then check what is beside them. A file with a syntax error in a script is removed
 * from the files to import. */
struct content_tree barclamp_check_read(struct diagnostics *r, const char *directories,
                                        const struct hook_finder *finder, const atomic_bool *stop)
{
    struct content_tree tree = content_read_tree(r, directories, finder);
    barclamp_files_check_owners(r, &tree);
    script_syntax_check(r, &tree, stop);
    diagnostics_sort(r);
    return tree;
}

/* `outcome` is that of the dry import of the draft, which is not in the core. */
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

/* Phases: read and check own files; read them again together with the others; import all of them
 * into a temporary core, which reports on own files only; check the files of the roles. */
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
    bool *is_own = check_mark_own(a, check_files(&files.tree), check_files(&own));
    check_move_own_last(a, &files.tree, is_own);
    files.is_reported = is_own;
    files.is_draft_reported = check_mark_own(a, check_drafts(&files.tree), check_drafts(&own));
    import_dry_run_init(&dry_run);
    const struct import_dry_run_count imported = import_dry_run_import(&dry_run, &files);
    const struct barclamp_files role_files = {dry_run.core, &code, &check.report};
    for (uint32_t i = 0; i < own.count; i++)
        barclamp_files_check_roles(&role_files, &own.files[i]);
    import_dry_run_fini(&dry_run);
    diagnostics_sort(&check.report);
    check.barclamps = imported.barclamps;
    check.roles = imported.roles;
    return check;
}
