#include "core/plan/commit_view.h"

#include "base/json/json.h"

/* Power actions, and the boot barrier (docs/spec/machines.md, ADR 0048).
 *
 * A machine must not boot before the servers it boots from (DHCP, boot files) are configured for
 * what it is to boot. Every change of the boot environment of a node increments its boot
 * generation. A noderole whose role has the flag serves-boot reports the generation that it has
 * served to a node (boot_seen). A power action that boots the machine waits at the barrier until
 * all such noderoles have served the current generation.
 *
 * This file owns the waiting actions, node.barrier and core.barrier, and the status of a node. A
 * waiting action is an outbox row with generation != 0 that has not been delivered. It occupies
 * no worker and no node slot, and is found again after a restart. Each node has a queue of them, in
 * order of id: an action that would not wait by itself still waits behind an earlier one, so
 * actions are performed in the order in which they were ordered. Only rows that wait for a
 * generation have deadlines; rows behind them have none.
 *
 * The barrier is evaluated for a node when a generation is reported as served, and for all nodes at
 * the end of a step that set vars.boot_due. A row is given up, without being performed, when its
 * deadline has passed or a noderole that it waits for is in ERROR; the status of the node then has
 * the reason. Deadlines start anew when the daemon starts, like those of parked runs (ADR 0033),
 * because the time without a daemon is unknown. */

/* ---- kinds of actions ---- */

static bool boot_action_is_among(struct str action, const char *const *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (str_eq(action, str_from(names[i])))
            return true;
    return false;
}

#define ACTION_IS_AMONG(action, names)                                                             \
    boot_action_is_among((action), (names), sizeof(names) / sizeof *(names))

/* Actions that end the running system and boot the machine. */
static bool boot_action_restarts(struct str action)
{
    static const char *const names[] = {"reboot", "reset", "cycle", "pxeboot"};
    return ACTION_IS_AMONG(action, names);
}

static bool boot_action_boots(struct str action)
{
    return boot_action_restarts(action) || str_eq(action, STR("on"));
}

/* Actions whose success shows that the power of the node can be controlled, which ends an earlier
 * failure. */
static bool boot_action_switches(struct str action)
{
    static const char *const names[] = {"off", "halt"};
    return boot_action_boots(action) || ACTION_IS_AMONG(action, names);
}

/* ---- noderoles that serve boots ---- */

void boot_index(struct core *c)
{
    struct vec *roles = &vars_edit(c)->boot_roles;
    vec_clear(&c->heap, roles);
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, role_at(c, (role_ix){ix})->o.id))
        if (role_at(c, (role_ix){ix})->flags & ROLE_SERVES_BOOT)
            vec_insert(&c->heap, roles, roles->count, ix);
    vars_edit(c)->boot_due = true; /* roles changed, or the test jig was switched on or off */
}

static bool boot_noderole_serves(const struct core *c, noderole_ix nr)
{
    return role_at(c, noderole_at(c, nr)->role)->flags & ROLE_SERVES_BOOT;
}

static int64_t boot_generation_served_by(const struct core *c, const struct json *seen,
                                         noderole_ix nr, struct arena *a)
{
    struct buf key = buf_in(a);
    buf_put_i64(&key, noderole_at(c, nr)->o.id);
    const struct json *generation = json_get(seen, buf_str(&key));
    int64_t value = 0;
    return generation && json_as_i64(generation, &value) ? value : 0;
}

/* The noderoles that have not served a generation to a node: the one with the lowest id, and the
 * one in ERROR with the lowest id. Both are none if all have served it. */
struct unserved_boots {
    noderole_ix first, failed;
};

static void unserved_boots_add(const struct core *c, struct unserved_boots *late, noderole_ix nr)
{
    const int64_t id = noderole_at(c, nr)->o.id;
    if (!late->first.v || id < noderole_at(c, late->first)->o.id)
        late->first = nr;
    if (noderole_at(c, nr)->state == NODEROLE_ERROR &&
        (!late->failed.v || id < noderole_at(c, late->failed)->o.id))
        late->failed = nr;
}

