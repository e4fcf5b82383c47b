/* Goal: native noderoles have served what the boot server on their node has acknowledged, and
 * nothing else; acknowledged changes are in the history of their runs (docs/spec/boot.md, "Served";
 * ADR 0090). Installers are called when their machine is served, or cannot be.
 * Method: events in every order, and late, for one and for several boot servers; every answer is
 * that of core_boot_servings() and of the boot barrier. */
#include "tests/unit/core/serve_world.h"

enum { SECOND = 1000 };

#define N1_MAC      "52:54:00:00:00:01"
#define DHCP_NATIVE "{'name':'dhcp','jig':'native','flags':['serves-boot']}"

/* ---- fixture ---- */

/* dhcp@d1 is native and active, and no boot server was ever connected; machines n1 and n2. */
static struct world *native_open(void)
{
    struct world *w = serve_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'tools','source_path':'/tools'},"
                          "'hammers':[{'name':'power','type':'ipmi','priority':1}],"
                          "'roles':[{'name':'watch','jig':'noop','hooks':['on_node_change']}]}"));
    DONE(w, cmd_import(w, SERVE_IMPORT(DHCP_NATIVE)));
    make_machine_with(w, "n1", N1_MAC);
    make_machine(w, "n2");
    DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = the_node(w, "n1"),
                .hammer_kind_id = core_find(w->core, TABLE_HAMMER_KIND, STR("power")),
                .username = STR("root")));
    world_bind(w, "dhcp@d1");
    world_commit(w, "dhcp@d1");
    world_run_all(w);
    IS(w, "dhcp@d1", "active");
    DONE(w, cmd_environment(w, "n1", "local"));
    world_run_all(w);
    world_collect(w);
    world_clear_effects(w);
    return w;
}

static struct command cmd_event(struct world *w, const char *node, enum boot_event event)
{
    return CMD(BOOT_SERVER, boot_server, .node_id = the_node(w, node), .event = event,
               .text = event == BOOT_EVENT_FAILED ? STR("port 67 is taken") : STR(""));
}

static struct command cmd_taken(struct world *w, const char *node, int64_t turn)
{
    struct command command = cmd_event(w, node, BOOT_EVENT_TAKEN);
    command.boot_server.turn = turn;
    return command;
}

static void connect_server(struct world *w, const char *node)
{
    DONE(w, cmd_event(w, node, BOOT_EVENT_CONNECTED));
}

/* All changes are durable, and the server has them. */
static void take_all(struct world *w, const char *node)
{
    world_collect(w);
    DONE(w, cmd_taken(w, node, w->turn));
}

static struct boot_serving serving_of(struct world *w, const char *server, const char *node)
{
    struct boot_serving *all;
    const uint32_t count = core_boot_servings(w->core, the_node(w, node), &w->arena, &all);
    for (uint32_t i = 0; i < count; i++)
        if (all[i].noderole_id == the_noderole(w, server))
            return all[i];
    world_fail(HERE, "%s does not serve boots", server);
    return (struct boot_serving){0};
}

/* "on 7 served", "off 0 late" */
static const char *serving_text(struct world *w, const char *server, const char *node)
{
    const struct boot_serving s = serving_of(w, server, node);
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, s.is_connected ? "on " : "off ");
    buf_put_i64(&b, s.taken);
    buf_put_z(&b, s.is_served ? " served" : " late");
    return str_z(&w->arena, buf_str(&b));
}

#define SERVING(w, wanted) EXPECT_STR(serving_text((w), "dhcp@d1", "n1"), (wanted))

static struct command cmd_power(struct world *w, const char *action)
{
    return CMD(NODE_POWER, node_power, .id = the_node(w, "n1"), .action = str_from(action));
}

/* The power actions that the last step delivered. */
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

/* The next step is that many milliseconds after the last one. */
static void step_after(struct world *w, int64_t ms)
{
    w->now_ms += ms - 1000;
}

static void tick_after(struct world *w, int64_t ms)
{
    step_after(w, ms);
    DONE(w, CMD(TICK, tick, .unused = 0));
}

/* The ended runs of the noderole in the store, as "1 ok: 1 machine: n1.example.com". */
static const char *history(struct world *w, const char *noderole)
{
    struct buf b = buf_in(&w->arena);
    const int64_t id = the_noderole(w, noderole);
    world_collect(w);
    for (uint32_t attempt = 1; attempt < 200; attempt++)
        for (size_t i = 0; i < w->kept_count; i++) {
            const struct old_run_record *run = &w->kept[i].old_run;
            if (w->kept[i].table != TABLE_OLD_RUN || run->noderole_id != id ||
                run->attempt != attempt)
                continue;
            CHECK(run->result == RESULT_OK && run->started_at == run->ended_at && run->run_id);
            buf_put_z(&b, b.len ? "; " : "");
            buf_put_i64(&b, attempt);
            buf_put_z(&b, " ");
            buf_put_str(&b, run->runlog);
        }
    return str_z(&w->arena, buf_str(&b));
}

/* The log of the newest ended run among the changes that are visited, without a store: its time
 * grows with the fleet. */
static char quick_log[8192];

static void quick_visit(void *context, const struct change *change)
{
    CHECK(!context);
    if (change->record.table == TABLE_OLD_RUN && !change->gone)
        snprintf(quick_log, sizeof quick_log, "%.*s", STR_FMT_ARGS(change->record.old_run.runlog));
}

