/* power_poll.c - readings of power states without an order: of each node every `power-poll`
 * seconds, and after an action whose driver does not report the state (ADR 0077).
 *
 * Owns each reading from its start until its result is submitted or dropped, and the list of nodes
 * to read after actions. A node has at most one reading.
 *
 * The number of readings in progress is bounded, each has a deadline, and an order for a node
 * cancels its reading: a service processor that hangs delays no order and no other machine. A round
 * visits the nodes by ascending id. The next round starts when its time has come and the previous
 * one has ended, so a slow fleet is read less often instead of with more connections.
 *
 * A result is submitted with the number of the newest order at the start of the reading; the core
 * ignores it if another order was performed since. A result that is lost with a batch is not
 * repeated, because the next round reads the node again.
 *
 * Failure: a failed reading is submitted with its reason, and the core keeps the last known state.
 * It is dropped if it followed an action (the machine may be booting) or never left the queue. */
#include <stdlib.h>

#include "base/json/json.h"
#include "core/core.h"
#include "power/hammer/hammer_ops.h"
#include "power/node_hammers.h"
#include "power/power_orders_private.h"
#include "power/ssh_keys.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "turn/turn.h"

enum {
    READINGS_MAX = 32,        /* in progress */
    NODES_PER_PUMP_MAX = 256, /* visited in one call of the pump */
    WANTED_MAX = 1024         /* readings after actions; more are left to the next round */
};
/* Distinguishes the keys of readings from those of orders, which are ids of rows. */
#define READING_KEY (UINT64_C(1) << 63)

/* The reading of one node: in progress, or with a result that the turn has not accepted yet. */
struct reading {
    struct arena arena;
    int64_t node_id;
    int64_t order; /* node.power_order at the start: the number of the newest order */
    struct str node, driver, text;
    enum power_state state;
    enum reason_code reason;
    bool is_answered;     /* the result is in the list `answered` of the poll */
    bool is_after_action; /* requested by power_poll_want(), not by a round */
    struct reading *next; /* in the list of results */
};

enum power_state power_state_of(struct str value)
{
    struct arena arena = {0};
    struct json *tree;
    uint32_t at;
    const char *why;
    enum power_state state = POWER_STATE_UNKNOWN;
    if (json_read(&arena, value, &tree, &at, &why) == OK && tree->kind == JSON_OBJECT) {
        const struct json *word = json_get(tree, STR("power"));
        if (word && word->kind == JSON_STRING)
            state = power_state_find(word->text);
    }
    arena_fini(&arena);
    return state;
}

static void reading_free(struct power_poll *poll, struct reading *r)
{
    id_map_remove(&poll->by_node, r->node_id);
    arena_fini(&r->arena);
    free(r);
}

/* ---- start and cancel ---- */

/* Does nothing if no hammer of the node offers `status`, or if the node has orders: the state is
 * read after them. */
static void reading_start(struct power *p, const struct core *core, int64_t node_id,
                          bool is_after_action)
{
    struct power_poll *poll = &p->poll;
    struct record node;
    if (id_map_find(&poll->by_node, node_id) || id_map_find(&p->by_node, node_id) ||
        !core_record(core, TABLE_NODE, node_id, &node))
        return;
    struct arena arena = {0};
    const struct node_hammers bound = node_hammers_of(core, node_id, &arena);
    const uint32_t chosen = hammers_choose(bound.at, bound.count, HAMMER_POWER, STR("status"));
    if (chosen < bound.count) {
        struct reading *r = calloc(1, sizeof *r);
        must(r);
        r->node_id = node_id;
        r->order = node.node.power_order;
        r->is_after_action = is_after_action;
        r->node = str_copy(&r->arena, node.node.name);
        r->driver = str_copy(&r->arena, bound.names[chosen]);
        id_map_put(&poll->by_node, node_id, r);
        poll->running++;
        hammers_submit(p->hammers, &(struct hammer_order){.key = READING_KEY | (uint64_t)node_id,
                                                          .node_id = node_id,
                                                          .node_name = r->node,
                                                          .hammers = bound.at,
                                                          .hammer_count = bound.count,
                                                          .category = HAMMER_POWER,
                                                          .method = STR("status"),
                                                          .is_reading = true,
                                                          .deadline_ms = READING_MS_MAX});
    }
    arena_fini(&arena);
}

void power_poll_want(struct power *p, int64_t node_id)
{
    struct power_poll *poll = &p->poll;
    if (poll->wanted_count == WANTED_MAX)
        return;
    poll->wanted = realloc(poll->wanted, (poll->wanted_count + 1) * sizeof *poll->wanted);
    must(poll->wanted);
    poll->wanted[poll->wanted_count++] = node_id;
    p->wake(p->self);
}

void power_poll_stop(struct power *p, int64_t node_id)
{
    struct reading *r = id_map_find(&p->poll.by_node, node_id);
    if (!r || r->is_answered)
        return;
    hammers_cancel(p->hammers, READING_KEY | (uint64_t)node_id);
    p->poll.running--;
    reading_free(&p->poll, r);
}

/* ---- results ---- */

