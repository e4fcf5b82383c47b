#include "sim/rack/rack.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "model/network_record.h"
#include "sim/rack/rack_private.h"
#include "sim/scenario/options.h"
#include "sys/log.h"

/* `halligan-sim --rack`: many racks, distributed over worker processes.
 *
 * A rack has three phases: setup, a phase with faults, and a phase of repairs without faults, at
 * the end of which every machine must be installed and the daemon idle. Each worker simulates
 * every n-th seed, stops at its first failure, and sends its counts through a pipe when it
 * exits. */

enum {
    ROUNDS_MAX = 60, /* rounds of repair */
    ROUND_MS = 20 * RACK_MINUTE,
    QUIET_MS = 30 * RACK_MINUTE, /* at the end, without any turn */
    ENOUGH_SEEDS = 200,          /* from this number on, missing coverage is a failure */
};

/* ---- one rack ---- */

/* Each fault is enabled with a probability of one half, at one of four rates. */
struct rack_scenario rack_draw_scenario(uint64_t seed, const char *barclamps)
{
    static const uint32_t rates[] = {5, 20, 60, 150};
    struct prng rng;
    prng_init(&rng, seed * 0x9e3779b97f4a7c15u + 7);
    struct rack_scenario scenario = {.seed = seed, .barclamps = barclamps};
    scenario.machines = (uint32_t)prng_between(&rng, 2, RACK_MACHINES_MAX);
    scenario.hours = prng_between(&rng, 1, 8);
    for (uint32_t i = 0; i < RACK_FAULT_COUNT; i++) {
        const bool on = prng_chance(&rng, 500);
        const uint32_t rate = rates[prng_below(&rng, 4)];
        scenario.rate[i] = on ? rate : 0;
    }
    /* The opportunities are rare (once in hours per machine or server), so the rates are high. */
    if (scenario.rate[RACK_POWER_LOSS])
        scenario.rate[RACK_POWER_LOSS] = 700;
    for (uint32_t i = RACK_SERVER_LOST; i <= RACK_SERVER_FAILED; i++)
        if (scenario.rate[i])
            scenario.rate[i] = 300;
    scenario.two_databases = prng_chance(&rng, 300);
    for (uint32_t i = 0; i < RACK_SERVICE_COUNT; i++)
        scenario.is_native[i] = prng_chance(&rng, 450);
    scenario.compares_mac = prng_chance(&rng, 400);
    return scenario;
}

static void racks_describe(const struct rack_scenario *scenario, char *text, uint32_t size)
{
    int len =
        snprintf(text, size, "rack %llu: %u machines, %lld hours%s%s%s%s, faults:",
                 (unsigned long long)scenario->seed, scenario->machines, (long long)scenario->hours,
                 scenario->two_databases ? ", two databases of each kind" : "",
                 scenario->is_native[RACK_DHCP] ? ", native DHCP" : "",
                 scenario->is_native[RACK_PROVISIONER] ? ", native provisioner" : "",
                 scenario->compares_mac ? ", MACs compared" : "");
    for (uint32_t i = 0; i < RACK_FAULT_COUNT && len > 0 && (uint32_t)len < size; i++)
        if (scenario->rate[i])
            len += snprintf(text + len, size - (uint32_t)len, " %s=%u",
                            rack_fault_name((enum rack_fault)i), scenario->rate[i]);
}

static void racks_start_faults(struct rack *r)
{
    r->has_faults = true;
    rack_at(r, RACK_MINUTE, RACK_EVENT_OPERATOR, (struct event){0});
    for (uint32_t i = 0; i < r->scenario.machines; i++) {
        rack_at(r, RACK_SECOND * prng_between(&r->rng, 1, 1800), RACK_EVENT_BACK,
                (struct event){.id = i});
        rack_at(r, RACK_MINUTE * prng_between(&r->rng, 2, 240), RACK_EVENT_CUT,
                (struct event){.id = i});
    }
}