#define TICKET "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* The parked run of os@n1 has set the environment of an installer; dhcp@d1 must serve it. */
static struct world *install_open(const char *dhcp)
{
    char document[1200];
    struct world *w = native_open();
    snprintf(document, sizeof document,
             "{'barclamp':{'name':'b','source_path':'/b'},"
             "'jigs':[{'name':'native','class':'native'}],'roles':[" SERVE_ROLES
             ",%s,{'name':'os','jig':'script','flags':['destructive'],'announces':['boot']}]}",
             dhcp);
    DONE(w, cmd_import(w, document));
    world_alive(w, "n1", true);
    world_available(w, "n1", true);
    world_bind(w, "os@n1");
    world_run_all(w);
    if (serving_of(w, "dhcp@d1", "n1").is_native) {
        connect_server(w, "d1");
        take_all(w, "d1");
    }
    world_commit(w, "os@n1");
    world_deliver(w);
    world_anneal(w);
    world_finish_with(w, "os@n1",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 3600000});
    world_deliver(w);
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"),
                .given = GIVEN_NODE_BOOTENV | GIVEN_NODE_PARKED_RUN,
                .bootenv = STR("debian-install"), .parked_run = world_run(w, "os@n1", RUN_PARKED)));
    world_deliver(w);
    world_clear_effects(w);
    return w;
}

/* ---- before the first boot server ---- */

TEST(without_a_boot_server_nothing_waits)
{
    struct world *w = native_open();
    SERVING(w, "off 0 served");
    CHECK(serving_of(w, "dhcp@d1", "n1").is_native && !serving_of(w, "dhcp@d1", "n1").since_ms);
    DONE(w, cmd_power(w, "reset"));
    EXPECT_STR(sent_orders(w), "reset");
    /* Events of a server that has not connected are ignored. */
    world_collect(w);
    DONE(w, cmd_taken(w, "d1", w->turn));
    DONE(w, cmd_event(w, "d1", BOOT_EVENT_LOST));
    DONE(w, cmd_event(w, "d1", BOOT_EVENT_FAILED));
    IS(w, "dhcp@d1", "active");
    SERVING(w, "off 0 served");
    CHECK(core_changed(w->core) == 0);
    world_close(w);
}

static bool setting(struct world *w)
{
    return core_settings(w->core)->boot_server;
}

TEST(the_first_connection_is_remembered)
{
    struct world *w = native_open();
    CHECK(!setting(w));
    connect_server(w, "d1");
    CHECK(setting(w));
    SERVING(w, "on 0 late");
    world_reload(w);
    CHECK(setting(w));
    SERVING(w, "off 0 late");
    DONE(w, cmd_power(w, "reset"));
    EXPECT_STR(sent_orders(w), "");
    /* An operator decides that there is none. */
    DONE(w, CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_BOOT_SERVER,
                .boot_server = false));
    EXPECT_STR(sent_orders(w), "reset");
    SERVING(w, "off 0 served");
    DONE(w, CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_BOOT_SERVER,
                .boot_server = true));
    SERVING(w, "off 0 late");
    DONE(w, cmd_power(w, "reset"));
    EXPECT_STR(sent_orders(w), "");
    connect_server(w, "d1");
    take_all(w, "d1");
    EXPECT_STR(sent_orders(w), "reset");
    world_close(w);
}

/* ---- acknowledgements ---- */

TEST(a_turn_that_is_acknowledged_serves_its_changes)
{
    struct world *w = native_open();
    connect_server(w, "d1");
    SERVING(w, "on 0 late");
    const int64_t base = w->turn;
    DONE(w, cmd_taken(w, "d1", base)); /* the base image */
    CHECK(serving_of(w, "dhcp@d1", "n1").is_served);
    DONE(w, cmd_environment(w, "n1", "debian-install"));
    CHECK(!serving_of(w, "dhcp@d1", "n1").is_served);
    CHECK(serving_of(w, "dhcp@d1", "n2").is_served);
    DONE(w, cmd_taken(w, "d1", base)); /* repeated; the change is not durable yet */
    CHECK(!serving_of(w, "dhcp@d1", "n1").is_served);
    DONE(w, cmd_power(w, "reset"));
    EXPECT_STR(sent_orders(w), "");
    world_collect(w);
    DONE(w, cmd_environment(w, "n2", "local"));
    world_collect(w);
    REFUSED(w, cmd_taken(w, "d1", w->turn + 1), BAD_VALUE, "turn");
    EXPECT_STR(sent_orders(w), "");
    DONE(w, cmd_taken(w, "d1", w->turn - 1));
    EXPECT_STR(sent_orders(w), "reset");
    CHECK(serving_of(w, "dhcp@d1", "n1").is_served);
    CHECK(!serving_of(w, "dhcp@d1", "n2").is_served);
    DONE(w, cmd_taken(w, "d1", base)); /* older: nothing is taken back */
    CHECK(serving_of(w, "dhcp@d1", "n1").taken == w->turn - 1);
    DONE(w, cmd_taken(w, "d1", w->turn));
    CHECK(serving_of(w, "dhcp@d1", "n2").is_served);
    world_close(w);
}

TEST(a_lost_boot_server_leaves_its_noderoles_active)
{
    struct world *w = native_open();
    connect_server(w, "d1");
    take_all(w, "d1");
    CHECK(serving_of(w, "dhcp@d1", "n1").is_served);
    const int64_t connected = serving_of(w, "dhcp@d1", "n1").since_ms;
    DONE(w, cmd_event(w, "d1", BOOT_EVENT_LOST));
    IS(w, "dhcp@d1", "active");
    SERVING(w, "off 0 late");
    const int64_t lost = serving_of(w, "dhcp@d1", "n1").since_ms;
    CHECK(lost == w->now_ms && lost > connected && connected > 0);
    DONE(w, cmd_event(w, "d1", BOOT_EVENT_LOST)); /* repeated */
    CHECK(serving_of(w, "dhcp@d1", "n1").since_ms == lost);
    DONE(w, cmd_taken(w, "d1", w->turn)); /* of the connection that was lost */
    SERVING(w, "off 0 late");
    DONE(w, cmd_event(w, "d1", BOOT_EVENT_FAILED)); /* the same */
    IS(w, "dhcp@d1", "active");
    DONE(w, cmd_power(w, "reset"));
    EXPECT_STR(sent_orders(w), "");
    connect_server(w, "d1");
    SERVING(w, "on 0 late");
    DONE(w, cmd_taken(w, "d1", w->turn));
    EXPECT_STR(sent_orders(w), "reset");
    connect_server(w, "d1"); /* again, without a loss that was seen */
    SERVING(w, "on 0 late");
    take_all(w, "d1");
    CHECK(serving_of(w, "dhcp@d1", "n1").is_served);
    world_close(w);
}

