#include "sim/world/operator.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "core/core.h"
#include "model/subject.h"
#include "sim/world/actors.h"
#include "sim/world/world_gen.h"

/* Operators of a world: how a command is sent, how its objects are chosen, and how often each
 * action occurs. The actions are in operator_graph.c, operator_grants.c, operator_objects.c,
 * operator_networks.c and operator_addresses.c. */

/* ---- sending ---- */

/* The turn of the object for a conditional command; sometimes a wrong one, mostly none. */
static int64_t operator_draw_if_turn(struct world *w, const struct command *command)
{
    const struct subject subject = command_subject(command);
    struct record record;
    if (subject.table >= TABLE_OBJECTS || !prng_chance(&w->rng, 30) || !world_core(w) ||
        !core_record(world_core(w), subject.table, subject.id, &record))
        return 0;
    return record.settings.turn + (prng_chance(&w->rng, 200) ? 1 : 0);
}

/* The principal of a command: mostly the installation itself, which has all rights, otherwise a
 * user or a token, whose rights the core checks. Addresses and hints are requested by users more
 * often, because the rights to them depend on two deployments. */
static struct principal operator_draw_caller(struct world *w, enum command_kind kind)
{
    const struct core *core = world_core(w);
    const bool is_address = kind == COMMAND_NETWORK_ALLOCATE || kind == COMMAND_ATTRIB_SET ||
                            kind == COMMAND_NETWORK_DEALLOCATE || kind == COMMAND_NODE_CREATE;
    struct record token, user;
    struct principal by = {0};
    if (!core || !prng_chance(&w->rng, is_address ? 250 : 60))
        return by;
    by.is_external = true;
    by.user_id = operator_pick(w, core, TABLE_USER);
    for (uint32_t i = 0; is_address && i < 4; i++) {
        /* A user with rights in some deployments only. */
        if (!core_record(core, TABLE_USER, by.user_id, &user) || user.user.grants.len > 2)
            break;
        by.user_id = operator_pick(w, core, TABLE_USER);
    }
    if (prng_chance(&w->rng, 300))
        by.token_id = operator_pick(w, core, TABLE_TOKEN);
    if (by.token_id > 0 && core_record(core, TABLE_TOKEN, by.token_id, &token)) {
        by.user_id = token.token.user_id;
        by.node_id = token.token.node_id;
    }
    return by;
}

void operator_send_command(struct world *w, struct command *command)
{
    command->if_turn = operator_draw_if_turn(w, command);
    if (w->parts) {
        command_encode(command, w->parts);
        return;
    }
    command->request = ++w->last_request;
    command->actor = STR("user sim");
    command->address = STR("192.0.2.7");
    command->by = operator_draw_caller(w, command->kind);
    w->operator_commands++;
    world_send(w, (int64_t)prng_below(&w->rng, 3), command);
}

struct str operator_format(struct world *w, const char *pattern, uint64_t number)
{
    struct buf b = buf_in(&w->arena);
    for (const char *at = pattern; *at; at++)
        if (at[0] == '%' && at[1] == 'u') {
            buf_put_u64(&b, number);
            at++;
        } else
            buf_put_c(&b, *at);
    return buf_str(&b);
}

struct str operator_name(struct world *w, const char *pattern)
{
    return operator_format(w, pattern, ++w->names_used);
}

struct str operator_dubious_name(struct world *w, const char *pattern)
{
    static const char *const bad[] = {"", "1", "with space", "\xff\xfe", "e\xcc", "!", "Admin"};
    if (!world_fault(w, FAULT_OPERATOR_WRONG))
        return prng_chance(&w->rng, 900) ? operator_name(w, pattern)
                                         : operator_format(w, pattern, 1);
    if (prng_chance(&w->rng, 150)) {
        char *long_name = arena_alloc(&w->arena, 400);
        for (uint32_t i = 0; i < 400; i++)
            long_name[i] = 'a';
        return (struct str){long_name, 400};
    }
    return str_from(bad[prng_below(&w->rng, sizeof bad / sizeof *bad)]);
}

