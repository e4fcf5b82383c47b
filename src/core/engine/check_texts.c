#include "core/core_private.h"

#include "core/engine/row_maps.h"

/* Texts are shared and counted by their holders (blob.h). Here every holder is counted again: a
 * text held too often would never be freed, one held too little would vanish under its reader. */

struct holders {
    uint32_t *count;
    uint32_t high;
};

static void hold(struct holders *h, uint32_t handle)
{
    must(handle <= h->high);
    h->count[handle]++;
}

#define HOLD_TEXT(field) hold(h, row->field);
#define HOLD_SAME(field)
#define HOLD_REF(field, noun, from)

#define X(upper, lower)                                                                            \
    static void hold_##lower(struct holders *h, const struct lower *row)                           \
    {                                                                                              \
        must(h &&row);                                                                             \
        upper##_MAP(HOLD_TEXT, HOLD_SAME, HOLD_REF)                                                \
    }
OBJECTS(X)
#undef X

/* Derived lists of names hold their texts too. */
static void hold_names(const struct core *c, struct holders *h, const struct role *role)
{
    for (uint32_t i = 0; i < role->provided.count; i++)
        hold(h, vec_at(c, &role->provided, i));
    for (uint32_t i = 0; i < role->conflicting.count; i++)
        hold(h, vec_at(c, &role->conflicting, i));
    for (uint32_t i = 0; i < role->attaching.count; i++)
        hold(h, vec_at(c, &role->attaching, i));
    for (uint32_t i = 1; i < role->wanted.count; i += 2)
        hold(h, vec_at(c, &role->wanted, i));
}

static void hold_row(const struct core *c, enum table table, uint32_t ix, struct holders *h)
{
    const void *row = pool_at(&c->tables[table].pool, ix);
    if (table == TABLE_ROLE)
        hold_names(c, h, row);
    switch (table) {
#define X(upper, lower)                                                                            \
    case TABLE_##upper: hold_##lower(h, row); return;
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
            hold_row(c, (enum table)t, ix, &h);
    const struct archived *archives = c->archives.items;
    for (uint32_t i = 0; i < c->archives.count; i++) {
        hold(&h, archives[i].data);
        hold(&h, archives[i].reason_subject);
        hold(&h, archives[i].reason_text);
    }
    for (uint32_t ix = pool_next(&c->blobs.rows, 0); ix; ix = pool_next(&c->blobs.rows, ix))
        if (blob_holders(&c->blobs, ix) != h.count[ix])
            return "I9: a text is not held by as many as it counts";
    return NULL;
}
