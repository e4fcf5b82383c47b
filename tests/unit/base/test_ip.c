/* Goal: addresses are read and written in one spelling, and arithmetic stays inside the address
 * family. Method: tables of text with the expected text or phrase; random addresses against
 * inet_pton and inet_ntop of libc; bounds of both families. */
#include "base/net/ip.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/net/mac.h"
#include "base/prng.h"
#include "tests/check.h"

static struct ip read_ip(const char *text)
{
    struct ip ip = {0};
    const char *what = NULL;
    CHECK(ip_parse(str_from(text), &ip, &what));
    return ip;
}

static bool formats_as(struct ip ip, const char *expected)
{
    struct arena a = {0};
    const bool same = str_eq(ip_format(&a, ip), str_from(expected));
    arena_fini(&a);
    return same;
}

TEST(addresses_are_written_as_rfc_5952_recommends)
{
    static const struct {
        const char *in;
        const char *out;
    } rows[] = {
        {"192.0.2.7", "192.0.2.7/32"},
        {"192.0.2.7/24", "192.0.2.7/24"},
        {"192.0.2.7/255.255.255.0", "192.0.2.7/24"},
        {"10.0.0.1/0.0.0.0", "10.0.0.1/0"},
        {"10.0.0.1/255.255.255.255", "10.0.0.1/32"},
        {"0.0.0.0/0", "0.0.0.0/0"},
        {"255.255.255.255", "255.255.255.255/32"},
        {"::", "::/128"},
        {"::1", "::1/128"},
        {"1::", "1::/128"},
        {"::/0", "::/0"},
        {"2001:db8::7/64", "2001:db8::7/64"},
        {"2001:0db8:0000:0000:0000:0000:0000:0007", "2001:db8::7/128"},
        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1/128"}, /* one zero group is not replaced */
        {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1/128"},          /* the longest run */
        {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1/128"},    /* the first of equal runs */
        {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0/128"},
        {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8/128"},
        {"1:2:3:4:5:6:0:0", "1:2:3:4:5:6::/128"},
        {"::ffff:192.0.2.7", "::ffff:192.0.2.7/128"},
        {"64:ff9b::192.0.2.33/96", "64:ff9b::c000:221/96"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(formats_as(read_ip(rows[i].in), rows[i].out));
}

TEST(a_malformed_address_is_refused_and_changes_nothing)
{
    static const char *const address[] = {
        "",
        " ",
        "1",
        "1.2.3",
        "1.2.3.4.5",
        "1.2.3.256",
        "01.2.3.4",
        "1.2.3.04",
        "1..2.3",
        "1.2.3.4 ",
        "+1.2.3.4",
        "0x1.2.3.4",
        ":",
        ":::",
        "1::2::3",
        "1:2",
        "12345::",
        "1:2:3:4:5:6:7:8:9",
        "::1:2:3:4:5:6:7:8",
        ":1::",
        "1:2:3:4:5:6:7:",
        "g::",
        "fe80::1%1",
        "::1.2.3",
        "1.2.3.4::",
        "::1.2.3.4:5",
        "1:2:3:4:5:6:7:1.2.3.4",
    };
    static const char *const mask[] = {
        "1.2.3.4/",          "1.2.3.4/33",
        "1.2.3.4/-1",        "1.2.3.4/024",
        "1.2.3.4/24/",       "::/129",
        "::/ffff::",         "::/255.0.0.0",
        "1.2.3.4/ ",         "1.2.3.4/255.0.255.0",
        "1.2.3.4/0.0.0.255",
    };
    static const char *const capital[] = {"FE80::1", "2001:DB8::", "::fFff:1.2.3.4"};
    const struct ip before = {.family = IP_V4, .lo = 1, .prefix = 3};
    const char *what = NULL;
    struct ip ip = before;
    for (size_t i = 0; i < sizeof address / sizeof *address; i++)
        CHECK(!ip_parse(str_from(address[i]), &ip, &what) && strstr(what, "must be an IP address"));
    for (size_t i = 0; i < sizeof mask / sizeof *mask; i++)
        CHECK(!ip_parse(str_from(mask[i]), &ip, &what) &&
              strstr(what, "must have a prefix length"));
    for (size_t i = 0; i < sizeof capital / sizeof *capital; i++)
        CHECK(!ip_parse(str_from(capital[i]), &ip, &what) && strstr(what, "lower case"));
    CHECK(ip_eq(ip, before));
}

TEST(text_with_a_zero_byte_or_without_terminator_is_read_by_its_length)
{
    struct ip ip;
    const char *what;
    CHECK(!ip_parse((struct str){"1.2.3.4\0", 8}, &ip, &what));
    CHECK(ip_parse((struct str){"1.2.3.45", 7}, &ip, &what) && ip.lo == 0x01020304);
}

/* The bytes of the address in network order. */
static void put_bytes(struct ip ip, uint8_t out[16])
{
    for (uint32_t i = 0; i < 8; i++) {
        out[i] = (uint8_t)(ip.hi >> (56 - 8 * i));
        out[8 + i] = (uint8_t)(ip.lo >> (56 - 8 * i));
    }
}

TEST(random_addresses_are_read_and_written_as_libc_does)
{
    struct prng r;
    prng_init(&r, 1);
    for (uint32_t round = 0; round < 20000; round++) {
        uint8_t bytes[16];
        char text[INET6_ADDRSTRLEN];
        for (uint32_t i = 0; i < sizeof bytes; i++) /* many zeros, for long and equal runs */
            bytes[i] = prng_chance(&r, 700) ? 0 : (uint8_t)prng_below(&r, 256);
        bytes[0] |= 0x20; /* libc writes ::/96 in the dotted form, which RFC 5952 does not */
        CHECK(inet_ntop(AF_INET6, bytes, text, sizeof text));
        const struct ip ip = read_ip(text);
        uint8_t read[16];
        put_bytes(ip, read);
        CHECK(memcmp(read, bytes, sizeof bytes) == 0);
        struct arena a = {0};
        CHECK(str_eq(ip_format_address(&a, ip), str_from(text)));
        CHECK(inet_ntop(AF_INET, bytes, text, sizeof text));
        CHECK(str_eq(ip_format_address(&a, read_ip(text)), str_from(text)));
        arena_fini(&a);
    }
}

TEST(a_subnet_has_a_first_and_a_last_address)
{
    CHECK(formats_as(ip_subnet(read_ip("192.0.2.77/26")), "192.0.2.64/26"));
    CHECK(formats_as(ip_subnet_last(read_ip("192.0.2.77/26")), "192.0.2.127/26"));
    CHECK(formats_as(ip_subnet_last(read_ip("1.2.3.4/0")), "255.255.255.255/0"));
    CHECK(formats_as(ip_subnet(read_ip("1.2.3.4/32")), "1.2.3.4/32"));
    CHECK(formats_as(ip_subnet(read_ip("2001:db8::7/64")), "2001:db8::/64"));
    CHECK(formats_as(ip_subnet_last(read_ip("::/0")), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/0"));
    CHECK(formats_as(ip_subnet_last(read_ip("2001:db8::/127")), "2001:db8::1/127"));
    CHECK(ip_is_in_subnet(read_ip("192.0.2.127"), read_ip("192.0.2.77/26")));
    CHECK(!ip_is_in_subnet(read_ip("192.0.2.128"), read_ip("192.0.2.77/26")));
    CHECK(!ip_is_in_subnet(read_ip("::1"), read_ip("0.0.0.0/0")));
}

TEST(arithmetic_stops_at_the_bounds_of_the_address_space)
{
    struct ip ip = read_ip("255.255.255.254/8");
    CHECK(ip_add(ip, 1, &ip) && formats_as(ip, "255.255.255.255/8"));
    CHECK(!ip_add(ip, 1, &ip) && formats_as(ip, "255.255.255.255/8"));
    CHECK(ip_sub(ip, 255, &ip) && formats_as(ip, "255.255.255.0/8"));
    ip = read_ip("0.0.0.1");
    CHECK(ip_sub(ip, 1, &ip) && !ip_sub(ip, 1, &ip));
    ip = read_ip("2001:db8::ffff:ffff:ffff:ffff/64");
    CHECK(ip_add(ip, 1, &ip) && formats_as(ip, "2001:db8:0:1::/64"));
    CHECK(ip_sub(ip, 1, &ip) && formats_as(ip, "2001:db8::ffff:ffff:ffff:ffff/64"));
    ip = read_ip("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe");
    CHECK(ip_add(ip, 1, &ip) && !ip_add(ip, 1, &ip) && !ip_add(ip, UINT64_MAX, &ip));
}

TEST(a_host_part_moves_between_subnets)
{
    CHECK(formats_as(ip_with_host_part(read_ip("192.168.128.0/24"), read_ip("192.168.124.81/24")),
                     "192.168.128.81/24"));
    CHECK(formats_as(ip_with_host_part(read_ip("10.1.0.0/24"), read_ip("10.2.3.4/16")),
                     "10.1.0.4/24"));
    CHECK(formats_as(ip_with_host_part(read_ip("fd00::/64"), read_ip("2001:db8::7/64")),
                     "fd00::7/64"));
}

TEST(addresses_are_ordered_by_family_and_number)
{
    static const char *const ascending[] = {
        "::", "::1", "2001:db8::", "ffff::", "0.0.0.0", "9.0.0.0", "10.0.0.0", "255.255.255.255"};
    for (size_t i = 0; i < 8; i++)
        for (size_t k = 0; k < 8; k++) {
            const int order = ip_cmp(read_ip(ascending[i]), read_ip(ascending[k]));
            CHECK(order == (i < k ? -1 : i > k));
        }
    CHECK(ip_cmp(read_ip("1.2.3.4/8"), read_ip("1.2.3.4/9")) == 0);
    CHECK(!ip_eq(read_ip("1.2.3.4/8"), read_ip("1.2.3.4/9")));
}

static struct ip_range range(const char *first, const char *last)
{
    return (struct ip_range){read_ip(first), read_ip(last)};
}

TEST(addresses_of_no_interface_are_not_unicast)
{
    static const struct {
        const char *text;
        bool is_unicast;
    } table[] = {
        {"0.0.0.0", false},
        {"0.0.0.1", true},
        {"126.255.255.255", true},
        {"127.0.0.0", false},
        {"127.0.0.1", false},
        {"127.255.255.255", false},
        {"128.0.0.0", true},
        {"223.255.255.255", true},
        {"224.0.0.0", false},
        {"239.255.255.255", false},
        {"240.0.0.0", true},
        {"255.255.255.254", true},
        {"255.255.255.255", false},
        {"10.0.0.255", true},
        {"::", false},
        {"::1", false},
        {"::2", true},
        {"::fffe:ffff:ffff", true},
        {"::ffff:0.0.0.0", false},
        {"::ffff:10.0.0.1", false},
        {"::1:0:0:0", true},
        {"1::ffff:10.0.0.1", true},
        {"fe80::1", true},
        {"feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true},
        {"ff00::", false},
        {"ff02::1", false},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct ip ip;
        const char *wrong;
        CHECK(ip_parse(str_from(table[i].text), &ip, &wrong));
        if (ip_is_unicast(ip) != table[i].is_unicast)
            check_failed(__FILE__, __LINE__, table[i].text);
    }
}

TEST(a_range_contains_both_of_its_ends)
{
    const struct ip_range r = range("192.0.2.21/24", "192.0.2.80/24");
    CHECK(ip_range_has(r, read_ip("192.0.2.21")) && ip_range_has(r, read_ip("192.0.2.80/8")));
    CHECK(!ip_range_has(r, read_ip("192.0.2.20")) && !ip_range_has(r, read_ip("192.0.2.81")));
    CHECK(!ip_range_has(r, read_ip("::c000:21e")));
    CHECK(ip_range_count(r) == 60);
    CHECK(ip_range_count(range("::1", "::1")) == 1);
    CHECK(ip_range_count(range("fd00::", "fd00::ffff:ffff:ffff:ffff")) == UINT64_MAX);
    CHECK(ip_range_count(range("::", "::ffff:ffff:ffff:fffe")) == UINT64_MAX);
    CHECK(ip_range_count(range("::1", "::ffff:ffff:ffff:fffe")) == UINT64_MAX - 1);
}

TEST(ranges_intersect_if_they_share_an_address)
{
    const struct ip_range r = range("10.0.0.10", "10.0.0.20");
    CHECK(ip_range_intersects(r, range("10.0.0.20", "10.0.0.30")));
    CHECK(ip_range_intersects(r, range("10.0.0.1", "10.0.0.10")));
    CHECK(ip_range_intersects(r, range("10.0.0.12", "10.0.0.13")));
    CHECK(ip_range_intersects(range("10.0.0.12", "10.0.0.13"), r));
    CHECK(!ip_range_intersects(r, range("10.0.0.21", "10.0.0.30")));
    CHECK(!ip_range_intersects(r, range("10.0.0.1", "10.0.0.9")));
    CHECK(!ip_range_intersects(r, range("::", "ffff::")));
}

TEST(mac_addresses_are_read_in_either_spelling)
{
    struct arena a = {0};
    struct mac mac = {{1, 2, 3, 4, 5, 6}};
    static const char *const wrong[] = {"",
                                        "52:54:00:12:34",
                                        "52:54:00:12:34:5",
                                        "52:54:00:12:34:567",
                                        "52:54-00:12:34:56",
                                        "52:54:00:12:34:5g",
                                        "525400123456",
                                        "52.54.00.12.34.56",
                                        "52:54:00:12:3:456"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!mac_parse(str_from(wrong[i]), &mac));
    CHECK(mac_number(mac) == 0x010203040506);
    CHECK(mac_parse(STR("52-54-00-AB-cd-EF"), &mac));
    CHECK(str_eq(mac_format(&a, mac), STR("52:54:00:ab:cd:ef")) && mac_is_unicast(mac));
    CHECK(mac_parse(STR("52:54:00:ab:cd:ef"), &mac) && mac_number(mac) == 0x525400abcdef);
    CHECK(str_eq(mac_format(&a, mac_from_number(0x525400abcdef)), STR("52:54:00:ab:cd:ef")));
    CHECK(mac_number(mac_from_number(UINT64_MAX)) == 0xffffffffffff);
    CHECK(str_eq(ip_format(&a, ip_from_v4(0xc0000207)), STR("192.0.2.7/32")));
    CHECK(mac_parse(STR("ff:ff:ff:ff:ff:ff"), &mac) && !mac_is_unicast(mac));
    CHECK(mac_parse(STR("01:00:5e:00:00:01"), &mac) && !mac_is_unicast(mac));
    CHECK(mac_parse(STR("00:00:00:00:00:00"), &mac) && !mac_is_unicast(mac));
    arena_fini(&a);
}
