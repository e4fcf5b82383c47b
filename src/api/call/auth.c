#include "api/call/auth.h"

#include <string.h>

#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/call/route.h"
#include "api/call/session.h"
#include "auth/auth_state.h"
#include "auth/credentials.h"
#include "model/limits.h"

/* Authentication of requests. The result is call->caller; the state between requests (lockouts,
 * nonces, idle times of sessions) belongs to struct auth_state of the API.
 *
 * The headers are checked first, on the loop (auth_check_head): kind of credentials, lockout,
 * tokens and sessions, which only need a hash lookup in the core. Passwords are then verified by
 * worker threads (auth/passwords.h); the call waits, and auth_password_checked() continues.
 *
 * Order: the lockout is tested before a password is verified, so that an attacker cannot make the
 * daemon compute hashes, and again afterwards, because parallel attempts may have reached the limit
 * meanwhile. The user record is read again after the verification, because it may have been locked
 * or changed.
 *
 * Failure: every path ends in call_admit() or in one reply: 401 for missing or wrong credentials,
 * 403 for passwords without TLS and for a missing X-CSRF-Token, 411 or 413 for a login with a long
 * body, the errors of params.c if it cannot be read, 429 during a lockout or if too many passwords
 * wait for verification, 503 without a core. Every failed login is logged and counted and gets the
 * same reply, whether the user exists or not.
 *
 * HA1 is the term of RFC 7616 for the hash of user name, realm and password, which is stored to
 * verify Digest responses. */

enum { LOGIN_SIZE_MAX = 16 << 10 }; /* bytes */

/* "user NAME" or "node NAME", truncated at a character boundary to the length of an actor. */
static struct str auth_actor(struct call *call, struct str kind, struct str name)
{
    struct str actor = STR_CONCAT(call->arena, kind, STR(" "), name);
    if (actor.len > NAME_LEN_MAX) {
        actor.len = NAME_LEN_MAX;
        while (!str_is_clean(actor))
            actor.len--;
    }
    return actor;
}

static void auth_set_user(struct call *call, const struct user_record *user)
{
    call->caller.user_id = user->id;
    call->caller.name = str_copy(call->arena, user->username);
    call->caller.actor = auth_actor(call, STR("user"), call->caller.name);
}

static void auth_set_node(struct call *call, const struct node_record *node)
{
    call->caller.node_id = node->id;
    call->caller.name = str_copy(call->arena, node->name);
    call->caller.actor = auth_actor(call, STR("node"), call->caller.name);
}

static bool auth_find_user(const struct core *core, struct str name, struct record *out_user)
{
    const int64_t id = core_find(core, TABLE_USER, name);
    return id && core_record(core, TABLE_USER, id, out_user);
}

/* ---- failed logins ---- */

static struct login_source auth_login_source(const struct call *call, const struct core *core,
                                             struct str name)
{
    struct login_source v = {.user = name, .is_user = core_find(core, TABLE_USER, name) != 0};
    memcpy(v.address, call->request->address, sizeof v.address);
    memcpy(v.client, call->request->client, sizeof v.client);
    return v;
}

/* True if the name or address is locked out; the reply is made then. */
static bool auth_refuse_locked_out(struct call *call, const struct core *core, struct str name)
{
    const struct login_source v = auth_login_source(call, core, name);
    const int64_t left = lockout_left_ms(call_auth_state(call)->lockout, &v, call_mono_ms(call));
    if (left)
        reply_locked_out(call, left);
    return left != 0;
}

static void auth_refuse_login(struct call *call, const struct core *core)
{
    const struct login_source v = auth_login_source(call, core, call->caller.name);
    auth_log_failure(call_auth_state(call), &v, call_mono_ms(call));
    reply_unauthorized(call, "the user name or the password is wrong");
}

static void auth_accept_login(struct call *call, const struct core *core,
                              const struct user_record *user)
{
    const struct login_source v = auth_login_source(call, core, call->caller.name);
    lockout_succeeded(call_auth_state(call)->lockout, &v, call_mono_ms(call));
    auth_set_user(call, user);
}

