#include "api/nouns/network_allocations.h"

#include "api/call/reply.h"
#include "api/rest/json_object_writer.h"
#include "api/rest/standard_routes.h"
#include "base/containers/sort.h"

/* Addresses of nodes: fields, parameters and routes, those below networks too. Constant tables
 * without state; a change is one command, or one batch if a node frees several addresses, and a
 * problem before it changes nothing.
 *
 * Order: the network is known before the range is read, because a range is named within its
 * network. The reply to an allocation is read after the commit: one object if a range or an
 * address was requested, otherwise the list of all addresses that the node has in the network;
 * null or an empty list if it got none, which happens in a network that machines do not configure.
 */

/* clang-format off */
static const struct object_view_field allocation_fields[] = {
    {"id",               PROP_INT,  PROP_AT(network_allocation.id),               0, NULL},
    {"node_id",          PROP_REF,  PROP_AT(network_allocation.node_id),          0, NULL},
    {"network_id",       PROP_REF,  PROP_AT(network_allocation.network_id),       0, NULL},
    {"network_range_id", PROP_REF,  PROP_AT(network_allocation.network_range_id), 0, NULL},
    {"address",          PROP_TEXT, PROP_AT(network_allocation.address),          0, "null"},
    PROP_TIMES(network_allocation)
};

#define ALLOCATED_NODE                                                                             \
    {.name = "node", .kind = PARAM_REF, .at = COMMAND_AT(network_allocate.node_id),                \
     .is_required = true, .to = TABLE_NODE, .id_key = "node_id"}
/* Both routes accept both names: a range under the other one would be ignored, as unknown fields
 * are, and the address would come from another range. */
#define ALLOCATED_RANGE                                                                            \
    {.name = "network_range", .kind = PARAM_REF, .to = TABLE_NETWORK_RANGE,                        \
     .id_key = "network_range_id", .read_by_handler = true},                                       \
    {.name = "range", .kind = PARAM_REF, .to = TABLE_NETWORK_RANGE, .id_key = "range_id",          \
     .read_by_handler = true}
#define ALLOCATED_ADDRESS                                                                          \
    {.name = "address", .kind = PARAM_TEXT, .at = COMMAND_AT(network_allocate.address)},           \
    {.name = "suggestion", .kind = PARAM_TEXT, .at = COMMAND_AT(network_allocate.suggestion)}

static const struct param_rule create_rules[] = {
    ALLOCATED_NODE,
    {.name = "network", .kind = PARAM_REF, .at = COMMAND_AT(network_allocate.network_id),
     .to = TABLE_NETWORK, .id_key = "network_id"},
    ALLOCATED_RANGE,
    ALLOCATED_ADDRESS,
};

static const struct param_rule allocate_rules[] = {
    ALLOCATED_NODE,
    ALLOCATED_RANGE,
    ALLOCATED_ADDRESS,
};

static const struct param_rule deallocate_rules[] = {
    {.name = "node", .kind = PARAM_REF, .to = TABLE_NODE, .id_key = "node_id",
     .read_by_handler = true},
    {.name = "address", .kind = PARAM_TEXT, .read_by_handler = true},
};
/* clang-format on */

static const struct object_view shape_network_allocation = {
    .type = "network_allocation", .table = TABLE_NETWORK_ALLOCATION, PROP_ROWS(allocation_fields)};

/* ---- parameters ---- */

/* The first of the keys that the request has; the first one if it has none. */
static const struct param_ref *allocation_range_ref(struct call *call)
{
    static const struct param_ref refs[] = {
        {"network_range", "network_range_id", TABLE_NETWORK_RANGE, false},
        {"range", "range_id", TABLE_NETWORK_RANGE, false}};
    const bool has_first = json_get(call->params, str_from(refs[0].name)) ||
                           json_get(call->params, str_from(refs[0].id_name));
    return &refs[!has_first && (json_get(call->params, str_from(refs[1].name)) ||
                                json_get(call->params, str_from(refs[1].id_name)))];
}

