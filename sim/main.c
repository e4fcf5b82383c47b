/* halligan-sim: runs the engine in simulated worlds. The options are in sim/scenario/options.c.
 *
 * The seeds are distributed over worker processes, so that a failed assertion ends one worker only.
 * A worker stops at its first failure and writes the recorded commands of that world to
 * halligan-sim-SEED.replay, also from a signal handler. When all workers have ended, the main
 * process shrinks the first of these files to the commands that are necessary for the failure. The
 * counts of all workers are summed; with many seeds, a case that never occurred is a failure.
 *
 * Exit status: 0 no failure, 1 a failure or missing coverage, 2 wrong usage. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "sim/rack/rack.h"
#include "sim/replay.h"
#include "sim/scenario/counts.h"
#include "sim/scenario/options.h"
#include "sim/scenario/transcript.h"
#include "sim/world/world.h"

enum {
    ENOUGH_SEEDS = 1000,         /* from this number on, missing coverage is a failure */
    WARM_SEEDS = 8,              /* worlds until the memory of the process stops growing */
    GROWTH_PAGES_MAX = 16 << 10, /* pages of 4 KiB that may be added after that (I9) */
    COMMANDS_SHOWN = 80,
};

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* ---- failures ---- */

static void sim_replay_path(uint64_t seed, char *path, size_t size)
{
    snprintf(path, size, "halligan-sim-%llu.replay", (unsigned long long)seed);
}

/* The record of the world that is being simulated, for the signal handler; NULL between worlds. */
static struct transcript *current;

static void sim_write_replay(const char *failure)
{
    char path[64];
    sim_replay_path(current->scenario.seed, path, sizeof path);
    if (transcript_write(current, failure, path) != OK)
        fprintf(stderr, "halligan-sim: the replay file \"%s\" cannot be written\n", path);
}

/* Signal handler for a failed assertion (must() has printed it) or a fault. It calls functions that
 * are not async-signal-safe: the worker has one thread, and the signal is synchronous. */
static void sim_on_signal(int signal_number)
{
    signal(signal_number, SIG_DFL);
    if (current) {
        char failure[64];
        snprintf(failure, sizeof failure, "stopped: signal %d", signal_number);
        printf("seed %llu: %s\n", (unsigned long long)current->scenario.seed, failure);
        sim_write_replay(failure);
        fflush(NULL);
        _exit(1);
    }
    raise(signal_number);
}

static void sim_print_commands(const char *path)
{
    FILE *in = fopen(path, "r");
    char line[400];
    uint32_t shown = 0;
    while (in && fgets(line, sizeof line, in)) {
        if (line[0] == '#' && ++shown <= COMMANDS_SHOWN)
            fputs(line, stdout);
        else if (line[0] == 'r' || line[0] == 'b')
            printf("#   %s\n", line[0] == 'r' ? "(core reload)" : "(end of batch)");
    }
    if (shown > COMMANDS_SHOWN)
        printf("# ... and %u more\n", shown - COMMANDS_SHOWN);
    if (in)
        fclose(in);
}

/* The failure of a replay file is in its second line. */
static void sim_read_failure(const char *path, char *failure, size_t size)
{
    FILE *in = fopen(path, "r");
    failure[0] = 0;
    if (!in)
        return;
    char line[800];
    if (fgets(line, sizeof line, in) && fgets(line, sizeof line, in) && !strncmp(line, "# ", 2)) {
        line[strcspn(line, "\n")] = 0;
        snprintf(failure, size, "%.600s", line + 2);
    }
    fclose(in);
}

static void sim_shrink(const struct options *options, uint64_t seed)
{
    char path[64];
    char failure[640];
    sim_replay_path(seed, path, sizeof path);
    sim_read_failure(path, failure, sizeof failure);
    const struct scenario scenario = options_scenario(options, seed);
    struct transcript transcript;
    transcript_init(&transcript, &scenario, false);
    const bool readable = transcript_read(&transcript, path) == OK;
    const uint32_t before = transcript.count;
    if (!readable)
        printf("the replay file \"%s\" cannot be read\n", path);
    else if (!replay_shrink(&transcript, failure))
        printf(
            "the recorded commands alone do not fail; simulate the world again with --seed %llu\n",
            (unsigned long long)seed);
    else if (transcript_write(&transcript, failure, path) == OK) {
        printf("%u steps, shrunk to %u; repeat with --replay %s\n", before, transcript.count, path);
        sim_print_commands(path);
    }
    transcript_fini(&transcript);
}

/* ---- simulation ---- */

static uint64_t sim_pages_mapped(void)
{
    unsigned long long pages = 0;
    FILE *in = fopen("/proc/self/statm", "r");
    if (in && fscanf(in, "%llu", &pages) != 1)
        pages = 0;
    if (in)
        fclose(in);
    return pages;
}

static bool sim_run_world(const struct options *options, uint64_t seed, struct counts *counts)
{
    const struct scenario scenario = options_scenario(options, seed);
    struct transcript transcript;
    transcript_init(&transcript, &scenario, options->transcript);
    current = &transcript;
    const struct world_result result = world_run(&scenario, &transcript, counts);
    if (result.failed) {
        char text[1024];
        options_describe(&scenario, text, sizeof text);
        printf("%s\nseed %llu: %s\n", text, (unsigned long long)seed, result.failure);
        sim_write_replay(result.failure);
    } else if (options->transcript) {
        printf("world %llu %s\n", (unsigned long long)seed, result.transcript);
    }
    current = NULL;
    transcript_fini(&transcript);
    return !result.failed;
}

