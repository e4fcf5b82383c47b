/* sha256.c - SHA-256 as specified in FIPS 180-4. The state is that of the caller (struct sha256);
 * it may not be used after sha256_end(). Nothing can fail. */
#include "base/hash/sha256.h"

#include <string.h>

/* clang-format off */
/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t round_words[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* The first 32 bits of the fractions of the square roots of the first 8 primes. */
static const uint32_t first_words[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};
/* clang-format on */

static uint32_t rotate_right(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static uint32_t big_endian_at(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void put_big_endian(uint8_t *at, uint32_t word)
{
    at[0] = (uint8_t)(word >> 24);
    at[1] = (uint8_t)(word >> 16);
    at[2] = (uint8_t)(word >> 8);
    at[3] = (uint8_t)word;
}

/* The message schedule: 16 words of the block, stretched to 64. */
static void sha256_schedule(uint32_t w[64], const uint8_t *block)
{
    for (int i = 0; i < 16; i++)
        w[i] = big_endian_at(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t x = w[i - 15];
        uint32_t y = w[i - 2];
        uint32_t small0 = rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> 3;
        uint32_t small1 = rotate_right(y, 17) ^ rotate_right(y, 19) ^ y >> 10;
        w[i] = w[i - 16] + small0 + w[i - 7] + small1;
    }
}

/* One round. The letters are those of the standard. Before round i the letter a is v[(0 - i) % 8],
 * b the one after it, and so on: nothing is moved between rounds, only the letters that change are
 * written. */
static inline void sha256_round(uint32_t v[8], uint32_t i, uint32_t word)
{
    const uint32_t a = v[(0 - i) & 7], b = v[(1 - i) & 7], c = v[(2 - i) & 7];
    const uint32_t e = v[(4 - i) & 7], f = v[(5 - i) & 7], g = v[(6 - i) & 7];
    const uint32_t big0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
    const uint32_t big1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
    const uint32_t choice = (e & f) ^ (~e & g);
    const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    const uint32_t t1 = v[(7 - i) & 7] + big1 + choice + word;
    v[(3 - i) & 7] += t1;
    v[(7 - i) & 7] = t1 + big0 + majority;
}

/* Eight rounds are written out, so that the places of the letters are constants. */
static void sha256_compress(uint32_t h[8], const uint8_t *block)
{
    uint32_t w[64];
    uint32_t v[8];
    sha256_schedule(w, block);
    memcpy(v, h, sizeof v);
    for (uint32_t i = 0; i < 64; i += 8) {
        sha256_round(v, 0, round_words[i] + w[i]);
        sha256_round(v, 1, round_words[i + 1] + w[i + 1]);
        sha256_round(v, 2, round_words[i + 2] + w[i + 2]);
        sha256_round(v, 3, round_words[i + 3] + w[i + 3]);
        sha256_round(v, 4, round_words[i + 4] + w[i + 4]);
        sha256_round(v, 5, round_words[i + 5] + w[i + 5]);
        sha256_round(v, 6, round_words[i + 6] + w[i + 6]);
        sha256_round(v, 7, round_words[i + 7] + w[i + 7]);
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

void sha256_init(struct sha256 *s)
{
    memset(s, 0, sizeof *s);
    memcpy(s->h, first_words, sizeof s->h);
}

void sha256_add(struct sha256 *s, const void *bytes, uint32_t len)
{
    const uint8_t *from = bytes;
    while (len) {
        uint32_t filled = (uint32_t)(s->total % 64);
        uint32_t part = len < 64 - filled ? len : 64 - filled;
        memcpy(s->block + filled, from, part);
        s->total += part;
        from += part;
        len -= part;
        if (filled + part == 64)
            sha256_compress(s->h, s->block);
    }
}

void sha256_end(struct sha256 *s, uint8_t out_digest[32])
{
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = s->total * 8;
    uint32_t filled = (uint32_t)(s->total % 64);
    /* One bit and zeros up to the last 8 bytes of a block, which hold the length. */
    sha256_add(s, padding, filled < 56 ? 56 - filled : 120 - filled);
    uint8_t length[8];
    put_big_endian(length, (uint32_t)(bits >> 32));
    put_big_endian(length + 4, (uint32_t)bits);
    sha256_add(s, length, sizeof length);
    for (int i = 0; i < 8; i++)
        put_big_endian(out_digest + 4 * i, s->h[i]);
}
