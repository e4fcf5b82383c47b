/* Goal: a daemon that uses the client gets the result of every run, even if the client or the
 * supervisor was restarted meanwhile. Method: a real halligan-exec, which the client starts; every
 * callback is written into a diary, and the diary is compared. */
#include "run/exec/exec_client.h"
#include "run/exec/spool.h"
#include "sys/log.h"
#include "tests/check.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* A client and the callbacks it has made. */
struct side {
    struct exec_client *client;
    int64_t pid; /* of the supervisor */
    int connections;
    char diary[8192];
};

static uv_loop_t loop;
static char folder[64];
static char program[PATH_MAX];

__attribute__((format(printf, 2, 3))) static void write_down(struct side *s, const char *format,
                                                             ...)
{
    va_list args;
    const size_t len = strlen(s->diary);
    va_start(args, format);
    const int n = vsnprintf(s->diary + len, sizeof s->diary - len, format, args);
    va_end(args);
    CHECK(n >= 0 && (size_t)n < sizeof s->diary - len);
}

static void connected(void *self, const struct exec_welcome *welcome)
{
    struct side *s = self;
    CHECK(welcome->version == EXEC_VERSION && welcome->boot_id.len == 36);
    s->pid = welcome->pid;
    s->connections++;
    write_down(s, "connected;");
}

static void lost(void *self)
{
    write_down(self, "lost;");
}

static void begun(void *self, const struct exec_begun *m)
{
    write_down(self, "begun %lld.%u;", (long long)m->run_id, m->attempt);
}

static void ended(void *self, const struct exec_ended *m)
{
    write_down(self, "%s %lld.%u %u;", exec_how_name((enum exec_how)m->how), (long long)m->run_id,
               m->attempt, m->code);
}

static void not_known(void *self, const struct exec_not_known *m)
{
    write_down(self, "not known %lld.%u%s;", (long long)m->run_id, m->attempt,
               m->begun ? " begun" : "");
}

static void fenced(void *self, int64_t epoch)
{
    write_down(self, "fenced %lld;", (long long)epoch);
}

static void find_program(void)
{
    const ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    CHECK(len > 0);
    program[len] = 0;
    for (int up = 0; up < 3; up++)
        *strrchr(program, '/') = 0;
    CHECK(strlen(program) + sizeof "/halligan-exec" <= sizeof program);
    memcpy(program + strlen(program), "/halligan-exec", sizeof "/halligan-exec");
}

static void begin(void)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    find_program();
    snprintf(folder, sizeof folder, "/tmp/halligan-client-XXXXXX");
    CHECK(mkdtemp(folder) && uv_loop_init(&loop) == 0);
}

static void open_side(struct side *s, int64_t epoch)
{
    const struct exec_client_setup setup = {
        .loop = &loop, .program = program, .dir = folder, .epoch = epoch, .idle_ms = 60000};
    const struct exec_client_callbacks callbacks = {s,     connected, lost,  begun,
                                                    ended, not_known, fenced};
    *s = (struct side){0};
    CHECK(exec_client_open(&setup, callbacks, &s->client) == OK);
}

/* Wait until the diary contains it; the time limit of meson applies if it never does. */
static void wait_for(struct side *s, const char *text)
{
    while (!strstr(s->diary, text))
        CHECK(uv_run(&loop, UV_RUN_ONCE) != 0);
}

static void close_side(struct side *s, bool bye)
{
    exec_client_close(s->client, bye);
    s->client = NULL;
}

/* The lock is held by a supervisor and by all its shims. */
static void wait_until_nothing_is_left(void)
{
    char path[96];
    snprintf(path, sizeof path, "%s/exec/lock", folder);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0 && close(fd) == 0);
}

static void end(struct side *s)
{
    char command[96];
    close_side(s, true);
    while (uv_run(&loop, UV_RUN_DEFAULT) != 0) {
    }
    CHECK(uv_loop_close(&loop) == 0);
    wait_until_nothing_is_left();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
}

static void spawn(struct side *s, int64_t run_id, const char *script, int64_t epoch)
{
    struct arena arena = {0};
    struct buf argv = buf_in(&arena);
    exec_list_add(&argv, STR("/bin/sh"));
    exec_list_add(&argv, STR("-c"));
    exec_list_add(&argv, str_from(script));
    const struct exec_spawn spec = {.run_id = run_id,
                                    .attempt = 1,
                                    .epoch = epoch,
                                    .argv = buf_str(&argv),
                                    .env = STR("PATH=/usr/bin:/bin\0"),
                                    .out_max = 1000,
                                    .log_max = 1000,
                                    .grace_ms = 1000};
    CHECK(exec_client_spawn(s->client, &spec) == OK);
    arena_fini(&arena);
}

