#include "core/access/levels.h"
#include "core/network/network_private.h"

/* Authorization of commands: which access level a command needs, and in which deployments (ADR
 * 0051).
 *
 * This file owns the table of rules and core.authority, the authorization of the command in
 * progress. Commands that arrived through the API carry their caller. Commands of the daemon
 * itself carry no caller and are not restricted.
 *
 * Order: the core checks a command in the step that executes it, so that no row can change between
 * the check and the change: a grant that is revoked while the command is queued is revoked. Rules
 * 1 (the named object), 3 (the node as a whole), 4 (the identity of a node) and 5 (the data of
 * network roles) are checked before the handler runs, from the command alone. Rule 2 (every
 * deployment that is touched) is checked while the handler runs: the functions that write noderoles
 * and deployment roles call authority_touch() before they write; those that write user data call
 * authority_touch_data() for rule 5, since a revert names no noderole.
 *
 * Failure: each missing right is a problem FORBIDDEN, and all of them are reported. A refusal
 * before the handler keeps it from running. After a refusal by authority_touch() the handler
 * continues, and the whole step is rolled back at its end. */

/* ---- the rule of each command ---- */

/* How the deployments of rule 1 are found, and which other rules apply. */

enum rule_scope {
    EVERYWHERE,     /* none: the level must hold everywhere */
    IN_DEPLOYMENT,  /* the one that the command names */
    IN_PARENT,      /* the parent of a new deployment */
    OF_SNAPSHOT,    /* the one of the snapshot */
    OF_NEW_DROLE,   /* the one of the new deployment role */
    OF_DROLE,       /* the one of the deployment role */
    OF_DROLE_DATA,  /* the same, and rule 5 */
    OF_NODE,        /* the one of the node */
    OF_UPDATE,      /* of the node; 3 and 4 depend on the fields */
    OF_COMMIT,      /* of the node; 3 if it becomes available */
    OF_WHOLE_NODE,  /* rule 3 */
    OF_BOUND_NODE,  /* of the node and of the new noderole; 5 if it has data */
    OF_NODEROLE,    /* the one of the noderole */
    OF_NR_DATA,     /* the same, and rule 5 */
    OF_RUN,         /* the one of the noderole of the run */
    IN_SYSTEM,      /* rule 4: the system deployment */
    OF_TARGET,      /* of the object that the attrib is set on, and rule 5 */
    OF_USER,        /* none; users may change their own account */
    OF_NEW_TOKEN,   /* as OF_USER; rule 3 for a node token */
    OF_TOKEN,       /* as OF_NEW_TOKEN */
    OF_NEW_ADDRESS, /* of the node; of the network too if an address is requested */
    OF_ADDRESS,     /* of the node of the allocation */
    OF_PARTS,       /* each part is checked when it is executed */
};

struct rule {
    enum access needs; /* ACCESS_NONE: never accepted through the API */
    enum rule_scope scope;
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
    [COMMAND_DEPLOYMENT_ROLE_DATA]    = {ACCESS_OPERATOR, OF_DROLE_DATA},
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
    [COMMAND_NODEROLE_DATA]           = {ACCESS_OPERATOR, OF_NR_DATA},
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
    [COMMAND_OUTBOX_BEGUN]            = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_NODE_PIN_KEYS]           = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_NODE_FORGET_KEY]         = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_NODE_POWER_READ]         = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_NETWORK_CREATE]          = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_NETWORK_UPDATE]          = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_NETWORK_DELETE]          = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_NETWORK_RANGE_CREATE]    = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_NETWORK_RANGE_UPDATE]    = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_NETWORK_ROUTER_CREATE]   = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_NETWORK_ROUTER_UPDATE]   = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_NETWORK_ROUTER_DELETE]   = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_NETWORK_ALLOCATE]        = {ACCESS_OPERATOR, OF_NEW_ADDRESS},
    [COMMAND_NETWORK_DEALLOCATE]      = {ACCESS_OPERATOR, OF_ADDRESS},
    [COMMAND_LEASE_TAKE]              = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_LEASE_RELEASE]           = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_LEASE_DECLINE]           = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_NICS_MAKE]               = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_NIC_MOVE]                = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_DNS_NAME_FILTER_CREATE]  = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_DNS_NAME_FILTER_UPDATE]  = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_DNS_NAME_FILTER_DELETE]  = {ACCESS_OPERATOR, IN_SYSTEM},
    [COMMAND_GRANT_USE]               = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_BOOT_SERVER]             = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_BOOTENV_REPORT]          = {ACCESS_NONE,     EVERYWHERE},
    [COMMAND_BATCH]                   = {ACCESS_VIEWER,   OF_PARTS},
};
/* clang-format on */

