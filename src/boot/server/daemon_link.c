#define _GNU_SOURCE
/* daemon_link.c - one connection at a time, driven by three libuv handles: a timer for the next
 * attempt and for the time limit of the handshake, a poll handle for the socket, and a prepare
 * handle that writes the messages of one round of the loop together.
 *
 * Failure: any error closes the connection and schedules the next attempt; the delay doubles up to
 * RETRY_MS_MAX and starts again after WELCOME. The same failure is logged once in LOG_REPEAT_MS.
 * The callbacks may send, but not close the link. */
#include "boot/server/daemon_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/link.h"
#include "sys/log.h"

enum {
    RETRY_MS = 100,
    RETRY_MS_MAX = 1000,
    HANDSHAKE_MS_MAX = 5000,
    UNSENT_MAX = 8 << 20, /* bytes */
    LOG_REPEAT_MS = 5 * 60 * 1000
};

/* Reasons of failures other than values of errno. */
enum { FAILURE_NONE = 0, FAILURE_CLOSED = -1, FAILURE_CORRUPT = -2, FAILURE_REFUSED = -3 };

struct daemon_link {
    uv_loop_t *loop;
    const char *path;
    struct daemon_link_callbacks callbacks;
    uv_timer_t timer;
    uv_prepare_t sending;
    uint32_t handles; /* of the two above that are not closed */
    uv_poll_t *poll;  /* NULL: no connection */
    int events;
    struct link link;
    bool is_connected;
    uint64_t retry_ms;
    int failure;         /* that was logged last */
    uint64_t failure_ms; /* time of the loop at that */
};

static void link_connect(struct daemon_link *l);

/* ---- failures ---- */

static bool link_should_log(struct daemon_link *l, int failure)
{
    const uint64_t now_ms = uv_now(l->loop);
    if (failure == l->failure && now_ms - l->failure_ms < LOG_REPEAT_MS)
        return false;
    l->failure = failure;
    l->failure_ms = now_ms;
    return true;
}

static const char *link_failure_text(int failure)
{
    switch (failure) {
    case FAILURE_CLOSED: return "the daemon has closed the connection";
    case FAILURE_CORRUPT: return "the daemon has sent an invalid message";
    case FAILURE_REFUSED: return "the daemon has refused the connection";
    default: return strerror(failure);
    }
}

static void link_free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void link_on_timer(uv_timer_t *timer)
{
    struct daemon_link *l = timer->data;
    /* With a connection the handshake took too long: begin again. */
    if (!l->is_connected)
        link_connect(l);
}

static void link_disconnect(struct daemon_link *l)
{
    /* The poll handle is closed before the descriptor, whose number may be used again. */
    if (l->poll)
        uv_close((uv_handle_t *)l->poll, link_free_handle);
    l->poll = NULL;
    l->events = 0;
    if (l->link.fd >= 0)
        link_fini(&l->link);
    l->link.fd = -1;
}

static void link_fail(struct daemon_link *l, int failure)
{
    const bool was_connected = l->is_connected;
    link_disconnect(l);
    l->is_connected = false;
    must(uv_prepare_stop(&l->sending) == 0);
    if (link_should_log(l, failure))
        log_with(LOG_WARNING,
                 LOG_FIELDS(LOG_Z("socket", l->path), LOG_Z("reason", link_failure_text(failure))),
                 "not connected to halligand: machines are answered from the last known state, "
                 "and installers and new addresses wait; trying again");
    must(uv_timer_start(&l->timer, link_on_timer, l->retry_ms, 0) == 0);
    l->retry_ms = 2 * l->retry_ms > RETRY_MS_MAX ? RETRY_MS_MAX : 2 * l->retry_ms;
    if (was_connected)
        l->callbacks.lost(l->callbacks.self);
}

/* ---- writing ---- */

static void link_on_poll(uv_poll_t *poll, int status, int events);

static bool link_watch(struct daemon_link *l)
{
    const int events = UV_READABLE | (link_is_waiting(&l->link) ? UV_WRITABLE : 0);
    if (events == l->events)
        return true;
    l->events = events;
    return uv_poll_start(l->poll, events, link_on_poll) == 0;
}

static void link_write(struct daemon_link *l)
{
    if (link_flush(&l->link) != OK)
        link_fail(l, FAILURE_CLOSED);
    else if (!link_watch(l))
        link_fail(l, ENOMEM);
}

static bool link_queue(struct daemon_link *l, const struct boot_message *message)
{
    struct arena arena = {0};
    struct buf bytes = buf_in(&arena);
    const bool is_queued = boot_message_encode(message, &bytes) == OK &&
                           link_put(&l->link, buf_str(&bytes), UNSENT_MAX) == OK;
    arena_fini(&arena);
    return is_queued;
}

/* ---- reading ---- */

