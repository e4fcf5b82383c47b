/* bench-runs - how fast committed noderoles become ACTIVE when each of them is a process, beside a
 * bare loop that starts as many processes and waits for them.
 *
 * The graph: on each of N nodes a chain of R roles, as roles of a real node need one another; nodes
 * are independent of each other. Halligan executes its whole pipeline: the loop of the daemon,
 * core, batches, SQLite with the durability of a daemon, the runner, halligan-exec with its
 * journal; only the launch specification is minimal: /bin/true without input. The bare loop has as
 * many children at a time as the worker pool and stores nothing. ninja runs the same graph;
 * ansible-playbook executes raw tasks on the local connection, only a few of them, since it is
 * slow. All of them alternate; medians of three (ADR 0030).
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/runs_peers.h"
#include "core/core.h"
#include "daemon/loop.h"
#include "daemon/run_facts.h"
#include "daemon/runner_dispatch.h"
#include "hooks/hooks.h"
#include "hooks/transition.h"
#include "power/power_orders.h"
#include "power/ssh_keys.h"
#include "run/fake/test_jig.h"
#include "run/runner/runner.h"
#include "store/store_thread.h"
#include "sys/clock.h"
#include "sys/log.h"

enum { ROUNDS_MAX = 3, REQUEST_RUNS = -1000 };

#define RATIO 0.8

struct bench {
    struct runs_graph graph;
    int rounds, tasks;
    bool strict;
    char dir[64];
    char exec_program[4096];
};

static double cpu_of(int who)
{
    struct rusage use;
    getrusage(who, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

/* Processor time of this process and of all children that it reaped. */
static double cpu_seconds(void)
{
    return cpu_of(RUSAGE_SELF) + cpu_of(RUSAGE_CHILDREN);
}

/* ---- a jig that runs /bin/true ---- */

static err true_jig_prepare(void *self, const struct jig_work *w, struct arena *a,
                            struct launch_spec *out_spec, struct reason *out_why)
{
    (void)self;
    (void)w;
    (void)out_why;
    struct str *argv = arena_new(a, struct str);
    argv[0] = STR(RUNS_PROGRAM);
    *out_spec =
        (struct launch_spec){.argv = argv, .argv_count = 1, .out_max = 1 << 20, .log_max = 1 << 20};
    return OK;
}

static void true_jig_conclude(void *self, const struct jig_work *w, const struct jig_end *end,
                              struct arena *a, struct run_done_command *out_done)
{
    (void)self;
    (void)w;
    (void)a;
    const bool fine = end->how == JIG_END_EXITED && end->code == 0;
    *out_done = (struct run_done_command){.result = fine ? RESULT_OK : RESULT_FAILED};
}

static bool true_jig_stop(void *self, const struct jig_work *w, struct arena *a,
                          struct launch_spec *out_spec)
{
    (void)self;
    (void)w;
    (void)a;
    (void)out_spec;
    return false;
}

static bool true_jig_wants_scratch(void *self, const struct jig_work *w)
{
    (void)self;
    (void)w;
    return false;
}

static const struct runner_jig_ops true_jig_ops = {.prepare = true_jig_prepare,
                                                   .conclude = true_jig_conclude,
                                                   .stop = true_jig_stop,
                                                   .wants_scratch = true_jig_wants_scratch};

/* ---- the engine under test, wired as in the daemon ---- */

struct bench_engine {
    struct loop loop;
    struct runners runners;
    struct ssh_keys ssh;
    int64_t reply_id;
    int64_t waiting; /* our own commands that have no answer yet */
    int64_t runs;    /* runs whose end is durable */
    int64_t until;   /* go on until there are so many */
};

static int64_t clock_now(void *self)
{
    (void)self;
    return sys_now_ms();
}

static int64_t clock_mono(void *self)
{
    (void)self;
    return sys_mono_ms();
}

static uint64_t clock_random(void *self)
{
    (void)self;
    return sys_random64();
}

static void heard(void *self, int64_t request, const struct outcome *outcome, int64_t turn)
{
    struct bench_engine *s = self;
    (void)turn;
    if (outcome->verdict != VERDICT_DONE)
        runs_die("a command was refused");
    if (request < 0) {
        runner_on_result(s->loop.runner, request, OK);
        s->runs++;
        return;
    }
    s->waiting--;
    s->reply_id = outcome->id;
}

