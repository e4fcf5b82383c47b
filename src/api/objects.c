#include "api/objects.h"

#include "api/params.h"
#include "api/reply.h"
#include "api/route.h"
#include "http/credentials.h"

/* ---- showing ---- */

enum served serve_show(struct call *call)
{
    struct record record;
    if (resource_find(call, call->route->resource, call->keys[0], &record))
        reply_record(call, call->route->resource->shape, &record);
    return SERVED_REPLY;
}

/* Digits are the id of a noderole, as everywhere; anything else is the name of its role. */
static int64_t noderole_on(struct call *call, int64_t node_id, struct str key)
{
    struct record record;
    int64_t id;
    if (!str_is_digits(key))
        return core_noderole(call->core, node_id, core_find(call->core, TABLE_ROLE, key));
    const bool is_there =
        str_parse_i64(key, &id) && core_record(call->core, TABLE_NODEROLE, id, &record);
    return is_there && record.noderole.node_id == node_id ? id : 0;
}

enum served serve_show_on_node(struct call *call)
{
    struct record node, record;
    if (!resource_find(call, &resource_nodes, call->keys[0], &node))
        return SERVED_REPLY;
    const int64_t id = noderole_on(call, node.id, call->keys[1]);
    if (id && core_record(call->core, TABLE_NODEROLE, id, &record))
        reply_record(call, &shape_noderole, &record);
    else
        call_refuse(
            call, PROBLEM_NOT_FOUND, STR("id"),
            SAY(call, STR("node "), node.node.name, STR(" has no node_role "), call->keys[1]));
    return SERVED_REPLY;
}

void object_shown(struct call *call, int64_t id)
{
    struct record record;
    const struct shape *shape = call->resource->shape;
    if (call->core && core_record(call->core, shape->table, id, &record))
        reply_record(call, shape, &record);
    else
        reply_message(call, shape->type, STR("it was done; the object has been deleted since"));
}

static void object_gone(struct call *call, int64_t id)
{
    struct buf b = buf_in(call->arena);
    buf_put_z(&b, call->resource->shape->type);
    buf_put_c(&b, ' ');
    buf_put_i64(&b, id);
    buf_put_z(&b, " was deleted");
    reply_message(call, call->resource->shape->type, buf_str(&b));
}

/* ---- has somebody else been there? ---- */

