/* import_dry_run.h - what the engine would say to barclamps, without a daemon.
 *
 * The documents are imported into a new core, as a daemon does at its start, and the core is thrown
 * away with the rehearsal. The jigs that every installation has are in it from the beginning:
 * whether a role's jig is known must not hang on the shipped barclamps lying about.
 */
#pragma once

#include "content/tree.h"

struct core;

struct import_dry_run {
    struct core *core;
    struct arena step;   /* of one command */
    struct arena import; /* of one import_dry_run_import */
};

/* What is imported, and whom something is said about. */
struct import_dry_run_files {
    struct content_tree tree;
    const bool *is_heard;       /* for each file of the tree */
    const bool *is_draft_heard; /* for each draft of it      */
    struct diagnostics *report;
};

/* What got in, of those. */
struct import_dry_run_count {
    uint32_t barclamps;
    uint32_t roles;
};

void import_dry_run_init(struct import_dry_run *r);
void import_dry_run_fini(struct import_dry_run *r);

/* Import every file, in the order and as often as a daemon would (content/import_rounds.h). What
 * stays refused is told, and what the engine says to drafts, which nobody imports; then, since
 * everybody is there now, what the engine warns of and which names lead nowhere. */
struct import_dry_run_count import_dry_run_import(struct import_dry_run *r,
                                                  const struct import_dry_run_files *files);