/* ---- Basic authentication ---- */

/* Continues after the verification. The user may have been locked or changed since, and parallel
 * attempts may have triggered the lockout. */
static void auth_password_checked(void *context, bool right)
{
    struct call *call = context;
    const struct core *core = call_core(call);
    struct record user;
    call_resume(call);
    const bool found = core && auth_find_user(core, call->caller.name, &user);
    if (!core)
        reply_failure(call, ERR_UNAVAILABLE);
    else if (auth_refuse_locked_out(call, core, call->caller.name))
        must(call->reply.status);
    else if (!right || !found || user.user.is_locked ||
             !str_eq(user.user.password_hash, call->caller.hash))
        auth_refuse_login(call, core);
    else
        auth_accept_login(call, core, &user.user);
    if (call->reply.status)
        call_answer(call);
    else
        call_admit(call);
}

static void auth_begin_basic(struct call *call, const struct core *core,
                             const struct credentials *given)
{
    struct record user;
    const bool found = auth_find_user(core, given->name, &user);
    call->caller.auth_method = BY_PASSWORD;
    call->caller.name = given->name;
    call->caller.hash = str_copy(call->arena, found ? user.user.password_hash : STR(""));
    call->request->is_secret = true;
    call_wait(call, WAITS_PASSWORD);
    /* The result may arrive before this returns, and then the call may be freed: touch it only
     * after an error, when no result will arrive. */
    const struct password_check claim = {call->request->address, call->caller.hash, given->secret};
    const err e = passwords_check(call_passwords(call), &claim, auth_password_checked, call);
    if (e != OK) {
        call_resume(call);
        reply_failure(call, e);
        call_answer(call);
    }
}

/* ---- Digest authentication ---- */

/* Makes the reply unless the response is correct. */
static void auth_check_digest(struct call *call, const struct core *core,
                              const struct digest_parameters *claim)
{
    struct record user;
    const bool found = auth_find_user(core, claim->username, &user);
    call->caller.auth_method = BY_DIGEST;
    call->caller.name = claim->username;
    call->caller.hash = str_copy(call->arena, found ? user.user.digest_ha1 : STR(""));
    const struct digest_check question = {.arena = call->arena,
                                          .claim = claim,
                                          .method = call->request->method,
                                          .target = call->request->target,
                                          .ha1 = call->caller.hash};
    const enum digest_verdict verdict =
        digests_verify(call_auth_state(call)->digests, &question, call_mono_ms(call));
    /* `user` is only read if the response was correct, which it never is without a user. */
    if (verdict == DIGEST_STALE)
        reply_stale(call);
    else if (verdict == DIGEST_WRONG || user.user.is_locked)
        auth_refuse_login(call, core);
    else
        auth_accept_login(call, core, &user.user);
}

/* auth_check_digest_head() has parsed the same header before, so parsing cannot fail. */
static void auth_begin_digest(struct call *call, const struct core *core,
                              const struct credentials *given)
{
    struct digest_parameters claim;
    must(digest_parse(call->arena, given->secret, &claim));
    auth_check_digest(call, core, &claim);
    if (call->reply.status)
        call_answer(call);
    else
        call_admit(call);
}

/* ---- tokens ---- */

static bool auth_token_is_valid(const struct call *call, const struct core *core, struct str hash,
                                struct record *out_token)
{
    const int64_t id = core_find(core, TABLE_TOKEN, hash);
    if (!id || !core_record(core, TABLE_TOKEN, id, out_token))
        return false;
    return !out_token->token.expires_at || call_now_ms(call) < out_token->token.expires_at;
}

/* Sets the caller to the owner of the token; false if the owner does not exist or is locked. */
static bool auth_load_owner(struct call *call, const struct core *core,
                            const struct token_record *token)
{
    struct record owner;
    if (token->node_id) {
        if (!core_record(core, TABLE_NODE, token->node_id, &owner))
            return false;
        auth_set_node(call, &owner.node);
    } else {
        if (!core_record(core, TABLE_USER, token->user_id, &owner) || owner.user.is_locked)
            return false;
        auth_set_user(call, &owner.user);
    }
    call->caller.token_id = token->id;
    return true;
}

