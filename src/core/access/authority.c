#include "core/core_private.h"

#include "base/json/json.h"

/* Which level a command needs, in which deployments (ADR 0051). Commands that came through the API
 * carry their caller; the core judges them in the step that executes them, so that no row changes
 * between the check and the change. Rules 1, 3 and 4 of the ADR are judged before the handler runs
 * (core_forbids), rule 2 while it runs (authority_touch). Commands of the daemon itself carry no
 * caller and are not limited. */

/* ---- the level of a caller ---- */

static bool is_within(const struct core *c, deployment_ix d, deployment_ix outer)
{
    while (d.v && d.v != outer.v)
        d = deployment_at(c, d)->parent;
    return d.v != 0;
}

static struct rights rights_of(const struct core *c, const struct principal *who, struct arena *a)
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

/* {"ID":"operator"}, by a deployment and those above it. */
static enum access granted_level(const struct core *c, const struct json *grants, deployment_ix d,
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

/* d = 0: everywhere. */
static enum access level_in(const struct core *c, const struct rights *rights, deployment_ix d,
                            struct arena *a)
{
    const enum access granted = granted_level(c, rights->grants, d, a);
    const enum access level = granted > rights->access ? granted : rights->access;
    const bool is_outside = rights->within.v && !is_within(c, d, rights->within);
    const enum access most = is_outside ? ACCESS_VIEWER : rights->most;
    return level < most ? level : most;
}

enum access core_level(const struct core *c, const struct principal *who, int64_t deployment_id,
                       struct arena *a)
{
    const struct rights rights = rights_of(c, who, a);
    return level_in(c, &rights, deployment_by_id(c, deployment_id), a);
}

/* ---- the commands ---- */

/* How the deployments of rule 1 are found. */
enum place {
    EVERYWHERE,    /* no deployment: the level that holds everywhere   */
    IN_DEPLOYMENT, /* the one the command names                        */
    IN_PARENT,     /* the parent of a new deployment                   */
    OF_SNAPSHOT,   /*                                                  */
    OF_NEW_DROLE,  /* the one a deployment role is created in          */
    OF_DROLE,      /* deployment role                                  */
    OF_NODE,       /*                                                  */
    OF_UPDATE,     /* of a node: rules 3 and 4 depend on the fields    */
    OF_COMMIT,     /* of a node: rule 3 if it becomes available        */
    OF_WHOLE_NODE, /* rule 3                                           */
    OF_BOUND_NODE, /* and the one of the new noderole                  */
    OF_NODEROLE,   /*                                                  */
    OF_RUN,        /* of its noderole                                  */
    IN_SYSTEM,     /* rule 4                                           */
    OF_TARGET,     /* of the object an attrib is set on                */
    OF_USER,       /* users are in no deployment; their own is theirs  */
    OF_NEW_TOKEN,  /* likewise; a token of a node: rule 3              */
    OF_TOKEN,      /*                                                  */
    OF_PARTS,      /* each part is judged when it is stepped           */
};

struct rule {
    enum access needs; /* ACCESS_NONE: never accepted from outside */
    enum place place;
};

/* clang-format off */
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
    [COMMAND_NODE_CREATE]             = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_NODE_UPDATE]             = {ACCESS_OPERATOR, OF_UPDATE},
    [COMMAND_NODE_DELETE]             = {ACCESS_OPERATOR, OF_NODE},
    [COMMAND_NODE_PROPOSE]            = {ACCESS_OPERATOR, OF_NODE},
    [COMMAND_NODE_COMMIT]             = {ACCESS_OPERATOR, OF_COMMIT},
    [COMMAND_NODE_REDEPLOY]           = {ACCESS_OPERATOR, OF_WHOLE_NODE},
    [COMMAND_NODE_DEBUG]              = {ACCESS_OPERATOR, OF_WHOLE_NODE},
    [COMMAND_NODE_UNDEBUG]            = {ACCESS_OPERATOR, OF_WHOLE_NODE},
    [COMMAND_NODE_POWER]              = {ACCESS_OPERATOR, OF_WHOLE_NODE},
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
    [COMMAND_NODE_PIN_KEYS]           = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_NODE_FORGET_KEY]         = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_NODE_POWER_READ]         = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_BATCH]                   = {ACCESS_VIEWER,   OF_PARTS},
};
/* clang-format on */

