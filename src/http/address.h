/* address.h - IP addresses of clients, both families as struct in6_addr.
 *
 * IPv4 addresses are mapped into IPv6. A host usually controls a whole IPv6 /64, so limits per
 * address apply to the /64 network of an IPv6 address.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

/* The address of a socket; all zero for another family and for NULL. */
struct in6_addr address_of_socket(const struct sockaddr *address);
/* Parse a numeric address of either family, without port and zone. */
bool address_parse(struct str text, struct in6_addr *out_address);
/* The key for counting: the address itself, or the /64 network of an IPv6 address. */
struct in6_addr address_network(struct in6_addr address);
bool address_is_loopback(const struct in6_addr *address);
/* 0.0.0.0 or ::, which is the address of no host. */
bool address_is_unspecified(const struct in6_addr *address);
/* Format into `out`, which is returned. */
const char *address_text(const struct in6_addr *address, char out[INET6_ADDRSTRLEN]);
/* The same into the arena; empty for the unspecified address. */
struct str address_format(struct arena *a, const uint8_t address[16]);
