#include "api/nouns/tokens.h"

#include "api/call/authorize.h"
#include "api/call/reply.h"
#include "api/call/route.h"
#include "api/rest/lists.h"
#include "api/rest/objects.h"
#include "auth/credentials.h"

/* Tokens of users and nodes. The file has no state: the secret is generated here, is kept in the
 * call until the reply, and is returned once; the core stores its hash. The token of a user never
 * has more rights than its creator, nor a longer life than the token it was created with.
 *
 * Order: a new token of a node and the deletion of the older ones are one batch, deletions first,
 * so that the limit of tokens of a node is not exceeded; the secret is returned only after the
 * batch was committed.
 *
 * Failure: a problem or a refused batch changes nothing, and the older tokens stay valid. If the
 * reply is lost, the secret is lost with it, and another token has to be created. */

/* Without the hash of the secret. */
/* clang-format off */
static const struct object_view_field token_fields[] = {
    {"id",            PROP_INT,        PROP_AT(token.id),            0, NULL},
    {"name",          PROP_TEXT,       PROP_AT(token.name),          0, NULL},
    {"user_id",       PROP_REF,        PROP_AT(token.user_id),       0, NULL},
    {"expires_at",    PROP_TIME,       PROP_AT(token.expires_at),    0, NULL},
    {"kind",          PROP_TOKEN_KIND, PROP_AT(token.kind),          0, NULL},
    {"access",        PROP_ACCESS,     PROP_AT(token.access),        0, NULL},
    {"deployment_id", PROP_REF,        PROP_AT(token.deployment_id), 0, NULL},
    {"node_id",       PROP_REF,        PROP_AT(token.node_id),       0, NULL},
    PROP_TIMES(token)
};
/* clang-format on */

static const struct object_view shape_token = {
    .type = "token", .table = TABLE_TOKEN, PROP_ROWS(token_fields)};

const struct resource resource_tokens = {.view = &shape_token, .order = ORDER_BY_ID};

/* ---- creation and deletion ---- */

/* Replies with the token and its secret. It is found by its hash, because the id of the outcome may
 * be that of another command of the batch. */
static void token_reply_created(struct call *call, int64_t id)
{
    struct record record;
    const struct str hash = credentials_token_hash(call->arena, call->secret);
    id = call->core ? core_find(call->core, TABLE_TOKEN, hash) : 0;
    if (!id || !core_record(call->core, TABLE_TOKEN, id, &record)) {
        reply_message(call, shape_token.type,
                      STR("the token was created and has been deleted since"));
        return;
    }
    reply_record(call, &shape_token, &record);
    if (!object_view_wants(call->wanted, "token"))
        return;
    struct buf b = buf_in(call->arena);
    const struct str shown = call->reply.body;
    buf_put_str(&b, str_slice(shown, 0, shown.len - 1));
    buf_put_z(&b, shown.len > 2 ? ",\"token\":" : "\"token\":");
    json_write_string(&b, call->secret);
    buf_put_c(&b, '}');
    call->reply.body = buf_str(&b);
}

/* An explicit 0 is refused: it would mean "never". */
static void token_check_expiry(struct call *call)
{
    int64_t expires;
    if (param_time(call, "expires_at", &expires) && expires == 0)
        call_refuse(call, PROBLEM_BAD_VALUE, STR("expires_at"),
                    STR("expires_at must be in the future; leave it out for a token that never "
                        "expires"));
}

static const struct param_rule create_rules[] = {
    {.name = "name", .kind = PARAM_TEXT, .at = COMMAND_AT(token_create.name), .is_required = true},
    {.name = "expires_at", .kind = PARAM_TIME, .at = COMMAND_AT(token_create.expires_at)},
    {.name = "access", .kind = PARAM_ACCESS, .at = COMMAND_AT(token_create.access)},
    {.name = "deployment",
     .kind = PARAM_REF,
     .at = COMMAND_AT(token_create.deployment_id),
     .to = TABLE_DEPLOYMENT,
     .id_key = "deployment_id"},
};

