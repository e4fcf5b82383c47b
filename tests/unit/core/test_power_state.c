#include <stdio.h>

#include "base/json/json.h"
#include "core/core_private.h"
#include "tests/world/world.h"

/* Power state of machines: readings, what makes one outdated, stored failures, and the results of
 * orders. */

enum { SECOND = 1000, MINUTE = 60 * SECOND };

static struct world *power_world(void)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'tools','source_path':'/tools'},"
                          "'hammers':[{'name':'power','type':'ipmi','priority':1}]}"));
    world_role(w, "s1", "'flags':['serves-boot']");
    world_role(w, "found", "'jig':'noop','flags':['discovery','milestone']");
    world_node(w, "n1", NULL);
    world_bind(w, "found@n1");
    world_bring(w, "found@n1", "active");
    DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = the_node(w, "n1"),
                .hammer_kind_id = core_find(w->core, TABLE_HAMMER_KIND, STR("power")),
                .username = STR("root")));
    world_deliver(w);
    world_clear_effects(w);
    return w;
}

static struct command cmd_power(struct world *w, const char *action)
{
    return CMD(NODE_POWER, node_power, .id = the_node(w, "n1"), .action = str_from(action));
}

static struct command cmd_read(struct world *w, enum power_state state)
{
    return CMD(NODE_POWER_READ, node_power_read, .id = the_node(w, "n1"),
               .order = read_node(w, "n1").power_order, .state = state, .driver = STR("power"));
}

static struct command cmd_unread(struct world *w, enum reason_code reason, const char *text)
{
    return CMD(NODE_POWER_READ, node_power_read, .id = the_node(w, "n1"),
               .order = read_node(w, "n1").power_order, .driver = STR("power"), .reason = reason,
               .text = str_from(text));
}

/* Orders the action; returns the id of its outbox row. */
static int64_t order(struct world *w, const char *action)
{
    char line[64];
    DONE(w, cmd_power(w, action));
    snprintf(line, sizeof line, "power %s n1", action);
    const int64_t row = world_waiting(w, line);
    CHECK(row != 0);
    return row;
}

static void answer(struct world *w, int64_t row, bool failed, enum power_state state)
{
    DONE(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = row, .failed = failed, .text = STR("words"),
                .reason = failed ? REASON_POWER_AUTH : REASON_NONE, .power_state = state,
                .power_driver = STR("power")));
}

static bool is_unchanged_by(struct world *w, struct command command)
{
    const struct digest128 before = core_digest_now(w->core);
    DONE(w, command);
    return digest_eq(core_digest_now(w->core), before);
}

TEST(a_reading_is_kept_with_time_and_driver)
{
    struct world *w = power_world();
    CHECK(read_node(w, "n1").power_state == POWER_STATE_UNKNOWN);
    CHECK(read_node(w, "n1").power_read_at == 0);
    DONE(w, cmd_read(w, POWER_STATE_OFF));
    const struct node_record node = read_node(w, "n1");
    CHECK(node.power_state == POWER_STATE_OFF && node.power_read_at == w->now_ms);
    CHECK(str_eq(node.power_driver, STR("power")) && node.power_reason == REASON_NONE);
    world_reload(w);
    CHECK(read_node(w, "n1").power_state == POWER_STATE_OFF);
    world_close(w);
}

TEST(an_unchanged_reading_is_written_once_a_minute)
{
    struct world *w = power_world();
    DONE(w, cmd_read(w, POWER_STATE_ON));
    const int64_t read_at = read_node(w, "n1").power_read_at;
    w->now_ms = read_at + MINUTE - 10 * SECOND;
    CHECK(is_unchanged_by(w, cmd_read(w, POWER_STATE_ON)));
    w->now_ms = read_at + MINUTE;
    DONE(w, cmd_read(w, POWER_STATE_ON));
    const int64_t later = read_node(w, "n1").power_read_at;
    CHECK(later >= read_at + MINUTE);
    DONE(w, cmd_read(w, POWER_STATE_OFF)); /* a new state is stored at once */
    CHECK(read_node(w, "n1").power_state == POWER_STATE_OFF);
    world_close(w);
}

