/* Goal: no order in which libmicrohttpd calls us, no call that it leaves out and no NULL that it
 * hands us ends the process, loses a connection slot or calls the handler twice.
 * Method: requests for which libmicrohttpd does leave a call out; and a real server whose callbacks
 * are called by the test in its loop, out of order. */
#include "tests/unit/http/http_world.h"

#include "http/http_private.h"

/* --- left out by libmicrohttpd ----------------------------------------------------------------*/

static void ask_used_slots(struct world *w)
{
    w->pending = w->server->slot_count;
    for (const struct client *c = w->server->free_clients; c; c = c->next_free)
        w->pending--;
}

/* All slots are free. */
static bool becomes_free(struct world *w)
{
    const uint64_t end = uv_hrtime() + PATIENCE_S * 1000000000ull;
    do {
        in_loop(w, ask_used_slots);
    } while (w->pending != 0 && uv_hrtime() < end);
    return w->pending == 0;
}

/* The value of a cookie with a single quote has a negative length for libmicrohttpd: its first
 * error. The second makes it close the connection without the callback for a finished request. */
#define COOKIE "Cookie: a=\"\r\n"

TEST(two_errors_in_one_head_end_the_exchange_with_the_connection)
{
    static const char *const heads[] = {
        "GET /x HTTP/1.1\r\n" COOKIE "Content-Length: abc\r\n" HOST,
        "GET /x HTTP/1.1\r\nContent-Length: abc\r\n" COOKIE HOST,
        "GET /x HTTP/1.1\r\n" COOKIE "Content-Length: 99999999999999999999999\r\n" HOST,
        "POST /x HTTP/1.1\r\n" COOKIE "Content-Length: -1\r\n" HOST "body",
        "POST /x HTTP/1.1\r\n" COOKIE "Content-Length:\r\n" HOST,
        "HEAD /count?to=9 HTTP/1.0\r\n" COOKIE "Content-Length: 1x\r\n\r\n",
        "GET /x HTTP/1.1\r\n" COOKIE HOST,
        "GET /x HTTP/1.1\r\nContent-Length: abc\r\n" HOST,
        "POST /x HTTP/1.1\r\n" COOKIE "Transfer-Encoding: chunked\r\n" HOST "zz\r\n",
        "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "zz\r\nyy\r\n",
        "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "0\r\nno colon\r\n\r\n",
        "GET /x HTTP/9.9\r\n" COOKIE "Content-Length: abc\r\n" HOST,
        "GET \r\n\r\n",
    };
    enum { ROUNDS = 3 };
    struct world *w = world_open((struct http_options){.connections_max = 4});
    for (size_t i = 0; i < ROUNDS * sizeof heads / sizeof heads[0]; i++) {
        struct talk t = dial(w);
        send_text(&t, heads[i / ROUNDS]);
        CHECK(shutdown(t.fd, SHUT_WR) == 0);
        while (receive_more(&t)) {
        }
        hang_up(&t);
        CHECK(becomes_free(w));
        CHECK(becomes_pending(w, 0));
    }
    CHECK(served(w) == 0);
    struct talk t = dial(w);
    send_text(&t, "GET /x HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&t).status == 200);
    hang_up(&t);
    world_close(w);
}

TEST(two_errors_behind_a_good_request_end_only_the_second)
{
    struct world *w = world_open((struct http_options){.connections_max = 1});
    struct talk t = dial(w);
    send_text(&t, "GET /x HTTP/1.1\r\n" HOST "GET /x HTTP/1.1\r\n" COOKIE
                  "Content-Length: abc\r\n" HOST);
    CHECK(read_answer(&t).status == 200);
    while (receive_more(&t)) {
    }
    hang_up(&t);
    CHECK(becomes_free(w));
    CHECK(served(w) == 1);
    world_close(w);
}

/* --- out of order -----------------------------------------------------------------------------*/

static struct exchange *held_exchange(struct world *w)
{
    return (struct exchange *)(void *)w->held[0];
}

static struct MHD_Connection *connection; /* of the request that the test ended */

/* The library says that a request is over while the handler still has it. */
static void end_held(struct world *w)
{
    struct exchange *x = held_exchange(w);
    void *context = x;
    connection = x->connection;
    exchange_end(w->server, connection, &context, MHD_REQUEST_TERMINATED_WITH_ERROR);
    must(context == NULL && x->connection == NULL && x->client == NULL);
    must(x->state == EXCHANGE_SUSPENDED && w->server->exchange_count == 0);
    /* A second time, and with whatever pointer, there is nothing to end. */
    context = x;
    exchange_end(w->server, connection, &context, MHD_REQUEST_TERMINATED_WITH_ERROR);
    must(str_is_empty(http_header(w->held[0], "Host")));
}

/* It would stop the process at the end if a suspended connection were left. */
static void resume_ended(struct world *w)
{
    MHD_resume_connection(connection);
    http_wake(w->server);
}

TEST(a_request_outlives_its_connection_until_it_is_answered)
{
    struct world *w = world_open((struct http_options){.connections_max = 2});
    struct talk t = dial(w);
    send_text(&t, "GET /hold HTTP/1.1\r\n" HOST);
    wait_held(w, 1);
    in_loop(w, end_held);
    CHECK(gone_count(w) == 1);
    in_loop(w, answer_held);
    in_loop(w, resume_ended);
    CHECK(read_end(&t));
    hang_up(&t);
    CHECK(becomes_free(w));
    CHECK(gone_count(w) == 1);
    world_close(w);
}

static void stream_held(struct world *w)
{
    const struct http_answer head = {.status = 200};
    must(http_stream_begin(w->held[0], &head) == NULL);
    w->held_count = 0;
}

TEST(a_stream_does_not_begin_without_a_connection)
{
    struct world *w = world_open((struct http_options){.connections_max = 2});
    struct talk t = dial(w);
    send_text(&t, "GET /hold HTTP/1.1\r\n" HOST);
    wait_held(w, 1);
    in_loop(w, end_held);
    in_loop(w, stream_held);
    in_loop(w, resume_ended);
    CHECK(read_end(&t));
    hang_up(&t);
    CHECK(becomes_free(w));
    world_close(w);
}

TEST(closing_drops_a_request_without_a_connection)
{
    struct world *w = world_open((struct http_options){.connections_max = 2});
    struct talk t = dial(w);
    send_text(&t, "GET /hold HTTP/1.1\r\n" HOST);
    wait_held(w, 1);
    in_loop(w, end_held);
    in_loop(w, resume_ended);
    CHECK(read_end(&t));
    in_loop(w, close_server);
    hang_up(&t);
    world_close(w);
}

/* Ends the request inside of the handler's own call, then answers it there. */
static void serve_ended(void *self, struct http_request *r)
{
    struct world *w = self;
    struct exchange *x = (struct exchange *)(void *)r;
    struct MHD_Connection *of = x->connection;
    const bool is_answered = str_eq(r->path, STR("/answered"));
    const bool is_stream = str_eq(r->path, STR("/stream"));
    const bool is_kept = str_eq(r->path, STR("/kept"));
    const struct http_answer answer = {.status = 200, .body = STR("dropped")};
    void *context = x;
    struct http_stream *stream = NULL;
    if (is_answered)
        http_answer(r, &answer);
    else if (is_stream)
        stream = http_stream_begin(r, &answer);
    exchange_end(w->server, of, &context, MHD_REQUEST_TERMINATED_WITH_ERROR);
    if (stream)
        http_stream_end(stream);
    else if (!is_answered && !is_kept)
        http_answer(r, &answer);
    uv_mutex_lock(&w->mutex);
    w->served++;
    uv_mutex_unlock(&w->mutex);
}

static void gone_ended(void *self, struct http_request *r)
{
    struct world *w = self;
    const struct http_answer answer = {.status = 200};
    if (str_eq(r->path, STR("/kept")))
        http_answer(r, &answer);
    uv_mutex_lock(&w->mutex);
    w->gone++;
    uv_mutex_unlock(&w->mutex);
}

static void install_serve_ended(struct world *w)
{
    w->server->handler.serve = serve_ended;
    w->server->handler.gone = gone_ended;
}

TEST(a_request_that_ends_inside_of_the_handler_is_freed_behind_it)
{
    static const char *const paths[] = {"/answered", "/stream", "/kept", "/later-answered"};
    enum { COUNT = sizeof paths / sizeof paths[0] };
    struct world *w = world_open((struct http_options){.connections_max = COUNT});
    in_loop(w, install_serve_ended);
    for (int i = 0; i < COUNT; i++) {
        char head[100];
        struct talk t = dial(w);
        snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nConnection: close\r\n" HOST, paths[i]);
        send_text(&t, head);
        CHECK(shutdown(t.fd, SHUT_WR) == 0);
        while (receive_more(&t)) {
        }
        hang_up(&t);
        CHECK(served(w) == (uint32_t)i + 1);
        CHECK(becomes_free(w));
    }
    CHECK(gone_count(w) == 2); /* of the stream, and of the request that was kept */
    world_close(w);
}

/* --- handed over by libmicrohttpd -------------------------------------------------------------*/

static void call_with_nothing(struct world *w)
{
    struct http_server *s = w->server;
    struct MHD_Connection *of = held_exchange(w)->connection;
    struct client *c = held_exchange(w)->client;
    struct exchange *x = c->exchange;
    void *socket_context = NULL;
    void *context = NULL;
    size_t size = 3;
    /* The end of a connection that never began. */
    clients_notify(s, of, &socket_context, MHD_CONNECTION_NOTIFY_CLOSED);
    /* One begins where there is no slot for it: it is cut, and without a client no request of it
     * begins. The peer of this connection is gone behind it. */
    struct client *slots = s->free_clients;
    s->free_clients = NULL;
    clients_notify(s, of, &socket_context, MHD_CONNECTION_NOTIFY_STARTED);
    must(socket_context == NULL);
    s->free_clients = slots;
    /* A piece of a body, and the end of one, for a request that is whole. */
    must(exchange_access(s, of, "/", "GET", "HTTP/1.1", "abc", &size, &context) == MHD_NO);
    size = 0;
    must(exchange_access(s, of, "/", "GET", "HTTP/1.1", NULL, &size, &context) == MHD_NO);
    must(c->exchange == x && x->state == EXCHANGE_SUSPENDED);
    /* A request line without a target. */
    must(exchange_begin(s, NULL, of) == NULL);
    must(c->exchange == x);
    must(client_acquire(s, -1, NULL) == NULL);
}

TEST(null_and_calls_out_of_turn_are_refused)
{
    struct world *w = world_open((struct http_options){.connections_max = 2});
    struct talk t = dial(w);
    send_text(&t, "GET /hold HTTP/1.1\r\n" HOST);
    wait_held(w, 1);
    in_loop(w, call_with_nothing);
    wait_gone(w, 1);
    in_loop(w, answer_held);
    hang_up(&t);
    CHECK(becomes_free(w));
    world_close(w);
}

/* A request begins before the one before it has ended. */
static void begin_again(struct world *w)
{
    struct exchange *first = held_exchange(w);
    connection = first->connection;
    struct exchange *second = exchange_begin(w->server, "/second", connection);
    must(second && second->client->exchange == second && !first->connection);
    must(w->server->exchange_count == 1);
    void *context = second;
    exchange_end(w->server, connection, &context, MHD_REQUEST_TERMINATED_WITH_ERROR);
    must(w->server->exchange_count == 0);
}

TEST(a_request_that_begins_early_ends_the_one_before_it)
{
    struct world *w = world_open((struct http_options){.connections_max = 2});
    struct talk t = dial(w);
    send_text(&t, "GET /hold HTTP/1.1\r\n" HOST);
    wait_held(w, 1);
    in_loop(w, begin_again);
    CHECK(gone_count(w) == 1);
    in_loop(w, answer_held);
    in_loop(w, resume_ended);
    CHECK(read_end(&t));
    hang_up(&t);
    CHECK(becomes_free(w));
    world_close(w);
}
