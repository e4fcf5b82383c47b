#include "api/authority.h"

#include "api/reply.h"
#include "api/route.h"

#define SYSTEM_DEPLOYMENT 1 /* what 0 means for a new node or deployment */

void authority_refuse(struct call *call, struct str text)
{
    reply_error(call, 403, "forbidden", text);
}

/* ---- the caller ---- */

static int64_t parent_of(const struct core *core, int64_t deployment_id)
{
    struct record deployment;
    return core_record(core, TABLE_DEPLOYMENT, deployment_id, &deployment)
               ? deployment.deployment.parent_id
               : 0;
}

static bool is_within(const struct core *core, int64_t deployment_id, int64_t outer_id)
{
    while (deployment_id && deployment_id != outer_id)
        deployment_id = parent_of(core, deployment_id);
    return deployment_id != 0;
}

static const struct json *grants_of(const struct call *call, const struct user_record *user)
{
    struct json *grants;
    uint32_t offset;
    const char *what;
    if (user->grants.len == 0 ||
        json_read(call->arena, user->grants, &grants, &offset, &what) != OK)
        return NULL;
    return grants;
}

static enum access granted(const struct call *call, const struct json *grants, int64_t id)
{
    struct buf key = buf_in(call->arena);
    buf_put_i64(&key, id);
    const struct json *grant = json_get(grants, buf_str(&key));
    return grant && grant->kind == JSON_STRING ? access_find(grant->text) : ACCESS_NONE;
}

static enum access level_of_user(const struct call *call, const struct user_record *user,
                                 int64_t deployment_id)
{
    if (user->is_admin)
        return ACCESS_ADMIN;
    enum access level = (enum access)user->access;
    const struct json *grants = deployment_id ? grants_of(call, user) : NULL;
    for (int64_t id = deployment_id; grants && id; id = parent_of(call->core, id)) {
        const enum access more = granted(call, grants, id);
        level = more > level ? more : level;
    }
    return level;
}

enum access authority_level(const struct call *call, int64_t deployment_id)
{
    struct record user, token;
    if (!core_record(call->core, TABLE_USER, call->caller.user_id, &user))
        return ACCESS_NONE;
    enum access level = level_of_user(call, &user.user, deployment_id);
    if (!call->caller.token_id)
        return level;
    if (!core_record(call->core, TABLE_TOKEN, call->caller.token_id, &token))
        return ACCESS_NONE;
    const int64_t only = token.token.deployment_id;
    const bool is_outside = only && !is_within(call->core, deployment_id, only);
    const enum access most = is_outside           ? ACCESS_VIEWER
                             : token.token.access ? (enum access)token.token.access
                                                  : ACCESS_ADMIN;
    return level < most ? level : most;
}

bool authority_is_admin(const struct call *call)
{
    return authority_level(call, 0) == ACCESS_ADMIN;
}

/* Does it come with all that its user may do? Not with a token that is for less. */
static bool is_whole(const struct call *call)
{
    struct record token;
    if (!call->caller.token_id)
        return call->caller.user_id != 0;
    return core_record(call->core, TABLE_TOKEN, call->caller.token_id, &token) &&
           token.token.user_id && !token.token.access && !token.token.deployment_id;
}

/* ---- the commands ---- */

/* Where a command acts: how its deployments are found. */
enum place {
    EVERYWHERE,      /* in none of them, or all                     */
    IN_DEPLOYMENT,   /* the one it names                            */
    IN_PARENT,       /* the one a new deployment is to hang below   */
    OF_SNAPSHOT,     /*                                             */
    OF_NEW_DROLE,    /* the one a deployment role is to be in       */
    OF_DROLE,        /* deployment role                             */
    OF_NEW_NODE,     /* the one it is to be in                      */
    OF_NODE,         /*                                             */
    OF_CHANGED_NODE, /* and where it is to be moved                 */
    OF_BOUND_NODE,   /* and the one its new noderole is to be in    */
    OF_NODEROLE,     /*                                             */
    OF_RUN,          /* of its noderole                             */
    IN_SYSTEM,       /* what is everybody's                         */
    OF_TARGET,       /* of what an attrib is set on                 */
    OF_USER,         /* users are nowhere; their own is theirs      */
    OF_NEW_TOKEN,    /* likewise; those of nodes are of their nodes */
    OF_TOKEN,        /*                                             */
    OF_PARTS,        /* those of each part                          */
};

