/* run_logs.c - what runs said, kept after them: logs/NODEROLE/ATTEMPT.log.
 *
 * The first line says whose it is and how many bytes before the others are not kept, so that a byte
 * has the same number here as it had in the spool. A file appears whole.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/runner/runner_private.h"
#include "sys/files.h"
#include "sys/log.h"

enum { KEEP_RUNS = 10, HEAD_MAX = 128, PATH_SIZE = 96 };

#define HEAD                                                                                       \
    "halligan run %" PRId64 " attempt %" PRIu32 ", %" PRIu64 " bytes before this are gone\n"

/* ---- names ---- */

/* The path of a file, or, with `attempt` 0, of the directory. */
static const char *path_of(struct arena *a, const struct runner *r, int64_t noderole_id,
                           uint32_t attempt)
{
    const size_t size = strlen(r->setup.data) + PATH_SIZE;
    char *at = arena_alloc(a, size);
    if (attempt)
        snprintf(at, size, "%s/logs/%" PRId64 "/%" PRIu32 ".log", r->setup.data, noderole_id,
                 attempt);
    else
        snprintf(at, size, "%s/logs/%" PRId64, r->setup.data, noderole_id);
    return at;
}

/* "12.log", or 0. */
static uint32_t attempt_of(const char *name)
{
    int64_t attempt;
    const struct str text = str_from(name);
    const uint32_t dot = str_find(text, '.', 0);
    if (!str_eq(str_slice(text, dot, text.len), STR(".log")) ||
        !str_parse_i64(str_slice(text, 0, dot), &attempt) || attempt > UINT32_MAX)
        return 0;
    return (uint32_t)attempt;
}

/* ---- keeping no more than wanted ---- */

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t list(DIR *listing, struct arena *a, uint32_t **out_attempts)
{
    uint32_t count = 0, cap = 0, *attempts = NULL;
    for (const struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        const uint32_t attempt = attempt_of(entry->d_name);
        if (!attempt)
            continue;
        if (count == cap) {
            cap = cap ? cap * 2 : 32;
            uint32_t *more = arena_array(a, uint32_t, cap);
            if (count)
                memcpy(more, attempts, sizeof *more * count);
            attempts = more;
        }
        attempts[count++] = attempt;
    }
    if (count)
        qsort(attempts, count, sizeof *attempts, by_number);
    *out_attempts = attempts;
    return count;
}

