/* Goal: every field of every record survives the conversion to its column and back, and invalid
 * values are refused.
 * Method: all layouts, with the extremes of each kind; values around the limits of each range. */
#include "store/columns.h"
#include "tests/check.h"

#include <stddef.h>
#include <string.h>

/* A record of that table whose fields all have different values. */
static struct record distinct_record(enum table table)
{
    struct record record;
    memset(&record, 0, sizeof record);
    record.table = table;
    const struct layout *layout = record_layout(table);
    for (uint32_t i = 0; i < layout->count; i++) {
        void *value = (char *)&record.id + layout->fields[i].offset;
        switch (layout->fields[i].kind) {
        case FIELD_I64: *(int64_t *)value = i % 2 ? INT64_MAX - i : INT64_MIN + i; break;
        case FIELD_U32: *(uint32_t *)value = UINT32_MAX - i; break;
        case FIELD_BOOL: *(bool *)value = i % 2; break;
        case FIELD_TEXT:
        case FIELD_DOC:
        case FIELD_RAW: *(struct str *)value = str_from(layout->fields[i].name); break;
        }
        if (column_is_noun(table, i))
            CHECK(column_set_number(&record, i, TABLE_COUNT - 1) == OK);
    }
    return record;
}

static void carry_over(const struct record *from, struct record *to, uint32_t field)
{
    err e = column_is_text(from->table, field)
                ? column_set_text(to, field, column_text(from, field))
                : column_set_number(to, field, column_number(from, field));
    CHECK(e == OK);
}

TEST(every_field_of_every_table_survives_a_round_trip)
{
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        const struct record record = distinct_record((enum table)t);
        const struct layout *layout = record_layout(record.table);
        struct record back;
        memset(&back, 0xa5, sizeof back);
        back.table = record.table;
        for (uint32_t i = 0; i < layout->count; i++)
            carry_over(&record, &back, i);
        CHECK(fields_eq(layout, &record.id, &back.id));
    }
}

TEST(setting_a_column_changes_only_its_field)
{
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        const struct record record = distinct_record((enum table)t);
        const struct layout *layout = record_layout(record.table);
        for (uint32_t i = 0; i < layout->count; i++) {
            struct record empty = {.table = record.table};
            memset(&empty.id, 0, layout->size);
            carry_over(&record, &empty, i);
            for (uint32_t k = 0; k < layout->count; k++) {
                const struct layout one = {"", &layout->fields[k], 1, 0};
                struct record zero;
                memset(&zero, 0, sizeof zero);
                const void *expected = k == i ? &record.id : &zero.id;
                CHECK(fields_eq(&one, expected, &empty.id));
            }
        }
    }
}

TEST(strings_and_table_names_are_strings_all_others_are_numbers)
{
    uint32_t nouns = 0;
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        const struct layout *layout = record_layout((enum table)t);
        for (uint32_t i = 0; i < layout->count; i++) {
            const bool noun = column_is_noun((enum table)t, i);
            nouns += noun;
            CHECK(!noun || layout->fields[i].kind <= FIELD_U32);
            CHECK(column_is_text((enum table)t, i) ==
                  (noun || layout->fields[i].kind == FIELD_TEXT ||
                   layout->fields[i].kind == FIELD_DOC));
        }
    }
    CHECK(nouns == 2);
    CHECK(column_is_noun(TABLE_COUNTER, 0) && !column_is_noun(TABLE_COUNTER, 4));
    CHECK(strcmp(record_layout(TABLE_OUTBOX)->fields[7].name, "object") == 0);
    CHECK(column_is_noun(TABLE_OUTBOX, 7) && !column_is_noun(TABLE_OUTBOX, 8));
}

TEST(the_key_comes_first)
{
    static const struct {
        enum table table;
        uint32_t key;
    } longer[] = {
        {TABLE_EDGE, 2},       {TABLE_LINK, 3},     {TABLE_MEMBERSHIP, 2},
        {TABLE_OLD_MEMBER, 6}, {TABLE_OLD_DATA, 5}, {TABLE_EVENT, 2},
    };
    for (uint32_t t = 0; t < TABLE_OBJECTS; t++)
        CHECK(columns_key((enum table)t) == 1);
    for (uint32_t i = 0; i < 6; i++) {
        CHECK(columns_key(longer[i].table) == longer[i].key);
        for (uint32_t k = 0; k < longer[i].key; k++)
            CHECK(record_layout(longer[i].table)->fields[k].kind == FIELD_I64);
    }
}

