#include "run/fake/fake_timers.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/hash/hash.h"
#include "base/text/str.h"

enum { ROOM_FIRST = 64 };

struct fake_timers_entry {
    struct fake_run work;
    uint64_t number; /* which of all that were added */
    uint32_t at;     /* in the heap */
    struct fake_timers_entry *next;
};

/* ---- by name ---- */

static struct fake_timers_entry **bucket_of(const struct fake_timers *w, int64_t run_id,
                                            uint32_t attempt)
{
    const int64_t key[2] = {run_id, attempt};
    const struct str bytes = {(const char *)key, sizeof key};
    return &w->buckets[(uint32_t)hash64(bytes, 0) & (w->bucket_count - 1)];
}

/* What points to it, or to the end of where it would be. */
static struct fake_timers_entry **link_of(const struct fake_timers *w, int64_t run_id,
                                          uint32_t attempt)
{
    struct fake_timers_entry **link = bucket_of(w, run_id, attempt);
    while (*link && ((*link)->work.run_id != run_id || (*link)->work.attempt != attempt))
        link = &(*link)->next;
    return link;
}

static void put_in_bucket(const struct fake_timers *w, struct fake_timers_entry *entry)
{
    struct fake_timers_entry **bucket = bucket_of(w, entry->work.run_id, entry->work.attempt);
    entry->next = *bucket;
    *bucket = entry;
}

bool fake_timers_has(const struct fake_timers *w, int64_t run_id, uint32_t attempt)
{
    return w->count && *link_of(w, run_id, attempt);
}

/* ---- by time ---- */

static bool is_sooner(const struct fake_timers_entry *a, const struct fake_timers_entry *b)
{
    return a->work.due_ms != b->work.due_ms ? a->work.due_ms < b->work.due_ms
                                            : a->number < b->number;
}

static void put_at(struct fake_timers *w, uint32_t at, struct fake_timers_entry *entry)
{
    w->heap[at] = entry;
    entry->at = at;
}

static void move_up(struct fake_timers *w, struct fake_timers_entry *entry)
{
    uint32_t at = entry->at;
    while (at && is_sooner(entry, w->heap[(at - 1) / 2])) {
        put_at(w, at, w->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put_at(w, at, entry);
}

static void move_down(struct fake_timers *w, struct fake_timers_entry *entry)
{
    uint32_t at = entry->at;
    for (;;) {
        uint32_t below = 2 * at + 1;
        if (below + 1 < w->count && is_sooner(w->heap[below + 1], w->heap[below]))
            below++;
        if (below >= w->count || !is_sooner(w->heap[below], entry))
            break;
        put_at(w, at, w->heap[below]);
        at = below;
    }
    put_at(w, at, entry);
}

/* ---- both ---- */

static void grow(struct fake_timers *w)
{
    w->cap = w->cap ? w->cap * 2 : ROOM_FIRST;
    w->heap = realloc(w->heap, w->cap * sizeof *w->heap);
    free(w->buckets);
    w->buckets = calloc(w->cap, sizeof *w->buckets);
    must(w->heap && w->buckets);
    w->bucket_count = w->cap;
    for (uint32_t i = 0; i < w->count; i++)
        put_in_bucket(w, w->heap[i]);
}

void fake_timers_add(struct fake_timers *w, const struct fake_run *work)
{
    must(!fake_timers_has(w, work->run_id, work->attempt));
    if (w->count == w->cap)
        grow(w);
    struct fake_timers_entry *entry = malloc(sizeof *entry);
    must(entry);
    *entry = (struct fake_timers_entry){.work = *work, .number = w->added++, .at = w->count++};
    put_in_bucket(w, entry);
    move_up(w, entry);
}

bool fake_timers_remove(struct fake_timers *w, int64_t run_id, uint32_t attempt)
{
    struct fake_timers_entry **link = w->count ? link_of(w, run_id, attempt) : NULL;
    if (!link || !*link)
        return false;
    struct fake_timers_entry *gone = *link, *last = w->heap[--w->count];
    *link = gone->next;
    if (last != gone) {
        put_at(w, gone->at, last);
        move_up(w, last);
        move_down(w, last);
    }
    free(gone);
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
