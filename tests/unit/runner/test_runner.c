/* Goal: the contract of a runner without a supervisor: orders are recorded, runs that were never
 * started are stopped, results are submitted until they are durable, and stored logs can be read.
 * Method: a runner whose halligan-exec does not exist, in a directory of its own; the loop is run
 * until the expected event has happened. With real runs: tests/runner. */
#include "run/runner/runner.h"
#include "run/runner/runner_private.h"
#include "sys/log.h"
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct fixture {
    uv_loop_t loop;
    char folder[64];
    struct runner *runner;
    struct runner_port port;
    int wakes, facts_asked, answers;
    err verdict; /* of submit */
    struct command last;
};

static bool no_facts(void *self, const struct run_order *order, struct arena *a,
                     struct runner_facts *out_facts)
{
    struct fixture *f = self;
    (void)order;
    (void)a;
    (void)out_facts;
    f->facts_asked++;
    return false;
}

static err submit(void *self, const struct command *command)
{
    struct fixture *f = self;
    f->answers++;
    f->last = *command;
    return f->verdict;
}

static void wake(void *self)
{
    struct fixture *f = self;
    f->wakes++;
}

static err try_open(struct fixture *f, const char *data)
{
    const struct runner_setup setup = {.loop = &f->loop,
                                       .data = data,
                                       .exec_program = "/nowhere/halligan-exec",
                                       .request_first = -7};
    const struct runner_callbacks callbacks = {
        .self = f, .facts = no_facts, .submit = submit, .wake = wake};
    return runner_open(&setup, callbacks, &f->runner);
}

static void begin(struct fixture *f)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    *f = (struct fixture){0};
    snprintf(f->folder, sizeof f->folder, "/tmp/halligan-runner-XXXXXX");
    CHECK(mkdtemp(f->folder) && uv_loop_init(&f->loop) == 0);
    CHECK(try_open(f, f->folder) == OK);
    f->port = runner_port(f->runner);
}

static void end(struct fixture *f)
{
    char command[96];
    runner_close(f->runner, true);
    while (uv_run(&f->loop, UV_RUN_DEFAULT) != 0) {
    }
    CHECK(uv_loop_close(&f->loop) == 0);
    snprintf(command, sizeof command, "rm -rf %s", f->folder);
    CHECK(system(command) == 0);
}

static struct run_order order_of(int64_t run_id, int64_t epoch)
{
    return (struct run_order){.epoch = epoch,
                              .run_id = run_id,
                              .attempt = 1,
                              .noderole_id = 3,
                              .jig = STR("script"),
                              .data = STR("{\"a\":1}")};
}

static void start(struct fixture *f, int64_t run_id, int64_t epoch)
{
    const struct run_order order = order_of(run_id, epoch);
    f->port.start(f->port.self, &order);
}

static void cancel(struct fixture *f, int64_t run_id, int64_t epoch)
{
    const struct run_order order = order_of(run_id, epoch);
    f->port.cancel(f->port.self, &order);
}

/* ---- opening ---- */

static unsigned mode_of(const struct fixture *f, const char *name)
{
    char path[128];
    struct stat facts;
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode) ? facts.st_mode & 0777 : 0;
}

static bool has(const struct fixture *f, int64_t run_id, uint32_t attempt)
{
    return runs_find(f->runner, run_id, attempt) != NULL;
}

TEST(a_runner_makes_its_directories_and_starts_nothing)
{
    struct fixture f;
    begin(&f);
    CHECK(mode_of(&f, "runs") == 0700 && mode_of(&f, "runs/in") == 0700);
    CHECK(mode_of(&f, "runs/scratch") == 0700 && mode_of(&f, "logs") == 0700);
    CHECK(!runner_pump(f.runner));
    CHECK(mode_of(&f, "exec") == 0); /* made with the first order */
    end(&f);
}

TEST(a_data_directory_that_cannot_be_used_is_an_error)
{
    struct fixture f, other = {0};
    char path[128];
    begin(&f);
    CHECK(try_open(&other, "/nowhere/at/all") == ERR_NOT_FOUND && errno == ENOENT);
    snprintf(path, sizeof path, "%s/file", f.folder);
    const int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && close(fd) == 0);
    CHECK(try_open(&other, path) != OK && errno == ENOTDIR);
    runner_close(NULL, true);
    end(&f);
}

/* ---- orders ---- */

