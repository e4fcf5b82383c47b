#include "sim/scenario/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/prng.h"

static const struct {
    const char *name;
    const char *group;
} faults[FAULT_COUNT] = {
#define X(upper, text, class) [FAULT_##upper] = {text, class},
    SIM_FAULTS(X)
#undef X
};

const char *fault_name(enum sim_fault fault)
{
    must(fault < FAULT_COUNT);
    return faults[fault].name;
}

const char *options_help(void)
{
    return "halligan-sim - run the engine in simulated worlds with faults\n"
           "\n"
           "  --seed N        seed of the first world (1)\n"
           "  --seeds K       number of worlds (1)\n"
           "  --nodes N       machines in each world (derived from the seed)\n"
           "  --roles R       roles in each world (derived from the seed)\n"
           "  --hours H       simulated hours with faults (derived from the seed)\n"
           "  --faults LIST   inject only these kinds or groups of faults: run answer runner hook\n"
           "                  veto node boot power store crash clock operator; or none (all)\n"
           "  --jobs J        number of processes (number of processors)\n"
           "  --transcript    print for each world a hash of all commands and effects\n"
           "  --replay FILE   execute the recorded commands of a failure again\n"
           "  --rack          simulate machines that the shipped roles install, with their\n"
           "                  Lua code; only --seed, --seeds, --jobs and --transcript apply\n"
           "  --trace         print every event of a rack\n"
           "  --barclamps DIR directory of the roles of a rack (barclamps)\n"
           "\n"
           "Exit status: 0 no violation, 1 a violated invariant, 2 an invalid command line.\n";
}

static bool options_parse_number(const char *text, uint64_t *out_value)
{
    char *end = NULL;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-')
        return false;
    *out_value = value;
    return true;
}

/* Allows one item of --faults, a kind or a group. */
static bool options_allow_fault(struct options *options, const char *word, size_t len)
{
    bool known = len == 4 && strncmp(word, "none", len) == 0;
    for (uint32_t i = 0; i < FAULT_COUNT; i++) {
        const bool is_kind = strlen(faults[i].name) == len && !strncmp(faults[i].name, word, len);
        const bool is_group =
            strlen(faults[i].group) == len && !strncmp(faults[i].group, word, len);
        const bool all = len == 3 && strncmp(word, "all", len) == 0;
        if (is_kind || is_group || all)
            known = options->allowed[i] = true;
    }
    return known;
}

static bool options_parse_faults(struct options *options, const char *list)
{
    memset(options->allowed, 0, sizeof options->allowed);
    while (*list) {
        const size_t len = strcspn(list, ",");
        if (!options_allow_fault(options, list, len))
            return false;
        list += len + (list[len] == ',');
    }
    return true;
}

static bool options_parse_flag(struct options *options, const char *word)
{
    if (!strcmp(word, "--transcript"))
        return options->transcript = true;
    if (!strcmp(word, "--rack"))
        return options->rack = true;
    if (!strcmp(word, "--trace"))
        return options->trace = true;
    if (!strcmp(word, "--help") || !strcmp(word, "-h"))
        return options->help = true;
    return false;
}

static bool options_parse_value(struct options *options, const char *word, const char *value)
{
    uint64_t number = 0;
    if (!strcmp(word, "--faults"))
        return options_parse_faults(options, value);
    if (!strcmp(word, "--replay"))
        return (options->replay = value) != NULL;
    if (!strcmp(word, "--barclamps"))
        return (options->barclamps = value) != NULL;
    if (!options_parse_number(value, &number))
        return false;
    if (!strcmp(word, "--seed"))
        options->seed = number;
    else if (!strcmp(word, "--seeds"))
        options->seeds = number;
    else if (!strcmp(word, "--nodes") && number <= 1000)
        options->nodes = (uint32_t)number;
    else if (!strcmp(word, "--roles") && number <= 200)
        options->roles = (uint32_t)number;
    else if (!strcmp(word, "--hours") && number <= 100000)
        options->hours = (uint32_t)number;
    else if (!strcmp(word, "--jobs") && number >= 1 && number <= 256)
        options->jobs = (uint32_t)number;
    else
        return false;
    return true;
}

