/* store_admin.c - check, copy and restore a store without a daemon.
 *
 * A check reads everything through a read-only connection: the integrity check of the database
 * engine, then all records into a core, which verifies its invariants and digest, then the archive
 * tables, whose rows are only decoded. A copy is written to PATH.partial, checked, and renamed, so
 * a file with the final name is always complete and verified. What SQLite keeps beside a database
 * (-wal, -shm, -journal) is removed before the rename, because it would be applied to another file
 * of that name.
 *
 * It owns no state; import and restore hold the locks of the data directory (the callers of
 * store_admin_fill_store() do), check and export need none.
 *
 * Failure: the first problem is logged and ends the command with DAEMON_EXIT_FAILURE, or
 * DAEMON_EXIT_LOCKED if another process leads the store. A partial copy is removed. A store that is
 * no new file (PostgreSQL, or an import into an empty store) is filled in place: if its check fails
 * after the copy, its content stays.
 */
#include "daemon/admin/store_admin.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem/arena.h"
#include "core/core.h"
#include "store/store_thread.h"
#include "sys/files.h"
#include "sys/log.h"

static const char sqlite_prefix[] = "sqlite:";

static void store_check_print_step(const char *step, const char *what)
{
    printf("%s: %s\n", step, what);
    ignore(fflush(stdout), "the reader of the pipe may have closed it");
}

static enum exit_status store_check_fail(const char *step, const char *what)
{
    log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("step", step)), "store check failed: %s", what);
    return DAEMON_EXIT_FAILURE;
}

/* ---- check ---- */

struct store_check {
    struct store_reader *reader;
    struct core *core;
    struct store_mark mark; /* turn and digest of the store */
    uint64_t records;       /* count in the current step */
    const char *what;       /* why the core refused a record */
};

static err store_check_load_record(void *self, const struct record *record)
{
    struct store_check *k = self;
    k->records++;
    return core_load(k->core, record, &k->what);
}

static err store_check_count_record(void *self, const struct record *record)
{
    struct store_check *k = self;
    (void)record;
    k->records++;
    return OK;
}

/* Read the tables from `from` to before `to`: loaded tables go into the core, others are
 * counted. */
static enum exit_status store_check_tables(struct store_check *k, const char *step, int from,
                                           int to)
{
    char text[64];
    const bool loads = from < TABLE_LOADED;
    k->records = 0;
    for (int table = from; table < to; table++) {
        const struct record_callback callback = {k, loads ? store_check_load_record
                                                          : store_check_count_record};
        k->what = NULL;
        if (store_reader_table(k->reader, (enum table)table, callback) == OK)
            continue;
        const char *trouble = store_reader_last_error(k->reader);
        log_with(LOG_ERROR,
                 LOG_FIELDS(LOG_Z("step", step), LOG_Z("table", table_name((enum table)table))),
                 "store check failed: %s", k->what ? k->what : trouble);
        return DAEMON_EXIT_FAILURE;
    }
    snprintf(text, sizeof text, "%llu records", (unsigned long long)k->records);
    store_check_print_step(step, text);
    return DAEMON_EXIT_OK;
}

static enum exit_status store_check_invariants(struct store_check *k)
{
    struct arena arena = {0};
    const char *broken = core_check(k->core, &arena);
    const enum exit_status status =
        broken ? store_check_fail("invariants", broken) : DAEMON_EXIT_OK;
    arena_fini(&arena);
    if (!broken)
        store_check_print_step("invariants", "all hold");
    return status;
}

/* Load all records into a core, then verify invariants and digest. A store without any turn has no
 * records, which is not an error. */
static enum exit_status store_check_records(struct store_check *k)
{
    const char *what = "";
    enum exit_status status = store_check_tables(k, "records", 0, TABLE_LOADED);
    if (status != DAEMON_EXIT_OK)
        return status;
    if (k->records == 0)
        return k->mark.turn ? store_check_fail("records", "the store has turns but no records")
                            : DAEMON_EXIT_OK;
    if (core_load_end(k->core, 0, &what) != OK)
        return store_check_fail("records", what);
    status = store_check_invariants(k);
    if (status != DAEMON_EXIT_OK)
        return status;
    if (k->mark.has_digest && !digest_eq(core_digest(k->core), k->mark.digest))
        return store_check_fail("digest", "the records do not match the stored digest");
    store_check_print_step("digest", k->mark.has_digest ? "as written" : "none is stored yet");
    return DAEMON_EXIT_OK;
}

