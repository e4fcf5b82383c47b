#include "api/call/authorize.h"
#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/call/session.h"
#include "api/rest/password_params.h"
#include "api/rest/standard_routes.h"
#include "auth/auth_state.h"

/* Users, passwords and password resets. The file has no state: users are objects of the core, and
 * password reset keys are in struct auth_state of the API.
 *
 * A new password is hashed on a worker thread; the handler is run again when the hash is there
 * (password_params.h). A password change is a batch: the update of the user and the deletion of all
 * its sessions, so that a stolen session does not survive it. A user without the admin level may
 * only set its own password, and not with a token. The HA1 for Digest authentication (the hash of
 * user name, realm and password) is stored only on request, because it is equivalent to the
 * password.
 *
 * Order: the right to set it and all parameters are checked before a password is hashed, because
 * hashing is expensive. A reset key is consumed after the hash is computed and before the command
 * is submitted, so that it cannot be used twice.
 *
 * Failure: nothing is changed before the command is committed. If the command is refused after a
 * reset key was consumed, the client has to start the reset again.
 */

/* ---- users as objects ---- */

/* Without the password hash and the HA1. */
/* clang-format off */
static const struct object_view_field user_fields[] = {
    {"id",        PROP_INT,  PROP_AT(user.id),         0, NULL},
    {"username",  PROP_TEXT, PROP_AT(user.username),   0, NULL},
    {"email",     PROP_TEXT, PROP_AT(user.email),      0, NULL},
    {"is_admin",  PROP_BOOL, PROP_AT(user.is_admin),   0, NULL},
    {"is_locked", PROP_BOOL, PROP_AT(user.is_locked),  0, NULL},
    PROP_TIMES(user)
    {"access",    PROP_ACCESS, PROP_AT(user.access),   0, NULL},
    {"grants",    PROP_OBJECT, PROP_AT(user.grants),   0, NULL},
    {"digest",    PROP_IS_SET,  PROP_AT(user.digest_ha1), 0, NULL},
};
/* clang-format on */

static const struct object_view shape_user = {
    .type = "user", .table = TABLE_USER, PROP_ROWS(user_fields), .extras = 3};

/* Parameters beside a new password. */
#define PARAMS_PASSWORD                                                                            \
    {.name = "password_confirmation", .kind = PARAM_TEXT, .read_by_handler = true},                \
    {                                                                                              \
        .name = "digest", .kind = PARAM_BOOL, .read_by_handler = true                              \
    }

static const struct param_rule create_rules[] = {
    {.name = "username",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(user_create.username),
     .is_required = true},
    {.name = "email", .kind = PARAM_TEXT, .at = COMMAND_AT(user_create.email)},
    {.name = "is_admin", .kind = PARAM_BOOL, .at = COMMAND_AT(user_create.is_admin)},
    {.name = "access", .kind = PARAM_ACCESS, .at = COMMAND_AT(user_create.access)},
    {.name = "grants", .kind = PARAM_DOC, .at = COMMAND_AT(user_create.grants)},
    {.name = "password", .kind = PARAM_TEXT, .read_by_handler = true},
    PARAMS_PASSWORD,
};

/* clang-format off */
#define PARAMS_UPDATE                                                                              \
    {.name = "username",                                                                           \
     .kind = PARAM_TEXT,                                                                           \
     .at = COMMAND_AT(user_update.username),                                                       \
     .given = GIVEN_USER_USERNAME},                                                                \
    {.name = "email",                                                                              \
     .kind = PARAM_TEXT,                                                                           \
     .at = COMMAND_AT(user_update.email),                                                          \
     .given = GIVEN_USER_EMAIL},                                                                   \
    {.name = "is_admin",                                                                           \
     .kind = PARAM_BOOL,                                                                           \
     .at = COMMAND_AT(user_update.is_admin),                                                       \
     .given = GIVEN_USER_IS_ADMIN},                                                                \
    {.name = "access",                                                                             \
     .kind = PARAM_ACCESS,                                                                         \
     .at = COMMAND_AT(user_update.access),                                                         \
     .given = GIVEN_USER_ACCESS},                                                                  \
    {.name = "grants",                                                                             \
     .kind = PARAM_DOC,                                                                            \
     .at = COMMAND_AT(user_update.grants),                                                         \
     .given = GIVEN_USER_GRANTS}
/* clang-format on */

static const struct param_rule update_rules[] = {PARAMS_UPDATE};
/* PUT accepts a password, PATCH does not. */
static const struct param_rule change_rules[] = {
    PARAMS_UPDATE,
    {.name = "password", .kind = PARAM_TEXT, .read_by_handler = true},
    PARAMS_PASSWORD,
};

