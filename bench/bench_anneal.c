/* bench-anneal - how fast a committed graph of no-op noderoles becomes ACTIVE, with ninja walking
 * the same graph as phony edges beside it.
 *
 * The graph: one root on a node of its own, and on each of N nodes a chain of R roles whose first
 * needs that root. Halligan executes its whole pipeline (commands, core, batches, a store: an
 * encoded byte log, SQLite or PostgreSQL, both durable); ninja only walks the graph and stores
 * nothing. Each measurement is a process of its own, so that its memory peak is its own too;
 * medians of three, with Halligan and ninja alternating (ADR 0030).
 */
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/core.h"
#include "model/limits.h"
#include "sim/store/log_store.h"
#include "store/store_thread.h"
#include "turn/turn.h"

enum { ROUNDS = 3, RETRIES_MIN = 500, RETRIES_MAX = 20000 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
    fprintf(stderr, "bench-anneal: %s\n", what);
    exit(1);
}

/* The peak of this process's resident memory, in bytes. */
static double peak_bytes(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    double kib = 0;
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtod(line + 6, NULL);
    if (f)
        fclose(f);
    return kib * 1024;
}

/* ---- the engine under test ---- */

struct bench_engine {
    struct log_store log; /* without a URL */
    struct store *store;  /* with one      */
    sem_t woken;
    struct turn *turn;
    int64_t reply_id;
    uint64_t replies, refusals;
    int64_t silent_ms; /* the longest time that the store had no answer from its engine */
};

