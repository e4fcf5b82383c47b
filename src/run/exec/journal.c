#define _GNU_SOURCE /* O_NOFOLLOW and renameat in one sight */
#include "run/exec/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash/hash.h"
#include "run/exec/state_dir.h"
#include "sys/clock.h"
#include "sys/files.h"
#include "sys/log.h"

enum {
    BUCKETS_FIRST = 1024,
    LENGTH_SIZE = 4,
    SUM_SIZE = 4,
    WASTE_MIN = 1 << 20, /* a smaller file is not worth writing anew */
    RECORD_ROOM = 64,    /* what an entry takes in the file, about */
    BODY_MAX = 1024,     /* of any record we write */
};

#define HEAD_FORM "halligan-exec journal 1 boot=%36s token=%16s\n"
#define HEAD_SIZE 89u /* of the first line */
#define NO_BOOT   "00000000-0000-0000-0000-000000000000"

struct exec_journal {
    int place;
    int fd;
    int64_t size;
    bool is_broken; /* half a record does not go, or the name is that of another file */
    char boot_now[EXEC_BOOT_ID_SIZE];
    char boot[EXEC_BOOT_ID_SIZE]; /* that of the file */
    char token[EXEC_TOKEN_SIZE];
    int64_t epoch;
    struct exec_entry **buckets;
    uint32_t bucket_count; /* a power of two */
    uint32_t entry_count;
    uint32_t unsaved_count;
    uint32_t died_count;
};

err exec_boot_id(char out_id[EXEC_BOOT_ID_SIZE])
{
    char line[EXEC_BOOT_ID_SIZE] = "";
    /* procfs says 0 bytes of its files, so file_read would not do. */
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    const bool got = file && fgets(line, sizeof line, file);
    if (file)
        ignore(fclose(file), "it was only read");
    if (!got || strlen(line) != EXEC_BOOT_ID_SIZE - 1)
        return ERR_IO;
    memcpy(out_id, line, EXEC_BOOT_ID_SIZE);
    return OK;
}

/* ---- the entries ---- */

static struct exec_entry **place_of(const struct exec_journal *j, int64_t run_id, uint32_t attempt)
{
    const int64_t key[2] = {run_id, attempt};
    const struct str bytes = {(const char *)key, sizeof key};
    struct exec_entry **at = &j->buckets[(uint32_t)hash64(bytes, 0) & (j->bucket_count - 1)];
    while (*at && ((*at)->begun.run_id != run_id || (*at)->begun.attempt != attempt))
        at = &(*at)->next;
    return at;
}

static void grow(struct exec_journal *j)
{
    struct exec_entry **old = j->buckets;
    const uint32_t count = j->bucket_count;
    j->bucket_count = count ? count * 2 : BUCKETS_FIRST;
    j->buckets = calloc(j->bucket_count, sizeof(struct exec_entry *));
    must(j->buckets);
    for (uint32_t i = 0; i < count; i++)
        for (struct exec_entry *e = old[i], *next; e; e = next) {
            struct exec_entry **at = place_of(j, e->begun.run_id, e->begun.attempt);
            next = e->next;
            e->next = *at;
            *at = e;
        }
    free(old);
}

static struct exec_entry *add_entry(struct exec_journal *j, int64_t run_id, uint32_t attempt)
{
    struct exec_entry **at = place_of(j, run_id, attempt);
    if (*at)
        return *at;
    if (j->entry_count >= j->bucket_count) {
        grow(j);
        at = place_of(j, run_id, attempt);
    }
    struct exec_entry *e = calloc(1, sizeof *e);
    must(e);
    e->begun = (struct exec_begun){.run_id = run_id, .attempt = attempt};
    e->next = *at;
    *at = e;
    j->entry_count++;
    return e;
}

static void free_entry(struct exec_entry *e)
{
    free((void *)(uintptr_t)e->ended.reason.at);
    free(e);
}

static void remove_entry(struct exec_journal *j, int64_t run_id, uint32_t attempt)
{
    struct exec_entry **at = place_of(j, run_id, attempt);
    struct exec_entry *e = *at;
    if (!e)
        return;
    *at = e->next;
    j->entry_count--;
    j->unsaved_count -= e->is_ended && !e->is_saved;
    free_entry(e);
}

