/* world_gen.h - what a world is made of: barclamps, deployments, machines, and who is bound where.
 *
 * Three barclamps: the machinery (jigs, hammers, attribs of nodes), a gallery (roles that are hard
 * to get along with: providers, clusters, conflicts, things that are missing) and a field (a random
 * graph of ordinary roles). Later ones mend or break what is there.
 */
#pragma once

#include "sim/world/world.h"

/* Which document to write. */
enum barclamp_kind {
    BARCLAMP_MACHINERY,
    BARCLAMP_GALLERY,
    BARCLAMP_FIELD,
    BARCLAMP_LATE,       /* brings the role the gallery misses            */
    BARCLAMP_CYCLE,      /* roles that require each other: refused        */
    BARCLAMP_THIEF,      /* claims an attrib of somebody else: refused    */
    BARCLAMP_BAD_SCHEMA, /* refused */
    BARCLAMP_NAMELESS,   /* refused */
    BARCLAMP_HUGE,       /* lists more names than anybody may: refused    */
    BARCLAMP_EXTRA,      /* a few more roles, each time others            */
    BARCLAMP_KINDS
};

/* Canonical enough JSON, as long as the world. The field is the same each time it is asked for. */
struct str world_gen_barclamp(struct world *w, enum barclamp_kind kind);

/* Get the installation going: send the first commands. */
void world_gen_begin(struct world *w);
/* One more step of setting up, looking at what is there; false when all stands. */
bool world_gen_step(struct world *w);
