/* import_dry_run.h - imports barclamps into a temporary core, to report problems without a daemon.
 *
 * The documents are imported into a new core, in the same way as at the start of a daemon; the core
 * is freed with the dry run. It has the jigs of every installation from the beginning, so that the
 * shipped barclamps are not needed to check a role that uses one of them.
 */
#pragma once

#include "content/tree.h"

struct core;

struct import_dry_run {
    struct core *core;
    struct arena step;   /* reset for each command */
    struct arena import; /* reset for each import_dry_run_import */
};

/* The files to import, and which of them are reported. */
struct import_dry_run_files {
    struct content_tree tree;
    const bool *is_reported;       /* for each file of the tree */
    const bool *is_draft_reported; /* for each draft of the tree */
    struct diagnostics *report;
};

/* Counts of what was imported from the reported files. */
struct import_dry_run_count {
    uint32_t barclamps;
    uint32_t roles;
};

void import_dry_run_init(struct import_dry_run *r);
void import_dry_run_fini(struct import_dry_run *r);

/* Import every file in the same rounds as a daemon (content/import_rounds.h). The report gets the
 * problems of files that remain refused and of drafts, which are imported dry; then, because all
 * objects exist now, the warnings of the engine and the names of missing objects. */
struct import_dry_run_count import_dry_run_import(struct import_dry_run *r,
                                                  const struct import_dry_run_files *files);