/* Reads the range under either key: its name in the network, if that is given, NETWORK.RANGE, a
 * name that only one network has, or an id. */
static void allocation_read_range(struct call *call, struct network_allocate_command *p)
{
    const struct param_ref *ref = allocation_range_ref(call);
    struct str name = str_from(ref->name);
    const struct json *value = json_get(call->params, name);
    struct record network, range;
    if (!value) {
        name = str_from(ref->id_name);
        value = json_get(call->params, name);
    }
    if (value && value->kind == JSON_STRING && !str_is_digits(value->text) &&
        core_record(call->core, TABLE_NETWORK, p->network_id, &network))
        p->range_id =
            core_find(call->core, TABLE_NETWORK_RANGE,
                      STR_CONCAT(call->arena, network.network.name, STR("."), value->text));
    if (!p->range_id)
        param_ref_unless_null(call, ref, &p->range_id);
    if (p->range_id && p->network_id &&
        core_record(call->core, TABLE_NETWORK_RANGE, p->range_id, &range) &&
        range.network_range.network_id != p->network_id)
        call_refuse(call, PROBLEM_BAD_VALUE, name, STR("the range is not of this network"));
}

static void allocation_check_create(struct call *call, struct command *command)
{
    struct network_allocate_command *p = &command->network_allocate;
    allocation_read_range(call, p);
    if (!p->range_id && !p->network_id && !call->problems)
        call_refuse(call, PROBLEM_MISSING, STR("network"),
                    STR("network or network_range is required"));
}

static const struct params_schema create = {
    .kind = COMMAND_NETWORK_ALLOCATE, PARAM_RULES(create_rules), .check = allocation_check_create};
const struct params_schema network_allocate_params = {.kind = COMMAND_NETWORK_ALLOCATE,
                                                      PARAM_RULES(allocate_rules)};
const struct params_schema network_deallocate_params = {.kind = COMMAND_NETWORK_DEALLOCATE,
                                                        PARAM_RULES(deallocate_rules)};

static int64_t allocation_find(struct call *call, struct str key)
{
    const char *wrong;
    struct ip ip;
    return ip_parse(key, &ip, &wrong) ? core_address_row(call->core, TABLE_NETWORK_ALLOCATION, ip)
                                      : 0;
}

const struct resource resource_network_allocations = {
    .view = &shape_network_allocation,
    .order = ORDER_BY_ID,
    .create = &create,
    .find = allocation_find,
};

/* The allocations of the node in the network, by id. */
static int64_t *allocation_ids(struct call *call, int64_t node_id, int64_t network_id,
                               uint32_t *out_count)
{
    struct record record;
    uint32_t count, kept = 0;
    int64_t *ids = core_allocations_of(call->core, TABLE_NODE, node_id, call->arena, &count);
    for (uint32_t i = 0; i < count; i++)
        if (core_record(call->core, TABLE_NETWORK_ALLOCATION, ids[i], &record) &&
            record.network_allocation.network_id == network_id)
            ids[kept++] = ids[i];
    *out_count = kept;
    return ids;
}

/* ---- allocate ---- */

static void allocation_reply_one(struct call *call, int64_t id)
{
    if (id)
        object_reply_shown(call, id);
    else
        reply_json(call, shape_network_allocation.type, "obj", STR("null"));
}

/* `id` is one of the allocations of the node in the network. */
static void allocation_reply_all(struct call *call, int64_t id)
{
    const uint64_t mask = reply_mask(call, &shape_network_allocation);
    struct record record;
    struct buf b = buf_in(call->arena);
    uint32_t count = 0;
    const int64_t *ids = NULL;
    if (call->core && core_record(call->core, TABLE_NETWORK_ALLOCATION, id, &record))
        ids = allocation_ids(call, record.network_allocation.node_id,
                             record.network_allocation.network_id, &count);
    buf_put_c(&b, '[');
    for (uint32_t i = 0; i < count; i++) {
        if (!core_record(call->core, TABLE_NETWORK_ALLOCATION, ids[i], &record))
            continue;
        buf_put_z(&b, i ? ",\n" : "");
        object_view_write(&shape_network_allocation, call->core, &record, mask, &b);
    }
    buf_put_c(&b, ']');
    reply_json(call, shape_network_allocation.type, "list", buf_str(&b));
}

