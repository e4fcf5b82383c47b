/* bench-networks - what addresses and names of machines cost.
 *
 *     bench-networks [--machines N] [--strict]
 *
 * All figures are ratios within this process, medians of three, ours and what it is compared with
 * in turns. Changes are collected in batches and encoded as for a store; there is no store. N
 * (100,000) is the size of the fleet; the parts that need fewer machines are reduced with it.
 *
 * 1. The next free address of a range of 65,000 with 50,000 taken, beside one with 100 taken.
 * 2. Machines that are created, bound and committed with an address, a MAC and a name, beside the
 *    same without them.
 * 3. Requests that arrive every millisecond while a network with 10,000 allocations is deleted and
 *    while a name filter over all allocations changes: the 99th percentile of their latency beside
 *    that of the same requests alone. Requests are served in their order, and the time of a request
 *    is the measured processor time of its steps and batches; the arrivals are computed. These
 *    ratios are printed only: the requests take a few microseconds here, and a slice some hundred.
 *    bench/networks.py bounds those of a daemon with HTTP and a store.
 * 4. Resident memory of nic, allocation and name of a machine.
 * 5. The time to load their records, beside that of nodes, for each record.
 * 6. The step that creates a range, which reads the hints of all nodes, beside the time to load
 *    their records.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/core.h"
#include "port/batch.h"

enum {
    ROUNDS = 3,
    STEPS_PER_BATCH = 100,
    RANGE_SIZE = 65000,
    FEW_TAKEN = 100,
    MANY_TAKEN = 50000,
    ALLOCATED = 1000, /* in each round of part 1 */
    REQUESTS = 2000,  /* of part 3, one each millisecond */
    EVENT_AT = 500,
};

static void die(const char *what)
{
    fprintf(stderr, "bench-networks: %s\n", what);
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
    struct arena log; /* the changes of a batch */
    int64_t now, steps, turn;
};

static void log_change(void *context, const struct change *change)
{
    batch_put(context, change);
}

static void collect(struct fleet *f)
{
    struct buf changes = buf_in(&f->log);
    core_collect(f->core, ++f->turn, log_change, &changes);
    arena_reset(&f->log);
    arena_reset(&f->arena);
    f->fx = (struct effects){0};
}

static int64_t step(struct fleet *f, struct command command)
{
    struct outcome out;
    command.actor = STR("bench");
    command.now_ms = command.mono_ms = ++f->now;
    command.nonce[0] = (uint64_t)f->now;
    core_step(f->core, &command, &f->arena, &f->fx, &out);
    if (out.verdict != VERDICT_DONE)
        die(out.problems ? str_z(&f->arena, out.problems->text) : "a command needs hooks");
    if (++f->steps % STEPS_PER_BATCH == 0)
        collect(f);
    return out.id;
}

