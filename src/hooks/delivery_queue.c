#include "hooks/delivery_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* A sorted array of role queues, and a linked list of those that have rows. Taking a row moves its
 * role to the end of the list (round-robin). Rows keep a number of arrival, by which they can also
 * be taken in order. The queue owns the rows that were not taken and all role queues with the code
 * of their roles. A role queue is never freed before the end, because jobs of the worker refer to
 * it. Only an allocation can fail, and that ends the process. */

enum { SEARCH_ROWS_MAX = 256 }; /* rows searched for one about the same object */

/* ---- role queues ---- */

/* Binary search: the index of the role, or where it would be inserted. */
static uint32_t delivery_queue_find_role(const struct delivery_queue *queue, int64_t role_id)
{
    uint32_t low = 0, high = queue->role_queue_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (queue->role_queues[middle]->role_id < role_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct role_queue *delivery_queue_role(struct delivery_queue *queue, int64_t role_id)
{
    const uint32_t at = delivery_queue_find_role(queue, role_id);
    if (at < queue->role_queue_count && queue->role_queues[at]->role_id == role_id)
        return queue->role_queues[at];
    if (queue->role_queue_count == queue->role_queue_cap) {
        queue->role_queue_cap = queue->role_queue_cap ? queue->role_queue_cap * 2 : 64;
        queue->role_queues =
            realloc(queue->role_queues, queue->role_queue_cap * sizeof *queue->role_queues);
        must(queue->role_queues);
    }
    memmove(&queue->role_queues[at + 1], &queue->role_queues[at],
            (queue->role_queue_count - at) * sizeof *queue->role_queues);
    struct role_queue *role_queue = calloc(1, sizeof *role_queue);
    must(role_queue);
    role_queue->role_id = role_id;
    queue->role_queues[at] = role_queue;
    queue->role_queue_count++;
    return role_queue;
}

static void delivery_queue_link(struct delivery_queue *queue, struct role_queue *role_queue)
{
    role_queue->next_waiting = NULL;
    if (queue->last_waiting)
        queue->last_waiting->next_waiting = role_queue;
    else
        queue->first_waiting = role_queue;
    queue->last_waiting = role_queue;
}

/* Unlink a queue; `before` is its predecessor, NULL for the first. */
static void delivery_queue_unlink(struct delivery_queue *queue, struct role_queue *role_queue,
                                  struct role_queue *before)
{
    if (before)
        before->next_waiting = role_queue->next_waiting;
    else
        queue->first_waiting = role_queue->next_waiting;
    if (queue->last_waiting == role_queue)
        queue->last_waiting = before;
}

/* ---- adding ---- */

void delivery_queue_add(struct delivery_queue *queue, const struct outbox_record *row)
{
    struct role_queue *role_queue = delivery_queue_role(queue, row->role_id);
    struct waiting_row *waiting = malloc(sizeof *waiting + row->detail.len);
    must(waiting);
    *waiting =
        (struct waiting_row){.role_queue = role_queue, .number = ++queue->last_number, .row = *row};
    if (row->detail.len)
        memcpy(waiting->detail, row->detail.at, row->detail.len);
    waiting->row.detail.at = waiting->detail;
    if (role_queue->first_row)
        role_queue->last_row->next = waiting;
    else
        role_queue->first_row = waiting;
    role_queue->last_row = waiting;
    if (role_queue->first_row == waiting)
        delivery_queue_link(queue, role_queue);
    queue->count++;
}

/* ---- taking ---- */

/* Take the first row; the role moves to the end of the list. */
static struct waiting_row *delivery_queue_take_first(struct delivery_queue *queue,
                                                     struct role_queue *role_queue,
                                                     struct role_queue *before)
{
    struct waiting_row *row = role_queue->first_row;
    delivery_queue_unlink(queue, role_queue, before);
    role_queue->first_row = row->next;
    if (role_queue->first_row)
        delivery_queue_link(queue, role_queue);
    else
        role_queue->last_row = NULL;
    queue->count--;
    return row;
}

struct waiting_row *delivery_queue_take(struct delivery_queue *queue,
                                        struct delivery_queue_space space)
{
    struct role_queue *before = NULL;
    if (!space.for_idle && !space.for_busy)
        return NULL;
    for (struct role_queue *role_queue = queue->first_waiting; role_queue;
         role_queue = role_queue->next_waiting) {
        if (role_queue->queued ? space.for_busy : space.for_idle)
            return delivery_queue_take_first(queue, role_queue, before);
        before = role_queue;
    }
    return NULL;
}

struct waiting_row *delivery_queue_take_oldest(struct delivery_queue *queue)
{
    struct role_queue *oldest = queue->first_waiting, *before_oldest = NULL, *before = NULL;
    for (struct role_queue *role_queue = oldest; role_queue;
         role_queue = role_queue->next_waiting) {
        if (role_queue->first_row->number < oldest->first_row->number) {
            oldest = role_queue;
            before_oldest = before;
        }
        before = role_queue;
    }
    return oldest ? delivery_queue_take_first(queue, oldest, before_oldest) : NULL;
}

static bool delivery_queue_same_object(const struct outbox_record *a, const struct outbox_record *b)
{
    return a->object == b->object && a->object_id == b->object_id;
}

struct waiting_row *delivery_queue_take_same(struct delivery_queue *queue,
                                             const struct waiting_row *taken)
{
    struct role_queue *role_queue = taken->role_queue;
    struct waiting_row *before = NULL, *row = role_queue->first_row;
    for (uint32_t i = 0; row && !delivery_queue_same_object(&row->row, &taken->row); i++) {
        if (i == SEARCH_ROWS_MAX)
            return NULL;
        before = row;
        row = row->next;
    }
    if (!row || row->row.hook != taken->row.hook)
        return NULL;
    if (before)
        before->next = row->next;
    else
        role_queue->first_row = row->next;
    if (role_queue->last_row == row)
        role_queue->last_row = before;
    /* The list of waiting roles contains only queues with rows. */
    if (!role_queue->first_row) {
        struct role_queue *previous = NULL;
        for (struct role_queue *at = queue->first_waiting; at != role_queue; at = at->next_waiting)
            previous = at;
        delivery_queue_unlink(queue, role_queue, previous);
    }
    queue->count--;
    return row;
}

void delivery_queue_fini(struct delivery_queue *queue)
{
    for (uint32_t i = 0; i < queue->role_queue_count; i++) {
        struct role_queue *role_queue = queue->role_queues[i];
        for (struct waiting_row *row = role_queue->first_row, *next; row; row = next) {
            next = row->next;
            free(row);
        }
        must(!role_queue->jobs.first && !role_queue->drop && !role_queue->load);
        role_code_slot_fini(&role_queue->slot);
        free(role_queue);
    }
    free(queue->role_queues);
    *queue = (struct delivery_queue){0};
}
