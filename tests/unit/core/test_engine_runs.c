#include <stdio.h>
#include <stdlib.h>

#include "core/core_private.h"
#include "tests/world/world.h"

/* Runs, hooks and states in detail: every field, every text, and what must not happen. */

static const char *numbered(struct world *w, const char *prefix, int number)
{
    char text[64];
    snprintf(text, sizeof text, "%s%d", prefix, number);
    return str_z(&w->arena, str_from(text));
}

static struct run_record read_run(struct world *w, int64_t id)
{
    struct record record;
    CHECK(core_record(w->core, TABLE_RUN, id, &record));
    return record.run;
}

static int64_t mono(const struct world *w)
{
    return w->now_ms - 1600000000000;
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
    world_clear_effects(w);
    DONE(w, CMD(ANNEAL, anneal, .budget = 0)); /* one step: its time and effects are checked */
    return w;
}

/* ---- run rows ---- */

TEST(a_started_run_and_its_order_hold_every_field)
{
    struct world *w = open_a_running("");
    const struct effect *e = w->fx.first;
    CHECK(w->fx.count == 1 && e && !e->next && e->kind == EFFECT_RUN_START);
    const int64_t id = world_run(w, "a@n1", RUN_RUNNING);
    CHECK(e->id == id && e->attempt == 1 && e->node_id == the_node(w, "n1"));
    CHECK(e->noderole_id == the_noderole(w, "a@n1") && str_eq(e->jig, STR("script")));
    CHECK(str_eq(e->data, read_run(w, id).data) && e->data.len > 2);
    const int64_t then = w->now_ms;
    for (int round = 0; round < 2; round++) {
        const struct run_record run = read_run(w, id);
        CHECK(run.node_id == the_node(w, "n1") && run.noderole_id == the_noderole(w, "a@n1"));
        CHECK(run.state == RUN_RUNNING && run.queue == QUEUE_NORMAL && run.attempt == 1);
        CHECK(!run.frozen && !run.begun && run.committed && run.started_at == then);
        CHECK(run.created_at == then && run.job.len == 0 && run.park_left_ms == 0);
        world_reload(w);
    }
    const struct noderole_record nr = read_noderole(w, "a@n1");
    CHECK(nr.attempt == 1 && nr.run_count == 0 && nr.since == then);
    world_close(w);
}

TEST(a_queued_run_has_staged_data_and_high_priority)
{
    struct world *w = open_a_running("");
    world_finish(w, "a@n1", RESULT_OK);
    DONE(w, cmd_enqueue(w, "a@n1"));
    CHECK(w->out.id == the_noderole(w, "a@n1"));
    const int64_t id = world_run(w, "a@n1", RUN_QUEUED);
    struct run_record run = read_run(w, id);
    CHECK(run.queue == QUEUE_HIGH && run.frozen && run.attempt == 0 && run.started_at == 0);
    CHECK(run.created_at == w->now_ms && run.data.len > 2 && !run.committed);
    world_reload(w);
    DONE(w, CMD(ANNEAL, anneal, .budget = 0));
    run = read_run(w, id);
    CHECK(run.state == RUN_RUNNING && run.attempt == 2 && run.started_at == w->now_ms);
    CHECK(run.committed && run.queue == QUEUE_HIGH);
    world_close(w);
}

TEST(a_run_begins_once)
{
    struct world *w = open_a_running("");
    const int64_t id = world_run(w, "a@n1", RUN_RUNNING);
    DONE(w, CMD(RUN_BEGUN, run_begun, .run_id = id, .attempt = 2, .job = STR("wrong")));
    CHECK(!read_run(w, id).begun);
    DONE(w, CMD(RUN_BEGUN, run_begun, .run_id = id, .attempt = 1, .job = STR("job-1")));
    CHECK(read_run(w, id).begun && str_eq(read_run(w, id).job, STR("job-1")));
    DONE(w, CMD(RUN_BEGUN, run_begun, .run_id = id, .attempt = 1, .job = STR("job-2")));
    CHECK(str_eq(read_run(w, id).job, STR("job-1")));
    DONE(w, CMD(RUN_BEGUN, run_begun, .run_id = 99, .attempt = 1, .job = STR("none")));
    /* The next attempt of the same run has not begun. */
    world_finish_with(w, "a@n1", (struct run_done_command){.result = RESULT_PARKED, .park_ms = 5});
    DONE(w, CMD(RUN_RESUME, run_resume, .run_id = id));
    world_anneal(w);
    CHECK(read_run(w, id).state == RUN_RUNNING && !read_run(w, id).begun);
    CHECK(read_run(w, id).attempt == 2 && read_noderole(w, "a@n1").attempt == 2);
    world_close(w);
}

