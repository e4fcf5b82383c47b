/* halligan-sim: the engine in simulated worlds. See options.c for what it understands. */
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
    ENOUGH_SEEDS = 1000,         /* from here on something that never happened is a failure */
    WARM_SEEDS = 8,              /* until memory has found its size */
    GROWTH_PAGES_MAX = 16 << 10, /* of 4 KiB: what may be added after that (I9) */
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

static void replay_path(uint64_t seed, char *path, size_t size)
{
    snprintf(path, size, "halligan-sim-%llu.replay", (unsigned long long)seed);
}

/* What the world that is being lived has done so far, for the case that the program stops. */
static struct transcript *current;

static void leave_transcript(const char *failure)
{
    char path[64];
    replay_path(current->draw.seed, path, sizeof path);
    if (transcript_write(current, failure, path) != OK)
        fprintf(stderr, "\"%s\" cannot be written\n", path);
}

/* A broken promise: must() has printed it. Nothing else runs in this process, so what was recorded
 * can be read in peace. */
static void stopped(int signal_number)
{
    signal(signal_number, SIG_DFL);
    if (current) {
        char failure[64];
        snprintf(failure, sizeof failure, "stopped: signal %d", signal_number);
        printf("seed %llu: %s\n", (unsigned long long)current->draw.seed, failure);
        leave_transcript(failure);
        fflush(NULL);
        _exit(1);
    }
    raise(signal_number);
}

static void show_commands(const char *path)
{
    FILE *in = fopen(path, "r");
    char line[400];
    uint32_t shown = 0;
    while (in && fgets(line, sizeof line, in)) {
        if (line[0] == '#' && ++shown <= COMMANDS_SHOWN)
            fputs(line, stdout);
        else if (line[0] == 'r' || line[0] == 'b')
            printf("#   %s\n", line[0] == 'r' ? "(the core is loaded again)" : "(end of batch)");
    }
    if (shown > COMMANDS_SHOWN)
        printf("# ... and %u more\n", shown - COMMANDS_SHOWN);
    if (in)
        fclose(in);
}

/* Which failure a file is about stands in its second line. */
static void first_failure(const char *path, char *failure, size_t size)
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

static void shrink(const struct options *options, uint64_t seed)
{
    char path[64];
    char failure[640];
    replay_path(seed, path, sizeof path);
    first_failure(path, failure, sizeof failure);
    const struct draw draw = options_draw(options, seed);
    struct transcript transcript;
    transcript_init(&transcript, &draw);
    const bool readable = transcript_read(&transcript, path) == OK;
    const uint32_t before = transcript.count;
    if (!readable)
        printf("\"%s\" does not read\n", path);
    else if (!replay_shrink(&transcript, failure))
        printf("the commands alone do not fail; live it again with --seed %llu\n",
               (unsigned long long)seed);
    else if (transcript_write(&transcript, failure, path) == OK) {
        printf("%u steps, shrunk to %u; --replay %s\n", before, transcript.count, path);
        show_commands(path);
    }
    transcript_fini(&transcript);
}

/* ---- living ---- */

static uint64_t pages_mapped(void)
{
    unsigned long long pages = 0;
    FILE *in = fopen("/proc/self/statm", "r");
    if (in && fscanf(in, "%llu", &pages) != 1)
        pages = 0;
    if (in)
        fclose(in);
    return pages;
}

static bool live(const struct options *options, uint64_t seed, struct counts *counts)
{
    const struct draw draw = options_draw(options, seed);
    struct transcript transcript;
    transcript_init(&transcript, &draw);
    current = &transcript;
    const struct world_result result = world_run(&draw, &transcript, counts);
    if (result.failed) {
        char text[1024];
        options_describe(&draw, text, sizeof text);
        printf("%s\nseed %llu: %s\n", text, (unsigned long long)seed, result.failure);
        leave_transcript(result.failure);
    } else if (options->transcript) {
        printf("world %llu %s\n", (unsigned long long)seed, result.transcript);
    }
    current = NULL;
    transcript_fini(&transcript);
    return !result.failed;
}

