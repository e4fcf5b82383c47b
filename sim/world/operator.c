#include "sim/world/operator.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "core/core.h"
#include "model/subject.h"
#include "sim/world/actors.h"
#include "sim/world/world_gen.h"

/* ---- saying it ---- */

/* Some know what they saw, and some of them are late. */
static int64_t remembered_turn(struct world *w, const struct command *command)
{
    const struct subject subject = command_subject(command);
    struct record record;
    if (subject.table >= TABLE_OBJECTS || !prng_chance(&w->chance, 30) || !world_core(w) ||
        !core_record(world_core(w), subject.table, subject.id, &record))
        return 0;
    return record.settings.turn + (prng_chance(&w->chance, 200) ? 1 : 0);
}

/* Most are sent by a person who may do everything, some by a user of the installation, or by one of
 * the tokens, whose rights the core judges. */
static struct principal draw_caller(struct world *w)
{
    const struct core *core = world_core(w);
    struct record token;
    struct principal by = {0};
    if (!core || !prng_chance(&w->chance, 60))
        return by;
    by.is_external = true;
    by.user_id = operator_picks(w, core, TABLE_USER);
    if (prng_chance(&w->chance, 300))
        by.token_id = operator_picks(w, core, TABLE_TOKEN);
    if (by.token_id > 0 && core_record(core, TABLE_TOKEN, by.token_id, &token)) {
        by.user_id = token.token.user_id;
        by.node_id = token.token.node_id;
    }
    return by;
}

void operator_sends(struct world *w, struct command *command)
{
    command->if_turn = remembered_turn(w, command);
    if (w->parts) {
        command_encode(command, w->parts);
        return;
    }
    command->request = ++w->last_request;
    command->actor = STR("user sim");
    command->address = STR("192.0.2.7");
    command->by = draw_caller(w);
    w->operated++;
    world_send(w, (int64_t)prng_below(&w->chance, 3), command);
}

/* "%u" in the pattern becomes the number. */
struct str operator_keeps(struct world *w, const char *pattern, uint64_t number)
{
    struct buf b = buf_in(&w->story);
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
    return operator_keeps(w, pattern, ++w->named);
}

struct str operator_dubious_name(struct world *w, const char *pattern)
{
    static const char *const bad[] = {"", "1", "with space", "\xff\xfe", "e\xcc", "!", "Admin"};
    if (!world_fault(w, FAULT_OPERATOR_WRONG))
        return prng_chance(&w->chance, 900) ? operator_name(w, pattern)
                                            : operator_keeps(w, pattern, 1);
    if (prng_chance(&w->chance, 150)) {
        char *long_name = arena_alloc(&w->story, 400);
        for (uint32_t i = 0; i < 400; i++)
            long_name[i] = 'a';
        return (struct str){long_name, 400};
    }
    return str_from(bad[prng_below(&w->chance, sizeof bad / sizeof *bad)]);
}

struct str operator_document(struct world *w)
{
    static const char *const bad[] = {"{", "[1,2", "{\"a\":\"\xff\"}", "{\"a\":\"\\u0000\"}", "7"};
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        return str_from(bad[prng_below(&w->chance, sizeof bad / sizeof *bad)]);
    return operator_keeps(w, "{\"app\":{\"wish\":%u}}", prng_below(&w->chance, 6));
}

/* ---- choosing ---- */

int64_t operator_picks(struct world *w, const struct core *core, enum table table)
{
    if (world_fault(w, FAULT_OPERATOR_WRONG)) {
        static const int64_t nobody[] = {0, -1, 999999, INT64_MAX};
        return nobody[prng_below(&w->chance, 4)];
    }
    const uint32_t count = core_count(core, table);
    if (!count)
        return 0;
    int64_t id = core_next_id(core, table, 0);
    for (uint64_t i = prng_below(&w->chance, count); i > 0; i--)
        id = core_next_id(core, table, id);
    return id;
}

int64_t operator_picks_state(struct world *w, const struct core *core, enum noderole_state state)
{
    int64_t picked = 0;
    uint64_t seen = 0;
    for (int64_t id = 0; (id = core_next_id(core, TABLE_NODEROLE, id)) != 0;) {
        struct record record;
        if (core_record(core, TABLE_NODEROLE, id, &record) &&
            record.noderole.state == (uint32_t)state && prng_below(&w->chance, ++seen) == 0)
            picked = id;
    }
    return picked ? picked : operator_picks(w, core, TABLE_NODEROLE);
}

/* ---- what comes to mind, and how often ---- */

