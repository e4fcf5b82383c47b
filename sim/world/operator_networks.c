#include "sim/world/operator.h"

#include "base/err.h"
#include "base/net/ip.h"
#include "base/text/buf.h"

/* Actions of operators on networks, ranges and routers, and on DNS name filters.
 *
 * Addresses come from few small subnets (SUBNETS blocks of /29), so that ranges overlap, run full
 * and are created again where others were deleted. Conduits come from a short list in which some
 * share an interface. */

enum { SUBNETS = 6, SUBNET_HOSTS = 6 };

/* ---- texts ---- */

struct str networks_draw_address(struct world *w, const char *suffix)
{
    struct buf b = buf_in(&w->arena);
    const bool is_v6 = prng_chance(&w->rng, 150);
    buf_put_z(&b, is_v6 ? "fd00:0:0:" : "10.20.");
    buf_put_u64(&b, prng_below(&w->rng, SUBNETS));
    buf_put_z(&b, is_v6 ? "::" : ".");
    buf_put_u64(&b, 1 + prng_below(&w->rng, SUBNET_HOSTS));
    buf_put_z(&b, suffix);
    return buf_str(&b);
}

static struct str networks_draw_bad_address(struct world *w)
{
    static const char *const bad[] = {"",           "10.20.0.1/40", "10.20.0.300",  "FD00::1/64",
                                      "fd00::1/64", "10.20.9.0/29", "10.20.1.7/29", "\xff"};
    return str_from(bad[prng_below(&w->rng, sizeof bad / sizeof *bad)]);
}

/* First and last address of a range in one of the subnets; as a fault, one of them is wrong, or
 * they are in the wrong order. */
static void networks_draw_range(struct world *w, struct str *out_first, struct str *out_last)
{
    const uint64_t subnet = prng_below(&w->rng, SUBNETS);
    const uint64_t first = 1 + prng_below(&w->rng, 3);
    const uint64_t last = first + prng_below(&w->rng, SUBNET_HOSTS - first + 1);
    const bool is_v6 = prng_chance(&w->rng, 100);
    for (uint32_t i = 0; i < 2; i++) {
        struct buf b = buf_in(&w->arena);
        buf_put_z(&b, is_v6 ? "fd00:0:0:" : "10.20.");
        buf_put_u64(&b, subnet);
        buf_put_z(&b, is_v6 ? "::" : ".");
        buf_put_u64(&b, i ? last : first);
        buf_put_z(&b, is_v6 ? "/64" : "/29");
        *(i ? out_last : out_first) = buf_str(&b);
    }
    if (world_fault(w, FAULT_OPERATOR_WRONG)) {
        /* Two statements: the order of the two sides of an assignment is unspecified. */
        struct str *bad = prng_chance(&w->rng, 500) ? out_first : out_last;
        *bad = networks_draw_bad_address(w);
    } else if (world_fault(w, FAULT_OPERATOR_WRONG)) {
        const struct str keep = *out_first;
        *out_first = *out_last;
        *out_last = keep;
    }
}

static struct str networks_draw_range_name(struct world *w)
{
    static const char *const names[] = {"host", "host", "admin", "dhcp", "host-v6"};
    return prng_chance(&w->rng, 700) ? str_from(names[prng_below(&w->rng, 5)])
                                     : operator_dubious_name(w, "range-%u");
}

static struct str networks_draw_conduit(struct world *w)
{
    static const char *const good[] = {"1g0", "1g0", "1g0", "1g1", "10g0", "bmc"};
    static const char *const bad[] = {"", "x1g3", "1g0,1g1", "cow", "1g0,10g1", "?1g"};
    return world_fault(w, FAULT_OPERATOR_WRONG) ? str_from(bad[prng_below(&w->rng, 6)])
                                                : str_from(good[prng_below(&w->rng, 6)]);
}

/* Two interfaces; those of the second list are also used alone by other networks. */
static struct str networks_draw_team(struct world *w)
{
    return prng_chance(&w->rng, 500) ? STR("10g2,10g3") : STR("1g0,1g1");
}

static void networks_put_range(struct world *w, struct buf *b, struct str name, bool overlap)
{
    struct str first, last;
    networks_draw_range(w, &first, &last);
    buf_put_z(b, "{\"name\":\"");
    buf_put_str(b, name);
    buf_put_z(b, "\",\"first\":\"");
    buf_put_str(b, str_is_clean(first) ? first : STR(""));
    buf_put_z(b, "\",\"last\":\"");
    buf_put_str(b, str_is_clean(last) ? last : STR(""));
    buf_put_z(b, overlap ? "\",\"overlap\":true}" : "\"}");
}