TEST(a_failed_reading_keeps_the_state_until_a_later_one_succeeds)
{
    struct world *w = power_world();
    DONE(w, cmd_read(w, POWER_STATE_ON));
    const int64_t read_at = read_node(w, "n1").power_read_at;
    DONE(w, cmd_unread(w, REASON_POWER_TIMEOUT, "after 15001 ms"));
    struct node_record node = read_node(w, "n1");
    CHECK(node.power_state == POWER_STATE_ON && node.power_read_at == read_at);
    CHECK(node.power_reason == REASON_POWER_TIMEOUT && node.power_error.len && !node.status.len);
    CHECK(is_unchanged_by(w, cmd_unread(w, REASON_POWER_TIMEOUT, "after 15002 ms")));
    DONE(w, cmd_unread(w, REASON_POWER_AUTH, "no"));
    CHECK(read_node(w, "n1").power_reason == REASON_POWER_AUTH);
    DONE(w, cmd_read(w, POWER_STATE_ON));
    node = read_node(w, "n1");
    CHECK(node.power_reason == REASON_NONE && node.power_error.len == 0);
    CHECK(node.power_read_at > 0 && node.power_state == POWER_STATE_ON);
    world_close(w);
}

TEST(an_answer_that_began_before_an_order_ended_is_old)
{
    struct world *w = power_world();
    const struct command early = cmd_read(w, POWER_STATE_ON);
    answer(w, order(w, "off"), false, POWER_STATE_OFF);
    CHECK(read_node(w, "n1").power_state == POWER_STATE_OFF);
    CHECK(is_unchanged_by(w, early));
    struct command gone = cmd_read(w, POWER_STATE_ON);
    gone.node_power_read.id = 999;
    CHECK(is_unchanged_by(w, gone));
    world_close(w);
}

TEST(a_status_that_ends_after_a_later_order_does_not_count)
{
    struct world *w = power_world();
    const int64_t status = order(w, "status");
    answer(w, order(w, "off"), false, POWER_STATE_OFF);
    answer(w, status, false, POWER_STATE_ON);
    const struct node_record node = read_node(w, "n1");
    CHECK(node.power_state == POWER_STATE_OFF && node.power_order > status);
    HAS(str_z(&w->arena, node.power_results), "\"status\""); /* its result is stored nevertheless */
    world_close(w);
}

TEST(a_status_that_ends_before_a_driver_asked_is_no_failed_reading)
{
    struct world *w = power_world();
    DONE(w, cmd_read(w, POWER_STATE_ON));
    DONE(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = order(w, "status"), .failed = true,
                .text = STR("words"), .reason = REASON_POWER_TIMEOUT));
    const struct node_record node = read_node(w, "n1");
    CHECK(node.power_state == POWER_STATE_ON && node.power_reason == REASON_NONE);
    HAS(str_z(&w->arena, node.power_results), "\"power_timeout\""); /* the order has a result */
    CHECK(node.power_order == 0); /* and makes no other reading outdated */
    world_close(w);
}

TEST(an_order_that_may_have_been_performed_makes_readings_old)
{
    struct world *w = power_world();
    const int64_t row = order(w, "reset");
    DONE(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = row, .failed = true, .text = STR("words"),
                .reason = REASON_POWER_INTERRUPTED));
    CHECK(read_node(w, "n1").power_order == row);
    const int64_t later = order(w, "on");
    DONE(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = later, .failed = true, .text = STR("words"),
                .reason = REASON_POWER_NOT_OFFERED));
    CHECK(read_node(w, "n1").power_order == row); /* no driver performed it */
    world_close(w);
}

TEST(bad_values_are_refused_by_field)
{
    struct world *w = power_world();
    struct command c = cmd_read(w, POWER_STATE_COUNT);
    REFUSED(w, c, BAD_VALUE, "state");
    c = cmd_read(w, POWER_STATE_ON);
    c.node_power_read.reason = REASON_COUNT;
    REFUSED(w, c, BAD_VALUE, "reason");
    const int64_t row = order(w, "on");
    REFUSED(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = row, .power_state = POWER_STATE_COUNT),
            BAD_VALUE, "power_state");
    CHECK(read_node(w, "n1").power_read_at == 0);
    world_close(w);
}

