/* ip.h - IPv4 and IPv6 addresses with a prefix length, and ranges of them.
 *
 * An address is a 128-bit number with a family and a prefix length; an IPv4 address occupies the
 * low 32 bits. It is a value: nothing here allocates except for text. Operations that combine two
 * addresses require one family; the callers check it first, because a mixture is an input error
 * that only they can name. A zeroed struct is no address (IP_NONE).
 *
 * Text: "192.0.2.7", "192.0.2.7/24", "192.0.2.7/255.255.255.0", "2001:db8::7/64". Without a mask
 * the prefix length is that of a host. Output has the form of RFC 5952.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

enum ip_family { IP_NONE, IP_V4, IP_V6 };

struct ip {
    uint64_t hi; /* the upper 64 bits; 0 for IPv4 */
    uint64_t lo;
    enum ip_family family;
    uint8_t prefix; /* 0 to 32 or 128 */
};

/* ---- text ---- */

/* Parse an address with an optional mask. On failure returns false with a phrase in *out_what that
 * follows the name of a field: "must be ...". Letters must be lower case, and an IPv4 number has no
 * leading zero, because other programs read that as octal. A zone ("%eth0") is refused. */
bool ip_parse(struct str text, struct ip *out_ip, const char **out_what);
/* "192.0.2.7/24": the prefix length is always written. */
struct str ip_format(struct arena *a, struct ip ip);
/* "192.0.2.7" */
struct str ip_format_address(struct arena *a, struct ip ip);

/* ---- values ---- */

/* The IPv4 address that has this number in host order, as a host. */
struct ip ip_from_v4(uint32_t number);

uint8_t ip_bits(enum ip_family family); /* 32 or 128; 0 for IP_NONE */
struct ip ip_with_prefix(struct ip ip, uint8_t prefix);
/* Order by family (IPv6 before IPv4, as OpenCrowbar lists them), then by address; the prefix
 * length is ignored. */
int ip_cmp(struct ip a, struct ip b);
/* True if family, address and prefix length are equal. */
bool ip_eq(struct ip a, struct ip b);
/* The first address of the subnet, with all host bits 0, and the last one, with all host bits 1
 * (the broadcast address of an IPv4 subnet). Both keep the prefix length. */
struct ip ip_subnet(struct ip ip);
struct ip ip_subnet_last(struct ip ip);
/* True if `ip` is in the subnet of `subnet`; false for different families. */
bool ip_is_in_subnet(struct ip ip, struct ip subnet);
/* 127.0.0.0/8, ::1 */
bool ip_is_loopback(struct ip ip);
/* False for addresses that no interface of a machine can have: 0.0.0.0, ::, loopback, multicast,
 * 255.255.255.255, and IPv4 addresses in IPv6 (::ffff:0:0/96), which are IPv4 to a socket. */
bool ip_is_unicast(struct ip ip);
/* The address `count` after (or before) `ip`; false, with *out_ip unchanged, if it would exceed the
 * address space of its address family. */
bool ip_add(struct ip ip, uint64_t count, struct ip *out_ip);
bool ip_sub(struct ip ip, uint64_t count, struct ip *out_ip);
/* The address in the subnet of `subnet` that has the host bits of `host`. Host bits that do not fit
 * are dropped. The prefix length is that of `subnet`. */
struct ip ip_with_host_part(struct ip subnet, struct ip host);

/* ---- ranges ---- */

/* All addresses from first to last, both included. first <= last, one family. */
struct ip_range {
    struct ip first;
    struct ip last;
};

bool ip_range_has(struct ip_range range, struct ip ip);
bool ip_range_intersects(struct ip_range a, struct ip_range b);
/* Number of addresses; UINT64_MAX if there are more. */
uint64_t ip_range_count(struct ip_range range);
