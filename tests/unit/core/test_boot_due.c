/* Goal: a noderole that publishes boots gets every machine and every change, however changes, runs,
 * failures and imports are ordered, and no more than that (docs/spec/boot.md, "Served"; ADR 0090).
 * Method: databases whose content is a copy (serve_world.h). What a noderole need not publish any
 * more must be in its copy as in the boot view; rows are compared with those that are expected. */
#include "tests/unit/core/serve_world.h"

#include "base/prng.h"

/* ---- what a run is staged with ---- */

TEST(a_run_is_staged_with_the_entry_of_a_machine)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'b','source_path':'/b'},"
                          "'attribs':[{'name':'port','map':'port','schema':{'type':'any'}},"
                          "{'name':'rack','map':'rack','schema':{'type':'str'}},"
                          "{'name':'unset','map':'unset'},"
                          "{'name':'other','map':'other','schema':{'type':'str'}}],"
                          "'roles':[" SERVE_ROLES ",{'name':'dhcp','jig':'script',"
                          "'flags':['serves-boot'],'wants-attribs':['port','unset','rack']}]}"));
    DONE(w, cmd_network_of(w, "net", "admin", true,
                           "[{'name':'host','first':'192.168.124.81/24',"
                           "'last':'192.168.124.99/24'}]"));
    world_node(w, "d1", NULL);
    struct command node = cmd_node(w, "n1");
    node.node_create.hint =
        world_json(w, "{'admin_macs':['52:54:00:00:00:0B','52:54:00:00:00:0a']}");
    DONE(w, node);
    world_bind(w, "found@n1");
    world_commit(w, "found@n1");
    DONE(w, cmd_allocate(w, "n1", range_named(w, "net", "host")));
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "port", BUCKET_USER, "{'speed':[1,2]}"));
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "rack", BUCKET_USER, "'r7'"));
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "other", BUCKET_USER, "'x'"));
    DONE(w, cmd_environment(w, "n1", "local"));
    open_database(w, "dhcp@d1");
    char wanted[512];
    snprintf(wanted, sizeof wanted,
             "{'due':{'%" PRId64 "':{'addresses':['192.168.124.81/24'],"
             "'attribs':{'port':{'speed':[1,2]},'rack':'r7'},'bootenv':'local','generation':1,"
             "'macs':['52:54:00:00:00:0a','52:54:00:00:00:0b'],'name':'n1.example.com'}},"
             "'part':{'after':0,'to':null}}",
             the_node(w, "n1"));
    EXPECT_STR(shown(w, json_write(&w->arena, staged_boot(w, "dhcp@d1"))), wanted);
    world_close(w);
}

TEST(a_change_makes_one_row_for_each_noderole_and_requests_its_run)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    make_machine(w, "n2");
    open_database(w, "dhcp@d1");
    open_database(w, "dns@d2");
    world_run_all(w);
    CHECK(due_rows(w) == 0 && world_runs(w, NULL) == 0);
    DONE(w, cmd_environment(w, "n1", "local"));
    CHECK(due_rows(w) == 2);
    CHECK(world_run(w, "dhcp@d1", RUN_QUEUED) && world_run(w, "dns@d2", RUN_QUEUED));
    DONE(w, cmd_environment(w, "n1", "debian-install"));
    CHECK(due_rows(w) == 2);
    DONE(w, cmd_environment(w, "n1", "debian-install")); /* no change */
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n2"), .given = GIVEN_DESCRIPTION,
                .description = STR("x"))); /* not a part of its entry */
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1");
    EXPECT_STR(due_nodes(w, "dns@d2"), "n1");
    CHECK(!has_served(w, "dhcp@d1", the_node(w, "n1")));
    CHECK(has_served(w, "dhcp@d1", the_node(w, "n2")));
    publish(w, "dhcp@d1");
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%" PRId64, the_node(w, "n1"));
    EXPECT_STR(staged_nodes(w, "dhcp@d1"), wanted);
    CHECK(has_served(w, "dhcp@d1", the_node(w, "n1")) &&
          !has_served(w, "dns@d2", the_node(w, "n1")));
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "");
    publish(w, "dns@d2");
    CHECK(due_rows(w) == 0 && world_runs(w, NULL) == 0);
    IS(w, "dhcp@d1", "active");
    IS(w, "dns@d2", "active");
    world_close(w);
}

TEST(a_machine_that_is_new_or_gone_is_a_change)
{
    struct world *w = serve_open();
    open_database(w, "dhcp@d1");
    world_run_all(w);
    make_machine(w, "n1");
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1");
    publish(w, "dhcp@d1");
    DONE(w, cmd_propose(w, "found@n1")); /* it leaves the view */
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1");
    publish(w, "dhcp@d1");
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%" PRId64 "x", the_node(w, "n1"));
    EXPECT_STR(staged_nodes(w, "dhcp@d1"), wanted);
    world_commit(w, "found@n1");
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1");
    publish(w, "dhcp@d1");
    CHECK(due_rows(w) == 0);
    world_close(w);
}

/* ---- changes and runs ---- */

TEST(a_change_during_a_run_is_published_by_the_next_one)
{
    static struct copy copy;
    struct world *w = serve_open();
    memset(&copy, 0, sizeof copy);
    make_machine(w, "n1");
    make_machine(w, "n2");
    open_database(w, "dhcp@d1");
    copy_apply(w, &copy, staged_boot(w, "dhcp@d1"), 16);
    DONE(w, cmd_environment(w, "n1", "local")); /* within the part that is in flight */
    world_finish(w, "dhcp@d1", RESULT_OK);
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1");
    check_copy(w, &copy, "dhcp@d1", false);
    CHECK(world_run(w, "dhcp@d1", RUN_QUEUED));
    world_anneal(w);
    copy_apply(w, &copy, staged_boot(w, "dhcp@d1"), 16);
    DONE(w, cmd_environment(w, "n1", "sledgehammer"));
    DONE(w, cmd_environment(w, "n1", "local")); /* as it was staged, but in a later generation */
    world_finish(w, "dhcp@d1", RESULT_OK);
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1");
    world_anneal(w);
    copy_apply(w, &copy, staged_boot(w, "dhcp@d1"), 16);
    world_finish(w, "dhcp@d1", RESULT_OK);
    CHECK(due_rows(w) == 0);
    check_copy(w, &copy, "dhcp@d1", true);
    world_close(w);
}

