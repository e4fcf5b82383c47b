/* boot_settings.h - the settings of a boot server, by the committed services of its admin node.
 *
 * The daemon sends the data of each committed noderole of a native role on the admin node of the
 * boot server: the attribs of the role, under their maps. The documents are merged in the order of
 * the ids of the noderoles and read here:
 *
 *     {"dhcp":        {"unknown": "pxe", "local_boot": "auto", "lease_s": 3600,
 *                      "pool_lease_s": 600, "domain": "example.com", "nameservers": ["192.0.2.1"],
 *                      "timeservers": [], "mtu": 1500, "foreign": ["eth1"],
 *                      "networks": {"admin": {"unknown": "all", "domain": ..., "nameservers": ...,
 *                                             "timeservers": ..., "mtu": ...}}},
 *      "provisioner": {"unknown": "discover", "console": "ttyS0,115200",
 *                      "kernel_args": {"sledgehammer": "quiet", "*": "panic=10"},
 *                      "unknown_max": 1000,
 *                      "networks": {"admin": {"unknown": "hold"}}}}
 *
 * A member "dhcp" switches DHCP on, a member "provisioner" TFTP and HTTP. What is missing or is no
 * legal value has its default, and is named in `problem`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

/* Which machines without a node get an address. */
enum dhcp_unknown { DHCP_UNKNOWN_PXE, DHCP_UNKNOWN_ALL, DHCP_UNKNOWN_NONE };
/* What machines without a node boot. */
enum boot_unknown { BOOT_UNKNOWN_DISCOVER, BOOT_UNKNOWN_HOLD, BOOT_UNKNOWN_LOCAL };
/* How firmware is sent to its disk (ADR 0092): AUTO omits the boot file on BIOS and chains a loader
 * on UEFI. */
enum local_boot { LOCAL_BOOT_AUTO, LOCAL_BOOT_OMIT, LOCAL_BOOT_CHAIN };

enum { NAMESERVERS_MAX = 8 };

/* The settings in one network. */
struct boot_network_settings {
    struct str name; /* of the network; empty in `all` */
    enum dhcp_unknown dhcp_unknown;
    enum boot_unknown boot_unknown;
    struct str domain;
    uint32_t nameservers[NAMESERVERS_MAX]; /* IPv4, numbers in host order */
    uint32_t nameserver_count;
    uint32_t timeservers[NAMESERVERS_MAX];
    uint32_t timeserver_count;
    uint32_t mtu; /* 0 = not sent */
};

struct boot_settings {
    bool has_dhcp, has_provisioner;
    enum local_boot local_boot;
    uint32_t lease_s;          /* of known machines */
    uint32_t pool_lease_s;     /* of unknown ones */
    uint32_t unknown_max;      /* unknown machines that may register */
    struct str console;        /* kernel console of all machines; empty = none */
    const struct str *foreign; /* interfaces on which foreign DHCP servers are accepted */
    uint32_t foreign_count;
    const struct str *args_bootenvs; /* kernel arguments by environment; "*": of all */
    const struct str *args_texts;
    uint32_t args_count;
    struct boot_network_settings all;
    const struct boot_network_settings *networks; /* those with settings of their own */
    uint32_t network_count;
    struct str problem; /* the first value that is not legal, with its path; empty = none */
};

/* Read documents, in their order. Strings point into `a`. */
void boot_settings_read(struct arena *a, const struct str *documents, uint32_t count,
                        struct boot_settings *out);
/* The settings in a network of this name. */
const struct boot_network_settings *boot_settings_of(const struct boot_settings *settings,
                                                     struct str network);
/* Kernel arguments for an environment: those of "*" and its own, with a space between them. */
struct str boot_settings_args(const struct boot_settings *settings, struct str bootenv,
                              struct arena *a);
/* True if foreign DHCP servers are accepted on the interface. */
bool boot_settings_accept_foreign(const struct boot_settings *settings, struct str interface);