static enum exit_status store_check_reader(struct store_check *k)
{
    struct store_why why = {0};
    if (store_reader_verify(k->reader, &why) != OK)
        return store_check_fail("files", why.text);
    store_check_print_step("files", "sound");
    if (store_reader_begin(k->reader, &k->mark) != OK)
        return store_check_fail("mark", store_reader_last_error(k->reader));
    enum exit_status status = store_check_records(k);
    if (status == DAEMON_EXIT_OK)
        status = store_check_tables(k, "archives", TABLE_LOADED, TABLE_COUNT);
    store_reader_end(k->reader);
    return status;
}

static enum exit_status store_check_url(const char *url)
{
    struct store_check k = {0};
    struct store_why why = {0};
    if (store_reader_open(url, &k.reader, &why) != OK)
        return store_check_fail("open", why.text);
    store_check_print_step("open",
                           url[0] == 's' ? url : "postgresql"); /* its URL may contain a password */
    k.core = core_new();
    const enum exit_status status = store_check_reader(&k);
    if (status == DAEMON_EXIT_OK) {
        const struct digest128 digest = core_digest(k.core);
        printf("ok: turn %lld, %u noderoles, digest %016llx%016llx\n", (long long)k.mark.turn,
               core_count(k.core, TABLE_NODEROLE), (unsigned long long)digest.hi,
               (unsigned long long)digest.lo);
    }
    core_free(k.core);
    store_reader_close(k.reader);
    return status;
}

enum exit_status store_admin_check(const struct config *c)
{
    return store_check_url(c->store);
}

/* ---- copy ---- */

static enum exit_status store_admin_io_error(const char *verb, const char *path)
{
    log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)), "\"%s\" cannot be %s: %s", path, verb,
             strerror(errno));
    return DAEMON_EXIT_FAILURE;
}

static enum exit_status store_admin_copy(const char *from, const char *to, enum grant_void voids)
{
    struct store_why why = {0};
    const err e = store_copy(from, to, voids, &why);
    if (e == OK) {
        store_check_print_step("copy", "done");
        return DAEMON_EXIT_OK;
    }
    log_print(LOG_ERROR, "the store could not be copied: %s", why.text);
    return e == ERR_EXISTS ? DAEMON_EXIT_LOCKED : DAEMON_EXIT_FAILURE;
}

/* Remove the files that SQLite keeps beside a database. A write-ahead log or journal that is not
 * empty holds committed pages: without `may_have_content` that is an error. */
static enum exit_status store_admin_remove_sqlite_files(const char *path, bool may_have_content)
{
    static const char *const ends[] = {"-wal", "-shm", "-journal"};
    for (int i = 0; i < 3; i++) {
        char beside[PATH_MAX + 8];
        struct stat facts;
        snprintf(beside, sizeof beside, "%s%s", path, ends[i]);
        /* -shm (index 1) is only an index of the write-ahead log. */
        if (i != 1 && !may_have_content && stat(beside, &facts) == 0 && facts.st_size > 0) {
            log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", beside)),
                     "\"%s\" is not empty: SQLite has not written its log into the copy; try again",
                     beside);
            return DAEMON_EXIT_FAILURE;
        }
        if (file_remove(beside) != OK)
            return store_admin_io_error("removed", beside);
    }
    return DAEMON_EXIT_OK;
}

static enum exit_status store_admin_remove_partial(const char *partial)
{
    if (file_remove(partial) != OK)
        return store_admin_io_error("removed", partial);
    return store_admin_remove_sqlite_files(partial, true);
}

enum exit_status store_admin_remove_beside(const char *path)
{
    return store_admin_remove_sqlite_files(path, false);
}

