/* resource.h - what the API knows of a noun: how it looks, how it is found, made and changed.
 *
 * What is the same for all of them (showing, listing, patching, deleting, verbs) is written once,
 * for a resource; what differs stands in the noun's own file, with its routes.
 */
#pragma once

#include "api/call/call.h"
#include "api/call/params_schema.h"
#include "api/call/serialize.h"

enum resource_order { ORDER_BY_ID, ORDER_NEWEST_FIRST, ORDER_BY_COHORT };

struct resource {
    const struct object_view *shape;
    enum resource_order order;
    const char *sorted_by;              /* a field, instead of the order; NULL: none */
    const struct params_schema *create; /* NULL: they come otherwise              */
    const struct params_schema *update; /* what a PUT, and a PATCH, may change    */
    /* A document that can be edited but is not shown, and its key; NULL: none. */
    const char *hidden_key;
    struct str (*hidden_doc)(const struct record *record);
    /* Which object a name means; NULL: core_find knows. 0: none. */
    int64_t (*find)(struct call *call, struct str name);
};

extern const struct resource resource_attribs;
extern const struct resource resource_barclamps;
extern const struct resource resource_deployment_roles;
extern const struct resource resource_deployments;
extern const struct resource resource_groups;
extern const struct resource resource_hammer_kinds;
extern const struct resource resource_hammers;
extern const struct resource resource_jigs;
extern const struct resource resource_noderoles;
extern const struct resource resource_nodes;
extern const struct resource resource_roles;
extern const struct resource resource_snapshots;
extern const struct resource resource_tokens;
extern const struct resource resource_users;

/* The object behind a segment of the path: digits are an id, anything else is a name. False after
 * a problem was added. */
bool resource_find(struct call *call, const struct resource *resource, struct str key,
                   struct record *out_record);
/* "sample" and "match" stand for something else where the name of an object would stand. */
void resource_refuse_reserved(struct call *call, struct str name);
