/* live.h - a world in which the engine runs as in the daemon: the turn over a memory store,
 * barclamps read from YAML files, hooks called as Lua in their thread, do_transition for the runs
 * of its roles. Only machines and the runs of other jigs are simulated.
 *
 * It is used through world.h: a step is submitted to the turn, and all its consequences (hooks,
 * hook commands, the runs these cause) have happened when it returns. Only runs that world_finish()
 * has to end are left. The list of effects contains runs as in every world, and the calls of hooks
 * that log them as those of tests/conformance/barclamps/recorder do:
 *
 *   "on_todo a@n1; on_node_change a n1; on_deployment_delete a in d; template a"
 */
#pragma once

#include "tests/world/world.h"

/* A call of a hook that logged its arguments. */
struct call {
    struct str hook;
    struct str role;     /* name of the role */
    struct str argument; /* JSON */
    struct str context;  /* JSON; "null" if there is none */
    struct call *earlier;
};

/* An empty installation. */
struct world *live_open(void);
void live_close(struct world *w);
/* A path below $HALLIGAN_SOURCE, or below the current directory. */
const char *live_path(struct world *w, const char *path);
/* Read the barclamps of "DIR[:DIR]" and import them; errors and warnings fail the test. */
void live_import(struct world *w, const char *directories);
/* Restart the process: hooks without a result are called again. */
void live_restart(struct world *w);
/* While held, results of hooks are dropped, as if the process crashed before they arrive. */
void live_drop_results(struct world *w, bool held);

/* The newest call with that description; it must exist. */
const struct call *live_call(struct world *w, const char *line);
/* The argument (or context) of that call at a path such as "host/name"; "absent" if missing. */
const char *live_argument(struct world *w, const char *line, const char *path);
const char *live_context(struct world *w, const char *line, const char *path);
/* The log lines about hooks (errors and warnings) since the last call of this function. */
const char *live_hook_log(struct world *w);
