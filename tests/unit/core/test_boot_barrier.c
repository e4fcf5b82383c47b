#include <stdio.h>

#include "core/core_private.h"
#include "tests/world/world.h"

/* Boot generations and the boot barrier: which noderoles a power action waits for, for how long, in
 * which order, and the status of the node after the wait was given up. */

enum { SECOND = 1000, BARRIER_MS = 600 * SECOND };

/* ---- fixture ---- */

static void give_hammer(struct world *w, const char *node)
{
    DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = the_node(w, node),
                .hammer_kind_id = core_find(w->core, TABLE_HAMMER_KIND, STR("power")),
                .username = STR("root")));
}

/* Machine n1 in the boot view; s1 serves boots on two nodes, s2 on one: their runs publish it. All
 * of them are active and have published everything. */
static struct world *served_world(void)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'tools','source_path':'/tools'},"
                          "'hammers':[{'name':'power','type':'ipmi','priority':1}]}"));
    DONE(w, CMD(SETTINGS_UPDATE, settings_update,
                .given = GIVEN_SETTINGS_POOL_NORMAL | GIVEN_SETTINGS_POOL_HIGH, .pool_normal = 9,
                .pool_high = 9));
    world_role(w, "s1", "'flags':['serves-boot'],'hooks':['on_node_change']");
    world_role(w, "s2", "'flags':['serves-boot']");
    world_role(w, "disco", "'jig':'noop','flags':['discovery','milestone']");
    world_role(w, "plain", "'hooks':['on_node_change']");
    world_node(w, "n1", NULL);
    world_node(w, "d1", NULL);
    world_node(w, "d2", NULL);
    world_node(w, "d3", NULL);
    give_hammer(w, "n1");
    static const char *const servers[] = {"s1@d1", "s1@d2", "s2@d3"};
    for (uint32_t i = 0; i < 3; i++) {
        world_bind(w, servers[i]);
        world_bring(w, servers[i], "active");
    }
    world_bind(w, "disco@n1");
    world_bring(w, "disco@n1", "active");
    world_run_all(w);
    world_clear_effects(w);
    return w;
}

static struct command cmd_bootenv(struct world *w, const char *bootenv)
{
    return CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_BOOTENV,
               .bootenv = str_from(bootenv));
}

static struct command cmd_power(struct world *w, const char *action)
{
    return CMD(NODE_POWER, node_power, .id = the_node(w, "n1"), .action = str_from(action));
}

/* The noderole publishes what it must: one run, with success. */
static void serve(struct world *w, const char *server)
{
    if (!world_run(w, server, RUN_RUNNING))
        world_anneal(w);
    world_finish(w, server, RESULT_OK);
}

/* The monotonic clock of the fixture. */
static int64_t mono_ms(const struct world *w)
{
    return w->now_ms - 1600000000000;
}

/* Advance the clock and step a tick. */
static void advance_clock(struct world *w, int64_t ms)
{
    w->now_ms += ms;
    DONE(w, CMD(TICK, tick, .unused = 0));
}

static bool is_waiting(struct world *w, const char *action)
{
    for (int64_t id = 0; (id = core_next_id(w->core, TABLE_OUTBOX, id)) != 0;) {
        struct record record;
        CHECK(core_record(w->core, TABLE_OUTBOX, id, &record));
        if (record.outbox.kind == OUTBOX_POWER && record.outbox.generation &&
            str_eq(record.outbox.detail, str_from(action)))
            return true;
    }
    return false;
}

/* The power actions that the last step delivered, as "reset; on". */
static const char *sent_orders(struct world *w)
{
    struct buf b = buf_in(&w->arena);
    for (const struct effect *e = w->fx.first; e; e = e->next) {
        struct record record;
        if (e->kind != EFFECT_OUTBOX || !core_record(w->core, TABLE_OUTBOX, e->id, &record) ||
            record.outbox.kind != OUTBOX_POWER)
            continue;
        buf_put_z(&b, b.len ? "; " : "");
        buf_put_str(&b, record.outbox.detail);
    }
    return str_z(&w->arena, buf_str(&b));
}

static const char *status(struct world *w)
{
    return str_z(&w->arena, read_node(w, "n1").status);
}