TEST(orders_are_only_recorded_when_they_arrive)
{
    struct fixture f;
    begin(&f);
    CHECK(!has(&f, 1, 1) && runner_count(f.runner) == 0);
    start(&f, 1, 5);
    start(&f, 1, 5);
    CHECK(f.wakes > 0 && f.answers == 0 && f.facts_asked == 0);
    CHECK(has(&f, 1, 1) && !has(&f, 1, 2));
    CHECK(!has(&f, 2, 1) && runner_count(f.runner) == 1);
    end(&f);
}

TEST(orders_of_a_former_leader_are_ignored)
{
    struct fixture f;
    begin(&f);
    start(&f, 1, 5);
    start(&f, 2, 4);
    cancel(&f, 3, 4);
    const struct run_order order = order_of(4, 4);
    f.port.query(f.port.self, &order);
    CHECK(runner_count(f.runner) == 1 && !has(&f, 2, 1));
    start(&f, 2, 5);
    start(&f, 3, 6);
    CHECK(runner_count(f.runner) == 3);
    end(&f);
}

TEST(without_a_supervisor_nothing_begins_and_nothing_fails)
{
    struct fixture f;
    begin(&f);
    start(&f, 1, 5);
    const struct run_order order = order_of(2, 5);
    f.port.query(f.port.self, &order);
    cancel(&f, 3, 5); /* a supervisor may know it */
    for (int i = 0; i < 20; i++) {
        CHECK(!runner_pump(f.runner));
        CHECK(uv_run(&f.loop, UV_RUN_NOWAIT) != 0);
    }
    CHECK(f.answers == 0 && runner_count(f.runner) == 3);
    end(&f);
}

TEST(many_runs_are_found_by_name)
{
    struct fixture f;
    begin(&f);
    for (int64_t run = 1; run <= 2000; run++)
        start(&f, run, 1);
    for (int64_t run = 1; run <= 2000; run++)
        CHECK(has(&f, run, 1));
    CHECK(!has(&f, 2001, 1) && runner_count(f.runner) == 2000);
    end(&f);
}

/* ---- answers ---- */

TEST(a_run_that_was_not_started_is_stopped_at_once_and_freed_when_durable)
{
    struct fixture f;
    begin(&f);
    start(&f, 1, 5);
    cancel(&f, 1, 5);
    CHECK(f.answers == 0);
    CHECK(runner_pump(f.runner));
    CHECK(f.answers == 1 && f.last.kind == COMMAND_RUN_STOPPED && f.last.request == -7);
    CHECK(f.last.run_stopped.run_id == 1 && f.last.run_stopped.attempt == 1);
    CHECK(!runner_pump(f.runner) && has(&f, 1, 1));
    runner_on_result(f.runner, -8, OK); /* unknown request */
    runner_on_result(f.runner, 0, OK);
    CHECK(has(&f, 1, 1));
    runner_on_result(f.runner, -7, OK);
    CHECK(!has(&f, 1, 1) && runner_count(f.runner) == 0);
    runner_on_result(f.runner, -7, OK);
    end(&f);
}

static bool is_there(const struct fixture *f, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    return access(path, F_OK) == 0;
}

TEST(a_deferred_run_that_is_cancelled_leaves_nothing)
{
    struct fixture f;
    char path[128];
    begin(&f);
    start(&f, 1, 5);
    runner_pump(f.runner);
    snprintf(path, sizeof path, "%s/runs/in/1-1", f.folder);
    CHECK(files_write(path, STR("{}")) == OK);
    snprintf(path, sizeof path, "%s/runs/scratch/1-1", f.folder);
    CHECK(mkdir(path, 0700) == 0);
    struct run *run = runs_find(f.runner, 1, 1);
    run->has_input = run->has_scratch = true; /* as if the supervisor had been about to end */
    run->stage = STAGE_DEFERRED;
    run->never_ordered = false;
    cancel(&f, 1, 5);
    CHECK(runner_pump(f.runner) && f.last.kind == COMMAND_RUN_STOPPED);
    CHECK(!is_there(&f, "runs/in/1-1") && !is_there(&f, "runs/scratch/1-1"));
    end(&f);
}

static void wait_for_answers(struct fixture *f, int count)
{
    while (f->answers < count) {
        CHECK(uv_run(&f->loop, UV_RUN_ONCE) != 0);
        runner_pump(f->runner);
    }
}

TEST(a_result_that_is_not_accepted_is_submitted_again)
{
    struct fixture f;
    begin(&f);
    f.verdict = ERR_LIMIT;
    for (int64_t run = 1; run <= 3; run++) {
        start(&f, run, 5);
        cancel(&f, run, 5);
    }
    CHECK(!runner_pump(f.runner) && f.answers == 1); /* the others stay behind it in the queue */
    CHECK(f.last.run_stopped.run_id == 1);
    f.verdict = OK;
    wait_for_answers(&f, 4);
    CHECK(f.last.run_stopped.run_id == 3 && f.last.request == -9);
    end(&f);
}

