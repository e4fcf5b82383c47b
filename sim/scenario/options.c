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
    return "halligan-sim - the engine in simulated worlds\n"
           "\n"
           "  --seed N        the first world (1)\n"
           "  --seeds K       how many worlds (1)\n"
           "  --nodes N       machines in each (drawn from the seed)\n"
           "  --roles R       roles in each (drawn)\n"
           "  --hours H       simulated hours with faults (drawn)\n"
           "  --faults LIST   only these, by kind or group: run answer runner hook veto node\n"
           "                  power store crash clock operator; or none (all)\n"
           "  --jobs J        processes (as many as processors)\n"
           "  --transcript    print a hash per world of all commands in and effects out\n"
           "  --replay FILE   step the commands of a failure again\n"
           "  --rack          machines that are installed by the shipped roles, with their Lua;\n"
           "                  of the above only seeds, jobs and transcript count\n"
           "  --trace         tell everything that happens in a rack\n"
           "  --barclamps DIR whose roles these are (barclamps)\n"
           "\n"
           "Exit status: 0 every world was right, 1 one was not, 2 the command line was not.\n";
}

static bool parse_number(const char *text, uint64_t *out_value)
{
    char *end = NULL;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-')
        return false;
    *out_value = value;
    return true;
}

/* One word of --faults, a kind or a group. */
static bool allow(struct options *options, const char *word, size_t len)
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

static bool parse_faults(struct options *options, const char *list)
{
    memset(options->allowed, 0, sizeof options->allowed);
    while (*list) {
        const size_t len = strcspn(list, ",");
        if (!allow(options, list, len))
            return false;
        list += len + (list[len] == ',');
    }
    return true;
}

static bool parse_flag(struct options *options, const char *word)
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

static bool parse_value(struct options *options, const char *word, const char *value)
{
    uint64_t number = 0;
    if (!strcmp(word, "--faults"))
        return parse_faults(options, value);
    if (!strcmp(word, "--replay"))
        return (options->replay = value) != NULL;
    if (!strcmp(word, "--barclamps"))
        return (options->barclamps = value) != NULL;
    if (!parse_number(value, &number))
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
        if (parse_flag(out_options, argv[i]))
            continue;
        if (i + 1 >= argc || !parse_value(out_options, argv[i], argv[i + 1]))
            return false;
        i++;
    }
    return true;
}

/* Half of the faults, each rare, usual or frequent. Storms of what ends a process are rare only. */
static void draw_rates(const struct options *options, struct prng *chance, struct draw *draw)
{
    static const uint32_t rates[] = {5, 20, 60, 150};
    for (uint32_t i = 0; i < FAULT_COUNT; i++) {
        const bool on = prng_chance(chance, 500);
        const uint32_t rate = rates[prng_below(chance, 4)];
        draw->rate[i] = on && options->allowed[i] ? rate : 0;
    }
    if (draw->rate[FAULT_CRASH] > 20)
        draw->rate[FAULT_CRASH] = 20;
    if (draw->rate[FAULT_RUNNER_CRASH] > 20)
        draw->rate[FAULT_RUNNER_CRASH] = 20;
    if (draw->rate[FAULT_STORE_REFUSED] > 60)
        draw->rate[FAULT_STORE_REFUSED] = 60;
    /* Asked only when somebody dies with a batch on its way, which is rare enough. */
    if (draw->rate[FAULT_STORE_LOST_TAIL])
        draw->rate[FAULT_STORE_LOST_TAIL] = 500;
}

struct draw options_draw(const struct options *options, uint64_t seed)
{
    struct prng chance;
    prng_init(&chance, seed * 0x9e3779b97f4a7c15u + 1);
    struct draw draw = {.seed = seed};
    draw.nodes = (uint32_t)prng_between(&chance, 4, 10);
    draw.roles = (uint32_t)prng_between(&chance, 6, 14);
    draw.hours = prng_between(&chance, 12, 60);
    draw.commands = (uint32_t)prng_between(&chance, 120, 300);
    draw_rates(options, &chance, &draw);
    static const uint32_t every[] = {1, 8, 16, 32, 32, 64, 64, 64};
    draw.reload_every = every[prng_below(&chance, 8)];
    draw.pool_normal = (uint32_t)prng_between(&chance, 1, 10);
    draw.pool_high = (uint32_t)prng_between(&chance, 1, 3);
    draw.test_jig = prng_chance(&chance, 300);
    draw.thorough = prng_chance(&chance, 60);
    if (options->nodes)
        draw.nodes = options->nodes;
    if (options->roles)
        draw.roles = options->roles;
    if (options->hours)
        draw.hours = options->hours;
    return draw;
}

void options_describe(const struct draw *draw, char *text, uint32_t size)
{
    int len = snprintf(text, size,
                       "seed %llu: %u nodes, %u roles, %lld hours, %u commands, pools %u+%u, "
                       "test jig %s, I1 every %u, faults:",
                       (unsigned long long)draw->seed, draw->nodes, draw->roles,
                       (long long)draw->hours, draw->commands, draw->pool_normal, draw->pool_high,
                       draw->test_jig ? "on" : "off", draw->reload_every);
    for (uint32_t i = 0; i < FAULT_COUNT && len > 0 && (uint32_t)len < size; i++)
        if (draw->rate[i])
            len +=
                snprintf(text + len, size - (uint32_t)len, " %s=%u", faults[i].name, draw->rate[i]);
}