_Static_assert(COMMAND_COUNT == COMMAND_BATCH + 1, "a new command needs a rule");

/* ---- checks before the handler ---- */

/* The check of one command of one caller, while the deployments of the command are looked up. */
struct authority_check_ctx {
    const struct core *c;
    const struct principal *who;
    const struct rights *rights;
    struct arena *a;
    enum access needs;
    bool is_placed; /* a deployment was found; otherwise the level is required everywhere */
    struct problem *first, *last;
};

static struct str authority_missing_level(const struct core *c, enum access needs, enum access has,
                                          deployment_ix d, struct arena *a)
{
    const struct str name = d.v ? text_of(c, deployment_at(c, d)->name) : STR("");
    return STR_CONCAT(a, STR("this needs the level "), str_from(access_name(needs)),
                      d.v ? STR(" in deployment ") : STR(" everywhere"), name, STR("; you have "),
                      has ? str_from(access_name(has)) : STR("none"),
                      d.v ? STR(" there") : STR(""));
}

static void authority_forbid(struct authority_check_ctx *j, struct str field, struct str text)
{
    struct problem *p = arena_new(j->a, struct problem);
    *p = (struct problem){.code = PROBLEM_FORBIDDEN, .field = field, .text = text};
    *(j->last ? &j->last->next : &j->first) = p;
    j->last = p;
}

static void authority_check_in(struct authority_check_ctx *j, deployment_ix d)
{
    const enum access has = level_in(j->c, j->rights, d, j->a);
    j->is_placed |= d.v != 0;
    if (has < j->needs)
        authority_forbid(j, d.v ? STR("deployment") : STR(""),
                         authority_missing_level(j->c, j->needs, has, d, j->a));
}

/* An id of 0, or one that does not exist, adds no deployment. */
static void authority_check_in_id(struct authority_check_ctx *j, int64_t deployment_id)
{
    const deployment_ix d = deployment_by_id(j->c, deployment_id);
    if (d.v)
        authority_check_in(j, d);
}

static void authority_check_noderole(struct authority_check_ctx *j, noderole_ix nr)
{
    if (nr.v)
        authority_check_in(j, noderole_at(j->c, nr)->deployment);
}

static void authority_check_drole(struct authority_check_ctx *j, deployment_role_ix dr)
{
    if (dr.v)
        authority_check_in(j, deployment_role_at(j->c, dr)->deployment);
}

/* Rule 5: the data of the role of a network determine which addresses a machine uses and which
 * interfaces; both are decided by operators of system, as the network itself. */
static bool authority_is_network_role(const struct core *c, role_ix r)
{
    return r.v && role_at(c, r)->network_id;
}

static void authority_check_data(struct authority_check_ctx *j, role_ix r)
{
    if (authority_is_network_role(j->c, r))
        authority_check_in(j, deployment_system(j->c));
}

static void authority_check_noderole_data(struct authority_check_ctx *j, noderole_ix nr)
{
    authority_check_noderole(j, nr);
    if (nr.v)
        authority_check_data(j, noderole_at(j->c, nr)->role);
}

