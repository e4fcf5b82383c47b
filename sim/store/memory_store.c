#include "sim/store/memory_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/buf.h"
#include "model/limits.h"
#include "model/restored.h"

/* Each table is an array of encoded rows, sorted by key and searched by bisection. A batch is
 * copied at submit and applied when its outcome is decided, in poll or by a crash: only then is
 * its epoch compared with that of the store, so a session that was fenced in between changes
 * nothing. */

/* The key: the id of an object, or all integers of a relation or an archived interval. */
enum { KEY_PARTS = 6 };

struct key {
    int64_t part[KEY_PARTS];
};

struct row {
    struct key key;
    char *bytes;
    uint32_t size;
    int64_t turn; /* turn that wrote the row, to detect two changes in one batch */
};

struct rows {
    struct row *at;
    uint32_t count;
    uint32_t cap;
};

struct memory_store {
    struct rows tables[TABLE_COUNT];
    struct store_mark mark;
};

static void *memory_realloc(void *block, size_t size)
{
    void *larger = realloc(block, size);
    must(larger != NULL);
    return larger;
}

struct memory_store *memory_store_new(void)
{
    struct memory_store *m = memory_realloc(NULL, sizeof *m);
    *m = (struct memory_store){0};
    return m;
}

void memory_store_free(struct memory_store *m)
{
    if (!m)
        return;
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        for (uint32_t i = 0; i < m->tables[t].count; i++)
            free(m->tables[t].at[i].bytes);
        free(m->tables[t].at);
    }
    free(m);
}

/* ---- rows by key ---- */

static struct key key_of_record(const struct record *record)
{
    struct key key = {{0}};
    if (record->table < TABLE_OBJECTS) {
        key.part[0] = record->id;
        return key;
    }
    const struct layout *layout = record_layout(record->table);
    const uint32_t most = record->table == TABLE_OLD_RUN ? 2 : layout->count;
    for (uint32_t i = 0; i < most && layout->fields[i].kind == FIELD_I64; i++) {
        must(i < KEY_PARTS);
        memcpy(&key.part[i], (const char *)&record->id + layout->fields[i].offset, sizeof(int64_t));
    }
    return key;
}

static int key_cmp(const struct key *a, const struct key *b)
{
    for (int i = 0; i < KEY_PARTS; i++)
        if (a->part[i] != b->part[i])
            return a->part[i] < b->part[i] ? -1 : 1;
    return 0;
}

