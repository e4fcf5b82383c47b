#include "bench/runs_peers.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>

double runs_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void runs_die(const char *what)
{
    fprintf(stderr, "bench-runs: %s\n", what);
    exit(1);
}

/* ---- bare processes ---- */

static void wait_for_one(void)
{
    int status;
    if (waitpid(-1, &status, 0) < 0 || status != 0)
        runs_die(RUNS_PROGRAM " failed");
}

double runs_bare(const struct runs_graph *g)
{
    char *argv[] = {RUNS_PROGRAM, NULL}, *none[] = {NULL};
    const double start = runs_seconds();
    int running = 0;
    for (int left = g->nodes * g->roles; left > 0; left--) {
        pid_t pid;
        if (running == g->parallel)
            wait_for_one();
        else
            running++;
        if (posix_spawn(&pid, RUNS_PROGRAM, NULL, NULL, argv, none) != 0)
            runs_die(RUNS_PROGRAM " does not start");
    }
    while (running-- > 0)
        wait_for_one();
    return runs_seconds() - start;
}

/* ---- programs of others ---- */

static FILE *begin_file(const char *dir, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    if (!f)
        runs_die("cannot write for a peer");
    return f;
}

static void end_file(FILE *f)
{
    if (fclose(f) != 0)
        runs_die("cannot write for a peer");
}

static double time_of(const char *command)
{
    const double start = runs_seconds();
    fflush(stdout);
    if (system(command) != 0)
        runs_die(command);
    return runs_seconds() - start;
}

/* Nothing is made, so that every edge is run each time. */
static void write_ninja(const struct runs_graph *g, const char *dir)
{
    FILE *f = begin_file(dir, "build.ninja");
    fprintf(f, "rule run\n  command = " RUNS_PROGRAM "\n");
    for (int n = 1; n <= g->nodes; n++)
        for (int r = 1; r <= g->roles; r++)
            if (r == 1)
                fprintf(f, "build n%d_1: run\n", n);
            else
                fprintf(f, "build n%d_%d: run n%d_%d\n", n, r, n, r - 1);
    end_file(f);
}

double runs_ninja(const struct runs_graph *g, const char *dir)
{
    char command[512];
    write_ninja(g, dir);
    snprintf(command, sizeof command, "ninja -C %s -j %d >%s/said 2>&1", dir, g->parallel, dir);
    return time_of(command);
}

/* As many hosts as are worked on at a time, so that none of its forks is idle. */
static void write_playbook(const struct runs_graph *g, int tasks, const char *dir)
{
    FILE *f = begin_file(dir, "hosts");
    for (int i = 1; i <= g->parallel; i++)
        fprintf(f, "n%d ansible_connection=local\n", i);
    end_file(f);
    f = begin_file(dir, "play.yml");
    fprintf(f, "- hosts: all\n  gather_facts: false\n  tasks:\n");
    for (int i = 0; i < tasks; i += g->parallel)
        fprintf(f, "    - raw: " RUNS_PROGRAM "\n");
    end_file(f);
}

double runs_ansible(const struct runs_graph *g, int tasks, const char *dir)
{
    char command[512];
    write_playbook(g, tasks, dir);
    snprintf(command, sizeof command,
             "HOME=%s ansible-playbook -f %d -i %s/hosts %s/play.yml >%s/said 2>&1", dir,
             g->parallel, dir, dir, dir);
    return time_of(command);
}
