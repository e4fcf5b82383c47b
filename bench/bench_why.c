/* bench-why - what it costs to say why a deployment and a noderole are not done.
 *
 * The graph: on each of N nodes a chain of ten roles. The first of each node has failed, for one of
 * 41 reasons, so that nine of ten noderoles wait for a root that is nine parents away. Measured are
 * the core's calls that an answer of the API is made of, in a process without a store; beside them,
 * in the same process, a read of all records of noderoles. Medians of five.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/core.h"
#include "model/reason.h"

enum {
    ROUNDS = 5,
    ROLES = 10,
    SUBJECTS = 40,
    NODEROLES_ASKED = 2000,
    NODEROLES_A_STEP = 1000, /* as src/api/views/why.c */
};

static void die(const char *what)
{
    fprintf(stderr, "bench-why: %s\n", what);
    exit(1);
}

/* Time of the processor: other processes do not count. */
static double busy_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, by_value);
    return values[ROUNDS / 2];
}

/* ---- the graph ---- */

struct graph {
    struct core *core;
    struct arena arena;
    int64_t *started; /* runs that have begun and have not failed yet */
    uint32_t first, last;
    int64_t turn, deployment_id;
    uint32_t nodes, noderoles;
};

static void no_row(void *self, const struct change *change)
{
    (void)self;
    (void)change;
}

static int64_t step(struct graph *g, struct command command)
{
    struct outcome outcome = {0};
    struct effects effects = {0};
    command.now_ms = command.mono_ms = 1000 + g->turn;
    command.actor = STR("bench");
    core_step(g->core, &command, &g->arena, &effects, &outcome);
    if (outcome.verdict != VERDICT_DONE)
        die(outcome.problems ? str_z(&g->arena, outcome.problems->text) : "a command is refused");
    for (const struct effect *e = effects.first; e; e = e->next)
        if (e->kind == EFFECT_RUN_START) {
            if (g->last == g->nodes)
                die("more runs began than there are nodes");
            g->started[g->last++] = e->id;
        }
    core_collect(g->core, ++g->turn, no_row, NULL);
    arena_reset(&g->arena);
    return outcome.id;
}

static void import_roles(struct graph *g)
{
    char doc[4096];
    int n = snprintf(doc, sizeof doc,
                     "{\"barclamp\":{\"name\":\"bench\",\"source_path\":\"/bench\"},"
                     "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],\"roles\":[");
    for (int i = 0; i < ROLES; i++) {
        n += snprintf(doc + n, sizeof doc - (size_t)n,
                      "%s{\"name\":\"chain-%d\",\"jig\":\"script\",\"flags\":[\"implicit\"],"
                      "\"requires\":[",
                      i ? "," : "", i);
        if (i)
            n += snprintf(doc + n, sizeof doc - (size_t)n, "\"chain-%d\"", i - 1);
        n += snprintf(doc + n, sizeof doc - (size_t)n, "]}");
    }
    snprintf(doc + n, sizeof doc - (size_t)n, "]}");
    step(g, (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = str_from(doc)}});
}

/* Ends the oldest run that has begun; the worker it had takes the next. */
static void fail_one(struct graph *g)
{
    struct record run;
    char subject[16];
    if (!core_record(g->core, TABLE_RUN, g->started[g->first], &run))
        die("a run is gone");
    const uint32_t number = g->first++;
    const bool is_refused = number % 3 == 0;
    snprintf(subject, sizeof subject, "%u", 1 + number % SUBJECTS);
    step(g, (struct command){
                .kind = COMMAND_RUN_DONE,
                .run_done = {.run_id = run.id,
                             .attempt = run.run.attempt,
                             .result = RESULT_FAILED,
                             .reason = is_refused ? REASON_SSH_KEY_REFUSED : REASON_EXIT_STATUS,
                             .reason_subject =
                                 is_refused ? STR("192.0.2.1 port 22") : str_from(subject),
                             .reason_text = STR("it failed")}});
}

static void graph_open(struct graph *g, uint32_t noderoles)
{
    char name[64];
    *g = (struct graph){.core = core_new(), .nodes = noderoles / ROLES};
    g->started = calloc(g->nodes, sizeof *g->started);
    if (!g->started)
        die("no memory");
    core_bootstrap(g->core, 1000);
    import_roles(g);
    g->deployment_id = step(g, (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                                .deployment_create = {.name = STR("rack")}});
    snprintf(name, sizeof name, "chain-%d", ROLES - 1);
    const int64_t leaf = core_find(g->core, TABLE_ROLE, str_from(name));
    for (uint32_t i = 0; i < g->nodes; i++) {
        snprintf(name, sizeof name, "n%u.bench.example", i);
        const int64_t node =
            step(g, (struct command){.kind = COMMAND_NODE_CREATE,
                                     .node_create = {.name = str_from(name),
                                                     .deployment_id = g->deployment_id,
                                                     .system = true, /* is not probed */
                                                     .alive = true,
                                                     .available = true,
                                                     .bootenv = STR("local")}});
        step(g, (struct command){.kind = COMMAND_NODEROLE_BIND,
                                 .noderole_bind = {.node_id = node,
                                                   .role_id = leaf,
                                                   .deployment_id = g->deployment_id}});
    }
    g->noderoles = core_count(g->core, TABLE_NODEROLE);
    step(g, (struct command){.kind = COMMAND_DEPLOYMENT_COMMIT,
                             .deployment_commit = {.id = g->deployment_id}});
    do {
        while (core_has_work(g->core))
            step(g, (struct command){.kind = COMMAND_ANNEAL});
        while (g->first < g->last)
            fail_one(g);
    } while (core_has_work(g->core));
    if (g->first != g->nodes)
        die("not every node has a failed run");
}