TEST(a_lost_result_is_submitted_again)
{
    struct fixture f;
    begin(&f);
    f.verdict = ERR_UNAVAILABLE; /* the store is down */
    start(&f, 1, 5);
    cancel(&f, 1, 5);
    runner_pump(f.runner);
    CHECK(f.answers == 1);
    f.verdict = OK;
    wait_for_answers(&f, 2);
    runner_on_result(f.runner, f.last.request, ERR_UNAVAILABLE);
    wait_for_answers(&f, 3);
    runner_on_result(f.runner, f.last.request, ERR_UNKNOWN);
    const struct run_order order = order_of(1, 6);
    f.port.query(f.port.self, &order); /* after a core reload */
    CHECK(runner_pump(f.runner) && f.answers == 4);
    runner_on_result(f.runner, f.last.request, OK);
    CHECK(runner_count(f.runner) == 0);
    end(&f);
}

TEST(a_fenced_result_is_not_submitted_again)
{
    struct fixture f;
    begin(&f);
    f.verdict = ERR_FENCED;
    start(&f, 1, 5);
    cancel(&f, 1, 5);
    runner_pump(f.runner);
    CHECK(f.answers == 1);
    for (int i = 0; i < 5; i++)
        CHECK(!runner_pump(f.runner));
    CHECK(f.answers == 1);
    end(&f);
}

/* ---- timeout for the supervisor ---- */

TEST(runs_that_were_not_started_fail_without_a_supervisor)
{
    struct fixture f;
    begin(&f);
    CHECK(runner_unavailable_text(f.runner)[0] == '\0');
    f.runner->setup.patience_ms = 1;
    start(&f, 1, 5);
    const struct run_order order = order_of(2, 5);
    f.port.query(f.port.self, &order);
    runner_pump(f.runner);
    CHECK(runner_unavailable_text(f.runner)[0] == '\0' && f.answers == 0);
    wait_for_answers(&f, 1);
    CHECK(f.last.kind == COMMAND_RUN_DONE && f.last.run_done.run_id == 1);
    CHECK(f.last.run_done.result == RESULT_FAILED && !f.last.run_done.has_wall);
    CHECK(str_eq(f.last.run_done.runlog, str_from(runner_unavailable_text(f.runner))));
    runner_on_result(f.runner, f.last.request, OK);
    CHECK(!has(&f, 1, 1) && has(&f, 2, 1)); /* it may have been started */
    start(&f, 3, 5);
    wait_for_answers(&f, 2);
    CHECK(f.last.run_done.run_id == 3 && has(&f, 2, 1));
    end(&f);
}

TEST(a_result_refused_twice_is_reported_as_lost_until_it_is_accepted)
{
    struct fixture f;
    begin(&f);
    f.runner->setup.patience_ms = 1;
    start(&f, 1, 5);
    runner_pump(f.runner);
    wait_for_answers(&f, 1);
    runner_on_result(f.runner, f.last.request, ERR_REFUSED);
    wait_for_answers(&f, 2);
    CHECK(f.last.run_done.result == RESULT_FAILED);
    for (int i = 3; i < 6; i++) {
        runner_on_result(f.runner, f.last.request, ERR_REFUSED);
        wait_for_answers(&f, i);
        CHECK(f.last.run_done.result == RESULT_LOST && f.last.run_done.runlog.len == 0);
        CHECK(!f.last.run_done.has_wall && has(&f, 1, 1));
    }
    runner_on_result(f.runner, f.last.request, OK);
    CHECK(runner_count(f.runner) == 0);
    end(&f);
}

/* ---- what cannot be removed at once ---- */