TEST(a_power_action_that_waits_for_a_lost_boot_server_ends_with_boot_wait)
{
    struct world *w = native_open();
    DONE(w,
         CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_BARRIER, .barrier_s = 60));
    connect_server(w, "d1");
    take_all(w, "d1");
    DONE(w, cmd_event(w, "d1", BOOT_EVENT_LOST));
    DONE(w, cmd_power(w, "reset"));
    tick_after(w, 59 * SECOND);
    CHECK(read_node(w, "n1").status.len == 0);
    tick_after(w, SECOND);
    EXPECT_STR(str_z(&w->arena, read_node(w, "n1").status),
               "reset was not done: dhcp on d1.example.com has not served boot generation 1 "
               "within 60 s");
    connect_server(w, "d1");
    take_all(w, "d1");
    EXPECT_STR(sent_orders(w), "");
    world_close(w);
}

TEST(after_a_load_nothing_is_connected_or_acknowledged)
{
    struct world *w = native_open();
    connect_server(w, "d1");
    take_all(w, "d1");
    DONE(w, cmd_environment(w, "n1", "debian-install"));
    DONE(w, cmd_power(w, "reset"));
    world_reload(w);
    SERVING(w, "off 0 late");
    CHECK(serving_of(w, "dhcp@d1", "n1").since_ms == 0);
    DONE(w, cmd_taken(w, "d1", 1)); /* of a connection before the load */
    SERVING(w, "off 0 late");
    REFUSED(w, cmd_taken(w, "d1", w->turn + 1), BAD_VALUE, "turn");
    connect_server(w, "d1");
    take_all(w, "d1");
    EXPECT_STR(sent_orders(w), "reset");
    EXPECT_STR(history(w, "dhcp@d1"), ""); /* a base image is no change */
    world_close(w);
}

TEST(a_server_serves_for_the_noderoles_on_its_own_node)
{
    struct world *w = native_open();
    world_bind(w, "dhcp@d2");
    world_commit(w, "dhcp@d2");
    world_run_all(w);
    connect_server(w, "d1");
    take_all(w, "d1");
    CHECK(serving_of(w, "dhcp@d1", "n1").is_served && !serving_of(w, "dhcp@d2", "n1").is_served);
    DONE(w, cmd_power(w, "reset"));
    EXPECT_STR(sent_orders(w), "");
    take_all(w, "d1");
    EXPECT_STR(sent_orders(w), "");
    connect_server(w, "d2");
    take_all(w, "d2");
    EXPECT_STR(sent_orders(w), "reset");
    DONE(w, cmd_event(w, "d2", BOOT_EVENT_LOST));
    CHECK(serving_of(w, "dhcp@d1", "n1").is_served && !serving_of(w, "dhcp@d2", "n1").is_served);
    DONE(w, cmd_power(w, "reset"));
    EXPECT_STR(sent_orders(w), "");
    DONE(w, cmd_propose(w, "dhcp@d2")); /* proposed noderoles are not waited for */
    EXPECT_STR(sent_orders(w), "reset");
    world_close(w);
}

TEST(a_machine_waits_for_both_kinds)
{
    for (uint32_t is_native_last = 0; is_native_last < 2; is_native_last++) {
        struct world *w = native_open();
        open_database(w, "dns@d2");
        world_run_all(w);
        connect_server(w, "d1");
        take_all(w, "d1");
        DONE(w, cmd_environment(w, "n1", "debian-install"));
        DONE(w, cmd_power(w, "reset"));
        EXPECT_STR(sent_orders(w), "");
        if (is_native_last)
            publish(w, "dns@d2");
        else
            take_all(w, "d1");
        EXPECT_STR(sent_orders(w), "");
        if (is_native_last)
            take_all(w, "d1");
        else
            publish(w, "dns@d2");
        EXPECT_STR(sent_orders(w), "reset");
        world_close(w);
    }
}

/* A machine that was never in the boot view, or whose environment never changed, is not served by
 * anyone. */
TEST(a_machine_without_an_entry_or_a_generation_waits_for_nothing)
{
    struct world *w = native_open();
    connect_server(w, "d1");
    DONE(w, cmd_node(w, "bare"));
    CHECK(serving_of(w, "dhcp@d1", "bare").is_served);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "bare" : "n2"; /* n2 has an entry and generation 0 */
        DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = the_node(w, name),
                    .hammer_kind_id = core_find(w->core, TABLE_HAMMER_KIND, STR("power")),
                    .username = STR("root")));
        if (i)
            DONE(w, cmd_environment(w, "bare", "local"));
        struct command power = cmd_power(w, "reset");
        power.node_power.id = the_node(w, name);
        DONE(w, power);
        HAS(sent_orders(w), "reset");
    }
    /* Nor does it wait for a database that has published nothing yet. */
    world_bind(w, "dns@d2");
    world_commit(w, "dns@d2");
    struct command power = cmd_power(w, "reset");
    power.node_power.id = the_node(w, "bare");
    DONE(w, power);
    HAS(sent_orders(w), "reset");
    world_close(w);
}