static void graph_close(struct graph *g)
{
    core_free(g->core);
    arena_fini(&g->arena);
    free(g->started);
}

/* ---- what is measured ---- */

struct figures {
    double deployment_ms, piece_ms, noderole_us, records_ms;
};

/* As the API does it: in pieces, then the chain and the groups. *out_piece: the longest piece. */
static double ask_deployment(struct graph *g, double *out_piece)
{
    struct cause_groups found;
    const double before = busy_ms();
    double at = before;
    bool has_more = true;
    *out_piece = 0;
    struct why_walk *walk = core_why_open(g->core, g->deployment_id, &g->arena);
    while (has_more) {
        has_more = core_why_walk(walk, g->core, NODEROLES_A_STEP);
        if (!has_more && !core_why_chain(walk, g->core, &g->arena))
            die("the deployment has no causes");
        if (!has_more)
            core_why_result(walk, g->core, &g->arena, &found);
        const double now = busy_ms();
        *out_piece = now - at > *out_piece ? now - at : *out_piece;
        at = now;
    }
    core_why_close(walk);
    const double cost = busy_ms() - before;
    if (found.waiting != g->noderoles || found.count == 0 || !found.looked_at)
        die("not everything is counted");
    arena_reset(&g->arena);
    return cost;
}

static double ask_noderoles(struct graph *g)
{
    const double before = busy_ms();
    for (uint32_t i = 0; i < NODEROLES_ASKED; i++) {
        const int64_t id = 1 + (int64_t)i * 7919 % g->noderoles;
        if (!core_why(g->core, TABLE_NODEROLE, id, &g->arena))
            die("a noderole has no cause");
        arena_reset(&g->arena);
    }
    return (busy_ms() - before) * 1e3 / NODEROLES_ASKED;
}

static double read_records(struct graph *g)
{
    uint64_t failed = 0;
    const double before = busy_ms();
    for (int64_t id = core_next_id(g->core, TABLE_NODEROLE, 0); id;
         id = core_next_id(g->core, TABLE_NODEROLE, id)) {
        struct record record;
        failed += core_record(g->core, TABLE_NODEROLE, id, &record) &&
                  record.noderole.state == NODEROLE_ERROR;
    }
    if (failed != g->nodes)
        die("the records do not show what failed");
    return busy_ms() - before;
}

static struct figures measure(uint32_t noderoles)
{
    struct graph g;
    double deployment[ROUNDS], piece[ROUNDS], noderole[ROUNDS], records[ROUNDS];
    graph_open(&g, noderoles);
    for (int i = 0; i < ROUNDS; i++) {
        records[i] = read_records(&g);
        deployment[i] = ask_deployment(&g, &piece[i]);
        noderole[i] = ask_noderoles(&g);
    }
    graph_close(&g);
    return (struct figures){median(deployment), median(piece), median(noderole), median(records)};
}

/* ---- all of it ---- */

static bool within(const char *what, double figure, double bound)
{
    if (figure <= bound)
        return true;
    fprintf(stderr, "bench-why: %s is %.3g, wanted at most %.3g\n", what, figure, bound);
    return false;
}

static int usage(FILE *to, int status)
{
    fprintf(to,
            "bench-why [--noderoles N] [--strict]\n"
            "What why of a deployment and of a noderole cost at N noderoles (100000), beside a\n"
            "read of their records and half the size. With --strict the exit status is 1 when\n"
            "a figure misses its bound. Of a deployment: 4 times the read, 2.6 times the half,\n"
            "4 ms for the longest piece. Of a noderole: 2 times the half.\n");
    return status;
}

int main(int argc, char **argv)
{
    unsigned long noderoles = 100000;
    bool is_strict = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            return usage(stdout, 0);
        if (strcmp(argv[i], "--strict") == 0)
            is_strict = true;
        else if (strcmp(argv[i], "--noderoles") == 0 && i + 1 < argc)
            noderoles = strtoul(argv[++i], NULL, 10);
        else
            return usage(stderr, 2);
    }
    if (noderoles < 2 * ROLES || noderoles > 2000000)
        return usage(stderr, 2);
    const struct figures half = measure((uint32_t)noderoles / 2);
    const struct figures whole = measure((uint32_t)noderoles);
    const double ratio = whole.deployment_ms / whole.records_ms;
    const double growth = whole.deployment_ms / half.deployment_ms;
    printf("why of a deployment of %lu noderoles: %.1f ms, of half as many: %.1f ms, growth %.2f\n",
           noderoles, whole.deployment_ms, half.deployment_ms, growth);
    printf("longest piece of it: %.2f ms\n", whole.piece_ms);
    printf("why of a noderole: %.2f us, of one among half as many: %.2f us\n", whole.noderole_us,
           half.noderole_us);
    printf("all records of noderoles read: %.1f ms\nratio %.2f\n", whole.records_ms, ratio);
    bool ok = within("why of a deployment by reading its records", ratio, 4);
    ok &= within("growth of why of a deployment", growth, 2.6);
    ok &= within("longest piece of why of a deployment in ms", whole.piece_ms, 4);
    ok &= within("growth of why of a noderole", whole.noderole_us / half.noderole_us, 2);
    return ok || !is_strict ? 0 : 1;
}