/* False: the connection has been closed. */
static bool link_take_message(struct daemon_link *l, const struct boot_message *m)
{
    if (boot_message_is_from_server(m->kind)) {
        link_fail(l, FAILURE_CORRUPT);
        return false;
    }
    if (m->kind == BOOT_MESSAGE_REFUSED) {
        if (link_should_log(l, FAILURE_REFUSED))
            log_with(LOG_ERROR, LOG_FIELDS(LOG_S("reason", m->refused.text)),
                     "halligand has refused this boot server: nothing new is served until it "
                     "accepts it");
        link_fail(l, FAILURE_REFUSED);
        return false;
    }
    if (l->is_connected) {
        if (m->kind != BOOT_MESSAGE_WELCOME && l->callbacks.message(l->callbacks.self, m))
            return true;
        link_fail(l, FAILURE_CORRUPT);
        return false;
    }
    if (m->kind != BOOT_MESSAGE_WELCOME || m->welcome.version != BOOT_PROTO_VERSION) {
        link_fail(l, FAILURE_CORRUPT);
        return false;
    }
    l->is_connected = true; /* the callback may send */
    if (!l->callbacks.connected(l->callbacks.self, &m->welcome)) {
        l->is_connected = false;
        l->failure = FAILURE_REFUSED; /* the callback has logged it */
        l->failure_ms = uv_now(l->loop);
        link_fail(l, FAILURE_REFUSED);
        return false;
    }
    l->retry_ms = RETRY_MS;
    l->failure = FAILURE_NONE;
    must(uv_timer_stop(&l->timer) == 0);
    return true;
}

/* A read has 64 KiB at most, so other sockets are served between two parts of a base image. */
static void link_read_messages(struct daemon_link *l)
{
    for (;;) {
        struct str body;
        struct boot_message message;
        const err e = link_take(&l->link, BOOT_BODY_MAX, &body);
        if (e == ERR_NOT_FOUND)
            return;
        if (e != OK || boot_message_decode(body, &message) != OK) {
            link_fail(l, FAILURE_CORRUPT);
            return;
        }
        if (!link_take_message(l, &message))
            return;
    }
}

static void link_on_poll(uv_poll_t *poll, int status, int events)
{
    struct daemon_link *l = poll->data;
    (void)status; /* recv() and send() report the same error */
    if (events & UV_WRITABLE)
        link_write(l);
    if (l->poll != poll || !(events & UV_READABLE || status < 0))
        return;
    if (link_fill(&l->link) != OK) {
        link_fail(l, FAILURE_CLOSED);
        return;
    }
    link_read_messages(l);
}

static void link_on_sending(uv_prepare_t *prepare)
{
    struct daemon_link *l = prepare->data;
    must(uv_prepare_stop(prepare) == 0);
    if (l->poll)
        link_write(l);
}

/* ---- connecting ---- */

static void link_connect(struct daemon_link *l)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    link_disconnect(l);
    if (strlen(l->path) >= sizeof address.sun_path) {
        link_fail(l, ENAMETOOLONG);
        return;
    }
    memcpy(address.sun_path, l->path, strlen(l->path));
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || !link_init(&l->link, fd)) {
        link_fail(l, errno);
        return;
    }
    if (connect(fd, (const struct sockaddr *)(const void *)&address, sizeof address) != 0) {
        link_fail(l, errno);
        return;
    }
    l->poll = calloc(1, sizeof *l->poll);
    must(l->poll && uv_poll_init(l->loop, l->poll, fd) == 0);
    l->poll->data = l;
    struct boot_message message = {.kind = BOOT_MESSAGE_HELLO};
    l->callbacks.hello(l->callbacks.self, &message.hello);
    must(link_queue(l, &message));
    must(uv_timer_start(&l->timer, link_on_timer, HANDSHAKE_MS_MAX, 0) == 0);
    link_write(l);
}

/* ---- interface ---- */

struct daemon_link *daemon_link_open(uv_loop_t *loop, const char *path,
                                     struct daemon_link_callbacks callbacks)
{
    struct daemon_link *l = calloc(1, sizeof *l);
    must(l);
    *l = (struct daemon_link){.loop = loop, .path = path, .callbacks = callbacks};
    l->link.fd = -1;
    l->retry_ms = RETRY_MS;
    must(uv_timer_init(loop, &l->timer) == 0 && uv_prepare_init(loop, &l->sending) == 0);
    l->timer.data = l->sending.data = l;
    l->handles = 2;
    must(uv_timer_start(&l->timer, link_on_timer, 0, 0) == 0);
    return l;
}

static void link_on_closed(uv_handle_t *handle)
{
    struct daemon_link *l = handle->data;
    if (--l->handles == 0)
        free(l);
}

void daemon_link_close(struct daemon_link *l)
{
    /* What is queued is sent as far as the socket takes it. */
    if (l->poll)
        ignore(link_flush(&l->link), "the connection ends in any case");
    link_disconnect(l);
    l->is_connected = false;
    uv_close((uv_handle_t *)&l->timer, link_on_closed);
    uv_close((uv_handle_t *)&l->sending, link_on_closed);
}

bool daemon_link_is_connected(const struct daemon_link *l)
{
    return l->is_connected;
}

bool daemon_link_send(struct daemon_link *l, const struct boot_message *message)
{
    if (!l->is_connected || !link_queue(l, message))
        return false;
    must(uv_prepare_start(&l->sending, link_on_sending) == 0);
    return true;
}
