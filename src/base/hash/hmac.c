#include "base/hash/hmac.h"

#include <string.h>

#include "base/hash/sha256.h"

enum { BLOCK_SIZE = 64, CODE_SIZE = 32, INNER_PAD = 0x36, OUTER_PAD = 0x5c };

/* The hash of the key, padded and combined with the byte `pad`, and of the bytes after it. */
static void hmac_hash(const uint8_t *key, uint8_t pad, struct str bytes, uint8_t *out_code)
{
    uint8_t block[BLOCK_SIZE];
    struct sha256 hash;
    for (uint32_t i = 0; i < BLOCK_SIZE; i++)
        block[i] = key[i] ^ pad;
    sha256_init(&hash);
    sha256_add(&hash, block, BLOCK_SIZE);
    sha256_add(&hash, bytes.at, bytes.len);
    sha256_end(&hash, out_code);
}

void hmac_sha256(struct str key, struct str bytes, uint8_t out_code[32])
{
    uint8_t padded[BLOCK_SIZE] = {0}, inner[CODE_SIZE];
    if (key.len > BLOCK_SIZE) {
        struct sha256 hash;
        sha256_init(&hash);
        sha256_add(&hash, key.at, key.len);
        sha256_end(&hash, padded);
    } else if (key.len) {
        memcpy(padded, key.at, key.len);
    }
    hmac_hash(padded, INNER_PAD, bytes, inner);
    hmac_hash(padded, OUTER_PAD, (struct str){(const char *)inner, CODE_SIZE}, out_code);
}
