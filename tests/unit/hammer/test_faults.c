/* Goal: a failed call of libcurl or libuv ends only its own request or program, with a reason.
 * Method: calls fail on purpose (tests/faults.h); real shells and sockets otherwise. */
#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "power/hammer/hammer_ops.h"
#include "power/hammer/http_client.h"
#include "power/hammer/spawn.h"
#include "tests/faults.h"

FAULT(CURLM *, curl_multi_init, (void), (), NULL)
FAULT(CURL *, curl_easy_init, (void), (), NULL)
FAULT(CURLMcode, curl_multi_add_handle, (CURLM * m, CURL *e), (m, e), CURLM_OUT_OF_MEMORY)
FAULT(struct curl_slist *, curl_slist_append, (struct curl_slist * l, const char *s), (l, s), NULL)
FAULT(int, uv_poll_init_socket, (uv_loop_t * l, uv_poll_t *p, uv_os_sock_t fd), (l, p, fd),
      UV_ENOMEM)
FAULT(int, uv_poll_start, (uv_poll_t * p, int e, uv_poll_cb f), (p, e, f), UV_ENOMEM)
/* Fails as for a missing program: the handle is initialized nevertheless. */
static int spawn_nothing(uv_loop_t *loop, uv_process_t *process,
                         const uv_process_options_t *options);
FAULT(int, uv_spawn, (uv_loop_t * l, uv_process_t *p, const uv_process_options_t *o), (l, p, o),
      spawn_nothing(l, p, o))

static int spawn_nothing(uv_loop_t *loop, uv_process_t *process,
                         const uv_process_options_t *options)
{
    uv_process_options_t wrong = *options;
    wrong.file = "/nowhere/program";
    return __real_uv_spawn(loop, process, &wrong);
}

FAULT(int, uv_read_start, (uv_stream_t * s, uv_alloc_cb a, uv_read_cb r), (s, a, r), UV_EINVAL)
FAULT(int, uv_write,
      (uv_write_t * w, uv_stream_t *s, const uv_buf_t b[], unsigned n, uv_write_cb f),
      (w, s, b, n, f), UV_ENOMEM)
FAULT(int, uv_udp_init, (uv_loop_t * l, uv_udp_t *u), (l, u), UV_EMFILE)
FAULT(int, uv_udp_send,
      (uv_udp_send_t * r, uv_udp_t *u, const uv_buf_t b[], unsigned n, const struct sockaddr *a,
       uv_udp_send_cb f),
      (r, u, b, n, a, f), UV_ENOBUFS)

/* A variadic function: numbers and pointers have the same size. */
CURLMcode __real_curl_multi_setopt(CURLM *multi, CURLMoption option, ...);
CURLMcode __wrap_curl_multi_setopt(CURLM *multi, CURLMoption option, ...);
CURLMcode __wrap_curl_multi_setopt(CURLM *multi, CURLMoption option, ...)
{
    va_list arguments;
    va_start(arguments, option);
    void *value = va_arg(arguments, void *);
    va_end(arguments);
    return fault_is_due("curl_multi_setopt") ? CURLM_UNKNOWN_OPTION
                                             : __real_curl_multi_setopt(multi, option, value);
}

/* ---- requests ---- */

struct answers {
    uint32_t count;
    enum hammer_end end;
};

static void answered(void *self, const struct http_client_response *answer)
{
    struct answers *a = self;
    a->count++;
    a->end = answer->end;
}

static void loop_end(uv_loop_t *loop)
{
    CHECK(uv_run(loop, UV_RUN_DEFAULT) == 0 && uv_loop_close(loop) == 0);
}

TEST(a_client_that_cannot_be_set_up_is_not_opened)
{
    uv_loop_t loop;
    CHECK(uv_loop_init(&loop) == 0);
    fault_set("curl_multi_init", 1);
    CHECK(!http_client_open(&loop) && fault_was_hit());
    for (unsigned nth = 1; nth <= 5; nth++) {
        fault_set("curl_multi_setopt", nth);
        CHECK(!http_client_open(&loop) && fault_was_hit());
    }
    struct http_client *web = http_client_open(&loop);
    CHECK(web);
    http_client_close(web);
    loop_end(&loop);
}

/* A socket that accepts connections and sends nothing. */
static int listen_mute(char *url, size_t size)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 8) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&a, &len) == 0);
    snprintf(url, size, "http://127.0.0.1:%u/", (unsigned)ntohs(a.sin_port));
    return fd;
}

static void check_starting(const char *call, unsigned nth)
{
    uv_loop_t loop;
    char url[64];
    const int fd = listen_mute(url, sizeof url);
    const struct http_client_request ask = {.method = "GET", .url = url, .timeout_ms = 60000};
    struct answers a = {0};
    CHECK(uv_loop_init(&loop) == 0);
    struct http_client *web = http_client_open(&loop);
    fault_set(call, nth);
    CHECK(!http_client_start(web, &ask, answered, &a) && fault_was_hit() && a.count == 0);
    struct http_client_call *next = http_client_start(web, &ask, answered, &a);
    CHECK(next);
    http_client_cancel(next);
    http_client_close(web);
    loop_end(&loop);
    close(fd);
}

TEST(a_request_without_a_handle_is_not_started)
{
    check_starting("curl_easy_init", 1);
}

TEST(a_request_whose_headers_have_no_memory_is_not_started)
{
    check_starting("curl_slist_append", 1);
    check_starting("curl_slist_append", 2);
}

TEST(a_request_refused_by_libcurl_is_not_started)
{
    check_starting("curl_multi_add_handle", 1);
}

