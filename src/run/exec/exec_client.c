#define _GNU_SOURCE /* POSIX_SPAWN_SETSID */
#include "run/exec/exec_client.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/exec/exec_link.h"
#include "run/exec/state_dir.h"
#include "run/exec/supervisor.h"
#include "sys/log.h"

/* Owns one connection to the supervisor and the queue of unsent orders, driven by three libuv
 * handles: a timer for the next attempt, a poll handle for the socket, and a prepare handle that
 * sends the orders of one round of the loop together, because each system call wakes the
 * supervisor.
 *
 * Connecting: connect(2); if no process accepts, start `halligan-exec --detach`, which returns when
 * the socket accepts connections, and try again with a doubled delay. If the lock of the data
 * directory is held, the new process exits at once, so starting one too many is harmless. The
 * connection counts as established when WELCOME with our version was read.
 *
 * Failure: any error closes the connection and schedules the next attempt. If WELCOME was read
 * before, the unsent orders are dropped and `lost` is called; the caller repeats what matters after
 * the next `connected`. Before WELCOME, orders stay in the queue. The same failure is logged once
 * in LOG_REPEAT_MS. */

enum {
    RETRY_MS = 20, /* delay before the next attempt; doubled each time, up to */
    RETRY_MS_MAX = 1000,
    LOG_REPEAT_MS = 5 * 60 * 1000, /* the same failure is logged again after this */
    IOV_COUNT_MAX = 64,            /* orders in one sendmsg(2) */
};

/* Reasons of failures other than values of errno. */
enum { FAILURE_NONE = 0, FAILURE_EXITED = -1, FAILURE_VERSION = -2 };

/* An encoded message that is not sent completely. */
struct order {
    struct order *next;
    uint32_t size; /* bytes */
    uint32_t sent; /* bytes */
    char bytes[];
};

struct exec_client {
    uv_loop_t *loop;
    struct exec_client_callbacks callbacks;
    char *program;
    char *dir;
    char idle_ms[24]; /* text of --idle-ms; empty: the default of halligan-exec */
    int64_t epoch;    /* sent in HELLO */
    int state_dirfd;

    uv_timer_t timer;     /* next attempt to connect, or to reap the starter */
    uv_prepare_t sending; /* active if orders were added in this round */
    uint32_t handles;     /* number of the two handles above that are not closed */
    uv_poll_t *poll;      /* NULL: no connection */
    int events;           /* events that `poll` waits for */
    struct link link;     /* carries HELLO and everything received; orders have their own queue */
    bool is_connected;    /* WELCOME was received */
    int retry_ms;         /* ms until the next attempt */
    pid_t starter;        /* pid of halligan-exec --detach until it is reaped; 0: none */
    int failure;          /* the last failure that was logged: errno or FAILURE_... */
    uint64_t failure_ms;  /* time of the loop when it was logged */

    struct order *first; /* queue of unsent orders */
    struct order *last;
};

static void client_schedule_retry(struct exec_client *c);

/* Log a failure once until it changes: attempts are repeated every second. */
static bool client_should_log(struct exec_client *c, int failure)
{
    const uint64_t now_ms = uv_now(c->loop);
    if (failure == c->failure && now_ms - c->failure_ms < LOG_REPEAT_MS)
        return false;
    c->failure = failure;
    c->failure_ms = now_ms;
    return true;
}

/* ---- connection ---- */

static void client_free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void client_close_connection(struct exec_client *c)
{
    if (!c->poll)
        return;
    /* Close the poll handle before link_fini closes the descriptor: libuv must not watch the number
     * of a closed descriptor, which the next open may reuse. */
    uv_close((uv_handle_t *)c->poll, client_free_handle);
    c->poll = NULL;
    c->events = 0;
    link_fini(&c->link);
    c->is_connected = false;
}

static void client_drop_orders(struct exec_client *c)
{
    while (c->first) {
        struct order *next = c->first->next;
        free(c->first);
        c->first = next;
    }
    c->last = NULL;
}

static void client_connection_lost(struct exec_client *c)
{
    const bool was_connected = c->is_connected;
    client_close_connection(c);
    if (was_connected) {
        client_drop_orders(c);
        c->callbacks.lost(c->callbacks.self);
    }
    client_schedule_retry(c);
}