TEST(an_invalid_result_is_refused)
{
    struct world *w = open_a_running("");
    const int64_t id = world_run(w, "a@n1", RUN_RUNNING);
    struct command c = CMD(RUN_DONE, run_done, .run_id = id, .attempt = 1, .result = RESULT_COUNT);
    EXPECT_STR(REFUSED(w, c, BAD_VALUE, "result"), "is not a result code");
    c.run_done.result = RESULT_OK;
    c.run_done.has_wall = true;
    c.run_done.wall = STR("[]");
    EXPECT_STR(REFUSED(w, c, BAD_JSON, "wall"), "must be a JSON object");
    c.run_done.has_wall = false;
    c.run_done.wall = STR("");
    c.run_done.result = RESULT_PARKED;
    c.run_done.park_ms = -1;
    EXPECT_STR(REFUSED(w, c, BAD_VALUE, "park_ms"), "must be from 0 to 604800000 ms (a week)");
    c.run_done.park_ms = PARK_MS_MAX + 1;
    REFUSED(w, c, BAD_VALUE, "park_ms");
    c.run_done.park_ms = PARK_MS_MAX;
    DONE(w, c);
    CHECK(read_run(w, id).state == RUN_PARKED && read_run(w, id).park_left_ms == PARK_MS_MAX);
    CHECK(core_next_deadline(w->core) == mono(w) + PARK_MS_MAX);
    world_close(w);
}

TEST(parked_runs_are_queued_at_their_deadline)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    CHECK(core_next_deadline(w->core) == -1);
    for (int i = 1; i <= 3; i++) {
        world_node(w, numbered(w, "n", i), NULL);
        world_bind(w, numbered(w, "a@n", i));
    }
    world_commit_deployment(w, "system");
    world_anneal(w);
    world_finish_with(w, "a@n1",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 8000});
    const int64_t first = mono(w) + 8000;
    world_finish_with(w, "a@n2",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 7000});
    world_finish_with(w, "a@n3",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 9000});
    CHECK(core_next_deadline(w->core) == first);
    while (mono(w) + 1000 < first) {
        DONE(w, CMD(TICK, tick, .unused = 0));
        CHECK(world_run(w, "a@n1", RUN_PARKED) != 0);
    }
    world_clear_effects(w);
    DONE(w, CMD(TICK, tick, .unused = 0));
    CHECK(mono(w) == first);
    CHECK(world_run(w, "a@n1", RUN_QUEUED) && world_run(w, "a@n2", RUN_QUEUED));
    CHECK(world_run(w, "a@n3", RUN_PARKED) && core_next_deadline(w->core) == first + 3000);
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n1; start a@n2");
    const int64_t parked = world_run(w, "a@n3", RUN_PARKED);
    DONE(w, CMD(RUN_RESUME, run_resume, .run_id = parked));
    CHECK(core_next_deadline(w->core) == -1);
    CHECK(read_run(w, parked).state == RUN_QUEUED && !read_run(w, parked).frozen);
    DONE(w, CMD(RUN_RESUME, run_resume, .run_id = parked));
    CHECK(read_run(w, parked).state == RUN_QUEUED);
    const int64_t running = world_run(w, "a@n1", RUN_RUNNING);
    DONE(w, CMD(RUN_RESUME, run_resume, .run_id = running));
    DONE(w, CMD(RUN_STOPPED, run_stopped, .run_id = running, .attempt = 2));
    CHECK(read_run(w, running).state == RUN_RUNNING);
    world_close(w);
}

TEST(the_time_of_a_parked_run_starts_anew_after_a_load)
{
    struct world *w = open_a_running("");
    world_finish_with(w, "a@n1",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 50000});
    DONE(w, CMD(TICK, tick, .unused = 0));
    world_reload(w);
    CHECK(core_next_deadline(w->core) == mono(w) + 50000);
    world_alive(w, "n1", false);
    CHECK(core_next_deadline(w->core) == -1 && world_runs(w, NULL) == 0);
    world_close(w);
}

/* ---- cancelling ---- */

