/* Goal: a lease belongs to one client, ends in time and never early, is stored rarely, and no
 * address of a node or router is leased (docs/spec/networks.md#leases). Method: commands through
 * the core with a clock that the test moves; world.h checks invariants, refusals and reloads. */
#include "tests/unit/core/network_world.h"

static const char mac_a[] = "52:54:00:00:00:0a", mac_b[] = "52-54-00-00-00-0B";

enum { LEASE_S = 600, STORED_MS = 4 * LEASE_S * 1000 };

static struct world *open_with_pool(void)
{
    struct world *w = world_open();
    DONE(w, cmd_network(w, "net", "[{'name':'dhcp','first':'10.1.0.10/24','last':'10.1.0.12/24'}]",
                        "{'address':'10.1.0.12'}"));
    world_node(w, "n1", NULL);
    return w;
}

static int64_t pool(struct world *w)
{
    return range_named(w, "net", "dhcp");
}

static struct command cmd_take(struct world *w, const char *address, const char *mac)
{
    return CMD(LEASE_TAKE, lease_take, .range_id = pool(w), .address = str_from(address),
               .mac = str_from(mac), .lease_s = LEASE_S);
}

static struct command cmd_decline(struct world *w, const char *address, const char *mac)
{
    return CMD(LEASE_DECLINE, lease_decline, .range_id = pool(w), .address = str_from(address),
               .mac = str_from(mac));
}

static struct command cmd_release(const char *address, const char *mac)
{
    return CMD(LEASE_RELEASE, lease_release, .address = str_from(address), .mac = str_from(mac));
}

static void tick(struct world *w)
{
    DONE(w, CMD(TICK, tick, .unused = 0));
}

static struct lease_record read_lease(struct world *w, int64_t id)
{
    struct record record;
    CHECK(core_record(w->core, TABLE_LEASE, id, &record));
    return record.lease;
}

/* Milliseconds until the next deadline, as of the last step. */
static int64_t left(struct world *w)
{
    return core_next_deadline(w->core) - (w->now_ms - 1600000000000);
}

/* ---- values ---- */

static struct command make_take(struct world *w)
{
    return cmd_take(w, "10.1.0.10", mac_a);
}

static struct command make_decline(struct world *w)
{
    return cmd_decline(w, "10.1.0.10", mac_a);
}

static struct command make_release(struct world *w)
{
    (void)w;
    return cmd_release("10.1.0.10", mac_a);
}

static const struct bad_value client_values[] = {
    {"address", "", PROBLEM_BAD_VALUE, NULL},
    {"address", "10.1.0", PROBLEM_BAD_VALUE, NULL},
    {"address", "10.1.0.10/33", PROBLEM_BAD_VALUE, NULL},
    {"address", "10.1.0.10/24", PROBLEM_NONE, NULL},
    {"mac", "", PROBLEM_BAD_VALUE, NULL},
    {"mac", "52:54:00:00:00", PROBLEM_BAD_VALUE, NULL},
    {"mac", "52:54:00:00:00:0a:0b", PROBLEM_BAD_VALUE, NULL},
    {"mac", "52:54:00:00:00:0g", PROBLEM_BAD_VALUE, NULL},
    {"mac", "ff:ff:ff:ff:ff:ff", PROBLEM_BAD_VALUE, NULL},
    {"mac", "01:00:5e:00:00:01", PROBLEM_BAD_VALUE, NULL},
    {"mac", "00:00:00:00:00:00", PROBLEM_BAD_VALUE, NULL},
    {"mac", "52-54-00-00-00-0A", PROBLEM_NONE, NULL},
};
static const struct bad_value range_values[] = {
    {"range_id", "0", PROBLEM_NOT_FOUND, NULL},
    {"range_id", "99", PROBLEM_NOT_FOUND, NULL},
    {"address", "10.1.0.9", PROBLEM_BAD_VALUE, NULL},
    {"address", "10.1.0.13", PROBLEM_BAD_VALUE, NULL},
    {"address", "fd00::1", PROBLEM_BAD_VALUE, NULL},
};
static const struct bad_value time_values[] = {
    {"lease_s", "0", PROBLEM_BAD_VALUE, NULL},
    {"lease_s", "1", PROBLEM_NONE, NULL},
    {"lease_s", "604799", PROBLEM_NONE, NULL},
    {"lease_s", "604800", PROBLEM_NONE, NULL},
    {"lease_s", "604801", PROBLEM_BAD_VALUE, NULL},
    {"lease_s", "4294967295", PROBLEM_BAD_VALUE, NULL},
    {"address", "10.1.0.12", PROBLEM_ADDRESS_TAKEN, NULL}, /* the router */
};

