#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/rest/standard_routes.h"
#include "model/limits.h"
#include "model/names.h"

/* Interface maps: in which order the interfaces of a model of machine are counted. A map has a
 * pattern for the product name and a list of bus addresses; the first map whose pattern matches is
 * used.
 *
 * The maps are the value of one attrib, a list of {"pattern","bus_order"}, in the user data of the
 * role that defines the attrib, in the system deployment. The attrib is found by its name, the role
 * by the attrib. The file has no state.
 *
 * Order: the list and the precondition, the turn of the deployment role, are read from the same
 * core, so that a change in between makes the precondition fail; then the request is computed
 * again.
 *
 * Failure: without the attrib or the role in system there is no place for the maps, and the reply
 * says what is missing. */

#define INTERFACE_ATTRIB STR("network_interface_maps")

enum { SYSTEM_DEPLOYMENT = 1, BUS_ORDER_MAX = 256, MAPS_MAX = 1000 };

/* ---- the stored list ---- */

/* Where the maps are, and their list as it will be after the next commit. */
struct interface_maps {
    struct record attrib;
    int64_t deployment_role_id;
    struct json *list; /* an array */
};

/* False after a problem. */
static bool interfaces_read(struct call *call, struct interface_maps *out)
{
    const int64_t id = core_find(call->core, TABLE_ATTRIB, INTERFACE_ATTRIB);
    struct str value;
    uint32_t offset;
    const char *what;
    if (!id || !core_record(call->core, TABLE_ATTRIB, id, &out->attrib) ||
        !out->attrib.attrib.role_id) {
        call_refuse(call, PROBLEM_NOT_FOUND, STR("interfaces"),
                    STR("there is no role with the attrib network_interface_maps; import the "
                        "barclamp network"));
        return false;
    }
    out->deployment_role_id =
        core_deployment_role(call->core, SYSTEM_DEPLOYMENT, out->attrib.attrib.role_id);
    if (!out->deployment_role_id) {
        struct record role;
        must(core_record(call->core, TABLE_ROLE, out->attrib.attrib.role_id, &role));
        call_refuse(call, PROBLEM_WRONG_STATE, STR("interfaces"),
                    STR_CONCAT(call->arena, STR("the deployment system does not use the role "),
                               role.role.name, STR(", which stores the maps; add it to system")));
        return false;
    }
    out->list = json_make(call->arena, JSON_ARRAY);
    if (core_value(call->core, TABLE_DEPLOYMENT_ROLE, out->deployment_role_id, id, VIEW_PROPOSED,
                   call->arena, &value) &&
        value.len) {
        struct json *read;
        must(json_read(call->arena, value, &read, &offset, &what) == OK);
        out->list = read->kind == JSON_ARRAY ? read : out->list;
    }
    return true;
}

/* The map of that pattern; NULL: none. Entries of another form are skipped. */
static struct json *interfaces_find(const struct interface_maps *maps, struct str pattern)
{
    for (struct json *map = maps->list->first; map; map = map->next) {
        const struct json *have = json_get(map, STR("pattern"));
        if (have && have->kind == JSON_STRING && str_eq(have->text, pattern))
            return map;
    }
    return NULL;
}

/* ---- GET ---- */

static void interfaces_put_order(struct call *call, const struct json *map, struct buf *out)
{
    const struct json *order = json_get(map, STR("bus_order"));
    buf_put_str(out, order ? json_write(call->arena, order) : STR("[]"));
}

/* {"PATTERN":["BUS",...],...} in the order of the list, which decides which pattern is used. */
static enum handler_result serve_interfaces(struct call *call)
{
    struct interface_maps maps;
    struct buf b = buf_in(call->arena);
    bool is_first = true;
    if (!interfaces_read(call, &maps))
        return SERVED_REPLY;
    buf_put_c(&b, '{');
    for (const struct json *map = maps.list->first; map; map = map->next) {
        const struct json *pattern = json_get(map, STR("pattern"));
        if (!pattern || pattern->kind != JSON_STRING ||
            interfaces_find(&maps, pattern->text) != map)
            continue;
        buf_put_z(&b, is_first ? "" : ",");
        is_first = false;
        json_write_string(&b, pattern->text);
        buf_put_c(&b, ':');
        interfaces_put_order(call, map, &b);
    }
    buf_put_c(&b, '}');
    reply_json(call, "interface", "list", buf_str(&b));
    return SERVED_REPLY;
}

static void interfaces_reply_map(struct call *call, const struct json *map)
{
    struct buf b = buf_in(call->arena);
    buf_put_z(&b, "{\"pattern\":");
    json_write_string(&b, json_get(map, STR("pattern"))->text);
    buf_put_z(&b, ",\"bus_order\":");
    interfaces_put_order(call, map, &b);
    buf_put_c(&b, '}');
    reply_json(call, "interface", "obj", buf_str(&b));
}

static void interfaces_refuse_unknown_pattern(struct call *call, struct str pattern)
{
    call_refuse(
        call, PROBLEM_NOT_FOUND, STR("id"),
        STR_CONCAT(call->arena, STR("there is no interface map with the pattern "), pattern));
}

