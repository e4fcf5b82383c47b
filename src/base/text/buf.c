/* buf.c - text or bytes being written, in an arena. The arena owns the memory; growing leaves the
 * old copy in it. More than 4 GiB and exhausted memory abort; reading a varint returns false
 * instead. */
#include "base/text/buf.h"

#include <string.h>

#include "base/err.h"

enum { BUF_FIRST_CAP = 64, U64_DIGITS_MAX = 20 };

struct buf buf_in(struct arena *a)
{
    return (struct buf){.arena = a};
}

char *buf_room(struct buf *b, uint32_t more)
{
    if (b->at && more <= b->cap - b->len)
        return b->at + b->len;
    uint64_t needed = (uint64_t)b->len + more;
    must(needed <= UINT32_MAX);
    uint64_t cap = b->cap ? b->cap : BUF_FIRST_CAP;
    while (cap < needed)
        cap *= 2;
    if (cap > UINT32_MAX)
        cap = UINT32_MAX;
    char *grown = arena_alloc(b->arena, (size_t)cap);
    if (b->len)
        memcpy(grown, b->at, b->len);
    b->at = grown;
    b->cap = (uint32_t)cap;
    return b->at + b->len;
}

void buf_put(struct buf *b, const void *bytes, uint32_t len)
{
    if (len == 0)
        return;
    memcpy(buf_room(b, len), bytes, len);
    b->len += len;
}

void buf_put_str(struct buf *b, struct str s)
{
    buf_put(b, s.at, s.len);
}

void buf_put_z(struct buf *b, const char *zero_terminated)
{
    buf_put_str(b, str_from(zero_terminated));
}

void buf_put_c(struct buf *b, char c)
{
    *buf_room(b, 1) = c;
    b->len++;
}

void buf_put_i64(struct buf *b, int64_t value)
{
    if (value >= 0) {
        buf_put_u64(b, (uint64_t)value);
        return;
    }
    buf_put_c(b, '-');
    /* Negated as unsigned: the lowest int64 has no positive counterpart. */
    buf_put_u64(b, 0 - (uint64_t)value);
}

void buf_put_u64(struct buf *b, uint64_t value)
{
    char digits[U64_DIGITS_MAX];
    uint32_t from = U64_DIGITS_MAX;
    do {
        digits[--from] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    buf_put(b, digits + from, U64_DIGITS_MAX - from);
}

void buf_put_hex(struct buf *b, const void *bytes, uint32_t len)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *from = bytes;
    must(len <= UINT32_MAX / 2);
    char *to = buf_room(b, 2 * len);
    for (uint32_t i = 0; i < len; i++) {
        to[2 * i] = digits[from[i] >> 4];
        to[2 * i + 1] = digits[from[i] & 15u];
    }
    b->len += 2 * len;
}

void buf_put_varint(struct buf *b, uint64_t value)
{
    while (value >= 0x80) {
        buf_put_c(b, (char)(value | 0x80));
        value >>= 7;
    }
    buf_put_c(b, (char)value);
}

struct str buf_str(const struct buf *b)
{
    return b->at ? (struct str){b->at, b->len} : STR("");
}

bool varint_read(struct str bytes, uint32_t *at, uint64_t *out_value)
{
    uint64_t value = 0;
    uint32_t shift = 0;
    for (uint32_t i = *at; i < bytes.len; i++) {
        uint8_t byte = (uint8_t)bytes.at[i];
        /* The tenth byte has room for one bit only, and nothing may follow it. */
        if (shift == 63 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 0x7fu) << shift;
        if (byte < 0x80) {
            *at = i + 1;
            *out_value = value;
            return true;
        }
        shift += 7;
    }
    return false;
}
