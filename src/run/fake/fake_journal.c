#include "run/fake/fake_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash/hash.h"
#include "base/mem/arena.h"
#include "base/text/buf.h"
#include "base/text/str.h"
#include "sys/files.h"
#include "sys/log.h"

/* Owns a text file with O_APPEND and a hash table of all its entries. A line is written before its
 * entry is changed, completely or not at all: after a short write the file is truncated to its old
 * size. Cutting writes a new file and renames it over the old one; started runs without an end are
 * kept, because they would be started a second time otherwise.
 *
 * Failure: a journal that cannot be opened or cut is refused with errno. Lines that cannot be
 * parsed are ignored with a warning. */

/* slots of the hash table, and bytes of a line with its newline, at most */
enum { SLOTS_INITIAL = 256, LINE_SIZE = 96 };

struct entry {
    int64_t run_id; /* 0: empty slot */
    int64_t noderole_id;
    uint32_t attempt;
    bool done;
};

struct fake_journal {
    int fd;
    int64_t size;        /* bytes, up to the last complete line */
    struct entry *slots; /* open addressing; their number is a power of two */
    uint32_t slot_count;
    uint32_t entry_count;
};

/* ---- hash table ---- */

static struct entry *fake_journal_slot(struct entry *slots, uint32_t count, int64_t run_id,
                                       uint32_t attempt)
{
    const int64_t key[2] = {run_id, attempt};
    const struct str bytes = {(const char *)key, sizeof key};
    uint32_t at = (uint32_t)hash64(bytes, 0) & (count - 1);
    while (slots[at].run_id && (slots[at].run_id != run_id || slots[at].attempt != attempt))
        at = (at + 1) & (count - 1);
    return &slots[at];
}

static void fake_journal_grow(struct fake_journal *j)
{
    const uint32_t count = j->slot_count ? j->slot_count * 2 : SLOTS_INITIAL;
    struct entry *slots = calloc(count, sizeof *slots);
    must(slots);
    for (uint32_t i = 0; i < j->slot_count; i++)
        if (j->slots[i].run_id)
            *fake_journal_slot(slots, count, j->slots[i].run_id, j->slots[i].attempt) = j->slots[i];
    free(j->slots);
    j->slots = slots;
    j->slot_count = count;
}

static struct entry *fake_journal_entry(struct fake_journal *j, int64_t run_id, uint32_t attempt)
{
    if (j->entry_count >= j->slot_count / 2)
        fake_journal_grow(j);
    struct entry *e = fake_journal_slot(j->slots, j->slot_count, run_id, attempt);
    if (!e->run_id) {
        *e = (struct entry){.run_id = run_id, .attempt = attempt};
        j->entry_count++;
    }
    return e;
}

enum fake_journal_state fake_journal_find(const struct fake_journal *j, int64_t run_id,
                                          uint32_t attempt)
{
    if (!j->slot_count)
        return FAKE_JOURNAL_UNKNOWN;
    const struct entry *e = fake_journal_slot(j->slots, j->slot_count, run_id, attempt);
    return !e->run_id ? FAKE_JOURNAL_UNKNOWN : e->done ? FAKE_JOURNAL_DONE : FAKE_JOURNAL_STARTED;
}

/* ---- reading ---- */

/* The next word of a line; empty at its end. */
static struct str fake_journal_word(struct str line, uint32_t *at)
{
    const uint32_t from = *at, to = str_find(line, ' ', from);
    *at = to < line.len ? to + 1 : to;
    return str_slice(line, from, to);
}

static bool fake_journal_apply_line(struct fake_journal *j, struct str line)
{
    uint32_t at = 0;
    int64_t run_id, attempt, noderole_id = 0;
    const struct str verb = fake_journal_word(line, &at);
    const bool start = str_eq(verb, STR("start"));
    if (!start && !str_eq(verb, STR("done")))
        return false;
    if (!str_parse_i64(fake_journal_word(line, &at), &run_id) || run_id == 0 ||
        !str_parse_i64(fake_journal_word(line, &at), &attempt) || attempt > UINT32_MAX)
        return false;
    if (start && !str_parse_i64(fake_journal_word(line, &at), &noderole_id))
        return false;
    if (at != line.len)
        return false;
    struct entry *e = fake_journal_entry(j, run_id, (uint32_t)attempt);
    if (start)
        e->noderole_id = noderole_id;
    else
        e->done = true;
    return true;
}

/* Apply all complete lines; returns the offset behind the last one. */
static int64_t fake_journal_apply_lines(struct fake_journal *j, const char *bytes, int64_t size)
{
    int64_t from = 0, unreadable = 0;
    for (int64_t i = 0; i < size; i++) {
        if (bytes[i] != '\n')
            continue;
        const int64_t len = i - from;
        if (len >= LINE_SIZE ||
            !fake_journal_apply_line(j, (struct str){bytes + from, (uint32_t)len}))
            unreadable++;
        from = i + 1;
    }
    if (unreadable)
        log_with(LOG_WARNING, LOG_FIELDS(LOG_I64("lines", unreadable)),
                 "ignoring unreadable lines in the journal of the test jig; their runs may be "
                 "started again");
    return from;
}

/* ---- cutting ---- */