/* Remove `sent` bytes from the queue of orders. */
static void client_remove_sent(struct exec_client *c, size_t sent)
{
    while (sent > 0) {
        struct order *o = c->first;
        const size_t left = o->size - o->sent;
        if (sent < left) {
            o->sent += (uint32_t)sent;
            return;
        }
        sent -= left;
        c->first = o->next;
        if (!c->first)
            c->last = NULL;
        free(o);
    }
}

/* Send all waiting orders with as few calls as possible: each call wakes the supervisor. */
static bool client_send_orders(struct exec_client *c)
{
    while (c->first) {
        struct iovec parts[IOV_COUNT_MAX];
        struct msghdr message = {.msg_iov = parts};
        for (struct order *o = c->first; o && message.msg_iovlen < IOV_COUNT_MAX; o = o->next)
            parts[message.msg_iovlen++] =
                (struct iovec){.iov_base = o->bytes + o->sent, .iov_len = o->size - o->sent};
        const ssize_t n = sendmsg(c->link.fd, &message, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        client_remove_sent(c, (size_t)n);
    }
    return true;
}

static void client_on_poll(uv_poll_t *poll, int status, int events);

/* Wait for writability only if bytes are unsent. */
static bool client_watch(struct exec_client *c)
{
    const bool more = link_is_waiting(&c->link) || (c->is_connected && c->first);
    const int events = more ? UV_READABLE | UV_WRITABLE : UV_READABLE;
    const int failed = events != c->events ? uv_poll_start(c->poll, events, client_on_poll) : 0;
    c->events = events;
    if (failed)
        errno = -failed;
    return !failed;
}

static bool client_write(struct exec_client *c)
{
    if (link_flush(&c->link) != OK)
        return false;
    return link_is_waiting(&c->link) || !c->is_connected || client_send_orders(c);
}

static bool client_handle_welcome(struct exec_client *c, const struct exec_welcome *welcome)
{
    if (welcome->version != EXEC_VERSION) {
        if (client_should_log(c, FAILURE_VERSION))
            log_with(
                LOG_ERROR,
                LOG_FIELDS(LOG_I64("pid", welcome->pid), LOG_I64("version", welcome->version)),
                "halligan-exec has another protocol version; no run is started until it exits");
        return false;
    }
    c->is_connected = true;
    c->failure = FAILURE_NONE;
    c->retry_ms = RETRY_MS;
    c->callbacks.connected(c->callbacks.self, welcome);
    return true;
}

/* False: not a message that a supervisor sends. */
static bool client_handle_message(struct exec_client *c, const struct exec_message *m)
{
    const struct exec_client_callbacks *to = &c->callbacks;
    if (m->kind == EXEC_WELCOME)
        return !c->is_connected && client_handle_welcome(c, &m->welcome);
    if (!c->is_connected)
        return false;
    switch (m->kind) {
    case EXEC_BEGUN: to->begun(to->self, &m->begun); return true;
    case EXEC_ENDED: to->ended(to->self, &m->ended); return true;
    case EXEC_NOT_KNOWN: to->not_known(to->self, &m->not_known); return true;
    case EXEC_FENCED: to->fenced(to->self, m->fenced.epoch); return true;
    case EXEC_WELCOME:
    case EXEC_NOTHING:
    case EXEC_HELLO:
    case EXEC_SPAWN:
    case EXEC_CANCEL:
    case EXEC_QUERY:
    case EXEC_FORGET:
    case EXEC_RECONCILED:
    case EXEC_LIST:
    case EXEC_BYE:
    case EXEC_KIND_END: break;
    }
    return false;
}

static bool client_read(struct exec_client *c)
{
    struct exec_message m;
    if (link_fill(&c->link) != OK)
        return false;
    err e;
    while ((e = exec_link_take(&c->link, &m)) == OK)
        if (!client_handle_message(c, &m))
            return false;
    return e == ERR_NOT_FOUND;
}

static void client_on_poll(uv_poll_t *poll, int status, int events)
{
    struct exec_client *c = poll->data;
    bool fine = status == 0;
    if (fine && events & UV_READABLE)
        fine = client_read(c);
    if (fine)
        fine = client_write(c) && client_watch(c);
    if (!fine)
        client_connection_lost(c);
}

/* The loop is about to block: send the orders of this round together. */
static void client_on_prepare(uv_prepare_t *sending)
{
    struct exec_client *c = sending->data;
    must(uv_prepare_stop(sending) == 0);
    if (!c->poll || !c->is_connected)
        return;
    if (!client_write(c) || !client_watch(c))
        client_connection_lost(c);
}

static bool client_connect(struct exec_client *c)
{
    const struct sockaddr_un address = state_dir_socket(c->state_dirfd);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        const int error = errno;
        ignore(close(fd), "it is not connected");
        errno = error;
        return false;
    }
    /* Connected. Register the socket with libuv; link_init below takes ownership of it. */
    c->poll = malloc(sizeof *c->poll);
    const int failed = c->poll ? uv_poll_init(c->loop, c->poll, fd) : UV_ENOMEM;
    if (failed) {
        free(c->poll);
        c->poll = NULL;
        ignore(close(fd), "nothing was sent");
        errno = -failed;
        return false;
    }
    c->poll->data = c;
    /* Queue HELLO; the connection counts as established when WELCOME arrives. */
    const bool is_open = link_init(&c->link, fd);
    const struct exec_hello hello = {.version = EXEC_VERSION, .epoch = c->epoch};
    must(exec_link_put(&c->link, &(struct exec_message){.kind = EXEC_HELLO, .hello = hello}) == OK);
    if (is_open && client_watch(c))
        return true;
    const int error = errno;
    client_close_connection(c);
    errno = error;
    return false;
}