TEST(a_change_while_the_run_is_parked_is_in_the_resumed_run)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    make_machine(w, "n2");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    DONE(w, cmd_environment(w, "n1", "local"));
    world_anneal(w);
    world_finish_with(w, "dhcp@d1",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 50000});
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1");
    DONE(w, cmd_environment(w, "n2", "local"));
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1 n2");
    DONE(w, CMD(RUN_RESUME, run_resume, .run_id = world_run(w, "dhcp@d1", RUN_PARKED)));
    world_anneal(w);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%" PRId64 " %" PRId64, the_node(w, "n1"), the_node(w, "n2"));
    EXPECT_STR(staged_nodes(w, "dhcp@d1"), wanted);
    world_finish(w, "dhcp@d1", RESULT_OK);
    CHECK(due_rows(w) == 0 && world_runs(w, NULL) == 0);
    world_close(w);
}

TEST(a_failed_or_lost_run_keeps_what_is_due)
{
    static const enum run_result results[] = {RESULT_FAILED, RESULT_LOST};
    for (uint32_t i = 0; i < 2; i++) {
        struct world *w = serve_open();
        make_machine(w, "n1");
        make_machine(w, "n2");
        open_database(w, "dhcp@d1");
        world_finish(w, "dhcp@d1", results[i]);
        IS(w, "dhcp@d1", "error");
        CHECK(!has_served(w, "dhcp@d1", the_node(w, "n1")));
        DONE(w, cmd_environment(w, "n1", "local"));
        CHECK(!world_run(w, "dhcp@d1", RUN_QUEUED)); /* an operator retries it */
        DONE(w, cmd_retry(w, "dhcp@d1"));
        world_anneal(w);
        char wanted[64];
        snprintf(wanted, sizeof wanted, "%" PRId64 " %" PRId64 " after 0 to end", the_node(w, "n1"),
                 the_node(w, "n2"));
        EXPECT_STR(staged_nodes(w, "dhcp@d1"), wanted);
        world_finish(w, "dhcp@d1", RESULT_OK);
        world_run_all(w);
        CHECK(due_rows(w) == 0);
        DONE(w, cmd_environment(w, "n2", "local"));
        world_anneal(w);
        world_finish(w, "dhcp@d1", results[i]);
        EXPECT_STR(due_nodes(w, "dhcp@d1"), "n2");
        DONE(w, cmd_environment(w, "n1", "sledgehammer"));
        EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1 n2");
        world_reload(w);
        DONE(w, cmd_retry(w, "dhcp@d1"));
        world_anneal(w);
        snprintf(wanted, sizeof wanted, "%" PRId64 " %" PRId64, the_node(w, "n1"),
                 the_node(w, "n2"));
        EXPECT_STR(staged_nodes(w, "dhcp@d1"), wanted);
        world_finish(w, "dhcp@d1", RESULT_OK);
        CHECK(due_rows(w) == 0);
        world_close(w);
    }
}

TEST(a_run_that_is_tried_again_is_staged_again)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, SERVE_IMPORT("{'name':'dhcp','jig':'script','flags':['serves-boot'],"
                                       "'attempts':3,'backoff':1}")));
    world_node(w, "d1", NULL);
    make_machine(w, "n1");
    make_machine(w, "n2");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    DONE(w, cmd_environment(w, "n1", "local"));
    world_anneal(w);
    world_finish(w, "dhcp@d1", RESULT_FAILED);
    IS(w, "dhcp@d1", "transition"); /* it waits for its next attempt */
    DONE(w, cmd_environment(w, "n2", "local"));
    w->now_ms += 60000;
    DONE(w, CMD(TICK, tick, .unused = 0));
    world_anneal(w);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%" PRId64 " %" PRId64, the_node(w, "n1"), the_node(w, "n2"));
    EXPECT_STR(staged_nodes(w, "dhcp@d1"), wanted);
    world_finish(w, "dhcp@d1", RESULT_OK);
    CHECK(due_rows(w) == 0);
    world_close(w);
}

TEST(a_late_result_serves_nothing)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    DONE(w, cmd_environment(w, "n1", "local"));
    world_anneal(w);
    const struct start *first = world_start(w, "dhcp@d1");
    world_finish_with(w, "dhcp@d1",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 50000});
    DONE(w, CMD(RUN_DONE, run_done, .run_id = first->run, .attempt = first->attempt,
                .result = RESULT_OK));
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1");
    DONE(w, CMD(RUN_RESUME, run_resume, .run_id = first->run));
    world_anneal(w);
    DONE(w, CMD(RUN_DONE, run_done, .run_id = first->run, .attempt = first->attempt,
                .result = RESULT_OK));
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1");
    CHECK(!has_served(w, "dhcp@d1", the_node(w, "n1")));
    world_finish(w, "dhcp@d1", RESULT_FAILED);
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1");
    DONE(w, cmd_retry(w, "dhcp@d1"));
    publish(w, "dhcp@d1");
    CHECK(due_rows(w) == 0);
    world_close(w);
}

