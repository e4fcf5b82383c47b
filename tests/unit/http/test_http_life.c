/* Goal: answers may be given at any time, clients may disconnect at any time, and the server closes
 * in an orderly way in every state.
 * Method: a real server on the loopback; requests are held until the test releases them. */
#include "tests/unit/http/http_world.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include "http/http_private.h"
#include "sys/failpoint.h"

static const char REFUSED_503[] =
    "{\"message\":\"the daemon is shutting down\",\"status\":503,\"code\":\"unavailable\"}";

/* --- deferred answers -------------------------------------------------------------------------*/

TEST(an_answer_may_come_from_a_timer)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    for (int i = 0; i < 20; i++) {
        send_text(&t, "GET /later HTTP/1.1\r\nX-Test: kept\r\n" HOST);
        CHECK(str_is(read_answer(&t).body, "GET /later||kept|loopback|"));
    }
    hang_up(&t);
    world_close(w);
}

TEST(many_requests_wait_at_once_and_each_gets_its_own_answer)
{
    enum { COUNT = 200 };
    static struct talk talks[COUNT];
    struct world *w = world_open((struct http_options){0});
    for (int i = 0; i < COUNT; i++) {
        char text[100];
        talks[i] = dial(w);
        snprintf(text, sizeof text, "GET /hold/%d HTTP/1.1\r\n" HOST, i);
        send_text(&talks[i], text);
    }
    wait_held(w, COUNT);
    in_loop(w, ask_pending);
    CHECK(w->pending == COUNT);
    in_loop(w, answer_held);
    for (int i = 0; i < COUNT; i++) {
        char text[100];
        snprintf(text, sizeof text, "GET /hold/%d|||loopback|", i);
        CHECK(str_is(read_answer(&talks[i]).body, text));
        hang_up(&talks[i]);
    }
    CHECK(becomes_pending(w, 0));
    world_close(w);
}

TEST(a_handler_may_answer_others_while_it_serves_one)
{
    struct world *w = world_open((struct http_options){0});
    struct talk first = dial(w);
    struct talk second = dial(w);
    send_text(&first, "POST /hold HTTP/1.1\r\nContent-Length: 4\r\n" HOST "body");
    wait_held(w, 1);
    send_text(&second, "GET /release HTTP/1.1\r\n" HOST);
    CHECK(str_is(read_answer(&second).body, "GET /release|||loopback|"));
    CHECK(str_is(read_answer(&first).body, "POST /hold|||loopback|body"));
    hang_up(&first);
    hang_up(&second);
    world_close(w);
}

static void answer_from_elsewhere(struct world *w)
{
    char text[] = "short-lived";
    for (uint32_t i = 0; i < w->held_count; i++)
        http_answer(w->held[i], &(struct http_answer){.status = 418, .body = str_from(text)});
    memset(text, 'x', sizeof text);
    w->held_count = 0;
}

TEST(the_body_of_an_answer_may_be_freed_after_the_call)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    send_text(&t, "GET /hold HTTP/1.1\r\n" HOST);
    wait_held(w, 1);
    in_loop(w, answer_from_elsewhere);
    const struct received h = read_answer(&t);
    CHECK(h.status == 418);
    CHECK(str_is(h.body, "short-lived"));
    CHECK(!has_text(h.head, "Content-Type"));
    hang_up(&t);
    world_close(w);
}

static void answer_nothing(struct world *w)
{
    for (uint32_t i = 0; i < w->held_count; i++)
        http_answer(w->held[i], &(struct http_answer){.status = 204});
    w->held_count = 0;
}

TEST(an_answer_may_be_empty)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    send_text(&t, "DELETE /hold HTTP/1.1\r\n" HOST "GET /x HTTP/1.1\r\n" HOST);
    wait_held(w, 1);
    in_loop(w, answer_nothing);
    const struct received h = read_answer(&t);
    CHECK(h.status == 204 && h.body.len == 0);
    CHECK(read_answer(&t).status == 200);
    hang_up(&t);
    world_close(w);
}

