/* Sends mutated requests to a daemon over many connections and checks every answer.
 *
 *   attack-flood --port PORT --corpus DIR [--heads FILE]... [--fill NAME=VALUE]...
 *                [--requests N] [--seconds S] [--seed S] [--first N] [--sessions N]
 *                [--connections N] [--tls] [--show]
 *
 * One connection sends one plan (plan.h). The campaign ends after N requests or S seconds, whatever
 * is first, or after VIOLATIONS_MAX violations, or when the daemon refuses connections. Standard
 * output is one JSON object with the counts; standard error has a line for each violation. A
 * finding is repeated by its number: --first NUMBER --sessions 1; --show prints the bytes instead
 * of sending them. The peer is always 127.0.0.1; the source addresses are 127.0.1.1 to 127.0.1.8.
 *
 * Exit status: 0 without a violation, 1 with one, 2 for a mistake in the command line.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/attack/answer.h"
#include "tests/attack/corpus.h"
#include "tests/attack/plan.h"

enum {
    CONNECTIONS_MAX = 900,
    SOURCES = 8,
    VIOLATIONS_MAX = 10,
    RECENT_MAX = 128,
    IDLE_MS = 300,      /* a mutated request may never be answered */
    STALLED_MS = 10000, /* nor its body be read to the end */
    CONTROL_MS = 60000, /* a valid one is, also on a loaded machine */
    SWEEP_MS = 25,
    READ_SIZE = 65536,
};

struct connection {
    int fd; /* -1: free */
    gnutls_session_t tls;
    bool is_shaking;
    bool is_sent;
    bool is_half_closed;
    bool is_broken; /* a write failed: the reset was reported there, and reads see an end */
    struct arena arena;
    struct plan plan;
    struct veto_reply answer;
    uint32_t sent;
    uint32_t next_cut;
    int64_t active_ms;
};

struct flood {
    struct corpus corpus;
    uint16_t port;
    bool has_tls;
    gnutls_certificate_credentials_t credentials;
    uint64_t seed, next, sessions_end, requests_end;
    int64_t began_ms, end_ms;
    int epoll;
    struct connection *connections;
    uint32_t connections_count, open;
    uint64_t sessions, requests, answers_cut, doubled, idle, resets, tls_failed;
    uint64_t statuses[ANSWER_STATUS_MAX];
    uint64_t recent[RECENT_MAX];
    uint32_t violations;
    bool is_refused;
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void violation(struct flood *f, const struct connection *c, const char *what)
{
    f->violations++;
    fprintf(stderr, "violation: session %llu: %s (status %d after %u answers)\n",
            (unsigned long long)c->plan.number, what, c->answer.status, c->answer.finished);
}

/* -- transport -------------------------------------------------------------------------------- */

/* Like send and recv: -1 with errno, EAGAIN for later. */
static ssize_t link_send(struct connection *c, const char *bytes, size_t len)
{
    if (!c->tls)
        return send(c->fd, bytes, len, MSG_NOSIGNAL);
    ssize_t sent = gnutls_record_send(c->tls, bytes, len);
    if (sent < 0)
        errno = sent == GNUTLS_E_AGAIN || sent == GNUTLS_E_INTERRUPTED ? EAGAIN : ECONNRESET;
    return sent < 0 ? -1 : sent;
}

static ssize_t link_receive(struct connection *c, char *bytes, size_t len)
{
    if (!c->tls)
        return recv(c->fd, bytes, len, 0);
    ssize_t got = gnutls_record_recv(c->tls, bytes, len);
    if (got == GNUTLS_E_PREMATURE_TERMINATION)
        return 0;
    if (got < 0)
        errno = got == GNUTLS_E_AGAIN || got == GNUTLS_E_INTERRUPTED ? EAGAIN : ECONNRESET;
    return got < 0 ? -1 : got;
}

static void connection_watch(struct flood *f, struct connection *c, int how, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = c};
    if (epoll_ctl(f->epoll, how, c->fd, &event) != 0)
        perror("epoll_ctl");
}

