/* ip.c - parser, formatter and arithmetic of IP addresses.
 *
 * Owns nothing: all functions work on values. Addresses of both families are one 128-bit number,
 * so that masks, comparison and arithmetic need no case distinction; only the text forms and the
 * number of bits depend on the address family. The parser treats its input as untrusted: it accepts
 * exactly one spelling of each number, so that two addresses that differ in text differ in value
 * or in mask, and on failure it leaves the result unchanged. */
#include "base/net/ip.h"

#include "base/err.h"
#include "base/text/buf.h"

enum { V6_GROUPS = 8 };

static const char NO_ADDRESS[] = "must be an IP address such as 192.0.2.7/24 or 2001:db8::7/64";
static const char NO_MASK[] = "must have a prefix length of 0 to 32 (IPv6: 128), or a netmask of "
                              "leading ones such as 255.255.255.0";
static const char NOT_LOWER[] = "must be written in lower case";

/* ---- 128-bit numbers ---- */

__extension__ typedef unsigned __int128 uint128;

static uint128 ip_number(struct ip ip)
{
    return (uint128)ip.hi << 64 | ip.lo;
}

static struct ip ip_set_number(struct ip ip, uint128 number)
{
    ip.hi = (uint64_t)(number >> 64);
    ip.lo = (uint64_t)number;
    return ip;
}

/* The host bits of the subnet. A shift by 128 is undefined, so a prefix length of 0 in IPv6 is a
 * case of its own. */
static uint128 ip_host_mask(struct ip ip)
{
    const uint32_t host_bits = (uint32_t)ip_bits(ip.family) - ip.prefix;
    return host_bits == 128 ? ~(uint128)0 : ((uint128)1 << host_bits) - 1;
}

/* ---- parsing ---- */

/* Decimal number from 0 to `max` without leading zeros, at *at, which advances past it. */
static bool ip_read_decimal(struct str s, uint32_t *at, uint32_t max, uint32_t *out_value)
{
    const uint32_t from = *at;
    uint32_t value = 0;
    while (*at < s.len && char_is_digit(s.at[*at]) && value <= max)
        value = value * 10 + (uint32_t)(s.at[(*at)++] - '0');
    *out_value = value;
    return *at > from && value <= max && (*at == from + 1 || s.at[from] != '0');
}

/* Four decimal numbers with dots between them; the whole string. */
static bool ip_read_v4(struct str s, uint32_t *out_number)
{
    uint32_t at = 0;
    uint32_t number = 0;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t part;
        if (i > 0 && (at >= s.len || s.at[at++] != '.'))
            return false;
        if (!ip_read_decimal(s, &at, 255, &part))
            return false;
        number = number << 8 | part;
    }
    *out_number = number;
    return at == s.len;
}