/* Users cannot change their own admin right or lock, neither on purpose nor by mistake. */
static void user_refuse_self(struct call *call, int64_t user_id, const char *field)
{
    if (user_id == call->caller.user_id)
        call_refuse(call, PROBLEM_READ_ONLY, str_from(field),
                    STR_CONCAT(call->arena, str_from(field),
                               STR(" of your own account can only be changed by another admin")));
}

static void user_check_update(struct call *call, struct command *command)
{
    struct user_update_command *p = &command->user_update;
    struct record user;
    /* The HA1 is computed from the user name, so it is deleted if the user name changes. */
    if (p->given & GIVEN_USER_USERNAME && core_record(call->core, TABLE_USER, p->id, &user) &&
        !str_eq(user.user.username, str_lower(call->arena, p->username))) {
        p->given |= GIVEN_USER_DIGEST_HA1;
        p->digest_ha1 = STR("");
    }
    if (p->given & GIVEN_USER_IS_ADMIN && core_record(call->core, TABLE_USER, p->id, &user) &&
        user.user.is_admin != p->is_admin)
        user_refuse_self(call, p->id, "is_admin");
}

static const struct params_schema create = {.kind = COMMAND_USER_CREATE, PARAM_RULES(create_rules)};
static const struct params_schema update = {.kind = COMMAND_USER_UPDATE,
                                            PARAM_RULES(update_rules),
                                            GIVEN_MASK_AT(user_update),
                                            .check = user_check_update};
static const struct params_schema change = {.kind = COMMAND_USER_UPDATE,
                                            PARAM_RULES(change_rules),
                                            GIVEN_MASK_AT(user_update),
                                            .check = user_check_update};

const struct resource resource_users = {
    .view = &shape_user,
    .order = ORDER_BY_ID,
    .create = &create,
    .update = &update,
};

/* ---- creation ---- */

/* The HA1 for a new password: if digest=true, or if the user has one and digest is not given,
 * because clients that use Digest could not log in any more. */
static struct str user_ha1(struct call *call, struct str username, struct str password,
                           bool has_one)
{
    bool wants_digest = has_one;
    param_bool(call, "digest", &wants_digest);
    return wants_digest ? digest_ha1(call->arena, str_lower(call->arena, username), password)
                        : STR("");
}

static enum handler_result serve_user_create(struct call *call)
{
    struct command command = {0};
    struct user_create_command *p = &command.user_create;
    struct str password;
    if (!authorize_is_admin(call)) {
        authorize_refuse(call, STR("only an admin may create users"));
        return SERVED_REPLY;
    }
    if (!params_read(call, shape_user.type))
        return SERVED_REPLY;
    params_schema_read(call, &create, 0, &command);
    const bool has_password = password_param_read(call, &password);
    if (has_password)
        p->digest_ha1 = user_ha1(call, p->username, password, false);
    if (call->problems)
        return SERVED_REPLY;
    if (has_password) {
        const enum password_param_state state = password_param_hash(call, password);
        if (state != SECRET_HASHED)
            return state == SECRET_PENDING ? SERVED_LATER : SERVED_REPLY;
        p->password_hash = str_from(call->made_hash);
    }
    return object_submit(call, &command, object_reply_shown);
}

/* ---- flags ---- */

/* POST sets the flag, DELETE clears it. `flag` selects the field of the command that counts. */
static enum handler_result user_serve_flag(struct call *call, uint32_t flag, const char *field)
{
    const bool value = call->request->method == HTTP_POST;
    struct command command = {
        .kind = COMMAND_USER_UPDATE,
        .user_update = {.given = flag, .is_admin = value, .is_locked = value}};
    struct record user;
    if (!resource_find(call, &resource_users, call->keys[0], &user) || !object_condition(call))
        return SERVED_REPLY;
    command.user_update.id = user.id;
    user_refuse_self(call, user.id, field);
    return object_submit(call, &command, object_reply_shown);
}

static enum handler_result serve_user_admin(struct call *call)
{
    return user_serve_flag(call, GIVEN_USER_IS_ADMIN, "is_admin");
}

static enum handler_result serve_user_lock(struct call *call)
{
    return user_serve_flag(call, GIVEN_USER_IS_LOCKED, "is_locked");
}

/* ---- passwords ---- */

/* May the caller set the password of this user? Admins may, also with a token. Others may set their
 * own, but not with a token: a stolen token must not be enough to take over the account. False
 * after a 403. */
static bool user_may_set_password(struct call *call, int64_t user_id)
{
    if (authorize_is_admin(call))
        return true;
    if (user_id != call->caller.user_id)
        authorize_refuse(call, STR("only an admin may set the password of another user"));
    else if (call->caller.auth_method == BY_TOKEN)
        authorize_refuse(
            call, STR("a password cannot be changed with a token; use the current password"));
    return !call->reply.status;
}

