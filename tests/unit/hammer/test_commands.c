/* Goal: programs end once, with what they said, and leave nothing behind. Method: real shells in a
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
    struct spawn_result result; /* its texts below */
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
    const struct spawn_seam seam = spawn_seam_own(&loop);
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

/* Dead, though whoever it was left to may not have looked yet; or dying, which is soon over. */
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

TEST(what_it_says_and_how_it_ends_is_heard)
{
    const struct heard h = run_text("echo out; echo err >&2; exit 7", NULL, PLENTY_MS);
    CHECK(h.count == 1 && !h.result.why && !h.result.is_late && h.result.status == 7);
    CHECK(strcmp(h.out, "out\n") == 0 && strcmp(h.err, "err\n") == 0 && h.result.dropped == 0);
}

TEST(its_input_is_what_it_was_given)
{
    CHECK(strcmp(run_text("cat", "hello", PLENTY_MS).out, "hello") == 0);
    CHECK(strcmp(run_text("cat", NULL, PLENTY_MS).out, "") == 0);
}

TEST(input_that_nobody_reads_is_no_trouble)
{
    char *large = malloc((1 << 20) + 1);
    CHECK(large != NULL && signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    memset(large, 'x', 1 << 20);
    large[1 << 20] = '\0';
    const struct heard h = run_text("exit 3", large, PLENTY_MS);
    free(large);
    CHECK(h.count == 1 && h.result.status == 3);
}

TEST(a_program_that_is_not_there_says_so)
{
    const char *const argv[] = {"/no/such/program", NULL};
    const struct heard h = run_argv(argv, NULL, PLENTY_MS);
    CHECK(h.count == 1 && h.result.why && strstr(h.result.why, "no such file"));
}

TEST(a_signal_counts_as_it_does_in_a_shell)
{
    CHECK(run_text("kill -9 $$", NULL, PLENTY_MS).result.status == 128 + 9);
}

TEST(a_flood_is_cut_and_counted)
{
    const struct heard h = run_text("head -c 3000000 /dev/zero", NULL, PLENTY_MS);
    CHECK(h.count == 1 && h.out_len == COMMAND_OUTPUT_MAX && h.result.status == 0);
    CHECK(h.result.dropped == 3000000 - COMMAND_OUTPUT_MAX);
}

TEST(at_its_deadline_it_and_what_it_started_are_killed)
{
    const struct heard h =
        run_text("trap '' TERM; sleep 1000 & echo $!; trap '' HUP; wait", NULL, 2000);
    CHECK(h.count == 1 && h.result.is_late && h.result.status == 128 + 9);
    CHECK(is_gone(h.out));
}

TEST(what_it_leaves_behind_goes_with_it)
{
    const struct heard h = run_text("sleep 1000 & echo $!", NULL, PLENTY_MS);
    CHECK(h.count == 1 && !h.result.is_late && h.result.status == 0);
    CHECK(is_gone(h.out));
}

TEST(whoever_escapes_with_our_pipes_does_not_keep_us)
{
    const struct heard h = run_text("setsid sleep 5 & echo x", NULL, PLENTY_MS);
    CHECK(h.count == 1 && h.result.status == 0 && strcmp(h.out, "x\n") == 0);
}

TEST(nothing_of_our_environment_is_inherited)
{
    CHECK(setenv("HALLIGAN_SECRET", "x", 1) == 0);
    const struct heard h = run_text("echo \"${HALLIGAN_SECRET-none}\"; pwd", NULL, PLENTY_MS);
    CHECK(strcmp(h.out, "none\n/\n") == 0);
}

/* ---- taking it back ---- */

struct taken_back {
    struct spawn_seam seam;
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
    t.seam = spawn_seam_own(&loop);
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

TEST(one_that_is_taken_back_ends_without_a_result)
{
    const char *const argv[] = {"/bin/sleep", "1000", NULL};
    CHECK(results_when_cancelled(argv) == 0);
}

TEST(one_that_never_started_can_be_taken_back_too)
{
    const char *const argv[] = {"/no/such/program", NULL};
    struct heard h = {0};
    uv_loop_t loop;
    CHECK(uv_loop_init(&loop) == 0);
    const struct spawn_seam seam = spawn_seam_own(&loop);
    struct spawn_run *run =
        seam.start(seam.self, &(struct spawn_order){.argv = argv, .self = &h, .done = heard_it});
    CHECK(run != NULL);
    seam.cancel(seam.self, run);
    uv_run(&loop, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&loop) == 0 && h.count == 0);
}