_Static_assert(COMMAND_COUNT == COMMAND_BATCH + 1, "a new command needs a rule");

/* ---- judging ---- */

/* One command of one caller, while its deployments are looked up. */
struct judge {
    const struct core *c;
    const struct principal *who;
    const struct rights *rights;
    struct arena *a;
    enum access needs;
    bool is_placed; /* a deployment was found; else the level is needed everywhere */
    struct problem *first, *last;
};

static struct str join(struct arena *a, const struct str *pieces, uint32_t count)
{
    struct buf b = buf_in(a);
    for (uint32_t i = 0; i < count; i++)
        buf_put_str(&b, pieces[i]);
    return buf_str(&b);
}
#define JOIN(a, ...)                                                                               \
    join((a), (const struct str[]){__VA_ARGS__},                                                   \
         (uint32_t)(sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str)))

static struct str missing_level(const struct core *c, enum access needs, enum access has,
                                deployment_ix d, struct arena *a)
{
    const struct str name = d.v ? text_of(c, deployment_at(c, d)->name) : STR("");
    return JOIN(a, STR("this needs the level "), str_from(access_name(needs)),
                d.v ? STR(" in deployment ") : STR(" everywhere"), name, STR("; you have "),
                has ? str_from(access_name(has)) : STR("none"), d.v ? STR(" there") : STR(""));
}

static void forbid(struct judge *j, struct str field, struct str text)
{
    struct problem *p = arena_new(j->a, struct problem);
    *p = (struct problem){.code = PROBLEM_FORBIDDEN, .field = field, .text = text};
    *(j->last ? &j->last->next : &j->first) = p;
    j->last = p;
}

static void judge_in(struct judge *j, deployment_ix d)
{
    const enum access has = level_in(j->c, j->rights, d, j->a);
    j->is_placed |= d.v != 0;
    if (has < j->needs)
        forbid(j, d.v ? STR("deployment") : STR(""), missing_level(j->c, j->needs, has, d, j->a));
}

/* 0 and what does not exist: no deployment. */
static void judge_in_id(struct judge *j, int64_t deployment_id)
{
    const deployment_ix d = deployment_by_id(j->c, deployment_id);
    if (d.v)
        judge_in(j, d);
}

static void judge_of_noderole(struct judge *j, noderole_ix nr)
{
    if (nr.v)
        judge_in(j, noderole_at(j->c, nr)->deployment);
}

static void judge_of_drole(struct judge *j, deployment_role_ix dr)
{
    if (dr.v)
        judge_in(j, deployment_role_at(j->c, dr)->deployment);
}

static void judge_of_snapshot(struct judge *j, snapshot_ix s)
{
    if (s.v)
        judge_in(j, snapshot_at(j->c, s)->deployment);
}

static void judge_of_run(struct judge *j, run_ix r)
{
    if (r.v)
        judge_of_noderole(j, noderole_by_id(j->c, run_at(j->c, r)->noderole_id));
}

static void judge_of_node(struct judge *j, node_ix n)
{
    if (n.v)
        judge_in(j, node_at(j->c, n)->deployment);
}

/* Rule 3: the node's own deployment and that of every noderole, except those above the node's own.
 * Deployments that were judged already are skipped as long as they follow each other. */
static void judge_whole_node(struct judge *j, node_ix n)
{
    if (!n.v)
        return;
    const struct node *node = node_at(j->c, n);
    deployment_ix judged = node->deployment;
    judge_in(j, judged);
    for (uint32_t i = 0; i < node->noderoles.count; i++) {
        const noderole_ix nr = {vec_at(j->c, &node->noderoles, i)};
        const deployment_ix d = noderole_at(j->c, nr)->deployment;
        if (d.v == judged.v || is_within(j->c, node->deployment, d))
            continue;
        judge_in(j, d);
        judged = d;
    }
}

