/* blob.h - interned text: equal texts share one copy and one 32-bit handle.
 *
 * Handle 0 is the empty text. Each holder counts: blob_hold() on taking a handle into a row,
 * blob_drop() on letting go. After the last drop the text stays readable until blobs_settle() at
 * the end of the turn. All of it is under undo.
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
    struct omap by_hash; /* hash -> first row of that hash; the rest follow through the rows */
    uint64_t hash_mask;  /* all ones; tests narrow it so that texts collide */
};

void blobs_init(struct blobs *b, struct heap *heap, struct undo *undo, uint32_t max);
/* The texts and the map lie in the heap and go with it. */
void blobs_fini(struct blobs *b);

/* The handle of `text`, with one more holder. The empty text is 0 and is not counted.
 * 0 with *out_full = true when the pool is full; *out_full is left alone otherwise, so that several
 * calls may share one flag that starts as false. */
uint32_t blob_take(struct blobs *b, struct str text, bool *out_full);
void blob_hold(struct blobs *b, uint32_t handle);
void blob_drop(struct blobs *b, uint32_t handle);
struct str blob_text(const struct blobs *b, uint32_t handle);
uint32_t blob_holders(const struct blobs *b, uint32_t handle);
void blobs_settle(struct blobs *b); /* end of turn, no mark open */