static void anneal(struct fleet *f)
{
    while (core_has_work(f->core))
        step(f, (struct command){.kind = COMMAND_ANNEAL});
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

static void fleet_open(struct fleet *f)
{
    *f = (struct fleet){.core = core_new()};
    core_bootstrap(f->core, 1000);
    step(f,
         (struct command){
             .kind = COMMAND_IMPORT,
             .import = {.barclamp = json(f, "{'barclamp':{'name':'bench','source_path':'/bench'},"
                                            "'jigs':[{'name':'noop','class':'noop'}],"
                                            "'roles':[{'name':'base','jig':'noop'},"
                                            "{'name':'names','jig':'noop',"
                                            "'lists-services':'names-list','attribs':["
                                            "{'name':'names-list','map':'names/list',"
                                            "'default':[{'name':'system'}]}]}]}")}});
    /* The service that names are published by exists while the role that lists it is active. */
    step(f, (struct command){
                .kind = COMMAND_NODEROLE_BIND,
                .noderole_bind = {.node_id = core_next_id(f->core, TABLE_NODE, 0),
                                  .role_id = core_find(f->core, TABLE_ROLE, STR("names"))}});
    step(f, (struct command){.kind = COMMAND_DEPLOYMENT_COMMIT, .deployment_commit = {.id = 1}});
    anneal(f);
    collect(f);
}

static void fleet_close(struct fleet *f)
{
    core_free(f->core);
    arena_fini(&f->arena);
    arena_fini(&f->log);
}

/* A network with one range of RANGE_SIZE addresses, 10.N.0.10 to 10.N.253.x or so. */
static int64_t make_network(struct fleet *f, const char *name, uint32_t number)
{
    char ranges[128];
    const uint32_t last = 9 + RANGE_SIZE;
    snprintf(ranges, sizeof ranges,
             "[{'name':'host','first':'10.%u.0.10/16','last':'10.%u.%u.%u/16'}]", number, number,
             last >> 8, last & 255);
    return step(f, (struct command){
                       .kind = COMMAND_NETWORK_CREATE,
                       .network_create = {.name = str_from(name),
                                          .given = GIVEN_NETWORK_CONDUIT | GIVEN_NETWORK_CATEGORY,
                                          .category = STR("admin"),
                                          .conduit = STR("1g0"),
                                          .ranges = json(f, ranges)}});
}

/* The machine `i`; with a MAC, or with a hint of the same size that names none. */
static int64_t make_machine(struct fleet *f, uint32_t i, bool has_mac)
{
    char name[32], hint[64];
    snprintf(name, sizeof name, "m%u.bench.example", i);
    snprintf(hint, sizeof hint, "{'%s_macs':['52:54:%02x:%02x:%02x:%02x']}",
             has_mac ? "admin" : "other", i >> 24, i >> 16 & 255, i >> 8 & 255, i & 255);
    return step(f, (struct command){.kind = COMMAND_NODE_CREATE,
                                    .node_create = {.name = str_from(name),
                                                    .available = true,
                                                    .bootenv = STR("local"),
                                                    .hint = json(f, hint)}});
}

static int64_t allocate(struct fleet *f, int64_t node, int64_t range)
{
    return step(f, (struct command){.kind = COMMAND_NETWORK_ALLOCATE,
                                    .network_allocate = {.node_id = node, .range_id = range}});
}

static void make_filter(struct fleet *f, const char *name, uint32_t priority)
{
    step(f, (struct command){.kind = COMMAND_DNS_NAME_FILTER_CREATE,
                             .dns_name_filter_create = {.given = 31,
                                                        .name = str_from(name),
                                                        .matcher = STR("net.category == \"admin\""),
                                                        .priority = priority,
                                                        .service = STR("system"),
                                                        .template = STR("{{node.name}}")}});
}

/* ---- 1: the next free address ---- */

static double time_allocations(struct fleet *f, uint32_t *next_machine, int64_t range)
{
    static int64_t nodes[ALLOCATED];
    for (uint32_t i = 0; i < ALLOCATED; i++)
        nodes[i] = make_machine(f, (*next_machine)++, false);
    collect(f);
    const double before = busy_ms();
    for (uint32_t i = 0; i < ALLOCATED; i++)
        allocate(f, nodes[i], range);
    return (busy_ms() - before) * 1e3 / ALLOCATED;
}

/* Each round frees and takes an address in the middle too, so that the search has reason to go
 * back. */
static double measure_allocation(uint32_t many)
{
    struct fleet f;
    double few_us[ROUNDS], many_us[ROUNDS];
    uint32_t next = 0;
    fleet_open(&f);
    make_network(&f, "few", 1);
    make_network(&f, "many", 2);
    int64_t middle = 0;
    for (uint32_t i = 0; i < FEW_TAKEN; i++)
        allocate(&f, make_machine(&f, next++, false), 1);
    for (uint32_t i = 0; i < many; i++) {
        const int64_t id = allocate(&f, make_machine(&f, next++, false), 2);
        middle = i == many / 2 ? id : middle;
    }
    step(&f, (struct command){.kind = COMMAND_NETWORK_DEALLOCATE,
                              .network_deallocate = {.id = middle}});
    for (int i = 0; i < ROUNDS; i++) {
        few_us[i] = time_allocations(&f, &next, 1);
        many_us[i] = time_allocations(&f, &next, 2);
    }
    fleet_close(&f);
    const double few = median(few_us), all = median(many_us);
    printf("next free address: %.2f us with %d taken, %.2f us with %u taken, ratio %.2f\n", few,
           FEW_TAKEN, all, many, all / few);
    return all / few;
}

/* ---- 2: machines with and without networks ---- */

static double time_machines(uint32_t count, bool has_networks)
{
    struct fleet f;
    fleet_open(&f);
    if (has_networks) {
        make_network(&f, "admin", 1);
        make_filter(&f, "names", 7);
    }
    const int64_t role = core_find(f.core, TABLE_ROLE, STR("base"));
    const double before = busy_ms();
    for (uint32_t i = 0; i < count; i++) {
        const int64_t node = make_machine(&f, i, has_networks);
        if (has_networks)
            allocate(&f, node, 1);
        step(&f, (struct command){.kind = COMMAND_NODEROLE_BIND,
                                  .noderole_bind = {.node_id = node, .role_id = role}});
        step(&f, (struct command){.kind = COMMAND_NODE_COMMIT, .node_commit = {.id = node}});
    }
    anneal(&f);
    collect(&f);
    const double cost = busy_ms() - before;
    fleet_close(&f);
    return cost;
}

static double measure_machines(uint32_t count)
{
    double with[ROUNDS], without[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        without[i] = time_machines(count, false);
        with[i] = time_machines(count, true);
    }
    const double ours = median(with), theirs = median(without);
    printf("%u machines created and committed: %.0f ms, with addresses and names %.0f ms, "
           "ratio %.2f\n",
           count, theirs, ours, ours / theirs);
    return ours / theirs;
}

/* ---- 3: other requests ---- */

struct latency {
    double p99_us, longest_ms; /* longest: step with its batch, of any kind */
};

static double timed_step(struct fleet *f, const struct command *command, double *longest)
{
    const double before = busy_ms();
    step(f, *command);
    collect(f);
    const double cost = busy_ms() - before;
    *longest = cost > *longest ? cost : *longest;
    return cost;
}

/* The requests update a group. At EVENT_AT the event is executed, if there is one, and then the
 * work that is left, one slice between two requests as the daemon does it. */
static struct latency serve(struct fleet *f, int64_t group, const struct command *event)
{
    static double latency_us[REQUESTS];
    static const struct command slice = {.kind = COMMAND_ANNEAL};
    struct latency result = {0};
    double free_at = 0; /* when the server has done what it began */
    for (int i = 0; i < REQUESTS; i++) {
        const double arrival = i;
        if (event && i == EVENT_AT)
            free_at =
                (free_at > arrival ? free_at : arrival) + timed_step(f, event, &result.longest_ms);
        char text[32];
        snprintf(text, sizeof text, "request %d %lld", i, (long long)f->now);
        const struct command request = {.kind = COMMAND_GROUP_UPDATE,
                                        .group_update = {.id = group,
                                                         .given = GIVEN_DESCRIPTION,
                                                         .description = str_from(text)}};
        const double begin = free_at > arrival ? free_at : arrival;
        free_at = begin + timed_step(f, &request, &result.longest_ms);
        latency_us[i] = (free_at - arrival) * 1e3;
        while (core_has_work(f->core) && free_at < arrival + 1)
            free_at += timed_step(f, &slice, &result.longest_ms);
    }
    while (core_has_work(f->core))
        timed_step(f, &slice, &result.longest_ms);
    qsort(latency_us, REQUESTS, sizeof *latency_us, by_value);
    result.p99_us = latency_us[REQUESTS * 99 / 100];
    return result;
}

static double compare_latency(const char *what, struct fleet *f, int64_t group,
                              const struct command *event)
{
    const struct latency alone = serve(f, group, NULL), beside = serve(f, group, event);
    printf("%s: p99 of other requests %.1f us, alone %.1f us, ratio %.2f; longest step %.1f ms\n",
           what, beside.p99_us, alone.p99_us, beside.p99_us / alone.p99_us, beside.longest_ms);
    return beside.p99_us / alone.p99_us;
}

static double measure_deletion(uint32_t count)
{
    double ratios[ROUNDS];
    struct fleet f;
    fleet_open(&f);
    const int64_t group = step(
        &f, (struct command){.kind = COMMAND_GROUP_CREATE, .group_create = {.name = STR("g")}});
    const int64_t first = make_machine(&f, 0, false);
    for (uint32_t i = 1; i < count; i++)
        make_machine(&f, i, false);
    for (int round = 0; round < ROUNDS; round++) {
        char name[16], what[64];
        snprintf(name, sizeof name, "net%d", round);
        const int64_t network = make_network(&f, name, (uint32_t)round + 1);
        for (uint32_t i = 0; i < count; i++)
            allocate(&f, first + i, round + 1);
        anneal(&f);
        collect(&f);
        const struct command event = {.kind = COMMAND_NETWORK_DELETE,
                                      .network_delete = {.id = network}};
        snprintf(what, sizeof what, "deleting a network with %u addresses", count);
        ratios[round] = compare_latency(what, &f, group, &event);
    }
    fleet_close(&f);
    return median(ratios);
}

static double measure_filter(uint32_t count)
{
    double ratios[ROUNDS];
    struct fleet f;
    fleet_open(&f);
    const int64_t group = step(
        &f, (struct command){.kind = COMMAND_GROUP_CREATE, .group_create = {.name = STR("g")}});
    make_network(&f, "one", 1);
    make_network(&f, "two", 2);
    make_filter(&f, "names", 7);
    for (uint32_t i = 0; i < count; i++)
        allocate(&f, make_machine(&f, i, false), 1 + i % 2);
    anneal(&f);
    collect(&f);
    for (int round = 0; round < ROUNDS; round++) {
        char template[32], what[64];
        snprintf(template, sizeof template, "{{node.name}}-%d", round);
        const struct command event = {
            .kind = COMMAND_DNS_NAME_FILTER_UPDATE,
            .dns_name_filter_update = {.id = core_next_id(f.core, TABLE_DNS_NAME_FILTER, 0),
                                       .given = GIVEN_FILTER_TEMPLATE,
                                       .template = str_from(template)}};
        snprintf(what, sizeof what, "changing a filter over %u addresses", count);
        ratios[round] = compare_latency(what, &f, group, &event);
    }
    fleet_close(&f);
    return median(ratios);
}

/* ---- 4: memory ---- */

static double resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*u %lu", &pages) != 1)
        die("the resident memory cannot be read");
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void fill(struct fleet *f, uint32_t count, bool has_networks)
{
    fleet_open(f);
    make_network(f, "one", 1);
    make_network(f, "two", 2);
    if (has_networks)
        make_filter(f, "names", 7);
    for (uint32_t i = 0; i < count; i++) {
        const int64_t node = make_machine(f, i, has_networks);
        if (has_networks)
            allocate(f, node, 1 + i % 2);
    }
    anneal(f);
    collect(f);
}

/* Both fleets exist at the same time, so that the second does not use memory of the first. */
static double measure_memory(uint32_t count, struct fleet *out_fleet)
{
    struct fleet without;
    const double before = resident_bytes();
    fill(&without, count, false);
    const double between = resident_bytes();
    fill(out_fleet, count, true);
    const double after = resident_bytes();
    const double bytes = ((after - between) - (between - before)) / count;
    printf("memory of a machine: %.0f bytes, of its nic, address and name %.0f bytes "
           "(%u nics, %u addresses, %u names)\n",
           (between - before) / count, bytes, core_count(out_fleet->core, TABLE_NIC),
           core_count(out_fleet->core, TABLE_NETWORK_ALLOCATION),
           core_count(out_fleet->core, TABLE_DNS_NAME_ENTRY));
    fleet_close(&without);
    return bytes;
}

/* ---- 5: loading ---- */

/* Loads all records into a second core. out_us: for a record of a node, and of the other tables
 * together. */
static void time_load(struct core *from, double *out_node_us, double *out_other_us)
{
    static const enum table others[] = {TABLE_NIC, TABLE_NETWORK_ALLOCATION, TABLE_DNS_NAME_ENTRY};
    struct core *to = core_new();
    double cost[TABLE_COUNT] = {0};
    const char *what;
    for (uint32_t t = 0; t < TABLE_OBJECTS; t++) {
        const double before = busy_ms();
        struct record record;
        for (int64_t id = 0; (id = core_next_id(from, (enum table)t, id)) != 0;)
            if (!core_record(from, (enum table)t, id, &record) ||
                core_load(to, &record, &what) != OK)
                die("a record is not loaded");
        cost[t] = busy_ms() - before;
    }
    if (core_load_end(to, 1000, &what) != OK)
        die(what);
    core_free(to);
    double sum = 0, count = 0;
    for (uint32_t i = 0; i < sizeof others / sizeof *others; i++) {
        sum += cost[others[i]];
        count += core_count(from, others[i]);
    }
    *out_node_us = cost[TABLE_NODE] * 1e3 / core_count(from, TABLE_NODE);
    *out_other_us = sum * 1e3 / count;
}

static double measure_load(struct fleet *f, double *out_node_us)
{
    double node_us[ROUNDS], other_us[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        time_load(f->core, &node_us[i], &other_us[i]);
    const double node = median(node_us), other = median(other_us);
    printf("loading a record: %.2f us of a node, %.2f us of nic, address and name, ratio %.2f\n",
           node, other, other / node);
    *out_node_us = node;
    return other / node;
}

/* ---- 6: a range beside the hints of all nodes ---- */

static double measure_range(struct fleet *f, double node_us)
{
    double us[ROUNDS];
    const uint32_t nodes = core_count(f->core, TABLE_NODE);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        char name[16], first[32], last[32];
        snprintf(name, sizeof name, "more%u", round);
        snprintf(first, sizeof first, "10.200.%u.10/24", round);
        snprintf(last, sizeof last, "10.200.%u.99/24", round);
        const struct command create = {
            .kind = COMMAND_NETWORK_RANGE_CREATE,
            .network_range_create = {.network_id = core_find(f->core, TABLE_NETWORK, STR("one")),
                                     .name = str_from(name),
                                     .first = str_from(first),
                                     .last = str_from(last)}};
        const double before = busy_ms();
        step(f, create);
        us[round] = (busy_ms() - before) * 1e3 / nodes;
    }
    const double each = median(us);
    printf(
        "creating a range: %.3f us for each of %u nodes, %.1f ms in all, ratio %.2f to loading\n",
        each, nodes, each * nodes / 1e3, each / node_us);
    return each / node_us;
}

/* ---- all of it ---- */

static bool within(const char *what, double figure, double bound)
{
    if (figure <= bound)
        return true;
    fprintf(stderr, "bench-networks: %s is %.3g, wanted at most %.3g\n", what, figure, bound);
    return false;
}

static int usage(FILE *to, int status)
{
    fprintf(to,
            "bench-networks [--machines N] [--strict]\n"
            "What addresses and names cost in a fleet of N machines (100000), beside the same\n"
            "without them. With --strict the exit status is 1 when a figure misses its bound:\n"
            "the next free address with 50000 taken 2 times the one with 100 taken; 10000\n"
            "machines 3 times those without networks; 1200 bytes for nic, address and name;\n"
            "1.3 times the time of a node to load a record of them; half of that for each\n"
            "node to create a range. bench/networks.py bounds the latency of other requests.\n");
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
    const uint32_t count = (uint32_t)machines;
    struct fleet fleet;
    bool ok = within("the cost of an address in a range with many taken",
                     measure_allocation(count / 2 < MANY_TAKEN ? count / 2 : MANY_TAKEN), 2);
    ok &= within("the cost of machines with networks", measure_machines(count / 10), 3);
    printf("median ratio beside a deletion %.2f\n", measure_deletion(count / 10));
    printf("median ratio beside the change of a filter %.2f\n", measure_filter(count));
    ok &= within("bytes of nic, address and name", measure_memory(count, &fleet), 1200);
    double node_us;
    ok &= within("time to load a record", measure_load(&fleet, &node_us), 1.3);
    ok &= within("time of a range for each node", measure_range(&fleet, node_us), 0.5);
    fleet_close(&fleet);
    return ok || !is_strict ? 0 : 1;
}
