/* passwords.h - hash and verify passwords with argon2id in a thread of its own.
 *
 * Hashing takes tens of milliseconds by design, so it never happens in the loop: jobs wait in a
 * short queue, and when that is full, or has PASSWORDS_SHARE_MAX jobs of the same address, the
 * request is refused (429). A password that was right is cached for five minutes under a keyed hash
 * of (stored hash, password), so that scripts with Basic authentication do not pay each time; a
 * changed password has another stored hash, so its old entry does not match any more. Callbacks are
 * called in the thread of the loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "base/text/str.h"

#define PASSWORDS_QUEUE_MAX 32u
#define PASSWORDS_SHARE_MAX 8u   /* jobs of one address in the queue */
#define PASSWORD_HASH_MAX   128u /* bytes of an argon2id string, zero included */

struct passwords;

/* NULL if libsodium cannot be initialised or the thread cannot be started. */
struct passwords *passwords_new(uv_loop_t *loop);
/* Pending jobs are dropped without a callback. The loop must run once more to free the memory. */
void passwords_free(struct passwords *p);

typedef void passwords_checked_fn(void *context, bool right);
typedef void passwords_hashed_fn(void *context, const char *hash); /* NULL: out of memory */

struct password_check {
    const uint8_t *address; /* 16 bytes, as in struct http_request */
    struct str hash;        /* as stored; empty: no such user */
    struct str password;
};

/* Verify a password. If it is cached, the callback is called before this returns, otherwise later.
 * An empty hash is never right but takes the same time. ERR_LIMIT: the queue or the share of the
 * address is full. */
NODISCARD err passwords_check(struct passwords *p, const struct password_check *claim,
                              passwords_checked_fn *checked, void *context);
NODISCARD err passwords_hash(struct passwords *p, const uint8_t *address, struct str password,
                             passwords_hashed_fn *hashed, void *context);

/* Hash in the calling thread, for the start of the daemon. False: out of memory. */
bool password_hash_now(struct str password, char out_hash[PASSWORD_HASH_MAX]);
