/* bench_plan.c - how long a plan takes, how long its slices are, and what it holds.
 *
 *     bench-plan [--nodes N] [--roles R] [--strict]
 *
 * A deployment of N nodes with a chain of R roles each is proposed; its plan, the summary alone, is
 * computed in slices as the daemon does it, and once by stepping the commit and taking it back.
 * With --strict the sum of the slices may be 1 s for 100,000 noderoles and 8 s for 1,000,000, a
 * slice 5 ms, and what the plan holds 200 bytes for each noderole.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/core.h"
#include "turn/plan_queue.h"

enum { STEPS_PER_BATCH = 1000 };

struct bench {
    struct core *core;
    struct arena arena;
    struct effects fx;
    int64_t now, steps;
};

/* Processor time: the load of other processes does not change it. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void forget(void *context, const struct change *change)
{
    (void)context;
    (void)change;
}

static int64_t step(struct bench *b, struct command command)
{
    struct outcome out;
    command.actor = STR("bench");
    command.now_ms = command.mono_ms = ++b->now;
    core_step(b->core, &command, &b->arena, &b->fx, &out);
    if (out.verdict != VERDICT_DONE) {
        const struct str why = out.problems ? out.problems->text : STR("it needs replies of hooks");
        fprintf(stderr, "bench-plan: a step was refused: %.*s\n", STR_FMT_ARGS(why));
        exit(1);
    }
    if (++b->steps % STEPS_PER_BATCH == 0) {
        core_collect(b->core, b->steps, forget, NULL);
        arena_reset(&b->arena);
        b->fx = (struct effects){0};
    }
    return out.id;
}

static void import_roles(struct bench *b, int roles)
{
    const size_t size = 4096 + (size_t)roles * 256;
    char *doc = malloc(size);
    if (!doc)
        exit(1);
    int n = snprintf(doc, size,
                     "{\"barclamp\":{\"name\":\"bench\",\"source_path\":\"/bench\"},\"jigs\":["
                     "{\"name\":\"noop\",\"class\":\"noop\"},"
                     "{\"name\":\"script\",\"class\":\"script\"}],\"roles\":["
                     "{\"name\":\"chain-1\",\"jig\":\"script\",\"flags\":[\"implicit\"]}");
    for (int i = 2; i <= roles; i++)
        n += snprintf(doc + n, size - (size_t)n,
                      ",{\"name\":\"chain-%d\",\"jig\":\"script\",\"flags\":[\"implicit\"],"
                      "\"requires\":[\"chain-%d\"]}",
                      i, i - 1);
    snprintf(doc + n, size - (size_t)n, "]}");
    step(b, (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = str_from(doc)}});
    free(doc);
}

/* Binding the last role of the chain binds all of it. */
static int64_t fill(struct bench *b, int nodes, int roles)
{
    char text[64];
    import_roles(b, roles);
    const int64_t d = step(b, (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                               .deployment_create = {.name = STR("bench")}});
    snprintf(text, sizeof text, "chain-%d", roles);
    const int64_t role = core_find(b->core, TABLE_ROLE, str_from(text));
    for (int i = 0; i < nodes; i++) {
        snprintf(text, sizeof text, "n%d.bench.example", i);
        const int64_t n = step(b, (struct command){.kind = COMMAND_NODE_CREATE,
                                                   .node_create = {.name = str_from(text),
                                                                   .deployment_id = d,
                                                                   .alive = true,
                                                                   .available = true}});
        step(b, (struct command){
                    .kind = COMMAND_NODEROLE_BIND,
                    .noderole_bind = {.node_id = n, .role_id = role, .deployment_id = d}});
    }
    core_collect(b->core, b->steps + 1, forget, NULL);
    arena_reset(&b->arena);
    return d;
}

static bool is_within(const char *what, double figure, double bound)
{
    if (figure > bound)
        printf("%s: %.3f, at most %.3f\n", what, figure, bound);
    return figure <= bound;
}

static bool measure(struct bench *b, int64_t d, bool is_strict)
{
    const struct command commit = {.kind = COMMAND_DEPLOYMENT_COMMIT,
                                   .actor = STR("bench"),
                                   .is_summary = true,
                                   .deployment_commit = {.id = d}};
    const double noderoles = core_count(b->core, TABLE_NODEROLE);
    struct outcome out;
    double longest = 0, slices = 0;
    const double begun = seconds();
    struct plan *plan = core_plan_begin(b->core, &commit, false);
    for (bool is_done = false; !is_done; slices++) {
        const double from = seconds();
        is_done = core_plan_advance(plan, PLAN_SLICE_UNITS);
        const double took = seconds() - from;
        longest = took > longest ? took : longest;
    }
    core_plan_outcome(plan, &commit, &out);
    const double took = seconds() - begun;
    const double bytes = (double)core_plan_bytes(plan) / noderoles;
    const bool is_planned = out.verdict == VERDICT_DONE && out.doc.len > 0;
    core_plan_end(plan);

    const double whole_from = seconds();
    core_plan_whole(b->core, &commit, &b->arena, &out);
    const double whole = seconds() - whole_from;
    printf("noderoles %.0f: plan %.3f s in %.0f slices, longest %.2f ms, %.0f bytes each; "
           "in one piece %.3f s\n",
           noderoles, took, slices, longest * 1e3, bytes, whole);
    if (!is_planned || !is_strict)
        return is_planned;
    const double bound = noderoles <= 110000 ? 1 : 8 * (noderoles / 1e6 > 1 ? noderoles / 1e6 : 1);
    const bool a = is_within("seconds", took, bound);
    const bool c = is_within("longest slice in ms", longest * 1e3, 5);
    const bool e = is_within("bytes for each noderole", bytes, 200);
    return a && c && e;
}

static int number(const char *text)
{
    char *end;
    const long value = strtol(text, &end, 10);
    return *text && !*end && value > 0 && value <= 1000000 ? (int)value : 0;
}

int main(int argc, char **argv)
{
    struct bench b = {.core = core_new(), .now = 1};
    int nodes = 10000, roles = 10;
    bool is_strict = false;
    const bool wants_help = argc == 2 && strcmp(argv[1], "--help") == 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--strict") == 0)
            is_strict = true;
        else if (i + 1 < argc && strcmp(argv[i], "--nodes") == 0)
            nodes = number(argv[++i]);
        else if (i + 1 < argc && strcmp(argv[i], "--roles") == 0)
            roles = number(argv[++i]);
        else
            nodes = 0;
    }
    if (nodes <= 0 || roles <= 0) {
        fprintf(wants_help ? stdout : stderr,
                "usage: bench-plan [--nodes N] [--roles R] [--strict]\n");
        core_free(b.core);
        return wants_help ? 0 : 2;
    }
    core_bootstrap(b.core, b.now);
    const bool is_fine = measure(&b, fill(&b, nodes, roles), is_strict);
    core_free(b.core);
    arena_fini(&b.arena);
    return is_fine ? 0 : 1;
}