static struct unserved_boots unserved_boots(const struct core *c, node_ix n, int64_t generation,
                                            struct arena *a)
{
    struct unserved_boots late = {0};
    const struct vec *roles = &c->vars.boot_roles;
    if (!generation || !roles->count || core_settings(c)->test_jig)
        return late;
    if (c->view)
        c->view->has_read_boots = true; /* a change of any of them makes the plan stale */
    const struct json *seen = doc_tree(a, doc_of(c, node_at(c, n)->boot_seen));
    for (uint32_t i = 0; i < roles->count; i++) {
        const struct vec *drs = &role_at(c, (role_ix){vec_at(c, roles, i)})->deployed;
        for (uint32_t k = 0; k < drs->count; k++) {
            const struct vec *all =
                &deployment_role_at(c, (deployment_role_ix){vec_at(c, drs, k)})->noderoles;
            for (uint32_t j = 0; j < all->count; j++) {
                const noderole_ix nr = {vec_at(c, all, j)};
                const uint8_t state = view_state(c, nr);
                if (state != NODEROLE_PROPOSED && state != STATE_REMOVED &&
                    boot_generation_served_by(c, seen, nr, a) < generation)
                    unserved_boots_add(c, &late, nr);
            }
        }
    }
    return late;
}

/* ---- the queue of a node ---- */

/* A key is the deadline in the high bits and the index of the row in the low bits, so that rows
 * with equal deadlines have different keys. */
enum { BARRIER_BITS = 23 };
_Static_assert(OUTBOX_MAX < 1u << BARRIER_BITS, "the index of a row must fit below the deadline");

static uint64_t barrier_key(const struct core *c, outbox_ix ix)
{
    const int64_t deadline = outbox_at(c, ix)->deadline;
    return (uint64_t)(deadline > 0 ? deadline : 0) << BARRIER_BITS | ix.v;
}

static node_ix barrier_node_of(const struct core *c, outbox_ix ix)
{
    return node_by_id(c, outbox_at(c, ix)->object_id);
}

bool boot_order_is_waiting(const struct core *c, outbox_ix ix)
{
    return outbox_at(c, ix)->generation != 0;
}

/* False for a row that waits only because another one is before it in the queue. */
static bool barrier_has_deadline(const struct core *c, outbox_ix ix)
{
    return outbox_at(c, ix)->left_ms != 0;
}

static void barrier_enqueue(struct core *c, outbox_ix ix)
{
    struct outbox *row = outbox_derive(c, ix);
    ids_insert(c, &node_derive(c, barrier_node_of(c, ix))->barrier, TABLE_OUTBOX, ix.v);
    row->deadline = c->mono_ms + row->left_ms;
    if (barrier_has_deadline(c, ix))
        omap_put(&c->barrier, barrier_key(c, ix), ix.v);
}

/* The caller delivers or removes the row afterwards. */
static void barrier_dequeue(struct core *c, outbox_ix ix)
{
    if (barrier_has_deadline(c, ix))
        omap_remove(&c->barrier, barrier_key(c, ix));
    ids_remove(c, &node_derive(c, barrier_node_of(c, ix))->barrier, TABLE_OUTBOX, ix.v);
    struct outbox *row = outbox_edit(c, ix);
    row->generation = row->left_ms = 0;
}

/* A new restart replaces a waiting one: the machine is restarted once, and boots the environment
 * that was ordered last. */
static void barrier_supersede_restart(struct core *c, node_ix n, struct str action)
{
    const struct vec *rows = &node_at(c, n)->barrier;
    const outbox_ix last = {rows->count ? vec_at(c, rows, rows->count - 1) : 0};
    if (!last.v || !boot_action_restarts(action) ||
        !boot_action_restarts(text_of(c, outbox_at(c, last)->detail)))
        return;
    power_order_ended(
        c, n,
        &(struct power_end){.order = outbox_at(c, last)->o.id,
                            .action = STR_CONCAT(c->arena, text_of(c, outbox_at(c, last)->detail)),
                            .failed = true,
                            .text = STR("not done: replaced by a later restart of the machine")});
    barrier_dequeue(c, last);
    outbox_remove(c, last);
}

