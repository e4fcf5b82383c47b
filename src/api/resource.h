/* resource.h - the nouns of the API: how they are found, made and changed.
 *
 * What is the same for all of them (showing, listing, patching, deleting, verbs) is written once,
 * for a resource; what differs is here.
 */
#pragma once

#include "api/call.h"
#include "api/shape.h"

enum resource_order { ORDER_BY_ID, ORDER_NEWEST_FIRST, ORDER_BY_COHORT };

struct resource {
    const struct shape *shape;
    enum resource_order order;
    /* Fill the command from the call's parameters; what is wrong becomes a problem of the call.
     * `update` sees only what is given. NULL: that does not exist. */
    void (*create)(struct call *call, struct command *out_command);
    void (*update)(struct call *call, int64_t id, struct command *out_command);
    const char *const *editable; /* keys a PATCH may change, NULL at the end */
    /* A document that can be edited but is not shown, and its key; NULL: none. */
    const char *hidden_key;
    struct str (*hidden_doc)(const struct record *record);
};

extern const struct resource resource_nodes, resource_deployments, resource_roles,
    resource_noderoles, resource_jigs, resource_tokens, resource_hammers, resource_hammer_kinds;

/* The object behind a segment of the path: digits are an id, anything else is a name. False after
 * a problem was added. */
bool resource_find(struct call *call, const struct resource *resource, struct str key,
                   struct record *out_record);
