/* power_private.h - the orders of power.c, for what only looks at them (power_retry.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/arena.h"
#include "base/str.h"
#include "daemon/id_map.h"
#include "daemon/power.h"
#include "model/reason.h"

enum {
    TRIES_MAX = 3,
    TRYING_MS_MAX = 3 * 60 * 1000,
    TRY_MS_MAX = 60 * 1000, /* of one that may be tried again */
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

    struct order *next;          /* in the list of its stage */
    struct order *behind, *last; /* in the line of its node; `last` counts at its head */
};

struct list {
    struct order *first, *last;
};

struct power {
    uv_loop_t *loop;
    uv_timer_t timer; /* when the first of the sleepers wakes */
    void *self;
    void (*wake)(void *self);
    struct ssh_home *ssh;
    struct known_hosts *known_hosts; /* NULL: no file is written */
    struct turn *turn;               /* of the last pump */
    uint32_t probe_ms;
    struct hammers *hammers;
    struct probes *probes;
    struct id_map by_row;
    struct id_map by_node; /* the head of each node's line */
    int64_t request_first;
    struct list noted;
    struct list marking;    /* whose marks the turn has not taken yet */
    struct order *sleepers; /* soonest first */
    struct list answered;
    struct list told;
};