struct rule {
    enum access needs; /* ACCESS_NONE: nobody says that from outside */
    enum place place;
};

/* clang-format off */
/* Hammers say where work goes and with whose secrets: whoever points one elsewhere has the key of
 * the daemon come along. So they are everybody's, whatever node they are of. */
static const struct rule rules[COMMAND_COUNT] = {
    [COMMAND_SETTINGS_UPDATE]         = {ACCESS_ADMIN,    EVERYWHERE},
    [COMMAND_IMPORT]                  = {ACCESS_ADMIN,    EVERYWHERE},
    [COMMAND_JIG_CREATE]              = {ACCESS_ADMIN,    EVERYWHERE},
    [COMMAND_JIG_UPDATE]              = {ACCESS_ADMIN,    EVERYWHERE},
    [COMMAND_ROLE_UPDATE]             = {ACCESS_ADMIN,    EVERYWHERE},
    [COMMAND_ATTRIB_CREATE]           = {ACCESS_ADMIN,    EVERYWHERE},
    [COMMAND_ATTRIB_DELETE]           = {ACCESS_ADMIN,    EVERYWHERE},
    [COMMAND_ATTRIB_SET]              = {ACCESS_OPERATOR, OF_TARGET},
    [COMMAND_DEPLOYMENT_CREATE]       = {ACCESS_OPERATOR, IN_PARENT},
    [COMMAND_DEPLOYMENT_UPDATE]       = {ACCESS_OPERATOR, IN_DEPLOYMENT},
    [COMMAND_DEPLOYMENT_DELETE]       = {ACCESS_OPERATOR, IN_DEPLOYMENT},
    [COMMAND_DEPLOYMENT_COMMIT]       = {ACCESS_OPERATOR, IN_DEPLOYMENT},
    [COMMAND_DEPLOYMENT_PROPOSE]      = {ACCESS_OPERATOR, IN_DEPLOYMENT},
    [COMMAND_DEPLOYMENT_RECALL]       = {ACCESS_OPERATOR, IN_DEPLOYMENT},
    [COMMAND_DEPLOYMENT_REVERT]       = {ACCESS_OPERATOR, IN_DEPLOYMENT},
    [COMMAND_SNAPSHOT_UPDATE]         = {ACCESS_OPERATOR, OF_SNAPSHOT},
    [COMMAND_DEPLOYMENT_ROLE_CREATE]  = {ACCESS_OPERATOR, OF_NEW_DROLE},
    [COMMAND_DEPLOYMENT_ROLE_DELETE]  = {ACCESS_OPERATOR, OF_DROLE},
    [COMMAND_DEPLOYMENT_ROLE_PROPOSE] = {ACCESS_OPERATOR, OF_DROLE},
    [COMMAND_DEPLOYMENT_ROLE_COMMIT]  = {ACCESS_OPERATOR, OF_DROLE},
    [COMMAND_DEPLOYMENT_ROLE_DATA]    = {ACCESS_OPERATOR, OF_DROLE},
    [COMMAND_NODE_CREATE]             = {ACCESS_OPERATOR, OF_NEW_NODE},
    [COMMAND_NODE_UPDATE]             = {ACCESS_OPERATOR, OF_CHANGED_NODE},
    [COMMAND_NODE_DELETE]             = {ACCESS_OPERATOR, OF_NODE},
    [COMMAND_NODE_PROPOSE]            = {ACCESS_OPERATOR, OF_NODE},
    [COMMAND_NODE_COMMIT]             = {ACCESS_OPERATOR, OF_NODE},
    [COMMAND_NODE_REDEPLOY]           = {ACCESS_OPERATOR, OF_NODE},
    [COMMAND_NODE_DEBUG]              = {ACCESS_OPERATOR, OF_NODE},
    [COMMAND_NODE_UNDEBUG]            = {ACCESS_OPERATOR, OF_NODE},
    [COMMAND_NODE_POWER]              = {ACCESS_OPERATOR, OF_NODE},
    [COMMAND_NODEROLE_BIND]           = {ACCESS_OPERATOR, OF_BOUND_NODE},
    [COMMAND_NODEROLE_DELETE]         = {ACCESS_OPERATOR, OF_NODEROLE},
    [COMMAND_NODEROLE_PROPOSE]        = {ACCESS_OPERATOR, OF_NODEROLE},
    [COMMAND_NODEROLE_COMMIT]         = {ACCESS_OPERATOR, OF_NODEROLE},
    [COMMAND_NODEROLE_RETRY]          = {ACCESS_OPERATOR, OF_NODEROLE},
    [COMMAND_NODEROLE_DATA]           = {ACCESS_OPERATOR, OF_NODEROLE},
    [COMMAND_NODEROLE_COMPUTED]       = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_NODEROLE_ENQUEUE]        = {ACCESS_OPERATOR, OF_NODEROLE},
    [COMMAND_GROUP_CREATE]            = {ACCESS_OPERATOR, EVERYWHERE},
    [COMMAND_GROUP_UPDATE]            = {ACCESS_OPERATOR, EVERYWHERE},
    [COMMAND_GROUP_DELETE]            = {ACCESS_OPERATOR, EVERYWHERE},
    [COMMAND_GROUP_ADD]               = {ACCESS_OPERATOR, EVERYWHERE},
    [COMMAND_GROUP_REMOVE]            = {ACCESS_OPERATOR, EVERYWHERE},
    [COMMAND_HAMMER_CREATE]           = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_HAMMER_UPDATE]           = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_HAMMER_DELETE]           = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_USER_CREATE]             = {ACCESS_ADMIN,    EVERYWHERE},
    [COMMAND_USER_UPDATE]             = {ACCESS_ADMIN,    OF_USER},
    [COMMAND_USER_DELETE]             = {ACCESS_ADMIN,    EVERYWHERE},
    [COMMAND_TOKEN_CREATE]            = {ACCESS_ADMIN,    OF_NEW_TOKEN},
    [COMMAND_TOKEN_DELETE]            = {ACCESS_ADMIN,    OF_TOKEN},
    [COMMAND_RUN_BEGUN]               = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_RUN_DONE]                = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_RUN_STOPPED]             = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_RUN_RESUME]              = {ACCESS_OPERATOR, OF_RUN},
    [COMMAND_RUN_CANCEL]              = {ACCESS_OPERATOR, OF_RUN},
    [COMMAND_OUTBOX_DONE]             = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_ANNEAL]                  = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_TICK]                    = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_NODE_BOOT_SERVED]        = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_OUTBOX_BEGUN]            = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_BATCH]                   = {ACCESS_VIEWER,   OF_PARTS},
};
/* clang-format on */

