/* spool.h - the output of runs, in files of bounded size.
 *
 * Standard output is the result of a run: its first bytes are kept, in `<run>-<attempt>.out`.
 * Standard error is its log: the last bytes are kept, in `<run>-<attempt>.log`, a ring buffer
 * behind a header of 64 bytes. A file is created with its first byte. Each file has one writer, the
 * shim of the run; any process may read at the same time and never receives bytes that were
 * overwritten meanwhile. A full disk loses output, but never fails the run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text/str.h"

struct spool_out {
    int fd;          /* -1: not created yet */
    int64_t max;     /* bytes */
    int64_t size;    /* bytes in the file */
    int64_t dropped; /* bytes that did not fit or could not be written */
};

struct spool_log {
    int fd;
    int64_t capacity; /* bytes of the ring; reduced if the disk is full */
    int64_t total;    /* bytes ever written */
    /* end of the longest write attempted; bytes more than `capacity` before it are void */
    int64_t reach;
    int64_t lost; /* bytes that could not be written */
};

struct spool {
    int state_dirfd;
    int64_t run_id;
    uint32_t attempt;
    struct spool_out out;
    struct spool_log log;
    int first_errno; /* errno of the first failed write; 0: none */
};

/* No file is created before the first byte. */
void spool_init(struct spool *s, int state_dirfd, int64_t run_id, uint32_t attempt);
void spool_limit(struct spool *s, int64_t out_max, int64_t log_max);
void spool_fini(struct spool *s);
void spool_put_out(struct spool *s, struct str bytes);
void spool_put_log(struct spool *s, struct str bytes);
int64_t spool_log_size(const struct spool *s); /* bytes that can be read */
int64_t spool_log_dropped(const struct spool *s);

/* One read of a file: where to start, and the buffer. */
struct spool_slice {
    int64_t offset; /* from the first byte ever written; negative: from the end */
    char *at;
    uint32_t size; /* bytes of the buffer; after the call, bytes read */
    int64_t total; /* output: bytes ever written */
};

/* Read from `offset`, or from the oldest byte available if that was overwritten; `offset` is set to
 * the position. A missing file counts as empty. */
NODISCARD err spool_read_log(int state_dirfd, int64_t run_id, uint32_t attempt,
                             struct spool_slice *slice);
NODISCARD err spool_read_out(int state_dirfd, int64_t run_id, uint32_t attempt,
                             struct spool_slice *slice);

void spool_remove(int state_dirfd, int64_t run_id, uint32_t attempt);
/* Remove the files of all runs for which `is_wanted` returns false. */
void spool_remove_unwanted(int state_dirfd, void *self,
                           bool (*is_wanted)(void *self, int64_t run_id, uint32_t attempt));
