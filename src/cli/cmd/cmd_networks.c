#include "cli/cmd/cmd_networks.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd/cmd_objects.h"
#include "cli/cmd/confirm.h"
#include "cli/cmd/id_names.h"
#include "cli/cmd/input.h"
#include "cli/cmd/response_output.h"
#include "cli/host/network_proposal.h"
#include "cli/output/table.h"
#include "cli/output/term_escape.h"

/* Verbs about networks and addresses that are not those of every noun. Nothing is kept between
 * verbs. Replies that are not lists of objects are turned into rows of a table; with -o json and
 * yaml they are printed as they came.
 *
 * Failure: a refused request is printed, and its status ends the verb, except for `usage`, which
 * goes on with the next operand. */

/* ---- rows that are no objects of a noun ---- */

static const struct cli_column address_columns[] = {
    {"network", NULL}, {"category", NULL}, {"address", NULL}};
static const struct cli_column usage_columns[] = {
    {"network_id", "networks"}, {"name", NULL},    {"size", NULL},    {"allocated", NULL},
    {"leased", NULL},           {"resting", NULL}, {"routers", NULL}, {"free", NULL}};

/* For output_list() only: no one can type these nouns. */
static const struct cli_noun address_rows = {
    .name = "addresses",
    .collection = "nodes",
    .key = "address",
    .columns = address_columns,
    .column_count = sizeof address_columns / sizeof address_columns[0],
};
static const struct cli_noun usage_rows = {
    .name = "usage",
    .collection = "network_ranges",
    .key = "name",
    .columns = usage_columns,
    .column_count = sizeof usage_columns / sizeof usage_columns[0],
};

static bool networks_want_rows(const struct cli_request *req)
{
    return req->options.quiet || output_form(req) == OUTPUT_TABLE;
}

/* ---- addresses of a node ---- */

enum cli_exit cmd_networks_addresses(struct cli_request *req)
{
    struct api_request call = {0};
    const struct json *reply;
    enum cli_exit status = request_path(req, req->args->words[0], &call.path);
    call.path = request_join(req, call.path, "addresses");
    if (status == CLI_OK)
        status = request_send(req, &call, &reply);
    if (status != CLI_OK)
        return status;
    if (!networks_want_rows(req)) {
        output_document(req, reply);
        return CLI_OK;
    }
    struct json *rows = json_make(req->arena, JSON_ARRAY);
    for (const struct json *network = reply->first; network; network = network->next) {
        const struct json *addresses = json_get(network, STR("addresses"));
        for (const struct json *a = addresses ? addresses->first : NULL; a; a = a->next) {
            struct json *row = json_make(req->arena, JSON_OBJECT);
            const struct json *name = json_get(network, STR("network"));
            const struct json *category = json_get(network, STR("category"));
            if (name)
                json_set(row, STR("network"), json_clone(req->arena, name));
            if (category)
                json_set(row, STR("category"), json_clone(req->arena, category));
            json_set(row, STR("address"), json_clone(req->arena, a));
            json_append(rows, row);
        }
    }
    req->noun = &address_rows;
    output_list(req, rows);
    return CLI_OK;
}

/* ---- usage of ranges ---- */

enum cli_exit cmd_networks_usage(struct cli_request *req)
{
    enum cli_exit status = CLI_OK;
    struct json *rows = json_make(req->arena, JSON_ARRAY);
    for (int i = 0; i < req->args->count; i++) {
        struct api_request call = {0};
        const struct json *reply;
        enum cli_exit now = request_path(req, req->args->words[i], &call.path);
        call.path = request_join(req, call.path, "usage");
        if (now == CLI_OK)
            now = request_send(req, &call, &reply);
        if (now == CLI_OK)
            json_append(rows, json_clone(req->arena, reply));
        status = status != CLI_OK ? status : now;
    }
    req->noun = &usage_rows;
    if (rows->count)
        output_list(req, rows);
    return status;
}

/* ---- destroy ---- */

/* Adds a line for each address that a node has in the network. An unknown network is not an error
 * here: the DELETE that follows reports it. */