TEST(a_stopped_run_serves_nothing)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    DONE(w, cmd_environment(w, "n1", "local"));
    world_anneal(w);
    const struct start *start = world_start(w, "dhcp@d1");
    DONE(w, CMD(RUN_CANCEL, run_cancel, .run_id = start->run));
    DONE(w, CMD(RUN_DONE, run_done, .run_id = start->run, .attempt = start->attempt,
                .result = RESULT_OK));
    IS(w, "dhcp@d1", "error");
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1");
    world_close(w);
}

/* An enqueued run that is cancelled leaves a noderole with something to publish, so it gets
 * another one: machines wait for it. */
TEST(an_enqueued_run_that_is_cancelled_is_requested_again)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    DONE(w, cmd_environment(w, "n1", "local"));
    DONE(w, CMD(RUN_CANCEL, run_cancel, .run_id = world_run(w, "dhcp@d1", RUN_QUEUED)));
    publish(w, "dhcp@d1");
    CHECK(due_rows(w) == 0);
    /* Without anything to publish it is only removed. */
    DONE(w, cmd_enqueue(w, "dhcp@d1"));
    DONE(w, CMD(RUN_CANCEL, run_cancel, .run_id = world_run(w, "dhcp@d1", RUN_QUEUED)));
    world_anneal(w);
    CHECK(world_runs(w, "dhcp@d1") == 0);
    world_close(w);
}

/* The same if the run was requested by a rerun mark, which is kept until a run starts. */
TEST(an_enqueued_run_of_a_rerun_mark_that_is_cancelled_is_requested_again)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    world_available(w, "d1", false);
    DONE(w, cmd_environment(w, "n1", "local"));
    world_available(w, "d1", true);
    CHECK(read_noderole(w, "dhcp@d1").rerun);
    DONE(w, CMD(RUN_CANCEL, run_cancel, .run_id = world_run(w, "dhcp@d1", RUN_QUEUED)));
    CHECK(core_has_work(w->core));
    publish(w, "dhcp@d1");
    CHECK(due_rows(w) == 0 && !read_noderole(w, "dhcp@d1").rerun);
    /* While the noderole cannot run, the mark is enough. */
    world_available(w, "d1", false);
    DONE(w, cmd_environment(w, "n1", "sledgehammer"));
    world_available(w, "d1", true);
    world_available(w, "d1", false);
    DONE(w, CMD(RUN_CANCEL, run_cancel, .run_id = world_run(w, "dhcp@d1", RUN_QUEUED)));
    world_anneal(w);
    CHECK(world_runs(w, "dhcp@d1") == 0 && read_noderole(w, "dhcp@d1").rerun);
    world_available(w, "d1", true);
    publish(w, "dhcp@d1");
    CHECK(due_rows(w) == 0);
    world_close(w);
}

/* A noderole with a rerun mark, rows and no run may be in a store: a load reviews it. */
TEST(a_noderole_with_a_mark_and_without_a_run_is_reviewed_by_a_load)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    world_available(w, "d1", false);
    DONE(w, cmd_environment(w, "n1", "local"));
    world_available(w, "d1", true);
    world_reload(w);
    struct core *c = core_new();
    const char *what = NULL;
    for (size_t i = 0; i < w->kept_count && w->kept[i].table < TABLE_LOADED;) {
        if (w->kept[i].table != TABLE_RUN)
            CHECK(core_load(c, &w->kept[i++], &what) == OK);
        else
            memmove(&w->kept[i], &w->kept[i + 1], (--w->kept_count - i) * sizeof *w->kept);
    }
    CHECK(core_load_end(c, 777000, &what) == OK);
    core_free(w->core);
    w->core = c;
    CHECK(world_runs(w, "dhcp@d1") == 0 && due_rows(w) == 1 && core_has_work(c));
    publish(w, "dhcp@d1");
    CHECK(due_rows(w) == 0);
    world_close(w);
}

TEST(a_noderole_that_cannot_run_publishes_later)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    world_available(w, "d1", false);
    DONE(w, cmd_environment(w, "n1", "local"));
    world_anneal(w);
    CHECK(world_runs(w, "dhcp@d1") == 0);
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1");
    world_reload(w);
    world_available(w, "d1", true);
    publish(w, "dhcp@d1");
    CHECK(due_rows(w) == 0);
    world_alive(w, "d1", false);
    DONE(w, cmd_environment(w, "n1", "sledgehammer"));
    world_anneal(w);
    CHECK(world_runs(w, "dhcp@d1") == 0);
    world_alive(w, "d1", true);
    world_run_all(w);
    CHECK(due_rows(w) == 0);
    IS(w, "dhcp@d1", "active");
    world_close(w);
}

/* The node of the database is not alive at the end of the run, so it is not ACTIVE; its rows are
 * removed, since the run has published them. */
TEST(a_run_that_succeeds_on_a_node_that_is_lost_has_published)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    DONE(w, cmd_environment(w, "n1", "local"));
    world_anneal(w);
    world_finish_with(w, "dhcp@d1",
                      (struct run_done_command){.result = RESULT_OK, .node_dead = true});
    CHECK(has_served(w, "dhcp@d1", the_node(w, "n1")));
    world_close(w);
}

/* ---- deleted machines ---- */

