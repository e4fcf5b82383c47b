/* hash.c - a hash with a state of two words, mixed by one 64x64->128 multiplication per step.
 *
 * Each step adds 16 bytes to the state, multiplies the two words, and combines each half of the
 * product with the other word. Because the words remain in the state, a factor of zero loses no
 * information: the step is close to a permutation of the 128 bits, and two strings collide in both
 * halves about as rarely as 128 bits allow.
 */
#include "base/hash/hash.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "words are read in memory order; another byte order would give other digests");

__extension__ typedef unsigned __int128 uint128;

/* Odd constants with about half of their bits set: fractional parts of the roots of 2, 3, 5, 7. */
#define ROOT_2 0x6a09e667f3bcc909u
#define ROOT_3 0xbb67ae8584caa73bu
#define ROOT_5 0x3c6ef372fe94f82bu
#define ROOT_7 0xa54ff53a5f1d36f1u

struct state {
    uint64_t x;
    uint64_t y;
};

static uint64_t word_at(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static uint64_t half_word_at(const char *at)
{
    uint32_t half;
    memcpy(&half, at, sizeof half);
    return half;
}

static uint64_t hash_rotate_left(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

static struct state hash_step(struct state s, uint64_t a, uint64_t b)
{
    uint64_t x = s.x ^ a;
    uint64_t y = s.y ^ b;
    uint128 product = (uint128)x * y;
    return (struct state){hash_rotate_left(y, 23) + (uint64_t)(product >> 64),
                          hash_rotate_left(x, 41) ^ (uint64_t)product};
}

/* Hashes at most 16 bytes. The two reads may overlap; strings for which they are then equal
 * differ in length, which is part of the initial state. */
static struct state hash_short_step(struct state s, const char *at, uint32_t len)
{
    if (len >= 8)
        return hash_step(s, word_at(at), word_at(at + len - 8));
    if (len >= 4)
        return hash_step(s, half_word_at(at), half_word_at(at + len - 4));
    if (len == 0)
        return hash_step(s, 0, 0);
    const unsigned char *byte = (const unsigned char *)at;
    return hash_step(s, (uint64_t)byte[0] | (uint64_t)byte[len / 2] << 8, byte[len - 1]);
}

static struct state hash_state(struct str bytes, uint64_t seed)
{
    struct state s = {seed ^ ROOT_2, hash_rotate_left(seed, 32) ^ ROOT_3 ^ (bytes.len * ROOT_5)};
    const char *at = bytes.at;
    uint32_t left = bytes.len;
    if (left <= 16) {
        s = hash_short_step(s, at, left);
    } else {
        for (; left > 16; left -= 16, at += 16)
            s = hash_step(s, word_at(at), word_at(at + 8));
        /* The last 16 bytes; some of them are read for the second time. */
        s = hash_step(s, word_at(at + left - 16), word_at(at + left - 8));
    }
    s = hash_step(s, ROOT_5, ROOT_7);
    s = hash_step(s, ROOT_7, ROOT_2);
    return hash_step(s, ROOT_3, ROOT_5);
}

uint64_t hash64(struct str bytes, uint64_t seed)
{
    struct state s = hash_state(bytes, seed);
    return s.x ^ s.y;
}

struct digest128 hash128(struct str bytes, uint64_t seed)
{
    struct state s = hash_state(bytes, seed);
    return (struct digest128){s.x, s.y};
}

struct digest128 digest_of_row(struct str bytes)
{
    enum { ROW_SEED = 1 };
    return hash128(bytes, ROW_SEED);
}

void digest_add(struct digest128 *sum, struct digest128 part)
{
    uint64_t lo = sum->lo + part.lo;
    sum->hi += part.hi + (lo < part.lo);
    sum->lo = lo;
}

void digest_sub(struct digest128 *sum, struct digest128 part)
{
    sum->hi -= part.hi + (sum->lo < part.lo);
    sum->lo -= part.lo;
}

bool digest_eq(struct digest128 a, struct digest128 b)
{
    return a.lo == b.lo && a.hi == b.hi;
}