TEST(the_client_starts_the_program_and_orders_keep_their_order)
{
    struct side s;
    begin();
    open_side(&s, 1);
    spawn(&s, 1, "echo out; echo log >&2; exit 5", 1);
    exec_client_query(s.client, 1, 1);
    exec_client_query(s.client, 2, 1);
    wait_for(&s, "not known 2.1;");
    wait_for(&s, "exited 1.1 5;");
    CHECK(strncmp(s.diary, "connected;begun 1.1;", 20) == 0);
    char room[100];
    struct spool_slice slice = {.at = room, .size = sizeof room};
    CHECK(spool_read_out(exec_client_state_dirfd(s.client), 1, 1, &slice) == OK);
    CHECK(slice.size == 4 && memcmp(room, "out\n", 4) == 0);
    slice = (struct spool_slice){.offset = -3, .at = room, .size = sizeof room};
    CHECK(spool_read_log(exec_client_state_dirfd(s.client), 1, 1, &slice) == OK);
    CHECK(slice.size == 3 && memcmp(room, "og\n", 3) == 0 && slice.total == 4);
    exec_client_forget(s.client, 1, 1);
    exec_client_query(s.client, 1, 1);
    wait_for(&s, "not known 1.1;");
    end(&s);
}

TEST(orders_wait_in_order_for_a_writable_socket)
{
    enum { RUNS = 40, LARGE = 100 * 1000 };
    static char script[LARGE + 1];
    struct side s;
    char text[32];
    begin();
    open_side(&s, 1);
    wait_for(&s, "connected;");
    CHECK(kill((pid_t)s.pid, SIGSTOP) == 0);
    memset(script, '#', LARGE);
    memcpy(script, "exit 7 ", 7);
    for (int64_t run = 1; run <= RUNS; run++)
        spawn(&s, run, script, 1);
    exec_client_query(s.client, RUNS, 1);
    exec_client_query(s.client, RUNS + 1, 1);
    for (int round = 0; round < 10; round++)
        uv_run(&loop, UV_RUN_NOWAIT);
    CHECK(kill((pid_t)s.pid, SIGCONT) == 0);
    snprintf(text, sizeof text, "not known %d.1;", RUNS + 1);
    wait_for(&s, text);
    snprintf(text, sizeof text, "begun %d.1;", RUNS);
    CHECK(strstr(s.diary, text)); /* the first query arrived after the last order */
    for (int run = 1; run <= RUNS; run++) {
        snprintf(text, sizeof text, "exited %d.1 7;", run);
        wait_for(&s, text);
    }
    CHECK(s.connections == 1);
    end(&s);
}

TEST(a_run_can_be_cancelled)
{
    struct side s;
    begin();
    open_side(&s, 1);
    spawn(&s, 1, "sleep 1000", 1);
    wait_for(&s, "begun 1.1;");
    exec_client_cancel(s.client, 1, 1);
    wait_for(&s, "cancelled 1.1 15;");
    exec_client_cancel(s.client, 9, 1);
    wait_for(&s, "not known 9.1;");
    end(&s);
}

TEST(a_daemon_that_comes_back_learns_how_it_ended)
{
    struct side s, again;
    begin();
    open_side(&s, 1);
    spawn(&s, 1, "exit 3", 1);
    spawn(&s, 2, "sleep 1000", 1);
    wait_for(&s, "exited 1.1 3;");
    wait_for(&s, "begun 2.1;");
    const int64_t pid = s.pid;
    close_side(&s, false);
    open_side(&again, 2);
    exec_client_query(again.client, 1, 1);
    exec_client_query(again.client, 2, 1);
    wait_for(&again, "begun 1.1;exited 1.1 3;");
    wait_for(&again, "begun 2.1;");
    CHECK(again.pid == pid);
    exec_client_cancel(again.client, 2, 1);
    wait_for(&again, "cancelled 2.1 15;");
    end(&again);
}

TEST(after_the_death_of_the_supervisor_runs_are_reported_as_dead)
{
    struct side s;
    begin();
    open_side(&s, 1);
    for (int64_t run = 1; run <= 5; run++)
        spawn(&s, run, "sleep 1000", 1);
    wait_for(&s, "begun 5.1;");
    const int64_t pid = s.pid;
    CHECK(kill((pid_t)pid, SIGKILL) == 0);
    wait_for(&s, "lost;");
    for (int64_t run = 1; run <= 6; run++)
        exec_client_query(s.client, run, 1);
    wait_for(&s, "lost;connected;");
    wait_for(&s, "not known 6.1;");
    CHECK(s.pid != pid && s.connections == 2);
    CHECK(strstr(s.diary, "begun 1.1;died with its supervisor 1.1 0;"));
    CHECK(strstr(s.diary, "begun 5.1;died with its supervisor 5.1 0;"));
    end(&s);
}

