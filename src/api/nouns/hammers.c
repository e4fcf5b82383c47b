#include "api/nouns/hammers.h"

#include "api/call/iso8601.h"
#include "api/call/reply.h"
#include "api/rest/standard_routes.h"
#include "model/hammer_class.h"

/* Hammers (drivers that reach or switch a machine) and power actions. The file has no state. The
 * secret of a hammer (authenticator) is never returned.
 *
 * Order of a power action: it is ordered by a command, which adds a row to the outbox (work outside
 * the core that survives a crash); the id of that row is the number of the order. It is performed
 * after the batch is committed, or later, if it has to wait until the boot environment of the node
 * is served. When it has ended, the row is deleted and the result is stored in the node, which
 * keeps the newest results only.
 *
 * Failure: the reply to an order only states that it was accepted; whether the action succeeded is
 * read by its number. Results that the node does not keep any more are 404. An action that no
 * hammer of the node supports is refused by the core; the route perform replies 200 with an
 * "exception" if the hammer of its path does not support the action. */

/* ---- hammers as objects ---- */

/* Without the authenticator, which is secret. */
/* clang-format off */
static const struct object_view_field hammer_fields[] = {
    {"id",                  PROP_INT,      PROP_AT(hammer.id),             0, NULL},
    {"node_id",             PROP_REF,      PROP_AT(hammer.node_id),        0, NULL},
    {"available_hammer_id", PROP_REF,      PROP_AT(hammer.hammer_kind_id), 0, NULL},
    {"priority",            PROP_UINT32,    PROP_AT(hammer.priority),       0, "0"},
    {"name",                PROP_TEXT,     PROP_AT(hammer.name),           0, "null"},
    {"endpoint",            PROP_OPTIONAL, PROP_AT(hammer.endpoint),       0, "null"},
    {"username",            PROP_TEXT,     PROP_AT(hammer.username),       0, "null"},
    {"actions",             PROP_ACTIONS,  PROP_AT(hammer.hammer_kind_id), 0, NULL},
    {"extra",               PROP_OBJECT,   PROP_AT(hammer.extra),          0, "{}"},
};

static const struct object_view_field hammer_kind_fields[] = {
    {"id",       PROP_INT,   PROP_AT(hammer_kind.id),       0, NULL},
    {"name",     PROP_TEXT,  PROP_AT(hammer_kind.name),     0, "null"},
    {"klass",    PROP_TEXT,  PROP_AT(hammer_kind.klass),    0, "null"},
    {"priority", PROP_UINT32, PROP_AT(hammer_kind.priority), 0, "0"},
    PROP_TIMES(hammer_kind)
};
/* clang-format on */

/* The name of its class in OpenCrowbar, which is part of the content type. */
static const char *hammer_opencrowbar_type(const struct core *core, const struct record *hammer,
                                           struct arena *a)
{
    struct record kind;
    const struct hammer_class *klass =
        core_record(core, TABLE_HAMMER_KIND, hammer->hammer.hammer_kind_id, &kind)
            ? hammer_class_find(kind.hammer_kind.klass)
            : NULL;
    if (!klass)
        return "hammer";
    const struct str name = str_from(klass->name);
    if (str_eq(name, STR("ssh")))
        return "secure_shell_hammer";
    return str_z(a, STR_CONCAT(a, name, STR("_hammer")));
}

static const struct object_view shape_hammer = {.type = "hammer",
                                                .table = TABLE_HAMMER,
                                                PROP_ROWS(hammer_fields),
                                                .extras = 1,
                                                .type_of = hammer_opencrowbar_type};
static const struct object_view shape_hammer_kind = {
    .type = "available_hammer", .table = TABLE_HAMMER_KIND, PROP_ROWS(hammer_kind_fields)};

static const struct param_rule create_rules[] = {
    {.name = "node",
     .kind = PARAM_REF,
     .at = COMMAND_AT(hammer_create.node_id),
     .is_required = true,
     .to = TABLE_NODE,
     .id_key = "node_id"},
    {.name = "available_hammer",
     .kind = PARAM_REF,
     .at = COMMAND_AT(hammer_create.hammer_kind_id),
     .is_required = true,
     .to = TABLE_HAMMER_KIND,
     .id_key = "available_hammer_id"},
    {.name = "endpoint", .kind = PARAM_TEXT, .at = COMMAND_AT(hammer_create.endpoint)},
    {.name = "username", .kind = PARAM_TEXT, .at = COMMAND_AT(hammer_create.username)},
    {.name = "authenticator", .kind = PARAM_TEXT, .at = COMMAND_AT(hammer_create.authenticator)},
    {.name = "priority", .kind = PARAM_UINT32, .at = COMMAND_AT(hammer_create.priority)},
    {.name = "extra", .kind = PARAM_DOC, .at = COMMAND_AT(hammer_create.extra)},
};