int64_t outbox_power(struct core *c, node_ix n, struct str action)
{
    barrier_supersede_restart(c, n, action);
    const outbox_ix ix = outbox_make(c, OUTBOX_POWER, TABLE_NODE, node_at(c, n)->o.id);
    if (!ix.v)
        return 0;
    const int64_t id = outbox_at(c, ix)->o.id;
    const struct node *node = node_at(c, n);
    const int64_t left_ms =
        boot_action_boots(action) ? (int64_t)core_settings(c)->barrier_s * 1000 : 0;
    const struct unserved_boots late = left_ms
                                           ? unserved_boots(c, n, node->boot_generation, c->arena)
                                           : (struct unserved_boots){0};
    struct outbox *row = outbox_edit(c, ix);
    put_text(c, &row->detail, action);
    /* A reading of the power state does not wait in the queue: it concerns the present state. */
    if (power_is_reading(action) || (!late.first.v && !node->barrier.count)) {
        outbox_send(c, ix);
        return id;
    }
    row->generation = node->boot_generation;
    row->left_ms = late.first.v ? left_ms : 0; /* 0: it waits only behind another row */
    barrier_enqueue(c, ix);
    /* A row that waits for a noderole in ERROR is given up at the end of the step. Otherwise
     * on_node_change is called again for roles that serve boots: a role that has just started to
     * serve them has had no call for nodes that have not changed since. */
    if (late.failed.v)
        vars_edit(c)->boot_due = true;
    else if (late.first.v)
        hooks_node_of(c, HOOK_NODE_CHANGE, n, ROLE_SERVES_BOOT);
    return id;
}

void outbox_power_once(struct core *c, node_ix n, struct str action)
{
    const struct node *node = node_at(c, n);
    if (node->power_step == c->step_number)
        return;
    node_derive(c, n)->power_step = c->step_number;
    outbox_power(c, n, action);
}

/* ---- the end of the wait ---- */

enum { STATUS_TEXT_MAX = 2000 };

void node_set_status(struct core *c, node_ix n, const struct reason *why)
{
    static const struct reason none = {.code = REASON_NONE};
    const struct node *node = node_at(c, n);
    const struct reason *to = why ? why : &none;
    if (str_eq(text_of(c, node->status), to->text) && node->reason == to->code &&
        str_eq(text_of(c, node->reason_subject), to->subject))
        return;
    struct node *row = node_edit(c, n);
    row->reason = to->code;
    put_text(c, &row->reason_subject, to->subject);
    put_text(c, &row->status, to->text);
}

/* "reboot was not done: dhcp-database on admin.x has not served boot generation 7 within 600 s" */
static struct str barrier_timeout_text(struct core *c, outbox_ix ix, struct unserved_boots late)
{
    const struct outbox *row = outbox_at(c, ix);
    const bool failed = late.failed.v != 0;
    const struct noderole *nr = noderole_at(c, failed ? late.failed : late.first);
    return STR_CONCAT(
        c->arena, text_of(c, row->detail), STR(" was not done: "),
        text_of(c, role_at(c, nr->role)->name), STR(" on "), text_of(c, node_at(c, nr->node)->name),
        failed ? STR(" is in error and") : STR(""), STR(" has not served boot generation "),
        str_from_i64(c->arena, row->generation),
        failed ? STR("")
               : STR_CONCAT(c->arena, STR(" within "), str_from_i64(c->arena, row->left_ms / 1000),
                            STR(" s")));
}

/* The action is not performed, so the machine continues with its old system. After a restart that
 * was given up nothing may run on the node as if it had rebooted: the node is not alive, and the
 * flag `stopped` keeps noderoles from starting if the old system reports that it is alive. */
