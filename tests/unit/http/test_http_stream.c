/* Goal: the pieces of a stream arrive complete and in order, and its owner is notified when the
 * client lags or disconnects, or when the server stops.
 * Method: a real server on the loopback. Requests are held and turned into streams by the test, or
 * count by themselves. */
#include "tests/unit/http/http_world.h"

#include "http/http_private.h"

static struct http_stream *streams[HELD_MAX]; /* the loop's own */
static uint32_t stream_count;
static err last_err;
static size_t last_waiting;

/* --- orders for the loop ----------------------------------------------------------------------*/

static const struct http_answer OK_HEAD = {.status = 200, .content_type = "text/event-stream"};

static void begin_held(struct world *w)
{
    stream_count = w->held_count;
    for (uint32_t i = 0; i < stream_count; i++)
        streams[i] = http_stream_begin(w->held[i], &OK_HEAD);
    uv_mutex_lock(&w->mutex);
    w->held_count = 0;
    uv_mutex_unlock(&w->mutex);
}

static void put_all(struct str piece)
{
    for (uint32_t i = 0; i < stream_count; i++)
        last_err = http_stream_put(streams[i], piece);
}

static void put_one(struct world *w)
{
    (void)w;
    put_all(STR("one"));
}

static void put_two(struct world *w)
{
    (void)w;
    put_all(STR("two"));
}

static void put_nothing(struct world *w)
{
    (void)w;
    put_all(STR(""));
}

static void end_all(struct world *w)
{
    (void)w;
    for (uint32_t i = 0; i < stream_count; i++)
        http_stream_end(streams[i]);
    stream_count = 0;
}

static void break_all(struct world *w)
{
    (void)w;
    for (uint32_t i = 0; i < stream_count; i++)
        http_stream_break(streams[i]);
    stream_count = 0;
}

static void sweep(struct world *w)
{
    clients_sweep(w->server);
}

static void quiesce(struct world *w)
{
    http_quiesce(w->server);
}

/* More than all buffers between server and client. */
enum { LONG = 24 << 20 };
static const struct http_options LAZY = {.idle_s = 1, .stream_max = LONG, .stream_total_max = LONG};

static void put_until_full(struct world *w)
{
    static char piece[64 << 10];
    (void)w;
    memset(piece, 'x', sizeof piece);
    do {
        last_err = http_stream_put(streams[0], (struct str){piece, sizeof piece});
    } while (last_err == OK);
    last_waiting = http_stream_waiting(streams[0]);
}

/* --- a client that understands chunks ---------------------------------------------------------*/

static struct talk ask(struct world *w, const char *line)
{
    struct talk t = dial(w);
    send_text(&t, line);
    send_text(&t, "\r\n" HOST);
    return t;
}

/* A stream for one client whose request is held. */
static struct talk begin_one(struct world *w)
{
    struct talk t = ask(w, "GET /hold HTTP/1.1");
    wait_held(w, 1);
    in_loop(w, begin_held);
    CHECK(streams[0] != NULL);
    return t;
}

/* Exactly that many received bytes, which drop_received() removes. */
static struct str read_bytes(struct talk *t, uint32_t size)
{
    while (t->received.len < size)
        CHECK(receive_more(t));
    return str_slice(buf_str(&t->received), 0, size);
}

static void drop_received(struct talk *t, uint32_t size)
{
    memmove(t->received.at, t->received.at + size, t->received.len - size);
    t->received.len -= size;
}

/* The next chunk into `out`; false for the last one. */
static bool read_chunk(struct talk *t, struct buf *out)
{
    uint32_t end;
    while (!find_text(buf_str(&t->received), "\r\n", &end))
        CHECK(receive_more(t));
    const uint32_t size = (uint32_t)strtoul(t->received.at, NULL, 16);
    const struct str chunk = read_bytes(t, end + 2 + size + 2);
    buf_put_str(out, str_slice(chunk, end + 2, end + 2 + size));
    drop_received(t, end + 2 + size + 2);
    return size > 0;
}

static void answer_is(struct talk *t, const char *text)
{
    struct arena a = {0};
    struct buf b = buf_in(&a);
    while (b.len < strlen(text))
        CHECK(read_chunk(t, &b));
    CHECK(str_is(buf_str(&b), text));
    arena_fini(&a);
}

