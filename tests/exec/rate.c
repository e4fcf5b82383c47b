/* How many runs of /bin/true a second: a bare loop of posix_spawn and wait, and the same number
 * through halligan-exec, side by side in one run.
 *
 *     exec_rate PROGRAM [RUNS [PARALLEL [ROUNDS]]]
 */
#define _GNU_SOURCE /* POSIX_SPAWN_SETSID */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "run/exec/exec_client.h"

static int64_t run_count = 10000;
static int64_t parallel = 10;

static void stop(const char *what)
{
    fprintf(stderr, "exec_rate: %s\n", what);
    exit(1);
}

static double seconds_since(uint64_t began)
{
    return (double)(uv_hrtime() - began) / 1e9;
}

/* ---- bare ---- */

static double bare_rate(void)
{
    char *argv[] = {"/bin/true", NULL};
    char *env[] = {NULL};
    posix_spawnattr_t attributes;
    const uint64_t began = uv_hrtime();
    int64_t started = 0;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    for (int64_t done = 0; done < run_count; done++) {
        pid_t pid;
        for (; started < run_count && started - done < parallel; started++)
            if (posix_spawn(&pid, argv[0], NULL, &attributes, argv, env) != 0)
                stop("posix_spawn");
        if (wait(NULL) < 0)
            stop("wait");
    }
    posix_spawnattr_destroy(&attributes);
    return (double)run_count / seconds_since(began);
}

/* ---- through halligan-exec ---- */

static struct exec_client *client;
static uv_loop_t loop;
static int64_t next_id; /* ids are not used twice */
static int64_t last_id;
static int64_t ended_count;
static int64_t supervisor_pid;

static void spawn_next(void)
{
    struct exec_spawn spec = {.run_id = next_id++, .attempt = 1, .epoch = 1};
    spec.argv = (struct str){"/bin/true", sizeof "/bin/true"};
    spec.out_max = spec.log_max = 1 << 20;
    spec.grace_ms = 1000;
    if (exec_client_spawn(client, &spec) != OK)
        stop("spawn");
}

static void connected(void *self, const struct exec_welcome *welcome)
{
    (void)self;
    supervisor_pid = welcome->pid;
    uv_stop(&loop);
}

static void lost(void *self)
{
    (void)self;
    stop("halligan-exec is gone");
}

static void begun(void *self, const struct exec_begun *m)
{
    (void)self;
    (void)m;
}

static void ended(void *self, const struct exec_ended *m)
{
    (void)self;
    if (m->how != EXEC_EXITED || m->code != 0)
        stop("a run of /bin/true failed");
    exec_client_forget(client, m->run_id, m->attempt);
    ended_count++;
    if (next_id < last_id)
        spawn_next();
    else if (ended_count == run_count)
        uv_stop(&loop);
}

static void not_known(void *self, const struct exec_not_known *m)
{
    (void)self;
    (void)m;
    stop("a run is not known");
}

static void fenced(void *self, int64_t epoch)
{
    (void)self;
    (void)epoch;
    stop("fenced");
}

static double exec_rate(void)
{
    const uint64_t began = uv_hrtime();
    ended_count = 0;
    last_id = next_id + run_count;
    for (int64_t i = 0; i < parallel && i < run_count; i++)
        spawn_next();
    uv_run(&loop, UV_RUN_DEFAULT);
    return (double)run_count / seconds_since(began);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(int rounds)
{
    double bare[9], through[9];
    for (int i = 0; i < rounds; i++) {
        bare[i] = bare_rate();
        through[i] = exec_rate();
        printf("bare %.0f/s, halligan-exec %.0f/s\n", bare[i], through[i]);
        fflush(stdout);
    }
    qsort(bare, (size_t)rounds, sizeof *bare, by_value);
    qsort(through, (size_t)rounds, sizeof *through, by_value);
    printf("ratio %.2f\n", through[rounds / 2] / bare[rounds / 2]);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/halligan-rate-XXXXXX", command[64];
    const struct exec_client_callbacks callbacks = {NULL,  connected, lost,  begun,
                                                    ended, not_known, fenced};
    if (argc < 2 || !mkdtemp(folder))
        stop("usage: exec_rate PROGRAM [RUNS [PARALLEL [ROUNDS]]]");
    run_count = argc > 2 ? strtol(argv[2], NULL, 10) : run_count;
    parallel = argc > 3 ? strtol(argv[3], NULL, 10) : parallel;
    const long rounds = argc > 4 ? strtol(argv[4], NULL, 10) : 3;
    next_id = 1;
    uv_loop_init(&loop);
    const struct exec_client_setup setup = {
        .loop = &loop, .program = argv[1], .dir = folder, .epoch = 1, .idle_ms = 1000};
    if (exec_client_open(&setup, callbacks, &client) != OK)
        stop("cannot open");
    uv_run(&loop, UV_RUN_DEFAULT);
    measure(rounds < 1 ? 1 : rounds > 9 ? 9 : (int)rounds);
    exec_client_close(client, true);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    /* No callback follows; remove its directory after it has exited. */
    while (kill((pid_t)supervisor_pid, 0) == 0)
        usleep(1000);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? 0 : 1;
}
