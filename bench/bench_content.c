/* bench-content - what content costs: reading and importing it, calling the code of a role, and
 * notifying roles that a node changed when most of them have no hook for it.
 *
 * import    B barclamps of R roles as YAML files, each barclamp with one Lua file: from the files
 *           to the last import done by a core that was empty.
 * dispatch  one call of an empty hook with a noderole of 14 fields and 1 KiB of data, from the
 *           text of its argument to its answer; without the way into another thread and back
 *           (ADR 0030). Most of the time is spent on converting the text into tables, so it
 *           depends on the data: the bound is for plain data.
 * change    a node changes: the core writes the rows, each hook gets its arguments and is called,
 *           each result is stepped. Once with 500 roles of which 3 have the hook, once with those 3
 *           alone.
 *
 * Medians of the rounds. The two kinds of change take turns.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/json/json.h"
#include "content/tree.h"
#include "core/core.h"
#include "hooks/hooks.h"
#include "hooks/role_code.h"
#include "sys/log.h"

enum {
    ROUNDS = 5,
    BARCLAMPS = 200,
    ROLES_EACH = 10,
    CALLS = 50000,
    CHANGES = 5000,
    ROLES_MANY = 500,
    ROLES_LISTENING = 3,
};

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

/* Processor time, for code that uses no file: other processes do not change it. */
static double busy_seconds(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

NORETURN static void die(const char *what)
{
    fprintf(stderr, "bench-content: %s\n", what);
    exit(1);
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

/* ---- the core ---- */

static void no_row(void *context, const struct change *change)
{
    (void)context;
    (void)change;
}

/* Each step is a turn of its own, as if a store had taken it. */
struct bench_core {
    struct core *core;
    struct arena arena;
    struct effects effects; /* of the last step */
    int64_t turn;
};

static void bench_core_open(struct bench_core *m)
{
    memset(m, 0, sizeof *m);
    m->core = core_new();
    core_bootstrap(m->core, 1000);
}

static void bench_core_close(struct bench_core *m)
{
    core_free(m->core);
    arena_fini(&m->arena);
}

static int64_t step(struct bench_core *m, struct command command)
{
    struct outcome outcome = {0};
    command.now_ms = command.mono_ms = 1000 + m->turn;
    command.actor = STR("bench");
    m->effects = (struct effects){0};
    core_step(m->core, &command, &m->arena, &m->effects, &outcome);
    if (outcome.problems)
        fprintf(stderr, "%.*s\n", STR_FMT_ARGS(outcome.problems->text));
    if (outcome.verdict != VERDICT_DONE)
        die("a command is refused");
    core_collect(m->core, ++m->turn, no_row, NULL);
    return outcome.id;
}

/* ---- import ---- */

static FILE *create_file(const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f)
        die(path);
    return f;
}

static void close_file(FILE *f)
{
    if (ferror(f) || fclose(f) != 0)
        die("a file cannot be written");
}

/* As many attribs, schemas and flags as the barclamps of OpenCrowbar have, and a few more. */
static void write_role(FILE *f, int barclamp, int role)
{
    fprintf(f, "  - name: bc%03d-role%d\n    jig: noop\n    flags: [%s]\n", barclamp, role,
            role % 2 ? "implicit" : "milestone, service");
    fprintf(f, "    description: >\n      Keeps part %d of barclamp %d\n      in order\n", role,
            barclamp);
    if (role > 0)
        fprintf(f, "    requires:\n      - bc%03d-role%d\n", barclamp, role - 1);
    else if (barclamp > 0)
        fprintf(f, "    requires: [bc%03d-role%d]\n", barclamp / 2, ROLES_EACH - 1);
    if (role > 0)
        fprintf(f, "    wants-attribs:\n      - bc%03d-size%d\n", barclamp, role - 1);
    fprintf(f,
            "    attribs:\n      - name: bc%03d-size%d\n        description: How large it is\n"
            "        map: bc%03d/part%d/size\n        default: %d\n"
            "        schema:\n          type: int\n          required: true\n",
            barclamp, role, barclamp, role, role);
    fprintf(f,
            "      - name: bc%03d-servers%d\n        map: bc%03d/part%d/servers\n"
            "        default: []\n        schema:\n          type: seq\n          sequence:\n"
            "            - type: map\n              mapping:\n"
            "                address: {type: str, required: true, pattern: '/^[0-9.]+$/'}\n"
            "                port: {type: int}\n",
            barclamp, role, barclamp, role);
}

static void write_barclamp(const char *dir, int barclamp)
{
    char path[300];
    snprintf(path, sizeof path, "%s/bc%03d", dir, barclamp);
    if (mkdir(path, 0777) != 0)
        die(path);
    snprintf(path, sizeof path, "%s/bc%03d/roles", dir, barclamp);
    if (mkdir(path, 0777) != 0)
        die(path);
    snprintf(path, sizeof path, "%s/bc%03d/bc%03d.yml", dir, barclamp, barclamp);
    FILE *f = create_file(path);
    fprintf(f, "barclamp:\n  name: bc%03d\n  description: One of many\n  version: 0.1\n", barclamp);
    fprintf(f, "jigs:\n  - name: noop\n    class: NoopJig\nroles:\n");
    for (int role = 0; role < ROLES_EACH; role++)
        write_role(f, barclamp, role);
    close_file(f);
    snprintf(path, sizeof path, "%s/bc%03d/roles/bc%03d-role0.lua", dir, barclamp, barclamp);
    f = create_file(path);
    fprintf(f, "return {\n  on_active = function(nr) halligan.log(nr.node) end,\n"
               "  on_node_change = function(node) end,\n}\n");
    close_file(f);
}

static void find_hooks(void *self, const char *lua_path, struct diagnostics *r, struct json *names)
{
    struct hooks_report found;
    (void)self;
    if (hooks_inspect(lua_path, r->arena, &found) != OK)
        die(lua_path);
    for (int hook = 0; hook < HOOK_COUNT; hook++)
        if (found.functions.hooks >> hook & 1)
            json_append(names, json_make_string(r->arena, str_from(hook_name((enum hook)hook))));
}

/* In seconds; *out_read is the part of it that the files took. */
static double import_all(const char *dir, double *out_read)
{
    struct bench_core m;
    struct arena arena = {0};
    struct diagnostics report = diagnostics_begin(&arena);
    const struct hook_finder finder = {.find = find_hooks};
    bench_core_open(&m);
    const double start = seconds();
    const struct content_tree tree = content_read_tree(&report, dir, &finder);
    *out_read = seconds() - start;
    for (uint32_t i = 0; i < tree.count; i++) {
        step(&m, (struct command){.kind = COMMAND_IMPORT,
                                  .import = {.barclamp = tree.files[i].document}});
        arena_reset(&m.arena);
    }
    const double whole = seconds() - start;
    if (report.count || core_count(m.core, TABLE_BARCLAMP) != BARCLAMPS ||
        core_count(m.core, TABLE_ROLE) != BARCLAMPS * ROLES_EACH)
        die("not all of it was imported");
    bench_core_close(&m);
    arena_fini(&arena);
    return whole;
}

static double measure_import(void)
{
    char dir[] = "/var/tmp/bench-content-XXXXXX", command[100];
    double whole[ROUNDS], files[ROUNDS];
    if (!mkdtemp(dir))
        die("no temporary folder");
    for (int barclamp = 0; barclamp < BARCLAMPS; barclamp++)
        write_barclamp(dir, barclamp);
    for (int i = 0; i < ROUNDS; i++)
        whole[i] = import_all(dir, &files[i]);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command) != 0)
        die(command);
    const double ms = median(whole) * 1e3;
    printf("import %d roles in %d barclamps: %.0f ms, %.0f ms of it reading files\n",
           BARCLAMPS * ROLES_EACH, BARCLAMPS, ms, median(files) * 1e3);
    return ms;
}