static void unheard(void *self, int64_t request, err why)
{
    (void)self;
    (void)request;
    (void)why;
    runs_die("the store failed");
}

static const struct core *core_of(void *self)
{
    return turn_core(((struct bench_engine *)self)->loop.turn);
}

static err submit(void *self, const struct command *command)
{
    return turn_submit(((struct bench_engine *)self)->loop.turn, command);
}

static void wake(void *self)
{
    loop_wake(&((struct bench_engine *)self)->loop);
}

static bool code_has(void *self, int64_t run_id, uint32_t attempt)
{
    return transitions_has(((struct bench_engine *)self)->loop.transitions, run_id, attempt);
}

static bool test_has(void *self, int64_t run_id, uint32_t attempt)
{
    return test_jig_has(((struct bench_engine *)self)->loop.jig, run_id, attempt);
}

static bool run_facts(void *self, const struct run_order *order, struct arena *a,
                      struct runner_facts *out_facts)
{
    return run_facts_find(core_of(self), order, a, out_facts);
}

/* No role here has code. */
static bool code_facts(void *self, int64_t noderole_id, struct arena *a, struct str *out_argument,
                       int64_t *out_role_id)
{
    (void)self;
    (void)noderole_id;
    (void)a;
    (void)out_argument;
    (void)out_role_id;
    return false;
}

static bool is_through(void *self)
{
    const struct bench_engine *s = self;
    return s->waiting == 0 && s->runs >= s->until;
}

static bool no_work(void *self, uint64_t until_ns)
{
    (void)self;
    (void)until_ns;
    return false;
}

static void open_workers(struct bench_engine *s, const struct bench *b, const char *data)
{
    struct loop *l = &s->loop;
    char path[128];
    snprintf(path, sizeof path, "%s/test-jig.journal", data);
    if (test_jig_open(path, (struct test_jig_callbacks){.self = s, .submit = submit}, &l->jig) !=
        OK)
        runs_die("no test jig");
    l->hooks = hooks_open((struct hooks_callbacks){.self = s, .wake = wake, .submit = submit},
                          SANDBOX_LIMITS);
    if (!l->hooks)
        runs_die("no thread for the hooks");
    l->transitions = transitions_new(
        l->hooks, (struct transition_callbacks){.self = s, .facts = code_facts, .submit = submit});
    const struct runner_setup setup = {.loop = &l->uv,
                                       .data = data,
                                       .exec_program = b->exec_program,
                                       .request_first = REQUEST_RUNS};
    const struct runner_callbacks callbacks = {
        .self = s, .facts = run_facts, .submit = submit, .wake = wake, .jig_ops = &true_jig_ops};
    if (runner_open(&setup, callbacks, &l->runner) != OK)
        runs_die("no runner");
    s->runners = (struct runners){.self = s,
                                  .core = core_of,
                                  .code_has = code_has,
                                  .test_has = test_has,
                                  .role_code = transitions_port(l->transitions),
                                  .test_jig = test_jig_port(l->jig),
                                  .processes = runner_port(l->runner)};
}

static void open_power(struct bench_engine *s, const char *data)
{
    struct loop *l = &s->loop;
    char ssh[128], scratch[128];
    snprintf(ssh, sizeof ssh, "%s/ssh", data);
    snprintf(scratch, sizeof scratch, "%s/hammer", data);
    s->ssh = (struct ssh_keys){.self = l, .wake = loop_wake};
    if (!ssh_keys_open(&s->ssh, &l->uv, ssh))
        runs_die("no directory for ssh");
    l->power = power_open(&(struct power_setup){
        .loop = &l->uv, .scratch = scratch, .ssh = &s->ssh, .self = l, .wake = loop_wake});
    if (!l->power)
        runs_die("no power");
}