static bool user_find_for_reset(struct call *call, struct record *out_user)
{
    return resource_find(call, &resource_users, call->keys[0], out_user) &&
           user_may_set_password(call, out_user->id);
}

/* Ends all sessions of the user in the same batch, so that they need the new password. */
static enum handler_result user_submit_password(struct call *call, struct command *command)
{
    struct command batch = {.kind = COMMAND_BATCH};
    struct buf parts = buf_in(call->arena);
    command->if_turn = call->if_turn;
    call->if_turn = 0; /* the precondition is about the user, not about the batch */
    command_encode(command, &parts);
    session_end_all(call, command->user_update.id, 0, &parts);
    batch.batch.commands = buf_str(&parts);
    return object_submit(call, &batch, object_reply_shown);
}

/* Sets the password together with the other changes of the command. The reset key of `box` is
 * consumed, after the hash is computed, because the handler runs twice; NULL: not a password reset.
 */
static enum handler_result user_set_password(struct call *call, const struct record *user,
                                             struct str password, const struct sealed_box *box,
                                             struct command *command)
{
    struct user_update_command *p = &command->user_update;
    const struct str username = p->given & GIVEN_USER_USERNAME ? p->username : user->user.username;
    p->given |= GIVEN_USER_PASSWORD_HASH | GIVEN_USER_DIGEST_HA1;
    p->digest_ha1 = user_ha1(call, username, password, user->user.digest_ha1.len > 0);
    if (call->problems)
        return SERVED_REPLY;
    const enum password_param_state state = password_param_hash(call, password);
    if (state != SECRET_HASHED)
        return state == SECRET_PENDING ? SERVED_LATER : SERVED_REPLY;
    p->password_hash = str_from(call->made_hash);
    /* Consume the key only now: the handler has run once before, to start the hashing. If it is
     * gone, a parallel request has used it. */
    if (box && !reset_keys_end(call_auth_state(call)->resets, box)) {
        call_refuse(call, PROBLEM_NOT_FOUND, STR("token"),
                    STR("the token was already used; start the password reset again"));
        return SERVED_REPLY;
    }
    return user_submit_password(call, command);
}

/* PUT of a user: like any other object, but it may also set a password. */
static enum handler_result serve_user_update(struct call *call)
{
    struct record user;
    struct command command = {0};
    struct str password;
    if (!resource_find(call, &resource_users, call->keys[0], &user) || !object_condition(call) ||
        !params_read(call, shape_user.type))
        return SERVED_REPLY;
    params_schema_read(call, &change, user.id, &command);
    if (!json_get(call->params, STR("password")))
        return object_submit(call, &command, object_reply_shown);
    if (!user_may_set_password(call, user.id) || !password_param_read(call, &password))
        return SERVED_REPLY;
    return user_set_password(call, &user, password, NULL, &command);
}

static struct command user_password_command(const struct record *user)
{
    return (struct command){.kind = COMMAND_USER_UPDATE, .user_update = {.id = user->id}};
}

static const struct param_rule reset_rules[] = {
    {.name = "password", .kind = PARAM_TEXT, .read_by_handler = true, .is_required = true},
    PARAMS_PASSWORD,
};

static const struct params_schema reset = {.kind = COMMAND_USER_UPDATE, PARAM_RULES(reset_rules)};

static enum handler_result serve_password_reset(struct call *call)
{
    struct record user;
    struct str password;
    if (!user_find_for_reset(call, &user) || !object_condition(call) ||
        !params_read(call, shape_user.type) || !param_required(call, "password") ||
        !password_param_read(call, &password))
        return SERVED_REPLY;
    struct command command = user_password_command(&user);
    return user_set_password(call, &user, password, NULL, &command);
}

static enum handler_result serve_password_reset_start(struct call *call)
{
    struct record user;
    if (!user_find_for_reset(call, &user))
        return SERVED_REPLY;
    struct json *reply = json_make(call->arena, JSON_OBJECT);
    const struct str token =
        reset_keys_start(call_auth_state(call)->resets, call->arena, user.id, call_mono_ms(call));
    json_set(reply, STR("token"), json_make_string(call->arena, token));
    reply_json(call, "password_change_token", "obj", json_write(call->arena, reply));
    return SERVED_REPLY;
}

static const struct param_rule complete_rules[] = {
    {.name = "token", .kind = PARAM_TEXT, .read_by_handler = true, .is_required = true},
    {.name = "decoder", .kind = PARAM_TEXT, .read_by_handler = true, .is_required = true},
    {.name = "nonce", .kind = PARAM_TEXT, .read_by_handler = true, .is_required = true},
    {.name = "payload", .kind = PARAM_TEXT, .read_by_handler = true, .is_required = true},
    {.name = "digest", .kind = PARAM_BOOL, .read_by_handler = true},
};

