/* fields_private.h - encoding of single fields, shared by fields.c, record.c and command.c.
 *
 * Every put function writes at `at`, where the caller has reserved space for the worst case
 * (VARINT_MAX bytes for a number, and the bytes of the strings), and returns the address after the
 * last byte.
 */
#pragma once

#include <string.h>

#include "model/fields.h"

/* A varint is built in a 64-bit register and stored with one write, so the lowest byte must come
 * first in memory. All supported machines are little-endian. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "varints are stored as whole words");

enum { VARINT_MAX = 10, SHORT_VARINT_BITS = 56 };

static inline uint64_t zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (0 - ((uint64_t)value >> 63));
}

/* Seven bits to a byte: the 28-bit halves move apart, then 14-bit quarters, then 7-bit groups. */
static inline uint64_t spread(uint64_t value)
{
    uint64_t x = (value & 0x0fffffffu) | (value & 0x00fffffff0000000u) << 4;
    x = (x & 0x00003fff00003fffu) | (x & 0x0fffc0000fffc000u) << 2;
    return (x & 0x007f007f007f007fu) | (x & 0x3f803f803f803f80u) << 1;
}

static inline char *put_long_varint(char *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (char)(value | 0x80);
        value >>= 7;
    }
    *at++ = (char)value;
    return at;
}

/* Most numbers take one byte, or six for a time. No branch depends on the lengths in between: those
 * of ids change from row to row, and a mispredicted branch costs more than the whole field. */
static inline char *put_varint(char *at, uint64_t value)
{
    if (value < 0x80) {
        *at = (char)value;
        return at + 1;
    }
    if (value >> SHORT_VARINT_BITS)
        return put_long_varint(at, value);
    uint32_t bits = 64u - (uint32_t)__builtin_clzll(value | 1);
    uint32_t size = (bits + 6) / 7;
    uint64_t more = 0x8080808080808080u & (((uint64_t)1 << (8 * size - 8)) - 1);
    uint64_t bytes = spread(value) | more;
    memcpy(at, &bytes, sizeof bytes);
    return at + size;
}

static inline char *put_text(char *at, struct str text)
{
    at = put_varint(at, text.len);
    memcpy(at, text.at, text.len);
    return at + text.len;
}

/* Reads a varint in its shortest form; one with a redundant last byte is refused. */
static inline bool take_varint(struct str bytes, uint32_t *at, uint64_t *out_value)
{
    uint32_t from = *at;
    if (from < bytes.len && (uint8_t)bytes.at[from] < 0x80) {
        *out_value = (uint8_t)bytes.at[from];
        *at = from + 1;
        return true;
    }
    return varint_read(bytes, at, out_value) && bytes.at[*at - 1] != 0;
}
