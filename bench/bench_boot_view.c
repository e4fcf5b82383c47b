/* bench-boot-view - what a change of environment costs when many machines are known.
 *
 *     bench-boot-view [--machines N] [--strict]
 *
 * All figures but those of part 2 are ratios within this process, medians of three, a fleet of N
 * machines (100,000) and one of 100 in turns. Each machine has a MAC, an address in a network of
 * category admin, a DNS name and an active noderole of a discovery role, so it is in the boot view.
 * Changes are collected in batches and encoded as for a store, and the entries that a batch changed
 * are encoded as for a boot server; there is neither a store nor a boot server. Two noderoles serve
 * boots: one publishes the changes in runs, which succeed at once; the other has a boot server that
 * acknowledges each turn.
 *
 * 1. A change of the environment of one machine until it is served: its time, its bytes to the
 *    store and its bytes to a boot server in both fleets. The machines are chosen at random. Their
 *    ids have equal numbers of digits and equal lengths as varints, so that equal changes have
 *    equal sizes.
 * 2. The base image: all entries of the large fleet, in order and encoded.
 * 3. The memory that the boot view takes for a machine and its name.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/prng.h"
#include "core/core.h"
#include "core/engine/rows.h"
#include "port/batch.h"

enum {
    ROUNDS = 3,
    SMALL = 100,
    STEPS_PER_BATCH = 100,
    NETWORKS = 10, /* of the machines; another one has the freed addresses */
    PER_NETWORK = 10000,
    CHANGES = 1000, /* of part 1, in each round */
    /* Ids that no machine has: the ids behind them have three bytes as varints, those of nodes also
     * six digits. */
    UNUSED_IDS = 8192,
    UNUSED_NODE_IDS = 100000,
    FIRST_TURN = 100000, /* the same for turns */
    RUNS_BEFORE = 200,   /* of the noderole that publishes; the large fleet needs 100 for all */
};

