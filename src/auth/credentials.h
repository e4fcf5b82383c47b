/* credentials.h - credentials in the headers of a request, tokens and CSRF tokens. No state. */
#pragma once

#include <stdbool.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

enum credentials_kind {
    CREDENTIALS_NONE,   /* no header, or an unsupported or malformed one  */
    CREDENTIALS_BASIC,  /* name and secret                                */
    CREDENTIALS_BEARER, /* secret                                         */
    CREDENTIALS_DIGEST, /* secret: the parameters, for digest_parse()     */
    CREDENTIALS_COOKIE, /* secret; from a cookie instead of Authorization */
};

struct credentials {
    enum credentials_kind kind;
    struct str name;
    struct str secret;
};

/* Parse an Authorization header. Strings are in the arena. A malformed one is CREDENTIALS_NONE. */
struct credentials credentials_parse(struct arena *a, struct str header);
/* Lower-case hex SHA-256 of a token, which the store keeps instead of it. 64 characters, in the
 * arena. */
struct str credentials_token_hash(struct arena *a, struct str token);
/* The value of that cookie in a Cookie header; empty if there is none, or it is not a token. */
struct str credentials_cookie(struct str header, struct str name);
/* The CSRF token of a session: a hash keyed with the secret of the session. Only pages of this
 * origin can read it, so a request that contains it was not sent by another site. In the arena. */
struct str credentials_csrf(struct arena *a, struct str session);
/* Compare two secrets in constant time. */
bool credentials_same(struct str a, struct str b);
/* A new token: "hlg_" and 32 random bytes in base64url, which need no escaping. In the arena. */
struct str credentials_token_new(struct arena *a);
