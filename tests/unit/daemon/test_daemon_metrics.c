/* Goal: runs are counted by role and result, and batches and annealing steps are timed.
 * Method: a test installation; the output of metrics_write() is searched. */
#include "daemon/daemon_metrics.h"

#include <string.h>

#include "port/batch.h"
#include "tests/world/world.h"

static const char *written(struct world *w, const struct metrics *m)
{
    struct buf b = buf_in(&w->arena);
    metrics_write(m, (struct metrics_state){.version = "1.2", .store_is_up = true, .turn = 7}, &b);
    return str_z(&w->arena, buf_str(&b));
}

static struct command done(int64_t run_id, uint32_t attempt, enum run_result result)
{
    return CMD(RUN_DONE, run_done, .run_id = run_id, .attempt = attempt, .result = result);
}

TEST(runs_are_counted_once_when_they_end)
{
    struct world *w = world_open();
    struct metrics m;
    metrics_init(&m, 5000);
    for (const char *name = "b"; name; name = *name == 'b' ? "a" : NULL)
        world_role(w, name, "");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "a@n1");
    world_bind(w, "b@n2");
    world_commit(w, "a@n1");
    world_commit(w, "b@n2");
    world_deliver(w);
    world_anneal(w);
    const int64_t a = world_run(w, "a@n1", RUN_RUNNING), b = world_run(w, "b@n2", RUN_RUNNING);
    struct record run;
    CHECK(a && b && core_record(w->core, TABLE_RUN, a, &run));
    const struct command late = done(a, run.run.attempt + 1, RESULT_OK);
    const struct command parked = done(a, run.run.attempt, RESULT_PARKED);
    const struct command good = done(a, run.run.attempt, RESULT_OK);
    const int64_t now_ms = run.run.started_at + 1500;
    metrics_run_result(&m, w->core, &late, now_ms);
    metrics_run_result(&m, w->core, &parked, now_ms);
    metrics_run_result(&m, NULL, &good, now_ms);
    CHECK(strstr(written(w, &m), "halligan_run_duration_seconds") == NULL);
    metrics_run_result(&m, w->core, &good, now_ms);
    CHECK(core_record(w->core, TABLE_RUN, b, &run));
    const struct command bad = done(b, run.run.attempt, RESULT_FAILED);
    metrics_run_result(&m, w->core, &bad, run.run.started_at - 5); /* the clock was set back */
    HAS(written(w, &m), "halligan_run_duration_seconds_sum{role=\"a\"} 1.5\n");
    HAS(written(w, &m), "halligan_run_duration_seconds_bucket{role=\"a\",le=\"1\"} 0\n");
    HAS(written(w, &m), "halligan_run_duration_seconds_bucket{role=\"a\",le=\"2\"} 1\n");
    HAS(written(w, &m), "halligan_run_duration_seconds_sum{role=\"b\"} 0\n");
    HAS(written(w, &m), "halligan_runs_ended_total{result=\"ok\"} 1\n");
    HAS(written(w, &m), "halligan_runs_ended_total{result=\"failed\"} 1\n");
    metrics_fini(&m);
    world_close(w);
}

TEST(batches_and_annealing_steps_are_timed)
{
    struct world *w = world_open();
    struct metrics m;
    metrics_init(&m, 5000);
    const struct command anneal = {.kind = COMMAND_ANNEAL}, other = {.kind = COMMAND_TICK};
    metrics_stepping(&m, &other);
    metrics_stepped(&m, &other);
    HAS(written(w, &m), "halligan_anneal_pass_seconds_count 0\n");
    metrics_stepping(&m, &anneal);
    metrics_stepped(&m, &anneal);
    metrics_submitting(&m);
    metrics_durable(&m, &(struct batch){.rows = 5, .events = 2});
    HAS(written(w, &m), "halligan_anneal_pass_seconds_count 1\n");
    HAS(written(w, &m), "halligan_store_commit_seconds_count 1\n");
    HAS(written(w, &m), "halligan_events_total 2\n");
    HAS(written(w, &m), "halligan_store_rows_total 5\n");
    HAS(written(w, &m), "halligan_build_info{version=\"1.2\"} 1\n");
    HAS(written(w, &m), "halligan_store_up 1\n");
    HAS(written(w, &m), "halligan_leader 0\n");
    HAS(written(w, &m), "halligan_turns_total 7\n");
    HAS(written(w, &m), "process_start_time_seconds 5\n");
    metrics_fini(&m);
    world_close(w);
}