static void barrier_give_up(struct core *c, node_ix n, outbox_ix ix, struct unserved_boots late)
{
    const struct reason why = {.code = REASON_BOOT_NOT_SERVED,
                               .subject =
                                   STR_CONCAT(c->arena, text_of(c, outbox_at(c, ix)->detail)),
                               .text = barrier_timeout_text(c, ix, late)};
    node_set_status(c, n, &why);
    power_order_ended(c, n,
                      &(struct power_end){.order = outbox_at(c, ix)->o.id,
                                          .action = why.subject,
                                          .failed = true,
                                          .reason = why.code,
                                          .text = why.text});
    if (boot_action_restarts(text_of(c, outbox_at(c, ix)->detail)))
        node_edit(c, n)->stopped = true;
    barrier_dequeue(c, ix);
    outbox_remove(c, ix);
    node_changed(c, n);
}

/* Visit the queue in order: a row is given up, stays, or is delivered if no row before it stays. */
static void barrier_advance_node(struct core *c, node_ix n)
{
    uint32_t staying = 0;
    while (staying < node_at(c, n)->barrier.count) {
        const outbox_ix ix = {vec_at(c, &node_at(c, n)->barrier, staying)};
        const struct outbox *row = outbox_at(c, ix);
        const struct unserved_boots late = barrier_has_deadline(c, ix)
                                               ? unserved_boots(c, n, row->generation, c->arena)
                                               : (struct unserved_boots){0};
        if (late.failed.v || (late.first.v && row->deadline <= c->mono_ms)) {
            barrier_give_up(c, n, ix, late);
        } else if (late.first.v || staying) {
            staying++;
        } else {
            barrier_dequeue(c, ix);
            outbox_send(c, ix);
        }
    }
}

void boot_settle(struct core *c)
{
    if (!c->vars.boot_due)
        return;
    vars_edit(c)->boot_due = false;
    for (uint32_t ix = core_next_row(c, TABLE_NODE, 0); ix && c->barrier.count;
         ix = core_next_row(c, TABLE_NODE, node_at(c, (node_ix){ix})->o.id))
        barrier_advance_node(c, (node_ix){ix});
}

void boot_server_changed(struct core *c, noderole_ix nr)
{
    if (c->barrier.count && boot_noderole_serves(c, nr))
        vars_edit(c)->boot_due = true;
}

void boot_forget_node(struct core *c, node_ix n)
{
    while (node_at(c, n)->barrier.count) {
        const outbox_ix ix = {vec_at(c, &node_at(c, n)->barrier, 0)};
        barrier_dequeue(c, ix);
        outbox_remove(c, ix);
    }
}

/* Store the result with the node. The power state is not updated by a result that is older than the
 * last order that was performed. */
static void boot_record_power_result(struct core *c, node_ix n, int64_t order, struct str action,
                                     const struct outbox_done_command *p)
{
    const enum reason_code reason = p->reason ? (enum reason_code)p->reason : REASON_POWER_FAILED;
    const bool is_old = node_at(c, n)->power_order > order;
    /* A failure without a driver happened before the action could reach the machine, unless a
     * restart of the daemon interrupted the action and its result is unknown. */
    const bool was_performed =
        !p->failed || p->power_driver.len || p->reason == REASON_POWER_INTERRUPTED;
    power_order_ended(c, n,
                      &(struct power_end){.order = order,
                                          .action = action,
                                          .driver = p->power_driver,
                                          .failed = p->failed,
                                          .reason = p->failed ? reason : REASON_NONE,
                                          .text = p->text,
                                          .was_performed = was_performed});
    if (is_old || !was_performed)
        return;
    if (!p->failed && (p->power_state || power_is_reading(action)))
        power_reading_store(c, n, (enum power_state)p->power_state, p->power_driver, true);
    else if (p->failed && power_is_reading(action))
        power_reading_failed(c, n, reason, p->text);
}