/* Refuses more rights than those of the creator, which would have no effect but look as if, and a
 * later expiry than that of the token of the request: a stolen short-lived token must not be
 * extended. */
static void token_check_create(struct call *call, struct command *command)
{
    const struct token_create_command *p = &command->token_create;
    token_check_expiry(call);
    if (p->access > authorize_level(call, p->deployment_id))
        call_refuse(call, PROBLEM_BAD_VALUE, STR("access"),
                    STR("access must not be higher than your own"));
    /* The expiry of the token of the request; 0: never, or another kind of authentication. */
    struct record token;
    const bool has_token = call->caller.auth_method == BY_TOKEN &&
                           core_record(call->core, TABLE_TOKEN, call->caller.token_id, &token);
    const int64_t end = has_token ? token.token.expires_at : 0;
    if (end && (!p->expires_at || p->expires_at > end))
        call_refuse(call, PROBLEM_BAD_VALUE, STR("expires_at"),
                    STR("expires_at must not be later than that of the token of this request"));
}

static const struct params_schema create = {
    .kind = COMMAND_TOKEN_CREATE, PARAM_RULES(create_rules), .check = token_check_create};

static void token_put_secret(struct call *call, struct token_create_command *p)
{
    call->secret = credentials_token_new(call->arena);
    p->hash = credentials_token_hash(call->arena, call->secret);
}

static enum handler_result serve_token_create(struct call *call)
{
    struct command command = {0};
    if (!params_read(call, shape_token.type))
        return SERVED_REPLY;
    params_schema_read(call, &create, 0, &command);
    token_put_secret(call, &command.token_create);
    command.token_create.user_id = call->caller.user_id;
    return object_submit(call, &command, token_reply_created);
}

/* Users find their own tokens only, admins all of them. Tokens of others are reported as not found.
 */
static bool token_find(struct call *call, struct record *out_token)
{
    if (!resource_find(call, &resource_tokens, call->keys[0], out_token))
        return false;
    if (out_token->token.user_id == call->caller.user_id || authorize_is_admin(call))
        return true;
    call_refuse(call, PROBLEM_NOT_FOUND, STR("id"),
                STR_CONCAT(call->arena, STR("there is no token of yours with id "), call->keys[0]));
    return false;
}

static enum handler_result serve_token_show(struct call *call)
{
    struct record record;
    if (token_find(call, &record))
        reply_record(call, &shape_token, &record);
    return SERVED_REPLY;
}

static enum handler_result serve_token_delete(struct call *call)
{
    struct record record;
    if (!token_find(call, &record) || !object_condition(call))
        return SERVED_REPLY;
    struct command command = {.kind = COMMAND_TOKEN_DELETE, .token_delete = {.id = record.id}};
    return object_submit(call, &command, object_reply_deleted);
}

/* ---- lists ---- */

static bool token_is_of_owner(const struct list_scope *scope, struct call *call,
                              const struct record *record)
{
    (void)call;
    return record->token.user_id == scope->owner_id;
}

static enum handler_result serve_tokens(struct call *call)
{
    static const char *const own[] = {"user", "all", NULL};
    struct list_scope scope = {.resource = &resource_tokens,
                               .accepts = token_is_of_owner,
                               .owner_id = call->caller.user_id,
                               .ignored_params = own};
    /* Only admins may use ?user=NAME and ?all=true. */
    struct str name, all;
    struct record user;
    const bool has_user = http_query(call->request, STR("user"), &name);
    const bool has_all = http_query(call->request, STR("all"), &all) && str_eq(all, STR("true"));
    if ((has_user || has_all) && !authorize_is_admin(call)) {
        authorize_refuse(call, STR("only an admin may list the tokens of other users"));
        return SERVED_REPLY;
    }
    if (has_user && !resource_find(call, &resource_users, name, &user))
        return SERVED_REPLY;
    if (has_user)
        scope.owner_id = user.id;
    if (has_all && !has_user)
        scope.accepts = NULL;
    return reply_list_of(call, &scope);
}

/* ---- tokens of nodes ---- */

