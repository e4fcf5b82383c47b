/* world_gen.h - generates the content of a world: barclamps, deployments, nodes and noderoles.
 *
 * A world starts with three barclamps: "machinery" (jigs, hammers, attribs of nodes), "gallery"
 * (one role for each special case: providers, clusters, conflicts, missing parents) and "field" (a
 * random graph of ordinary roles). Operators import others later; some of these must be refused.
 */
#pragma once

#include "sim/world/world.h"

/* The barclamps that can be generated. */
enum barclamp_kind {
    BARCLAMP_MACHINERY,
    BARCLAMP_GALLERY,
    BARCLAMP_FIELD,
    BARCLAMP_LATE,       /* defines the parent that a role of the gallery lacks */
    BARCLAMP_CYCLE,      /* roles that require each other: refused              */
    BARCLAMP_THIEF,      /* redefines an attrib of another barclamp: refused    */
    BARCLAMP_BAD_SCHEMA, /* refused */
    BARCLAMP_NAMELESS,   /* refused */
    BARCLAMP_HUGE,       /* exceeds the maximum number of names: refused        */
    BARCLAMP_EXTRA,      /* three new roles with every import                   */
    BARCLAMP_KINDS
};

/* The JSON document of a barclamp, valid as long as the world. "field" is the same at every
 * call. */
struct str world_gen_barclamp(struct world *w, enum barclamp_kind kind);

/* Send the first commands: settings and the first barclamp. */
void world_gen_begin(struct world *w);
/* Perform the next step of the setup, depending on the records. False: the setup is complete. */
bool world_gen_step(struct world *w);
