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
#include "power/transport.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "turn/turn.h"

/* ---- lists ---- */

static void list_add(struct list *l, struct order *o)
{
    o->next = NULL;
    if (l->last)
        l->last->next = o;
    else
        l->first = o;
    l->last = o;
}

static struct order *list_take(struct list *l)
{
    struct order *o = l->first;
    if (o)
        l->first = o->next;
    if (!l->first)
        l->last = NULL;
    return o;
}

static void note(struct power *p, struct order *o)
{
    o->stage = NOTED;
    list_add(&p->noted, o);
}

/* Behind those of its node that came before. */
static void stand_in_line(struct power *p, struct order *o)
{
    struct order *head = id_map_find(&p->by_node, o->node_id);
    o->last = o;
    if (head) {
        head->last->behind = o;
        head->last = o;
        return;
    }
    id_map_put(&p->by_node, o->node_id, o);
    note(p, o);
}

static void leave_line(struct power *p, struct order *o)
{
    struct order *next = o->behind;
    must(id_map_find(&p->by_node, o->node_id) == o);
    if (!next) {
        id_map_remove(&p->by_node, o->node_id);
        return;
    }
    next->last = o->last;
    id_map_put(&p->by_node, o->node_id, next);
    note(p, next);
    p->wake(p->self);
}

static void order_free(struct order *o)
{
    arena_fini(&o->arena);
    free(o);
}

/* ---- answers ---- */

__attribute__((format(printf, 4, 5))) static void answer(struct power *p, struct order *o,
                                                         bool failed, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list args;
    va_start(args, format);
    const int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    must(len >= 0);
    uint32_t kept = (uint32_t)len < sizeof text ? (uint32_t)len : (uint32_t)sizeof text - 1;
    while (!str_is_clean((struct str){text, kept})) /* cut in the middle of a character */
        kept--;
    o->text = str_copy(&o->arena, (struct str){text, kept});
    o->failed = failed;
    o->stage = ANSWERED;
    list_add(&p->answered, o);
    if (!o->is_probe && !o->is_out_of_line)
        leave_line(p, o);
    p->wake(p->self);
}

static err hand_over(const struct order *o, struct turn *turn)
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

/* What is refused for good is ordered again after the next load, and answered from memory. */
static bool tell(struct power *p, struct turn *turn)
{
    bool any = false;
    while (p->answered.first && hand_over(p->answered.first, turn) != ERR_LIMIT) {
        struct order *o = list_take(&p->answered);
        o->stage = TOLD;
        o->gone_turn = 0;
        list_add(&p->told, o);
        any = true;
    }
    return any;
}

static bool has_row(const struct core *core, const struct order *o)
{
    struct record record;
    return core_record(core, TABLE_OUTBOX, o->id, &record);
}

/* Its row is gone, and so it stays: no store will ever show it again. */
static bool is_settled(struct order *o, const struct turn *turn)
{
    if (o->gone_turn && o->loads == turn_loads(turn))
        return turn_durable(turn) >= o->gone_turn;
    o->gone_turn = 0;
    if (has_row(turn_core(turn), o))
        return false;
    o->gone_turn = turn_seen(turn);
    o->loads = turn_loads(turn);
    return turn_durable(turn) >= o->gone_turn;
}

static void forget(struct power *p, struct order *o)
{
    id_map_remove(&p->by_row, o->id);
    if (o->wants_reading)
        power_poll_want(p, o->node_id);
    order_free(o);
}

static void forget_settled(struct power *p, const struct turn *turn)
{
    struct list told = p->told;
    p->told = (struct list){0};
    for (struct order *o = list_take(&told); o; o = list_take(&told)) {
        if (o->stage == ANSWERED)
            list_add(&p->answered, o); /* it was asked for again */
        else if (!is_settled(o, turn))
            list_add(&p->told, o);
        else
            forget(p, o);
    }
}

/* ---- marks ---- */

/* To do it twice is to do it once. */
static bool is_harmless(const struct order *o)
{
    return hammer_words_have(STR("on off status"), o->action) ||
           str_starts(o->action, STR("boot "));
}

static bool is_reading(const struct order *o)
{
    return str_eq(o->action, STR("status"));
}

/* Nobody wants it any more, and nothing was done. */
static void drop(struct power *p, struct order *o)
{
    leave_line(p, o);
    forget(p, o);
}