static void authority_check_drole_data(struct authority_check_ctx *j, deployment_role_ix dr)
{
    authority_check_drole(j, dr);
    if (dr.v)
        authority_check_data(j, deployment_role_at(j->c, dr)->role);
}

static void authority_check_snapshot(struct authority_check_ctx *j, snapshot_ix s)
{
    if (s.v)
        authority_check_in(j, snapshot_at(j->c, s)->deployment);
}

static void authority_check_run(struct authority_check_ctx *j, run_ix r)
{
    if (r.v)
        authority_check_noderole(j, noderole_by_id(j->c, run_at(j->c, r)->noderole_id));
}

static void authority_check_node(struct authority_check_ctx *j, node_ix n)
{
    if (n.v)
        authority_check_in(j, node_at(j->c, n)->deployment);
}

/* Rule 3: the deployment of the node and those of its noderoles, except the deployments above that
 * of the node. A deployment that equals the one checked last is skipped, which avoids most
 * repetitions. */
static void authority_check_whole_node(struct authority_check_ctx *j, node_ix n)
{
    if (!n.v)
        return;
    const struct node *node = node_at(j->c, n);
    deployment_ix checked_last = node->deployment;
    authority_check_in(j, checked_last);
    for (uint32_t i = 0; i < node->noderoles.count; i++) {
        const noderole_ix nr = {vec_at(j->c, &node->noderoles, i)};
        const deployment_ix d = noderole_at(j->c, nr)->deployment;
        if (d.v == checked_last.v || level_is_within(j->c, node->deployment, d))
            continue;
        authority_check_in(j, d);
        checked_last = d;
    }
}

static void authority_check_node_update(struct authority_check_ctx *j,
                                        const struct node_update_command *p)
{
    const node_ix n = node_by_id(j->c, p->id);
    if (!n.v)
        return;
    const struct node *node = node_at(j->c, n);
    const bool renames =
        p->given & GIVEN_NAME && !str_eq_nocase(text_of(j->c, node->name), p->name);
    /* Rule 3 applies to these fields. A flag that is sent with its current value is no change;
     * reports about a boot always count. */
    const role_ix target = role_by_id(j->c, p->target_role_id);
    const bool concerns_whole_node =
        (p->given & GIVEN_NODE_ALIVE && p->alive != node->alive) ||
        (p->given & GIVEN_NODE_AVAILABLE && p->available != node->available) ||
        (p->given & GIVEN_NODE_BOOTENV && !str_eq(p->bootenv, text_of(j->c, node->bootenv))) ||
        (p->given & GIVEN_NODE_TARGET && target.v != node->target.v) ||
        p->given & (GIVEN_NODE_BOOT_ID | GIVEN_NODE_ENVIRONMENT | GIVEN_NODE_BOOT_GENERATION |
                    GIVEN_NODE_STAMP);
    if (concerns_whole_node)
        authority_check_whole_node(j, n);
    else
        authority_check_node(j, n);
    if (p->given & GIVEN_NODE_DEPLOYMENT &&
        deployment_by_id(j->c, p->deployment_id).v != node->deployment.v)
        authority_check_in_id(j, p->deployment_id);
    /* Rule 4: the name decides which machine is reached. */
    if (renames)
        authority_check_in(j, deployment_system(j->c));
}

/* A value that is set on a node may be stored in one of its noderoles, which may be in another
 * deployment. A value that is stored on the node itself is a hint (rule 4), unless it is a note. */
