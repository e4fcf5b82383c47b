#include "api/auth.h"

#include "api/reply.h"
#include "http/credentials.h"
#include "model/limits.h"

static void refuse(struct call *call, const char *message)
{
    reply_unauthorized(call, message);
    call_answer(call);
}

static void fail(struct call *call, err why)
{
    reply_failure(call, why);
    call_answer(call);
}

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
    if (!core)
        fail(call, ERR_UNAVAILABLE);
    else if (!right || !find_user(core, call->caller.name, &user) || user.user.is_locked ||
             !str_eq(user.user.password_hash, call->caller.hash))
        refuse(call, "the user name or the password is wrong");
    else {
        know(call, &user.user);
        call_admit(call);
    }
}

static void begin_basic(struct call *call, const struct core *core, const struct credentials *given)
{
    struct record user;
    if (!call->request->is_loopback && !call->request->is_secure) {
        reply_error(call, 403, "forbidden",
                    STR("passwords are taken over TLS or from this machine only; use a token"));
        call_answer(call);
        return;
    }
    const bool found = find_user(core, given->name, &user);
    call->caller.name = given->name;
    call->caller.hash = str_copy(call->arena, found ? user.user.password_hash : STR(""));
    call_wait(call, WAITS_PASSWORD);
    /* The answer may come before this returns: only when there will be none is the call ours. */
    const err e =
        passwords_check(call_passwords(call), call->caller.hash, given->secret, checked, call);
    if (e != OK) {
        call_resume(call);
        fail(call, e);
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

static void begin_bearer(struct call *call, const struct core *core, struct str secret)
{
    struct record token, user;
    call->caller.hash = credentials_token_hash(call->arena, secret);
    if (!token_is_good(call, core, call->caller.hash, &token) ||
        !core_record(core, TABLE_USER, token.token.user_id, &user) || user.user.is_locked) {
        refuse(call, "the token is unknown or has expired");
        return;
    }
    call->caller.token_id = token.id;
    know(call, &user.user);
    call_admit(call);
}

void auth_begin(struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    const struct core *core = engine->core(engine->self);
    const struct credentials given =
        credentials_parse(call->arena, http_header(call->request, "Authorization"));
    if (given.kind == CREDENTIALS_NONE)
        refuse(call, "a user name and password or a token is needed");
    else if (!core)
        fail(call, ERR_UNAVAILABLE);
    else if (given.kind == CREDENTIALS_BASIC)
        begin_basic(call, core, &given);
    else
        begin_bearer(call, core, given.secret);
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
