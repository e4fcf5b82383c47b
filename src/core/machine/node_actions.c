#include "core/core_private.h"
#include "core/machine/grants.h"

#include "base/json/json.h"

/* Commands about a node as a whole: propose and commit all its noderoles, power actions, redeploy,
 * debug and undebug (docs/spec/states.md "Node verbs", docs/spec/machines.md "Power"). The file
 * owns no state; debug holds a node at its discovery role, so that an operator can inspect the
 * machine.
 *
 * Order: a restart needs a hammer that offers it, so the action is chosen before anything is
 * changed. Target and boot environment are set before the restart is ordered, since they decide
 * what the machine boots and what runs afterwards.
 *
 * Failure: a refused command leaves the node as it was; a refusal after the first change rolls the
 * step back. A power action that fails later is reported in the status of the node
 * (boot_barrier.c). */

static node_ix node_get_for_action(struct core *c, int64_t id)
{
    const node_ix n = node_by_id(c, id);
    if (!n.v)
        refuse_missing(c, "id", "node", id);
    c->out->id = id;
    return n;
}

/* ---- bootstrap and discovery roles ---- */

static bool node_role_comes_before(const struct core *c, role_ix a, role_ix b)
{
    const struct role *x = role_at(c, a), *y = role_at(c, b);
    if (x->cohort != y->cohort)
        return x->cohort < y->cohort;
    return str_cmp(text_of(c, x->name), text_of(c, y->name)) < 0;
}

/* Returns the first role after `after` that has the flag and can be bound, by (cohort, name). Few
 * roles have such a flag, so the repeated scan is cheap. */
static role_ix node_next_flagged_role(const struct core *c, uint32_t flag, role_ix after)
{
    role_ix best = {0};
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, role_at(c, (role_ix){ix})->o.id)) {
        const role_ix r = {ix};
        const uint32_t flags = role_at(c, r)->flags;
        if (!(flags & flag) || flags & ROLE_ABSTRACT || !role_can_run(c, r))
            continue;
        if ((!after.v || node_role_comes_before(c, after, r)) &&
            (!best.v || node_role_comes_before(c, r, best)))
            best = r;
    }
    return best;
}

void node_bind_flagged(struct core *c, node_ix n, uint32_t flag)
{
    const deployment_ix d = node_at(c, n)->deployment;
    for (role_ix r = node_next_flagged_role(c, flag, (role_ix){0}); r.v && !refused(c);
         r = node_next_flagged_role(c, flag, r))
        if (!noderole_find(c, n, r).v)
            bind_role(c, r, n, d, STR(""));
}

static bool node_role_provides_discovery(const struct core *c, role_ix r)
{
    const struct vec *provided = &role_at(c, r)->provided;
    for (uint32_t i = 0; i < provided->count; i++) {
        const role_ix other = {name_find(c, TABLE_ROLE, text_of(c, vec_at(c, provided, i)))};
        if (other.v && role_at(c, other)->flags & ROLE_DISCOVERY)
            return true;
    }
    return false;
}

/* A role bound to the node provides a discovery role and replaces it (ADR 0029). */
static bool node_has_discovery_provider(const struct core *c, node_ix n)
{
    const struct vec *all = &node_at(c, n)->noderoles;
    for (uint32_t i = 0; i < all->count; i++)
        if (node_role_provides_discovery(c, noderole_at(c, (noderole_ix){vec_at(c, all, i)})->role))
            return true;
    return false;
}

/* ---- propose and commit ---- */

void do_node_propose(struct core *c, const struct node_propose_command *p)
{
    const node_ix n = node_get_for_action(c, p->id);
    for (uint32_t i = 0; n.v && i < node_at(c, n)->noderoles.count; i++)
        noderole_propose(c, (noderole_ix){vec_at(c, &node_at(c, n)->noderoles, i)});
}

/* Returns true if a flag of the node itself changed. Discovery roles are bound first, so that they
 * are committed with the others. */
static bool node_commit_all(struct core *c, node_ix n, struct commit *out_work)
{
    const struct node *node = node_at(c, n);
    const bool was_available = node->available;
    if (!node->admin && !node->system && !node_has_discovery_provider(c, n))
        node_bind_flagged(c, n, ROLE_DISCOVERY);
    if (refused(c))
        return false;
    if (node_at(c, n)->stopped)
        node_clear_stopped(c, n);
    node_set_available(c, n, true);

    /* Commit the proposed noderoles. */
    const struct vec *all = &node_at(c, n)->noderoles;
    struct commit work = {.items = arena_array(c->arena, noderole_ix, all->count + 1), .node = n};
    for (uint32_t i = 0; i < all->count; i++) {
        const noderole_ix nr = {vec_at(c, all, i)};
        if (noderole_at(c, nr)->state == NODEROLE_PROPOSED)
            work.items[work.count++] = nr;
    }
    if (work.count)
        cluster_commit(c, work.items, work.count);
    *out_work = work;
    return !was_available;
}

void do_node_commit(struct core *c, const struct node_commit_command *p)
{
    const node_ix n = node_get_for_action(c, p->id);
    struct commit work = {0};
    if (n.v && node_commit_all(c, n, &work) && !refused(c))
        node_changed(c, n);
    if (!refused(c))
        consent_check(c, &work, p->consent);
}

/* ---- power ---- */

static void node_refuse_power(struct core *c, node_ix n, struct str action)
{
    const struct str actions = node_power_actions(c, n, c->arena);
    refuse(c, PROBLEM_NO_POWER_ACTION, STR("action"),
           STR_CONCAT(c->arena, STR("no hammer of the node offers "), action,
                      STR("; valid actions: "), actions.len ? actions : STR("none")));
}