TEST(every_field_of_a_lease_is_checked)
{
    CHECK_VALUES(open_with_pool, make_take, client_values);
    CHECK_VALUES(open_with_pool, make_take, range_values);
    CHECK_VALUES(open_with_pool, make_take, time_values);
    CHECK_VALUES(open_with_pool, make_release, client_values);
    CHECK_VALUES(open_with_pool, make_decline, client_values);
    CHECK_VALUES(open_with_pool, make_decline, range_values);
    struct world *w = open_with_pool();
    REFUSED(w, CMD(LEASE_TAKE, lease_take, .range_id = 99), NONE, NULL);
    CHECK(problem_count(w) == 4 && has_problem(w, PROBLEM_NOT_FOUND, "range_id"));
    world_close(w);
}

/* ---- take, renew, end ---- */

TEST(a_client_takes_and_keeps_an_address)
{
    struct world *w = open_with_pool();
    const int64_t id = DONE(w, cmd_take(w, "10.1.0.10", mac_a));
    const struct lease_record lease = read_lease(w, id);
    CHECK(lease.state == LEASE_LIVE && lease.mac == 0x52540000000a && lease.node_id == 0);
    CHECK(str_eq(lease.address, STR("10.1.0.10/24")) && lease.left_ms == STORED_MS);
    CHECK(left(w) == STORED_MS);
    REFUSED(w, cmd_take(w, "10.1.0.10", mac_b), ADDRESS_TAKEN, "address");
    REFUSED(w, cmd_allocate_address(w, "n1", pool(w), "10.1.0.10"), ADDRESS_TAKEN, "address");
    EXPECT_STR(allocated(w, "n1", pool(w)), "10.1.0.11/24");
    REFUSED(w, cmd_take(w, "10.1.0.11", mac_b), ADDRESS_TAKEN, "address");
    world_close(w);
}

TEST(a_renewal_is_written_only_below_half_of_the_stored_time)
{
    struct world *w = open_with_pool();
    const int64_t id = DONE(w, cmd_take(w, "10.1.0.10", mac_a));
    const uint64_t edits = core_edits(w->core);
    w->now_ms += STORED_MS / 2 - 1000; /* and the second of the step: exactly half is left */
    CHECK(DONE(w, cmd_take(w, "10.1.0.10", mac_a)) == id);
    CHECK(core_edits(w->core) == edits && left(w) == STORED_MS / 2);
    CHECK(DONE(w, cmd_take(w, "10.1.0.10", mac_a)) == id); /* one second less than half */
    CHECK(core_edits(w->core) > edits && left(w) == STORED_MS - 1);
    world_close(w);
}

/* A boot server counts the time of a lease from the change of its entry. */
TEST(every_renewal_that_is_written_changes_the_entry_of_the_boot_view)
{
    struct world *w = open_with_pool();
    const int64_t id = DONE(w, cmd_take(w, "10.1.0.10", mac_a));
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t count;
        int64_t turn;
        world_collect(w);
        w->now_ms += STORED_MS / 2;
        CHECK(DONE(w, cmd_take(w, "10.1.0.10", mac_a)) == id);
        CHECK(read_lease(w, id).left_ms == (i % 2 ? STORED_MS : STORED_MS - 1));
        world_collect(w);
        const struct boot_key *keys = core_boot_changes(w->core, &count, &turn);
        CHECK(count == 1 && keys[0].kind == BOOT_LEASE && keys[0].id == id);
    }
    world_close(w);
}