TEST(a_deleted_machine_is_null_until_it_is_published)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    make_machine(w, "n2");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    const int64_t gone = the_node(w, "n1");
    char null[32];
    snprintf(null, sizeof null, "%" PRId64 "x", gone);
    DONE(w, CMD(NODE_DELETE, node_delete, .id = gone));
    CHECK(core_boot_next_due(w->core, the_noderole(w, "dhcp@d1"), 0) == gone);
    world_anneal(w);
    EXPECT_STR(staged_nodes(w, "dhcp@d1"), null);
    world_finish(w, "dhcp@d1", RESULT_FAILED);
    world_reload(w);
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "gone");
    DONE(w, cmd_retry(w, "dhcp@d1"));
    world_anneal(w);
    EXPECT_STR(staged_nodes(w, "dhcp@d1"), null);
    world_finish(w, "dhcp@d1", RESULT_OK);
    CHECK(due_rows(w) == 0);
    /* Deleted while a run is in flight that has its entry. */
    DONE(w, cmd_environment(w, "n2", "local"));
    world_anneal(w);
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n2")));
    world_finish(w, "dhcp@d1", RESULT_OK);
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "gone");
    publish(w, "dhcp@d1");
    CHECK(due_rows(w) == 0);
    world_close(w);
}

/* ---- noderoles that begin and end ---- */

TEST(a_noderole_that_is_proposed_starts_over)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    make_machine(w, "n2");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    DONE(w, cmd_environment(w, "n1", "local"));
    world_anneal(w);
    CHECK(due_rows(w) == 1);
    DONE(w, cmd_propose(w, "dhcp@d1")); /* its run is stopped */
    CHECK(due_rows(w) == 0);
    const struct noderole_record row = read_noderole(w, "dhcp@d1");
    CHECK(row.boot_cursor == 0 && row.boot_staged == 0);
    DONE(w, cmd_environment(w, "n2", "local"));
    CHECK(due_rows(w) == 0);
    world_commit(w, "dhcp@d1");
    DONE(w, cmd_environment(w, "n2", "sledgehammer"));
    CHECK(due_rows(w) == 0); /* it gets all machines */
    world_run_all(w);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%" PRId64 " %" PRId64 " after 0 to end", the_node(w, "n1"),
             the_node(w, "n2"));
    EXPECT_STR(staged_nodes(w, "dhcp@d1"), wanted);
    CHECK(has_served(w, "dhcp@d1", the_node(w, "n1")));
    DONE(w, cmd_environment(w, "n1", "sledgehammer"));
    DONE(w, cmd_propose(w, "dhcp@d1"));
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "dhcp@d1")));
    world_commit_deployment(w, "system");
    CHECK(due_rows(w) == 0 && !world_bound(w, "dhcp@d1"));
    world_close(w);
}

TEST(a_deleted_node_takes_what_its_databases_must_publish)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    open_database(w, "dhcp@d1");
    open_database(w, "dns@d2");
    world_run_all(w);
    DONE(w, cmd_environment(w, "n1", "local"));
    CHECK(due_rows(w) == 2);
    DONE(w, CMD(NODE_PROPOSE, node_propose, .id = the_node(w, "d1")));
    CHECK(due_rows(w) == 1);
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "d1")));
    CHECK(due_rows(w) == 1);
    EXPECT_STR(due_nodes(w, "dns@d2"), "n1");
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "d2"))); /* its noderole is committed */
    CHECK(due_rows(w) == 0);
    world_close(w);
}

/* dhcp@d1 has published everything; then its role does not publish for a while. */
static void lose_and_regain(struct command loses, struct command regains, struct world *w,
                            bool is_in_flight)
{
    make_machine(w, "n1");
    open_database(w, "dhcp@d1");
    open_database(w, "dns@d2");
    world_run_all(w);
    DONE(w, cmd_environment(w, "n1", "local"));
    if (is_in_flight)
        world_anneal(w);
    CHECK(due_rows(w) == 2);
    DONE(w, loses);
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "");
    CHECK(read_noderole(w, "dhcp@d1").boot_cursor == 0);
    DONE(w, cmd_environment(w, "n1", "sledgehammer"));
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "");
    world_reload(w);
    DONE(w, regains);
    CHECK(read_noderole(w, "dhcp@d1").boot_cursor == 0);
    CHECK(!has_served(w, "dhcp@d1", the_node(w, "n1")));
    if (is_in_flight) { /* the old run has an older entry than the view */
        world_finish(w, "dhcp@d1", RESULT_OK);
        CHECK(!has_served(w, "dhcp@d1", the_node(w, "n1")));
    }
    world_run_all(w);
    CHECK(due_rows(w) == 0 && has_served(w, "dhcp@d1", the_node(w, "n1")));
    HAS(staged_nodes(w, "dhcp@d1"), "after 0 to end");
    world_close(w);
}

TEST(a_role_that_publishes_no_boots_for_a_while_starts_over)
{
    static const char *const others[] = {
        SERVE_IMPORT("{'name':'dhcp','jig':'script'}"),
        SERVE_IMPORT("{'name':'dhcp','jig':'native','flags':['serves-boot']}"),
        SERVE_IMPORT("{'name':'dhcp','jig':'noop','flags':['serves-boot']}"),
    };
    for (uint32_t i = 0; i < sizeof others / sizeof *others; i++)
        for (uint32_t k = 0; k < 2; k++) {
            struct world *w = serve_open();
            lose_and_regain(cmd_import(w, others[i]), cmd_import(w, SERVE_IMPORT(DHCP_PUBLISHES)),
                            w, k != 0);
        }
}

TEST(a_role_that_gets_the_flag_publishes_all_machines)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, SERVE_IMPORT("{'name':'dhcp','jig':'script'}")));
    world_node(w, "d1", NULL);
    make_machine(w, "n1");
    open_database(w, "dhcp@d1");
    CHECK(json_get(doc_tree(&w->arena, world_start(w, "dhcp@d1")->data), STR("boot")) == NULL);
    world_run_all(w);
    DONE(w, cmd_import(w, SERVE_IMPORT(DHCP_PUBLISHES)));
    CHECK(core_has_work(w->core));
    CHECK(!has_served(w, "dhcp@d1", the_node(w, "n1")));
    world_run_all(w);
    HAS(staged_nodes(w, "dhcp@d1"), "after 0 to end");
    CHECK(has_served(w, "dhcp@d1", the_node(w, "n1")));
    world_close(w);
}

