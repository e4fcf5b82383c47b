#define _GNU_SOURCE /* O_NOFOLLOW, fdopendir, pread */
#include "run/exec/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash/hash.h"
#include "run/exec/state_dir.h"
#include "sys/files.h"

/* Owns the two files of a run while its shim writes them; readers open and close them per call.
 *
 * Order: the log file is read without a lock while its shim writes. The writer therefore updates
 * the header twice around an overwriting write: `reach` (the end of the bytes being written) before
 * the ring, `total` after it. A reader reads header, ring, header; bytes that are more than a whole
 * capacity before the second `reach` may be overwritten and are dropped. The checksum detects a
 * header that was read during its update; it is read again. Nothing is synced: after a crash of the
 * machine, output may be missing.
 *
 * Failure: a write that fails loses output, is counted in `dropped` or `lost`, and its first errno
 * is kept for the reason of the run. After the first lost byte of a result all later ones are
 * dropped, so that there is no gap; a log continues, in a smaller ring if the disk is full. */

/* Header before the ring. `reach` is where the bytes being written will end: bytes more than
 * `capacity` before it may already be overwritten. */
struct spool_log_head {
    uint64_t magic;
    int64_t capacity;
    int64_t total;
    int64_t reach;
    uint64_t checksum; /* of all fields above: a concurrent reader may see half of an update */
};

#define SPOOL_LOG_MAGIC 0x31676f6c6c6c6168u /* "halllog1" */

enum {
    SPOOL_HEAD_SIZE = 64, /* bytes before the ring, with reserved ones */
    SPOOL_NAME_SIZE = 64, /* bytes of a file name with its directory */
    CAPACITY_MIN = 4096,  /* bytes; a ring is not shortened below this */
    HEAD_READS_MAX = 1000 /* reads of a header that does not verify until it counts as corrupt */
};

static void spool_file_name(char out_name[SPOOL_NAME_SIZE], int64_t run_id, uint32_t attempt,
                            const char *kind)
{
    snprintf(out_name, SPOOL_NAME_SIZE, STATE_SPOOL "/%lld-%u.%s", (long long)run_id, attempt,
             kind);
}

/* Write all bytes, or return -1 with errno. Bytes written before a failure do not count: the caller
 * does not advance its size, so the next call writes at the same offset. */
