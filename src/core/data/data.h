/* data.h - documents and attribs: which row owns a value, and how values are written and merged.
 *
 * Shared by the files of core/data and by deployment_role.c, dns_facts.c, hook_args.c and
 * import_removed.c; the rest of the core uses the functions in core_private.h. JSON trees are in
 * the given arena and may point into strings of the core, so they are valid until the end of the
 * step. */
#pragma once

#include "base/json/json.h"
#include "core/core_private.h"

/* Levels that staging puts around a document of a node (crowbar_wall/reservations). Values that are
 * set through attribs stay that much below JSON_DEPTH_MAX. */
#define STAGED_LEVELS 2u

/* The row whose documents hold the value of an attrib. */
struct data_owner {
    enum table table; /* TABLE_NODE, TABLE_DEPLOYMENT_ROLE, TABLE_NODEROLE or TABLE_ROLE */
    uint32_t ix;
};

/* Finds the row that owns the value of `attrib` for a target (docs/spec/data.md, "Owner of a
 * value"). False if the target does not exist, or the attrib has no value there. */
bool data_find_owner(const struct core *c, enum table target, int64_t id, attrib_ix attrib,
                     struct data_owner *out_owner);
/* The document that a view of the owner shows (docs/spec/data.md, "Read buckets"). */
struct json *data_view(const struct core *c, struct data_owner owner, enum data_view view,
                       struct arena *a);
/* The attribs that noderoles of this role can have a value of: those of the role and of every role
 * that it provides. */
attrib_ix *data_attribs_of(const struct core *c, role_ix role, struct arena *a,
                           uint32_t *out_count);

/* The bytes that data_noderole(committed only) parses and merges: all layers. */
uint32_t data_noderole_size(const struct core *c, noderole_ix nr);
/* The own documents of a noderole, merged: wall, computed and system data, committed user data. */
struct json *data_own(const struct core *c, noderole_ix nr, struct arena *a);
/* As data_noderole(committed only), with another wall document instead of its own. */
struct json *data_with_wall(const struct core *c, noderole_ix nr, struct str wall, struct arena *a);

/* Requests a rerun of the descendants that are linked to an attrib whose value differs from that in
 * `before`, the committed data before the change. */
void data_rerun_linked(struct core *c, noderole_ix nr, const struct json *before);

/* The document as an object; an empty object if it is anything else. */
struct json *data_object(struct arena *a, struct str doc);
/* Number of levels of {"a":{"b":value}} for the path "a/b". */
uint32_t data_depth(struct str path, const struct json *value);
/* Merges `value` into the object `tree` at `path`; with an empty path the value must be an object.
 * Returns false and leaves the tree as it was if the result would be too deep. */
bool data_put(struct arena *a, struct json *tree, struct str path, const struct json *value);

/* Paths of attribs that an import has removed. */
struct removed_values {
    struct str *maps;
    uint32_t count;
};
/* Remove the values at these paths, which were those of attribs of nodes, or of the role `owner`.
 * Called after the rows of the attribs are removed; values that another attrib shows stay. */
void data_remove_node_values(struct core *c, const struct removed_values *v);
void data_remove_role_values(struct core *c, role_ix owner, const struct removed_values *v);

/* Replaces the proposed data of a deployment role. */
void deployment_role_set_data(struct core *c, deployment_role_ix dr, struct str object);

/* Requests a rerun of each noderole, in the order of the list, which may be a field of a row. */
void data_rerun_all(struct core *c, const struct vec *noderoles);
/* Requests a rerun of the noderoles of a node whose roles want the attrib, except `but` (may be
 * none). */
void data_rerun_wanting(struct core *c, node_ix n, attrib_ix attrib, noderole_ix but);