/* The number of power rows in the outbox. */
static uint32_t orders(struct world *w)
{
    uint32_t count = 0;
    for (int64_t id = 0; (id = core_next_id(w->core, TABLE_OUTBOX, id)) != 0;) {
        struct record record;
        CHECK(core_record(w->core, TABLE_OUTBOX, id, &record));
        count += record.outbox.kind == OUTBOX_POWER;
    }
    return count;
}

/* Complete pending hooks and boot device orders, so that later checks see new orders only. */
static void discard_effects(struct world *w)
{
    world_deliver(w);
    world_clear_effects(w);
}

static void why_is(struct world *w, enum table table, int64_t id, enum cause_code code,
                   const char *text)
{
    const struct cause *cause = core_why(w->core, table, id, &w->arena);
    CHECK(cause);
    while (cause && cause->code != code)
        cause = cause->next;
    CHECK(cause);
    EXPECT_STR(str_z(&w->arena, cause->text), text);
}

/* ---- generations ---- */

TEST(a_change_of_the_boot_environment_increments_the_generation)
{
    struct world *w = served_world();
    CHECK(read_node(w, "n1").boot_generation == 0);
    DONE(w, cmd_bootenv(w, "sledgehammer")); /* unchanged */
    CHECK(read_node(w, "n1").boot_generation == 0);
    DONE(w, cmd_bootenv(w, "local"));
    DONE(w, cmd_bootenv(w, "local"));
    CHECK(read_node(w, "n1").boot_generation == 1);
    DONE(w, cmd_bootenv(w, "debian-install"));
    DONE(w, cmd_bootenv(w, "local"));
    CHECK(read_node(w, "n1").boot_generation == 3);
    world_reload(w);
    CHECK(read_node(w, "n1").boot_generation == 3);
    world_close(w);
}

/* ---- the barrier ---- */

TEST(a_restart_waits_until_every_noderole_has_served)
{
    static const char *const actions[] = {"reboot", "reset", "cycle", "on", "pxeboot"};
    for (uint32_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        struct world *w = served_world();
        DONE(w, cmd_bootenv(w, "local"));
        discard_effects(w);
        DONE(w, cmd_power(w, actions[i]));
        EXPECT_STR(sent_orders(w), "");
        CHECK(is_waiting(w, actions[i]) && orders(w) == 1);
        serve(w, "s1@d1");
        EXPECT_STR(sent_orders(w), "");
        serve(w, "s2@d3");
        EXPECT_STR(sent_orders(w), "");
        serve(w, "s1@d2"); /* each noderole counts, not each role */
        EXPECT_STR(sent_orders(w), actions[i]);
        CHECK(!is_waiting(w, actions[i]) && orders(w) == 1);
        EXPECT_STR(status(w), "");
        world_close(w);
    }
}

TEST(actions_that_do_not_boot_never_wait)
{
    static const char *const actions[] = {"off", "identify", "status"};
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    discard_effects(w);
    for (uint32_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        world_step(w, cmd_power(w, actions[i]));
        if (w->out.verdict == VERDICT_DONE) /* if the hammer offers it */
            EXPECT_STR(sent_orders(w), actions[i]);
        CHECK(!is_waiting(w, actions[i]));
    }
    CHECK(orders(w) > 0);
    world_close(w);
}

TEST(the_boot_device_never_waits)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    EXPECT_STR(sent_orders(w), "boot disk");
    DONE(w, cmd_bootenv(w, "debian-install"));
    EXPECT_STR(sent_orders(w), "boot pxe");
    world_close(w);
}

static void power_goes_at_once(struct world *w)
{
    DONE(w, cmd_power(w, "reset"));
    EXPECT_STR(sent_orders(w), "reset");
    CHECK(core_next_deadline(w->core) == -1);
    world_close(w);
}

TEST(power_goes_at_once_when_nothing_has_changed)
{
    power_goes_at_once(served_world());
}

TEST(power_goes_at_once_when_everything_is_served)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    discard_effects(w);
    serve(w, "s1@d1");
    serve(w, "s1@d2");
    serve(w, "s2@d3");
    power_goes_at_once(w);
}

