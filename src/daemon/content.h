/* content.h - barclamps on the disk, brought into the core.
 *
 * Files are read by the room content, in its order, and submitted one by one. A document that the
 * core holds already is not submitted: a restart or a reload of what nobody changed resets nothing
 * that an operator edited. What is refused is tried again as long as another one got in meanwhile,
 * since it may have waited for that one. What stays refused, and what does not read, is logged with
 * file and line and stops nobody; what the core holds of it stays in force.
 *
 * Belongs to the loop's thread; the requests it submits are told to it by content_told.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "content/tree.h"
#include "model/command.h"

struct content_try;
struct core;
struct outcome;

struct content_seams {
    void *self;
    /* Takes a command whose outcome will be told. */
    err (*submit)(void *self, const struct command *command);
    /* What is there already; NULL: nobody can say. */
    const struct core *(*core)(void *self);
    /* What the core holds is what this file says: it was taken just now, or read again. */
    void (*in_force)(void *self, const struct barclamp_file *file);
};

struct content {
    struct content_seams seams;
    int64_t request_first; /* its requests are this one and those below it */

    struct arena arena;
    struct content_tree tree;
    struct content_try *tries; /* one for each file of the tree */
    bool is_read;              /* and nothing of it was submitted yet */
    uint32_t waiting;          /* outcomes that are still to come */
    uint32_t accepted;         /* in this round */
    char *again;               /* directories to read once this is through; NULL: none */
};

/* Read everything below the directories, "DIR[:DIR]", and import nothing yet. It must be idle. */
void content_read_ahead(struct content *c, const char *directories);
/* Import what was read, or read it first. When an import is under way it ends first. */
void content_import(struct content *c, const char *directories);
bool content_is_idle(const struct content *c);
/* Where the files of this barclamp lie according to a document that waits to be imported; empty:
 * no such document waits, and what the core says counts. */
struct str content_source_path(const struct content *c, struct str barclamp);
/* What became of one of its requests: an outcome, or NULL and why there is none. */
void content_told(struct content *c, int64_t request, const struct outcome *outcome, err why);
void content_fini(struct content *c);
