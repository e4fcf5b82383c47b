/* runs_peers.h - what bench-runs measures us against: bare processes, ninja, ansible-playbook.
 *
 * Each does the work of the same graph, N chains of R steps, P at a time, and keeps nothing of it.
 * They know nothing of ours. Whatever fails ends the benchmark: half a figure is none.
 */
#pragma once

#define RUNS_PROGRAM "/bin/true"

struct runs_graph {
    int nodes, roles, parallel;
};

double runs_seconds(void);
_Noreturn void runs_die(const char *what);

/* All of these say how long it took, in seconds. */

/* As many processes, each by posix_spawn, and a wait for whichever ends first. */
double runs_bare(const struct runs_graph *g);
/* The graph as edges, in this directory. */
double runs_ninja(const struct runs_graph *g, const char *dir);
/* So many raw tasks on local connections: it is too slow for all of them. */
double runs_ansible(const struct runs_graph *g, int tasks, const char *dir);