TEST(a_cancelled_run_keeps_its_slot_until_it_has_stopped)
{
    struct world *w = open_a_running("");
    const int64_t id = world_run(w, "a@n1", RUN_RUNNING);
    REFUSED(w, CMD(RUN_CANCEL, run_cancel, .run_id = 99), NOT_FOUND, "run_id");
    world_clear_effects(w);
    DONE(w, CMD(RUN_CANCEL, run_cancel, .run_id = id));
    const struct effect *e = w->fx.first;
    CHECK(w->fx.count == 1 && e->kind == EFFECT_RUN_CANCEL && e->id == id && e->attempt == 1);
    CHECK(e->node_id == the_node(w, "n1") && e->noderole_id == the_noderole(w, "a@n1"));
    EXPECT_EFFECTS(w, "cancel a@n1");
    IS(w, "a@n1", "error");
    CHECK(str_eq(read_noderole(w, "a@n1").status, STR("cancelled")));
    CHECK(str_eq(read_noderole(w, "a@n1").runlog, STR("cancelled by user tester")));
    CHECK(read_run(w, id).state == RUN_STOPPING);
    CHECK(read_run(w, id).noderole_id == the_noderole(w, "a@n1"));
    EXPECT_STR(REFUSED(w, CMD(RUN_CANCEL, run_cancel, .run_id = id), WRONG_STATE, "run_id"),
               "the run is being stopped already");
    DONE(w, cmd_retry(w, "a@n1"));
    world_anneal(w);
    EXPECT_EFFECTS(w, "");
    world_reload(w);
    world_anneal(w);
    EXPECT_EFFECTS(w, "");
    DONE(w, CMD(RUN_STOPPED, run_stopped, .run_id = id, .attempt = 2));
    CHECK(world_runs(w, NULL) == 1);
    DONE(w, CMD(RUN_STOPPED, run_stopped, .run_id = id, .attempt = 1));
    CHECK(core_count(w->core, TABLE_RUN) == 0);
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n1");
    const struct noderole_record nr = read_noderole(w, "a@n1");
    CHECK(nr.status.len == 0 && nr.runlog.len == 0 && nr.attempt == 2);
    world_close(w);
}

TEST(a_queued_run_is_cancelled_without_an_effect)
{
    struct world *w = open_a_running("");
    world_finish(w, "a@n1", RESULT_OK);
    DONE(w, cmd_enqueue(w, "a@n1"));
    world_clear_effects(w);
    DONE(w, CMD(RUN_CANCEL, run_cancel, .run_id = world_run(w, "a@n1", RUN_QUEUED)));
    IS(w, "a@n1", "active");
    CHECK(core_count(w->core, TABLE_RUN) == 0 && w->fx.count == 0);
    world_anneal(w);
    EXPECT_EFFECTS(w, "");
    world_close(w);
}

TEST(the_result_of_a_stopping_run_is_ignored)
{
    struct world *w = open_a_running("");
    const int64_t id = world_run(w, "a@n1", RUN_RUNNING);
    DONE(w, cmd_propose(w, "a@n1"));
    DONE(w, CMD(RUN_DONE, run_done, .run_id = id, .attempt = 1, .result = RESULT_FAILED,
                .runlog = STR("too late")));
    CHECK(core_count(w->core, TABLE_RUN) == 0);
    IS(w, "a@n1", "proposed");
    CHECK(read_noderole(w, "a@n1").runlog.len == 0 && read_noderole(w, "a@n1").run_count == 0);
    world_close(w);
}

TEST(a_stopping_run_of_a_deleted_node_keeps_its_worker)
{
    struct world *w = open_a_running("");
    const int64_t id = world_run(w, "a@n1", RUN_RUNNING);
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")));
    CHECK(read_run(w, id).state == RUN_STOPPING && w->core->vars.busy[QUEUE_NORMAL] == 1);
    DONE(w, CMD(RUN_STOPPED, run_stopped, .run_id = id, .attempt = 1));
    CHECK(core_count(w->core, TABLE_RUN) == 0 && w->core->vars.busy[QUEUE_NORMAL] == 0);
    world_close(w);
}

TEST(after_a_restart_open_effects_are_repeated_in_order)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_transition']");
    for (int i = 1; i <= 3; i++) {
        world_node(w, numbered(w, "n", i), NULL);
        world_bind(w, numbered(w, "a@n", i));
    }
    world_commit_deployment(w, "system");
    world_anneal(w);
    const int64_t one = world_run(w, "a@n1", RUN_RUNNING), two = world_run(w, "a@n2", RUN_RUNNING);
    world_finish_with(w, "a@n3", (struct run_done_command){.result = RESULT_PARKED, .park_ms = 9});
    DONE(w, cmd_propose(w, "a@n2"));
    world_reload(w);
    struct effects fx = {0};
    core_resume(w->core, &w->arena, &fx);
    const struct effect *e = fx.first;
    CHECK(fx.count == 2 + core_count(w->core, TABLE_OUTBOX) && fx.count > 3);
    CHECK(e->kind == EFFECT_RUN_QUERY && e->id == one && e->attempt == 1);
    CHECK(e->node_id == the_node(w, "n1") && e->noderole_id == the_noderole(w, "a@n1"));
    CHECK(str_eq(e->jig, STR("script")) && str_eq(e->data, read_run(w, one).data));
    e = e->next;
    CHECK(e->kind == EFFECT_RUN_CANCEL && e->id == two && e->attempt == 1 && e->jig.len == 0);
    CHECK(e->node_id == the_node(w, "n2") && e->noderole_id == the_noderole(w, "a@n2"));
    int64_t row = 0;
    for (e = e->next; e; e = e->next) {
        row = core_next_id(w->core, TABLE_OUTBOX, row);
        CHECK(e->kind == EFFECT_OUTBOX && e->id == row);
        CHECK(e->next || fx.last == e);
    }
    CHECK(core_next_id(w->core, TABLE_OUTBOX, row) == 0);
    world_close(w);
}