static void authority_check_attrib_target(struct authority_check_ctx *j,
                                          const struct attrib_set_command *p)
{
    const struct subject target = {(enum table)p->target, p->id};
    if (p->target == TABLE_ROLE)
        j->needs = ACCESS_ADMIN; /* the level that its template requires */
    const struct subject owner = p->target < TABLE_OBJECTS && p->target != TABLE_ROLE
                                     ? core_attrib_owner(j->c, target, p->attrib_id)
                                     : (struct subject){.table = TABLE_COUNT};
    switch ((uint32_t)p->target) {
    case TABLE_DEPLOYMENT: authority_check_in_id(j, p->id); break;
    case TABLE_DEPLOYMENT_ROLE: authority_check_drole(j, deployment_role_by_id(j->c, p->id)); break;
    case TABLE_NODE: authority_check_node(j, node_by_id(j->c, p->id)); break;
    case TABLE_NODEROLE: authority_check_noderole(j, noderole_by_id(j->c, p->id)); break;
    default: return;
    }
    const bool is_whole =
        p->target == TABLE_NODE && p->attrib_id == 0; /* the whole discovery document */
    if ((owner.table == TABLE_NODE || is_whole) && p->bucket != BUCKET_NOTE)
        authority_check_in(j, deployment_system(j->c));
    else if (owner.table == TABLE_NODEROLE && p->target != TABLE_NODEROLE)
        authority_check_noderole(j, noderole_by_id(j->c, owner.id));
    else if (owner.table == TABLE_DEPLOYMENT_ROLE && p->target != TABLE_DEPLOYMENT_ROLE)
        authority_check_drole(j, deployment_role_by_id(j->c, owner.id));
    if (owner.table == TABLE_NODEROLE && p->bucket != BUCKET_NOTE)
        authority_check_data(j, noderole_at(j->c, noderole_by_id(j->c, owner.id))->role);
    else if (owner.table == TABLE_DEPLOYMENT_ROLE && p->bucket != BUCKET_NOTE)
        authority_check_data(j,
                             deployment_role_at(j->c, deployment_role_by_id(j->c, owner.id))->role);
}

/* The phantom node of a deployment is the host of the daemon and carries services only (rule 4). */
static void authority_check_bind(struct authority_check_ctx *j,
                                 const struct noderole_bind_command *p)
{
    const node_ix n = node_by_id(j->c, p->node_id);
    const role_ix r = role_by_id(j->c, p->role_id);
    if (!n.v)
        return;
    authority_check_node(j, n);
    authority_check_in_id(j, p->deployment_id);
    const bool is_service = r.v && role_at(j->c, r)->flags & ROLE_SERVICE;
    if (node_at(j->c, n)->system && !is_service)
        authority_check_in(j, deployment_system(j->c));
    else if (p->data.len)
        authority_check_data(j, r);
}

enum {
    /* Fields of their own account that users may change. */
    GIVEN_USER_OWN =
        GIVEN_USER_EMAIL | GIVEN_USER_PASSWORD_HASH | GIVEN_USER_DIGEST_HA1 | GIVEN_USER_SETTINGS,
};

static bool authority_is_own_account(const struct authority_check_ctx *j, int64_t user_id)
{
    return user_id && user_id == j->who->user_id && j->rights->access && j->rights->is_unrestricted;
}

/* The holder of a node token reports for the node as a whole (rule 3). */
static void authority_check_token_owner(struct authority_check_ctx *j, int64_t user_id, node_ix n)
{
    if (n.v) {
        j->needs = ACCESS_OPERATOR;
        authority_check_whole_node(j, n);
    } else if (authority_is_own_account(j, user_id)) {
        j->needs = ACCESS_VIEWER;
    }
}

static void authority_check_token(struct authority_check_ctx *j, token_ix t)
{
    const struct token *token = t.v ? token_at(j->c, t) : NULL;
    if (token)
        authority_check_token_owner(j, token->user.v ? user_at(j->c, token->user)->o.id : 0,
                                    token->node);
}

/* The next free address needs the level for the node only; a chosen one also that for the network.
 * */
static void authority_check_new_address(struct authority_check_ctx *j,
                                        const struct network_allocate_command *p)
{
    authority_check_node(j, node_by_id(j->c, p->node_id));
    const deployment_ix d = network_choice_deployment(j->c, p);
    if (d.v)
        authority_check_in(j, d);
}

