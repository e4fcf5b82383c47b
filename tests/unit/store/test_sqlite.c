#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/engine.h"
#include "store/statements.h"
#include "tests/check.h"

/* Goal: an SQLite file that is moved, emptied or damaged from outside is never written to or
 * replaced. Method: a real file, changed by the test. */

struct place {
    char folder[32];
    char path[64];
    struct engine *e;
    struct store_mark mark;
    struct store_why why;
};

static err state_dir_open(struct place *p)
{
    return sqlite_open(p->path, ENGINE_WRITE, "test 1", &p->e, &p->why);
}

static void place_init(struct place *p)
{
    *p = (struct place){.folder = "/tmp/halligan-sq-XXXXXX"};
    CHECK(mkdtemp(p->folder) != NULL);
    snprintf(p->path, sizeof p->path, "%s/s.db", p->folder);
    CHECK(state_dir_open(p) == OK && p->e->ops->lead(p->e, 0, &p->mark) == OK);
}

static void place_fini(struct place *p)
{
    static const char *const ends[] = {"", "-wal", "-shm", ".away"};
    char path[80];
    if (p->e)
        p->e->ops->close(p->e);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s%s", p->path, ends[i]);
        unlink(path);
    }
    CHECK(rmdir(p->folder) == 0);
}

static void sql(const struct place *p, const char *text)
{
    sqlite3 *db;
    CHECK(sqlite3_open(p->path, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_close(db) == SQLITE_OK);
}

static err write_nothing(struct place *p)
{
    const struct batch batch = {.epoch = p->mark.epoch, .turn = p->mark.turn + 1};
    return p->e->ops->write(p->e, &batch);
}

TEST(a_moved_file_accepts_no_batch_and_fails_the_store)
{
    struct place p;
    char away[80];
    place_init(&p);
    CHECK(write_nothing(&p) == OK && p.e->ops->check(p.e, p.mark.epoch) == OK);
    p.mark.turn++;
    snprintf(away, sizeof away, "%s.away", p.path);
    CHECK(rename(p.path, away) == 0);
    CHECK(write_nothing(&p) == ERR_IO && p.e->lost && strstr(p.e->why.text, "moved"));
    CHECK(p.e->ops->lead(p.e, p.mark.epoch, &p.mark) == ERR_IO);
    place_fini(&p);
}

TEST(a_moved_file_is_noticed_without_a_batch)
{
    struct place p;
    char away[80];
    place_init(&p);
    snprintf(away, sizeof away, "%s.away", p.path);
    CHECK(rename(p.path, away) == 0);
    CHECK(p.e->ops->check(p.e, p.mark.epoch) == ERR_IO && p.e->lost);
    place_fini(&p);
}

/* A store of the first version: its migration and its record, a noderole, and a user with
 * settings. */
static void go_back_to_first_version(struct place *p)
{
    char note[4096];
    sqlite3 *db;
    sqlite3_stmt *s;
    CHECK(sqlite3_open(p->path, &db) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(db,
                             "SELECT (SELECT sql FROM sqlite_schema WHERE name = "
                             "'schema_migration'), name, hash FROM schema_migration ORDER BY name",
                             -1, &s, NULL) == SQLITE_OK &&
          sqlite3_step(s) == SQLITE_ROW);
    snprintf(note, sizeof note, "%s; INSERT INTO schema_migration VALUES ('%s', '%s', 1)",
             (const char *)sqlite3_column_text(s, 0), (const char *)sqlite3_column_text(s, 1),
             (const char *)sqlite3_column_text(s, 2));
    sqlite3_finalize(s);
    CHECK(sqlite3_close(db) == SQLITE_OK && unlink(p->path) == 0);
    sql(p, sqlite_migrations.at[0].text);
    sql(p, note);
    sql(p, "INSERT INTO noderole SELECT 7,1,1,1, 1,2,3, 4,5, 0,1,1,0, 0,0,0,0, 1,1, '','','','',"
           "'{\"a\":1}','{\"b\":2}',''");
    sql(p, "INSERT INTO \"user\" VALUES (1,1,1,1, 'ann','',0,0, '','','')");
    sql(p, "INSERT INTO token VALUES (1,1,1,1, 1,'ci','aa',0)");
    sql(p, "INSERT INTO event VALUES (9,0,5, 'user ann','node_create','node',3,'{}')");
    sql(p,
        "UPDATE leadership SET epoch = 3, turn = 9, digest = '0123456789abcdef0123456789abcdef'");
}

static err see_old_event(void *self, const struct record *record)
{
    struct event_record *found = self;
    CHECK(record->table == TABLE_EVENT && str_eq(record->event.actor, STR("user ann")));
    found->turn += record->event.turn;
    found->object_id = record->event.object_id;
    found->address.len = record->event.address.len;
    return OK;
}

TEST(a_store_of_the_first_version_is_migrated_and_keeps_its_rows)
{
    struct place p;
    struct store_mark mark;
    place_init(&p);
    p.e->ops->close(p.e);
    p.e = NULL;
    go_back_to_first_version(&p);
    CHECK(state_dir_open(&p) == OK);
    CHECK(p.e->ops->lead(p.e, 0, &mark) == OK && mark.turn == 9 && !mark.has_digest);
    sqlite3 *db;
    sqlite3_stmt *s;
    CHECK(sqlite3_open(p.path, &db) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(db, "SELECT sysdata || wall || computed FROM noderole", -1, &s,
                             NULL) == SQLITE_OK &&
          sqlite3_step(s) == SQLITE_ROW);
    CHECK(strcmp((const char *)sqlite3_column_text(s, 0), "{\"a\":1}{\"b\":2}") == 0);
    sqlite3_finalize(s);
    CHECK(sqlite3_prepare_v2(db,
                             "SELECT u.access, u.grants || t.access || t.deployment_id || "
                             "t.node_id || t.kind FROM \"user\" u, token t",
                             -1, &s, NULL) == SQLITE_OK &&
          sqlite3_step(s) == SQLITE_ROW);
    CHECK(sqlite3_column_int(s, 0) == ACCESS_OPERATOR);
    CHECK(strcmp((const char *)sqlite3_column_text(s, 1), "0000") == 0);
    sqlite3_finalize(s);
    CHECK(sqlite3_close(db) == SQLITE_OK);
    struct event_record found = {.address = STR("?")};
    CHECK(p.e->ops->events(p.e, (struct history_cursor){0, -1, false}, 10,
                           (struct record_callback){&found, see_old_event}) == OK);
    CHECK(found.turn == 9 && found.object_id == 3 && found.address.len == 0);
    place_fini(&p);
}

TEST(a_log_without_its_database_is_not_deleted)
{
    struct place p;
    char log[80];
    struct stat before, after;
    place_init(&p);
    p.e->ops->close(p.e);
    p.e = NULL;
    snprintf(log, sizeof log, "%s-wal", p.path);
    FILE *file = fopen(log, "w");
    CHECK(file && fputs("the last that is left", file) >= 0 && fclose(file) == 0);
    CHECK(truncate(p.path, 0) == 0 && stat(log, &before) == 0);
    CHECK(state_dir_open(&p) == ERR_CORRUPT && strstr(p.why.text, "its log is not"));
    CHECK(stat(log, &after) == 0 && after.st_size == before.st_size);
    p.e = NULL;
    place_fini(&p);
}

TEST(an_invalid_digest_is_corrupt_and_an_empty_one_is_not)
{
    struct place p;
    place_init(&p);
    sql(&p, "UPDATE leadership SET digest = 'x'");
    CHECK(p.e->ops->begin(p.e, &p.mark) == ERR_CORRUPT && strstr(p.e->why.text, "digest"));
    p.e->ops->close(p.e);
    sql(&p, "UPDATE leadership SET digest = ''");
    CHECK(state_dir_open(&p) == OK && p.e->ops->begin(p.e, &p.mark) == OK && !p.mark.has_digest);
    p.e->ops->end(p.e);
    place_fini(&p);
}

TEST(an_epoch_raised_by_this_process_is_recognised_by_its_claim)
{
    struct place p;
    place_init(&p);
    const int64_t held = p.mark.epoch;
    /* Raised by this process with a lost response: the epoch is one higher, with its claim. */
    sql(&p, "UPDATE leadership SET epoch = epoch + 1");
    CHECK(p.e->ops->lead(p.e, held, &p.mark) == OK && p.mark.epoch == held + 1);
    sql(&p, "UPDATE leadership SET epoch = epoch + 1, claim = 'another'");
    CHECK(p.e->ops->lead(p.e, held + 1, &p.mark) == ERR_FENCED);
    CHECK(p.e->ops->lead(p.e, held, &p.mark) == ERR_FENCED);
    place_fini(&p);
}
