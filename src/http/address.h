/* address.h - addresses of clients, both families in one form.
 *
 * An IPv4 address is kept mapped into IPv6. A host with one IPv6 address has the whole /64, so what
 * is counted per address is counted per network of an IPv6 address.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

/* All zero for any other family, and for NULL. */
struct in6_addr address_of_socket(const struct sockaddr *address);
/* Digits of an address of either family, without a port or a zone. */
bool address_parse(struct str text, struct in6_addr *out_address);
/* What failures and connections are counted for. */
struct in6_addr address_network(struct in6_addr address);
bool address_is_loopback(const struct in6_addr *address);
/* 0.0.0.0 or ::, which no host has. */
bool address_is_unspecified(const struct in6_addr *address);
/* As it is written, into `out`, which is returned. */
const char *address_text(const struct in6_addr *address, char out[INET6_ADDRSTRLEN]);
/* The same into the arena; empty for the unspecified address. */
struct str address_format(struct arena *a, const uint8_t address[16]);