static const struct param_rule update_rules[] = {
    {.name = "priority",
     .kind = PARAM_UINT32,
     .at = COMMAND_AT(hammer_update.priority),
     .given = GIVEN_HAMMER_PRIORITY},
    {.name = "endpoint",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(hammer_update.endpoint),
     .given = GIVEN_HAMMER_ENDPOINT},
    {.name = "username",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(hammer_update.username),
     .given = GIVEN_HAMMER_USERNAME},
    {.name = "authenticator",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(hammer_update.authenticator),
     .given = GIVEN_HAMMER_AUTHENTICATOR},
    {.name = "extra",
     .kind = PARAM_DOC,
     .at = COMMAND_AT(hammer_update.extra),
     .given = GIVEN_HAMMER_EXTRA},
};

static const struct params_schema create = {.kind = COMMAND_HAMMER_CREATE,
                                            PARAM_RULES(create_rules)};
static const struct params_schema update = {
    .kind = COMMAND_HAMMER_UPDATE, PARAM_RULES(update_rules), GIVEN_MASK_AT(hammer_update)};

/* Every node has a hammer "ssh". For reads a name means the first one, as in OpenCrowbar. For
 * changes and actions, which could hit the wrong machine, the name must be unique. A hammer has the
 * name of its kind, so unknown names need no search. */
static int64_t hammer_find(struct call *call, struct str name)
{
    struct record hammer;
    int64_t first = 0;
    const bool is_read = call->route->method == HTTP_GET;
    if (!core_find(call->core, TABLE_HAMMER_KIND, name))
        return 0;
    for (int64_t id = core_next_id(call->core, TABLE_HAMMER, 0); id;
         id = core_next_id(call->core, TABLE_HAMMER, id)) {
        if (!core_record(call->core, TABLE_HAMMER, id, &hammer) ||
            !str_eq(hammer.hammer.name, name))
            continue;
        if (is_read)
            return id;
        if (first) {
            call_refuse(call, PROBLEM_BAD_VALUE, STR("id"),
                        STR_CONCAT(call->arena, STR("several hammers are called "), name,
                                   STR(": name one by its id, or use nodes/NODE/hammers/"), name));
            return 0;
        }
        first = id;
    }
    return first;
}

const struct resource resource_hammers = {
    .view = &shape_hammer,
    .order = ORDER_BY_ID,
    .create = &create,
    .update = &update,
    .find = hammer_find,
};

const struct resource resource_hammer_kinds = {
    .view = &shape_hammer_kind,
    .sorted_by = "priority",
};

/* ---- power ---- */

static struct str hammer_power_actions(const struct call *call, int64_t hammer_id)
{
    struct record hammer, kind;
    if (!core_record(call->core, TABLE_HAMMER, hammer_id, &hammer) ||
        !core_record(call->core, TABLE_HAMMER_KIND, hammer.hammer.hammer_kind_id, &kind))
        return STR("");
    const struct hammer_class *found = hammer_class_find(kind.hammer_kind.klass);
    return found ? hammer_class_words(found, HAMMER_POWER) : STR("");
}

enum handler_result serve_power_actions(struct call *call)
{
    struct record node;
    uint32_t count;
    if (!resource_find(call, &resource_nodes, call->keys[0], &node))
        return SERVED_REPLY;
    struct json *all = json_make(call->arena, JSON_ARRAY);
    const int64_t *ids = core_hammers_of(call->core, node.id, call->arena, &count);
    for (uint32_t i = 0; i < count; i++)
        for (struct str words = hammer_power_actions(call, ids[i]); words.len;) {
            const struct str word = hammer_next_word(&words);
            const struct json *have = all->first;
            while (have && !str_eq(have->text, word))
                have = have->next;
            if (!have)
                json_append(all, json_make_string(call->arena, word));
        }
    reply_json(call, "json", "array", json_write(call->arena, all));
    return SERVED_REPLY;
}

