#include "tests/store/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sessions ---- */

err session_lead(struct session *s, int64_t epoch, struct store_mark *out_mark)
{
    err e = ERR_UNAVAILABLE;
    for (int i = 0; i < 100 && e == ERR_UNAVAILABLE; i++)
        e = s->port.lead(s->port.self, epoch, out_mark);
    return e;
}

struct session session_open(void *place)
{
    struct session s = {0};
    suite_maker.open(place, &s);
    CHECK(session_lead(&s, 0, &s.mark) == OK);
    return s;
}

void session_close(struct session *s)
{
    suite_maker.close(s);
}

err session_write(struct session *s, const struct batch *batch)
{
    bool busy = true;
    err e = s->port.submit(s->port.self, batch);
    while (e == OK && busy) {
        e = s->port.poll(s->port.self, &busy);
        if (busy && suite_maker.wait)
            suite_maker.wait(s);
        if (busy)
            e = OK;
    }
    if (e == OK) {
        s->mark.turn = batch->turn;
        s->mark.now_ms = batch->now_ms;
        s->mark.digest = batch->digest;
        s->mark.has_digest = true;
    }
    return e;
}

/* ---- what should be in ---- */

static uint32_t key_length(enum table table)
{
    switch ((int)table) {
    case TABLE_EDGE:
    case TABLE_MEMBERSHIP:
    case TABLE_EVENT:
    case TABLE_OLD_RUN: return 2;
    case TABLE_LINK: return 3;
    case TABLE_OLD_DATA: return 5;
    case TABLE_OLD_MEMBER: return 6;
    default: return 1;
    }
}

static struct model_row key_of(const struct record *record)
{
    struct model_row row = {.table = record->table};
    memcpy(row.key, &record->id, key_length(record->table) * sizeof(int64_t));
    return row;
}

static int key_cmp(const struct model_row *a, const struct model_row *b)
{
    if (a->table != b->table)
        return a->table < b->table ? -1 : 1;
    for (uint32_t i = 0; i < KEY_PARTS; i++)
        if (a->key[i] != b->key[i])
            return a->key[i] < b->key[i] ? -1 : 1;
    return 0;
}

