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

#include "run/exec/link.h"
#include "run/exec/state_dir.h"
#include "run/exec/supervisor.h"
#include "sys/log.h"

enum {
    RETRY_MS = 20, /* until we try again; doubled each time, up to */
    RETRY_MS_MAX = 1000,
    COMPLAIN_MS = 5 * 60 * 1000, /* until the same complaint is news again */
    PARTS_MAX = 64,              /* orders in one call */
};

/* What is wrong, besides numbers of errno. */
enum { COMPLAINT_NONE = 0, COMPLAINT_ENDED = -1, COMPLAINT_VERSION = -2 };

/* An encoded message that was not sent to its end. */
struct order {
    struct order *next;
    uint32_t size;
    uint32_t sent;
    char bytes[];
};

struct exec_client {
    uv_loop_t *loop;
    struct exec_client_seams seams;
    char *program;
    char *dir;
    char idle_ms[24];
    int64_t epoch;
    int place;

    uv_timer_t timer;     /* for the next try, or the end of the starter */
    uv_prepare_t sending; /* at the end of a round in which orders were given */
    uint32_t handles;     /* of these, not closed */
    uv_poll_t *poll;      /* NULL: no connection */
    int events;           /* what it looks for */
    struct link link;     /* HELLO and all that is read; orders go by themselves */
    bool is_welcome;      /* WELCOME was read: the connection is good */
    int retry_ms;
    pid_t starter; /* halligan-exec --detach, until it returns; 0: none */
    int complaint; /* the last that was logged */
    uint64_t complaint_ms;

    struct order *first;
    struct order *last;
};

static void try_later(struct exec_client *c);

/* Once for each change: we try every second. */
static bool is_news(struct exec_client *c, int complaint)
{
    const uint64_t now_ms = uv_now(c->loop);
    if (complaint == c->complaint && now_ms - c->complaint_ms < COMPLAIN_MS)
        return false;
    c->complaint = complaint;
    c->complaint_ms = now_ms;
    return true;
}

/* ---- the connection ---- */

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void hang_up(struct exec_client *c)
{
    if (!c->poll)
        return;
    uv_close((uv_handle_t *)c->poll, free_handle);
    c->poll = NULL;
    c->events = 0;
    link_fini(&c->link);
    c->is_welcome = false;
}

static void drop_orders(struct exec_client *c)
{
    while (c->first) {
        struct order *next = c->first->next;
        free(c->first);
        c->first = next;
    }
    c->last = NULL;
}

static void lose(struct exec_client *c)
{
    const bool told = c->is_welcome;
    hang_up(c);
    if (told) {
        drop_orders(c);
        c->seams.lost(c->seams.self);
    }
    try_later(c);
}

/* So many bytes of the orders have gone. */
static void take_off(struct exec_client *c, size_t sent)
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

/* As many as wait in one call: each call wakes the supervisor. */
static bool send_orders(struct exec_client *c)
{
    while (c->first) {
        struct iovec parts[PARTS_MAX];
        struct msghdr message = {.msg_iov = parts};
        for (struct order *o = c->first; o && message.msg_iovlen < PARTS_MAX; o = o->next)
            parts[message.msg_iovlen++] =
                (struct iovec){.iov_base = o->bytes + o->sent, .iov_len = o->size - o->sent};
        const ssize_t n = sendmsg(c->link.fd, &message, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        take_off(c, (size_t)n);
    }
    return true;
}

static void ready(uv_poll_t *poll, int status, int events);

/* For room only when there was none. */
static bool watch(struct exec_client *c)
{
    const bool more = link_is_waiting(&c->link) || (c->is_welcome && c->first);
    const int events = more ? UV_READABLE | UV_WRITABLE : UV_READABLE;
    const int failed = events != c->events ? uv_poll_start(c->poll, events, ready) : 0;
    c->events = events;
    if (failed)
        errno = -failed;
    return !failed;
}

static bool write_all(struct exec_client *c)
{
    if (link_flush(&c->link) != OK)
        return false;
    return link_is_waiting(&c->link) || !c->is_welcome || send_orders(c);
}

static bool take_welcome(struct exec_client *c, const struct exec_welcome *welcome)
{
    if (welcome->version != EXEC_VERSION) {
        if (is_news(c, COMPLAINT_VERSION))
            log_with(LOG_ERROR,
                     LOG_FIELDS(LOG_I64("pid", welcome->pid), LOG_I64("version", welcome->version)),
                     "halligan-exec is of another version; waiting until it has ended");
        return false;
    }
    c->is_welcome = true;
    c->complaint = COMPLAINT_NONE;
    c->retry_ms = RETRY_MS;
    c->seams.connected(c->seams.self, welcome);
    return true;
}

/* False: it does not speak as a supervisor does. */
static bool hear(struct exec_client *c, const struct exec_message *m)
{
    const struct exec_client_seams *to = &c->seams;
    if (m->kind == EXEC_WELCOME)
        return !c->is_welcome && take_welcome(c, &m->welcome);
    if (!c->is_welcome)
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
    case EXEC_SETTLED:
    case EXEC_LIST:
    case EXEC_BYE:
    case EXEC_KIND_END: break;
    }
    return false;
}

