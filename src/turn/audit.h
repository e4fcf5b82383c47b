/* audit.h - what a batch has to tell to those who look back (DECISIONS D10).
 *
 * One event for each thing that an operator did, with the fields that changed, before and after;
 * and one for everything the engine did in the turn, packed: how many rows of which tables, and
 * which, as long as the list stays short. They are written with the batch they tell of. Secrets
 * are not told, and long texts only by their length.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/buf.h"
#include "model/command.h"
#include "model/record.h"

struct core;
struct effects;
struct outcome;
struct watch_port;

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
    const struct watch_port *watch; /* is told of the parts of a batch */
    struct event_note *first;
    struct event_note *last;
    bool engine;                /* the engine changed something      */
    struct event_tally *tables; /* TABLE_OBJECTS of them, or NULL    */
};

/* Step the core in events->arena, and note what was done: each part of a COMMAND_BATCH as if it had
 * come alone. */
void audit_step(struct events *events, struct core *core, const struct command *command,
                struct effects *fx, struct outcome *outcome);
/* For each change of the batch, in case the engine has something to tell. */
void audit_count(struct events *events, const struct change *change);
/* Append the events to the changes of the batch; how many there were. */
uint32_t audit_put(const struct events *events, int64_t turn, int64_t now_ms, struct buf *changes);