bool options_parse(int argc, char **argv, struct options *out_options, const char **out_what)
{
    *out_options = (struct options){.seed = 1, .seeds = 1, .barclamps = "barclamps"};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    out_options->jobs = processors > 0 && processors < 256 ? (uint32_t)processors : 1;
    for (uint32_t i = 0; i < FAULT_COUNT; i++)
        out_options->allowed[i] = true;
    for (int i = 1; i < argc; i++) {
        *out_what = argv[i];
        if (options_parse_flag(out_options, argv[i]))
            continue;
        if (i + 1 >= argc || !options_parse_value(out_options, argv[i], argv[i + 1]))
            return false;
        i++;
    }
    return true;
}

/* About half of the faults, each at one of four rates. The rates of crashes are limited, because a
 * process that crashes all the time executes little else. */
static void scenario_draw_rates(const struct options *options, struct prng *chance,
                                struct scenario *scenario)
{
    static const uint32_t rates[] = {5, 20, 60, 150};
    for (uint32_t i = 0; i < FAULT_COUNT; i++) {
        const bool on = prng_chance(chance, 500);
        const uint32_t rate = rates[prng_below(chance, 4)];
        scenario->rate[i] = on && options->allowed[i] ? rate : 0;
    }
    if (scenario->rate[FAULT_CRASH] > 20)
        scenario->rate[FAULT_CRASH] = 20;
    if (scenario->rate[FAULT_RUNNER_CRASH] > 20)
        scenario->rate[FAULT_RUNNER_CRASH] = 20;
    if (scenario->rate[FAULT_STORE_REFUSED] > 60)
        scenario->rate[FAULT_STORE_REFUSED] = 60;
    /* Evaluated only if a process crashes, or crashes while a batch is in flight, which is rare
     * enough. */
    if (scenario->rate[FAULT_STORE_IMPORTED])
        scenario->rate[FAULT_STORE_IMPORTED] = 300;
    if (scenario->rate[FAULT_STORE_LOST_TAIL])
        scenario->rate[FAULT_STORE_LOST_TAIL] = 500;
}

struct scenario options_scenario(const struct options *options, uint64_t seed)
{
    struct prng chance;
    prng_init(&chance, seed * 0x9e3779b97f4a7c15u + 1);
    struct scenario scenario = {.seed = seed};
    scenario.nodes = (uint32_t)prng_between(&chance, 4, 10);
    scenario.roles = (uint32_t)prng_between(&chance, 6, 14);
    scenario.hours = prng_between(&chance, 12, 60);
    scenario.commands = (uint32_t)prng_between(&chance, 120, 300);
    scenario_draw_rates(options, &chance, &scenario);
    static const uint32_t every[] = {1, 8, 16, 32, 32, 64, 64, 64};
    scenario.reload_every = every[prng_below(&chance, 8)];
    scenario.pool_normal = (uint32_t)prng_between(&chance, 1, 10);
    scenario.pool_high = (uint32_t)prng_between(&chance, 1, 3);
    scenario.test_jig = prng_chance(&chance, 300);
    scenario.thorough = prng_chance(&chance, 60);
    static const uint32_t parts[] = {1, 2, 3, 1000};
    scenario.boot_part = parts[prng_below(&chance, 4)];
    if (options->nodes)
        scenario.nodes = options->nodes;
    if (options->roles)
        scenario.roles = options->roles;
    if (options->hours)
        scenario.hours = options->hours;
    return scenario;
}

void options_describe(const struct scenario *scenario, char *text, uint32_t size)
{
    int len = snprintf(text, size,
                       "seed %llu: %u nodes, %u roles, %lld hours, %u commands, pools %u+%u, "
                       "test jig %s, parts of %u, I1 every %u, faults:",
                       (unsigned long long)scenario->seed, scenario->nodes, scenario->roles,
                       (long long)scenario->hours, scenario->commands, scenario->pool_normal,
                       scenario->pool_high, scenario->test_jig ? "on" : "off", scenario->boot_part,
                       scenario->reload_every);
    for (uint32_t i = 0; i < FAULT_COUNT && len > 0 && (uint32_t)len < size; i++)
        if (scenario->rate[i])
            len += snprintf(text + len, size - (uint32_t)len, " %s=%u", faults[i].name,
                            scenario->rate[i]);
}