_Static_assert(COMMAND_COUNT == COMMAND_BATCH + 1, "a new command needs a rule");

/* What is needed where: of every one of the deployments. None of them: everywhere. */
struct need {
    enum access level;
    int64_t deployments[3];
    uint32_t count;
};

static void need_in(struct need *need, int64_t deployment_id)
{
    if (deployment_id && need->count < 3)
        need->deployments[need->count++] = deployment_id;
}

/* What is not there any more is nowhere: that takes the level everywhere, and then the core refuses
 * it. */
static void need_of(const struct core *core, enum table table, int64_t id, struct need *need)
{
    struct record record;
    if (!core_record(core, table, id, &record))
        return;
    switch ((uint32_t)table) {
    case TABLE_DEPLOYMENT: need_in(need, id); return;
    case TABLE_SNAPSHOT: need_in(need, record.snapshot.deployment_id); return;
    case TABLE_DEPLOYMENT_ROLE: need_in(need, record.deployment_role.deployment_id); return;
    case TABLE_NODE: need_in(need, record.node.deployment_id); return;
    case TABLE_NODEROLE: need_in(need, record.noderole.deployment_id); return;
    case TABLE_RUN: need_of(core, TABLE_NODEROLE, record.run.noderole_id, need); return;
    default: return;
    }
}

