#include "core/core_private.h"

#include "core/engine/row_maps.h"

/* Invariant I9: strings are interned and reference counted (base/containers/blob.h). Every
 * reference in a row, a derived list and a queued archive row is counted and compared with the
 * stored count. With a count that is too high a string is never freed; with one that is too low it
 * is freed while a row still refers to it. The check changes nothing and returns a static message,
 * or NULL. */

struct holders {
    uint32_t *count; /* by handle of a string: references that were found */
    uint32_t high;   /* the highest handle */
};

static void count_holder(struct holders *h, uint32_t handle)
{
    must(handle <= h->high);
    h->count[handle]++;
}

#define COUNT_TEXT(field) count_holder(h, row->field);
#define COUNT_SAME(field)
#define COUNT_REF(field, noun, from)

#define X(upper, lower)                                                                            \
    static void count_holders_of_##lower(struct holders *h, const struct lower *row)               \
    {                                                                                              \
        must(h &&row);                                                                             \
        upper##_MAP(COUNT_TEXT, COUNT_SAME, COUNT_REF)                                             \
    }
OBJECTS(X)
#undef X

/* The derived lists of names hold references as well. */
static void count_holders_of_names(const struct core *c, struct holders *h, const struct role *role)
{
    for (uint32_t i = 0; i < role->provided.count; i++)
        count_holder(h, vec_at(c, &role->provided, i));
    for (uint32_t i = 0; i < role->conflicting.count; i++)
        count_holder(h, vec_at(c, &role->conflicting, i));
    for (uint32_t i = 0; i < role->attaching.count; i++)
        count_holder(h, vec_at(c, &role->attaching, i));
    for (uint32_t i = 1; i < role->wanted.count; i += 2)
        count_holder(h, vec_at(c, &role->wanted, i));
}

static void count_holders_of_row(const struct core *c, enum table table, uint32_t ix,
                                 struct holders *h)
{
    const void *row = pool_at(&c->tables[table].pool, ix);
    if (table == TABLE_ROLE)
        count_holders_of_names(c, h, row);
    switch (table) {
#define X(upper, lower)                                                                            \
    case TABLE_##upper: count_holders_of_##lower(h, row); return;
        OBJECTS(X)
#undef X
    case TABLE_EDGE:
    case TABLE_LINK:
    case TABLE_MEMBERSHIP:
    case TABLE_OLD_MEMBER:
    case TABLE_OLD_DATA:
    case TABLE_EVENT:
    case TABLE_OLD_RUN:
    case TABLE_COUNT: break;
    }
    impossible("a table without rows of its own");
}

const char *check_texts(const struct core *c, struct arena *a)
{
    const uint32_t high = c->blobs.rows.high;
    struct holders h = {arena_array(a, uint32_t, high + 1), high};
    for (uint32_t t = 0; t < TABLE_OBJECTS; t++)
        for (uint32_t ix = pool_next(&c->tables[t].pool, 0); ix;
             ix = pool_next(&c->tables[t].pool, ix))
            count_holders_of_row(c, (enum table)t, ix, &h);
    const struct archived *archives = c->archives.items;
    for (uint32_t i = 0; i < c->archives.count; i++) {
        count_holder(&h, archives[i].data);
        count_holder(&h, archives[i].reason_subject);
        count_holder(&h, archives[i].reason_text);
    }
    for (uint32_t ix = pool_next(&c->blobs.rows, 0); ix; ix = pool_next(&c->blobs.rows, ix))
        if (blob_holders(&c->blobs, ix) != h.count[ix])
            return "I9: the reference count of a string is wrong";
    return NULL;
}