/* The socket callback of libcurl reports a failure; the request ends once, with a reason. */
static void check_watching(const char *call)
{
    uv_loop_t loop;
    char url[64];
    const int fd = listen_mute(url, sizeof url);
    const struct http_client_request ask = {.method = "GET", .url = url, .timeout_ms = 300};
    struct answers a = {0};
    CHECK(uv_loop_init(&loop) == 0);
    struct http_client *web = http_client_open(&loop);
    fault_set(call, 1);
    CHECK(http_client_start(web, &ask, answered, &a));
    while (!a.count)
        CHECK(uv_run(&loop, UV_RUN_ONCE) >= 0);
    CHECK(fault_was_hit() && a.count == 1 && a.end == HAMMER_END_UNREACHABLE);
    CHECK(http_client_start(web, &ask, answered, &a)); /* the next one is sent, and not answered */
    while (a.count == 1)
        CHECK(uv_run(&loop, UV_RUN_ONCE) >= 0);
    CHECK(a.count == 2 && a.end == HAMMER_END_TIMEOUT);
    http_client_close(web);
    loop_end(&loop);
    CHECK(a.count == 2);
    close(fd);
}

TEST(a_request_whose_socket_cannot_be_watched_ends_with_a_reason)
{
    check_watching("uv_poll_init_socket");
    check_watching("uv_poll_start");
}

/* ---- programs ---- */

struct ended {
    uint32_t count;
    bool has_why;
    int status;
    char out[32], err[32];
};

static void keep(char out[32], struct str text)
{
    snprintf(out, 32, "%.*s", STR_FMT_ARGS(text));
}

static void program_ended(void *self, const struct spawn_result *result)
{
    struct ended *e = self;
    e->count++;
    e->has_why = result->why != NULL;
    e->status = result->status;
    keep(e->out, result->out);
    keep(e->err, result->err);
}

static struct ended run_with(const char *call, unsigned nth, const char *script)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    struct ended e = {0};
    uv_loop_t loop;
    signal(SIGPIPE, SIG_IGN); /* as the daemon does: the program may end before it reads */
    CHECK(uv_loop_init(&loop) == 0);
    const struct spawn_ops seam = spawn_ops_default(&loop);
    const struct spawn_order order = {
        .argv = argv, .input = STR("in"), .deadline_ms = 60000, .self = &e, .done = program_ended};
    fault_set(call, nth);
    CHECK(seam.start(seam.self, &order) && e.count == 0);
    loop_end(&loop);
    CHECK(fault_was_hit() && e.count == 1);
    return e;
}

TEST(a_program_that_cannot_be_started_ends_with_a_reason)
{
    CHECK(run_with("uv_spawn", 1, "exit 3").has_why);
}

TEST(a_program_whose_output_cannot_be_read_ends_with_its_status)
{
    struct ended e = run_with("uv_read_start", 1, "echo out; echo err >&2; exit 3");
    CHECK(!e.has_why && e.status == 3 && !e.out[0] && strcmp(e.err, "err\n") == 0);
    e = run_with("uv_read_start", 2, "echo out; echo err >&2; exit 3");
    CHECK(!e.has_why && e.status == 3 && strcmp(e.out, "out\n") == 0 && !e.err[0]);
}

TEST(a_program_whose_input_cannot_be_written_reads_end_of_file)
{
    const struct ended e = run_with("uv_write", 1, "cat; exit 4");
    CHECK(!e.has_why && e.status == 4 && !e.out[0]);
}

/* ---- packets ---- */

struct results {
    uint32_t count;
    enum hammer_end end;
    bool has_text;
};

static void order_done(void *self, uint64_t key, const struct hammer_result *result)
{
    struct results *r = self;
    (void)key;
    r->count++;
    r->end = result->end;
    r->has_text = result->text.len > 0;
}

/* The order ends once, unreachable; the same order is done then. */
static void check_packets(const char *call)
{
    struct results r = {0};
    uv_loop_t loop;
    char scratch[] = "/tmp/halligan-faults-XXXXXX";
    CHECK(mkdtemp(scratch) && uv_loop_init(&loop) == 0);
    const struct hammers_options options = {.scratch = scratch, .poll_ms = 1};
    struct hammers *h =
        hammers_open(&loop, &options, (struct hammers_callbacks){.self = &r, .done = order_done});
    const struct hammer_bound wol = {.klass = STR("wol"),
                                     .endpoint = STR("127.0.0.1:9"),
                                     .extra = STR("{\"mac\":\"52:54:00:12:34:56\"}")};
    struct hammer_order o = {.key = 1,
                             .node_id = 1,
                             .node_name = STR("n1"),
                             .hammers = &wol,
                             .hammer_count = 1,
                             .category = HAMMER_POWER,
                             .method = STR("on")};
    fault_set(call, 1);
    hammers_submit(h, &o);
    while (!r.count)
        CHECK(uv_run(&loop, UV_RUN_ONCE) >= 0);
    CHECK(fault_was_hit() && r.count == 1 && r.end == HAMMER_END_UNREACHABLE && r.has_text);
    o.key = 2;
    hammers_submit(h, &o);
    while (r.count == 1)
        CHECK(uv_run(&loop, UV_RUN_ONCE) >= 0);
    CHECK(r.count == 2 && r.end == HAMMER_END_DONE);
    hammers_close(h);
    loop_end(&loop);
    CHECK(rmdir(scratch) == 0);
}

TEST(a_packet_without_a_socket_ends_its_order_with_a_reason)
{
    check_packets("uv_udp_init");
}

TEST(a_packet_that_cannot_be_sent_ends_its_order_with_a_reason)
{
    check_packets("uv_udp_send");
}