static enum cli_exit networks_fetch_addresses(struct cli_request *req, const char *word,
                                              struct losses *losses)
{
    struct api_request call = {.attributes = "[\"node_id\",\"address\"]", .is_quiet = true};
    const struct json *list;
    enum cli_exit status = request_path(req, word, &call.path);
    if (status != CLI_OK)
        return status;
    call.path = request_join(req, call.path, "network_allocations");
    status = request_send(req, &call, &list);
    if (status == CLI_NOT_FOUND)
        return CLI_OK;
    if (status != CLI_OK) { /* the call was quiet; repeat it so that the error is printed */
        call.is_quiet = false;
        return request_send(req, &call, &list);
    }
    const struct id_names nodes = id_names_fetch(req, "nodes", list, "node_id");
    for (const struct json *row = list->first; row; row = row->next) {
        const struct json *address = json_get(row, STR("address"));
        struct buf b = buf_in(req->arena);
        term_put_escaped(&b, id_names_find(&nodes, json_get(row, STR("node_id"))));
        buf_put_z(&b, ": ");
        term_put_escaped(&b, address ? address->text : STR(""));
        losses_add(losses, buf_str(&b));
    }
    return CLI_OK;
}

enum cli_exit cmd_networks_destroy(struct cli_request *req)
{
    struct losses losses = {.lines = buf_in(req->arena)};
    for (int i = 0; i < req->args->count && !req->options.yes; i++) {
        const enum cli_exit status = networks_fetch_addresses(req, req->args->words[i], &losses);
        if (status != CLI_OK)
            return status;
    }
    const enum cli_exit agreed =
        losses.count ? confirm_ask(req, "nodes lose these addresses", &losses) : CLI_OK;
    return agreed == CLI_OK ? cmd_objects_destroy(req) : agreed;
}

/* ---- interfaces ---- */

enum cli_exit cmd_networks_move_nic(struct cli_request *req)
{
    struct json *body = json_make(req->arena, JSON_OBJECT);
    const struct json *moved;
    json_set(body, STR("mac"), json_make_string(req->arena, str_from(req->args->words[0])));
    json_set(body, STR("node"), json_make_string(req->arena, str_from(req->args->words[1])));
    const struct api_request call = {.method = "POST", .path = STR("nics/move"), .body = body};
    const enum cli_exit status = request_send(req, &call, &moved);
    if (status == CLI_OK)
        output_row(req, moved);
    return status;
}

/* The reply is an object with a member for each pattern; a table has a row for each. */
enum cli_exit cmd_networks_maps(struct cli_request *req)
{
    const struct api_request call = {.path = str_from(req->noun->collection)};
    const struct json *reply;
    const enum cli_exit status = request_send(req, &call, &reply);
    if (status != CLI_OK)
        return status;
    if (!networks_want_rows(req)) {
        output_document(req, reply);
        return CLI_OK;
    }
    struct json *rows = json_make(req->arena, JSON_ARRAY);
    for (const struct json *map = reply->first; map; map = map->next) {
        struct json *row = json_make(req->arena, JSON_OBJECT);
        json_set(row, STR("pattern"), json_make_string(req->arena, map->key));
        json_set(row, STR("bus_order"), json_clone(req->arena, map));
        json_append(rows, row);
    }
    output_list(req, rows);
    return CLI_OK;
}

/* ---- networks propose ----
 *
 * Creates the network admin from an interface of the host that this program runs on, which must be
 * the admin node. Nothing is kept.
 *
 * Order: the interface and its default route are read, the daemon is asked for the name of the
 * admin node and whether there is such a network already, the proposal is shown and confirmed, and
 * only then the network is created, with ranges and router in one request. After that a filter for
 * DNS names is created if there is none.
 *
 * Failure: whatever fails before the confirmation changes nothing. If the filter cannot be
 * created, the network remains, and the error is printed. */

#define ROUTES_FILE "/proc/net/route"

/* ---- this host ---- */

/* Prints "PROG: IF: TEXT". Returns CLI_FAILED. */
static enum cli_exit propose_report(const struct cli_request *req, const char *text)
{
    fprintf(stderr, "%s: %s: %s\n", req->prog, req->options.interface, text);
    return CLI_FAILED;
}

/* An IPv4 address with a netmask of contiguous bits. */
static struct ip propose_ip(const struct sockaddr *address, const struct sockaddr *mask)
{
    struct sockaddr_in in, bits = {0};
    memcpy(&in, address, sizeof in);
    if (mask)
        memcpy(&bits, mask, sizeof bits);
    const uint32_t netmask = ntohl(bits.sin_addr.s_addr);
    uint8_t prefix = 0;
    while (prefix < 32 && netmask >> (31 - prefix) & 1)
        prefix++;
    return (struct ip){.lo = ntohl(in.sin_addr.s_addr), .family = IP_V4, .prefix = prefix};
}