static void bench_engine_open(struct bench_engine *s, const struct bench *b, const char *data)
{
    struct loop *l = &s->loop;
    struct store_why why = {0};
    char url[128];
    memset(s, 0, sizeof *s);
    if (loop_open(l) != OK)
        runs_die("no loop");
    open_workers(s, b, data);
    open_power(s, data);
    snprintf(url, sizeof url, "sqlite:%s/store.db", data);
    const struct store_options options = {
        .url = url, .holder = "bench-runs", .wake = loop_wake, .wake_context = l};
    if (store_open(&options, &l->store, &why) != OK)
        runs_die(why.text);
    const struct turn_ports ports = {
        .store = store_port(l->store),
        .clock = {s, clock_now, clock_mono, clock_random},
        .runner = runner_dispatch_port(&s->runners),
        .hooks = hooks_port(l->hooks),
        .power = power_port(l->power),
        .reply = {s, heard, unheard},
    };
    l->turn = turn_new(&ports);
    l->self = s;
    l->wants_stop = is_through;
    l->work = no_work;
    if (loop_start(l) == TURN_DOWN)
        runs_die("the turn does not start");
}

static void bench_engine_close(struct bench_engine *s)
{
    struct loop *l = &s->loop;
    store_close(l->store);
    runner_close(l->runner, true);
    transitions_free(l->transitions);
    hooks_close(l->hooks);
    turn_free(l->turn);
    test_jig_close(l->jig);
    power_close(l->power);
    ssh_keys_close(&s->ssh);
    loop_close(l);
}

static void give(struct bench_engine *s, struct command command)
{
    command.request = 1;
    command.actor = STR("bench");
    if (loop_submit(&s->loop, &command) != OK)
        runs_die("a command is not taken");
    s->waiting++;
}

static int64_t ask(struct bench_engine *s, struct command command)
{
    give(s, command);
    loop_run(&s->loop);
    return s->reply_id;
}

/* ---- the world ---- */

static void import_roles(struct bench_engine *s, int roles)
{
    const size_t room = 4096 + (size_t)roles * 256;
    char *doc = malloc(room);
    if (!doc)
        runs_die("no memory");
    int n = snprintf(doc, room,
                     "{\"barclamp\":{\"name\":\"bench\",\"source_path\":\"/bench\"},"
                     "\"jigs\":[{\"name\":\"true\",\"class\":\"script\"}],\"roles\":[");
    for (int i = 1; i <= roles; i++) {
        char parent[64] = "";
        if (i > 1)
            snprintf(parent, sizeof parent, ",\"requires\":[\"chain-%d\"]", i - 1);
        n += snprintf(doc + n, room - (size_t)n,
                      "%s{\"name\":\"chain-%d\",\"jig\":\"true\",\"flags\":[\"implicit\"]%s}",
                      i > 1 ? "," : "", i, parent);
    }
    snprintf(doc + n, room - (size_t)n, "]}");
    ask(s, (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = str_from(doc)}});
    free(doc);
}

static void make_nodes(struct bench_engine *s, int nodes, int64_t deployment)
{
    for (int i = 1; i <= nodes; i++) {
        char name[64];
        snprintf(name, sizeof name, "n%d.bench.example", i);
        give(s, (struct command){.kind = COMMAND_NODE_CREATE,
                                 .node_create = {.name = str_from(name),
                                                 .deployment_id = deployment,
                                                 .system = true, /* is not probed */
                                                 .alive = true,
                                                 .available = true,
                                                 .bootenv = STR("local")}});
    }
    loop_run(&s->loop);
}

static void bind_chains(struct bench_engine *s, const struct bench *b, int64_t deployment)
{
    char last[32];
    snprintf(last, sizeof last, "chain-%d", b->graph.roles);
    const struct core *core = core_of(s);
    const int64_t leaf = core_find(core, TABLE_ROLE, str_from(last));
    const int64_t node = core_find(core, TABLE_NODE, STR("n1.bench.example"));
    for (int i = 0; i < b->graph.nodes; i++)
        give(s, (struct command){.kind = COMMAND_NODEROLE_BIND,
                                 .noderole_bind = {.node_id = node + i,
                                                   .role_id = leaf,
                                                   .deployment_id = deployment}});
    loop_run(&s->loop);
}

struct figures {
    double s, cpu_s;
    double batches;
};

