/* plan_queue.h - requests for plans, and a cache of plans (ADR 0079).
 *
 * The plan of a large deployment takes longer than a turn may take, so it is computed in slices
 * between turns (core.h, core_plan_begin). Requests wait here in order of arrival; one plan is
 * computed at a time. Requests for the same deployment share a plan, and a complete plan is used
 * again until a row that it has read changes. If that happens during the computation, the plan is
 * started again, three times at most; then its requests are refused with `busy`. A reply is sent
 * when the turn that the plan was computed from is durable.
 */
#pragma once

#include "core/core.h"
#include "turn/command_queue.h"
#include "turn/turn.h"

enum {
    PLAN_REQUESTS_MAX = 64,
    PLANS_KEPT = 4,            /* slots for plans, complete or not */
    PLAN_RESTARTS_MAX = 3,     /* then `busy` */
    PLAN_SLICE_UNITS = 128,    /* rows read in a slice: less than half a millisecond */
    PLAN_KEPT_BYTES = 64 << 20 /* a larger plan is freed when its requests are answered */
};

struct plan_request {
    struct input input;
    struct arena arena;
    bool is_used, is_answered;
    uint64_t number;        /* order of arrival */
    uint32_t made;          /* if is_answered: slot of the plan; PLANS_KEPT: none */
    struct outcome outcome; /* in memory of that plan, or in `arena` */
    int64_t seen;           /* the turn that must be durable before the reply is sent */
};

struct made_plan {
    struct plan *plan; /* NULL: the slot is free */
    int64_t deployment_id;
    bool is_detailed;
    uint64_t owner; /* number of the only request it is for, as it has veto replies; 0: any */
    uint32_t restarts;
    uint64_t used; /* time of the last use, to replace the least recently used */
};

struct plans {
    struct plan_request requests[PLAN_REQUESTS_MAX];
    struct made_plan made[PLANS_KEPT];
    uint32_t count;   /* requests */
    uint64_t numbers; /* last number of a request or use */
    struct turn_plan_counts counts;
};
