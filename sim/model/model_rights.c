#include "sim/model/model_private.h"

#include "base/json/json.h"
#include "core/core.h"

/* Checks rights across deployments (I12; ADR 0051, rule 2) from the records before and after a
 * step: a noderole that a command of a user created, deleted, committed, proposed or moved must be
 * in a deployment in which that user is an operator. The same holds for the node of an address, MAC
 * or DNS name that the command added or removed, and for the network of an address that the user
 * has chosen. */

static int64_t rights_parent_of(const struct core *c, int64_t deployment_id)
{
    struct record record;
    return core_record(c, TABLE_DEPLOYMENT, deployment_id, &record) ? record.deployment.parent_id
                                                                    : 0;
}

static bool rights_is_below(const struct core *c, int64_t deployment_id, int64_t outer_id)
{
    for (; deployment_id; deployment_id = rights_parent_of(c, deployment_id))
        if (deployment_id == outer_id)
            return true;
    return false;
}

static bool rights_is_granted(const struct core *c, struct str grants, int64_t deployment_id,
                              struct arena *scratch)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (grants.len == 0 || json_read(scratch, grants, &tree, &offset, &what) != OK)
        return false;
    for (const struct json *at = tree->first; at; at = at->next) {
        int64_t id;
        if (str_parse_i64(at->key, &id) && str_eq(at->text, STR("operator")) &&
            rights_is_below(c, deployment_id, id))
            return true;
    }
    return false;
}

static bool rights_is_operator(const struct core *c, const struct principal *who,
                               int64_t deployment_id, struct arena *scratch)
{
    struct record user, token;
    if (!core_record(c, TABLE_USER, who->user_id, &user) || user.user.is_locked)
        return false;
    if (!user.user.is_admin && user.user.access != ACCESS_OPERATOR &&
        !rights_is_granted(c, user.user.grants, deployment_id, scratch))
        return false;
    if (!who->token_id)
        return true;
    if (!core_record(c, TABLE_TOKEN, who->token_id, &token) || token.token.user_id != user.id)
        return false;
    const int64_t only = token.token.deployment_id;
    return token.token.access != ACCESS_VIEWER &&
           (!only || rights_is_below(c, deployment_id, only));
}

/* Rule 3: redeploying a node requires no rights in the deployments above that of the node. */
static bool rights_is_exempt(const struct core *c, const struct command *command,
                             int64_t deployment_id)
{
    struct record node;
    return command->kind == COMMAND_NODE_REDEPLOY &&
           core_record(c, TABLE_NODE, command->node_redeploy.id, &node) &&
           node.node.deployment_id != deployment_id &&
           rights_is_below(c, node.node.deployment_id, deployment_id);
}

static const char *rights_check_change(struct model *m, const struct core *c,
                                       const struct command *command, int64_t deployment_id,
                                       struct arena *scratch)
{
    struct record gone;
    /* The parents of a deleted deployment are not known any more. */
    if (!core_record(c, TABLE_DEPLOYMENT, deployment_id, &gone) ||
        rights_is_exempt(c, command, deployment_id) ||
        rights_is_operator(c, &command->by, deployment_id, scratch))
        return NULL;
    return model_report(m, "I12: %s of user %lld changed deployment %lld without operator rights",
                        command_name(command->kind), (long long)command->by.user_id,
                        (long long)deployment_id);
}

/* ---- addresses, MACs and names ---- */

/* The deployment of the node before the step, or after it if the node is new. */
static int64_t rights_node_deployment(const struct model *m, const struct core *c, int64_t node_id)
{
    struct record node;
    if (node_id > 0 && node_id < (int64_t)m->nodes_count && m->nodes[node_id].exists)
        return m->nodes[node_id].deployment_id;
    return core_record(c, TABLE_NODE, node_id, &node) ? node.node.deployment_id : 0;
}