/* ---- dispatch ---- */

static struct role_code *load_code(const char *source)
{
    struct arena arena = {0};
    struct role_code *code;
    struct role_functions functions;
    struct str text;
    const struct role_source file = {
        .chunk = "bench.lua", .text = str_from(source), .limits = SANDBOX_LIMITS};
    if (role_code_new(&file, &arena, &code, &functions, &text) != OK)
        die("the code of a role does not load");
    arena_fini(&arena);
    return code;
}

static void call_hook(struct role_code *code, const char *function,
                      const struct hook_call_args *facts, struct arena *arena)
{
    struct task task = {.arena = arena, .kind = TASK_NOTIFY, .function = function};
    task.arguments[0] = facts->argument;
    task.arguments[1] = facts->context;
    role_code_call(code, &task);
    if (task.failed)
        die("a hook fails");
}

enum { DATA_SIZE = 1024 };

/* As the data of a role look: one path down, then values of its attribs, mostly texts. */
static void put_plain_data(struct buf *b)
{
    const uint32_t before = b->len;
    buf_put_z(b, "{\"crowbar\":{\"dns\":{\"forwarders\":[\"10.0.0.2\",\"10.0.0.3\"],\"ttl\":3600");
    for (int i = 0; b->len - before < DATA_SIZE - 60; i++) {
        char entry[100];
        snprintf(entry, sizeof entry, ",\"value-%02d\":\"a text that says something about n%d\"", i,
                 i);
        buf_put_z(b, entry);
    }
    buf_put_z(b, "}}}");
}

