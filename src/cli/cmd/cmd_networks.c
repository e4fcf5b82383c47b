#include "cli/cmd/cmd_networks.h"

#include "cli/cmd/cmd_objects.h"
#include "cli/cmd/confirm.h"
#include "cli/cmd/id_names.h"
#include "cli/cmd/response_output.h"
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