TEST(power_goes_at_once_when_no_role_serves_boots)
{
    struct world *w = served_world();
    static const char *const servers[] = {"s1@d1", "s1@d2", "s2@d3"};
    for (uint32_t i = 0; i < 3; i++)
        DONE(w, cmd_propose(w, servers[i])); /* PROPOSED noderoles are not waited for */
    DONE(w, cmd_bootenv(w, "local"));
    discard_effects(w);
    power_goes_at_once(w);
}

TEST(power_goes_at_once_with_the_test_jig_or_without_a_barrier)
{
    static const uint32_t given[] = {GIVEN_SETTINGS_TEST_JIG, GIVEN_SETTINGS_BARRIER};
    for (uint32_t i = 0; i < 2; i++) {
        struct world *w = served_world();
        DONE(w, cmd_bootenv(w, "local"));
        discard_effects(w);
        DONE(w, CMD(SETTINGS_UPDATE, settings_update, .given = given[i], .test_jig = true,
                    .barrier_s = 0));
        power_goes_at_once(w);
    }
}

TEST(an_order_does_not_call_roles_that_have_not_served)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    world_alive(w, "n1", false);
    discard_effects(w);
    DONE(w, cmd_power(w, "on"));
    EXPECT_EFFECTS(w, "power on n1"); /* their runs were requested with the change */
    world_close(w);
}

/* ---- verbs ---- */

TEST(redeploy_debug_and_undebug_wait)
{
    static const enum command_kind verbs[] = {COMMAND_NODE_REDEPLOY, COMMAND_NODE_DEBUG,
                                              COMMAND_NODE_UNDEBUG};
    static const char *const actions[] = {"reset", "reboot", "reboot"};
    for (uint32_t i = 0; i < 3; i++) {
        struct world *w = served_world();
        if (verbs[i] != COMMAND_NODE_UNDEBUG)
            DONE(w, cmd_bootenv(w, "local"));
        discard_effects(w);
        const int64_t generation = read_node(w, "n1").boot_generation + 1;
        DONE(w, ((struct command){.kind = verbs[i], .node_commit = {.id = the_node(w, "n1")}}));
        CHECK(read_node(w, "n1").boot_generation == generation);
        CHECK(is_waiting(w, actions[i]) || is_waiting(w, "reset"));
        CHECK(!read_node(w, "n1").alive);
        serve(w, "s1@d1");
        serve(w, "s1@d2");
        CHECK(orders(w) == 2 && !sent_orders(w)[0]); /* the boot device and the restart */
        serve(w, "s2@d3");
        CHECK(sent_orders(w)[0]);
        world_close(w);
    }
}

TEST(a_reboot_requested_by_a_run_waits)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    world_bind(w, "plain@n1");
    world_bring(w, "plain@n1", "transition");
    discard_effects(w);
    world_finish_with(
        w, "plain@n1",
        (struct run_done_command){.result = RESULT_OK, .node_dead = true, .power = STR("reboot")});
    CHECK(is_waiting(w, "reboot") && !read_node(w, "n1").alive);
    world_close(w);
}

/* ---- order ---- */

TEST(orders_are_performed_in_order)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    discard_effects(w);
    DONE(w, cmd_power(w, "reset"));
    DONE(w, cmd_power(w, "off"));
    world_anneal(w);
    EXPECT_STR(sent_orders(w), "");
    DONE(w, cmd_bootenv(w, "debian-install"));
    EXPECT_STR(sent_orders(w), "");
    DONE(w, cmd_power(w, "on"));
    CHECK(is_waiting(w, "off") && is_waiting(w, "boot pxe") && is_waiting(w, "on"));
    world_reload(w);
    serve(w, "s1@d1");
    serve(w, "s1@d2");
    serve(w, "s2@d3");
    CHECK(orders(w) == 4 && !sent_orders(w)[0]); /* they have published the first generation */
    serve(w, "s1@d1");
    serve(w, "s1@d2");
    CHECK(orders(w) == 4 && !sent_orders(w)[0]);
    serve(w, "s2@d3");
    EXPECT_STR(sent_orders(w), "reset; off; boot pxe; on");
    world_close(w);
}

