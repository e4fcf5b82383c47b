#include "http/door.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sodium.h>
#include <string.h>

#include "base/err.h"
#include "sys/log.h"

struct door door_open(void)
{
    must(sodium_init() >= 0);
    return (struct door){.lockout = lockout_new(),
                         .digests = digests_new(),
                         .resets = resets_new(),
                         .idle = idle_new()};
}

void door_close(struct door *door)
{
    lockout_free(door->lockout);
    digests_free(door->digests);
    resets_free(door->resets);
    idle_free(door->idle);
    *door = (struct door){0};
}

static const char *address_text(const uint8_t address[16], char out[INET6_ADDRSTRLEN])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    const bool is_v4 = memcmp(address, mapped, sizeof mapped) == 0;
    return inet_ntop(is_v4 ? AF_INET : AF_INET6, address + (is_v4 ? 12 : 0), out, INET6_ADDRSTRLEN);
}

void door_turned_away(struct door *door, const struct visitor *v, int64_t now_ms)
{
    char text[INET6_ADDRSTRLEN];
    const struct str user = v->is_user ? v->user : STR("(no such user)");
    const enum lockout_news news = lockout_failed(door->lockout, v, now_ms);
    const struct log_field *fields =
        LOG_FIELDS(LOG_S("user", user), LOG_Z("address", address_text(v->address, text)));
    log_with(LOG_INFO, fields, "somebody was not let in: the name or the password was wrong");
    if (news == LOCKOUT_ADDRESS)
        log_with(LOG_NOTICE, fields,
                 "a user is locked out there for ten minutes, after %u wrong passwords",
                 LOCKOUT_TRIES);
    if (news == LOCKOUT_USER)
        log_with(LOG_NOTICE, fields,
                 "a user is locked out for ten minutes wherever it was never let in before, after "
                 "%u wrong passwords",
                 LOCKOUT_TRIES_USER);
}
