#include "base/containers/blob.h"

#include <string.h>

#include "base/err.h"
#include "base/hash/hash.h"

/* The map leads from a hash to the first row of a chain of strings with that hash; equal strings
 * are found by comparing bytes, so a collision costs time, never correctness. A string without
 * holders leaves its chain at once but keeps row and bytes until blobs_settle(): effects of the
 * same turn may still refer to it, and a rollback must find it unchanged.
 *
 * The pool owns the rows, the heap the bytes and the map. A full pool is the only error result
 * (*out_full); a wrong handle or a reference count that overflows aborts. */
struct blob {
    struct row row;
    uint32_t refs; /* reference count */
    uint32_t len;  /* bytes */
    uint32_t ref;  /* heap reference of the bytes */
    uint32_t next; /* handle of the next string with the same hash, or 0 */
    uint64_t hash;
};

#define HASH_SEED 0x626c6f62u /* "blob" */

static const struct blob *blob_at(const struct blobs *b, uint32_t handle)
{
    return (const struct blob *)pool_at(&b->rows, handle);
}

void blobs_init(struct blobs *b, struct heap *heap, struct undo *undo, uint32_t max)
{
    must(heap->undo == undo);
    *b = (struct blobs){.heap = heap, .hash_mask = UINT64_MAX};
    pool_init(&b->rows, undo, sizeof(struct blob), max);
    omap_init(&b->by_hash, heap);
}

void blobs_fini(struct blobs *b)
{
    pool_fini(&b->rows);
    *b = (struct blobs){0};
}

static void add_holder(struct blobs *b, uint32_t handle)
{
    must(pool_is_live(&b->rows, handle));
    struct blob *blob = (struct blob *)pool_edit(&b->rows, handle);
    must(blob->refs < UINT32_MAX);
    blob->refs++;
}

/* Searches the chain that begins at `handle` for `text`; 0 if it is absent. */
static uint32_t find_in_chain(const struct blobs *b, uint32_t handle, struct str text)
{
    while (handle) {
        const struct blob *blob = blob_at(b, handle);
        if (blob->len == text.len && memcmp(heap_at(b->heap, blob->ref), text.at, text.len) == 0)
            break;
        handle = blob->next;
    }
    return handle;
}

uint32_t blob_take(struct blobs *b, struct str text, bool *out_full)
{
    if (text.len == 0)
        return 0;
    uint64_t hash = hash64(text, HASH_SEED) & b->hash_mask;
    uint32_t first = omap_find(&b->by_hash, hash);
    uint32_t handle = find_in_chain(b, first, text);
    if (handle) {
        add_holder(b, handle);
        return handle;
    }
    handle = pool_add(&b->rows);
    if (!handle) {
        *out_full = true;
        return 0;
    }
    struct blob *blob = (struct blob *)pool_edit(&b->rows, handle);
    blob->refs = 1;
    blob->len = text.len;
    blob->ref = heap_alloc(b->heap, text.len);
    blob->next = first;
    blob->hash = hash;
    memcpy(heap_at(b->heap, blob->ref), text.at, text.len);
    omap_put(&b->by_hash, hash, handle);
    return handle;
}

void blob_hold(struct blobs *b, uint32_t handle)
{
    if (handle)
        add_holder(b, handle);
}

static void unlink_blob(struct blobs *b, uint32_t handle)
{
    const struct blob *blob = blob_at(b, handle);
    uint32_t at = omap_find(&b->by_hash, blob->hash);
    if (at == handle) {
        if (blob->next)
            omap_put(&b->by_hash, blob->hash, blob->next);
        else
            must(omap_remove(&b->by_hash, blob->hash));
        return;
    }
    while (at && blob_at(b, at)->next != handle)
        at = blob_at(b, at)->next;
    must(at != 0);
    ((struct blob *)pool_edit(&b->rows, at))->next = blob->next;
}

void blob_drop(struct blobs *b, uint32_t handle)
{
    if (!handle)
        return;
    must(pool_is_live(&b->rows, handle));
    struct blob *blob = (struct blob *)pool_edit(&b->rows, handle);
    must(blob->refs > 0);
    blob->refs--;
    if (blob->refs > 0)
        return;
    unlink_blob(b, handle);
    pool_remove(&b->rows, handle);
}

struct str blob_text(const struct blobs *b, uint32_t handle)
{
    if (!handle)
        return STR("");
    must(handle <= b->rows.high);
    const struct blob *blob = blob_at(b, handle);
    return (struct str){.at = (const char *)heap_at(b->heap, blob->ref), .len = blob->len};
}

uint32_t blob_holders(const struct blobs *b, uint32_t handle)
{
    return pool_is_live(&b->rows, handle) ? blob_at(b, handle)->refs : 0;
}

void blobs_settle(struct blobs *b)
{
    must(b->rows.undo->depth == 0);
    for (uint32_t ix = pool_next_dead(&b->rows, 0); ix; ix = pool_next_dead(&b->rows, ix))
        heap_free(b->heap, blob_at(b, ix)->ref, blob_at(b, ix)->len);
    pool_settle(&b->rows);
}