static struct str trim(struct str s)
{
    while (s.len && (s.at[0] == ' ' || s.at[0] == '\t'))
        s = str_slice(s, 1, s.len);
    while (s.len && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t'))
        s.len--;
    return s;
}

/* Is there a comma that does not stand in quotes? */
static bool is_list(struct str tags)
{
    bool quoted = false;
    for (uint32_t i = 0; i < tags.len; i++) {
        quoted ^= tags.at[i] == '"';
        if (tags.at[i] == ',' && !quoted)
            return true;
    }
    return false;
}

/* Only a strong tag of ours can be the one an object has. */
static bool read_tag(struct str tag, int64_t *out_turn)
{
    return tag.len > 2 && tag.at[0] == '"' && tag.at[tag.len - 1] == '"' &&
           str_parse_i64(str_slice(tag, 1, tag.len - 1), out_turn) && *out_turn > 0;
}

void object_refuse_turn(struct call *call)
{
    call_refuse(call, PROBLEM_PRECONDITION_FAILED, STR("if_turn"),
                STR("it was changed since, or never had that ETag; read it again"));
}

bool object_condition(struct call *call)
{
    const struct str tag = trim(http_header(call->request, "If-Match"));
    if (tag.len == 0 || str_eq(tag, STR("*")))
        return true;
    if (is_list(tag))
        call_refuse(call, PROBLEM_BAD_VALUE, STR("If-Match"),
                    STR("If-Match must be one ETag or *, a list is not supported"));
    else if (!read_tag(tag, &call->if_turn))
        object_refuse_turn(call);
    return !call->problems;
}

/* The object the path names, and what it must be like when the command is thought about. */
static bool find_expected(struct call *call, struct record *out_record)
{
    return resource_find(call, call->route->resource, call->keys[0], out_record) &&
           object_condition(call);
}

/* ---- changing ---- */

static enum served submit(struct call *call, struct command *command,
                          void (*finish)(struct call *call, int64_t id))
{
    if (call->problems)
        return SERVED_REPLY;
    call->resource = call->route->resource;
    return call_submit(call, command, finish);
}

enum served serve_create(struct call *call)
{
    struct command command = {0};
    if (!params_read(call, call->route->resource->shape->type))
        return SERVED_REPLY;
    call->route->resource->create(call, &command);
    return submit(call, &command, object_shown);
}

enum served serve_update(struct call *call)
{
    struct command command = {0};
    struct record record;
    if (!find_expected(call, &record) || !params_read(call, call->route->resource->shape->type))
        return SERVED_REPLY;
    call->route->resource->update(call, record.id, &command);
    return submit(call, &command, object_shown);
}

/* The commands that only name an object begin with its id. */
static struct command command_on(const struct call *call, int64_t id)
{
    struct command command = {.kind = call->route->command};
    const struct field *first = command_layout(command.kind)->fields;
    must(first->kind == FIELD_I64 && first->offset == 0);
    *(int64_t *)command_payload(&command) = id;
    return command;
}

enum served serve_verb(struct call *call)
{
    struct record record;
    if (!find_expected(call, &record) || !params_read(call, call->route->resource->shape->type))
        return SERVED_REPLY;
    struct command command = command_on(call, record.id);
    if (command.kind == COMMAND_DEPLOYMENT_COMMIT)
        param_text(call, "plan", &command.deployment_commit.plan);
    if (command.kind == COMMAND_DEPLOYMENT_PROPOSE)
        param_text(call, "name", &command.deployment_propose.name);
    return submit(call, &command, object_shown);
}

enum served serve_delete(struct call *call)
{
    struct record record;
    if (!find_expected(call, &record))
        return SERVED_REPLY;
    struct command command = command_on(call, record.id);
    return submit(call, &command, object_gone);
}

/* ---- tokens ---- */

static void token_told(struct call *call, int64_t id)
{
    struct record record;
    if (!call->core || !core_record(call->core, TABLE_TOKEN, id, &record)) {
        reply_message(call, shape_token.type, STR("it was made, and deleted since"));
        return;
    }
    reply_record(call, &shape_token, &record);
    if (!shape_wants(call->wanted, "token"))
        return;
    struct buf b = buf_in(call->arena);
    const struct str shown = call->reply.body;
    buf_put_str(&b, str_slice(shown, 0, shown.len - 1));
    buf_put_z(&b, shown.len > 2 ? ",\"token\":" : "\"token\":");
    json_write_string(&b, call->secret);
    buf_put_c(&b, '}');
    call->reply.body = buf_str(&b);
}

enum served serve_token_create(struct call *call)
{
    struct command command = {.kind = COMMAND_TOKEN_CREATE};
    struct token_create_command *p = &command.token_create;
    if (!params_read(call, shape_token.type))
        return SERVED_REPLY;
    if (param_required(call, "name"))
        param_text(call, "name", &p->name);
    if (param_time(call, "expires_at", &p->expires_at) && p->expires_at == 0)
        call_refuse(call, PROBLEM_BAD_VALUE, STR("expires_at"),
                    STR("expires_at must lie in the future; leave it out for a token that never "
                        "expires"));
    call->secret = credentials_token_new(call->arena);
    p->user_id = call->caller.user_id;
    p->hash = credentials_token_hash(call->arena, call->secret);
    return submit(call, &command, token_told);
}

enum served serve_token_delete(struct call *call)
{
    struct record record;
    const bool found = resource_find(call, &resource_tokens, call->keys[0], &record);
    if (found && record.token.user_id != call->caller.user_id)
        call_refuse(call, PROBLEM_NOT_FOUND, STR("id"),
                    SAY(call, STR("there is no token of yours with id "), call->keys[0]));
    if (call->problems || !object_condition(call))
        return SERVED_REPLY;
    struct command command = command_on(call, record.id);
    return submit(call, &command, object_gone);
}
