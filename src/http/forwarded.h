/* forwarded.h - the client that a proxy says it asks for.
 *
 * A proxy in front of the daemon appends the address of its client to Forwarded (RFC 7239) or to
 * X-Forwarded-For, and says in proto= or X-Forwarded-Proto whether that client used TLS. Only the
 * last element is the proxy's own; those before it may be anything the client sent. A proxy that
 * sets one of the two headers may pass on the other as its client sent it: where both are there
 * and disagree, the client is unknown. The caller decides whose headers are read at all.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

/* The last line of each header; `at` is NULL for a header that is absent. */
struct forwarded_headers {
    struct str forwarded, forwarded_for, forwarded_proto;
};

struct forwarded {
    bool is_forwarded; /* a client is named, or is said to be unknown             */
    bool is_known;     /* and this is its address                                 */
    struct in6_addr address;
    bool has_proto; /* the scheme that the client used is said                 */
    bool is_https;  /* and it is https                                         */
};

struct forwarded forwarded_read(struct arena *a, const struct forwarded_headers *headers);
