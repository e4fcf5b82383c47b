/* network_rows.h - rows of networks, addresses, interfaces, DNS names and boot environments.
 *
 * A part of rows.h, which explains how rows are read and written.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/containers/vec.h"
#include "base/net/ip.h"
#include "core/engine/row_types.h"
#include "model/name_filter.h"

/* Derived: the address of a row, parsed, and its place in the index of addresses (addresses.c). */
struct address_entry {
    struct ip ip;
    uint32_t next; /* handle of the next row whose address has the same hash; 0 = none */
};

/* Derived: the outbox rows of this batch that list created (0) or deleted (1) allocations: `count`
 * rows from id `first`. They get the further allocations of the batch (outbox/network_hooks.c). */
struct hook_batch {
    uint32_t batch; /* core.batch_number in which the rows were made */
    uint32_t count;
    int64_t first;
    uint32_t listed; /* allocations in the list of each row */
};

struct network {
    struct object o;
    uint32_t name_next;
    text_h name, description, v6prefix, conduit, category, group, pbr;
    deployment_ix deployment;
    uint32_t order;
    int64_t vlan, team_mode;
    bool use_vlan, use_bridge, use_team, configure;
    bool deleting; /* its rows are removed in slices (deletions.c) */
    /* derived */
    struct vec ranges; /* network_range_ix by id */
    struct vec roles;  /* role_ix that are made for it, by id */
    network_router_ix router;
    struct hook_batch batches[2]; /* for its own roles */
    struct boot_state boot;
    bool is_admin; /* its category is admin, as of the last settling of the boot view */
};

struct network_range {
    struct object o;
    network_ix network;
    text_h name, first, last, conduit;
    uint32_t own; /* mask of enum range_own */
    int64_t vlan, team_mode;
    bool use_vlan, use_bridge, use_team, overlap;
    /* derived */
    struct ip_range addresses; /* from `first` to `last` */
    uint64_t cursor;           /* no free address is closer to `first` than this */
    uint32_t allocation_count, lease_count;
    uint32_t live_count; /* of lease_count: leases that clients have */
    struct boot_state boot;
};

struct network_router {
    struct object o;
    struct address_entry at;
    network_ix network;
    text_h address;
    uint32_t pref;
    struct boot_state boot; /* derived */
};

struct network_allocation {
    struct object o;
    struct address_entry at;
    node_ix node;
    network_ix network;
    network_range_ix range;
    text_h address;
    dns_name_entry_ix names; /* derived: its first DNS name, by id */
};

struct lease {
    struct object o;
    struct address_entry at;
    network_range_ix range;
    text_h address;
    uint32_t state; /* enum lease_state */
    int64_t mac, node_id;
    int64_t left_ms;        /* as of the moment it was written */
    int64_t deadline;       /* derived: mono_ms at which left_ms has passed */
    struct boot_state boot; /* derived */
};

struct nic {
    struct object o;
    node_ix node;
    int64_t mac;
    text_h name, bus, driver;
    uint32_t speed_max;
    bool hinted, discovered, link;
};

struct dns_name_filter {
    struct object o;
    uint32_t name_next;
    text_h name, matcher, service, template;
    uint32_t priority;
    bool deleting; /* its entries are removed in slices (deletions.c) */
    /* derived */
    struct name_matcher matches; /* `matcher`, parsed */
    struct name_template makes;  /* `template`, parsed */
    uint32_t entry_count;        /* names that it gave */
    bool is_served;              /* its DNS service exists */
};

struct dns_name_entry {
    struct object o;
    network_allocation_ix allocation;
    dns_name_filter_ix filter;
    text_h name;
    dns_name_entry_ix next; /* derived: the next name of the allocation */
    struct boot_state boot; /* derived */
};

struct bootenv {
    struct object o;
    uint32_t name_next;
    text_h name, kernel, args, method, os;
    doc_h initrd;
    bool available;
    barclamp_ix barclamp;
    struct boot_state boot; /* derived */
};

/* Which rows DNS name filters read, besides allocations with their node, network and range. */
enum names_need {
    NAMES_NEED_ROLES = 1,     /* the noderoles of the node */
    NAMES_NEED_ATTRIBS = 2,   /* the definitions of attribs and roles */
    NAMES_NEED_ROLE_DATA = 4, /* the data of noderoles of the node */
};
