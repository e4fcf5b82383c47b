#include "sim/scenario/event_queue.h"

#include <stdlib.h>

#include "base/err.h"

/* A binary heap. (time, order) is unique, so the order of events does not depend on its shape. */
static bool event_is_before(const struct event *a, const struct event *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

static void event_swap(struct event *a, struct event *b)
{
    const struct event keep = *a;
    *a = *b;
    *b = keep;
}

void event_queue_add(struct event_queue *e, struct event event)
{
    if (e->count == e->cap) {
        e->cap = e->cap ? 2 * e->cap : 256;
        e->heap = realloc(e->heap, e->cap * sizeof *e->heap);
        must(e->heap);
    }
    event.order = ++e->order;
    uint32_t at = e->count++;
    e->heap[at] = event;
    for (; at && event_is_before(&e->heap[at], &e->heap[(at - 1) / 2]); at = (at - 1) / 2)
        event_swap(&e->heap[at], &e->heap[(at - 1) / 2]);
}

int64_t event_queue_next_ms(const struct event_queue *e)
{
    return e->count ? e->heap[0].at_ms : -1;
}

bool event_queue_take(struct event_queue *e, struct event *out_event)
{
    if (!e->count)
        return false;
    *out_event = e->heap[0];
    e->heap[0] = e->heap[--e->count];
    for (uint32_t at = 0;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < e->count; child++)
            if (event_is_before(&e->heap[child], &e->heap[least]))
                least = child;
        if (least == at)
            return true;
        event_swap(&e->heap[at], &e->heap[least]);
        at = least;
    }
}

void event_queue_fini(struct event_queue *e)
{
    free(e->heap);
    *e = (struct event_queue){0};
}
