/* forwarded.h - the client address and scheme that a reverse proxy reports.
 *
 * A proxy in front of the daemon appends the address of its client to Forwarded (RFC 7239) or to
 * X-Forwarded-For, and reports in proto= or X-Forwarded-Proto whether that client used TLS. Only
 * the last element is written by the proxy; those before it may be anything the client sent. A
 * proxy that sets one of the two headers may forward the other one as its client sent it: if both
 * are present and differ, the client is unknown. The caller decides which peers are trusted.
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
    bool is_forwarded;       /* a client is named, or reported as unknown */
    bool is_known;           /* `address` is valid                        */
    struct in6_addr address; /* IPv4 mapped                               */
    bool has_proto;          /* the scheme of the client is reported      */
    bool is_https;           /* and it is https                           */
};

struct forwarded forwarded_read(struct arena *a, const struct forwarded_headers *headers);
