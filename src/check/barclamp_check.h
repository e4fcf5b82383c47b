/* barclamp_check.h - checks of barclamps that the daemon and the command line share.
 *
 * A barclamp is a package of content. The daemon reads directories with barclamp_check_read(),
 * imports the files, and adds to the report what barclamp_check_draft() and
 * barclamp_check_imported() find for each file. The command line does the same with a temporary
 * engine (barclamp_check_directories). Both therefore accept the same barclamps and use the same
 * codes. Files are not changed. Everything is in the arena of the report.
 */
#pragma once

#include <stdatomic.h>

#include "content/diagnostics.h"
#include "content/tree.h"
#include "hooks/code_finder.h"

struct core;
struct outcome;

/* Read "DIR[:DIR]" and check the files of the roles: an unused file is a warning, and a script with
 * a syntax error prevents the import of its barclamp. `finder` reads Lua files. If *stop becomes
 * true, the remaining scripts are not checked; stop may be NULL. The report is sorted at the end.
 */
struct content_tree barclamp_check_read(struct diagnostics *r, const char *directories,
                                        const struct hook_finder *finder, const atomic_bool *stop);

/* Add the outcome of the dry import of draft `i`, after all files were imported. */
void barclamp_check_draft(struct diagnostics *r, const struct core *core,
                          const struct content_tree *tree, uint32_t i,
                          const struct outcome *outcome);
/* Add the warnings about an imported file, after all files were imported: names of objects that do
 * not exist, and the warnings of the engine for a repeated import (`doc`; empty: not repeated). The
 * files that a role needs are checked by barclamp_files_check_role. */
void barclamp_check_imported(struct diagnostics *r, const struct core *core,
                             const struct content_tree *tree, const struct barclamp_file *file,
                             struct str doc);

struct barclamp_check {
    struct diagnostics report; /* sorted */
    uint32_t barclamps;        /* count of those that an engine would import */
    uint32_t roles;            /* count of their roles */
    bool is_empty;             /* no file looks like a barclamp */
};

/* All checks, without a daemon, for "DIR[:DIR]". The barclamps of the directories `with` are
 * imported as well, but not reported (NULL: none). */
struct barclamp_check barclamp_check_directories(struct arena *a, const char *directories,
                                                 const char *with);
