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

/* Before the ring. `reach` is where the bytes being written will end: what lies a whole room
 * before it may be written over already. */
struct log_head {
    uint64_t mark;
    int64_t room;
    int64_t total;
    int64_t reach;
    uint64_t check; /* of all before it: a reader beside us may see half of a change */
};

#define LOG_MARK 0x31676f6c6c6c6168u /* "halllog1" */

enum { HEAD_SIZE = 64, NAME_SIZE = 64, ROOM_MIN = 4096, LOOKS = 1000 };

static void name_of(char out_name[NAME_SIZE], int64_t run_id, uint32_t attempt, const char *kind)
{
    snprintf(out_name, NAME_SIZE, PLACE_SPOOL "/%lld-%u.%s", (long long)run_id, attempt, kind);
}

/* Whole, or -1 with errno; what was written of a part is written again later. */
static int put_at(int fd, const char *at, int64_t len, int64_t offset)
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

static ssize_t get_at(int fd, char *at, size_t len, int64_t offset)
{
    ssize_t n;
    do {
        n = pread(fd, at, len, (off_t)offset);
    } while (n < 0 && errno == EINTR);
    return n;
}

static void note_trouble(struct spool *s)
{
    if (!s->number)
        s->number = errno;
}

static int make_file(struct spool *s, const char *kind)
{
    char name[NAME_SIZE];
    name_of(name, s->run_id, s->attempt, kind);
    return openat(s->place, name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
}

void spool_init(struct spool *s, int state_dirfd, int64_t run_id, uint32_t attempt)
{
    *s = (struct spool){.place = state_dirfd, .run_id = run_id, .attempt = attempt};
    s->out.fd = s->log.fd = -1;
}

void spool_limit(struct spool *s, int64_t out_max, int64_t log_max)
{
    s->out.max = out_max;
    s->log.room = log_max;
}

void spool_fini(struct spool *s)
{
    if (s->out.fd >= 0)
        ignore(close(s->out.fd), "what could not be written was noticed before");
    if (s->log.fd >= 0)
        ignore(close(s->log.fd), "what could not be written was noticed before");
    s->out.fd = s->log.fd = -1;
}

/* ---- the result: the first bytes ---- */

void spool_put_out(struct spool *s, struct str bytes)
{
    struct spool_out *o = &s->out;
    const int64_t room = o->dropped ? 0 : o->max - o->size; /* no holes: dropped once, dropped on */
    const int64_t len = bytes.len < room ? bytes.len : room;
    if (len > 0 && o->fd < 0)
        o->fd = make_file(s, "out");
    if (len > 0 && (o->fd < 0 || put_at(o->fd, bytes.at, len, o->size) != 0)) {
        note_trouble(s);
        o->dropped += bytes.len;
        if (o->fd >= 0)
            ignore(ftruncate(o->fd, (off_t)o->size), "its size is told beside it");
        return;
    }
    o->size += len;
    o->dropped += bytes.len - len;
}

/* ---- the log: the last bytes ---- */

static int64_t oldest(int64_t reach, int64_t room)
{
    return reach > room ? reach - room : 0;
}

static uint64_t check_of(const struct log_head *head)
{
    return hash64((struct str){(const char *)head, offsetof(struct log_head, check)}, 0);
}

static int put_head(const struct spool_log *l)
{
    char bytes[HEAD_SIZE] = {0};
    struct log_head head = {LOG_MARK, l->room, l->total, l->reach, 0};
    head.check = check_of(&head);
    memcpy(bytes, &head, sizeof head);
    return put_at(l->fd, bytes, HEAD_SIZE, 0);
}

/* At most a room of bytes, in one piece or around the end. */
static int put_ring(const struct spool_log *l, int64_t from, struct str bytes)
{
    const int64_t at = from % l->room;
    const int64_t first = bytes.len < l->room - at ? bytes.len : l->room - at;
    if (put_at(l->fd, bytes.at, first, HEAD_SIZE + at) != 0)
        return -1;
    return put_at(l->fd, bytes.at + first, bytes.len - first, HEAD_SIZE);
}

/* While the ring fills for the first time, byte N lies at N: it can be closed where the disk ended
 * and go round in the room it has. */
static bool close_early(struct spool_log *l)
{
    if (l->total < ROOM_MIN || l->total >= l->room || l->reach > l->room)
        return false;
    l->room = l->total;
    return true;
}

static bool try_put(struct spool_log *l, struct str bytes)
{
    const int64_t before = l->total, reach = before + bytes.len;
    /* The bytes before the last room of them would only be written over. */
    const int64_t skip = bytes.len > l->room ? bytes.len - l->room : 0;
    /* Only when something is written over must readers be warned before. */
    if (reach > l->room) {
        l->reach = reach > l->reach ? reach : l->reach;
        if (put_head(l) != 0)
            return false;
    }
    if (put_ring(l, before + skip, str_slice(bytes, (uint32_t)skip, bytes.len)) != 0)
        return false;
    l->total = reach;
    l->reach = reach > l->reach ? reach : l->reach;
    if (put_head(l) == 0)
        return true;
    l->total = before;
    return false;
}

void spool_put_log(struct spool *s, struct str bytes)
{
    struct spool_log *l = &s->log;
    if (l->room <= 0) {
        l->lost += bytes.len;
        return;
    }
    if (l->fd < 0)
        l->fd = make_file(s, "log");
    if (l->fd >= 0 && try_put(l, bytes))
        return;
    note_trouble(s);
    if (l->fd < 0 || !close_early(l) || !try_put(l, bytes))
        l->lost += bytes.len;
}

int64_t spool_log_size(const struct spool *s)
{
    const int64_t first = oldest(s->log.reach, s->log.room);
    return first < s->log.total ? s->log.total - first : 0;
}

int64_t spool_log_dropped(const struct spool *s)
{
    return s->log.lost + s->log.total - spool_log_size(s);
}

/* ---- reading ---- */

static err open_file(int state_dirfd, int64_t run_id, uint32_t attempt, const char *kind,
                     int *out_fd)
{
    char name[NAME_SIZE];
    name_of(name, run_id, attempt, kind);
    *out_fd = openat(state_dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return *out_fd < 0 ? err_from_errno(errno) : OK;
}

static err close_with(int fd, err e)
{
    const int number = errno;
    ignore(close(fd), "it was only read");
    errno = number;
    return e;
}

static err nothing(struct spool_slice *slice)
{
    slice->offset = slice->total = slice->size = 0;
    return OK;
}

/* From where, in bytes ever written: `first` is the oldest that can be had. */
static void begin_at(struct spool_slice *slice, int64_t first, int64_t total)
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
    struct stat facts;
    int fd;
    const err e = open_file(state_dirfd, run_id, attempt, "out", &fd);
    if (e != OK)
        return e == ERR_NOT_FOUND ? nothing(slice) : e;
    if (fstat(fd, &facts) != 0)
        return close_with(fd, err_from_errno(errno));
    begin_at(slice, 0, facts.st_size);
    const ssize_t n = get_at(fd, slice->at, slice->size, slice->offset);
    if (n < 0)
        return close_with(fd, err_from_errno(errno));
    slice->size = (uint32_t)n;
    return close_with(fd, OK);
}

/* ERR_NOT_FOUND: the first bytes are on the way, and their head comes behind them. */
static err read_head(int fd, struct log_head *out_head)
{
    for (int looks = 0; looks < LOOKS; looks++) {
        const ssize_t n = get_at(fd, (char *)out_head, sizeof *out_head, 0);
        if (n < 0)
            return err_from_errno(errno);
        if (n < (ssize_t)sizeof *out_head || out_head->mark == 0)
            return ERR_NOT_FOUND;
        if (out_head->mark == LOG_MARK && out_head->check == check_of(out_head))
            return OK;
    }
    errno = EIO;
    return ERR_CORRUPT;
}

static bool read_ring(int fd, int64_t room, const struct spool_slice *slice)
{
    const int64_t at = slice->offset % room;
    const int64_t first = slice->size < room - at ? slice->size : room - at;
    if (get_at(fd, slice->at, (size_t)first, HEAD_SIZE + at) != first)
        return false;
    const int64_t rest = slice->size - first;
    return get_at(fd, slice->at + first, (size_t)rest, HEAD_SIZE) == rest;
}

/* What was written over while we read goes; nothing but the end is left then. */
static void drop_overwritten(struct spool_slice *slice, int64_t first)
{
    const int64_t gone = first - slice->offset;
    if (gone <= 0)
        return;
    const uint32_t drop = gone < slice->size ? (uint32_t)gone : slice->size;
    memmove(slice->at, slice->at + drop, slice->size - drop);
    slice->size -= drop;
    slice->offset += drop;
}

err spool_read_log(int state_dirfd, int64_t run_id, uint32_t attempt, struct spool_slice *slice)
{
    struct log_head before, after;
    int fd;
    err e = open_file(state_dirfd, run_id, attempt, "log", &fd);
    if (e != OK)
        return e == ERR_NOT_FOUND ? nothing(slice) : e;
    e = read_head(fd, &before);
    if (e != OK)
        return close_with(fd, e == ERR_NOT_FOUND ? nothing(slice) : e);
    const int64_t first = oldest(before.reach, before.room);
    begin_at(slice, first < before.total ? first : before.total, before.total);
    if (!read_ring(fd, before.room, slice) || read_head(fd, &after) != OK)
        return close_with(fd, ERR_CORRUPT);
    if (after.room != before.room)
        slice->size = 0; /* it was just closed early: what lies where has changed */
    drop_overwritten(slice, oldest(after.reach, after.room));
    return close_with(fd, OK);
}

/* ---- cleaning ---- */

void spool_remove(int state_dirfd, int64_t run_id, uint32_t attempt)
{
    char name[NAME_SIZE];
    name_of(name, run_id, attempt, "out");
    ignore(unlinkat(state_dirfd, name, 0),
           "some write only one of them; leftovers go at the next start");
    name_of(name, run_id, attempt, "log");
    ignore(unlinkat(state_dirfd, name, 0), "as above");
}

/* "12-3.log" */
static bool parse_name(const char *name, int64_t *out_run_id, uint32_t *out_attempt)
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

void spool_sweep(int state_dirfd, void *self,
                 bool (*is_wanted)(void *self, int64_t run_id, uint32_t attempt))
{
    const int fd = openat(state_dirfd, PLACE_SPOOL, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        if (fd >= 0)
            ignore(close(fd), "it was only opened");
        return;
    }
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        int64_t run_id;
        uint32_t attempt;
        if (entry->d_name[0] == '.')
            continue;
        if (!parse_name(entry->d_name, &run_id, &attempt) || !is_wanted(self, run_id, attempt))
            ignore(unlinkat(fd, entry->d_name, 0), "then it lies there until the next start");
    }
    ignore(closedir(folder), "it was only read");
}
