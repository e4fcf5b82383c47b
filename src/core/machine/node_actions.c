#include "core/core_private.h"

#include "base/json/json.h"

/* What an operator can have done to a whole node: its noderoles together, its power, a fresh
 * start, a look inside (SEMANTICS 3.11, 8.7). */

static node_ix named(struct core *c, int64_t id)
{
    const node_ix n = node_by_id(c, id);
    if (!n.v)
        refuse_missing(c, "id", "node", id);
    c->out->id = id;
    return n;
}

/* ---- roles that come by themselves ---- */

static bool comes_before(const struct core *c, role_ix a, role_ix b)
{
    const struct role *x = role_at(c, a), *y = role_at(c, b);
    if (x->cohort != y->cohort)
        return x->cohort < y->cohort;
    return str_cmp(text_of(c, x->name), text_of(c, y->name)) < 0;
}

/* The next role with the flag that can be bound here, by (cohort, name). Few have one. */
static role_ix next_flagged(const struct core *c, uint32_t flag, role_ix after)
{
    role_ix best = {0};
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, role_at(c, (role_ix){ix})->o.id)) {
        const role_ix r = {ix};
        const uint32_t flags = role_at(c, r)->flags;
        if (!(flags & flag) || flags & ROLE_ABSTRACT || !role_can_run(c, r))
            continue;
        if ((!after.v || comes_before(c, after, r)) && (!best.v || comes_before(c, r, best)))
            best = r;
    }
    return best;
}

void node_bind_flagged(struct core *c, node_ix n, uint32_t flag)
{
    const deployment_ix d = node_at(c, n)->deployment;
    for (role_ix r = next_flagged(c, flag, (role_ix){0}); r.v && !refused(c);
         r = next_flagged(c, flag, r))
        if (!noderole_find(c, n, r).v)
            bind_role(c, r, n, d, STR(""));
}

static bool provides_discovery(const struct core *c, role_ix r)
{
    const struct vec *provided = &role_at(c, r)->provided;
    for (uint32_t i = 0; i < provided->count; i++) {
        const role_ix other = {name_find(c, TABLE_ROLE, text_of(c, vec_at(c, provided, i)))};
        if (other.v && role_at(c, other)->flags & ROLE_DISCOVERY)
            return true;
    }
    return false;
}

/* Somebody else does what discovery would do there (D14). */
static bool is_discovered_otherwise(const struct core *c, node_ix n)
{
    const struct vec *all = &node_at(c, n)->noderoles;
    for (uint32_t i = 0; i < all->count; i++)
        if (provides_discovery(c, noderole_at(c, (noderole_ix){vec_at(c, all, i)})->role))
            return true;
    return false;
}

static void bind_discovery(struct core *c, node_ix n)
{
    const struct node *node = node_at(c, n);
    if (!node->admin && !node->system && !is_discovered_otherwise(c, n))
        node_bind_flagged(c, n, ROLE_DISCOVERY);
}

/* ---- propose and commit ---- */

void do_node_propose(struct core *c, const struct node_propose_command *p)
{
    const node_ix n = named(c, p->id);
    for (uint32_t i = 0; n.v && i < node_at(c, n)->noderoles.count; i++)
        noderole_propose(c, (noderole_ix){vec_at(c, &node_at(c, n)->noderoles, i)});
}

static struct commit commit_proposed(struct core *c, node_ix n)
{
    const struct vec *all = &node_at(c, n)->noderoles;
    struct commit work = {.items = arena_array(c->arena, noderole_ix, all->count + 1)};
    for (uint32_t i = 0; i < all->count; i++) {
        const noderole_ix nr = {vec_at(c, all, i)};
        if (noderole_at(c, nr)->state == NODEROLE_PROPOSED)
            work.items[work.count++] = nr;
    }
    if (work.count)
        cluster_commit(c, work.items, work.count);
    return work;
}

/* True when the node itself changed by it. */
static bool commit_node(struct core *c, node_ix n, struct commit *out_work)
{
    const bool was_available = node_at(c, n)->available;
    bind_discovery(c, n);
    if (refused(c))
        return false;
    if (node_at(c, n)->stopped)
        node_clear_stopped(c, n);
    node_set_available(c, n, true);
    *out_work = commit_proposed(c, n);
    out_work->node = n;
    return !was_available;
}

void do_node_commit(struct core *c, const struct node_commit_command *p)
{
    const node_ix n = named(c, p->id);
    struct commit work = {0};
    if (n.v && commit_node(c, n, &work) && !refused(c))
        node_changed(c, n);
    if (!refused(c))
        consent_check(c, &work, p->consent);
}

/* ---- power ---- */

static void refuse_power(struct core *c, node_ix n, struct str action)
{
    const struct str actions = node_power_actions(c, n, c->arena);
    refuse(c, PROBLEM_NO_POWER_ACTION, STR("action"),
           STR_CONCAT(c->arena, STR("no hammer of the node offers "), action,
                      STR("; valid actions: "), actions.len ? actions : STR("none")));
}

