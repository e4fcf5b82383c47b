#include "api/nouns/attribs.h"
#include "api/rest/nested_lists.h"
#include "api/rest/standard_routes.h"

/* Roles: fields, parameters and routes. Roles come from barclamps (packages of content) and cannot
 * be created through the API; description and template can be changed. The file has constant tables
 * and no state; failures are those of the shared handlers (objects.c). */

/* clang-format off */
#define FLAG(key, BIT) {key, PROP_FLAG, PROP_AT(role.flags), BIT, "false"}
static const struct object_view_field role_fields[] = {
    {"id",          PROP_INT,   PROP_AT(role.id),          0, NULL},
    {"name",        PROP_TEXT,  PROP_AT(role.name),        0, "null"},
    {"description", PROP_TEXT,  PROP_AT(role.description), 0, "\"\""},
    {"jig_name",    PROP_TEXT,  PROP_AT(role.jig_name),    0, "null"},
    {"barclamp_id", PROP_REF,   PROP_AT(role.barclamp_id), 0, NULL},
    {"provides",    PROP_ARRAY, PROP_AT(role.provides),    0, "[]"},
    {"conflicts",   PROP_ARRAY, PROP_AT(role.conflicts),   0, "[]"},
    {"cohort",      PROP_UINT32, PROP_AT(role.cohort),      0, "0"},
    FLAG("library", ROLE_LIBRARY),
    FLAG("implicit", ROLE_IMPLICIT),
    FLAG("bootstrap", ROLE_BOOTSTRAP),
    FLAG("discovery", ROLE_DISCOVERY),
    FLAG("cluster", ROLE_CLUSTER),
    FLAG("destructive", ROLE_DESTRUCTIVE),
    FLAG("abstract", ROLE_ABSTRACT),
    FLAG("milestone", ROLE_MILESTONE),
    FLAG("powersave", ROLE_POWERSAVE),
    FLAG("service", ROLE_SERVICE),
    PROP_TIMES(role)
    {"withdrawn",   PROP_FLAG,     PROP_AT(role.flags), ROLE_WITHDRAWN, NULL},
    {"unusable",    PROP_UNUSABLE, PROP_AT(role.id),    0,              NULL},
};
/* clang-format on */

static const struct object_view shape_role = {
    .type = "role", .table = TABLE_ROLE, PROP_ROWS(role_fields), .extras = 2};

static const struct param_rule update_rules[] = {
    {.name = "description",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(role_update.description),
     .given = GIVEN_ROLE_DESCRIPTION},
    {.name = "template",
     .kind = PARAM_DOC,
     .at = COMMAND_AT(role_update.template),
     .given = GIVEN_ROLE_TEMPLATE},
};

static const struct params_schema update = {
    .kind = COMMAND_ROLE_UPDATE, PARAM_RULES(update_rules), GIVEN_MASK_AT(role_update)};

static struct str role_template(const struct record *record)
{
    return record->role.template;
}

const struct resource resource_roles = {
    .view = &shape_role,
    .order = ORDER_BY_ID,
    .update = &update,
    .hidden_key = "template",
    .hidden_doc = role_template,
};

static const struct route routes[] = {
    ROUTES_READ("roles", resource_roles),
    ROUTES_EDIT("roles", resource_roles),
    ROUTE_OWNED_LIST("roles/:id/deployment_roles", resource_deployment_roles, resource_roles,
                     "its deployment roles"),
    ROUTE_OWNED_LIST("roles/:id/node_roles", resource_noderoles, resource_roles, "its noderoles"),
    ROUTE_OWNED_LIST("roles/:id/nodes", resource_nodes, resource_roles,
                     "the nodes that it is bound to"),
    ROUTES_ATTRIBS("roles", resource_roles, ROUTE_AUTH_REQUIRED),
};

const struct route_table route_table_roles = ROUTE_TABLE("roles", routes);