static const struct params_schema complete = {.kind = COMMAND_USER_UPDATE,
                                              PARAM_RULES(complete_rules)};

static bool user_read_sealed_box(struct call *call, struct sealed_box *out)
{
    const struct {
        const char *name;
        struct str *place;
    } parts[] = {{"token", &out->token},
                 {"decoder", &out->decoder},
                 {"nonce", &out->nonce},
                 {"payload", &out->payload}};
    *out = (struct sealed_box){0};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (param_required(call, parts[i].name))
            param_text(call, parts[i].name, parts[i].place);
    return !call->problems;
}

static enum handler_result serve_password_reset_complete(struct call *call)
{
    struct record user;
    struct sealed_box box;
    struct str password;
    if (!user_find_for_reset(call, &user) || !object_condition(call) ||
        !params_read(call, shape_user.type) || !user_read_sealed_box(call, &box))
        return SERVED_REPLY;
    call->request->is_secret = true;
    box.user_id = user.id;
    if (!reset_keys_open(call_auth_state(call)->resets, call->arena, &box, call_mono_ms(call),
                         &password)) {
        call_refuse(
            call, PROBLEM_NAME_INVALID, STR("token"),
            STR("the token is unknown or expired, or the payload is not sealed with its key"));
        return SERVED_REPLY;
    }
    if (!password_param_check(call, password))
        return SERVED_REPLY;
    struct command command = user_password_command(&user);
    return user_set_password(call, &user, password, &box, &command);
}

/* ---- test of Digest authentication ---- */

static enum handler_result serve_digest(struct call *call)
{
    const struct str name = call->caller.name;
    reply_text(call, 200,
               call->caller.auth_method == BY_DIGEST
                   ? STR_CONCAT(call->arena, STR("Digest success: you are "), name, STR("\n"))
                   : STR_CONCAT(call->arena, STR("You are "), name, STR(", but not by digest\n")));
    return SERVED_REPLY;
}

/* ---- routes ---- */

/* clang-format off */
#define ROUTE_USER(METHOD, path, handler, summary)                                                 \
    {                                                                                              \
        .method = METHOD, .pattern = V "users/:id/" path, .serve = handler,                        \
        .resource = &resource_users, .does = summary                                               \
    }
/* clang-format on */

static const struct route routes[] = {
    ROUTES_READ("users", resource_users),
    {.method = HTTP_PUT,
     .pattern = V "users/:id",
     .serve = serve_user_update,
     .resource = &resource_users,
     .params = &change,
     .does = "update the object; digest=true allows Digest authentication with a new password"},
    {.method = HTTP_PATCH,
     .pattern = V "users/:id",
     .serve = serve_patch,
     .resource = &resource_users,
     .does = "update the object with a JSON Patch"},
    {.method = HTTP_POST,
     .pattern = V "users",
     .serve = serve_user_create,
     .resource = &resource_users,
     .params = &create,
     .does = "create an object"},
    {.method = HTTP_DELETE,
     .pattern = V "users/:id",
     .serve = serve_delete,
     .resource = &resource_users,
     .command = COMMAND_USER_DELETE,
     .form = REPLY_MESSAGE,
     .does = "delete it and its tokens"},
    ROUTE_USER(HTTP_POST, "admin", serve_user_admin, "give it the admin right"),
    ROUTE_USER(HTTP_DELETE, "admin", serve_user_admin, "take the admin right from it"),
    ROUTE_USER(HTTP_POST, "lock", serve_user_lock,
               "lock it: its password, tokens and sessions are refused"),
    ROUTE_USER(HTTP_DELETE, "lock", serve_user_lock, "unlock it"),
    {.method = HTTP_PUT,
     .pattern = V "users/:id/reset_password",
     .serve = serve_password_reset,
     .resource = &resource_users,
     .params = &reset,
     .does = "set a new password; digest=true allows Digest authentication with it"},
    {.method = HTTP_GET,
     .pattern = V "users/:id/start_password_reset",
     .serve = serve_password_reset_start,
     .form = REPLY_CUSTOM,
     .does = "a public key to seal a new password with, valid for an hour"},
    {.method = HTTP_POST,
     .pattern = V "users/:id/complete_password_reset",
     .serve = serve_password_reset_complete,
     .resource = &resource_users,
     .params = &complete,
     .does = "set the new password that is sealed in the payload"},
};

static const struct route digest_routes[] = {
    {.method = HTTP_GET,
     .pattern = V "digest",
     .serve = serve_digest,
     .form = REPLY_TEXT,
     .does = "the name of the user, and whether Digest authentication was used"},
};

const struct route_table route_table_users = ROUTE_TABLE("users", routes);
const struct route_table route_table_digest = ROUTE_TABLE("digest", digest_routes);