void boot_power_done(struct core *c, outbox_ix ix, const struct outbox_done_command *p)
{
    if (boot_order_is_waiting(c, ix))
        return; /* it was not delivered, so this is not its result */
    const struct str action = STR_CONCAT(c->arena, text_of(c, outbox_at(c, ix)->detail));
    const int64_t order = outbox_at(c, ix)->o.id;
    const node_ix n = barrier_node_of(c, ix);
    outbox_remove(c, ix);
    if (!n.v)
        return;
    if (p->failed && !power_is_reading(action)) {
        struct reason why =
            reason_truncate(p->reason ? p->reason : REASON_POWER_FAILED, action, STR(""));
        why.text = STR_CONCAT(c->arena, action, STR(" failed"), p->text.len ? STR(": ") : STR(""),
                              str_clip(p->text, STATUS_TEXT_MAX));
        node_set_status(c, n, &why);
    } else if (!p->failed && boot_action_switches(action) && node_at(c, n)->status) {
        /* The node has a status, so the failed power action set `stopped`. Without a status a run
         * set the flag, and it stays. */
        node_set_status(c, n, NULL);
        node_clear_stopped(c, n);
    }
    /* "boot DEVICE" is ordered with every change of the boot environment; operators do not wait for
     * its result. */
    if (!str_starts(action, STR("boot ")))
        boot_record_power_result(c, n, order, action, p);
}

void node_clear_stopped(struct core *c, node_ix n)
{
    if (!node_at(c, n)->stopped)
        return;
    node_edit(c, n)->stopped = false;
    sched_enqueue_node(c, n);
}

bool boot_restart_is_pending(const struct core *c, node_ix n)
{
    const struct vec *rows = &node_at(c, n)->barrier;
    for (uint32_t i = 0; i < rows->count; i++)
        if (boot_action_restarts(text_of(c, outbox_at(c, (outbox_ix){vec_at(c, rows, i)})->detail)))
            return true;
    return false;
}

/* ---- reports of served generations ---- */

/* The document boot_seen with the new generation, without noderoles that were deleted or no longer
 * serve boots. */
static struct str boot_seen_with(struct core *c, node_ix n, noderole_ix by, int64_t generation)
{
    const struct json *old = doc_tree(c->arena, doc_of(c, node_at(c, n)->boot_seen));
    struct json *fresh = json_make(c->arena, JSON_OBJECT);
    for (const struct json *entry = old->first; entry; entry = entry->next) {
        int64_t id = 0;
        const noderole_ix nr =
            str_parse_i64(entry->key, &id) ? noderole_by_id(c, id) : (noderole_ix){0};
        if (nr.v && boot_noderole_serves(c, nr))
            json_set(fresh, entry->key, json_clone(c->arena, entry));
    }
    json_set(fresh, str_from_i64(c->arena, noderole_at(c, by)->o.id),
             json_make_i64(c->arena, generation));
    return json_write(c->arena, fresh);
}

void do_node_boot_served(struct core *c, const struct node_boot_served_command *p)
{
    const node_ix n = node_by_id(c, p->id);
    const noderole_ix by = noderole_by_id(c, p->noderole_id);
    c->out->id = p->id;
    if (!n.v)
        refuse_missing(c, "id", "node", p->id);
    if (c->depth == 0)
        refuse(c, PROBLEM_NOT_SUPPORTED, STR("generation"),
               STR("only a hook of the role that served it can report this"));
    if (!by.v && c->command->if_turn != IF_THERE)
        refuse_missing(c, "noderole_id", "noderole", p->noderole_id);
    if (by.v && !boot_noderole_serves(c, by))
        refuse(c, PROBLEM_BAD_VALUE, STR("noderole_id"),
               STR("its role does not serve boots: it lacks the flag serves-boot"));
    if (refused(c) || !by.v)
        return;
    /* Ignore a generation that the node has not reached, or that was reported before. */
    const struct json *seen = doc_tree(c->arena, doc_of(c, node_at(c, n)->boot_seen));
    if (p->generation > node_at(c, n)->boot_generation ||
        p->generation <= boot_generation_served_by(c, seen, by, c->arena))
        return;
    put_doc(c, &node_edit(c, n)->boot_seen, boot_seen_with(c, n, by, p->generation));
    barrier_advance_node(c, n);
    if (boot_is_served(c, n, c->arena))
        node_changed(c, n); /* hooks see boot_served = true */
}

/* ---- deadlines ---- */

void boot_tick(struct core *c)
{
    const int64_t deadline = boot_next_deadline(c);
    if (deadline >= 0 && deadline <= c->mono_ms)
        vars_edit(c)->boot_due = true;
}

