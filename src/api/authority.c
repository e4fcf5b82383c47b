#include "api/authority.h"

#include "api/reply.h"

bool authority_is_admin(const struct call *call)
{
    struct record user;
    return core_record(call->core, TABLE_USER, call->caller.user_id, &user) && user.user.is_admin;
}

void authority_refuse(struct call *call, struct str text)
{
    reply_error(call, 403, "forbidden", text);
}