static enum exit_status store_admin_copy_checked(const char *from, const char *path,
                                                 enum grant_void voids)
{
    char partial[PATH_MAX], url[PATH_MAX + 16];
    if (file_exists(path)) {
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)),
                 "\"%s\" exists already; choose another name", path);
        return DAEMON_EXIT_FAILURE;
    }
    if (snprintf(partial, sizeof partial, "%s.partial", path) >= (int)sizeof partial) {
        errno = ENAMETOOLONG;
        return store_admin_io_error("written", path);
    }
    snprintf(url, sizeof url, "%s%s", sqlite_prefix, partial);
    enum exit_status status = store_admin_remove_partial(partial);
    if (status == DAEMON_EXIT_OK)
        status = store_admin_copy(from, url, voids);
    if (status == DAEMON_EXIT_OK)
        status = store_check_url(url);
    if (status == DAEMON_EXIT_OK)
        status = store_admin_remove_sqlite_files(partial, false);
    if (status == DAEMON_EXIT_OK && file_move_durably(partial, path) == OK)
        return DAEMON_EXIT_OK;
    if (status == DAEMON_EXIT_OK)
        status = store_admin_io_error("written", path);
    ignore(store_admin_remove_partial(partial), "what remains is named .partial");
    return status;
}

enum exit_status store_admin_copy_to_file(const char *from, const char *path)
{
    return store_admin_copy_checked(from, path, GRANT_VOID_NONE);
}

enum exit_status store_admin_export(const struct config *c, const char *path)
{
    return store_admin_copy_to_file(c->store, path);
}

/* ---- restore and import ---- */

/* After a restore run ids are used again that the journal of the test jig has recorded for other
 * runs, so the journal is renamed. */
static enum exit_status store_admin_move_journal(struct config *c)
{
    const char *journal = config_path(c, "test-jig.journal");
    const char *aside = config_path(c, "test-jig.journal.old");
    if (!file_exists(journal))
        return DAEMON_EXIT_OK;
    return file_move_durably(journal, aside) == OK ? DAEMON_EXIT_OK
                                                   : store_admin_io_error("moved", journal);
}

/* The journal is moved before a new database file is created, because it belongs to no store then.
 * For an existing empty store it is moved after the copy has succeeded. */
enum exit_status store_admin_fill_store(struct config *c, const char *from, bool is_restore)
{
    const char *path = c->store + sizeof sqlite_prefix - 1;
    const bool is_file = strncmp(c->store, sqlite_prefix, sizeof sqlite_prefix - 1) == 0;
    const enum grant_void voids = is_restore ? GRANT_VOID_RESTORED : GRANT_VOID_IMPORTED;
    enum exit_status status;
    if (is_restore && is_file) {
        status = file_exists(path) ? DAEMON_EXIT_OK : store_admin_move_journal(c);
        return status == DAEMON_EXIT_OK ? store_admin_copy_checked(from, path, voids) : status;
    }
    status = store_admin_copy(from, c->store, voids);
    if (status == DAEMON_EXIT_OK)
        status = store_admin_move_journal(c);
    return status == DAEMON_EXIT_OK ? store_check_url(c->store) : status;
}

enum exit_status store_admin_restore(struct config *c, const char *path, bool is_restore)
{
    char url[PATH_MAX + 16];
    struct data_dir_locks locks;
    if (!file_exists(path) || strlen(path) >= PATH_MAX) {
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", path)),
                 "\"%s\" does not exist, or its path is too long", path);
        return DAEMON_EXIT_FAILURE;
    }
    snprintf(url, sizeof url, "%s%s", sqlite_prefix, path);
    enum exit_status status = data_dir_lock(c, &locks);
    if (status != DAEMON_EXIT_OK)
        return status;
    if (is_restore && file_exists(config_path(c, "halligan.db"))) {
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", c->data)),
                 "the data directory \"%s\" contains a database already; move it away first",
                 c->data);
        status = DAEMON_EXIT_FAILURE;
    }
    if (status == DAEMON_EXIT_OK)
        status = store_admin_fill_store(c, url, is_restore);
    data_dir_unlock(&locks);
    return status;
}