static void ask_for_mark(struct power *p, struct order *o)
{
    o->stage = MARKING;
    list_add(&p->marking, o);
}

/* After a reload its row may be gone. What the turn does not take now is taken later. */
static bool submit_marks(struct power *p, struct turn *turn)
{
    bool any = false;
    while (p->marking.first) {
        const struct order *o = p->marking.first;
        struct command command = {.kind = COMMAND_OUTBOX_BEGUN, .actor = STR("daemon")};
        command.request = p->request_first - o->id;
        command.outbox_begun.outbox_id = o->id;
        if (!has_row(turn_core(turn), o))
            drop(p, list_take(&p->marking));
        else if (turn_submit(turn, &command) != OK)
            break;
        else
            ignore(list_take(&p->marking), "it is found by its id when its answer comes");
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
    must(o && o->stage == MARKING);
    p->wake(p->self);
    if (why == ERR_REFUSED) {
        drop(p, o);
    } else if (why != OK) {
        ask_for_mark(p, o);
    } else {
        o->is_marked = true;
        note(p, o);
    }
}

/* ---- trying ---- */

/* May it pass? After some ends it is not known whether it happened. A reading is not tried again:
 * its failure is an answer, and the one who asked can ask again. */
static bool is_worth_a_try(const struct order *o, enum hammer_end end)
{
    if (is_reading(o))
        return false;
    if (end == HAMMER_END_TIMEOUT || end == HAMMER_END_LOST)
        return is_harmless(o);
    return end == HAMMER_END_BUSY || end == HAMMER_END_REFUSED || end == HAMMER_END_UNREACHABLE;
}

static int64_t left_ms(const struct order *o)
{
    return o->begun_ms + TRYING_MS_MAX - sys_mono_ms();
}

static void wake_pump(void *self)
{
    const struct power *p = self;
    p->wake(p->self);
}

static void wake_sleepers(struct power *p)
{
    const int64_t now_ms = sys_mono_ms();
    while (p->sleepers && p->sleepers->wake_ms <= now_ms) {
        struct order *o = p->sleepers;
        p->sleepers = o->next;
        note(p, o);
    }
    power_set_timer(p);
}

static void tell_log(const struct order *o)
{
    log_with(
        o->failed ? LOG_WARNING : LOG_NOTICE,
        LOG_FIELDS(LOG_S("node", o->node), LOG_S("action", o->action), LOG_S("hammer", o->hammer)),
        "%.*s", STR_FMT_ARGS(o->text));
}

static void finish(struct power *p, struct order *o, const struct hammer_result *result)
{
    const bool failed = result->end != HAMMER_END_DONE;
    const bool is_boot = str_starts(o->action, STR("boot "));
    o->reason = hammer_end_reason(result->end);
    o->state = failed ? POWER_STATE_UNKNOWN : power_state_of(result->value);
    o->wants_reading = !o->state && !is_boot && !is_reading(o);
    char tries[48] = "";
    if (o->tries > 1)
        snprintf(tries, sizeof tries, " (tried %u times)", o->tries);
    answer(p, o, failed, "%.*s of node \"%.*s\" by its hammer \"%.*s\"%s%s%s: %.*s",
           STR_FMT_ARGS(o->action), STR_FMT_ARGS(o->node), STR_FMT_ARGS(o->hammer),
           failed ? " failed, " : "", failed ? hammer_end_word(result->end) : "", tries,
           STR_FMT_ARGS(result->text));
    tell_log(o);
    /* A failed reading without a driver means to the core that the machine was not asked. */
    if (is_reading(o) && result->is_unserved)
        o->hammer = STR("");
}

static void hammered(void *self, uint64_t key, const struct hammer_result *result)
{
    static const int64_t pauses_ms[TRIES_MAX] = {2000, 10 * 1000, 0};
    struct power *p = self;
    if (power_poll_answered(p, key, result))
        return;
    struct order *o = id_map_find(&p->by_row, (int64_t)key);
    must(o && o->stage == UNDER_WAY && o->tries > 0);
    const int64_t pause_ms = pauses_ms[o->tries - 1];
    if (o->tries < TRIES_MAX && left_ms(o) > pause_ms && is_worth_a_try(o, result->end)) {
        log_with(LOG_INFO, LOG_FIELDS(LOG_S("node", o->node), LOG_S("action", o->action)),
                 "%.*s, trying again in %lld s", STR_FMT_ARGS(result->text),
                 (long long)pause_ms / 1000);
        o->text = str_copy(&o->arena, str_clip(result->text, TEXT_SIZE));
        power_sleep(p, o, sys_mono_ms() + pause_ms);
        return;
    }
    finish(p, o, result);
}

/* ---- orders for hammers ---- */

static void refuse(struct power *p, struct order *o, const struct node_hammers *bound)
{
    const struct str all =
        bound->count ? hammers_methods(&o->arena, bound->at, bound->count) : STR("");
    o->reason = REASON_POWER_NOT_OFFERED;
    answer(p, o, true, "%.*s of node \"%.*s\" is not possible: %s%.*s", STR_FMT_ARGS(o->action),
           STR_FMT_ARGS(o->node), bound->count ? "its hammers offer " : "it has no hammer to use",
           STR_FMT_ARGS(all));
    tell_log(o);
}

static void lift_hammer(struct power *p, const struct core *core, struct order *o)
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
    if (chosen == bound.count || (!o->is_marked && !is_harmless(o))) {
        if (chosen == bound.count)
            refuse(p, o, &bound);
        else
            ask_for_mark(p, o);
        arena_fini(&arena);
        return;
    }
    if (o->tries++ == 0)
        o->begun_ms = sys_mono_ms();
    const int64_t whole_ms = left_ms(o) > 1 ? left_ms(o) : 1;
    order.deadline_ms = (uint32_t)(is_harmless(o) && whole_ms > TRY_MS_MAX ? TRY_MS_MAX : whole_ms);
    o->hammer = str_copy(&o->arena, bound.names[chosen]);
    power_poll_stop(p, o->node_id);
    /* A reading holds up no order that comes after it, however long its answer takes. */
    if (is_reading(o)) {
        order.is_reading = true;
        order.deadline_ms = READING_MS_MAX;
        o->is_out_of_line = true;
        leave_line(p, o);
    }
    hammers_do(p->hammers, &order);
    arena_fini(&arena);
}