static int ip_hex_value(char c)
{
    if (char_is_digit(c))
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One to four hexadecimal digits at *at, which advances past them. */
static bool ip_read_group(struct str s, uint32_t *at, uint16_t *out_group)
{
    const uint32_t from = *at;
    uint32_t value = 0;
    while (*at < s.len && *at - from < 4 && ip_hex_value(s.at[*at]) >= 0)
        value = value << 4 | (uint32_t)ip_hex_value(s.at[(*at)++]);
    *out_group = (uint16_t)value;
    return *at > from;
}

/* Groups of an IPv6 address; `gap` is the index of the group that follows "::", or -1. */
struct v6_groups {
    uint16_t group[V6_GROUPS];
    uint32_t count;
    int gap;
};

/* The rest of the string as a dotted IPv4 address, which gives the last two groups (RFC 4291,
 * 2.2). */
static bool ip_read_v4_tail(struct str rest, struct v6_groups *g)
{
    uint32_t number;
    if (g->count > V6_GROUPS - 2 || !ip_read_v4(rest, &number))
        return false;
    g->group[g->count++] = (uint16_t)(number >> 16);
    g->group[g->count++] = (uint16_t)number;
    return true;
}

static bool ip_read_groups(struct str s, struct v6_groups *g)
{
    uint32_t at = 0;
    bool after_separator = true; /* a group may follow */
    while (at < s.len) {
        /* "::" replaces at least one group of zeros and occurs once. */
        if (s.at[at] == ':' && at + 1 < s.len && s.at[at + 1] == ':') {
            if (g->gap >= 0)
                return false;
            g->gap = (int)g->count;
            at += 2;
            after_separator = true;
            continue;
        }
        if (!after_separator) {
            if (s.at[at] != ':')
                return false;
            at++;
        }
        const struct str rest = str_slice(s, at, s.len);
        if (str_find(rest, '.', 0) < rest.len && str_find(rest, ':', 0) == rest.len)
            return ip_read_v4_tail(rest, g);
        if (g->count == V6_GROUPS || !ip_read_group(s, &at, &g->group[g->count]))
            return false;
        g->count++;
        after_separator = false;
    }
    return true;
}

static bool ip_read_v6(struct str s, uint128 *out_number)
{
    struct v6_groups g = {.gap = -1};
    if (s.len == 0 || !ip_read_groups(s, &g))
        return false;
    if (g.gap < 0 ? g.count != V6_GROUPS : g.count >= V6_GROUPS)
        return false;
    uint128 number = 0;
    for (uint32_t i = 0, from = 0; i < V6_GROUPS; i++) {
        const bool is_gap =
            g.gap >= 0 && i >= (uint32_t)g.gap && i < V6_GROUPS - (g.count - (uint32_t)g.gap);
        number = number << 16 | (is_gap ? 0 : g.group[from++]);
    }
    *out_number = number;
    return true;
}

/* A prefix length, or for IPv4 a netmask whose ones are all leading. */
static bool ip_read_mask(struct str s, enum ip_family family, uint8_t *out_prefix)
{
    uint32_t at = 0;
    uint32_t value;
    if (ip_read_decimal(s, &at, ip_bits(family), &value) && at == s.len) {
        *out_prefix = (uint8_t)value;
        return true;
    }
    uint32_t mask;
    if (family != IP_V4 || !ip_read_v4(s, &mask))
        return false;
    const uint32_t host = ~mask;
    if (host & (host + 1)) /* a one after a zero */
        return false;
    *out_prefix = (uint8_t)(mask ? 32 - __builtin_ctz(mask) : 0);
    return true;
}

static bool ip_has_capital(struct str s)
{
    for (uint32_t i = 0; i < s.len; i++)
        if (s.at[i] >= 'A' && s.at[i] <= 'F')
            return true;
    return false;
}

bool ip_parse(struct str text, struct ip *out_ip, const char **out_what)
{
    const uint32_t slash = str_find(text, '/', 0);
    const struct str address = str_slice(text, 0, slash);
    struct ip ip = {0};
    uint32_t v4;
    uint128 v6 = 0;
    if (ip_read_v4(address, &v4)) {
        ip.family = IP_V4;
        ip.lo = v4;
    } else if (ip_read_v6(address, &v6)) {
        ip.family = IP_V6;
        ip = ip_set_number(ip, v6);
    } else {
        *out_what = ip_has_capital(address) ? NOT_LOWER : NO_ADDRESS;
        return false;
    }
    ip.prefix = ip_bits(ip.family);
    if (slash < text.len &&
        !ip_read_mask(str_slice(text, slash + 1, text.len), ip.family, &ip.prefix)) {
        *out_what = NO_MASK;
        return false;
    }
    *out_ip = ip;
    return true;
}

/* ---- formatting ---- */

static void ip_put_v4(struct buf *b, uint32_t number)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        buf_put_u64(b, number >> shift & 0xff);
        if (shift)
            buf_put_c(b, '.');
    }
}

static void ip_put_group(struct buf *b, uint16_t group)
{
    static const char digits[] = "0123456789abcdef";
    bool is_leading = true;
    for (int shift = 12; shift >= 0; shift -= 4) {
        const uint32_t digit = group >> shift & 0xf;
        if (digit == 0 && is_leading && shift)
            continue;
        is_leading = false;
        buf_put_c(b, digits[digit]);
    }
}

static uint16_t ip_group(struct ip ip, uint32_t i)
{
    return (uint16_t)(ip_number(ip) >> (16 * (V6_GROUPS - 1 - i)));
}

/* The first of the longest runs of two or more zero groups, which "::" replaces (RFC 5952, 4.2). */
static uint32_t ip_longest_zeros(struct ip ip, uint32_t *out_length)
{
    uint32_t best = 0;
    *out_length = 0;
    for (uint32_t from = 0; from < V6_GROUPS; from++) {
        uint32_t length = 0;
        while (from + length < V6_GROUPS && ip_group(ip, from + length) == 0)
            length++;
        if (length > *out_length && length >= 2) {
            best = from;
            *out_length = length;
        }
    }
    return best;
}

static void ip_put_v6(struct buf *b, struct ip ip)
{
    /* ::ffff:0:0/96 holds IPv4 addresses, whose dotted form is recommended (RFC 5952, 5). */
    if (ip.hi == 0 && ip.lo >> 32 == 0xffff) {
        buf_put_z(b, "::ffff:");
        ip_put_v4(b, (uint32_t)ip.lo);
        return;
    }
    uint32_t length;
    const uint32_t zeros = ip_longest_zeros(ip, &length);
    for (uint32_t i = 0; i < V6_GROUPS; i++) {
        if (length && i == zeros) {
            buf_put_z(b, "::");
            i += length - 1;
            continue;
        }
        if (i && !(length && i == zeros + length))
            buf_put_c(b, ':');
        ip_put_group(b, ip_group(ip, i));
    }
}

