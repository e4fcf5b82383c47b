#include "api/call/session.h"

#include "api/call/iso8601.h"
#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/call/route.h"
#include "auth/credentials.h"
#include "model/limits.h"

/* Login, logout and the session cookie. The file has no state: a session is a token in the core,
 * and its idle time is in struct auth_state.
 *
 * A login is a batch of commands: delete the oldest sessions of the user beyond the limit, then
 * create the new token. The previous session of the browser is ended by a command of its own before
 * the batch, because it may belong to another user. The secret of the token exists only in the
 * cookie; the core stores its hash.
 *
 * Failure: the batch is executed completely or not at all, and the cookie is only sent after it was
 * committed. If the batch is refused, the previous session of the browser is ended nevertheless. A
 * session whose deletion cannot be submitted (session_forget) remains until it expires.
 */

/* ---- ending sessions ---- */

/* IF_THERE: a token that was deleted meanwhile is not an error. */
static struct command session_delete_command(int64_t token_id)
{
    return (struct command){
        .kind = COMMAND_TOKEN_DELETE, .if_turn = IF_THERE, .token_delete = {.id = token_id}};
}

void session_forget(struct call *call, int64_t token_id)
{
    const struct api_engine *engine = call_engine(call);
    struct command command = session_delete_command(token_id);
    command.actor = STR("daemon");
    ignore(engine->submit(engine->self, &command), "it expires by itself, later");
}

void session_end_all(struct call *call, int64_t user_id, uint32_t keep, struct buf *parts)
{
    int64_t ids[TOKENS_OWN_MAX]; /* ascending, so the oldest session is first */
    uint32_t count = 0;
    struct record token;
    for (int64_t id = core_next_id(call->core, TABLE_TOKEN, 0); id && count < TOKENS_OWN_MAX;
         id = core_next_id(call->core, TABLE_TOKEN, id))
        if (core_record(call->core, TABLE_TOKEN, id, &token) && token.token.user_id == user_id &&
            token.token.kind == TOKEN_SESSION)
            ids[count++] = id;
    for (uint32_t i = 0; i + keep < count; i++) {
        const struct command command = session_delete_command(ids[i]);
        command_encode(&command, parts);
    }
}

/* ---- cookie and identity ---- */

static void session_put_cookie(struct call *call, struct str secret, int64_t seconds)
{
    struct buf b = buf_in(call->arena);
    buf_put_z(&b, SESSION_COOKIE "=");
    buf_put_str(&b, secret);
    buf_put_z(&b, "; Path=/; HttpOnly; SameSite=Strict; Max-Age=");
    buf_put_i64(&b, seconds);
    buf_put_z(&b, call->request->is_secure ? "; Secure" : "");
    reply_header(call, "Set-Cookie", buf_str(&b));
}

static void session_set_string(struct call *call, struct json *object, const char *key,
                               struct str text)
{
    json_set(object, str_from(key),
             text.len ? json_make_string(call->arena, text) : json_make(call->arena, JSON_NULL));
}

/* Replies with the user and, for a session with this secret, its csrf_token; empty: another kind of
 * authentication. */
static void reply_identity(struct call *call, int64_t token_id, struct str secret)
{
    struct record user, token;
    struct json *reply = json_make(call->arena, JSON_OBJECT);
    struct buf expires = buf_in(call->arena);
    if (!call->core || !core_record(call->core, TABLE_USER, call->caller.user_id, &user)) {
        reply_failure(call, ERR_UNAVAILABLE);
        return;
    }
    if (token_id && core_record(call->core, TABLE_TOKEN, token_id, &token) &&
        token.token.expires_at)
        iso8601_format(&expires, token.token.expires_at);
    const enum access access = user.user.is_admin ? ACCESS_ADMIN : (enum access)user.user.access;
    session_set_string(call, reply, "username", user.user.username);
    json_set(reply, STR("is_admin"), json_make_bool(call->arena, user.user.is_admin));
    session_set_string(call, reply, "access", str_from(access_name(access)));
    session_set_string(call, reply, "csrf_token",
                       secret.len ? credentials_csrf(call->arena, secret) : STR(""));
    session_set_string(call, reply, "expires_at", buf_str(&expires));
    reply_json(call, "session", "obj", json_write(call->arena, reply));
    reply_header(call, "Cache-Control", STR("no-store"));
}

static struct str session_cookie(const struct call *call)
{
    return credentials_cookie(http_header(call->request, "Cookie"), STR(SESSION_COOKIE));
}

/* ---- login ---- */

static bool session_is_form_login(const struct call *call)
{
    return str_eq(str_from(call->route->pattern), STR(SESSION_SIGN_IN));
}

