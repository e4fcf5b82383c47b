/* roles_private.h - what the chapters about content share: import, roles, jigs, attribs.
 *
 * Content is what barclamps bring: jigs, hammer kinds, roles and attribs. Its rows name each other
 * by text, so that anything may be imported before what it needs; roles.c turns the names into
 * lists whenever something they could mean came, changed or went.
 */
#pragma once

#include "base/json/json.h"
#include "core/core_private.h"
#include "model/schema.h"

/* ---- roles.c ---- */

#define NO_PLACE UINT32_MAX

/* What a command did to roles and to what they name. */
struct roles_touched {
    const role_ix *roles;   /* whose own facts changed */
    const uint32_t *places; /* where each stands in the document, for problems; or NO_PLACE */
    uint32_t count;
    bool attribs; /* an attrib went or changed hands: look again at every wish for one */
    bool jigs;    /* a jig has another client role: look again at every role */
};

/* Bring the derived lists up to date; roles that wait for a name look again in any case. Refuses
 * cycles and unfit client roles. Then tells hooks and noderoles what is new to them. */
void roles_resolve_touched(struct core *c, const struct roles_touched *touched);

/* The handle of a text, with one more holder; LIMIT_REACHED when there are too many. */
uint32_t text_hold(struct core *c, struct str text);

/* ---- role_attach.c: requires that the other side asked for ---- */

struct role_list {
    role_ix *items;
    uint32_t count;
};

/* From now on `r` attaches itself to these names (strings, as they are written). Those there are
 * that gained or lost it by that: theirs to apply. */
struct role_list attachments_write(struct core *c, role_ix r, const struct json *names);
/* Write what it requires: its `own` (each once, ignoring case; NULL = as before), which is taken
 * over, and whoever attaches itself. True when that is different now. */
bool attachments_apply(struct core *c, role_ix r, struct json *own);
/* What the documents say, after a load. */
void attachments_load(struct core *c);
/* NULL when all is found that should be. */
const char *attachments_check(const struct core *c);

/* ---- role_removal.c: roles that their barclamp does not name any more ---- */

/* It stays without hooks. False when it was so before. */
bool role_withdraw(struct core *c, role_ix r);
/* It comes to another barclamp, with its attribs. */
void role_take_over(struct core *c, role_ix r, barclamp_ix to);
/* On so many nodes. */
uint32_t role_count_bound(const struct core *c, role_ix r);
/* In no deployment and attached to nothing: it goes, with its attribs. Whoever required it or
 * wanted these waits for them again once the roles are resolved. */
void role_remove(struct core *c, role_ix r);
/* Afterwards, once for all of them: nodes are not held at them, and hooks do not wait for them. */
void roles_withdrawn(struct core *c);

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
/* Take it away: from links, its owner, its name. The roles are to be resolved then. */
void attrib_remove(struct core *c, attrib_ix ix);
/* A clean slash path: no empty step, not too long, not too deep. NULL when it will do. */
const char *attrib_check_map(struct str map);
