#include "api/call/reply.h"
#include "api/rest/nested_lists.h"
#include "api/rest/standard_routes.h"

/* Groups of nodes: fields, parameters and routes, and the routes that add nodes to a group and
 * remove them. Constant tables without state; a change is one command, and a problem before it
 * changes nothing. The removal of a node that is not in the group is refused here, because the core
 * has no problem for it. */

/* clang-format off */
static const struct object_view_field group_fields[] = {
    {"id",          PROP_INT,   PROP_AT(group.id),          0, NULL},
    {"name",        PROP_TEXT,  PROP_AT(group.name),        0, "null"},
    {"description", PROP_TEXT,  PROP_AT(group.description), 0, "\"\""},
    {"category",    PROP_TEXT,  PROP_AT(group.category),    0, "\"ui\""},
    {"order",       PROP_UINT32, PROP_AT(group.order),       0, "10000"},
    PROP_TIMES(group)
};
/* clang-format on */

static const struct object_view shape_group = {
    .type = "group", .table = TABLE_GROUP, PROP_ROWS(group_fields)};

static const struct param_rule create_rules[] = {
    {.name = "name", .kind = PARAM_TEXT, .at = COMMAND_AT(group_create.name), .is_required = true},
    {.name = "description", .kind = PARAM_TEXT, .at = COMMAND_AT(group_create.description)},
    {.name = "category", .kind = PARAM_TEXT, .at = COMMAND_AT(group_create.category)},
    {.name = "order", .kind = PARAM_UINT32, .at = COMMAND_AT(group_create.order)},
};

static const struct param_rule update_rules[] = {
    {.name = "name", .kind = PARAM_TEXT, .at = COMMAND_AT(group_update.name), .given = GIVEN_NAME},
    {.name = "description",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(group_update.description),
     .given = GIVEN_DESCRIPTION},
    {.name = "category",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(group_update.category),
     .given = GIVEN_GROUP_CATEGORY},
    {.name = "order",
     .kind = PARAM_UINT32,
     .at = COMMAND_AT(group_update.order),
     .given = GIVEN_GROUP_ORDER},
};

static const struct params_schema create = {.kind = COMMAND_GROUP_CREATE,
                                            PARAM_RULES(create_rules)};
static const struct params_schema update = {
    .kind = COMMAND_GROUP_UPDATE, PARAM_RULES(update_rules), GIVEN_MASK_AT(group_update)};

const struct resource resource_groups = {
    .view = &shape_group,
    .order = ORDER_BY_ID,
    .create = &create,
    .update = &update,
};

/* ---- members ---- */

static const struct param_rule add_rules[] = {
    {.name = "node",
     .kind = PARAM_REF,
     .at = COMMAND_AT(group_add.node_id),
     .is_required = true,
     .to = TABLE_NODE,
     .id_key = "node_id"},
};

static const struct params_schema add = {.kind = COMMAND_GROUP_ADD, PARAM_RULES(add_rules)};

static enum handler_result serve_group_add(struct call *call)
{
    struct command command = {0};
    struct record group;
    if (!resource_find(call, &resource_groups, call->keys[0], &group) || !object_condition(call) ||
        !params_read(call, shape_group.type))
        return SERVED_REPLY;
    params_schema_read(call, &add, group.id, &command);
    return object_submit(call, &command, object_reply_shown);
}

static void group_reply_removed(struct call *call, int64_t id)
{
    (void)id;
    reply_message(call, shape_group.type,
                  STR_CONCAT(call->arena, STR("node "), call->keys[1],
                             STR(" was removed from group "), call->keys[0]));
}

static enum handler_result serve_group_remove(struct call *call)
{
    struct record group, node;
    if (!resource_find(call, &resource_groups, call->keys[0], &group) ||
        !resource_find(call, &resource_nodes, call->keys[1], &node) || !object_condition(call))
        return SERVED_REPLY;
    if (!core_is_in_group(call->core, group.id, node.id))
        call_refuse(call, PROBLEM_NOT_FOUND, STR("id"),
                    STR_CONCAT(call->arena, STR("node "), node.node.name, STR(" is not in group "),
                               group.group.name));
    struct command command = {.kind = COMMAND_GROUP_REMOVE,
                              .group_remove = {.id = group.id, .node_id = node.id}};
    return object_submit(call, &command, group_reply_removed);
}

/* ---- routes ---- */

/* Without the routes sample and match: a group may have one of these names. */
static const struct route routes[] = {
    {.method = HTTP_GET,
     .pattern = V "groups",
     .serve = serve_list,
     .resource = &resource_groups,
     .form = REPLY_LIST,
     .does = "list the objects"},
    {.method = HTTP_GET,
     .pattern = V "groups/:id",
     .serve = serve_show,
     .resource = &resource_groups,
     .does = "show one object: by id, by name (the oldest of that name) or by category%2Fname"},
    ROUTES_EDIT("groups", resource_groups),
    ROUTES_MAKE("groups", resource_groups, COMMAND_GROUP_DELETE),
    ROUTE_OWNED_LIST("groups/:id/nodes", resource_nodes, resource_groups, "the nodes in it"),
    {.method = HTTP_POST,
     .pattern = V "groups/:id/nodes",
     .serve = serve_group_add,
     .resource = &resource_groups,
     .params = &add,
     .does = "add a node to it"},
    {.method = HTTP_DELETE,
     .pattern = V "groups/:id/nodes/:id",
     .serve = serve_group_remove,
     .resource = &resource_groups,
     .form = REPLY_MESSAGE,
     .does = "remove a node from it"},
};

const struct route_table route_table_groups = ROUTE_TABLE("groups", routes);
