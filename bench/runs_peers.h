/* runs_peers.h - the peers of bench-runs: bare processes, ninja, ansible-playbook.
 *
 * Each executes the same graph, N chains of R steps, P at a time, and stores nothing. They use no
 * code of Halligan. Every failure ends the benchmark.
 */
#pragma once

#define RUNS_PROGRAM "/bin/true"

struct runs_graph {
    int nodes, roles, parallel;
};

double runs_seconds(void);
_Noreturn void runs_die(const char *what);

/* Each of these returns its duration in seconds. */

/* Starts the processes with posix_spawn and waits for the first one that ends. */
double runs_bare(const struct runs_graph *g);
/* Runs the graph as edges of a build file in `dir`. */
double runs_ninja(const struct runs_graph *g, const char *dir);
/* Runs `tasks` raw tasks on local connections; it is too slow for all of them. */
double runs_ansible(const struct runs_graph *g, int tasks, const char *dir);