/* The user determines the address that these commands allocate, directly or by a hint. */
static bool rights_is_chosen(const struct command *command)
{
    const struct network_allocate_command *allocate = &command->network_allocate;
    return command->kind == COMMAND_NODE_CREATE || command->kind == COMMAND_ATTRIB_SET ||
           (command->kind == COMMAND_NETWORK_ALLOCATE &&
            (allocate->address.len || allocate->suggestion.len));
}

static const char *rights_check_addresses(struct model *m, const struct core *c,
                                          const struct command *command, struct arena *scratch)
{
    uint32_t count;
    struct record network;
    const char *trouble = NULL;
    const struct model_address *now = model_read_addresses(c, scratch, &count);
    for (uint32_t i = 0; i < m->addresses_count && !trouble; i++)
        if (m->addresses[i].is_allocation && !model_find_address(now, count, &m->addresses[i]))
            trouble = rights_check_change(
                m, c, command, rights_node_deployment(m, c, m->addresses[i].node_id), scratch);
    for (uint32_t i = 0; i < count && !trouble; i++) {
        if (!now[i].is_allocation || model_find_address(m->addresses, m->addresses_count, &now[i]))
            continue;
        trouble = rights_check_change(m, c, command, rights_node_deployment(m, c, now[i].node_id),
                                      scratch);
        if (!trouble && rights_is_chosen(command) &&
            core_record(c, TABLE_NETWORK, now[i].network_id, &network))
            trouble = rights_check_change(m, c, command, network.network.deployment_id, scratch);
    }
    return trouble;
}

static bool rights_has_belonging(const struct model_belonging *all, uint32_t count,
                                 const struct model_belonging *wanted)
{
    for (uint32_t i = 0; i < count; i++)
        if (all[i].table == wanted->table && all[i].node_id == wanted->node_id &&
            all[i].value == wanted->value)
            return true;
    return false;
}

static const char *rights_check_belongings(struct model *m, const struct core *c,
                                           const struct command *command, struct arena *scratch)
{
    uint32_t count;
    const char *trouble = NULL;
    const struct model_belonging *now = model_read_belongings(c, scratch, &count);
    for (uint32_t i = 0; i < m->belongings_count && !trouble; i++)
        if (!rights_has_belonging(now, count, &m->belongings[i]))
            trouble = rights_check_change(
                m, c, command, rights_node_deployment(m, c, m->belongings[i].node_id), scratch);
    for (uint32_t i = 0; i < count && !trouble; i++)
        if (!rights_has_belonging(m->belongings, m->belongings_count, &now[i]))
            trouble = rights_check_change(m, c, command,
                                          rights_node_deployment(m, c, now[i].node_id), scratch);
    return trouble;
}

/* ---- one step ---- */

const char *model_check_rights(struct model *m, const struct core *c, const struct command *command,
                               struct arena *scratch)
{
    const char *trouble = NULL;
    struct record now;
    if (!command->by.is_external)
        return NULL;
    MODEL_NODEROLES(m, id)
    {
        const struct model_noderole *was = &m->noderoles[id];
        const bool is_there = core_record(c, TABLE_NODEROLE, id, &now);
        const bool was_proposed = was->state == NODEROLE_PROPOSED;
        const bool is_moved = is_there && now.noderole.deployment_id != was->deployment_id;
        if (is_there && !is_moved && (now.noderole.state == NODEROLE_PROPOSED) == was_proposed)
            continue;
        trouble = rights_check_change(m, c, command, was->deployment_id, scratch);
        if (!trouble && is_moved)
            trouble = rights_check_change(m, c, command, now.noderole.deployment_id, scratch);
        if (trouble)
            return trouble;
    }
    for (int64_t id = 0; (id = core_next_id(c, TABLE_NODEROLE, id)) != 0 && !trouble;)
        if (!model_edit_noderole(m, id) && core_record(c, TABLE_NODEROLE, id, &now))
            trouble = rights_check_change(m, c, command, now.noderole.deployment_id, scratch);
    if (!trouble)
        trouble = rights_check_addresses(m, c, command, scratch);
    return trouble ? trouble : rights_check_belongings(m, c, command, scratch);
}
