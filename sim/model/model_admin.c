#include "sim/model/model_private.h"

/* The automatic admin node: the node that the first start of the daemon creates for its own host
 * (ADR 0070). model_predict_admin() records, before a step that creates a node, whether there is
 * one and whether it is unused; model_check_admin() compares after the step. An unused automatic
 * node must be replaced by the admin node of an operator, a used one must be kept (I13). */

static int64_t admin_find_automatic(const struct model *m)
{
    for (int64_t id = 1; id < (int64_t)m->nodes_count; id++)
        if (m->nodes[id].exists && m->nodes[id].automatic)
            return id;
    return 0;
}

/* Every deployment has exactly one phantom node; further nodes are machines. */
static bool admin_has_machines(const struct model *m)
{
    uint32_t nodes = 0, deployments = 0;
    for (uint32_t id = 1; id < m->nodes_count; id++)
        nodes += m->nodes[id].exists;
    for (uint32_t id = 1; id < m->deployments_count; id++)
        deployments += m->deployments[id].exists;
    return nodes > deployments;
}

static bool admin_is_bootstrap(const struct model *m, int64_t noderole_id)
{
    return m->roles[m->noderoles[noderole_id].role_id].flags & ROLE_BOOTSTRAP;
}

/* Unused: in the system deployment, with bootstrap roles and their ancestors only, none of which
 * was ever started, and without descendants on other nodes. */
static bool admin_is_unused(const struct model *m, int64_t node_id)
{
    if (m->nodes[node_id].deployment_id != 1)
        return false;
    MODEL_NODEROLES(m, id)
    {
        const struct model_noderole *nr = &m->noderoles[id];
        if (nr->node_id != node_id)
            continue;
        if (nr->state != NODEROLE_PROPOSED && (nr->attempt || nr->run_count))
            return false;
        bool is_needed = admin_is_bootstrap(m, id);
        MODEL_NODEROLES(m, other)
        {
            if (!model_is_ancestor(m, id, other))
                continue;
            if (m->noderoles[other].node_id != node_id)
                return false;
            is_needed = is_needed || admin_is_bootstrap(m, other);
        }
        if (!is_needed)
            return false;
    }
    return true;
}

struct model_admin model_predict_admin(const struct model *m, const struct command *command)
{
    struct model_admin before = {.is_judged = command->kind == COMMAND_NODE_CREATE};
    if (!before.is_judged)
        return before;
    before.automatic_id = admin_find_automatic(m);
    before.is_unused = before.automatic_id && admin_is_unused(m, before.automatic_id);
    before.has_others = admin_has_machines(m);
    before.nodes_count = m->nodes_count;
    return before;
}

const char *model_check_admin(struct model *m, const struct model_admin *before,
                              const struct command *command, const struct outcome *outcome)
{
    if (!before->is_judged)
        return NULL;
    const struct node_create_command *create = &command->node_create;
    const int64_t old = before->automatic_id;
    const bool is_new = outcome->id >= (int64_t)before->nodes_count;
    if (create->automatic && old && outcome->id != old)
        return model_report(m, "I13: a second automatic node %lld was created beside node %lld",
                            (long long)outcome->id, (long long)old);
    if (create->automatic && !old && (before->has_others || !is_new))
        return model_report(m, "I13: an automatic node was created although there are other nodes");
    if (!old || create->automatic || !create->admin || !is_new)
        return NULL;
    if (m->nodes[old].exists == before->is_unused)
        return model_report(m, "I13: the automatic node %lld was %s although it is %s",
                            (long long)old, before->is_unused ? "kept" : "replaced",
                            before->is_unused ? "unused" : "used");
    m->counts.replaced += before->is_unused;
    m->counts.kept += !before->is_unused;
    return NULL;
}

const char *model_check_no_automatic(struct model *m)
{
    if (admin_find_automatic(m) || !admin_has_machines(m))
        return model_report(m, "I13: the automatic node was refused although there is no machine");
    return NULL;
}

const char *model_check_automatic(struct model *m)
{
    uint32_t admins = 0, automatic = 0;
    for (uint32_t id = 1; id < m->nodes_count; id++) {
        admins += m->nodes[id].exists && m->nodes[id].admin;
        automatic += m->nodes[id].exists && m->nodes[id].automatic;
    }
    if (automatic > 1 || (automatic && admins != 1))
        return model_report(m, "I13: %u automatic nodes beside %u admin nodes", automatic, admins);
    return NULL;
}