static enum handler_result serve_interface(struct call *call)
{
    struct interface_maps maps;
    if (!interfaces_read(call, &maps))
        return SERVED_REPLY;
    const struct json *map = interfaces_find(&maps, call->keys[0]);
    if (map)
        interfaces_reply_map(call, map);
    else
        interfaces_refuse_unknown_pattern(call, call->keys[0]);
    return SERVED_REPLY;
}

/* ---- changes ---- */

static const struct param_rule create_rules[] = {
    {.name = "pattern", .kind = PARAM_TEXT, .is_required = true, .read_by_handler = true},
    {.name = "bus_order", .kind = PARAM_VALUE, .is_required = true, .read_by_handler = true},
};
static const struct params_schema create = {.kind = COMMAND_ATTRIB_SET, PARAM_RULES(create_rules)};
static const struct params_schema update = {
    .kind = COMMAND_ATTRIB_SET, .rules = create_rules + 1, .count = 1};

static struct str interfaces_trim(struct str s)
{
    while (s.len && s.at[0] == ' ')
        s = str_slice(s, 1, s.len);
    while (s.len && s.at[s.len - 1] == ' ')
        s.len--;
    return s;
}

/* Appends one bus address; false if it is no line of 1 to 255 characters or there are too many. */
static bool interfaces_add_bus(struct call *call, struct json *order, struct str bus)
{
    bus = interfaces_trim(bus);
    if (names_check_label(bus) || order->count >= BUS_ORDER_MAX)
        return false;
    json_append(order, json_make_string(call->arena, bus));
    return true;
}

/* Reads bus_order: a list of strings, or one string with | between them. NULL after a problem. */
static struct json *interfaces_read_order(struct call *call)
{
    struct json *order = json_make(call->arena, JSON_ARRAY);
    const struct json *given = json_get(call->params, STR("bus_order"));
    bool reads = given && (given->kind == JSON_STRING || given->kind == JSON_ARRAY);
    if (!param_required(call, "bus_order"))
        return NULL;
    if (reads && given->kind == JSON_STRING)
        for (uint32_t at = 0, end; at <= given->text.len && reads; at = end + 1) {
            end = str_find(given->text, '|', at);
            reads = interfaces_add_bus(call, order, str_slice(given->text, at, end));
        }
    else
        for (const struct json *bus = reads ? given->first : NULL; bus && reads; bus = bus->next)
            reads = bus->kind == JSON_STRING && interfaces_add_bus(call, order, bus->text);
    if (reads && order->count)
        return order;
    call_refuse(call, PROBLEM_BAD_VALUE, STR("bus_order"),
                STR("bus_order must be 1 to 256 bus addresses of at most 255 characters, as a list "
                    "of strings or as one string with | between them"));
    return NULL;
}

/* The pattern is part of the path of a map, so one that is too long for a path could never be
 * deleted. */
static struct str interfaces_read_pattern(struct call *call)
{
    struct str pattern = STR("");
    if (!param_required(call, "pattern") || !param_text(call, "pattern", &pattern))
        return pattern;
    const char *wrong = names_check_label(pattern);
    if (wrong)
        call_refuse(call, PROBLEM_BAD_VALUE, STR("pattern"),
                    STR_CONCAT(call->arena, STR("pattern "), str_from(wrong)));
    return pattern;
}

static void interfaces_reply_changed(struct call *call, int64_t id)
{
    struct interface_maps maps;
    struct str pattern = call->keys[0];
    (void)id;
    if (!pattern.len)
        param_text(call, "pattern", &pattern);
    const struct json *map =
        call->core && interfaces_read(call, &maps) ? interfaces_find(&maps, pattern) : NULL;
    if (map)
        interfaces_reply_map(call, map);
    else
        reply_message(call, "interface",
                      STR("the change was made; the map has been deleted since"));
}

static void interfaces_reply_deleted(struct call *call, int64_t id)
{
    (void)id;
    reply_message(
        call, "interface",
        STR_CONCAT(call->arena, STR("interface map "), call->keys[0], STR(" was deleted")));
}

/* The length of the document after the change, with some room for the names of its members. The
 * core refuses one that is too long, but its problem names the value of the attrib, which no client
 * has sent. */
static uint64_t interfaces_new_length(struct call *call, const struct interface_maps *maps,
                                      const struct deployment_role_record *place, struct str list)
{
    const struct str map = maps->attrib.attrib.map;
    const struct str now = place->proposed ? place->proposed_data : place->committed_data;
    struct json *tree = NULL;
    uint32_t offset;
    const char *what;
    if (now.len)
        must(json_read(call->arena, now, &tree, &offset, &what) == OK);
    const struct json *old = tree ? json_at(tree, map) : NULL;
    return (uint64_t)now.len + list.len + (old ? 0 : 6 * (uint64_t)map.len) -
           (old ? json_write(call->arena, old).len : 0);
}