/* True if a machine has a lease: its end is a turn. */
static bool racks_has_lease(struct rack *r)
{
    struct boot_entry entry;
    for (struct boot_key key = {0}; core_boot_next(rack_core(r), &key);)
        if (key.kind == BOOT_LEASE && core_boot_view(rack_core(r), key, &r->scratch, &entry) &&
            entry.lease.state == LEASE_LIVE)
            return true;
    return false;
}

static void racks_repair(struct rack *r)
{
    const char *missing = "";
    r->has_faults = false;
    r->session.faults = (struct memory_faults){0};
    for (uint32_t round = 0; round < ROUNDS_MAX && missing && !r->failure[0]; round++) {
        if (rack_core(r))
            rack_operator_repair(r);
        rack_pass(r, ROUND_MS);
        missing = rack_missing(r);
        if (!missing && racks_has_lease(r))
            missing = "a lease has not ended";
    }
    const uint64_t turns = r->counts.turns;
    if (!missing)
        rack_pass(r, QUIET_MS);
    if (!missing)
        missing = rack_missing(r);
    if (missing)
        rack_fail(r, "after %d rounds of repair: %s", ROUNDS_MAX, missing);
    else if (r->counts.turns > turns)
        rack_fail(r, "the goal is reached, but the daemon still executes turns");
}

/* All fields are uint64_t. */
static void racks_add_counts(struct rack_counts *sum, const struct rack_counts *part)
{
    const uint64_t *from = (const uint64_t *)part;
    uint64_t *to = (uint64_t *)sum;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

struct rack_result rack_simulate(const struct rack_scenario *scenario, struct rack_counts *counts)
{
    struct rack_result result = {0};
    struct rack *r = rack_new(scenario, result.failure, sizeof result.failure);
    if (!r) {
        result.failed = true;
        return result;
    }
    if (rack_set_up(r)) {
        racks_start_faults(r);
        rack_pass(r, scenario->hours * RACK_HOUR);
        racks_repair(r);
    }
    memcpy(result.failure, r->failure, sizeof result.failure);
    result.failed = r->failure[0] != 0;
    transcript_hash_hex(&r->transcript, result.transcript);
    r->counts.racks = 1;
    r->counts.machines = scenario->machines;
    r->counts.simulated_ms = (uint64_t)r->mono_ms;
    racks_add_counts(counts, &r->counts);
    rack_free(r);
    return result;
}

/* ---- many ---- */

static bool racks_simulate(const struct options *options, uint32_t job, uint32_t jobs,
                           struct rack_counts *counts)
{
    char described[900];
    bool good = true;
    for (uint64_t i = job; i < options->seeds && good; i += jobs) {
        struct rack_scenario scenario = rack_draw_scenario(options->seed + i, options->barclamps);
        scenario.trace = options->trace;
        scenario.has_hash = options->transcript;
        const struct rack_result result = rack_simulate(&scenario, counts);
        if (options->transcript)
            printf("rack %llu %s\n", (unsigned long long)scenario.seed, result.transcript);
        if (!result.failed)
            continue;
        racks_describe(&scenario, described, sizeof described);
        printf("%s\nseed %llu: %s\n", described, (unsigned long long)scenario.seed, result.failure);
        good = false;
    }
    return good;
}

struct worker {
    pid_t pid;
    int counts;
};

static struct worker racks_start_worker(const struct options *options, uint32_t job, uint32_t jobs)
{
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0)
        impossible("pipe() failed");
    const pid_t pid = fork();
    if (pid < 0)
        impossible("fork() failed");
    if (pid) {
        close(ends[1]);
        return (struct worker){.pid = pid, .counts = ends[0]};
    }
    struct rack_counts counts = {0};
    close(ends[0]);
    const bool good = racks_simulate(options, job, jobs, &counts);
    fflush(NULL);
    /* Smaller than the buffer of a pipe, so that one write() takes all of it. */
    _exit(write(ends[1], &counts, sizeof counts) == sizeof counts && good ? 0 : 1);
}

