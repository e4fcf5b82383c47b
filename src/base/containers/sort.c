/* sort.c - natural merge sort: finds the runs that are in order already and merges neighbouring
 * runs until one is left. Items move between the list and a copy in `scratch`; if the last pass
 * ended in the copy, it is copied back. Of equal items the left one is taken first, which makes the
 * sort stable. No state, no error result. */
#include "base/containers/sort.h"

#include <string.h>

struct sorting {
    char *from, *to; /* source and target of the current pass */
    size_t size;     /* bytes of an item */
    sort_cmp *cmp;
};

static char *sort_item_at(char *items, uint32_t i, size_t size)
{
    return items + (size_t)i * size;
}

static uint32_t count_runs(const struct sorting *s, uint32_t count)
{
    uint32_t runs = 1;
    for (uint32_t i = 1; i < count; i++)
        runs +=
            s->cmp(sort_item_at(s->from, i - 1, s->size), sort_item_at(s->from, i, s->size)) > 0;
    return runs;
}

/* Writes the end of each run, as an index, to `ends`. */
static void find_runs(const struct sorting *s, uint32_t count, uint32_t *ends)
{
    uint32_t runs = 0;
    for (uint32_t i = 1; i < count; i++)
        if (s->cmp(sort_item_at(s->from, i - 1, s->size), sort_item_at(s->from, i, s->size)) > 0)
            ends[runs++] = i;
    ends[runs] = count;
}

/* [begin, mid) and [mid, end) of `from` become [begin, end) of `to`. */
static void sort_merge(const struct sorting *s, uint32_t begin, uint32_t mid, uint32_t end)
{
    uint32_t left = begin, right = mid;
    for (uint32_t k = begin; k < end; k++) {
        const bool take_left =
            left < mid && (right >= end || s->cmp(sort_item_at(s->from, left, s->size),
                                                  sort_item_at(s->from, right, s->size)) <= 0);
        memcpy(sort_item_at(s->to, k, s->size),
               sort_item_at(s->from, take_left ? left++ : right++, s->size), s->size);
    }
}

/* Merges each pair of neighbouring runs; returns the number of runs that are left. */
static uint32_t merge_pairs(const struct sorting *s, uint32_t *ends, uint32_t runs)
{
    uint32_t begin = 0, left = 0;
    for (uint32_t r = 0; r < runs; r += 2) {
        const uint32_t end = r + 1 < runs ? ends[r + 1] : ends[r];
        sort_merge(s, begin, ends[r], end);
        ends[left++] = begin = end;
    }
    return left;
}

void sort_items(void *items, uint32_t count, size_t size, sort_cmp *cmp, struct arena *scratch)
{
    struct sorting s = {.from = items, .size = size, .cmp = cmp};
    uint32_t runs = count ? count_runs(&s, count) : 0;
    if (runs < 2)
        return;
    uint32_t *ends = arena_alloc(scratch, runs * sizeof *ends);
    find_runs(&s, count, ends);
    s.to = arena_alloc(scratch, (size_t)count * size);
    while (runs > 1) {
        runs = merge_pairs(&s, ends, runs);
        char *swap = s.from;
        s.from = s.to;
        s.to = swap;
    }
    if (s.from != items)
        memcpy(items, s.from, (size_t)count * size);
}