TEST(with_the_test_jig_nothing_is_published)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    DONE(w, cmd_environment(w, "n1", "local"));
    CHECK(due_rows(w) == 1);
    DONE(w,
         CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_TEST_JIG, .test_jig = true));
    CHECK(due_rows(w) == 0);
    struct boot_serving *none;
    CHECK(core_boot_servings(w->core, the_node(w, "n1"), &w->arena, &none) == 0 && !none);
    CHECK(!core_boot_is_used(w->core));
    DONE(w, cmd_environment(w, "n1", "sledgehammer"));
    world_run_all(w);
    CHECK(json_get(doc_tree(&w->arena, world_start(w, "dhcp@d1")->data), STR("boot")) == NULL);
    CHECK(due_rows(w) == 0);
    world_reload(w);
    DONE(w, CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_TEST_JIG,
                .test_jig = false));
    CHECK(core_boot_is_used(w->core) && !has_served(w, "dhcp@d1", the_node(w, "n1")));
    world_run_all(w);
    HAS(staged_nodes(w, "dhcp@d1"), "after 0 to end");
    CHECK(has_served(w, "dhcp@d1", the_node(w, "n1")) && due_rows(w) == 0);
    world_close(w);
}

/* A destructive noderole runs once, so it cannot publish changes. */
TEST(a_destructive_role_serves_no_boots)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, SERVE_IMPORT("{'name':'dhcp','jig':'script',"
                                       "'flags':['serves-boot','destructive']}")));
    world_node(w, "d1", NULL);
    make_machine(w, "n1");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    struct boot_serving *none;
    CHECK(core_boot_servings(w->core, the_node(w, "n1"), &w->arena, &none) == 0);
    DONE(w, cmd_environment(w, "n1", "local"));
    world_run_all(w);
    CHECK(due_rows(w) == 0);
    IS(w, "dhcp@d1", "active");
    world_close(w);
}

TEST(databases_are_independent)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    make_machine(w, "n2");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    DONE(w, cmd_environment(w, "n1", "local"));
    open_database(w, "dns@d2"); /* it gets all machines, while dhcp@d1 has a row */
    HAS(staged_nodes(w, "dns@d2"), "after 0 to end");
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1");
    world_finish(w, "dns@d2", RESULT_FAILED);
    DONE(w, cmd_environment(w, "n2", "local"));
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1 n2");
    publish(w, "dhcp@d1");
    publish(w, "dhcp@d1");
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "");
    CHECK(!has_served(w, "dns@d2", the_node(w, "n1")));
    IS(w, "dns@d2", "error");
    DONE(w, cmd_propose(w, "dhcp@d1"));
    DONE(w, cmd_retry(w, "dns@d2"));
    publish(w, "dns@d2");
    world_run_all(w);
    CHECK(has_served(w, "dns@d2", the_node(w, "n1")) && due_rows(w) == 0);
    world_close(w);
}

/* ---- large fleets ---- */

TEST(a_noderole_publishes_a_large_fleet_in_parts)
{
    static struct copy copy;
    struct world *w = serve_open();
    memset(&copy, 0, sizeof copy);
    make_fleet(w, 2500);
    const int64_t first = the_node(w, "m0"), last = the_node(w, "m2499");
    CHECK(last - first == 2499); /* the ids are consecutive */
    open_database(w, "dhcp@d1");
    CHECK(due_rows(w) == 0);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "after 0 to %" PRId64, first + 999);
    HAS(staged_nodes(w, "dhcp@d1"), wanted);
    CHECK(json_get(staged_boot(w, "dhcp@d1"), STR("due"))->count == 1000);
    copy_apply(w, &copy, staged_boot(w, "dhcp@d1"), 16);

    /* In flight: a node of the part gets a row, a node of a later part gets none. */
    DONE(w, cmd_environment(w, "m999", "local"));
    DONE(w, cmd_environment(w, "m1000", "local"));
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "m999");
    world_finish(w, "dhcp@d1", RESULT_OK);
    check_copy(w, &copy, "dhcp@d1", false);
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "m999");
    CHECK(read_noderole(w, "dhcp@d1").boot_cursor == first + 999);
    CHECK(has_served(w, "dhcp@d1", first) && !has_served(w, "dhcp@d1", first + 999) &&
          !has_served(w, "dhcp@d1", last));
    DONE(w, cmd_environment(w, "m7", "local"));
    DONE(w, cmd_environment(w, "m2400", "local"));
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "m7 m999");

    world_anneal(w); /* two changed nodes and 998 of the part */
    copy_apply(w, &copy, staged_boot(w, "dhcp@d1"), 16);
    snprintf(wanted, sizeof wanted, "after %" PRId64 " to %" PRId64, first + 999, first + 1997);
    HAS(staged_nodes(w, "dhcp@d1"), wanted);
    CHECK(json_get(staged_boot(w, "dhcp@d1"), STR("due"))->count == 1000);
    quick_step(w, CMD(NODE_DELETE, node_delete, .id = first + 1500)); /* in the part in flight */
    quick_step(w, CMD(NODE_DELETE, node_delete, .id = first + 2200)); /* in a later one */
    CHECK(due_rows(w) == 3);
    world_finish(w, "dhcp@d1", RESULT_OK);
    check_copy(w, &copy, "dhcp@d1", false);
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "gone");
    world_anneal(w);
    copy_apply(w, &copy, staged_boot(w, "dhcp@d1"), 16);
    snprintf(wanted, sizeof wanted, "after %" PRId64 " to end", first + 1997);
    HAS(staged_nodes(w, "dhcp@d1"), wanted);
    DONE(w, cmd_environment(w, "m2450", "local"));
    DONE(w, cmd_node(w, "late")); /* above the cursor when it is created, below it when it joins */
    world_bind(w, "found@late");
    world_commit(w, "found@late");
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "gone m2450 late");
    world_finish(w, "dhcp@d1", RESULT_OK);
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "m2450 late");
    check_copy(w, &copy, "dhcp@d1", false);
    world_anneal(w);
    copy_apply(w, &copy, staged_boot(w, "dhcp@d1"), 16);
    CHECK(json_get(staged_boot(w, "dhcp@d1"), STR("part")) == NULL);
    world_finish(w, "dhcp@d1", RESULT_OK);
    check_copy(w, &copy, "dhcp@d1", true);
    CHECK(due_rows(w) == 0 && world_runs(w, "dhcp@d1") == 0);
    serve_close(w);
}