static void ip_put(struct buf *b, struct ip ip)
{
    must(ip.family != IP_NONE);
    if (ip.family == IP_V4)
        ip_put_v4(b, (uint32_t)ip.lo);
    else
        ip_put_v6(b, ip);
}

struct str ip_format_address(struct arena *a, struct ip ip)
{
    struct buf b = buf_in(a);
    ip_put(&b, ip);
    return buf_str(&b);
}

struct str ip_format(struct arena *a, struct ip ip)
{
    struct buf b = buf_in(a);
    ip_put(&b, ip);
    buf_put_c(&b, '/');
    buf_put_u64(&b, ip.prefix);
    return buf_str(&b);
}

/* ---- values ---- */

struct ip ip_from_v4(uint32_t number)
{
    return (struct ip){.lo = number, .family = IP_V4, .prefix = ip_bits(IP_V4)};
}

uint8_t ip_bits(enum ip_family family)
{
    switch (family) {
    case IP_NONE: return 0;
    case IP_V4: return 32;
    case IP_V6: return 128;
    }
    impossible("a family outside the enum");
}

struct ip ip_with_prefix(struct ip ip, uint8_t prefix)
{
    must(prefix <= ip_bits(ip.family));
    ip.prefix = prefix;
    return ip;
}

int ip_cmp(struct ip a, struct ip b)
{
    if (a.family != b.family)
        return a.family > b.family ? -1 : 1;
    if (a.hi != b.hi)
        return a.hi < b.hi ? -1 : 1;
    return a.lo == b.lo ? 0 : a.lo < b.lo ? -1 : 1;
}

bool ip_eq(struct ip a, struct ip b)
{
    return ip_cmp(a, b) == 0 && a.prefix == b.prefix;
}

struct ip ip_subnet(struct ip ip)
{
    return ip_set_number(ip, ip_number(ip) & ~ip_host_mask(ip));
}

struct ip ip_subnet_last(struct ip ip)
{
    return ip_set_number(ip, ip_number(ip) | ip_host_mask(ip));
}

bool ip_is_in_subnet(struct ip ip, struct ip subnet)
{
    return ip.family == subnet.family &&
           ip_cmp(ip_subnet(ip_with_prefix(ip, subnet.prefix)), ip_subnet(subnet)) == 0;
}

bool ip_add(struct ip ip, uint64_t count, struct ip *out_ip)
{
    const uint128 number = ip_number(ip);
    const uint128 highest = ip.family == IP_V4 ? UINT32_MAX : ~(uint128)0;
    if (count > highest - number)
        return false;
    *out_ip = ip_set_number(ip, number + count);
    return true;
}

bool ip_sub(struct ip ip, uint64_t count, struct ip *out_ip)
{
    const uint128 number = ip_number(ip);
    if (count > number)
        return false;
    *out_ip = ip_set_number(ip, number - count);
    return true;
}

struct ip ip_with_host_part(struct ip subnet, struct ip host)
{
    must(subnet.family == host.family);
    const uint128 mask = ip_host_mask(subnet);
    return ip_set_number(subnet, (ip_number(subnet) & ~mask) | (ip_number(host) & mask));
}

/* ---- ranges ---- */

bool ip_is_loopback(struct ip ip)
{
    return ip.family == IP_V4 ? ip.lo >> 24 == 127 : ip.hi == 0 && ip.lo == 1;
}

bool ip_is_unicast(struct ip ip)
{
    if (ip_is_loopback(ip))
        return false;
    if (ip.family == IP_V4)
        return ip.lo != 0 && ip.lo >> 28 != 0xe && ip.lo != UINT32_MAX;
    return ip.hi >> 56 != 0xff && !(ip.hi == 0 && (ip.lo == 0 || ip.lo >> 32 == 0xffff));
}

bool ip_range_has(struct ip_range range, struct ip ip)
{
    return ip.family == range.first.family && ip_cmp(range.first, ip) <= 0 &&
           ip_cmp(ip, range.last) <= 0;
}

bool ip_range_intersects(struct ip_range a, struct ip_range b)
{
    return a.first.family == b.first.family && ip_cmp(a.first, b.last) <= 0 &&
           ip_cmp(b.first, a.last) <= 0;
}

uint64_t ip_range_count(struct ip_range range)
{
    must(range.first.family == range.last.family && ip_cmp(range.first, range.last) <= 0);
    const uint128 more = ip_number(range.last) - ip_number(range.first);
    return more >= UINT64_MAX ? UINT64_MAX : (uint64_t)more + 1;
}
