#define _GNU_SOURCE /* O_NOFOLLOW, renameat */
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

/* Owns the journal file and the entries in memory. Order: a run is appended as BEGUN before its
 * process is started, so a new supervisor never reports "not started" about a run that has a
 * process. ENDED is appended when the process tree is gone, FORGET after the daemon has stored the
 * result durably. Failure: records are written with one write(2) to an O_APPEND descriptor. A short
 * write is cut off with ftruncate, because half a record would hide all records after it; if even
 * that fails, `needs_rewrite` is set and nothing is appended until the next start, epoch or
 * exec_journal_save has rewritten the whole file from memory. A rewrite creates a new file, syncs
 * it and renames it over the old one, so the old one stays valid if it fails.
 *
 * On a corrupt record in the middle, the records before it are kept and the boot id is set to
 * UNKNOWN_BOOT: runs without an entry are then answered as possibly started. */

enum {
    BUCKETS_INITIAL = 1024,
    LENGTH_SIZE = 4,
    SUM_SIZE = 4,
    COMPACT_SIZE_MIN = 1 << 20, /* bytes; a smaller file is not compacted */
    ENTRY_SIZE_APPROX = 64,     /* bytes of an entry in the file, approximately */
    BODY_MAX = 1024,            /* bytes of any record without length and checksum */
};

#define HEAD_FORMAT  "halligan-exec journal 1 boot=%36s token=%16s\n"
#define HEAD_SIZE    89u /* bytes of the first line */
#define UNKNOWN_BOOT "00000000-0000-0000-0000-000000000000"

struct exec_journal {
    int state_dirfd;
    int fd;
    int64_t size;       /* bytes, up to the last complete record */
    bool needs_rewrite; /* the end of the file is damaged, or its name belongs to another file */
    char boot_now[EXEC_BOOT_ID_SIZE]; /* boot id of the running kernel */
    char boot[EXEC_BOOT_ID_SIZE];     /* boot id in the file */
    char token[EXEC_TOKEN_SIZE];
    int64_t epoch;               /* the highest one of a daemon */
    struct exec_entry **buckets; /* hash table by run id and attempt */
    uint32_t bucket_count;       /* a power of two */
    uint32_t entry_count;
    uint32_t unsaved_count; /* entries whose end is in memory only */
    uint32_t died_count;    /* runs that died with the previous supervisor */
};

err exec_boot_id(char out_id[EXEC_BOOT_ID_SIZE])
{
    char line[EXEC_BOOT_ID_SIZE] = "";
    /* Files of procfs have the size 0, so file_read cannot be used. */
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    const bool got = file && fgets(line, sizeof line, file);
    if (file)
        ignore(fclose(file), "it was only read");
    if (!got || strlen(line) != EXEC_BOOT_ID_SIZE - 1)
        return ERR_IO;
    memcpy(out_id, line, EXEC_BOOT_ID_SIZE);
    return OK;
}

/* ---- entries in memory ---- */

/* The pointer to the entry, or to the NULL at the end of its hash chain. */
static struct exec_entry **journal_slot(const struct exec_journal *j, int64_t run_id,
                                        uint32_t attempt)
{
    const int64_t key[2] = {run_id, attempt};
    const struct str bytes = {(const char *)key, sizeof key};
    struct exec_entry **at = &j->buckets[(uint32_t)hash64(bytes, 0) & (j->bucket_count - 1)];
    while (*at && ((*at)->begun.run_id != run_id || (*at)->begun.attempt != attempt))
        at = &(*at)->next;
    return at;
}

static void journal_grow(struct exec_journal *j)
{
    struct exec_entry **old = j->buckets;
    const uint32_t count = j->bucket_count;
    j->bucket_count = count ? count * 2 : BUCKETS_INITIAL;
    j->buckets = calloc(j->bucket_count, sizeof(struct exec_entry *));
    must(j->buckets);
    for (uint32_t i = 0; i < count; i++)
        for (struct exec_entry *e = old[i], *next; e; e = next) {
            struct exec_entry **at = journal_slot(j, e->begun.run_id, e->begun.attempt);
            next = e->next;
            e->next = *at;
            *at = e;
        }
    free(old);
}