TEST(a_lease_ends_by_the_clock)
{
    struct world *w = open_with_pool();
    DONE(w, cmd_take(w, "10.1.0.10", mac_a));
    DONE(w, with(cmd_take(w, "10.1.0.11", mac_b), "lease_s", "1000"));
    w->now_ms += STORED_MS - 3000;
    tick(w);
    CHECK(core_count(w->core, TABLE_LEASE) == 2 && left(w) == 1000);
    tick(w);
    CHECK(core_count(w->core, TABLE_LEASE) == 1);
    CHECK(left(w) == 4000 * 1000 - STORED_MS + 1000);
    DONE(w, cmd_take(w, "10.1.0.10", mac_b));
    w->now_ms += 1000ll * 604800 * 4;
    tick(w);
    CHECK(core_count(w->core, TABLE_LEASE) == 0 && core_next_deadline(w->core) == -1);
    world_close(w);
}

TEST(many_leases_that_end_together_are_removed_in_several_steps)
{
    enum { LEASES = 1500, PER_STEP = 512 };
    struct world *w = world_open();
    DONE(w,
         cmd_network(w, "net", "[{'name':'dhcp','first':'10.1.0.1/16','last':'10.1.9.0/16'}]", ""));
    struct arena scratch = {0};
    for (uint32_t i = 0; i < LEASES; i++) {
        char address[20], mac[20];
        struct effects fx = {0};
        struct outcome out;
        snprintf(address, sizeof address, "10.1.%u.%u", (i + 1) / 256, (i + 1) % 256);
        snprintf(mac, sizeof mac, "52:54:00:00:%02x:%02x", i / 256, i % 256);
        struct command take = cmd_take(w, address, mac);
        take.now_ms = w->now_ms;
        take.mono_ms = w->now_ms - 1600000000000;
        core_step(w->core, &take, &scratch, &fx, &out);
        CHECK(out.verdict == VERDICT_DONE);
        arena_reset(&scratch);
    }
    arena_fini(&scratch);
    w->now_ms += STORED_MS;
    for (uint32_t left_over = LEASES - PER_STEP; left_over < LEASES; left_over -= PER_STEP) {
        tick(w);
        CHECK(core_count(w->core, TABLE_LEASE) == left_over);
        CHECK(left(w) <= 0); /* the turn steps another tick at once */
    }
    tick(w);
    CHECK(core_count(w->core, TABLE_LEASE) == 0 && core_next_deadline(w->core) == -1);
    world_close(w);
}

TEST(a_lease_ends_by_release_of_its_client_only)
{
    struct world *w = open_with_pool();
    DONE(w, cmd_take(w, "10.1.0.10", mac_a));
    const uint64_t edits = core_edits(w->core);
    DONE(w, cmd_release("10.1.0.10", mac_b));
    DONE(w, cmd_release("10.1.0.11", mac_a));
    DONE(w, cmd_release("fd00::1", mac_a));
    CHECK(core_edits(w->core) == edits);
    DONE(w, cmd_release("10.1.0.10", mac_a));
    CHECK(core_count(w->core, TABLE_LEASE) == 0 && core_next_deadline(w->core) == -1);
    DONE(w, cmd_release("10.1.0.10", mac_a));                /* a repetition */
    EXPECT_STR(allocated(w, "n1", pool(w)), "10.1.0.10/24"); /* free at once */
    DONE(w, cmd_release("10.1.0.10", mac_a));                /* of a node: no lease */
    EXPECT_STR(address_in(w, "n1", pool(w)), "10.1.0.10/24");
    world_close(w);
}

