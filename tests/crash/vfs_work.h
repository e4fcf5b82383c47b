/* vfs_work.h - a known series of batches, and what a store must hold after each of them.
 *
 * The script is made once from a seed. Whatever happened to the disk, a store at turn t
 * must hold exactly what the first t batches leave: the digest over all its rows, archives
 * included, says so. A writer is one process with its store; it records the results it got.
 */
#pragma once

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/store_thread.h"

#define WORK_URL "sqlite:disk/halligan.db"

enum { TURNS_MAX = 400 };

struct script {
    int64_t turns;
    struct batch batches[TURNS_MAX + 1]; /* by turn; [0] is none */
    struct digest128 digests[TURNS_MAX + 1];
};

struct script *script_new(uint64_t seed, int64_t turns);
void script_free(struct script *s);

struct writer {
    const struct script *script;
    struct store *store;
    struct store_port port;
    sem_t woken;
    int64_t epoch; /* the last that lead() gave */
    /* A disk that is being watched may ask from the store's thread. */
    _Atomic int64_t submitted; /* the last turn it tried; until it is answered it may be in */
    _Atomic int64_t answered;  /* the last turn it knows to be in */
};

/* A writer must stay in place while it is open. Errors are those of the store. */
NODISCARD err writer_open(struct writer *w, const struct script *script);
void writer_close(struct writer *w);
/* Lead, and check what is known about the store position. */
NODISCARD err writer_lead(struct writer *w);
/* The next batch of the script. */
NODISCARD err writer_step(struct writer *w);
/* What load() gives must be what the script says about that position. */
NODISCARD err writer_load(struct writer *w);

/* A new process: open, lead, load, look at everything, verify. The store must be between the
 * two turns; where is returned. The writer stays open and may go on. */
int64_t writer_recover(struct writer *w, const struct script *script, int64_t at_least,
                       int64_t at_most);
