#include "tests/unit/core/data_world.h"

/* Nodes: the effects of updates, verbs and flags, beyond the numbered cases. */

/* clang-format off */
static const char content[] =
    "{\"barclamp\":{\"name\":\"tools\",\"source_path\":\"p\"},"
    "\"jigs\":[{\"name\":\"noop\",\"class\":\"noop\"},{\"name\":\"test\",\"class\":\"test\"},"
    "{\"name\":\"script\",\"class\":\"script\"}],"
    "\"hammers\":[{\"name\":\"ssh\",\"type\":\"ssh\",\"priority\":0},"
    "{\"name\":\"ipmi\",\"type\":\"ipmi\",\"priority\":10}],"
    "\"roles\":["
    "{\"name\":\"boot-b\",\"jig\":\"noop\",\"flags\":[\"bootstrap\"]},"
    "{\"name\":\"boot-a\",\"jig\":\"noop\",\"flags\":[\"bootstrap\"]},"
    "{\"name\":\"found\",\"jig\":\"noop\",\"flags\":[\"discovery\",\"milestone\",\"implicit\"]},"
    "{\"name\":\"joined\",\"jig\":\"noop\",\"flags\":[\"milestone\"],\"provides\":[\"found\"]},"
    "{\"name\":\"wipe\",\"jig\":\"script\",\"flags\":[\"destructive\",\"implicit\"]},"
    "{\"name\":\"app\",\"jig\":\"script\",\"requires\":[\"found\"]},"
    "{\"name\":\"free\",\"jig\":\"script\",\"flags\":[\"implicit\"]}]}";
/* clang-format on */

static struct world open_world(void)
{
    struct world w = world_open();
    import(&w, content);
    return w;
}

static struct node_record node_of(struct world *w, int64_t id)
{
    struct record record;
    CHECK(core_record(w->c, TABLE_NODE, id, &record));
    return record.node;
}

static struct noderole_record noderole_of(struct world *w, int64_t id)
{
    struct record record;
    CHECK(core_record(w->c, TABLE_NODEROLE, id, &record));
    return record.noderole;
}

static int64_t on(struct world *w, int64_t node, const char *role)
{
    return core_noderole(w->c, node, role_id(w, role));
}

static struct command updating(int64_t id, uint32_t given)
{
    return (struct command){.kind = COMMAND_NODE_UPDATE, .node_update = {.id = id, .given = given}};
}

static void give_ipmi(struct world *w, int64_t node)
{
    must_step(w, (struct command){.kind = COMMAND_HAMMER_CREATE,
                                  .hammer_create = {.node_id = node,
                                                    .hammer_kind_id = core_find(
                                                        w->c, TABLE_HAMMER_KIND, STR("ipmi")),
                                                    .username = STR("root")}});
}

static struct command powering(int64_t id, const char *action)
{
    return (struct command){.kind = COMMAND_NODE_POWER,
                            .node_power = {.id = id, .action = str_from(action)}};
}

/* Rows of the outbox of that kind, and the detail of the newest. */
static uint32_t outbox(struct world *w, enum outbox_kind kind, struct str *out_detail)
{
    uint32_t count = 0;
    struct record record;
    for (int64_t id = 0; (id = core_next_id(w->c, TABLE_OUTBOX, id)) != 0;) {
        CHECK(core_record(w->c, TABLE_OUTBOX, id, &record));
        if (record.outbox.kind != kind)
            continue;
        count++;
        *out_detail = record.outbox.detail;
    }
    return count;
}

static void power_is(struct world *w, uint32_t count, const char *newest)
{
    struct str detail = STR("");
    CHECK(outbox(w, OUTBOX_POWER, &detail) == count);
    CHECK(str_eq(detail, str_from(newest)));
}

static void forget_change(void *context, const struct change *change)
{
    (void)context;
    (void)change;
}

static void store(struct world *w)
{
    core_collect(w->c, w->now, forget_change, NULL);
}

/* ---- create ---- */

