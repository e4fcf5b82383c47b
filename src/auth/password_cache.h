/* password_cache.h - passwords that were right a moment ago.
 *
 * It keeps no password, only a hash of (stored hash, password) under a key that dies with the
 * process. It does not know how a password is checked, nor what time it is. At most
 * PASSWORD_CACHE_MAX are kept, each for PASSWORD_CACHE_MS; when there are more, older ones go.
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
        uint64_t until_ms; /* 0: nothing here */
    } entries[PASSWORD_CACHE_SETS][PASSWORD_CACHE_WAYS];
};

/* libsodium has been started. */
void password_cache_init(struct password_cache *c);
void password_cache_fini(struct password_cache *c);

struct password_digest password_cache_digest(const struct password_cache *c, struct str hash,
                                             struct str password);
bool password_cache_has(const struct password_cache *c, const struct password_digest *d,
                        uint64_t now_ms);
void password_cache_add(struct password_cache *c, const struct password_digest *d, uint64_t now_ms);