static bool read_all(struct exec_client *c)
{
    struct exec_message m;
    if (link_fill(&c->link) != OK)
        return false;
    err e;
    while ((e = link_take(&c->link, &m)) == OK)
        if (!hear(c, &m))
            return false;
    return e == ERR_NOT_FOUND;
}

static void ready(uv_poll_t *poll, int status, int events)
{
    struct exec_client *c = poll->data;
    bool fine = status == 0;
    if (fine && events & UV_READABLE)
        fine = read_all(c);
    if (fine)
        fine = write_all(c) && watch(c);
    if (!fine)
        lose(c);
}

/* The loop is about to wait: what was given in this round goes now, together. */
static void round_ends(uv_prepare_t *sending)
{
    struct exec_client *c = sending->data;
    must(uv_prepare_stop(sending) == 0);
    if (!c->poll || !c->is_welcome)
        return;
    if (!write_all(c) || !watch(c))
        lose(c);
}

static bool call(struct exec_client *c)
{
    const struct sockaddr_un address = state_dir_socket(c->place);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        const int number = errno;
        ignore(close(fd), "nobody is at the other end");
        errno = number;
        return false;
    }
    c->poll = malloc(sizeof *c->poll);
    const int failed = c->poll ? uv_poll_init(c->loop, c->poll, fd) : UV_ENOMEM;
    if (failed) {
        free(c->poll);
        c->poll = NULL;
        ignore(close(fd), "nothing was said");
        errno = -failed;
        return false;
    }
    c->poll->data = c;
    const bool is_open = link_init(&c->link, fd);
    const struct exec_hello hello = {.version = EXEC_VERSION, .epoch = c->epoch};
    must(link_put(&c->link, &(struct exec_message){.kind = EXEC_HELLO, .hello = hello}) == OK);
    if (is_open && watch(c))
        return true;
    const int number = errno;
    hang_up(c);
    errno = number;
    return false;
}

/* ---- starting it ---- */

/* True when no starter is on its way. */
static bool starter_is_back(struct exec_client *c)
{
    int status;
    if (!c->starter)
        return true;
    const pid_t pid = waitpid(c->starter, &status, WNOHANG);
    if (pid == 0)
        return false;
    if (pid == c->starter && WIFEXITED(status) && WEXITSTATUS(status) == SUPERVISOR_FAILED &&
        is_news(c, COMPLAINT_ENDED))
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("program", c->program)),
                 "halligan-exec did not start, trying again");
    c->starter = 0;
    return true;
}

static void start_it(struct exec_client *c)
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
    const int number = posix_spawn(&c->starter, c->program, NULL, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    if (number == 0)
        return;
    c->starter = 0;
    if (is_news(c, number))
        log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("program", c->program)),
                 "halligan-exec cannot be started (%s), trying again", strerror(number));
}

static void try_now(uv_timer_t *timer)
{
    struct exec_client *c = timer->data;
    const bool back = starter_is_back(c);
    if (c->poll || call(c)) {
        /* It listens before its starter is gone, whose end is ours to take. */
        if (!back)
            must(uv_timer_start(&c->timer, try_now, RETRY_MS, 0) == 0);
        return;
    }
    /* Refused or not there at all: nobody listens. Should the lock be held, it returns at once. */
    if (back && c->program && (errno == ECONNREFUSED || errno == ENOENT))
        start_it(c);
    try_later(c);
}

