/* Goal: a descriptor that cannot be watched or a process that cannot be started is an error of that
 * connection or run; the client tries again. Method: calls fail on purpose (tests/faults.h); the
 * test is the supervisor that the client connects to. */
#define _GNU_SOURCE /* accept4 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "run/exec/exec_client.h"
#include "run/exec/exec_link.h"
#include "run/exec/shims.h"
#include "run/exec/state_dir.h"
#include "sys/log.h"
#include "tests/faults.h"

FAULT(int, uv_poll_init, (uv_loop_t * l, uv_poll_t *p, int fd), (l, p, fd), UV_ENOMEM)
FAULT(int, uv_poll_start, (uv_poll_t * p, int e, uv_poll_cb f), (p, e, f), UV_ENOMEM)
FAULT(int, socket, (int family, int type, int protocol), (family, type, protocol),
      (errno = EMFILE, -1))
FAULT(int, socketpair, (int family, int type, int protocol, int ends[2]),
      (family, type, protocol, ends), (errno = EMFILE, -1))
FAULT(int, epoll_ctl, (int epoll, int operation, int fd, struct epoll_event *event),
      (epoll, operation, fd, event), (errno = ENOSPC, -1))
FAULT(int, posix_spawn,
      (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,
       const posix_spawnattr_t *attributes, char *const argv[], char *const env[]),
      (pid, path, actions, attributes, argv, env), EAGAIN)

/* The third argument of fcntl varies: pass it on as a number. */
int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    const long value = va_arg(arguments, long);
    va_end(arguments);
    if (!fault_is_due("fcntl64"))
        return __real_fcntl64(fd, command, value);
    errno = ENOMEM;
    return -1;
}

/* ---- a link ---- */

TEST(a_link_that_cannot_be_non_blocking_is_an_error_and_closes)
{
    for (unsigned nth = 1; nth <= 2; nth++) {
        int ends[2];
        struct link l;
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        fault_set("fcntl64", nth);
        CHECK(!link_init(&l, ends[0]) && errno == ENOMEM && fault_was_hit());
        link_fini(&l);
        char byte;
        CHECK(read(ends[1], &byte, 1) == 0); /* the other end is closed */
        close(ends[1]);
    }
}

/* ---- a client ---- */

struct fixture {
    uv_loop_t loop;
    char folder[48];
    struct exec_client *client;
    int place, listener;
    struct link peer; /* the supervisor's end */
    uint32_t connected, lost;
};

static void connected(void *self, const struct exec_welcome *welcome)
{
    (void)welcome;
    ((struct fixture *)self)->connected++;
}

static void lost(void *self)
{
    ((struct fixture *)self)->lost++;
}

static void begin(struct fixture *f)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    *f = (struct fixture){.folder = "/tmp/halligan-faults-XXXXXX", .peer = {.fd = -1}};
    CHECK(mkdtemp(f->folder) && uv_loop_init(&f->loop) == 0);
    CHECK(state_dir_open(f->folder, &f->place) == OK);
    const struct sockaddr_un address = state_dir_socket(f->place);
    f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK(bind(f->listener, (const struct sockaddr *)&address, sizeof address) == 0 &&
          listen(f->listener, 8) == 0);
    const struct exec_client_setup setup = {.loop = &f->loop, .dir = f->folder, .epoch = 1};
    const struct exec_client_callbacks callbacks = {
        .self = f, .connected = connected, .lost = lost};
    CHECK(exec_client_open(&setup, callbacks, &f->client) == OK);
}

/* Accepts the connection that sends HELLO, and answers WELCOME. Connections that were closed before
 * send nothing. */
static void welcome(struct fixture *f)
{
    const struct exec_message answer = {
        .kind = EXEC_WELCOME,
        .welcome = {.version = EXEC_VERSION, .pid = 1, .boot_id = STR("boot")}};
    const uint32_t before = f->connected;
    struct exec_message m;
    for (int i = 0; i < 10000 && f->connected == before; i++) {
        const int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            link_fini(&f->peer);
            CHECK(link_init(&f->peer, fd));
        }
        if (f->peer.fd >= 0 && link_fill(&f->peer) == OK && exec_link_take(&f->peer, &m) == OK) {
            CHECK(m.kind == EXEC_HELLO && m.hello.epoch == 1);
            CHECK(exec_link_put(&f->peer, &answer) == OK && link_flush(&f->peer) == OK);
        }
        CHECK(uv_run(&f->loop, UV_RUN_NOWAIT) >= 0);
        usleep(1000);
    }
    CHECK(f->connected == before + 1);
}

