/* tree.h - the barclamps below a list of directories, ready to be imported in their order.
 *
 * A directory is one of:
 *
 *   a checkout    DIR/crowbar.yml, the root of a workload, and DIR/barclamps/x.yml for each x.
 *                 The root comes first, or not at all when it names a parent. All of them have
 *                 DIR as their source path.
 *   a barclamp    DIR/NAME.yml, where DIR is called NAME
 *   a shelf       any other: each directory in it that is one of the above, and JSON documents,
 *                 DIR/x.json and DIR/NAME/NAME.json
 *
 * Where two files define a barclamp of one name the first found counts, in the order of the
 * directories: what stands before the shipped ones replaces them. What is wrong with a file is in
 * the report and keeps nobody else out. Names that begin with a dot are passed over.
 *
 * Paths are absolute and without links up to DIR. The tree lies in the report's arena.
 */
#pragma once

#include "content/barclamp_file.h"
#include "content/diagnostics.h"
#include "model/problem.h"

#define CONTENT_FILES_MAX     10000u
#define CONTENT_FILE_SIZE_MAX (4u << 20)

struct content_tree {
    struct barclamp_file *files; /* in the order to import them */
    uint32_t count;
    struct barclamp_file *drafts; /* those with errors of which there is a draft, likewise */
    uint32_t draft_count;
};

/* Read "DIR[:DIR]". The report is sorted at the end. */
struct content_tree content_read_tree(struct diagnostics *r, const char *directories,
                                      const struct hook_finder *finder);

/* What the engine said of a file's import: its problems, and its report ({"warnings":[...]}), each
 * with the line of its field. */
void content_report_problems(struct diagnostics *r, const struct barclamp_file *file,
                             const struct problem *problems);
void content_report_warnings(struct diagnostics *r, const struct barclamp_file *file,
                             struct str doc);
/* What the engine said to draft `i`, but for what only follows from errors that were told: values
 * that the draft lacks for them, a parent that is a draft itself. */
void content_report_draft(struct diagnostics *r, const struct content_tree *tree, uint32_t i,
                          const struct problem *problems);
