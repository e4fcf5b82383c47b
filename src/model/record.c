/* record.c - the layouts and the encoding of records, and the names of states. Stateless.
 *
 * An encoded record is one byte for the table and then its fields, as fields_encode() writes them.
 * The encoder computes an upper bound of the size first, reserves it once and writes without
 * checks; it cannot fail. Decoding untrusted bytes returns ERR_CORRUPT and does not advance *at;
 * the record is then undefined. */
#include "model/record.h"

#include "model/fields_private.h"

/* One function per table, because a list of fields can name its struct only through a typedef. */
#define T(upper, lower)                                                                            \
    static const struct layout *layout_of_##lower(void)                                            \
    {                                                                                              \
        typedef struct lower##_record FIELD_OWNER;                                                 \
        static const struct field fields[] = {upper##_FIELDS(FIELD_DESCRIBE)};                     \
        static const struct layout layout = {#lower, fields, sizeof fields / sizeof fields[0],     \
                                             sizeof(FIELD_OWNER)};                                 \
        _Static_assert(sizeof fields / sizeof fields[0] <= 64, "the mask has 64 bits");            \
        return &layout;                                                                            \
    }
TABLES(T)
#undef T

const struct layout *record_layout(enum table table)
{
    switch ((uint32_t)table) {
#define T(upper, lower)                                                                            \
    case TABLE_##upper: return layout_of_##lower();
        TABLES(T)
#undef T
    }
    impossible("a table outside the enum");
}

const char *table_name(enum table table)
{
    return record_layout(table)->name;
}

/* Millions of rows are encoded in one go, so each table gets an encoder of its own, unrolled from
 * its list: fields_encode() writes the same bytes and takes twice as long. */
/* clang-format off */
#define IS_SET_I64(value)  ((value) != 0)
#define IS_SET_U32(value)  ((value) != 0)
#define IS_SET_BOOL(value) (value)
#define IS_SET_TEXT(value) ((value).len != 0)
#define IS_SET_DOC(value)  ((value).len != 0)
#define IS_SET_RAW(value)  ((value).len != 0)

#define SIZE_I64(value)  VARINT_MAX
#define SIZE_U32(value)  VARINT_MAX
#define SIZE_BOOL(value) 0u
#define SIZE_TEXT(value) VARINT_MAX + (uint64_t)(value).len
#define SIZE_DOC(value)  VARINT_MAX + (uint64_t)(value).len
#define SIZE_RAW(value)  VARINT_MAX + (uint64_t)(value).len

#define PUT_I64(at, value)  put_varint(at, zigzag(value))
#define PUT_U32(at, value)  put_varint(at, value)
#define PUT_BOOL(at, value) (at)
#define PUT_TEXT(at, value) put_text(at, value)
#define PUT_DOC(at, value)  put_text(at, value)
#define PUT_RAW(at, value)  put_text(at, value)

#define MEASURE_FIELD(kind, name)                                                                  \
    mask |= (uint64_t)IS_SET_##kind(row->name) << bit++;                                           \
    size += SIZE_##kind(row->name);

#define PUT_FIELD(kind, name)                                                                      \
    if (IS_SET_##kind(row->name))                                                                  \
        at = PUT_##kind(at, row->name);
/* clang-format on */

#define T(upper, lower)                                                                            \
    static void encode_##lower(const struct lower##_record *row, struct buf *out)                  \
    {                                                                                              \
        uint64_t mask = 0;                                                                         \
        uint64_t size = 1 + VARINT_MAX;                                                            \
        uint32_t bit = 0;                                                                          \
        upper##_FIELDS(MEASURE_FIELD);                                                             \
        must(size <= UINT32_MAX);                                                                  \
        char *begin = buf_room(out, (uint32_t)size);                                               \
        char *at = begin;                                                                          \
        *at++ = (char)TABLE_##upper;                                                               \
        at = put_varint(at, mask);                                                                 \
        upper##_FIELDS(PUT_FIELD);                                                                 \
        out->len += (uint32_t)(at - begin);                                                        \
    }
TABLES(T)
#undef T

void record_encode(const struct record *record, struct buf *out)
{
    _Static_assert(TABLE_COUNT < 0x80, "the table is a varint of one byte");
    switch ((uint32_t)record->table) {
#define T(upper, lower)                                                                            \
    case TABLE_##upper: encode_##lower(&record->lower, out); return;
        TABLES(T)
#undef T
    }
    impossible("a table outside the enum");
}

err record_decode(struct str bytes, uint32_t *at, struct record *out_record)
{
    if (*at >= bytes.len || (uint8_t)bytes.at[*at] >= TABLE_COUNT)
        return ERR_CORRUPT;
    uint32_t here = *at + 1;
    out_record->table = (enum table)bytes.at[*at];
    err e = fields_decode(record_layout(out_record->table), bytes, &here, &out_record->id);
    if (e == OK)
        *at = here;
    return e;
}

const char *noderole_state_name(enum noderole_state state)
{
    static const char *const names[] = {
#define X(name, text) [NODEROLE_##name] = text,
        NODEROLE_STATES(X)
#undef X
    };
    must(state < NODEROLE_STATE_COUNT);
    return names[state];
}

const char *hook_name(enum hook hook)
{
    static const char *const names[] = {
#define X(name, text) [HOOK_##name] = text,
        HOOKS(X)
#undef X
    };
    must(hook < HOOK_COUNT);
    return names[hook];
}

static const char *const accesses[ACCESS_COUNT] = {[ACCESS_NONE] = "",
#define X(name, text) [ACCESS_##name] = text,
                                                   ACCESSES(X)
#undef X
};

const char *access_name(enum access access)
{
    must(access < ACCESS_COUNT);
    return accesses[access];
}

enum access access_find(struct str name)
{
    for (uint32_t i = ACCESS_VIEWER; i < ACCESS_COUNT; i++)
        if (str_eq(name, str_from(accesses[i])))
            return (enum access)i;
    return ACCESS_NONE;
}

static const char *const power_states[POWER_STATE_COUNT] = {
#define X(name, text) [POWER_STATE_##name] = text,
    POWER_STATES(X)
#undef X
};

const char *power_state_name(enum power_state state)
{
    must(state < POWER_STATE_COUNT);
    return power_states[state];
}

enum power_state power_state_find(struct str name)
{
    for (uint32_t i = 0; i < POWER_STATE_COUNT; i++)
        if (str_eq(name, str_from(power_states[i])))
            return (enum power_state)i;
    return POWER_STATE_UNKNOWN;
}