/* ---- results ---- */

TEST(a_failure_without_a_log_gets_a_text)
{
    struct world *w = open_a_running("");
    world_finish_with(w, "a@n1", (struct run_done_command){.result = RESULT_LOST});
    IS(w, "a@n1", "error");
    CHECK(str_eq(read_noderole(w, "a@n1").status, STR("run lost")));
    CHECK(str_eq(read_noderole(w, "a@n1").runlog, STR("run lost")));
    DONE(w, cmd_retry(w, "a@n1"));
    world_anneal(w);
    world_finish_with(w, "a@n1", (struct run_done_command){.result = RESULT_FAILED});
    CHECK(str_eq(read_noderole(w, "a@n1").status, STR("run failed")));
    CHECK(str_eq(read_noderole(w, "a@n1").runlog, STR("run failed")));
    DONE(w, cmd_retry(w, "a@n1"));
    world_anneal(w);
    CHECK(read_noderole(w, "a@n1").status.len == 0 && read_noderole(w, "a@n1").runlog.len == 0);
    world_finish_with(w, "a@n1",
                      (struct run_done_command){.result = RESULT_LOST, .runlog = STR("words")});
    CHECK(str_eq(read_noderole(w, "a@n1").runlog, STR("words")));
    CHECK(read_noderole(w, "a@n1").run_count == 0);
    world_close(w);
}

TEST(a_wall_is_kept_and_an_absent_one_leaves_the_old)
{
    struct world *w = open_a_running("");
    world_finish_with(w, "a@n1",
                      (struct run_done_command){
                          .result = RESULT_OK, .has_wall = true, .wall = world_json(w, "{'k':1}")});
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").wall), "{'k':1}");
    DONE(w, cmd_enqueue(w, "a@n1"));
    world_anneal(w);
    world_finish(w, "a@n1", RESULT_OK);
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").wall), "{'k':1}");
    DONE(w, cmd_enqueue(w, "a@n1"));
    world_anneal(w);
    world_finish_with(w, "a@n1",
                      (struct run_done_command){.result = RESULT_ASYNC,
                                                .has_wall = true,
                                                .wall = world_json(w, "{'k':2}")});
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").wall), "{'k':2}");
    IS(w, "a@n1", "transition");
    CHECK(core_count(w->core, TABLE_RUN) == 0 && read_noderole(w, "a@n1").run_count == 2);
    world_close(w);
}

/* A retry or a change that arrives before the result async leads to another run. */
TEST(a_retry_before_an_async_result_is_not_lost)
{
    struct world *w = open_a_running("");
    DONE(w, cmd_retry(w, "a@n1"));
    IS(w, "a@n1", "transition");
    world_finish(w, "a@n1", RESULT_ASYNC);
    IS(w, "a@n1", "todo");
    world_anneal(w);
    IS(w, "a@n1", "transition");
    world_finish(w, "a@n1", RESULT_ASYNC);
    IS(w, "a@n1", "transition"); /* without a retry it stays */
    DONE(w, cmd_retry(w, "a@n1"));
    world_anneal(w);
    world_finish(w, "a@n1", RESULT_OK);
    IS(w, "a@n1", "active");
    world_close(w);
}

TEST(requests_of_a_run_about_its_machine_are_applied)
{
    struct world *w = world_open();
    world_role(w, "ear", "'hooks':['on_node_change']");
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_commit(w, "a@n1");
    world_anneal(w);
    world_clear_effects(w);
    world_finish_with(
        w, "a@n1",
        (struct run_done_command){
            .result = RESULT_OK, .stop = true, .node_dead = true, .power = STR("reboot")});
    EXPECT_EFFECTS(w, "on_node_change ear n1; power reboot n1");
    CHECK(!read_node(w, "n1").alive && read_node(w, "n1").stopped);
    IS(w, "a@n1", "todo");
    world_close(w);
}

