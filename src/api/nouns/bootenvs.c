#include "api/rest/standard_routes.h"

/* Boot environments, which barclamps define: what a machine with this value of `bootenv` boots.
 * Constant tables without state. They are read only; an import of their barclamp changes them.
 * `available` is what a boot server reported last, and false until one has. */

/* clang-format off */
static const struct object_view_field bootenv_fields[] = {
    {"id",          PROP_INT,  PROP_AT(bootenv.id),          0, NULL},
    {"name",        PROP_TEXT, PROP_AT(bootenv.name),        0, "null"},
    {"kernel",      PROP_TEXT, PROP_AT(bootenv.kernel),      0, "null"},
    {"initrd",      PROP_ARRAY,PROP_AT(bootenv.initrd),      0, "[]"},
    {"args",        PROP_TEXT, PROP_AT(bootenv.args),        0, "\"\""},
    {"method",      PROP_TEXT, PROP_AT(bootenv.method),      0, "\"installer\""},
    {"os",          PROP_TEXT, PROP_AT(bootenv.os),          0, "\"\""},
    {"available",   PROP_BOOL, PROP_AT(bootenv.available),   0, "false"},
    {"barclamp_id", PROP_REF,  PROP_AT(bootenv.barclamp_id), 0, NULL},
    PROP_TIMES(bootenv)
};
/* clang-format on */

static const struct object_view shape_bootenv = {
    .type = "bootenv", .table = TABLE_BOOTENV, PROP_ROWS(bootenv_fields)};

const struct resource resource_bootenvs = {.view = &shape_bootenv, .sorted_by = "name"};

static const struct route bootenv_routes[] = {
    ROUTES_READ("bootenvs", resource_bootenvs),
};

const struct route_table route_table_bootenvs = ROUTE_TABLE("bootenvs", bootenv_routes);
