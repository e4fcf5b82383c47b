#include "core/boot/boot_service.h"
#include "core/plan/commit_view.h"

#include "base/containers/sort.h"

/* Power actions, and the boot barrier (docs/spec/machines.md, ADR 0048).
 *
 * A machine must not boot before the servers it boots from (DHCP, boot files) are configured for
 * what it is to boot. A power action that boots the machine waits at the barrier until every
 * committed noderole that serves boots has served the node (core/boot/boot_service.c).
 *
 * This file owns the waiting actions, node.barrier and core.barrier, and the status of a node. A
 * waiting action is an outbox row with generation != 0 that has not been delivered. It occupies
 * no worker and no node slot, and is found again after a restart. Each node has a queue of them, in
 * order of id: an action that would not wait by itself still waits behind an earlier one, so
 * actions are performed in the order in which they were ordered. Only rows that boot the machine
 * have deadlines; the others wait behind them.
 *
 * The barrier is evaluated at the end of a step that set vars.boot_waits, when the boot view of the
 * step is settled: an action that is ordered together with a change of the environment waits for
 * that change. A row is given up, without being performed, when its deadline has passed or a
 * noderole that it waits for is in ERROR; the status of the node then has the reason. Deadlines
 * start anew when the daemon starts, like those of parked runs (ADR 0033), because the time without
 * a daemon is unknown. */

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

/* False for a row that does not boot the machine: it waits because another one is before it in the
 * queue. */
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
    const bool may_wait =
        boot_action_boots(action) && node->boot_generation && c->vars.boot_roles.count;
    struct outbox *row = outbox_edit(c, ix);
    put_text(c, &row->detail, action);
    row->left_ms = may_wait ? (int64_t)core_settings(c)->barrier_s * 1000 : 0;
    /* A reading of the power state does not wait in the queue: it concerns the present state. */
    if (power_is_reading(action) || (!row->left_ms && !node->barrier.count)) {
        outbox_send(c, ix);
        return id;
    }
    row->generation = node->boot_generation;
    barrier_enqueue(c, ix);
    boot_service_changed(c); /* it is delivered at the end of the step if the node is served */
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
static struct str barrier_timeout_text(struct core *c, node_ix n, outbox_ix ix,
                                       struct boot_late late)
{
    const struct outbox *row = outbox_at(c, ix);
    const struct str waited = STR_CONCAT(c->arena, STR(" within "),
                                         str_from_i64(c->arena, row->left_ms / 1000), STR(" s"));
    return STR_CONCAT(c->arena, text_of(c, row->detail), STR(" was not done: "),
                      boot_service_problem(c, n, late, c->arena), late.failed.v ? STR("") : waited);
}

/* The action is not performed, so the machine continues with its old system. After a restart that
 * was given up nothing may run on the node as if it had rebooted: the node is not alive, and the
 * flag `stopped` keeps noderoles from starting if the old system reports that it is alive. */
static void barrier_give_up(struct core *c, node_ix n, outbox_ix ix, struct boot_late late)
{
    const struct reason why = {.code = REASON_BOOT_NOT_SERVED,
                               .subject =
                                   STR_CONCAT(c->arena, text_of(c, outbox_at(c, ix)->detail)),
                               .text = barrier_timeout_text(c, n, ix, late)};
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
        const struct boot_late late =
            barrier_has_deadline(c, ix) ? boot_service_late(c, n, false) : (struct boot_late){0};
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

static int barrier_cmp_nodes(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Every queue has a row with a deadline, so the deadlines name all nodes that wait. */
static void barrier_advance(struct core *c)
{
    uint32_t *nodes = arena_array(c->arena, uint32_t, c->barrier.count + (size_t)1);
    uint32_t count = 0, ix;
    uint64_t key;
    for (uint64_t from = 0; omap_ceil(&c->barrier, from, &key, &ix); from = key + 1)
        nodes[count++] = barrier_node_of(c, (outbox_ix){ix}).v;
    sort_items(nodes, count, sizeof *nodes, barrier_cmp_nodes, c->arena);
    for (uint32_t i = 0; i < count; i++)
        if (!i || nodes[i] != nodes[i - 1])
            barrier_advance_node(c, (node_ix){nodes[i]});
}

void boot_settle(struct core *c)
{
    if (!c->vars.boot_waits)
        return;
    vars_edit(c)->boot_waits = false;
    if (c->barrier.count)
        barrier_advance(c);
    boot_service_call_installers(c);
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

/* ---- deadlines ---- */

void boot_tick(struct core *c)
{
    const int64_t deadline = boot_next_deadline(c);
    if (deadline >= 0 && deadline <= c->mono_ms)
        boot_service_changed(c);
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
    boot_service_changed(c); /* a node that left the view before waits for no boot server now */
}

/* ---- queries and checks ---- */

noderole_ix boot_blocking_noderole(const struct core *c, node_ix n, bool but_native)
{
    const bool is_ordered =
        node_at(c, n)->barrier.count ||
        (view_node_flags(c, n) & SEEN_NODE_POWER && core_settings(c)->barrier_s);
    return is_ordered ? boot_service_late(c, n, but_native).first : (noderole_ix){0};
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
    return !waiting && timed == c->barrier.count ? boot_service_check(c)
                                                 : "C12: a waiting row is in no barrier queue";
}