/* The ranges of a new network: none, or one to three with the names that nodes and clients get
 * addresses from. */
static struct str networks_draw_ranges(struct world *w, bool overlap)
{
    static const char *const names[] = {"host", "dhcp", "admin"};
    struct buf b = buf_in(&w->arena);
    const uint64_t count = prng_below(&w->rng, 4);
    if (!count)
        return prng_chance(&w->rng, 500) ? STR("") : STR("[]");
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        return prng_chance(&w->rng, 500) ? STR("{}") : STR("[{\"colour\":1}]");
    buf_put_c(&b, '[');
    for (uint64_t i = 0; i < count; i++) {
        if (i)
            buf_put_c(&b, ',');
        networks_put_range(w, &b, str_from(names[i]), overlap);
    }
    buf_put_c(&b, ']');
    return buf_str(&b);
}

static struct str networks_draw_router(struct world *w)
{
    if (prng_chance(&w->rng, 600))
        return STR("");
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        return STR("{\"address\":\"10.20.0.999\",\"pref\":-1}");
    if (prng_chance(&w->rng, 200))
        return STR("{\"pref\":10}"); /* the first address of the first range */
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, "{\"address\":\"");
    buf_put_str(&b, networks_draw_address(w, "/29"));
    buf_put_z(&b, "\"}");
    return buf_str(&b);
}

/* ---- networks ---- */

void operator_create_network(struct world *w, const struct core *core, struct str name)
{
    static const char *const categories[] = {"admin", "general", "bmc", "storage"};
    struct command command = {.kind = COMMAND_NETWORK_CREATE};
    struct network_create_command *create = &command.network_create;
    const bool is_admin = str_eq(name, STR("admin"));
    create->name = name;
    create->given = GIVEN_NETWORK_CONDUIT | GIVEN_NETWORK_CATEGORY | GIVEN_NETWORK_CONFIGURE;
    create->deployment_id =
        prng_chance(&w->rng, 500) ? 0 : operator_pick(w, core, TABLE_DEPLOYMENT);
    create->configure = is_admin || prng_chance(&w->rng, 800);
    create->category = is_admin ? STR("admin") : str_from(categories[prng_below(&w->rng, 4)]);
    create->conduit = networks_draw_conduit(w);
    if (prng_chance(&w->rng, 300)) {
        create->given |= GIVEN_NETWORK_V6PREFIX;
        create->v6prefix = prng_chance(&w->rng, 700)
                               ? STR("auto")
                               : operator_format(w, "fd00:0:0:%u", prng_below(&w->rng, SUBNETS));
    }
    if (prng_chance(&w->rng, 200)) {
        create->given |= GIVEN_NETWORK_VLAN;
        create->vlan = world_fault(w, FAULT_OPERATOR_WRONG) ? 4095 : 7;
    }
    if (prng_chance(&w->rng, 100)) {
        create->given |= GIVEN_NETWORK_USE_TEAM;
        create->use_team = true;
        create->conduit = networks_draw_team(w);
    }
    create->ranges = networks_draw_ranges(w, !create->configure && prng_chance(&w->rng, 700));
    create->router = networks_draw_router(w);
    operator_send_command(w, &command);
}

void action_network_create(struct world *w, const struct core *core)
{
    static const char *const known[] = {"admin", "unmanaged", "bmc"};
    operator_create_network(w, core,
                            prng_chance(&w->rng, 300) ? str_from(known[prng_below(&w->rng, 3)])
                                                      : operator_dubious_name(w, "net-%u"));
}

void action_network_update(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NETWORK_UPDATE};
    struct network_update_command *update = &command.network_update;
    update->id = operator_pick(w, core, TABLE_NETWORK);
    update->given = (uint32_t)prng_below(&w->rng, 8192) &
                    (uint32_t)prng_below(&w->rng, 8192); /* few fields at a time */
    update->description = operator_format(w, "rack %u", prng_below(&w->rng, 4));
    update->order = (uint32_t)prng_below(&w->rng, 3);
    update->vlan = (int64_t)prng_below(&w->rng, 3);
    update->use_vlan = prng_chance(&w->rng, 300);
    update->use_bridge = prng_chance(&w->rng, 300);
    update->team_mode = (int64_t)prng_below(&w->rng, 9);
    update->v6prefix = prng_chance(&w->rng, 500) ? STR("auto") : STR("");
    update->conduit = networks_draw_conduit(w);
    if (prng_chance(&w->rng, 100)) {
        update->given |= GIVEN_NETWORK_USE_TEAM | GIVEN_NETWORK_CONDUIT;
        update->use_team = true;
        update->conduit = networks_draw_team(w);
    }
    update->configure = prng_chance(&w->rng, 800);
    update->category = prng_chance(&w->rng, 500) ? STR("admin") : STR("general");
    update->group = prng_chance(&w->rng, 500) ? STR("default") : STR("west");
    update->pbr = world_fault(w, FAULT_OPERATOR_WRONG) ? STR("with space") : STR("");
    operator_send_command(w, &command);
}

