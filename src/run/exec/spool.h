/* spool.h - what a run writes, in files of bounded size.
 *
 * Standard output is a result: its first bytes are kept, in `<run>-<attempt>.out`. Standard error
 * is a log: its last bytes are kept, in `<run>-<attempt>.log`, whose first 64 bytes say what lies
 * where in the ring behind them. Both come to be with their first byte. A writer belongs to one
 * run; any process may read meanwhile, and is never given bytes that were written over. A disk that
 * is full costs output, never the run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text/str.h"

struct spool_out {
    int fd; /* -1: no byte yet */
    int64_t max;
    int64_t size;
    int64_t dropped;
};

struct spool_log {
    int fd;
    int64_t room;  /* bytes of the ring; less than wished for after the disk was full */
    int64_t total; /* bytes ever put into it */
    int64_t reach; /* where the longest write tried would end: a room before it all is spoilt */
    int64_t lost;  /* bytes that never came into it */
};

struct spool {
    int place;
    int64_t run_id;
    uint32_t attempt;
    struct spool_out out;
    struct spool_log log;
    int number; /* errno of the first write that failed, 0: none */
};

/* Nothing is touched before the first byte. */
void spool_init(struct spool *s, int state_dirfd, int64_t run_id, uint32_t attempt);
void spool_limit(struct spool *s, int64_t out_max, int64_t log_max);
void spool_fini(struct spool *s);
void spool_put_out(struct spool *s, struct str bytes);
void spool_put_log(struct spool *s, struct str bytes);
int64_t spool_log_size(const struct spool *s); /* bytes that can be read */
int64_t spool_log_dropped(const struct spool *s);

/* A look into a spool: where to begin, and room for what is found. */
struct spool_slice {
    int64_t offset; /* counted from the first byte ever written; below zero: from the end */
    char *at;
    uint32_t size; /* room; afterwards how much of it was filled */
    int64_t total; /* set: bytes ever written */
};

/* The bytes from `offset` on, or from the first one that is still there: `offset` says which. No
 * file is an empty one. */
NODISCARD err spool_read_log(int state_dirfd, int64_t run_id, uint32_t attempt,
                             struct spool_slice *slice);
NODISCARD err spool_read_out(int state_dirfd, int64_t run_id, uint32_t attempt,
                             struct spool_slice *slice);

void spool_remove(int state_dirfd, int64_t run_id, uint32_t attempt);
/* Remove the files of all runs that `is_wanted` does not want. */
void spool_sweep(int state_dirfd, void *self,
                 bool (*is_wanted)(void *self, int64_t run_id, uint32_t attempt));
