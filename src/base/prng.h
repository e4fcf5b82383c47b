/* prng.h - a seeded, portable sequence of numbers. Same seed, same sequence, everywhere. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct prng {
    uint64_t s[4];
};

void prng_init(struct prng *r, uint64_t seed);
uint64_t prng_next(struct prng *r);
/* Uniform in [0, bound), without modulo bias; bound must not be 0. */
uint64_t prng_below(struct prng *r, uint64_t bound);
/* Uniform in [low, high], both included. */
int64_t prng_between(struct prng *r, int64_t low, int64_t high);
/* True with a probability of `per_mille` in a thousand. */
bool prng_chance(struct prng *r, uint32_t per_mille);
