/* power_orders_private.h - the orders of power_orders.c, for power_retry.c and power_poll.c. */
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
    TRIES_MAX = 3,
    TRYING_MS_MAX = 3 * 60 * 1000,
    TRY_MS_MAX = 60 * 1000, /* of one that may be tried again */
    READING_MS_MAX = 15 * 1000,
    TEXT_SIZE = 1024
};
/* A row on its way: noted, waiting for its mark, under way (or asleep until the next try),
 * answered, told. It is known by its id all the time, and a power order stands in the line of its
 * node until it is answered. */
enum stage { NOTED, MARKING, UNDER_WAY, ANSWERED, TOLD };

struct order {
    struct arena arena;
    int64_t id;
    int64_t node_id;
    bool is_probe;
    bool was_begun; /* by a process that ended */
    bool is_marked; /* as begun by this one, and that is durable */
    enum stage stage;
    int64_t boot; /* of a probe: the boot generation of the node when it was asked */
    struct str action;
    struct str node;   /* names, when they are known */
    struct str hammer; /* the one that was chosen */
    uint32_t tries;
    int64_t begun_ms; /* when it was tried first; sys_mono_ms() */
    int64_t wake_ms;  /* when it is tried again */
    bool failed;
    enum reason_code reason; /* of a failure */
    struct str subject;
    struct str text;
    int64_t gone_turn; /* in which its row was seen to be gone; 0: it was not */
    uint64_t loads;    /* of the turn, by then */

    bool is_out_of_line; /* a reading under way: those of its node that came later need not wait */
    bool wants_reading;  /* when its row is gone: the driver did not tell the state */
    enum power_state state; /* that the machine answered; POWER_STATE_UNKNOWN: none */

    struct order *next;          /* in the list of its stage */
    struct order *behind, *last; /* in the line of its node; `last` counts at its head */
};

struct list {
    struct order *first, *last;
};

/* Readings without an order; power_poll.c. */
struct power_poll {
    int64_t every_ms;      /* a round begins so often; 0: never */
    int64_t round_ms;      /* when the next one may begin; sys_mono_ms() */
    bool is_round;         /* one is under way, */
    int64_t after;         /* behind this node */
    struct id_map by_node; /* struct reading */
    uint32_t under_way;
    int64_t *wanted; /* nodes to read as soon as may be */
    uint32_t wanted_count;
    struct reading *answered, *answered_last; /* for the turn */
    uv_timer_t timer;
};

struct power {
    uv_loop_t *loop;
    uint32_t open_timers;
    struct power_poll poll;
    uv_timer_t timer; /* when the first of the sleepers wakes */
    void *self;
    void (*wake)(void *self);
    struct ssh_keys *ssh;
    struct known_hosts *known_hosts; /* NULL: no file is written */
    struct turn *turn;               /* of the last pump */
    uint32_t probe_ms;
    struct hammers *hammers;
    struct ssh_probes *probes;
    struct id_map by_row;
    struct id_map by_node; /* the head of each node's line */
    int64_t request_first;
    struct list noted;
    struct list marking;    /* whose marks the turn has not taken yet */
    struct order *sleepers; /* soonest first */
    struct list answered;
    struct list told;
};

/* ---- power_retry.c ---- */

/* The timer for the first order that sleeps; none where none does. */
void power_set_timer(struct power *p);
/* The order is not in another list; the pump notes it again at that time (sys_mono_ms()). */
void power_sleep(struct power *p, struct order *o, int64_t wake_ms);

/* ---- power_poll.c ---- */

struct hammer_result;

void power_poll_open(struct power *p, uint32_t every_s);
void power_poll_close(struct power *p, uv_close_cb closed);
/* Begin what is due, and hand answers to the turn. True when that was anything. */
bool power_poll_pump(struct power *p, struct turn *turn);
/* Read the node as soon as may be. */
void power_poll_want(struct power *p, int64_t node_id);
/* An order for the node begins: its reading ends without an answer. */
void power_poll_stop(struct power *p, int64_t node_id);
/* True when that was the key of a reading. */
bool power_poll_answered(struct power *p, uint64_t key, const struct hammer_result *result);
/* The state that the value of a result names; POWER_STATE_UNKNOWN when it names none. */
enum power_state power_state_of(struct str value);
