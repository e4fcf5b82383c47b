/* resource.h - the description of a noun: its JSON form, lookup, creation and update.
 *
 * The operations that all nouns share (show, list, patch, delete, verbs) are implemented once, for
 * a resource, in src/api/rest; each noun defines its resource and its routes in its own file.
 * Resources are constant.
 */
#pragma once

#include "api/call/call.h"
#include "api/call/params_schema.h"
#include "api/call/serialize.h"

enum resource_order { ORDER_BY_ID, ORDER_NEWEST_FIRST, ORDER_BY_COHORT };

struct resource {
    const struct object_view *view;
    enum resource_order order;
    const char *sorted_by;              /* default sort field instead of `order`; NULL: none */
    const struct params_schema *create; /* NULL: not created through the API */
    const struct params_schema *update; /* the fields that PUT and PATCH may change */
    /* A document that PATCH may change but GET does not return, and its key; NULL: none. */
    const char *hidden_key;
    struct str (*hidden_doc)(const struct record *record);
    /* Finds an object by name; NULL: core_find() does. Returns an id, 0: not found. */
    int64_t (*find)(struct call *call, struct str name);
};

extern const struct resource resource_attribs;
extern const struct resource resource_barclamps;
extern const struct resource resource_bootenvs;
extern const struct resource resource_deployment_roles;
extern const struct resource resource_deployments;
extern const struct resource resource_dhcp;
extern const struct resource resource_dns_name_entries;
extern const struct resource resource_dns_name_filters;
extern const struct resource resource_groups;
extern const struct resource resource_hammer_kinds;
extern const struct resource resource_hammers;
extern const struct resource resource_jigs;
extern const struct resource resource_leases;
extern const struct resource resource_network_allocations;
extern const struct resource resource_network_ranges;
extern const struct resource resource_network_routers;
extern const struct resource resource_networks;
extern const struct resource resource_nics;
extern const struct resource resource_noderoles;
extern const struct resource resource_nodes;
extern const struct resource resource_roles;
extern const struct resource resource_snapshots;
extern const struct resource resource_tokens;
extern const struct resource resource_users;

/* Finds the object of a path segment: digits are an id, anything else is a name. False after a
 * problem was added. */
bool resource_find(struct call *call, const struct resource *resource, struct str key,
                   struct record *out_record);
/* Refuses the names "sample" and "match": they are routes where the name of an object would be. */
void resource_refuse_reserved(struct call *call, struct str name);