TEST(results_of_the_last_orders_are_kept_newest_first)
{
    struct world *w = power_world();
    static const char *const actions[] = {"on", "off", "on", "status", "off"};
    for (uint32_t i = 0; i < 5; i++)
        answer(w, order(w, actions[i]), i == 3, POWER_STATE_UNKNOWN);
    const struct json *all = doc_tree(&w->arena, read_node(w, "n1").power_results);
    CHECK(all->count == 4);
    CHECK(str_eq(json_get(all->first, STR("action"))->text, STR("off")));
    CHECK(!json_is_true(json_get(all->first, STR("failed"))));
    CHECK(json_is_true(json_get(all->first->next, STR("failed"))));
    CHECK(str_eq(json_get(all->first->next, STR("reason"))->text, STR("power_auth")));
    CHECK(read_node(w, "n1").power_reason == REASON_POWER_AUTH); /* of the status */
    CHECK(read_node(w, "n1").status.len == 0);
    world_close(w);
}

TEST(a_reading_ends_the_failure_of_an_order_that_it_shows_done)
{
    struct world *w = power_world();
    answer(w, order(w, "on"), true, POWER_STATE_UNKNOWN);
    CHECK(read_node(w, "n1").reason == REASON_POWER_AUTH);
    DONE(w, cmd_read(w, POWER_STATE_OFF));
    CHECK(read_node(w, "n1").reason == REASON_POWER_AUTH);
    DONE(w, cmd_read(w, POWER_STATE_ON));
    CHECK(read_node(w, "n1").reason == REASON_NONE && read_node(w, "n1").status.len == 0);
    answer(w, order(w, "reset"), true, POWER_STATE_UNKNOWN);
    DONE(w, cmd_read(w, POWER_STATE_ON));
    /* It is on, but this does not show whether it was reset. */
    CHECK(read_node(w, "n1").reason == REASON_POWER_AUTH);
    world_close(w);
}

TEST(a_reading_does_not_wait_for_a_restart_that_waits)
{
    struct world *w = power_world();
    world_node(w, "d1", NULL);
    world_bind(w, "s1@d1");
    world_bring(w, "s1@d1", "active");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_BOOTENV,
                .bootenv = STR("local")));
    DONE(w, cmd_power(w, "reset"));
    world_clear_effects(w);
    DONE(w, cmd_power(w, "status"));
    EXPECT_EFFECTS(w, "power status n1");
    DONE(w, cmd_power(w, "cycle")); /* replaces the reset, which gets a result */
    HAS(str_z(&w->arena, read_node(w, "n1").power_results), "\"reset\"");
    world_close(w);
}

TEST(an_order_that_was_replaced_or_given_up_makes_no_reading_old)
{
    struct world *w = power_world();
    world_node(w, "d1", NULL);
    world_bind(w, "s1@d1");
    world_bring(w, "s1@d1", "active");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_BOOTENV,
                .bootenv = STR("local")));
    DONE(w, cmd_power(w, "reset"));
    const struct command early = cmd_read(w, POWER_STATE_ON);
    const int64_t status = order(w, "status");
    DONE(w, cmd_power(w, "cycle"));
    HAS(str_z(&w->arena, read_node(w, "n1").power_results), "\"reset\"");
    CHECK(read_node(w, "n1").power_order == 0);
    DONE(w, early);
    CHECK(read_node(w, "n1").power_state == POWER_STATE_ON);
    w->now_ms += 601 * SECOND; /* longer than a restart waits */
    DONE(w, CMD(TICK, tick, .unused = 0));
    HAS(str_z(&w->arena, read_node(w, "n1").power_results), "\"boot_not_served\"");
    CHECK(read_node(w, "n1").power_order == 0);
    answer(w, status, false, POWER_STATE_OFF); /* ordered before the cycle that was abandoned */
    CHECK(read_node(w, "n1").power_state == POWER_STATE_OFF);
    world_close(w);
}
