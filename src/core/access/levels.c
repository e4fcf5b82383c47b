#include "core/access/levels.h"

#include "base/json/json.h"

/* The access level of a caller in a deployment (ADR 0051): that of the user, raised by grants and
 * limited by the token. The file owns no rows and changes none, and no function depends on another
 * one having been called. A user or token that does not exist, or a user who is locked, has no
 * level. */

bool level_is_within(const struct core *c, deployment_ix d, deployment_ix outer)
{
    while (d.v && d.v != outer.v)
        d = deployment_at(c, d)->parent;
    return d.v != 0;
}

struct rights level_rights_of(const struct core *c, const struct principal *who, struct arena *a)
{
    struct rights rights = {.most = ACCESS_ADMIN};
    const user_ix u = user_by_id(c, who->user_id);
    if (!u.v || user_at(c, u)->is_locked)
        return rights;
    const struct user *user = user_at(c, u);
    if (who->token_id) {
        const token_ix t = token_by_id(c, who->token_id);
        if (!t.v || token_at(c, t)->user.v != u.v)
            return rights;
        rights.within = token_at(c, t)->deployment;
        rights.is_unrestricted = !token_at(c, t)->access && !rights.within.v;
        if (token_at(c, t)->access)
            rights.most = (enum access)token_at(c, t)->access;
    } else {
        rights.is_unrestricted = true;
    }
    rights.access = user->is_admin ? ACCESS_ADMIN : (enum access)user->access;
    if (!user->is_admin && user->grants)
        rights.grants = doc_tree(a, doc_of(c, user->grants));
    return rights;
}

/* Grants are {"ID":"operator"}. A grant holds in its deployment and in those below it, so the
 * highest one on the path from `d` to the root counts. */
static enum access level_granted(const struct core *c, const struct json *grants, deployment_ix d,
                                 struct arena *a)
{
    enum access level = ACCESS_NONE;
    for (; grants && d.v; d = deployment_at(c, d)->parent) {
        struct buf key = buf_in(a);
        buf_put_i64(&key, deployment_at(c, d)->o.id);
        const struct json *grant = json_get(grants, buf_str(&key));
        const enum access more =
            grant && grant->kind == JSON_STRING ? access_find(grant->text) : ACCESS_NONE;
        level = more > level ? more : level;
    }
    return level;
}

enum access level_in(const struct core *c, const struct rights *rights, deployment_ix d,
                     struct arena *a)
{
    const enum access granted = level_granted(c, rights->grants, d, a);
    const enum access level = granted > rights->access ? granted : rights->access;
    const bool is_outside = rights->within.v && !level_is_within(c, d, rights->within);
    const enum access most = is_outside ? ACCESS_VIEWER : rights->most;
    return level < most ? level : most;
}

enum access core_level(const struct core *c, const struct principal *who, int64_t deployment_id,
                       struct arena *a)
{
    const struct rights rights = level_rights_of(c, who, a);
    return level_in(c, &rights, deployment_by_id(c, deployment_id), a);
}
