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

void auth_state_close(struct auth_state *door)
{
    lockout_free(door->lockout);
    digests_free(door->digests);
    reset_keys_free(door->resets);
    session_idle_free(door->idle);
    *door = (struct auth_state){0};
}

void auth_log_failure(struct auth_state *door, const struct login_source *v, int64_t now_ms)
{
    char text[INET6_ADDRSTRLEN], whole[INET6_ADDRSTRLEN];
    struct in6_addr address, client;
    memcpy(&address, v->address, sizeof address);
    memcpy(&client, v->client, sizeof client);
    const struct str user = v->is_user ? v->user : STR("(no such user)");
    const enum lockout_news news = lockout_failed(door->lockout, v, now_ms);
    /* A failure is that of one client, as in the audit; a lock-out is that of its network. */
    const struct log_field *fields =
        LOG_FIELDS(LOG_S("user", user), LOG_Z("address", address_text(&address, text)));
    log_with(LOG_INFO,
             LOG_FIELDS(LOG_S("user", user), LOG_Z("address", address_text(&client, whole))),
             "somebody was not let in: the name or the password was wrong");
    if (news == LOCKOUT_ADDRESS)
        log_with(LOG_NOTICE, fields,
                 "a user is locked out there for ten minutes, after %u wrong passwords",
                 LOCKOUT_TRIES);
    if (news == LOCKOUT_USER)
        log_with(LOG_NOTICE, fields,
                 "a user is locked out for ten minutes wherever it was never let in before, after "
                 "%u wrong passwords",
                 LOCKOUT_TRIES_USER);
    if (news == LOCKOUT_NETWORK)
        log_with(LOG_NOTICE, LOG_FIELDS(LOG_Z("address", address_text(&address, text))),
                 "an address is locked out for ten minutes for every user that never logged in "
                 "from it, after %u wrong passwords under any name",
                 LOCKOUT_TRIES_ADDRESS);
}
