#include "core/boot/boot_service.h"
#include "core/network/network_private.h"
#include "core/machine/grants.h"

#include "base/json/json.h"
#include "model/hammer_class.h"

/* Nodes: their rows, their flags, and the consequences of a flag for the noderoles of the node
 * (docs/spec/states.md, sections "Node flags" to "Target role"). This file owns the node rows;
 * other files own single fields of them, such as the power state, boot ids, pinned keys and
 * queues.
 *
 * Order: the functions that set a flag apply all consequences except the node hooks. The command
 * handler calls node_changed() once at its end, so that hooks run once and see the final state. A
 * flag is written before its consequences are applied: annealing reads the flags of the node.
 *
 * Failure: node_remove() checks all noderoles before it changes anything. A refusal in a later
 * consequence, for example a full outbox, rolls the step back. */

enum { ORDER_DEFAULT = 10000 };

/* ---- creation and removal ---- */

node_ix node_make(struct core *c, const struct node_create_command *p, deployment_ix d,
                  bool phantom)
{
    const node_ix n = node_add(c);
    if (!n.v)
        return n;
    struct node *node = node_edit(c, n);
    put_text(c, &node->name, p->name);
    put_text(c, &node->description, p->description);
    put_text(c, &node->bootenv,
             phantom          ? STR("local")
             : p->bootenv.len ? p->bootenv
                              : STR("sledgehammer"));
    node->deployment = d;
    node->admin = p->admin;
    node->automatic = p->automatic;
    node->system = phantom || p->system;
    node->allocated = p->allocated;
    node->alive = phantom || p->alive;
    node->available = !phantom && p->available;
    node->alive_since = node->available_since = c->now_ms;
    node->order = ORDER_DEFAULT;
    put_doc(c, &node->hint, p->hint);
    put_doc(c, &node->discovery, p->discovery);
    name_add(c, TABLE_NODE, n.v);
    if (p->admin)
        ids_insert(c, &vars_edit(c)->admins, TABLE_NODE, n.v);
    return n;
}

void node_rename(struct core *c, node_ix n, struct str name)
{
    name_remove(c, TABLE_NODE, n.v);
    put_text(c, &node_edit(c, n)->name, name);
    name_add(c, TABLE_NODE, n.v);
}

/* Removes the row of a node whose noderoles have been destroyed. The delete hook is queued first,
 * since its arguments contain the name of the node. */
static void node_destroy(struct core *c, node_ix n)
{
    must(node_at(c, n)->noderoles.count == 0);
    hooks_node(c, HOOK_NODE_DELETE, n);
    groups_forget_node(c, n);
    hammers_forget_node(c, n);
    tokens_forget_node(c, n);
    host_keys_forget_node(c, n);
    network_allocations_forget_node(c, n);
    nics_forget_node(c, n);
    run_forget_node(c, n);
    boot_forget_node(c, n);
    boot_servers_forget_node(c, n);
    boot_service_unwatch(c, n);
    grant_forget_node(c, n);
    anneal_forget_node(c, n);
    if (node_at(c, n)->admin)
        ids_remove(c, &vars_edit(c)->admins, TABLE_NODE, n.v);
    name_remove(c, TABLE_NODE, n.v);
    struct node *node = node_edit(c, n);
    text_h *const texts[] = {&node->name,        &node->description,    &node->bootenv,
                             &node->quirks,      &node->discovery,      &node->hint,
                             &node->notes,       &node->status,         &node->boot_id,
                             &node->old_boots,   &node->reason_subject, &node->power_driver,
                             &node->power_error, &node->power_results,  &node->grant_ticket};
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++)
        put_text(c, texts[i], STR(""));
    core_remove_row(c, TABLE_NODE, n.v);
}

/* All noderoles are checked before the first one is destroyed, so that a refusal changes nothing.
 * They are destroyed from the end of the list, which is sorted by cohort: children before
 * parents. */
bool node_remove(struct core *c, node_ix n)
{
    for (uint32_t i = 0; i < node_at(c, n)->noderoles.count; i++)
        graph_can_delete(c, (noderole_ix){vec_at(c, &node_at(c, n)->noderoles, i)});
    if (refused(c))
        return false;
    while (node_at(c, n)->noderoles.count) {
        const struct vec *all = &node_at(c, n)->noderoles;
        const noderole_ix deepest = {vec_at(c, all, all->count - 1)};
        noderole_destroy_all(c, &deepest, 1);
    }
    node_destroy(c, n);
    return true;
}

/* ---- power actions of the hammers ---- */

static struct str node_hammer_class(const struct core *c, node_ix n, uint32_t i)
{
    const hammer_ix h = {vec_at(c, &node_at(c, n)->hammers, i)};
    return text_of(c, hammer_kind_at(c, hammer_at(c, h)->kind)->klass);
}

