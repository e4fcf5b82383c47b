#include "cli/cmd/nouns_private.h"

#include "cli/cmd/cmd_networks.h"
#include "cli/cmd/cmd_objects.h"

/* Constant tables: the nouns of the command line about networks, addresses, interfaces and DNS
 * names, with the verbs and the table columns of each. nouns_config.c explains how to read an
 * entry; nouns.c lists all nouns. The order of entries is only the order of output. Nothing here
 * runs or can fail. */

/* ---- networks, ranges, routers ---- */

static const struct cli_column network_columns[] = {
    {"id", NULL},       {"name", NULL},
    {"category", NULL}, {"group", NULL},
    {"conduit", NULL},  {"vlan", NULL},
    {"use_vlan", NULL}, {"configure", NULL},
    {"v6prefix", NULL}, {"deployment_id", "deployments"},
    {"deleting", NULL}, {"description", NULL}};
static const struct cli_verb network_verbs[] = {
    LIST,
    SHOW,
    CREATE,
    UPDATE,
    {.name = "destroy",
     .operands = "NAME...",
     .summary = "Delete, together with ranges, router and addresses",
     .help = "If nodes have addresses in the network, they are listed and consent is asked for on\n"
             "the terminal; without a terminal, --yes is required. Without consent nothing is\n"
             "deleted, and the exit status is 9.\n"
             "A network with many addresses is deleted in parts: until then it is listed with\n"
             "deleting = true, and its name and its addresses cannot be used again.\n",
     .run_online = cmd_networks_destroy,
     .options = SHOWN | OPTION_YES,
     .operands_min = 1,
     .operands_max = OPERANDS_ANY},
    WATCH,
    {.name = "propose",
     .operands = "[FIELD=VALUE...]",
     .summary = "Create the network admin from an interface of this host",
     .help =
         "Run it on the admin node. The subnet is that of the IPv4 address of the interface, the\n"
         "router is its default route. The range admin has this host, dhcp and host have other\n"
         "addresses. The proposal is shown and created after a confirmation. A field that is\n"
         "given replaces the proposed one (conduit=10g0). Subnets smaller than /28 are refused.\n",
     .run_online = cmd_propose_network,
     .options = SHOWN | OPTION_YES | OPTION_INTERFACE,
     .operands_max = OPERANDS_ANY},
};

static const struct cli_column range_columns[] = {
    {"id", NULL},      {"full_name", NULL}, {"first", NULL},    {"last", NULL},
    {"conduit", NULL}, {"vlan", NULL},      {"use_vlan", NULL}, {"overlap", NULL}};
static const struct cli_verb range_verbs[] = {
    LIST,
    SHOW,
    CREATE,
    UPDATE,
    WATCH,
    {.name = "usage",
     .operands = "RANGE...",
     .summary = "Show how many addresses are allocated, leased, resting and free",
     .help =
         "Resting addresses were freed or declined; they are used again when no other is free.\n",
     .run_online = cmd_networks_usage,
     .options = SHOWN,
     .operands_min = 1,
     .operands_max = OPERANDS_ANY},
};

static const struct cli_column router_columns[] = {
    {"id", NULL}, {"network_id", "networks"}, {"address", NULL}, {"pref", NULL}};
static const struct cli_verb router_verbs[] = {LIST, SHOW, CREATE, UPDATE, DESTROY, WATCH};

/* ---- addresses ---- */

static const struct cli_column allocation_columns[] = {
    {"id", NULL}, {"address", NULL}, {"node_id", "nodes"}, {"network_range_id", "network_ranges"}};
static const struct cli_verb allocation_verbs[] = {LIST, SHOW, CREATE, DESTROY, WATCH};

static const struct cli_column lease_columns[] = {
    {"id", NULL},     {"address", NULL}, {"network_range_id", "network_ranges"},
    {"state", NULL},  {"mac", NULL},     {"node_id", "nodes"},
    {"ends_at", NULL}};
static const struct cli_verb lease_verbs[] = {LIST, SHOW, WATCH};

static const struct cli_column dhcp_columns[] = {{"node_id", NULL},    {"node", NULL},
                                                 {"v4addr", NULL},     {"bootenv", NULL},
                                                 {"generation", NULL}, {"mac_addresses", NULL}};
static const struct cli_verb dhcp_verbs[] = {LIST, SHOW, WATCH};

/* ---- interfaces ---- */

static const struct cli_column nic_columns[] = {
    {"id", NULL},     {"mac", NULL},       {"node_id", "nodes"}, {"name", NULL},      {"bus", NULL},
    {"driver", NULL}, {"speed_max", NULL}, {"hinted", NULL},     {"discovered", NULL}};
static const struct cli_verb nic_verbs[] = {
    LIST,
    SHOW,
    WATCH,
    {.name = "move",
     .operands = "MAC NODE",
     .summary = "Give the MAC of another node to this node",
     .help = "",
     .run_online = cmd_networks_move_nic,
     .options = SHOWN,
     .operands_min = 2,
     .operands_max = 2},
};

