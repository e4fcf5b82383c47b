#include "api/nouns/attribs.h"

#include "api/rest/standard_routes.h"

/* Attribs: fields, parameters and routes. An attrib is a name for a path in the documents of its
 * owner; values are served by attrib_values.c. The file has constant tables and no state; failures
 * are those of the shared handlers (objects.c). */

/* clang-format off */
static const struct object_view_field attrib_fields[] = {
    {"id",          PROP_INT,     PROP_AT(attrib.id),            0, NULL},
    {"barclamp_id", PROP_REF,     PROP_AT(attrib.barclamp_id),   0, NULL},
    {"role_id",     PROP_REF,     PROP_AT(attrib.role_id),       0, NULL},
    {"name",        PROP_TEXT,    PROP_AT(attrib.name),          0, "null"},
    {"description", PROP_TEXT,    PROP_AT(attrib.description),   0, "\"\""},
    {"writable",    PROP_BOOL,    PROP_AT(attrib.writable),      0, "false"},
    {"schema",      PROP_ANY,     PROP_AT(attrib.schema),        0, "null"},
    {"order",       PROP_UINT32,   PROP_AT(attrib.order),         0, "10000"},
    {"map",         PROP_TEXT,    PROP_AT(attrib.map),           0, "\"\""},
    {"ui_renderer", PROP_TEXT,    PROP_AT(attrib.ui_renderer),   0, "\"attribs/default\""},
    {"default",     PROP_DEFAULT, PROP_AT(attrib.default_value), 0, "{\"value\":null}"},
    PROP_TIMES(attrib)
};
/* clang-format on */

/* An attrib by itself has no value: the key is left out, unless attrib_values.c sets a function. */
static const struct object_view_tail value_tail = {.name = "value"};
static const struct object_view shape_attrib = {
    .type = "attrib", .table = TABLE_ATTRIB, PROP_ROWS(attrib_fields), .tail = &value_tail};

static const struct param_rule create_rules[] = {
    {.name = "name", .kind = PARAM_TEXT, .at = COMMAND_AT(attrib_create.name), .is_required = true},
    {.name = "description", .kind = PARAM_TEXT, .at = COMMAND_AT(attrib_create.description)},
    {.name = "barclamp",
     .kind = PARAM_REF,
     .at = COMMAND_AT(attrib_create.barclamp_id),
     .to = TABLE_BARCLAMP,
     .id_key = "barclamp_id"},
    {.name = "role",
     .kind = PARAM_REF,
     .at = COMMAND_AT(attrib_create.role_id),
     .to = TABLE_ROLE,
     .id_key = "role_id"},
    {.name = "writable", .kind = PARAM_BOOL, .at = COMMAND_AT(attrib_create.writable)},
    {.name = "order", .kind = PARAM_UINT32, .at = COMMAND_AT(attrib_create.order)},
    {.name = "map", .kind = PARAM_TEXT, .at = COMMAND_AT(attrib_create.map)},
    {.name = "ui_renderer", .kind = PARAM_TEXT, .at = COMMAND_AT(attrib_create.ui_renderer)},
    {.name = "schema", .kind = PARAM_DOC, .at = COMMAND_AT(attrib_create.schema)},
    {.name = "default", .kind = PARAM_VALUE, .at = COMMAND_AT(attrib_create.default_value)},
};

/* The default is returned as {"value": X}. Barclamp files contain X alone, and a request may send
 * either. */
static void attrib_check_create(struct call *call, struct command *command)
{
    struct attrib_create_command *p = &command->attrib_create;
    resource_refuse_reserved(call, p->name);
    if (!p->default_value.len)
        return;
    const struct json *value = json_get(call->params, STR("default"));
    const bool is_wrapped =
        value->kind == JSON_OBJECT && value->count == 1 && str_eq(value->first->key, STR("value"));
    if (!is_wrapped)
        p->default_value = STR_CONCAT(call->arena, STR("{\"value\":"), p->default_value, STR("}"));
}

static const struct params_schema create = {
    .kind = COMMAND_ATTRIB_CREATE, PARAM_RULES(create_rules), .check = attrib_check_create};

const struct resource resource_attribs = {
    .view = &shape_attrib,
    .order = ORDER_BY_ID,
    .create = &create,
};

static const struct route routes[] = {
    ROUTES_READ("attribs", resource_attribs),
    ROUTES_MAKE("attribs", resource_attribs, COMMAND_ATTRIB_DELETE),
};

const struct route_table route_table_attribs = ROUTE_TABLE("attribs", routes);