static err fake_journal_cut(const struct fake_journal *j, const char *path, const char *bytes,
                            int64_t size)
{
    struct arena arena = {0};
    struct buf out = buf_in(&arena);
    char line[LINE_SIZE];
    /* Runs without an end must stay known: they would be started a second time. */
    for (uint32_t i = 0; i < j->slot_count; i++) {
        const struct entry *entry = &j->slots[i];
        if (!entry->run_id || entry->done)
            continue;
        const int n = snprintf(line, sizeof line, "start %lld %u %lld\n", (long long)entry->run_id,
                               entry->attempt, (long long)entry->noderole_id);
        buf_put(&out, line, (uint32_t)n);
    }
    /* Keep the second half, from the beginning of a line on. */
    int64_t from = size / 2;
    while (from < size && bytes[from - 1] != '\n')
        from++;
    buf_put(&out, bytes + from, (uint32_t)(size - from));
    const err e = file_write(path, buf_str(&out), 0600);
    const int error = errno;
    arena_fini(&arena);
    errno = error;
    return e;
}

/* ---- opening ---- */

static err fake_journal_load(struct fake_journal *j, const char *path, int64_t size_max,
                             bool *out_cut)
{
    struct stat st;
    if (fstat(j->fd, &st) != 0)
        return err_from_errno(errno);
    *out_cut = false;
    if (st.st_size == 0)
        return OK;
    const size_t size = (size_t)st.st_size;
    const char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, j->fd, 0);
    if (bytes == MAP_FAILED)
        return err_from_errno(errno);
    j->size = fake_journal_apply_lines(j, bytes, st.st_size);
    err e = OK;
    if (j->size > size_max && j->size / 2 < (int64_t)UINT32_MAX / 4) {
        e = fake_journal_cut(j, path, bytes, j->size);
        *out_cut = true;
    } else if (j->size < st.st_size && ftruncate(j->fd, j->size) != 0) {
        e = err_from_errno(errno);
    }
    const int error = errno;
    ignore(munmap((void *)(uintptr_t)bytes, size), "it was mapped above");
    errno = error;
    return e;
}

static err fake_journal_open_file(struct fake_journal *j, const char *path)
{
    struct stat st;
    /* O_NOFOLLOW: the file is written to, so a symbolic link is refused. O_NONBLOCK: a FIFO must
     * not block the open, and is refused below. */
    j->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (j->fd < 0 || fstat(j->fd, &st) != 0)
        return err_from_errno(errno);
    if (S_ISREG(st.st_mode))
        return OK;
    errno = ENOTSUP;
    return err_from_errno(errno);
}

static void fake_journal_reset(struct fake_journal *j)
{
    if (j->fd >= 0)
        ignore(close(j->fd), "all that must be durable was synced");
    free(j->slots);
    *j = (struct fake_journal){.fd = -1};
}

static err fake_journal_open_and_load(struct fake_journal *j, const char *path, int64_t size_max)
{
    bool was_cut = false;
    err e = fake_journal_open_file(j, path);
    if (e == OK)
        e = fake_journal_load(j, path, size_max, &was_cut);
    if (e != OK || !was_cut)
        return e;
    /* The path refers to the new file now. */
    fake_journal_reset(j);
    e = fake_journal_open_file(j, path);
    return e == OK ? fake_journal_load(j, path, INT64_MAX, &was_cut) : e;
}

err fake_journal_open(const char *path, int64_t size_max, struct fake_journal **out_journal)
{
    struct fake_journal *j = malloc(sizeof *j);
    must(j);
    *j = (struct fake_journal){.fd = -1};
    const err e = fake_journal_open_and_load(j, path, size_max);
    if (e == OK) {
        *out_journal = j;
        return OK;
    }
    const int error = errno;
    fake_journal_close(j);
    errno = error;
    return e;
}

void fake_journal_close(struct fake_journal *j)
{
    if (!j)
        return;
    fake_journal_reset(j);
    free(j);
}

/* ---- writing ---- */

/* Append a complete line or nothing: half a line would corrupt the next one. */
static err fake_journal_append(struct fake_journal *j, const char *line, int len)
{
    ssize_t n;
    do {
        n = write(j->fd, line, (size_t)len);
    } while (n < 0 && errno == EINTR);
    if (n == len) {
        j->size += len;
        return OK;
    }
    const int error = n < 0 ? errno : ENOSPC;
    ignore(ftruncate(j->fd, j->size), "the reader ignores an incomplete line");
    errno = error;
    return err_from_errno(error);
}

err fake_journal_start(struct fake_journal *j, int64_t run_id, uint32_t attempt,
                       int64_t noderole_id)
{
    char line[LINE_SIZE];
    const int len = snprintf(line, sizeof line, "start %lld %u %lld\n", (long long)run_id, attempt,
                             (long long)noderole_id);
    const err e = fake_journal_append(j, line, len);
    if (e == OK)
        fake_journal_entry(j, run_id, attempt)->noderole_id = noderole_id;
    return e;
}

err fake_journal_done(struct fake_journal *j, int64_t run_id, uint32_t attempt)
{
    char line[LINE_SIZE];
    const int len = snprintf(line, sizeof line, "done %lld %u\n", (long long)run_id, attempt);
    const err e = fake_journal_append(j, line, len);
    if (e == OK)
        fake_journal_entry(j, run_id, attempt)->done = true;
    return e;
}

err fake_journal_sync(struct fake_journal *j)
{
    return fdatasync(j->fd) == 0 ? OK : err_from_errno(errno);
}
