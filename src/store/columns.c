/* columns.c - reading and setting the fields of a record by their position. Stateless. A stored
 * value that is invalid is ERR_CORRUPT; to request a number from a text field, or the reverse, is a
 * defect of the caller and aborts. */
#include "store/columns.h"

#include <string.h>

uint32_t columns_key(enum table table)
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

bool column_is_noun(enum table table, uint32_t field)
{
    if (table == TABLE_COUNTER)
        return field == 0;
    return table == TABLE_OUTBOX &&
           record_layout(table)->fields[field].offset == offsetof(struct outbox_record, object);
}

bool column_is_text(enum table table, uint32_t field)
{
    return record_layout(table)->fields[field].kind >= FIELD_TEXT || column_is_noun(table, field);
}

static const char *field_address(const struct record *record, uint32_t field)
{
    return (const char *)&record->id + record_layout(record->table)->fields[field].offset;
}

int64_t column_number(const struct record *record, uint32_t field)
{
    const void *at = field_address(record, field);
    switch (record_layout(record->table)->fields[field].kind) {
    case FIELD_I64: return *(const int64_t *)at;
    case FIELD_U32: return *(const uint32_t *)at;
    case FIELD_BOOL: return *(const bool *)at;
    case FIELD_TEXT:
    case FIELD_DOC:
    case FIELD_RAW: break;
    }
    impossible("a text is not a number");
}

/* The id of a counter is the number of its table plus one, since ids start at one. */
static int64_t noun_base(enum table table)
{
    return table == TABLE_COUNTER ? 1 : 0;
}

struct str column_text(const struct record *record, uint32_t field)
{
    if (column_is_noun(record->table, field)) {
        const int64_t number = column_number(record, field) - noun_base(record->table);
        must(number >= 0 && number < TABLE_COUNT);
        return str_from(table_name((enum table)number));
    }
    struct str text;
    memcpy(&text, field_address(record, field), sizeof text);
    return text;
}

err column_set_number(struct record *record, uint32_t field, int64_t value)
{
    void *at = (char *)&record->id + record_layout(record->table)->fields[field].offset;
    switch (record_layout(record->table)->fields[field].kind) {
    case FIELD_I64: *(int64_t *)at = value; return OK;
    case FIELD_U32:
        if (value < 0 || value > UINT32_MAX)
            return ERR_CORRUPT;
        *(uint32_t *)at = (uint32_t)value;
        return OK;
    case FIELD_BOOL:
        if (value != 0 && value != 1)
            return ERR_CORRUPT;
        *(bool *)at = value == 1;
        return OK;
    case FIELD_TEXT:
    case FIELD_DOC:
    case FIELD_RAW: break;
    }
    impossible("a number is not a text");
}

static err set_noun(struct record *record, uint32_t field, struct str name)
{
    for (int64_t t = 0; t < TABLE_COUNT; t++)
        if (str_eq(name, str_from(table_name((enum table)t))))
            return column_set_number(record, field, t + noun_base(record->table));
    return ERR_CORRUPT;
}

err column_set_text(struct record *record, uint32_t field, struct str value)
{
    if (column_is_noun(record->table, field))
        return set_noun(record, field, value);
    char *at = (char *)&record->id + record_layout(record->table)->fields[field].offset;
    memcpy(at, &value, sizeof value);
    return OK;
}