static void set_end(struct exec_entry *e, const struct exec_ended *ended, bool is_saved)
{
    char *reason = NULL;
    if (ended->reason.len) {
        reason = malloc(ended->reason.len);
        must(reason);
        memcpy(reason, ended->reason.at, ended->reason.len);
    }
    e->ended = *ended;
    e->ended.reason = (struct str){reason, ended->reason.len};
    e->is_ended = true;
    e->is_saved = is_saved;
}

const struct exec_entry *exec_journal_find(const struct exec_journal *j, int64_t run_id,
                                           uint32_t attempt)
{
    return *place_of(j, run_id, attempt);
}

void exec_journal_each(const struct exec_journal *j, void *self,
                       void (*visit)(void *self, const struct exec_entry *entry))
{
    for (uint32_t i = 0; i < j->bucket_count; i++)
        for (const struct exec_entry *e = j->buckets[i]; e; e = e->next)
            visit(self, e);
}

/* ---- records ---- */

static uint32_t sum_of(const struct exec_journal *j, struct str body)
{
    /* Seeded by the token: what is left of another file reads as nothing. */
    return (uint32_t)hash64(body, hash64(str_from(j->token), 0));
}

static void put_record(const struct exec_journal *j, const struct exec_message *m, struct buf *out)
{
    const uint32_t before = out->len;
    must(exec_encode(m, out) == OK);
    const struct str body = {out->at + before + LENGTH_SIZE, out->len - before - LENGTH_SIZE};
    must(body.len <= BODY_MAX);
    const uint32_t sum = sum_of(j, body);
    buf_put(out, &sum, SUM_SIZE);
}

/* Whole or not at all: half a record would hide all that follow. */
static err append(struct exec_journal *j, const struct exec_message *m)
{
    struct arena arena = {0};
    struct buf record = buf_in(&arena);
    ssize_t n = -1;
    put_record(j, m, &record);
    const ssize_t len = (ssize_t)record.len;
    errno = EIO;
    if (!j->is_broken)
        do {
            n = write(j->fd, record.at, record.len);
        } while (n < 0 && errno == EINTR);
    const int number = n < 0 ? errno : ENOSPC;
    arena_fini(&arena);
    if (n == len) {
        j->size += len;
        return OK;
    }
    if (n > 0)
        j->is_broken = ftruncate(j->fd, j->size) != 0;
    errno = number;
    return err_from_errno(number);
}

static void take_record(struct exec_journal *j, const struct exec_message *m)
{
    struct exec_entry *e;
    switch (m->kind) {
    case EXEC_HELLO:
        if (m->hello.epoch > j->epoch)
            j->epoch = m->hello.epoch;
        return;
    case EXEC_BEGUN: add_entry(j, m->begun.run_id, m->begun.attempt); return;
    case EXEC_ENDED:
        e = add_entry(j, m->ended.run_id, m->ended.attempt);
        if (!e->is_ended)
            set_end(e, &m->ended, true);
        return;
    case EXEC_FORGET: remove_entry(j, m->run.run_id, m->run.attempt); return;
    case EXEC_NOTHING:
    case EXEC_SPAWN:
    case EXEC_CANCEL:
    case EXEC_QUERY:
    case EXEC_SETTLED:
    case EXEC_BYE:
    case EXEC_WELCOME:
    case EXEC_NOT_KNOWN:
    case EXEC_FENCED:
    case EXEC_LIST:
    case EXEC_KIND_END: break; /* nobody writes those */
    }
}

/* Takes in the records and says where the last whole one ends. *out_torn: what follows is the
 * beginning of a record and nothing else, as a death in the middle of a write leaves it. */