/* After these the machine has lost what it knew. */
static bool takes_down(struct str action)
{
    static const char *const names[] = {"reboot", "reset", "cycle", "off", "halt"};
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq(action, str_from(names[i])))
            return true;
    return false;
}

static int64_t power(struct core *c, node_ix n, struct str action)
{
    const int64_t order = outbox_power(c, n, action);
    if (takes_down(action))
        node_set_alive(c, n, false);
    return order;
}

void do_node_power(struct core *c, const struct node_power_command *p)
{
    const node_ix n = named(c, p->id);
    if (!n.v)
        return;
    if (!node_can_power(c, n, p->action)) {
        refuse_power(c, n, p->action);
        return;
    }
    const bool was_alive = node_at(c, n)->alive;
    const int64_t order = power(c, n, p->action);
    struct json *doc = json_make(c->arena, JSON_OBJECT);
    json_set(doc, STR("order"), json_make_i64(c->arena, order));
    c->out->doc = json_write(c->arena, doc);
    if (was_alive != node_at(c, n)->alive)
        node_changed(c, n);
}

/* The first of the two that is offered; refused and empty when neither is. */
static struct str either_action(struct core *c, node_ix n, struct str first, struct str second)
{
    if (node_can_power(c, n, first))
        return first;
    if (node_can_power(c, n, second))
        return second;
    refuse_power(c, n, STR_CONCAT(c->arena, first, STR(" or "), second));
    return STR("");
}

/* ---- from the beginning ---- */

/* What runs from memory makes new ssh host keys at each start, also when the boot environment was
 * the same before and the boot generation stays. */
static void boot_sledgehammer(struct core *c, node_ix n)
{
    node_set_bootenv(c, n, STR("sledgehammer"));
    host_keys_expire(c, n);
}

void do_node_redeploy(struct core *c, const struct node_redeploy_command *p)
{
    const node_ix n = named(c, p->id);
    const struct str action = n.v ? either_action(c, n, STR("reset"), STR("reboot")) : STR("");
    if (refused(c))
        return;
    for (uint32_t i = 0; i < node_at(c, n)->noderoles.count; i++)
        noderole_reset(c, (noderole_ix){vec_at(c, &node_at(c, n)->noderoles, i)});
    boot_sledgehammer(c, n);
    /* Committed while it still counts as alive: a commit switches dead machines on, and this one
     * is about to be reset. */
    commit_node(c, n, &(struct commit){0});
    if (refused(c))
        return;
    power(c, n, action);
    node_changed(c, n);
}

/* ---- a look inside ---- */

/* Where a node rests while somebody looks: its discovery role, or what stands in for it. */
static role_ix resting_role(const struct core *c, node_ix n)
{
    const struct vec *all = &node_at(c, n)->noderoles;
    for (uint32_t i = 0; i < all->count; i++) {
        const role_ix r = noderole_at(c, (noderole_ix){vec_at(c, all, i)})->role;
        const bool discovers = role_at(c, r)->flags & ROLE_DISCOVERY || provides_discovery(c, r);
        if (discovers && node_is_target(c, r))
            return r;
    }
    return (role_ix){0};
}

/* Is there one that a node could be held at? */
static bool has_discovery_role(const struct core *c)
{
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, role_at(c, (role_ix){ix})->o.id)) {
        const role_ix r = {ix};
        const bool discovers = role_at(c, r)->flags & ROLE_DISCOVERY || provides_discovery(c, r);
        if (discovers && node_is_target(c, r))
            return true;
    }
    return false;
}

static void restart_at(struct core *c, node_ix n, role_ix target, struct str action)
{
    node_set_target(c, n, target);
    power(c, n, action);
    node_changed(c, n);
}

void do_node_debug(struct core *c, const struct node_debug_command *p)
{
    const node_ix n = named(c, p->id);
    if (!n.v)
        return;
    const struct str action = either_action(c, n, STR("reboot"), STR("reset"));
    const role_ix target = resting_role(c, n);
    if (!target.v && has_discovery_role(c))
        refuse(c, PROBLEM_TARGET_INVALID, STR("id"),
               STR("no discovery role the node could be held at is bound to it"));
    if (refused(c))
        return;
    boot_sledgehammer(c, n);
    if (target.v) {
        restart_at(c, n, target, action);
        return;
    }
    c->out->doc =
        STR("{\"warnings\":[\"no target role was set, since no imported barclamp has a "
            "discovery role: only the boot environment was set and a restart ordered\"]}");
    power(c, n, action);
    node_changed(c, n);
}

void do_node_undebug(struct core *c, const struct node_undebug_command *p)
{
    const node_ix n = named(c, p->id);
    if (!n.v)
        return;
    const struct str action = either_action(c, n, STR("reboot"), STR("reset"));
    if (refused(c))
        return;
    node_set_bootenv(c, n, STR("local"));
    restart_at(c, n, (role_ix){0}, action);
}