TEST(later_orders_continue_when_the_first_is_given_up)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    discard_effects(w);
    DONE(w, cmd_power(w, "reset"));
    DONE(w, CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_BARRIER, .barrier_s = 0));
    DONE(w, cmd_power(w, "on")); /* waits only behind the first one */
    CHECK(is_waiting(w, "on"));
    advance_clock(w, BARRIER_MS);
    EXPECT_STR(sent_orders(w), "on");
    CHECK(orders(w) == 1);
    HAS(status(w), "reset was not done");
    world_close(w);
}

TEST(a_later_row_may_be_given_up_before_an_earlier_one)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    discard_effects(w);
    DONE(w, cmd_power(w, "reset"));
    DONE(w,
         CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_BARRIER, .barrier_s = 10));
    DONE(w, cmd_power(w, "on"));
    advance_clock(w, 11 * SECOND);
    CHECK(is_waiting(w, "reset") && !is_waiting(w, "on"));
    EXPECT_STR(status(w),
               "on was not done: s1 on d1.example.com has not served boot generation 1 within "
               "10 s");
    CHECK(core_next_deadline(w->core) > mono_ms(w));
    world_close(w);
}

/* ---- the end of the wait ---- */

TEST(an_order_is_given_up_at_its_deadline)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    discard_effects(w);
    DONE(w, cmd_power(w, "reboot"));
    const int64_t asked_ms = mono_ms(w);
    serve(w, "s1@d1");
    serve(w, "s2@d3");
    CHECK(core_next_deadline(w->core) == asked_ms + BARRIER_MS);
    advance_clock(w, BARRIER_MS - 10 * SECOND);
    CHECK(is_waiting(w, "reboot"));
    discard_effects(w);
    advance_clock(w, 10 * SECOND);
    CHECK(orders(w) == 0 && core_next_deadline(w->core) == -1);
    EXPECT_STR(status(w),
               "reboot was not done: s1 on d2.example.com has not served boot generation 1 "
               "within 600 s");
    EXPECT_EFFECTS(w, "on_node_change plain n1; on_node_change s1 n1");
    CHECK(!read_node(w, "n1").alive); /* it does not run the ordered environment */
    serve(w, "s1@d2");
    EXPECT_STR(sent_orders(w), "");

    DONE(w, cmd_power(w, "reboot")); /* a new order is performed */
    EXPECT_STR(sent_orders(w), "reboot");
    HAS(status(w), "was not done");
    discard_effects(w);
    EXPECT_STR(status(w), "");
    world_close(w);
}

/* The machine still runs its old system, and reports that it is alive. */
TEST(nothing_runs_after_a_restart_was_given_up)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    discard_effects(w);
    DONE(w, cmd_power(w, "reboot"));
    struct command lives = CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"),
                               .given = GIVEN_NODE_ALIVE, .alive = true);
    HAS(REFUSED(w, lives, WRONG_STATE, "alive"), "waits until its boot environment is served");
    struct command starts = lives;
    starts.node_update.given |= GIVEN_NODE_BOOTENV;
    starts.node_update.alive = false;
    starts.node_update.bootenv = STR("sledgehammer");
    REFUSED(w, starts, WRONG_STATE, "alive");
    starts.node_update.bootenv = STR("local"); /* unchanged */
    DONE(w, starts);
    advance_clock(w, BARRIER_MS);
    CHECK(read_node(w, "n1").stopped);
    discard_effects(w);
    DONE(w, lives);
    world_deliver(w);
    world_anneal(w);
    IS(w, "disco@n1", "todo");
    HAS(status(w), "reboot was not done");
    why_is(w, TABLE_NODEROLE, the_noderole(w, "disco@n1"), CAUSE_NODE_STOPPED, status(w));

    serve(w, "s1@d1");
    serve(w, "s1@d2");
    serve(w, "s2@d3");
    DONE(w, cmd_power(w, "reboot"));
    world_deliver(w);
    CHECK(!read_node(w, "n1").stopped && !read_node(w, "n1").alive && !status(w)[0]);
    DONE(w, lives);
    world_deliver(w);
    world_anneal(w);
    IS(w, "disco@n1", "active");
    world_close(w);
}

TEST(a_node_that_waits_for_power_on_may_become_alive)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    world_alive(w, "n1", false);
    discard_effects(w);
    DONE(w, cmd_power(w, "on"));
    CHECK(is_waiting(w, "on"));
    world_alive(w, "n1", true); /* switched on by hand */
    advance_clock(w, BARRIER_MS);
    HAS(status(w), "on was not done");
    CHECK(!read_node(w, "n1").stopped && read_node(w, "n1").alive);
    world_close(w);
}

