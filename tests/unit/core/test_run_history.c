#include "core/core_private.h"
#include "tests/world/world.h"

/* Every attempt that ends leaves one row in the history, whatever its result. */

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

/* The rows that a store would have, as "1:failed(no disk) 2:ok". */
static const char *history(struct world *w)
{
    static const char *const names[] = {"ok", "failed", "async", "parked", "lost", "cancelled"};
    struct buf b = buf_in(&w->arena);
    world_collect(w);
    for (int64_t attempt = 1; attempt < 100; attempt++)
        for (size_t i = 0; i < w->kept_count; i++) {
            const struct old_run_record *run = &w->kept[i].old_run;
            if (w->kept[i].table != TABLE_OLD_RUN || run->attempt != attempt)
                continue;
            CHECK(run->started_at <= run->ended_at && run->started_at > 0 && run->run_id > 0);
            CHECK(run->result < sizeof names / sizeof *names);
            buf_put_z(&b, b.len ? " " : "");
            buf_put_i64(&b, attempt);
            buf_put_c(&b, ':');
            buf_put_z(&b, names[run->result]);
            if (run->runlog.len) {
                buf_put_c(&b, '(');
                buf_put_str(&b, run->runlog);
                buf_put_c(&b, ')');
            }
        }
    return str_z(&w->arena, buf_str(&b));
}

static void finish(struct world *w, enum run_result result, const char *log)
{
    world_finish_with(w, "a@n1",
                      (struct run_done_command){.result = result, .runlog = str_from(log)});
}

static void run_again(struct world *w)
{
    DONE(w, cmd_enqueue(w, "a@n1"));
    world_anneal(w);
    IS(w, "a@n1", "transition");
}

TEST(a_row_holds_every_field)
{
    struct world *w = open_a_running("");
    const int64_t began = w->now_ms;
    const struct start *start = world_start(w, "a@n1");
    EXPECT_STR(history(w), "");
    finish(w, RESULT_OK, "all is well");
    EXPECT_STR(history(w), "1:ok(all is well)");
    const struct record *row = NULL;
    for (size_t i = 0; i < w->kept_count; i++)
        if (w->kept[i].table == TABLE_OLD_RUN)
            row = &w->kept[i];
    CHECK(row != NULL && row->old_run.noderole_id == the_noderole(w, "a@n1"));
    CHECK(row->old_run.node_id == the_node(w, "n1") && row->old_run.role_id == the_role(w, "a"));
    CHECK(row->old_run.run_id == start->run && row->old_run.attempt == start->attempt);
    CHECK(row->old_run.started_at <= began && row->old_run.ended_at == w->now_ms);
    world_close(w);
}

TEST(each_start_has_a_row_of_its_own)
{
    struct world *w = open_a_running("'attempts':2");
    finish(w, RESULT_PARKED, "wait");
    EXPECT_STR(history(w), "1:parked(wait)");
    DONE(w, CMD(RUN_RESUME, run_resume, .run_id = world_run(w, "a@n1", RUN_PARKED)));
    world_anneal(w);
    finish(w, RESULT_FAILED, "once");
    DONE(w, CMD(RUN_RESUME, run_resume, .run_id = world_run(w, "a@n1", RUN_PARKED)));
    world_anneal(w);
    finish(w, RESULT_FAILED, "twice");
    IS(w, "a@n1", "error");
    DONE(w, cmd_retry(w, "a@n1"));
    world_anneal(w);
    finish(w, RESULT_LOST, "");
    DONE(w, cmd_retry(w, "a@n1"));
    world_anneal(w);
    finish(w, RESULT_ASYNC, "");
    EXPECT_STR(history(w), "1:parked(wait) 2:failed(once) 3:failed(twice) 4:lost 5:async");
    world_close(w);
}

TEST(a_run_that_is_stopped_has_its_row_when_it_has_stopped)
{
    struct world *w = open_a_running("");
    const struct start *start = world_start(w, "a@n1");
    DONE(w, CMD(RUN_CANCEL, run_cancel, .run_id = start->run));
    EXPECT_STR(history(w), "");
    const struct command stopped =
        CMD(RUN_STOPPED, run_stopped, .run_id = start->run, .attempt = start->attempt);
    DONE(w, stopped);
    EXPECT_STR(history(w), "1:cancelled");
    DONE(w, stopped); /* reported twice, archived once */
    EXPECT_STR(history(w), "1:cancelled");
    DONE(w, cmd_retry(w, "a@n1"));
    world_anneal(w);
    start = world_start(w, "a@n1");
    world_alive(w, "n1", false);
    /* It had ended before it could be stopped. */
    DONE(w, CMD(RUN_DONE, run_done, .run_id = start->run, .attempt = start->attempt,
                .result = RESULT_OK, .runlog = STR("done, but too late")));
    EXPECT_STR(history(w), "1:cancelled 2:cancelled(done, but too late)");
    world_close(w);
}