TEST(a_run_of_a_machine_whose_environment_never_changed_need_not_wait)
{
    struct world *w = install_open(DHCP_NATIVE);
    world_alive(w, "n2", true);
    world_available(w, "n2", true);
    DONE(w, cmd_event(w, "d1", BOOT_EVENT_LOST));
    world_bind(w, "os@n2");
    world_commit(w, "os@n2");
    world_deliver(w);
    world_anneal(w);
    CHECK(read_node(w, "n2").boot_generation == 0);
    EXPECT_STR(world_path(w, json_write(&w->arena, staged_boot(w, "os@n2")), "served"), "true");
    world_close(w);
}

/* ---- failures ---- */

TEST(what_a_server_cannot_serve_is_an_error)
{
    struct world *w = native_open();
    open_database(w, "dns@d1"); /* on the same node, but it publishes */
    world_run_all(w);
    world_bind(w, "dhcp@d2");
    world_commit(w, "dhcp@d2");
    world_run_all(w);
    connect_server(w, "d1");
    DONE(w, cmd_power(w, "reset"));
    EXPECT_STR(sent_orders(w), "");
    DONE(w, cmd_event(w, "d1", BOOT_EVENT_FAILED));
    IS(w, "dhcp@d1", "error");
    IS(w, "dhcp@d2", "active");
    IS(w, "dns@d1", "active");
    const struct noderole_record row = read_noderole(w, "dhcp@d1");
    CHECK(row.reason == REASON_BOOT_SERVER && str_eq(row.runlog, STR("port 67 is taken")));
    HAS(str_z(&w->arena, read_node(w, "n1").status),
        "reset was not done: dhcp on d1.example.com is in error and has not served");
    DONE(w, cmd_event(w, "d1", BOOT_EVENT_FAILED)); /* repeated */
    IS(w, "dhcp@d1", "error");
    world_reload(w);
    IS(w, "dhcp@d1", "error");
    connect_server(w, "d1");
    DONE(w, cmd_retry(w, "dhcp@d1"));
    world_run_all(w);
    IS(w, "dhcp@d1", "active");
    CHECK(read_noderole(w, "dhcp@d1").reason == REASON_NONE);
    DONE(w, cmd_propose(w, "dhcp@d1"));
    DONE(w, cmd_event(w, "d1", BOOT_EVENT_FAILED));
    IS(w, "dhcp@d1", "proposed");
    world_close(w);
}

/* ---- the history of runs ---- */

/* The server of d1 has the base image. */
static struct world *taken_open(void)
{
    struct world *w = native_open();
    connect_server(w, "d1");
    take_all(w, "d1");
    tick_after(w, 5 * SECOND);
    EXPECT_STR(history(w, "dhcp@d1"), "");
    return w;
}

TEST(acknowledged_changes_are_ended_runs)
{
    struct world *w = taken_open();
    CHECK(read_noderole(w, "dhcp@d1").attempt == 0);
    DONE(w, cmd_environment(w, "n2", "local"));
    DONE(w, cmd_environment(w, "n1", "debian-install"));
    DONE(w, cmd_environment(w, "n1", "sledgehammer"));
    EXPECT_STR(history(w, "dhcp@d1"), "");
    take_all(w, "d1");
    EXPECT_STR(history(w, "dhcp@d1"), "1 2 machines: n1.example.com, n2.example.com");
    IS(w, "dhcp@d1", "active");
    CHECK(read_noderole(w, "dhcp@d1").attempt == 1 && world_runs(w, NULL) == 0);
    DONE(w, cmd_taken(w, "d1", w->turn)); /* nothing of it is a machine */
    take_all(w, "d1");
    tick_after(w, 5 * SECOND);
    const int64_t gone = the_node(w, "n2");
    DONE(w, CMD(NODE_DELETE, node_delete, .id = gone));
    take_all(w, "d1");
    char wanted[200];
    snprintf(wanted, sizeof wanted,
             "1 2 machines: n1.example.com, n2.example.com; 2 1 machine: deleted node %" PRId64,
             gone);
    EXPECT_STR(history(w, "dhcp@d1"), wanted);
    world_reload(w);
    EXPECT_STR(history(w, "dhcp@d1"), wanted);
    CHECK(read_noderole(w, "dhcp@d1").attempt == 2);
    world_close(w);
}

TEST(changes_after_the_acknowledged_turn_are_not_in_its_record)
{
    struct world *w = taken_open();
    DONE(w, cmd_environment(w, "n1", "debian-install"));
    world_collect(w);
    const int64_t turn = w->turn;
    DONE(w, cmd_environment(w, "n2", "local"));
    world_collect(w);
    DONE(w, cmd_taken(w, "d1", turn));
    EXPECT_STR(history(w, "dhcp@d1"), "1 1 machine: n1.example.com");
    tick_after(w, 5 * SECOND);
    DONE(w, cmd_taken(w, "d1", turn + 1));
    EXPECT_STR(history(w, "dhcp@d1"), "1 1 machine: n1.example.com; 2 1 machine: n2.example.com");
    world_close(w);
}