static int64_t wall_ms(void *self)
{
    struct timespec t;
    (void)self;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static uint64_t no_chance(void *self)
{
    (void)self;
    return 1;
}

static void heard(void *self, int64_t request, const struct outcome *outcome, int64_t turn)
{
    struct bench_engine *s = self;
    (void)request;
    (void)turn;
    s->replies++;
    if (outcome->verdict != VERDICT_DONE) {
        s->refusals++;
        fprintf(stderr, "refused: %.*s\n", STR_FMT_ARGS(outcome->problems->text));
    }
    s->reply_id = outcome->id;
}

static void unheard(void *self, int64_t request, err why)
{
    (void)self;
    (void)request;
    (void)why;
    die("the store failed");
}

static void no_order(void *self, const struct run_order *order)
{
    (void)self;
    (void)order;
    die("a no-op asked for a worker");
}

static void no_row(void *self, const struct outbox_record *row)
{
    (void)self;
    (void)row;
}

static void no_question(void *self, uint64_t token, const struct veto_request *q, uint32_t count)
{
    (void)self;
    (void)token;
    (void)q;
    (void)count;
}

static void wake(void *self)
{
    struct bench_engine *s = self;
    sem_post(&s->woken);
}

static void open_store(struct bench_engine *s, const char *url)
{
    const struct store_options options = {
        .url = url, .holder = "bench-anneal", .wake = wake, .wake_context = s};
    struct store_why why;
    if (sem_init(&s->woken, 0, 0) != 0)
        die("no semaphore");
    if (store_open(&options, &s->store, &why) != OK)
        die(why.text);
}

static void bench_engine_open(struct bench_engine *s, const char *url)
{
    memset(s, 0, sizeof *s);
    if (url)
        open_store(s, url);
    else
        log_store_init(&s->log);
    const struct turn_ports ports = {
        .store = url ? store_port(s->store) : log_store_port(&s->log),
        .clock = {NULL, wall_ms, wall_ms, no_chance},
        .runner = {NULL, no_order, no_order, no_order},
        .hooks = {NULL, no_row, no_question},
        .power = {NULL, no_row, no_row},
        .reply = {s, heard, unheard},
    };
    s->turn = turn_new(&ports);
    if (turn_start(s->turn) != TURN_AGAIN)
        die("the turn does not start");
}

static void bench_engine_close(struct bench_engine *s)
{
    turn_free(s->turn);
    if (s->store)
        store_close(s->store);
    else
        log_store_fini(&s->log);
}

/* Waits for the store. Ten times a second it samples the figure by which a daemon decides that its
 * store is stalled. */
static void await_store(struct bench_engine *s)
{
    struct timespec at;
    do {
        const int64_t silent_ms = store_silent_ms(s->store);
        if (silent_ms > s->silent_ms)
            s->silent_ms = silent_ms;
        clock_gettime(CLOCK_REALTIME, &at);
        at.tv_nsec += 100 * 1000 * 1000;
        at.tv_sec += at.tv_nsec / 1000000000;
        at.tv_nsec %= 1000000000;
    } while (sem_timedwait(&s->woken, &at) != 0);
}

static void settle(struct bench_engine *s)
{
    enum turn_status status;
    while ((status = turn_advance(s->turn)) == TURN_AGAIN || status == TURN_WAITING)
        if (status == TURN_WAITING)
            await_store(s);
    if (status != TURN_QUIET)
        die("the turn is stuck");
}

static void submit(struct bench_engine *s, struct command command)
{
    command.request = 1;
    command.actor = STR("bench");
    if (turn_submit(s->turn, &command) == OK)
        return;
    settle(s);
    if (turn_submit(s->turn, &command) != OK)
        die("a command is not taken");
}

static int64_t ask(struct bench_engine *s, struct command command)
{
    submit(s, command);
    settle(s);
    return s->reply_id;
}

/* ---- the world ---- */

static void import_roles(struct bench_engine *s, int roles)
{
    const size_t room = 4096 + (size_t)roles * 256;
    char *doc = malloc(room);
    if (!doc)
        die("no memory");
    int n = snprintf(doc, room,
                     "{\"barclamp\":{\"name\":\"bench\",\"source_path\":\"/bench\"},"
                     "\"jigs\":[{\"name\":\"noop\",\"class\":\"noop\"}],"
                     "\"roles\":[{\"name\":\"root\",\"jig\":\"noop\"}");
    for (int i = 1; i <= roles; i++) {
        char parent[32] = "root";
        if (i > 1)
            snprintf(parent, sizeof parent, "chain-%d", i - 1);
        n += snprintf(doc + n, room - (size_t)n,
                      ",{\"name\":\"chain-%d\",\"jig\":\"noop\",\"flags\":[\"implicit\"],"
                      "\"requires\":[\"%s\"]}",
                      i, parent);
    }
    snprintf(doc + n, room - (size_t)n, "]}");
    ask(s, (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = str_from(doc)}});
    free(doc);
}

static int64_t make_node(struct bench_engine *s, int number, int64_t deployment)
{
    char name[64];
    snprintf(name, sizeof name, "n%d.bench.example", number);
    submit(s, (struct command){.kind = COMMAND_NODE_CREATE,
                               .node_create = {.name = str_from(name),
                                               .deployment_id = deployment,
                                               .system = true, /* is not probed */
                                               .alive = true,
                                               .available = true,
                                               .bootenv = STR("local")}});
    return 0;
}

static int64_t role_id(const struct bench_engine *s, const char *name)
{
    return core_find(turn_core(s->turn), TABLE_ROLE, str_from(name));
}

struct figures {
    double bind_s, anneal_s, start_s, bytes_each, retry_us, noderoles, silent_s;
};

static int64_t retry_count(int64_t noderoles)
{
    const int64_t some = noderoles / 50;
    return some < RETRIES_MIN ? RETRIES_MIN : some > RETRIES_MAX ? RETRIES_MAX : some;
}

/* Noderoles of the settled graph are retried; each retry is a turn of its own. */
static double retry_cost(struct bench_engine *s, int64_t noderoles)
{
    const int64_t count = retry_count(noderoles);
    const double before = seconds();
    for (int64_t i = 0; i < count; i++) {
        const int64_t id = 2 + i * 7919 % (noderoles - 1);
        submit(s, (struct command){.kind = COMMAND_NODEROLE_RETRY, .noderole_retry = {.id = id}});
        settle(s);
    }
    return (seconds() - before) / (double)count * 1e6;
}

