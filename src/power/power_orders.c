/* power_orders.c - orders from outbox rows to results.
 *
 * Owned here: every order from the arrival of its row until the deletion of the row is durable, the
 * queue of power actions of each node, and the drivers and probes that perform them.
 *
 * Orders that matter:
 * - A result is submitted to the turn and the order is kept until the row is deleted and that turn
 *   is durable. If the batch is lost, the core is loaded again, the row arrives again, and the
 *   result is reported from memory instead of switching the machine a second time.
 * - An action that may not be repeated (reset, cycle, ...) starts only after OUTBOX_BEGUN for its
 *   row is durable. A later process that finds the mark fails the row instead of repeating it.
 * - A driver is used only while the row exists, since an operator may have replaced the order while
 *   the mark was being stored.
 * - power_pump() starts orders before it submits results, so that an order that ends at once is
 *   reported by the same call.
 *
 * A failure of a machine becomes a result with a reason code. A full command queue (ERR_LIMIT)
 * leaves the order in its list for the next pump.
 */
#include "power/power_orders.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/core.h"
#include "power/hammer/hammer_ops.h"
#include "power/known_hosts.h"
#include "power/node_hammers.h"
#include "power/power_orders_private.h"
#include "power/ssh_keys.h"
#include "power/ssh_probe.h"

#include "sys/clock.h"
#include "sys/log.h"
#include "turn/turn.h"

/* ---- lists and queues ---- */

static void order_list_append(struct order_list *l, struct order *o)
{
    o->next = NULL;
    if (l->last)
        l->last->next = o;
    else
        l->first = o;
    l->last = o;
}

static struct order *order_list_pop(struct order_list *l)
{
    struct order *o = l->first;
    if (o)
        l->first = o->next;
    if (!l->first)
        l->last = NULL;
    return o;
}

static void order_set_pending(struct power *p, struct order *o)
{
    o->stage = ORDER_PENDING;
    order_list_append(&p->pending, o);
}

/* Appends to the queue of the node. Only the head of a queue is PENDING or in a later stage. */
static void order_enqueue_on_node(struct power *p, struct order *o)
{
    struct order *head = id_map_find(&p->by_node, o->node_id);
    o->queue_last = o;
    if (head) {
        head->queue_last->queue_next = o;
        head->queue_last = o;
        return;
    }
    id_map_put(&p->by_node, o->node_id, o);
    order_set_pending(p, o);
}

static void order_dequeue_from_node(struct power *p, struct order *o)
{
    struct order *next = o->queue_next;
    must(id_map_find(&p->by_node, o->node_id) == o);
    if (!next) {
        id_map_remove(&p->by_node, o->node_id);
        return;
    }
    next->queue_last = o->queue_last;
    id_map_put(&p->by_node, o->node_id, next);
    order_set_pending(p, next);
    p->wake(p->self);
}

static void order_free(struct order *o)
{
    arena_fini(&o->arena);
    free(o);
}

/* ---- results ---- */

void power_order_set_result(struct power *p, struct order *o, bool failed, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list args;
    va_start(args, format);
    const int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    must(len >= 0);
    uint32_t kept = (uint32_t)len < sizeof text ? (uint32_t)len : (uint32_t)sizeof text - 1;
    while (!str_is_clean((struct str){text, kept})) /* truncated inside a UTF-8 sequence */
        kept--;
    o->text = str_copy(&o->arena, (struct str){text, kept});
    o->failed = failed;
    o->stage = ORDER_DONE;
    order_list_append(&p->done, o);
    if (!o->is_probe && !o->is_unqueued)
        order_dequeue_from_node(p, o);
    p->wake(p->self);
}

static err order_submit_result(const struct order *o, struct turn *turn)
{
    struct command command = {.kind = COMMAND_OUTBOX_DONE, .actor = STR("daemon")};
    command.outbox_done.outbox_id = o->id;
    command.outbox_done.failed = o->failed;
    command.outbox_done.text = o->text;
    command.outbox_done.reason = o->failed ? o->reason : REASON_NONE;
    command.outbox_done.reason_subject = o->failed ? o->subject : STR("");
    command.outbox_done.power_state = o->state;
    command.outbox_done.power_driver = o->hammer;
    return turn_submit(turn, &command);
}