/* As a user without CAP_DAC_OVERRIDE. */
static int remove_as_nobody(const char *path)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(3);
        _exit(files_remove_tree(path) ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void shell(const char *words, const char *folder)
{
    char command[512];
    snprintf(command, sizeof command, "cd %s && %s", folder, words);
    CHECK(system(command) == 0);
}

TEST(directories_without_rights_are_removed_with_what_is_in_them)
{
    struct fixture f;
    char path[128];
    begin(&f);
    shell("chmod 755 . && mkdir -p open/tree/a/b/c/d open/tree/e open/tree/g && "
          "touch open/tree/a/b/c/d/x open/tree/e/y open/tree/g/z && ln -s / open/tree/e/root && "
          "chmod 000 open/tree/a/b/c/d open/tree/a/b/c open/tree/a/b open/tree/a && "
          "chmod 500 open/tree/e && chmod 400 open/tree/g && chmod 755 open",
          f.folder);
    if (geteuid() == 0)
        shell("chown -hR 65534:65534 open", f.folder);
    snprintf(path, sizeof path, "%s/open/tree", f.folder);
    CHECK(remove_as_nobody(path) == 0);
    CHECK(access(path, F_OK) != 0 && errno == ENOENT);
    CHECK(remove_as_nobody(path) == 0); /* it is not there */
    end(&f);
}

TEST(a_tree_that_cannot_be_removed_is_reported)
{
    struct fixture f;
    char path[128];
    begin(&f);
    shell("chmod 755 . && mkdir -p shut/tree && touch shut/tree/x && chmod 500 shut", f.folder);
    if (geteuid() == 0)
        shell("chown -R 65534:65534 shut", f.folder);
    snprintf(path, sizeof path, "%s/shut/tree", f.folder);
    CHECK(remove_as_nobody(path) == 1); /* beyond its root nothing is opened */
    CHECK(access(path, F_OK) == 0 || errno == EACCES);
    shell("chmod 700 shut", f.folder);
    end(&f);
}

/* ---- kept logs ---- */

static void put_log(const struct fixture *f, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/logs/3", f->folder);
    CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/logs/3/%s", f->folder, name);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static char room[64];

static err read_log(const struct fixture *f, int64_t offset, uint32_t size, struct runner_log *log)
{
    memset(room, 0, sizeof room);
    *log = (struct runner_log){.offset = offset, .at = room, .size = size};
    return runner_read_log(f->runner, 3, 12, 4, log);
}

TEST(a_kept_log_counts_its_bytes_as_they_were_written)
{
    struct fixture f;
    struct runner_log log;
    begin(&f);
    put_log(&f, "4.log", "halligan run 12 attempt 4, 100 bytes before this are gone\n0123456789");
    CHECK(read_log(&f, 0, 64, &log) == OK && log.offset == 100 && log.total == 110);
    CHECK(log.size == 10 && log.is_over && strcmp(room, "0123456789") == 0);
    CHECK(read_log(&f, 105, 2, &log) == OK && log.offset == 105 && strcmp(room, "56") == 0);
    CHECK(read_log(&f, -3, 64, &log) == OK && log.offset == 107 && strcmp(room, "789") == 0);
    CHECK(read_log(&f, -1000, 64, &log) == OK && log.offset == 100 && log.size == 10);
    CHECK(read_log(&f, 110, 64, &log) == OK && log.offset == 110 && log.size == 0);
    CHECK(read_log(&f, 1000, 64, &log) == OK && log.offset == 110 && log.size == 0);
    CHECK(read_log(&f, INT64_MIN, 64, &log) == OK && log.offset == 100);
    CHECK(read_log(&f, INT64_MAX, 64, &log) == OK && log.offset == 110);
    CHECK(read_log(&f, 100, 0, &log) == OK && log.size == 0 && log.total == 110);
    end(&f);
}

TEST(a_log_that_is_not_ours_is_not_read)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "halligan run 12 attempt 4, 0 bytes before this are gone",
                                      "halligan run x attempt 4, 0 bytes before this are gone\n",
                                      "halligan run 12 attempt 4\n",
                                      "\n"};
    struct fixture f;
    struct runner_log log;
    char path[128];
    begin(&f);
    CHECK(read_log(&f, 0, 64, &log) == ERR_NOT_FOUND);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_log(&f, "4.log", bad[i]);
        CHECK(read_log(&f, 0, 64, &log) == ERR_CORRUPT);
    }
    put_log(&f, "4.log", "halligan run 13 attempt 4, 0 bytes before this are gone\nx");
    CHECK(read_log(&f, 0, 64, &log) == ERR_NOT_FOUND);
    put_log(&f, "4.log", "halligan run 12 attempt 5, 0 bytes before this are gone\nx");
    CHECK(read_log(&f, 0, 64, &log) == ERR_NOT_FOUND);
    snprintf(path, sizeof path, "%s/logs/3/4.log", f.folder);
    CHECK(unlink(path) == 0 && symlink("/etc/passwd", path) == 0);
    CHECK(read_log(&f, 0, 64, &log) != OK);
    CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0);
    CHECK(read_log(&f, 0, 64, &log) != OK); /* and the FIFO does not block */
    end(&f);
}