TEST(a_later_restart_replaces_a_waiting_one)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    discard_effects(w);
    DONE(w, cmd_power(w, "reset"));
    DONE(w, cmd_power(w, "reboot"));
    CHECK(!is_waiting(w, "reset") && is_waiting(w, "reboot") && orders(w) == 1);
    DONE(w, cmd_power(w, "off"));
    DONE(w, cmd_power(w, "reset")); /* not replaced: there is an "off" between the two */
    CHECK(orders(w) == 3);
    serve(w, "s1@d1");
    serve(w, "s1@d2");
    serve(w, "s2@d3");
    EXPECT_STR(sent_orders(w), "reboot; off; reset");
    DONE(w, cmd_power(w, "reset")); /* a delivered order is not replaced */
    CHECK(orders(w) == 4);
    world_close(w);
}

TEST(a_restart_of_the_daemon_starts_the_deadline_again)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    discard_effects(w);
    DONE(w, cmd_power(w, "reboot"));
    advance_clock(w, BARRIER_MS - 10 * SECOND);
    world_reload(w);
    struct effects again = {0};
    core_resume(w->core, &w->arena, &again);
    for (const struct effect *e = again.first; e; e = e->next) {
        struct record record;
        CHECK(e->kind == EFFECT_OUTBOX && core_record(w->core, TABLE_OUTBOX, e->id, &record));
        CHECK(record.outbox.kind != OUTBOX_POWER); /* it is not delivered */
    }
    CHECK(is_waiting(w, "reboot"));
    CHECK(core_next_deadline(w->core) > mono_ms(w) + BARRIER_MS - 10 * SECOND);
    advance_clock(w, BARRIER_MS - 10 * SECOND);
    CHECK(is_waiting(w, "reboot"));
    advance_clock(w, 11 * SECOND);
    CHECK(!is_waiting(w, "reboot"));
    world_close(w);
}

TEST(an_order_is_given_up_if_a_server_is_in_error)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    DONE(w, cmd_retry(w, "s1@d2"));
    world_deliver(w);
    world_anneal(w);
    IS(w, "s1@d2", "transition");
    DONE(w, cmd_power(w, "reboot"));
    CHECK(is_waiting(w, "reboot"));
    world_finish(w, "s1@d2", RESULT_FAILED); /* while the order waits */
    CHECK(!is_waiting(w, "reboot"));
    const char *why = "reboot was not done: s1 on d2.example.com is in error and has not served "
                      "boot generation 1";
    EXPECT_STR(status(w), why);
    discard_effects(w);
    DONE(w, CMD(NODE_COMMIT, node_commit, .id = the_node(w, "n1")));
    EXPECT_STR(status(w), why); /* until a power action succeeds or the node is alive */
    discard_effects(w);
    DONE(w, cmd_power(w, "reboot")); /* a new order is given up as well */
    EXPECT_STR(sent_orders(w), "");
    CHECK(orders(w) == 0);
    EXPECT_STR(status(w), why);
    CHECK(!read_node(w, "n1").alive);

    /* A server that enters ERROR after it has served does not block. */
    DONE(w, cmd_retry(w, "s1@d2"));
    serve(w, "s1@d2");
    DONE(w, cmd_enqueue(w, "s1@d2"));
    world_anneal(w);
    world_finish(w, "s1@d2", RESULT_FAILED);
    DONE(w, cmd_power(w, "on"));
    CHECK(is_waiting(w, "on"));
    serve(w, "s1@d1");
    serve(w, "s2@d3");
    EXPECT_STR(sent_orders(w), "on");
    world_close(w);
}

TEST(an_order_is_given_up_if_a_change_makes_it_wait_for_an_error)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    serve(w, "s1@d2");
    DONE(w, cmd_enqueue(w, "s1@d2"));
    world_anneal(w);
    world_finish(w, "s1@d2", RESULT_FAILED);
    IS(w, "s1@d2", "error");
    DONE(w, cmd_power(w, "on"));
    CHECK(is_waiting(w, "on")); /* for the others: this one has served the machine */
    DONE(w, cmd_bootenv(w, "rescue"));
    CHECK(!is_waiting(w, "on"));
    HAS(status(w), "s1 on d2.example.com is in error");
    world_close(w);
}