/* A part that failed is staged again, and a shorter one leaves no node out. */
TEST(a_part_that_failed_is_staged_again)
{
    static struct copy copy;
    struct world *w = serve_open();
    memset(&copy, 0, sizeof copy);
    make_fleet(w, 1500);
    open_database(w, "dhcp@d1");
    copy_apply(w, &copy, staged_boot(w, "dhcp@d1"), 7);
    world_finish(w, "dhcp@d1", RESULT_FAILED);
    check_copy(w, &copy, "dhcp@d1", false);
    for (int i = 0; i < 600; i++) { /* rows in the part that failed */
        char name[16];
        snprintf(name, sizeof name, "m%d", i);
        quick_step(w, cmd_environment(w, name, "local"));
    }
    CHECK(due_rows(w) == 600);
    DONE(w, cmd_retry(w, "dhcp@d1"));
    world_anneal(w);
    for (int turn = 0; world_run(w, "dhcp@d1", RUN_RUNNING); turn++) {
        CHECK(turn < 2);
        copy_apply(w, &copy, staged_boot(w, "dhcp@d1"), 16);
        world_finish(w, "dhcp@d1", RESULT_OK);
        check_copy(w, &copy, "dhcp@d1", false);
        CHECK(due_rows(w) == 0); /* rows in the part are published with it */
        world_anneal(w);
    }
    check_copy(w, &copy, "dhcp@d1", true);
    CHECK(due_rows(w) == 0);
    serve_close(w);
}

TEST(many_changes_are_published_a_thousand_at_a_time)
{
    static struct copy copy;
    struct world *w = serve_open();
    memset(&copy, 0, sizeof copy);
    make_fleet(w, 2300);
    open_database(w, "dhcp@d1");
    for (int i = 0; i < 3; i++) {
        copy_apply(w, &copy, staged_boot(w, "dhcp@d1"), 16);
        world_finish(w, "dhcp@d1", RESULT_OK);
        world_anneal(w);
    }
    CHECK(due_rows(w) == 0 && !world_run(w, "dhcp@d1", RUN_RUNNING));
    for (int i = 0; i < 2300; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%d", i);
        quick_step(w, cmd_environment(w, name, "local"));
    }
    CHECK(due_rows(w) == 2300);
    static const uint32_t counts[] = {1000, 1000, 300};
    uint32_t left = 2300;
    for (int i = 0; i < 3; i++) {
        world_anneal(w);
        CHECK(json_get(staged_boot(w, "dhcp@d1"), STR("due"))->count == counts[i]);
        CHECK(json_get(staged_boot(w, "dhcp@d1"), STR("part")) == NULL);
        copy_apply(w, &copy, staged_boot(w, "dhcp@d1"), 16);
        world_finish(w, "dhcp@d1", RESULT_OK);
        left -= counts[i];
        CHECK(due_rows(w) == left);
        check_copy(w, &copy, "dhcp@d1", left == 0);
    }
    CHECK(world_runs(w, "dhcp@d1") == 0);
    serve_close(w);
}

/* While it has not published everything, changes do not keep it from getting on. */
TEST(changes_leave_half_of_a_run_to_the_next_part)
{
    struct world *w = serve_open();
    make_fleet(w, 2500);
    const int64_t first = the_node(w, "m0");
    open_database(w, "dhcp@d1");
    world_finish(w, "dhcp@d1", RESULT_OK);
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%d", i);
        quick_step(w, cmd_environment(w, name, "local"));
    }
    CHECK(due_rows(w) == 1000);
    world_anneal(w);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "after %" PRId64 " to %" PRId64, first + 999, first + 1499);
    HAS(staged_nodes(w, "dhcp@d1"), wanted);
    CHECK(json_get(staged_boot(w, "dhcp@d1"), STR("due"))->count == 1000);
    world_finish(w, "dhcp@d1", RESULT_OK);
    CHECK(due_rows(w) == 500);
    serve_close(w);
}

TEST(a_noderole_bound_in_a_large_fleet_makes_no_rows)
{
    struct world *w = serve_open();
    make_fleet(w, 5000);
    open_database(w, "dhcp@d1");
    open_database(w, "dns@d2");
    CHECK(due_rows(w) == 0);
    for (int turn = 0; world_run(w, "dhcp@d1", RUN_RUNNING); turn++) {
        CHECK(turn < 5);
        publish(w, "dhcp@d1");
        publish(w, "dns@d2");
        CHECK(due_rows(w) == 0);
        world_anneal(w);
    }
    struct boot_serving *all;
    CHECK(core_boot_servings(w->core, the_node(w, "m4999"), &w->arena, &all) == 2);
    CHECK(all[0].is_served && all[1].is_served && !all[0].is_native && !all[1].is_native);
    CHECK(all[0].noderole_id < all[1].noderole_id);
    DONE(w, cmd_environment(w, "m4999", "local"));
    CHECK(due_rows(w) == 2);
    serve_close(w);
}