void action_network_delete(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NETWORK_DELETE};
    const int64_t id = operator_pick(w, core, TABLE_NETWORK);
    command.network_delete.id = id;
    operator_send_command(w, &command);
    if (!prng_chance(&w->rng, 500))
        return;
    /* Requests that arrive while the network is being deleted. */
    struct command late = {.kind = COMMAND_NETWORK_ALLOCATE};
    late.network_allocate.node_id = operator_pick(w, core, TABLE_NODE);
    late.network_allocate.network_id = id;
    operator_send_command(w, &late);
    struct command change = {.kind = COMMAND_NETWORK_UPDATE};
    change.network_update.id = id;
    change.network_update.given = GIVEN_NETWORK_ORDER;
    change.network_update.order = 7;
    operator_send_command(w, &change);
}

/* ---- ranges ---- */

void action_range_create(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NETWORK_RANGE_CREATE};
    struct network_range_create_command *create = &command.network_range_create;
    struct record network;
    create->network_id = operator_pick(w, core, TABLE_NETWORK);
    create->given = GIVEN_RANGE_NAME | GIVEN_RANGE_FIRST | GIVEN_RANGE_LAST | GIVEN_RANGE_OVERLAP;
    create->name = networks_draw_range_name(w);
    create->overlap = core_record(core, TABLE_NETWORK, create->network_id, &network) &&
                      !network.network.configure && prng_chance(&w->rng, 700);
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        create->overlap = true;
    networks_draw_range(w, &create->first, &create->last);
    if (prng_chance(&w->rng, 100)) {
        create->given |= GIVEN_RANGE_CONDUIT;
        create->conduit = networks_draw_conduit(w);
    }
    operator_send_command(w, &command);
}

void action_range_update(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NETWORK_RANGE_UPDATE};
    struct network_range_update_command *update = &command.network_range_update;
    struct record range;
    update->id = operator_pick(w, core, TABLE_NETWORK_RANGE);
    update->given = (uint32_t)prng_below(&w->rng, 2048) & (uint32_t)prng_below(&w->rng, 2048);
    update->name = networks_draw_range_name(w);
    networks_draw_range(w, &update->first, &update->last);
    update->conduit = networks_draw_conduit(w);
    update->vlan = (int64_t)prng_below(&w->rng, 3);
    update->use_vlan = prng_chance(&w->rng, 300);
    update->team_mode = (int64_t)prng_below(&w->rng, 9);
    update->overlap = prng_chance(&w->rng, 300);
    update->inherit = (uint32_t)prng_below(&w->rng, RANGE_OWN_ALL + 1);
    /* Shrink or enlarge the range where it is: addresses in use must stay inside. */
    if (prng_chance(&w->rng, 500) && core_record(core, TABLE_NETWORK_RANGE, update->id, &range)) {
        struct ip first, last, moved;
        const char *wrong;
        update->given = GIVEN_RANGE_LAST;
        if (ip_parse(range.network_range.first, &first, &wrong) &&
            ip_parse(range.network_range.last, &last, &wrong) &&
            ip_add(first, prng_below(&w->rng, SUBNET_HOSTS), &moved))
            update->last = ip_format(&w->arena, moved);
    }
    operator_send_command(w, &command);
}

/* ---- routers ---- */

void action_router_create(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NETWORK_ROUTER_CREATE};
    struct network_router_create_command *create = &command.network_router_create;
    create->network_id = operator_pick(w, core, TABLE_NETWORK);
    create->given = (uint32_t)prng_below(&w->rng, 4);
    create->address = world_fault(w, FAULT_OPERATOR_WRONG) ? networks_draw_bad_address(w)
                                                           : networks_draw_address(w, "/29");
    create->pref = (uint32_t)prng_below(&w->rng, 100);
    operator_send_command(w, &command);
}

