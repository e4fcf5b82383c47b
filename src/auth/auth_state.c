/* auth_state.c - owns the tables of authentication state and logs failed logins and lock-outs. A
 * failed login is counted before it is logged, because the count decides on a second line about a
 * lock-out. Nothing here can fail: without memory the process ends (must). */
#include "auth/auth_state.h"

#include <sodium.h>
#include <string.h>

#include "base/err.h"
#include "http/address.h"
#include "sys/log.h"

struct auth_state auth_state_open(void)
{
    must(sodium_init() >= 0);
    return (struct auth_state){.lockout = lockout_new(),
                               .digests = digests_new(),
                               .resets = reset_keys_new(),
                               .idle = session_idle_new()};
}

void auth_state_close(struct auth_state *state)
{
    lockout_free(state->lockout);
    digests_free(state->digests);
    reset_keys_free(state->resets);
    session_idle_free(state->idle);
    *state = (struct auth_state){0};
}

void auth_log_failure(struct auth_state *state, const struct login_source *v, int64_t now_ms)
{
    char text[INET6_ADDRSTRLEN], client_text[INET6_ADDRSTRLEN];
    struct in6_addr address, client;
    memcpy(&address, v->address, sizeof address);
    memcpy(&client, v->client, sizeof client);
    const struct str user = v->is_user ? v->user : STR("(no such user)");
    const enum lockout_result result = lockout_failed(state->lockout, v, now_ms);
    /* A failed login is logged with the address of the client, as in the audit. A lock-out is
     * logged with the address that is counted: for IPv6 the /64 network. */
    const struct log_field *fields =
        LOG_FIELDS(LOG_S("user", user), LOG_Z("address", address_text(&address, text)));
    log_with(LOG_INFO,
             LOG_FIELDS(LOG_S("user", user), LOG_Z("address", address_text(&client, client_text))),
             "login failed: wrong user name or password");
    if (result == LOCKOUT_ADDRESS)
        log_with(LOG_NOTICE, fields,
                 "user %.*s locked out from %s for 10 minutes after %u failed logins",
                 STR_FMT_ARGS(user), text, LOCKOUT_TRIES);
    if (result == LOCKOUT_USER)
        log_with(LOG_NOTICE, fields,
                 "user %.*s locked out for 10 minutes from every address without an earlier "
                 "successful login, after %u failed logins",
                 STR_FMT_ARGS(user), LOCKOUT_TRIES_USER);
    if (result == LOCKOUT_NETWORK)
        log_with(LOG_NOTICE, LOG_FIELDS(LOG_Z("address", address_text(&address, text))),
                 "address %s locked out for 10 minutes for every user without an earlier "
                 "successful login from it, after %u failed logins under any name",
                 text, LOCKOUT_TRIES_ADDRESS);
}