/* ---- bounds ---- */

/* The staged data of a run is limited to STAGED_MAX; values of attribs of a thousand machines are
 * larger than that. */
TEST(large_values_make_smaller_parts)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'b','source_path':'/b'},"
                          "'attribs':[{'name':'big','map':'big','schema':{'type':'str'}}],"
                          "'roles':[" SERVE_ROLES ",{'name':'dhcp','jig':'script',"
                          "'flags':['serves-boot'],'wants-attribs':['big']}]}"));
    world_node(w, "d1", NULL);
    make_fleet(w, 120);
    char *value = arena_alloc(&w->arena, 400002);
    memset(value, 'a', 400002);
    value[0] = value[400001] = '\'';
    for (int i = 0; i < 120; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%d", i);
        struct command set = cmd_set(w, TABLE_NODE, the_node(w, name), "big", BUCKET_USER, "0");
        set.attrib_set.value = (struct str){value, 400002};
        value[0] = value[400001] = '"';
        quick_step(w, set);
    }
    open_database(w, "dhcp@d1");
    uint32_t told = 0;
    for (int turn = 0; world_run(w, "dhcp@d1", RUN_RUNNING); turn++) {
        CHECK(turn < 121 && world_start(w, "dhcp@d1")->data.len <= STAGED_MAX);
        told += json_get(staged_boot(w, "dhcp@d1"), STR("due"))->count;
        world_finish(w, "dhcp@d1", RESULT_OK);
        quick_step(w, CMD(ANNEAL, anneal, .budget = 0));
        world_anneal(w);
    }
    CHECK(told == 120);
    IS(w, "dhcp@d1", "active");
    serve_close(w);
}

TEST(a_full_table_starts_over)
{
    static struct copy copy;
    struct world *w = serve_open();
    memset(&copy, 0, sizeof copy);
    make_machine(w, "n1");
    make_machine(w, "n2");
    make_machine(w, "n3");
    open_database(w, "dhcp@d1");
    copy_apply(w, &copy, staged_boot(w, "dhcp@d1"), 16);
    world_run_all(w);
    struct pool *rows = &w->core->tables[TABLE_BOOT_DUE].pool;
    const uint32_t max = rows->max;
    rows->max = 1;
    DONE(w, cmd_environment(w, "n1", "local"));
    CHECK(due_rows(w) == 1);
    world_anneal(w); /* in flight with n1 */
    copy_apply(w, &copy, staged_boot(w, "dhcp@d1"), 16);
    DONE(w, cmd_environment(w, "n2", "local"));
    CHECK(due_rows(w) == 0 && read_noderole(w, "dhcp@d1").boot_cursor == 0);
    CHECK(!has_served(w, "dhcp@d1", the_node(w, "n3")));
    world_finish(w, "dhcp@d1", RESULT_OK);
    CHECK(!has_served(w, "dhcp@d1", the_node(w, "n2")));
    check_copy(w, &copy, "dhcp@d1", false);
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n3"))); /* without a row */
    world_anneal(w);
    copy_apply(w, &copy, staged_boot(w, "dhcp@d1"), 16);
    world_finish(w, "dhcp@d1", RESULT_OK);
    check_copy(w, &copy, "dhcp@d1", true);
    rows->max = max;
    world_close(w);
}

/* The same while its run is not in flight: it has something to publish, so it gets a run. */
TEST(a_full_table_requests_a_run)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    struct pool *rows = &w->core->tables[TABLE_BOOT_DUE].pool;
    const uint32_t max = rows->max;
    rows->max = 0;
    DONE(w, cmd_environment(w, "n1", "local"));
    CHECK(due_rows(w) == 0 && world_run(w, "dhcp@d1", RUN_QUEUED));
    publish(w, "dhcp@d1");
    HAS(staged_nodes(w, "dhcp@d1"), "after 0 to end");
    CHECK(has_served(w, "dhcp@d1", the_node(w, "n1")));
    rows->max = max;
    world_close(w);
}

TEST(the_next_due_node_is_found_from_any_id)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    make_machine(w, "n2");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    DONE(w, cmd_environment(w, "n1", "local"));
    DONE(w, cmd_environment(w, "n2", "local"));
    const int64_t nr = the_noderole(w, "dhcp@d1"), n1 = the_node(w, "n1"), n2 = the_node(w, "n2");
    CHECK(core_boot_next_due(w->core, nr, 0) == n1);
    CHECK(core_boot_next_due(w->core, nr, n1 - 1) == n1);
    CHECK(core_boot_next_due(w->core, nr, n1) == n2);
    CHECK(core_boot_next_due(w->core, nr, n2) == 0);
    CHECK(core_boot_next_due(w->core, nr, INT64_MAX) == 0);
    CHECK(core_boot_next_due(w->core, nr, INT64_MAX - 1) == 0);
    CHECK(core_boot_next_due(w->core, nr, INT64_C(1) << 40) == 0);
    CHECK(core_boot_next_due(w->core, nr, (INT64_C(1) << 40) - 1) == 0);
    CHECK(core_boot_next_due(w->core, 4711, 0) == 0);
    struct boot_serving *none;
    CHECK(core_boot_servings(w->core, 4711, &w->arena, &none) == 0 && !none);
    world_close(w);
}

/* ---- undo, plans and the store ---- */

TEST(a_refused_step_makes_no_row)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    const struct command parts[] = {cmd_environment(w, "n1", "local"),
                                    CMD(NODE_DELETE, node_delete, .id = 4711)};
    struct buf b = buf_in(&w->arena);
    command_encode(&parts[0], &b);
    command_encode(&parts[1], &b);
    const struct command both = CMD(BATCH, batch, .commands = buf_str(&b));
    REFUSED(w, both, NOT_FOUND, NULL);
    CHECK(due_rows(w) == 0 && world_runs(w, NULL) == 0);
    CHECK(has_served(w, "dhcp@d1", the_node(w, "n1")));
    DONE(w, cmd_environment(w, "n1", "local"));
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1");
    world_close(w);
}