bool power_poll_answered(struct power *p, uint64_t key, const struct hammer_result *result)
{
    if (!(key & READING_KEY))
        return false;
    struct power_poll *poll = &p->poll;
    struct reading *r = id_map_find(&poll->by_node, (int64_t)(key & ~READING_KEY));
    must(r && !r->is_answered);
    poll->running--;
    p->wake(p->self);
    if (result->ended_in_queue) {
        reading_free(poll, r); /* no request was sent; the next round reads the node */
        return true;
    }
    r->is_answered = true;
    r->reason = hammer_end_reason(result->end);
    r->text = str_copy(&r->arena, str_clip(result->text, TEXT_SIZE));
    r->state = r->reason ? POWER_STATE_UNKNOWN : power_state_of(result->value);
    if (r->reason)
        log_with(LOG_INFO, LOG_FIELDS(LOG_S("node", r->node), LOG_S("hammer", r->driver)),
                 "power state of node \"%.*s\" not read (%s), keeping the last known state: %.*s",
                 STR_FMT_ARGS(r->node), hammer_end_word(result->end), STR_FMT_ARGS(r->text));
    /* A machine that was just switched on or restarted does not answer while it boots. This is
     * expected and not stored as a failure. */
    if (r->reason && r->is_after_action) {
        reading_free(poll, r);
        return true;
    }
    *(poll->answered_last ? &poll->answered_last->next : &poll->answered) = r;
    poll->answered_last = r;
    return true;
}

/* ERR_LIMIT: the queue of the turn is full; the rest is submitted by a later pump. */
static bool power_poll_submit_results(struct power_poll *poll, struct turn *turn)
{
    bool any = false;
    while (poll->answered) {
        struct reading *r = poll->answered;
        struct command command = {.kind = COMMAND_NODE_POWER_READ, .actor = STR("daemon")};
        command.node_power_read = (struct node_power_read_command){.id = r->node_id,
                                                                   .order = r->order,
                                                                   .state = r->state,
                                                                   .driver = r->driver,
                                                                   .reason = r->reason,
                                                                   .text = r->text};
        if (turn_submit(turn, &command) == ERR_LIMIT)
            return any;
        poll->answered = r->next;
        if (!poll->answered)
            poll->answered_last = NULL;
        reading_free(poll, r);
        any = true;
    }
    return any;
}

/* ---- rounds ---- */

static void power_poll_on_timer(uv_timer_t *timer)
{
    const struct power *p = timer->data;
    p->wake(p->self);
}

/* The next node to read: requested ones first, then those of the round. 0: none now. */
static int64_t power_poll_next_node(struct power_poll *poll, const struct core *core)
{
    if (poll->wanted_count)
        return poll->wanted[--poll->wanted_count];
    if (!poll->is_round)
        return 0;
    poll->after = core_next_id(core, TABLE_NODE, poll->after);
    poll->is_round = poll->after != 0;
    return poll->after;
}

static void power_poll_start_readings(struct power *p, const struct core *core)
{
    struct power_poll *poll = &p->poll;
    const int64_t now_ms = sys_mono_ms();
    if (poll->every_ms && !poll->is_round && now_ms >= poll->round_ms) {
        poll->is_round = true;
        poll->after = 0;
        poll->round_ms = now_ms + poll->every_ms;
    }
    uint32_t visited = 0;
    while (poll->running < READINGS_MAX && visited < NODES_PER_PUMP_MAX) {
        const bool is_after_action = poll->wanted_count > 0;
        const int64_t id = power_poll_next_node(poll, core);
        if (!id)
            break;
        reading_start(p, core, id, is_after_action);
        visited++;
    }
    if (visited == NODES_PER_PUMP_MAX)
        p->wake(p->self); /* continue after the loop has processed other events */
    if (poll->every_ms && !poll->is_round) {
        const int64_t wait_ms = poll->round_ms - now_ms;
        uv_update_time(p->loop);
        must(uv_timer_start(&poll->timer, power_poll_on_timer, wait_ms > 0 ? (uint64_t)wait_ms : 0,
                            0) == 0);
    }
}

bool power_poll_pump(struct power *p, struct turn *turn)
{
    const struct core *core = turn_core(turn);
    struct record settings;
    const bool may_begin = core && !ssh_keys_is_busy(p->ssh) &&
                           core_record(core, TABLE_SETTINGS, 1, &settings) &&
                           !settings.settings.test_jig;
    if (may_begin)
        power_poll_start_readings(p, core);
    return power_poll_submit_results(&p->poll, turn);
}

/* ---- open and close ---- */

void power_poll_open(struct power *p, uint32_t every_s)
{
    p->poll.every_ms = (int64_t)every_s * 1000;
    p->poll.round_ms = sys_mono_ms() + p->poll.every_ms;
    must(uv_timer_init(p->loop, &p->poll.timer) == 0);
    p->poll.timer.data = p;
}

void power_poll_close(struct power *p, uv_close_cb closed)
{
    struct power_poll *poll = &p->poll;
    for (uint32_t i = 0; i < poll->by_node.room; i++)
        if (poll->by_node.slots[i].id) {
            struct reading *r = poll->by_node.slots[i].thing;
            arena_fini(&r->arena);
            free(r);
        }
    id_map_fini(&poll->by_node);
    free(poll->wanted);
    uv_close((uv_handle_t *)&poll->timer, closed);
}
