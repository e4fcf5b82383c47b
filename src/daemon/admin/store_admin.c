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

static void step_done(const char *step, const char *what)
{
    printf("%s: %s\n", step, what);
    ignore(fflush(stdout), "whoever reads along has gone");
}

static enum ending wrong(const char *step, const char *what)
{
    log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("step", step)), "the store is not right: %s", what);
    return ENDING_TROUBLE;
}

/* ---- check ---- */

struct barclamp_check {
    struct store_reader *reader;
    struct core *core;
    struct store_mark mark;
    uint64_t records;
    const char *what; /* the core's word on a record it does not take */
};

static err load_record(void *self, const struct record *record)
{
    struct barclamp_check *k = self;
    k->records++;
    return core_load(k->core, record, &k->what);
}

static err count_record(void *self, const struct record *record)
{
    struct barclamp_check *k = self;
    (void)record;
    k->records++;
    return OK;
}

static enum ending read_tables(struct barclamp_check *k, const char *step, int from, int to)
{
    char text[64];
    const bool loads = from < TABLE_LOADED;
    k->records = 0;
    for (int table = from; table < to; table++) {
        const struct store_visitor visitor = {k, loads ? load_record : count_record};
        k->what = NULL;
        if (store_reader_table(k->reader, (enum table)table, visitor) == OK)
            continue;
        const char *trouble = store_reader_trouble(k->reader);
        log_with(LOG_ERROR,
                 LOG_FIELDS(LOG_Z("step", step), LOG_Z("table", table_name((enum table)table))),
                 "the store is not right: %s", k->what ? k->what : trouble);
        return ENDING_TROUBLE;
    }
    snprintf(text, sizeof text, "%llu records", (unsigned long long)k->records);
    step_done(step, text);
    return ENDING_FINE;
}

static enum ending check_core(struct barclamp_check *k)
{
    struct arena arena = {0};
    const char *broken = core_check(k->core, &arena);
    const enum ending ending = broken ? wrong("invariants", broken) : ENDING_FINE;
    arena_fini(&arena);
    if (!broken)
        step_done("invariants", "all hold");
    return ending;
}

static void print_ok(const struct barclamp_check *k)
{
    const struct digest128 digest = core_digest(k->core);
    printf("ok: turn %lld, %u noderoles, digest %016llx%016llx\n", (long long)k->mark.turn,
           core_count(k->core, TABLE_NODEROLE), (unsigned long long)digest.hi,
           (unsigned long long)digest.lo);
}

static enum ending check_content(struct barclamp_check *k)
{
    const char *what = "";
    enum ending ending = read_tables(k, "records", 0, TABLE_LOADED);
    if (ending != ENDING_FINE)
        return ending;
    if (k->records == 0)
        return k->mark.turn ? wrong("records", "it has turns but no records") : ENDING_FINE;
    if (core_load_end(k->core, 0, &what) != OK)
        return wrong("records", what);
    ending = check_core(k);
    if (ending != ENDING_FINE)
        return ending;
    if (k->mark.has_digest && !digest_eq(core_digest(k->core), k->mark.digest))
        return wrong("digest", "the records are not those that were written");
    step_done("digest", k->mark.has_digest ? "as written" : "none is stored yet");
    return ENDING_FINE;
}

static enum ending check_reader(struct barclamp_check *k)
{
    struct store_why why = {0};
    if (store_reader_verify(k->reader, &why) != OK)
        return wrong("files", why.text);
    step_done("files", "sound");
    if (store_reader_begin(k->reader, &k->mark) != OK)
        return wrong("mark", store_reader_trouble(k->reader));
    enum ending ending = check_content(k);
    if (ending == ENDING_FINE)
        ending = read_tables(k, "archives", TABLE_LOADED, TABLE_COUNT);
    store_reader_end(k->reader);
    return ending;
}

static enum ending check_url(const char *url)
{
    struct barclamp_check k = {0};
    struct store_why why = {0};
    if (store_reader_open(url, &k.reader, &why) != OK)
        return wrong("open", why.text);
    step_done("open", url[0] == 's' ? url : "postgresql"); /* a password may be in that one */
    k.core = core_new();
    const enum ending ending = check_reader(&k);
    if (ending == ENDING_FINE)
        print_ok(&k);
    core_free(k.core);
    store_reader_close(k.reader);
    return ending;
}

enum ending store_admin_check(const struct config *c)
{
    return check_url(c->store);
}

/* ---- copies ---- */

static enum ending cannot(const char *verb, const char *path)
{
    log_print(LOG_ERROR, "\"%s\" cannot be %s: %s", path, verb, strerror(errno));
    return ENDING_TROUBLE;
}