/* ---- decline ---- */

TEST(a_declined_address_rests)
{
    struct world *w = open_with_pool();
    DONE(w, cmd_take(w, "10.1.0.10", mac_a));
    const int64_t id = DONE(w, cmd_decline(w, "10.1.0.10", mac_a));
    CHECK(read_lease(w, id).state == LEASE_DECLINED && read_lease(w, id).left_ms == REST_MS);
    CHECK(core_count(w->core, TABLE_LEASE) == 1 && core_next_deadline(w->core) == -1);
    REFUSED(w, cmd_take(w, "10.1.0.10", mac_a), ADDRESS_TAKEN, "address");
    REFUSED(w, cmd_allocate_address(w, "n1", pool(w), "10.1.0.10"), ADDRESS_TAKEN, "address");
    w->now_ms += REST_MS - 5000;
    tick(w);
    REFUSED(w, cmd_take(w, "10.1.0.10", mac_b), ADDRESS_TAKEN, "address");
    DONE(w, cmd_take(w, "10.1.0.10", mac_b));
    CHECK(core_count(w->core, TABLE_LEASE) == 1);
    world_close(w);
}

TEST(a_full_table_refuses_a_lease_and_its_decline)
{
    struct world *w = open_with_pool();
    struct pool *leases = &w->core->tables[TABLE_LEASE].pool;
    const uint32_t max = leases->max;
    leases->max = 2;
    DONE(w, cmd_take(w, "10.1.0.10", mac_a));
    DONE(w, cmd_decline(w, "10.1.0.10", mac_a));
    world_collect(w);
    DONE(w, with(cmd_take(w, "10.1.0.11", mac_b), "lease_s", "604800"));
    w->now_ms += REST_MS;
    /* The row of the address that has rested is replaced, but its slot is used again only after the
     * turn. */
    REFUSED(w, cmd_take(w, "10.1.0.10", mac_a), LIMIT_REACHED, "lease");
    REFUSED(w, cmd_decline(w, "10.1.0.11", mac_b), LIMIT_REACHED, "lease");
    leases->max = max;
    DONE(w, cmd_take(w, "10.1.0.10", mac_a));
    world_close(w);
}

TEST(a_client_declines_only_its_own_lease)
{
    struct world *w = open_with_pool();
    DONE(w, cmd_take(w, "10.1.0.10", mac_a));
    DONE(w, cmd_allocate_address(w, "n1", pool(w), "10.1.0.11"));
    const uint64_t edits = core_edits(w->core);
    DONE(w, cmd_decline(w, "10.1.0.10", mac_b)); /* of another client */
    DONE(w, cmd_decline(w, "10.1.0.11", mac_b)); /* of a node */
    DONE(w, cmd_decline(w, "10.1.0.12", mac_b)); /* of the router */
    CHECK(core_edits(w->core) == edits);
    deallocate(w, "n1");
    DONE(w, cmd_decline(w, "10.1.0.11", mac_b)); /* of no client: it stays with its node */
    DONE(w, cmd_allocate_address(w, "n1", pool(w), "10.1.0.11"));
    DONE(w, cmd_decline(w, "10.1.0.10", mac_a));
    const int64_t id = core_next_id(w->core, TABLE_LEASE, 0);
    const struct lease_record before = read_lease(w, id);
    w->now_ms += 60000;
    DONE(w, cmd_decline(w, "10.1.0.10", mac_a)); /* a repetition extends nothing */
    CHECK(core_next_id(w->core, TABLE_LEASE, 0) == id && read_lease(w, id).turn == before.turn);
    world_close(w);
}

/* ---- loads ---- */

