/* boot_interfaces.h - the network interfaces that are served: their state, addresses and changes.
 *
 * The interfaces are those of the command line, identified by the index that they had at the start,
 * because sockets are bound to the index. An interface that is removed, or whose name belongs to
 * another index, is lost: it is not served again before the program is restarted. Addresses and the
 * link state follow the kernel through an rtnetlink(7) socket that is opened before privileges are
 * dropped.
 */
#pragma once

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "boot/server/boot_options.h"

enum { INTERFACE_ADDRESSES_MAX = 16 };

/* An IPv4 address; more than the maximum are ignored. */
struct interface_address {
    uint32_t address; /* number in host order */
    uint8_t prefix;
};

struct interface {
    char name[IF_NAMESIZE];
    uint32_t index; /* 0: it did not exist at the start */
    bool is_lost;
    bool is_up;       /* up and with carrier */
    bool was_seen;    /* in the current dump of links */
    bool is_ethernet; /* it has a hardware address of 6 bytes */
    uint8_t mac[6];
    uint32_t mtu;
    uint32_t address_count;
    struct interface_address addresses[INTERFACE_ADDRESSES_MAX];
    bool has_link_local;
    struct in6_addr link_local; /* IPv6 address fe80::/10 */
    bool forwards_v6;           /* the host is a router of IPv6 on it */
};

struct interfaces {
    int fd; /* rtnetlink; -1: closed */
    uint32_t count;
    struct interface list[BOOT_INTERFACES_MAX];
    uv_poll_t poll;
    bool is_watched;
    uint32_t sequence; /* of the last request for a dump */
    enum { INTERFACES_IDLE, INTERFACES_LINKS, INTERFACES_ADDRESSES } dump;
    bool dump_is_stale; /* messages were lost: repeat the dump */
    /* Called after a change, with the interface; may be NULL. */
    void (*changed)(void *self, const struct interface *interface);
    void *self;
};

/* Opens the socket and reads the state of the interfaces. False with errno. */
bool interfaces_open(struct interfaces *l, const struct boot_options *options);
void interfaces_close(struct interfaces *l);
/* Follow changes in this loop. */
void interfaces_watch(struct interfaces *l, uv_loop_t *loop,
                      void (*changed)(void *self, const struct interface *interface), void *self);

/* True if packets of the interface are served. */
bool interface_is_served(const struct interface *interface);
/* True if an address of the interface is in the same subnet. */
bool interface_has_subnet(const struct interface *interface, uint32_t peer);
/* The address of the interface in the subnet of `peer`; otherwise its first one; 0: it has none. */
uint32_t interface_address_for(const struct interface *interface, uint32_t peer);
