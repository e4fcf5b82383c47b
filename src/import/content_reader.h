/* content_reader.h - reads the directories of barclamps: files, documents, and the hooks that the
 * Lua files of roles define.
 *
 * Its duration depends on disks and on Lua code, so it may run in another thread: a reading uses
 * neither the core nor the loop, and belongs to one thread at a time. Each Lua file gets a mark,
 * with which the next reading detects changes.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash/hash.h"
#include "base/mem/arena.h"
#include "content/tree.h"
#include "hooks/code_finder.h"

/* The fingerprint of the Lua file of a role. */
struct code_mark {
    struct str role;
    uint32_t file_ix; /* index of the barclamp in the tree */
    bool is_sure;     /* the digest is valid: the file was read, or does not exist */
    struct digest128 digest;
    bool is_loaded; /* set in the thread of the loop: this code was passed to the hooks */
};

struct code_marks {
    struct arena arena;
    struct code_mark *list; /* sorted by role, then by barclamp */
    uint32_t count;
};

struct reading {
    struct arena arena; /* owns everything except the marks */
    char *directories;  /* "DIR[:DIR]" */
    atomic_bool stop;   /* set from any thread: the result will not be used */
    struct diagnostics report;
    struct content_tree tree;
    struct code_finder code; /* the hooks that Lua files define */
    struct code_marks marks;
};

/* Read the directories; the results of an earlier reading are dropped. The caller swaps out the
 * marks before if it still needs them. */
void content_reader_run(struct reading *r);
void content_reader_fini(struct reading *r);

/* The directory of the files of a barclamp: the one in its document, or the one of its file. */
struct str content_reader_source_path(const struct barclamp_file *file);
/* True if `marks` of an earlier reading contains the same mark, and that code was loaded. */
bool code_marks_match(const struct code_marks *marks, const struct code_mark *mark);
void code_marks_fini(struct code_marks *marks);
