/* Goal: malformed and hostile requests never reach the handler, use no more memory and connections
 * than their share, and are answered with the reason of the refusal.
 * Method: a real server on the loopback, and bytes sent to it by hand. */
#include "tests/unit/http/http_world.h"

#include "http/http_private.h"

/* --- heads ------------------------------------------------------------------------------------*/

/* Each is followed by a request that must not be processed. */
#define BEHIND "4\r\nabcd\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n" HOST
#define HEAD(lines)                                                                                \
    {                                                                                              \
        "POST / HTTP/1.1\r\nHost: here\r\n" lines "\r\n" BEHIND,                                   \
            sizeof("POST / HTTP/1.1\r\nHost: here\r\n" lines "\r\n" BEHIND) - 1                    \
    }

static void is_refused_and_closed(struct world *w, struct str bytes)
{
    struct talk t = dial(w);
    CHECK(send_bytes(&t, bytes.at, bytes.len));
    const struct received h = read_answer(&t);
    if (h.status != 400)
        fprintf(stderr, "%d to: %.*s\n", h.status, STR_FMT_ARGS(bytes));
    CHECK(h.status == 400);
    CHECK(has_text(h.head, "\r\nConnection: close\r\n"));
    /* libmicrohttpd itself refuses some lengths, with two answers; nothing else may follow. */
    if (has_text(h.body, "bad_text"))
        CHECK(read_end(&t));
    while (receive_more(&t)) {
    }
    CHECK(!has_text(buf_str(&t.received), "200 OK"));
    hang_up(&t);
}

TEST(an_ambiguous_head_is_refused_and_the_connection_closed)
{
    static const struct str heads[] = {
        HEAD("Content-Length : 4\r\n"),
        HEAD("Content-Length\t: 4\r\n"),
        HEAD("Transfer-Encoding : chunked\r\nContent-Length: 4\r\n"),
        HEAD("Transfer-Encoding : chunked\r\n"),
        HEAD("Transfer-Encoding: xchunked\r\n"),
        HEAD("Transfer-Encoding: gzip, chunked\r\n"),
        HEAD("Transfer-Encoding: chunked, chunked\r\n"),
        HEAD("Transfer-Encoding: chunked;q=1\r\n"),
        HEAD("Transfer-Encoding: identity\r\n"),
        HEAD("Transfer-Encoding:\r\n"),
        HEAD("Transfer-Encoding: \x0b"
             "chunked\r\n"),
        HEAD("Content-Length: +4\r\n"),
        HEAD("Content-Length: -1\r\n"),
        HEAD("Content-Length: 0x4\r\n"),
        HEAD("Content-Length: 4, 4\r\n"),
        HEAD("Content-Length: 4 4\r\n"),
        HEAD("Content-Length:\r\n"),
        HEAD("Content-Length: 4\r\nContent-Length: 4\r\n"),
        HEAD("Host: there\r\n"),
        HEAD("host: here\r\n"),
        HEAD(": nameless\r\n"),
        HEAD("X Y: z\r\n"),
        HEAD("X(Y): z\r\n"),
        HEAD("X\x7fY: z\r\n"),
        HEAD("X\xc3\xa4: z\r\n"),
        HEAD("X\0Y: z\r\n"),
        HEAD("X: a\0b\r\n"),
        HEAD("X: a\0\r\n"),
        HEAD("X: a\0: b\r\nY: c\r\n"),
        HEAD("X: a\x01\r\n"),
        HEAD("X: a\x7f\r\n"),
        HEAD("X: a\rContent-Length: 4\r\n"),
        HEAD("X: a\nContent-Length: 4\r\n"),
        HEAD("X: a\r\n Content-Length: 4\r\n"),
        HEAD("X: a\r\n\tb\r\nY: c\r\n"),
        HEAD("X: a\r\n\r"),
        HEAD("X: a\r\n\n"),
        HEAD("X: a\n\n"),
        HEAD("X: a\r"),
    };
    struct world *w = world_open((struct http_options){0});
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        is_refused_and_closed(w, heads[i]);
    is_refused_and_closed(
        w, STR("POST / HTTP/1.0\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n" BEHIND));
    is_refused_and_closed(w, STR("GET / HTTP/1.0\r\nHost: here\r\nHost: here\r\n\r\n"));
    is_refused_and_closed(w, STR("GET / HTTP/1.1\rHost: here\r\n\r\n"));
    is_refused_and_closed(w, STR("GET / HTTP/1.1\nHost: here\r\n\r\n"));
    CHECK(served(w) == 0);
    world_close(w);
}

