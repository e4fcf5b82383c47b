#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/call/route.h"
#include "api/rest/objects.h"

/* PUT /api/test/nodes/:id?source=: a machine is discovered without one being there. Only where
 * machines are pretended anyway: the daemon must run with the test jig. */

static bool is_pretending(const struct call *call)
{
    struct record settings;
    return core_record(call->core, TABLE_SETTINGS, 1, &settings) && settings.settings.test_jig;
}

static bool is_plain_word(struct str text)
{
    for (uint32_t i = 0; i < text.len; i++)
        if (!char_is_letter(text.at[i]) && !char_is_digit(text.at[i]) && text.at[i] != '-' &&
            text.at[i] != '_')
            return false;
    return text.len > 0 && text.len <= 64;
}

static void read_source(struct call *call, struct str *out_source)
{
    *out_source = STR("node_discovery");
    if (param_text(call, "source", out_source) && !is_plain_word(*out_source))
        call_refuse(call, PROBLEM_BAD_VALUE, STR("source"),
                    STR("source must be the name of a test file, without its ending"));
}

/* Canonical, or a problem. */
static struct str read_discovery(struct call *call, struct str source)
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

static enum handler_result serve_discover(struct call *call)
{
    struct record node;
    struct str source;
    if (!is_pretending(call))
        call_refuse(call, PROBLEM_NOT_FOUND, STR("id"),
                    STR("nothing is pretended here: the daemon runs without its test jig"));
    if (call->problems || !resource_find(call, &resource_nodes, call->keys[0], &node) ||
        !object_condition(call) || !params_read(call, resource_nodes.shape->type))
        return SERVED_REPLY;
    read_source(call, &source);
    if (call->problems)
        return SERVED_REPLY;
    struct command command = {.kind = COMMAND_ATTRIB_SET,
                              .depth =
                                  1, /* speaks for the hook that would tell what was discovered */
                              .attrib_set = {.target = TABLE_NODE,
                                             .id = node.id,
                                             .attrib_id = 0, /* all that discovery knows */
                                             .bucket = BUCKET_DISCOVERY,
                                             .value = read_discovery(call, source)}};
    return object_submit(call, &command, object_shown);
}

/* ---- routes ---- */

static const struct param_rule discover_takes[] = {
    {.name = "source", .kind = TAKE_TEXT, .is_aside = true}};
static const struct params_schema discover = {.kind = COMMAND_ATTRIB_SET, TAKES(discover_takes)};

static const struct route routes[] = {
    {.method = HTTP_PUT,
     .pattern = "/api/test/nodes/:id",
     .serve = serve_discover,
     .resource = &resource_nodes,
     .intake = &discover,
     .does = "pretend that a machine like that of a test file was discovered (test jig only)"},
};

const struct route_table chapter_test_nodes = ROUTE_TABLE(NULL, routes);
