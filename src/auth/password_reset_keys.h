/* password_reset_keys.h - encrypted transfer of new passwords (OpenCrowbar's password reset).
 *
 * A client that must not send a password in clear text requests a public key for one user, encrypts
 * the password with it and a key pair of its own (libsodium's crypto_box), and sends the sealed
 * box. A key is valid for an hour and for one box; a user has one key at a time. Keys are not
 * stored: they end with the process. The table is bounded: when it is full, the oldest key is
 * dropped. Times are those of a monotonic clock, in ms.
 */
#pragma once

#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

#define RESETS_MAX 64u
#define RESET_MS   ((int64_t)60 * 60 * 1000)

struct reset_keys;

/* sodium_init() must have been called. */
struct reset_keys *reset_keys_new(void);
void reset_keys_free(struct reset_keys *r); /* NULL is allowed */

/* A new public key for this user, in base64. It replaces an earlier one. */
struct str reset_keys_start(struct reset_keys *r, struct arena *a, int64_t user_id, int64_t now_ms);

/* An encrypted password; strings are base64. */
struct sealed_box {
    int64_t user_id;    /* whose password is changed            */
    struct str token;   /* the public key of reset_keys_start() */
    struct str decoder; /* the public key of the client         */
    struct str nonce;   /* 24 bytes                             */
    struct str payload; /* authenticator and encrypted password */
};

/* Decrypt the box into the arena. False: this user has no key that opens it. The key stays valid,
 * because the request may have to be processed again. */
bool reset_keys_open(const struct reset_keys *r, struct arena *a, const struct sealed_box *box,
                     int64_t now_ms, struct str *out_text);
/* The password was changed: remove the key. False: it has been used before. */
bool reset_keys_end(struct reset_keys *r, const struct sealed_box *box);