/* ---- hooks ---- */

TEST(a_failed_probe_sets_alive_to_false_once)
{
    struct world *w = world_open();
    world_role(w, "ear", "'hooks':['on_node_change']");
    world_node(w, "n1", NULL);
    world_alive(w, "n1", false);
    world_alive(w, "n1", true);
    world_clear_effects(w);
    const int64_t id = world_waiting(w, "probe n1");
    struct record record;
    CHECK(core_record(w->core, TABLE_OUTBOX, id, &record));
    CHECK(record.outbox.kind == OUTBOX_PROBE && record.outbox.object == TABLE_NODE);
    CHECK(record.outbox.object_id == the_node(w, "n1") && record.outbox.role_id == 0);
    world_answer(w, "probe n1", true, STR(""));
    CHECK(!read_node(w, "n1").alive && world_waiting(w, "probe n1") == 0);
    EXPECT_EFFECTS(w, "on_node_change ear n1");
    world_alive(w, "n1", true);
    world_clear_effects(w);
    world_answer(w, "probe n1", false, STR(""));
    CHECK(read_node(w, "n1").alive);
    EXPECT_EFFECTS(w, "");
    /* A probe that was ordered before the node died does not count. */
    world_alive(w, "n1", false);
    world_alive(w, "n1", true);
    const int64_t old = world_waiting(w, "probe n1");
    world_alive(w, "n1", false);
    CHECK(world_waiting(w, "probe n1") == 0);
    world_alive(w, "n1", true);
    world_clear_effects(w);
    DONE(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = old, .failed = true));
    CHECK(read_node(w, "n1").alive && world_waiting(w, "probe n1") > old);
    EXPECT_EFFECTS(w, "");
    world_close(w);
}

TEST(nothing_starts_before_the_probe_has_a_result)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_alive(w, "n1", false);
    world_commit(w, "a@n1");
    world_alive(w, "n1", true);
    world_anneal(w);
    IS(w, "a@n1", "todo");
    const struct cause *cause =
        core_why(w->core, TABLE_NODEROLE, the_noderole(w, "a@n1"), &w->arena);
    CHECK(cause && cause->code == CAUSE_PROBING);
    world_reload(w);
    DONE(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = world_waiting(w, "probe n1"), .failed = true,
                .text = STR("connection refused")));
    EXPECT_STR(str_z(&w->arena, read_node(w, "n1").status), "does not answer: connection refused");
    world_alive(w, "n1", true);
    CHECK(read_node(w, "n1").status.len == 0);
    world_answer(w, "probe n1", false, STR(""));
    world_anneal(w);
    IS(w, "a@n1", "transition");
    world_close(w);
}

TEST(a_failed_on_proposed_bars_the_commit_until_it_succeeds)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_proposed']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_answer(w, "on_proposed a@n1", true, STR(""));
    CHECK(read_noderole(w, "a@n1").hook_failed);
    CHECK(str_eq(read_noderole(w, "a@n1").status, STR("on_proposed: no luck")));
    IS(w, "a@n1", "proposed");
    EXPECT_STR(REFUSED(w, cmd_commit(w, "a@n1"), HOOK_FAILED, "status"),
               "system: n1.example.com: a: on_proposed failed: on_proposed: no luck");
    world_reload(w);
    DONE(w, CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(w, "a@n1"),
                .data = world_json(w, "{'x':1}")));
    world_answer(w, "on_proposed a@n1", false, STR(""));
    CHECK(!read_noderole(w, "a@n1").hook_failed && read_noderole(w, "a@n1").status.len == 0);
    world_commit(w, "a@n1");
    EXPECT_STR(REFUSED(w, cmd_commit(w, "a@n1"), WRONG_STATE, "state"),
               "system: n1.example.com: a is todo, only a proposed noderole can be committed");
    world_close(w);
}

static struct str encode_command(struct world *w, struct command command)
{
    struct buf b = buf_in(&w->arena);
    command_encode(&command, &b);
    return buf_str(&b);
}

TEST(an_invalid_hook_command_fails_the_hook_with_a_reason)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_todo']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    const struct {
        struct str commands;
        const char *text;
    } cases[] = {
        {STR("\xff\xff\xff"), "on_todo: its commands cannot be decoded"},
        {encode_command(w, CMD(ANNEAL, anneal, .budget = 0)),
         "on_todo: hooks may not use the command anneal"},
        {encode_command(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = 1)),
         "on_todo: hooks may not use the command outbox_done"},
        {encode_command(w, CMD(NODE_DELETE, node_delete, .id = 99)),
         "on_todo: the command that it requested, node_delete, was refused: "
         "there is no node with id 99"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        world_commit(w, "a@n1");
        world_answer(w, "on_todo a@n1", false, cases[i].commands);
        IS(w, "a@n1", "error");
        CHECK(str_eq(read_noderole(w, "a@n1").status, STR("on_todo failed")));
        EXPECT_STR(str_z(&w->arena, read_noderole(w, "a@n1").runlog), cases[i].text);
        DONE(w, cmd_propose(w, "a@n1"));
    }
    world_close(w);
}

