/* power_orders_private.h - the orders of power_orders.c, shared with power_retry.c and
 * power_poll.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/mem/arena.h"
#include "base/text/str.h"
#include "model/reason.h"
#include "model/record.h"
#include "power/power_orders.h"
#include "sys/id_map.h"

enum {
    TRIES_MAX = 3,                 /* of one action */
    TRYING_MS_MAX = 3 * 60 * 1000, /* from the first try to the end of the last one */
    TRY_MS_MAX = 60 * 1000,        /* one try of an action that may be repeated */
    READING_MS_MAX = 15 * 1000,    /* one reading of a power state */
    TEXT_SIZE = 1024               /* of a result, in bytes */
};

/* The stages of an order, which is one outbox row:
 *
 *   PENDING -> RUNNING -> DONE -> REPORTED -> freed
 *      ^  |      |          ^         |
 *      |  v      |          +---------+  the row arrived again: report the result again
 *    MARKING     |
 *      ^---------+  an action that may not be repeated needs a durable mark first
 *
 * A failed try returns from RUNNING to PENDING after a pause. `by_row` has every order until it is
 * freed. A power action is in the queue of its node until it is DONE; a probe is in no queue. */
enum order_stage { ORDER_PENDING, ORDER_MARKING, ORDER_RUNNING, ORDER_DONE, ORDER_REPORTED };

struct core;

struct order {
    struct arena arena; /* of its strings */
    int64_t id;         /* of the outbox row */
    int64_t node_id;
    bool is_probe;
    bool was_begun; /* the row carries the mark of an earlier process */
    bool is_marked; /* the mark of this process is durable */
    enum order_stage stage;
    int64_t boot; /* of a probe: the boot generation of the node when the probe started */
    struct str action;
    struct str node;   /* name of the node; empty until the order starts */
    struct str hammer; /* name of the chosen hammer; empty: none was used */
    uint32_t tries;    /* started so far */
    int64_t begun_ms;  /* start of the first try; sys_mono_ms() */
    int64_t wake_ms;   /* start of the next try; sys_mono_ms() */
    bool failed;
    enum reason_code reason; /* of a failure */
    struct str subject;
    struct str text;   /* the result, or the reason of the last failed try */
    int64_t gone_turn; /* the turn in which the row was found deleted; 0: not yet */
    uint64_t loads;    /* turn_loads() at that time */

    bool is_unqueued;       /* a reading in progress: later orders of its node do not wait for it */
    bool needs_reading;     /* read the power state once the row is deleted: the driver did not
                            report it */
    enum power_state state; /* that the machine reported; POWER_STATE_UNKNOWN: none */

    struct order *next;                    /* in the list of its stage */
    struct order *queue_next, *queue_last; /* in the queue of its node; queue_last is valid at the
                                              head only */
};

struct order_list {
    struct order *first, *last;
};

/* Readings of power states without an order; power_poll.c. */
struct power_poll {
    int64_t every_ms;      /* interval between the starts of two rounds; 0: no rounds */
    int64_t round_ms;      /* the earliest start of the next round; sys_mono_ms() */
    bool is_round;         /* a round is in progress */
    int64_t after;         /* id of the node that the round visited last */
    struct id_map by_node; /* struct reading of each node with one */
    uint32_t running;      /* readings in progress */
    int64_t *wanted;       /* ids of nodes to read before the round continues */
    uint32_t wanted_count;
    struct reading *answered, *answered_last; /* results that the turn has not accepted yet */
    uv_timer_t timer;                         /* start of the next round */
};

struct power {
    uv_loop_t *loop;
    uint32_t open_timers; /* handles not closed yet; at 0 the struct is freed */
    struct power_poll poll;
    uv_timer_t timer; /* the next try of the first sleeping order */
    void *self;
    void (*wake)(void *self);
    struct ssh_keys *ssh;
    struct known_hosts *known_hosts; /* NULL: no file is written */
    struct turn *turn;               /* of the last pump; NULL before the first */
    uint32_t probe_ms;
    struct hammers *hammers;
    struct ssh_probes *probes;
    struct id_map by_row;
    struct id_map by_node; /* the head of the queue of each node */
    int64_t request_first;
    struct order_list pending;
    struct order_list marking; /* marks that the turn has not accepted yet */
    struct order *sleepers;    /* orders before their next try, by wake_ms */
    struct order_list done;
    struct order_list reported;
};

/* ---- power_orders.c ---- */

/* Sets the result and makes the next order of the node PENDING. */
__attribute__((format(printf, 4, 5))) void power_order_set_result(struct power *p, struct order *o,
                                                                  bool failed, const char *format,
                                                                  ...);
/* True if the outbox row of the order exists. */
bool power_order_has_row(const struct core *core, const struct order *o);
/* Frees an order that is in no list and no queue. */
void power_order_forget(struct power *p, struct order *o);

/* ---- power_probe.c ---- */

/* Starts the probe of an order. A node that is reached locally answers at once. */
void power_probe_start(struct power *p, const struct core *core, struct order *o);
/* The callbacks of ssh_probe.h; `self` is the struct power. */
bool power_probe_is_wanted(void *self, uint64_t key);
void power_probe_on_result(void *self, uint64_t key, bool answers, const struct reason *reason);
err power_probe_pin_keys(void *self, uint64_t key, struct str keys, bool is_own);

/* ---- power_retry.c ---- */

/* Starts the timer for the first sleeping order, if there is one. */
void power_set_timer(struct power *p);
/* The pump makes the order PENDING again at wake_ms (sys_mono_ms()). It must be in no list. */
void power_sleep(struct power *p, struct order *o, int64_t wake_ms);

/* ---- power_poll.c ---- */

struct hammer_result;

void power_poll_open(struct power *p, uint32_t every_s);
void power_poll_close(struct power *p, uv_close_cb closed);
/* Starts the readings that are due and submits results to the turn. True if one was submitted. */
bool power_poll_pump(struct power *p, struct turn *turn);
/* Requests a reading of the node before the current round continues. */
void power_poll_want(struct power *p, int64_t node_id);
/* Cancels the reading of the node, because an order for it starts. */
void power_poll_stop(struct power *p, int64_t node_id);
/* True if the key is that of a reading without an order; the result is then consumed. */
bool power_poll_answered(struct power *p, uint64_t key, const struct hammer_result *result);
/* The state in the value of a driver's result, {"power": "on"}; otherwise POWER_STATE_UNKNOWN. */
enum power_state power_state_of(struct str value);