/* What a start costs that finds all this in its store. */
static double start_cost(const char *url, double noderoles)
{
    struct bench_engine s;
    const double before = seconds();
    bench_engine_open(&s, url);
    const double cost = seconds() - before;
    if (core_count(turn_core(s.turn), TABLE_NODEROLE) != noderoles)
        die("not all of it was stored");
    bench_engine_close(&s);
    return cost;
}

static struct figures measure(int nodes, int roles, const char *url)
{
    struct figures f = {0};
    struct bench_engine s;
    char last[32];
    const double before_bytes = peak_bytes();
    bench_engine_open(&s, url);
    import_roles(&s, roles);
    const int64_t d = ask(&s, (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                               .deployment_create = {.name = STR("rack")}});
    double start = seconds();
    for (int i = 0; i <= nodes; i++)
        make_node(&s, i, d);
    settle(&s);
    snprintf(last, sizeof last, "chain-%d", roles);
    const int64_t leaf = role_id(&s, last), root = role_id(&s, "root");
    int64_t node = core_find(turn_core(s.turn), TABLE_NODE, STR("n0.bench.example"));
    ask(&s,
        (struct command){.kind = COMMAND_NODEROLE_BIND,
                         .noderole_bind = {.node_id = node, .role_id = root, .deployment_id = d}});
    for (int i = 1; i <= nodes; i++)
        submit(&s, (struct command){.kind = COMMAND_NODEROLE_BIND,
                                    .noderole_bind = {
                                        .node_id = node + i, .role_id = leaf, .deployment_id = d}});
    settle(&s);
    f.bind_s = seconds() - start;
    f.noderoles = core_count(turn_core(s.turn), TABLE_NODEROLE);

    start = seconds();
    ask(&s, (struct command){.kind = COMMAND_DEPLOYMENT_COMMIT, .deployment_commit = {.id = d}});
    f.anneal_s = seconds() - start;
    if (core_deployment_state(turn_core(s.turn), d) != DEPLOYMENT_ACTIVE || s.refusals)
        die("the graph did not become ACTIVE");
    const double log_bytes = url ? 0 : (double)log_store_size(&s.log);
    f.bytes_each = (peak_bytes() - before_bytes - log_bytes) / f.noderoles;
    f.retry_us = retry_cost(&s, (int64_t)f.noderoles);
    f.silent_s = (double)s.silent_ms / 1000;
    bench_engine_close(&s);
    if (url)
        f.start_s = start_cost(url, f.noderoles);
    return f;
}

/* In a process of its own: what it used is gone when it ends. */
static struct figures measure_apart(int nodes, int roles, const char *url)
{
    struct figures f;
    int ends[2];
    if (pipe(ends) != 0)
        die("no pipe");
    fflush(stdout);
    const pid_t child = fork();
    if (child < 0)
        die("no process");
    if (child == 0) {
        f = measure(nodes, roles, url);
        _exit(write(ends[1], &f, sizeof f) == (ssize_t)sizeof f ? 0 : 1);
    }
    close(ends[1]);
    int status;
    const bool whole = read(ends[0], &f, sizeof f) == (ssize_t)sizeof f;
    close(ends[0]);
    if (waitpid(child, &status, 0) != child || status != 0 || !whole)
        die("a measurement failed");
    return f;
}

/* ---- the peer ---- */

static void write_ninja(const char *path, int nodes, int roles)
{
    FILE *f = fopen(path, "w");
    if (!f)
        die("cannot write the peer's graph");
    fprintf(f, "build root: phony\n");
    for (int n = 1; n <= nodes; n++)
        for (int r = 1; r <= roles; r++)
            if (r == 1)
                fprintf(f, "build n%d_1: phony root\n", n);
            else
                fprintf(f, "build n%d_%d: phony n%d_%d\n", n, r, n, r - 1);
    if (fclose(f) != 0)
        die("cannot write the peer's graph");
}

