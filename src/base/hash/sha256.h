/* sha256.h - SHA-256 (FIPS 180-4), for plan hashes and other identifiers that are derived
 * from content. */
#pragma once

#include <stdint.h>

#include "base/text/str.h"

struct sha256 {
    uint32_t h[8];
    uint64_t total;
    uint8_t block[64];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *bytes, uint32_t len);
void sha256_end(struct sha256 *s, uint8_t out_digest[32]);