TEST(a_new_node_has_its_defaults_and_an_ssh_hammer)
{
    struct world w = open_world();
    must_step(&w, (struct command){
                      .kind = COMMAND_NODE_CREATE,
                      .node_create = {.name = STR("N1.Example.COM"), .hint = STR("{\"a\":1}")}});
    const int64_t id = w.out.id;
    const struct node_record n = node_of(&w, id);
    CHECK(str_eq(n.name, STR("n1.example.com")) && str_eq(n.bootenv, STR("sledgehammer")));
    CHECK(!n.alive && !n.available && !n.admin && n.deployment_id == 1 && n.order == 10000);
    CHECK(str_eq(n.hint, STR("{\"a\":1}")));
    CHECK(core_count(w.c, TABLE_HAMMER) == 1 && core_count(w.c, TABLE_NODEROLE) == 0);
    must_step(&w, (struct command){.kind = COMMAND_NODE_CREATE,
                                   .node_create = {.name = STR("s.example.com"), .system = true}});
    CHECK(core_count(w.c, TABLE_HAMMER) == 1);
    world_close(&w);
}

TEST(an_invalid_node_is_refused_with_every_reason)
{
    struct world w = open_world();
    step(&w, (struct command){.kind = COMMAND_NODE_CREATE,
                              .node_create = {.name = STR("n1"),
                                              .deployment_id = 99,
                                              .hint = STR("[]"),
                                              .discovery = STR("1")}});
    uint32_t count = 0;
    for (const struct problem *p = w.out.problems; p; p = p->next)
        count++;
    CHECK(w.out.verdict == VERDICT_REFUSED && count == 4);
    add_node(&w, "n1.example.com");
    must_refuse(&w,
                (struct command){.kind = COMMAND_NODE_CREATE,
                                 .node_create = {.name = STR("N1.example.com")}},
                PROBLEM_NAME_TAKEN, "name");
    must_refuse(&w, (struct command){.kind = COMMAND_NODE_CREATE}, PROBLEM_MISSING, "name");
    world_close(&w);
}

TEST(the_first_admin_node_gets_the_bootstrap_roles_in_order)
{
    struct world w = open_world();
    for (uint32_t i = 0; i < 2; i++) {
        must_step(&w, (struct command){
                          .kind = COMMAND_NODE_CREATE,
                          .node_create = {.name = i ? STR("b.example.com") : STR("a.example.com"),
                                          .admin = true}});
        CHECK(core_count(w.c, TABLE_NODEROLE) == 2);
    }
    const int64_t admin = core_find(w.c, TABLE_NODE, STR("admin"));
    CHECK(on(&w, admin, "boot-a") == 1 && on(&w, admin, "boot-b") == 2);
    world_close(&w);
}

/* ---- update ---- */

TEST(an_update_that_changes_nothing_emits_nothing)
{
    struct world w = open_world();
    const int64_t id = add_node(&w, "n1.example.com");
    const int64_t nr = bind(&w, id, "found");
    CHECK(nr);
    store(&w);
    struct command c = updating(id, 0x3ff);
    c.node_update = (struct node_update_command){.id = id,
                                                 .given = 0x3ff,
                                                 .name = STR("n1.example.com"),
                                                 .deployment_id = 1,
                                                 .old_deployment_id = 1,
                                                 .alive = true,
                                                 .available = true,
                                                 .bootenv = STR("sledgehammer"),
                                                 .quirks = STR("[]")};
    must_step(&w, c);
    CHECK(core_changed(w.c) == 0 && w.fx.count == 0);
    world_close(&w);
}

TEST(an_update_changes_what_it_names_and_joins_not_set)
{
    struct world w = open_world();
    const int64_t id = add_node(&w, "n1.example.com");
    struct command c = updating(id, GIVEN_NAME | GIVEN_DESCRIPTION | GIVEN_NODE_QUIRKS |
                                        GIVEN_NODE_ALLOCATED | GIVEN_NODE_BOOTENV);
    c.node_update.name = STR("Other.example.com");
    c.node_update.description = STR("x");
    c.node_update.quirks = STR("[\"b\",\"a\",\"b\"]");
    c.node_update.allocated = true;
    c.node_update.bootenv = STR("local");
    must_step(&w, c);
    const struct node_record n = node_of(&w, id);
    CHECK(str_eq(n.quirks, STR("[\"a\",\"b\"]")) && n.allocated);
    CHECK(str_eq(n.bootenv, STR("local")) && str_eq(n.description, STR("x")));
    CHECK(core_find(w.c, TABLE_NODE, STR("other.example.com")) == id);
    CHECK(core_find(w.c, TABLE_NODE, STR("n1.example.com")) == 0);
    CHECK(node_at(w.c, node_by_id(w.c, id))->group_count == 1);
    power_is(&w, 0, ""); /* ssh cannot select the boot device */
    c = updating(id, GIVEN_NODE_QUIRKS);
    c.node_update.quirks = STR("[]");
    must_step(&w, c);
    CHECK(node_of(&w, id).quirks.len == 0);
    world_close(&w);
}