TEST(a_higher_epoch_is_sent_over_a_new_connection)
{
    struct side s, old;
    begin();
    open_side(&old, 4);
    wait_for(&old, "connected;");
    open_side(&s, 3);
    wait_for(&s, "connected;fenced 4;");
    exec_client_set_epoch(s.client, 5);
    CHECK(strstr(s.diary, "lost;"));
    wait_for(&s, "lost;connected;");
    spawn(&s, 1, "exit 2", 5);
    wait_for(&s, "exited 1.1 2;");
    spawn(&old, 2, "exit 0", 4);
    wait_for(&old, "not known 2.1;fenced 5;");
    exec_client_set_epoch(s.client, 5); /* no change */
    CHECK(s.connections == 2 && !strstr(strstr(s.diary, "lost;") + 1, "lost;"));
    close_side(&old, false);
    end(&s);
}

TEST(list_reports_every_run)
{
    struct side s, other;
    begin();
    open_side(&s, 1);
    spawn(&s, 1, "exit 3", 1);
    spawn(&s, 2, "sleep 1000", 1);
    wait_for(&s, "exited 1.1 3;");
    wait_for(&s, "begun 2.1;");
    open_side(&other, 1);
    exec_client_list(other.client);
    wait_for(&other, "exited 1.1 3;");
    wait_for(&other, "begun 2.1;");
    CHECK(!strstr(other.diary, "begun 1.1;")); /* only the end is reported */
    exec_client_forget(other.client, 1, 1);
    exec_client_cancel(other.client, 2, 1);
    wait_for(&other, "cancelled 2.1");
    close_side(&s, false);
    end(&other);
}

TEST(orders_given_to_a_broken_connection_are_dropped)
{
    struct side s;
    begin();
    open_side(&s, 1);
    wait_for(&s, "connected;");
    CHECK(kill((pid_t)s.pid, SIGSTOP) == 0);
    spawn(&s, 1, "exit 0", 1); /* never read */
    CHECK(kill((pid_t)s.pid, SIGKILL) == 0);
    exec_client_query(s.client, 1, 1);
    wait_for(&s, "lost;");
    exec_client_query(s.client, 2, 1);
    wait_for(&s, "lost;connected;not known 2.1;");
    end(&s);
}

TEST(a_fenced_daemon_starts_nothing)
{
    struct side old, new;
    begin();
    open_side(&old, 1);
    wait_for(&old, "connected;");
    open_side(&new, 2);
    wait_for(&new, "connected;");
    spawn(&old, 1, "exit 0", 1);
    wait_for(&old, "not known 1.1;fenced 2;");
    spawn(&new, 1, "exit 0", 2);
    wait_for(&new, "exited 1.1 0;");
    CHECK(!strstr(old.diary, "exited"));
    close_side(&old, false);
    end(&new);
}

TEST(after_bye_the_supervisor_exits_at_once)
{
    struct side s;
    begin();
    open_side(&s, 1);
    spawn(&s, 1, "exit 0", 1);
    wait_for(&s, "exited 1.1 0;");
    close_side(&s, true);
    wait_until_nothing_is_left(); /* its idle time would be a minute */
    open_side(&s, 2);
    exec_client_reconciled(s.client);
    exec_client_query(s.client, 1, 1);
    wait_for(&s, "exited 1.1 0;");
    end(&s);
}

static void note_time(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

TEST(a_program_that_is_missing_never_stops_the_loop)
{
    struct side s;
    uv_timer_t timer;
    bool is_over = false;
    begin();
    char real[PATH_MAX];
    memcpy(real, program, sizeof real);
    memcpy(program, "/nowhere/halligan-exec", sizeof "/nowhere/halligan-exec");
    log_setup(LOG_ERROR, LOG_TEXT);
    open_side(&s, 1);
    spawn(&s, 1, "exit 0", 1);
    CHECK(uv_timer_init(&loop, &timer) == 0 && uv_timer_start(&timer, note_time, 200, 0) == 0);
    timer.data = &is_over;
    while (!is_over)
        CHECK(uv_run(&loop, UV_RUN_ONCE) != 0);
    CHECK(s.diary[0] == 0);
    uv_close((uv_handle_t *)&timer, NULL);
    close_side(&s, true);
    memcpy(program, real, sizeof program);
    open_side(&s, 1);
    wait_for(&s, "connected;");
    end(&s);
}

TEST(orders_that_are_too_large_are_refused_at_once)
{
    struct side s;
    struct exec_spawn spec = {.run_id = 1, .attempt = 1, .epoch = 1};
    begin();
    open_side(&s, 1);
    char *text = calloc(1, EXEC_BODY_MAX + 1);
    CHECK(text);
    text[0] = 'x';
    spec.argv = (struct str){text, EXEC_BODY_MAX + 1};
    CHECK(exec_client_spawn(s.client, &spec) == ERR_LIMIT);
    free(text);
    wait_for(&s, "connected;");
    end(&s);
}
