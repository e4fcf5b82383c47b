/* Goal: every option is read in both forms, and wrong ones are counted.
 * Method: tables of command lines. */
#include "boot/server/boot_options.h"

#include <string.h>

#include "tests/check.h"

#define PARSE(...)                                                                                 \
    boot_options_parse((int)(sizeof((char *[]){__VA_ARGS__}) / sizeof(char *)) + 1,                \
                       ((char *[]){NULL, __VA_ARGS__}))

static char interface[] = "--interface", http[] = "--http", eth0[] = "eth0";

TEST(interfaces_are_collected_each_once)
{
    char two[] = "eth1,eth0", three[] = "--interface=br-lan";
    const struct boot_options o = PARSE(interface, eth0, interface, two, three);
    CHECK(o.problems == 0 && o.interface_count == 3);
    CHECK(strcmp(o.interfaces[0], "eth0") == 0 && strcmp(o.interfaces[1], "eth1") == 0);
    CHECK(strcmp(o.interfaces[2], "br-lan") == 0);
}

TEST(the_defaults_are_those_of_the_help)
{
    const struct boot_options o = PARSE(interface, eth0);
    CHECK(strstr(boot_options_usage, o.socket) && strstr(boot_options_usage, o.files));
    CHECK(strstr(boot_options_usage, o.user) && strstr(boot_options_usage, "port 8091"));
    CHECK(o.http_port == 8091 && o.http_address[0] == 0 && o.node[0] == 0);
    CHECK(!o.no_dhcp && !o.no_tftp && !o.check);
}

TEST(bounds_of_names_and_counts)
{
    char longest[] = "123456789012345", longer[] = "1234567890123456", empty[] = "", gap[] = "a,,b";
    char most[] = "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p", more[] = "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q";
    CHECK(PARSE(interface, longest).problems == 0);
    CHECK(PARSE(interface, longer).problems == 1);
    CHECK(PARSE(interface, empty).problems == 1);
    CHECK(PARSE(interface, gap).problems == 1);
    CHECK(PARSE(interface, most).problems == 0 && PARSE(interface, most).interface_count == 16);
    CHECK(PARSE(interface, more).problems == 1);
}

static bool http_is(const char *value, const char *address, uint16_t port)
{
    char text[80];
    strncpy(text, value, sizeof text - 1);
    text[sizeof text - 1] = 0;
    const struct boot_options o = PARSE(interface, eth0, http, text);
    return o.problems == 0 && strcmp(o.http_address, address) == 0 && o.http_port == port;
}

static bool http_is_wrong(const char *value)
{
    char text[80];
    strncpy(text, value, sizeof text - 1);
    text[sizeof text - 1] = 0;
    return PARSE(interface, eth0, http, text).problems == 1;
}

TEST(addresses_of_http)
{
    CHECK(http_is("192.0.2.1:80", "192.0.2.1", 80));
    CHECK(http_is(":65535", "", 65535) && http_is(":1", "", 1));
    CHECK(http_is("[2001:db8::1]:8091", "2001:db8::1", 8091));
    CHECK(http_is("0.0.0.0:8091", "0.0.0.0", 8091));
    CHECK(http_is_wrong(":0") && http_is_wrong(":65536") && http_is_wrong(":") &&
          http_is_wrong(""));
    CHECK(http_is_wrong("192.0.2.1") && http_is_wrong("2001:db8::1:80") &&
          http_is_wrong("host:80"));
    CHECK(http_is_wrong("192.0.2.1/24:80") && http_is_wrong("[192.0.2.1]:80"));
    CHECK(http_is_wrong("192.0.2.1:8x") && http_is_wrong("[]:80") &&
          http_is_wrong("[2001:db8::1:80"));
}

TEST(switches_and_unknown_options)
{
    char check[] = "--check", no_dhcp[] = "--no-dhcp", no_tftp[] = "--no-tftp", help[] = "--help";
    char bogus[] = "--bogus", bogus_value[] = "--bogus=1", word[] = "word", node[] = "--node=a.b";
    const struct boot_options o = PARSE(interface, eth0, check, no_dhcp, no_tftp, node);
    CHECK(o.problems == 0 && o.check && o.no_dhcp && o.no_tftp && strcmp(o.node, "a.b") == 0);
    CHECK(PARSE(interface, eth0, bogus).problems == 1);
    CHECK(PARSE(interface, eth0, bogus_value).problems == 1);
    CHECK(PARSE(interface, eth0, word, word).problems == 2);
    CHECK(PARSE(check).problems == 1);
    CHECK(PARSE(help).problems == 0 && PARSE(help).help);
}
