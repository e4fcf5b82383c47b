/* Goal: the parsers of IP and MAC addresses accept no text that libc reads differently, and what
 * they accept has one spelling. Method: an accepted IP address is compared with the result of
 * inet_pton, formatted, parsed again and compared with itself; its subnet, its neighbours and
 * its host part stay consistent. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/net/ip.h"
#include "base/net/mac.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* The address without its mask, as libc reads it. */
static void check_against_libc(struct str text, struct ip ip)
{
    char address[64];
    uint8_t bytes[16] = {0};
    const uint32_t len = str_find(text, '/', 0);
    check(len < sizeof address);
    memcpy(address, text.at, len);
    address[len] = 0;
    check(inet_pton(ip.family == IP_V4 ? AF_INET : AF_INET6, address, bytes) == 1);
    uint64_t hi = 0, lo = 0;
    for (uint32_t i = 0; i < 8; i++) {
        hi = hi << 8 | bytes[i];
        lo = lo << 8 | bytes[8 + i];
    }
    check(ip.family == IP_V4 ? ip.hi == 0 && ip.lo == hi >> 32 : ip.hi == hi && ip.lo == lo);
}

static void check_values(struct ip ip)
{
    const struct ip first = ip_subnet(ip), last = ip_subnet_last(ip);
    struct ip next;
    check(ip.prefix <= ip_bits(ip.family));
    check(ip_cmp(first, ip) <= 0 && ip_cmp(ip, last) <= 0);
    check(ip_range_has((struct ip_range){first, last}, ip) && ip_is_in_subnet(ip, first));
    check(ip_eq(ip_with_host_part(first, ip), ip));
    if (ip_add(last, 1, &next)) {
        check(!ip_is_in_subnet(next, ip));
        check(ip_sub(next, 1, &next) && ip_eq(next, last));
    }
    check(ip_range_count((struct ip_range){first, last}) >= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct ip ip, again;
    struct mac mac, same;
    const char *what = NULL;
    if (size > 4096)
        return 0;
    const struct str text = {(const char *)data, (uint32_t)size};
    if (ip_parse(text, &ip, &what)) {
        check_against_libc(text, ip);
        check_values(ip);
        check(ip_parse(ip_format(&a, ip), &again, &what) && ip_eq(ip, again));
    } else {
        check(what != NULL);
    }
    if (mac_parse(text, &mac))
        check(mac_parse(mac_format(&a, mac), &same) && mac_number(mac) == mac_number(same));
    arena_fini(&a);
    return 0;
}