static const struct {
    operator_idea *idea;
    uint32_t weight;
} ideas[] = {
    {idea_bind, 60},
    {idea_cycle, 4},
    {idea_noderole_delete, 14},
    {idea_noderole_propose, 30},
    {idea_noderole_commit, 40},
    {idea_noderole_retry, 70},
    {idea_noderole_data, 20},
    {idea_noderole_enqueue, 30},
    {idea_noderole_computed, 1},
    {idea_boot_served, 1},
    {idea_run_resume, 5},
    {idea_run_cancel, 10},
    {idea_deployment_create, 4},
    {idea_deployment_update, 4},
    {idea_deployment_delete, 3},
    {idea_deployment_commit, 60},
    {idea_deployment_propose, 16},
    {idea_deployment_recall, 12},
    {idea_deployment_revert, 14},
    {idea_snapshot_update, 4},
    {idea_deployment_role_create, 6},
    {idea_deployment_role_delete, 6},
    {idea_deployment_role_propose, 5},
    {idea_deployment_role_commit, 8},
    {idea_deployment_role_data, 10},
    {idea_settings, 4},
    {idea_import, 6},
    {idea_jig_create, 3},
    {idea_jig_update, 8},
    {idea_role_update, 5},
    {idea_attrib_create, 4},
    {idea_attrib_delete, 2},
    {idea_attrib_set, 40},
    {idea_node_create, 4},
    {idea_node_update, 30},
    {idea_node_move, 8},
    {idea_node_target, 8},
    {idea_node_delete, 4},
    {idea_node_propose, 5},
    {idea_node_commit, 20},
    {idea_node_redeploy, 5},
    {idea_node_debug, 4},
    {idea_node_undebug, 4},
    {idea_node_power, 6},
    {idea_power_read, 2},
    {idea_group_create, 4},
    {idea_group_update, 4},
    {idea_group_delete, 2},
    {idea_group_add, 4},
    {idea_group_remove, 3},
    {idea_hammer_create, 8},
    {idea_hammer_update, 4},
    {idea_hammer_delete, 2},
    {idea_user_create, 4},
    {idea_user_update, 4},
    {idea_user_delete, 2},
    {idea_token_create, 4},
    {idea_token_delete, 2},
    {idea_pin_keys, 16},
    {idea_forget_key, 3},
    {idea_batch, 12},
};

/* Several ideas at once, all or none; sometimes one that does not belong there. */
void idea_batch(struct world *w, const struct core *core)
{
    static operator_idea *const fitting[] = {idea_node_create,    idea_node_create,
                                             idea_node_update,    idea_node_delete,
                                             idea_node_commit,    idea_bind,
                                             idea_bind,           idea_noderole_commit,
                                             idea_noderole_retry, idea_noderole_delete,
                                             idea_attrib_set,     idea_group_add,
                                             idea_group_remove};
    struct buf parts = buf_in(&w->story);
    struct command command = {.kind = COMMAND_BATCH};
    w->parts = &parts;
    for (int64_t i = prng_between(&w->chance, 1, 6); i > 0; i--)
        fitting[prng_below(&w->chance, sizeof fitting / sizeof *fitting)](w, core);
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        idea_node_power(w, core);
    w->parts = NULL;
    command.batch.commands = buf_str(&parts);
    if (command.batch.commands.len > 1 && world_fault(w, FAULT_OPERATOR_WRONG))
        command.batch.commands.len--;
    operator_sends(w, &command);
}

static void have_idea(struct world *w, const struct core *core)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < sizeof ideas / sizeof *ideas; i++)
        sum += ideas[i].weight;
    uint64_t drawn = prng_below(&w->chance, sum);
    for (uint32_t i = 0; i < sizeof ideas / sizeof *ideas; i++) {
        if (drawn < ideas[i].weight) {
            ideas[i].idea(w, core);
            return;
        }
        drawn -= ideas[i].weight;
    }
}

/* Somebody plays with propose and recall while work is in flight. */
static void storm(struct world *w, const struct core *core)
{
    static operator_idea *const wild[] = {idea_deployment_propose, idea_deployment_recall,
                                          idea_deployment_commit,  idea_noderole_propose,
                                          idea_noderole_commit,    idea_node_propose,
                                          idea_node_commit,        idea_noderole_retry};
    for (uint32_t i = 0; i < 8; i++)
        wild[prng_below(&w->chance, 8)](w, core);
}

/* When the next idea comes: so that they are through when the hours are. */
static int64_t pause_ms(struct world *w)
{
    if (!w->set_up)
        return prng_between(&w->chance, 50, 3000);
    const int64_t each = w->draw.hours * 3600000 / (w->draw.commands + 1);
    return prng_between(&w->chance, 1, 2 * each);
}

void operator_acts(struct world *w)
{
    const struct core *core = world_core(w);
    if (w->phase != PHASE_SAFETY)
        return;
    nodes_sim_meet(w);
    if (core && !world_gen_step(w)) {
        have_idea(w, core);
        for (uint32_t i = world_fault(w, FAULT_OPERATOR_BURST) ? 8 : 0; i > 0; i--)
            have_idea(w, core);
        if (world_fault(w, FAULT_OPERATOR_STORM))
            storm(w, core);
    }
    world_in(w, pause_ms(w), EVENT_OPERATOR, 0);
}
