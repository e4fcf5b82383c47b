/* password_reset_keys.c - one key pair for each user with a pending password reset.
 *
 * It owns the table of key pairs, which ends with the process. A key stays valid after
 * reset_keys_open(), because the request that contained the box may have to be processed again;
 * reset_keys_end() removes it when the new password was accepted. Secret keys are wiped when they
 * are removed and when the table is freed; an expired one stays in the table, without effect, until
 * its entry is used again.
 *
 * Failure: a box that cannot be opened is a false result without a reason: no key of this user,
 * an expired key, wrong base64 or a wrong authenticator. The key is not removed by it.
 */
#include "auth/password_reset_keys.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct reset {
    int64_t user_id; /* 0: free */
    int64_t made_ms; /* monotonic */
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

/* The entry of this user, a free one, or the oldest one. */
static struct reset *reset_keys_choose_slot(struct reset_keys *r, int64_t user_id)
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
    struct reset *reset = reset_keys_choose_slot(r, user_id);
    reset->user_id = user_id;
    reset->made_ms = now_ms;
    must(crypto_box_keypair(reset->public_key, reset->secret_key) == 0);
    sodium_bin2base64(text, sizeof text, reset->public_key, sizeof reset->public_key,
                      sodium_base64_VARIANT_ORIGINAL);
    return str_copy(a, str_from(text));
}

/* Decode base64 of exactly `size` bytes. */
static bool reset_keys_decode(struct str text, uint8_t *out_bytes, size_t size)
{
    size_t got = 0;
    return sodium_base642bin(out_bytes, size, text.at, text.len, NULL, &got, NULL,
                             sodium_base64_VARIANT_ORIGINAL) == 0 &&
           got == size;
}

static const struct reset *reset_keys_find(const struct reset_keys *r, const struct sealed_box *box)
{
    uint8_t key[crypto_box_PUBLICKEYBYTES];
    if (!reset_keys_decode(box->token, key, sizeof key))
        return NULL;
    for (uint32_t i = 0; i < RESETS_MAX; i++)
        if (r->list[i].user_id == box->user_id &&
            sodium_memcmp(r->list[i].public_key, key, sizeof key) == 0)
            return &r->list[i];
    return NULL;
}

bool reset_keys_open(const struct reset_keys *r, struct arena *a, const struct sealed_box *box,
                     int64_t now_ms, struct str *out_text)
{
    uint8_t sender[crypto_box_PUBLICKEYBYTES], nonce[crypto_box_NONCEBYTES];
    const struct reset *reset = reset_keys_find(r, box);
    if (!reset || now_ms - reset->made_ms > RESET_MS || now_ms < reset->made_ms ||
        !reset_keys_decode(box->decoder, sender, sizeof sender) ||
        !reset_keys_decode(box->nonce, nonce, sizeof nonce))
        return false;
    uint8_t *sealed = arena_alloc(a, box->payload.len);
    size_t size = 0;
    if (sodium_base642bin(sealed, box->payload.len, box->payload.at, box->payload.len, NULL, &size,
                          NULL, sodium_base64_VARIANT_ORIGINAL) != 0 ||
        size < crypto_box_MACBYTES)
        return false;
    uint8_t *text = arena_alloc(a, size);
    if (crypto_box_open_easy(text, sealed, size, nonce, sender, reset->secret_key) != 0)
        return false;
    *out_text = (struct str){(const char *)text, (uint32_t)(size - crypto_box_MACBYTES)};
    return true;
}

bool reset_keys_end(struct reset_keys *r, const struct sealed_box *box)
{
    const struct reset *found = reset_keys_find(r, box);
    if (!found)
        return false;
    sodium_memzero(&r->list[found - r->list], sizeof *found);
    return true;
}
