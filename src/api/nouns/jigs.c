#include "api/rest/standard_routes.h"

/* Jigs: fields, parameters and routes. A jig is a way to execute a role on a node, such as a shell
 * script or Ansible. Jigs come from barclamps and cannot be created through the API. The file has
 * constant tables and no state; failures are those of the shared handlers (objects.c). */

/* clang-format off */
static const struct object_view_field jig_fields[] = {
    {"id",               PROP_INT,      PROP_AT(jig.id),               0, NULL},
    {"name",             PROP_TEXT,     PROP_AT(jig.name),             0, "null"},
    {"description",      PROP_TEXT,     PROP_AT(jig.description),      0, "\"\""},
    {"order",            PROP_UINT32,    PROP_AT(jig.order),            0, "10000"},
    {"active",           PROP_JIG_ACTIVE, PROP_AT(jig.id),             0, "false"},
    {"client_role_name", PROP_OPTIONAL, PROP_AT(jig.client_role_name), 0, "null"},
    {"server",           PROP_OPTIONAL, PROP_AT(jig.server),           0, "null"},
    {"client_name",      PROP_OPTIONAL, PROP_AT(jig.client_name),      0, "null"},
    {"key",              PROP_OPTIONAL, PROP_AT(jig.key),              0, "null"},
    PROP_TIMES(jig)
    {"inactive_reason",  PROP_INACTIVE, PROP_AT(jig.id),               0, NULL},
};
/* clang-format on */

static const struct object_view shape_jig = {
    .type = "jig", .table = TABLE_JIG, PROP_ROWS(jig_fields), .extras = 1};

static const struct param_rule update_rules[] = {
    {.name = "description",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(jig_update.description),
     .given = GIVEN_JIG_DESCRIPTION},
    {.name = "active",
     .kind = PARAM_BOOL,
     .at = COMMAND_AT(jig_update.active),
     .given = GIVEN_JIG_ACTIVE},
    {.name = "server",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(jig_update.server),
     .given = GIVEN_JIG_SERVER},
    {.name = "client_name",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(jig_update.client_name),
     .given = GIVEN_JIG_CLIENT_NAME},
    {.name = "key", .kind = PARAM_TEXT, .at = COMMAND_AT(jig_update.key), .given = GIVEN_JIG_KEY},
};

static const struct params_schema update = {
    .kind = COMMAND_JIG_UPDATE, PARAM_RULES(update_rules), GIVEN_MASK_AT(jig_update)};

const struct resource resource_jigs = {
    .view = &shape_jig,
    .order = ORDER_BY_ID,
    .update = &update,
};

static const struct route routes[] = {
    ROUTES_READ("jigs", resource_jigs),
    ROUTES_EDIT("jigs", resource_jigs),
};

const struct route_table route_table_jigs = ROUTE_TABLE("jigs", routes);