/* True if one of the first `count` hammers offers the action. */
static bool node_hammers_offer(const struct core *c, node_ix n, uint32_t count, struct str action)
{
    for (uint32_t i = 0; i < count; i++)
        if (hammer_class_offers(node_hammer_class(c, n, i), action))
            return true;
    return false;
}

bool node_can_power(const struct core *c, node_ix n, struct str action)
{
    return node_hammers_offer(c, n, node_at(c, n)->hammers.count, action);
}

static bool node_can_select_boot(const struct core *c, node_ix n)
{
    for (uint32_t i = 0; i < node_at(c, n)->hammers.count; i++)
        if (hammer_class_boots(node_hammer_class(c, n, i)))
            return true;
    return false;
}

struct str node_choose_power(const struct core *c, node_ix n, struct str action)
{
    const struct str forced = str_eq(action, STR("reboot")) ? STR("reset")
                              : str_eq(action, STR("off"))  ? STR("halt")
                                                            : STR("");
    const bool replaced =
        forced.len && !node_can_power(c, n, action) && node_can_power(c, n, forced);
    return replaced ? forced : action;
}

struct str node_power_actions(const struct core *c, node_ix n, struct arena *a)
{
    struct buf b = buf_in(a);
    for (uint32_t i = 0; i < node_at(c, n)->hammers.count; i++) {
        const struct hammer_class *klass = hammer_class_find(node_hammer_class(c, n, i));
        struct str rest = str_from(klass ? klass->power : NULL);
        while (rest.len) {
            const uint32_t end = str_find(rest, ' ', 0);
            const struct str word = str_slice(rest, 0, end);
            rest = str_slice(rest, end + 1, rest.len);
            if (node_hammers_offer(c, n, i, word))
                continue;
            buf_put_z(&b, b.len ? ", " : "");
            buf_put_str(&b, word);
        }
    }
    return buf_str(&b);
}

/* ---- flags ---- */

/* The node may run noderoles again. Noderoles whose rerun was postponed while it could not are
 * enqueued (ADR 0010). */
static void node_resume(struct core *c, node_ix n)
{
    sched_enqueue_node(c, n);
    for (uint32_t i = 0; i < node_at(c, n)->noderoles.count; i++) {
        const noderole_ix nr = {vec_at(c, &node_at(c, n)->noderoles, i)};
        const struct noderole *row = noderole_at(c, nr);
        if (row->rerun && row->state == NODEROLE_ACTIVE && noderole_is_runnable(c, nr))
            run_enqueue(c, nr);
    }
}

void nodes_resume_all(struct core *c)
{
    for (uint32_t ix = core_next_row(c, TABLE_NODE, 0); ix;
         ix = core_next_row(c, TABLE_NODE, node_at(c, (node_ix){ix})->o.id))
        node_resume(c, (node_ix){ix});
}

void node_set_alive(struct core *c, node_ix n, bool alive)
{
    if (node_at(c, n)->alive == alive)
        return;
    struct node *node = node_edit(c, n);
    node->alive = alive;
    node->alive_since = c->now_ms;
    if (!alive) {
        /* The state of the machine is unknown. Noderoles are deactivated in ascending order of
         * cohort, so that each one settles after its parents; a run in progress is cancelled when
         * its noderole leaves TRANSITION. */
        outbox_forget_probe(c, n);
        for (uint32_t i = 0; i < node_at(c, n)->noderoles.count; i++) {
            const noderole_ix nr = {vec_at(c, &node_at(c, n)->noderoles, i)};
            run_drop_queued(c, nr);
            noderole_apply(c, nr, EVENT_DEACTIVATE);
        }
        sched_enqueue_node(c, n);
        return;
    }
    /* The machine answers, so an earlier power failure no longer applies. */
    if (!node->stopped)
        node_set_status(c, n, NULL);
    if (!node->system && !core_settings(c)->test_jig)
        outbox_probe(c, n);
    node_resume(c, n);
}

void node_set_available(struct core *c, node_ix n, bool available)
{
    if (node_at(c, n)->available == available)
        return;
    struct node *node = node_edit(c, n);
    node->available = available;
    node->available_since = c->now_ms;
    node_resume(c, n);
}

/* Also with an equal text this is another boot: nothing that was given for the last one counts. */
static void node_open_generation(struct core *c, node_ix n, struct str bootenv, noderole_ix by)
{
    struct node *node = node_edit(c, n);
    const bool is_same = str_eq(text_of(c, node->bootenv), bootenv);
    put_text(c, &node->bootenv, bootenv);
    node->boot_generation++;
    grant_follow_environment(c, n, by);
    if (!is_same && node_can_select_boot(c, n))
        outbox_power(c, n, str_eq(bootenv, STR("local")) ? STR("boot disk") : STR("boot pxe"));
}