static void judge_update(struct judge *j, const struct node_update_command *p)
{
    const node_ix n = node_by_id(j->c, p->id);
    if (!n.v)
        return;
    const struct node *node = node_at(j->c, n);
    const bool renames =
        p->given & GIVEN_NAME && !str_eq_nocase(text_of(j->c, node->name), p->name);
    const role_ix target = role_by_id(j->c, p->target_role_id);
    const bool is_of_whole =
        (p->given & GIVEN_NODE_ALIVE && p->alive != node->alive) ||
        (p->given & GIVEN_NODE_AVAILABLE && p->available != node->available) ||
        (p->given & GIVEN_NODE_BOOTENV && !str_eq(p->bootenv, text_of(j->c, node->bootenv))) ||
        (p->given & GIVEN_NODE_TARGET && target.v != node->target.v) ||
        p->given & (GIVEN_NODE_BOOT_ID | GIVEN_NODE_ENVIRONMENT | GIVEN_NODE_BOOT_GENERATION);
    if (is_of_whole)
        judge_whole_node(j, n);
    else
        judge_of_node(j, n);
    if (p->given & GIVEN_NODE_DEPLOYMENT &&
        deployment_by_id(j->c, p->deployment_id).v != node->deployment.v)
        judge_in_id(j, p->deployment_id);
    if (renames)
        judge_in(j, deployment_system(j->c));
}

/* A value that is set on a node may be stored in a noderole of it, in another deployment. What is
 * stored on the node itself is a hint (rule 4), unless it is a note. */
static void judge_target(struct judge *j, const struct attrib_set_command *p)
{
    const struct subject target = {(enum table)p->target, p->id};
    if (p->target == TABLE_ROLE)
        j->needs = ACCESS_ADMIN; /* as for its template */
    const struct subject place = p->target < TABLE_OBJECTS && p->target != TABLE_ROLE
                                     ? core_attrib_place(j->c, target, p->attrib_id)
                                     : (struct subject){.table = TABLE_COUNT};
    switch ((uint32_t)p->target) {
    case TABLE_DEPLOYMENT: judge_in_id(j, p->id); break;
    case TABLE_DEPLOYMENT_ROLE: judge_of_drole(j, deployment_role_by_id(j->c, p->id)); break;
    case TABLE_NODE: judge_of_node(j, node_by_id(j->c, p->id)); break;
    case TABLE_NODEROLE: judge_of_noderole(j, noderole_by_id(j->c, p->id)); break;
    default: return;
    }
    const bool is_whole = p->target == TABLE_NODE && p->attrib_id == 0; /* all of discovery */
    if ((place.table == TABLE_NODE || is_whole) && p->bucket != BUCKET_NOTE)
        judge_in(j, deployment_system(j->c));
    else if (place.table == TABLE_NODEROLE && p->target != TABLE_NODEROLE)
        judge_of_noderole(j, noderole_by_id(j->c, place.id));
    else if (place.table == TABLE_DEPLOYMENT_ROLE && p->target != TABLE_DEPLOYMENT_ROLE)
        judge_of_drole(j, deployment_role_by_id(j->c, place.id));
}

/* The phantom node of a deployment is this machine, and is there for services only (rule 4). */
static void judge_bind(struct judge *j, const struct noderole_bind_command *p)
{
    const node_ix n = node_by_id(j->c, p->node_id);
    const role_ix r = role_by_id(j->c, p->role_id);
    if (!n.v)
        return;
    judge_of_node(j, n);
    judge_in_id(j, p->deployment_id);
    const bool is_service = r.v && role_at(j->c, r)->flags & ROLE_SERVICE;
    if (node_at(j->c, n)->system && !is_service)
        judge_in(j, deployment_system(j->c));
}

enum {
    /* What a user may change of the own account. */
    GIVEN_USER_OWN =
        GIVEN_USER_EMAIL | GIVEN_USER_PASSWORD_HASH | GIVEN_USER_DIGEST_HA1 | GIVEN_USER_SETTINGS,
};

