/* transcript.h - the commands stepped by a simulated world, and a hash over inputs and outputs.
 *
 * The hash (transcript_hash.h) shows whether two builds of the program behave alike (invariant I8).
 * The list of commands, with the moments at which batches were made, became durable or were lost,
 * can be written to a file and stepped again (replay.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "core/core.h"
#include "sim/scenario/options.h"
#include "sim/scenario/transcript_hash.h"

enum mark_kind {
    MARK_COMMAND, /* stepped; bytes are command_encode's             */
    MARK_BATCH,   /* what changed since the last batch was collected */
    MARK_DURABLE, /* that batch is in                                */
    MARK_RELOAD,  /* the core was thrown away and loaded again       */
    MARK_COUNT
};

struct mark {
    enum mark_kind kind;
    int64_t turn; /* BATCH: the one it makes; RELOAD: where the store stood */
    struct str bytes;
};

struct transcript {
    struct arena arena;
    struct mark *marks;
    uint32_t count;
    uint32_t cap;
    struct transcript_hash hash;
    struct draw draw;
};

void transcript_init(struct transcript *t, const struct draw *draw);
void transcript_fini(struct transcript *t);

void transcript_add(struct transcript *t, enum mark_kind kind, int64_t turn, struct str bytes);
void transcript_command(struct transcript *t, const struct command *command,
                        const struct outcome *outcome);
/* An effect that left the daemon. The label is part of the hash. */
void transcript_effect(struct transcript *t, const char *label, int64_t id, int64_t detail,
                       struct str text);

/* What a person wants to know about a command: its name and what it carries, in one line without
 * its end. */
void transcript_tell(FILE *out, const struct command *command);

/* Text: a header of comments that a person can read, then one mark per line. */
NODISCARD err transcript_write(const struct transcript *t, const char *failure, const char *path);
NODISCARD err transcript_read(struct transcript *t, const char *path);