static void gets_the_end(struct talk *t)
{
    CHECK(str_is(read_bytes(t, 5), "0\r\n\r\n"));
    drop_received(t, 5);
}

static void gets_a_head(struct talk *t)
{
    const struct received h = read_one_answer(t, false);
    CHECK(h.status == 200);
    CHECK(has_text(h.head, "\r\nTransfer-Encoding: chunked\r\n"));
    CHECK(has_text(h.head, "\r\nContent-Type: text/"));
    CHECK(!has_text(h.head, "Content-Length"));
}

static struct str numbers(struct arena *a, int64_t end)
{
    struct buf b = buf_in(a);
    for (int64_t i = 0; i < end; i++) {
        buf_put_i64(&b, i);
        buf_put_c(&b, '\n');
    }
    return buf_str(&b);
}

/* --- pieces -----------------------------------------------------------------------------------*/

TEST(the_head_is_out_before_the_first_piece_and_each_piece_before_the_next)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = begin_one(w);
    gets_a_head(&t);
    in_loop(w, put_one);
    answer_is(&t, "one");
    in_loop(w, put_nothing);
    in_loop(w, put_two);
    answer_is(&t, "two");
    CHECK(last_err == OK);
    in_loop(w, end_all);
    gets_the_end(&t);
    CHECK(becomes_pending(w, 0));
    hang_up(&t);
    world_close(w);
}

TEST(many_pieces_arrive_whole_and_in_order)
{
    enum { COUNT = 2000000 };
    struct arena a = {0};
    struct buf b = buf_in(&a);
    struct world *w = world_open((struct http_options){0});
    struct talk t = ask(w, "GET /count?to=2000000 HTTP/1.1");
    gets_a_head(&t);
    while (read_chunk(&t, &b)) {
    }
    CHECK(str_eq(buf_str(&b), numbers(&a, COUNT)));
    /* And the connection is still usable. */
    send_text(&t, "GET /count?to=3 HTTP/1.1\r\n" HOST "GET /x HTTP/1.1\r\n" HOST);
    gets_a_head(&t);
    answer_is(&t, "0\n1\n2\n");
    gets_the_end(&t);
    CHECK(str_is(read_answer(&t).body, "GET /x|||loopback|"));
    hang_up(&t);
    world_close(w);
    arena_fini(&a);
}

TEST(a_stream_may_have_no_piece_at_all)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = ask(w, "GET /count?to=0 HTTP/1.1");
    gets_a_head(&t);
    gets_the_end(&t);
    send_text(&t, "GET /x HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&t).status == 200);
    hang_up(&t);
    world_close(w);
}

static void begin_with_body(struct world *w)
{
    streams[0] = http_stream_begin(w->held[0], &(struct http_answer){200, .body = STR("first")});
    w->held_count = 0;
    stream_count = 1;
    put_all(STR(", then"));
    end_all(w);
}

TEST(the_body_of_the_head_is_the_first_piece)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = ask(w, "GET /hold HTTP/1.1");
    wait_held(w, 1);
    in_loop(w, begin_with_body);
    CHECK(read_one_answer(&t, false).status == 200);
    answer_is(&t, "first, then");
    gets_the_end(&t);
    hang_up(&t);
    world_close(w);
}

TEST(two_hundred_streams_are_independent)
{
    enum { COUNT = 200, NUMBERS = 20000 };
    static struct talk talks[COUNT];
    struct arena a = {0};
    struct world *w = world_open((struct http_options){0});
    const struct str expected = numbers(&a, NUMBERS);
    for (int i = 0; i < COUNT; i++)
        talks[i] = ask(w, i % 2 ? "GET /count?to=20000 HTTP/1.1" : "GET /hold HTTP/1.1");
    wait_held(w, COUNT / 2);
    in_loop(w, begin_held);
    in_loop(w, put_one);
    in_loop(w, put_two);
    in_loop(w, end_all);
    for (int i = 0; i < COUNT; i++) {
        struct arena own = {0};
        struct buf b = buf_in(&own);
        gets_a_head(&talks[i]);
        while (read_chunk(&talks[i], &b)) {
        }
        CHECK(i % 2 ? str_eq(buf_str(&b), expected) : str_is(buf_str(&b), "onetwo"));
        hang_up(&talks[i]);
        arena_fini(&own);
    }
    CHECK(becomes_pending(w, 0));
    world_close(w);
    arena_fini(&a);
}