static bool is_self(const struct judge *j, int64_t user_id)
{
    return user_id && user_id == j->who->user_id && j->rights->access && j->rights->is_unrestricted;
}

/* The holder of a node's token reports for the node as a whole (rule 3). */
static void judge_token(struct judge *j, int64_t user_id, node_ix n)
{
    if (n.v) {
        j->needs = ACCESS_OPERATOR;
        judge_whole_node(j, n);
    } else if (is_self(j, user_id)) {
        j->needs = ACCESS_VIEWER;
    }
}

static void judge_token_of(struct judge *j, token_ix t)
{
    const struct token *token = t.v ? token_at(j->c, t) : NULL;
    if (token)
        judge_token(j, token->user.v ? user_at(j->c, token->user)->o.id : 0, token->node);
}

/* Rules 1, 3 and 4. Commands about an object that exists begin with its id. */
static void judge_user(struct judge *j, const struct command *command)
{
    const struct core *c = j->c;
    const struct rule *rule = &rules[command->kind];
    const int64_t id = *(const int64_t *)command_payload_const(command);
    j->needs = rule->needs;
    if (rule->needs == ACCESS_NONE) {
        forbid(j, STR(""), STR("this command is not accepted through the API"));
        return;
    }
    switch (rule->place) {
    case EVERYWHERE:
    case OF_PARTS: break;
    case IN_DEPLOYMENT: judge_in_id(j, id); break;
    case IN_PARENT:
        if (command->deployment_create.parent_id)
            judge_in_id(j, command->deployment_create.parent_id);
        else
            judge_in(j, deployment_system(c));
        break;
    case OF_SNAPSHOT: judge_of_snapshot(j, snapshot_by_id(c, id)); break;
    case OF_NEW_DROLE: judge_in_id(j, command->deployment_role_create.deployment_id); break;
    case OF_DROLE: judge_of_drole(j, deployment_role_by_id(c, id)); break;
    case OF_NODE: judge_of_node(j, node_by_id(c, id)); break;
    case OF_UPDATE: judge_update(j, &command->node_update); break;
    case OF_COMMIT: {
        const node_ix n = node_by_id(c, id);
        if (n.v && !node_at(c, n)->available)
            judge_whole_node(j, n);
        else
            judge_of_node(j, n);
        break;
    }
    case OF_WHOLE_NODE: judge_whole_node(j, node_by_id(c, id)); break;
    case OF_BOUND_NODE: judge_bind(j, &command->noderole_bind); break;
    case OF_NODEROLE: judge_of_noderole(j, noderole_by_id(c, id)); break;
    case OF_RUN: judge_of_run(j, run_by_id(c, id)); break;
    case IN_SYSTEM: judge_in(j, deployment_system(c)); break;
    case OF_TARGET: judge_target(j, &command->attrib_set); break;
    case OF_USER:
        if (is_self(j, id) && !(command->user_update.given & ~(uint32_t)GIVEN_USER_OWN))
            j->needs = ACCESS_VIEWER;
        break;
    case OF_NEW_TOKEN:
        judge_token(j, command->token_create.user_id, node_by_id(c, command->token_create.node_id));
        break;
    case OF_TOKEN: judge_token_of(j, token_by_id(c, id)); break;
    }
    if (!j->is_placed)
        judge_in(j, (deployment_ix){0});
}

/* ---- nodes ---- */

enum {
    /* What a node may report of itself. */
    GIVEN_NODE_OWN = GIVEN_NODE_ALIVE | GIVEN_NODE_BOOTENV | GIVEN_NODE_BOOT_ID |
                     GIVEN_NODE_ENVIRONMENT | GIVEN_NODE_BOOT_GENERATION,
};

