/* digest.h - HTTP digest authentication for old clients (RFC 7616: MD5, qop auth).
 *
 * It reads what a client claims, makes the nonces it must answer, and judges the answer against the
 * HA1 that is kept for the user. A nonce is its time, a few random bytes and a keyed hash of both,
 * so that handing one out costs no memory. Who answered well is remembered until the nonce is too
 * old: an answer counts once. It does not know users, and is told the time by a
 * monotonic clock. MD5 is what those
 * clients speak; nothing else here rests on it.
 */
#pragma once

#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"
#include "http/http.h"

#define DIGEST_REALM    "Crowbar"
#define DIGEST_NONCE_MS ((int64_t)5 * 60 * 1000) /* so old, or so early by another clock */
#define DIGEST_USED_MAX 1024u                    /* nonces in use that are remembered    */
#define DIGEST_HA1_LEN  32u

/* What stands behind "Digest" in an Authorization header. */
struct digest_claim {
    struct str username, realm, nonce, uri, response, algorithm, cnonce, nc, qop;
};

/* Lower-case hex of MD5(username:realm:password), in the arena; it is as good as the password. */
struct str digest_ha1(struct arena *a, struct str username, struct str password);
/* False: it does not read, or something is missing that we need. Texts lie in the arena. */
bool digest_parse(struct arena *a, struct str text, struct digest_claim *out_claim);

struct digests;

/* libsodium has been started. */
struct digests *digests_new(void);
void digests_free(struct digests *d); /* NULL is fine */

/* The value of a WWW-Authenticate header, with a new nonce. */
struct str digests_challenge(const struct digests *d, struct arena *a, int64_t now_ms,
                             bool is_stale);

enum digest_verdict {
    DIGEST_WRONG,
    DIGEST_STALE, /* the answer is right, but to a nonce that is too old, foreign, or used up */
    DIGEST_GOOD,  /* and from now on it is used up                                            */
};

struct digest_question {
    struct arena *arena; /* for scratch */
    const struct digest_claim *claim;
    enum http_method method;
    struct str target; /* as sent */
    struct str ha1;    /* empty: nobody's. Never right, and takes as long */
};

enum digest_verdict digests_judge(struct digests *d, const struct digest_question *q,
                                  int64_t now_ms);