/* --- other clients ----------------------------------------------------------------------------*/

TEST(an_http_1_0_client_gets_the_end_of_the_stream_as_the_end_of_the_connection)
{
    struct arena a = {0};
    struct world *w = world_open((struct http_options){0});
    struct talk t = ask(w, "GET /count?to=100000 HTTP/1.0");
    while (receive_more(&t)) {
    }
    const struct str all = buf_str(&t.received);
    uint32_t end = 0;
    CHECK(find_text(all, "\r\n\r\n", &end));
    CHECK(!has_text(str_slice(all, 0, end), "chunked"));
    CHECK(str_eq(str_slice(all, end + 4, all.len), numbers(&a, 100000)));
    hang_up(&t);
    world_close(w);
    arena_fini(&a);
}

TEST(a_head_request_gets_no_body)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = ask(w, "HEAD /count?to=1000 HTTP/1.1");
    const struct received h = read_one_answer(&t, false);
    CHECK(h.status == 200 && !has_text(h.head, "Content-Length"));
    CHECK(read_end(&t));
    wait_gone(w, 1);
    hang_up(&t);
    t = ask(w, "HEAD /hold HTTP/1.1");
    wait_held(w, 1);
    in_loop(w, begin_held);
    wait_gone(w, 2);
    in_loop(w, put_one);
    CHECK(last_err == ERR_UNAVAILABLE);
    in_loop(w, end_all);
    CHECK(read_one_answer(&t, false).status == 200);
    CHECK(read_end(&t));
    CHECK(becomes_pending(w, 0));
    hang_up(&t);
    world_close(w);
}

TEST(a_broken_stream_has_no_last_chunk)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = begin_one(w);
    in_loop(w, put_one);
    gets_a_head(&t);
    answer_is(&t, "one");
    in_loop(w, put_two);
    in_loop(w, break_all);
    answer_is(&t, "two");
    CHECK(read_end(&t));
    hang_up(&t);
    world_close(w);
}

/* --- clients that disconnect ------------------------------------------------------------------*/

static void put_and_look(struct world *w)
{
    (void)w;
    put_all(STR("late"));
    last_waiting = http_stream_waiting(streams[0]);
    http_stream_await(streams[0]);
}