/* Applies rules 1, 3, 4 and 5. The payload of a command about an existing object starts with the
 * id. */
static void authority_check_user_command(struct authority_check_ctx *j,
                                         const struct command *command)
{
    const struct core *c = j->c;
    const struct rule *rule = &rules[command->kind];
    const int64_t id = *(const int64_t *)command_payload_const(command);
    j->needs = rule->needs;
    if (rule->needs == ACCESS_NONE) {
        authority_forbid(j, STR(""), STR("this command is not accepted through the API"));
        return;
    }
    switch (rule->scope) {
    case EVERYWHERE:
    case OF_PARTS: break;
    case IN_DEPLOYMENT: authority_check_in_id(j, id); break;
    case IN_PARENT:
        if (command->deployment_create.parent_id)
            authority_check_in_id(j, command->deployment_create.parent_id);
        else
            authority_check_in(j, deployment_system(c));
        break;
    case OF_SNAPSHOT: authority_check_snapshot(j, snapshot_by_id(c, id)); break;
    case OF_NEW_DROLE:
        authority_check_in_id(j, command->deployment_role_create.deployment_id);
        break;
    case OF_DROLE: authority_check_drole(j, deployment_role_by_id(c, id)); break;
    case OF_DROLE_DATA: authority_check_drole_data(j, deployment_role_by_id(c, id)); break;
    case OF_NODE: authority_check_node(j, node_by_id(c, id)); break;
    case OF_UPDATE: authority_check_node_update(j, &command->node_update); break;
    case OF_COMMIT: {
        const node_ix n = node_by_id(c, id);
        if (n.v && !node_at(c, n)->available)
            authority_check_whole_node(j, n);
        else
            authority_check_node(j, n);
        break;
    }
    case OF_WHOLE_NODE: authority_check_whole_node(j, node_by_id(c, id)); break;
    case OF_BOUND_NODE: authority_check_bind(j, &command->noderole_bind); break;
    case OF_NODEROLE: authority_check_noderole(j, noderole_by_id(c, id)); break;
    case OF_NR_DATA: authority_check_noderole_data(j, noderole_by_id(c, id)); break;
    case OF_RUN: authority_check_run(j, run_by_id(c, id)); break;
    case IN_SYSTEM: authority_check_in(j, deployment_system(c)); break;
    case OF_TARGET: authority_check_attrib_target(j, &command->attrib_set); break;
    case OF_USER:
        if (authority_is_own_account(j, id) &&
            !(command->user_update.given & ~(uint32_t)GIVEN_USER_OWN))
            j->needs = ACCESS_VIEWER;
        break;
    case OF_NEW_TOKEN:
        authority_check_token_owner(j, command->token_create.user_id,
                                    node_by_id(c, command->token_create.node_id));
        break;
    case OF_TOKEN: authority_check_token(j, token_by_id(c, id)); break;
    case OF_NEW_ADDRESS: authority_check_new_address(j, &command->network_allocate); break;
    case OF_ADDRESS: authority_check_node(j, network_allocation_node(c, id)); break;
    }
    if (!j->is_placed)
        authority_check_in(j, (deployment_ix){0});
}

/* ---- node tokens ---- */

enum {
    /* Fields that a node may report about itself. */
    GIVEN_NODE_OWN = GIVEN_NODE_ALIVE | GIVEN_NODE_BOOTENV | GIVEN_NODE_BOOT_ID |
                     GIVEN_NODE_ENVIRONMENT | GIVEN_NODE_BOOT_GENERATION | GIVEN_NODE_STAMP,
};

/* The value that the node has, or `local` at the end of an installation. The latter requires the
 * boot generation, so that a report of an earlier installation is refused (ADR 0049). */
static bool authority_is_own_bootenv(const struct core *c, const struct node_update_command *p)
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