static struct figures measure(const struct bench *b, const char *data)
{
    struct bench_engine s;
    struct figures f;
    bench_engine_open(&s, b, data);
    ask(&s, (struct command){.kind = COMMAND_SETTINGS_UPDATE,
                             .settings_update = {.given = GIVEN_SETTINGS_POOL_NORMAL,
                                                 .pool_normal = (uint32_t)b->graph.parallel}});
    import_roles(&s, b->graph.roles);
    const int64_t d = ask(&s, (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                               .deployment_create = {.name = STR("rack")}});
    make_nodes(&s, b->graph.nodes, d);
    bind_chains(&s, b, d);
    s.until = (int64_t)b->graph.nodes * b->graph.roles;
    const int64_t turn = turn_durable(s.loop.turn);
    const double start = runs_seconds();
    ask(&s, (struct command){.kind = COMMAND_DEPLOYMENT_COMMIT, .deployment_commit = {.id = d}});
    f.s = runs_seconds() - start;
    f.batches = (double)(turn_durable(s.loop.turn) - turn);
    if (core_deployment_state(core_of(&s), d) != DEPLOYMENT_ACTIVE)
        runs_die("the graph did not become ACTIVE");
    bench_engine_close(&s);
    return f;
}

/* The supervisor has been asked to end; it and its shims have become children of this process. */
static void wait_for_rest(void)
{
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

/* In a process of its own: threads and memory are gone when it ends. */
static struct figures measure_apart(const struct bench *b, int round)
{
    struct figures f;
    const double before = cpu_seconds();
    int ends[2], status;
    char data[80];
    snprintf(data, sizeof data, "%s/%d", b->dir, round);
    if (mkdir(data, 0700) != 0 || pipe(ends) != 0)
        runs_die("no place for a measurement");
    fflush(stdout);
    const pid_t child = fork();
    if (child < 0)
        runs_die("no process");
    if (child == 0) {
        f = measure(b, data);
        _exit(write(ends[1], &f, sizeof f) == (ssize_t)sizeof f ? 0 : 1);
    }
    close(ends[1]);
    const bool whole = read(ends[0], &f, sizeof f) == (ssize_t)sizeof f;
    close(ends[0]);
    if (waitpid(child, &status, 0) != child || status != 0 || !whole)
        runs_die("a measurement failed");
    wait_for_rest();
    f.cpu_s = cpu_seconds() - before;
    return f;
}

/* ---- the figures ---- */

struct import_rounds {
    double ours[ROUNDS_MAX], bare[ROUNDS_MAX], ninja[ROUNDS_MAX], ansible[ROUNDS_MAX];
    double ours_cpu[ROUNDS_MAX], bare_cpu[ROUNDS_MAX];
    double ratio[ROUNDS_MAX], batches[ROUNDS_MAX];
};

static double median(const struct bench *b, const double v[ROUNDS_MAX])
{
    if (b->rounds < ROUNDS_MAX)
        return v[0];
    const double low = v[0] < v[1] ? v[0] : v[1], high = v[0] < v[1] ? v[1] : v[0];
    return v[2] < low ? low : v[2] > high ? high : v[2];
}

/* What else the machine does comes and goes: the bare loop runs before ours and behind it. */
static void run_round(const struct bench *b, struct import_rounds *r, int i)
{
    const double cpu_before = cpu_seconds();
    const double before = runs_bare(&b->graph);
    r->bare_cpu[i] = cpu_seconds() - cpu_before;
    const struct figures f = measure_apart(b, i);
    const double after = runs_bare(&b->graph);
    r->bare[i] = (before + after) / 2;
    r->ours[i] = f.s;
    r->ours_cpu[i] = f.cpu_s;
    r->batches[i] = f.batches;
    r->ratio[i] = r->bare[i] / r->ours[i];
    r->ninja[i] = runs_ninja(&b->graph, b->dir);
    r->ansible[i] = b->tasks ? runs_ansible(&b->graph, b->tasks, b->dir) : 0;
    printf("round %d: bare %.3f s, ours %.3f s, bare %.3f s, ninja %.3f s, ratio %.2f\n", i + 1,
           before, f.s, after, r->ninja[i], r->ratio[i]);
    fflush(stdout);
}

static void print_figures(const struct bench *b, const struct import_rounds *r)
{
    const double runs = (double)b->graph.nodes * b->graph.roles;
    printf("runs %.0f, %d at a time, in %.0f batches\n", runs, b->graph.parallel,
           median(b, r->batches));
    printf("rate %.0f runs/s\n", runs / median(b, r->ours));
    printf("bare %.0f runs/s\n", runs / median(b, r->bare));
    printf("ninja %.0f runs/s\n", runs / median(b, r->ninja));
    if (b->tasks)
        printf("ansible %.1f runs/s\n", b->tasks / median(b, r->ansible));
    printf("processor %.0f us a run, bare %.0f us\n", median(b, r->ours_cpu) / runs * 1e6,
           median(b, r->bare_cpu) / runs * 1e6);
    printf("ratio %.2f\n", median(b, r->ratio));
}

static bool report(struct bench *b)
{
    struct import_rounds r = {0};
    char command[96];
    snprintf(b->dir, sizeof b->dir, "/var/tmp/bench-runs-XXXXXX");
    if (!mkdtemp(b->dir))
        runs_die("no temporary folder");
    for (int i = 0; i < b->rounds; i++)
        run_round(b, &r, i);
    snprintf(command, sizeof command, "rm -rf %s", b->dir);
    if (system(command) != 0)
        runs_die(command);
    print_figures(b, &r);
    const bool ok = !b->strict || median(b, r.ratio) >= RATIO;
    if (!ok)
        fprintf(stderr, "bench-runs: ratio is %.3g, wanted at least %.3g\n", median(b, r.ratio),
                RATIO);
    return ok;
}

/* ---- options ---- */

static int usage(FILE *to, int status)
{
    fprintf(to,
            "bench-runs [--nodes N] [--roles R] [--parallel P] [--tasks T] [--once] [--strict]\n"
            "Noderoles that run " RUNS_PROGRAM
            ", from committed to active, on SQLite, beside a loop\n"
            "of bare processes, ninja and ansible-playbook. N chains (1000) of R roles (10), P\n"
            "runs at a time (10). T tasks for ansible (100; 0: none). --once: one round, not\n"
            "three. --strict: exit status 1 when the ratio to the bare loop is below 0.8.\n");
    return status;
}

/* A number up to ten thousand; -1 when it is none. */
static int number(const char *text)
{
    char *end;
    const long value = strtol(text, &end, 10);
    return *text && !*end && value >= 0 && value <= 10000 ? (int)value : -1;
}

static bool option(struct bench *b, const char *name, const char *value)
{
    const int n = value ? number(value) : -1;
    if (strcmp(name, "--nodes") == 0)
        return (b->graph.nodes = n) >= 1;
    if (strcmp(name, "--roles") == 0)
        return (b->graph.roles = n) >= 1 && n <= 1000;
    if (strcmp(name, "--parallel") == 0)
        return (b->graph.parallel = n) >= 1;
    if (strcmp(name, "--tasks") == 0)
        return (b->tasks = n) >= 0;
    return false;
}

/* halligan-exec is in the directory of this program. */
static void find_exec(struct bench *b)
{
    static const char name[] = "halligan-exec";
    const ssize_t len =
        readlink("/proc/self/exe", b->exec_program, sizeof b->exec_program - sizeof name);
    size_t end = len > 0 ? (size_t)len : 0;
    while (end && b->exec_program[end - 1] != '/')
        end--;
    memcpy(b->exec_program + end, name, sizeof name);
    if (access(b->exec_program, X_OK) != 0)
        runs_die("halligan-exec is not in the directory of this program");
}

int main(int argc, char **argv)
{
    struct bench b = {.graph = {1000, 10, 10}, .rounds = ROUNDS_MAX, .tasks = 100};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            return usage(stdout, 0);
        if (strcmp(argv[i], "--strict") == 0)
            b.strict = true;
        else if (strcmp(argv[i], "--once") == 0)
            b.rounds = 1;
        else if (!option(&b, argv[i], argv[i + 1]))
            return usage(stderr, 2);
        else
            i++;
    }
    /* Become a subreaper, so that all descendants are waited for and their time is counted. */
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        runs_die("cannot become a subreaper");
    b.tasks = (b.tasks + b.graph.parallel - 1) / b.graph.parallel * b.graph.parallel;
    find_exec(&b);
    log_setup(LOG_WARNING, LOG_TEXT);
    return report(&b) ? 0 : 1;
}