static int64_t take_records(struct exec_journal *j, const char *bytes, int64_t size, bool *out_torn)
{
    int64_t at = HEAD_SIZE;
    *out_torn = true;
    while (size - at >= LENGTH_SIZE) {
        struct exec_message m;
        uint32_t len, sum;
        memcpy(&len, bytes + at, sizeof len);
        if (len == 0 || len > BODY_MAX) {
            *out_torn = false;
            break;
        }
        if (size - at < (int64_t)len + LENGTH_SIZE + SUM_SIZE)
            break;
        const struct str body = {bytes + at + LENGTH_SIZE, len};
        memcpy(&sum, body.at + len, sizeof sum);
        if (sum != sum_of(j, body) || exec_decode(body, &m) != OK) {
            *out_torn = false;
            break;
        }
        take_record(j, &m);
        at += (int64_t)len + LENGTH_SIZE + SUM_SIZE;
    }
    return at;
}

/* ---- writing it anew ---- */

static void put_entries(const struct exec_journal *j, struct buf *out)
{
    put_record(j, &(struct exec_message){.kind = EXEC_HELLO, .hello = {.epoch = j->epoch}}, out);
    for (uint32_t i = 0; i < j->bucket_count; i++)
        for (const struct exec_entry *e = j->buckets[i]; e; e = e->next) {
            struct exec_message m = {.kind = EXEC_BEGUN, .begun = e->begun};
            m.begun.pid = 0;
            put_record(j, &m, out);
            if (e->is_ended)
                put_record(j, &(struct exec_message){.kind = EXEC_ENDED, .ended = e->ended}, out);
        }
}

static void all_saved(struct exec_journal *j)
{
    for (uint32_t i = 0; i < j->bucket_count; i++)
        for (struct exec_entry *e = j->buckets[i]; e; e = e->next)
            e->is_saved = e->is_ended;
    j->unsaved_count = 0;
}

static err write_file(struct exec_journal *j, const char *boot)
{
    struct arena arena = {0};
    struct buf out = buf_in(&arena);
    char head[HEAD_SIZE + 1], path[64];
    must(snprintf(head, sizeof head, HEAD_FORM, boot, j->token) == (int)HEAD_SIZE);
    buf_put(&out, head, HEAD_SIZE);
    put_entries(j, &out);
    snprintf(path, sizeof path, "/proc/self/fd/%d/" PLACE_JOURNAL, j->place);
    const err e = file_write(path, buf_str(&out), 0600);
    const int number = errno;
    arena_fini(&arena);
    errno = number;
    return e;
}

static err open_file(struct exec_journal *j, int *out_fd)
{
    struct stat facts;
    const int fd =
        openat(j->place, PLACE_JOURNAL, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return err_from_errno(errno);
    if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)) {
        *out_fd = fd;
        return OK;
    }
    ignore(close(fd), "it is no journal");
    errno = ENOTSUP;
    return ERR_IO;
}

/* What is written to a file without a name is lost. */
static bool is_replaced(const struct exec_journal *j)
{
    struct stat facts;
    return j->fd >= 0 && fstat(j->fd, &facts) == 0 && facts.st_nlink == 0;
}

/* All that is known, in a new file. The old one stays when it fails. */
static err rewrite(struct exec_journal *j, const char *boot)
{
    struct stat facts;
    int fd;
    err e = write_file(j, boot);
    if (e == OK)
        e = open_file(j, &fd);
    if (e != OK) {
        const int number = errno;
        j->is_broken = j->is_broken || is_replaced(j);
        errno = number;
        return e;
    }
    if (fstat(fd, &facts) != 0) {
        const int number = errno;
        ignore(close(fd), "its size is not known");
        j->is_broken = true;
        errno = number;
        return ERR_IO;
    }
    if (j->fd >= 0)
        ignore(close(j->fd), "another file has taken its name");
    j->fd = fd;
    j->size = facts.st_size;
    j->is_broken = false;
    memmove(j->boot, boot, EXEC_BOOT_ID_SIZE);
    all_saved(j);
    return OK;
}

static err mend(struct exec_journal *j)
{
    return j->is_broken ? rewrite(j, j->boot) : OK;
}

static bool is_wasteful(const struct exec_journal *j)
{
    return j->size > WASTE_MIN && j->size / 4 > (int64_t)j->entry_count * RECORD_ROOM;
}

/* ---- opening ---- */

