/* delivery_queue.h - rows of the outbox that wait for room with the worker, those of each role in
 * its lane.
 *
 * A row is small and there may be millions, what its hook is given is not: that is made when the
 * row is taken out. Rows of one role come out in the order in which they went in, those of several
 * by turns, so that a role which is behind is behind alone. All of it in the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hooks/job.h"
#include "model/record.h"

struct waiting_row {
    struct waiting_row *next;
    struct lane *lane;
    uint64_t number; /* as they came */
    struct outbox_record row;
    char detail[];
};

struct delivery_queue {
    struct lane **lanes; /* of all roles that ever had one, by role_id */
    uint32_t lane_count, lane_cap;
    struct lane *first_waiting; /* those with rows, whoever is next first */
    struct lane *last_waiting;
    uint32_t count;
    uint64_t last_number;
};

/* Drops what waits, and the code. Nothing may be left in the lanes that is the worker's. */
void delivery_queue_fini(struct delivery_queue *rows);
/* Made when there is none. */
struct lane *delivery_queue_lane(struct delivery_queue *rows, int64_t role_id);
void delivery_queue_add(struct delivery_queue *rows, const struct outbox_record *row);

/* Who may have a row taken: roles that have nothing with the worker, and those that have. */
struct delivery_queue_room {
    bool for_idle;
    bool for_busy;
};

/* The next row by turns; NULL: none, or no room. Freed by whoever takes it. */
struct waiting_row *delivery_queue_take(struct delivery_queue *rows,
                                        struct delivery_queue_room room);
/* The one that came first of all. */
struct waiting_row *delivery_queue_take_oldest(struct delivery_queue *rows);
/* One of the next rows in this one's lane that says the same of the same object, unless something
 * else about that object stands between; NULL: none. */
struct waiting_row *delivery_queue_take_same(struct delivery_queue *rows,
                                             const struct waiting_row *taken);
