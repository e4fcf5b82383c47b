/* access_level.h - access levels of users and tokens, and kinds of tokens, as stored in
 * records. */
#pragma once

#include "base/text/str.h"

/* Access levels of users and tokens. Each includes the rights of those before it. */
#define ACCESSES(X)                                                                                \
    X(VIEWER, "viewer")                                                                            \
    X(OPERATOR, "operator")                                                                        \
    X(ADMIN, "admin")

enum access {
    ACCESS_NONE,
#define X(name, text) ACCESS_##name,
    ACCESSES(X)
#undef X
        ACCESS_COUNT
};

/* "" for ACCESS_NONE, which has no name. */
const char *access_name(enum access access);
enum access access_find(struct str name);

/* A session token is sent as a cookie by a browser and deleted at logout. */
enum token_kind { TOKEN_BEARER, TOKEN_SESSION, TOKEN_KIND_COUNT };
