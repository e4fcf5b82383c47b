#include "core/core_private.h"
#include "tests/world/world.h"

/* Runs that fail and may be started again, and runs that are not finished when their machine goes
 * down. */

enum { SECOND_MS = 1000 };

static struct run_record read_run(struct world *w, const char *noderole, enum run_state state)
{
    struct record record;
    CHECK(core_record(w->core, TABLE_RUN, world_run(w, noderole, state), &record));
    return record.run;
}

/* a@n1 runs. */
static struct world *open_a_running(const char *rest)
{
    struct world *w = world_open();
    world_role(w, "a", rest);
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_commit(w, "a@n1");
    world_deliver(w);
    world_anneal(w);
    IS(w, "a@n1", "transition");
    return w;
}

static void fail(struct world *w, const char *log)
{
    world_finish_with(w, "a@n1",
                      (struct run_done_command){.result = RESULT_FAILED, .runlog = str_from(log)});
}

/* Advance the clock to the end of the backoff. */
static void start_again(struct world *w)
{
    DONE(w, CMD(RUN_RESUME, run_resume, .run_id = world_run(w, "a@n1", RUN_PARKED)));
    world_anneal(w);
}

TEST(a_role_has_attempts_backoff_and_deadline)
{
    struct world *w = world_open();
    world_role(w, "a", "'attempts':3,'backoff':20,'deadline':600");
    struct role_record role = read_role(w, "a");
    CHECK(role.attempts == 3 && role.backoff_s == 20 && role.deadline_s == 600);
    world_role(w, "b", "");
    role = read_role(w, "b");
    CHECK(role.attempts == 0 && role.backoff_s == 0 && role.deadline_s == 0);
    REFUSED(w, cmd_role(w, "c", "'attempts':101"), BAD_VALUE, "roles/0/attempts");
    REFUSED(w, cmd_role(w, "c", "'attempts':-1"), BAD_VALUE, "roles/0/attempts");
    REFUSED(w, cmd_role(w, "c", "'backoff':604801"), BAD_VALUE, "roles/0/backoff");
    REFUSED(w, cmd_role(w, "c", "'deadline':'soon'"), BAD_VALUE, "roles/0/deadline");
    world_close(w);
}

TEST(a_noderole_is_in_error_after_the_last_attempt)
{
    struct world *w = open_a_running("'attempts':3,'backoff':20");
    fail(w, "no disk");
    IS(w, "a@n1", "transition");
    struct run_record run = read_run(w, "a@n1", RUN_PARKED);
    CHECK(run.tries == 1 && run.park_left_ms == 20 * SECOND_MS);
    EXPECT_STR(str_z(&w->arena, read_noderole(w, "a@n1").status),
               "attempt 1 of 3 failed; next attempt in 20 s");
    EXPECT_STR(str_z(&w->arena, read_noderole(w, "a@n1").runlog), "no disk");
    world_reload(w);

    start_again(w);
    CHECK(read_run(w, "a@n1", RUN_RUNNING).attempt == 2);
    fail(w, "still no disk");
    run = read_run(w, "a@n1", RUN_PARKED);
    CHECK(run.tries == 2 && run.park_left_ms == 40 * SECOND_MS);

    start_again(w);
    fail(w, "no disk at all");
    IS(w, "a@n1", "error");
    CHECK(world_runs(w, NULL) == 0);
    EXPECT_STR(str_z(&w->arena, read_noderole(w, "a@n1").status), "run failed");
    EXPECT_STR(str_z(&w->arena, read_noderole(w, "a@n1").runlog), "no disk at all");

    /* A retry by an operator starts the count again. */
    DONE(w, cmd_retry(w, "a@n1"));
    world_anneal(w);
    fail(w, "once more");
    CHECK(read_run(w, "a@n1", RUN_PARKED).tries == 1);
    world_close(w);
}

TEST(the_backoff_doubles_up_to_its_maximum)
{
    struct world *w = open_a_running("'attempts':100,'backoff':604800");
    fail(w, "1");
    CHECK(read_run(w, "a@n1", RUN_PARKED).park_left_ms == PARK_MS_MAX);
    start_again(w);
    fail(w, "2");
    CHECK(read_run(w, "a@n1", RUN_PARKED).park_left_ms == PARK_MS_MAX);
    world_close(w);
    w = open_a_running("'attempts':4");
    for (int64_t ms = 10 * SECOND_MS; ms <= 40 * SECOND_MS; ms *= 2) {
        fail(w, "again");
        CHECK(read_run(w, "a@n1", RUN_PARKED).park_left_ms == ms);
        start_again(w);
    }
    fail(w, "the last");
    IS(w, "a@n1", "error");
    world_close(w);
}