struct str operator_document(struct world *w)
{
    static const char *const bad[] = {"{", "[1,2", "{\"a\":\"\xff\"}", "{\"a\":\"\\u0000\"}", "7"};
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        return str_from(bad[prng_below(&w->rng, sizeof bad / sizeof *bad)]);
    return operator_format(w, "{\"app\":{\"wish\":%u}}", prng_below(&w->rng, 6));
}

/* ---- choice of objects ---- */

int64_t operator_pick(struct world *w, const struct core *core, enum table table)
{
    if (world_fault(w, FAULT_OPERATOR_WRONG)) {
        static const int64_t absent[] = {0, -1, 999999, INT64_MAX};
        return absent[prng_below(&w->rng, 4)];
    }
    const uint32_t count = core_count(core, table);
    if (!count)
        return 0;
    int64_t id = core_next_id(core, table, 0);
    for (uint64_t i = prng_below(&w->rng, count); i > 0; i--)
        id = core_next_id(core, table, id);
    return id;
}

int64_t operator_pick_state(struct world *w, const struct core *core, enum noderole_state state)
{
    int64_t picked = 0;
    uint64_t seen = 0;
    for (int64_t id = 0; (id = core_next_id(core, TABLE_NODEROLE, id)) != 0;) {
        struct record record;
        if (core_record(core, TABLE_NODEROLE, id, &record) &&
            record.noderole.state == (uint32_t)state && prng_below(&w->rng, ++seen) == 0)
            picked = id;
    }
    return picked ? picked : operator_pick(w, core, TABLE_NODEROLE);
}

/* ---- actions and their weights ---- */

static const struct {
    operator_action *action;
    uint32_t weight;
} actions[] = {
    {action_bind, 60},
    {action_cycle, 4},
    {action_noderole_delete, 14},
    {action_noderole_propose, 30},
    {action_noderole_commit, 40},
    {action_noderole_retry, 70},
    {action_noderole_data, 20},
    {action_noderole_enqueue, 30},
    {action_noderole_computed, 1},
    {action_boot_server, 1},
    {action_run_resume, 5},
    {action_run_cancel, 10},
    {action_install, 14},
    {action_grant_use, 30},
    {action_stamp, 3},
    {action_deployment_create, 4},
    {action_deployment_update, 4},
    {action_deployment_delete, 3},
    {action_deployment_commit, 60},
    {action_deployment_propose, 16},
    {action_deployment_recall, 12},
    {action_deployment_revert, 14},
    {action_snapshot_update, 4},
    {action_deployment_role_create, 6},
    {action_deployment_role_delete, 6},
    {action_deployment_role_propose, 5},
    {action_deployment_role_commit, 8},
    {action_deployment_role_data, 10},
    {action_settings, 4},
    {action_import, 6},
    {action_jig_create, 3},
    {action_jig_update, 8},
    {action_role_update, 5},
    {action_attrib_create, 4},
    {action_attrib_delete, 2},
    {action_attrib_set, 40},
    {action_node_create, 4},
    {action_node_update, 30},
    {action_node_move, 8},
    {action_node_target, 8},
    {action_node_delete, 4},
    {action_node_propose, 5},
    {action_node_commit, 20},
    {action_node_redeploy, 5},
    {action_node_debug, 4},
    {action_node_undebug, 4},
    {action_node_power, 6},
    {action_boot_environment, 14},
    {action_power_read, 2},
    {action_group_create, 4},
    {action_group_update, 4},
    {action_group_delete, 2},
    {action_group_add, 4},
    {action_group_remove, 3},
    {action_hammer_create, 8},
    {action_hammer_update, 4},
    {action_hammer_delete, 2},
    {action_user_create, 4},
    {action_user_update, 4},
    {action_user_delete, 2},
    {action_token_create, 4},
    {action_token_delete, 2},
    {action_pin_keys, 16},
    {action_forget_key, 3},
    {action_network_create, 8},
    {action_network_update, 8},
    {action_network_delete, 3},
    {action_range_create, 10},
    {action_range_update, 10},
    {action_router_create, 3},
    {action_router_update, 3},
    {action_router_delete, 2},
    {action_allocate, 50},
    {action_deallocate, 12},
    {action_lease, 26},
    {action_lease_decline, 4},
    {action_hint, 12},
    {action_nics_make, 1},
    {action_nic_move, 4},
    {action_node_register, 4},
    {action_named_node, 14},
    {action_filter_create, 8},
    {action_filter_update, 5},
    {action_filter_delete, 3},
    {action_batch, 12},
};