/* Any error but ERR_LIMIT means that the core is being replaced: the row arrives again after the
 * next load, and order_receive() puts the order back into the list of results. */
static bool orders_submit_results(struct power *p, struct turn *turn)
{
    bool any = false;
    while (p->done.first && order_submit_result(p->done.first, turn) != ERR_LIMIT) {
        struct order *o = order_list_pop(&p->done);
        o->stage = ORDER_REPORTED;
        o->gone_turn = 0;
        order_list_append(&p->reported, o);
        any = true;
    }
    return any;
}

bool power_order_has_row(const struct core *core, const struct order *o)
{
    struct record record;
    return core_record(core, TABLE_OUTBOX, o->id, &record);
}

/* True if the deletion of the row is durable, so that no load can bring the row back. The turn of
 * the deletion is not known, so the turn in which the row was first found missing is used; after a
 * load it is determined again. */
static bool order_row_is_durably_deleted(struct order *o, const struct turn *turn)
{
    if (o->gone_turn && o->loads == turn_loads(turn))
        return turn_durable(turn) >= o->gone_turn;
    o->gone_turn = 0;
    if (power_order_has_row(turn_core(turn), o))
        return false;
    o->gone_turn = turn_seen(turn);
    o->loads = turn_loads(turn);
    return turn_durable(turn) >= o->gone_turn;
}

void power_order_forget(struct power *p, struct order *o)
{
    id_map_remove(&p->by_row, o->id);
    if (o->needs_reading)
        power_poll_want(p, o->node_id);
    order_free(o);
}

static void orders_forget_settled(struct power *p, const struct turn *turn)
{
    struct order_list reported = p->reported;
    p->reported = (struct order_list){0};
    for (struct order *o = order_list_pop(&reported); o; o = order_list_pop(&reported)) {
        if (o->stage == ORDER_DONE)
            order_list_append(&p->done, o); /* the row arrived again */
        else if (!order_row_is_durably_deleted(o, turn))
            order_list_append(&p->reported, o);
        else
            power_order_forget(p, o);
    }
}

/* ---- marks of actions that may not be repeated ---- */

/* True if the action is idempotent: performing it twice has the effect of performing it once. */
static bool order_is_idempotent(const struct order *o)
{
    return hammer_words_have(STR("on off status"), o->action) ||
           str_starts(o->action, STR("boot "));
}

static bool order_is_reading(const struct order *o)
{
    return str_eq(o->action, STR("status"));
}

/* Ends an order whose row no longer exists and of which nothing was performed. */
static void order_drop(struct power *p, struct order *o)
{
    order_dequeue_from_node(p, o);
    power_order_forget(p, o);
}

static void order_request_mark(struct power *p, struct order *o)
{
    o->stage = ORDER_MARKING;
    order_list_append(&p->marking, o);
}

/* Rows may have disappeared with a core reload. Marks that the turn does not accept now are
 * submitted by a later pump. */
static bool orders_submit_marks(struct power *p, struct turn *turn)
{
    bool any = false;
    while (p->marking.first) {
        const struct order *o = p->marking.first;
        struct command command = {.kind = COMMAND_OUTBOX_BEGUN, .actor = STR("daemon")};
        command.request = p->request_first - o->id;
        command.outbox_begun.outbox_id = o->id;
        if (!power_order_has_row(turn_core(turn), o))
            order_drop(p, order_list_pop(&p->marking));
        else if (turn_submit(turn, &command) != OK)
            break;
        else
            ignore(order_list_pop(&p->marking), "power_on_result() finds it by its id");
        any = true;
    }
    return any;
}

void power_on_result(struct power *p, int64_t request, const struct outcome *outcome, err why)
{
    struct order *o = id_map_find(&p->by_row, p->request_first - request);
    if (o && o->is_probe) {
        ssh_probe_on_result(p->probes, (uint64_t)o->id, p->turn ? turn_core(p->turn) : NULL,
                            outcome, why);
        return;
    }
    must(o && o->stage == ORDER_MARKING);
    p->wake(p->self);
    if (why == ERR_REFUSED) {
        order_drop(p, o);
    } else if (why != OK) {
        order_request_mark(p, o);
    } else {
        o->is_marked = true;
        order_set_pending(p, o);
    }
}

/* ---- tries ---- */

/* True if the cause may be temporary and a repetition is safe. After a timeout or a lost connection
 * it is unknown whether the action was performed, so only idempotent actions are repeated. A
 * reading is not repeated: its failure is a result, and the client can order another one. */
