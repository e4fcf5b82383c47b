#include "api/rest/password_params.h"

#include <string.h>

#include "api/call/params.h"
#include "api/call/reply.h"

/* New passwords in requests. The file has no state: the hash is in call->made_hash, which is kept
 * when the handler is run again.
 *
 * Order: the request is marked as secret, so that its memory is wiped, before anything else is done
 * with a password; a password is checked before it is hashed, because hashing is expensive.
 *
 * Failure: a password that breaks a rule is a problem. If the queue of the worker threads is full,
 * or the worker has not enough memory for the hash, the reply is 429. */

/* Counts code points: all bytes but continuation bytes of UTF-8. */
static uint32_t password_count_characters(struct str text)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.at[i] & 0xc0) != 0x80;
    return count;
}

bool password_param_check(struct call *call, struct str password)
{
    const char *wrong = NULL;
    call->request->is_secret = true;
    if (!str_is_clean(password))
        wrong = "password must be UTF-8 text";
    else if (password_count_characters(password) < PASSWORD_LEN_MIN)
        wrong = "password must have at least 6 characters";
    else if (password.len > PASSWORD_LEN_MAX)
        wrong = "password must have at most 1024 bytes";
    if (wrong)
        call_refuse(call, PROBLEM_NAME_INVALID, STR("password"), str_from(wrong));
    return !wrong;
}

bool password_param_read(struct call *call, struct str *out_password)
{
    struct str again;
    call->request->is_secret = true;
    if (!param_text(call, "password", out_password) || !password_param_check(call, *out_password))
        return false;
    if (!param_text(call, "password_confirmation", &again) || str_eq(again, *out_password))
        return true;
    call_refuse(call, PROBLEM_NAME_INVALID, STR("password_confirmation"),
                STR("password_confirmation is not the same as password"));
    return false;
}

/* Called by the event loop when the worker thread is done. The call may be freed on return. */
static void password_param_hashed(void *context, const char *hash)
{
    struct call *call = context;
    call_resume(call);
    if (hash) {
        memcpy(call->made_hash, hash, strlen(hash) + 1);
        call_restart(call);
        return;
    }
    reply_failure(call, ERR_LIMIT);
    call_answer(call);
}

enum password_param_state password_param_hash(struct call *call, struct str password)
{
    if (*call->made_hash)
        return SECRET_HASHED;
    call_wait(call, WAITS_PASSWORD);
    const err e = passwords_hash(call_passwords(call), call->request->address, password,
                                 password_param_hashed, call);
    if (e == OK)
        return SECRET_PENDING;
    call_resume(call);
    reply_failure(call, e);
    return SECRET_FAILED;
}
