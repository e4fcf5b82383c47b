/* postgres_fixture.h - a temporary cluster, a database for each test, and random records.
 *
 * The cluster is started with the first database that is requested and is deleted when the program
 * ends. An admin connection beside the engine under test makes changes that no engine would make.
 */
#pragma once

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "store/columns.h"
#include "store/engine.h"
#include "tests/check.h"
#include "tests/store/cluster.h"

/* ---- cluster and databases ---- */

struct database {
    char url[300];
    PGconn *admin;
    struct arena arena;
    struct engine *writer;
    struct store_mark mark;
    struct store_why why;
};

static inline const char *admin_ask(struct database *d, const char *sql)
{
    static char value[1000];
    PGresult *answer = PQexec(d->admin, sql);
    if (PQresultStatus(answer) != PGRES_TUPLES_OK && PQresultStatus(answer) != PGRES_COMMAND_OK)
        check_failed(sql, 0, PQerrorMessage(d->admin));
    snprintf(value, sizeof value, "%s", PQntuples(answer) ? PQgetvalue(answer, 0, 0) : "");
    PQclear(answer);
    return value;
}

static inline long admin_count(struct database *d, const char *sql)
{
    return strtol(admin_ask(d, sql), NULL, 10);
}

/* Waits until the statement returns "t". */
static inline void admin_await(struct database *d, const char *sql)
{
    for (int i = 0; i < 100000; i++)
        if (strcmp(admin_ask(d, sql), "t") == 0)
            return;
    check_failed(sql, 0, "it never came true");
}

static inline PGconn *admin_connect(const char *url)
{
    PGconn *admin = PQconnectdb(url);
    if (PQstatus(admin) != CONNECTION_OK)
        check_failed(url, 0, PQerrorMessage(admin));
    PQclear(PQexec(admin, "SET client_min_messages = error"));
    return admin;
}

static inline void database_init(struct database *d)
{
    *d = (struct database){0};
    char *url = cluster_new_database();
    snprintf(d->url, sizeof d->url, "%s", url);
    free(url);
    d->admin = admin_connect(d->url);
}

static inline err database_open(struct database *d)
{
    return postgres_open(d->url, ENGINE_WRITE, "test 1", &d->writer, &d->why);
}

/* A database with a store that the test leads. */
static inline void database_lead(struct database *d)
{
    database_init(d);
    CHECK(database_open(d) == OK);
    CHECK(d->writer->ops->lead(d->writer, 0, &d->mark) == OK);
}

static inline void database_close(struct database *d)
{
    if (d->writer)
        d->writer->ops->close(d->writer);
    d->writer = NULL;
}

static inline void database_fini(struct database *d)
{
    database_close(d);
    PQfinish(d->admin);
    arena_fini(&d->arena);
}

/* A dump of everything that a refusal must not change. */
static inline long database_shape(struct database *d)
{
    return admin_count(
        d, "SELECT hashtext(string_agg(concat_ws(' ', attrelid::regclass, attname, atttypid, "
           "attnotnull), ',' ORDER BY attrelid::regclass::text, attnum)) FROM pg_attribute "
           "WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = "
           "'public'::regnamespace)");
}

/* ---- random records ---- */

static inline int64_t some_number(struct prng *r)
{
    switch (prng_below(r, 5)) {
    case 0:
    case 1: return 0;
    case 2: return INT64_MIN + (int64_t)prng_below(r, 2);
    case 3: return INT64_MAX - (int64_t)prng_below(r, 2);
    default: return (int64_t)(prng_next(r) >> prng_below(r, 64));
    }
}

static inline struct str some_text(struct prng *r, struct arena *a)
{
    static const char *const pieces[] = {"a", "\"", "\\", "'", "{}", ",", "NULL", "\n", "é", "🔥"};
    struct buf text = buf_in(a);
    if (prng_chance(r, 500))
        return STR("");
    for (uint64_t n = prng_below(r, 12); n; n--)
        buf_put_z(&text, pieces[prng_below(r, 10)]);
    return buf_str(&text);
}

/* The key is derived from `id`, all other fields are random. */
static inline struct record some_record(struct prng *r, struct arena *a, enum table table,
                                        int64_t id)
{
    struct record record;
    const struct layout *layout = record_layout(table);
    memset(&record, 0, sizeof record);
    record.table = table;
    for (uint32_t i = 0; i < layout->count; i++) {
        void *value = (char *)&record.id + layout->fields[i].offset;
        switch (layout->fields[i].kind) {
        case FIELD_I64: *(int64_t *)value = i < columns_key(table) ? id : some_number(r); break;
        case FIELD_U32: *(uint32_t *)value = (uint32_t)some_number(r); break;
        case FIELD_BOOL: *(bool *)value = prng_chance(r, 300); break;
        case FIELD_TEXT:
        case FIELD_DOC:
        case FIELD_RAW: *(struct str *)value = some_text(r, a); break;
        }
    }
    if (table == TABLE_OUTBOX)
        record.outbox.object %= TABLE_COUNT;
    if (table == TABLE_NODEROLE)
        record.noderole.role_id = record.noderole.node_id = id;
    return record;
}

/* ---- writing and reading ---- */

static inline struct batch batch_of(struct database *d, const struct change *changes,
                                    uint32_t count)
{
    struct buf bytes = buf_in(&d->arena);
    for (uint32_t i = 0; i < count; i++)
        batch_put(&bytes, &changes[i]);
    return (struct batch){.epoch = d->mark.epoch,
                          .turn = d->mark.turn + 1,
                          .now_ms = 1000 + d->mark.turn,
                          .rows = count,
                          .changes = buf_str(&bytes),
                          .digest = {.lo = 7, .hi = (uint64_t)d->mark.turn + 1}};
}

static inline err write_changes(struct database *d, const struct change *changes, uint32_t count)
{
    const struct batch batch = batch_of(d, changes, count);
    const err why = d->writer->ops->write(d->writer, &batch);
    if (why == OK)
        d->mark.turn++;
    return why;
}

static inline err write_node(struct database *d, int64_t id)
{
    const struct change change = {
        .record = {.table = TABLE_NODE,
                   .node = {.id = id, .turn = d->mark.turn, .name = STR("n")}}};
    return write_changes(d, &change, 1);
}

struct role_code_slot {
    struct arena *arena;
    struct record *at;
    uint32_t count;
    uint32_t cap;
};

static inline err keep_record(void *self, const struct record *record)
{
    struct role_code_slot *s = self;
    CHECK(s->count < s->cap);
    s->at[s->count].table = record->table;
    fields_copy(s->arena, record_layout(record->table), &record->id, &s->at[s->count].id);
    s->count++;
    return OK;
}

static inline struct role_code_slot shelf_for(struct arena *a, uint32_t cap)
{
    return (struct role_code_slot){
        .arena = a, .at = arena_array(a, struct record, cap), .cap = cap};
}

static inline struct role_code_slot read_table(struct arena *a, struct engine *e, enum table table,
                                               uint32_t cap)
{
    struct role_code_slot s = shelf_for(a, cap);
    const err why = e->ops->table(e, table, (struct record_callback){&s, keep_record});
    if (why != OK)
        check_failed(table_name(table), (int)why, e->why.text);
    return s;
}

static inline bool same_record(const struct record *a, const struct record *b)
{
    return a->table == b->table && fields_eq(record_layout(a->table), &a->id, &b->id);
}