static enum ending copy(const char *from, const char *to)
{
    struct store_why why = {0};
    const err e = store_copy(from, to, &why);
    if (e == OK) {
        step_done("copy", "done");
        return ENDING_FINE;
    }
    log_print(LOG_ERROR, "the store could not be copied: %s", why.text);
    return e == ERR_EXISTS ? ENDING_HELD : ENDING_TROUBLE;
}

/* What SQLite keeps beside a database. A log with something in it belongs to the database. */
static enum ending remove_beside(const char *path, bool may_have_content)
{
    static const char *const ends[] = {"-wal", "-shm", "-journal"};
    for (int i = 0; i < 3; i++) {
        char beside[PATH_MAX + 8];
        struct stat facts;
        snprintf(beside, sizeof beside, "%s%s", path, ends[i]);
        if (i != 1 && !may_have_content && stat(beside, &facts) == 0 && facts.st_size > 0) {
            errno = EBUSY;
            return cannot("left behind", beside);
        }
        if (file_remove(beside) != OK)
            return cannot("removed", beside);
    }
    return ENDING_FINE;
}

static enum ending remove_partial(const char *partial)
{
    if (file_remove(partial) != OK)
        return cannot("removed", partial);
    return remove_beside(partial, true);
}

static enum ending copy_and_check(const char *from, const char *partial)
{
    char url[PATH_MAX + 16];
    snprintf(url, sizeof url, "%s%s", sqlite_prefix, partial);
    enum ending ending = copy(from, url);
    if (ending == ENDING_FINE)
        ending = check_url(url);
    return ending == ENDING_FINE ? remove_beside(partial, false) : ending;
}

enum ending store_admin_remove_beside(const char *path)
{
    return remove_beside(path, false);
}

enum ending store_admin_copy_to_file(const char *from, const char *path)
{
    char partial[PATH_MAX];
    if (file_exists(path)) {
        log_print(LOG_ERROR, "\"%s\" exists already; it stays as it is", path);
        return ENDING_TROUBLE;
    }
    if (snprintf(partial, sizeof partial, "%s.partial", path) >= (int)sizeof partial) {
        errno = ENAMETOOLONG;
        return cannot("written", path);
    }
    enum ending ending = remove_partial(partial);
    if (ending == ENDING_FINE)
        ending = copy_and_check(from, partial);
    if (ending == ENDING_FINE && file_move_durably(partial, path) == OK)
        return ENDING_FINE;
    if (ending == ENDING_FINE)
        ending = cannot("written", path);
    ignore(remove_partial(partial), "what is left says .partial in its name");
    return ending;
}

enum ending store_admin_export(const struct config *c, const char *path)
{
    return store_admin_copy_to_file(c->store, path);
}

/* ---- and back ---- */

/* Runs have their old numbers again: what the journal knows is of another time. */
static enum ending set_journal_aside(struct config *c)
{
    const char *journal = config_path(c, "test-jig.journal");
    const char *aside = config_path(c, "test-jig.journal.old");
    if (!file_exists(journal))
        return ENDING_FINE;
    return file_move_durably(journal, aside) == OK ? ENDING_FINE : cannot("moved", journal);
}

/* Where there is no database yet the journal belongs to nobody; elsewhere only once the store was
 * filled. */
enum ending store_admin_fill_store(struct config *c, const char *from, bool is_restore)
{
    const char *path = c->store + sizeof sqlite_prefix - 1;
    const bool is_file = strncmp(c->store, sqlite_prefix, sizeof sqlite_prefix - 1) == 0;
    enum ending ending;
    if (is_restore && is_file) {
        ending = file_exists(path) ? ENDING_FINE : set_journal_aside(c);
        return ending == ENDING_FINE ? store_admin_copy_to_file(from, path) : ending;
    }
    ending = copy(from, c->store);
    if (ending == ENDING_FINE)
        ending = set_journal_aside(c);
    return ending == ENDING_FINE ? check_url(c->store) : ending;
}

enum ending store_admin_restore(struct config *c, const char *path, bool is_restore)
{
    char url[PATH_MAX + 16];
    struct hold hold;
    if (!file_exists(path) || strlen(path) >= PATH_MAX) {
        log_print(LOG_ERROR, "\"%s\" is not there", path);
        return ENDING_TROUBLE;
    }
    snprintf(url, sizeof url, "%s%s", sqlite_prefix, path);
    enum ending ending = data_dir_take(c, &hold);
    if (ending != ENDING_FINE)
        return ending;
    if (is_restore && file_exists(config_path(c, "halligan.db"))) {
        log_print(LOG_ERROR,
                  "the data directory \"%s\" holds a database already; it stays as it is", c->data);
        ending = ENDING_TROUBLE;
    }
    if (ending == ENDING_FINE)
        ending = store_admin_fill_store(c, url, is_restore);
    data_dir_leave(&hold);
    return ending;
}