static void try_later(struct exec_client *c)
{
    must(uv_timer_start(&c->timer, try_now, (uint64_t)c->retry_ms, 0) == 0);
    c->retry_ms = c->retry_ms * 2 < RETRY_MS_MAX ? c->retry_ms * 2 : RETRY_MS_MAX;
}

/* ---- orders ---- */

static err add_order(struct exec_client *c, const struct exec_message *m)
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
    if (e == OK && c->is_welcome)
        must(uv_prepare_start(&c->sending, round_ends) == 0);
    return e;
}

static void order_run(struct exec_client *c, enum exec_kind kind, int64_t run_id, uint32_t attempt)
{
    const struct exec_run run = {.run_id = run_id, .attempt = attempt};
    must(add_order(c, &(struct exec_message){.kind = kind, .run = run}) == OK);
}

err exec_client_spawn(struct exec_client *c, const struct exec_spawn *spec)
{
    return add_order(c, &(struct exec_message){.kind = EXEC_SPAWN, .spawn = *spec});
}

void exec_client_cancel(struct exec_client *c, int64_t run_id, uint32_t attempt)
{
    order_run(c, EXEC_CANCEL, run_id, attempt);
}

void exec_client_query(struct exec_client *c, int64_t run_id, uint32_t attempt)
{
    order_run(c, EXEC_QUERY, run_id, attempt);
}

void exec_client_forget(struct exec_client *c, int64_t run_id, uint32_t attempt)
{
    order_run(c, EXEC_FORGET, run_id, attempt);
}

void exec_client_list(struct exec_client *c)
{
    must(add_order(c, &(struct exec_message){.kind = EXEC_LIST}) == OK);
}

void exec_client_settled(struct exec_client *c)
{
    must(add_order(c, &(struct exec_message){.kind = EXEC_SETTLED}) == OK);
}

void exec_client_set_epoch(struct exec_client *c, int64_t epoch)
{
    must(epoch >= c->epoch);
    const bool is_news = epoch > c->epoch;
    c->epoch = epoch;
    if (is_news && c->poll)
        lose(c);
}

int exec_client_place(const struct exec_client *c)
{
    return c->place;
}

/* ---- from open to close ---- */

static char *copy_of(const char *text)
{
    char *copy = strdup(text);
    must(copy);
    return copy;
}

err exec_client_open(const struct exec_client_setup *setup, struct exec_client_seams seams,
                     struct exec_client **out_client)
{
    int place;
    const err e = state_dir_open(setup->dir, &place);
    if (e != OK)
        return e;
    struct exec_client *c = calloc(1, sizeof *c);
    must(c);
    c->loop = setup->loop;
    c->seams = seams;
    c->program = setup->program ? copy_of(setup->program) : NULL;
    c->dir = copy_of(setup->dir);
    c->epoch = setup->epoch;
    c->place = place;
    c->link.fd = -1;
    c->retry_ms = RETRY_MS;
    if (setup->idle_ms)
        snprintf(c->idle_ms, sizeof c->idle_ms, "%lld", (long long)setup->idle_ms);
    must(uv_timer_init(c->loop, &c->timer) == 0 && uv_timer_start(&c->timer, try_now, 0, 0) == 0);
    must(uv_prepare_init(c->loop, &c->sending) == 0);
    c->timer.data = c->sending.data = c;
    c->handles = 2;
    *out_client = c;
    return OK;
}

static void free_client(uv_handle_t *handle)
{
    struct exec_client *c = handle->data;
    if (--c->handles > 0)
        return;
    drop_orders(c);
    ignore(close(c->place), "it was only a handle");
    free(c->program);
    free(c->dir);
    free(c);
}

void exec_client_close(struct exec_client *c, bool bye)
{
    /* What cannot be sent at once is not waited for: the daemon asks again when it is back. */
    if (c->is_welcome && bye && add_order(c, &(struct exec_message){.kind = EXEC_BYE}) == OK)
        ignore(write_all(c), "then the supervisor stays for its idle time");
    hang_up(c);
    /* A starter that is still on its way is nobody's child soon; init takes its end. */
    ignore(starter_is_back(c), "we do not wait for it");
    uv_close((uv_handle_t *)&c->timer, free_client);
    uv_close((uv_handle_t *)&c->sending, free_client);
}