/* ---- start of halligan-exec ---- */

/* Reap the starter if it has exited. True if none is active. */
static bool client_reap_starter(struct exec_client *c)
{
    int status;
    if (!c->starter)
        return true;
    const pid_t pid = waitpid(c->starter, &status, WNOHANG);
    if (pid == 0)
        return false;
    if (pid == c->starter && WIFEXITED(status) && WEXITSTATUS(status) == SUPERVISOR_FAILED &&
        client_should_log(c, FAILURE_EXITED))
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("program", c->program)),
                 "halligan-exec did not start, see its log lines; no run is started; retrying");
    c->starter = 0;
    return true;
}

static void client_start_supervisor(struct exec_client *c)
{
    posix_spawnattr_t attributes;
    sigset_t all, none;
    char *argv[] = {"halligan-exec", "--dir", c->dir, "--detach", "--idle-ms", c->idle_ms, NULL};
    if (!c->idle_ms[0])
        argv[4] = NULL;
    sigfillset(&all);
    sigemptyset(&none);
    must(posix_spawnattr_init(&attributes) == 0 &&
         posix_spawnattr_setsigdefault(&attributes, &all) == 0 &&
         posix_spawnattr_setsigmask(&attributes, &none) == 0 &&
         posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
                                                   POSIX_SPAWN_SETSIGMASK) == 0);
    const int error = posix_spawn(&c->starter, c->program, NULL, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    if (error == 0)
        return;
    c->starter = 0;
    if (client_should_log(c, error))
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("program", c->program)),
                 "cannot start halligan-exec: %s; no run is started; retrying", strerror(error));
}

static void client_on_timer(uv_timer_t *timer)
{
    struct exec_client *c = timer->data;
    const bool starter_is_reaped = client_reap_starter(c);
    if (c->poll || client_connect(c)) {
        /* The socket accepts connections before the starter exits, and we must reap it. */
        if (!starter_is_reaped)
            must(uv_timer_start(&c->timer, client_on_timer, RETRY_MS, 0) == 0);
        return;
    }
    /* ECONNREFUSED or ENOENT: no process accepts connections. If another one holds the lock, the
     * new one exits at once. */
    if (starter_is_reaped && c->program && (errno == ECONNREFUSED || errno == ENOENT))
        client_start_supervisor(c);
    client_schedule_retry(c);
}

static void client_schedule_retry(struct exec_client *c)
{
    must(uv_timer_start(&c->timer, client_on_timer, (uint64_t)c->retry_ms, 0) == 0);
    c->retry_ms = c->retry_ms * 2 < RETRY_MS_MAX ? c->retry_ms * 2 : RETRY_MS_MAX;
}

/* ---- orders ---- */

