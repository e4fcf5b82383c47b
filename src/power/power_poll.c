/* power_poll.c - readings of power states without an order: every power-poll seconds of each node,
 * and after an action whose driver does not tell the state (ADR 0077).
 *
 * Few are under way at a time, each with a deadline, and an order for the node ends its reading at
 * once: a service processor that hangs delays no order and no other machine. A round walks over the
 * nodes by id and begins again when its time has come and the one before is at its end, so a fleet
 * that answers slowly is read less often and not with more connections. */
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
    READINGS_MAX = 32,         /* at a time */
    NODES_LOOKED_AT_MAX = 256, /* in one call of the pump */
    WANTED_MAX = 1024          /* after actions; more are left to the next round */
};
#define READING_KEY (UINT64_C(1) << 63)

/* One node that is being read, or whose answer the turn has not taken yet. */
struct reading {
    struct arena arena;
    int64_t node_id;
    int64_t order; /* node.power_order when it began */
    struct str node, driver, text;
    enum power_state state;
    enum reason_code reason;
    bool is_answered;
    bool is_after_action;
    struct reading *next; /* among the answered */
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

/* ---- beginning ---- */

/* Nothing is read of a node that has no driver for it, or for which there are orders: what they do
 * is read after them. */
static void reading_begin(struct power *p, const struct core *core, int64_t node_id,
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
        poll->under_way++;
        hammers_do(p->hammers, &(struct hammer_order){.key = READING_KEY | (uint64_t)node_id,
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
    p->poll.under_way--;
    reading_free(&p->poll, r);
}

/* ---- answers ---- */

bool power_poll_answered(struct power *p, uint64_t key, const struct hammer_result *result)
{
    if (!(key & READING_KEY))
        return false;
    struct power_poll *poll = &p->poll;
    struct reading *r = id_map_find(&poll->by_node, (int64_t)(key & ~READING_KEY));
    must(r && !r->is_answered);
    poll->under_way--;
    p->wake(p->self);
    if (result->is_unserved) {
        reading_free(poll, r); /* the machine was not asked, and the next round asks it */
        return true;
    }
    r->is_answered = true;
    r->reason = hammer_end_reason(result->end);
    r->text = str_copy(&r->arena, str_clip(result->text, TEXT_SIZE));
    r->state = r->reason ? POWER_STATE_UNKNOWN : power_state_of(result->value);
    if (r->reason)
        log_with(LOG_INFO, LOG_FIELDS(LOG_S("node", r->node), LOG_S("hammer", r->driver)),
                 "the power state could not be read, %s: %.*s", hammer_end_word(result->end),
                 STR_FMT_ARGS(r->text));
    /* A machine that was just switched on or restarted does not answer while it boots: that is
     * expected, and no failure that an operator should look at. */
    if (r->reason && r->is_after_action) {
        reading_free(poll, r);
        return true;
    }
    *(poll->answered_last ? &poll->answered_last->next : &poll->answered) = r;
    poll->answered_last = r;
    return true;
}

/* An answer that is lost with a batch is read again in the next round. */
static bool submit_answers(struct power_poll *poll, struct turn *turn)
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

static void on_timer(uv_timer_t *timer)
{
    const struct power *p = timer->data;
    p->wake(p->self);
}

/* The next node that is to be read; 0: none now. */
static int64_t next_node(struct power_poll *poll, const struct core *core)
{
    if (poll->wanted_count)
        return poll->wanted[--poll->wanted_count];
    if (!poll->is_round)
        return 0;
    poll->after = core_next_id(core, TABLE_NODE, poll->after);
    poll->is_round = poll->after != 0;
    return poll->after;
}

static void begin_readings(struct power *p, const struct core *core)
{
    struct power_poll *poll = &p->poll;
    const int64_t now_ms = sys_mono_ms();
    if (poll->every_ms && !poll->is_round && now_ms >= poll->round_ms) {
        poll->is_round = true;
        poll->after = 0;
        poll->round_ms = now_ms + poll->every_ms;
    }
    uint32_t looked = 0;
    while (poll->under_way < READINGS_MAX && looked < NODES_LOOKED_AT_MAX) {
        const bool is_after_action = poll->wanted_count > 0;
        const int64_t id = next_node(poll, core);
        if (!id)
            break;
        reading_begin(p, core, id, is_after_action);
        looked++;
    }
    if (looked == NODES_LOOKED_AT_MAX)
        p->wake(p->self); /* the rest after the loop has served others */
    if (poll->every_ms && !poll->is_round) {
        const int64_t wait_ms = poll->round_ms - now_ms;
        uv_update_time(p->loop);
        must(uv_timer_start(&poll->timer, on_timer, wait_ms > 0 ? (uint64_t)wait_ms : 0, 0) == 0);
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
        begin_readings(p, core);
    return submit_answers(&p->poll, turn);
}

/* ---- from open to close ---- */

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
