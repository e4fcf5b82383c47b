/* data.h - documents and attribs: where a value lives, how it is put there.
 *
 * Shared by the chapters on data (data.c, stage.c, run_feedback.c, attrib_set.c,
 * deployment_role.c); the rest of the core uses what core_private.h offers. Trees lie in the arena
 * given and may point into texts of the core, so they live for a step and no longer.
 */
#pragma once

#include "base/json/json.h"
#include "core/core_private.h"

/* Levels that staging puts around a document of a node (crowbar_wall/reservations). Values set
 * through attribs leave that much room below JSON_DEPTH_MAX. */
#define STAGED_LEVELS 2u

/* The row whose documents hold the value of an attrib. */
struct place {
    enum table table; /* TABLE_NODE, TABLE_DEPLOYMENT_ROLE, TABLE_NODEROLE or TABLE_ROLE */
    uint32_t ix;
};

/* SEMANTICS 6.4 and 6.7: whom a question about `attrib` on this target is meant for. False when
 * there is no such target, or the attrib has no meaning there. */
bool data_place(const struct core *c, enum table target, int64_t id, attrib_ix attrib,
                struct place *out_place);
/* SEMANTICS 6.3: what a view of the place shows. */
struct json *data_view(const struct core *c, struct place place, enum view view, struct arena *a);
/* The attribs that have a meaning on noderoles of this role: its own and those of every role it
 * provides. */
attrib_ix *data_attribs_of(const struct core *c, role_ix role, struct arena *a,
                           uint32_t *out_count);

/* A noderole's own documents alone: wall, sysdata, committed user data. */
struct json *data_own(const struct core *c, noderole_ix nr, struct arena *a);
/* As data_noderole(committed only), with another wall in the place of its own. */
struct json *data_with_wall(const struct core *c, noderole_ix nr, struct str wall, struct arena *a);

/* Poke those below that are linked to an attrib which read otherwise in `before`, the noderole's
 * committed data of then. */
void data_tell_linked(struct core *c, noderole_ix nr, const struct json *before);

/* The document as an object, whatever it is. */
struct json *data_object(struct arena *a, struct str doc);
/* Levels of {"a":{"b":value}} for path "a/b". */
uint32_t data_depth(struct str path, const struct json *value);
/* Merge `value` into the object `tree` at `path`; it is an object itself when the path is empty.
 * False, with the tree untouched, when it would lie too deep. */
bool data_put(struct arena *a, struct json *tree, struct str path, const struct json *value);

/* Propose `object` as the whole data of a deployment role. */
void deployment_role_set_data(struct core *c, deployment_role_ix dr, struct str object);

/* Poke noderoles in the order of the list, which may belong to a row. */
void data_poke_all(struct core *c, const struct vec *noderoles);
/* Poke the noderoles of a node whose roles want the attrib, but for `but` (may be none). */
void data_poke_wanting(struct core *c, node_ix n, attrib_ix attrib, noderole_ix but);
