/* Goal: a runner whose directories or supervisor cannot be opened reports it, and opens at the next
 * attempt. Method: injected faults of library calls (tests/faults.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <uv.h>

#include "run/runner/runner.h"
#include "sys/files.h"
#include "sys/log.h"
#include "tests/faults.h"

FAULT(char *, realpath, (const char *path, char *out), (path, out), (errno = ENOMEM, NULL))
FAULT(int, mkdir, (const char *path, mode_t mode), (path, mode), (errno = ENOSPC, -1))
FAULT(int, socket, (int family, int type, int protocol), (family, type, protocol),
      (errno = EMFILE, -1))

struct fixture {
    uv_loop_t loop;
    char folder[64];
    struct runner *runner;
    uint32_t stopped;
};

static bool no_facts(void *self, const struct run_order *order, struct arena *a,
                     struct runner_facts *out_facts)
{
    (void)self;
    (void)order;
    (void)a;
    (void)out_facts;
    return false;
}

static err submit(void *self, const struct command *command)
{
    struct fixture *f = self;
    f->stopped += command->kind == COMMAND_RUN_STOPPED;
    return OK;
}

static void wake(void *self)
{
    (void)self;
}

static err open_runner(struct fixture *f)
{
    const struct runner_setup setup = {.loop = &f->loop,
                                       .data = f->folder,
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
    snprintf(f->folder, sizeof f->folder, "/tmp/halligan-faults-XXXXXX");
    CHECK(mkdtemp(f->folder) && uv_loop_init(&f->loop) == 0);
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

static void check_opening(const char *call, unsigned nth, int number)
{
    struct fixture f;
    begin(&f);
    fault_set(call, nth);
    CHECK(open_runner(&f) == err_from_errno(number) && errno == number && fault_was_hit());
    CHECK(open_runner(&f) == OK);
    end(&f);
}

TEST(a_data_directory_that_cannot_be_resolved_is_an_error_of_opening)
{
    check_opening("realpath", 1, ENOMEM);
}

TEST(each_directory_may_fail_to_be_made)
{
    check_opening("mkdir", 1, ENOSPC);
    check_opening("mkdir", 2, ENOSPC);
    check_opening("mkdir", 3, ENOSPC);
}

TEST(a_run_that_no_socket_is_left_for_is_stopped_all_the_same)
{
    struct fixture f;
    begin(&f);
    CHECK(open_runner(&f) == OK);
    const struct runner_port port = runner_port(f.runner);
    const struct run_order order = {.epoch = 5,
                                    .run_id = 1,
                                    .attempt = 1,
                                    .noderole_id = 3,
                                    .jig = STR("script"),
                                    .data = STR("{}")};
    port.start(port.self, &order);
    fault_set("socket", 1);
    for (int i = 0; i < 50 && !atomic_load(&fault.was_hit); i++) {
        runner_pump(f.runner);
        CHECK(uv_run(&f.loop, UV_RUN_ONCE) >= 0);
    }
    CHECK(fault_was_hit() && runner_count(f.runner) == 1);
    port.cancel(port.self, &order);
    for (int i = 0; i < 200 && !f.stopped; i++) {
        runner_pump(f.runner);
        CHECK(uv_run(&f.loop, UV_RUN_ONCE) >= 0);
    }
    CHECK(f.stopped == 1);
    end(&f);
}