/* What is set on a node may be kept in a noderole of it, and that may be in another deployment. */
static void need_of_target(const struct core *core, const struct attrib_set_command *p,
                           struct need *need)
{
    const struct subject target = {(enum table)p->target, p->id};
    if (p->target == TABLE_ROLE)
        need->level = ACCESS_ADMIN; /* as for its template */
    if (p->target == TABLE_ROLE || p->target >= TABLE_OBJECTS)
        return;
    const struct subject place = core_attrib_place(core, target, p->attrib_id);
    need_of(core, target.table, p->id, need);
    if (need->count && place.table != TABLE_COUNT && place.table != target.table)
        need_of(core, place.table, place.id, need);
}

/* Work on admin and system nodes is done on this machine, which is everybody's, wherever they are
 * put. */
static void need_of_new_node(const struct node_create_command *p, struct need *need)
{
    need_in(need, p->deployment_id ? p->deployment_id : SYSTEM_DEPLOYMENT);
    if (p->admin || p->system)
        need_in(need, SYSTEM_DEPLOYMENT);
}

/* Its deployment's phantom is such a node: it is there for services, not for whatever one likes. */
static void need_of_bind(const struct core *core, const struct noderole_bind_command *p,
                         struct need *need)
{
    struct record node, role;
    need_of(core, TABLE_NODE, p->node_id, need);
    if (need->count == 0)
        return;
    need_in(need, p->deployment_id);
    const bool is_service =
        core_record(core, TABLE_ROLE, p->role_id, &role) && role.role.flags & ROLE_SERVICE;
    if (core_record(core, TABLE_NODE, p->node_id, &node) && node.node.system && !is_service)
        need_in(need, SYSTEM_DEPLOYMENT);
}

enum {
    /* What everybody may change of himself. */
    GIVEN_USER_OWN =
        GIVEN_USER_EMAIL | GIVEN_USER_PASSWORD_HASH | GIVEN_USER_DIGEST_HA1 | GIVEN_USER_SETTINGS,
};

static bool is_self(const struct call *call, int64_t user_id)
{
    return user_id && user_id == call->caller.user_id && is_whole(call);
}

static void need_of_token(const struct call *call, int64_t user_id, int64_t node_id,
                          struct need *need)
{
    if (node_id) {
        need->level = ACCESS_OPERATOR;
        need_of(call->core, TABLE_NODE, node_id, need);
    } else if (is_self(call, user_id)) {
        need->level = ACCESS_VIEWER;
    }
}

static void need_of_people(const struct call *call, enum place place, const struct command *command,
                           struct need *need)
{
    const struct user_update_command *user = &command->user_update;
    struct record token;
    if (place == OF_USER) {
        if (is_self(call, user->id) && !(user->given & ~(uint32_t)GIVEN_USER_OWN))
            need->level = ACCESS_VIEWER;
    } else if (place == OF_NEW_TOKEN) {
        need_of_token(call, command->token_create.user_id, command->token_create.node_id, need);
    } else if (core_record(call->core, TABLE_TOKEN, command->token_delete.id, &token)) {
        need_of_token(call, token.token.user_id, token.token.node_id, need);
    }
}

