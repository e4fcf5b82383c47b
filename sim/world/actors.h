/* actors.h - who lives in a world besides the daemon. Each takes its events from world.h and
 * looks at nothing but records. */
#pragma once

#include "sim/world/world.h"

/* ---- runner_sim.c: does the work of noderoles, and loses, repeats and delays its answers ---- */

struct runner_port runner_sim_port(struct world *w);
void runner_sim_ends(struct world *w, int64_t work_ix, struct str generation);
void runner_sim_resend(struct world *w, int64_t work_ix);
void runner_sim_crash(struct world *w);
/* What was running on that machine will not end by itself. */
void runner_sim_node_fell(struct world *w, int64_t node_id);
void runner_sim_fini(struct world *w);

/* ---- hooks_sim.c: code of roles: answers questions, reacts to events, has wishes ---- */

struct hooks_port hooks_sim_port(struct world *w);
void hooks_sim_answer(struct world *w, int64_t token, struct str answers);

/* ---- nodes_sim.c: machines that fall and rise, and their power ---- */

struct power_port nodes_sim_port(struct world *w);
void nodes_sim_falls(struct world *w, int64_t node_id);
void nodes_sim_rises(struct world *w, int64_t node_id);
void nodes_sim_reports(struct world *w, int64_t node_id);
/* Begin to simulate a node that the operators made. */
void nodes_sim_meet(struct world *w);
bool nodes_sim_is_up(const struct world *w, int64_t node_id);
void nodes_sim_fini(struct world *w);

/* ---- operator*.c (operator.h): people, who do all sorts of things ---- */

void operator_acts(struct world *w);

/* ---- repair.c: after the faults: everything is mended, and everything must come up (I7) ---- */

/* One round of repairs, sent as commands. */
void repair_round(struct world *w);
/* NULL when the fixed point is reached, else what is in the way. */
const char *repair_missing(struct world *w);