static int spool_pwrite(int fd, const char *at, int64_t len, int64_t offset)
{
    while (len > 0) {
        const ssize_t n = pwrite(fd, at, (size_t)len, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        at += n;
        len -= n;
        offset += n;
    }
    return 0;
}

static ssize_t spool_pread(int fd, char *at, size_t len, int64_t offset)
{
    ssize_t n;
    do {
        n = pread(fd, at, len, (off_t)offset);
    } while (n < 0 && errno == EINTR);
    return n;
}

static void spool_note_errno(struct spool *s)
{
    if (!s->first_errno)
        s->first_errno = errno;
}

static int spool_create_file(struct spool *s, const char *kind)
{
    char name[SPOOL_NAME_SIZE];
    spool_file_name(name, s->run_id, s->attempt, kind);
    return openat(s->state_dirfd, name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
}

void spool_init(struct spool *s, int state_dirfd, int64_t run_id, uint32_t attempt)
{
    *s = (struct spool){.state_dirfd = state_dirfd, .run_id = run_id, .attempt = attempt};
    s->out.fd = s->log.fd = -1;
}

void spool_limit(struct spool *s, int64_t out_max, int64_t log_max)
{
    s->out.max = out_max;
    s->log.capacity = log_max;
}

void spool_fini(struct spool *s)
{
    if (s->out.fd >= 0)
        ignore(close(s->out.fd), "write errors were recorded before");
    if (s->log.fd >= 0)
        ignore(close(s->log.fd), "write errors were recorded before");
    s->out.fd = s->log.fd = -1;
}

/* ---- the result: the first bytes ---- */

void spool_put_out(struct spool *s, struct str bytes)
{
    struct spool_out *o = &s->out;
    /* after the first dropped byte everything is dropped, so that there is no gap */
    const int64_t capacity = o->dropped ? 0 : o->max - o->size;
    const int64_t len = bytes.len < capacity ? bytes.len : capacity;
    if (len > 0 && o->fd < 0)
        o->fd = spool_create_file(s, "out");
    if (len > 0 && (o->fd < 0 || spool_pwrite(o->fd, bytes.at, len, o->size) != 0)) {
        spool_note_errno(s);
        o->dropped += bytes.len;
        if (o->fd >= 0)
            ignore(ftruncate(o->fd, (off_t)o->size), "`size` is authoritative");
        return;
    }
    o->size += len;
    o->dropped += bytes.len - len;
}

/* ---- the log: the last bytes ---- */

static int64_t spool_oldest(int64_t reach, int64_t capacity)
{
    return reach > capacity ? reach - capacity : 0;
}

static uint64_t spool_head_checksum(const struct spool_log_head *head)
{
    return hash64((struct str){(const char *)head, offsetof(struct spool_log_head, checksum)}, 0);
}

static int spool_write_head(const struct spool_log *l)
{
    char bytes[SPOOL_HEAD_SIZE] = {0};
    struct spool_log_head head = {SPOOL_LOG_MAGIC, l->capacity, l->total, l->reach, 0};
    head.checksum = spool_head_checksum(&head);
    memcpy(bytes, &head, sizeof head);
    return spool_pwrite(l->fd, bytes, SPOOL_HEAD_SIZE, 0);
}

/* At most `capacity` bytes, in one piece or wrapped around the end. */
static int spool_write_ring(const struct spool_log *l, int64_t from, struct str bytes)
{
    const int64_t at = from % l->capacity;
    const int64_t first = bytes.len < l->capacity - at ? bytes.len : l->capacity - at;
    if (spool_pwrite(l->fd, bytes.at, first, SPOOL_HEAD_SIZE + at) != 0)
        return -1;
    return spool_pwrite(l->fd, bytes.at + first, bytes.len - first, SPOOL_HEAD_SIZE);
}

/* The disk is full. As long as the ring has not wrapped, byte N of the log is at offset N, so the
 * ring can be shortened to the bytes written and reused from its start. */
static bool spool_shrink_ring(struct spool_log *l)
{
    if (l->total < CAPACITY_MIN || l->total >= l->capacity || l->reach > l->capacity)
        return false;
    l->capacity = l->total;
    return true;
}

static bool spool_try_log(struct spool_log *l, struct str bytes)
{
    const int64_t before = l->total, reach = before + bytes.len;
    /* Bytes before the last `capacity` ones would be overwritten at once: skip them. */
    const int64_t skip = bytes.len > l->capacity ? bytes.len - l->capacity : 0;
    /* Publish `reach` before bytes are overwritten, so that readers discard them. */
    if (reach > l->capacity) {
        l->reach = reach > l->reach ? reach : l->reach;
        if (spool_write_head(l) != 0)
            return false;
    }
    if (spool_write_ring(l, before + skip, str_slice(bytes, (uint32_t)skip, bytes.len)) != 0)
        return false;
    l->total = reach;
    l->reach = reach > l->reach ? reach : l->reach;
    if (spool_write_head(l) == 0)
        return true;
    l->total = before;
    return false;
}

void spool_put_log(struct spool *s, struct str bytes)
{
    struct spool_log *l = &s->log;
    if (l->capacity <= 0) {
        l->lost += bytes.len;
        return;
    }
    if (l->fd < 0)
        l->fd = spool_create_file(s, "log");
    if (l->fd >= 0 && spool_try_log(l, bytes))
        return;
    spool_note_errno(s);
    if (l->fd < 0 || !spool_shrink_ring(l) || !spool_try_log(l, bytes))
        l->lost += bytes.len;
}

int64_t spool_log_size(const struct spool *s)
{
    const int64_t first = spool_oldest(s->log.reach, s->log.capacity);
    return first < s->log.total ? s->log.total - first : 0;
}

int64_t spool_log_dropped(const struct spool *s)
{
    return s->log.lost + s->log.total - spool_log_size(s);
}

/* ---- reading ---- */

static err spool_open_file(int state_dirfd, int64_t run_id, uint32_t attempt, const char *kind,
                           int *out_fd)
{
    char name[SPOOL_NAME_SIZE];
    spool_file_name(name, run_id, attempt, kind);
    *out_fd = openat(state_dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return *out_fd < 0 ? err_from_errno(errno) : OK;
}

static err spool_close_with(int fd, err e)
{
    const int first_errno = errno;
    ignore(close(fd), "it was only read");
    errno = first_errno;
    return e;
}

static err spool_empty_slice(struct spool_slice *slice)
{
    slice->offset = slice->total = slice->size = 0;
    return OK;
}

/* Limit the slice to the bytes from `first` to `total`. */
static void spool_set_range(struct spool_slice *slice, int64_t first, int64_t total)
{
    if (slice->offset < 0)
        slice->offset = slice->offset < -total ? 0 : total + slice->offset;
    if (slice->offset < first)
        slice->offset = first;
    if (slice->offset > total)
        slice->offset = total;
    if (slice->size > total - slice->offset)
        slice->size = (uint32_t)(total - slice->offset);
    slice->total = total;
}

err spool_read_out(int state_dirfd, int64_t run_id, uint32_t attempt, struct spool_slice *slice)
{
    struct stat st;
    int fd;
    const err e = spool_open_file(state_dirfd, run_id, attempt, "out", &fd);
    if (e != OK)
        return e == ERR_NOT_FOUND ? spool_empty_slice(slice) : e;
    if (fstat(fd, &st) != 0)
        return spool_close_with(fd, err_from_errno(errno));
    spool_set_range(slice, 0, st.st_size);
    const ssize_t n = spool_pread(fd, slice->at, slice->size, slice->offset);
    if (n < 0)
        return spool_close_with(fd, err_from_errno(errno));
    slice->size = (uint32_t)n;
    return spool_close_with(fd, OK);
}

/* ERR_NOT_FOUND: the first bytes are being written; the header follows them. */
static err spool_read_head(int fd, struct spool_log_head *out_head)
{
    for (int reads = 0; reads < HEAD_READS_MAX; reads++) {
        const ssize_t n = spool_pread(fd, (char *)out_head, sizeof *out_head, 0);
        if (n < 0)
            return err_from_errno(errno);
        if (n < (ssize_t)sizeof *out_head || out_head->magic == 0)
            return ERR_NOT_FOUND;
        if (out_head->magic == SPOOL_LOG_MAGIC &&
            out_head->checksum == spool_head_checksum(out_head))
            return OK;
    }
    errno = EIO;
    return ERR_CORRUPT;
}

static bool spool_read_ring(int fd, int64_t capacity, const struct spool_slice *slice)
{
    const int64_t at = slice->offset % capacity;
    const int64_t first = slice->size < capacity - at ? slice->size : capacity - at;
    if (spool_pread(fd, slice->at, (size_t)first, SPOOL_HEAD_SIZE + at) != first)
        return false;
    const int64_t rest = slice->size - first;
    return spool_pread(fd, slice->at + first, (size_t)rest, SPOOL_HEAD_SIZE) == rest;
}

err spool_read_log(int state_dirfd, int64_t run_id, uint32_t attempt, struct spool_slice *slice)
{
    struct spool_log_head before, after;
    int fd;
    err e = spool_open_file(state_dirfd, run_id, attempt, "log", &fd);
    if (e != OK)
        return e == ERR_NOT_FOUND ? spool_empty_slice(slice) : e;
    e = spool_read_head(fd, &before);
    if (e != OK)
        return spool_close_with(fd, e == ERR_NOT_FOUND ? spool_empty_slice(slice) : e);
    const int64_t first = spool_oldest(before.reach, before.capacity);
    spool_set_range(slice, first < before.total ? first : before.total, before.total);
    if (!spool_read_ring(fd, before.capacity, slice) || spool_read_head(fd, &after) != OK)
        return spool_close_with(fd, ERR_CORRUPT);
    if (after.capacity != before.capacity)
        slice->size = 0; /* the ring was shortened meanwhile: offsets have changed */
    /* Discard the bytes that were overwritten during the read. */
    const int64_t overwritten = spool_oldest(after.reach, after.capacity) - slice->offset;
    if (overwritten > 0) {
        const uint32_t drop = overwritten < slice->size ? (uint32_t)overwritten : slice->size;
        memmove(slice->at, slice->at + drop, slice->size - drop);
        slice->size -= drop;
        slice->offset += drop;
    }
    return spool_close_with(fd, OK);
}

/* ---- cleaning ---- */

void spool_remove(int state_dirfd, int64_t run_id, uint32_t attempt)
{
    char name[SPOOL_NAME_SIZE];
    spool_file_name(name, run_id, attempt, "out");
    ignore(unlinkat(state_dirfd, name, 0),
           "the file may not exist; a leftover is removed at the next start");
    spool_file_name(name, run_id, attempt, "log");
    ignore(unlinkat(state_dirfd, name, 0), "as above");
}

/* "12-3.log" */
static bool spool_parse_name(const char *name, int64_t *out_run_id, uint32_t *out_attempt)
{
    int64_t run_id, attempt;
    const struct str text = str_from(name);
    const uint32_t dash = str_find(text, '-', 0), dot = str_find(text, '.', 0);
    if (dash >= dot || !str_parse_i64(str_slice(text, 0, dash), &run_id) ||
        !str_parse_i64(str_slice(text, dash + 1, dot), &attempt) || attempt > UINT32_MAX)
        return false;
    *out_run_id = run_id;
    *out_attempt = (uint32_t)attempt;
    return true;
}

void spool_remove_unwanted(int state_dirfd, void *self,
                           bool (*is_wanted)(void *self, int64_t run_id, uint32_t attempt))
{
    const int fd = openat(state_dirfd, STATE_SPOOL, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            ignore(close(fd), "it was only opened");
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        int64_t run_id;
        uint32_t attempt;
        if (entry->d_name[0] == '.')
            continue;
        if (!spool_parse_name(entry->d_name, &run_id, &attempt) ||
            !is_wanted(self, run_id, attempt))
            ignore(unlinkat(fd, entry->d_name, 0), "it is tried again at the next start");
    }
    ignore(closedir(dir), "it was only read");
}
