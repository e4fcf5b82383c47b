/* md5.c - MD5 as specified in RFC 1321. Stateless; nothing can fail. */
#include "base/hash/md5.h"

#include <string.h>

/* clang-format off */
/* The integer part of 2^32 times abs(sin(i + 1)). */
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

/* The rotation of each step of a round, in bits; the four values repeat. */
static const int rotations[4][4] = {
    {7, 12, 17, 22},
    {5,  9, 14, 20},
    {4, 11, 16, 23},
    {6, 10, 15, 21},
};
/* clang-format on */

static uint32_t md5_rotate_left(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static uint32_t little_endian_at(const uint8_t *at)
{
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

/* The auxiliary function of the round and the word of the block that step i takes. */
static uint32_t round_function(uint32_t i, const uint32_t v[4], uint32_t *out_word_ix)
{
    uint32_t b = v[1];
    uint32_t c = v[2];
    uint32_t d = v[3];
    switch (i / 16) {
    case 0: *out_word_ix = i; return (b & c) | (~b & d);
    case 1: *out_word_ix = (5 * i + 1) % 16; return (b & d) | (c & ~d);
    case 2: *out_word_ix = (3 * i + 5) % 16; return b ^ c ^ d;
    default: *out_word_ix = 7 * i % 16; return c ^ (b | ~d);
    }
}

static void md5_compress(uint32_t h[4], const uint8_t *block)
{
    uint32_t v[4];
    memcpy(v, h, sizeof v);
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t word_ix;
        uint32_t mixed = round_function(i, v, &word_ix);
        uint32_t sum = v[0] + mixed + sines[i] + little_endian_at(block + 4 * word_ix);
        v[0] = v[3];
        v[3] = v[2];
        v[2] = v[1];
        v[1] += md5_rotate_left(sum, rotations[i / 16][i % 4]);
    }
    for (int i = 0; i < 4; i++)
        h[i] += v[i];
}

void md5(struct str bytes, uint8_t out_digest[16])
{
    uint32_t h[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    uint32_t done = 0;
    for (; bytes.len - done >= 64; done += 64)
        md5_compress(h, (const uint8_t *)bytes.at + done);
    /* What is left, one bit, zeros, and the length in the last 8 bytes: one block or two. */
    uint8_t tail[128] = {0};
    uint32_t left = bytes.len - done;
    if (left)
        memcpy(tail, bytes.at + done, left);
    tail[left] = 0x80;
    uint32_t tail_size = left < 56 ? 64 : 128;
    uint64_t bits = (uint64_t)bytes.len * 8;
    for (uint32_t i = 0; i < 8; i++)
        tail[tail_size - 8 + i] = (uint8_t)(bits >> 8 * i);
    for (uint32_t at = 0; at < tail_size; at += 64)
        md5_compress(h, tail + at);
    for (uint32_t i = 0; i < 16; i++)
        out_digest[i] = (uint8_t)(h[i / 4] >> 8 * (i % 4));
}
