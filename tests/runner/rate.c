/* Runs of /bin/true per second through the runner, with results that are durable at once;
 * tests/exec/rate.c measures the bare loop and halligan-exec alone.
 *
 *     runner-rate PROGRAM [RUNS [PARALLEL]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "run/runner/runner.h"

enum { DEBTS_MAX = 4096 };

static uv_loop_t loop;
static uv_async_t async;
static struct runner *runner;
static struct runner_port port;
static int64_t run_count = 10000, parallel = 10;
static int64_t next_id = 1, done_count;
static int64_t debts[DEBTS_MAX];
static uint32_t debt_count;

static err prepare(void *self, const struct jig_work *w, struct arena *a,
                   struct launch_spec *out_recipe, struct reason *out_why)
{
    static struct str argv[] = {{"/bin/true", 9}};
    (void)self;
    (void)w;
    (void)a;
    (void)out_why;
    *out_recipe = (struct launch_spec){.argv = argv, .argv_count = 1, .out_max = 1 << 20};
    return OK;
}

static void conclude(void *self, const struct jig_work *w, const struct jig_end *end,
                     struct arena *a, struct run_done_command *out_done)
{
    (void)self;
    (void)w;
    (void)a;
    *out_done = (struct run_done_command){
        .result = end->how == JIG_END_EXITED && end->code == 0 ? RESULT_OK : RESULT_FAILED};
}

static bool no_stop(void *self, const struct jig_work *w, struct arena *a, struct launch_spec *out)
{
    (void)self;
    (void)w;
    (void)a;
    (void)out;
    return false;
}

static bool no_scratch(void *self, const struct jig_work *w)
{
    (void)self;
    (void)w;
    return false;
}

static bool facts(void *self, const struct run_order *order, struct arena *a,
                  struct runner_facts *out_facts)
{
    (void)self;
    (void)order;
    (void)a;
    *out_facts = (struct runner_facts){.role = STR("role"), .node = STR("node")};
    return true;
}

static void start_next(void)
{
    const struct run_order order = {
        .epoch = 1, .run_id = next_id++, .attempt = 1, .noderole_id = 1, .data = STR("{}")};
    port.start(port.self, &order);
}

static err submit(void *self, const struct command *command)
{
    (void)self;
    if (!command->request)
        return OK;
    if (debt_count == DEBTS_MAX)
        return ERR_LIMIT;
    if (command->run_done.result != RESULT_OK) {
        fprintf(stderr, "runner-rate: a run of /bin/true failed\n");
        exit(1);
    }
    debts[debt_count++] = command->request;
    return OK;
}

static void wake(void *self)
{
    (void)self;
    uv_async_send(&async);
}

static void woken(uv_async_t *handle)
{
    (void)handle;
    runner_pump(runner);
    for (uint32_t i = 0; i < debt_count; i++) {
        runner_on_result(runner, debts[i], OK);
        done_count++;
        if (next_id <= run_count)
            start_next();
    }
    debt_count = 0;
    if (done_count == run_count)
        uv_stop(&loop);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/halligan-rate-XXXXXX", command[128];
    const struct runner_jig_ops jig_ops = {
        .prepare = prepare, .conclude = conclude, .stop = no_stop, .wants_scratch = no_scratch};
    const struct runner_callbacks callbacks = {
        .facts = facts, .submit = submit, .wake = wake, .jig_ops = &jig_ops};
    if (argc < 2 || !mkdtemp(folder))
        return 2;
    run_count = argc > 2 ? strtol(argv[2], NULL, 10) : run_count;
    parallel = argc > 3 ? strtol(argv[3], NULL, 10) : parallel;
    if (uv_loop_init(&loop) != 0 || uv_async_init(&loop, &async, woken) != 0)
        return 1;
    const struct runner_setup setup = {.loop = &loop,
                                       .data = folder,
                                       .exec_program = argv[1],
                                       .request_first = -1,
                                       .exec_idle_ms = 1000};
    if (runner_open(&setup, callbacks, &runner) != OK)
        return 1;
    port = runner_port(runner);
    const uint64_t began = uv_hrtime();
    for (int64_t i = 0; i < parallel && i < run_count; i++)
        start_next();
    uv_run(&loop, UV_RUN_DEFAULT);
    printf("runner %.0f/s\n", (double)run_count * 1e9 / (double)(uv_hrtime() - began));
    runner_close(runner, true);
    uv_close((uv_handle_t *)&async, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    if (uv_loop_close(&loop) != 0)
        return 1;
    /* The lock is held by the supervisor and by all its shims. */
    snprintf(command, sizeof command, "flock %s/exec/lock rm -rf %s", folder, folder);
    return system(command) == 0 ? 0 : 1;
}