static void clients_sweep_now(struct world *w)
{
    clients_sweep(w->server);
}

/* More than all buffers between server and client. */
enum { LONG = 24 << 20 };

/* Its answer has begun and cannot be sent completely before the client reads. */
static struct talk ask_for_a_long_answer(struct world *w)
{
    const int small = 64 << 10;
    struct talk t = dial(w);
    char head[100];
    char *body = calloc(1, LONG);
    CHECK(body != NULL);
    CHECK(setsockopt(t.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
    snprintf(head, sizeof head, "POST /x HTTP/1.1\r\nContent-Length: %d\r\n" HOST, LONG);
    send_text(&t, head);
    CHECK(send_bytes(&t, body, LONG));
    free(body);
    CHECK(receive_more(&t));
    return t;
}

/* --- clients that disconnect ------------------------------------------------------------------*/

/* With RST, not with FIN. */
static void vanish(struct talk *t)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    CHECK(setsockopt(t->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0);
    hang_up(t);
}

TEST(a_client_may_disconnect_while_its_request_is_held)
{
    enum { COUNT = 20 };
    struct world *w = world_open((struct http_options){0});
    struct talk stays = dial(w);
    send_text(&stays, "GET /hold HTTP/1.1\r\n" HOST);
    for (int i = 0; i < COUNT; i++) {
        struct talk t = dial(w);
        send_text(&t, "POST /hold HTTP/1.1\r\nX-Test: gone\r\nContent-Length: 3\r\n" HOST "abc");
        wait_held(w, (uint32_t)i + 2);
        if (i % 2)
            vanish(&t);
        else
            hang_up(&t);
    }
    in_loop(w, ask_pending);
    CHECK(w->pending == COUNT + 1);
    in_loop(w, answer_held);
    CHECK(str_is(read_answer(&stays).body, "GET /hold|||loopback|"));
    send_text(&stays, "GET /x HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&stays).status == 200);
    hang_up(&stays);
    world_close(w);
}

TEST(a_client_that_disconnects_within_its_request_is_released)
{
    static const char *const beginnings[] = {
        "",
        "GE",
        "GET /x HTTP/1.1\r\n",
        "GET /x HTTP/1.1\r\nHost: he",
        "POST /x HTTP/1.1\r\nContent-Length: 100\r\n" HOST,
        "POST /x HTTP/1.1\r\nContent-Length: 100\r\n" HOST "half",
        "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "5\r\nab",
    };
    struct world *w = world_open((struct http_options){0});
    for (size_t i = 0; i < 2 * sizeof beginnings / sizeof beginnings[0]; i++) {
        struct talk t = dial(w);
        send_text(&t, beginnings[i / 2]);
        if (i % 2)
            vanish(&t);
        else
            hang_up(&t);
    }
    struct talk t = dial(w);
    send_text(&t, "GET /x HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&t).status == 200);
    CHECK(served(w) == 1);
    hang_up(&t);
    world_close(w);
}

TEST(a_client_that_stops_reading_a_long_answer_is_released)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    const size_t size = 4 << 20;
    char head[100];
    char *body = calloc(1, size);
    CHECK(body != NULL);
    snprintf(head, sizeof head, "POST /x HTTP/1.1\r\nContent-Length: %zu\r\n" HOST, size);
    send_text(&t, head);
    CHECK(send_bytes(&t, body, size));
    CHECK(receive_more(&t));
    vanish(&t);
    free(body);
    t = dial(w);
    send_text(&t, "GET /x HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&t).status == 200);
    hang_up(&t);
    world_close(w);
}

TEST(a_disconnected_client_is_released_long_before_the_idle_timeout)
{
    enum { COUNT = 30, IDLE_S = 600 };
    static const char *const beginnings[] = {
        "GET /x HTTP/1.1\r\nHost: he",
        "POST /x HTTP/1.1\r\nContent-Length: 100\r\n" HOST "half",
        "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "5\r\nab",
    };
    struct world *w = world_open((struct http_options){.idle_s = IDLE_S});
    struct talk stays = dial(w);
    send_text(&stays, "POST /x HTTP/1.1\r\nContent-Length: 4\r\n" HOST "ha");
    CHECK(becomes_pending(w, 1));
    for (int i = 0; i < COUNT; i++) {
        struct talk t = dial(w);
        send_text(&t, beginnings[i % 3]);
        hang_up(&t);
    }
    CHECK(becomes_pending(w, 1));
    send_text(&stays, "lf");
    CHECK(str_is(read_answer(&stays).body, "POST /x|||loopback|half"));
    CHECK(becomes_pending(w, 0));
    hang_up(&stays);
    world_close(w);
}

TEST(the_handler_is_notified_of_a_client_that_disconnects)
{
    struct world *w = world_open((struct http_options){.idle_s = 600});
    struct talk stays = dial(w);
    struct talk leaves = dial(w);
    struct talk vanishes = dial(w);
    struct talk unheard = dial(w);
    send_text(&stays, "GET /hold HTTP/1.1\r\n" HOST);
    wait_held(w, 1);
    send_text(&leaves, "GET /gone HTTP/1.1\r\n" HOST);
    send_text(&vanishes, "POST /gone HTTP/1.1\r\nContent-Length: 2\r\n" HOST "ab");
    send_text(&unheard, "GET /hold HTTP/1.1\r\n" HOST);
    wait_held(w, 2);
    CHECK(becomes_pending(w, 4));
    hang_up(&leaves);
    vanish(&vanishes);
    hang_up(&unheard);
    wait_gone(w, 3);
    /* Two were answered when their clients had disconnected; the third is still pending. */
    CHECK(becomes_pending(w, 2));
    in_loop(w, clients_sweep_now);
    in_loop(w, answer_held);
    CHECK(str_is(read_answer(&stays).body, "GET /hold|||loopback|"));
    CHECK(becomes_pending(w, 0));
    CHECK(gone_count(w) == 3);
    hang_up(&stays);
    world_close(w);
}

TEST(a_client_may_close_its_sending_side_while_it_reads_its_answer)
{
    struct world *w = world_open((struct http_options){.body_max = LONG});
    struct talk t = ask_for_a_long_answer(w);
    CHECK(shutdown(t.fd, SHUT_WR) == 0);
    in_loop(w, clients_sweep_now);
    in_loop(w, clients_sweep_now);
    const struct received h = read_answer(&t);
    CHECK(h.status == 200 && h.body.len > LONG);
    hang_up(&t);
    world_close(w);
}

TEST(an_idle_client_is_disconnected)
{
    struct world *w = world_open((struct http_options){.idle_s = 1});
    struct talk silent = dial(w);
    struct talk halfway = dial(w);
    struct talk patient = dial(w);
    send_text(&halfway, "GET /x HTTP/1.1\r\nHost:");
    send_text(&patient, "GET /hold HTTP/1.1\r\n" HOST);
    wait_held(w, 1);
    CHECK(read_end(&silent));
    CHECK(read_end(&halfway));
    /* The time of the handler does not count as idle time of the client. */
    in_loop(w, answer_held);
    CHECK(read_answer(&patient).status == 200);
    hang_up(&silent);
    hang_up(&halfway);
    hang_up(&patient);
    world_close(w);
}

TEST(a_client_that_sends_byte_by_byte_is_disconnected)
{
    enum { CRUMBS_MAX = 600, CRUMB_MS = 100 };
    struct world *w = world_open((struct http_options){.idle_s = 1});
    struct talk t = dial(w);
    int crumbs = 0;
    send_text(&t, "GET /x HTTP/1.1\r\nX-Long: ");
    for (struct pollfd end = {.fd = t.fd, .events = POLLIN};
         crumbs < CRUMBS_MAX && poll(&end, 1, CRUMB_MS) == 0; crumbs++)
        CHECK(send_bytes(&t, "a", 1) || errno == EPIPE || errno == ECONNRESET);
    CHECK(crumbs < CRUMBS_MAX);
    CHECK(read_end(&t));
    CHECK(served(w) == 0);
    hang_up(&t);
    world_close(w);
}

/* --- close ------------------------------------------------------------------------------------*/

static void quiesce(struct world *w)
{
    http_quiesce(w->server);
    http_quiesce(w->server); /* idempotent */
}

TEST(a_quiesced_server_accepts_no_connection_and_answers_pending_requests)
{
    struct world *w = world_open((struct http_options){0});
    struct talk waiting = dial(w);
    struct talk idle = dial(w);
    send_text(&waiting, "GET /hold HTTP/1.1\r\n" HOST);
    wait_held(w, 1);
    send_text(&idle, "GET /x HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&idle).status == 200);
    in_loop(w, quiesce);
    CHECK(dial_socket(w->port) == -1 && errno == ECONNREFUSED);
    in_loop(w, ask_pending);
    CHECK(w->pending == 1);
    in_loop(w, answer_held);
    struct received h = read_answer(&waiting);
    CHECK(h.status == 200);
    CHECK(has_text(h.head, "\r\nConnection: close\r\n"));
    CHECK(read_end(&waiting));
    send_text(&idle, "GET /x HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&idle).status == 200);
    CHECK(read_end(&idle));
    hang_up(&waiting);
    hang_up(&idle);
    world_close(w);
}

TEST(closing_answers_pending_requests)
{
    enum { COUNT = 5 };
    struct talk talks[COUNT];
    struct world *w = world_open((struct http_options){0});
    struct talk idle = dial(w);
    struct talk halfway = dial(w);
    send_text(&idle, "GET /x HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&idle).status == 200);
    send_text(&halfway, "POST /x HTTP/1.1\r\nContent-Length: 10\r\n" HOST "half");
    for (int i = 0; i < COUNT; i++) {
        talks[i] = dial(w);
        send_text(&talks[i], "GET /hold HTTP/1.1\r\n" HOST);
        wait_held(w, (uint32_t)i + 1);
    }
    vanish(&talks[0]);
    in_loop(w, close_server);
    for (int i = 1; i < COUNT; i++) {
        const struct received h = read_answer(&talks[i]);
        CHECK(h.status == 503);
        CHECK(str_is(h.body, REFUSED_503));
        CHECK(has_text(h.head, "\r\nConnection: close\r\n"));
        CHECK(read_end(&talks[i]));
        hang_up(&talks[i]);
    }
    CHECK(read_end(&idle));
    CHECK(read_end(&halfway));
    hang_up(&idle);
    hang_up(&halfway);
    world_close(w);
}

static void answer_and_close(struct world *w)
{
    answer_held(w);
    w->pending = http_pending(w->server);
    close_server(w);
}

TEST(closing_sends_answers_that_were_just_given)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    struct talk other = dial(w);
    send_text(&t, "GET /hold/1 HTTP/1.1\r\n" HOST);
    wait_held(w, 1);
    send_text(&other, "GET /hold/2 HTTP/1.1\r\n" HOST);
    wait_held(w, 2);
    in_loop(w, answer_and_close);
    CHECK(w->pending == 2);
    CHECK(str_is(read_answer(&t).body, "GET /hold/1|||loopback|"));
    CHECK(str_is(read_answer(&other).body, "GET /hold/2|||loopback|"));
    CHECK(read_end(&t) && read_end(&other));
    hang_up(&t);
    hang_up(&other);
    world_close(w);
}

TEST(http_pending_counts_partly_read_and_partly_sent_requests)
{
    /* The body of an answered request does not count against the limit, however slowly its client
     * reads. */
    struct world *w = world_open((struct http_options){.body_max = LONG, .body_total_max = LONG});
    struct talk reads = ask_for_a_long_answer(w);
    in_loop(w, ask_pending);
    CHECK(w->pending == 1);
    struct talk writes = dial(w);
    send_text(&writes, "POST /x HTTP/1.1\r\nContent-Length: 4\r\n" HOST "ha");
    CHECK(becomes_pending(w, 2));
    in_loop(w, quiesce);
    in_loop(w, ask_pending);
    CHECK(w->pending == 2);
    send_text(&writes, "lf");
    CHECK(read_answer(&writes).status == 200);
    CHECK(becomes_pending(w, 1));
    const struct received h = read_answer(&reads);
    CHECK(h.status == 200 && h.body.len > LONG);
    CHECK(becomes_pending(w, 0));
    hang_up(&reads);
    hang_up(&writes);
    world_close(w);
}

TEST(a_server_without_requests_closes)
{
    struct world *w = world_open((struct http_options){0});
    world_close(w);
}

/* --- open -------------------------------------------------------------------------------------*/

static void cannot_open(struct http_options options, const char *because)
{
    uv_loop_t loop;
    char why[300] = "";
    CHECK(uv_loop_init(&loop) == 0);
    CHECK(http_open(&loop, &options, (struct http_handler){0}, why, sizeof why) == NULL);
    if (!strstr(why, because))
        fprintf(stderr, "\"%s\" does not say \"%s\"\n", why, because);
    CHECK(strstr(why, because) != NULL);
    CHECK(uv_loop_close(&loop) == 0);
}

TEST(a_failed_open_has_a_reason)
{
    struct world *w = world_open((struct http_options){0});
    cannot_open((struct http_options){.address = "127.0.0.1", .port = w->port}, "in use");
    world_close(w);
    cannot_open((struct http_options){.address = "localhost"}, "\"localhost\": not an address");
    cannot_open((struct http_options){.address = ""}, "not an address");
    cannot_open((struct http_options){0}, "not an address");
    cannot_open((struct http_options){.address = "127.0.0.1", .tls_cert = "/dev/null"}, "only one");
    cannot_open((struct http_options){.address = "127.0.0.1", .tls_key = "/dev/null"}, "only one");
    struct http_options options = {
        .address = "127.0.0.1", .tls_cert = "/nowhere/cert", .tls_key = "/nowhere/key"};
    cannot_open(options, "\"/nowhere/cert\": No such file");
    options.tls_cert = "/dev/null";
    cannot_open(options, "\"/dev/null\": it is empty");
    options.tls_cert = "/";
    cannot_open(options, "\"/\"");
    options.tls_cert = options.tls_key = "/proc/self/status"; /* text, but no certificate */
    cannot_open(options, "do not match");
}

TEST(it_listens_on_ipv6)
{
    struct world *w = world_open((struct http_options){.address = "::1"});
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(w->port)};
    to.sin6_addr = in6addr_loopback;
    struct talk t = {.fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    CHECK(t.fd >= 0);
    CHECK(setsockopt(t.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
    CHECK(connect(t.fd, (struct sockaddr *)&to, sizeof to) == 0);
    send_text(&t, "GET /six HTTP/1.1\r\n" HOST);
    CHECK(str_is(read_answer(&t).body, "GET /six|||loopback|"));
    send_text(&t, "GET /client HTTP/1.1\r\n" HOST);
    CHECK(str_is(read_answer(&t).body, "::1"));
    hang_up(&t);
    world_close(w);
}

/* --- failpoints -------------------------------------------------------------------------------*/

static void trace_is(const char *path, const char *name)
{
    char text[64] = "";
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && read(fd, text, sizeof text) == sizeof text && close(fd) == 0);
    CHECK(strcmp(text, name) == 0);
}

TEST(failpoints_are_before_the_handler_and_around_the_answer)
{
    char path[] = "/tmp/halligan-trace-XXXXXX";
    const int fd = mkstemp(path);
    CHECK(fd >= 0 && close(fd) == 0);
    CHECK(setenv("HALLIGAN_FAILPOINT_TRACE", path, 1) == 0);
    failpoint_init();
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    send_text(&t, "GET /hold HTTP/1.1\r\n" HOST);
    wait_held(w, 1);
    trace_is(path, "http.request");
    in_loop(w, answer_held);
    CHECK(read_answer(&t).status == 200);
    trace_is(path, "http.answer.after");
    hang_up(&t);
    world_close(w);
    failpoint_armed = false;
    CHECK(unsetenv("HALLIGAN_FAILPOINT_TRACE") == 0 && unlink(path) == 0);
}