static struct exec_entry *journal_add_entry(struct exec_journal *j, int64_t run_id,
                                            uint32_t attempt)
{
    struct exec_entry **at = journal_slot(j, run_id, attempt);
    if (*at)
        return *at;
    if (j->entry_count >= j->bucket_count) {
        journal_grow(j);
        at = journal_slot(j, run_id, attempt);
    }
    struct exec_entry *e = calloc(1, sizeof *e);
    must(e);
    e->begun = (struct exec_begun){.run_id = run_id, .attempt = attempt};
    e->next = *at;
    *at = e;
    j->entry_count++;
    return e;
}

static void journal_free_entry(struct exec_entry *e)
{
    free((void *)(uintptr_t)e->ended.reason.at);
    free(e);
}

static void journal_remove_entry(struct exec_journal *j, int64_t run_id, uint32_t attempt)
{
    struct exec_entry **at = journal_slot(j, run_id, attempt);
    struct exec_entry *e = *at;
    if (!e)
        return;
    *at = e->next;
    j->entry_count--;
    j->unsaved_count -= e->is_ended && !e->is_saved;
    journal_free_entry(e);
}

static void journal_set_end(struct exec_entry *e, const struct exec_ended *ended, bool is_saved)
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
    return *journal_slot(j, run_id, attempt);
}

void exec_journal_each(const struct exec_journal *j, void *self,
                       void (*visit)(void *self, const struct exec_entry *entry))
{
    for (uint32_t i = 0; i < j->bucket_count; i++)
        for (const struct exec_entry *e = j->buckets[i]; e; e = e->next)
            visit(self, e);
}

/* ---- records ---- */

static uint32_t journal_checksum(const struct exec_journal *j, struct str body)
{
    /* Seeded with the token: records of another file do not verify. */
    return (uint32_t)hash64(body, hash64(str_from(j->token), 0));
}

static void journal_put(const struct exec_journal *j, const struct exec_message *m, struct buf *out)
{
    const uint32_t before = out->len;
    must(exec_encode(m, out) == OK);
    const struct str body = {out->at + before + LENGTH_SIZE, out->len - before - LENGTH_SIZE};
    must(body.len <= BODY_MAX);
    const uint32_t sum = journal_checksum(j, body);
    buf_put(out, &sum, SUM_SIZE);
}

/* Append one record completely or not at all: half a record would hide all records after it. */
static err journal_append(struct exec_journal *j, const struct exec_message *m)
{
    struct arena arena = {0};
    struct buf record = buf_in(&arena);
    ssize_t n = -1;
    journal_put(j, m, &record);
    const ssize_t len = (ssize_t)record.len;
    errno = EIO;
    if (!j->needs_rewrite)
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
        j->needs_rewrite = ftruncate(j->fd, j->size) != 0;
    errno = number;
    return err_from_errno(number);
}

static void journal_apply_record(struct exec_journal *j, const struct exec_message *m)
{
    struct exec_entry *e;
    switch (m->kind) {
    case EXEC_HELLO:
        if (m->hello.epoch > j->epoch)
            j->epoch = m->hello.epoch;
        return;
    case EXEC_BEGUN: journal_add_entry(j, m->begun.run_id, m->begun.attempt); return;
    case EXEC_ENDED:
        e = journal_add_entry(j, m->ended.run_id, m->ended.attempt);
        if (!e->is_ended)
            journal_set_end(e, &m->ended, true);
        return;
    case EXEC_FORGET: journal_remove_entry(j, m->run.run_id, m->run.attempt); return;
    case EXEC_NOTHING:
    case EXEC_SPAWN:
    case EXEC_CANCEL:
    case EXEC_QUERY:
    case EXEC_RECONCILED:
    case EXEC_BYE:
    case EXEC_WELCOME:
    case EXEC_NOT_KNOWN:
    case EXEC_FENCED:
    case EXEC_LIST:
    case EXEC_KIND_END: break; /* not used in the journal */
    }
}

