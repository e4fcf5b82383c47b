/* inventory_names.h - names of groups that Ansible accepts.
 *
 * Those are letters, digits and underscores, no digit first; any other byte becomes an underscore.
 * Deployments go by their name, roles as role_NAME, our own groups as CATEGORY_NAME. A deployment
 * whose name could be a group of another kind is called deployment_NAME, so only objects of one
 * kind can come to the same name. Of those the one with the lowest id has it, the others get a
 * suffix of kind and id ("lab_a__d7"). A name that looks as if it had such a suffix gets one as
 * well, so no two groups share a name.
 *
 * All names are added first, a hash for each. It does not know how an inventory is written.
 */
#pragma once

#include "core/core.h"

enum inventory_kind { INVENTORY_DEPLOYMENT, INVENTORY_ROLE, INVENTORY_GROUP, INVENTORY_KINDS };

struct inventory_object {
    enum inventory_kind kind;
    int64_t id;
};

struct inventory_used;

struct inventory_names {
    struct inventory_used *at; /* by hash, then id, when all are there */
    uint32_t count, max;
    uint32_t kind; /* of the last one that was added */
    int64_t id;
};

/* In the arena; as many as there are objects now. */
struct inventory_names inventory_names_new(const struct core *core, struct arena *a);
/* Add the name of one more object; false: there are no more, and names can be asked for. */
bool inventory_names_add(struct inventory_names *n, const struct core *core, struct arena *scratch);
/* The name of the object's group; empty when the object is gone. */
struct str inventory_names_get(const struct inventory_names *n, const struct core *core,
                               struct inventory_object object, struct arena *a);
/* Does the name of the group not show that of the object? Then that is *out_name. */
bool inventory_names_differs(const struct inventory_names *n, const struct core *core,
                             struct inventory_object object, struct arena *a, struct str *out_name);
