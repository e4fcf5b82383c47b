/* run_logs.c - stored logs of ended runs: logs/NODEROLE/ATTEMPT.log.
 *
 * The first line names the run and the number of bytes dropped before the following ones, so that a
 * byte has the same offset here as in the spool. A file is written under a temporary name and
 * renamed, so readers never see a part of it; it is not synced. Old logs are removed by number and
 * by age whenever one is stored, and once an hour for all noderoles. A log that cannot be stored is
 * reported in the log of the daemon; the result of the run does not depend on it. */
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

enum {
    KEEP_RUNS = 10, /* default number of logs per noderole */
    HEAD_MAX = 128, /* bytes of the first line */
    PATH_SIZE = 96, /* bytes of a path below the data directory */
};

#define LOG_HEAD_FORMAT                                                                            \
    "halligan run %" PRId64 " attempt %" PRIu32 ", %" PRIu64 " bytes before this are gone\n"

/* ---- paths ---- */

/* The path of a file, or, with `attempt` 0, of the directory. */
static const char *logs_path(struct arena *a, const struct runner *r, int64_t noderole_id,
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

/* The attempt of "12.log"; 0: another name. */
static uint32_t logs_parse_name(const char *name)
{
    int64_t attempt;
    const struct str text = str_from(name);
    const uint32_t dot = str_find(text, '.', 0);
    if (!str_eq(str_slice(text, dot, text.len), STR(".log")) ||
        !str_parse_i64(str_slice(text, 0, dot), &attempt) || attempt > UINT32_MAX)
        return 0;
    return (uint32_t)attempt;
}

/* ---- removal of old logs ---- */

static int logs_compare_attempts(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t logs_list(DIR *entries, struct arena *a, uint32_t **out_attempts)
{
    uint32_t count = 0, cap = 0, *attempts = NULL;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        const uint32_t attempt = logs_parse_name(entry->d_name);
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
        qsort(attempts, count, sizeof *attempts, logs_compare_attempts);
    *out_attempts = attempts;
    return count;
}

static bool logs_is_too_old(const struct runner *r, int folder, const char *name, int64_t now_ms)
{
    struct stat st;
    if (r->setup.keep_ms == 0 || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    return (int64_t)st.st_mtim.tv_sec * 1000 + r->setup.keep_ms < now_ms;
}

static void logs_prune(const struct runner *r, struct arena *a, const char *folder,
                       uint32_t keep_runs, int64_t now_ms)
{
    DIR *entries = opendir(folder);
    uint32_t *attempts;
    const uint32_t keep = keep_runs ? keep_runs : KEEP_RUNS;
    if (!entries)
        return;
    const uint32_t count = logs_list(entries, a, &attempts);
    for (uint32_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%" PRIu32 ".log", attempts[i]);
        if (keep < count - i || logs_is_too_old(r, dirfd(entries), name, now_ms))
            ignore(unlinkat(dirfd(entries), name, 0), "it is tried again with the next log");
    }
    ignore(closedir(entries), "it was only read");
}

void logs_prune_all(const struct runner *r, struct arena *a, uint32_t keep_runs, int64_t now_ms)
{
    const size_t size = strlen(r->setup.data) + PATH_SIZE;
    char *path = arena_alloc(a, size);
    snprintf(path, size, "%s/logs", r->setup.data);
    DIR *entries = opendir(path);
    if (!entries)
        return;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        int64_t noderole_id;
        if (!str_parse_i64(str_from(entry->d_name), &noderole_id))
            continue;
        const struct arena_mark mark = arena_mark(a);
        const char *folder = logs_path(a, r, noderole_id, 0);
        logs_prune(r, a, folder, keep_runs, now_ms);
        ignore(rmdir(folder), "usually it is not empty");
        arena_rewind(a, mark);
    }
    ignore(closedir(entries), "it was only read");
}

/* ---- writing ---- */

static bool logs_write_file(struct arena *a, const char *path, const struct run_log_key *of,
                            struct str log, uint64_t dropped)
{
    struct buf bytes = buf_in(a);
    char head[HEAD_MAX];
    snprintf(head, sizeof head, LOG_HEAD_FORMAT, of->run_id, of->attempt, dropped);
    buf_put_z(&bytes, head);
    buf_put_str(&bytes, log);
    const char *part = str_z(a, STR_CONCAT(a, str_from(path), STR(".part")));
    return files_write(part, buf_str(&bytes)) == OK && rename(part, path) == 0;
}

void logs_store(const struct runner *r, struct arena *a, const struct run_log_key *of,
                struct str log, uint64_t dropped)
{
    const char *folder = logs_path(a, r, of->noderole_id, 0);
    const char *path = logs_path(a, r, of->noderole_id, of->attempt);
    const bool is_made = mkdir(folder, 0700) == 0 || errno == EEXIST;
    /* The maintenance thread may remove the empty directory before the file is created: try once
     * more. */
    if (!is_made || (!logs_write_file(a, path, of, log, dropped) &&
                     (mkdir(folder, 0700) != 0 || !logs_write_file(a, path, of, log, dropped))))
        log_with(LOG_WARNING,
                 LOG_FIELDS(LOG_I64("run", of->run_id), LOG_I64("attempt", of->attempt)),
                 "cannot store the log of a run: %s", strerror(errno));
    logs_prune(r, a, folder, of->keep_runs, of->now_ms);
}

/* ---- reading ---- */

/* Parse the first line; *out_at is the offset of the log in the file. */
static err logs_read_head(int fd, const struct run_log_key *of, uint64_t *out_dropped,
                          int64_t *out_at)
{
    char head[HEAD_MAX] = {0};
    int64_t run_id;
    uint32_t attempt;
    const ssize_t n = pread(fd, head, sizeof head - 1, 0);
    if (n < 0)
        return err_from_errno(errno);
    const char *end = memchr(head, '\n', (size_t)n);
    if (!end || sscanf(head, LOG_HEAD_FORMAT, &run_id, &attempt, out_dropped) != 3)
        return ERR_CORRUPT;
    *out_at = end + 1 - head;
    return run_id == of->run_id && attempt == of->attempt ? OK : ERR_NOT_FOUND;
}

static err logs_read_bytes(int fd, int64_t at, int64_t dropped, struct runner_log *log)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_from_errno(errno);
    const int64_t total = dropped + (st.st_size > at ? st.st_size - at : 0);
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

err logs_read(const struct runner *r, const struct run_log_key *of, struct runner_log *log)
{
    struct arena arena = {0};
    uint64_t dropped = 0;
    int64_t at = 0;
    const int fd = open(logs_path(&arena, r, of->noderole_id, of->attempt),
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int error = errno;
    arena_fini(&arena);
    errno = error;
    if (fd < 0)
        return err_from_errno(errno);
    err e = logs_read_head(fd, of, &dropped, &at);
    if (e == OK)
        e = logs_read_bytes(fd, at, (int64_t)dropped, log);
    error = errno;
    ignore(close(fd), "it was only read");
    errno = error;
    return e;
}
