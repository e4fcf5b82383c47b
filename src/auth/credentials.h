/* credentials.h - what an Authorization header says. */
#pragma once

#include <stdbool.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

enum credentials_kind {
    CREDENTIALS_NONE,   /* no header, or nothing we understand */
    CREDENTIALS_BASIC,  /* name and secret                     */
    CREDENTIALS_BEARER, /* secret                              */
    CREDENTIALS_DIGEST, /* secret: the claim, for digest_parse */
    CREDENTIALS_COOKIE, /* secret; of no Authorization header  */
};

struct credentials {
    enum credentials_kind kind;
    struct str name;
    struct str secret;
};

/* Texts lie in the arena. Malformed headers are CREDENTIALS_NONE. */
struct credentials credentials_parse(struct arena *a, struct str header);
/* Lower-case hex SHA-256 of a token: what the store keeps of it. 64 characters, in the arena. */
struct str credentials_token_hash(struct arena *a, struct str token);
/* The value of that cookie in a Cookie header; empty when there is none, or nothing of ours. */
struct str credentials_cookie(struct str header, struct str name);
/* What a page of ours shows beside the cookie of a session, and no other page can know: a hash that
 * has the session's secret for a key. In the arena. */
struct str credentials_csrf(struct arena *a, struct str session);
/* Equal? Takes as long wherever they differ. */
bool credentials_same(struct str a, struct str b);
/* A fresh token: 32 random bytes as text that needs no escaping anywhere. In the arena. */
struct str credentials_token_new(struct arena *a);