TEST(a_deleted_server_is_not_waited_for)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    discard_effects(w);
    DONE(w, cmd_power(w, "reboot"));
    serve(w, "s1@d1");
    DONE(w, cmd_propose(w, "s1@d2"));
    CHECK(is_waiting(w, "reboot"));
    DONE(w, CMD(NODE_PROPOSE, node_propose, .id = the_node(w, "d3")));
    EXPECT_STR(sent_orders(w), "reboot");
    world_close(w);
}

TEST(a_role_without_serves_boot_is_not_waited_for)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    discard_effects(w);
    serve(w, "s1@d1");
    serve(w, "s1@d2");
    DONE(w, cmd_power(w, "reboot"));
    CHECK(is_waiting(w, "reboot"));
    struct record role, barclamp;
    CHECK(core_record(w->core, TABLE_ROLE, the_role(w, "s2"), &role));
    CHECK(core_record(w->core, TABLE_BARCLAMP, role.role.barclamp_id, &barclamp));
    char document[300];
    snprintf(document, sizeof document,
             "{'barclamp':{'name':'%.*s','source_path':'%.*s'},"
             "'roles':[{'name':'s2','jig':'script'}]}",
             STR_FMT_ARGS(barclamp.barclamp.name), STR_FMT_ARGS(barclamp.barclamp.source_path));
    DONE(w, cmd_import(w, document));
    CHECK(!is_waiting(w, "reboot") && orders(w) == 1);
    world_close(w);
}

TEST(the_test_jig_releases_all_waiting_orders)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    discard_effects(w);
    DONE(w, cmd_power(w, "reboot"));
    DONE(w,
         CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_TEST_JIG, .test_jig = true));
    EXPECT_STR(sent_orders(w), "reboot");
    world_close(w);
}

TEST(deleting_a_node_removes_its_waiting_orders)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    discard_effects(w);
    DONE(w, cmd_power(w, "reboot"));
    DONE(w, cmd_power(w, "off"));
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")));
    CHECK(orders(w) == 0 && core_next_deadline(w->core) == -1);
    world_close(w);
}

TEST(a_refused_step_releases_no_order)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    discard_effects(w);
    DONE(w, cmd_power(w, "reboot"));
    REFUSED(w, cmd_power(w, "sing"), NO_POWER_ACTION, NULL);
    CHECK(is_waiting(w, "reboot") && orders(w) == 1);
    world_close(w);
}

TEST(a_result_of_an_undelivered_order_changes_nothing)
{
    struct world *w = served_world();
    DONE(w, cmd_bootenv(w, "local"));
    discard_effects(w);
    DONE(w, cmd_power(w, "reboot"));
    const int64_t row = world_waiting(w, "power reboot n1");
    CHECK(row);
    DONE(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = row, .failed = true, .text = STR("no")));
    CHECK(is_waiting(w, "reboot"));
    EXPECT_STR(status(w), "");
    world_close(w);
}

/* ---- the status of the node ---- */

TEST(a_failed_power_action_sets_the_status)
{
    struct world *w = served_world();
    DONE(w, cmd_power(w, "reset"));
    DONE(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = world_waiting(w, "power reset n1"),
                .failed = true, .text = STR("the BMC is away")));
    EXPECT_STR(status(w), "reset failed: the BMC is away");
    world_reload(w);
    EXPECT_STR(status(w), "reset failed: the BMC is away");
    DONE(w, cmd_bootenv(w, "local")); /* a boot device order does not clear the status */
    world_deliver(w);
    EXPECT_STR(status(w), "reset failed: the BMC is away");
    DONE(w, cmd_power(w, "off"));
    DONE(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = world_waiting(w, "power off n1")));
    EXPECT_STR(status(w), "");
    DONE(w, cmd_power(w, "off"));
    DONE(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = world_waiting(w, "power off n1"),
                .failed = true));
    EXPECT_STR(status(w), "off failed");
    world_alive(w, "n1", true);
    EXPECT_STR(status(w), "");
    world_close(w);
}

