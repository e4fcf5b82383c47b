#include "hooks/delivery_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { LOOK_AHEAD = 256 }; /* rows, for one that says the same */

/* ---- lanes ---- */

/* The first place of that role or a later one. */
static uint32_t place_of(const struct delivery_queue *rows, int64_t role_id)
{
    uint32_t low = 0, high = rows->lane_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (rows->lanes[middle]->role_id < role_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct lane *delivery_queue_lane(struct delivery_queue *rows, int64_t role_id)
{
    const uint32_t at = place_of(rows, role_id);
    if (at < rows->lane_count && rows->lanes[at]->role_id == role_id)
        return rows->lanes[at];
    if (rows->lane_count == rows->lane_cap) {
        rows->lane_cap = rows->lane_cap ? rows->lane_cap * 2 : 64;
        rows->lanes = realloc(rows->lanes, rows->lane_cap * sizeof *rows->lanes);
        must(rows->lanes);
    }
    memmove(&rows->lanes[at + 1], &rows->lanes[at], (rows->lane_count - at) * sizeof *rows->lanes);
    struct lane *lane = calloc(1, sizeof *lane);
    must(lane);
    lane->role_id = role_id;
    rows->lanes[at] = lane;
    rows->lane_count++;
    return lane;
}

static void wait_in_line(struct delivery_queue *rows, struct lane *lane)
{
    lane->next_waiting = NULL;
    if (rows->last_waiting)
        rows->last_waiting->next_waiting = lane;
    else
        rows->first_waiting = lane;
    rows->last_waiting = lane;
}

/* `before` is the one in front of it; NULL when it is the first. */
static void leave_line(struct delivery_queue *rows, struct lane *lane, struct lane *before)
{
    if (before)
        before->next_waiting = lane->next_waiting;
    else
        rows->first_waiting = lane->next_waiting;
    if (rows->last_waiting == lane)
        rows->last_waiting = before;
}

/* ---- in ---- */

void delivery_queue_add(struct delivery_queue *rows, const struct outbox_record *row)
{
    struct lane *lane = delivery_queue_lane(rows, row->role_id);
    struct waiting_row *waiting = malloc(sizeof *waiting + row->detail.len);
    must(waiting);
    *waiting = (struct waiting_row){.lane = lane, .number = ++rows->last_number, .row = *row};
    if (row->detail.len)
        memcpy(waiting->detail, row->detail.at, row->detail.len);
    waiting->row.detail.at = waiting->detail;
    if (lane->first_row)
        lane->last_row->next = waiting;
    else
        lane->first_row = waiting;
    lane->last_row = waiting;
    if (lane->first_row == waiting)
        wait_in_line(rows, lane);
    rows->count++;
}

/* ---- out ---- */

/* The role is behind all others then. */
static struct waiting_row *take_from(struct delivery_queue *rows, struct lane *lane,
                                     struct lane *before)
{
    struct waiting_row *row = lane->first_row;
    leave_line(rows, lane, before);
    lane->first_row = row->next;
    if (lane->first_row)
        wait_in_line(rows, lane);
    else
        lane->last_row = NULL;
    rows->count--;
    return row;
}

struct waiting_row *delivery_queue_take(struct delivery_queue *rows,
                                        struct delivery_queue_room room)
{
    struct lane *before = NULL;
    if (!room.for_idle && !room.for_busy)
        return NULL;
    for (struct lane *lane = rows->first_waiting; lane; lane = lane->next_waiting) {
        if (lane->queued ? room.for_busy : room.for_idle)
            return take_from(rows, lane, before);
        before = lane;
    }
    return NULL;
}

struct waiting_row *delivery_queue_take_oldest(struct delivery_queue *rows)
{
    struct lane *oldest = rows->first_waiting, *before_oldest = NULL, *before = NULL;
    for (struct lane *lane = oldest; lane; lane = lane->next_waiting) {
        if (lane->first_row->number < oldest->first_row->number) {
            oldest = lane;
            before_oldest = before;
        }
        before = lane;
    }
    return oldest ? take_from(rows, oldest, before_oldest) : NULL;
}

static bool is_about_same(const struct outbox_record *a, const struct outbox_record *b)
{
    return a->object == b->object && a->object_id == b->object_id;
}

static void leave_lane(struct lane *lane, struct waiting_row *row, struct waiting_row *before)
{
    if (before)
        before->next = row->next;
    else
        lane->first_row = row->next;
    if (lane->last_row == row)
        lane->last_row = before;
}

/* A lane that is empty then has no place in the line. */
static void leave_if_empty(struct delivery_queue *rows, struct lane *lane)
{
    struct lane *before = NULL;
    if (lane->first_row)
        return;
    for (struct lane *at = rows->first_waiting; at != lane; at = at->next_waiting)
        before = at;
    leave_line(rows, lane, before);
}

struct waiting_row *delivery_queue_take_same(struct delivery_queue *rows,
                                             const struct waiting_row *taken)
{
    struct lane *lane = taken->lane;
    struct waiting_row *before = NULL, *row = lane->first_row;
    for (uint32_t i = 0; row && !is_about_same(&row->row, &taken->row); i++) {
        if (i == LOOK_AHEAD)
            return NULL;
        before = row;
        row = row->next;
    }
    if (!row || row->row.hook != taken->row.hook)
        return NULL;
    leave_lane(lane, row, before);
    leave_if_empty(rows, lane);
    rows->count--;
    return row;
}

void delivery_queue_fini(struct delivery_queue *rows)
{
    for (uint32_t i = 0; i < rows->lane_count; i++) {
        struct lane *lane = rows->lanes[i];
        for (struct waiting_row *row = lane->first_row, *next; row; row = next) {
            next = row->next;
            free(row);
        }
        must(!lane->jobs.first && !lane->drop && !lane->load);
        role_code_slot_fini(&lane->shelf);
        free(lane);
    }
    free(rows->lanes);
    *rows = (struct delivery_queue){0};
}
