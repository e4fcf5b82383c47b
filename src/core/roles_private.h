/* roles_private.h - what the chapters about content share: import, roles, jigs, attribs.
 *
 * Content is what barclamps bring: jigs, hammer kinds, roles and attribs. Its rows name each other
 * by text, so that anything may be imported before what it needs; roles.c turns the names into
 * lists whenever something they could mean came, changed or went.
 */
#pragma once

#include "core/core_private.h"
#include "model/schema.h"

/* ---- roles.c ---- */

/* What a command did to roles and to what they name. */
struct roles_touched {
    const role_ix *roles;   /* whose own facts changed */
    const uint32_t *places; /* where each stands in the document, for problems */
    uint32_t count;
    bool attribs; /* an attrib went or changed hands: look again at every wish for one */
    bool jigs;    /* a jig has another client role: look again at every role */
};

/* Bring the derived lists up to date; roles that wait for a name look again in any case. Refuses
 * cycles and unfit client roles. Then tells hooks and noderoles what is new to them. */
void roles_resolve_touched(struct core *c, const struct roles_touched *touched);

/* ---- role_graph.c ---- */

/* Raise cohorts along the graph of roles; refuse with every chain when it has a cycle. */
void role_graph_settle(struct core *c, const struct roles_touched *touched, struct arena *scratch);
/* The role's place in the document as a field: "roles/3", or "roles" when it is not in it. */
struct str role_field(struct core *c, const struct roles_touched *touched, role_ix r);

/* ---- attribs.c ---- */

/* An attrib as somebody describes it. */
struct attrib_facts {
    struct str name, description, map, ui_renderer;
    struct str schema;        /* canonical; empty = none */
    struct str default_value; /* {"value":X}; empty = none */
    barclamp_ix barclamp;
    role_ix role;
    uint32_t order;
    bool writable;
};

/* Is it well formed? Problems have `place` before their field ("" = the field alone). What is odd
 * but no reason to refuse is appended to `warnings`. */
bool attrib_check(struct core *c, const struct attrib_facts *facts, struct str place,
                  struct violations *warnings);
/* Does the default fit the schema? */
bool attrib_default_fits(struct core *c, const struct attrib_facts *facts,
                         struct violations *violations);
/* Write it: a new row when `ix` is 0. True when anything is different now. */
bool attrib_write(struct core *c, attrib_ix ix, const struct attrib_facts *facts,
                  attrib_ix *out_ix);
/* A clean slash path: no empty step, not too long, not too deep. NULL when it will do. */
const char *attrib_check_map(struct str map);
