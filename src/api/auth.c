#include "api/auth.h"

#include "api/reply.h"
#include "http/credentials.h"
#include "model/limits.h"

/* "user NAME", cut where a character ends if it is longer than an actor may be. */
static struct str actor_of(struct call *call, struct str name)
{
    struct str actor = SAY(call, STR("user "), name);
    if (actor.len > NAME_LEN_MAX) {
        actor.len = NAME_LEN_MAX;
        while (!str_is_clean(actor))
            actor.len--;
    }
    return actor;
}

static void know(struct call *call, const struct user_record *user)
{
    call->caller.user_id = user->id;
    call->caller.name = str_copy(call->arena, user->username);
    call->caller.actor = actor_of(call, call->caller.name);
}

static bool find_user(const struct core *core, struct str name, struct record *out_user)
{
    const int64_t id = core_find(core, TABLE_USER, name);
    return id && core_record(core, TABLE_USER, id, out_user);
}

/* ---- passwords ---- */

/* The password was right, or not; the user may have been locked or changed meanwhile. */
static void checked(void *context, bool right)
{
    struct call *call = context;
    const struct api_engine *engine = call_engine(call);
    const struct core *core = engine->core(engine->self);
    struct record user;
    call_resume(call);
    if (core && right && find_user(core, call->caller.name, &user) && !user.user.is_locked &&
        str_eq(user.user.password_hash, call->caller.hash)) {
        know(call, &user.user);
        call_admit(call);
        return;
    }
    if (core)
        reply_unauthorized(call, "the user name or the password is wrong");
    else
        reply_failure(call, ERR_UNAVAILABLE);
    call_answer(call);
}

static void begin_basic(struct call *call, const struct core *core, const struct credentials *given)
{
    struct record user;
    const bool found = find_user(core, given->name, &user);
    call->caller.name = given->name;
    call->caller.hash = str_copy(call->arena, found ? user.user.password_hash : STR(""));
    call_wait(call, WAITS_PASSWORD);
    /* The answer may come before this returns: only when there will be none is the call ours. */
    const err e =
        passwords_check(call_passwords(call), call->caller.hash, given->secret, checked, call);
    if (e != OK) {
        call_resume(call);
        reply_failure(call, e);
        call_answer(call);
    }
}

/* ---- tokens ---- */

static bool token_is_good(const struct call *call, const struct core *core, struct str hash,
                          struct record *out_token)
{
    const struct api_engine *engine = call_engine(call);
    const int64_t id = core_find(core, TABLE_TOKEN, hash);
    if (!id || !core_record(core, TABLE_TOKEN, id, out_token))
        return false;
    return !out_token->token.expires_at ||
           engine->now_ms(engine->self) < out_token->token.expires_at;
}

static bool knows_bearer(struct call *call, const struct core *core, struct str secret)
{
    struct record token, user;
    call->caller.hash = credentials_token_hash(call->arena, secret);
    if (!token_is_good(call, core, call->caller.hash, &token) ||
        !core_record(core, TABLE_USER, token.token.user_id, &user) || user.user.is_locked)
        return false;
    call->caller.token_id = token.id;
    know(call, &user.user);
    return true;
}

/* ---- both ---- */

/* What can be told from the header alone. False when the reply is made. */
static bool look(struct call *call, const struct core *core, struct credentials *out_given)
{
    *out_given = credentials_parse(call->arena, http_header(call->request, "Authorization"));
    const bool is_exposed = !call->request->is_loopback && !call->request->is_secure;
    if (out_given->kind == CREDENTIALS_NONE)
        reply_unauthorized(call, "a user name and password or a token is needed");
    else if (!core)
        reply_failure(call, ERR_UNAVAILABLE);
    else if (out_given->kind == CREDENTIALS_BASIC && is_exposed)
        reply_error(call, 403, "forbidden",
                    STR("passwords are taken over TLS or from this machine only; use a token"));
    else if (out_given->kind == CREDENTIALS_BEARER && !knows_bearer(call, core, out_given->secret))
        reply_unauthorized(call, "the token is unknown or has expired");
    else
        return true;
    return false;
}

bool auth_refuses(struct call *call, bool *out_known)
{
    const struct api_engine *engine = call_engine(call);
    struct credentials given;
    const bool passes = look(call, engine->core(engine->self), &given);
    *out_known = passes && given.kind == CREDENTIALS_BEARER;
    return !passes;
}

void auth_begin(struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    const struct core *core = engine->core(engine->self);
    struct credentials given;
    if (!look(call, core, &given))
        call_answer(call);
    else if (given.kind == CREDENTIALS_BASIC)
        begin_basic(call, core, &given);
    else
        call_admit(call);
}

bool auth_holds(const struct call *call)
{
    struct record token, user;
    const struct caller *caller = &call->caller;
    if (!core_record(call->core, TABLE_USER, caller->user_id, &user) || user.user.is_locked)
        return false;
    if (!caller->token_id)
        return str_eq(user.user.username, caller->name) &&
               str_eq(user.user.password_hash, caller->hash);
    return token_is_good(call, call->core, caller->hash, &token) && token.id == caller->token_id &&
           token.token.user_id == caller->user_id;
}
