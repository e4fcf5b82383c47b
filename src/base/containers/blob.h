/* blob.h - interned strings: equal strings share one copy and one 32-bit handle.
 *
 * Handle 0 is the empty string. Handles are reference-counted: blob_hold() when a row stores a
 * handle, blob_drop() when it clears it. After the last drop the string stays readable until
 * blobs_settle() at the end of the turn. All changes are undone by a rollback.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/containers/heap.h"
#include "base/containers/omap.h"
#include "base/mem/pool.h"
#include "base/text/str.h"

struct blobs {
    struct heap *heap;
    struct pool rows;
    struct omap by_hash; /* hash -> first row with that hash; the others are linked from it */
    uint64_t hash_mask;  /* all ones; tests clear bits so that strings collide */
};

void blobs_init(struct blobs *b, struct heap *heap, struct undo *undo, uint32_t max);
/* Frees the rows. Strings and map are in the heap and are freed with it. */
void blobs_fini(struct blobs *b);

/* Intern `text` and increment its reference count. The empty string is 0 and is not counted.
 * Returns 0 with *out_full = true if the pool is full; otherwise *out_full is unchanged, so that
 * several calls can share one flag that starts as false. */
uint32_t blob_take(struct blobs *b, struct str text, bool *out_full);
void blob_hold(struct blobs *b, uint32_t handle);
void blob_drop(struct blobs *b, uint32_t handle);
struct str blob_text(const struct blobs *b, uint32_t handle);
uint32_t blob_holders(const struct blobs *b, uint32_t handle);
void blobs_settle(struct blobs *b); /* end of turn, no mark open */
