/* content_reader.h - everything below the directories of barclamps, read once.
 *
 * Files, documents, and what the Lua files of roles define. It takes as long as disk and code
 * please, so it may happen in a thread of its own: a reading sees no core and nothing else of the
 * loop, and belongs to one thread at a time. Each role's file gets a mark, by which the next
 * reading is told whether it changed.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash/hash.h"
#include "base/mem/arena.h"
#include "content/tree.h"
#include "hooks/code_finder.h"

/* What the Lua file of a role was when it was read. */
struct code_mark {
    struct str role;
    uint32_t file_ix; /* the barclamp in the tree */
    bool is_sure;     /* the rest says something: the file was read, or there is none */
    struct digest128 digest;
    bool is_loaded; /* for the loop: the role is to have the code that this says */
};

struct code_marks {
    struct arena arena;
    struct code_mark *list; /* by role, then by barclamp */
    uint32_t count;
};

struct reading {
    struct arena arena; /* of all but the marks */
    char *directories;  /* "DIR[:DIR]" */
    atomic_bool stop;   /* from any thread: what comes of it will not be used */
    struct diagnostics report;
    struct content_tree tree;
    struct code_finder code; /* what the Lua files define */
    struct code_marks marks;
};

/* Forget what was read before and read these; the marks are the caller's to keep or to drop. */
void content_reader_run(struct reading *r);
void content_reader_fini(struct reading *r);

/* Where a barclamp's files lie: as its document says, or where it was found. */
struct str content_reader_source_path(const struct barclamp_file *file);
/* The role's mark among those of an earlier reading says the same, and that was to be loaded. */
bool code_marks_hold(const struct code_marks *marks, const struct code_mark *mark);
void code_marks_fini(struct code_marks *marks);