TEST(everything_survives_a_restart_at_any_step)
{
    static struct copy copy;
    struct world *w = serve_open();
    memset(&copy, 0, sizeof copy);
    make_machine(w, "n1");
    make_machine(w, "n2");
    world_reload(w);
    open_database(w, "dhcp@d1");
    world_reload(w);
    copy_apply(w, &copy, staged_boot(w, "dhcp@d1"), 16);
    DONE(w, cmd_environment(w, "n1", "local"));
    world_reload(w);
    world_finish(w, "dhcp@d1", RESULT_OK);
    world_reload(w);
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1");
    check_copy(w, &copy, "dhcp@d1", false);
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n2")));
    world_reload(w);
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1 gone");
    world_anneal(w);
    world_reload(w);
    copy_apply(w, &copy, staged_boot(w, "dhcp@d1"), 16);
    DONE(w, cmd_environment(w, "n1", "sledgehammer"));
    world_reload(w);
    world_finish(w, "dhcp@d1", RESULT_OK);
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1");
    world_reload(w);
    EXPECT_STR(due_nodes(w, "dhcp@d1"), "n1");
    check_copy(w, &copy, "dhcp@d1", false);
    world_anneal(w);
    copy_apply(w, &copy, staged_boot(w, "dhcp@d1"), 16);
    world_finish(w, "dhcp@d1", RESULT_OK);
    world_reload(w);
    check_copy(w, &copy, "dhcp@d1", true);
    CHECK(due_rows(w) == 0);
    world_close(w);
}

TEST(the_check_finds_what_cannot_be)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    struct core *c = w->core;
    const noderole_ix nr = noderole_by_id(c, the_noderole(w, "dhcp@d1"));
    const node_ix n1 = node_by_id(c, the_node(w, "n1"));
    omap_put(&c->boot_due, (uint64_t)nr.v << 40 | 77, 1);
    HAS(core_check(c, &w->arena), "C23: the index of due nodes");
    omap_remove(&c->boot_due, (uint64_t)nr.v << 40 | 77);
    CHECK(!core_check(c, &w->arena));
    noderole_edit(c, nr)->boot_cursor = 1;
    HAS(core_check(c, &w->arena), "C23: a noderole has boots to publish and no run");
    noderole_edit(c, nr)->boot_cursor = BOOT_CURSOR_END;
    omap_put(&c->boot_calls, n1.v, 1);
    HAS(core_check(c, &w->arena), "C24");
    omap_remove(&c->boot_calls, n1.v);
    CHECK(!core_check(c, &w->arena));
    serve_close(w);
}

/* The store of dhcp@d1 with n1 due, with one more row or a changed one, is loaded. */
static const char *load_with(struct boot_due_record row, int64_t cursor, bool is_proposed)
{
    struct world *w = serve_open();
    make_machine(w, "n1");
    open_database(w, "dhcp@d1");
    world_run_all(w);
    DONE(w, cmd_environment(w, "n1", "local"));
    if (is_proposed)
        DONE(w, cmd_propose(w, "dhcp@d1"));
    world_reload(w); /* sorts the records */
    struct core *c = core_new();
    const char *what = NULL;
    err e = OK;
    row.id = 99;
    row.created_at = row.updated_at = row.turn = 1;
    if (row.noderole_id == 0)
        row.noderole_id = the_noderole(w, "dhcp@d1");
    bool is_added = false;
    for (size_t i = 0; e == OK && i < w->kept_count && w->kept[i].table < TABLE_LOADED; i++) {
        struct record r = w->kept[i];
        if (r.table == TABLE_COUNTER && r.id == TABLE_BOOT_DUE + 1)
            r.counter.last = 99;
        if (r.table == TABLE_NODEROLE && r.id == the_noderole(w, "dhcp@d1"))
            r.noderole.boot_cursor = cursor;
        if (r.table > TABLE_BOOT_DUE && !is_added) {
            const struct record more = {.table = TABLE_BOOT_DUE, .boot_due = row};
            e = core_load(c, &more, &what);
            is_added = true;
        }
        if (e == OK)
            e = core_load(c, &r, &what);
    }
    if (e == OK)
        e = core_load_end(c, 777000, &what);
    if (e == OK)
        what = core_check(c, &w->arena);
    static char text[200];
    snprintf(text, sizeof text, "%s", what ? what : "(fine)");
    core_free(c);
    world_close(w);
    return text;
}

TEST(rows_that_cannot_be_are_not_loaded)
{
    EXPECT_STR(load_with((struct boot_due_record){.node_id = 77}, BOOT_CURSOR_END, false),
               "(fine)");
    CHECK(strcmp(load_with((struct boot_due_record){.node_id = 77, .noderole_id = 4711},
                           BOOT_CURSOR_END, false),
                 "(fine)") != 0);
    static const int64_t nodes[] = {0, -1, INT64_C(1) << 40, INT64_MAX, INT64_MIN, 4 /* twice */};
    for (uint32_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        CHECK(
            strcmp(load_with((struct boot_due_record){.node_id = nodes[i]}, BOOT_CURSOR_END, false),
                   "(fine)") != 0);
    HAS(load_with((struct boot_due_record){.node_id = 77, .attempt = 4000}, BOOT_CURSOR_END, false),
        "C23");
    HAS(load_with((struct boot_due_record){.node_id = 77}, -1, false), "C23");
    HAS(load_with((struct boot_due_record){.node_id = 77}, 0, true), "C23");
}
