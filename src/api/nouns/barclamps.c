#include "api/call/authorize.h"
#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/rest/standard_routes.h"

/* The API of barclamps: packages of roles, attribs, jigs and hammer kinds. The file owns the fields
 * of the object, the routes, and the upload; lists and single objects are served by the shared
 * handlers.
 *
 * The order of an upload (serve_upload) goes from cheap to expensive: rights, existence of the
 * object and If-Match, then parameters, then the parser, which checks the document in the same way
 * as the files of an installation and does not change anything. Only a document without problems is
 * submitted, as one command COMMAND_IMPORT, which the core executes completely or not at all.
 *
 * Failure: each step before the submission ends the call with a reply, or with problems (refusals)
 * that the API makes a reply of when the handler returns; nothing was changed then. The parser
 * reports all problems of a document together. Warnings of the parser do not prevent the import;
 * they are kept in call->handler_state and added to the reply. */

/* `version` is the number that the stored version begins with, `full_version` the whole text. The
 * last field is not in OpenCrowbar and is returned on request only (.extras = 1). */
/* clang-format off */
static const struct object_view_field barclamp_fields[] = {
    {"id",            PROP_INT,      PROP_AT(barclamp.id),            0, NULL},
    {"name",          PROP_TEXT,     PROP_AT(barclamp.name),          0, "\"\""},
    {"description",   PROP_TEXT,     PROP_AT(barclamp.description),   0, "\"\""},
    {"barclamp_id",   PROP_REF,      PROP_AT(barclamp.parent_id),     0, NULL},
    {"version",       PROP_LEADING_NUMBER,  PROP_AT(barclamp.version),       0, "null"},
    {"build_version", PROP_TEXT,     PROP_AT(barclamp.build_version), 0, "\"unknown\""},
    {"source_url",    PROP_OPTIONAL, PROP_AT(barclamp.source_url),    0, "null"},
    {"source_path",   PROP_OPTIONAL, PROP_AT(barclamp.source_path),   0, "null"},
    {"commit",        PROP_TEXT,     PROP_AT(barclamp.commit),        0, "\"unknown\""},
    {"build_on",      PROP_TEXT,     PROP_AT(barclamp.build_on),      0, "\"unknown\""},
    {"cfg_data",      PROP_OBJECT,   PROP_AT(barclamp.cfg_data),      0, "{}"},
    PROP_TIMES(barclamp)
    {"full_version",  PROP_TEXT,     PROP_AT(barclamp.version),       0, "\"0.0\""},
};
/* clang-format on */

static const struct object_view shape_barclamp = {
    .type = "barclamp", .table = TABLE_BARCLAMP, PROP_ROWS(barclamp_fields), .extras = 1};

const struct resource resource_barclamps = {.view = &shape_barclamp, .order = ORDER_BY_ID};

/* ---- match ---- */

/* As in OpenCrowbar: if the request names no field, all barclamps match. For all other nouns
 * nothing matches then. */
static enum handler_result serve_barclamp_match(struct call *call)
{
    if (!params_read(call, shape_barclamp.type))
        return SERVED_REPLY;
    bool names_field = false;
    for (uint32_t i = 0; i < shape_barclamp.count; i++)
        names_field |= json_get(call->params, str_from(shape_barclamp.fields[i].name)) != NULL;
    return names_field ? serve_match(call) : serve_list(call);
}

/* ---- upload ---- */

static const struct param_rule upload_rules[] = {
    {.name = "value", .kind = PARAM_VALUE, .at = COMMAND_AT(import.barclamp), .is_required = true},
};

static const struct params_schema upload = {.kind = COMMAND_IMPORT, PARAM_RULES(upload_rules)};

/* Parses and checks the uploaded barclamp. False: the call has a reply (the parser is unavailable)
 * or has the problems of the document. */
static bool barclamp_read_document(struct call *call, struct str *out_document)
{
    const struct api_engine *engine = call_engine(call);
    const struct json *value = json_get(call->params, STR("value"));
    struct api_barclamp sent = {.arena = call->arena, .is_json = value->kind == JSON_OBJECT};
    if (value->kind != JSON_OBJECT && value->kind != JSON_STRING) {
        call_refuse(call, PROBLEM_BAD_VALUE, STR("value"),
                    STR("value must be a barclamp: an object, or YAML as a string"));
        return false;
    }
    sent.text = sent.is_json ? json_write(call->arena, value) : value->text;
    const err e =
        engine->read_barclamp ? engine->read_barclamp(engine->self, &sent) : ERR_UNAVAILABLE;
    if (e != OK) {
        reply_failure(call, e);
        return false;
    }
    for (const struct problem *p = sent.problems; p; p = p->next)
        call_refuse(call, p->code, p->field, p->text);
    *out_document = sent.document;
    call->handler_state = sent.warnings;
    return !call->problems;
}