TEST(a_run_may_outlive_its_noderole)
{
    struct world *w = open_a_running("");
    const struct start *start = world_start(w, "a@n1");
    const int64_t id = the_noderole(w, "a@n1");
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")));
    struct record gone;
    CHECK(!core_record(w->core, TABLE_NODEROLE, id, &gone));
    DONE(w, CMD(RUN_STOPPED, run_stopped, .run_id = start->run, .attempt = start->attempt));
    EXPECT_STR(history(w), "1:cancelled");
    for (size_t i = 0; i < w->kept_count; i++)
        if (w->kept[i].table == TABLE_OLD_RUN)
            CHECK(w->kept[i].old_run.noderole_id == id && w->kept[i].old_run.role_id == 0);
    world_close(w);
}

TEST(runs_that_never_started_have_no_row)
{
    struct world *w = world_open();
    world_role(w, "noop", "'jig':'noop'");
    world_role(w, "b", "");
    world_node(w, "n1", NULL);
    world_bind(w, "noop@n1");
    world_bind(w, "b@n1");
    world_commit(w, "noop@n1");
    world_run_all(w);
    IS(w, "noop@n1", "active");
    EXPECT_STR(history(w), "");
    world_commit(w, "b@n1");
    world_run_all(w);
    EXPECT_STR(history(w), "1:ok");
    DONE(w, cmd_enqueue(w, "b@n1"));
    DONE(w, CMD(RUN_CANCEL, run_cancel, .run_id = world_run(w, "b@n1", RUN_QUEUED)));
    EXPECT_STR(history(w), "1:ok");
    world_close(w);
}

TEST(ignored_results_leave_no_row)
{
    struct world *w = open_a_running("");
    const struct start *start = world_start(w, "a@n1");
    DONE(w, CMD(RUN_DONE, run_done, .run_id = start->run, .attempt = start->attempt + 1));
    DONE(w, CMD(RUN_DONE, run_done, .run_id = start->run + 1, .attempt = start->attempt));
    DONE(w, CMD(RUN_STOPPED, run_stopped, .run_id = start->run, .attempt = start->attempt));
    REFUSED(w,
            CMD(RUN_DONE, run_done, .run_id = start->run, .attempt = start->attempt,
                .result = RESULT_CANCELLED),
            BAD_VALUE, "result");
    REFUSED(w,
            CMD(RUN_DONE, run_done, .run_id = start->run, .attempt = start->attempt,
                .has_wall = true, .wall = STR("[]")),
            BAD_JSON, "wall");
    EXPECT_STR(history(w), "");
    finish(w, RESULT_OK, "");
    EXPECT_STR(history(w), "1:ok");
    world_close(w);
}

TEST(keep_runs_bounds_the_rows_of_a_noderole)
{
    struct world *w = open_a_running("");
    DONE(w,
         CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_KEEP_RUNS, .keep_runs = 3));
    for (int i = 0; i < 4; i++) {
        finish(w, RESULT_OK, "");
        EXPECT_STR(history(w), i == 0   ? "1:ok"
                               : i == 1 ? "1:ok 2:ok"
                               : i == 2 ? "1:ok 2:ok 3:ok"
                                        : "2:ok 3:ok 4:ok");
        run_again(w);
    }
    /* A lower keep_runs deletes further rows when the next run ends. */
    DONE(w,
         CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_KEEP_RUNS, .keep_runs = 1));
    EXPECT_STR(history(w), "2:ok 3:ok 4:ok");
    finish(w, RESULT_OK, "");
    EXPECT_STR(history(w), "5:ok");
    world_close(w);
}

TEST(the_end_of_a_long_log_is_kept)
{
    struct world *w = open_a_running("");
    char log[RUNLOG_MAX + 12];
    memset(log, 'x', sizeof log);
    memcpy(log, "begin ", 6);
    log[10] = '\xe2', log[11] = '\x82', log[12] = '\xac'; /* truncation would split it */
    memcpy(log + sizeof log - 4, "end", 4);
    finish(w, RESULT_OK, log);
    world_collect(w);
    for (size_t i = 0; i < w->kept_count; i++)
        if (w->kept[i].table == TABLE_OLD_RUN) {
            const struct str kept = w->kept[i].old_run.runlog;
            CHECK(kept.len == RUNLOG_MAX - 2 && kept.at[0] == 'x' && str_ends(kept, STR("end")));
        }
    const struct noderole_record nr = read_noderole(w, "a@n1");
    CHECK(nr.runlog.len == 0); /* a noderole stores the log of failures only */
    world_close(w);
}
