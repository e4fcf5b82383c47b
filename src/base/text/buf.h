/* buf.h - text or bytes being written, in an arena.
 *
 * Grows by doubling inside its arena; the old room is simply left behind. What buf_str() returns
 * lives as long as the arena's content.
 */
#pragma once

#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

struct buf {
    struct arena *arena;
    char *at;
    uint32_t len;
    uint32_t cap;
};

struct buf buf_in(struct arena *a);
/* Make room for `more` further bytes and return where they go; `len` is not changed. */
char *buf_room(struct buf *b, uint32_t more);
void buf_put(struct buf *b, const void *bytes, uint32_t len);
void buf_put_str(struct buf *b, struct str s);
void buf_put_z(struct buf *b, const char *zero_terminated);
void buf_put_c(struct buf *b, char c);
void buf_put_i64(struct buf *b, int64_t value);                   /* decimal */
void buf_put_u64(struct buf *b, uint64_t value);                  /* decimal */
void buf_put_hex(struct buf *b, const void *bytes, uint32_t len); /* lower case */
/* LEB128, 7 bits a byte, low first. */
void buf_put_varint(struct buf *b, uint64_t value);
struct str buf_str(const struct buf *b);

/* Reading what buf_put_varint wrote: false when the bytes end too early or run past 64 bits.
 * `*at` moves only on success. */
bool varint_read(struct str bytes, uint32_t *at, uint64_t *out_value);
