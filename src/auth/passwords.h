/* passwords.h - argon2id in a thread of its own (DECISIONS D24).
 *
 * Hashing a password takes tens of milliseconds on purpose, so it never happens in the loop: jobs
 * wait in a short queue, and when that is full, or holds a share's worth of jobs of the same
 * address, the asker is told so (429). A password that was right is remembered for five minutes
 * under a keyed hash of (stored hash, password), so scripts with Basic authentication do not pay
 * each time; a new stored hash makes a new key, so a changed password is forgotten by itself.
 * Answers arrive in the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "base/text/str.h"

#define PASSWORDS_QUEUE_MAX 32u
#define PASSWORDS_SHARE_MAX 8u   /* of the queue, for one address */
#define PASSWORD_HASH_MAX   128u /* room for an argon2id string, zero included */

struct passwords;

/* NULL when libsodium does not start. */
struct passwords *passwords_new(uv_loop_t *loop);
/* Jobs not done are dropped without a callback. The loop must run once more. */
void passwords_free(struct passwords *p);

typedef void passwords_checked_fn(void *context, bool right);
typedef void passwords_hashed_fn(void *context, const char *hash); /* NULL: out of memory */

struct password_claim {
    const uint8_t *address; /* 16 bytes, as in struct http_request */
    struct str hash;        /* as it is stored; empty: there is no such user */
    struct str password;
};

/* Is the password the one behind the hash? From memory at once (the callback is called before this
 * returns), or later. An empty hash is never right but takes as long. ERR_LIMIT: the queue is full,
 * or the address has its share of it already. */
NODISCARD err passwords_check(struct passwords *p, const struct password_claim *claim,
                              passwords_checked_fn *checked, void *context);
NODISCARD err passwords_hash(struct passwords *p, const uint8_t *address, struct str password,
                             passwords_hashed_fn *hashed, void *context);

/* In the caller's own thread, for programs without a loop. False: out of memory. */
bool password_hash_now(struct str password, char out_hash[PASSWORD_HASH_MAX]);