TEST(a_hook_caused_by_a_hook_command_is_one_deeper)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_todo']");
    world_role(w, "ear", "'hooks':['on_node_change']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_deliver(w);
    world_commit(w, "a@n1");
    struct command update = CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"),
                                .given = GIVEN_DESCRIPTION, .description = STR("wished"));
    /* Its invalid address is replaced; otherwise the step would refuse it. */
    update.address = STR("no address, and longer than the text of an address");
    world_answer(w, "on_todo a@n1", false, encode_command(w, update));
    CHECK(str_eq(read_node(w, "n1").description, STR("wished")));
    CHECK(read_node(w, "n1").updated_at == w->now_ms);
    struct record record;
    CHECK(core_record(w->core, TABLE_OUTBOX, world_waiting(w, "on_node_change ear n1"), &record));
    CHECK(record.outbox.depth == 1 && str_eq(record.outbox.detail, STR("n1.example.com")));
    world_close(w);
}

/* The outcome of a command without veto replies. */
static const struct outcome *step_without_replies(struct world *w, struct command command)
{
    command.now_ms = w->now_ms;
    command.mono_ms = mono(w);
    command.actor = STR("user tester");
    w->fx = (struct effects){0};
    w->out = (struct outcome){0};
    core_step(w->core, &command, &w->arena, &w->fx, &w->out);
    CHECK(w->out.verdict == VERDICT_NEEDS_HOOKS);
    return &w->out;
}

TEST(a_veto_request_has_its_object_and_a_veto_its_role)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_commit','on_node_bind','on_deployment_create']");
    world_node(w, "n1", NULL);
    const struct outcome *out = step_without_replies(w, cmd_bind(w, "a@n1", NULL));
    const struct veto_call *ask = out->veto_calls;
    CHECK(out->veto_call_count == 2 && ask->next && !ask->next->next);
    CHECK(ask->hook == HOOK_DEPLOYMENT_CREATE && ask->role_id == the_role(w, "a"));
    EXPECT_STR(shown(w, ask->argument), "{'data':{},'deployment':'system','role':'a'}");
    CHECK(ask->next->hook == HOOK_NODE_BIND && ask->next->key != ask->key);
    EXPECT_STR(shown(w, ask->next->argument),
               "{'bootenv':'sledgehammer','data':{},'deployment':'system','node':'n1.example.com',"
               "'proposed':{},'role':'a','run_count':0}");
    world_bind(w, "a@n1");
    DONE(w, CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(w, "a@n1"),
                .data = world_json(w, "{'x':1}")));
    out = step_without_replies(w, cmd_commit(w, "a@n1"));
    CHECK(out->veto_call_count == 1 && out->veto_calls->hook == HOOK_COMMIT);
    EXPECT_STR(shown(w, out->veto_calls->argument),
               "{'bootenv':'sledgehammer','data':{'x':1},'deployment':'system',"
               "'node':'n1.example.com','proposed':{'x':1},'role':'a','run_count':0}");
    w->veto = "on_commit";
    EXPECT_STR(REFUSED(w, cmd_commit(w, "a@n1"), HOOK_VETO, "on_commit"),
               "role a vetoed this: I say no");
    w->veto = NULL;
    world_close(w);
}

TEST(a_deleted_noderole_removes_its_own_hooks_only)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_proposed']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "a@n1");
    world_bind(w, "a@n2");
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "a@n2")));
    CHECK(core_count(w->core, TABLE_OUTBOX) == 1 && world_waiting(w, "on_proposed a@n1"));
    world_close(w);
}

/* ---- states ---- */

