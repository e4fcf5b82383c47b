#include "api/rest/objects.h"

#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/rest/bulk.h"
#include "api/rest/standard_routes.h"

/* Handlers for single objects, and preconditions by ETag. The ETag of an object is the turn of its
 * last change; If-Match is passed on to the core as if_turn and tested in the step that executes
 * the command, so that no change can come between test and execution.
 *
 * The handlers have no state. A change goes through the same order in all of them: find the object,
 * read If-Match, read the parameters, fill the command, submit it. Each step may end the call with
 * problems or a reply, and then nothing was changed. After the command was committed the object is
 * read again for the reply; if it was deleted since, the reply says so with status 200. */

/* ---- show ---- */

/* The reply depends only on this object, the user and the token. If none of them has changed since
 * an earlier turn, the reply waits for that turn only, not for unrelated changes that are not
 * durable yet. */
static void object_narrow_seen_turn(struct call *call, enum table table, int64_t id)
{
    const struct {
        enum table table;
        int64_t id;
    } seen[] = {
        {table, id}, {TABLE_USER, call->caller.user_id}, {TABLE_TOKEN, call->caller.token_id}};
    int64_t turn, last = 0;
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        if (!seen[i].id)
            continue;
        if (!core_last_turn(call->core, seen[i].table, seen[i].id, &turn))
            return;
        last = turn > last ? turn : last;
    }
    call->seen = last;
}

enum handler_result serve_show(struct call *call)
{
    const struct object_view *view = call->route->resource->view;
    struct record record;
    if (!resource_find(call, call->route->resource, call->keys[0], &record))
        return SERVED_REPLY;
    reply_record(call, view, &record);
    if (object_view_is_plain(view, reply_mask(call, view)))
        object_narrow_seen_turn(call, view->table, record.id);
    return SERVED_REPLY;
}

void object_reply_shown(struct call *call, int64_t id)
{
    struct record record;
    const struct object_view *view = call->resource->view;
    if (call->core && core_record(call->core, view->table, id, &record))
        reply_record(call, view, &record);
    else
        reply_message(call, view->type,
                      STR("the change was made; the object has been deleted since"));
}

void object_reply_deleted(struct call *call, int64_t id)
{
    struct buf b = buf_in(call->arena);
    buf_put_z(&b, call->resource->view->type);
    buf_put_c(&b, ' ');
    buf_put_i64(&b, id);
    buf_put_z(&b, " was deleted");
    reply_message(call, call->resource->view->type, buf_str(&b));
}

/* ---- preconditions ---- */

static struct str etag_trim(struct str s)
{
    while (s.len && (s.at[0] == ' ' || s.at[0] == '\t'))
        s = str_slice(s, 1, s.len);
    while (s.len && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t'))
        s.len--;
    return s;
}

/* Is there a comma outside of quotes? */
static bool etag_is_list(struct str tags)
{
    bool quoted = false;
    for (uint32_t i = 0; i < tags.len; i++) {
        quoted ^= tags.at[i] == '"';
        if (tags.at[i] == ',' && !quoted)
            return true;
    }
    return false;
}

/* Parses a strong ETag as the API sends it; others cannot match. */
static bool etag_parse(struct str tag, int64_t *out_turn)
{
    return tag.len > 2 && tag.at[0] == '"' && tag.at[tag.len - 1] == '"' &&
           str_parse_i64(str_slice(tag, 1, tag.len - 1), out_turn) && *out_turn > 0;
}

void object_refuse_turn(struct call *call)
{
    call_refuse(
        call, PROBLEM_PRECONDITION_FAILED, STR("if_turn"),
        STR("the object was changed since, or never had the ETag of If-Match; read it again"));
}

bool object_condition(struct call *call)
{
    const struct str tag = etag_trim(http_header(call->request, "If-Match"));
    if (tag.len == 0 || str_eq(tag, STR("*")))
        return true;
    if (etag_is_list(tag))
        call_refuse(call, PROBLEM_BAD_VALUE, STR("If-Match"),
                    STR("If-Match must be one ETag or *, a list is not supported"));
    else if (!etag_parse(tag, &call->if_turn))
        object_refuse_turn(call);
    return !call->problems;
}

/* Finds the object of the path and reads the precondition of the request. */
static bool object_find_for_change(struct call *call, struct record *out_record)
{
    return resource_find(call, call->route->resource, call->keys[0], out_record) &&
           object_condition(call);
}

/* ---- changes ---- */

enum handler_result object_submit(struct call *call, struct command *command,
                                  void (*finish)(struct call *call, int64_t id))
{
    if (call->problems)
        return SERVED_REPLY;
    call->resource = call->route->resource;
    return call_submit(call, command, finish);
}

enum handler_result serve_create(struct call *call)
{
    struct command command = {0};
    if (params_are_many(call))
        return serve_create_many(call);
    if (!params_read(call, call->route->resource->view->type))
        return SERVED_REPLY;
    params_schema_read(call, call->route->resource->create, 0, &command);
    return object_submit(call, &command, object_reply_shown);
}

enum handler_result serve_update(struct call *call)
{
    struct command command = {0};
    struct record record;
    if (!object_find_for_change(call, &record) ||
        !params_read(call, call->route->resource->view->type))
        return SERVED_REPLY;
    params_schema_read(call, call->route->resource->update, record.id, &command);
    return object_submit(call, &command, object_reply_shown);
}

/* Reads the parameters of a verb; commands that only have an id need no schema. */
static void object_read_verb(struct call *call, int64_t id, struct command *out_command)
{
    const struct params_schema only_id = {.kind = call->route->command};
    params_schema_read(call, call->route->params ? call->route->params : &only_id, id, out_command);
}

enum handler_result serve_verb(struct call *call)
{
    struct record record;
    if (!object_find_for_change(call, &record) ||
        !params_read(call, call->route->resource->view->type))
        return SERVED_REPLY;
    struct command command = {0};
    object_read_verb(call, record.id, &command);
    return object_submit(call, &command, object_reply_shown);
}

enum handler_result serve_delete(struct call *call)
{
    struct record record;
    if (!object_find_for_change(call, &record))
        return SERVED_REPLY;
    struct command command = {0};
    object_read_verb(call, record.id, &command);
    return object_submit(call, &command, object_reply_deleted);
}