static bool order_may_be_retried(const struct order *o, enum hammer_end end)
{
    if (order_is_reading(o))
        return false;
    if (end == HAMMER_END_TIMEOUT || end == HAMMER_END_LOST)
        return order_is_idempotent(o);
    return end == HAMMER_END_BUSY || end == HAMMER_END_REFUSED || end == HAMMER_END_UNREACHABLE;
}

static int64_t order_left_ms(const struct order *o)
{
    return o->begun_ms + TRYING_MS_MAX - sys_mono_ms();
}

static void power_wake_pump(void *self)
{
    const struct power *p = self;
    p->wake(p->self);
}

static void orders_wake_sleepers(struct power *p)
{
    const int64_t now_ms = sys_mono_ms();
    while (p->sleepers && p->sleepers->wake_ms <= now_ms) {
        struct order *o = p->sleepers;
        p->sleepers = o->next;
        order_set_pending(p, o);
    }
    power_set_timer(p);
}

static void order_log_result(const struct order *o)
{
    log_with(
        o->failed ? LOG_WARNING : LOG_NOTICE,
        LOG_FIELDS(LOG_S("node", o->node), LOG_S("action", o->action), LOG_S("hammer", o->hammer)),
        "%.*s", STR_FMT_ARGS(o->text));
}

static void order_finish_action(struct power *p, struct order *o,
                                const struct hammer_result *result)
{
    const bool failed = result->end != HAMMER_END_DONE;
    const bool is_boot = str_starts(o->action, STR("boot "));
    o->reason = hammer_end_reason(result->end);
    o->state = failed ? POWER_STATE_UNKNOWN : power_state_of(result->value);
    o->needs_reading = !o->state && !is_boot && !order_is_reading(o);
    char tries[48] = "";
    if (o->tries > 1)
        snprintf(tries, sizeof tries, failed ? ", given up after %u tries" : " (%u tries)",
                 o->tries);
    if (failed)
        power_order_set_result(
            p, o, true, "%.*s of node \"%.*s\" by hammer \"%.*s\" failed (%s%s): %.*s",
            STR_FMT_ARGS(o->action), STR_FMT_ARGS(o->node), STR_FMT_ARGS(o->hammer),
            hammer_end_word(result->end), tries, STR_FMT_ARGS(result->text));
    else
        power_order_set_result(p, o, false, "%.*s of node \"%.*s\" by hammer \"%.*s\" done%s: %.*s",
                               STR_FMT_ARGS(o->action), STR_FMT_ARGS(o->node),
                               STR_FMT_ARGS(o->hammer), tries, STR_FMT_ARGS(result->text));
    order_log_result(o);
    /* A failed reading without a driver means to the core that no request was sent to the machine,
     * so that it does not count as a failed reading of the node (ADR 0077). */
    if (order_is_reading(o) && result->ended_in_queue)
        o->hammer = STR("");
}

static void order_on_hammer_result(void *self, uint64_t key, const struct hammer_result *result)
{
    static const int64_t pauses_ms[TRIES_MAX] = {2000, 10 * 1000, 0};
    struct power *p = self;
    if (power_poll_answered(p, key, result))
        return;
    struct order *o = id_map_find(&p->by_row, (int64_t)key);
    must(o && o->stage == ORDER_RUNNING && o->tries > 0);
    const int64_t pause_ms = pauses_ms[o->tries - 1];
    if (o->tries < TRIES_MAX && order_left_ms(o) > pause_ms &&
        order_may_be_retried(o, result->end)) {
        log_with(LOG_INFO,
                 LOG_FIELDS(LOG_S("node", o->node), LOG_S("action", o->action),
                            LOG_S("hammer", o->hammer)),
                 "%.*s of node \"%.*s\" failed (try %u of %u), trying again in %lld s: %.*s",
                 STR_FMT_ARGS(o->action), STR_FMT_ARGS(o->node), o->tries, TRIES_MAX,
                 (long long)pause_ms / 1000, STR_FMT_ARGS(result->text));
        o->text = str_copy(&o->arena, str_clip(result->text, TEXT_SIZE));
        power_sleep(p, o, sys_mono_ms() + pause_ms);
        return;
    }
    order_finish_action(p, o, result);
}