static bool take_head(struct exec_journal *j, const char *bytes, int64_t size)
{
    char head[HEAD_SIZE + 1], again[HEAD_SIZE + 1];
    if (size < (int64_t)HEAD_SIZE)
        return false;
    memcpy(head, bytes, HEAD_SIZE);
    head[HEAD_SIZE] = 0;
    if (sscanf(head, HEAD_FORM, j->boot, j->token) != 2)
        return false;
    return snprintf(again, sizeof again, HEAD_FORM, j->boot, j->token) == (int)HEAD_SIZE &&
           strcmp(head, again) == 0;
}

/* ERR_CORRUPT: it does not begin as it should. */
static err take_file(struct exec_journal *j)
{
    struct stat facts;
    bool torn;
    if (fstat(j->fd, &facts) != 0)
        return err_from_errno(errno);
    if (facts.st_size < (off_t)HEAD_SIZE)
        return ERR_CORRUPT;
    const size_t size = (size_t)facts.st_size;
    const char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, j->fd, 0);
    if (bytes == MAP_FAILED)
        return err_from_errno(errno);
    err e = take_head(j, bytes, facts.st_size) ? OK : ERR_CORRUPT;
    if (e == OK)
        j->size = take_records(j, bytes, facts.st_size, &torn);
    ignore(munmap((void *)(uintptr_t)bytes, size), "it was mapped above");
    if (e != OK || j->size == facts.st_size)
        return e;
    if (!torn) {
        log_with(LOG_WARNING, LOG_FIELDS(LOG_I64("at", j->size), LOG_I64("size", facts.st_size)),
                 "the journal of runs does not read to its end; what is not in it may have begun");
        return rewrite(j, NO_BOOT);
    }
    return ftruncate(j->fd, j->size) == 0 ? OK : err_from_errno(errno);
}

static err begin_file(struct exec_journal *j, const char *boot)
{
    snprintf(j->token, sizeof j->token, "%016llx", (unsigned long long)sys_random64());
    return rewrite(j, boot);
}

static err set_aside(struct exec_journal *j)
{
    log_print(LOG_ERROR, "the journal of runs does not read; setting it aside as \"journal.bad\", "
                         "and what it held may have begun");
    if (renameat(j->place, PLACE_JOURNAL, j->place, PLACE_JOURNAL ".bad") != 0)
        return err_from_errno(errno);
    return begin_file(j, NO_BOOT);
}

/* Whoever wrote these is gone, and so is all it had started. */
static void end_unfinished(struct exec_journal *j)
{
    static const char reason[] = "the supervisor of runs ended";
    for (uint32_t i = 0; i < j->bucket_count; i++)
        for (struct exec_entry *e = j->buckets[i]; e; e = e->next) {
            if (e->is_ended)
                continue;
            const struct exec_ended ended = {.run_id = e->begun.run_id,
                                             .attempt = e->begun.attempt,
                                             .how = EXEC_DIED_WITH_SUPERVISOR,
                                             .reason = STR(reason)};
            set_end(e, &ended, false);
            j->unsaved_count++;
            j->died_count++;
        }
    ignore(exec_journal_save(j), "the next opening finds the same");
}

static err open_and_take(struct exec_journal *j)
{
    err e = open_file(j, &j->fd);
    if (e == ERR_NOT_FOUND)
        e = begin_file(j, j->boot_now);
    else if (e == OK)
        e = take_file(j);
    if (e == ERR_CORRUPT)
        e = set_aside(j);
    if (e != OK)
        return e;
    end_unfinished(j);
    if (is_wasteful(j))
        ignore(rewrite(j, j->boot), "it is only larger than it could be");
    return OK;
}

err exec_journal_open(int state_dirfd, const char *boot_id, struct exec_journal **out_journal)
{
    struct exec_journal *j = calloc(1, sizeof *j);
    must(j && strlen(boot_id) == EXEC_BOOT_ID_SIZE - 1);
    j->place = state_dirfd;
    j->fd = -1;
    memcpy(j->boot_now, boot_id, EXEC_BOOT_ID_SIZE);
    grow(j);
    const err e = open_and_take(j);
    if (e == OK) {
        *out_journal = j;
        return OK;
    }
    const int number = errno;
    exec_journal_close(j);
    errno = number;
    return e;
}