/* With view=full also the number of the order, which is in the document of the outcome. */
static void power_reply_ordered(struct call *call, int64_t id)
{
    struct json *reply = json_make(call->arena, JSON_OBJECT);
    struct str action = STR("");
    param_text(call, "poweraction", &action);
    json_set(reply, STR("id"), json_make_i64(call->arena, id));
    json_set(reply, STR("action"), json_make_string(call->arena, action));
    json_set(reply, STR("result"), json_make_string(call->arena, STR("ordered")));
    struct json *doc;
    uint32_t at;
    const char *what;
    if (call->wants_extras && json_read(call->arena, call->doc, &doc, &at, &what) == OK &&
        json_get(doc, STR("order")))
        json_set(reply, STR("order"), json_clone(call->arena, json_get(doc, STR("order"))));
    reply_json(call, "json", "result", json_write(call->arena, reply));
}

static const struct param_rule power_rules[] = {
    {.name = "poweraction",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(node_power.action),
     .is_required = true},
};

const struct params_schema power_params = {.kind = COMMAND_NODE_POWER, PARAM_RULES(power_rules)};

enum handler_result serve_power(struct call *call)
{
    struct command command = {0};
    struct record node;
    if (!resource_find(call, &resource_nodes, call->keys[0], &node) || !object_condition(call) ||
        !params_read(call, resource_nodes.view->type))
        return SERVED_REPLY;
    params_schema_read(call, &power_params, node.id, &command);
    if (call->problems)
        return SERVED_REPLY;
    call->resource = &resource_nodes;
    return call_submit(call, &command, power_reply_ordered);
}

/* ---- result of a power order ---- */

/* `entry` is the result stored in the node; NULL: the order has not ended. row->generation is the
 * boot generation that the order waits for; 0: it does not wait. */
static void power_reply_order(struct call *call, const struct node_record *node,
                              const struct outbox_record *row, const struct json *entry)
{
    struct arena *a = call->arena;
    struct json *reply = json_make(a, JSON_OBJECT);
    const char *state = row->generation ? "waiting" : "ordered";
    if (entry)
        state = json_is_true(json_get(entry, STR("failed"))) ? "failed" : "done";
    json_set(reply, STR("id"), json_make_i64(a, node->id));
    json_set(reply, STR("order"), json_make_i64(a, row->id));
    json_set(reply, STR("action"), json_make_string(a, row->detail));
    json_set(reply, STR("state"), json_make_string(a, str_from(state)));
    json_set(reply, STR("result"), json_make_string(a, str_from(state)));
    if (entry) {
        struct buf at = buf_in(a);
        int64_t at_ms = 0;
        if (json_as_i64(json_get(entry, STR("at_ms")), &at_ms))
            iso8601_format(&at, at_ms);
        json_set(reply, STR("result"), json_clone(a, json_get(entry, STR("text"))));
        json_set(reply, STR("reason"), json_clone(a, json_get(entry, STR("reason"))));
        json_set(reply, STR("driver"), json_clone(a, json_get(entry, STR("driver"))));
        json_set(reply, STR("at"), json_make_string(a, buf_str(&at)));
    }
    json_set(reply, STR("power_state"),
             json_make_string(a, str_from(power_state_name((enum power_state)node->power_state))));
    reply_json(call, resource_nodes.view->type, "obj", json_write(a, reply));
}

/* The stored result of the order; NULL: there is none. */
static const struct json *power_find_result(struct call *call, const struct node_record *node,
                                            int64_t order)
{
    struct json *all;
    uint32_t at;
    const char *what;
    int64_t number;
    if (!node->power_results.len ||
        json_read(call->arena, node->power_results, &all, &at, &what) != OK)
        return NULL;
    for (const struct json *entry = all->first; entry; entry = entry->next) {
        const struct json *have = json_get(entry, STR("order"));
        if (have && json_as_i64(have, &number) && number == order)
            return entry;
    }
    return NULL;
}

enum handler_result serve_power_order(struct call *call)
{
    struct record node, row;
    int64_t order;
    if (!resource_find(call, &resource_nodes, call->keys[0], &node))
        return SERVED_REPLY;
    const bool is_number = str_parse_i64(call->keys[1], &order);
    const struct json *entry = is_number ? power_find_result(call, &node.node, order) : NULL;
    /* An order is in the outbox until it has ended, then in the results of its node. */
    const bool is_row = is_number && core_record(call->core, TABLE_OUTBOX, order, &row) &&
                        row.outbox.kind == OUTBOX_POWER && row.outbox.object_id == node.id;
    if (entry)
        row.outbox =
            (struct outbox_record){.id = order, .detail = json_get(entry, STR("action"))->text};
    if (entry || is_row) {
        power_reply_order(call, &node.node, &row.outbox, entry);
    } else {
        call_refuse(
            call, PROBLEM_NOT_FOUND, STR("id"),
            STR_CONCAT(call->arena, STR("node "), node.node.name, STR(" has no power order "),
                       call->keys[1],
                       STR(" whose result is kept; GET events?object=node has the older ones")));
    }
    return SERVED_REPLY;
}