static void die(const char *what)
{
    fprintf(stderr, "bench-boot-view: %s\n", what);
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

/* ---- a fleet ---- */

struct fleet {
    struct core *core;
    struct arena arena;
    struct effects fx;
    struct arena log; /* the changes of a batch, and the entries for a boot server */
    int64_t now, steps, turn;
    uint64_t stored_bytes, sent_bytes; /* of all batches */
    int64_t *machines;                 /* ids of nodes */
    int64_t server;                    /* the node with the noderoles that serve boots */
    int64_t publisher;                 /* the noderole that publishes */
    uint32_t machine_count;
};

static void log_change(void *context, const struct change *change)
{
    batch_put(context, change);
}

/* As the turn does it: the batch for the store, then its entries for a boot server. */
static void collect(struct fleet *f)
{
    struct buf changes = buf_in(&f->log), entries = buf_in(&f->log);
    uint32_t count;
    int64_t turn;
    core_collect(f->core, ++f->turn, log_change, &changes);
    f->stored_bytes += changes.len;
    const struct boot_key *keys = core_boot_changes(f->core, &count, &turn);
    for (uint32_t i = 0; i < count; i++) {
        struct boot_entry entry;
        if (core_boot_view(f->core, keys[i], &f->log, &entry))
            boot_entry_encode(&entry, &entries);
        else
            boot_key_encode(keys[i], &entries);
    }
    f->sent_bytes += entries.len;
    arena_reset(&f->log);
    arena_reset(&f->arena);
    f->fx = (struct effects){0};
}

static int64_t step(struct fleet *f, struct command command)
{
    struct outcome out;
    command.actor = STR("bench");
    command.now_ms = ++f->now;
    /* A boot server's changes are recorded once in a second, which never passes here. */
    command.mono_ms = 1000000;
    command.nonce[0] = (uint64_t)f->now;
    core_step(f->core, &command, &f->arena, &f->fx, &out);
    if (out.verdict != VERDICT_DONE)
        die(out.problems ? str_z(&f->arena, out.problems->text) : "a command needs hooks");
    f->steps++;
    return out.id;
}

/* While a fleet is made, a batch has many steps. */
static int64_t make(struct fleet *f, struct command command)
{
    const int64_t id = step(f, command);
    if (f->steps % STEPS_PER_BATCH == 0)
        collect(f);
    return id;
}

static void anneal(struct fleet *f)
{
    while (core_has_work(f->core)) {
        step(f, (struct command){.kind = COMMAND_ANNEAL});
        collect(f);
    }
}

static struct str json(struct fleet *f, const char *quoted)
{
    struct str s = str_copy(&f->arena, str_from(quoted));
    char *at = (char *)(uintptr_t)s.at;
    for (uint32_t i = 0; i < s.len; i++)
        if (at[i] == '\'')
            at[i] = '"';
    return s;
}

static int64_t find(struct fleet *f, enum table table, const char *name)
{
    const int64_t id = core_find(f->core, table, str_from(name));
    if (!id)
        die(name);
    return id;
}

/* All runs succeed, also those that follow. */
static void finish_runs(struct fleet *f)
{
    anneal(f);
    for (int64_t id; (id = core_next_id(f->core, TABLE_RUN, 0)) != 0; anneal(f)) {
        struct record record;
        if (!core_record(f->core, TABLE_RUN, id, &record) || record.run.state != RUN_RUNNING)
            die("a run does not start");
        step(f,
             (struct command){
                 .kind = COMMAND_RUN_DONE,
                 .run_done = {.run_id = id, .attempt = record.run.attempt, .result = RESULT_OK}});
        collect(f);
    }
}

static void acknowledge(struct fleet *f, enum boot_event event)
{
    step(f,
         (struct command){.kind = COMMAND_BOOT_SERVER,
                          .boot_server = {.node_id = f->server, .event = event, .turn = f->turn}});
    collect(f);
}

/* The networks of PER_NETWORK machines each. All parts of their addresses have three digits. */
static void make_networks(struct fleet *f)
{
    for (uint32_t i = 0; i <= NETWORKS; i++) {
        char name[16], ranges[128];
        snprintf(name, sizeof name, "net%u", i);
        snprintf(ranges, sizeof ranges,
                 "[{'name':'host','first':'10.%u.100.100/16','last':'10.%u.199.199/16'}]", 100 + i,
                 100 + i);
        make(f, (struct command){
                    .kind = COMMAND_NETWORK_CREATE,
                    .network_create = {.name = str_from(name),
                                       .given = GIVEN_NETWORK_CONDUIT | GIVEN_NETWORK_CATEGORY,
                                       .category = STR("admin"),
                                       .conduit = STR("1g0"),
                                       .ranges = json(f, ranges)}});
    }
}

static int64_t make_node(struct fleet *f, uint32_t number, bool is_alive)
{
    char name[32], hint[64];
    snprintf(name, sizeof name, "m%06u.bench.example", number);
    snprintf(hint, sizeof hint, "{'admin_macs':['52:54:%02x:%02x:%02x:%02x']}", number >> 24,
             number >> 16 & 255, number >> 8 & 255, number & 255);
    return make(f, (struct command){.kind = COMMAND_NODE_CREATE,
                                    .node_create = {.name = str_from(name),
                                                    .alive = is_alive,
                                                    .available = true,
                                                    .bootenv = STR("local"),
                                                    .hint = json(f, hint)}});
}

static int64_t make_machine(struct fleet *f, uint32_t number, int64_t role)
{
    char address[32];
    const int64_t node = make_node(f, number, true);
    const uint32_t network =
                       number < UNUSED_IDS ? NETWORKS : number % UNUSED_NODE_IDS / PER_NETWORK,
                   host = number % PER_NETWORK;
    snprintf(address, sizeof address, "10.%u.%u.%u", 100 + network, 100 + host / 100,
             100 + host % 100);
    make(f, (struct command){.kind = COMMAND_NETWORK_ALLOCATE,
                             .network_allocate = {.node_id = node,
                                                  .range_id = 1 + network,
                                                  .address = str_from(address)}});
    make(f, (struct command){.kind = COMMAND_NODEROLE_BIND,
                             .noderole_bind = {.node_id = node, .role_id = role}});
    return node;
}

static void delete_node(struct fleet *f, int64_t id)
{
    make(f, (struct command){.kind = COMMAND_NODE_DELETE, .node_delete = {.id = id}});
}

static void skip_ids(struct fleet *f, int64_t role)
{
    for (uint32_t i = 0; i < UNUSED_IDS; i++)
        delete_node(f, make_machine(f, i, role));
    for (uint32_t i = UNUSED_IDS; i < UNUSED_NODE_IDS; i++)
        delete_node(f, make_node(f, i, false));
}

static void bind_on_server(struct fleet *f, const char *role)
{
    make(f, (struct command){
                .kind = COMMAND_NODEROLE_BIND,
                .noderole_bind = {.node_id = f->server, .role_id = find(f, TABLE_ROLE, role)}});
}

/* Both fleets have had the same number of runs when this returns, so that equal changes have equal
 * sizes. */
static void make_servers(struct fleet *f)
{
    struct record record;
    f->server = make_node(f, 2 * UNUSED_NODE_IDS, true);
    for (int64_t id = 0; (id = core_next_id(f->core, TABLE_OUTBOX, id)) != 0;) /* its probe */
        make(f, (struct command){.kind = COMMAND_OUTBOX_DONE, .outbox_done = {.outbox_id = id}});
    bind_on_server(f, "server");
    bind_on_server(f, "database");
    make(f, (struct command){.kind = COMMAND_DEPLOYMENT_COMMIT, .deployment_commit = {.id = 1}});
    collect(f);
    finish_runs(f);
    acknowledge(f, BOOT_EVENT_CONNECTED);
    acknowledge(f, BOOT_EVENT_TAKEN);
    for (int64_t id = 0; (id = core_next_id(f->core, TABLE_NODEROLE, id)) != 0;)
        f->publisher = id; /* the last one that was bound */
    while (core_record(f->core, TABLE_NODEROLE, f->publisher, &record) &&
           record.noderole.attempt < RUNS_BEFORE) {
        step(f, (struct command){.kind = COMMAND_NODEROLE_ENQUEUE,
                                 .noderole_enqueue = {.id = f->publisher}});
        finish_runs(f);
    }
    if (record.noderole.attempt != RUNS_BEFORE || record.noderole.boot_cursor != BOOT_CURSOR_END)
        die("the machines are not published, or in too many runs");
}

static void fleet_open(struct fleet *f, uint32_t machines)
{
    *f = (struct fleet){
        .core = core_new(), .now = 1700000000000, .turn = FIRST_TURN, .machine_count = machines};
    f->machines = calloc(machines, sizeof *f->machines);
    if (!f->machines)
        die("no memory");
    core_bootstrap(f->core, f->now);
    make(f, (struct command){
                .kind = COMMAND_IMPORT,
                .import = {.barclamp = json(
                               f, "{'barclamp':{'name':'bench','source_path':'/bench'},"
                                  "'jigs':[{'name':'noop','class':'noop'},"
                                  "{'name':'script','class':'script'},"
                                  "{'name':'native','class':'native'}],"
                                  "'bootenvs':[{'name':'image','method':'image',"
                                  "'os':'bench','kernel':'bench/linux','initrd':['bench/initrd'],"
                                  "'args':'quiet'}],'roles':["
                                  "{'name':'found','jig':'noop','flags':['discovery']},"
                                  "{'name':'server','jig':'native','flags':['serves-boot']},"
                                  "{'name':'database','jig':'script','flags':['serves-boot']},"
                                  "{'name':'names','jig':'noop',"
                                  "'lists-services':'names-list','attribs':["
                                  "{'name':'names-list','map':'names/list',"
                                  "'default':[{'name':'system'}]}]}]}")}});
    /* The service that names are published by exists while the role that lists it is active. */
    make(f, (struct command){.kind = COMMAND_NODEROLE_BIND,
                             .noderole_bind = {.node_id = core_next_id(f->core, TABLE_NODE, 0),
                                               .role_id = find(f, TABLE_ROLE, "names")}});
    make(f, (struct command){.kind = COMMAND_DEPLOYMENT_COMMIT, .deployment_commit = {.id = 1}});
    anneal(f);
    make_networks(f);
    const int64_t role = find(f, TABLE_ROLE, "found");
    skip_ids(f, role);
    for (uint32_t i = 0; i < machines; i++)
        f->machines[i] = make_machine(f, UNUSED_NODE_IDS + i, role);
    make(f, (struct command){.kind = COMMAND_DEPLOYMENT_COMMIT, .deployment_commit = {.id = 1}});
    anneal(f);
    collect(f);
    make_servers(f);
}

static void fleet_close(struct fleet *f)
{
    core_free(f->core);
    arena_fini(&f->arena);
    arena_fini(&f->log);
    free(f->machines);
}

static uint32_t machines_in_view(const struct core *c)
{
    uint32_t count = 0;
    for (struct boot_key key = {0}; core_boot_next(c, &key);)
        count += key.kind == BOOT_MACHINE;
    return count;
}

/* ---- 1: a change of environment ---- */

struct change_cost {
    double us, stored_bytes, sent_bytes; /* of one change */
};

static void change_environment(struct fleet *f, int64_t node)
{
    struct record record;
    if (!core_record(f->core, TABLE_NODE, node, &record))
        die("a machine is missing");
    const bool is_local = str_eq(record.node.bootenv, STR("local"));
    step(f, (struct command){.kind = COMMAND_NODE_UPDATE,
                             .node_update = {.id = node,
                                             .given = GIVEN_NODE_BOOTENV,
                                             .bootenv = is_local ? STR("image") : STR("local")}});
    collect(f);
    acknowledge(f, BOOT_EVENT_TAKEN);
    finish_runs(f);
}

static void check_served(struct fleet *f)
{
    for (uint32_t i = 0; i < f->machine_count; i++) {
        struct boot_serving *all;
        const uint32_t count = core_boot_servings(f->core, f->machines[i], &f->arena, &all);
        if (count != 2 || !all[0].is_served || !all[1].is_served)
            die("a machine is not served");
        arena_reset(&f->arena);
    }
}

static struct change_cost time_changes(struct fleet *f, struct prng *random)
{
    f->stored_bytes = f->sent_bytes = 0;
    const double before = busy_ms();
    for (uint32_t i = 0; i < CHANGES; i++)
        change_environment(f, f->machines[prng_below(random, f->machine_count)]);
    return (struct change_cost){.us = (busy_ms() - before) * 1e3 / CHANGES,
                                .stored_bytes = (double)f->stored_bytes / CHANGES,
                                .sent_bytes = (double)f->sent_bytes / CHANGES};
}

/* Machines whose environments are equally long: "local" and "image". */
struct comparison {
    double time, stored, sent; /* the large fleet in relation to the small one */
};

static struct comparison measure_changes(struct fleet *few, struct fleet *many)
{
    double few_us[ROUNDS], many_us[ROUNDS];
    struct change_cost small = {0}, large = {0};
    struct comparison result = {0};
    struct prng random;
    prng_init(&random, 17);
    for (int i = 0; i < ROUNDS; i++) {
        small = time_changes(few, &random);
        large = time_changes(many, &random);
        few_us[i] = small.us;
        many_us[i] = large.us;
        const double stored = large.stored_bytes / small.stored_bytes;
        const double sent = large.sent_bytes / small.sent_bytes;
        result.stored = stored > result.stored ? stored : result.stored;
        result.sent = sent > result.sent ? sent : result.sent;
    }
    const double ours = median(many_us), theirs = median(few_us);
    result.time = ours / theirs;
    check_served(few);
    check_served(many);
    printf("a change of environment: %.1f us with %u machines, %.1f us with %u, ratio %.2f\n",
           theirs, few->machine_count, ours, many->machine_count, result.time);
    printf("its bytes to the store: %.1f and %.1f, to a boot server: %.1f and %.1f\n",
           small.stored_bytes, large.stored_bytes, small.sent_bytes, large.sent_bytes);
    return result;
}

/* ---- 2: a base image ---- */

static double measure_image(struct fleet *f)
{
    double ms[ROUNDS];
    uint64_t bytes = 0;
    uint32_t entries = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const double before = busy_ms();
        bytes = entries = 0;
        for (struct boot_key key = {0}; core_boot_next(f->core, &key); entries++) {
            struct buf image = buf_in(&f->log);
            struct boot_entry entry;
            if (!core_boot_view(f->core, key, &f->log, &entry))
                die("an entry is not in the view");
            boot_entry_encode(&entry, &image);
            bytes += image.len;
            arena_reset(&f->log);
        }
        ms[i] = busy_ms() - before;
    }
    const double image_ms = median(ms);
    printf("base image of %u machines: %.0f ms, %u entries, %.1f MB\n", f->machine_count, image_ms,
           entries, (double)bytes / 1e6);
    return image_ms;
}