static bool auth_check_bearer(struct call *call, const struct core *core, struct str secret)
{
    struct record token;
    call->caller.auth_method = BY_TOKEN;
    call->caller.hash = credentials_token_hash(call->arena, secret);
    if (auth_token_is_valid(call, core, call->caller.hash, &token) &&
        token.token.kind == TOKEN_BEARER && auth_load_owner(call, core, &token.token))
        return true;
    reply_unauthorized(call, "the token is unknown or has expired");
    return false;
}

/* ---- sessions ---- */

/* A page of another site can make a browser send the cookie, but cannot set this header. */
static bool auth_refuse_csrf(struct call *call, struct str secret)
{
    if (call->request->method == HTTP_GET || call->request->method == HTTP_HEAD)
        return false;
    const struct str shown = http_header(call->request, "X-CSRF-Token");
    if (credentials_same(shown, credentials_csrf(call->arena, secret)))
        return false;
    reply_error(call, 403, "forbidden",
                STR("a change that is authenticated by the session cookie needs the header "
                    "X-CSRF-Token with the csrf_token of the login reply"));
    return true;
}

/* A session is checked in this order: the token, then its idle time, which counts this request as a
 * use, then X-CSRF-Token. */
static bool auth_check_session(struct call *call, const struct core *core, struct str secret)
{
    struct record token;
    call->caller.auth_method = BY_SESSION;
    call->caller.hash = credentials_token_hash(call->arena, secret);
    if (!auth_token_is_valid(call, core, call->caller.hash, &token) ||
        token.token.kind != TOKEN_SESSION || !auth_load_owner(call, core, &token.token)) {
        reply_unauthorized(call, "the session has expired or was ended; log in again");
        return false;
    }
    if (!session_record_use(call_auth_state(call)->idle, token.id, call_mono_ms(call))) {
        session_forget(
            call,
            token.id); /* idle times are not stored, so it would be valid again after a restart */
        reply_unauthorized(call, "the session was idle for too long; log in again");
        return false;
    }
    return !auth_refuse_csrf(call, secret);
}

/* ---- credentials in headers ---- */

/* Refuses passwords over connections that can be eavesdropped. */
static bool auth_refuse_plaintext(struct call *call)
{
    if (call->request->is_loopback || call->request->is_secure)
        return false;
    reply_error(
        call, 403, "forbidden",
        STR("passwords are accepted only over TLS or from the host itself; use https or a token"));
    return true;
}

static bool auth_check_digest_head(struct call *call, const struct core *core,
                                   const struct credentials *given)
{
    struct digest_parameters claim;
    if (digest_parse(call->arena, given->secret, &claim))
        return !auth_refuse_locked_out(call, core, claim.username);
    reply_unauthorized(
        call,
        "the Digest in the Authorization header is malformed or does not match the challenge");
    return false;
}

/* The Authorization header has priority over the cookie, which a browser adds by itself. */
static struct credentials auth_read_credentials(struct call *call)
{
    const struct str header = http_header(call->request, "Authorization");
    if (header.len)
        return credentials_parse(call->arena, header);
    const struct str cookie =
        credentials_cookie(http_header(call->request, "Cookie"), STR(SESSION_COOKIE));
    return (struct credentials){.kind = cookie.len ? CREDENTIALS_COOKIE : CREDENTIALS_NONE,
                                .secret = str_copy(call->arena, cookie)};
}

