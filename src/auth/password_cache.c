/* password_cache.c - a set-associative cache of recently verified passwords. The first byte of the
 * digest selects the set; within a set the entry that expires first is replaced. The cache belongs
 * to its caller (passwords.c) and is wiped at the end. No function can fail; a password that is not
 * found is verified again. */
#include "auth/password_cache.h"

#include <sodium.h>
#include <string.h>

#include "base/err.h"

_Static_assert(PASSWORD_CACHE_SETS == 256, "the first byte of a digest chooses the set");

void password_cache_init(struct password_cache *c)
{
    *c = (struct password_cache){0};
    randombytes_buf(c->key, sizeof c->key);
}

void password_cache_fini(struct password_cache *c)
{
    sodium_memzero(c, sizeof *c);
}

struct password_digest password_cache_digest(const struct password_cache *c, struct str hash,
                                             struct str password)
{
    struct password_digest d;
    crypto_generichash_state state;
    must(crypto_generichash_init(&state, c->key, sizeof c->key, sizeof d.bytes) == 0);
    /* Hash the length too, so that (hash, password) pairs with the same concatenation differ. */
    const uint8_t len[4] = {(uint8_t)(hash.len >> 24), (uint8_t)(hash.len >> 16),
                            (uint8_t)(hash.len >> 8), (uint8_t)hash.len};
    must(crypto_generichash_update(&state, len, sizeof len) == 0 &&
         crypto_generichash_update(&state, (const uint8_t *)hash.at, hash.len) == 0 &&
         crypto_generichash_update(&state, (const uint8_t *)password.at, password.len) == 0 &&
         crypto_generichash_final(&state, d.bytes, sizeof d.bytes) == 0);
    sodium_memzero(&state, sizeof state);
    return d;
}

bool password_cache_has(const struct password_cache *c, const struct password_digest *d,
                        uint64_t now_ms)
{
    for (uint32_t i = 0; i < PASSWORD_CACHE_WAYS; i++)
        if (c->entries[d->bytes[0]][i].until_ms > now_ms &&
            sodium_memcmp(c->entries[d->bytes[0]][i].digest.bytes, d->bytes, sizeof d->bytes) == 0)
            return true;
    return false;
}

/* Replaces the same digest if it is cached, otherwise the entry of the set that expires first. */
void password_cache_add(struct password_cache *c, const struct password_digest *d, uint64_t now_ms)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < PASSWORD_CACHE_WAYS; i++) {
        if (sodium_memcmp(c->entries[d->bytes[0]][i].digest.bytes, d->bytes, sizeof d->bytes) ==
            0) {
            place = i;
            break;
        }
        if (c->entries[d->bytes[0]][i].until_ms < c->entries[d->bytes[0]][place].until_ms)
            place = i;
    }
    c->entries[d->bytes[0]][place].digest = *d;
    c->entries[d->bytes[0]][place].until_ms = now_ms + PASSWORD_CACHE_MS;
}