static const struct cli_column map_columns[] = {{"pattern", NULL}, {"bus_order", NULL}};
static const struct cli_verb map_verbs[] = {
    {.name = "list",
     .operands = "",
     .summary = "List the interface maps",
     .help = "The first map whose pattern matches the product name of a machine is used.\n",
     .run_online = cmd_networks_maps,
     .options = SHOWN},
    SHOW,
    {.name = "create",
     .operands = "pattern=TEXT bus_order=TEXT",
     .summary = "Add an interface map",
     .help = "bus_order is a list of bus addresses, such as \"a | b\".\n",
     .run_online = cmd_objects_create,
     .options = SHOWN | OPTION_FILE,
     .operands_max = OPERANDS_ANY},
    UPDATE,
    DESTROY,
};

/* ---- names ---- */

static const struct cli_column filter_columns[] = {
    {"id", NULL},      {"name", NULL},     {"priority", NULL},    {"matcher", NULL},
    {"service", NULL}, {"template", NULL}, {"has_service", NULL}, {"deleting", NULL}};
static const struct cli_verb filter_verbs[] = {LIST, SHOW, CREATE, UPDATE, DESTROY, WATCH};

static const struct cli_column name_columns[] = {
    {"id", NULL},      {"name", NULL},       {"rr_type", NULL},
    {"address", NULL}, {"node_id", "nodes"}, {"dns_name_filter_id", "dns_name_filters"}};
static const struct cli_verb name_verbs[] = {LIST, SHOW, WATCH};

/* ---- noun definitions ---- */

const struct cli_noun networks_noun = {
    .name = "networks",
    .singular = "network",
    .summary = "networks that nodes are configured for",
    .collection = "networks",
    .key = "name",
    VERBS(network_verbs),
    COLUMNS(network_columns),
};

const struct cli_noun ranges_noun = {
    .name = "ranges",
    .singular = "range",
    .summary = "ranges of addresses of networks (NETWORK.RANGE)",
    .collection = "network_ranges",
    .key = "full_name",
    VERBS(range_verbs),
    COLUMNS(range_columns),
};

const struct cli_noun routers_noun = {
    .name = "routers",
    .singular = "router",
    .summary = "routers of networks, at most one for each",
    .collection = "network_routers",
    .key = "id",
    VERBS(router_verbs),
    COLUMNS(router_columns),
};

const struct cli_noun allocations_noun = {
    .name = "allocations",
    .singular = "allocation",
    .summary = "addresses of nodes",
    .collection = "network_allocations",
    .key = "address",
    VERBS(allocation_verbs),
    COLUMNS(allocation_columns),
};

const struct cli_noun leases_noun = {
    .name = "leases",
    .singular = "lease",
    .summary = "addresses of unknown machines, and those that were freed or declined",
    .collection = "leases",
    .key = "address",
    VERBS(lease_verbs),
    COLUMNS(lease_columns),
};

const struct cli_noun dhcp_noun = {
    .name = "dhcp",
    .summary = "DHCP clients: what managed machines are given and boot",
    .collection = "dhcp",
    .key = "node",
    VERBS(dhcp_verbs),
    COLUMNS(dhcp_columns),
};

const struct cli_noun interfaces_noun = {
    .name = "interfaces",
    .singular = "interface",
    .summary = "interface maps: the order of interfaces by product name",
    .collection = "interfaces",
    .key = "pattern",
    VERBS(map_verbs),
    COLUMNS(map_columns),
};

const struct cli_noun filters_noun = {
    .name = "filters",
    .singular = "filter",
    .summary = "rules that give DNS names to addresses of nodes",
    .collection = "dns_name_filters",
    .key = "name",
    VERBS(filter_verbs),
    COLUMNS(filter_columns),
};

/* Several entries may have one name, so they are identified by id. */
const struct cli_noun names_noun = {
    .name = "names",
    .summary = "DNS names of addresses of nodes",
    .collection = "dns_name_entries",
    .key = "id",
    VERBS(name_verbs),
    COLUMNS(name_columns),
};

const struct cli_noun nics_noun = {
    .name = "nics",
    .singular = "nic",
    .summary = "interfaces of nodes",
    .collection = "nics",
    .key = "mac",
    VERBS(nic_verbs),
    COLUMNS(nic_columns),
};

/* ---- boot servers ---- */

static const struct cli_verb boot_verbs[] = {
    {.name = "status",
     .operands = "",
     .summary = "List the boot servers of the admin nodes",
     .help = "Whether each is connected, the interfaces that it serves, the turn of the boot\n"
             "view that it was sent and has acknowledged, and what it cannot serve.\n",
     .run_online = cmd_objects_boot_status,
     .options = SHOWN},
};

const struct cli_noun boot_noun = {
    .name = "boot",
    .summary = "boot servers",
    .collection = "boot_servers",
    .key = "node",
    VERBS(boot_verbs),
};
