#include "api/reply.h"
#include "api/route.h"
#include "http/credentials.h"

/* Without the hash. */
/* clang-format off */
static const struct shape_field token_fields[] = {
    {"id",         SHAPE_INT,  SHAPE_AT(token.id),         0, NULL},
    {"name",       SHAPE_TEXT, SHAPE_AT(token.name),       0, NULL},
    {"user_id",    SHAPE_REF,  SHAPE_AT(token.user_id),    0, NULL},
    {"expires_at", SHAPE_TIME, SHAPE_AT(token.expires_at), 0, NULL},
    SHAPE_TIMES(token)
};
/* clang-format on */

static const struct shape shape_token = {
    .type = "token", .table = TABLE_TOKEN, SHAPE_ROWS(token_fields)};

const struct resource resource_tokens = {.shape = &shape_token, .order = ORDER_BY_ID};

/* ---- making and unmaking ---- */

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

static const struct take create_takes[] = {
    {.name = "name", .kind = TAKE_TEXT, .at = INTO(token_create.name), .is_required = true},
    {.name = "expires_at", .kind = TAKE_TIME, .at = INTO(token_create.expires_at)},
};

static void check_create(struct call *call, struct command *command)
{
    int64_t expires;
    (void)command;
    if (param_time(call, "expires_at", &expires) && expires == 0)
        call_refuse(call, PROBLEM_BAD_VALUE, STR("expires_at"),
                    STR("expires_at must lie in the future; leave it out for a token that never "
                        "expires"));
}

static const struct intake create = {
    .kind = COMMAND_TOKEN_CREATE, TAKES(create_takes), .check = check_create};

static enum served serve_token_create(struct call *call)
{
    struct command command = {0};
    struct token_create_command *p = &command.token_create;
    if (!params_read(call, shape_token.type))
        return SERVED_REPLY;
    intake_read(call, &create, 0, &command);
    call->secret = credentials_token_new(call->arena);
    p->user_id = call->caller.user_id;
    p->hash = credentials_token_hash(call->arena, call->secret);
    return object_submit(call, &command, token_told);
}

static enum served serve_token_delete(struct call *call)
{
    struct record record;
    const bool found = resource_find(call, &resource_tokens, call->keys[0], &record);
    if (found && record.token.user_id != call->caller.user_id)
        call_refuse(call, PROBLEM_NOT_FOUND, STR("id"),
                    SAY(call, STR("there is no token of yours with id "), call->keys[0]));
    if (call->problems || !object_condition(call))
        return SERVED_REPLY;
    struct command command = {.kind = COMMAND_TOKEN_DELETE, .token_delete = {.id = record.id}};
    return object_submit(call, &command, object_gone);
}

/* ---- the caller's own ---- */

static bool is_own(const struct choice *choice, struct call *call, const struct record *record)
{
    must(call->caller.user_id == choice->owner_id);
    return record->token.user_id == choice->owner_id;
}

static enum served serve_tokens(struct call *call)
{
    return reply_choice(call, &(struct choice){.resource = &resource_tokens,
                                               .keeps = is_own,
                                               .owner_id = call->caller.user_id});
}

/* ---- routes ---- */

static const struct route routes[] = {
    {.method = HTTP_GET,
     .pattern = V "tokens",
     .serve = serve_tokens,
     .resource = &resource_tokens,
     .form = FORM_LIST,
     .does = "list your own"},
    {.method = HTTP_POST,
     .pattern = V "tokens",
     .serve = serve_token_create,
     .resource = &resource_tokens,
     .intake = &create,
     .does = "make one for yourself; its text is told in this answer only"},
    {.method = HTTP_DELETE,
     .pattern = V "tokens/:id",
     .serve = serve_token_delete,
     .resource = &resource_tokens,
     .form = FORM_MESSAGE,
     .does = "delete it; whoever holds it is locked out"},
};

const struct chapter chapter_tokens = CHAPTER("tokens", routes);