/* The first IPv4 address of the interface. */
static enum cli_exit propose_read_interface(struct cli_request *req, struct ip *out_host)
{
    struct ifaddrs *all;
    bool exists = false, is_loopback = false;
    *out_host = (struct ip){0};
    if (getifaddrs(&all) != 0)
        return propose_report(req, "the interfaces of this host cannot be read");
    for (const struct ifaddrs *at = all; at; at = at->ifa_next) {
        if (strcmp(at->ifa_name, req->options.interface) != 0)
            continue;
        exists = true;
        is_loopback = at->ifa_flags & IFF_LOOPBACK;
        if (at->ifa_addr && at->ifa_addr->sa_family == AF_INET && out_host->family == IP_NONE)
            *out_host = propose_ip(at->ifa_addr, at->ifa_netmask);
    }
    freeifaddrs(all);
    if (!exists)
        return propose_report(req, "this host has no such interface");
    if (is_loopback)
        return propose_report(req, "no machine can be reached over the loopback interface");
    if (out_host->family == IP_NONE)
        return propose_report(req, "the interface has no IPv4 address; configure it first");
    return CLI_OK;
}

/* The default route over the interface with the lowest metric; IP_NONE: none. A file that cannot be
 * read counts as no route, because a network without a router is possible. */
static struct ip propose_read_router(const struct cli_request *req)
{
    struct ip router = {0};
    unsigned int best = 0;
    char line[256], name[IFNAMSIZ];
    unsigned int destination, gateway, flags, metric, mask;
    FILE *file = fopen(ROUTES_FILE, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%15s %x %x %x %*s %*s %u %x", name, &destination, &gateway, &flags,
                   &metric, &mask) != 6 ||
            strcmp(name, req->options.interface) != 0 || destination || mask || !gateway ||
            (router.family != IP_NONE && metric >= best))
            continue;
        best = metric;
        /* The kernel prints the number in network byte order as if it were in that of the host. */
        router = (struct ip){.lo = ntohl(gateway), .family = IP_V4, .prefix = 32};
    }
    if (file)
        fclose(file);
    return router;
}

/* ---- the daemon ---- */

static enum cli_exit propose_check_new(struct cli_request *req, const struct json *body)
{
    const char *name = str_z(req->arena, json_get(body, STR("name"))->text);
    const struct api_request call = {.path = request_join(req, STR("networks"), name),
                                     .is_quiet = true};
    const struct json *reply;
    if (!name[0] || request_send(req, &call, &reply) != CLI_OK)
        return CLI_OK; /* there is none; another failure is reported by the request to create it */
    fprintf(stderr,
            "%s: there is a network %s already; change it with `halligan networks update` and "
            "`halligan ranges update`\n",
            req->prog, name);
    return CLI_REFUSED;
}

/* The part of the admin node's name after the first dot; empty: there is no admin node. */
static struct str propose_domain(struct cli_request *req)
{
    const struct api_request call = {.path = STR("nodes/admin"), .is_quiet = true};
    const struct json *reply;
    if (request_send(req, &call, &reply) != CLI_OK)
        return STR("");
    const struct json *name = json_get(reply, STR("name"));
    if (!name || name->kind != JSON_STRING)
        return STR("");
    return str_slice(name->text, str_find(name->text, '.', 0) + 1, name->text.len);
}

/* ---- the proposal ---- */

static void propose_set_text(struct cli_request *req, struct json *object, const char *key,
                             struct str text)
{
    json_set(object, str_from(key), json_make_string(req->arena, text));
}

static void propose_add_range(struct cli_request *req, struct json *ranges, const char *name,
                              struct ip_range range)
{
    struct json *item = json_make(req->arena, JSON_OBJECT);
    propose_set_text(req, item, "name", str_from(name));
    propose_set_text(req, item, "first", ip_format(req->arena, range.first));
    propose_set_text(req, item, "last", ip_format(req->arena, range.last));
    json_append(ranges, item);
}

/* The body of the request. A field of the command line replaces the proposed one. */
static enum cli_exit propose_body(struct cli_request *req, const struct network_proposal *p,
                                  struct json **out_body)
{
    struct json *body = json_make(req->arena, JSON_OBJECT);
    struct json *ranges = json_make(req->arena, JSON_ARRAY), *given;
    propose_set_text(req, body, "name", STR("admin"));
    propose_set_text(req, body, "category", STR("admin"));
    propose_set_text(req, body, "conduit", STR("?1g0"));
    propose_add_range(req, ranges, "admin", p->admin);
    propose_add_range(req, ranges, "dhcp", p->dhcp);
    propose_add_range(req, ranges, "host", p->host);
    json_set(body, STR("ranges"), ranges);
    if (p->router.family != IP_NONE) {
        struct json *router = json_make(req->arena, JSON_OBJECT);
        propose_set_text(req, router, "address", ip_format(req->arena, p->router));
        /* Machines use the router with the lowest number below 10000 as their default route. */
        json_set(router, STR("pref"), json_make_i64(req->arena, 10));
        json_set(body, STR("router"), router);
    }
    const enum cli_exit status = input_read_pairs(req, 0, &given);
    if (status == CLI_OK && (json_get(given, STR("ranges")) || json_get(given, STR("router"))))
        return request_usage_error(req, "ranges and router are proposed; to choose them, use",
                                   "halligan networks create");
    for (const struct json *field = status == CLI_OK ? given->first : NULL; field;
         field = field->next)
        json_set(body, field->key, json_clone(req->arena, field));
    *out_body = body;
    return status;
}