/* As little text and as many tables as one finds: a list of the machines that a server serves. */
static void put_dense_data(struct buf *b)
{
    const uint32_t before = b->len;
    buf_put_z(b, "{\"crowbar\":{");
    for (int i = 0; b->len - before < DATA_SIZE - 40; i++) {
        char entry[160];
        snprintf(entry, sizeof entry,
                 "%s\"part%02d\":{\"address\":\"10.20.30.%d\",\"enabled\":true,\"names\":[\"a%d\","
                 "\"b\"],\"port\":%d}",
                 i ? "," : "", i, i, i, 1000 + i);
        buf_put_z(b, entry);
    }
    buf_put_z(b, "}}");
}

static struct str noderole_argument(struct arena *arena, void (*put_data)(struct buf *b))
{
    struct buf b = buf_in(arena);
    struct str canonical;
    uint32_t offset;
    const char *what;
    buf_put_z(&b, "{\"id\":70001,\"deployment_id\":2,\"role_id\":17,\"node_id\":4711,\"state\":0,"
                  "\"cohort\":3,\"run_count\":1,\"status\":\"\",\"runlog\":\"\",\"available\":true,"
                  "\"order\":10000,\"created_at\":1700000000000,\"updated_at\":1700000000001,"
                  "\"node_error\":false,\"data\":");
    put_data(&b);
    buf_put_c(&b, '}');
    if (json_canonical(arena, buf_str(&b), &canonical, &offset, &what) != OK)
        die(what);
    return canonical;
}

/* In microseconds. */
static double dispatch_cost(const char *name, void (*put_data)(struct buf *b))
{
    struct arena arena = {0}, scratch = {0};
    double us[ROUNDS];
    struct role_code *code = load_code("return { on_active = function(nr) end }");
    const struct hook_call_args facts = {.argument = noderole_argument(&arena, put_data)};
    for (int i = 0; i < ROUNDS; i++) {
        const double start = busy_seconds();
        for (int call = 0; call < CALLS; call++) {
            call_hook(code, "on_active", &facts, &scratch);
            arena_reset(&scratch);
        }
        us[i] = (busy_seconds() - start) / CALLS * 1e6;
    }
    const double middle = median(us);
    printf("dispatch of an empty hook, %u bytes, %s: %.2f us\n", facts.argument.len, name, middle);
    role_code_free(code);
    arena_fini(&arena);
    arena_fini(&scratch);
    return middle;
}

/* The bound is for plain data; the figure of dense data is printed for comparison. */
static double measure_dispatch(void)
{
    const double plain = dispatch_cost("plain data", put_plain_data);
    dispatch_cost("dense data", put_dense_data);
    return plain;
}

/* ---- a node changes ---- */

struct change_bench {
    struct bench_core engine;
    struct role_code *code;
    int64_t node_id;
    uint64_t calls;
};

static void import_roles(struct change_bench *w, int roles)
{
    struct buf b = buf_in(&w->engine.arena);
    struct str canonical;
    uint32_t offset;
    const char *what;
    buf_put_z(&b, "{\"barclamp\":{\"name\":\"bench\",\"source_path\":\"/bench\"},"
                  "\"jigs\":[{\"name\":\"noop\",\"class\":\"noop\"}],\"roles\":[");
    for (int i = 0; i < roles; i++) {
        char role[200];
        /* The roles with the hook are spread over the list. */
        const bool listens =
            i % (roles / ROLES_LISTENING) == 0 && i / (roles / ROLES_LISTENING) < 3;
        snprintf(role, sizeof role, "%s{\"name\":\"role-%d\",\"jig\":\"noop\",\"hooks\":[%s]}",
                 i ? "," : "", i, listens ? "\"on_node_change\"" : "");
        buf_put_z(&b, role);
    }
    buf_put_z(&b, "]}");
    if (json_canonical(&w->engine.arena, buf_str(&b), &canonical, &offset, &what) != OK)
        die(what);
    step(&w->engine, (struct command){.kind = COMMAND_IMPORT, .import = {.barclamp = canonical}});
}