/* Apply all records and return the end of the last complete one. *out_torn: the rest is the
 * beginning of a single record, as a crash during a write leaves it; otherwise it is corrupt. */
static int64_t journal_replay(struct exec_journal *j, const char *bytes, int64_t size,
                              bool *out_torn)
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
        if (sum != journal_checksum(j, body) || exec_decode(body, &m) != OK) {
            *out_torn = false;
            break;
        }
        journal_apply_record(j, &m);
        at += (int64_t)len + LENGTH_SIZE + SUM_SIZE;
    }
    return at;
}

/* ---- rewrite ---- */

/* Write all entries to a temporary file, sync it and rename it over the journal. */
static err journal_write_file(struct exec_journal *j, const char *boot)
{
    struct arena arena = {0};
    struct buf out = buf_in(&arena);
    char head[HEAD_SIZE + 1], path[64];
    must(snprintf(head, sizeof head, HEAD_FORMAT, boot, j->token) == (int)HEAD_SIZE);
    buf_put(&out, head, HEAD_SIZE);
    journal_put(j, &(struct exec_message){.kind = EXEC_HELLO, .hello = {.epoch = j->epoch}}, &out);
    for (uint32_t i = 0; i < j->bucket_count; i++)
        for (const struct exec_entry *e = j->buckets[i]; e; e = e->next) {
            struct exec_message m = {.kind = EXEC_BEGUN, .begun = e->begun};
            m.begun.pid = 0;
            journal_put(j, &m, &out);
            if (e->is_ended)
                journal_put(j, &(struct exec_message){.kind = EXEC_ENDED, .ended = e->ended}, &out);
        }
    snprintf(path, sizeof path, "/proc/self/fd/%d/" STATE_JOURNAL, j->state_dirfd);
    const err e = file_write(path, buf_str(&out), 0600);
    const int number = errno;
    arena_fini(&arena);
    errno = number;
    return e;
}

static err journal_open_file(struct exec_journal *j, int *out_fd)
{
    struct stat st;
    const int fd = openat(j->state_dirfd, STATE_JOURNAL,
                          O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return err_from_errno(errno);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        *out_fd = fd;
        return OK;
    }
    ignore(close(fd), "it is no journal");
    errno = ENOTSUP;
    return ERR_IO;
}

/* Write all entries to a new file and switch to it. The old file stays in use on failure. */
static err journal_rewrite(struct exec_journal *j, const char *boot)
{
    struct stat st;
    int fd;
    err e = journal_write_file(j, boot);
    if (e == OK)
        e = journal_open_file(j, &fd);
    if (e != OK) {
        const int number = errno;
        /* Records appended to a file that has no name any more would be lost. */
        if (j->fd >= 0 && fstat(j->fd, &st) == 0 && st.st_nlink == 0)
            j->needs_rewrite = true;
        errno = number;
        return e;
    }
    if (fstat(fd, &st) != 0) {
        const int number = errno;
        ignore(close(fd), "its size is not known");
        j->needs_rewrite = true;
        errno = number;
        return ERR_IO;
    }
    if (j->fd >= 0)
        ignore(close(j->fd), "another file has taken its name");
    j->fd = fd;
    j->size = st.st_size;
    j->needs_rewrite = false;
    memmove(j->boot, boot, EXEC_BOOT_ID_SIZE);
    for (uint32_t i = 0; i < j->bucket_count; i++)
        for (struct exec_entry *entry = j->buckets[i]; entry; entry = entry->next)
            entry->is_saved = entry->is_ended;
    j->unsaved_count = 0;
    return OK;
}

