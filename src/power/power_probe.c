/* power_probe.c - outbox rows that order a probe, for power_orders.c.
 *
 * A probe is started by the pump and performed by ssh_probe.c, which calls back for the command
 * that pins the host keys and for the result. power_orders.c owns the order; this file has no
 * state. A row may disappear while its probe is in progress; the result is then dropped. A machine
 * that does not answer is a failed result with a reason code, which the core stores for the node.
 */
#include "core/core.h"
#include "power/known_hosts.h"
#include "power/power_orders_private.h"
#include "power/ssh_probe.h"
#include "power/transport.h"
#include "sys/log.h"
#include "turn/turn.h"

bool power_probe_is_wanted(void *self, uint64_t key)
{
    const struct power *p = self;
    const struct order *o = id_map_find(&p->by_row, (int64_t)key);
    must(o && p->turn && turn_core(p->turn));
    return power_order_has_row(turn_core(p->turn), o);
}

void power_probe_on_result(void *self, uint64_t key, bool answers, const struct reason *reason)
{
    struct power *p = self;
    struct order *o = id_map_find(&p->by_row, (int64_t)key);
    must(o && o->stage == ORDER_RUNNING);
    if (!power_probe_is_wanted(p, key)) {
        power_order_forget(p, o); /* if the row reappears with a load, it becomes a new order */
        return;
    }
    log_with(answers ? LOG_INFO : LOG_WARNING, LOG_FIELDS(LOG_S("node", o->node)),
             "node \"%.*s\" %s: %.*s", STR_FMT_ARGS(o->node),
             answers ? "answers" : "does not answer", STR_FMT_ARGS(reason->text));
    o->reason = reason->code;
    o->subject = str_copy(&o->arena, reason->subject);
    power_order_set_result(p, o, !answers, "%.*s", STR_FMT_ARGS(reason->text));
}

/* The keys are valid for the boot generation at the start of the probe: a machine that was booted
 * anew meanwhile has other keys. */
err power_probe_pin_keys(void *self, uint64_t key, struct str keys, bool is_own)
{
    struct power *p = self;
    const struct order *o = id_map_find(&p->by_row, (int64_t)key);
    must(o && o->stage == ORDER_RUNNING && o->is_probe && p->turn);
    struct command command = {.kind = COMMAND_NODE_PIN_KEYS, .actor = STR("daemon")};
    command.request = p->request_first - o->id;
    command.node_pin_keys.id = o->node_id;
    command.node_pin_keys.keys = keys;
    command.node_pin_keys.boot = o->boot;
    command.node_pin_keys.is_own = is_own;
    command.node_pin_keys.outbox_id = o->id;
    return turn_submit(p->turn, &command);
}

void power_probe_start(struct power *p, const struct core *core, struct order *o)
{
    struct record node;
    struct probe_order ask = {.key = (uint64_t)o->id, .node = o->node, .patience_ms = p->probe_ms};
    must(core_record(core, TABLE_NODE, o->node_id, &node));
    must(transport_of(core, o->node_id, &o->arena, &ask.transport));
    if (ask.transport.kind == TRANSPORT_LOCAL) {
        power_probe_on_result(
            p, ask.key, true,
            &(struct reason){.text = STR("it is the machine that the daemon runs on")});
        return;
    }
    o->boot = node.node.boot_generation;
    ask.is_pinned = known_hosts_has_pins(core, o->node_id, o->boot, &o->arena);
    ssh_probe_ask(p->probes, &ask);
}
