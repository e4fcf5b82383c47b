/* inventory_names.h - names of groups that Ansible accepts.
 *
 * These consist of letters, digits and underscores and do not start with a digit; any other byte
 * becomes an underscore. Deployments have their own name, roles role_NAME, groups CATEGORY_NAME. A
 * deployment whose name could be that of another kind of group becomes deployment_NAME, so only
 * objects of the same kind can collide. The object with the lowest id keeps the name, the others
 * get a suffix of kind and id ("lab_a__d7"). A name that already looks like one with a suffix gets
 * one as well, so all names are unique.
 *
 * All names are added first, as a hash each. The module does not depend on the format of the
 * inventory.
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
    struct inventory_used *at; /* sorted by hash and id after the last was added */
    uint32_t count, max;
    uint32_t kind; /* kind and id of the last object that was added */
    int64_t id;
};

/* Allocates space in the arena for all current objects. */
struct inventory_names inventory_names_new(const struct core *core, struct arena *a);
/* Adds the name of the next object; false: there are no more, and names can be requested. */
bool inventory_names_add(struct inventory_names *n, const struct core *core, struct arena *scratch);
/* The name of the group of the object; empty if it was deleted. */
struct str inventory_names_get(const struct inventory_names *n, const struct core *core,
                               struct inventory_object object, struct arena *a);
/* Does the name of the group differ from that of the object? *out_name is the name of the object.
 */
bool inventory_names_differs(const struct inventory_names *n, const struct core *core,
                             struct inventory_object object, struct arena *a, struct str *out_name);