static bool is_too_old(const struct runner *r, int folder, const char *name, int64_t now_ms)
{
    struct stat facts;
    if (r->setup.keep_ms == 0 || fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    return (int64_t)facts.st_mtim.tv_sec * 1000 + r->setup.keep_ms < now_ms;
}

static void prune(const struct runner *r, struct arena *a, const char *folder, uint32_t keep_runs,
                  int64_t now_ms)
{
    DIR *listing = opendir(folder);
    uint32_t *attempts;
    const uint32_t keep = keep_runs ? keep_runs : KEEP_RUNS;
    if (!listing)
        return;
    const uint32_t count = list(listing, a, &attempts);
    for (uint32_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%" PRIu32 ".log", attempts[i]);
        if (keep < count - i || is_too_old(r, dirfd(listing), name, now_ms))
            ignore(unlinkat(dirfd(listing), name, 0), "the next one kept tries again");
    }
    ignore(closedir(listing), "it was only read");
}

void logs_prune_all(const struct runner *r, struct arena *a, uint32_t keep_runs, int64_t now_ms)
{
    const size_t size = strlen(r->setup.data) + PATH_SIZE;
    char *path = arena_alloc(a, size);
    snprintf(path, size, "%s/logs", r->setup.data);
    DIR *listing = opendir(path);
    if (!listing)
        return;
    for (const struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        int64_t noderole_id;
        if (!str_parse_i64(str_from(entry->d_name), &noderole_id))
            continue;
        const struct arena_mark mark = arena_mark(a);
        const char *folder = path_of(a, r, noderole_id, 0);
        prune(r, a, folder, keep_runs, now_ms);
        ignore(rmdir(folder), "mostly something is left in it");
        arena_rewind(a, mark);
    }
    ignore(closedir(listing), "it was only read");
}

/* ---- writing ---- */

static bool write_file(struct arena *a, const char *path, const struct log_of *of, struct str log,
                       uint64_t dropped)
{
    struct buf bytes = buf_in(a);
    char head[HEAD_MAX];
    snprintf(head, sizeof head, HEAD, of->run_id, of->attempt, dropped);
    buf_put_z(&bytes, head);
    buf_put_str(&bytes, log);
    const char *part = str_z(a, STR_CONCAT(a, str_from(path), STR(".part")));
    return files_write(part, buf_str(&bytes)) == OK && rename(part, path) == 0;
}

void logs_keep(const struct runner *r, struct arena *a, const struct log_of *of, struct str log,
               uint64_t dropped)
{
    const char *folder = path_of(a, r, of->noderole_id, 0);
    const char *path = path_of(a, r, of->noderole_id, of->attempt);
    const bool is_made = mkdir(folder, 0700) == 0 || errno == EEXIST;
    /* A sweep may take the directory away before there is something in it. */
    if (!is_made || (!write_file(a, path, of, log, dropped) &&
                     (mkdir(folder, 0700) != 0 || !write_file(a, path, of, log, dropped))))
        log_with(LOG_WARNING,
                 LOG_FIELDS(LOG_I64("run", of->run_id), LOG_I64("attempt", of->attempt)),
                 "the log of a run cannot be kept: %s", strerror(errno));
    prune(r, a, folder, of->keep_runs, of->now_ms);
}

/* ---- reading ---- */

static err close_with(int fd, err e)
{
    const int number = errno;
    ignore(close(fd), "it was only read");
    errno = number;
    return e;
}

/* Where the log begins in its file. */
static err read_head(int fd, const struct log_of *of, uint64_t *out_dropped, int64_t *out_at)
{
    char head[HEAD_MAX] = {0};
    int64_t run_id;
    uint32_t attempt;
    const ssize_t n = pread(fd, head, sizeof head - 1, 0);
    if (n < 0)
        return err_from_errno(errno);
    const char *end = memchr(head, '\n', (size_t)n);
    if (!end || sscanf(head, HEAD, &run_id, &attempt, out_dropped) != 3)
        return ERR_CORRUPT;
    *out_at = end + 1 - head;
    return run_id == of->run_id && attempt == of->attempt ? OK : ERR_NOT_FOUND;
}

static err read_bytes(int fd, int64_t at, int64_t dropped, struct runner_log *log)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return err_from_errno(errno);
    const int64_t total = dropped + (facts.st_size > at ? facts.st_size - at : 0);
    int64_t offset = log->offset;
    if (offset < 0)
        offset = offset < -total ? 0 : total + offset;
    if (offset < dropped)
        offset = dropped;
    if (offset > total)
        offset = total;
    const ssize_t n = pread(fd, log->at, log->size, (off_t)(at + offset - dropped));
    if (n < 0)
        return err_from_errno(errno);
    log->offset = offset;
    log->size = (uint32_t)n;
    log->total = total;
    log->is_over = true;
    return OK;
}

err logs_read(const struct runner *r, const struct log_of *of, struct runner_log *log)
{
    struct arena arena = {0};
    uint64_t dropped = 0;
    int64_t at = 0;
    const int fd = open(path_of(&arena, r, of->noderole_id, of->attempt),
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const int number = errno;
    arena_fini(&arena);
    errno = number;
    if (fd < 0)
        return err_from_errno(errno);
    err e = read_head(fd, of, &dropped, &at);
    if (e == OK)
        e = read_bytes(fd, at, (int64_t)dropped, log);
    return close_with(fd, e);
}
