/* import_rounds.h - selects the document to import next.
 *
 * Documents are imported in their order. Refused documents are tried again in a further round if
 * the last round imported at least one document, because they may depend on it; no document is
 * imported twice. The daemon and the import dry run of the command line both use this module, so
 * that they accept the same documents.
 *
 * Documents are indices. Results may be asynchronous: several imports of a round can be in flight,
 * but a round begins only after all results of the last one. Memory is in the arena of the caller.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"

enum import_rounds_result {
    ROUNDS_IMPORTED,
    ROUNDS_REFUSED,
    ROUNDS_UNKNOWN, /* no result could be determined; not tried again */
};

struct import_rounds {
    bool *wanted; /* by index: not imported yet, and not excluded */
    uint32_t count;
    uint32_t wanted_count;
    uint32_t next;    /* index of the next candidate in this round */
    uint32_t waiting; /* count of imports in flight */
    uint32_t taken;   /* count of documents imported in this round */
};

/* All documents are to be imported. */
struct import_rounds import_rounds_begin(struct arena *a, uint32_t count);
/* Exclude a document that is pending; not while its import is in flight. */
void import_rounds_exclude(struct import_rounds *r, uint32_t i);
/* True if the document is wanted: it has no result yet, or was refused. */
bool import_rounds_is_pending(const struct import_rounds *r, uint32_t i);
/* The next document to import; the caller must report its result with
 * import_rounds_set_result(). False: none until a further result arrives, or none at all. */
bool import_rounds_next(struct import_rounds *r, uint32_t *out_i);
void import_rounds_set_result(struct import_rounds *r, uint32_t i, enum import_rounds_result end);
/* True if no document is left to import and no result is outstanding. */
bool import_rounds_is_done(const struct import_rounds *r);
