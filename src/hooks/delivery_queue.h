/* delivery_queue.h - rows of the outbox that wait for capacity of the worker, in one queue per
 * role.
 *
 * A row is small and there may be millions; the arguments of its hook are large and are created
 * only when the row is taken. Rows of one role are taken in order, roles round-robin, so that the
 * backlog of one role does not delay others. All functions belong to the thread of the loop. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hooks/job.h"
#include "model/record.h"

struct waiting_row {
    struct waiting_row *next;
    struct role_queue *role_queue;
    uint64_t number; /* order of arrival */
    struct outbox_record row;
    char detail[];
};

struct delivery_queue {
    struct role_queue **role_queues; /* of all roles that ever had a row, sorted by role_id */
    uint32_t role_queue_count, role_queue_cap;
    struct role_queue *first_waiting; /* queues with rows, the next one first */
    struct role_queue *last_waiting;
    uint32_t count;       /* rows */
    uint64_t last_number; /* of the row that arrived last */
};

/* Frees pending rows and code. The worker must not use any role queue any more. */
void delivery_queue_fini(struct delivery_queue *rows);
/* The queue of a role; created if necessary. */
struct role_queue *delivery_queue_role(struct delivery_queue *rows, int64_t role_id);
void delivery_queue_add(struct delivery_queue *rows, const struct outbox_record *row);

/* Capacity: for roles without jobs at the worker, and for roles with some. */
struct delivery_queue_space {
    bool for_idle;
    bool for_busy;
};

/* The next row in round-robin order; NULL: none, or no capacity. The caller frees it. */
struct waiting_row *delivery_queue_take(struct delivery_queue *rows,
                                        struct delivery_queue_space space);
/* The oldest row of all. */
struct waiting_row *delivery_queue_take_oldest(struct delivery_queue *rows);
/* A later row of the same role with the same hook and object, unless a row with another hook about
 * this object is between them; NULL: none. */
struct waiting_row *delivery_queue_take_same(struct delivery_queue *rows,
                                             const struct waiting_row *taken);