/* Simulate every `jobs`-th seed, starting with the `job`-th. */
static bool sim_run_worlds(const struct options *options, uint32_t job, uint32_t jobs,
                           struct counts *counts)
{
    uint64_t warm = 0;
    uint64_t simulated = 0;
    for (uint64_t i = job; i < options->seeds; i += jobs) {
        if (!sim_run_world(options, options->seed + i, counts))
            return false;
        if (++simulated == WARM_SEEDS)
            warm = sim_pages_mapped();
    }
    const uint64_t pages = sim_pages_mapped();
    if (!SANITIZED && warm && pages > warm + GROWTH_PAGES_MAX) {
        printf("I9: after %llu worlds %llu pages are mapped, %llu were after the first %d\n",
               (unsigned long long)simulated, (unsigned long long)pages, (unsigned long long)warm,
               WARM_SEEDS);
        return false;
    }
    return true;
}

/* ---- worker processes ---- */

struct worker {
    pid_t pid;
    int counts; /* read end of the pipe for its counts */
};

static void sim_worker_main(const struct options *options, uint32_t job, uint32_t jobs, int out)
{
    static struct counts counts;
    signal(SIGABRT, sim_on_signal);
    signal(SIGSEGV, sim_on_signal);
    signal(SIGFPE, sim_on_signal);
    const bool good = sim_run_worlds(options, job, jobs, &counts);
    fflush(NULL);
    const char *at = (const char *)&counts;
    for (size_t left = sizeof counts; left > 0;) {
        const ssize_t sent = write(out, at, left);
        if (sent <= 0)
            _exit(3);
        at += sent;
        left -= (size_t)sent;
    }
    _exit(good ? 0 : 1);
}

static struct worker sim_start_worker(const struct options *options, uint32_t job, uint32_t jobs)
{
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0)
        impossible("pipe() failed");
    const pid_t pid = fork();
    if (pid < 0)
        impossible("fork() failed");
    if (pid == 0) {
        close(ends[0]);
        sim_worker_main(options, job, jobs, ends[1]);
    }
    close(ends[1]);
    return (struct worker){.pid = pid, .counts = ends[0]};
}

/* False when the worker failed; its counts are added in any case. */
static bool sim_wait_worker(struct worker *worker, struct counts *sum)
{
    static struct counts counts;
    size_t len = 0;
    for (ssize_t got = 1; got > 0 && len<sizeof counts; len += got> 0 ? (size_t)got : 0)
        got = read(worker->counts, (char *)&counts + len, sizeof counts - len);
    close(worker->counts);
    if (len == sizeof counts)
        counts_add(sum, &counts);
    int status = 0;
    waitpid(worker->pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Shrink the first replay file that the workers have written. */
static void sim_shrink_first(const struct options *options)
{
    for (uint64_t i = 0; i < options->seeds; i++) {
        char path[64];
        sim_replay_path(options->seed + i, path, sizeof path);
        if (access(path, R_OK) == 0) {
            sim_shrink(options, options->seed + i);
            return;
        }
    }
}

static double sim_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int sim_run(const struct options *options)
{
    static struct counts counts;
    struct worker workers[256];
    uint32_t jobs = options->transcript ? 1 : options->jobs;
    if (jobs > options->seeds)
        jobs = options->seeds ? (uint32_t)options->seeds : 1;
    const double begin = sim_seconds();
    bool good = true;
    /* Remove the replay files of an earlier run: only those of this one are shrunk. */
    for (uint64_t i = 0; i < options->seeds; i++) {
        char path[64];
        sim_replay_path(options->seed + i, path, sizeof path);
        unlink(path);
    }
    for (uint32_t job = 0; job < jobs; job++)
        workers[job] = sim_start_worker(options, job, jobs);
    for (uint32_t job = 0; job < jobs; job++)
        good = sim_wait_worker(&workers[job], &counts) && good;
    if (!good) {
        sim_shrink_first(options);
        return 1;
    }
    if (options->transcript)
        return 0;
    const double took = sim_seconds() - begin;
    printf("seeds %llu in %.1f s, %.1f per second and process\n",
           (unsigned long long)options->seeds, took, (double)options->seeds / took / jobs);
    counts_print(&counts, stdout);
    const uint32_t missing = counts_missing(&counts, options, stdout);
    return missing && options->seeds >= ENOUGH_SEEDS ? 1 : 0;
}

static int sim_replay(const char *path)
{
    struct options options;
    const char *what;
    char *none[] = {NULL};
    ignore(options_parse(0, none, &options, &what), "there is nothing to parse");
    const struct scenario scenario = options_scenario(&options, 1);
    struct transcript transcript;
    transcript_init(&transcript, &scenario, false);
    if (transcript_read(&transcript, path) != OK) {
        fprintf(stderr, "halligan-sim: the replay file \"%s\" cannot be read\n", path);
        transcript_fini(&transcript);
        return 2;
    }
    char failure[640];
    const bool failed = replay_run(&transcript, false, failure, sizeof failure) ||
                        replay_run(&transcript, true, failure, sizeof failure);
    printf("%u steps: %s\n", transcript.count, failed ? failure : "no failure");
    transcript_fini(&transcript);
    return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct options options;
    const char *what = "";
    if (!options_parse(argc, argv, &options, &what)) {
        fprintf(stderr, "halligan-sim: invalid argument \"%s\"\n\n%s", what, options_help());
        return 2;
    }
    if (options.help) {
        fputs(options_help(), stdout);
        return 0;
    }
    if (options.rack)
        return rack_run(&options);
    return options.replay ? sim_replay(options.replay) : sim_run(&options);
}
