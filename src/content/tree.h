/* tree.h - reads the barclamps of a list of directories and sorts them for the import.
 *
 * A directory is one of:
 *
 *   a checkout    DIR/crowbar.yml, the root of a workload, and DIR/barclamps/x.yml for each x.
 *                 The root comes first, or not at all when it names a parent. All of them have
 *                 DIR as their source path.
 *   a barclamp    DIR/NAME.yml, where DIR is called NAME
 *   a collection  any other: each directory in it that is one of the above, and JSON documents,
 *                 DIR/x.json and DIR/NAME/NAME.json
 *
 * If two files define a barclamp with the same name, the first one is used, in the order of the
 * directories: a directory before the shipped ones can replace them. Errors of a file are added to
 * the report and do not affect other files. Names that begin with a dot are ignored.
 *
 * Paths are absolute, and links are resolved up to DIR. The tree is in the arena of the report.
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
    struct barclamp_file *drafts; /* files with errors that have a draft, in the same order */
    uint32_t draft_count;
};

/* Read "DIR[:DIR]". The report is sorted at the end. */
struct content_tree content_read_tree(struct diagnostics *r, const char *directories,
                                      const struct hook_finder *finder);

/* Add to the report what the engine returned for the import of a file: its problems, and its
 * document ({"warnings":[...]}), each with the line of its field. */
void content_report_problems(struct diagnostics *r, const struct barclamp_file *file,
                             const struct problem *problems);
void content_report_warnings(struct diagnostics *r, const struct barclamp_file *file,
                             struct str doc);
/* Add the problems of draft `i`, except those that only follow from errors already in the report:
 * values that the draft lacks because they are wrong, and a parent that is a draft itself. */
void content_report_draft(struct diagnostics *r, const struct content_tree *tree, uint32_t i,
                          const struct problem *problems);
