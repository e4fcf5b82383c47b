/* hash.h - fast hashes for tables and digests. Not for secrets.
 *
 * The same bytes give the same value on every machine and compiler: digests are compared across
 * builds (invariant I8).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

struct digest128 {
    uint64_t lo;
    uint64_t hi;
};

uint64_t hash64(struct str bytes, uint64_t seed);
struct digest128 hash128(struct str bytes, uint64_t seed);

/* A digest is a sum mod 2^128 of row hashes, so it does not depend on the order of insertions and
 * deletions. */
struct digest128 digest_of_row(struct str bytes); /* of an encoded record (ADR 0026) */
void digest_add(struct digest128 *sum, struct digest128 part);
void digest_sub(struct digest128 *sum, struct digest128 part);
bool digest_eq(struct digest128 a, struct digest128 b);