void node_set_bootenv(struct core *c, node_ix n, struct str bootenv, noderole_ix by)
{
    const bool is_same = str_eq(text_of(c, node_at(c, n)->bootenv), bootenv);
    if (!is_same || grant_is_needed(c, n, by))
        node_open_generation(c, n, bootenv, by);
}

void node_pass_stamp(struct core *c, node_ix n)
{
    const int64_t stamp = node_at(c, n)->stamp_generation;
    if (!stamp)
        return;
    /* Copied: the text is replaced while it is read. */
    const struct str bootenv = STR_CONCAT(c->arena, text_of(c, node_at(c, n)->bootenv));
    node_edit(c, n)->boot_generation = stamp;
    node_open_generation(c, n, bootenv, (noderole_ix){0});
}

void node_changed(struct core *c, node_ix n)
{
    if (node_at(c, n)->group_count == 0) {
        const group_ix unsorted = {name_find(c, TABLE_GROUP, STR("ui/not_set"))};
        if (unsorted.v)
            group_join(c, unsorted, n);
    }
    if (node_at(c, n)->available)
        hooks_node(c, HOOK_NODE_CHANGE, n);
}

/* ---- target role ---- */

bool node_is_target(const struct core *c, role_ix role)
{
    return role_at(c, role)->flags & ROLE_MILESTONE && role_is_noop(c, role);
}

/* Returns the target and its ancestors on the node; never empty. */
static noderole_ix *node_target_noderoles(struct core *c, node_ix n, noderole_ix target,
                                          uint32_t *out_count)
{
    uint32_t above_count, count = 0;
    const noderole_ix *above = graph_ancestors(c, target, c->arena, &above_count);
    noderole_ix *needed = arena_array(c->arena, noderole_ix, above_count + 1);
    needed[count++] = target;
    for (uint32_t i = 0; i < above_count; i++)
        if (noderole_at(c, above[i])->node.v == n.v)
            needed[count++] = above[i];
    *out_count = count;
    return needed;
}

static bool node_target_needs(const noderole_ix *items, uint32_t count, noderole_ix nr)
{
    for (uint32_t i = 0; i < count; i++)
        if (items[i].v == nr.v)
            return true;
    return false;
}

void node_apply_target(struct core *c, node_ix n)
{
    uint32_t count = 0;
    const role_ix role = node_at(c, n)->target;
    const noderole_ix target = role.v ? noderole_find(c, n, role) : (noderole_ix){0};
    const noderole_ix *needed = target.v ? node_target_noderoles(c, n, target, &count) : NULL;
    for (uint32_t i = 0; i < node_at(c, n)->noderoles.count; i++) {
        const noderole_ix nr = {vec_at(c, &node_at(c, n)->noderoles, i)};
        const bool held = target.v && !node_target_needs(needed, count, nr);
        if (noderole_at(c, nr)->unavailable != held)
            noderole_edit(c, nr)->unavailable = held;
    }
}

void node_set_target(struct core *c, node_ix n, role_ix role)
{
    if (node_at(c, n)->target.v == role.v)
        return;
    node_edit(c, n)->target = role;
    node_apply_target(c, n);
    /* The target is applied before the node is marked not alive, so that noderoles that the target
     * holds do not fire state hooks for the deactivation. */
    if (role.v)
        node_set_alive(c, n, false);
    else
        node_resume(c, n);
}

/* ---- powersave ---- */

static bool node_stays_on(struct core *c, node_ix n)
{
    const attrib_ix stay_on = {name_find(c, TABLE_ATTRIB, STR("stay_on"))};
    if (!stay_on.v)
        return false;
    const struct json *value = data_value(c, stay_on, data_node(c, n, c->arena), c->arena);
    return value && value->kind != JSON_NULL && value->kind != JSON_FALSE;
}

static bool node_has_committed_children(const struct core *c, noderole_ix nr)
{
    const struct vec *children = &noderole_at(c, nr)->children;
    for (uint32_t i = 0; i < children->count; i++)
        if (noderole_at(c, (noderole_ix){vec_at(c, children, i)})->state != NODEROLE_PROPOSED)
            return true;
    return false;
}

void node_powersave(struct core *c, noderole_ix nr)
{
    const node_ix n = noderole_at(c, nr)->node;
    const bool local = str_eq(text_of(c, node_at(c, n)->bootenv), STR("local"));
    const struct str action = local ? STR("halt") : STR("off");
    if (!node_can_power(c, n, STR("on")) || !node_can_power(c, n, action))
        return;
    if (node_has_committed_children(c, nr) || node_stays_on(c, n))
        return;
    outbox_power(c, n, action);
    node_set_alive(c, n, false);
    node_changed(c, n);
}