TEST(at_most_one_run_a_second_is_recorded)
{
    struct world *w = taken_open();
    DONE(w, cmd_environment(w, "n1", "sledgehammer"));
    take_all(w, "d1");
    const char *one = "1 1 machine: n1.example.com";
    EXPECT_STR(history(w, "dhcp@d1"), one);
    CHECK(core_next_deadline(w->core) == -1);
    const int64_t at = w->now_ms - 1600000000000;
    step_after(w, 300);
    DONE(w, cmd_environment(w, "n2", "local"));
    world_collect(w);
    step_after(w, 100);
    DONE(w, cmd_taken(w, "d1", w->turn));
    EXPECT_STR(history(w, "dhcp@d1"), one);
    CHECK(core_next_deadline(w->core) == at + SECOND);
    step_after(w, 100);
    DONE(w, cmd_environment(w, "n1", "local"));
    world_collect(w);
    step_after(w, 100);
    DONE(w, cmd_taken(w, "d1", w->turn));
    tick_after(w, 399);
    EXPECT_STR(history(w, "dhcp@d1"), one);
    CHECK(core_next_deadline(w->core) == at + SECOND);
    tick_after(w, 1);
    EXPECT_STR(history(w, "dhcp@d1"),
               "1 1 machine: n1.example.com; 2 2 machines: n1.example.com, n2.example.com");
    CHECK(core_next_deadline(w->core) == -1);
    tick_after(w, 5 * SECOND);
    CHECK(read_noderole(w, "dhcp@d1").attempt == 2);
    world_close(w);
}

/* A change that was acknowledged is recorded also if the server is lost before the second ends. */
TEST(changes_that_a_lost_server_acknowledged_are_recorded)
{
    for (uint32_t connects = 0; connects < 2; connects++) {
        struct world *w = taken_open();
        DONE(w, cmd_environment(w, "n1", "sledgehammer"));
        take_all(w, "d1");
        step_after(w, 100);
        DONE(w, cmd_environment(w, "n2", "local"));
        world_collect(w);
        step_after(w, 100);
        DONE(w, cmd_taken(w, "d1", w->turn));
        step_after(w, 100);
        DONE(w, cmd_event(w, "d1", BOOT_EVENT_LOST));
        if (connects) {
            step_after(w, 100);
            connect_server(w, "d1");
            step_after(w, 100);
            DONE(w, cmd_taken(w, "d1", w->turn)); /* the base image */
        }
        EXPECT_STR(history(w, "dhcp@d1"), "1 1 machine: n1.example.com");
        CHECK(core_next_deadline(w->core) >= 0);
        tick_after(w, SECOND);
        EXPECT_STR(history(w, "dhcp@d1"),
                   "1 1 machine: n1.example.com; 2 1 machine: n2.example.com");
        CHECK(core_next_deadline(w->core) == -1);
        world_close(w);
    }
}

TEST(every_native_noderole_of_the_node_has_the_record)
{
    struct world *w = serve_open();
    DONE(w,
         cmd_import(w, "{'barclamp':{'name':'b','source_path':'/b'},"
                       "'jigs':[{'name':'native','class':'native'}],'roles':["
                       "{'name':'found','jig':'noop','flags':['discovery','milestone']},"
                       "{'name':'dns','jig':'native','flags':['serves-boot']}," DHCP_NATIVE "]}"));
    make_machine(w, "n1");
    static const char *const all[] = {"dhcp@d1", "dns@d1", "dhcp@d2"};
    for (int i = 0; i < 3; i++) {
        world_bind(w, all[i]);
        if (i != 2)
            world_commit(w, all[i]);
    }
    world_run_all(w);
    connect_server(w, "d1");
    connect_server(w, "d2");
    take_all(w, "d1");
    DONE(w, cmd_taken(w, "d2", w->turn));
    DONE(w, cmd_environment(w, "n1", "local"));
    take_all(w, "d1");
    EXPECT_STR(history(w, "dhcp@d1"), "1 1 machine: n1.example.com");
    EXPECT_STR(history(w, "dns@d1"), "1 1 machine: n1.example.com");
    DONE(w, cmd_taken(w, "d2", w->turn));
    EXPECT_STR(history(w, "dhcp@d2"), ""); /* proposed */
    world_close(w);
}

TEST(a_record_of_many_machines_is_short)
{
    struct world *w = serve_open();
    DONE(w, cmd_import(w, SERVE_IMPORT(DHCP_NATIVE)));
    world_bind(w, "dhcp@d1");
    world_commit(w, "dhcp@d1");
    world_run_all(w);
    connect_server(w, "d1");
    take_all(w, "d1");
    make_fleet(w, 41);
    take_all(w, "d1");
    const char *text = history(w, "dhcp@d1");
    HAS(text, "1 41 machines: m0.example.com, m1.example.com, ");
    HAS(text, ", m39.example.com, ...");
    CHECK(!strstr(text, "m40"));
    world_close(w);
}

/* The first machines of the fleet change. */
static void make_fleet_again(struct world *w, const char *bootenv, int count)
{
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%d", i);
        quick_step(w, cmd_environment(w, name, bootenv));
    }
}

/* The core remembers 4,096 changes. */
TEST(changes_that_are_forgotten_are_counted_as_more)
{
    struct world *w = serve_open();
    DONE(w, cmd_import(w, SERVE_IMPORT(DHCP_NATIVE)));
    world_bind(w, "dhcp@d1");
    world_commit(w, "dhcp@d1");
    world_run_all(w);
    connect_server(w, "d1");
    int64_t turn = 1;
    core_collect(w->core, turn, quick_visit, NULL);
    DONE(w, cmd_taken(w, "d1", turn));
    make_fleet(w, 3000);
    core_collect(w->core, ++turn, quick_visit, NULL);
    make_fleet_again(w, "debian-install", 1500);
    core_collect(w->core, ++turn, quick_visit, NULL);
    tick_after(w, SECOND);
    quick_log[0] = 0;
    DONE(w, cmd_taken(w, "d1", turn));
    core_collect(w->core, ++turn, quick_visit, NULL);
    HAS(quick_log, "more than 1500 machines: m0.example.com, ");
    /* What was recorded before was forgotten, and nothing that was not. */
    make_fleet_again(w, "local", 1500);
    core_collect(w->core, ++turn, quick_visit, NULL);
    tick_after(w, SECOND);
    DONE(w, cmd_taken(w, "d1", turn));
    core_collect(w->core, ++turn, quick_visit, NULL);
    make_fleet_again(w, "rescue", 1500);
    core_collect(w->core, ++turn, quick_visit, NULL);
    tick_after(w, SECOND);
    quick_log[0] = 0;
    DONE(w, cmd_taken(w, "d1", turn));
    core_collect(w->core, ++turn, quick_visit, NULL);
    CHECK(strncmp(quick_log, "1500 machines: m0.", 18) == 0);
    serve_close(w);
}

