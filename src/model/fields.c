#include "model/fields.h"

#include <string.h>

#include "model/fields_private.h"

/* Generic encoder and decoder for structs with a layout. The encoder determines mask and upper
 * bound of the size first, reserves the space once and then writes without further checks. The
 * decoder treats its input as untrusted: every length is compared with the bytes that are left,
 * and an encoding that the encoder would not have produced is ERR_CORRUPT, so that equal bytes
 * mean equal objects. The caller's position is changed on success only. */

static int64_t varint_unzigzag(uint64_t coded)
{
    return (int64_t)((coded >> 1) ^ (0 - (coded & 1)));
}

/* Returns the mask of the fields that are not zero, and an upper bound of their encoded size. */
static uint64_t fields_mask_and_size(const struct layout *layout, const void *object,
                                     uint64_t *out_size)
{
    const struct field *field = layout->fields;
    uint64_t mask = 0;
    uint64_t texts = 0;
    for (uint32_t i = 0; i < layout->count; i++, field++) {
        const void *value = (const char *)object + field->offset;
        bool set = false;
        switch (field->kind) {
        case FIELD_I64: set = *(const int64_t *)value != 0; break;
        case FIELD_U32: set = *(const uint32_t *)value != 0; break;
        case FIELD_BOOL: set = *(const bool *)value; break;
        case FIELD_TEXT:
        case FIELD_DOC:
        case FIELD_RAW:
            set = ((const struct str *)value)->len != 0;
            texts += ((const struct str *)value)->len;
            break;
        }
        mask |= (uint64_t)set << i;
    }
    *out_size = texts + (uint64_t)VARINT_MAX * (layout->count + 1u);
    return mask;
}

void fields_encode(const struct layout *layout, const void *object, struct buf *out)
{
    uint64_t size;
    uint64_t mask = fields_mask_and_size(layout, object, &size);
    must(size <= UINT32_MAX);
    char *begin = buf_room(out, (uint32_t)size);
    char *at = put_varint(begin, mask);
    for (; mask; mask &= mask - 1) {
        const struct field *field = &layout->fields[__builtin_ctzll(mask)];
        const void *value = (const char *)object + field->offset;
        switch (field->kind) {
        case FIELD_I64: at = put_varint(at, zigzag(*(const int64_t *)value)); break;
        case FIELD_U32: at = put_varint(at, *(const uint32_t *)value); break;
        case FIELD_BOOL: break;
        case FIELD_TEXT:
        case FIELD_DOC:
        case FIELD_RAW: at = put_text(at, *(const struct str *)value); break;
        }
    }
    out->len += (uint32_t)(at - begin);
}

static bool field_take_text(struct str bytes, uint32_t *at, struct str *out_text)
{
    uint64_t len;
    if (!take_varint(bytes, at, &len) || len > bytes.len - *at)
        return false;
    *out_text = (struct str){bytes.at + *at, (uint32_t)len};
    *at += (uint32_t)len;
    return true;
}

/* Reads a field whose bit is set. A zero value is refused, because the encoder clears its bit: each
 * object has one encoding. */
static bool take_field(enum field_kind kind, struct str bytes, uint32_t *at, void *value)
{
    uint64_t number = 1;
    switch (kind) {
    case FIELD_I64:
        if (!take_varint(bytes, at, &number) || number == 0)
            return false;
        *(int64_t *)value = varint_unzigzag(number);
        return true;
    case FIELD_U32:
        if (!take_varint(bytes, at, &number) || number == 0 || number > UINT32_MAX)
            return false;
        *(uint32_t *)value = (uint32_t)number;
        return true;
    case FIELD_BOOL: *(bool *)value = true; return true;
    case FIELD_TEXT:
    case FIELD_DOC:
    case FIELD_RAW:
        return field_take_text(bytes, at, (struct str *)value) && ((struct str *)value)->len != 0;
    }
    impossible("a kind of field outside the enum");
}

static void clear_field(enum field_kind kind, void *value)
{
    switch (kind) {
    case FIELD_I64: *(int64_t *)value = 0; break;
    case FIELD_U32: *(uint32_t *)value = 0; break;
    case FIELD_BOOL: *(bool *)value = false; break;
    case FIELD_TEXT:
    case FIELD_DOC:
    case FIELD_RAW: *(struct str *)value = (struct str){0}; break;
    }
}

err fields_decode(const struct layout *layout, struct str bytes, uint32_t *at, void *out_object)
{
    uint32_t here = *at;
    uint64_t mask;
    if (here > bytes.len || !take_varint(bytes, &here, &mask))
        return ERR_CORRUPT;
    if (layout->count < 64 && mask >> layout->count)
        return ERR_CORRUPT;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct field *field = &layout->fields[i];
        void *value = (char *)out_object + field->offset;
        if (!(mask >> i & 1))
            clear_field(field->kind, value);
        else if (!take_field(field->kind, bytes, &here, value))
            return ERR_CORRUPT;
    }
    *at = here;
    return OK;
}

static bool field_eq(const struct field *field, const void *a, const void *b)
{
    const void *x = (const char *)a + field->offset;
    const void *y = (const char *)b + field->offset;
    switch (field->kind) {
    case FIELD_I64: return *(const int64_t *)x == *(const int64_t *)y;
    case FIELD_U32: return *(const uint32_t *)x == *(const uint32_t *)y;
    case FIELD_BOOL: return *(const bool *)x == *(const bool *)y;
    case FIELD_TEXT:
    case FIELD_DOC:
    case FIELD_RAW: return str_eq(*(const struct str *)x, *(const struct str *)y);
    }
    impossible("a kind of field outside the enum");
}

bool fields_eq(const struct layout *layout, const void *a, const void *b)
{
    for (uint32_t i = 0; i < layout->count; i++)
        if (!field_eq(&layout->fields[i], a, b))
            return false;
    return true;
}

void fields_copy(struct arena *arena, const struct layout *layout, const void *from, void *to)
{
    if (to != from)
        memcpy(to, from, layout->size);
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct field *field = &layout->fields[i];
        if (field->kind != FIELD_TEXT && field->kind != FIELD_DOC && field->kind != FIELD_RAW)
            continue;
        struct str *text = (struct str *)(void *)((char *)to + field->offset);
        if (text->len)
            *text = str_copy(arena, *text);
    }
}
