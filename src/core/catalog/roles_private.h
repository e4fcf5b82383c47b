/* roles_private.h - shared by the files about content: import, roles, jigs, attribs.
 *
 * Content is defined by barclamps (packages of content): jigs (ways to execute a role), hammer
 * kinds (drivers that reach or switch a machine), roles and attribs. The rows refer to each other
 * by name, so that barclamps can be imported in any order; roles.c resolves the names into lists of
 * row indices whenever a named object was added, changed or removed. Everything declared here runs
 * inside a step: rows change under the undo log, and a refusal rolls all of it back. */
#pragma once

#include "base/json/json.h"
#include "core/core_private.h"
#include "model/schema.h"

/* ---- roles.c ---- */

#define NO_POSITION UINT32_MAX

/* The objects that a command changed, as far as names of roles may resolve differently. */
struct roles_touched {
    const role_ix *roles;      /* roles whose own definition changed */
    const uint32_t *positions; /* index of each in the document, for problems; or NO_POSITION */
    uint32_t count;
    bool attribs; /* an attrib was removed or has another owner: resolve roles that want one */
    bool jigs;    /* a jig has another client role: resolve every role */
};

/* Updates the derived lists of the touched roles and of roles with unresolved names. Refuses cycles
 * and unsuitable client roles; otherwise rebuilds attrib links and the index of hooks. */
void roles_resolve_touched(struct core *c, const struct roles_touched *touched);

/* Returns the handle of a string and adds a reference; LIMIT_REACHED if there are too many. */
uint32_t text_add_reference(struct core *c, struct str text);

/* ---- role_attach.c: requirements that are declared by the required role ---- */

struct role_list {
    role_ix *items;
    uint32_t count;
};

/* Replaces the names that `r` attaches itself to (strings as written). Returns the existing roles
 * that gained or lost `r` as a requirement; attachments_apply() is to be called for each. */
struct role_list attachments_write(struct core *c, role_ix r, const struct json *names);
/* Writes the requirements of a role: its `own` ones (each once, ignoring case; NULL = unchanged),
 * which the list takes over, followed by the roles that attach themselves to it. Returns true if
 * the list changed. */
bool attachments_apply(struct core *c, role_ix r, struct json *own);
/* Rebuilds the index from the stored documents after a load. */
void attachments_load(struct core *c);
/* Returns NULL, or the invariant of the index that is violated. */
const char *attachments_check(const struct core *c);

/* ---- role_removal.c: roles that their barclamp does not define any more ---- */

/* Keeps the role without hooks and bars new bindings. Returns false if it was withdrawn already. */
bool role_withdraw(struct core *c, role_ix r);
/* Moves the role and its attribs to another barclamp. */
void role_change_barclamp(struct core *c, role_ix r, barclamp_ix to);
/* Number of noderoles of the role. */
uint32_t role_count_bound(const struct core *c, role_ix r);
/* Removes a role that is in no deployment and attached to nothing, with its attribs. Roles that
 * require it or want its attribs are unresolved after the next resolution. */
void role_remove(struct core *c, role_ix r);
/* Called once after the last removal: clears targets and queued hooks that refer to removed or
 * withdrawn roles. */
void roles_drop_references(struct core *c);

/* ---- import_per.c ---- */

/* Makes it a role of the network, or of none. */
void role_set_network(struct core *c, role_ix r, network_ix w);

/* ---- role_graph.c ---- */

/* Raises cohorts along the role graph; refuses with every chain if the graph has a cycle. */
void role_graph_update(struct core *c, const struct roles_touched *touched, struct arena *scratch);
/* Position of the role in the document as a problem field: "roles/3", or "roles" if it is not in
 * it. */
struct str role_problem_field(struct core *c, const struct roles_touched *touched, role_ix r);

/* ---- attribs.c ---- */

/* The definition of an attrib in a command or document. */
struct attrib_def {
    struct str name, description, map, ui_renderer;
    struct str schema;        /* canonical; empty = none */
    struct str default_value; /* {"value":X}; empty = none */
    barclamp_ix barclamp;
    role_ix role;
    uint32_t order;
    bool writable;
};

/* Checks the definition. Problem fields are prefixed with `path` ("" = no prefix). Parts of the
 * schema that are not checked are appended to `warnings`. */
bool attrib_check(struct core *c, const struct attrib_def *def, struct str path,
                  struct violations *warnings);
/* Returns whether the default satisfies the schema. */
bool attrib_default_fits(struct core *c, const struct attrib_def *def,
                         struct violations *violations);
/* Writes the definition; to a new row if `ix` is 0. Returns true if a row changed. */
bool attrib_write(struct core *c, attrib_ix ix, const struct attrib_def *def, attrib_ix *out_ix);
/* Removes the attrib from links, from its owner and from the index of names. The roles must be
 * resolved afterwards. */
void attrib_remove(struct core *c, attrib_ix ix);
/* A valid path has no empty step and obeys the limits of length and depth. NULL if it is valid. */
const char *attrib_check_map(struct str map);
