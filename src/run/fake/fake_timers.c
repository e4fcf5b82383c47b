#include "run/fake/fake_timers.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/hash/hash.h"
#include "base/text/str.h"

/* A binary heap by due time and a hash table by (run id, attempt) over the same entries, which this
 * file owns; each entry stores its position in the heap, so that it can be removed in logarithmic
 * time. Only an allocation can fail, and that ends the process. */

enum { CAPACITY_INITIAL = 64 };

struct fake_timers_entry {
    struct fake_run work;
    uint64_t number;                /* order of insertion */
    uint32_t at;                    /* index in the heap */
    struct fake_timers_entry *next; /* hash chain */
};

/* ---- hash table ---- */

static struct fake_timers_entry **fake_timers_bucket(const struct fake_timers *w, int64_t run_id,
                                                     uint32_t attempt)
{
    const int64_t key[2] = {run_id, attempt};
    const struct str bytes = {(const char *)key, sizeof key};
    return &w->buckets[(uint32_t)hash64(bytes, 0) & (w->bucket_count - 1)];
}

/* The pointer to the entry, or to the end of its chain. */
static struct fake_timers_entry **fake_timers_slot(const struct fake_timers *w, int64_t run_id,
                                                   uint32_t attempt)
{
    struct fake_timers_entry **link = fake_timers_bucket(w, run_id, attempt);
    while (*link && ((*link)->work.run_id != run_id || (*link)->work.attempt != attempt))
        link = &(*link)->next;
    return link;
}

static void fake_timers_hash_insert(const struct fake_timers *w, struct fake_timers_entry *entry)
{
    struct fake_timers_entry **bucket =
        fake_timers_bucket(w, entry->work.run_id, entry->work.attempt);
    entry->next = *bucket;
    *bucket = entry;
}

bool fake_timers_has(const struct fake_timers *w, int64_t run_id, uint32_t attempt)
{
    return w->count && *fake_timers_slot(w, run_id, attempt);
}

/* ---- heap ---- */

static bool fake_timers_is_earlier(const struct fake_timers_entry *a,
                                   const struct fake_timers_entry *b)
{
    return a->work.due_ms != b->work.due_ms ? a->work.due_ms < b->work.due_ms
                                            : a->number < b->number;
}

static void fake_timers_heap_set(struct fake_timers *w, uint32_t at,
                                 struct fake_timers_entry *entry)
{
    w->heap[at] = entry;
    entry->at = at;
}

static void fake_timers_sift_up(struct fake_timers *w, struct fake_timers_entry *entry)
{
    uint32_t at = entry->at;
    while (at && fake_timers_is_earlier(entry, w->heap[(at - 1) / 2])) {
        fake_timers_heap_set(w, at, w->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    fake_timers_heap_set(w, at, entry);
}

static void fake_timers_sift_down(struct fake_timers *w, struct fake_timers_entry *entry)
{
    uint32_t at = entry->at;
    for (;;) {
        uint32_t below = 2 * at + 1;
        if (below + 1 < w->count && fake_timers_is_earlier(w->heap[below + 1], w->heap[below]))
            below++;
        if (below >= w->count || !fake_timers_is_earlier(w->heap[below], entry))
            break;
        fake_timers_heap_set(w, at, w->heap[below]);
        at = below;
    }
    fake_timers_heap_set(w, at, entry);
}

/* ---- operations ---- */

static void fake_timers_grow(struct fake_timers *w)
{
    w->cap = w->cap ? w->cap * 2 : CAPACITY_INITIAL;
    w->heap = realloc(w->heap, w->cap * sizeof *w->heap);
    free(w->buckets);
    w->buckets = calloc(w->cap, sizeof *w->buckets);
    must(w->heap && w->buckets);
    w->bucket_count = w->cap;
    for (uint32_t i = 0; i < w->count; i++)
        fake_timers_hash_insert(w, w->heap[i]);
}

void fake_timers_add(struct fake_timers *w, const struct fake_run *work)
{
    must(!fake_timers_has(w, work->run_id, work->attempt));
    if (w->count == w->cap)
        fake_timers_grow(w);
    struct fake_timers_entry *entry = malloc(sizeof *entry);
    must(entry);
    *entry = (struct fake_timers_entry){.work = *work, .number = w->added++, .at = w->count++};
    fake_timers_hash_insert(w, entry);
    fake_timers_sift_up(w, entry);
}

bool fake_timers_remove(struct fake_timers *w, int64_t run_id, uint32_t attempt)
{
    struct fake_timers_entry **link = w->count ? fake_timers_slot(w, run_id, attempt) : NULL;
    if (!link || !*link)
        return false;
    struct fake_timers_entry *removed = *link, *last = w->heap[--w->count];
    *link = removed->next;
    if (last != removed) {
        fake_timers_heap_set(w, removed->at, last);
        fake_timers_sift_up(w, last);
        fake_timers_sift_down(w, last);
    }
    free(removed);
    return true;
}

bool fake_timers_take_due(struct fake_timers *w, int64_t mono_ms, struct fake_run *out_work)
{
    if (w->count == 0 || w->heap[0]->work.due_ms > mono_ms)
        return false;
    *out_work = w->heap[0]->work;
    must(fake_timers_remove(w, out_work->run_id, out_work->attempt));
    return true;
}

int64_t fake_timers_next_ms(const struct fake_timers *w)
{
    return w->count ? w->heap[0]->work.due_ms : -1;
}

void fake_timers_fini(struct fake_timers *w)
{
    for (uint32_t i = 0; i < w->count; i++)
        free(w->heap[i]);
    free(w->heap);
    free(w->buckets);
    *w = (struct fake_timers){0};
}