static const struct param_rule node_token_rules[] = {
    {.name = "name", .kind = PARAM_TEXT, .at = COMMAND_AT(token_create.name)},
    {.name = "expires_at", .kind = PARAM_TIME, .at = COMMAND_AT(token_create.expires_at)},
    {.name = "keep", .kind = PARAM_BOOL, .read_by_handler = true},
};

static void token_check_node(struct call *call, struct command *command)
{
    token_check_expiry(call);
    if (command->token_create.name.len == 0)
        command->token_create.name = STR("node");
}

const struct params_schema node_token_params = {
    .kind = COMMAND_TOKEN_CREATE, PARAM_RULES(node_token_rules), .check = token_check_node};

/* Appends commands that delete all tokens of the node; returns their number. */
static uint32_t token_put_deletes(const struct call *call, int64_t node_id, struct buf *parts)
{
    struct record token;
    uint32_t count = 0;
    for (int64_t id = core_next_id(call->core, TABLE_TOKEN, 0); id;
         id = core_next_id(call->core, TABLE_TOKEN, id)) {
        if (!core_record(call->core, TABLE_TOKEN, id, &token) || token.token.node_id != node_id)
            continue;
        const struct command command = {
            .kind = COMMAND_TOKEN_DELETE, .if_turn = IF_THERE, .token_delete = {.id = id}};
        command_encode(&command, parts);
        count++;
    }
    return count;
}

enum handler_result serve_node_token(struct call *call)
{
    struct command command = {0}, batch = {.kind = COMMAND_BATCH};
    struct buf parts = buf_in(call->arena);
    struct record node;
    bool keep = false;
    if (!resource_find(call, &resource_nodes, call->keys[0], &node) ||
        !params_read(call, shape_token.type))
        return SERVED_REPLY;
    params_schema_read(call, &node_token_params, 0, &command);
    param_bool(call, "keep", &keep);
    token_put_secret(call, &command.token_create);
    command.token_create.node_id = node.id;
    if (!keep)
        token_put_deletes(call, node.id, &parts);
    command_encode(&command, &parts);
    batch.batch.commands = buf_str(&parts);
    return object_submit(call, &batch, token_reply_created);
}

static void token_reply_deleted_all(struct call *call, int64_t id)
{
    (void)id;
    reply_message(call, shape_token.type, STR("all tokens of the node were deleted"));
}

enum handler_result serve_node_token_delete(struct call *call)
{
    struct command batch = {.kind = COMMAND_BATCH};
    struct buf parts = buf_in(call->arena);
    struct record node;
    if (!resource_find(call, &resource_nodes, call->keys[0], &node))
        return SERVED_REPLY;
    if (token_put_deletes(call, node.id, &parts) == 0)
        call_refuse(call, PROBLEM_NOT_FOUND, STR("token"),
                    STR_CONCAT(call->arena, STR("node "), node.node.name, STR(" has no token")));
    batch.batch.commands = buf_str(&parts);
    return object_submit(call, &batch, token_reply_deleted_all);
}

/* ---- routes ---- */

static const struct route routes[] = {
    {.method = HTTP_GET,
     .pattern = V "tokens",
     .serve = serve_tokens,
     .resource = &resource_tokens,
     .form = REPLY_LIST,
     .does = "list your own tokens; an admin may add user= or all=true"},
    {.method = HTTP_POST,
     .pattern = V "tokens",
     .serve = serve_token_create,
     .resource = &resource_tokens,
     .params = &create,
     .does = "create a token for yourself; its secret is shown in this reply only"},
    {.method = HTTP_GET,
     .pattern = V "tokens/:id",
     .serve = serve_token_show,
     .resource = &resource_tokens,
     .does = "show one object"},
    {.method = HTTP_DELETE,
     .pattern = V "tokens/:id",
     .serve = serve_token_delete,
     .resource = &resource_tokens,
     .form = REPLY_MESSAGE,
     .does = "delete it; requests with it are refused from then on"},
};

const struct route_table route_table_tokens = ROUTE_TABLE("tokens", routes);
