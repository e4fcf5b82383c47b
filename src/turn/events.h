/* events.h - what a batch has to tell to those who look back (DECISIONS D10).
 *
 * One event for each thing that an operator did, with the fields that changed, before and after;
 * and one for everything the engine did in the turn, packed: how many rows of which tables, and
 * which, as long as the list stays short. They are written with the batch they tell of. Secrets
 * are not told, and long texts only by their length.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "model/command.h"
#include "model/record.h"

struct core;
struct outcome;

#define EVENT_IDS_MAX 100u

struct event_note {
    struct event_record event;
    struct event_note *next;
};

struct event_tally {
    uint32_t count;
    int64_t ids[EVENT_IDS_MAX];
};

struct events {
    struct arena *arena;
    struct event_note *first;
    struct event_note *last;
    bool engine;                /* the engine changed something      */
    struct event_tally *tables; /* TABLE_OBJECTS of them, or NULL    */
};

/* What the object of a command was before it was stepped. */
struct event_watch {
    uint64_t edits;
    bool known;
    struct record before;
};

struct event_watch events_before(const struct core *core, const struct command *command,
                                 struct arena *arena);
/* The command is done. */
void events_after(struct events *events, const struct event_watch *watch, const struct core *core,
                  const struct command *command, const struct outcome *outcome);
/* For each change of the batch, in case the engine has something to tell. */
void events_count(struct events *events, const struct change *change);
/* Append the events to the changes of the batch; how many there were. */
uint32_t events_put(const struct events *events, int64_t turn, int64_t now_ms, struct buf *changes);