/* ---- ranges ---- */

TEST(a_number_that_does_not_fit_is_corrupt)
{
    struct record settings = {.table = TABLE_SETTINGS};
    static const int64_t wrong[] = {-1, INT64_MIN, (int64_t)UINT32_MAX + 1, INT64_MAX};
    for (uint32_t i = 0; i < 4; i++)
        CHECK(column_set_number(&settings, 4, wrong[i]) == ERR_CORRUPT);
    CHECK(settings.settings.pool_normal == 0);
    CHECK(column_set_number(&settings, 4, UINT32_MAX) == OK);
    CHECK(settings.settings.pool_normal == UINT32_MAX && column_number(&settings, 4) == UINT32_MAX);
    CHECK(column_set_number(&settings, 4, 0) == OK && settings.settings.pool_normal == 0);
}

TEST(a_bool_is_zero_or_one)
{
    struct record settings = {.table = TABLE_SETTINGS};
    static const int64_t wrong[] = {-1, 2, 256, INT64_MAX, INT64_MIN};
    for (uint32_t i = 0; i < 5; i++)
        CHECK(column_set_number(&settings, 7, wrong[i]) == ERR_CORRUPT);
    CHECK(!settings.settings.test_jig);
    CHECK(column_set_number(&settings, 7, 1) == OK && settings.settings.test_jig);
    CHECK(column_number(&settings, 7) == 1);
    CHECK(column_set_number(&settings, 7, 0) == OK && !settings.settings.test_jig);
}

TEST(ids_and_times_accept_every_number)
{
    static const int64_t values[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    struct record node = {.table = TABLE_NODE};
    for (uint32_t i = 0; i < 5; i++) {
        CHECK(column_set_number(&node, 0, values[i]) == OK);
        CHECK(node.id == values[i] && column_number(&node, 0) == values[i]);
    }
}

TEST(strings_are_stored_unchanged)
{
    static const char *const texts[] = {
        "", "x", "{\"a\":1}", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x8d", "'; DROP TABLE node; --"};
    struct record node = {.table = TABLE_NODE};
    for (uint32_t i = 0; i < 5; i++) {
        const struct str text = str_from(texts[i]);
        CHECK(column_set_text(&node, 4, text) == OK);
        CHECK(str_eq(node.node.name, text) && str_eq(column_text(&node, 4), text));
    }
}

/* ---- names of tables ---- */

TEST(a_counter_is_stored_under_the_name_of_its_table)
{
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        struct record counter = {.table = TABLE_COUNTER, .counter = {.id = t + 1}};
        const struct str name = column_text(&counter, 0);
        CHECK(str_eq(name, str_from(table_name((enum table)t))));
        struct record back = {.table = TABLE_COUNTER};
        CHECK(column_set_text(&back, 0, name) == OK && back.id == t + 1);
    }
}

TEST(an_outbox_row_stores_the_name_of_its_table)
{
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        struct record outbox = {.table = TABLE_OUTBOX, .outbox = {.object = t}};
        const struct str name = column_text(&outbox, 7);
        CHECK(str_eq(name, str_from(table_name((enum table)t))));
        struct record back = {.table = TABLE_OUTBOX, .outbox = {.object = 1000}};
        CHECK(column_set_text(&back, 7, name) == OK && back.outbox.object == t);
    }
}

TEST(an_unknown_table_name_is_corrupt)
{
    static const char *const wrong[] = {"", "nodes", "Node", "node ", "nod", "0", "11"};
    struct record counter = {.table = TABLE_COUNTER};
    struct record outbox = {.table = TABLE_OUTBOX};
    for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK(column_set_text(&counter, 0, str_from(wrong[i])) == ERR_CORRUPT);
        CHECK(column_set_text(&outbox, 7, str_from(wrong[i])) == ERR_CORRUPT);
    }
    CHECK(counter.id == 0 && outbox.outbox.object == 0);
}
