/* Goal: a batch reads back change by change, and carries no more of a dead row than its key. */
#include "base/prng.h"
#include "port/batch.h"
#include "tests/check.h"

TEST(changes_come_back_in_order)
{
    struct arena a = {0};
    struct buf bytes = buf_in(&a);
    struct change changes[] = {
        {.record = {.table = TABLE_NODE, .node = {.id = 7, .name = STR("n.a.bc"), .alive = true}}},
        {.gone = true, .record = {.table = TABLE_NODE, .node = {.id = 8, .name = STR("x.y.zz")}}},
        {.gone = true, .record = {.table = TABLE_EDGE, .edge = {.parent_id = 1, .child_id = 2}}},
        {.record = {.table = TABLE_COUNTER, .counter = {.id = TABLE_NODE, .last = 9}}},
    };
    for (int i = 0; i < 4; i++)
        batch_put(&bytes, &changes[i]);

    uint32_t at = 0;
    for (int i = 0; i < 4; i++) {
        struct change back;
        CHECK(batch_next(buf_str(&bytes), &at, &back) == OK);
        CHECK(back.gone == changes[i].gone && back.record.table == changes[i].record.table);
        if (i == 1) {
            struct node_record key = {.id = 8};
            CHECK(fields_eq(record_layout(TABLE_NODE), &back.record.node, &key));
        } else {
            const struct layout *layout = record_layout(back.record.table);
            CHECK(fields_eq(layout, &back.record.id, &changes[i].record.id));
        }
    }
    CHECK(at == bytes.len);
    struct change none;
    CHECK(batch_next(buf_str(&bytes), &at, &none) == ERR_CORRUPT && at == bytes.len);
    arena_fini(&a);
}

TEST(no_bytes_break_the_reader)
{
    struct prng r;
    prng_init(&r, 1);
    int read = 0;
    for (int i = 0; i < 200000; i++) {
        char bytes[24];
        uint32_t len = (uint32_t)prng_below(&r, sizeof bytes);
        for (uint32_t k = 0; k < len; k++)
            bytes[k] = (char)(prng_chance(&r, 200) ? prng_next(&r) : prng_below(&r, 4));
        struct change change;
        uint32_t at = 0;
        err e = batch_next((struct str){bytes, len}, &at, &change);
        CHECK(e == OK ? at > 0 && at <= len : e == ERR_CORRUPT && at == 0);
        read += e == OK;
    }
    CHECK(read > 1000);
}