/* A node token permits one command, the update of its node, as long as the token exists. */
static void authority_check_node_command(struct authority_check_ctx *j,
                                         const struct command *command)
{
    const struct node_update_command *p = &command->node_update;
    const token_ix t = token_by_id(j->c, j->who->token_id);
    const node_ix n = node_by_id(j->c, j->who->node_id);
    if (!t.v || !n.v || token_at(j->c, t)->node.v != n.v)
        authority_forbid(j, STR(""), STR("the token is not valid any more"));
    else if (command->kind != COMMAND_NODE_UPDATE || p->id != j->who->node_id)
        authority_forbid(j, STR(""), STR("the token of a node permits updates of this node only"));
    else if (p->given & ~(uint32_t)GIVEN_NODE_OWN)
        authority_forbid(j, STR(""),
                         STR("a node may report only alive, bootenv, boot_id, environment, "
                             "boot_generation and stamp_generation of itself"));
    else if (!authority_is_own_bootenv(j->c, p))
        authority_forbid(
            j, STR(""),
            STR("a node may change its bootenv only from an installer to local, and must send "
                "the boot_generation it was installed with"));
}

static const struct problem *authority_check_command(const struct core *c,
                                                     const struct rights *rights,
                                                     const struct command *command,
                                                     const struct principal *who, struct arena *a)
{
    struct authority_check_ctx j = {.c = c, .who = who, .rights = rights, .a = a};
    if (who->node_id)
        authority_check_node_command(&j, command);
    else
        authority_check_user_command(&j, command);
    return j.first;
}

const struct problem *core_check_rights(const struct core *c, const struct principal *who,
                                        const struct command *command, struct arena *a)
{
    const struct rights rights = level_rights_of(c, who, a);
    return authority_check_command(c, &rights, command, who, a);
}

/* ---- checks in the step ---- */

bool authority_check(struct core *c, bool is_part)
{
    const struct command *command = c->command;
    const struct rights rights = !command->by.is_external ? (struct rights){0}
                                 : is_part                ? c->authority.rights
                                           : level_rights_of(c, &command->by, c->arena);
    c->authority = (struct authority){.rights = rights};
    if (!command->by.is_external || command->kind == COMMAND_BATCH)
        return true;
    c->authority.is_limited = !command->by.node_id;
    c->authority.needs = rules[command->kind].needs;
    /* If rule 3 applies to the command whatever its fields are, the deployments above that of the
     * node are exempt from rule 2, whether the command touches them or not. */
    const node_ix n = rules[command->kind].scope == OF_WHOLE_NODE
                          ? node_by_id(c, *(const int64_t *)command_payload_const(command))
                          : (node_ix){0};
    c->authority.exempt_above = n.v ? node_at(c, n)->deployment : (deployment_ix){0};
    const struct problem *p =
        authority_check_command(c, &c->authority.rights, command, &command->by, c->arena);
    for (; p; p = p->next)
        refuse(c, p->code, p->field, p->text);
    return !refused(c);
}

void authority_touch(struct core *c, deployment_ix d)
{
    struct authority *now = &c->authority;
    if (!now->is_limited)
        return;
    /* A deployment is cached before it is checked, so a refusal is not recorded for every row. */
    for (uint32_t i = 0; i < AUTHORITY_KEPT; i++)
        if (now->judged[i].v == d.v)
            return;
    now->judged[now->next++ % AUTHORITY_KEPT] = d;
    if (now->exempt_above.v && now->exempt_above.v != d.v &&
        level_is_within(c, now->exempt_above, d))
        return;
    const enum access has = level_in(c, &now->rights, d, c->arena);
    if (has < now->needs)
        refuse(c, PROBLEM_FORBIDDEN, STR("deployment"),
               authority_missing_level(c, now->needs, has, d, c->arena));
}

void authority_touch_data(struct core *c, role_ix r)
{
    if (authority_is_network_role(c, r))
        authority_touch(c, deployment_system(c));
}
