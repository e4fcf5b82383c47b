/* live.h - a world in which the engine runs as in the daemon: the turn over a store in memory,
 * barclamps read from YAML files, hooks called as Lua in their thread, do_transition as the work of
 * its roles. Only machines and the runs of other jigs are pretended.
 *
 * It is used through world.h: a step is submitted to the turn, and everything that follows from it
 * (hooks, their wishes, the runs these cause) has happened when it returns. What waits then is a
 * run that world_finish() has to end. The story tells of runs as in every world, and of hooks that
 * told about themselves as those of tests/conformance/barclamps/recorder do:
 *
 *   "on_todo a@n1; on_node_change a n1; on_deployment_delete a in d; template a"
 */
#pragma once

#include "tests/world/world.h"

/* A call that recorded itself: what the code was given. */
struct call {
    struct str hook;
    struct str role;     /* whose code it is */
    struct str argument; /* JSON */
    struct str context;  /* JSON; "null" when there is none */
    struct call *earlier;
};

/* An empty installation. */
struct world *live_open(void);
void live_close(struct world *w);
/* Below $HALLIGAN_SOURCE, or below the directory we are in. */
const char *live_path(struct world *w, const char *path);
/* Read "DIR[:DIR]" and import everything; nothing may be wrong with it. */
void live_import(struct world *w, const char *directories);
/* The process dies and comes back: what was not answered is told again. */
void live_restart(struct world *w);
/* Hooks that are called from now on are never heard of: the process dies before they answer. */
void live_hold(struct world *w, bool held);

/* The newest call of that line; it must have been made. */
const struct call *live_call(struct world *w, const char *line);
/* What that call was given, at a path: "host/name"; "absent" when it is not there. */
const char *live_given(struct world *w, const char *line, const char *path);
const char *live_context(struct world *w, const char *line, const char *path);
/* Everything hooks complained about since the last look, a line each. */
const char *live_complaints(struct world *w);
