/* network_record.h - fields of the records of networks, addresses, interfaces, DNS names and
 * boot environments.
 *
 * A part of record.h, which includes it and explains the lists: the order of fields is that of the
 * encoding and of the columns.
 */
#pragma once

/* clang-format off */

#define NETWORK_FIELDS(F)                                                                          \
    OBJECT_FIELDS(F)                                                                               \
    F(TEXT, name)                                                                                  \
    F(TEXT, description)                                                                           \
    F(I64, deployment_id)                                                                          \
    F(U32, order)                                                                                  \
    F(I64, vlan) /* used only with use_vlan */                                                     \
    F(BOOL, use_vlan)                                                                              \
    F(BOOL, use_bridge)                                                                            \
    F(I64, team_mode) /* bonding mode; used only with use_team */                                  \
    F(BOOL, use_team)                                                                              \
    F(TEXT, v6prefix)  /* "fd12:3456:789a:1"; empty = none */                                      \
    F(TEXT, conduit)   /* model/conduit.h */                                                       \
    F(BOOL, configure) /* machines configure their interfaces for it */                            \
    F(TEXT, category)                                                                              \
    F(TEXT, group)                                                                                 \
    F(TEXT, pbr)                                                                                   \
    F(BOOL, deleting) /* it is deleted in slices */

/* own: mask of the interface settings that the range has itself (RANGE_OWN_...); it inherits the
 * others from its network, and their fields here are empty. */
#define NETWORK_RANGE_FIELDS(F)                                                                    \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, network_id)                                                                             \
    F(TEXT, name)                                                                                  \
    F(TEXT, first) /* address with prefix length */                                                \
    F(TEXT, last)                                                                                  \
    F(U32, own)                                                                                    \
    F(TEXT, conduit)                                                                               \
    F(I64, vlan)                                                                                   \
    F(BOOL, use_vlan)                                                                              \
    F(BOOL, use_bridge)                                                                            \
    F(I64, team_mode)                                                                              \
    F(BOOL, use_team)                                                                              \
    F(BOOL, overlap) /* other ranges may contain its addresses */

/* At most one for each network. */
#define NETWORK_ROUTER_FIELDS(F)                                                                   \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, network_id)                                                                             \
    F(TEXT, address)                                                                               \
    F(U32, pref) /* the router with the lowest value is the default route */

/* An address of a node. No other allocation and no live lease has it. */
#define NETWORK_ALLOCATION_FIELDS(F)                                                               \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, node_id)                                                                                \
    F(I64, network_id)                                                                             \
    F(I64, network_range_id)                                                                       \
    F(TEXT, address) /* with the prefix length of the range */

/* An address that no allocation has: leased to a machine that is not a node yet, declined by a
 * client, or freed by a node. A declined or freed address is given to no other node for a time, and
 * after that it is used last. */
#define LEASE_FIELDS(F)                                                                            \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, network_range_id)                                                                       \
    F(TEXT, address)                                                                               \
    F(I64, mac)     /* of the client, as a number; 0 for a freed address */                        \
    F(U32, state)   /* LEASE_LIVE ... */                                                           \
    F(I64, node_id) /* the node that freed it, which may be deleted; 0 = none */                   \
    F(I64, left_ms) /* until the end of a lease, or until others may have the address */

/* An interface of a node. A MAC belongs to one node: the first that had it in a hint or in its
 * discovery. */
#define NIC_FIELDS(F)                                                                              \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, node_id)                                                                                \
    F(I64, mac)   /* as a number, base/net/mac.h */                                                \
    F(TEXT, name) /* of the device, as discovered; empty = unknown */                              \
    F(TEXT, bus)  /* bus address of the device */                                                  \
    F(TEXT, driver)                                                                                \
    F(U32, speed_max)   /* Mbit/s; 0 = unknown */                                                  \
    F(BOOL, hinted)     /* the hint of the node has it */                                          \
    F(BOOL, discovered) /* the discovery of the node has it */                                     \
    F(BOOL, link)       /* carrier detected at discovery */

/* A rule that gives names to allocations (model/name_filter.h). */
#define DNS_NAME_FILTER_FIELDS(F)                                                                  \
    OBJECT_FIELDS(F)                                                                               \
    F(TEXT, name)                                                                                  \
    F(TEXT, matcher)                                                                               \
    F(U32, priority) /* unique; filters are evaluated in ascending order */                        \
    F(TEXT, service) /* name of the DNS service that publishes its entries */                      \
    F(TEXT, template)                                                                              \
    F(BOOL, deleting) /* it is deleted in slices */

/* The name that a filter gives to an allocation; A or AAAA by the family of its address. */
#define DNS_NAME_ENTRY_FIELDS(F)                                                                   \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, network_allocation_id)                                                                  \
    F(I64, dns_name_filter_id)                                                                     \
    F(TEXT, name)

/* A boot environment of a barclamp: what a machine with this value of `bootenv` boots. Paths are
 * below the files of the boot server. */
#define BOOTENV_FIELDS(F)                                                                          \
    OBJECT_FIELDS(F)                                                                               \
    F(TEXT, name)                                                                                  \
    F(TEXT, kernel)                                                                                \
    F(DOC, initrd)     /* ["path", ...], in the order in which they are loaded; empty = none */    \
    F(TEXT, args)      /* template of the kernel arguments */                                      \
    F(TEXT, method)    /* "discovery", "image" or "installer" */                                   \
    F(TEXT, os)                                                                                    \
    F(BOOL, available) /* a boot server has reported that its files exist */                       \
    F(I64, barclamp_id)

/* A noderole that publishes boots must publish a node: its entry in the boot view has changed, or
 * it has none any more. A node may have been deleted since. */
#define BOOT_DUE_FIELDS(F)                                                                         \
    OBJECT_FIELDS(F)                                                                               \
    F(I64, noderole_id)                                                                            \
    F(I64, node_id)                                                                                \
    F(U32, attempt) /* of the noderole whose staged data has the current entry; 0 = none */

/* clang-format on */

/* The interface settings of a range that are its own (network_range.own). */
enum range_own {
    RANGE_OWN_CONDUIT = 1 << 0,
    RANGE_OWN_VLAN = 1 << 1,
    RANGE_OWN_USE_VLAN = 1 << 2,
    RANGE_OWN_USE_BRIDGE = 1 << 3,
    RANGE_OWN_TEAM_MODE = 1 << 4,
    RANGE_OWN_USE_TEAM = 1 << 5,
    RANGE_OWN_ALL = (1 << 6) - 1,
};

enum lease_state {
    LEASE_LIVE,     /* a client has it until it ends                      */
    LEASE_DECLINED, /* a client reported that another host uses it        */
    LEASE_FREED,    /* the allocation of a node was deleted               */
    LEASE_STATE_COUNT
};