static struct need need_of_command(const struct call *call, const struct command *command)
{
    const struct rule *rule = &rules[command->kind];
    const struct core *core = call->core;
    struct need need = {.level = rule->needs};
    /* Commands about a thing that is there begin with its id. */
    const int64_t id = *(const int64_t *)command_payload_const(command);
    const struct node_update_command *update = &command->node_update;
    switch (rule->place) {
    case EVERYWHERE:
    case OF_PARTS: break;
    case IN_DEPLOYMENT: need_of(core, TABLE_DEPLOYMENT, id, &need); break;
    case IN_PARENT:
        need_in(&need, command->deployment_create.parent_id ? command->deployment_create.parent_id
                                                            : SYSTEM_DEPLOYMENT);
        break;
    case OF_SNAPSHOT: need_of(core, TABLE_SNAPSHOT, id, &need); break;
    case OF_NEW_DROLE: need_in(&need, command->deployment_role_create.deployment_id); break;
    case OF_DROLE: need_of(core, TABLE_DEPLOYMENT_ROLE, id, &need); break;
    case OF_NEW_NODE: need_of_new_node(&command->node_create, &need); break;
    case OF_NODE: need_of(core, TABLE_NODE, id, &need); break;
    case OF_CHANGED_NODE:
        need_of(core, TABLE_NODE, id, &need);
        if (need.count && update->given & GIVEN_NODE_DEPLOYMENT)
            need_in(&need, update->deployment_id);
        break;
    case OF_BOUND_NODE: need_of_bind(core, &command->noderole_bind, &need); break;
    case OF_NODEROLE: need_of(core, TABLE_NODEROLE, id, &need); break;
    case OF_RUN: need_of(core, TABLE_RUN, id, &need); break;
    case IN_SYSTEM: need_in(&need, SYSTEM_DEPLOYMENT); break;
    case OF_TARGET: need_of_target(core, &command->attrib_set, &need); break;
    case OF_USER:
    case OF_NEW_TOKEN:
    case OF_TOKEN: need_of_people(call, rule->place, command, &need); break;
    }
    return need;
}

/* ---- judging ---- */

static void refuse_level(struct call *call, enum access level, int64_t deployment_id)
{
    struct record deployment;
    const bool is_known = core_record(call->core, TABLE_DEPLOYMENT, deployment_id, &deployment);
    const struct str where =
        is_known ? SAY(call, STR(" in deployment "), deployment.deployment.name) : STR("");
    const enum access has = authority_level(call, deployment_id);
    authority_refuse(call,
                     SAY(call, STR("this takes "),
                         level == ACCESS_VIEWER     ? STR("a viewer")
                         : level == ACCESS_OPERATOR ? STR("an operator")
                                                    : STR("an admin"),
                         where, STR("; you are "), has ? str_from(access_name(has)) : STR("nobody"),
                         is_known ? STR(" there") : STR("")));
}

static bool has_level(struct call *call, enum access level, int64_t deployment_id)
{
    if (authority_level(call, deployment_id) >= level)
        return true;
    refuse_level(call, level, deployment_id);
    return false;
}

static int64_t number_in(const struct json *object, struct str key)
{
    int64_t number = 0;
    return json_as_i64(json_get(object, key), &number) ? number : 0;
}

/* Going back binds what is missing, as if it were bound by hand: nodes may have moved since. */
static bool may_go_back(struct call *call, const struct deployment_revert_command *p)
{
    struct json *content;
    uint32_t offset;
    const char *what;
    struct record node;
    int64_t fine = p->id; /* a deployment where it may */
    if (json_read(call->arena, p->content, &content, &offset, &what) != OK)
        return true; /* the core says so, too */
    const struct json *members = json_get(content, STR("members"));
    for (const struct json *at = members ? members->first : NULL; at; at = at->next) {
        const int64_t node_id = number_in(at, STR("node")), role_id = number_in(at, STR("role"));
        if (!core_record(call->core, TABLE_NODE, node_id, &node) ||
            node.node.deployment_id == fine || core_noderole(call->core, node_id, role_id))
            continue;
        if (!has_level(call, ACCESS_OPERATOR, node.node.deployment_id))
            return false;
        fine = node.node.deployment_id;
    }
    return true;
}

