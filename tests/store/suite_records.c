#include "tests/store/suite.h"

#include <string.h>

/* ---- values ---- */

static int64_t some_number(struct prng *r)
{
    switch (prng_below(r, 8)) {
    case 0: return 0;
    case 1: return INT64_MAX;
    case 2: return INT64_MIN;
    case 3: return -1;
    case 4: return 1700000000000 + (int64_t)prng_below(r, 1u << 30);
    case 5: return (int64_t)((uint64_t)1 << prng_below(r, 63));
    default: return (int64_t)(prng_next(r) >> prng_below(r, 64));
    }
}

static uint32_t some_small_number(struct prng *r)
{
    static const uint32_t edges[] = {0, 1, INT32_MAX, (uint32_t)INT32_MAX + 1, UINT32_MAX};
    return prng_chance(r, 500) ? edges[prng_below(r, 5)] : (uint32_t)prng_below(r, 100);
}

/* Characters of one to four bytes, and those that need quoting somewhere. */
static const char *const characters[] = {
    "a",
    "Z",
    "0",
    " ",
    "\"",
    "'",
    "\\",
    "\n",
    "\t",
    "\r",
    "\x01",
    "\x7f",
    "{",
    "}",
    "$1",
    "?1",
    "--",
    "%s",
    "\xc3\xa4",
    "\xdf\xbf",
    "\xe2\x82\xac",
    "\xef\xbb\xbf",
    "\xef\xbf\xbf",
    "\\N",
    ";",
    ",",
    "\\.",
    "NULL",
    "\xf0\x9f\x8c\x8d",
    "\xf4\x8f\xbf\xbf",
};

struct str some_text(struct prng *r, struct arena *a, uint32_t len)
{
    char *text = arena_alloc(a, len);
    uint32_t used = 0;
    while (used < len) {
        const char *c = characters[prng_below(r, sizeof characters / sizeof characters[0])];
        const uint32_t size = (uint32_t)strlen(c);
        if (used + size > len)
            break;
        memcpy(text + used, c, size);
        used += size;
    }
    return (struct str){text, used};
}

static struct str some_field_text(struct prng *r, struct arena *a)
{
    static const uint32_t lengths[] = {0, 0, 0, 1, 4, 20, 127, 128, 300, 5000};
    return some_text(r, a, lengths[prng_below(r, 10)]);
}

static void fill(struct prng *r, struct arena *a, struct record *record)
{
    const struct layout *layout = record_layout(record->table);
    for (uint32_t i = 0; i < layout->count; i++) {
        void *value = (char *)&record->id + layout->fields[i].offset;
        switch (layout->fields[i].kind) {
        case FIELD_I64: *(int64_t *)value = some_number(r); break;
        case FIELD_U32: *(uint32_t *)value = some_small_number(r); break;
        case FIELD_BOOL: *(bool *)value = prng_chance(r, 500); break;
        case FIELD_TEXT:
        case FIELD_DOC:
        case FIELD_RAW: *(struct str *)value = some_field_text(r, a); break;
        }
    }
}

struct record some_record(struct prng *r, struct arena *a, enum table table)
{
    struct record record;
    memset(&record, 0, sizeof record);
    record.table = table;
    fill(r, a, &record);
    if (table < TABLE_OBJECTS)
        record.id = 1 + (int64_t)prng_below(r, INT64_MAX);
    if (table == TABLE_COUNTER)
        record.id = 1 + (int64_t)prng_below(r, TABLE_OBJECTS);
    if (table == TABLE_OUTBOX)
        record.outbox.object = (uint32_t)prng_below(r, TABLE_COUNT);
    return record;
}

struct record some_node(int64_t id)
{
    return (struct record){.table = TABLE_NODE,
                           .node = {.id = id, .name = STR("node"), .created_at = 1, .alive = true}};
}

/* ---- changes ---- */

static bool is_in_draft(const struct draft *d, const struct record *key)
{
    for (uint32_t i = 0; i < d->count; i++)
        if (is_same_row(&d->changes[i].record, key))
            return true;
    return false;
}

static bool binds_the_same(const struct record *a, const struct record *b)
{
    return a->table == TABLE_NODEROLE && b->table == TABLE_NODEROLE &&
           a->noderole.role_id == b->noderole.role_id && a->noderole.node_id == b->noderole.node_id;
}

/* A role is on a node once, at the end of the batch. */
static bool is_bound(const struct draft *d, const struct model *m, const struct record *wanted)
{
    for (uint32_t i = 0; i < d->count; i++)
        if (!d->changes[i].gone && binds_the_same(&d->changes[i].record, wanted))
            return true;
    for (uint32_t i = 0; i < m->count; i++)
        if (binds_the_same(&m->rows[i].record, wanted) && !is_in_draft(d, &m->rows[i].record))
            return true;
    return false;
}

static void put_new(struct prng *r, struct draft *d, const struct model *m, enum table table)
{
    struct record record = some_record(r, &d->arena, table);
    if (table == TABLE_NODEROLE) {
        record.noderole.role_id = (int64_t)prng_below(r, 5);
        record.noderole.node_id = (int64_t)prng_below(r, 5);
        if (is_bound(d, m, &record))
            return;
    }
    if (!model_find(m, &record) && !is_in_draft(d, &record))
        draft_put(d, &record);
}

/* The row's next image: all may change but its key and what never does. */
static void put_again(struct prng *r, struct draft *d, const struct model_row *row)
{
    struct record record = some_record(r, &d->arena, row->table);
    record.id = row->record.id;
    record.settings.created_at = row->record.settings.created_at;
    if (row->table == TABLE_NODEROLE) {
        record.noderole.role_id = row->record.noderole.role_id;
        record.noderole.node_id = row->record.noderole.node_id;
    }
    draft_put(d, &record);
}

static void shuffle(struct prng *r, struct draft *d)
{
    for (uint32_t i = d->count; i > 1; i--) {
        const uint32_t k = (uint32_t)prng_below(r, i);
        const struct change other = d->changes[k];
        d->changes[k] = d->changes[i - 1];
        d->changes[i - 1] = other;
    }
}

/* Ends come first while drawing, so that a role may be bound anew in the batch that ends it; then
 * all is shuffled, for beside that a batch has no order. */
void some_changes(struct prng *r, struct draft *d, const struct model *m)
{
    const uint32_t ends = (uint32_t)prng_below(r, 30), images = (uint32_t)prng_below(r, 30);
    const uint32_t news = (uint32_t)prng_below(r, 40);
    for (uint32_t i = 0; i < ends + images && m->count; i++) {
        const struct model_row *row = &m->rows[prng_below(r, m->count)];
        if (row->table >= (i < ends ? TABLE_LOADED : TABLE_OBJECTS) || is_in_draft(d, &row->record))
            continue;
        if (i < ends)
            draft_end(d, &row->record);
        else
            put_again(r, d, row);
    }
    for (uint32_t i = 0; i < news; i++)
        put_new(r, d, m, (enum table)prng_below(r, TABLE_COUNT));
    shuffle(r, d);
}
