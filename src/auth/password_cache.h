/* password_cache.h - cache of passwords that were verified recently.
 *
 * It stores no password, only a hash of (stored hash, password) keyed with a random key of the
 * process. It neither verifies passwords nor reads a clock. At most PASSWORD_CACHE_MAX entries are
 * kept, each for PASSWORD_CACHE_MS; when a set is full, the oldest entry is replaced.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

#define PASSWORD_CACHE_MS    ((uint64_t)5 * 60 * 1000)
#define PASSWORD_CACHE_SETS  256u
#define PASSWORD_CACHE_WAYS  4u
#define PASSWORD_CACHE_MAX   (PASSWORD_CACHE_SETS * PASSWORD_CACHE_WAYS)
#define PASSWORD_DIGEST_SIZE 32u

struct password_digest {
    uint8_t bytes[PASSWORD_DIGEST_SIZE];
};

struct password_cache {
    uint8_t key[PASSWORD_DIGEST_SIZE];
    struct {
        struct password_digest digest;
        uint64_t until_ms; /* expiry, monotonic; 0: empty */
    } entries[PASSWORD_CACHE_SETS][PASSWORD_CACHE_WAYS];
};

/* sodium_init() must have been called. */
void password_cache_init(struct password_cache *c);
void password_cache_fini(struct password_cache *c);

struct password_digest password_cache_digest(const struct password_cache *c, struct str hash,
                                             struct str password);
bool password_cache_has(const struct password_cache *c, const struct password_digest *d,
                        uint64_t now_ms);
void password_cache_add(struct password_cache *c, const struct password_digest *d, uint64_t now_ms);