TEST(the_owner_of_an_idle_stream_is_notified_of_a_disconnect)
{
    static const struct linger now = {.l_onoff = 1, .l_linger = 0};
    struct world *w = world_open((struct http_options){.idle_s = 600});
    for (uint32_t i = 0; i < 4; i++) {
        struct talk t = begin_one(w);
        gets_a_head(&t);
        if (i == 1) /* with a reset */
            CHECK(setsockopt(t.fd, SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0);
        if (i == 2) /* after another request */
            send_text(&t, "GET /never HTTP/1.1\r\n" HOST);
        if (i == 3) /* only half of it */
            CHECK(shutdown(t.fd, SHUT_WR) == 0);
        else
            hang_up(&t);
        wait_gone(w, i + 1);
        CHECK(becomes_pending(w, 0));
        in_loop(w, put_and_look);
        CHECK(last_err == ERR_UNAVAILABLE && last_waiting == 0);
        in_loop(w, end_all);
        if (i == 3)
            hang_up(&t);
    }
    CHECK(gone_count(w) == 4);
    CHECK(served(w) == 4);
    world_close(w);
}

TEST(a_client_that_disconnects_within_a_long_stream_is_released)
{
    struct world *w = world_open((struct http_options){.idle_s = 600});
    struct talk t = ask(w, "GET /count?to=100000000 HTTP/1.1");
    gets_a_head(&t);
    hang_up(&t);
    wait_gone(w, 1);
    CHECK(becomes_pending(w, 0));
    t = ask(w, "GET /x HTTP/1.1");
    CHECK(read_answer(&t).status == 200);
    hang_up(&t);
    world_close(w);
}

TEST(a_client_may_close_its_sending_side_while_it_reads_a_stream)
{
    struct arena a = {0};
    struct buf b = buf_in(&a);
    struct world *w = world_open((struct http_options){.idle_s = 600});
    struct talk t = ask(w, "GET /count?to=3000000 HTTP/1.1");
    gets_a_head(&t);
    CHECK(shutdown(t.fd, SHUT_WR) == 0);
    in_loop(w, sweep);
    in_loop(w, sweep);
    while (read_chunk(&t, &b)) {
    }
    CHECK(str_eq(buf_str(&b), numbers(&a, 3000000)));
    CHECK(gone_count(w) == 0);
    hang_up(&t);
    world_close(w);
    arena_fini(&a);
}

TEST(a_disconnected_client_gets_no_stream)
{
    struct world *w = world_open((struct http_options){.idle_s = 600});
    struct talk t = ask(w, "GET /hold HTTP/1.1");
    wait_held(w, 1);
    hang_up(&t);
    wait_gone(w, 1);
    in_loop(w, begin_held);
    CHECK(streams[0] == NULL);
    CHECK(becomes_pending(w, 0));
    CHECK(gone_count(w) == 1);
    world_close(w);
}

/* --- clients that do not read -----------------------------------------------------------------*/

static struct talk begin_for_a_lazy_client(struct world *w)
{
    const int small = 16 << 10;
    struct talk t = dial(w);
    CHECK(setsockopt(t.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
    send_text(&t, "GET /hold HTTP/1.1\r\n" HOST);
    wait_held(w, 1);
    in_loop(w, begin_held);
    gets_a_head(&t);
    return t;
}

TEST(a_stream_has_a_limit)
{
    enum { MAX = 300000 };
    struct world *w = world_open((struct http_options){.stream_max = MAX});
    struct talk t = begin_for_a_lazy_client(w);
    in_loop(w, put_until_full);
    CHECK(last_err == ERR_LIMIT);
    CHECK(last_waiting <= MAX && last_waiting > MAX - (64 << 10));
    in_loop(w, end_all);
    struct buf b = buf_in(&t.arena);
    while (read_chunk(&t, &b)) {
    }
    CHECK(b.len == last_waiting);
    hang_up(&t);
    world_close(w);
}

static size_t first_waiting;

/* In one call, so that the client cannot read in between. */
static void fill_two(struct world *w)
{
    put_until_full(w);
    first_waiting = last_waiting;
    streams[0] = streams[1];
    put_until_full(w);
    stream_count = 0;
    http_stream_end(streams[0]);
}

TEST(all_streams_together_have_a_limit)
{
    enum { MAX = 200000 };
    struct world *w = world_open((struct http_options){.stream_total_max = MAX});
    struct talk t[] = {ask(w, "GET /hold HTTP/1.1"), ask(w, "GET /hold HTTP/1.1")};
    wait_held(w, 2);
    in_loop(w, begin_held);
    in_loop(w, fill_two);
    /* A stream without unsent bytes accepts a small piece, or its owner would try for ever. */
    CHECK(last_err == ERR_LIMIT && last_waiting == HTTP_STREAM_LOW);
    CHECK(first_waiting <= MAX && first_waiting > MAX - (64 << 10));
    hang_up(&t[0]);
    hang_up(&t[1]);
    world_close(w);
}

TEST(a_client_that_does_not_read_is_cut_and_an_idle_stream_is_not)
{
    struct world *w = world_open(LAZY);
    struct talk patient = begin_one(w);
    struct http_stream *silent = streams[0];
    gets_a_head(&patient);
    struct talk lazy = begin_for_a_lazy_client(w);
    in_loop(w, put_until_full);
    wait_gone(w, 1);
    in_loop(w, put_one);
    CHECK(last_err == ERR_UNAVAILABLE);
    in_loop(w, end_all);
    /* The first one is idle for longer than the other did not read. */
    in_loop(w, sweep);
    streams[0] = silent;
    stream_count = 1;
    in_loop(w, put_two);
    CHECK(last_err == OK);
    answer_is(&patient, "two");
    in_loop(w, end_all);
    gets_the_end(&patient);
    CHECK(gone_count(w) == 1);
    hang_up(&patient);
    hang_up(&lazy);
    world_close(w);
}

/* libmicrohttpd alone would not time out: each byte that is read counts as activity. */
TEST(a_client_that_reads_byte_by_byte_is_cut)
{
    struct world *w = world_open(LAZY);
    struct talk t = begin_for_a_lazy_client(w);
    in_loop(w, put_until_full);
    in_loop(w, end_all);
    char crumb[64];
    const uint64_t end = uv_hrtime() + PATIENCE_S * 1000000000ull;
    uint64_t taken = 0;
    for (ssize_t got = 1; got > 0 && uv_hrtime() < end; taken += got > 0 ? (uint64_t)got : 0) {
        in_loop(w, ask_pending);
        if (w->pending == 0)
            break;
        got = recv(t.fd, crumb, sizeof crumb, 0);
    }
    CHECK(taken < last_waiting);
    CHECK(becomes_pending(w, 0));
    hang_up(&t);
    world_close(w);
}

/* --- stopping ---------------------------------------------------------------------------------*/

static void wait_stopping(struct world *w, uint32_t count)
{
    uv_mutex_lock(&w->mutex);
    while (w->stopping < count)
        CHECK(uv_cond_timedwait(&w->changed, &w->mutex, PATIENCE_S * 1000000000ull) == 0);
    CHECK(w->stopping == count);
    uv_mutex_unlock(&w->mutex);
}

TEST(a_quiesced_server_notifies_every_stream_and_waits_for_its_end)
{
    struct world *w = world_open((struct http_options){0});
    struct talk late = ask(w, "GET /x HTTP/1.1");
    CHECK(read_answer(&late).status == 200);
    struct talk t = begin_one(w);
    gets_a_head(&t);
    in_loop(w, quiesce);
    wait_stopping(w, 1);
    /* A stream that begins now is notified too. */
    send_text(&late, "GET /count?to=5 HTTP/1.1\r\n" HOST);
    CHECK(has_text(read_one_answer(&late, false).head, "\r\nConnection: close\r\n"));
    answer_is(&late, "0\n1\n2\n3\n4\n");
    gets_the_end(&late);
    wait_stopping(w, 2);
    CHECK(becomes_pending(w, 1));
    in_loop(w, put_one);
    in_loop(w, end_all);
    answer_is(&t, "one");
    gets_the_end(&t);
    CHECK(becomes_pending(w, 0));
    hang_up(&t);
    hang_up(&late);
    world_close(w);
}

TEST(closing_sends_unsent_bytes_and_no_last_chunk)
{
    struct world *w = world_open((struct http_options){0});
    struct talk left = begin_one(w);
    hang_up(&left);
    wait_gone(w, 1); /* and its owner never ends it */
    struct talk silent = ask(w, "GET /hold HTTP/1.1");
    struct talk spoken = ask(w, "GET /hold HTTP/1.1");
    wait_held(w, 2);
    in_loop(w, begin_held);
    gets_a_head(&silent);
    gets_a_head(&spoken);
    in_loop(w, put_one);
    in_loop(w, close_server);
    stream_count = 0;
    answer_is(&silent, "one");
    answer_is(&spoken, "one");
    CHECK(read_end(&silent) && read_end(&spoken));
    CHECK(gone_count(w) == 1 && w->stopping == 0);
    hang_up(&silent);
    hang_up(&spoken);
    world_close(w);
}

TEST(closing_does_not_wait_for_a_stream_without_a_reader)
{
    struct world *w = world_open(LAZY);
    struct talk t = begin_for_a_lazy_client(w);
    in_loop(w, put_until_full);
    in_loop(w, close_server);
    stream_count = 0;
    hang_up(&t);
    world_close(w);
}

static struct talk *speaker;

/* Bytes sent here are read when the server flushes its last answers. */
static void send_and_close(struct world *w)
{
    send_text(speaker, "POST /x HTTP/1.1\r\nContent-Length: 2\r\n" HOST "ab");
    close_server(w);
}

TEST(no_callback_is_called_while_the_server_closes)
{
    struct world *w = world_open(LAZY);
    struct talk talks = ask(w, "GET /x HTTP/1.1");
    CHECK(read_answer(&talks).status == 200);
    struct talk lazy = begin_for_a_lazy_client(w);
    in_loop(w, put_until_full);
    const uint32_t before = asked(w);
    speaker = &talks;
    in_loop(w, send_and_close);
    stream_count = 0;
    CHECK(read_answer(&talks).status == 503);
    CHECK(asked(w) == before);
    hang_up(&talks);
    hang_up(&lazy);
    world_close(w);
}
