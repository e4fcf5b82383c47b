#include "auth/password_reset_keys.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct reset {
    int64_t user_id; /* 0: free */
    int64_t made_ms;
    uint8_t public_key[crypto_box_PUBLICKEYBYTES];
    uint8_t secret_key[crypto_box_SECRETKEYBYTES];
};

struct reset_keys {
    struct reset list[RESETS_MAX];
};

struct reset_keys *reset_keys_new(void)
{
    struct reset_keys *r = calloc(1, sizeof *r);
    must(r);
    return r;
}

void reset_keys_free(struct reset_keys *r)
{
    if (!r)
        return;
    sodium_memzero(r, sizeof *r);
    free(r);
}

/* Its own place, a free one, or the oldest one's. */
static struct reset *place_for(struct reset_keys *r, int64_t user_id)
{
    struct reset *best = &r->list[0];
    for (uint32_t i = 0; i < RESETS_MAX; i++) {
        struct reset *here = &r->list[i];
        if (here->user_id == user_id)
            return here;
        if (best->user_id && (!here->user_id || here->made_ms < best->made_ms))
            best = here;
    }
    return best;
}

struct str reset_keys_start(struct reset_keys *r, struct arena *a, int64_t user_id, int64_t now_ms)
{
    char text[sodium_base64_ENCODED_LEN(crypto_box_PUBLICKEYBYTES, sodium_base64_VARIANT_ORIGINAL)];
    struct reset *reset = place_for(r, user_id);
    reset->user_id = user_id;
    reset->made_ms = now_ms;
    must(crypto_box_keypair(reset->public_key, reset->secret_key) == 0);
    sodium_bin2base64(text, sizeof text, reset->public_key, sizeof reset->public_key,
                      sodium_base64_VARIANT_ORIGINAL);
    return str_copy(a, str_from(text));
}

/* Exactly `size` bytes. */
static bool decode(struct str text, uint8_t *out_bytes, size_t size)
{
    size_t got = 0;
    return sodium_base642bin(out_bytes, size, text.at, text.len, NULL, &got, NULL,
                             sodium_base64_VARIANT_ORIGINAL) == 0 &&
           got == size;
}

static const struct reset *find(const struct reset_keys *r, const struct sealed_box *letter)
{
    uint8_t key[crypto_box_PUBLICKEYBYTES];
    if (!decode(letter->token, key, sizeof key))
        return NULL;
    for (uint32_t i = 0; i < RESETS_MAX; i++)
        if (r->list[i].user_id == letter->user_id &&
            sodium_memcmp(r->list[i].public_key, key, sizeof key) == 0)
            return &r->list[i];
    return NULL;
}

bool reset_keys_open(const struct reset_keys *r, struct arena *a, const struct sealed_box *letter,
                     int64_t now_ms, struct str *out_text)
{
    uint8_t sender[crypto_box_PUBLICKEYBYTES], nonce[crypto_box_NONCEBYTES];
    const struct reset *reset = find(r, letter);
    if (!reset || now_ms - reset->made_ms > RESET_MS || now_ms < reset->made_ms ||
        !decode(letter->decoder, sender, sizeof sender) ||
        !decode(letter->nonce, nonce, sizeof nonce))
        return false;
    uint8_t *sealed = arena_alloc(a, letter->payload.len);
    size_t size = 0;
    if (sodium_base642bin(sealed, letter->payload.len, letter->payload.at, letter->payload.len,
                          NULL, &size, NULL, sodium_base64_VARIANT_ORIGINAL) != 0 ||
        size < crypto_box_MACBYTES)
        return false;
    uint8_t *text = arena_alloc(a, size);
    if (crypto_box_open_easy(text, sealed, size, nonce, sender, reset->secret_key) != 0)
        return false;
    *out_text = (struct str){(const char *)text, (uint32_t)(size - crypto_box_MACBYTES)};
    return true;
}

bool reset_keys_end(struct reset_keys *r, const struct sealed_box *letter)
{
    const struct reset *found = find(r, letter);
    if (!found)
        return false;
    sodium_memzero(&r->list[found - r->list], sizeof *found);
    return true;
}