TEST(after_a_load_every_lease_has_its_stored_time_again)
{
    struct world *w = open_with_pool();
    DONE(w, cmd_take(w, "10.1.0.10", mac_a));
    DONE(w, cmd_allocate_address(w, "n1", pool(w), "10.1.0.11"));
    deallocate(w, "n1");
    w->now_ms += STORED_MS / 2; /* below half, and not renewed */
    world_reload(w);
    CHECK(left(w) == STORED_MS && left(w) >= LEASE_S * 1000);
    w->now_ms += STORED_MS - 2000;
    tick(w);
    CHECK(core_count(w->core, TABLE_LEASE) == 2);
    tick(w);
    CHECK(core_count(w->core, TABLE_LEASE) == 1);
    /* A freed address rests an hour from the load. */
    world_node(w, "n2", NULL);
    w->now_ms += REST_MS - STORED_MS - 4000;
    REFUSED(w, cmd_allocate_address(w, "n2", pool(w), "10.1.0.11"), ADDRESS_TAKEN, "address");
    w->now_ms += 4000;
    DONE(w, cmd_allocate_address(w, "n2", pool(w), "10.1.0.11"));
    world_close(w);
}

TEST(the_wall_clock_does_not_end_a_lease)
{
    struct world *w = open_with_pool();
    DONE(w, cmd_take(w, "10.1.0.10", mac_a));
    w->wall_ahead_ms = 400ll * 86400 * 1000;
    tick(w);
    w->wall_ahead_ms = -400ll * 86400 * 1000;
    tick(w);
    CHECK(core_count(w->core, TABLE_LEASE) == 1 && left(w) == STORED_MS - 2000);
    world_close(w);
}

/* A record of a lease is loaded only if a command can have made it. */
TEST(records_that_no_command_makes_are_not_loaded)
{
    struct world *w = open_with_pool();
    const network_range_ix r = network_range_by_id(w->core, pool(w));
    DONE(w, cmd_allocate_address(w, "n1", pool(w), "10.1.0.11"));
    const struct lease_record good = {.id = 1,
                                      .network_range_id = pool(w),
                                      .address = STR("10.1.0.10/24"),
                                      .mac = 0x52540000000a,
                                      .state = LEASE_LIVE,
                                      .left_ms = 1000};
    struct lease row = {.range = r};
    CHECK(lease_fill(w->core, &row, &good));
    struct lease_record bad[9];
    for (int i = 0; i < 9; i++)
        bad[i] = good;
    bad[0].address = STR("10.1.0.9/24");
    bad[1].address = STR("10.1.0.11/24"); /* of a node */
    bad[2].address = STR("nonsense");
    bad[3].state = LEASE_STATE_COUNT;
    bad[4].left_ms = -1;
    bad[5].mac = 0;
    bad[6].mac = INT64_C(1) << 48;
    bad[7].state = LEASE_FREED;
    bad[8].id = ADDRESS_ID_MAX;
    for (int i = 0; i < 9; i++) {
        row = (struct lease){.range = r};
        CHECK(!lease_fill(w->core, &row, &bad[i]));
    }
    row.range.v = 0;
    CHECK(!lease_fill(w->core, &row, &good));
    world_close(w);
}

TEST(the_check_finds_a_timer_that_is_missing_or_left_over)
{
    struct world *w = open_with_pool();
    DONE(w, cmd_take(w, "10.1.0.10", mac_a));
    struct core *c = w->core;
    uint64_t key;
    uint32_t ix;
    CHECK(omap_ceil(&c->lease_ends, 0, &key, &ix));
    lease_edit(c, (lease_ix){ix})->state = LEASE_DECLINED;
    HAS(core_check(c, &w->arena), "no live lease");
    lease_edit(c, (lease_ix){ix})->state = LEASE_LIVE;
    lease_edit(c, (lease_ix){ix})->deadline += 5;
    HAS(core_check(c, &w->arena), "no timer");
    lease_edit(c, (lease_ix){ix})->deadline -= 5;
    CHECK(core_check(c, &w->arena) == NULL);
    world_close(w);
}