static void end(struct fixture *f)
{
    char command[80];
    exec_client_close(f->client, false);
    CHECK(uv_run(&f->loop, UV_RUN_DEFAULT) == 0 && uv_loop_close(&f->loop) == 0);
    link_fini(&f->peer);
    close(f->listener);
    close(f->place);
    snprintf(command, sizeof command, "rm -r %s", f->folder);
    CHECK(system(command) == 0);
}

static void check_connecting(const char *call, unsigned nth)
{
    struct fixture f;
    begin(&f);
    fault_set(call, nth);
    while (!atomic_load(&fault.was_hit))
        CHECK(uv_run(&f.loop, UV_RUN_ONCE) >= 0);
    CHECK(fault_was_hit() && f.connected == 0 && f.lost == 0);
    welcome(&f); /* it tries again */
    end(&f);
}

TEST(a_client_without_a_socket_tries_again)
{
    check_connecting("socket", 1);
}

TEST(a_client_whose_socket_cannot_be_a_handle_tries_again)
{
    check_connecting("uv_poll_init", 1);
}

TEST(a_client_whose_socket_cannot_be_watched_tries_again)
{
    check_connecting("uv_poll_start", 1);
}

TEST(a_client_whose_link_cannot_be_made_tries_again)
{
    check_connecting("fcntl64", 1);
    check_connecting("fcntl64", 2);
}

/* So many orders that the socket is full: the client has to wait until it can write. */
TEST(a_connection_that_cannot_be_watched_for_writing_is_lost_and_made_again)
{
    struct fixture f;
    begin(&f);
    welcome(&f);
    fault_set("uv_poll_start", 1);
    for (int64_t run = 1; run <= 50000; run++)
        exec_client_query(f.client, run, 1);
    for (int i = 0; i < 100 && !f.lost; i++)
        CHECK(uv_run(&f.loop, UV_RUN_NOWAIT) >= 0);
    CHECK(fault_was_hit() && f.lost == 1 && f.connected == 1);
    link_fini(&f.peer);
    welcome(&f);
    CHECK(f.connected == 2 && f.lost == 1);
    end(&f);
}

/* ---- shims ---- */

static void check_starting(const char *call, unsigned nth, int number)
{
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    const struct shims_setup setup = {
        .epoll_fd = epoll, .state_dirfd = 2, .lock_fd = 2, .token = "token", .files_max = 100};
    struct shims *c = shims_new(setup, (struct shims_callbacks){0});
    const struct exec_spawn spec = {.run_id = 1, .attempt = 1, .epoch = 1};
    const int next_fd = dup(0);
    close(next_fd);
    fault_set(call, nth);
    CHECK(shims_start(c, &spec) == ERR_UNAVAILABLE && errno == number && fault_was_hit());
    CHECK(shims_count(c) == 0);
    shims_free(c);
    const int after = dup(0);
    CHECK(after == next_fd); /* no descriptor is left */
    close(after);
    close(epoll);
}

TEST(a_run_without_a_socket_for_its_shim_is_not_started)
{
    check_starting("socketpair", 1, EMFILE);
    check_starting("fcntl64", 1, EMFILE); /* its ends cannot be moved */
    check_starting("fcntl64", 2, EMFILE);
}

TEST(a_run_whose_link_cannot_be_made_is_not_started)
{
    check_starting("fcntl64", 3, ENOMEM);
    check_starting("fcntl64", 4, ENOMEM);
}

TEST(a_run_whose_shim_cannot_be_watched_is_not_started)
{
    check_starting("epoll_ctl", 1, ENOSPC);
}

TEST(a_run_whose_shim_cannot_be_spawned_is_not_started)
{
    check_starting("posix_spawn", 1, EAGAIN);
}