/* Index of the first row whose key is not less than `key`. */
static uint32_t rows_lower_bound(const struct rows *rows, const struct key *key)
{
    uint32_t low = 0;
    uint32_t high = rows->count;
    /* New ids are the highest, so compare with the last row first. */
    if (high && key_cmp(&rows->at[high - 1].key, key) < 0)
        return high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (key_cmp(&rows->at[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool rows_has_key_at(const struct rows *rows, uint32_t i, const struct key *key)
{
    return i < rows->count && key_cmp(&rows->at[i].key, key) == 0;
}

static struct row *rows_insert(struct rows *rows, uint32_t i, const struct key *key)
{
    if (rows->count == rows->cap) {
        rows->cap = rows->cap ? rows->cap * 2 : 16;
        rows->at = memory_realloc(rows->at, sizeof *rows->at * rows->cap);
    }
    memmove(rows->at + i + 1, rows->at + i, sizeof *rows->at * (rows->count - i));
    rows->count++;
    rows->at[i] = (struct row){.key = *key};
    return &rows->at[i];
}

static void rows_remove(struct rows *rows, uint32_t i)
{
    free(rows->at[i].bytes);
    rows->count--;
    memmove(rows->at + i, rows->at + i + 1, sizeof *rows->at * (rows->count - i));
}

/* ---- writing ---- */

static void store_write_row(struct memory_store *m, struct rows *rows, const struct record *record,
                            struct str bytes)
{
    struct key key = key_of_record(record);
    uint32_t i = rows_lower_bound(rows, &key);
    struct row *row = rows_has_key_at(rows, i, &key) ? &rows->at[i] : rows_insert(rows, i, &key);
    if (row->turn == m->mark.turn)
        impossible("a batch changes one row twice");
    row->bytes = memory_realloc(row->bytes, bytes.len);
    memcpy(row->bytes, bytes.at, bytes.len);
    row->size = bytes.len;
    row->turn = m->mark.turn;
}

static void store_delete_row(struct memory_store *m, struct rows *rows, const struct record *record)
{
    struct key key = key_of_record(record);
    uint32_t i = rows_lower_bound(rows, &key);
    if (!rows_has_key_at(rows, i, &key))
        impossible("a batch deletes a row that does not exist");
    if (rows->at[i].turn == m->mark.turn)
        impossible("a batch changes one row twice");
    rows_remove(rows, i);
}

/* Deletes the ended runs of that noderole up to that attempt; there may be none. */
static void store_delete_runs(struct memory_store *m, const struct record *last)
{
    struct rows *rows = &m->tables[TABLE_OLD_RUN];
    const struct key first = {{last->old_run.noderole_id, INT64_MIN}}, key = key_of_record(last);
    const uint32_t from = rows_lower_bound(rows, &first);
    uint32_t to = from;
    while (to < rows->count && key_cmp(&rows->at[to].key, &key) <= 0)
        to++;
    while (to > from) {
        if (rows->at[--to].turn == m->mark.turn)
            impossible("a batch changes one row twice");
        rows_remove(rows, to);
    }
}

static struct record row_decode(const struct row *row)
{
    struct record record = {0};
    uint32_t at = 0;
    if (record_decode((struct str){row->bytes, row->size}, &at, &record) != OK)
        impossible("an archived row cannot be decoded");
    return record;
}

static void store_sweep_runs(struct memory_store *m, int64_t before)
{
    struct rows *rows = &m->tables[TABLE_OLD_RUN];
    uint32_t left = RUNS_SWEEP_ROWS;
    for (uint32_t i = rows->count; i-- > 0 && left;)
        if (row_decode(&rows->at[i]).old_run.ended_at < before) {
            rows_remove(rows, i);
            left--;
        }
}

static void store_sweep_events(struct memory_store *m, int64_t before)
{
    struct rows *rows = &m->tables[TABLE_EVENT];
    const uint32_t oldest = rows->count < EVENTS_SWEEP_ROWS ? rows->count : EVENTS_SWEEP_ROWS;
    for (uint32_t i = oldest; i-- > 0;)
        if (row_decode(&rows->at[i]).event.at < before)
            rows_remove(rows, i);
}

static void session_apply(struct memory_store *m, const struct memory_session *s)
{
    struct str changes = {s->bytes, s->size};
    uint32_t at = 0;
    uint32_t rows = 0;
    m->mark.turn = s->turn;
    m->mark.now_ms = s->now_ms;
    m->mark.digest = s->digest;
    m->mark.has_digest = true;
    while (at < changes.len) {
        struct change change;
        uint32_t from = at + 1; /* after the byte that marks a deletion */
        if (batch_next(changes, &at, &change) != OK)
            impossible("a batch cannot be decoded");
        struct rows *table = &m->tables[change.record.table];
        if (change.gone && change.record.table == TABLE_OLD_RUN)
            store_delete_runs(m, &change.record);
        else if (change.gone)
            store_delete_row(m, table, &change.record);
        else
            store_write_row(m, table, &change.record, str_slice(changes, from, at));
        rows++;
    }
    must(rows == s->rows);
    if (s->runs_before)
        store_sweep_runs(m, s->runs_before);
    if (s->events_before)
        store_sweep_events(m, s->events_before);
}

/* ---- implementation of store_port ---- */

static void session_discard_batch(struct memory_session *s)
{
    free(s->bytes);
    s->bytes = NULL;
    s->busy = false;
}

static bool session_is_leader(const struct memory_session *s)
{
    return s->epoch == s->store->mark.epoch && s->turn == s->store->mark.turn + 1;
}

static err session_submit(void *self, const struct batch *batch)
{
    struct memory_session *s = self;
    must(!s->busy);
    if (s->faults.fate == MEMORY_REFUSED) {
        s->faults.fate = MEMORY_TAKEN;
        return s->faults.error ? s->faults.error : ERR_IO;
    }
    s->busy = true;
    s->epoch = batch->epoch;
    s->turn = batch->turn;
    s->now_ms = batch->now_ms;
    s->digest = batch->digest;
    s->runs_before = batch->runs_before;
    s->events_before = batch->events_before;
    s->rows = batch->rows;
    s->size = batch->changes.len;
    s->bytes = memory_realloc(NULL, s->size + 1);
    if (s->size)
        memcpy(s->bytes, batch->changes.at, s->size);
    return OK;
}

static err session_decide(struct memory_session *s, enum memory_fate fate)
{
    if (!session_is_leader(s))
        return ERR_FENCED;
    switch (fate) {
    case MEMORY_TAKEN: session_apply(s->store, s); return OK;
    case MEMORY_UNANSWERED_IN: session_apply(s->store, s); return ERR_UNKNOWN;
    case MEMORY_UNANSWERED_OUT: return ERR_UNKNOWN;
    case MEMORY_REFUSED_LATE: return s->faults.error ? s->faults.error : ERR_IO;
    case MEMORY_REFUSED:
    case MEMORY_FATE_COUNT: break;
    }
    impossible("an outcome that is not decided after submit");
}

static err session_poll(void *self, bool *out_busy)
{
    struct memory_session *s = self;
    must(s->busy);
    if (s->faults.late) {
        s->faults.late--;
        *out_busy = true;
        return OK;
    }
    enum memory_fate fate = s->faults.fate;
    s->faults.fate = MEMORY_TAKEN;
    *out_busy = false;
    err e = session_decide(s, fate);
    session_discard_batch(s);
    return e;
}

static err session_lead(void *self, int64_t epoch, struct store_mark *out_mark)
{
    struct memory_session *s = self;
    if (s->faults.lead_fails) {
        s->faults.lead_fails--;
        return ERR_UNAVAILABLE;
    }
    if (epoch && epoch != s->store->mark.epoch)
        return ERR_FENCED;
    s->store->mark.epoch++;
    *out_mark = s->store->mark;
    return OK;
}

static err row_read(const struct row *row, struct record_callback callback)
{
    struct record record;
    uint32_t at = 0;
    err e = record_decode((struct str){row->bytes, row->size}, &at, &record);
    if (e == OK && at != row->size)
        e = ERR_CORRUPT;
    return e == OK ? callback.record(callback.self, &record) : e;
}

/* Reads at most `limit` records; ERR_IO if there are more. */
static err store_read_rows(const struct memory_store *m, struct record_callback callback,
                           uint64_t limit)
{
    for (uint32_t t = 0; t < TABLE_LOADED; t++)
        for (uint32_t i = 0; i < m->tables[t].count; i++) {
            if (limit-- == 0)
                return ERR_IO;
            err e = row_read(&m->tables[t].at[i], callback);
            if (e != OK)
                return e;
        }
    return OK;
}

static err session_load(void *self, struct record_callback callback)
{
    struct memory_session *s = self;
    must(!s->busy);
    if (s->faults.load_fails == 0)
        return store_read_rows(s->store, callback, UINT64_MAX);
    s->faults.load_fails--;
    err e = store_read_rows(s->store, callback, s->faults.load_reaches);
    return e == OK ? ERR_IO : e;
}

void memory_session_init(struct memory_session *s, struct memory_store *store)
{
    *s = (struct memory_session){.store = store};
}

void memory_session_crash(struct memory_session *s, bool keep_tail)
{
    if (s->busy && keep_tail && session_is_leader(s))
        session_apply(s->store, s);
    session_discard_batch(s);
    memory_session_init(s, s->store);
}

static err session_read_mark(void *self, struct store_mark *out_mark)
{
    *out_mark = ((const struct memory_session *)self)->store->mark;
    return OK;
}

struct store_port memory_session_port(struct memory_session *s)
{
    return (struct store_port){.self = s,
                               .lead = session_lead,
                               .load = session_load,
                               .submit = session_submit,
                               .poll = session_poll,
                               .read_mark = session_read_mark};
}

/* ---- access without a session ---- */

struct store_mark memory_store_mark(const struct memory_store *m)
{
    return m->mark;
}

uint32_t memory_store_count(const struct memory_store *m, enum table table)
{
    return m->tables[table].count;
}

void memory_store_set_mark(struct memory_store *m, struct store_mark mark)
{
    m->mark = mark;
}

static void store_void_grants(struct memory_store *m, enum grant_void voids)
{
    static const enum table tables[] = {TABLE_NODE, TABLE_NODEROLE};
    struct arena scratch = {0};
    for (uint32_t t = 0; t < 2; t++)
        for (uint32_t i = 0; i < m->tables[tables[t]].count; i++) {
            struct row *row = &m->tables[tables[t]].at[i];
            struct record record = row_decode(row);
            struct buf b = buf_in(&scratch);
            if (!restored_record_forget(&record, voids))
                continue;
            record_encode(&record, &b);
            digest_sub(&m->mark.digest, digest_of_row((struct str){row->bytes, row->size}));
            digest_add(&m->mark.digest, digest_of_row(buf_str(&b)));
            /* The strings of the record point into the old bytes. */
            free(row->bytes);
            row->bytes = memory_realloc(NULL, buf_str(&b).len);
            memcpy(row->bytes, buf_str(&b).at, buf_str(&b).len);
            row->size = buf_str(&b).len;
        }
    arena_fini(&scratch);
}

void memory_store_void_grants(struct memory_store *m)
{
    store_void_grants(m, GRANT_VOID_IMPORTED);
}

static void store_copy_rows(struct rows *to, const struct rows *from)
{
    *to = (struct rows){.count = from->count, .cap = from->count};
    if (!from->count)
        return;
    to->at = memory_realloc(NULL, sizeof *to->at * to->cap);
    for (uint32_t i = 0; i < from->count; i++) {
        to->at[i] = from->at[i];
        to->at[i].bytes = memory_realloc(NULL, from->at[i].size);
        memcpy(to->at[i].bytes, from->at[i].bytes, from->at[i].size);
    }
}

struct memory_store *memory_store_copy(const struct memory_store *m, enum grant_void voids)
{
    enum { EPOCHS_ABOVE = 1 << 20 };
    struct memory_store *copy = memory_store_new();
    for (uint32_t t = 0; t < TABLE_COUNT; t++)
        store_copy_rows(&copy->tables[t], &m->tables[t]);
    copy->mark = m->mark;
    if (voids == GRANT_VOID_NONE)
        return copy;
    store_void_grants(copy, voids);
    copy->mark.epoch += EPOCHS_ABOVE;
    return copy;
}

void memory_store_usurp(struct memory_store *m)
{
    m->mark.epoch++;
}

err memory_store_load(const struct memory_store *m, struct record_callback callback)
{
    return store_read_rows(m, callback, UINT64_MAX);
}

err memory_store_load_table(const struct memory_store *m, enum table table,
                            struct record_callback callback)
{
    must(table < TABLE_LOADED);
    for (uint32_t i = 0; i < m->tables[table].count; i++) {
        const err e = row_read(&m->tables[table].at[i], callback);
        if (e != OK)
            return e;
    }
    return OK;
}

static bool interval_covers(const struct record *r, int64_t deployment_id, int64_t seq)
{
    if (r->table == TABLE_OLD_MEMBER)
        return r->old_member.deployment_id == deployment_id && r->old_member.from_seq <= seq &&
               seq < r->old_member.to_seq;
    return r->old_data.deployment_id == deployment_id && r->old_data.from_seq <= seq &&
           seq < r->old_data.to_seq;
}

struct record *memory_store_old(const struct memory_store *m, int64_t deployment_id, int64_t seq,
                                struct arena *arena, uint32_t *out_count)
{
    uint32_t most = m->tables[TABLE_OLD_MEMBER].count + m->tables[TABLE_OLD_DATA].count;
    struct record *found = arena_array(arena, struct record, most);
    uint32_t count = 0;
    for (uint32_t t = TABLE_OLD_MEMBER; t <= TABLE_OLD_DATA; t++)
        for (uint32_t i = 0; i < m->tables[t].count; i++) {
            const struct record record = row_decode(&m->tables[t].at[i]);
            if (!interval_covers(&record, deployment_id, seq))
                continue;
            found[count].table = record.table;
            fields_copy(arena, record_layout(record.table), &record.id, &found[count].id);
            count++;
        }
    *out_count = count;
    return found;
}

err memory_store_runs(const struct memory_store *m, int64_t noderole_id, uint32_t limit,
                      struct record_callback callback)
{
    const struct rows *rows = &m->tables[TABLE_OLD_RUN];
    const struct key after_last = {{noderole_id, INT64_MAX, INT64_MAX}};
    err e = OK;
    for (uint32_t i = rows_lower_bound(rows, &after_last); i-- > 0 && limit && e == OK; limit--) {
        if (rows->at[i].key.part[0] != noderole_id)
            return OK;
        e = row_read(&rows->at[i], callback);
    }
    return e;
}