static err journal_repair(struct exec_journal *j)
{
    return j->needs_rewrite ? journal_rewrite(j, j->boot) : OK;
}

static bool journal_needs_compaction(const struct exec_journal *j)
{
    return j->size > COMPACT_SIZE_MIN && j->size / 4 > (int64_t)j->entry_count * ENTRY_SIZE_APPROX;
}

/* ---- opening ---- */

static bool journal_parse_head(struct exec_journal *j, const char *bytes, int64_t size)
{
    char head[HEAD_SIZE + 1], again[HEAD_SIZE + 1];
    if (size < (int64_t)HEAD_SIZE)
        return false;
    memcpy(head, bytes, HEAD_SIZE);
    head[HEAD_SIZE] = 0;
    if (sscanf(head, HEAD_FORMAT, j->boot, j->token) != 2)
        return false;
    return snprintf(again, sizeof again, HEAD_FORMAT, j->boot, j->token) == (int)HEAD_SIZE &&
           strcmp(head, again) == 0;
}

/* ERR_CORRUPT: the first line is invalid. */
static err journal_load_file(struct exec_journal *j)
{
    struct stat st;
    bool torn;
    if (fstat(j->fd, &st) != 0)
        return err_from_errno(errno);
    if (st.st_size < (off_t)HEAD_SIZE)
        return ERR_CORRUPT;
    const size_t size = (size_t)st.st_size;
    const char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, j->fd, 0);
    if (bytes == MAP_FAILED)
        return err_from_errno(errno);
    err e = journal_parse_head(j, bytes, st.st_size) ? OK : ERR_CORRUPT;
    if (e == OK)
        j->size = journal_replay(j, bytes, st.st_size, &torn);
    ignore(munmap((void *)(uintptr_t)bytes, size), "it was mapped above");
    if (e != OK || j->size == st.st_size)
        return e;
    if (!torn) {
        log_with(
            LOG_WARNING, LOG_FIELDS(LOG_I64("at", j->size), LOG_I64("size", st.st_size)),
            "journal of runs is corrupt at this offset: later records are lost; runs without a "
            "record are treated as possibly started");
        return journal_rewrite(j, UNKNOWN_BOOT);
    }
    return ftruncate(j->fd, j->size) == 0 ? OK : err_from_errno(errno);
}

static err journal_create_file(struct exec_journal *j, const char *boot)
{
    snprintf(j->token, sizeof j->token, "%016llx", (unsigned long long)sys_random64());
    return journal_rewrite(j, boot);
}

/* The supervisor that wrote these records is gone, and its process trees were killed. */
static void journal_end_unfinished(struct exec_journal *j)
{
    static const char reason[] = "halligan-exec ended during the run";
    for (uint32_t i = 0; i < j->bucket_count; i++)
        for (struct exec_entry *e = j->buckets[i]; e; e = e->next) {
            if (e->is_ended)
                continue;
            const struct exec_ended ended = {.run_id = e->begun.run_id,
                                             .attempt = e->begun.attempt,
                                             .how = EXEC_DIED_WITH_SUPERVISOR,
                                             .reason = STR(reason)};
            journal_set_end(e, &ended, false);
            j->unsaved_count++;
            j->died_count++;
        }
    ignore(exec_journal_save(j), "the next open has the same result");
}

static err journal_load(struct exec_journal *j)
{
    err e = journal_open_file(j, &j->fd);
    if (e == ERR_NOT_FOUND)
        e = journal_create_file(j, j->boot_now);
    else if (e == OK)
        e = journal_load_file(j);
    if (e == ERR_CORRUPT) {
        log_print(LOG_ERROR, "journal of runs is unreadable: renaming it to \"journal.bad\"; runs "
                             "without a record are treated as possibly started");
        if (renameat(j->state_dirfd, STATE_JOURNAL, j->state_dirfd, STATE_JOURNAL ".bad") != 0)
            return err_from_errno(errno);
        e = journal_create_file(j, UNKNOWN_BOOT);
    }
    if (e != OK)
        return e;
    journal_end_unfinished(j);
    if (journal_needs_compaction(j))
        ignore(journal_rewrite(j, j->boot), "the file is valid, only larger than necessary");
    return OK;
}