/* Every `jobs`-th seed from the `job`-th on. */
static bool live_all(const struct options *options, uint32_t job, uint32_t jobs,
                     struct counts *counts)
{
    uint64_t warm = 0;
    uint64_t lived = 0;
    for (uint64_t i = job; i < options->seeds; i += jobs) {
        if (!live(options, options->seed + i, counts))
            return false;
        if (++lived == WARM_SEEDS)
            warm = pages_mapped();
    }
    const uint64_t pages = pages_mapped();
    if (!SANITIZED && warm && pages > warm + GROWTH_PAGES_MAX) {
        printf("I9: after %llu worlds %llu pages are mapped, %llu after the first %d\n",
               (unsigned long long)lived, (unsigned long long)pages, (unsigned long long)warm,
               WARM_SEEDS);
        return false;
    }
    return true;
}

/* ---- processes ---- */

struct worker {
    pid_t pid;
    int counts; /* where its counts come from */
};

static void work(const struct options *options, uint32_t job, uint32_t jobs, int out)
{
    static struct counts counts;
    signal(SIGABRT, stopped);
    signal(SIGSEGV, stopped);
    signal(SIGFPE, stopped);
    const bool good = live_all(options, job, jobs, &counts);
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

static struct worker hire(const struct options *options, uint32_t job, uint32_t jobs)
{
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0)
        impossible("no pipe");
    const pid_t pid = fork();
    if (pid < 0)
        impossible("no process");
    if (pid == 0) {
        close(ends[0]);
        work(options, job, jobs, ends[1]);
    }
    close(ends[1]);
    return (struct worker){.pid = pid, .counts = ends[0]};
}

/* False when the worker failed; its counts are added in any case. */
static bool release(struct worker *worker, struct counts *sum)
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

/* Whoever left a file behind is shrunk. */
static void shrink_failures(const struct options *options)
{
    for (uint64_t i = 0; i < options->seeds; i++) {
        char path[64];
        replay_path(options->seed + i, path, sizeof path);
        if (access(path, R_OK) == 0) {
            shrink(options, options->seed + i);
            return; /* one is enough to begin with */
        }
    }
}

static void forget_failures(const struct options *options)
{
    for (uint64_t i = 0; i < options->seeds; i++) {
        char path[64];
        replay_path(options->seed + i, path, sizeof path);
        unlink(path);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int run(const struct options *options)
{
    static struct counts counts;
    struct worker workers[256];
    uint32_t jobs = options->transcript ? 1 : options->jobs;
    if (jobs > options->seeds)
        jobs = options->seeds ? (uint32_t)options->seeds : 1;
    const double begin = seconds();
    bool good = true;
    forget_failures(options);
    for (uint32_t job = 0; job < jobs; job++)
        workers[job] = hire(options, job, jobs);
    for (uint32_t job = 0; job < jobs; job++)
        good = release(&workers[job], &counts) && good;
    if (!good) {
        shrink_failures(options);
        return 1;
    }
    if (options->transcript)
        return 0;
    const double took = seconds() - begin;
    printf("seeds %llu in %.1f s, %.1f per second and process\n",
           (unsigned long long)options->seeds, took, (double)options->seeds / took / jobs);
    counts_print(&counts, stdout);
    const uint32_t missing = counts_missing(&counts, options, stdout);
    return missing && options->seeds >= ENOUGH_SEEDS ? 1 : 0;
}

static int replay(const char *path)
{
    struct options options;
    const char *what;
    char *none[] = {NULL};
    ignore(options_parse(0, none, &options, &what), "there is nothing to parse");
    const struct draw draw = options_draw(&options, 1);
    struct transcript transcript;
    transcript_init(&transcript, &draw);
    if (transcript_read(&transcript, path) != OK) {
        fprintf(stderr, "\"%s\" does not read\n", path);
        transcript_fini(&transcript);
        return 2;
    }
    char failure[640];
    const bool failed = replay_run(&transcript, false, failure, sizeof failure) ||
                        replay_run(&transcript, true, failure, sizeof failure);
    printf("%u steps: %s\n", transcript.count, failed ? failure : "nothing went wrong");
    transcript_fini(&transcript);
    return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct options options;
    const char *what = "";
    if (!options_parse(argc, argv, &options, &what)) {
        fprintf(stderr, "halligan-sim: \"%s\" is not understood\n\n%s", what, options_help());
        return 2;
    }
    if (options.help) {
        fputs(options_help(), stdout);
        return 0;
    }
    if (options.rack)
        return rack_run(&options);
    return options.replay ? replay(options.replay) : run(&options);
}
