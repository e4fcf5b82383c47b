/* transcript.h - the commands executed in a simulated world, and a hash over inputs and outputs.
 *
 * The hash (transcript_hash.h) shows whether two builds of the program behave alike (invariant I8).
 * The list of commands, with the points at which batches were collected, stored or lost, can be
 * written to a file and executed again (replay.h).
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
    MARK_COMMAND, /* executed; bytes are those of command_encode     */
    MARK_BATCH,   /* the changes since the last batch were collected */
    MARK_DURABLE, /* that batch is stored                            */
    MARK_RELOAD,  /* the core was discarded and loaded again         */
    MARK_IMPORT,  /* before that, the store was imported             */
    MARK_COUNT
};

struct mark {
    enum mark_kind kind;
    int64_t turn; /* BATCH: its turn; RELOAD: the turn of the store */
    struct str bytes;
};

struct transcript {
    struct arena arena;
    struct mark *marks;
    uint32_t count;
    uint32_t cap;
    struct transcript_hash hash;
    bool has_hash; /* compute it; otherwise it is that of an empty transcript */
    struct scenario scenario;
};

void transcript_init(struct transcript *t, const struct scenario *scenario, bool has_hash);
void transcript_fini(struct transcript *t);

void transcript_add(struct transcript *t, enum mark_kind kind, int64_t turn, struct str bytes);
void transcript_command(struct transcript *t, const struct command *command,
                        const struct outcome *outcome);
/* An effect that left the daemon. The label is part of the hash. */
void transcript_effect(struct transcript *t, const char *label, int64_t id, int64_t detail,
                       struct str text);

/* Prints name and fields of a command as one line without newline. */
void transcript_print_command(FILE *out, const struct command *command);

/* Text format: a header of comments, then one mark per line. */
NODISCARD err transcript_write(const struct transcript *t, const char *failure, const char *path);
NODISCARD err transcript_read(struct transcript *t, const char *path);