/* ---- power actions ---- */

static void order_refuse_unoffered(struct power *p, struct order *o,
                                   const struct node_hammers *bound)
{
    const struct str all =
        bound->count ? hammers_methods(&o->arena, bound->at, bound->count) : STR("");
    o->reason = REASON_POWER_NOT_OFFERED;
    power_order_set_result(p, o, true, "%.*s of node \"%.*s\" is not possible: %s%.*s",
                           STR_FMT_ARGS(o->action), STR_FMT_ARGS(o->node),
                           bound->count ? "its hammers offer "
                                        : "it has no usable hammer; create one for the node",
                           STR_FMT_ARGS(all));
    order_log_result(o);
}

static void order_start_action(struct power *p, const struct core *core, struct order *o)
{
    struct arena arena = {0};
    const bool boots = str_starts(o->action, STR("boot "));
    const struct node_hammers bound = node_hammers_of(core, o->node_id, &arena);
    struct hammer_order order = {
        .key = (uint64_t)o->id,
        .node_id = o->node_id,
        .node_name = o->node,
        .hammers = bound.at,
        .hammer_count = bound.count,
        .category = boots ? HAMMER_BOOT : HAMMER_POWER,
        .method =
            boots ? str_slice(o->action, (uint32_t)strlen("boot "), o->action.len) : o->action,
    };
    const uint32_t chosen = hammers_choose(bound.at, bound.count, order.category, order.method);
    /* Refuse before marking: an action that no hammer offers needs no mark. */
    if (chosen == bound.count || (!o->is_marked && !order_is_idempotent(o))) {
        if (chosen == bound.count)
            order_refuse_unoffered(p, o, &bound);
        else
            order_request_mark(p, o);
        arena_fini(&arena);
        return;
    }
    if (o->tries++ == 0)
        o->begun_ms = sys_mono_ms();
    const int64_t whole_ms = order_left_ms(o) > 1 ? order_left_ms(o) : 1;
    order.deadline_ms =
        (uint32_t)(order_is_idempotent(o) && whole_ms > TRY_MS_MAX ? TRY_MS_MAX : whole_ms);
    o->hammer = str_copy(&o->arena, bound.names[chosen]);
    /* A poll of the node would delay the action, or read a state that the action is changing. */
    power_poll_stop(p, o->node_id);
    /* A reading leaves the queue when it starts, so that a slow machine delays no later order. */
    if (order_is_reading(o)) {
        order.is_reading = true;
        order.deadline_ms = READING_MS_MAX;
        o->is_unqueued = true;
        order_dequeue_from_node(p, o);
    }
    hammers_submit(p->hammers, &order);
    arena_fini(&arena);
}

/* ---- the pump ---- */

static void power_order_start(struct power *p, const struct core *core, struct order *o)
{
    struct record node, settings;
    o->stage = ORDER_RUNNING;
    if (o->is_probe && !power_order_has_row(core, o)) {
        power_order_forget(p, o);
        return;
    }
    if (o->is_marked && !power_order_has_row(core, o)) {
        order_drop(p, o); /* the row was deleted while the mark was being stored */
        return;
    }
    if (!core_record(core, TABLE_NODE, o->node_id, &node)) {
        power_order_set_result(p, o, false, "the node was deleted: no machine was switched");
        return;
    }
    o->node = str_copy(&o->arena, node.node.name);
    if (o->was_begun) {
        o->reason = REASON_POWER_INTERRUPTED;
        power_order_set_result(
            p, o, true,
            "the daemon ended during %.*s of node \"%.*s\": it is unknown whether the machine "
            "performed it; check the machine, then order it again if necessary",
            STR_FMT_ARGS(o->action), STR_FMT_ARGS(o->node));
        order_log_result(o);
    } else if (core_record(core, TABLE_SETTINGS, 1, &settings) && settings.settings.test_jig) {
        power_order_set_result(p, o, false,
                               "the test jig is enabled: no machine was switched or probed");
    } else if (o->is_probe) {
        power_probe_start(p, core, o);
    } else {
        order_start_action(p, core, o);
    }
}