/* More machines in one turn than the core remembers. */
TEST(a_turn_that_changes_too_many_machines_is_recorded_in_part)
{
    struct world *w = serve_open();
    DONE(w, cmd_import(w, SERVE_IMPORT(DHCP_NATIVE)));
    world_bind(w, "dhcp@d1");
    world_commit(w, "dhcp@d1");
    world_run_all(w);
    connect_server(w, "d1");
    core_collect(w->core, 1, quick_visit, NULL);
    DONE(w, cmd_taken(w, "d1", 1));
    make_fleet(w, 4100);
    core_collect(w->core, 2, quick_visit, NULL);
    quick_log[0] = 0;
    tick_after(w, SECOND);
    DONE(w, cmd_taken(w, "d1", 2));
    core_collect(w->core, 3, quick_visit, NULL);
    CHECK(strncmp(quick_log, "more than 4096 machines: m0.", 28) == 0);
    serve_close(w);
}

TEST(changes_of_other_entries_are_not_counted)
{
    struct world *w = taken_open();
    DONE(w, cmd_network_of(w, "net", "other", true,
                           "[{'name':'host','first':'10.1.0.1/16','last':'10.1.255.250/16'}]"));
    const int64_t range = range_named(w, "net", "host");
    int64_t turn = w->turn;
    core_collect(w->core, ++turn, quick_visit, NULL);
    for (uint32_t i = 0; i < 4200; i++) { /* more than the core remembers of machines */
        char address[32], mac[32];
        snprintf(address, sizeof address, "10.1.%u.%u", i / 200 + 1, i % 200 + 1);
        snprintf(mac, sizeof mac, "52:54:00:00:%02x:%02x", i >> 8, i & 255);
        quick_step(w, CMD(LEASE_TAKE, lease_take, .range_id = range,
                          .address = str_copy(&w->arena, str_from(address)),
                          .mac = str_copy(&w->arena, str_from(mac)), .lease_s = 600));
    }
    quick_step(w, cmd_environment(w, "n1", "debian-install"));
    core_collect(w->core, ++turn, quick_visit, NULL);
    uint32_t changes;
    int64_t of_turn;
    core_boot_changes(w->core, &changes, &of_turn);
    CHECK(changes == 4201 && of_turn == turn);
    quick_log[0] = 0;
    DONE(w, cmd_taken(w, "d1", turn));
    core_collect(w->core, ++turn, quick_visit, NULL);
    EXPECT_STR(quick_log, "1 machine: n1.example.com");
    serve_close(w);
}

TEST(the_history_keeps_as_many_runs_as_the_setting)
{
    struct world *w = taken_open();
    DONE(w,
         CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_KEEP_RUNS, .keep_runs = 2));
    for (int i = 0; i < 4; i++) {
        DONE(w, cmd_environment(w, "n1", i % 2 ? "local" : "sledgehammer"));
        take_all(w, "d1");
    }
    EXPECT_STR(history(w, "dhcp@d1"), "3 1 machine: n1.example.com; 4 1 machine: n1.example.com");
    world_close(w);
}

/* ---- several servers ---- */

TEST(there_are_at_most_64_boot_servers)
{
    struct world *w = native_open();
    char name[16];
    for (uint32_t i = 0; i < BOOT_SERVERS_MAX + 1; i++) {
        snprintf(name, sizeof name, "a%u", i);
        DONE(w, cmd_node(w, name));
    }
    for (uint32_t i = 0; i < BOOT_SERVERS_MAX; i++) {
        snprintf(name, sizeof name, "a%u", i);
        connect_server(w, name);
    }
    snprintf(name, sizeof name, "a%u", BOOT_SERVERS_MAX);
    HAS(REFUSED(w, cmd_event(w, name, BOOT_EVENT_CONNECTED), LIMIT_REACHED, "node_id"), "64");
    DONE(w, cmd_event(w, name, BOOT_EVENT_LOST)); /* it is not known */
    connect_server(w, "a0");                      /* one of the known ones */
    /* One that was lost is still known: `why` names it. */
    DONE(w, cmd_event(w, "a1", BOOT_EVENT_LOST));
    REFUSED(w, cmd_event(w, name, BOOT_EVENT_CONNECTED), LIMIT_REACHED, "node_id");
    const int64_t gone = the_node(w, "a2");
    DONE(w, CMD(NODE_DELETE, node_delete, .id = gone));
    connect_server(w, name);
    struct command late = cmd_event(w, name, BOOT_EVENT_LOST);
    late.boot_server.node_id = gone;
    REFUSED(w, late, NOT_FOUND, "node_id");
    DONE(w, cmd_node(w, "more"));
    REFUSED(w, cmd_event(w, "more", BOOT_EVENT_CONNECTED), LIMIT_REACHED, "node_id");
    world_reload(w);
    connect_server(w, "more");
    world_close(w);
}

/* The call of an installer finds no room, so the whole event is refused, and is sent again. */
TEST(a_refused_event_leaves_no_trace)
{
    struct world *w = install_open(DHCP_NATIVE);
    world_collect(w);
    struct pool *outbox = &w->core->tables[TABLE_OUTBOX].pool;
    const uint32_t max = outbox->max;
    outbox->max = outbox->live;
    REFUSED(w, cmd_taken(w, "d1", w->turn), LIMIT_REACHED, NULL);
    CHECK(serving_of(w, "dhcp@d1", "n1").taken < w->turn);
    CHECK(!serving_of(w, "dhcp@d1", "n1").is_served);
    outbox->max = max;
    DONE(w, cmd_taken(w, "d1", w->turn));
    EXPECT_EFFECTS(w, "on_node_change watch n1");
    world_close(w);
}