static uint32_t lower_bound(const struct model *m, const struct model_row *key)
{
    uint32_t low = 0, high = m->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (key_cmp(&m->rows[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void model_fini(struct model *m)
{
    for (uint32_t i = 0; i < m->count; i++)
        free(m->rows[i].bytes);
    free(m->rows);
    *m = (struct model){0};
}

const struct model_row *model_find(const struct model *m, const struct record *key)
{
    const struct model_row row = key_of(key);
    const uint32_t i = lower_bound(m, &row);
    return i < m->count && key_cmp(&m->rows[i], &row) == 0 ? &m->rows[i] : NULL;
}

bool is_same_row(const struct record *a, const struct record *b)
{
    const struct model_row left = key_of(a), right = key_of(b);
    return key_cmp(&left, &right) == 0;
}

static void set_record(struct model_row *row, const struct record *record)
{
    struct arena arena = {0};
    struct buf bytes = buf_in(&arena);
    record_encode(record, &bytes);
    row->bytes = realloc(row->bytes, bytes.len);
    CHECK(row->bytes != NULL);
    memcpy(row->bytes, bytes.at, bytes.len);
    row->size = bytes.len;
    uint32_t at = 0;
    CHECK(record_decode((struct str){row->bytes, row->size}, &at, &row->record) == OK);
    arena_fini(&arena);
}

static void model_remove(struct model *m, uint32_t i)
{
    free(m->rows[i].bytes);
    m->count--;
    memmove(&m->rows[i], &m->rows[i + 1], (m->count - i) * sizeof *m->rows);
}

/* The end of a run that is over ends the older ones as well, and need not find any. */
static void model_end_runs(struct model *m, const struct old_run_record *last)
{
    for (uint32_t i = m->count; i-- > 0;)
        if (m->rows[i].table == TABLE_OLD_RUN &&
            m->rows[i].record.old_run.noderole_id == last->noderole_id &&
            m->rows[i].record.old_run.attempt <= last->attempt)
            model_remove(m, i);
}

void model_apply(struct model *m, const struct change *change)
{
    const struct model_row key = key_of(&change->record);
    const uint32_t i = lower_bound(m, &key);
    const bool there = i < m->count && key_cmp(&m->rows[i], &key) == 0;
    if (change->gone && change->record.table == TABLE_OLD_RUN) {
        model_end_runs(m, &change->record.old_run);
        return;
    }
    if (change->gone) {
        CHECK(there);
        model_remove(m, i);
        return;
    }
    if (!there) {
        if (m->count == m->cap) {
            m->cap = m->cap ? 2 * m->cap : 64;
            m->rows = realloc(m->rows, m->cap * sizeof *m->rows);
            CHECK(m->rows != NULL);
        }
        memmove(&m->rows[i + 1], &m->rows[i], (m->count - i) * sizeof *m->rows);
        m->count++;
        m->rows[i] = key;
    }
    set_record(&m->rows[i], &change->record);
}

/* Counters are kept by name, so their order is a store's own business. */
static err visit_into_model(void *self, const struct record *record)
{
    struct model *m = self;
    const struct model_row key = key_of(record);
    const struct model_row *last = m->count ? &m->rows[m->count - 1] : NULL;
    if (record->table == TABLE_COUNTER)
        CHECK(!model_find(m, record) && (!last || last->table <= TABLE_COUNTER));
    else
        CHECK(!last || key_cmp(last, &key) < 0);
    const struct change change = {.record = *record};
    model_apply(m, &change);
    return OK;
}

struct record_callback model_visitor(struct model *m)
{
    return (struct record_callback){m, visit_into_model};
}

static void tell(const char *which, const struct model_row *row)
{
    printf("only in %s: %s %lld %lld ..., %u bytes\n", which, table_name(row->table),
           (long long)row->key[0], (long long)row->key[1], row->size);
}

static bool rows_eq(const struct model_row *a, const struct model_row *b)
{
    if (a && b && key_cmp(a, b) == 0 && a->size == b->size &&
        memcmp(a->bytes, b->bytes, a->size) == 0)
        return true;
    if (a && (!b || key_cmp(a, b) <= 0))
        tell("the first", a);
    if (b && (!a || key_cmp(a, b) >= 0))
        tell("the second", b);
    return false;
}

bool models_eq(const struct model *a, const struct model *b, enum table first, enum table end)
{
    const struct model_row from = {
        .table = first, .key = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN}};
    uint32_t i = lower_bound(a, &from), k = lower_bound(b, &from);
    for (;; i++, k++) {
        const struct model_row *left = i < a->count && a->rows[i].table < end ? &a->rows[i] : NULL;
        const struct model_row *right = k < b->count && b->rows[k].table < end ? &b->rows[k] : NULL;
        if (!left && !right)
            return true;
        if (!rows_eq(left, right))
            return false;
    }
}

void check_load(struct session *s, const struct model *expected)
{
    struct model found = {0};
    CHECK(s->port.load(s->port.self, model_visitor(&found)) == OK);
    for (uint32_t i = 0; i < found.count; i++)
        CHECK(found.rows[i].table < TABLE_LOADED);
    CHECK(models_eq(&found, expected, 0, TABLE_LOADED));
    model_fini(&found);
}

/* ---- batches ---- */

void draft_fini(struct draft *d)
{
    free(d->changes);
    arena_fini(&d->arena);
    *d = (struct draft){0};
}

void draft_begin(struct draft *d)
{
    arena_reset(&d->arena);
    d->count = 0;
}

static void draft_add(struct draft *d, struct change change)
{
    if (d->count == d->cap) {
        d->cap = d->cap ? 2 * d->cap : 64;
        d->changes = realloc(d->changes, d->cap * sizeof *d->changes);
        CHECK(d->changes != NULL);
    }
    d->changes[d->count++] = change;
}

void draft_put(struct draft *d, const struct record *record)
{
    draft_add(d, (struct change){.record = *record});
}

void draft_end(struct draft *d, const struct record *key)
{
    draft_add(d, (struct change){.gone = true, .record = *key});
}

struct str draft_bytes(struct draft *d)
{
    struct buf bytes = buf_in(&d->arena);
    for (uint32_t gone = 2; gone-- > 0;)
        for (uint32_t i = 0; i < d->count; i++)
            if (d->changes[i].gone == gone)
                batch_put(&bytes, &d->changes[i]);
    return buf_str(&bytes);
}

void draft_apply(const struct draft *d, struct model *m)
{
    for (uint32_t gone = 2; gone-- > 0;)
        for (uint32_t i = 0; i < d->count; i++)
            if (d->changes[i].gone == gone)
                model_apply(m, &d->changes[i]);
}

const struct batch *draft_batch(struct draft *d, const struct session *s)
{
    const struct str changes = draft_bytes(d);
    const int64_t turn = s->mark.turn + 1;
    d->batch = (struct batch){
        .epoch = s->mark.epoch,
        .turn = turn,
        .now_ms = 1700000000000 + turn,
        .rows = d->count,
        .changes = changes,
        .digest = hash128(changes, (uint64_t)turn),
    };
    return &d->batch;
}

void draft_write(struct draft *d, struct session *s, struct model *m)
{
    const err e = session_write(s, draft_batch(d, s));
    if (e != OK && suite_maker.trouble)
        check_failed(suite_maker.name, (int)e, suite_maker.trouble(s));
    CHECK(e == OK);
    draft_apply(d, m);
}
