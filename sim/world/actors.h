/* actors.h - the simulated environment of the daemon in a world: runner, hooks, machines, operators
 * and repairs. Each actor is one source file that handles its events (world.h) and reads nothing of
 * the core but records. */
#pragma once

#include "sim/world/world.h"

/* ---- runner_sim.c: executes runs, and loses, repeats and delays their results ---- */

struct runner_port runner_sim_port(struct world *w);
void runner_sim_ends(struct world *w, int64_t attempt_ix, struct str generation);
void runner_sim_resend(struct world *w, int64_t attempt_ix);
void runner_sim_crash(struct world *w);
/* The machine of the node failed: half of its running attempts fail now. */
void runner_sim_node_failed(struct world *w, int64_t node_id);
void runner_sim_fini(struct world *w);

/* ---- hooks_sim.c: Lua code of roles: answers veto requests, returns hook commands ---- */

struct hooks_port hooks_sim_port(struct world *w);
void hooks_sim_answer(struct world *w, int64_t token, struct str answers);

/* ---- nodes_sim.c: machines that fail and return, and their power ---- */

struct power_port nodes_sim_port(struct world *w);
void nodes_sim_fails(struct world *w, int64_t node_id);
void nodes_sim_returns(struct world *w, int64_t node_id);
void nodes_sim_reports(struct world *w, int64_t node_id);
/* Start to simulate machines for the nodes that were created since the last call. */
void nodes_sim_add_new(struct world *w);
bool nodes_sim_is_up(const struct world *w, int64_t node_id);
void nodes_sim_fini(struct world *w);

/* ---- boot_sim.c: boot servers, which keep copies of the boot view ---- */

void boot_sim_init(struct world *w);
void boot_sim_fini(struct world *w);
struct boot_port boot_sim_port(struct world *w);
/* Begin to simulate boot servers for the admin nodes that were created since the last call. */
void boot_sim_add_new(struct world *w);
void boot_sim_daemon_crashed(struct world *w);
/* The events of their names. */
void boot_sim_connect(struct world *w, int64_t node_id);
void boot_sim_read(struct world *w, int64_t connection);
void boot_sim_arrives(struct world *w, int64_t connection, struct str bytes);
void boot_sim_notice_loss(struct world *w, int64_t connection);
void boot_sim_trouble(struct world *w, int64_t node_id);
void boot_sim_taken(struct world *w, int64_t connection, struct str bytes);
void boot_sim_notifies(struct world *w, int64_t node_id);

/* ---- operator*.c (operator.h): random commands of operators ---- */

void operator_acts(struct world *w);
/* The hook of an installing role: the parked run sets the environment of its node. The machine asks
 * for its installer several times afterwards. */
void operator_install(struct world *w, int64_t run_id, int64_t node_id);
/* The machine of the node asks for its installer. */
void operator_ask_installer(struct world *w, int64_t node_id);

/* ---- repair.c: repairs after the phase with faults; everything must become ACTIVE (I7) ---- */

/* One round of repairs, sent as commands. */
void repair_round(struct world *w);
/* Give nodes a hammer, and boot each of them into another environment. */
void repair_boot_machines(struct world *w);
/* NULL if the fixed point is reached, otherwise the first unmet condition. */
const char *repair_missing(struct world *w);