static bool racks_wait_worker(struct worker *worker, struct rack_counts *sum)
{
    struct rack_counts counts;
    int status = 0;
    const ssize_t got = read(worker->counts, &counts, sizeof counts);
    close(worker->counts);
    waitpid(worker->pid, &status, 0);
    if (got == sizeof counts)
        racks_add_counts(sum, &counts);
    return got == sizeof counts && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- output ---- */

const char *rack_fault_name(enum rack_fault fault)
{
    static const char *const names[] = {
#define X(upper, name) [RACK_##upper] = name,
        RACK_FAULTS(X)
#undef X
    };
    must(fault < RACK_FAULT_COUNT);
    return names[fault];
}

static const char *racks_reached_text(enum rack_reached what)
{
    static const char *const texts[] = {
#define X(upper, text) [RACK_REACHED_##upper] = text,
        RACK_REACHED(X)
#undef X
    };
    return texts[what];
}

static void racks_print_counts(const struct rack_counts *c)
{
    printf("racks %llu, machines %llu, runs %llu, hooks %llu, commands %llu, turns %llu, "
           "simulated days %llu\n",
           (unsigned long long)c->racks, (unsigned long long)c->machines,
           (unsigned long long)c->runs, (unsigned long long)c->hooks,
           (unsigned long long)c->commands, (unsigned long long)c->turns,
           (unsigned long long)(c->simulated_ms / (24 * (uint64_t)RACK_HOUR)));
    printf("faults:");
    for (uint32_t i = 0; i < RACK_FAULT_COUNT; i++)
        printf(" %s %llu", rack_fault_name((enum rack_fault)i), (unsigned long long)c->faults[i]);
    printf("\ncrashes:");
    for (uint32_t i = 0; i < TURN_POINT_COUNT; i++)
        if (c->points[i])
            printf(" %s %llu", turn_point_name((enum turn_point)i),
                   (unsigned long long)c->points[i]);
    printf("\nreached:\n");
    for (uint32_t i = 0; i < RACK_REACHED_COUNT; i++)
        printf("  %8llu  %s\n", (unsigned long long)c->reached[i],
               racks_reached_text((enum rack_reached)i));
}

static uint32_t racks_print_missing(const struct rack_counts *c)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < RACK_FAULT_COUNT; i++)
        if (!c->faults[i] && ++missing)
            printf("never happened: %s\n", rack_fault_name((enum rack_fault)i));
    for (uint32_t i = 0; i < RACK_REACHED_COUNT; i++)
        if (!c->reached[i] && ++missing)
            printf("never happened: %s\n", racks_reached_text((enum rack_reached)i));
    return missing;
}

static double racks_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int rack_run(const struct options *options)
{
    struct rack_counts counts = {0};
    struct worker workers[256];
    uint32_t jobs = options->transcript ? 1 : options->jobs;
    if (jobs > options->seeds)
        jobs = options->seeds ? (uint32_t)options->seeds : 1;
    const double begin = racks_seconds();
    bool good = true;
    log_setup(LOG_ERROR, LOG_TEXT); /* failing hooks are expected and log warnings */
    for (uint32_t job = 0; job < jobs; job++)
        workers[job] = racks_start_worker(options, job, jobs);
    for (uint32_t job = 0; job < jobs; job++)
        good = racks_wait_worker(&workers[job], &counts) && good;
    if (!good || options->transcript)
        return good ? 0 : 1;
    const double took = racks_seconds() - begin;
    printf("seeds %llu in %.1f s, %.1f per second and process\n",
           (unsigned long long)options->seeds, took, (double)options->seeds / took / jobs);
    racks_print_counts(&counts);
    const uint32_t missing = racks_print_missing(&counts);
    return missing && options->seeds >= ENOUGH_SEEDS ? 1 : 0;
}
