#include "api/hammers.h"

#include "api/objects.h"
#include "api/params.h"
#include "api/reply.h"
#include "api/resource.h"
#include "api/route.h"
#include "model/hammer_class.h"

/* ---- hammers as objects ---- */

static bool take_priority(struct call *call, uint32_t *out_priority)
{
    int64_t number;
    if (!param_number(call, "priority", 0, UINT32_MAX, &number))
        return false;
    *out_priority = (uint32_t)number;
    return true;
}

static void hammer_create(struct call *call, struct command *out)
{
    static const struct param_ref node = {"node", "node_id", TABLE_NODE, false};
    static const struct param_ref kind = {"available_hammer", "available_hammer_id",
                                          TABLE_HAMMER_KIND, false};
    struct hammer_create_command *p = &out->hammer_create;
    out->kind = COMMAND_HAMMER_CREATE;
    param_ref_required(call, &node, &p->node_id);
    param_ref_required(call, &kind, &p->hammer_kind_id);
    param_text(call, "endpoint", &p->endpoint);
    param_text(call, "username", &p->username);
    param_text(call, "authenticator", &p->authenticator);
    take_priority(call, &p->priority);
    param_doc(call, "extra", &p->extra);
}

static void hammer_update(struct call *call, int64_t id, struct command *out)
{
    struct hammer_update_command *p = &out->hammer_update;
    out->kind = COMMAND_HAMMER_UPDATE;
    p->id = id;
    p->given =
        (take_priority(call, &p->priority) ? GIVEN_HAMMER_PRIORITY : 0u) |
        (param_text(call, "endpoint", &p->endpoint) ? GIVEN_HAMMER_ENDPOINT : 0u) |
        (param_text(call, "username", &p->username) ? GIVEN_HAMMER_USERNAME : 0u) |
        (param_text(call, "authenticator", &p->authenticator) ? GIVEN_HAMMER_AUTHENTICATOR : 0u) |
        (param_doc(call, "extra", &p->extra) ? GIVEN_HAMMER_EXTRA : 0u);
}

static const char *const hammer_editable[] = {"priority",      "endpoint", "username",
                                              "authenticator", "extra",    NULL};

const struct resource resource_hammers = {
    .shape = &shape_hammer,
    .order = ORDER_BY_ID,
    .create = hammer_create,
    .update = hammer_update,
    .editable = hammer_editable,
};

const struct resource resource_hammer_kinds = {.shape = &shape_hammer_kind, .order = ORDER_BY_ID};

/* ---- power ---- */

static struct str power_words(const struct call *call, int64_t hammer_id)
{
    struct record hammer, kind;
    if (!core_record(call->core, TABLE_HAMMER, hammer_id, &hammer) ||
        !core_record(call->core, TABLE_HAMMER_KIND, hammer.hammer.hammer_kind_id, &kind))
        return STR("");
    const struct hammer_class *found = hammer_class_find(kind.hammer_kind.klass);
    return found ? hammer_class_words(found, HAMMER_POWER) : STR("");
}

enum served serve_power_actions(struct call *call)
{
    struct record node;
    uint32_t count;
    if (!resource_find(call, &resource_nodes, call->keys[0], &node))
        return SERVED_REPLY;
    struct json *all = json_make(call->arena, JSON_ARRAY);
    const int64_t *ids = core_hammers_of(call->core, node.id, call->arena, &count);
    for (uint32_t i = 0; i < count; i++)
        for (struct str words = power_words(call, ids[i]); words.len;) {
            const struct str word = hammer_next_word(&words);
            const struct json *have = all->first;
            while (have && !str_eq(have->text, word))
                have = have->next;
            if (!have)
                json_append(all, json_make_string(call->arena, word));
        }
    reply_json(call, shape_node.type, "list", json_write(call->arena, all));
    return SERVED_REPLY;
}

static void power_ordered(struct call *call, int64_t id)
{
    struct json *reply = json_make(call->arena, JSON_OBJECT);
    struct str action = STR("");
    param_text(call, "poweraction", &action);
    json_set(reply, STR("id"), json_make_i64(call->arena, id));
    json_set(reply, STR("action"), json_make_string(call->arena, action));
    json_set(reply, STR("result"), json_make_string(call->arena, STR("ordered")));
    reply_json(call, shape_node.type, "obj", json_write(call->arena, reply));
}

enum served serve_power(struct call *call)
{
    struct command command = {.kind = COMMAND_NODE_POWER};
    struct record node;
    if (!resource_find(call, &resource_nodes, call->keys[0], &node) || !object_condition(call) ||
        !params_read(call, shape_node.type))
        return SERVED_REPLY;
    command.node_power.id = node.id;
    if (param_required(call, "poweraction"))
        param_text(call, "poweraction", &command.node_power.action);
    if (call->problems)
        return SERVED_REPLY;
    call->resource = &resource_nodes;
    return call_submit(call, &command, power_ordered);
}
