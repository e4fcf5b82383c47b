/* change_feed.h - which objects changed in the last turns, for clients that show live states.
 *
 * The feed is a ring of the ids that durable batches changed, with the states of noderoles after
 * each batch. It records only while clients read it: the first read starts it, and without reads
 * it is freed after ten minutes. A batch with more changes than a quarter of the ring, a turn that
 * was not reported (after a load of the core) and old turns that were overwritten make a gap; a
 * client behind a gap has to read all objects again. The text of a message is made once for all
 * clients that wait for the same turns. The module does not depend on calls.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"
#include "model/record.h"

#define CHANGE_FEED_ENTRIES  65536u                    /* ids in the ring */
#define CHANGE_TURN_MAX      (CHANGE_FEED_ENTRIES / 4) /* ids of one turn */
#define CHANGE_MESSAGE_MAX   8192u /* a message ends with the turn that reaches so many ids */
#define CHANGE_INTERVAL_MS   250   /* between the messages of a stream */
#define CHANGE_FEED_IDLE_MS  600000
#define CHANGE_MESSAGES_KEPT 4u

struct change_entry;
struct core;

/* Messages from the turn after `from` up to and including `to`. */
struct change_message {
    int64_t from, to;      /* to 0: unused */
    int64_t wanted_to;     /* `to` may be an earlier turn */
    int64_t deployment_id; /* 0: all */
    struct arena arena;    /* holds `text` */
    struct str text;
};

struct change_feed {
    struct change_entry *entries; /* NULL: not recording */
    uint64_t begin, end;          /* numbers of the first entry and after the last */
    int64_t since;                /* changes after this turn are in the ring */
    int64_t turn;                 /* the last turn that was reported */
    uint64_t turn_begin;          /* the first entry of the turn that is being recorded */
    bool is_too_large;            /* that turn has too many changes */
    int64_t read_ms;              /* last read, monotonic */
    int64_t tick_turn, tick_ms;   /* streams write messages up to this turn until the next tick */
    struct change_message messages[CHANGE_MESSAGES_KEPT];
    uint32_t next_message; /* the one that is replaced next */
};

void change_feed_fini(struct change_feed *feed);

/* A durable batch: begin, its changed rows, end. The first is false if nothing is recorded. `core`
 * is that after the batch. */
bool change_feed_begin(struct change_feed *feed, int64_t turn, int64_t mono_ms);
void change_feed_add(struct change_feed *feed, const struct core *core, const struct record *record,
                     bool is_gone);
void change_feed_end(struct change_feed *feed);

/* A client reads: starts the feed if it does not record, and drops it if a turn was not reported.
 * `durable` is the last turn that the store has committed. */
void change_feed_read(struct change_feed *feed, int64_t durable, int64_t mono_ms);
/* Are all changes after this turn in the ring? */
bool change_feed_has(const struct change_feed *feed, int64_t turn);
/* The turn up to which streams write now: the same for all of them for CHANGE_INTERVAL_MS. */
int64_t change_feed_tick(struct change_feed *feed, int64_t mono_ms);
/* The changes after `from`, up to `to` or an earlier turn, as a JSON object; valid until the next
 * call. Precondition: change_feed_has(from), from < to <= feed->turn. */
const struct change_message *change_feed_message(struct change_feed *feed, int64_t from, int64_t to,
                                                 int64_t deployment_id);
/* The same object without changes: is_reset, read everything again. */
struct str change_feed_nothing(int64_t turn, bool is_reset, struct arena *a);