TEST(an_invalid_update_is_refused)
{
    struct world w = open_world();
    const int64_t id = add_node(&w, "n1.example.com");
    add_node(&w, "n2.example.com");
    struct command c = updating(id, GIVEN_NODE_QUIRKS);
    c.node_update.quirks = STR("[1]");
    must_refuse(&w, c, PROBLEM_BAD_JSON, "quirks");
    c.node_update.quirks = STR("{}");
    must_refuse(&w, c, PROBLEM_BAD_JSON, "quirks");
    must_refuse(&w, updating(id, GIVEN_NODE_BOOTENV), PROBLEM_BAD_VALUE, "bootenv");
    must_refuse(&w, updating(id, GIVEN_NODE_DEPLOYMENT), PROBLEM_NOT_FOUND, "deployment_id");
    c = updating(id, GIVEN_NODE_OLD_DEPLOYMENT);
    c.node_update.old_deployment_id = 7;
    must_refuse(&w, c, PROBLEM_STALE, "old_deployment_id");
    c = updating(id, GIVEN_NODE_TARGET);
    c.node_update.target_role_id = 99;
    must_refuse(&w, c, PROBLEM_NOT_FOUND, "target_role_id");
    c.node_update.target_role_id = role_id(&w, "found");
    must_refuse(&w, c, PROBLEM_TARGET_INVALID, "target_role_id");
    c = updating(id, GIVEN_NAME);
    c.node_update.name = STR("n2.example.com");
    must_refuse(&w, c, PROBLEM_NAME_TAKEN, "name");
    must_refuse(&w, updating(99, 0), PROBLEM_NOT_FOUND, "id");
    world_close(&w);
}

TEST(a_phantom_keeps_its_name_and_its_deployment)
{
    struct world w = open_world();
    must_step(&w, (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                   .deployment_create = {.name = STR("Dee")}});
    const int64_t d = w.out.id;
    const int64_t phantom = core_find(w.c, TABLE_NODE, STR("dee-phantom.internal.local"));
    const struct node_record n = node_of(&w, phantom);
    CHECK(n.system && n.alive && !n.available && str_eq(n.bootenv, STR("local")));
    CHECK(n.deployment_id == d && core_count(w.c, TABLE_HAMMER) == 0);
    struct command c = updating(phantom, GIVEN_NAME);
    c.node_update.name = STR("x.internal.local");
    must_refuse(&w, c, PROBLEM_IN_USE, "id");
    c = updating(phantom, GIVEN_NODE_DEPLOYMENT);
    c.node_update.deployment_id = 1;
    must_refuse(&w, c, PROBLEM_IN_USE, "id");
    must_step(&w, (struct command){.kind = COMMAND_DEPLOYMENT_UPDATE,
                                   .deployment_update = {.id = d,
                                                         .given = GIVEN_NAME | GIVEN_DESCRIPTION,
                                                         .name = STR("Other"),
                                                         .description = STR("d")}});
    CHECK(core_find(w.c, TABLE_NODE, STR("other-phantom.internal.local")) == phantom);
    CHECK(core_find(w.c, TABLE_DEPLOYMENT, STR("other")) == d);
    world_close(&w);
}

TEST(a_boot_environment_orders_the_boot_device_from_the_hammer)
{
    struct world w = open_world();
    const int64_t id = add_node(&w, "n1.example.com");
    give_ipmi(&w, id);
    struct command c = updating(id, GIVEN_NODE_BOOTENV);
    c.node_update.bootenv = STR("local");
    must_step(&w, c);
    power_is(&w, 1, "boot disk");
    c.node_update.bootenv = STR("debian-install");
    must_step(&w, c);
    power_is(&w, 2, "boot pxe");
    world_close(&w);
}

TEST(alive_queues_a_probe_unless_the_test_jig_is_on)
{
    struct world w = open_world();
    struct str detail;
    must_step(&w, (struct command){.kind = COMMAND_NODE_CREATE,
                                   .node_create = {.name = STR("n1.example.com")}});
    struct command c = updating(w.out.id, GIVEN_NODE_ALIVE);
    c.node_update.alive = true;
    must_step(&w, c);
    CHECK(outbox(&w, OUTBOX_PROBE, &detail) == 1);
    c.node_update.alive = false;
    must_step(&w, c);
    must_step(&w, (struct command){
                      .kind = COMMAND_SETTINGS_UPDATE,
                      .settings_update = {.given = GIVEN_SETTINGS_TEST_JIG, .test_jig = true}});
    c.node_update.alive = true;
    must_step(&w, c);
    CHECK(outbox(&w, OUTBOX_PROBE, &detail) == 0);
    world_close(&w);
}