bool power_pump(struct power *p, struct turn *turn)
{
    const struct core *core = turn_core(turn);
    bool any = false;
    p->turn = turn;
    /* Orders wait for the ssh key of the installation and for the first known_hosts file: without
     * them every use of ssh would fail. */
    const bool is_ready = !p->known_hosts || known_hosts_is_ready(p->known_hosts);
    if (core && !ssh_keys_is_busy(p->ssh) && is_ready) {
        orders_wake_sleepers(p);
        for (struct order *o = order_list_pop(&p->pending); o; o = order_list_pop(&p->pending))
            power_order_start(p, core, o);
        any = ssh_probe_pump(p->probes);
    }
    if (core) {
        orders_forget_settled(p, turn);
        any |= orders_submit_marks(p, turn);
    }
    any = power_poll_pump(p, turn) || any;
    return orders_submit_results(p, turn) || any;
}

/* ---- the port ---- */

static void order_receive(struct power *p, const struct outbox_record *row, bool is_probe)
{
    struct order *o = id_map_find(&p->by_row, row->id);
    p->wake(p->self);
    if (o && o->stage == ORDER_REPORTED) {
        o->stage = ORDER_DONE; /* the batch with the result was lost: report it again */
        return;
    }
    if (o)
        return;
    o = calloc(1, sizeof *o);
    must(o);
    o->id = row->id;
    o->node_id = row->object_id;
    o->is_probe = is_probe;
    o->was_begun = row->begun;
    o->action = str_copy(&o->arena, row->detail);
    id_map_put(&p->by_row, o->id, o);
    if (is_probe)
        order_set_pending(p, o);
    else
        order_enqueue_on_node(p, o);
}

static void power_port_act(void *self, const struct outbox_record *row)
{
    order_receive(self, row, false);
}

static void power_port_probe(void *self, const struct outbox_record *row)
{
    order_receive(self, row, true);
}

struct power_port power_port(struct power *p)
{
    return (struct power_port){.self = p, .act = power_port_act, .probe = power_port_probe};
}

/* ---- open and close ---- */

static void power_on_timer_closed(uv_handle_t *handle)
{
    struct power *p = handle->data;
    if (--p->open_timers == 0)
        free(p);
}

static bool power_open_hammers(struct power *p, const struct power_setup *setup)
{
    const struct hammers_options options = {.scratch = setup->scratch,
                                            .ssh_key = setup->ssh->key_path};
    const struct hammers_callbacks callbacks = {.self = p, .done = order_on_hammer_result};
    if (mkdir(setup->scratch, 0700) != 0 && errno != EEXIST) {
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", setup->scratch)),
                 "power drivers not started: directory \"%s\" cannot be created: %s",
                 setup->scratch, strerror(errno));
        return false;
    }
    p->hammers = hammers_open(setup->loop, &options, callbacks);
    if (!p->hammers)
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("path", setup->scratch)),
                 "power drivers not started: \"%s\" must be a directory of the daemon's user with "
                 "mode 0700, and libcurl must be usable",
                 setup->scratch);
    return p->hammers != NULL;
}

struct power *power_open(const struct power_setup *setup)
{
    struct power *p = calloc(1, sizeof *p);
    must(p);
    *p = (struct power){.loop = setup->loop,
                        .self = setup->self,
                        .wake = setup->wake,
                        .ssh = setup->ssh,
                        .known_hosts = setup->known_hosts,
                        .probe_ms = setup->probe_ms,
                        .request_first = setup->request_first};
    if (!power_open_hammers(p, setup)) {
        free(p);
        return NULL;
    }
    p->probes = ssh_probe_open(setup->loop, setup->ssh, setup->known_hosts,
                               (struct ssh_probe_callbacks){
                                   p, power_wake_pump, power_probe_pin_keys, power_probe_on_result,
                                   power_probe_is_wanted, setup->tool_path});
    must(uv_timer_init(setup->loop, &p->timer) == 0);
    p->timer.data = p;
    power_poll_open(p, setup->poll_s);
    p->open_timers = 2;
    return p;
}

void power_close(struct power *p)
{
    if (!p)
        return;
    hammers_close(p->hammers);
    ssh_probe_close(p->probes);
    for (uint32_t i = 0; i < p->by_row.room; i++)
        if (p->by_row.slots[i].id)
            order_free(p->by_row.slots[i].thing);
    id_map_fini(&p->by_row);
    id_map_fini(&p->by_node);
    power_poll_close(p, power_on_timer_closed);
    uv_close((uv_handle_t *)&p->timer, power_on_timer_closed);
}
