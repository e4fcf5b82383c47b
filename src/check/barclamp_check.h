/* barclamp_check.h - what is to be said about barclamps, by the daemon and by the command line
 * alike.
 *
 * The daemon reads with barclamp_check_read(), imports, and says of each file what
 * barclamp_check_draft() and barclamp_check_imported() say; the command line does the same with an
 * engine of its own, which is thrown away (barclamp_check_directories). So the one cannot take what
 * the other refuses, and both use the same codes. Nothing is changed on the disk. Everything lies
 * in the arena of the report.
 */
#pragma once

#include <stdatomic.h>

#include "content/diagnostics.h"
#include "content/tree.h"
#include "hooks/code_finder.h"

struct core;
struct outcome;

/* Read "DIR[:DIR]" and look at the files beside the barclamps: unused files are warned about, and a
 * script with a syntax error keeps its barclamp out. `finder` is that of the Lua files. `stop`:
 * when true, the rest is left out; NULL: never. The report is sorted at the end. */
struct content_tree barclamp_check_read(struct diagnostics *r, const char *directories,
                                        const struct hook_finder *finder, const atomic_bool *stop);

/* What the engine says to draft `i`, when everything else has been imported. */
void barclamp_check_draft(struct diagnostics *r, const struct core *core,
                          const struct content_tree *tree, uint32_t i,
                          const struct outcome *outcome);
/* What is odd about a file that was imported, when everything has been: names of objects that are
 * not there, and what the engine warned of when it was asked once more (`doc`; empty: it was not).
 * What a role needs beside it is barclamp_files_check_role's to say. */
void barclamp_check_imported(struct diagnostics *r, const struct core *core,
                             const struct content_tree *tree, const struct barclamp_file *file,
                             struct str doc);

struct barclamp_check {
    struct diagnostics report; /* sorted */
    uint32_t barclamps;        /* that an engine would take */
    uint32_t roles;
    bool is_empty; /* there is nothing that looks like a barclamp */
};

/* All of it without a daemon. "DIR[:DIR]"; those of `with` are there too, but nothing is said of
 * them (NULL: none). */
struct barclamp_check barclamp_check_directories(struct arena *a, const char *directories,
                                                 const char *with);
