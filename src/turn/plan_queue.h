/* plan_queue.h - requests for plans, and the plans that answer them.
 *
 * A plan of a large deployment takes longer than a turn may, so it is made in slices between turns
 * (core.h, core_plan_begin). Requests wait here. One plan is worked on at a time; the next request
 * for the same deployment waits for the same plan, and one that is done is used again while nothing
 * it read has changed. If something does while it is being made it is begun again, three times;
 * then its requests are refused with `busy`. An answer leaves when the turn that it was made of is
 * durable.
 */
#pragma once

#include "core/core.h"
#include "turn/command_queue.h"
#include "turn/turn.h"

enum {
    PLAN_REQUESTS_MAX = 64,
    PLANS_KEPT = 4,            /* in the making or done */
    PLAN_RESTARTS_MAX = 3,     /* before `busy` */
    PLAN_SLICE_UNITS = 128,    /* rows read in a slice: less than half a millisecond */
    PLAN_KEPT_BYTES = 64 << 20 /* larger ones are given up once they are answered */
};

struct plan_request {
    struct input input;
    struct arena arena;
    bool is_used, is_answered;
    uint64_t number;        /* smaller ones came first */
    uint32_t made;          /* the place of the plan that answers it, when it is answered */
    struct outcome outcome; /* in memory of that plan */
    int64_t seen;           /* the turn that the answer shows */
};

struct made_plan {
    struct plan *plan; /* NULL: the place is free */
    int64_t deployment_id;
    bool is_detailed;
    uint64_t owner; /* the only request that it is for, since it holds answers of hooks; 0: any */
    uint32_t restarts;
    uint64_t used; /* when last, to give up the oldest */
};

struct plans {
    struct plan_request requests[PLAN_REQUESTS_MAX];
    struct made_plan made[PLANS_KEPT];
    uint32_t count; /* of requests */
    uint64_t numbers;
    struct turn_plan_counts counts;
};