/* A PUT must contain the barclamp that its path names. The parser wrote the document, so it is
 * valid JSON and has a name. */
static bool barclamp_check_name(struct call *call, struct str document, const struct record *record)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    must(json_read(call->arena, document, &tree, &offset, &what) == OK);
    const struct str name = json_at(tree, STR("barclamp/name"))->text;
    if (str_eq(name, record->barclamp.name))
        return true;
    call_refuse(call, PROBLEM_NAME_INVALID, STR("value"),
                STR_CONCAT(call->arena, STR("value is barclamp "), name,
                           STR(", but the path names barclamp "), record->barclamp.name));
    return false;
}

/* After the import: replies with the barclamp and, if there are any, with the warnings of the
 * parser. They are inserted before the last brace of the object that was written. */
static void barclamp_reply_with_warnings(struct call *call, int64_t id)
{
    const struct json *warnings = call->handler_state;
    object_reply_shown(call, id);
    const struct str body = call->reply.body;
    if (!warnings || call->reply.status != 200 || body.len < 2 ||
        !object_view_wants(call->wanted, "warnings"))
        return;
    struct buf b = buf_in(call->arena);
    buf_put_str(&b, str_slice(body, 0, body.len - 1));
    buf_put_z(&b, body.len > 2 ? ",\"warnings\":" : "\"warnings\":");
    json_write_to(&b, warnings);
    buf_put_c(&b, '}');
    call->reply.body = buf_str(&b);
}

/* POST imports any barclamp; PUT, which has an id in its path, imports that one again. */
static enum handler_result serve_upload(struct call *call)
{
    struct record record;
    struct command command = {.kind = COMMAND_IMPORT};
    const bool is_change = call->keys[0].len;
    /* The core would refuse the command as well, but only after the expensive parsing. */
    if (!authorize_is_admin(call)) {
        authorize_refuse(call, STR("only an admin may import barclamps"));
        return SERVED_REPLY;
    }
    /* If-Match (call->if_turn: the turn of the last change) is compared here and not by the core,
     * because the import command does not name an object. A change between here and the execution
     * of the command is not detected. */
    if (is_change && (!resource_find(call, &resource_barclamps, call->keys[0], &record) ||
                      !object_condition(call)))
        return SERVED_REPLY;
    if (is_change && call->if_turn && call->if_turn != record.barclamp.turn) {
        object_refuse_turn(call);
        return SERVED_REPLY;
    }
    call->if_turn = 0;
    if (!params_read(call, shape_barclamp.type) || !param_required(call, "value") ||
        !barclamp_read_document(call, &command.import.barclamp) ||
        (is_change && !barclamp_check_name(call, command.import.barclamp, &record)))
        return SERVED_REPLY;
    return object_submit(call, &command, barclamp_reply_with_warnings);
}

/* ---- routes ---- */

static const struct route routes[] = {
    {.method = HTTP_POST,
     .pattern = V "barclamps/match",
     .serve = serve_barclamp_match,
     .resource = &resource_barclamps,
     .form = REPLY_LIST,
     .does = "the objects with the given field values; all of them if no field is given"},
    {.method = HTTP_GET,
     .pattern = V "barclamps",
     .serve = serve_list,
     .resource = &resource_barclamps,
     .form = REPLY_LIST,
     .does = "list the objects"},
    {.method = HTTP_GET,
     .pattern = V "barclamps/sample",
     .serve = serve_sample,
     .resource = &resource_barclamps,
     .form = REPLY_CUSTOM,
     .does = "an object with its default values"},
    {.method = HTTP_GET,
     .pattern = V "barclamps/:id",
     .serve = serve_show,
     .resource = &resource_barclamps,
     .does = "show one object"},
    {.method = HTTP_POST,
     .pattern = V "barclamps",
     .serve = serve_upload,
     .resource = &resource_barclamps,
     .params = &upload,
     .does = "import a barclamp: roles, attribs, jigs and hammers, as an object or as YAML; code "
             "and scripts cannot be uploaded"},
    {.method = HTTP_PUT,
     .pattern = V "barclamps/:id",
     .serve = serve_upload,
     .resource = &resource_barclamps,
     .params = &upload,
     .does = "import it again; a file of the same barclamp replaces it at the next start"},
};

const struct route_table route_table_barclamps = ROUTE_TABLE("barclamps", routes);
