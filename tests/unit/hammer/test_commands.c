/* Goal: programs end once, with their output, and leave no process behind. Method: real shells in a
 * real loop. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "power/hammer/spawn.h"
#include "tests/check.h"

struct heard {
    uint32_t count;
    struct spawn_result result; /* its strings are in the arrays below */
    char out[256];
    char err[256];
    uint32_t out_len;
};

static void keep(char *room, struct str s)
{
    const uint32_t len = s.len < 255 ? s.len : 255;
    memcpy(room, s.len ? s.at : "", len);
    room[len] = '\0';
}

static void heard_it(void *self, const struct spawn_result *result)
{
    struct heard *h = self;
    h->count++;
    h->result = *result;
    h->out_len = result->out.len;
    keep(h->out, result->out);
    keep(h->err, result->err);
}

static struct heard run_argv(const char *const *argv, const char *input, uint64_t deadline_ms)
{
    struct heard h = {0};
    uv_loop_t loop;
    CHECK(uv_loop_init(&loop) == 0);
    const struct spawn_ops seam = spawn_ops_default(&loop);
    const struct spawn_order order = {.argv = argv,
                                      .input = str_from(input),
                                      .deadline_ms = deadline_ms,
                                      .self = &h,
                                      .done = heard_it};
    CHECK(seam.start(seam.self, &order) && h.count == 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&loop) == 0);
    return h;
}

static struct heard run_text(const char *script, const char *input, uint64_t deadline_ms)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    return run_argv(argv, input, deadline_ms);
}

enum { PLENTY_MS = 60 * 1000 };

/* True if the process has ended or is a zombie that its new parent has not reaped yet. */
static bool is_gone(const char *pid_text)
{
    const long pid = strtol(pid_text, NULL, 10);
    CHECK(pid > 1);
    const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return true;
    struct pollfd end = {.fd = fd, .events = POLLIN};
    const bool died = poll(&end, 1, PLENTY_MS) == 1;
    close(fd);
    return died;
}

TEST(output_and_exit_status_are_reported)
{
    const struct heard h = run_text("echo out; echo err >&2; exit 7", NULL, PLENTY_MS);
    CHECK(h.count == 1 && !h.result.why && !h.result.is_late && h.result.status == 7);
    CHECK(strcmp(h.out, "out\n") == 0 && strcmp(h.err, "err\n") == 0 && h.result.dropped == 0);
}

TEST(standard_input_is_passed_to_the_program)
{
    CHECK(strcmp(run_text("cat", "hello", PLENTY_MS).out, "hello") == 0);
    CHECK(strcmp(run_text("cat", NULL, PLENTY_MS).out, "") == 0);
}

TEST(unread_standard_input_is_no_error)
{
    char *large = malloc((1 << 20) + 1);
    CHECK(large != NULL && signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    memset(large, 'x', 1 << 20);
    large[1 << 20] = '\0';
    const struct heard h = run_text("exit 3", large, PLENTY_MS);
    free(large);
    CHECK(h.count == 1 && h.result.status == 3);
}

TEST(a_missing_program_is_reported)
{
    const char *const argv[] = {"/no/such/program", NULL};
    const struct heard h = run_argv(argv, NULL, PLENTY_MS);
    CHECK(h.count == 1 && h.result.why && strstr(h.result.why, "no such file"));
}

TEST(a_signal_is_reported_as_128_plus_its_number)
{
    CHECK(run_text("kill -9 $$", NULL, PLENTY_MS).result.status == 128 + 9);
}

TEST(excess_output_is_dropped_and_counted)
{
    const struct heard h = run_text("head -c 3000000 /dev/zero", NULL, PLENTY_MS);
    CHECK(h.count == 1 && h.out_len == COMMAND_OUTPUT_MAX && h.result.status == 0);
    CHECK(h.result.dropped == 3000000 - COMMAND_OUTPUT_MAX);
}

TEST(the_deadline_kills_the_program_and_its_descendants)
{
    const struct heard h =
        run_text("trap '' TERM; sleep 1000 & echo $!; trap '' HUP; wait", NULL, 2000);
    CHECK(h.count == 1 && h.result.is_late && h.result.status == 128 + 9);
    CHECK(is_gone(h.out));
}

TEST(background_processes_are_killed_at_the_exit)
{
    const struct heard h = run_text("sleep 1000 & echo $!", NULL, PLENTY_MS);
    CHECK(h.count == 1 && !h.result.is_late && h.result.status == 0);
    CHECK(is_gone(h.out));
}

TEST(a_process_outside_the_session_cannot_delay_the_result)
{
    const struct heard h = run_text("setsid sleep 5 & echo x", NULL, PLENTY_MS);
    CHECK(h.count == 1 && h.result.status == 0 && strcmp(h.out, "x\n") == 0);
}

TEST(the_environment_is_not_inherited)
{
    CHECK(setenv("HALLIGAN_SECRET", "x", 1) == 0);
    const struct heard h = run_text("echo \"${HALLIGAN_SECRET-none}\"; pwd", NULL, PLENTY_MS);
    CHECK(strcmp(h.out, "none\n/\n") == 0);
}

/* ---- cancel ---- */

struct taken_back {
    struct spawn_ops seam;
    struct spawn_run *run;
    uv_timer_t timer;
};

static void take_back(uv_timer_t *timer)
{
    struct taken_back *t = timer->data;
    t->seam.cancel(t->seam.self, t->run);
    uv_close((uv_handle_t *)timer, NULL);
}

static uint32_t results_when_cancelled(const char *const *argv)
{
    struct heard h = {0};
    struct taken_back t;
    uv_loop_t loop;
    CHECK(uv_loop_init(&loop) == 0 && uv_timer_init(&loop, &t.timer) == 0);
    t.seam = spawn_ops_default(&loop);
    t.timer.data = &t;
    CHECK(uv_timer_start(&t.timer, take_back, 0, 0) == 0);
    t.run = t.seam.start(t.seam.self,
                         &(struct spawn_order){
                             .argv = argv, .deadline_ms = PLENTY_MS, .self = &h, .done = heard_it});
    CHECK(t.run != NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&loop) == 0);
    return h.count;
}

TEST(a_cancelled_run_gets_no_result)
{
    const char *const argv[] = {"/bin/sleep", "1000", NULL};
    CHECK(results_when_cancelled(argv) == 0);
}

TEST(a_run_that_failed_to_start_can_be_cancelled)
{
    const char *const argv[] = {"/no/such/program", NULL};
    struct heard h = {0};
    uv_loop_t loop;
    CHECK(uv_loop_init(&loop) == 0);
    const struct spawn_ops seam = spawn_ops_default(&loop);
    struct spawn_run *run =
        seam.start(seam.self, &(struct spawn_order){.argv = argv, .self = &h, .done = heard_it});
    CHECK(run != NULL);
    seam.cancel(seam.self, run);
    uv_run(&loop, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&loop) == 0 && h.count == 0);
}