static enum handler_result allocation_submit(struct call *call, struct command *command)
{
    const struct network_allocate_command *p = &command->network_allocate;
    const bool is_one = p->range_id || p->address.len || p->suggestion.len;
    return object_submit(call, command, is_one ? allocation_reply_one : allocation_reply_all);
}

static enum handler_result serve_allocation_create(struct call *call)
{
    struct command command = {0};
    if (params_are_many(call))
        return serve_create(call);
    if (!params_read(call, shape_network_allocation.type))
        return SERVED_REPLY;
    params_schema_read(call, &create, 0, &command);
    return allocation_submit(call, &command);
}

enum handler_result serve_network_allocate(struct call *call)
{
    struct command command = {0};
    struct record network;
    if (!resource_find(call, &resource_networks, call->keys[0], &network) ||
        !params_read(call, shape_network_allocation.type))
        return SERVED_REPLY;
    params_schema_read(call, &network_allocate_params, 0, &command);
    command.network_allocate.network_id = network.id;
    allocation_read_range(call, &command.network_allocate);
    return allocation_submit(call, &command);
}

/* ---- deallocate ---- */

static void allocation_reply_freed(struct call *call, int64_t id)
{
    (void)id;
    reply_message(call, shape_network_allocation.type, STR("the addresses were freed"));
}

/* The allocation of the network that has the address; false after a problem. */
static bool allocation_of_address(struct call *call, const struct network_record *network,
                                  struct str text, int64_t *out_id)
{
    struct record record;
    struct ip ip;
    const char *wrong;
    if (!ip_parse(text, &ip, &wrong)) {
        call_refuse(call, PROBLEM_BAD_VALUE, STR("address"),
                    STR_CONCAT(call->arena, STR("address "), str_from(wrong)));
        return false;
    }
    *out_id = core_address_row(call->core, TABLE_NETWORK_ALLOCATION, ip);
    if (*out_id && core_record(call->core, TABLE_NETWORK_ALLOCATION, *out_id, &record) &&
        record.network_allocation.network_id == network->id)
        return true;
    call_refuse(call, PROBLEM_NOT_FOUND, STR("address"),
                STR_CONCAT(call->arena, STR("address: no node has "), text, STR(" in network "),
                           network->name));
    return false;
}

/* Finds what to free: the address, or all addresses of the node. With both, the address must belong
 * to the node. */
static const int64_t *allocation_read_freed(struct call *call, const struct network_record *network,
                                            uint32_t *out_count)
{
    const struct param_ref ref = {"node", "node_id", TABLE_NODE, false};
    struct record record;
    struct str text = STR("");
    int64_t node_id = 0;
    param_ref_unless_null(call, &ref, &node_id);
    param_text(call, "address", &text);
    /* An empty string is a wrong address: if it counted as absent, a request that names a node as
     * well would free all addresses of the node. */
    const struct json *given = json_get(call->params, STR("address"));
    if (given && given->kind == JSON_STRING && !text.len)
        call_refuse(call, PROBLEM_BAD_VALUE, STR("address"), STR("address must not be empty"));
    if (!node_id && !text.len && !call->problems)
        call_refuse(call, PROBLEM_MISSING, STR("node"), STR("node or address is required"));
    if (call->problems)
        return NULL;
    int64_t *ids = arena_array(call->arena, int64_t, 1);
    *out_count = 1;
    if (!text.len)
        ids = allocation_ids(call, node_id, network->id, out_count);
    else if (allocation_of_address(call, network, text, &ids[0]) && node_id &&
             core_record(call->core, TABLE_NETWORK_ALLOCATION, ids[0], &record) &&
             record.network_allocation.node_id != node_id)
        *out_count = 0;
    if (*out_count == 0)
        call_refuse(call, PROBLEM_NOT_FOUND, STR("node"),
                    STR_CONCAT(call->arena, STR("node: it does not have "),
                               text.len ? text : STR("an address"), STR(" in network "),
                               network->name));
    return ids;
}