TEST(a_batch_has_no_events_of_boot_servers)
{
    struct world *w = native_open();
    const struct command part = cmd_event(w, "d1", BOOT_EVENT_CONNECTED);
    struct buf b = buf_in(&w->arena);
    command_encode(&part, &b);
    REFUSED(w, CMD(BATCH, batch, .commands = buf_str(&b)), BAD_VALUE, "0");
    CHECK(!setting(w));
    SERVING(w, "off 0 served");
    world_close(w);
}

TEST(a_deleted_node_takes_its_server)
{
    struct world *w = native_open();
    connect_server(w, "d1");
    take_all(w, "d1");
    DONE(w, cmd_environment(w, "n1", "debian-install"));
    DONE(w, cmd_power(w, "reset"));
    EXPECT_STR(sent_orders(w), "");
    DONE(w, CMD(NODE_PROPOSE, node_propose, .id = the_node(w, "d1")));
    EXPECT_STR(sent_orders(w), "reset");
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "d1")));
    tick_after(w, 5 * SECOND);
    CHECK(core_next_deadline(w->core) == -1);
    struct boot_serving *none;
    CHECK(core_boot_servings(w->core, the_node(w, "n1"), &w->arena, &none) == 0);
    world_node(w, "d1", NULL); /* another node of that name */
    world_bind(w, "dhcp@d1");
    world_commit(w, "dhcp@d1");
    world_run_all(w);
    SERVING(w, "off 0 late");
    world_close(w);
}

/* ---- bad input ---- */

TEST(a_bad_event_is_refused_with_its_field)
{
    struct world *w = native_open();
    connect_server(w, "d1");
    struct command bad = cmd_event(w, "d1", BOOT_EVENT_LOST);
    static const int64_t nodes[] = {0, -1, 4711, INT64_MAX, INT64_MIN};
    for (uint32_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        bad.boot_server.node_id = nodes[i];
        REFUSED(w, bad, NOT_FOUND, "node_id");
    }
    static const uint32_t events[] = {BOOT_EVENT_COUNT, BOOT_EVENT_COUNT + 1, UINT32_MAX};
    for (uint32_t i = 0; i < sizeof events / sizeof *events; i++) {
        bad = cmd_event(w, "d1", (enum boot_event)events[i]);
        REFUSED(w, bad, BAD_VALUE, "event");
    }
    const int64_t turns[] = {0, -1, INT64_MIN, w->turn + 1, INT64_MAX};
    for (uint32_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        HAS(REFUSED(w, cmd_taken(w, "d1", turns[i]), BAD_VALUE, "turn"), "base image");
        HAS(REFUSED(w, cmd_taken(w, "d2", turns[i]), BAD_VALUE, "turn"), "base image");
    }
    bad = cmd_event(w, "d1", BOOT_EVENT_FAILED);
    bad.boot_server.text = STR("");
    REFUSED(w, bad, BAD_VALUE, "text");
    bad.boot_server.text = STR("a\xff");
    REFUSED(w, bad, BAD_TEXT, "text");
    char *text = arena_alloc(&w->arena, TEXT_MAX + 1);
    memset(text, 'x', TEXT_MAX + 1);
    bad.boot_server.text = (struct str){text, TEXT_MAX + 1};
    REFUSED(w, bad, BAD_TEXT, "text");
    SERVING(w, "on 0 late"); /* nothing of all this was done */
    IS(w, "dhcp@d1", "active");
    bad.boot_server.text = (struct str){text, TEXT_MAX};
    DONE(w, bad);
    IS(w, "dhcp@d1", "error");
    world_reload(w);
    DONE(w, cmd_retry(w, "dhcp@d1"));
    world_run_all(w);
    connect_server(w, "d1");
    bad.boot_server.text = (struct str){text, TEXT_MAX - 1};
    DONE(w, bad);
    world_close(w);
}

static struct command cmd_report(const char *name, bool available)
{
    return CMD(BOOTENV_REPORT, bootenv_report, .name = str_from(name), .available = available);
}

TEST(a_boot_server_reports_environments)
{
    struct world *w = native_open();
    struct record record;
    DONE(w, cmd_import(w, "{'barclamp':{'name':'images','source_path':'/images'},"
                          "'bootenvs':[{'name':'debian-install','method':'installer',"
                          "'kernel':'linux'},{'name':'rescue','method':'image','kernel':'k'}]}"));
    const int64_t id = core_find(w->core, TABLE_BOOTENV, STR("debian-install"));
    CHECK(core_record(w->core, TABLE_BOOTENV, id, &record) && !record.bootenv.available);
    CHECK(DONE(w, cmd_report("debian-install", true)) == id);
    CHECK(core_record(w->core, TABLE_BOOTENV, id, &record) && record.bootenv.available);
    world_collect(w);
    DONE(w, cmd_report("debian-install", true));
    CHECK(core_changed(w->core) == 0);
    world_reload(w);
    CHECK(core_record(w->core, TABLE_BOOTENV, id, &record) && record.bootenv.available);
    CHECK(core_record(w->core, TABLE_BOOTENV, core_find(w->core, TABLE_BOOTENV, STR("rescue")),
                      &record) &&
          !record.bootenv.available);
    DONE(w, cmd_report("debian-install", false));
    CHECK(core_record(w->core, TABLE_BOOTENV, id, &record) && !record.bootenv.available);
    char *name = arena_alloc(&w->arena, TEXT_MAX + 2);
    memset(name, 'x', TEXT_MAX + 1);
    name[TEXT_MAX + 1] = 0;
    REFUSED(w, cmd_report(name, true), BAD_TEXT, "name");
    REFUSED(w, cmd_report(name + 1, true), NOT_FOUND, "name");
    REFUSED(w, cmd_report("", true), NOT_FOUND, "name");
    REFUSED(w, cmd_report("nothing", true), NOT_FOUND, "name");
    REFUSED(w, cmd_report("a\xff", true), BAD_TEXT, "name");
    world_close(w);
}