/* ---- what was noted ---- */

static bool is_wanted(void *self, uint64_t key)
{
    const struct power *p = self;
    const struct order *o = id_map_find(&p->by_row, (int64_t)key);
    must(o && p->turn && turn_core(p->turn));
    return has_row(turn_core(p->turn), o);
}

static void probed(void *self, uint64_t key, bool answers, const struct reason *said)
{
    struct power *p = self;
    struct order *o = id_map_find(&p->by_row, (int64_t)key);
    must(o && o->stage == UNDER_WAY);
    if (!is_wanted(p, key)) {
        forget(p, o); /* if a store that is loaded still has its row, that is a new order */
        return;
    }
    log_with(answers ? LOG_INFO : LOG_WARNING, LOG_FIELDS(LOG_S("node", o->node)),
             "node \"%.*s\" %s: %.*s", STR_FMT_ARGS(o->node),
             answers ? "answers" : "does not answer", STR_FMT_ARGS(said->text));
    o->reason = said->code;
    o->subject = str_copy(&o->arena, said->subject);
    answer(p, o, !answers, "%.*s", STR_FMT_ARGS(said->text));
}

/* The boot generation that the keys hold for is that of the moment when the machine was asked. */
static err pin(void *self, uint64_t key, struct str keys, bool is_own)
{
    struct power *p = self;
    const struct order *o = id_map_find(&p->by_row, (int64_t)key);
    must(o && o->stage == UNDER_WAY && o->is_probe && p->turn);
    struct command command = {.kind = COMMAND_NODE_PIN_KEYS, .actor = STR("daemon")};
    command.request = p->request_first - o->id;
    command.node_pin_keys.id = o->node_id;
    command.node_pin_keys.keys = keys;
    command.node_pin_keys.boot = o->boot;
    command.node_pin_keys.is_own = is_own;
    command.node_pin_keys.outbox_id = o->id;
    return turn_submit(p->turn, &command);
}

static void ask_machine(struct power *p, const struct core *core, struct order *o)
{
    struct record node;
    struct probe_order ask = {.key = (uint64_t)o->id, .node = o->node, .patience_ms = p->probe_ms};
    must(core_record(core, TABLE_NODE, o->node_id, &node));
    must(transport_of(core, o->node_id, &o->arena, &ask.transport));
    if (ask.transport.kind == TRANSPORT_LOCAL) {
        probed(p, ask.key, true, &(struct reason){.text = STR("it is this machine")});
        return;
    }
    o->boot = node.node.boot_generation;
    ask.is_pinned = known_hosts_has_pins(core, o->node_id, o->boot, &o->arena);
    ssh_probe_ask(p->probes, &ask);
}