/* The proposal as lines of a table. */
static struct losses propose_table(struct cli_request *req, const struct network_proposal *p,
                                   const struct json *body, struct str domain)
{
    struct arena *a = req->arena;
    const struct str none = STR("-");
    const struct str router = p->router.family == IP_NONE ? none : ip_format(a, p->router);
    const struct str rows[][4] = {
        {STR("WHAT"), STR("VALUE"), STR("LAST"), STR("USED FOR")},
        {STR("network"), json_get(body, STR("name"))->text, none, STR("")},
        {STR("subnet"), ip_format(a, p->subnet), none, STR("")},
        {STR("conduit"), json_get(body, STR("conduit"))->text, none, STR("interface of machines")},
        {STR("range admin"), ip_format(a, p->admin.first), ip_format(a, p->admin.last),
         STR("this host")},
        {STR("range dhcp"), ip_format(a, p->dhcp.first), ip_format(a, p->dhcp.last),
         STR("machines that are not nodes yet")},
        {STR("range host"), ip_format(a, p->host.first), ip_format(a, p->host.last), STR("nodes")},
        {STR("router"), router, none, STR("default route of machines")},
        {STR("domain"), domain.len ? domain : none, none, STR("names of nodes")},
    };
    enum { ROWS = sizeof rows / sizeof rows[0], COLUMNS_SHOWN = 4 };
    struct table t = table_new(a, ROWS, COLUMNS_SHOWN);
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t c = 0; c < COLUMNS_SHOWN; c++)
            table_set(&t, r, c, (struct table_cell){rows[r][c], NULL});
    struct losses shown = {.lines = buf_in(a)};
    table_put(&shown.lines, &t);
    return shown;
}

/* ---- the verb ---- */

/* The daemon makes a filter with the first admin network; older data may have none. */
static enum cli_exit propose_filter(struct cli_request *req)
{
    const struct json *list, *made;
    const struct api_request look = {.path = STR("dns_name_filters"), .query = STR("limit=1")};
    const enum cli_exit status = request_send(req, &look, &list);
    if (status != CLI_OK || list->count)
        return status;
    struct json *body = json_make(req->arena, JSON_OBJECT);
    propose_set_text(req, body, "name", STR("default"));
    propose_set_text(req, body, "matcher", STR("net.category == \"admin\""));
    json_set(body, STR("priority"), json_make_i64(req->arena, 50));
    propose_set_text(req, body, "service", STR("system"));
    propose_set_text(req, body, "template", STR("{{node.name}}"));
    const struct api_request call = {
        .method = "POST", .path = STR("dns_name_filters"), .body = body};
    return request_send(req, &call, &made);
}

enum cli_exit cmd_propose_network(struct cli_request *req)
{
    struct network_proposal proposal;
    struct json *body = NULL;
    const struct json *made;
    struct ip host;
    if (!req->options.interface)
        return request_usage_error(req, "missing option", "--interface IF");
    enum cli_exit status = propose_read_interface(req, &host);
    if (status != CLI_OK)
        return status;
    const char *wrong = network_proposal_make(host, propose_read_router(req), &proposal);
    if (wrong)
        return propose_report(req,
                              str_z(req->arena, STR_CONCAT(req->arena, ip_format(req->arena, host),
                                                           STR(" "), str_from(wrong))));
    status = propose_body(req, &proposal, &body);
    if (status == CLI_OK)
        status = propose_check_new(req, body);
    if (status != CLI_OK)
        return status;

    const struct losses shown = propose_table(req, &proposal, body, propose_domain(req));
    if (req->options.yes)
        fprintf(stderr, "%.*s", STR_FMT_ARGS(buf_str(&shown.lines)));
    status = confirm_ask(req, "this network will be created", &shown);
    const struct api_request call = {.method = "POST", .path = STR("networks"), .body = body};
    if (status == CLI_OK)
        status = request_send(req, &call, &made);
    if (status != CLI_OK)
        return status;
    output_row(req, made);
    return propose_filter(req);
}
