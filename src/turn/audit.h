/* audit.h - the events of the audit log (ADR 0039).
 *
 * Every command of an operator adds one event with the fields that changed, before and after. All
 * changes that the engine made in a turn are one event: for each table the number of changed rows
 * and their first ids. Events are rows of the batch that they describe, so they are durable
 * together with it. Secrets are masked, and long strings replaced by their length.
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

#define EVENT_IDS_MAX 100u /* ids listed for each table in the event of the engine */

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
    const struct watch_port *watch; /* notified of the parts of a COMMAND_BATCH */
    struct event_note *first;
    struct event_note *last;
    bool engine;                /* the engine changed rows: add its event */
    struct event_tally *tables; /* TABLE_OBJECTS entries, or NULL         */
};

/* Step the core and add the event of the command; a COMMAND_BATCH adds one for each part. The
 * outcome is in events->arena. */
void audit_step(struct events *events, struct core *core, const struct command *command,
                struct effects *fx, struct outcome *outcome);
/* Count a change of the batch for the event of the engine. */
void audit_count(struct events *events, const struct change *change);
/* Append the events to the encoded changes of the batch; returns their number. */
uint32_t audit_put(const struct events *events, int64_t turn, int64_t now_ms, struct buf *changes);