static double run_ninja(const char *dir)
{
    const double start = seconds();
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stdout))
            _exit(1);
        execlp("ninja", "ninja", "-C", dir, (char *)NULL);
        _exit(127);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        die("ninja failed; is ninja-build installed?");
    return seconds() - start;
}

/* ---- a fresh store for each measurement ---- */

enum kind { MEMORY, SQLITE, POSTGRESQL };

struct bench {
    int nodes, roles;
    enum kind kind;
    bool bounds;
    const char *postgres; /* tools/postgres */
    char dir[64];
    char url[256];
    int made;
};

/* The first line that a command prints. */
static void ask_command(const char *command, char *out, size_t size)
{
    FILE *f = popen(command, "r");
    if (!f || !fgets(out, (int)size, f) || pclose(f) != 0)
        die(command);
    out[strcspn(out, "\n")] = '\0';
}

static const char *fresh_store(struct bench *b)
{
    char command[512];
    b->made++;
    if (b->kind == MEMORY)
        return NULL;
    if (b->kind == SQLITE) {
        snprintf(b->url, sizeof b->url, "sqlite:%s/%d.db", b->dir, b->made);
        return b->url;
    }
    if (b->made == 1)
        snprintf(command, sizeof command, "%s start %s/pg --durable", b->postgres, b->dir);
    else
        snprintf(command, sizeof command, "%s newdb %s/pg bench%d", b->postgres, b->dir, b->made);
    ask_command(command, b->url, sizeof b->url);
    return b->url;
}

static void clear_up(const struct bench *b)
{
    char command[512];
    if (b->kind == POSTGRESQL) {
        snprintf(command, sizeof command, "%s stop %s/pg", b->postgres, b->dir);
        if (system(command) != 0)
            die(command);
    }
    snprintf(command, sizeof command, "rm -rf %s", b->dir);
    if (system(command) != 0)
        die(command);
}

/* ---- the figures ---- */

static double median(const double v[ROUNDS])
{
    const double low = v[0] < v[1] ? v[0] : v[1], high = v[0] < v[1] ? v[1] : v[0];
    return v[2] < low ? low : v[2] > high ? high : v[2];
}

static bool within(const char *what, double figure, double bound, bool at_least)
{
    const bool ok = at_least ? figure >= bound : figure <= bound;
    if (!ok)
        fprintf(stderr, "bench-anneal: %s is %.3g, wanted %s %.3g\n", what, figure,
                at_least ? "at least" : "at most", bound);
    return ok;
}

struct import_rounds {
    double ours[ROUNDS], half[ROUNDS], peer[ROUNDS], retry[ROUNDS], bytes[ROUNDS], start[ROUNDS];
    double silent_s; /* the longest of all rounds */
    double noderoles;
};

static void run_rounds(struct bench *b, struct import_rounds *r)
{
    char path[80];
    snprintf(path, sizeof path, "%s/build.ninja", b->dir);
    write_ninja(path, b->nodes, b->roles);
    for (int i = 0; i < ROUNDS; i++) {
        r->half[i] = measure_apart(b->nodes / 2, b->roles, fresh_store(b)).anneal_s;
        const struct figures f = measure_apart(b->nodes, b->roles, fresh_store(b));
        r->noderoles = f.noderoles;
        r->ours[i] = f.anneal_s;
        r->retry[i] = f.retry_us;
        r->bytes[i] = f.bytes_each;
        r->start[i] = f.start_s;
        if (f.silent_s > r->silent_s)
            r->silent_s = f.silent_s;
        r->peer[i] = run_ninja(b->dir);
        printf("round %d: bind %.2f s, anneal %.3f s, half the fleet %.3f s, ninja %.3f s\n", i + 1,
               f.bind_s, r->ours[i], r->half[i], r->peer[i]);
    }
}

