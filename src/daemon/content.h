/* content.h - barclamps on the disk, brought into the core.
 *
 * Each *.json of a directory, and each NAME/NAME.json below it, is the document of one import.
 * They are submitted in the order of their names; what is refused is tried again as long as
 * another one got in meanwhile, since it may have waited for that one. What stays refused is
 * logged, problem by problem, and stops nobody.
 *
 * Belongs to the loop's thread; the requests it submits are told to it by content_told.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/command.h"

struct outcome;
struct content_document;

struct content {
    /* Takes a command whose outcome will be told. */
    void *self;
    err (*submit)(void *self, const struct command *command);
    int64_t request_first; /* its requests are this one and those below it */

    struct arena arena;
    struct content_document *documents; /* sorted by name */
    uint32_t count;
    uint32_t waiting;  /* outcomes that are still to come */
    uint32_t accepted; /* in this round */
    char *again;       /* directories to read once this is through; NULL: none */
};

/* Read and import everything below the directories, "DIR[:DIR]". When an import is under way it
 * ends first. */
void content_import(struct content *c, const char *directories);
bool content_is_idle(const struct content *c);
/* What became of one of its requests: an outcome, or NULL and why there is none. */
void content_told(struct content *c, int64_t request, const struct outcome *outcome, err why);
void content_fini(struct content *c);
