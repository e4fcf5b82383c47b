/* boot_options.h - the command line of halligan-boot.
 *
 * Parsing has no side effects but its messages: nothing is opened and no interface has to exist.
 */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

enum { BOOT_INTERFACES_MAX = 16, BOOT_HTTP_PORT = 8091 };

struct boot_options {
    char interfaces[BOOT_INTERFACES_MAX][IF_NAMESIZE];
    uint32_t interface_count;
    const char *socket; /* of the daemon */
    const char *files;  /* directory */
    const char *user;
    const char *node;      /* name of the admin node; empty: the only one of the daemon */
    char http_address[48]; /* empty: the addresses of the interfaces */
    uint16_t http_port;
    bool no_dhcp, no_tftp, check, version, help;
    uint32_t problems; /* count of those that were printed */
};

/* Every problem is printed to stderr. */
struct boot_options boot_options_parse(int count, char **texts);
/* The text of --help. */
extern const char boot_options_usage[];