/* After these actions the machine is off or restarts, so it is not alive. */
static bool node_action_ends_system(struct str action)
{
    static const char *const names[] = {"reboot", "reset", "cycle", "off", "halt"};
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq(action, str_from(names[i])))
            return true;
    return false;
}

static int64_t node_order_power(struct core *c, node_ix n, struct str action)
{
    const int64_t order = outbox_power(c, n, action);
    if (node_action_ends_system(action))
        node_set_alive(c, n, false);
    return order;
}

void do_node_power(struct core *c, const struct node_power_command *p)
{
    const node_ix n = node_get_for_action(c, p->id);
    if (!n.v)
        return;
    if (!node_can_power(c, n, p->action)) {
        node_refuse_power(c, n, p->action);
        return;
    }
    const bool was_alive = node_at(c, n)->alive;
    const int64_t order = node_order_power(c, n, p->action);
    struct json *doc = json_make(c->arena, JSON_OBJECT);
    json_set(doc, STR("order"), json_make_i64(c->arena, order));
    c->out->doc = json_write(c->arena, doc);
    if (was_alive != node_at(c, n)->alive)
        node_changed(c, n);
}

/* Returns the first of the two actions that a hammer offers; refuses and returns "" if none
 * does. */
static struct str node_choose_action(struct core *c, node_ix n, struct str first, struct str second)
{
    if (node_can_power(c, n, first))
        return first;
    if (node_can_power(c, n, second))
        return second;
    node_refuse_power(c, n, STR_CONCAT(c->arena, first, STR(" or "), second));
    return STR("");
}

/* ---- redeploy ---- */

/* An image that runs from memory creates new ssh host keys at each boot. The pins expire even if
 * the boot environment, and with it the boot generation, stays the same. */
static void node_boot_sledgehammer(struct core *c, node_ix n)
{
    node_set_bootenv(c, n, STR("sledgehammer"), (noderole_ix){0});
    host_keys_expire(c, n);
}

void do_node_redeploy(struct core *c, const struct node_redeploy_command *p)
{
    const node_ix n = node_get_for_action(c, p->id);
    const struct str action = n.v ? node_choose_action(c, n, STR("reset"), STR("reboot")) : STR("");
    if (refused(c))
        return;
    for (uint32_t i = 0; i < node_at(c, n)->noderoles.count; i++)
        noderole_reset(c, (noderole_ix){vec_at(c, &node_at(c, n)->noderoles, i)});
    node_boot_sledgehammer(c, n);
    node_pass_stamp(c, n);
    /* Commit while the node still counts as alive: a commit switches on machines that are not
     * alive, and this machine is reset next. */
    node_commit_all(c, n, &(struct commit){0});
    if (refused(c))
        return;
    node_order_power(c, n, action);
    node_changed(c, n);
}

/* ---- debug ---- */

/* Returns the role that a node is held at while an operator inspects it: its discovery role, or a
 * role that provides one. */
static role_ix node_debug_target(const struct core *c, node_ix n)
{
    const struct vec *all = &node_at(c, n)->noderoles;
    for (uint32_t i = 0; i < all->count; i++) {
        const role_ix r = noderole_at(c, (noderole_ix){vec_at(c, all, i)})->role;
        const bool discovers =
            role_at(c, r)->flags & ROLE_DISCOVERY || node_role_provides_discovery(c, r);
        if (discovers && node_is_target(c, r))
            return r;
    }
    return (role_ix){0};
}

/* True if any imported role could be the target of debug. */
static bool node_debug_target_exists(const struct core *c)
{
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, role_at(c, (role_ix){ix})->o.id)) {
        const role_ix r = {ix};
        const bool discovers =
            role_at(c, r)->flags & ROLE_DISCOVERY || node_role_provides_discovery(c, r);
        if (discovers && node_is_target(c, r))
            return true;
    }
    return false;
}

static void node_restart_with_target(struct core *c, node_ix n, role_ix target, struct str action)
{
    node_set_target(c, n, target);
    node_order_power(c, n, action);
    node_changed(c, n);
}

void do_node_debug(struct core *c, const struct node_debug_command *p)
{
    const node_ix n = node_get_for_action(c, p->id);
    if (!n.v)
        return;
    const struct str action = node_choose_action(c, n, STR("reboot"), STR("reset"));
    const role_ix target = node_debug_target(c, n);
    if (!target.v && node_debug_target_exists(c))
        refuse(c, PROBLEM_TARGET_INVALID, STR("id"),
               STR("no discovery role is bound to the node; debug holds the node at this role"));
    if (refused(c))
        return;
    node_boot_sledgehammer(c, n);
    if (target.v) {
        node_restart_with_target(c, n, target, action);
        return;
    }
    c->out->doc = STR("{\"warnings\":[\"no target role was set, because no imported barclamp has a "
                      "discovery role: the boot environment was set and a restart was ordered\"]}");
    node_order_power(c, n, action);
    node_changed(c, n);
}

void do_node_undebug(struct core *c, const struct node_undebug_command *p)
{
    const node_ix n = node_get_for_action(c, p->id);
    if (!n.v)
        return;
    const struct str action = node_choose_action(c, n, STR("reboot"), STR("reset"));
    if (refused(c))
        return;
    node_set_bootenv(c, n, STR("local"), (noderole_ix){0});
    node_restart_with_target(c, n, (role_ix){0}, action);
}