TEST(a_head_that_is_only_unusual_is_accepted)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    send_text(&t,
              "POST / HTTP/1.1\r\nX-Test:\t a \tb\xc3\xa4\xff\r\nEmpty:\r\nEmpty: \r\n"
              "!#$%&'*+-.^_`|~09azAZ:x\r\nCookie: a=b; c=d\r\ntransfer-encoding: CHUNKED\r\n" HOST
              "4\r\nabcd\r\n0\r\n\r\n");
    CHECK(str_is(read_answer(&t).body, "POST /||a \tb\xc3\xa4\xff|loopback|abcd"));
    CHECK(read_end(&t));
    hang_up(&t);
    t = dial(w);
    send_text(&t, "POST / HTTP/1.1\r\nContent-Length: 0004\r\n" HOST "abcd");
    CHECK(str_is(read_answer(&t).body, "POST /|||loopback|abcd"));
    send_text(&t, "GET / HTTP/1.0\r\nX-Test: old\r\n\r\n");
    CHECK(str_is(read_answer(&t).body, "GET /||old|loopback|"));
    CHECK(read_end(&t));
    hang_up(&t);
    world_close(w);
}

/* libmicrohttpd accepts the second of these, which a proxy may parse differently. */
TEST(nothing_after_a_chunked_body_is_a_request)
{
    static const char *const bodies[] = {"4\r\nabcd\r\n0\r\n\r\n", "4\nabcd\n0\n\n",
                                         "4;x\r\nabcd\r\n0\r\nX: y\r\n\r\n"};
    struct world *w = world_open((struct http_options){0});
    for (uint32_t i = 0; i < 3; i++) {
        struct talk t = dial(w);
        send_text(&t, "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST);
        send_text(&t, bodies[i]);
        send_text(&t, "GET /smuggled HTTP/1.1\r\n" HOST);
        const struct received h = read_answer(&t);
        CHECK(str_is(h.body, "POST /x|||loopback|abcd"));
        CHECK(has_text(h.head, "\r\nConnection: close\r\n"));
        CHECK(read_end(&t));
        CHECK(served(w) == i + 1);
        hang_up(&t);
    }
    world_close(w);
}

TEST(an_endless_line_between_chunks_disconnects_long_before_the_idle_timeout)
{
    struct world *w = world_open((struct http_options){.idle_s = 600});
    struct talk t = dial(w);
    char line[100000];
    memset(line, 'x', sizeof line);
    send_text(&t, "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "4;");
    CHECK(send_bytes(&t, line, sizeof line));
    CHECK(read_end(&t));
    CHECK(served(w) == 0);
    CHECK(becomes_pending(w, 0));
    hang_up(&t);
    world_close(w);
}

/* --- bodies -----------------------------------------------------------------------------------*/

static const char REFUSED_413[] =
    "{\"message\":\"the request body is too large\",\"status\":413,\"code\":\"too_large\"}";

TEST(a_client_that_sends_far_too_much_gets_an_answer)
{
    enum { TIMES = 20, SIZE = 700 << 10 };
    struct world *w = world_open((struct http_options){.body_max = 100 << 10});
    for (int i = 0; i < TIMES; i++) {
        struct talk t = dial(w);
        if (i % 2) {
            send_post(&t, SIZE, "");
            send_body(&t, SIZE);
        } else {
            send_text(&t, "PATCH / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "af000\r\n");
            send_body(&t, SIZE);
            send_text(&t, "\r\n0\r\n\r\n");
        }
        const struct received h = read_answer(&t);
        CHECK(h.status == 413);
        CHECK(str_is(h.body, REFUSED_413));
        CHECK(has_text(h.head, "\r\nConnection: close\r\n"));
        CHECK(read_end(&t));
        hang_up(&t);
    }
    CHECK(served(w) == 0);
    world_close(w);
}

TEST(a_body_is_kept_once)
{
    enum { SIZE = 3 << 20 };
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    send_text(&t, "POST /memory HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "300000\r\n");
    send_body(&t, SIZE);
    send_text(&t, "\r\n0\r\n\r\n");
    const struct received h = read_answer(&t);
    int64_t held;
    CHECK(h.status == 200 && str_parse_i64(h.body, &held) && held < 1 << 20);
    hang_up(&t);
    world_close(w);
}

static const char REFUSED_FULL[] =
    "{\"message\":\"too many request bodies are being received; try again later\","
    "\"status\":503,\"code\":\"limit\"}";

static void is_told_to_come_again(struct talk *t)
{
    const struct received h = read_answer(t);
    CHECK(h.status == 503);
    CHECK(str_is(h.body, REFUSED_FULL));
    CHECK(has_text(h.head, "\r\nRetry-After: 1\r\n"));
    CHECK(has_text(h.head, "\r\nConnection: close\r\n"));
    CHECK(read_end(t));
    hang_up(t);
}

TEST(all_bodies_together_have_a_bound)
{
    struct world *w = world_open((struct http_options){.body_max = 1000, .body_total_max = 1500});
    struct talk keeps = dial(w);
    send_text(&keeps, "POST /hold HTTP/1.1\r\nContent-Length: 1000\r\n" HOST);
    send_body(&keeps, 1000);
    wait_held(w, 1);
    struct talk announces = dial(w);
    send_post(&announces, 501, "");
    is_told_to_come_again(&announces);
    struct talk chunks = dial(w);
    send_text(&chunks, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "1f5\r\n");
    send_body(&chunks, 501);
    send_text(&chunks, "\r\n0\r\n\r\n");
    is_told_to_come_again(&chunks);
    struct talk fits = dial(w);
    send_post(&fits, 500, "");
    send_body(&fits, 500);
    CHECK(read_answer(&fits).status == 200);
    in_loop(w, answer_held);
    CHECK(read_answer(&keeps).status == 200);
    /* Answered requests do not count any more. */
    send_post(&fits, 1000, "");
    send_body(&fits, 1000);
    CHECK(read_answer(&fits).status == 200);
    hang_up(&fits);
    hang_up(&keeps);
    CHECK(served(w) == 3);
    world_close(w);
}

TEST(closing_does_not_wait_for_refused_clients_that_keep_sending)
{
    struct world *w = world_open((struct http_options){.body_max = 1000});
    struct talk t = dial(w);
    send_text(&t, "POST /x HTTP/1.1\r\nContent-Length: 100000\r\n" HOST "half");
    CHECK(read_answer(&t).status == 413);
    in_loop(w, ask_pending);
    CHECK(w->pending == 0);
    world_close(w);
    CHECK(read_end(&t));
    hang_up(&t);
}

static void sweep_much_later(struct world *w)
{
    struct client *c = &w->server->clients[0];
    clients_sweep(w->server);
    must(c->fd >= 0 && c->linger);
    c->since_ms -= HTTP_LINGER_MS + 1;
    clients_sweep(w->server);
    must(c->fd < 0 && !c->linger);
}

static void ask_linger(struct world *w)
{
    w->pending = w->server->clients[0].linger != NULL;
}

TEST(a_refused_client_that_stops_sending_is_disconnected)
{
    struct world *w = world_open((struct http_options){.body_max = 1000, .connections_max = 1});
    struct talk t = dial(w);
    send_text(&t, "POST /x HTTP/1.1\r\nContent-Length: 100000\r\n" HOST "half");
    CHECK(read_answer(&t).status == 413);
    CHECK(read_end(&t));
    do {
        in_loop(w, ask_linger);
    } while (!w->pending);
    in_loop(w, sweep_much_later);
    struct talk next = dial(w);
    send_text(&next, "GET /x HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&next).status == 200);
    hang_up(&next);
    hang_up(&t);
    world_close(w);
}

TEST(a_refused_client_that_keeps_sending_is_disconnected)
{
    struct world *w = world_open((struct http_options){.body_max = 1000, .connections_max = 1});
    struct talk t = dial(w);
    send_text(&t, "POST /x HTTP/1.1\r\nContent-Length: 100000000\r\n" HOST);
    CHECK(read_answer(&t).status == 413);
    char bytes[10000] = "";
    size_t said = 0;
    while (send_bytes(&t, bytes, sizeof bytes))
        said += sizeof bytes;
    /* Buffers of the kernel are added. */
    CHECK(said >= HTTP_LINGER_BYTES - sizeof bytes && said < HTTP_LINGER_BYTES + (64 << 20));
    hang_up(&t);
    /* And its slot is free: the close follows. */
    t = dial(w);
    send_text(&t, "GET /x HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&t).status == 200);
    hang_up(&t);
    world_close(w);
}

/* --- admit ------------------------------------------------------------------------------------*/

TEST(a_request_that_is_not_admitted_is_answered_before_its_body)
{
    static const char *const heads[] = {
        "POST /denied/x?a=b HTTP/1.1\r\nX-Test: yes\r\nContent-Length: 1000\r\n" HOST,
        "POST /denied/x?a=b HTTP/1.1\r\nX-Test: yes\r\nTransfer-Encoding: chunked\r\n" HOST,
        "POST /denied/x?a=b HTTP/1.1\r\nX-Test: yes\r\nContent-Length: 1000000000\r\n" HOST,
        "POST /denied/x?a=b HTTP/1.1\r\nX-Test: yes\r\nContent-Length: 9\r\n"
        "Expect: 100-continue\r\n" HOST,
    };
    struct world *w = world_open((struct http_options){0});
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        struct talk t = dial(w);
        send_text(&t, heads[i]);
        const struct received h = read_answer(&t);
        CHECK(h.status == 401);
        CHECK(str_is(h.body, "POST /denied/x|a=b;|yes|loopback|"));
        CHECK(has_text(h.head, "\r\nWWW-Authenticate: Basic\r\n"));
        CHECK(read_end(&t));
        hang_up(&t);
    }
    CHECK(served(w) == 0);
    CHECK(asked(w) == sizeof heads / sizeof heads[0]);
    world_close(w);
}

TEST(a_rejected_request_without_a_body_keeps_its_connection)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    send_text(&t, "GET /denied HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&t).status == 401);
    send_text(&t, "POST /denied HTTP/1.1\r\nContent-Length: 0\r\n" HOST);
    CHECK(read_answer(&t).status == 401);
    CHECK(served(w) == 0);
    send_text(&t, "POST /denied HTTP/1.1\r\nAuthorization: please\r\nContent-Length: 4\r\n" HOST
                  "abcd");
    CHECK(str_is(read_answer(&t).body, "POST /denied|||loopback|abcd"));
    CHECK(asked(w) == 3);
    /* admit() is not called for malformed requests. */
    send_text(&t, "GET /denied% HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&t).status == 400);
    CHECK(asked(w) == 3);
    hang_up(&t);
    world_close(w);
}

/* --- addresses --------------------------------------------------------------------------------*/

static void per_address_is(uint32_t connections_max, uint32_t per_address_max, uint32_t expected)
{
    struct world *w = world_open((struct http_options){.connections_max = connections_max,
                                                       .per_address_max = per_address_max});
    CHECK(w->server->per_address_max == expected);
    world_close(w);
}

TEST(one_address_cannot_use_all_connections)
{
    per_address_is(0, 0, http_connections_default() - 16);
    per_address_is(1000, 0, 984);
    per_address_is(0, 7, 7);
    per_address_is(32, 0, 16);
    per_address_is(31, 0, 16);
    per_address_is(2, 0, 1);
    per_address_is(1, 0, 1);
}