TEST(the_state_table_is_complete)
{
    static const char *const states[] = {"proposed",   "blocked", "todo",
                                         "transition", "active",  "error"};
    /* The state that each event leads to without parents, = for none, . for refused. */
    static const char *const rows[] = {
        "t====.==.=", ".pt==.==.=", ".p=bbx=e==", ".p===.ae=t", ".p==bx=ett", ".p=bb.==tt"};
    static const char letters[] = "pbtxae";
    for (uint32_t s = 0; s < NODEROLE_STATE_COUNT; s++)
        for (uint32_t e = 0; e < NODEROLE_EVENT_COUNT; e++) {
            struct world *w = world_open();
            world_role(w, "parent", "");
            world_role(w, "a", s == NODEROLE_BLOCKED ? "'requires':['parent']" : "");
            world_node(w, "n1", NULL);
            world_bind(w, "a@n1");
            if (s == NODEROLE_BLOCKED)
                world_commit(w, "a@n1");
            else
                world_bring(w, "a@n1", states[s]);
            const noderole_ix nr = noderole_by_id(w->core, the_noderole(w, "a@n1"));
            struct effects fx = {0};
            w->core->arena = &w->arena;
            w->core->fx = &fx;
            CHECK(noderole_apply(w->core, nr, (enum noderole_event)e) == (rows[s][e] != '.'));
            const uint8_t now = noderole_at(w->core, nr)->state;
            const bool still = rows[s][e] == '=' || rows[s][e] == '.';
            CHECK(still ? now == s : letters[now] == rows[s][e]);
            core_free(w->core);
            arena_fini(&w->arena);
            free(w->kept);
            free(w);
        }
}

TEST(a_refused_retry_has_a_reason)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "b", "'requires':['a']");
    world_node(w, "n1", NULL);
    world_bind(w, "b@n1");
    EXPECT_STR(REFUSED(w, cmd_retry(w, "a@n1"), WRONG_STATE, "state"),
               "system: n1.example.com: a is proposed and cannot be retried");
    world_commit_deployment(w, "system");
    EXPECT_STR(REFUSED(w, cmd_retry(w, "b@n1"), WRONG_STATE, "state"),
               "system: n1.example.com: b is blocked and cannot be retried");
    world_run_all(w);
    DONE(w, cmd_propose(w, "a@n1"));
    IS(w, "b@n1", "active");
    EXPECT_STR(
        REFUSED(w, cmd_retry(w, "b@n1"), PARENTS_NOT_ACTIVE, "id"),
        "system: n1.example.com: b depends on system: n1.example.com: a, which is proposed; make "
        "that one active first, or propose this one so that its node continues without it");
    CHECK(w->out.problems && !w->out.problems->next);
    world_close(w);
}

TEST(a_commit_switches_a_dead_machine_on_once)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "b", "");
    DONE(w, cmd_node(w, "n1"));
    world_bind(w, "a@n1");
    world_bind(w, "b@n1");
    DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = the_node(w, "n1"),
                .hammer_kind_id = core_find(w->core, TABLE_HAMMER_KIND, STR("ipmi")),
                .username = STR("root")));
    world_clear_effects(w);
    DONE(w, CMD(NODE_COMMIT, node_commit, .id = the_node(w, "n1")));
    EXPECT_EFFECTS(w, "power on n1");
    DONE(w, CMD(NODE_PROPOSE, node_propose, .id = the_node(w, "n1")));
    world_commit(w, "b@n1");
    EXPECT_EFFECTS(w, "power on n1");
    world_alive(w, "n1", true);
    world_commit(w, "a@n1");
    EXPECT_EFFECTS(w, "");
    world_close(w);
}

/* ---- clusters ---- */

TEST(cluster_members_with_changed_data_run_again)
{
    struct world *w = world_open();
    enum { MEMBERS = 20 };
    world_deployment(w, "d");
    world_role(w, "m", "'flags':['cluster']");
    world_role(w, "c", "'requires':['m'],'jig':'noop'");
    for (int i = 1; i <= MEMBERS + 1; i++)
        world_node(w, numbered(w, "n", i), "d");
    for (int i = 1; i <= MEMBERS; i++)
        world_bind_in(w, numbered(w, "m@n", i), "d");
    world_bind_in(w, "c@n1", "d");
    world_commit_deployment(w, "d");
    world_run_all(w);
    IS(w, "c@n1", "active");
    world_bind_in(w, "m@n21", "d");
    CHECK(world_has_edge(w, "m@n21", "c@n1"));
    DONE(w, CMD(DEPLOYMENT_ROLE_DATA, deployment_role_data, .id = the_deployment_role(w, "m", "d"),
                .data = world_json(w, "{'x':1}")));
    EXPECT_STR(
        REFUSED(w, cmd_commit(w, "m@n21"), DATA_PROPOSED, "deployment_role"),
        "d: n21.example.com: m: the data of its role are proposed in the deployment; commit them "
        "first");
    world_commit_deployment(w, "d");
    for (int i = 1; i <= MEMBERS + 1; i++)
        IS(w, numbered(w, "m@n", i), "todo");
    IS(w, "c@n1", "blocked");
    world_run_all(w);
    for (int i = 1; i <= MEMBERS; i++)
        CHECK(read_noderole(w, numbered(w, "m@n", i)).run_count == 2);
    CHECK(read_noderole(w, "m@n21").run_count == 1);
    IS(w, "c@n1", "active");
    world_close(w);
}

