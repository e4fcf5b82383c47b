/* buf.h - a growing buffer of text or bytes in an arena.
 *
 * It grows by doubling inside its arena; the old memory is freed with the arena. The result of
 * buf_str() is valid as long as the allocations of the arena.
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
/* Reserve space for `more` further bytes and return its address; `len` is not changed. */
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

/* Read the output of buf_put_varint. False if the bytes end too early or exceed 64 bits; `*at`
 * advances on success only. */
bool varint_read(struct str bytes, uint32_t *at, uint64_t *out_value);