static err client_add_order(struct exec_client *c, const struct exec_message *m)
{
    struct arena arena = {0};
    struct buf bytes = buf_in(&arena);
    const err e = exec_encode(m, &bytes);
    if (e == OK) {
        struct order *o = malloc(sizeof *o + bytes.len);
        must(o);
        *o = (struct order){.size = bytes.len};
        memcpy(o->bytes, bytes.at, bytes.len);
        if (c->last)
            c->last->next = o;
        else
            c->first = o;
        c->last = o;
    }
    arena_fini(&arena);
    if (e == OK && c->is_connected)
        must(uv_prepare_start(&c->sending, client_on_prepare) == 0);
    return e;
}

static void client_order_run(struct exec_client *c, enum exec_kind kind, int64_t run_id,
                             uint32_t attempt)
{
    const struct exec_run run = {.run_id = run_id, .attempt = attempt};
    must(client_add_order(c, &(struct exec_message){.kind = kind, .run = run}) == OK);
}

err exec_client_spawn(struct exec_client *c, const struct exec_spawn *spec)
{
    return client_add_order(c, &(struct exec_message){.kind = EXEC_SPAWN, .spawn = *spec});
}

void exec_client_cancel(struct exec_client *c, int64_t run_id, uint32_t attempt)
{
    client_order_run(c, EXEC_CANCEL, run_id, attempt);
}

void exec_client_query(struct exec_client *c, int64_t run_id, uint32_t attempt)
{
    client_order_run(c, EXEC_QUERY, run_id, attempt);
}

void exec_client_forget(struct exec_client *c, int64_t run_id, uint32_t attempt)
{
    client_order_run(c, EXEC_FORGET, run_id, attempt);
}

void exec_client_list(struct exec_client *c)
{
    must(client_add_order(c, &(struct exec_message){.kind = EXEC_LIST}) == OK);
}

void exec_client_reconciled(struct exec_client *c)
{
    must(client_add_order(c, &(struct exec_message){.kind = EXEC_RECONCILED}) == OK);
}

void exec_client_set_epoch(struct exec_client *c, int64_t epoch)
{
    must(epoch >= c->epoch);
    const bool is_higher = epoch > c->epoch;
    c->epoch = epoch;
    if (is_higher && c->poll)
        client_connection_lost(c);
}

int exec_client_state_dirfd(const struct exec_client *c)
{
    return c->state_dirfd;
}

/* ---- open and close ---- */

static char *client_strdup(const char *text)
{
    char *copy = strdup(text);
    must(copy);
    return copy;
}

err exec_client_open(const struct exec_client_setup *setup, struct exec_client_callbacks callbacks,
                     struct exec_client **out_client)
{
    int state_dirfd;
    const err e = state_dir_open(setup->dir, &state_dirfd);
    if (e != OK)
        return e;
    struct exec_client *c = calloc(1, sizeof *c);
    must(c);
    c->loop = setup->loop;
    c->callbacks = callbacks;
    c->program = setup->program ? client_strdup(setup->program) : NULL;
    c->dir = client_strdup(setup->dir);
    c->epoch = setup->epoch;
    c->state_dirfd = state_dirfd;
    c->link.fd = -1;
    c->retry_ms = RETRY_MS;
    if (setup->idle_ms)
        snprintf(c->idle_ms, sizeof c->idle_ms, "%lld", (long long)setup->idle_ms);
    must(uv_timer_init(c->loop, &c->timer) == 0 &&
         uv_timer_start(&c->timer, client_on_timer, 0, 0) == 0);
    must(uv_prepare_init(c->loop, &c->sending) == 0);
    c->timer.data = c->sending.data = c;
    c->handles = 2;
    *out_client = c;
    return OK;
}

static void client_on_handle_closed(uv_handle_t *handle)
{
    struct exec_client *c = handle->data;
    if (--c->handles > 0)
        return;
    client_drop_orders(c);
    ignore(close(c->state_dirfd), "a directory");
    free(c->program);
    free(c->dir);
    free(c);
}

void exec_client_close(struct exec_client *c, bool bye)
{
    /* Do not wait for unsent bytes: the next daemon queries its runs anyway. */
    if (c->is_connected && bye &&
        client_add_order(c, &(struct exec_message){.kind = EXEC_BYE}) == OK)
        ignore(client_write(c), "without BYE the supervisor exits after its idle time");
    client_close_connection(c);
    /* A starter that is still active is reaped by init after our exit. */
    ignore(client_reap_starter(c), "we do not wait for it");
    uv_close((uv_handle_t *)&c->timer, client_on_handle_closed);
    uv_close((uv_handle_t *)&c->sending, client_on_handle_closed);
}