static bool user_may(struct call *call, const struct command *command)
{
    const struct need need = need_of_command(call, command);
    if (need.level == ACCESS_NONE) {
        authority_refuse(call, STR("nobody can say that from outside"));
        return false;
    }
    if (need.count == 0)
        return has_level(call, need.level, 0);
    for (uint32_t i = 0; i < need.count; i++)
        if (!has_level(call, need.level, need.deployments[i]))
            return false;
    return command->kind != COMMAND_DEPLOYMENT_REVERT ||
           may_go_back(call, &command->deployment_revert);
}

/* ---- nodes ---- */

enum {
    /* What a node may say of itself. */
    GIVEN_NODE_OWN = GIVEN_NODE_ALIVE | GIVEN_NODE_BOOTENV | GIVEN_NODE_BOOT_ID |
                     GIVEN_NODE_ENVIRONMENT | GIVEN_NODE_BOOT_GENERATION,
};

/* That it is installed, in the boot that installs it; the core knows which one that is (X13). */
static bool is_own_bootenv(const struct call *call, const struct node_update_command *p)
{
    struct record node;
    if (!(p->given & GIVEN_NODE_BOOTENV))
        return true;
    if (!core_record(call->core, TABLE_NODE, p->id, &node))
        return false;
    const bool is_installed = str_ends(node.node.bootenv, STR("-install")) &&
                              str_eq(p->bootenv, STR("local")) &&
                              p->given & GIVEN_NODE_BOOT_GENERATION;
    return is_installed || str_eq(node.node.bootenv, p->bootenv);
}

static bool node_may(struct call *call, const struct command *command)
{
    const struct node_update_command *p = &command->node_update;
    if (command->kind != COMMAND_NODE_UPDATE || p->id != call->caller.node_id)
        authority_refuse(call, STR("a node changes nothing but itself"));
    else if (p->given & ~(uint32_t)GIVEN_NODE_OWN)
        authority_refuse(call, STR("a node says only alive, bootenv, boot_id, environment and "
                                   "boot_generation of itself"));
    else if (!is_own_bootenv(call, p))
        authority_refuse(call, STR("a node changes its bootenv only to local, when it was "
                                   "installed, and says which boot_generation it speaks of"));
    return !call->reply.status;
}

/* The path is about the node itself. */
static bool is_about_itself(struct call *call)
{
    const struct route *route = call->route;
    const struct resource *first = route->within ? route->within : route->resource;
    const struct str key = call->keys[0];
    int64_t id = 0;
    if (route->access != ROUTE_NODE || first != &resource_nodes || key.len == 0)
        return false;
    if (str_is_digits(key))
        return str_parse_i64(key, &id) && id == call->caller.node_id;
    return core_find(call->core, TABLE_NODE, key) == call->caller.node_id;
}

bool authority_admits(struct call *call)
{
    if (!call->caller.node_id || is_about_itself(call))
        return true;
    authority_refuse(call, STR("a node sees nothing but itself"));
    return false;
}

/* ---- commands in commands ---- */

static bool may(struct call *call, const struct command *command)
{
    return call->caller.node_id ? node_may(call, command) : user_may(call, command);
}

bool authority_allows(struct call *call, const struct command *command)
{
    struct command part;
    if (command->kind != COMMAND_BATCH)
        return may(call, command);
    const struct str parts = command->batch.commands;
    for (uint32_t at = 0; at < parts.len;) {
        const struct arena_mark mark = arena_mark(call->arena);
        if (command_decode(call->arena, parts, &at, &part) != OK || part.kind == COMMAND_BATCH) {
            authority_refuse(call, STR("the parts of this cannot be read"));
            return false;
        }
        if (!may(call, &part))
            return false;
        arena_rewind(call->arena, mark);
    }
    return true;
}