static void session_reply_login(struct call *call, int64_t id)
{
    const struct str hash = credentials_token_hash(call->arena, call->secret);
    (void)id; /* id of the first command of the batch, not needed */
    reply_identity(call, call->core ? core_find(call->core, TABLE_TOKEN, hash) : 0, call->secret);
    if (call->reply.status == 200)
        session_put_cookie(call, call->secret, SESSION_MS / 1000);
}

const char *session_wraps(const struct call *call)
{
    return session_is_form_login(call) ? "user" : "session";
}

/* As OpenCrowbar did: a redirect with the cookie. Its clients follow it, or check the status and
 * keep the cookie. */
static void session_reply_form_login(struct call *call, int64_t id)
{
    session_reply_login(call, id);
    if (call->reply.status != 200)
        return;
    call->reply.status = 302;
    reply_header(call, "Location", STR("/"));
}

/* Ends the session whose cookie came with the login, of any user (session fixation: an attacker
 * may have planted the cookie). */
static void session_end_previous(struct call *call)
{
    struct record token;
    const struct str old = session_cookie(call);
    const struct str hash = credentials_token_hash(call->arena, old);
    const int64_t id = old.len ? core_find(call->core, TABLE_TOKEN, hash) : 0;
    if (id && core_record(call->core, TABLE_TOKEN, id, &token) && token.token.kind == TOKEN_SESSION)
        session_forget(call, id);
}

static const struct param_rule login_rules[] = {
    {.name = "username", .kind = PARAM_TEXT, .is_required = true, .read_by_handler = true},
    {.name = "password", .kind = PARAM_TEXT, .is_required = true, .read_by_handler = true},
};

static const struct params_schema login = {.kind = COMMAND_TOKEN_CREATE, PARAM_RULES(login_rules)};

/* auth.c has verified the password before. */
static enum handler_result serve_login(struct call *call)
{
    struct command create = {.kind = COMMAND_TOKEN_CREATE};
    struct command batch = {.kind = COMMAND_BATCH};
    struct buf parts = buf_in(call->arena);
    call->secret = credentials_token_new(call->arena);
    create.token_create =
        (struct token_create_command){.user_id = call->caller.user_id,
                                      .name = STR("session"),
                                      .hash = credentials_token_hash(call->arena, call->secret),
                                      .expires_at = call_now_ms(call) + SESSION_MS,
                                      .kind = TOKEN_SESSION};
    /* Delete the oldest sessions before the new one is created, so that the limit of tokens of the
     * core holds after every command of the batch. */
    session_end_all(call, call->caller.user_id, SESSIONS_PER_USER - 1, &parts);
    session_end_previous(call);
    command_encode(&create, &parts);
    batch.batch.commands = buf_str(&parts);
    return call_submit(
        call, &batch, session_is_form_login(call) ? session_reply_form_login : session_reply_login);
}

/* ---- current session and logout ---- */

static enum handler_result serve_session(struct call *call)
{
    reply_identity(call, call->caller.token_id,
                   call->caller.auth_method == BY_SESSION ? session_cookie(call) : STR(""));
    return SERVED_REPLY;
}

static void session_reply_logout(struct call *call, int64_t id)
{
    (void)id;
    reply_message(call, "session", STR("logged out"));
    session_put_cookie(call, STR(""), 0);
}

static enum handler_result serve_logout(struct call *call)
{
    struct command command = {.kind = COMMAND_TOKEN_DELETE,
                              .token_delete = {.id = call->caller.token_id}};
    if (call->caller.auth_method == BY_SESSION)
        return call_submit(call, &command, session_reply_logout);
    call_refuse(call, PROBLEM_NOT_FOUND, STR("session"),
                STR("there is no session to end: the request has no session cookie"));
    return SERVED_REPLY;
}

static const struct route routes[] = {
    {.method = HTTP_POST,
     .pattern = V "session",
     .serve = serve_login,
     .params = &login,
     .form = REPLY_CUSTOM,
     .access = ROUTE_AUTH_IN_BODY,
     .does = "log in: sets the session cookie and returns the csrf_token for changes"},
    {.method = HTTP_GET,
     .pattern = V "session",
     .serve = serve_session,
     .form = REPLY_CUSTOM,
     .does = "the user, access level and expiry of the session"},
    {.method = HTTP_DELETE,
     .pattern = V "session",
     .serve = serve_logout,
     .form = REPLY_MESSAGE,
     .does = "log out"},
};

const struct route_table route_table_session = ROUTE_TABLE("session", routes);

static const struct route sign_in_routes[] = {
    {.method = HTTP_POST,
     .pattern = SESSION_SIGN_IN,
     .serve = serve_login,
     .params = &login,
     .form = REPLY_CUSTOM,
     .access = ROUTE_AUTH_IN_BODY,
     .does = "log in with the form of OpenCrowbar: user[username] and user[password]"},
};

const struct route_table route_table_sign_in = ROUTE_TABLE(NULL, sign_in_routes);