void exec_journal_close(struct exec_journal *j)
{
    if (!j)
        return;
    for (uint32_t i = 0; i < j->bucket_count; i++)
        for (struct exec_entry *e = j->buckets[i], *next; e; e = next) {
            next = e->next;
            free_entry(e);
        }
    if (j->fd >= 0)
        ignore(close(j->fd), "what counts was written");
    free(j->buckets);
    free(j);
}

/* ---- the verbs ---- */

bool exec_journal_is_of_this_boot(const struct exec_journal *j)
{
    return strcmp(j->boot, j->boot_now) == 0;
}

const char *exec_journal_token(const struct exec_journal *j)
{
    return j->token;
}

int64_t exec_journal_epoch(const struct exec_journal *j)
{
    return j->epoch;
}

uint32_t exec_journal_died(const struct exec_journal *j)
{
    return j->died_count;
}

err exec_journal_begin(struct exec_journal *j, int64_t run_id, uint32_t attempt)
{
    must(!exec_journal_find(j, run_id, attempt));
    if (j->entry_count >= EXEC_ENTRIES_MAX) {
        errno = ENOBUFS;
        return ERR_LIMIT;
    }
    if (is_wasteful(j))
        ignore(rewrite(j, j->boot), "it is only larger than it could be");
    const struct exec_begun begun = {.run_id = run_id, .attempt = attempt};
    err e = mend(j);
    if (e == OK)
        e = append(j, &(struct exec_message){.kind = EXEC_BEGUN, .begun = begun});
    if (e == OK)
        add_entry(j, run_id, attempt);
    return e;
}

err exec_journal_raise(struct exec_journal *j, int64_t epoch)
{
    if (epoch <= j->epoch)
        return OK;
    err e = mend(j);
    if (e == OK)
        e = append(j, &(struct exec_message){.kind = EXEC_HELLO, .hello = {.epoch = epoch}});
    if (e == OK)
        j->epoch = epoch;
    return e;
}

err exec_journal_settle(struct exec_journal *j)
{
    return exec_journal_is_of_this_boot(j) ? OK : rewrite(j, j->boot_now);
}

void exec_journal_note_pid(struct exec_journal *j, int64_t run_id, uint32_t attempt, int64_t pid)
{
    struct exec_entry *e = *place_of(j, run_id, attempt);
    if (e)
        e->begun.pid = pid;
}

bool exec_journal_end(struct exec_journal *j, const struct exec_ended *ended)
{
    struct exec_entry *e = *place_of(j, ended->run_id, ended->attempt);
    if (!e || e->is_ended)
        return false;
    const err saved = append(j, &(struct exec_message){.kind = EXEC_ENDED, .ended = *ended});
    set_end(e, ended, saved == OK);
    j->unsaved_count += saved != OK;
    return true;
}

bool exec_journal_forget(struct exec_journal *j, int64_t run_id, uint32_t attempt)
{
    const struct exec_entry *e = exec_journal_find(j, run_id, attempt);
    if (!e || !e->is_ended)
        return false;
    const struct exec_run run = {.run_id = run_id, .attempt = attempt};
    ignore(append(j, &(struct exec_message){.kind = EXEC_FORGET, .run = run}),
           "one that is not forgotten is only remembered in vain");
    remove_entry(j, run_id, attempt);
    return true;
}

bool exec_journal_is_saved(const struct exec_journal *j)
{
    return j->unsaved_count == 0;
}

bool exec_journal_save(struct exec_journal *j)
{
    if (mend(j) != OK)
        return false;
    for (uint32_t i = 0; i < j->bucket_count && j->unsaved_count; i++)
        for (struct exec_entry *e = j->buckets[i]; e; e = e->next) {
            if (!e->is_ended || e->is_saved)
                continue;
            if (append(j, &(struct exec_message){.kind = EXEC_ENDED, .ended = e->ended}) != OK)
                return false;
            e->is_saved = true;
            j->unsaved_count--;
        }
    return true;
}
