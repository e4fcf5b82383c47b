/* Goal: a call of SQLite or of threads that fails while a store is opened or read is an error with
 * a message, and the store opens the next time. Method: calls fail on purpose (tests/faults.h),
 * each one that opening makes. */
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/store_thread.h"
#include "tests/faults.h"

FAULT(int, pthread_create, (pthread_t * t, const pthread_attr_t *a, void *(*f)(void *), void *x),
      (t, a, f, x), EAGAIN)
FAULT(int, pthread_mutex_init, (pthread_mutex_t * m, const pthread_mutexattr_t *a), (m, a), ENOMEM)
FAULT(int, pthread_cond_init, (pthread_cond_t * c, const pthread_condattr_t *a), (c, a), ENOMEM)
FAULT(int, pthread_condattr_init, (pthread_condattr_t * a), (a), ENOMEM)
FAULT(int, sqlite3_open_v2, (const char *path, sqlite3 **db, int flags, const char *vfs),
      (path, db, flags, vfs), (*db = NULL, SQLITE_NOMEM))
FAULT(int, sqlite3_prepare_v2,
      (sqlite3 * db, const char *sql, int len, sqlite3_stmt **s, const char **tail),
      (db, sql, len, s, tail), (*s = NULL, SQLITE_NOMEM))
FAULT(int, sqlite3_prepare_v3,
      (sqlite3 * db, const char *sql, int len, unsigned flags, sqlite3_stmt **s, const char **tail),
      (db, sql, len, flags, s, tail), (*s = NULL, SQLITE_NOMEM))
FAULT(int, sqlite3_exec,
      (sqlite3 * db, const char *sql, int (*f)(void *, int, char **, char **), void *x, char **why),
      (db, sql, f, x, why), SQLITE_NOMEM)
FAULT(int, sqlite3_step, (sqlite3_stmt * s), (s), SQLITE_IOERR)

struct place {
    char folder[40];
    char url[64];
};

static void place_init(struct place *p)
{
    *p = (struct place){.folder = "/tmp/halligan-faults-XXXXXX"};
    CHECK(mkdtemp(p->folder) != NULL);
    snprintf(p->url, sizeof p->url, "sqlite:%s/s.db", p->folder);
}

static void place_fini(struct place *p)
{
    char command[80];
    snprintf(command, sizeof command, "rm -r %s", p->folder);
    CHECK(system(command) == 0);
}

/* Opens the store and leads it. */
static err state_dir_open(struct place *p, struct store_why *out_why)
{
    struct store *s = NULL;
    struct store_mark mark;
    const struct store_options options = {.url = p->url, .holder = "test"};
    err e = store_open(&options, &s, out_why);
    if (e != OK)
        return e;
    const struct store_port port = store_port(s);
    e = port.lead(port.self, 0, &mark);
    if (e != OK)
        snprintf(out_why->text, sizeof out_why->text, "%s", store_last_error(s));
    store_close(s);
    return e;
}

static void check_thread(const char *call, unsigned nth)
{
    struct place p;
    struct store_why why = {""};
    place_init(&p);
    fault_set(call, nth);
    CHECK(state_dir_open(&p, &why) == ERR_UNAVAILABLE && fault_was_hit() && why.text[0]);
    CHECK(state_dir_open(&p, &why) == OK); /* neither a lock nor an incomplete file is left */
    place_fini(&p);
}

TEST(open_fails_if_the_thread_cannot_be_started)
{
    check_thread("pthread_create", 1);
}

TEST(open_fails_if_the_mutex_cannot_be_created)
{
    check_thread("pthread_mutex_init", 1);
}

TEST(open_fails_if_a_condition_variable_cannot_be_created)
{
    check_thread("pthread_condattr_init", 1);
    check_thread("pthread_cond_init", 1);
    check_thread("pthread_cond_init", 2);
}

/* Opens a new or an existing store repeatedly; the n-th call fails, until opening makes fewer
 * calls. */
static unsigned check_each(const char *call, bool is_new)
{
    for (unsigned nth = 1;; nth++) {
        struct place p;
        struct store_why why = {""};
        place_init(&p);
        CHECK(is_new || state_dir_open(&p, &why) == OK);
        fault_set(call, nth);
        const err e = state_dir_open(&p, &why);
        const bool was_hit = fault_was_hit();
        CHECK(e == OK || why.text[0]);
        CHECK(was_hit || e == OK);
        CHECK(state_dir_open(&p, &why) == OK);
        place_fini(&p);
        if (!was_hit)
            return nth - 1;
    }
}

TEST(open_fails_if_a_database_cannot_be_opened)
{
    CHECK(check_each("sqlite3_open_v2", true) >= 1);
    CHECK(check_each("sqlite3_open_v2", false) >=
          2); /* the file, and the expected schema in memory */
}

TEST(open_fails_if_a_statement_cannot_be_prepared)
{
    CHECK(check_each("sqlite3_prepare_v2", true) >= 2);
    CHECK(check_each("sqlite3_prepare_v2", false) >= 2);
}

TEST(open_fails_if_a_persistent_statement_cannot_be_prepared)
{
    CHECK(check_each("sqlite3_prepare_v3", true) >= 50);
}

TEST(open_fails_if_a_direct_statement_fails)
{
    CHECK(check_each("sqlite3_exec", true) >= 5);
    CHECK(check_each("sqlite3_exec", false) >= 5);
}

static err count_one(void *self, const struct record *record)
{
    (void)record;
    ++*(uint32_t *)self;
    return OK;
}

TEST(a_failed_read_is_an_error_and_the_reader_stays_usable)
{
    struct place p;
    struct store_why why = {""};
    struct store_reader *reader;
    uint32_t count = 0;
    place_init(&p);
    CHECK(state_dir_open(&p, &why) == OK && store_reader_open(p.url, &reader, &why) == OK);
    const struct history_port history = store_reader_history(reader);
    const struct interval_page page = {1, 1, TABLE_OLD_MEMBER, {0, -1}, 10};
    fault_set("sqlite3_step", 1);
    CHECK(history.intervals(history.self, &page, (struct record_callback){&count, count_one}) !=
          OK);
    CHECK(fault_was_hit() && store_reader_last_error(reader)[0]);
    CHECK(history.intervals(history.self, &page, (struct record_callback){&count, count_one}) ==
          OK);
    CHECK(count == 0);
    store_reader_close(reader);
    place_fini(&p);
}