enum handler_result serve_network_deallocate(struct call *call)
{
    struct record network;
    uint32_t count = 0;
    if (!resource_find(call, &resource_networks, call->keys[0], &network) ||
        !params_read(call, shape_network_allocation.type))
        return SERVED_REPLY;
    struct command command = {0};
    params_schema_read(call, &network_deallocate_params, 0, &command);
    const int64_t *ids = allocation_read_freed(call, &network.network, &count);
    if (call->problems)
        return SERVED_REPLY;
    command.network_deallocate.id = ids[0];
    if (count > 1) {
        struct buf commands = buf_in(call->arena);
        for (uint32_t i = 0; i < count; i++) {
            command.network_deallocate.id = ids[i];
            command_encode(&command, &commands);
        }
        command =
            (struct command){.kind = COMMAND_BATCH, .batch = {.commands = buf_str(&commands)}};
    }
    return object_submit(call, &command, allocation_reply_freed);
}

/* ---- lists ---- */

enum handler_result serve_network_allocations(struct call *call)
{
    static const char *const ignored[] = {"node", NULL};
    struct list_scope scope = {.resource = &resource_network_allocations,
                               .ignored_params = ignored};
    struct record network, node;
    struct str key;
    if (!resource_find(call, &resource_networks, call->keys[0], &network))
        return SERVED_REPLY;
    if (!http_query(call->request, STR("node"), &key)) {
        scope.ids = core_allocations_of(call->core, TABLE_NETWORK, network.id, call->arena,
                                        &scope.id_count);
    } else if (resource_find(call, &resource_nodes, key, &node)) {
        scope.ids = allocation_ids(call, node.id, network.id, &scope.id_count);
    } else {
        if (call->problems)
            call->problems->field = STR("node"); /* the key is a query parameter here */
        return SERVED_REPLY;
    }
    return reply_list_of(call, &scope);
}

/* ---- addresses of a node by network ---- */

/* An address with what it is sorted by. */
struct node_address {
    uint32_t rank; /* place of the category in the request */
    int64_t network_id;
    struct ip ip;
};

static int address_cmp(const void *a, const void *b)
{
    const struct node_address *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->network_id != y->network_id)
        return x->network_id < y->network_id ? -1 : 1;
    return ip_cmp(x->ip, y->ip);
}

/* The place of the category among the values of ?category=; UINT32_MAX if it is not one of them, 0
 * if there are none. */
static uint32_t address_category_rank(const struct call *call, struct str category)
{
    uint32_t rank = 0, found = UINT32_MAX;
    for (const struct http_pair *pair = call->request->query; pair; pair = pair->next) {
        if (!str_eq(pair->name, STR("category")))
            continue;
        if (found == UINT32_MAX && str_eq(pair->value, category))
            found = rank;
        rank++;
    }
    return rank ? found : 0;
}

/* The addresses of the node in the network, or in all networks of the requested categories if
 * network_id is 0, in the order of the reply. */
