#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/call/route.h"
#include "api/rest/objects.h"

/* PUT /api/test/nodes/:id?source=: simulates the discovery of a machine with the data of a test
 * file. Only with --test-jig, where all runs are simulated as well.
 *
 * The handler has no state. The name of the file is checked before it is used, so that it cannot
 * refer to another directory. On failure (no --test-jig, no such node or file, or not JSON) a
 * problem is added, and nothing is submitted. */

static bool test_node_is_file_name(struct str text)
{
    for (uint32_t i = 0; i < text.len; i++)
        if (!char_is_letter(text.at[i]) && !char_is_digit(text.at[i]) && text.at[i] != '-' &&
            text.at[i] != '_')
            return false;
    return text.len > 0 && text.len <= 64;
}

/* The content of the test file as canonical JSON, or a problem. */
static struct str test_node_read_discovery(struct call *call, struct str source)
{
    const struct api_engine *engine = call_engine(call);
    struct str text, canonical = STR("");
    uint32_t offset;
    const char *what;
    const err e = engine->test_discovery
                      ? engine->test_discovery(engine->self, source, call->arena, &text)
                      : ERR_NOT_FOUND;
    if (e != OK)
        call_refuse(call, PROBLEM_NOT_FOUND, STR("source"),
                    STR_CONCAT(call->arena, STR("there is no test file "), source));
    else if (json_canonical(call->arena, text, &canonical, &offset, &what) != OK)
        call_refuse(call, PROBLEM_BAD_JSON, STR("source"),
                    STR_CONCAT(call->arena, STR("test file "), source, STR(" is not JSON: "),
                               str_from(what)));
    return canonical;
}

static enum handler_result serve_test_discovery(struct call *call)
{
    struct record settings, node;
    struct str source = STR("node_discovery");
    if (!core_record(call->core, TABLE_SETTINGS, 1, &settings) || !settings.settings.test_jig)
        call_refuse(call, PROBLEM_NOT_FOUND, STR("id"),
                    STR("discovery cannot be simulated: the daemon runs without --test-jig"));
    if (call->problems || !resource_find(call, &resource_nodes, call->keys[0], &node) ||
        !object_condition(call) || !params_read(call, resource_nodes.view->type))
        return SERVED_REPLY;
    if (param_text(call, "source", &source) && !test_node_is_file_name(source))
        call_refuse(call, PROBLEM_BAD_VALUE, STR("source"),
                    STR("source must be the name of a test file, without its extension"));
    if (call->problems)
        return SERVED_REPLY;
    struct command command = {.kind = COMMAND_ATTRIB_SET,
                              .depth = 1, /* as from a hook, which may write discovery data */
                              .attrib_set = {.target = TABLE_NODE,
                                             .id = node.id,
                                             .attrib_id = 0, /* 0: the whole document */
                                             .bucket = BUCKET_DISCOVERY,
                                             .value = test_node_read_discovery(call, source)}};
    return object_submit(call, &command, object_reply_shown);
}

/* ---- routes ---- */

static const struct param_rule discover_rules[] = {
    {.name = "source", .kind = PARAM_TEXT, .read_by_handler = true}};
static const struct params_schema discover = {.kind = COMMAND_ATTRIB_SET,
                                              PARAM_RULES(discover_rules)};

static const struct route routes[] = {
    {.method = HTTP_PUT,
     .pattern = "/api/test/nodes/:id",
     .serve = serve_test_discovery,
     .resource = &resource_nodes,
     .params = &discover,
     .does = "simulate the discovery of a machine from a test file (test jig only)"},
};

const struct route_table route_table_test_nodes = ROUTE_TABLE(NULL, routes);
