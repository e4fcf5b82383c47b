/* view.h - the copy of the boot view that a boot server holds, and what it finds in it.
 *
 * The view is a set of entries (model/boot_view.h), stored in their encoding and decoded when they
 * are needed. Indices lead from MACs, addresses and names to entries; the networks, ranges and
 * routers of IPv4 are also kept decoded, because every packet needs them. Nothing here knows a
 * socket or a clock: times are parameters, in ms of a monotonic clock.
 *
 * Strings of a found entry point into the view and are valid until it changes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/containers/heap.h"
#include "base/containers/omap.h"
#include "base/err.h"
#include "base/hash/hash.h"
#include "base/mem/arena.h"
#include "base/mem/undo.h"
#include "boot/view/boot_settings.h"
#include "model/boot_view.h"

/* A range of IPv4 addresses in a network. */
struct view_range {
    int64_t id, network;
    uint32_t first, last; /* numbers in host order; both belong to the range */
    uint8_t prefix;
    bool is_pool;  /* unknown machines get its addresses: its name is "dhcp" */
    bool is_admin; /* of an admin network */
    bool overlap;
    uint32_t reach; /* the highest `last` of this range and those before it */
    struct str name;
};

/* The subnet of a range. */
struct view_subnet {
    uint32_t first, last;
    uint32_t reach; /* the highest `last` of this subnet and those before it */
    uint32_t range; /* index in `ranges` */
};

struct view_network {
    int64_t id;
    struct str name, category;
    bool is_admin; /* machines boot in it: category "admin" */
};

struct view_router {
    int64_t network;
    uint32_t address;
    uint32_t pref;
};

struct view_lease {
    int64_t id, network, range;
    uint64_t mac; /* 0: of a freed address */
    uint32_t address;
    uint32_t state; /* LEASE_LIVE ... (model/network_record.h) */
    int64_t ends_ms;
};

struct view {
    struct undo undo; /* never marked: the containers require one */
    struct heap heap;
    struct omap entries[BOOT_FACT_COUNT]; /* id -> block of the entry */
    struct omap by_mac;                   /* MAC -> blocks of machines; view.c explains the keys */
    struct omap by_address;               /* IPv4 address -> blocks of machines */
    struct omap lease_by_address;         /* IPv4 address -> blocks of leases */
    struct omap lease_by_mac;             /* MAC -> blocks of live leases */
    struct omap bootenv_by_name;          /* hash of the lower-case name -> blocks */
    struct arena scratch;
    struct digest128 digest;
    uint32_t count;
    struct arena plan; /* the arrays below; rebuilt when a network, range or router changes */
    bool plan_is_stale;
    struct view_network *networks; /* by id */
    struct view_range *ranges;     /* IPv4 only, by first address */
    struct view_subnet *subnets;   /* of the ranges of admin networks, by first address */
    struct view_router *routers;   /* IPv4 only, by network, then by pref */
    uint32_t *router_addresses;    /* ascending */
    uint32_t network_count, range_count, subnet_count, router_count;
    struct arena config; /* of the settings */
    struct boot_settings settings;
};

void view_init(struct view *v);
void view_fini(struct view *v);
/* Replace the settings by those that are in the documents. */
void view_configure(struct view *v, const struct str *documents, uint32_t count);

/* Add or replace the entry with these bytes, which boot_entry_encode() has written. Anything else
 * is ERR_CORRUPT and changes nothing. A lease ends `left_ms` after now_ms. */
NODISCARD err view_put(struct view *v, struct str bytes, int64_t now_ms);
/* A key without an entry is ignored. */
void view_remove(struct view *v, struct boot_key key);
uint32_t view_count(const struct view *v);
/* The sum of the hashes of all entries, as core_boot_digest(). */
struct digest128 view_digest(const struct view *v);

/* ---- entries ---- */

/* The entry with this key; false if there is none. Lists are in `a`. */
bool view_get(const struct view *v, struct boot_key key, struct arena *a, struct boot_entry *out);
/* The lowest id of the kind above `after`; 0 if there is none. */
int64_t view_next_id(const struct view *v, enum boot_fact kind, int64_t after);
/* The machine of a MAC, of an IPv4 address: its node id, or 0. If several machines have it, one of
 * them. */
int64_t view_machine_of_mac(const struct view *v, uint64_t mac);
int64_t view_machine_of_address(const struct view *v, uint32_t address);
/* Names are compared without regard to case. False if no barclamp defines it. */
bool view_find_bootenv(const struct view *v, struct str name, struct arena *a,
                       struct boot_bootenv *out);
/* A lease of the address; a live one, if there is one. */
/* Number of live leases of IPv4 addresses. */
uint32_t view_live_leases(const struct view *v);
bool view_lease_of_address(const struct view *v, uint32_t address, struct view_lease *out);
/* Any live lease of the MAC: the first one after `after` (a lease id, 0 to begin), by id. */
bool view_next_lease_of_mac(const struct view *v, uint64_t mac, int64_t after,
                            struct view_lease *out);

/* ---- the plan of addresses ---- */

/* Rebuild what is derived from networks, ranges and routers, if one of them changed. Called
 * after changes and before packets are answered. */
void view_refresh(struct view *v);

const struct view_network *view_network(const struct view *v, int64_t id);
/* The range of an admin network that contains the address, one without `overlap` first, then the
 * one that begins first; NULL if there is none. */
const struct view_range *view_range_of_address(const struct view *v, uint32_t address);
/* The first range of an admin network in whose subnet the address is; NULL: the subnet is not one
 * of ours. */
const struct view_range *view_range_of_subnet(const struct view *v, uint32_t address);
/* The IPv4 router of the network with the lowest `pref`; NULL if it has none. */
const struct view_router *view_router(const struct view *v, int64_t network);
bool view_is_router(const struct view *v, uint32_t address);