/* A reset leaves no TIME_WAIT behind: a campaign needs more ports than there are. */
static void connection_close(struct flood *f, struct connection *c)
{
    bool is_reset = c->plan.end != PLAN_UNREAD;
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    f->doubled += c->answer.doubled;
    if (c->tls)
        gnutls_deinit(c->tls);
    if (is_reset)
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(c->fd);
    c->fd = -1;
    c->tls = NULL;
    f->open--;
}

static void connection_open(struct flood *f, struct connection *c)
{
    struct sockaddr_in source = {.sin_family = AF_INET};
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(f->port)};
    int one = 1;
    arena_reset(&c->arena);
    plan_make(&c->plan, &c->arena, &f->corpus, f->seed, f->next);
    f->recent[f->sessions % RECENT_MAX] = f->next;
    f->next++;
    f->sessions++;
    f->requests += c->plan.requests;
    answer_init(&c->answer);
    c->answer.has_no_body = c->plan.has_head && c->plan.requests == 1;
    c->answer.may_be_head = c->plan.has_head;
    c->sent = c->next_cut = 0;
    c->is_sent = c->is_half_closed = c->is_broken = false;
    c->active_ms = now_ms();
    c->tls = NULL;
    c->is_shaking = f->has_tls;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0) {
        perror("socket");
        exit(2);
    }
    f->open++;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    source.sin_addr.s_addr = htonl(0x7f000101u + (uint32_t)(c->plan.number % SOURCES));
    peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(c->fd, (struct sockaddr *)&source, sizeof source) != 0)
        perror("bind");
    if (connect(c->fd, (struct sockaddr *)&peer, sizeof peer) != 0 && errno != EINPROGRESS) {
        f->is_refused = true;
        connection_close(f, c);
        return;
    }
    if (f->has_tls) {
        gnutls_init(&c->tls, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
        gnutls_set_default_priority(c->tls);
        gnutls_credentials_set(c->tls, GNUTLS_CRD_CERTIFICATE, f->credentials);
        gnutls_transport_set_int(c->tls, c->fd);
    }
    connection_watch(f, c, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
}

/* -- one connection --------------------------------------------------------------------------- */

/* The handshake goes on; false when it failed and the connection is closed. */
static bool connection_shake(struct flood *f, struct connection *c)
{
    int result = gnutls_handshake(c->tls);
    if (result == GNUTLS_E_SUCCESS) {
        c->is_shaking = false;
        connection_watch(f, c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
        return true;
    }
    if (gnutls_error_is_fatal(result)) {
        f->tls_failed++;
        if (c->plan.is_control)
            violation(f, c, "the TLS handshake of a control failed");
        connection_close(f, c);
        return false;
    }
    uint32_t wanted = gnutls_record_get_direction(c->tls) ? EPOLLOUT : EPOLLIN;
    connection_watch(f, c, EPOLL_CTL_MOD, wanted);
    return true;
}

static void connection_sent(struct flood *f, struct connection *c)
{
    c->is_sent = true;
    switch (c->plan.end) {
    case PLAN_RESET:
    case PLAN_UNREAD: connection_close(f, c); return;
    case PLAN_HALF:
        if (c->tls)
            gnutls_bye(c->tls, GNUTLS_SHUT_WR);
        shutdown(c->fd, SHUT_WR);
        c->is_half_closed = true;
        break;
    case PLAN_WAIT: break;
    }
    connection_watch(f, c, EPOLL_CTL_MOD, EPOLLIN);
}

/* Up to the next cut; the rest follows in a later round, after the daemon had a turn. */
static void connection_send(struct flood *f, struct connection *c)
{
    const struct plan *p = &c->plan;
    uint32_t end = c->next_cut < p->cuts_count ? p->cuts[c->next_cut] : p->bytes.len;
    if (c->sent < end) {
        ssize_t sent = link_send(c, p->bytes.at + c->sent, end - c->sent);
        if (sent < 0) {
            if (errno != EAGAIN) { /* reset by the peer; its answer may still be unread */
                c->is_broken = true;
                c->is_sent = true;
                connection_watch(f, c, EPOLL_CTL_MOD, EPOLLIN);
            }
            return;
        }
        c->sent += (uint32_t)sent;
        c->active_ms = now_ms();
    }
    if (c->sent == end && c->next_cut < p->cuts_count)
        c->next_cut++;
    else if (c->sent == p->bytes.len)
        connection_sent(f, c);
}

static void connection_ended(struct flood *f, struct connection *c, bool is_reset)
{
    const char *wrong = NULL;
    if (is_reset) {
        f->resets++;
        if (!answer_is_between(&c->answer))
            f->answers_cut++;
    } else {
        wrong = answer_end(&c->answer, f->statuses);
        if (wrong && c->is_half_closed) {
            f->answers_cut++;
            wrong = NULL;
        }
    }
    if (!wrong && c->plan.is_control && c->answer.finished == 0)
        wrong = "a valid request was not answered";
    if (wrong)
        violation(f, c, wrong);
    connection_close(f, c);
}

static void connection_receive(struct flood *f, struct connection *c)
{
    static char bytes[READ_SIZE];
    for (;;) {
        ssize_t got = link_receive(c, bytes, sizeof bytes);
        if (got < 0 && errno == EAGAIN)
            break;
        if (got <= 0) {
            connection_ended(f, c, got < 0 || c->is_broken);
            return;
        }
        c->active_ms = now_ms();
        /* Only the last request can be a HEAD. The answer before it ends somewhere in these bytes,
         * so they are fed one by one, and what follows the last answer is left alone. */
        const char *wrong = NULL;
        if (!c->plan.has_head)
            wrong = answer_feed(&c->answer, bytes, (uint32_t)got, f->statuses);
        for (ssize_t at = 0; c->plan.has_head && at < got && !wrong; at++) {
            if (c->answer.finished >= c->plan.requests)
                break;
            c->answer.has_no_body = c->answer.finished + 1 == c->plan.requests;
            wrong = answer_feed(&c->answer, bytes + at, 1, f->statuses);
        }
        if (wrong) {
            violation(f, c, wrong);
            connection_close(f, c);
            return;
        }
        if (got < (ssize_t)sizeof bytes && !c->tls)
            break;
    }
    if (c->plan.is_control && c->answer.finished > 0 &&
        c->answer.last_status != c->plan.control_status)
        violation(f, c, "a valid request got another status");
    if (c->is_sent && c->answer.finished >= c->plan.requests)
        connection_close(f, c);
}

static void connection_event(struct flood *f, struct connection *c, uint32_t events)
{
    if (c->is_shaking) {
        if (!connection_shake(f, c) || c->is_shaking)
            return;
        events |= EPOLLOUT;
    }
    int error = 0;
    socklen_t size = sizeof error;
    if ((events & EPOLLERR) && c->sent == 0) {
        getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size);
        if (error == ECONNREFUSED) {
            f->is_refused = true;
            connection_close(f, c);
            return;
        }
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        connection_receive(f, c);
    if (c->fd >= 0 && !c->is_sent && (events & EPOLLOUT))
        connection_send(f, c);
}

static void connections_sweep(struct flood *f, int64_t now)
{
    for (uint32_t i = 0; i < f->connections_count; i++) {
        struct connection *c = &f->connections[i];
        if (c->fd < 0)
            continue;
        int64_t patience = c->plan.is_control ? CONTROL_MS : c->is_sent ? IDLE_MS : STALLED_MS;
        if (now - c->active_ms < patience)
            continue;
        if (c->plan.is_control)
            violation(f, c, "a valid request waits for its answer");
        f->idle++;
        connection_close(f, c);
    }
}

/* -- the campaign ----------------------------------------------------------------------------- */

static bool flood_goes_on(const struct flood *f, int64_t now)
{
    return !f->is_refused && f->violations < VIOLATIONS_MAX && f->requests < f->requests_end &&
           f->next < f->sessions_end && (f->end_ms == 0 || now < f->end_ms);
}

static void flood_run(struct flood *f)
{
    struct epoll_event events[256];
    int64_t swept = 0;
    for (;;) {
        int64_t now = now_ms();
        bool goes_on = flood_goes_on(f, now);
        if (!goes_on && (f->open == 0 || f->is_refused || f->violations >= VIOLATIONS_MAX))
            return;
        for (uint32_t i = 0; goes_on && i < f->connections_count && f->next < f->sessions_end; i++)
            if (f->connections[i].fd < 0 && !f->is_refused)
                connection_open(f, &f->connections[i]);
        int count = epoll_wait(f->epoll, events, 256, SWEEP_MS);
        for (int i = 0; i < count; i++) {
            struct connection *c = events[i].data.ptr;
            if (c->fd >= 0)
                connection_event(f, c, events[i].events);
        }
        if (now - swept >= SWEEP_MS) {
            connections_sweep(f, now);
            swept = now;
        }
    }
}

static void flood_report(const struct flood *f)
{
    uint64_t veto_replies = 0;
    const char *comma = "";
    double seconds = (double)(now_ms() - f->began_ms) / 1000;
    for (int i = 200; i < ANSWER_STATUS_MAX; i++)
        veto_replies += f->statuses[i];
    printf("{\"requests\":%llu,\"sessions\":%llu,\"answers\":%llu,\"cut\":%llu,\"doubled\":%llu,"
           "\"idle\":%llu,"
           "\"resets\":%llu,\"tls_failed\":%llu,\"violations\":%u,\"refused\":%s,\"next\":%llu,"
           "\"seconds\":%.1f,\"statuses\":{",
           (unsigned long long)f->requests, (unsigned long long)f->sessions,
           (unsigned long long)veto_replies, (unsigned long long)f->answers_cut,
           (unsigned long long)f->doubled, (unsigned long long)f->idle,
           (unsigned long long)f->resets, (unsigned long long)f->tls_failed, f->violations,
           f->is_refused ? "true" : "false", (unsigned long long)f->next, seconds);
    for (int i = 0; i < ANSWER_STATUS_MAX; i++)
        if (f->statuses[i]) {
            printf("%s\"%d\":%llu", comma, i, (unsigned long long)f->statuses[i]);
            comma = ",";
        }
    printf("},\"recent\":[");
    comma = "";
    for (uint64_t i = f->sessions > RECENT_MAX ? f->sessions - RECENT_MAX : 0; i < f->sessions;
         i++) {
        printf("%s%llu", comma, (unsigned long long)f->recent[i % RECENT_MAX]);
        comma = ",";
    }
    printf("]}\n");
}

static void flood_show(struct flood *f)
{
    struct arena arena = {0};
    struct plan plan;
    for (; f->next < f->sessions_end; f->next++) {
        arena_reset(&arena);
        plan_make(&plan, &arena, &f->corpus, f->seed, f->next);
        fprintf(stderr, "session %llu: %u requests, %u bytes, %u cuts, end %d\n",
                (unsigned long long)f->next, plan.requests, plan.bytes.len, plan.cuts_count,
                (int)plan.end);
        fwrite(plan.bytes.at, 1, plan.bytes.len, stdout);
    }
    arena_fini(&arena);
}

enum option_key {
    OPTION_PORT = 1,
    OPTION_CORPUS,
    OPTION_HEADS,
    OPTION_FILL,
    OPTION_REQUESTS,
    OPTION_SECONDS,
    OPTION_SEED,
    OPTION_FIRST,
    OPTION_SESSIONS,
    OPTION_CONNECTIONS,
    OPTION_TLS,
    OPTION_SHOW,
};

static const struct option options[] = {
    {"port", required_argument, NULL, OPTION_PORT},
    {"corpus", required_argument, NULL, OPTION_CORPUS},
    {"heads", required_argument, NULL, OPTION_HEADS},
    {"fill", required_argument, NULL, OPTION_FILL},
    {"requests", required_argument, NULL, OPTION_REQUESTS},
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"first", required_argument, NULL, OPTION_FIRST},
    {"sessions", required_argument, NULL, OPTION_SESSIONS},
    {"connections", required_argument, NULL, OPTION_CONNECTIONS},
    {"tls", no_argument, NULL, OPTION_TLS},
    {"show", no_argument, NULL, OPTION_SHOW},
    {0},
};

int main(int argc, char **argv)
{
    static struct flood flood;
    struct flood *f = &flood;
    const char *corpus = NULL, *heads[16];
    uint32_t heads_count = 0;
    uint64_t sessions = UINT64_MAX;
    bool is_shown = false, is_good = true;
    int key;
    f->seed = f->next = 1;
    f->requests_end = UINT64_MAX;
    f->connections_count = 200;
    f->began_ms = now_ms();
    while ((key = getopt_long(argc, argv, "", options, NULL)) != -1) {
        uint64_t number = optarg ? strtoull(optarg, NULL, 10) : 0;
        switch (key) {
        case OPTION_PORT: f->port = (uint16_t)number; break;
        case OPTION_CORPUS: corpus = optarg; break;
        case OPTION_HEADS:
            if (heads_count < 16)
                heads[heads_count++] = optarg;
            break;
        case OPTION_FILL: is_good = corpus_fill(&f->corpus, optarg) && is_good; break;
        case OPTION_REQUESTS: f->requests_end = number; break;
        case OPTION_SECONDS: f->end_ms = f->began_ms + (int64_t)number * 1000; break;
        case OPTION_SEED: f->seed = number; break;
        case OPTION_FIRST: f->next = number; break;
        case OPTION_SESSIONS: sessions = number; break;
        case OPTION_CONNECTIONS: f->connections_count = (uint32_t)number; break;
        case OPTION_TLS: f->has_tls = true; break;
        case OPTION_SHOW: is_shown = true; break;
        default: is_good = false;
        }
    }
    f->sessions_end = sessions == UINT64_MAX ? UINT64_MAX : f->next + sessions;
    if (!is_good || !corpus || (!is_shown && f->port == 0) || f->connections_count == 0 ||
        f->connections_count > CONNECTIONS_MAX || optind != argc) {
        fprintf(stderr, "usage: attack-flood --port PORT --corpus DIR [OPTION...]; see flood.c\n");
        return 2;
    }
    is_good = corpus_load(&f->corpus, corpus);
    for (uint32_t i = 0; is_good && i < heads_count; i++)
        is_good = corpus_load_heads(&f->corpus, heads[i]);
    if (!is_good)
        return 2;
    if (is_shown) {
        flood_show(f);
        return 0;
    }
    f->connections = calloc(f->connections_count, sizeof *f->connections);
    f->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!f->connections || f->epoll < 0) {
        perror("attack-flood");
        return 2;
    }
    for (uint32_t i = 0; i < f->connections_count; i++)
        f->connections[i].fd = -1;
    if (f->has_tls)
        gnutls_certificate_allocate_credentials(&f->credentials);
    flood_run(f);
    flood_report(f);
    for (uint32_t i = 0; i < f->connections_count; i++) {
        if (f->connections[i].fd >= 0)
            connection_close(f, &f->connections[i]);
        arena_fini(&f->connections[i].arena);
    }
    if (f->has_tls)
        gnutls_certificate_free_credentials(f->credentials);
    free(f->connections);
    corpus_fini(&f->corpus);
    return f->violations || f->is_refused ? 1 : 0;
}