/* ---- 3: memory ---- */

static double measure_memory(void)
{
    const double bytes = 2.0 * sizeof(struct boot_state);
    printf("memory of the boot view for a machine and its name: %.0f bytes\n", bytes);
    return bytes;
}

/* ---- all of it ---- */

static bool within(const char *what, double figure, double bound)
{
    if (figure <= bound)
        return true;
    fprintf(stderr, "bench-boot-view: %s is %.4g, wanted at most %.4g\n", what, figure, bound);
    return false;
}

static int usage(FILE *to, int status)
{
    fprintf(
        to,
        "bench-boot-view [--machines N] [--strict]\n"
        "What a change of environment costs with N machines (100000), beside the same with 100.\n"
        "With --strict the exit status is 1 when a figure misses its bound: 1.5 times the time,\n"
        "the same bytes to the store and to a boot server; 500 ms for a base image; 300 bytes of\n"
        "memory for a machine.\n");
    return status;
}

int main(int argc, char **argv)
{
    unsigned long machines = 100000;
    bool is_strict = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            return usage(stdout, 0);
        if (strcmp(argv[i], "--strict") == 0)
            is_strict = true;
        else if (strcmp(argv[i], "--machines") == 0 && i + 1 < argc)
            machines = strtoul(argv[++i], NULL, 10);
        else
            return usage(stderr, 2);
    }
    if (machines < 1000 || machines > 100000)
        return usage(stderr, 2);
    struct fleet few, many;
    fleet_open(&few, SMALL);
    fleet_open(&many, (uint32_t)machines);
    if (machines_in_view(few.core) != SMALL || machines_in_view(many.core) != machines)
        die("not every machine is in the boot view");
    const struct comparison change = measure_changes(&few, &many);
    bool ok = within("the time of a change", change.time, 1.5);
    ok &= within("what a change writes to the store", change.stored, 1);
    ok &= within("what a change sends to a boot server", change.sent, 1);
    ok &= within("the time of a base image in ms", measure_image(&many), 500);
    ok &= within("the memory of a machine in bytes", measure_memory(), 300);
    fleet_close(&few);
    fleet_close(&many);
    return ok || !is_strict ? 0 : 1;
}