TEST(a_success_clears_an_earlier_failure)
{
    struct world *w = open_a_running("'attempts':2");
    fail(w, "not yet");
    start_again(w);
    world_finish(w, "a@n1", RESULT_OK);
    IS(w, "a@n1", "active");
    const struct noderole_record nr = read_noderole(w, "a@n1");
    CHECK(nr.run_count == 1 && nr.attempt == 2 && nr.status.len == 0 && nr.runlog.len == 0);
    world_close(w);
}

TEST(destructive_and_lost_runs_are_not_retried)
{
    struct world *w = open_a_running("'attempts':5,'flags':['destructive']");
    fail(w, "half wiped");
    IS(w, "a@n1", "error");
    world_close(w);
    w = open_a_running("'attempts':5");
    world_finish(w, "a@n1", RESULT_LOST);
    IS(w, "a@n1", "error");
    world_close(w);
}

TEST(a_parked_run_is_removed_when_its_node_dies)
{
    struct world *w = open_a_running("'attempts':5");
    fail(w, "1");
    world_alive(w, "n1", false);
    CHECK(world_runs(w, NULL) == 0);
    world_alive(w, "n1", true);
    world_deliver(w);
    world_anneal(w);
    CHECK(read_run(w, "a@n1", RUN_RUNNING).tries == 0);
    world_close(w);
}

/* Exit status 64 + 128 of a script (docs/spec/runs.md, Script exit status). */
TEST(a_parked_run_that_restarts_its_machine_runs_again)
{
    struct world *w = open_a_running("");
    world_finish_with(w, "a@n1",
                      (struct run_done_command){.result = RESULT_PARKED,
                                                .park_ms = 3600 * SECOND_MS,
                                                .has_wall = true,
                                                .wall = STR("{\"step\":1}"),
                                                .node_dead = true,
                                                .power = STR("reboot")});
    CHECK(!read_node(w, "n1").alive && world_runs(w, NULL) == 0);
    CHECK(read_noderole(w, "a@n1").run_count == 0);
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").wall), "{'step':1}");
    CHECK(world_waiting(w, "power reboot n1"));
    IS(w, "a@n1", "todo");
    world_deliver(w);
    world_alive(w, "n1", true);
    world_deliver(w);
    world_anneal(w);
    IS(w, "a@n1", "transition");
    world_finish(w, "a@n1", RESULT_OK);
    IS(w, "a@n1", "active");
    CHECK(read_noderole(w, "a@n1").run_count == 1);
    world_close(w);
}

/* Exit status 16 + 128. */
TEST(a_parked_run_may_stop_its_node)
{
    struct world *w = open_a_running("");
    world_finish_with(w, "a@n1",
                      (struct run_done_command){
                          .result = RESULT_PARKED, .park_ms = 60 * SECOND_MS, .stop = true});
    CHECK(read_node(w, "n1").stopped && read_node(w, "n1").alive);
    CHECK(world_run(w, "a@n1", RUN_PARKED) != 0);
    world_close(w);
}

/* A node whose only hammer is a power hammer offers no "reboot". */
TEST(reset_replaces_a_reboot_that_is_not_offered)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'bmc','source_path':'/bmc'},"
                          "'hammers':[{'name':'bmc','type':'redfish','priority':10}]}"));
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    uint32_t count;
    const int64_t *hammers = core_hammers_of(w->core, the_node(w, "n1"), &w->arena, &count);
    for (uint32_t i = 0; i < count; i++)
        DONE(w, CMD(HAMMER_DELETE, hammer_delete, .id = hammers[i]));
    DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = the_node(w, "n1"),
                .hammer_kind_id = core_find(w->core, TABLE_HAMMER_KIND, STR("bmc")),
                .username = STR("root")));
    world_commit(w, "a@n1");
    world_deliver(w);
    world_anneal(w);
    world_finish_with(
        w, "a@n1",
        (struct run_done_command){.result = RESULT_OK, .node_dead = true, .power = STR("reboot")});
    CHECK(world_waiting(w, "power reset n1") && !world_waiting(w, "power reboot n1"));
    world_close(w);
}