static void change_bench_open(struct change_bench *w, int roles)
{
    memset(w, 0, sizeof *w);
    bench_core_open(&w->engine);
    import_roles(w, roles);
    w->code = load_code("return { on_node_change = function(node, context) end }");
    w->node_id = step(&w->engine, (struct command){.kind = COMMAND_NODE_CREATE,
                                                   .node_create = {.name = STR("n1.bench.example"),
                                                                   .deployment_id = 1,
                                                                   .available = true,
                                                                   .bootenv = STR("local")}});
    if (core_count(w->engine.core, TABLE_ROLE) != (uint32_t)roles)
        die("not all roles were imported");
}

static void change_bench_close(struct change_bench *w)
{
    role_code_free(w->code);
    bench_core_close(&w->engine);
}

static void deliver(struct change_bench *w, int64_t outbox_id)
{
    struct record record;
    struct hook_call_args facts;
    if (!core_record(w->engine.core, TABLE_OUTBOX, outbox_id, &record) ||
        !core_hook_args(w->engine.core, &record.outbox, &w->engine.arena, &facts))
        die("a hook has no arguments");
    call_hook(w->code, hook_name((enum hook)record.outbox.hook), &facts, &w->engine.arena);
    w->calls++;
    step(&w->engine,
         (struct command){.kind = COMMAND_OUTBOX_DONE, .outbox_done = {.outbox_id = outbox_id}});
}

/* In microseconds for one change. */
static double change_cost(struct change_bench *w)
{
    const double start = busy_seconds();
    w->calls = 0;
    for (int i = 0; i < CHANGES; i++) {
        step(&w->engine,
             (struct command){.kind = COMMAND_NODE_UPDATE,
                              .node_update = {.id = w->node_id,
                                              .given = GIVEN_NODE_BOOTENV,
                                              .bootenv = i % 2 ? STR("local") : STR("other")}});
        const struct effect *first = w->engine.effects.first;
        for (const struct effect *e = first; e; e = e->next)
            if (e->kind == EFFECT_OUTBOX)
                deliver(w, e->id);
        arena_reset(&w->engine.arena);
    }
    if (w->calls != (uint64_t)CHANGES * ROLES_LISTENING)
        die("the number of hook calls is wrong");
    return (busy_seconds() - start) / CHANGES * 1e6;
}

static double measure_change(void)
{
    struct change_bench many, few;
    double many_us[ROUNDS], few_us[ROUNDS];
    change_bench_open(&many, ROLES_MANY);
    change_bench_open(&few, ROLES_LISTENING);
    for (int i = 0; i < ROUNDS; i++) {
        few_us[i] = change_cost(&few);
        many_us[i] = change_cost(&many);
    }
    const double ratio = median(many_us) / median(few_us);
    printf("change with %d of %d roles notified: %.1f us, %d of %d: %.1f us, ratio %.2f\n",
           ROLES_LISTENING, ROLES_MANY, median(many_us), ROLES_LISTENING, ROLES_LISTENING,
           median(few_us), ratio);
    change_bench_close(&many);
    change_bench_close(&few);
    return ratio;
}

/* ---- all of it ---- */

static bool within(const char *what, double figure, double bound)
{
    if (figure <= bound)
        return true;
    fprintf(stderr, "bench-content: %s is %.3g, wanted at most %.3g\n", what, figure, bound);
    return false;
}

static int usage(FILE *to, int status)
{
    fprintf(to,
            "bench-content [--strict]\n"
            "Importing %d roles in %d barclamps, calling an empty hook, notifying %d of %d roles\n"
            "that a node changed. With --strict the exit status is 1 when a figure misses its\n"
            "bound: 1000 ms, 5 us, and 1.25 times what it costs with those %d roles alone.\n",
            BARCLAMPS * ROLES_EACH, BARCLAMPS, ROLES_LISTENING, ROLES_MANY, ROLES_LISTENING);
    return status;
}

int main(int argc, char **argv)
{
    const bool strict = argc == 2 && strcmp(argv[1], "--strict") == 0;
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(stdout, 0);
    if (argc > 1 && !strict)
        return usage(stderr, 2);
    log_setup(LOG_ERROR, LOG_TEXT);
    bool ok = within("import in ms", measure_import(), 1000);
    ok &= within("dispatch in us", measure_dispatch(), 5);
    ok &= within("change among many roles", measure_change(), 1.25);
    return ok || !strict ? 0 : 1;
}