/* ---- installers ---- */

TEST(a_run_that_announces_a_boot_is_staged_with_it)
{
    struct world *w = install_open(DHCP_NATIVE);
    EXPECT_STR(shown(w, json_write(&w->arena, staged_boot(w, "os@n1"))),
               "{'bootenv':'local','failed':false,'generation':1,'problem':'',"
               "'served':true,'wait_s':600}");
    DONE(w, CMD(RUN_RESUME, run_resume, .run_id = world_run(w, "os@n1", RUN_PARKED)));
    world_anneal(w);
    EXPECT_STR(shown(w, json_write(&w->arena, staged_boot(w, "os@n1"))),
               "{'bootenv':'debian-install','failed':false,'generation':2,"
               "'problem':'dhcp on d1.example.com has not served boot generation 2',"
               "'served':false,'wait_s':600}");
    world_finish_with(w, "os@n1",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 3600000});
    DONE(w, cmd_event(w, "d1", BOOT_EVENT_FAILED));
    DONE(w, CMD(RUN_RESUME, run_resume, .run_id = world_run(w, "os@n1", RUN_PARKED)));
    world_anneal(w);
    EXPECT_STR(world_path(w, json_write(&w->arena, staged_boot(w, "os@n1")), "problem"),
               "'dhcp on d1.example.com is in error and has not served boot generation 2'");
    world_close(w);
}

TEST(an_installer_is_called_when_its_machine_is_served)
{
    for (uint32_t is_native = 0; is_native < 2; is_native++) {
        struct world *w = install_open(is_native ? DHCP_NATIVE : DHCP_PUBLISHES);
        if (is_native)
            take_all(w, "d1");
        else
            publish(w, "dhcp@d1");
        if (!is_native)
            EXPECT_EFFECTS(w, "start dhcp@d1; on_node_change watch n1");
        else
            EXPECT_EFFECTS(w, "on_node_change watch n1");
        world_deliver(w);
        world_clear_effects(w);
        DONE(w, cmd_environment(w, "n2", "rescue")); /* another change is no reason */
        if (is_native)
            take_all(w, "d1");
        else
            publish(w, "dhcp@d1");
        world_deliver(w);
        CHECK(!strstr(str_z(&w->arena, buf_str(&w->story)), "watch n1"));
        world_close(w);
    }
}

TEST(an_installer_is_called_once_for_each_failure)
{
    struct world *w = install_open(DHCP_PUBLISHES);
    world_anneal(w);
    world_clear_effects(w);
    world_finish(w, "dhcp@d1", RESULT_FAILED);
    EXPECT_EFFECTS(w, "on_node_change watch n1");
    world_deliver(w);
    DONE(w, cmd_environment(w, "n2", "rescue"));
    DONE(w, CMD(TICK, tick, .unused = 0));
    EXPECT_EFFECTS(w, "");
    DONE(w, cmd_retry(w, "dhcp@d1"));
    world_deliver(w);
    world_anneal(w);
    world_clear_effects(w);
    world_finish(w, "dhcp@d1", RESULT_FAILED); /* again */
    EXPECT_EFFECTS(w, "on_node_change watch n1");
    DONE(w, cmd_retry(w, "dhcp@d1"));
    world_deliver(w);
    world_anneal(w);
    world_clear_effects(w);
    world_finish(w, "dhcp@d1", RESULT_OK);
    EXPECT_EFFECTS(w, "on_node_change watch n1");
    world_close(w);
}

TEST(a_server_that_fails_calls_the_installers_that_wait)
{
    struct world *w = install_open(DHCP_NATIVE);
    DONE(w, cmd_event(w, "d1", BOOT_EVENT_LOST)); /* late, and nothing that an operator must do */
    EXPECT_EFFECTS(w, "");
    connect_server(w, "d1");
    EXPECT_EFFECTS(w, "");
    DONE(w, cmd_event(w, "d1", BOOT_EVENT_FAILED));
    EXPECT_EFFECTS(w, "on_node_change watch n1");
    DONE(w, cmd_event(w, "d1", BOOT_EVENT_FAILED));
    EXPECT_EFFECTS(w, "");
    world_deliver(w);
    world_reload(
        w); /* an installer that waits is called after a start, too: it may have missed it */
    DONE(w, cmd_retry(w, "dhcp@d1"));
    world_run_all(w);
    world_clear_effects(w);
    connect_server(w, "d1");
    take_all(w, "d1");
    EXPECT_EFFECTS(w, "on_node_change watch n1");
    world_close(w);
}

TEST(an_installer_whose_grant_is_used_or_void_is_not_called)
{
    for (int i = 0; i < 3; i++) {
        struct world *w = install_open(DHCP_NATIVE);
        if (i == 0) {
            DONE(w, CMD(GRANT_USE, grant_use, .node_id = the_node(w, "n1"), .generation = 2,
                        .ticket = STR(TICKET), .mac = STR(N1_MAC)));
            CHECK(read_node(w, "n1").grant_ticket.len);
        }
        if (i == 1)
            DONE(w, cmd_propose(w, "os@n1"));
        if (i == 2)
            DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")));
        world_deliver(w);
        world_clear_effects(w);
        take_all(w, "d1");
        EXPECT_EFFECTS(w, "");
        world_close(w);
    }
}