TEST(postponed_runs_start_when_the_node_is_available_again)
{
    struct world w = open_world();
    const int64_t id = add_node(&w, "n1.example.com");
    const int64_t nr = bind(&w, id, "free");
    commit(&w, nr);
    settle(&w, NULL);
    struct command c = updating(id, GIVEN_NODE_AVAILABLE);
    must_step(&w, c);
    must_step(&w,
              (struct command){.kind = COMMAND_NODEROLE_ENQUEUE, .noderole_enqueue = {.id = nr}});
    CHECK(noderole_of(&w, nr).rerun && core_count(w.c, TABLE_RUN) == 0);
    c.node_update.available = true;
    must_step(&w, c);
    CHECK(core_count(w.c, TABLE_RUN) == 1);
    settle(&w, NULL);
    CHECK(!noderole_of(&w, nr).rerun && noderole_of(&w, nr).run_count == 2);
    world_close(&w);
}

/* ---- verbs ---- */

TEST(power_does_only_what_a_hammer_offers)
{
    struct world w = open_world();
    const int64_t id = add_node(&w, "n1.example.com");
    must_refuse(&w, powering(id, "get_funky"), PROBLEM_NO_POWER_ACTION, "action");
    step(&w, powering(id, "on"));
    CHECK(str_ends(w.out.problems->text, STR("valid actions: reboot, status")));
    must_step(&w, powering(id, "reboot"));
    CHECK(!node_of(&w, id).alive);
    power_is(&w, 1, "reboot");
    give_ipmi(&w, id);
    struct command c = updating(id, GIVEN_NODE_ALIVE);
    c.node_update.alive = true;
    must_step(&w, c);
    must_step(&w, powering(id, "on"));
    CHECK(node_of(&w, id).alive);
    power_is(&w, 2, "on");
    must_step(&w, powering(id, "cycle"));
    CHECK(!node_of(&w, id).alive);
    must_refuse(&w, powering(99, "on"), PROBLEM_NOT_FOUND, "id");
    world_close(&w);
}

TEST(a_commit_binds_discovery_unless_another_role_provides_it)
{
    struct world w = open_world();
    const int64_t plain = add_node(&w, "n1.example.com");
    const int64_t joined = add_node(&w, "n2.example.com");
    bind(&w, joined, "joined");
    must_step(&w, (struct command){.kind = COMMAND_NODE_COMMIT, .node_commit = {.id = plain}});
    must_step(&w, (struct command){.kind = COMMAND_NODE_COMMIT, .node_commit = {.id = joined}});
    CHECK(on(&w, plain, "found") && state_of(&w, on(&w, plain, "found")) == NODEROLE_TODO);
    CHECK(!on(&w, joined, "found") && state_of(&w, on(&w, joined, "joined")) == NODEROLE_TODO);
    must_step(&w, (struct command){.kind = COMMAND_NODE_COMMIT, .node_commit = {.id = plain}});
    CHECK(core_count(w.c, TABLE_NODEROLE) == 2);
    must_step(&w, (struct command){.kind = COMMAND_NODE_PROPOSE, .node_propose = {.id = plain}});
    CHECK(state_of(&w, on(&w, plain, "found")) == NODEROLE_PROPOSED);
    world_close(&w);
}

TEST(redeploy_resets_states_and_restarts)
{
    struct world w = open_world();
    const int64_t id = add_node(&w, "n1.example.com");
    give_ipmi(&w, id);
    const int64_t wipe = bind(&w, id, "wipe"), app = bind(&w, id, "app");
    must_step(&w, (struct command){.kind = COMMAND_NODE_COMMIT, .node_commit = {.id = id}});
    settle(&w, NULL);
    CHECK(noderole_of(&w, wipe).run_count == 1 && state_of(&w, app) == NODEROLE_ACTIVE);
    struct command c = updating(id, GIVEN_NODE_BOOTENV);
    c.node_update.bootenv = STR("local");
    must_step(&w, c);
    must_step(&w, (struct command){.kind = COMMAND_NODE_REDEPLOY, .node_redeploy = {.id = id}});
    CHECK(noderole_of(&w, wipe).run_count == 0 && state_of(&w, wipe) == NODEROLE_TODO);
    CHECK(state_of(&w, app) == NODEROLE_BLOCKED && !node_of(&w, id).alive);
    CHECK(str_eq(node_of(&w, id).bootenv, STR("sledgehammer")));
    power_is(&w, 3, "reset"); /* boot disk, boot pxe, reset; and no "on" */
    world_close(&w);
}

