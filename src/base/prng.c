/* prng.c - xoshiro256** (Blackman and Vigna), its state filled by splitmix64. */
#include "base/prng.h"

#include "base/err.h"

__extension__ typedef unsigned __int128 uint128;

static uint64_t prng_rotate_left(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

/* Neighbouring seeds must not give neighbouring states; splitmix64 is a bijection with good
 * avalanche and never yields four zeros in a row, the one state xoshiro cannot leave. */
static uint64_t prng_splitmix(uint64_t *counter)
{
    uint64_t z = (*counter += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void prng_init(struct prng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        r->s[i] = prng_splitmix(&seed);
}

uint64_t prng_next(struct prng *r)
{
    uint64_t *s = r->s;
    uint64_t result = prng_rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = prng_rotate_left(s[3], 45);
    return result;
}

/* The high half of next * bound is in range. Each result comes from either floor or ceil of
 * 2^64 / bound numbers; drawing again while the low half is below 2^64 mod bound evens that out
 * (Lemire). */
uint64_t prng_below(struct prng *r, uint64_t bound)
{
    must(bound > 0);
    uint128 product = (uint128)prng_next(r) * bound;
    if ((uint64_t)product < bound) {
        uint64_t uneven = (0 - bound) % bound;
        while ((uint64_t)product < uneven)
            product = (uint128)prng_next(r) * bound;
    }
    return (uint64_t)(product >> 64);
}

int64_t prng_between(struct prng *r, int64_t low, int64_t high)
{
    must(low <= high);
    uint64_t count = (uint64_t)high - (uint64_t)low + 1;
    /* 0 is 2^64 wrapped around: every int64 may be drawn. */
    uint64_t offset = count ? prng_below(r, count) : prng_next(r);
    return (int64_t)((uint64_t)low + offset);
}

bool prng_chance(struct prng *r, uint32_t per_mille)
{
    return prng_below(r, 1000) < per_mille;
}