static struct node_address *address_collect(struct call *call, int64_t node_id, int64_t network_id,
                                            uint32_t *out_count)
{
    struct record record, network;
    const char *wrong;
    uint32_t count, kept = 0;
    const int64_t *ids = core_allocations_of(call->core, TABLE_NODE, node_id, call->arena, &count);
    struct node_address *all = arena_array(call->arena, struct node_address, count + (size_t)1);
    for (uint32_t i = 0; i < count; i++) {
        struct node_address *at = &all[kept];
        if (!core_record(call->core, TABLE_NETWORK_ALLOCATION, ids[i], &record) ||
            !core_record(call->core, TABLE_NETWORK, record.network_allocation.network_id,
                         &network) ||
            !ip_parse(record.network_allocation.address, &at->ip, &wrong))
            continue;
        at->network_id = network.id;
        at->rank = network_id ? 0 : address_category_rank(call, network.network.category);
        if (at->rank != UINT32_MAX && (!network_id || network_id == network.id))
            kept++;
    }
    sort_items(all, kept, sizeof *all, address_cmp, call->arena);
    *out_count = kept;
    return all;
}

/* The addresses of a node in one network. */
struct network_addresses {
    struct str node;
    int64_t network_id;
    const struct node_address *at;
    uint32_t count;
};

/* Writes {"node","network","category","addresses"}. */
static void address_put_network(struct call *call, const struct network_addresses *of,
                                struct buf *out)
{
    struct record network;
    must(core_record(call->core, TABLE_NETWORK, of->network_id, &network));
    struct object_writer m = object_writer_open(out, call->wanted);
    object_put_text(&m, "node", of->node);
    object_put_text(&m, "network", network.network.name);
    object_put_text(&m, "category", network.network.category);
    if (object_put_key(&m, "addresses")) {
        buf_put_c(out, '[');
        for (uint32_t i = 0; i < of->count; i++) {
            buf_put_z(out, i ? "," : "");
            json_write_string(out, ip_format(call->arena, of->at[i].ip));
        }
        buf_put_c(out, ']');
    }
    object_writer_close(&m);
}

/* An object for each network in which the node has addresses. */
static void address_put_networks(struct call *call, struct str node, const struct node_address *all,
                                 uint32_t count, struct buf *out)
{
    buf_put_c(out, '[');
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && all[end].network_id == all[i].network_id;)
            end++;
        const struct network_addresses of = {node, all[i].network_id, all + i, end - i};
        buf_put_z(out, i ? ",\n" : "");
        address_put_network(call, &of, out);
    }
    buf_put_c(out, ']');
}

enum handler_result serve_node_addresses(struct call *call)
{
    struct record node, network = {0};
    struct str key;
    uint32_t count;
    struct buf b = buf_in(call->arena);
    if (!resource_find(call, &resource_nodes, call->keys[0], &node))
        return SERVED_REPLY;
    const bool is_one = http_query(call->request, STR("network"), &key);
    if (is_one && !resource_find(call, &resource_networks, key, &network)) {
        if (call->problems)
            call->problems->field = STR("network"); /* the key is a query parameter here */
        return SERVED_REPLY;
    }
    const struct node_address *all = address_collect(call, node.id, network.id, &count);
    if (is_one)
        address_put_network(
            call, &(struct network_addresses){node.node.name, network.id, all, count}, &b);
    else
        address_put_networks(call, node.node.name, all, count, &b);
    reply_json(call, "json", is_one ? "object" : "array", buf_str(&b));
    return SERVED_REPLY;
}

/* ---- routes ---- */

static const struct route routes[] = {
    ROUTES_READ("network_allocations", resource_network_allocations),
    {.method = HTTP_POST,
     .pattern = V "network_allocations",
     .serve = serve_allocation_create,
     .resource = &resource_network_allocations,
     .params = &create,
     .form = REPLY_CUSTOM,
     .does = "give a node an address: the object for a range or an address, else the list of its "
             "addresses in the network"},
    {.method = HTTP_DELETE,
     .pattern = V "network_allocations/:id",
     .serve = serve_delete,
     .resource = &resource_network_allocations,
     .command = COMMAND_NETWORK_DEALLOCATE,
     .form = REPLY_MESSAGE,
     .does = "free the address"},
};

const struct route_table route_table_network_allocations =
    ROUTE_TABLE("network_allocations", routes);