TEST(without_power_actions_redeploy_and_debug_are_refused)
{
    struct world w = open_world();
    must_step(&w, (struct command){.kind = COMMAND_NODE_CREATE,
                                   .node_create = {.name = STR("s.example.com"), .system = true}});
    const int64_t id = w.out.id;
    bind(&w, id, "found");
    must_refuse(&w, (struct command){.kind = COMMAND_NODE_REDEPLOY, .node_redeploy = {.id = id}},
                PROBLEM_NO_POWER_ACTION, "action");
    must_refuse(&w, (struct command){.kind = COMMAND_NODE_DEBUG, .node_debug = {.id = id}},
                PROBLEM_NO_POWER_ACTION, "action");
    must_refuse(&w, (struct command){.kind = COMMAND_NODE_UNDEBUG, .node_undebug = {.id = id}},
                PROBLEM_NO_POWER_ACTION, "action");
    world_close(&w);
}

TEST(debug_holds_a_node_at_its_discovery_role_and_undebug_releases_it)
{
    struct world w = open_world();
    const int64_t id = add_node(&w, "n1.example.com");
    must_refuse(&w, (struct command){.kind = COMMAND_NODE_DEBUG, .node_debug = {.id = id}},
                PROBLEM_TARGET_INVALID, "id");
    const int64_t app = bind(&w, id, "app");
    must_step(&w, (struct command){.kind = COMMAND_NODE_COMMIT, .node_commit = {.id = id}});
    settle(&w, NULL);
    must_step(&w, (struct command){.kind = COMMAND_NODE_DEBUG, .node_debug = {.id = id}});
    CHECK(node_of(&w, id).target_role_id == role_id(&w, "found") && !node_of(&w, id).alive);
    CHECK(noderole_of(&w, app).unavailable && !noderole_of(&w, on(&w, id, "found")).unavailable);
    power_is(&w, 1, "reboot");
    must_step(&w, (struct command){.kind = COMMAND_NODE_UNDEBUG, .node_undebug = {.id = id}});
    CHECK(node_of(&w, id).target_role_id == 0 && !noderole_of(&w, app).unavailable);
    CHECK(str_eq(node_of(&w, id).bootenv, STR("local")) && !node_of(&w, id).alive);
    power_is(&w, 2, "reboot");
    world_close(&w);
}

TEST(a_commit_clears_the_flag_stopped)
{
    struct world w = open_world();
    const int64_t id = add_node(&w, "n1.example.com");
    open_node(&w, id)->stopped = true;
    must_step(&w, (struct command){.kind = COMMAND_NODE_COMMIT, .node_commit = {.id = id}});
    CHECK(!node_of(&w, id).stopped);
    open_node(&w, id)->stopped = true;
    must_step(&w, powering(id, "reboot"));
    CHECK(node_of(&w, id).stopped); /* a restart does not clear the flag stopped */
    world_close(&w);
}

/* ---- move ---- */

TEST(a_moved_noderole_is_counted_where_it_is)
{
    struct world w = open_world();
    const int64_t id = add_node(&w, "n1.example.com");
    const int64_t nr = bind(&w, id, "free");
    must_step(&w, (struct command){.kind = COMMAND_NODEROLE_COMMIT, .noderole_commit = {.id = nr}});
    must_step(&w,
              (struct command){.kind = COMMAND_NODEROLE_PROPOSE, .noderole_propose = {.id = nr}});
    CHECK(noderole_of(&w, nr).member_from > 0);
    must_step(&w, (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                   .deployment_create = {.name = STR("d")}});
    const int64_t d = w.out.id;
    struct command c = updating(id, GIVEN_NODE_DEPLOYMENT);
    c.node_update.deployment_id = d;
    must_step(&w, c);
    CHECK(noderole_of(&w, nr).deployment_id == d && noderole_of(&w, nr).member_from == 0);
    world_check(&w);
    must_step(&w,
              (struct command){.kind = COMMAND_DEPLOYMENT_COMMIT, .deployment_commit = {.id = d}});
    CHECK(noderole_of(&w, nr).member_from == 1);
    world_close(&w);
}