/* Checks what the headers alone can decide. False if the reply is made. */
static bool auth_check_head(struct call *call, const struct core *core,
                            struct credentials *out_given)
{
    *out_given = auth_read_credentials(call);
    if (!core && out_given->kind != CREDENTIALS_NONE) {
        reply_failure(call, ERR_UNAVAILABLE);
        return false;
    }
    switch (out_given->kind) {
    case CREDENTIALS_NONE:
        reply_unauthorized(call,
                           "authentication required: send a user name and password, or a token");
        return false;
    case CREDENTIALS_BASIC:
        return !auth_refuse_plaintext(call) && !auth_refuse_locked_out(call, core, out_given->name);
    case CREDENTIALS_DIGEST: return auth_check_digest_head(call, core, out_given);
    case CREDENTIALS_BEARER: return auth_check_bearer(call, core, out_given->secret);
    case CREDENTIALS_COOKIE: return auth_check_session(call, core, out_given->secret);
    }
    impossible("a kind of credentials outside the enum");
}

/* ---- logins ---- */

static bool auth_is_login(const struct call *call)
{
    return call->route && call->route->access == ROUTE_AUTH_IN_BODY;
}

/* The sender is not authenticated yet, so the body is limited to LOGIN_SIZE_MAX bytes. */
static bool auth_refuse_long_login(struct call *call)
{
    int64_t length = 0;
    const bool is_known = str_parse_i64(http_header(call->request, "Content-Length"), &length);
    if (is_known && length <= LOGIN_SIZE_MAX)
        return false;
    reply_error(call, is_known ? 413 : 411, "too_large",
                STR("the body of a login must have a Content-Length of at most 16384 bytes"));
    return true;
}

/* A login has the credentials in its body and is verified like Basic authentication. */
static void auth_begin_login(struct call *call, const struct core *core)
{
    struct credentials given = {.kind = CREDENTIALS_BASIC};
    call->request->is_secret = true;
    if (!core)
        reply_failure(call, ERR_UNAVAILABLE);
    else if (!auth_refuse_plaintext(call) && params_read(call, session_wraps(call))) {
        if (param_required(call, "username"))
            param_text(call, "username", &given.name);
        if (param_required(call, "password"))
            param_text(call, "password", &given.secret);
        if (call->problems)
            reply_problems(call, call->problems);
        else if (!auth_refuse_locked_out(call, core, given.name)) {
            auth_begin_basic(call, core, &given);
            return;
        }
    }
    call_answer(call);
}

/* ---- entry points ---- */

bool auth_refuses(struct call *call, bool *out_known)
{
    struct credentials given;
    *out_known = false;
    if (auth_is_login(call))
        return auth_refuse_plaintext(call) || auth_refuse_long_login(call);
    const bool passes = auth_check_head(call, call_core(call), &given);
    *out_known = passes && (given.kind == CREDENTIALS_BEARER || given.kind == CREDENTIALS_COOKIE);
    return !passes;
}

void auth_begin(struct call *call)
{
    const struct core *core = call_core(call);
    struct credentials given;
    if (auth_is_login(call))
        auth_begin_login(call, core);
    else if (!auth_check_head(call, core, &given))
        call_answer(call);
    else if (given.kind == CREDENTIALS_BASIC)
        auth_begin_basic(call, core, &given);
    else if (given.kind == CREDENTIALS_DIGEST)
        auth_begin_digest(call, core, &given);
    else
        call_admit(call);
}

/* The token of the request must still exist, with the same id and the same owner. */
static bool auth_token_still_valid(const struct call *call)
{
    struct record token;
    const struct caller *caller = &call->caller;
    return auth_token_is_valid(call, call->core, caller->hash, &token) &&
           token.id == caller->token_id && token.token.user_id == caller->user_id &&
           token.token.node_id == caller->node_id;
}

bool auth_holds(const struct call *call)
{
    struct record user;
    const struct caller *caller = &call->caller;
    if (caller->node_id)
        return core_record(call->core, TABLE_NODE, caller->node_id, &user) &&
               auth_token_still_valid(call);
    if (!core_record(call->core, TABLE_USER, caller->user_id, &user) || user.user.is_locked)
        return false;
    if (caller->token_id)
        return auth_token_still_valid(call);
    const struct str kept =
        caller->auth_method == BY_PASSWORD ? user.user.password_hash : user.user.digest_ha1;
    return str_eq(user.user.username, caller->name) && str_eq(kept, caller->hash);
}