/* As it is, or local when it was installed, in the boot generation that installs it (X13). */
static bool is_own_bootenv(const struct core *c, const struct node_update_command *p)
{
    const node_ix n = node_by_id(c, p->id);
    if (!(p->given & GIVEN_NODE_BOOTENV))
        return true;
    if (!n.v)
        return false;
    const struct str now = text_of(c, node_at(c, n)->bootenv);
    const bool is_installed = str_ends(now, STR("-install")) && str_eq(p->bootenv, STR("local")) &&
                              p->given & GIVEN_NODE_BOOT_GENERATION;
    return is_installed || str_eq(now, p->bootenv);
}

/* A node has one command: the update of itself. Its token must still exist. */
static void judge_node(struct judge *j, const struct command *command)
{
    const struct node_update_command *p = &command->node_update;
    const token_ix t = token_by_id(j->c, j->who->token_id);
    const node_ix n = node_by_id(j->c, j->who->node_id);
    if (!t.v || !n.v || token_at(j->c, t)->node.v != n.v)
        forbid(j, STR(""), STR("the token is not valid any more"));
    else if (command->kind != COMMAND_NODE_UPDATE || p->id != j->who->node_id)
        forbid(j, STR(""), STR("a node changes nothing but itself"));
    else if (p->given & ~(uint32_t)GIVEN_NODE_OWN)
        forbid(j, STR(""),
               STR("a node reports only alive, bootenv, boot_id, environment and "
                   "boot_generation of itself"));
    else if (!is_own_bootenv(j->c, p))
        forbid(j, STR(""),
               STR("a node changes its bootenv only to local, when it was installed, and says "
                   "which boot_generation it reports for"));
}

static const struct problem *judge_command(const struct core *c, const struct rights *rights,
                                           const struct command *command,
                                           const struct principal *who, struct arena *a)
{
    struct judge j = {.c = c, .who = who, .rights = rights, .a = a};
    if (who->node_id)
        judge_node(&j, command);
    else
        judge_user(&j, command);
    return j.first;
}

const struct problem *core_forbids(const struct core *c, const struct principal *who,
                                   const struct command *command, struct arena *a)
{
    const struct rights rights = rights_of(c, who, a);
    return judge_command(c, &rights, command, who, a);
}

/* ---- in a step ---- */

/* Commands that rule 3 applies to, whatever their fields: those above the node's own deployment are
 * not asked about, whether the command touches them or not. */
static deployment_ix exempt_above(const struct core *c, const struct command *command)
{
    const enum place place = rules[command->kind].place;
    const node_ix n = place == OF_WHOLE_NODE
                          ? node_by_id(c, *(const int64_t *)command_payload_const(command))
                          : (node_ix){0};
    return n.v ? node_at(c, n)->deployment : (deployment_ix){0};
}

bool authority_check(struct core *c, bool is_part)
{
    const struct command *command = c->command;
    const struct rights rights = !command->by.is_external ? (struct rights){0}
                                 : is_part                ? c->authority.rights
                                                          : rights_of(c, &command->by, c->arena);
    c->authority = (struct authority){.rights = rights};
    if (!command->by.is_external || command->kind == COMMAND_BATCH)
        return true;
    c->authority.is_limited = !command->by.node_id;
    c->authority.needs = rules[command->kind].needs;
    c->authority.exempt_above = exempt_above(c, command);
    const struct problem *p =
        judge_command(c, &c->authority.rights, command, &command->by, c->arena);
    for (; p; p = p->next)
        refuse(c, p->code, p->field, p->text);
    return !refused(c);
}

void authority_touch(struct core *c, deployment_ix d)
{
    struct authority *now = &c->authority;
    if (!now->is_limited)
        return;
    for (uint32_t i = 0; i < AUTHORITY_KEPT; i++)
        if (now->judged[i].v == d.v)
            return;
    now->judged[now->next++ % AUTHORITY_KEPT] = d;
    if (now->exempt_above.v && now->exempt_above.v != d.v && is_within(c, now->exempt_above, d))
        return;
    const enum access has = level_in(c, &now->rights, d, c->arena);
    if (has < now->needs)
        refuse(c, PROBLEM_FORBIDDEN, STR("deployment"),
               missing_level(c, now->needs, has, d, c->arena));
}