/* A bulk command of several actions; as a fault, with one that is not allowed or truncated. */
void action_batch(struct world *w, const struct core *core)
{
    static operator_action *const fitting[] = {action_node_create,    action_node_create,
                                               action_node_update,    action_node_delete,
                                               action_node_commit,    action_bind,
                                               action_bind,           action_noderole_commit,
                                               action_noderole_retry, action_noderole_delete,
                                               action_attrib_set,     action_group_add,
                                               action_group_remove,   action_allocate,
                                               action_hint,           action_deallocate};
    struct buf parts = buf_in(&w->arena);
    struct command command = {.kind = COMMAND_BATCH};
    w->parts = &parts;
    for (int64_t i = prng_between(&w->rng, 1, 6); i > 0; i--)
        fitting[prng_below(&w->rng, sizeof fitting / sizeof *fitting)](w, core);
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        action_node_power(w, core);
    w->parts = NULL;
    command.batch.commands = buf_str(&parts);
    if (command.batch.commands.len > 1 && world_fault(w, FAULT_OPERATOR_WRONG))
        command.batch.commands.len--;
    operator_send_command(w, &command);
}

static void operator_act_once(struct world *w, const struct core *core)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < sizeof actions / sizeof *actions; i++)
        sum += actions[i].weight;
    uint64_t drawn = prng_below(&w->rng, sum);
    for (uint32_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (drawn < actions[i].weight) {
            actions[i].action(w, core);
            return;
        }
        drawn -= actions[i].weight;
    }
}

/* A fast sequence of propose, recall and commit while runs are in progress. */
static void operator_storm(struct world *w, const struct core *core)
{
    static operator_action *const wild[] = {action_deployment_propose, action_deployment_recall,
                                            action_deployment_commit,  action_noderole_propose,
                                            action_noderole_commit,    action_node_propose,
                                            action_node_commit,        action_noderole_retry};
    for (uint32_t i = 0; i < 8; i++)
        wild[prng_below(&w->rng, 8)](w, core);
}

/* Until the next action, so that the commands of the scenario are spread over its hours. */
static int64_t operator_pause_ms(struct world *w)
{
    if (!w->set_up)
        return prng_between(&w->rng, 50, 3000);
    const int64_t each = w->scenario.hours * 3600000 / (w->scenario.commands + 1);
    return prng_between(&w->rng, 1, 2 * each);
}

void operator_acts(struct world *w)
{
    const struct core *core = world_core(w);
    if (w->phase != PHASE_SAFETY)
        return;
    nodes_sim_add_new(w);
    boot_sim_add_new(w);
    if (core && !world_gen_step(w)) {
        operator_act_once(w, core);
        for (uint32_t i = world_fault(w, FAULT_OPERATOR_BURST) ? 8 : 0; i > 0; i--)
            operator_act_once(w, core);
        if (world_fault(w, FAULT_OPERATOR_STORM))
            operator_storm(w, core);
    }
    world_in(w, operator_pause_ms(w), EVENT_OPERATOR, 0);
}