err exec_journal_open(int state_dirfd, const char *boot_id, struct exec_journal **out_journal)
{
    struct exec_journal *j = calloc(1, sizeof *j);
    must(j && strlen(boot_id) == EXEC_BOOT_ID_SIZE - 1);
    j->state_dirfd = state_dirfd;
    j->fd = -1;
    memcpy(j->boot_now, boot_id, EXEC_BOOT_ID_SIZE);
    journal_grow(j);
    const err e = journal_load(j);
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
            journal_free_entry(e);
        }
    if (j->fd >= 0)
        ignore(close(j->fd), "all records were written before");
    free(j->buckets);
    free(j);
}

/* ---- operations ---- */

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
    if (journal_needs_compaction(j))
        ignore(journal_rewrite(j, j->boot), "the file is valid, only larger than necessary");
    const struct exec_begun begun = {.run_id = run_id, .attempt = attempt};
    err e = journal_repair(j);
    if (e == OK)
        e = journal_append(j, &(struct exec_message){.kind = EXEC_BEGUN, .begun = begun});
    if (e == OK)
        journal_add_entry(j, run_id, attempt);
    return e;
}

err exec_journal_raise_epoch(struct exec_journal *j, int64_t epoch)
{
    if (epoch <= j->epoch)
        return OK;
    err e = journal_repair(j);
    if (e == OK)
        e = journal_append(j,
                           &(struct exec_message){.kind = EXEC_HELLO, .hello = {.epoch = epoch}});
    if (e == OK)
        j->epoch = epoch;
    return e;
}

err exec_journal_set_boot(struct exec_journal *j)
{
    return exec_journal_is_of_this_boot(j) ? OK : journal_rewrite(j, j->boot_now);
}

void exec_journal_set_pid(struct exec_journal *j, int64_t run_id, uint32_t attempt, int64_t pid)
{
    struct exec_entry *e = *journal_slot(j, run_id, attempt);
    if (e)
        e->begun.pid = pid;
}

bool exec_journal_end(struct exec_journal *j, const struct exec_ended *ended)
{
    struct exec_entry *e = *journal_slot(j, ended->run_id, ended->attempt);
    if (!e || e->is_ended)
        return false;
    const err saved =
        journal_append(j, &(struct exec_message){.kind = EXEC_ENDED, .ended = *ended});
    journal_set_end(e, ended, saved == OK);
    j->unsaved_count += saved != OK;
    return true;
}

bool exec_journal_forget(struct exec_journal *j, int64_t run_id, uint32_t attempt)
{
    const struct exec_entry *e = exec_journal_find(j, run_id, attempt);
    if (!e || !e->is_ended)
        return false;
    const struct exec_run run = {.run_id = run_id, .attempt = attempt};
    ignore(journal_append(j, &(struct exec_message){.kind = EXEC_FORGET, .run = run}),
           "an entry that stays in the file is forgotten again later");
    journal_remove_entry(j, run_id, attempt);
    return true;
}

bool exec_journal_is_saved(const struct exec_journal *j)
{
    return j->unsaved_count == 0;
}

bool exec_journal_save(struct exec_journal *j)
{
    if (journal_repair(j) != OK)
        return false;
    for (uint32_t i = 0; i < j->bucket_count && j->unsaved_count; i++)
        for (struct exec_entry *e = j->buckets[i]; e; e = e->next) {
            if (!e->is_ended || e->is_saved)
                continue;
            if (journal_append(j, &(struct exec_message){.kind = EXEC_ENDED, .ended = e->ended}) !=
                OK)
                return false;
            e->is_saved = true;
            j->unsaved_count--;
        }
    return true;
}