/* ---- perform ---- */

static const struct param_rule perform_rules[] = {
    {.name = "method",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(node_power.action),
     .is_required = true},
    {.name = "args", .kind = PARAM_VALUE, .read_by_handler = true},
};

static const struct params_schema perform = {.kind = COMMAND_NODE_POWER,
                                             PARAM_RULES(perform_rules)};

/* The reply of the route perform, in the form of OpenCrowbar. */
static void hammer_reply_action(struct call *call, const struct record *hammer, const char *type,
                                struct str results)
{
    struct json *reply = json_make(call->arena, JSON_OBJECT);
    const struct json *args = json_get(call->params, STR("args"));
    struct record node;
    struct str method = STR("");
    param_text(call, "method", &method);
    if (core_record(call->core, TABLE_NODE, hammer->hammer.node_id, &node))
        json_set(reply, STR("node"), json_make_string(call->arena, node.node.name));
    json_set(reply, STR("name"), json_make_string(call->arena, hammer->hammer.name));
    json_set(reply, STR("id"), json_make_i64(call->arena, hammer->id));
    json_set(reply, STR("method"), json_make_string(call->arena, method));
    json_set(reply, STR("args"),
             args ? json_clone(call->arena, args) : json_make(call->arena, JSON_ARRAY));
    json_set(reply, STR("result_type"), json_make_string(call->arena, str_from(type)));
    json_set(reply, STR("results"), json_make_string(call->arena, results));
    reply_json(call, hammer_opencrowbar_type(call->core, hammer, call->arena), "action",
               json_write(call->arena, reply));
}

static void hammer_reply_performed(struct call *call, int64_t node_id)
{
    struct record hammer;
    (void)node_id;
    if (call->core && resource_find(call, &resource_hammers, call->keys[0], &hammer))
        hammer_reply_action(call, &hammer, "action", STR("ordered"));
    else
        reply_message(call, shape_hammer.type,
                      STR("the action was ordered; the hammer has been deleted since"));
}

/* Only power actions are performed on request. They are ordered as by PUT power, so the best hammer
 * of the node is used. Commands on machines are executed by roles only. */
static enum handler_result serve_perform(struct call *call)
{
    struct command command = {0};
    struct record hammer;
    if (!resource_find(call, &resource_hammers, call->keys[0], &hammer) ||
        !params_read(call, shape_hammer.type))
        return SERVED_REPLY;
    params_schema_read(call, &perform, hammer.hammer.node_id, &command);
    if (call->problems)
        return SERVED_REPLY;
    const struct str words = hammer_power_actions(call, hammer.id);
    if (hammer_words_have(words, command.node_power.action))
        return object_submit(call, &command, hammer_reply_performed);
    hammer_reply_action(call, &hammer, "exception",
                        STR_CONCAT(call->arena, hammer.hammer.name,
                                   STR(" does not support the action "), command.node_power.action,
                                   STR(" on request; supported: "),
                                   words.len ? words : STR("none")));
    return SERVED_REPLY;
}

/* ---- routes ---- */

static const struct route hammer_routes[] = {
    ROUTES_READ("hammers", resource_hammers),
    ROUTES_EDIT("hammers", resource_hammers),
    ROUTES_MAKE("hammers", resource_hammers, COMMAND_HAMMER_DELETE),
    {.method = HTTP_POST,
     .pattern = V "hammers/:id/perform",
     .serve = serve_perform,
     .resource = &resource_hammers,
     .params = &perform,
     .form = REPLY_CUSTOM,
     .does = "order a power action for its node; other actions return an exception"},
};

static const struct route kind_routes[] = {
    ROUTES_READ("available_hammers", resource_hammer_kinds),
};

const struct route_table route_table_hammers = ROUTE_TABLE("hammers", hammer_routes);
const struct route_table route_table_hammer_kinds = ROUTE_TABLE("available_hammers", kind_routes);