TEST(a_long_failure_is_truncated_between_characters)
{
    struct world *w = served_world();
    char *text = arena_alloc(&w->arena, TEXT_MAX);
    for (uint32_t i = 0; i + 1 < TEXT_MAX; i += 2) {
        text[i] = (char)0xc3;
        text[i + 1] = (char)0xa9;
    }
    DONE(w, cmd_power(w, "off"));
    DONE(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = world_waiting(w, "power off n1"),
                .failed = true, .text = (struct str){text, TEXT_MAX / 2 * 2}));
    const struct str said = read_node(w, "n1").status;
    CHECK(said.len > 1000 && said.len < TEXT_MAX && str_is_clean(said));
    world_reload(w);
    world_close(w);
}

TEST(why_names_the_server_and_the_failure)
{
    struct world *w = served_world();
    const int64_t n1 = the_node(w, "n1");
    DONE(w, cmd_bootenv(w, "local"));
    discard_effects(w);
    DONE(w, cmd_power(w, "reboot"));
    serve(w, "s1@d1");
    const char *waits =
        "node `n1.example.com` is waiting for `s1` on `d2.example.com` to serve boot generation 1; "
        "it has not published 1 machine yet";
    discard_effects(w);
    why_is(w, TABLE_NODE, n1, CAUSE_BOOT_NOT_SERVED, waits);
    why_is(w, TABLE_NODEROLE, the_noderole(w, "disco@n1"), CAUSE_BOOT_NOT_SERVED, waits);
    advance_clock(w, BARRIER_MS);
    discard_effects(w);
    why_is(w, TABLE_NODE, n1, CAUSE_POWER_FAILED, status(w));
    why_is(w, TABLE_NODEROLE, the_noderole(w, "disco@n1"), CAUSE_POWER_FAILED, status(w));
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "disco@n1")));
    world_commit_deployment(w, "system");
    why_is(w, TABLE_NODE, n1, CAUSE_POWER_FAILED, status(w));
    world_run_all(w); /* without the noderole the machine is not in the boot view: a change */
    DONE(w, cmd_power(w, "reboot"));
    discard_effects(w);
    why_is(w, TABLE_NODE, n1, CAUSE_NONE, "node `n1.example.com` has nothing left to do");
    world_close(w);
}

/* ---- loading ---- */

static void check_corrupt(struct outbox_record bad)
{
    struct core *c = core_new();
    struct core *model = core_new();
    const char *what = NULL;
    core_bootstrap(model, 1000);
    for (uint32_t t = 0; t < TABLE_OBJECTS; t++)
        for (int64_t id = 0; (id = core_next_id(model, (enum table)t, id)) != 0;) {
            struct record record;
            CHECK(core_record(model, (enum table)t, id, &record));
            CHECK(core_load(c, &record, &what) == OK);
        }
    bad.id = 1;
    bad.created_at = bad.updated_at = 1000;
    bad.detail = STR("on");
    struct record record = {.table = TABLE_OUTBOX, .outbox = bad};
    CHECK(core_load(c, &record, &what) == ERR_CORRUPT && what);
    core_free(c);
    core_free(model);
}

TEST(a_row_that_cannot_wait_is_not_loaded)
{
    check_corrupt((struct outbox_record){
        .kind = OUTBOX_PROBE, .object = TABLE_NODE, .object_id = 1, .generation = 1});
    check_corrupt((struct outbox_record){
        .kind = OUTBOX_POWER, .object = TABLE_NODE, .object_id = 99, .generation = 1});
    check_corrupt((struct outbox_record){
        .kind = OUTBOX_POWER, .object = TABLE_ROLE, .object_id = 1, .generation = 1});
    check_corrupt((struct outbox_record){
        .kind = OUTBOX_POWER, .object = TABLE_NODE, .object_id = 1, .generation = -1});
    check_corrupt((struct outbox_record){.kind = OUTBOX_POWER,
                                         .object = TABLE_NODE,
                                         .object_id = 1,
                                         .generation = 1,
                                         .left_ms = RUN_TIME_S_MAX * INT64_C(1000) + 1});
    check_corrupt((struct outbox_record){.kind = OUTBOX_POWER,
                                         .object = TABLE_NODE,
                                         .object_id = 1,
                                         .generation = 1,
                                         .left_ms = -1});
}
