/* Goal: a library call that fails while a server is opened, or while it answers, is an error of
 * that one thing. Method: calls of libuv and libmicrohttpd fail on purpose (tests/faults.h). */
#include "tests/unit/http/http_world.h"

#include <microhttpd.h>

#include "auth/passwords.h"
#include "tests/faults.h"

FAULT(int, uv_poll_init, (uv_loop_t * l, uv_poll_t *p, int fd), (l, p, fd), UV_ENOMEM)
FAULT(int, uv_poll_start, (uv_poll_t * p, int e, uv_poll_cb f), (p, e, f), UV_ENOMEM)
FAULT(int, uv_async_init, (uv_loop_t * l, uv_async_t *a, uv_async_cb f), (l, a, f), UV_EMFILE)
FAULT(int, uv_thread_create, (uv_thread_t * t, uv_thread_cb f, void *a), (t, f, a), UV_EAGAIN)
FAULT(int, uv_mutex_init, (uv_mutex_t * m), (m), UV_ENOMEM)
FAULT(int, uv_cond_init, (uv_cond_t * c), (c), UV_ENOMEM)
FAULT(struct MHD_Response *, MHD_create_response_from_buffer,
      (size_t size, void *at, enum MHD_ResponseMemoryMode mode), (size, at, mode), NULL)
FAULT(struct MHD_Response *, MHD_create_response_from_callback,
      (uint64_t size, size_t block, MHD_ContentReaderCallback read, void *self,
       MHD_ContentReaderFreeCallback done),
      (size, block, read, self, done), NULL)
FAULT(enum MHD_Result, MHD_queue_response,
      (struct MHD_Connection * c, unsigned status, struct MHD_Response *r), (c, status, r), MHD_NO)
FAULT(const union MHD_DaemonInfo *, MHD_get_daemon_info,
      (struct MHD_Daemon * d, enum MHD_DaemonInfoType type, ...), (d, type), NULL)

static void serve_nothing(void *self, struct http_request *request)
{
    (void)self;
    (void)request;
}

/* The call fails, the server is not opened and says why, nothing is left of it, and the next one is
 * opened in the same loop. */
static void check_opening(const char *call, unsigned nth)
{
    uv_loop_t loop;
    char why[200] = "";
    const struct http_options options = {.address = "127.0.0.1"};
    const struct http_handler handler = {.serve = serve_nothing};
    CHECK(uv_loop_init(&loop) == 0);
    fault_set(call, nth);
    CHECK(!http_open(&loop, &options, handler, why, sizeof why));
    CHECK(fault_was_hit() && why[0]);
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0);
    struct http_server *s = http_open(&loop, &options, handler, why, sizeof why);
    CHECK(s && http_port(s) != 0);
    http_close(s);
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0 && uv_loop_close(&loop) == 0);
}

TEST(a_poll_handle_that_cannot_be_made_is_an_error_of_opening)
{
    check_opening("uv_poll_init", 1); /* of libmicrohttpd's descriptor */
    check_opening("uv_poll_init", 2); /* of the listening socket */
}

TEST(the_descriptor_of_libmicrohttpd_that_cannot_be_watched_is_an_error_of_opening)
{
    check_opening("uv_poll_start", 1);
}

TEST(a_listening_socket_that_cannot_be_watched_is_an_error_of_opening)
{
    check_opening("uv_poll_start", 2);
}

TEST(an_async_handle_that_cannot_be_made_is_an_error_of_opening)
{
    check_opening("uv_async_init", 1);
}

TEST(a_daemon_without_epoll_is_an_error_of_opening)
{
    check_opening("MHD_get_daemon_info", 1);
}

/* The connection ends without an answer; the next request is answered. */
static void check_answering(const char *call, const char *target)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    char text[100];
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" HOST, target);
    fault_set(call, 1);
    send_text(&t, text);
    CHECK(read_end(&t) && fault_was_hit());
    hang_up(&t);
    CHECK(becomes_pending(w, 0));
    t = dial(w);
    send_text(&t, "GET /again HTTP/1.1\r\n" HOST);
    CHECK(str_is(read_answer(&t).body, "GET /again|||loopback|"));
    hang_up(&t);
    world_close(w);
}

TEST(an_answer_that_cannot_be_made_ends_its_connection_alone)
{
    check_answering("MHD_create_response_from_buffer", "/now");
    check_answering("MHD_create_response_from_buffer", "/later");
}

TEST(an_answer_that_is_not_taken_ends_its_connection_alone)
{
    check_answering("MHD_queue_response", "/now");
    check_answering("MHD_queue_response", "/later");
}

TEST(a_stream_that_cannot_be_made_ends_its_connection_alone)
{
    check_answering("MHD_create_response_from_callback", "/count?lines=10");
}

/* No answers to passwords, no leak, and the next one is made. */
static void check_passwords(const char *call, unsigned nth)
{
    uv_loop_t loop;
    CHECK(uv_loop_init(&loop) == 0);
    fault_set(call, nth);
    CHECK(!passwords_new(&loop) && fault_was_hit());
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0);
    struct passwords *p = passwords_new(&loop);
    CHECK(p);
    passwords_free(p);
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0 && uv_loop_close(&loop) == 0);
}

TEST(the_thread_for_passwords_may_not_start)
{
    check_passwords("uv_thread_create", 1);
    check_passwords("uv_async_init", 1);
    check_passwords("uv_mutex_init", 1);
    check_passwords("uv_cond_init", 1);
}
