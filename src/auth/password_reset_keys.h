/* password_reset_keys.h - new passwords in sealed letters.
 *
 * Whoever cannot send a password in the clear gets a public key made for that one user, seals the
 * password with it and a key of its own (libsodium's crypto_box), and sends the letter. A key is
 * good for an hour and one letter; a user has one at a time; nothing of it is kept beyond this
 * process. A bounded table: when it is full the oldest key goes. It is told the
 * time by a monotonic clock: only durations count here.
 */
#pragma once

#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

#define RESETS_MAX 64u
#define RESET_MS   ((int64_t)60 * 60 * 1000)

struct reset_keys;

/* libsodium has been started. */
struct reset_keys *reset_keys_new(void);
void reset_keys_free(struct reset_keys *r); /* NULL is fine */

/* A new public key for this user, in base64. The one before it is void. */
struct str reset_keys_start(struct reset_keys *r, struct arena *a, int64_t user_id, int64_t now_ms);

/* A letter; all in base64. */
struct sealed_box {
    int64_t user_id;    /* whom it is about                     */
    struct str token;   /* the public key it was sealed for     */
    struct str decoder; /* the public key of who sealed it      */
    struct str nonce;   /* 24 bytes                             */
    struct str payload; /* the text, behind its authenticator   */
};

/* What the letter says, in the arena. False: no key of this user's opens it. The key stays good:
 * the letter may have to be read again. */
bool reset_keys_open(const struct reset_keys *r, struct arena *a, const struct sealed_box *letter,
                     int64_t now_ms, struct str *out_text);
/* The letter was used. False: its key was used before. */
bool reset_keys_end(struct reset_keys *r, const struct sealed_box *letter);