static void begin(struct power *p, const struct core *core, struct order *o)
{
    struct record node, settings;
    o->stage = UNDER_WAY;
    if (o->is_probe && !has_row(core, o)) {
        forget(p, o);
        return;
    }
    if (o->is_marked && !has_row(core, o)) {
        drop(p, o); /* it went while the mark was on its way */
        return;
    }
    if (!core_record(core, TABLE_NODE, o->node_id, &node)) {
        answer(p, o, false, "the node is gone: nothing to switch");
        return;
    }
    o->node = str_copy(&o->arena, node.node.name);
    if (o->was_begun) {
        o->reason = REASON_POWER_INTERRUPTED;
        answer(p, o, true,
               "the daemon ended while it was under way; whether %.*s was done is not known",
               STR_FMT_ARGS(o->action));
        tell_log(o);
    } else if (core_record(core, TABLE_SETTINGS, 1, &settings) && settings.settings.test_jig) {
        answer(p, o, false, "the test jig is on: nothing was done");
    } else if (o->is_probe) {
        ask_machine(p, core, o);
    } else {
        lift_hammer(p, core, o);
    }
}

/* What a row is about is read off the core, and what needs the key waits for it. */
static void begin_noted(struct power *p, const struct core *core)
{
    wake_sleepers(p);
    for (struct order *o = list_take(&p->noted); o; o = list_take(&p->noted))
        begin(p, core, o);
}

bool power_pump(struct power *p, struct turn *turn)
{
    const struct core *core = turn_core(turn);
    bool any = false;
    p->turn = turn;
    const bool is_ready = !p->known_hosts || known_hosts_is_ready(p->known_hosts);
    if (core && !ssh_keys_is_busy(p->ssh) && is_ready) {
        begin_noted(p, core);
        any = ssh_probe_pump(p->probes);
    }
    if (core) {
        forget_settled(p, turn);
        any |= submit_marks(p, turn);
    }
    any = power_poll_pump(p, turn) || any;
    return tell(p, turn) || any;
}

/* ---- the port ---- */

static void take(struct power *p, const struct outbox_record *row, bool is_probe)
{
    struct order *o = id_map_find(&p->by_row, row->id);
    p->wake(p->self);
    if (o && o->stage == TOLD) {
        o->stage = ANSWERED; /* whoever was told has forgotten it */
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
        note(p, o);
    else
        stand_in_line(p, o);
}

static void act(void *self, const struct outbox_record *row)
{
    take(self, row, false);
}

static void probe(void *self, const struct outbox_record *row)
{
    take(self, row, true);
}

struct power_port power_port(struct power *p)
{
    return (struct power_port){.self = p, .act = act, .probe = probe};
}

/* ---- from open to close ---- */

static void timer_closed(uv_handle_t *handle)
{
    struct power *p = handle->data;
    if (--p->open_timers == 0)
        free(p);
}

static bool open_hammers(struct power *p, const struct power_setup *setup)
{
    const struct hammers_options options = {.scratch = setup->scratch,
                                            .ssh_key = setup->ssh->key_path};
    const struct hammers_seams seams = {.self = p, .done = hammered};
    if (mkdir(setup->scratch, 0700) != 0 && errno != EEXIST) {
        log_print(LOG_ERROR, "the directory \"%s\" cannot be made: %s", setup->scratch,
                  strerror(errno));
        return false;
    }
    p->hammers = hammers_open(setup->loop, &options, seams);
    if (!p->hammers)
        log_print(LOG_ERROR, "the hammers do not start; \"%s\" must be a directory of ours alone",
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
    if (!open_hammers(p, setup)) {
        free(p);
        return NULL;
    }
    p->probes = ssh_probe_open(
        setup->loop, setup->ssh, setup->known_hosts,
        (struct ssh_probe_seams){p, wake_pump, pin, probed, is_wanted, setup->tool_path});
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
    power_poll_close(p, timer_closed);
    uv_close((uv_handle_t *)&p->timer, timer_closed);
}