/* ---- the queue of a node ---- */

TEST(enqueued_no_ops_are_executed_in_order)
{
    struct world *w = world_open();
    static const char *const names[] = {"a", "b", "c"};
    world_node(w, "n1", NULL);
    for (int i = 0; i < 3; i++) {
        world_role(w, names[i], "'jig':'noop'");
        world_bind(w, numbered(w, i == 0 ? "a@n" : i == 1 ? "b@n" : "c@n", 1));
    }
    world_commit_deployment(w, "system");
    world_anneal(w);
    DONE(w, cmd_enqueue(w, "b@n1"));
    DONE(w, cmd_enqueue(w, "a@n1"));
    CHECK(core_count(w->core, TABLE_RUN) == 2);
    world_anneal(w);
    CHECK(core_count(w->core, TABLE_RUN) == 0);
    CHECK(read_noderole(w, "a@n1").run_count == 2 && read_noderole(w, "b@n1").run_count == 2);
    CHECK(read_noderole(w, "c@n1").run_count == 1);
    IS(w, "a@n1", "active");
    world_close(w);
}

TEST(a_queued_run_that_cannot_start_does_not_block_the_next)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_active']");
    world_role(w, "b", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bind(w, "b@n1");
    world_commit_deployment(w, "system");
    world_anneal(w);
    world_finish(w, "a@n1", RESULT_OK);
    world_anneal(w);
    world_finish(w, "b@n1", RESULT_OK);
    DONE(w, cmd_enqueue(w, "a@n1"));
    DONE(w, cmd_enqueue(w, "b@n1"));
    world_clear_effects(w);
    world_anneal(w);
    EXPECT_EFFECTS(w, "start b@n1"); /* a waits for its hook */
    world_finish(w, "b@n1", RESULT_OK);
    world_anneal(w);
    EXPECT_EFFECTS(w, "");
    world_answer(w, "on_active a@n1", false, STR(""));
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n1");
    world_close(w);
}

/* ---- regressions ---- */

TEST(a_barclamp_with_a_younger_parent_is_loaded)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'old','source_path':'/old'}}"));
    DONE(w, cmd_import(w, "{'barclamp':{'name':'young','source_path':'/young'}}"));
    DONE(w, cmd_import(w, "{'barclamp':{'name':'old','source_path':'/old','parent':'young'}}"));
    world_reload(w);
    struct record old;
    const int64_t id = core_find(w->core, TABLE_BARCLAMP, STR("old"));
    CHECK(core_record(w->core, TABLE_BARCLAMP, id, &old));
    CHECK(old.barclamp.parent_id == core_find(w->core, TABLE_BARCLAMP, STR("young")));
    world_close(w);
}

/* core_check() after every step verifies the candidates. */
TEST(a_deleted_noderole_is_no_candidate)
{
    struct world *w = world_open();
    DONE(w, CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_POOL_NORMAL,
                .pool_normal = 1));
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "a@n1");
    world_bind(w, "a@n2");
    world_commit(w, "a@n1");
    world_commit(w, "a@n2");
    world_anneal(w);
    IS(w, "a@n1", "transition");
    IS(w, "a@n2", "todo");
    CHECK(w->core->waiting[QUEUE_NORMAL].count == 1);
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "a@n2")));
    CHECK(w->core->waiting[QUEUE_NORMAL].count == 0);
    world_reload(w);
    world_close(w);
}

/* Hooks may supply neither veto replies nor results of runs. */
TEST(hooks_may_not_report_results)
{
    static const enum command_kind kinds[] = {COMMAND_RUN_DONE,  COMMAND_RUN_STOPPED,
                                              COMMAND_RUN_BEGUN, COMMAND_TICK,
                                              COMMAND_ANNEAL,    COMMAND_USER_DELETE};
    for (uint32_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct world *w = world_open();
        world_role(w, "h", "'hooks':['on_todo']");
        world_node(w, "n1", NULL);
        world_bind(w, "h@n1");
        world_commit(w, "h@n1");
        const struct command wish = {.kind = kinds[i]};
        struct buf wishes = buf_in(&w->arena);
        command_encode(&wish, &wishes);
        DONE(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = core_next_id(w->core, TABLE_OUTBOX, 0),
                    .hook_commands = buf_str(&wishes)));
        IS(w, "h@n1", "error");
        world_close(w);
    }
}