/* Stores the list, if nothing has changed the deployment role since it was read. */
static enum handler_result interfaces_submit(struct call *call, const struct interface_maps *maps,
                                             void (*finish)(struct call *call, int64_t id))
{
    struct record place;
    must(core_record(call->core, TABLE_DEPLOYMENT_ROLE, maps->deployment_role_id, &place));
    const struct str list = json_write(call->arena, maps->list);
    if (interfaces_new_length(call, maps, &place.deployment_role, list) > DOC_MAX) {
        call_refuse(call, PROBLEM_LIMIT_REACHED, STR("bus_order"),
                    STR("the interface maps together would be longer than a document may be; "
                        "shorten bus_order, or delete a map first"));
        return SERVED_REPLY;
    }
    call->can_try_again = true;
    call->if_turn = place.deployment_role.turn;
    struct command command = {.kind = COMMAND_ATTRIB_SET,
                              .attrib_set = {.target = TABLE_DEPLOYMENT_ROLE,
                                             .id = maps->deployment_role_id,
                                             .attrib_id = maps->attrib.id,
                                             .bucket = BUCKET_USER,
                                             .value = list}};
    return object_submit(call, &command, finish);
}

static enum handler_result serve_interface_create(struct call *call)
{
    struct command unused = {0};
    struct interface_maps maps;
    if (!params_read(call, "interface"))
        return SERVED_REPLY;
    params_schema_read(call, &create, 0, &unused); /* refuses unknown fields */
    struct json *order = interfaces_read_order(call);
    const struct str pattern = interfaces_read_pattern(call);
    if (call->problems || !interfaces_read(call, &maps))
        return SERVED_REPLY;
    if (interfaces_find(&maps, pattern))
        call_refuse(call, PROBLEM_NAME_TAKEN, STR("pattern"),
                    STR_CONCAT(call->arena, STR("there is an interface map with the pattern "),
                               pattern, STR(" already; change it with PUT")));
    if (maps.list->count >= MAPS_MAX)
        call_refuse(call, PROBLEM_LIMIT_REACHED, STR("pattern"),
                    STR("there are at most 1000 interface maps; delete one first"));
    if (call->problems)
        return SERVED_REPLY;
    struct json *map = json_make(call->arena, JSON_OBJECT);
    json_set(map, STR("pattern"), json_make_string(call->arena, pattern));
    json_set(map, STR("bus_order"), order);
    json_append(maps.list, map);
    return interfaces_submit(call, &maps, interfaces_reply_changed);
}

static enum handler_result serve_interface_update(struct call *call)
{
    struct command unused = {0};
    struct interface_maps maps;
    if (!params_read(call, "interface"))
        return SERVED_REPLY;
    params_schema_read(call, &update, 0, &unused); /* refuses unknown fields */
    struct json *order = interfaces_read_order(call);
    if (call->problems || !interfaces_read(call, &maps))
        return SERVED_REPLY;
    struct json *map = interfaces_find(&maps, call->keys[0]);
    if (!map) {
        interfaces_refuse_unknown_pattern(call, call->keys[0]);
        return SERVED_REPLY;
    }
    json_set(map, STR("bus_order"), order);
    return interfaces_submit(call, &maps, interfaces_reply_changed);
}

static enum handler_result serve_interface_delete(struct call *call)
{
    struct interface_maps maps;
    if (!interfaces_read(call, &maps))
        return SERVED_REPLY;
    const struct json *found = interfaces_find(&maps, call->keys[0]);
    struct json *rest = json_make(call->arena, JSON_ARRAY);
    if (!found) {
        interfaces_refuse_unknown_pattern(call, call->keys[0]);
        return SERVED_REPLY;
    }
    for (const struct json *map = maps.list->first; map; map = map->next)
        if (map != found)
            json_append(rest, json_clone(call->arena, map));
    maps.list = rest;
    return interfaces_submit(call, &maps, interfaces_reply_deleted);
}

/* ---- routes ---- */

static const struct route routes[] = {
    {.method = HTTP_GET,
     .pattern = V "interfaces",
     .serve = serve_interfaces,
     .form = REPLY_CUSTOM,
     .does = "the interface maps: for each pattern of product names the bus addresses in order"},
    {.method = HTTP_POST,
     .pattern = V "interfaces",
     .serve = serve_interface_create,
     .params = &create,
     .form = REPLY_CUSTOM,
     .does = "add an interface map behind the others; it takes effect with a commit of system"},
    {.method = HTTP_GET,
     .pattern = V "interfaces/:id",
     .serve = serve_interface,
     .form = REPLY_CUSTOM,
     .does = "the interface map with that pattern"},
    {.method = HTTP_PUT,
     .pattern = V "interfaces/:id",
     .serve = serve_interface_update,
     .params = &update,
     .form = REPLY_CUSTOM,
     .does = "change the order of the interface map with that pattern"},
    {.method = HTTP_DELETE,
     .pattern = V "interfaces/:id",
     .serve = serve_interface_delete,
     .form = REPLY_MESSAGE,
     .does = "delete the interface map with that pattern"},
};

const struct route_table route_table_interfaces = ROUTE_TABLE("interfaces", routes);
