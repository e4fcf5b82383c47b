/* digest.h - HTTP digest authentication for old clients (RFC 7616: MD5, qop auth).
 *
 * It parses the Authorization header, creates nonces, and verifies responses against the stored HA1
 * of the user. A nonce is its time, random bytes and a keyed hash of both, so that issuing one
 * needs no memory. Used nonces are stored until they expire, so that a response is accepted once.
 * It does not access users; times are those of a monotonic clock, in ms. MD5 is what these clients
 * support; nothing else in this module uses it.
 */
#pragma once

#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"
#include "http/http.h"

#define DIGEST_REALM    "Crowbar"
#define DIGEST_NONCE_MS ((int64_t)5 * 60 * 1000) /* lifetime of a nonce                 */
#define DIGEST_USED_MAX 1024u                    /* entries of the table of used nonces */
#define DIGEST_HA1_LEN  32u

/* The parameters after "Digest" in an Authorization header. */
struct digest_parameters {
    struct str username, realm, nonce, uri, response, algorithm, cnonce, nc, qop;
};

/* Lower-case hex of MD5(username:realm:password), in the arena. For Digest it is equivalent to the
 * password and must be kept as secret. */
struct str digest_ha1(struct arena *a, struct str username, struct str password);
/* False: malformed, or a required parameter is missing or unsupported. Strings are in the arena. */
bool digest_parse(struct arena *a, struct str text, struct digest_parameters *out_claim);

struct digests;

/* sodium_init() must have been called. */
struct digests *digests_new(void);
void digests_free(struct digests *d); /* NULL is allowed */

/* The value of a WWW-Authenticate header, with a new nonce. */
struct str digests_challenge(const struct digests *d, struct arena *a, int64_t now_ms,
                             bool is_stale);

enum digest_verdict {
    DIGEST_WRONG,
    DIGEST_STALE, /* the response is right, but the nonce is expired, unknown or used */
    DIGEST_GOOD,  /* accepted; this count of the nonce is used from now on            */
};

struct digest_check {
    struct arena *arena; /* for temporary strings */
    const struct digest_parameters *claim;
    enum http_method method;
    struct str target; /* the request target as sent */
    struct str ha1;    /* empty: no such user. Never right, but takes the same time */
};

enum digest_verdict digests_verify(struct digests *d, const struct digest_check *q, int64_t now_ms);
