#include "sim/model/model_private.h"

/* The admin node that the first start makes for its own host (ADR 0070): which one there is,
 * whether an admin node of an operator replaces it, and I13. Shares no code with the core. */

static int64_t automatic_of(const struct model *m)
{
    for (int64_t id = 1; id < (int64_t)m->nodes_count; id++)
        if (m->nodes[id].here && m->nodes[id].automatic)
            return id;
    return 0;
}

/* Every deployment has one phantom; what is there beyond them are machines. */
static bool has_machines(const struct model *m)
{
    uint32_t nodes = 0, deployments = 0;
    for (uint32_t id = 1; id < m->nodes_count; id++)
        nodes += m->nodes[id].here;
    for (uint32_t id = 1; id < m->deployments_count; id++)
        deployments += m->deployments[id].here;
    return nodes > deployments;
}

static bool is_bootstrap(const struct model *m, int64_t noderole_id)
{
    return m->roles[m->noderoles[noderole_id].role_id].flags & ROLE_BOOTSTRAP;
}

/* Bootstrap roles and what they require, none of it started, and no dependant elsewhere. */
static bool is_unused(const struct model *m, int64_t node_id)
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
        bool is_needed = is_bootstrap(m, id);
        MODEL_NODEROLES(m, other)
        {
            if (!model_is_ancestor(m, id, other))
                continue;
            if (m->noderoles[other].node_id != node_id)
                return false;
            is_needed = is_needed || is_bootstrap(m, other);
        }
        if (!is_needed)
            return false;
    }
    return true;
}

struct model_admin model_foresee_admin(const struct model *m, const struct command *command)
{
    struct model_admin before = {.is_judged = command->kind == COMMAND_NODE_CREATE};
    if (!before.is_judged)
        return before;
    before.automatic_id = automatic_of(m);
    before.is_unused = before.automatic_id && is_unused(m, before.automatic_id);
    before.has_others = has_machines(m);
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
        return model_trouble(m, "I13: a second automatic node, %lld, is made beside %lld",
                             (long long)outcome->id, (long long)old);
    if (create->automatic && !old && (before->has_others || !is_new))
        return model_trouble(m, "I13: an automatic node is made where there are other nodes");
    if (!old || create->automatic || !create->admin || !is_new)
        return NULL;
    if (m->nodes[old].here == before->is_unused)
        return model_trouble(m, "I13: the automatic node %lld is %s used and was %s",
                             (long long)old, before->is_unused ? "not" : "being",
                             before->is_unused ? "kept" : "replaced");
    m->counts.replaced += before->is_unused;
    m->counts.kept += !before->is_unused;
    return NULL;
}

const char *model_check_no_automatic(struct model *m)
{
    if (automatic_of(m) || !has_machines(m))
        return model_trouble(m, "I13: the automatic node was refused");
    return NULL;
}

const char *model_check_automatic(struct model *m)
{
    uint32_t admins = 0, automatic = 0;
    for (uint32_t id = 1; id < m->nodes_count; id++) {
        admins += m->nodes[id].here && m->nodes[id].admin;
        automatic += m->nodes[id].here && m->nodes[id].automatic;
    }
    if (automatic > 1 || (automatic && admins != 1))
        return model_trouble(m, "I13: %u automatic nodes beside %u admin nodes", automatic, admins);
    return NULL;
}