void action_router_update(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NETWORK_ROUTER_UPDATE};
    struct network_router_update_command *update = &command.network_router_update;
    update->id = operator_pick(w, core, TABLE_NETWORK_ROUTER);
    update->given = (uint32_t)prng_below(&w->rng, 4);
    update->address = world_fault(w, FAULT_OPERATOR_WRONG) ? networks_draw_bad_address(w)
                                                           : networks_draw_address(w, "/29");
    update->pref = (uint32_t)prng_below(&w->rng, 100);
    operator_send_command(w, &command);
}

void action_router_delete(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NETWORK_ROUTER_DELETE};
    command.network_router_delete.id = operator_pick(w, core, TABLE_NETWORK_ROUTER);
    operator_send_command(w, &command);
}

/* ---- DNS name filters ---- */

static struct str networks_draw_matcher(struct world *w)
{
    static const char *const good[] = {
        "net.category == \"admin\"",
        "net.category == \"general\"",
        "net.name == \"admin\"",
        "range.name == \"host\"",
        "range.name == \"host-v6\"",
        "deployment.name == \"system\"",
        "node.role has \"gallery-found\"",
        "node.role has \"field-1\"",
        "node.attr.shelf == \"3\"",
        "node.attr.stay_on == \"1\"",
        "node.attr.stay_on == \"1\", net.category == \"admin\"",
        "net.category == \"admin\",range.name == \"host\"",
        "node.colour == \"red\"",
        "net.category==\"storage\" , deployment.name == \"site-1\"",
    };
    static const char *const bad[] = {"",
                                      "net.category",
                                      "net.category = \"admin\"",
                                      "net.category == \"admin",
                                      "net.name == \"a\" x",
                                      "\xff"};
    return world_fault(w, FAULT_OPERATOR_WRONG)
               ? str_from(bad[prng_below(&w->rng, sizeof bad / sizeof *bad)])
               : str_from(good[prng_below(&w->rng, sizeof good / sizeof *good)]);
}

/* Some results are no DNS names, and some of the tokens are unknown. */
static struct str networks_draw_template(struct world *w)
{
    static const char *const good[] = {
        "{{node.name}}",
        "{{node.name}}.{{network.name}}",
        "n{{node.id}}-{{network.range}}",
        "{{network.category}}-{{node.deployment}}-{{node.id}}",
        "m{{node.mac}}",
        "{{node.mac}}",
        "{{node.colour}}",
        "-{{node.name}}",
        "{{node.name}}..{{node.id}}",
    };
    static const char *const bad[] = {"", "\xff", "\x01{{node.name}}"};
    return world_fault(w, FAULT_OPERATOR_WRONG)
               ? str_from(bad[prng_below(&w->rng, sizeof bad / sizeof *bad)])
               : str_from(good[prng_below(&w->rng, sizeof good / sizeof *good)]);
}

void action_filter_create(struct world *w, const struct core *core)
{
    (void)core;
    struct command command = {.kind = COMMAND_DNS_NAME_FILTER_CREATE};
    struct dns_name_filter_create_command *create = &command.dns_name_filter_create;
    create->given = GIVEN_FILTER_NAME | GIVEN_FILTER_PRIORITY | (uint32_t)prng_below(&w->rng, 32) |
                    GIVEN_FILTER_MATCHER;
    create->name = operator_dubious_name(w, "filter-%u");
    create->matcher = networks_draw_matcher(w);
    create->priority = (uint32_t)prng_below(&w->rng, 30);
    create->service = prng_chance(&w->rng, 800) ? STR("system") : STR("outside");
    create->template = networks_draw_template(w);
    operator_send_command(w, &command);
}

void action_filter_update(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_DNS_NAME_FILTER_UPDATE};
    struct dns_name_filter_update_command *update = &command.dns_name_filter_update;
    update->id = operator_pick(w, core, TABLE_DNS_NAME_FILTER);
    update->given = (uint32_t)prng_below(&w->rng, 32);
    update->name = operator_dubious_name(w, "filter-%u");
    update->matcher = networks_draw_matcher(w);
    update->priority = (uint32_t)prng_below(&w->rng, 30);
    update->service = prng_chance(&w->rng, 700) ? STR("system") : STR("outside");
    update->template = networks_draw_template(w);
    operator_send_command(w, &command);
}

void action_filter_delete(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_DNS_NAME_FILTER_DELETE};
    command.dns_name_filter_delete.id = operator_pick(w, core, TABLE_DNS_NAME_FILTER);
    operator_send_command(w, &command);
}