int64_t boot_next_deadline(const struct core *c)
{
    uint64_t key;
    uint32_t ix;
    return omap_ceil(&c->barrier, 0, &key, &ix) ? (int64_t)(key >> BARRIER_BITS) : -1;
}

void boot_load(struct core *c)
{
    const struct pool *rows = &c->tables[TABLE_OUTBOX].pool;
    for (uint32_t ix = pool_next(rows, 0); ix; ix = pool_next(rows, ix))
        if (boot_order_is_waiting(c, (outbox_ix){ix}))
            barrier_enqueue(c, (outbox_ix){ix});
}

/* ---- queries and checks ---- */

noderole_ix boot_blocking_noderole(const struct core *c, node_ix n, struct arena *a,
                                   int64_t *out_generation)
{
    const struct vec *rows = &node_at(c, n)->barrier;
    if (view_node_flags(c, n) & SEEN_NODE_POWER && core_settings(c)->barrier_s) {
        *out_generation = node_at(c, n)->boot_generation;
        const noderole_ix first = unserved_boots(c, n, *out_generation, a).first;
        if (first.v)
            return first;
    }
    for (uint32_t i = 0; i < rows->count; i++) {
        const outbox_ix ix = {vec_at(c, rows, i)};
        *out_generation = outbox_at(c, ix)->generation;
        if (barrier_has_deadline(c, ix))
            return unserved_boots(c, n, *out_generation, a).first;
    }
    return (noderole_ix){0};
}

bool boot_is_served(const struct core *c, node_ix n, struct arena *a)
{
    return !unserved_boots(c, n, node_at(c, n)->boot_generation, a).first.v;
}

static const char *boot_check_probes(const struct core *c)
{
    for (uint32_t ix = pool_next(&c->tables[TABLE_NODE].pool, 0); ix;
         ix = pool_next(&c->tables[TABLE_NODE].pool, ix)) {
        const struct node *node = node_at(c, (node_ix){ix});
        if (!node->probe.v)
            continue;
        if (!pool_is_live(&c->tables[TABLE_OUTBOX].pool, node->probe.v) || !node->alive ||
            outbox_at(c, node->probe)->kind != OUTBOX_PROBE ||
            outbox_at(c, node->probe)->object_id != node->o.id)
            return "C13: the probe of a node is of another node, or the node is not alive";
    }
    return NULL;
}

const char *boot_check(const struct core *c)
{
    const char *probes = boot_check_probes(c);
    if (probes)
        return probes;
    uint32_t waiting = 0, timed = 0;
    for (uint32_t ix = pool_next(&c->tables[TABLE_NODE].pool, 0); ix;
         ix = pool_next(&c->tables[TABLE_NODE].pool, ix)) {
        const struct vec *rows = &node_at(c, (node_ix){ix})->barrier;
        for (uint32_t i = 0; i < rows->count; i++) {
            const outbox_ix row = {vec_at(c, rows, i)};
            if (!pool_is_live(&c->tables[TABLE_OUTBOX].pool, row.v) ||
                !boot_order_is_waiting(c, row) || barrier_node_of(c, row).v != ix ||
                (i && outbox_at(c, row)->o.id <=
                          outbox_at(c, (outbox_ix){vec_at(c, rows, i - 1)})->o.id))
                return "C12: a row at the boot barrier is not of its node, or out of order";
            if (barrier_has_deadline(c, row) &&
                omap_find(&c->barrier, barrier_key(c, row)) != row.v)
                return "C12: a row at the boot barrier has no timer";
            timed += barrier_has_deadline(c, row);
        }
        waiting += rows->count;
        if (rows->count && !barrier_has_deadline(c, (outbox_ix){vec_at(c, rows, 0)}))
            return "C12: the first row of a barrier queue has no deadline";
    }
    for (uint32_t ix = pool_next(&c->tables[TABLE_OUTBOX].pool, 0); ix;
         ix = pool_next(&c->tables[TABLE_OUTBOX].pool, ix))
        waiting -= boot_order_is_waiting(c, (outbox_ix){ix});
    return !waiting && timed == c->barrier.count ? NULL
                                                 : "C12: a waiting row is in no barrier queue";
}