static bool judge(const struct bench *b, const struct import_rounds *r)
{
    static const double ratios[] = {[MEMORY] = 3, [SQLITE] = 1, [POSTGRESQL] = 0.2};
    bool ok = within("ratio", median(r->peer) / median(r->ours), ratios[b->kind], true);
    ok &= within("doubling", median(r->ours) / median(r->half), 2.3, false);
    if (b->kind == MEMORY) {
        ok &= within("memory per noderole", median(r->bytes), 600, false);
        ok &= within("retry in us", median(r->retry), 50, false);
    } else {
        ok &= within("start in s", median(r->start), 5, false);
        ok &= within("silence of the store in s", r->silent_s, STORE_SILENT_MS / 1000.0, false);
    }
    return ok;
}

static bool report(struct bench *b)
{
    struct import_rounds r = {0};
    snprintf(b->dir, sizeof b->dir, "/var/tmp/bench-anneal-XXXXXX");
    /* A PostgreSQL server with another user id must be able to traverse the directory. */
    if (!mkdtemp(b->dir) || chmod(b->dir, 0711) != 0)
        die("no temporary folder");
    run_rounds(b, &r);
    clear_up(b);
    printf("noderoles %.0f\n", r.noderoles);
    printf("rate %.0f noderoles/s\n", r.noderoles / median(r.ours));
    printf("memory %.0f bytes per noderole%s\n", median(r.bytes),
           b->kind == MEMORY ? "" : ", with what the store's library holds");
    printf("doubling %.2f\n", median(r.ours) / median(r.half));
    printf("retry %.1f us\n", median(r.retry));
    if (b->kind != MEMORY)
        printf("start %.2f s\nsilence %.1f s at most\n", median(r.start), r.silent_s);
    printf("ratio %.2f\n", median(r.peer) / median(r.ours));
    return !b->bounds || judge(b, &r);
}

/* A number between 1 and a million; 0 when it is none. */
static int number(const char *text)
{
    char *end;
    const long value = strtol(text, &end, 10);
    return *text && !*end && value > 0 && value <= 1000000 ? (int)value : 0;
}

static int usage(FILE *to, int status)
{
    fprintf(to, "bench-anneal [--nodes N] [--roles R] [--store memory|sqlite|postgresql]\n"
                "             [--postgres TOOL] [--no-bounds]\n"
                "No-op noderoles from committed to active, beside ninja on the same graph.\n"
                "2 nodes or more (100000), 1 to 1000 roles on each (10). TOOL starts a server for\n"
                "--store postgresql (tools/postgres). Exit status 1 when a figure misses its\n"
                "bound, unless --no-bounds.\n");
    return status;
}

static bool kind_of(const char *text, enum kind *out)
{
    static const char *const names[] = {
        [MEMORY] = "memory", [SQLITE] = "sqlite", [POSTGRESQL] = "postgresql"};
    for (int i = MEMORY; i <= POSTGRESQL; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum kind)i;
            return true;
        }
    return false;
}

static bool option(struct bench *b, const char *name, const char *value)
{
    if (strcmp(name, "--nodes") == 0)
        return (b->nodes = number(value)) >= 2;
    if (strcmp(name, "--roles") == 0)
        return (b->roles = number(value)) >= 1 && b->roles <= 1000;
    if (strcmp(name, "--store") == 0)
        return kind_of(value, &b->kind);
    if (strcmp(name, "--postgres") == 0)
        return (b->postgres = value) != NULL;
    return false;
}

int main(int argc, char **argv)
{
    struct bench b = {.nodes = 100000, .roles = 10, .bounds = true, .postgres = "tools/postgres"};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            return usage(stdout, 0);
        if (strcmp(argv[i], "--no-bounds") == 0)
            b.bounds = false;
        else if (i + 1 == argc || !option(&b, argv[i], argv[i + 1]))
            return usage(stderr, 2);
        else
            i++;
    }
    return report(&b) ? 0 : 1;
}
