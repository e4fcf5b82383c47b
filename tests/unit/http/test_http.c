/* Goal: every well-formed request reaches the handler unchanged, and no other does.
 * Method: a real server on the loopback, and bytes sent to it by hand. */
#include "tests/unit/http/http_world.h"

#include "http/http_private.h"

TEST(a_get_is_answered_at_once)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    send_text(&t, "GET /nodes/7 HTTP/1.1\r\nX-Test: yes\r\n" HOST);
    const struct received h = read_answer(&t);
    CHECK(h.status == 200);
    CHECK(str_is(h.body, "GET /nodes/7||yes|loopback|"));
    CHECK(has_text(h.head, "\r\nContent-Type: text/plain\r\n"));
    CHECK(has_text(h.head, "\r\nX-Content-Type-Options: nosniff\r\n"));
    CHECK(!has_text(h.head, "Connection: close"));
    hang_up(&t);
    world_close(w);
}

TEST(headers_of_the_answer_arrive_and_none_can_be_smuggled_in)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    send_text(&t, "GET / HTTP/1.1\r\n" HOST);
    const struct received h = read_answer(&t);
    CHECK(has_text(h.head, "\r\nX-First: one\r\n"));
    CHECK(has_text(h.head, "\r\nX-Last: three\r\n"));
    CHECK(!has_text(h.head, "X-Injected"));
    hang_up(&t);
    world_close(w);
}

TEST(every_method_has_its_name)
{
    static const char *const asked[] = {"GET",    "POST",   "PUT",     "PATCH",
                                        "DELETE", "DELETE", "OPTIONS", "get"};
    static const char *const seen[] = {"GET",    "POST",   "PUT",   "PATCH",
                                       "DELETE", "DELETE", "OTHER", "OTHER"};
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    for (int i = 0; i < 8; i++) {
        char line[100];
        snprintf(line, sizeof line, "%s /x HTTP/1.1\r\n" HOST, asked[i]);
        send_text(&t, line);
        const struct received h = read_answer(&t);
        CHECK(h.status == (i == 2 ? 201 : 200));
        snprintf(line, sizeof line, "%s /x|||loopback|", seen[i]);
        CHECK(str_is(h.body, line));
    }
    hang_up(&t);
    world_close(w);
}

TEST(head_has_the_length_and_no_body)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    send_text(&t, "HEAD /x HTTP/1.1\r\n" HOST "GET /after HTTP/1.1\r\n" HOST);
    const struct received h = read_one_answer(&t, false);
    CHECK(h.status == 200);
    CHECK(content_length(h.head) == strlen("HEAD /x|||loopback|"));
    CHECK(str_is(read_answer(&t).body, "GET /after|||loopback|"));
    hang_up(&t);
    world_close(w);
}

TEST(pipelined_requests_are_answered_in_order)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    send_text(&t, "GET /later/1 HTTP/1.1\r\n" HOST "GET /2 HTTP/1.1\r\n" HOST
                  "POST /later/3 HTTP/1.1\r\nContent-Length: 3\r\n" HOST
                  "abcGET /later/4 HTTP/1.1\r\n" HOST);
    CHECK(str_is(read_answer(&t).body, "GET /later/1|||loopback|"));
    CHECK(str_is(read_answer(&t).body, "GET /2|||loopback|"));
    CHECK(str_is(read_answer(&t).body, "POST /later/3|||loopback|abc"));
    CHECK(str_is(read_answer(&t).body, "GET /later/4|||loopback|"));
    hang_up(&t);
    world_close(w);
}

TEST(an_http_1_0_client_is_answered_and_closed)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    send_text(&t, "GET /x HTTP/1.0\r\n\r\n");
    CHECK(read_answer(&t).status == 200);
    CHECK(read_end(&t));
    hang_up(&t);
    world_close(w);
}

/* --- targets ----------------------------------------------------------------------------------*/

TEST(paths_and_queries_are_decoded)
{
    static const char *const cases[][2] = {
        {"/", "GET /||"},
        {"/a%20b%2Fc%c3%A4", "GET /a b/c\xc3\xa4||"},
        {"/a+b?a+b=c+d", "GET /a+b|a b=c d;|"},
        {"/x?a=1&b=2&a=3", "GET /x|a=1;b=2;a=3;|"},
        {"/x?a&b=&=c&&&d=e=f", "GET /x|a=;b=;=c;d=e=f;|"},
        {"/x?", "GET /x||"},
        {"/x?%26=%3d&q=%2B", "GET /x|&==;q=+;|"},
        {"/x?a?b=/c?d", "GET /x|a?b=/c?d;|"},
        {"/\xc3\xa4?\xe2\x82\xac=1", "GET /\xc3\xa4|\xe2\x82\xac=1;|"},
        {"http://elsewhere:80/p?q=1", "GET /p|q=1;|"},
        {"HTTPS://elsewhere", "GET /||"},
        {"//double//slash", "GET //double//slash||"},
    };
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[200];
        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" HOST, cases[i][0]);
        send_text(&t, text);
        snprintf(text, sizeof text, "%s|loopback|", cases[i][1]);
        CHECK(str_is(read_answer(&t).body, text));
    }
    hang_up(&t);
    world_close(w);
}

static const char REFUSED_400[] =
    "{\"message\":\"malformed request: wrong UTF-8, percent-encoding, header or framing\","
    "\"status\":400,\"code\":\"bad_text\"}";

TEST(malformed_targets_never_reach_the_handler)
{
    static const char *const targets[] = {
        "/%00",         "/a%",        "/a%2",       "/a%zz",     "/a%2g",    "/%ff",
        "/%c3",         "/%c0%af",    "/%ed%a0%80", "/x?a=%00",  "/x?%00=b", "/x?a=%",
        "/x?%c3=1",     "/x?a=1&b=%", "/\xff",      "/x?\xc3",   "no-slash", "*",
        "http://h?x=1", "/a b",       "/a\tb",      "/x?a=\x01", "/a\x7f",   "%2Fx",
    };
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        char text[200];
        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" HOST, targets[i]);
        send_text(&t, text);
        const struct received h = read_answer(&t);
        CHECK(h.status == 400);
        CHECK(str_is(h.body, REFUSED_400));
        CHECK(has_text(h.head, "\r\nContent-Type: application/json\r\n"));
    }
    CHECK(served(w) == 0);
    /* The connection is still usable, also after a body that was dropped. */
    send_text(&t, "POST /% HTTP/1.1\r\nContent-Length: 5\r\n" HOST "12345GET /x HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&t).status == 400);
    CHECK(read_answer(&t).status == 200);
    hang_up(&t);
    world_close(w);
}

TEST(a_path_is_split_before_it_is_decoded)
{
    static const char *const cases[][2] = {
        {"/parts", "parts|"},
        {"/parts/", "parts|"},
        {"/parts//", "parts||"},
        {"/parts/a%2Fb/c", "parts|a/b|c|"},
        {"/parts%2fa/b", "parts/a|b|"},
        {"/parts//x%20y/%c3%A4?a/b=c/d", "parts||x y|\xc3\xa4|"},
        {"http://elsewhere/parts/%25", "parts|%|"},
        {"/parts/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/",
         "parts|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|"},
    };
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[200];
        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" HOST, cases[i][0]);
        send_text(&t, text);
        CHECK(str_is(read_answer(&t).body, cases[i][1]));
    }
    hang_up(&t);
    world_close(w);
    struct http_request r = {0};
    CHECK(target_parse(&r, STR("/")) == OK && r.segment_count == 0);
    CHECK(target_parse(&r, STR("//a")) == OK && r.segment_count == 2 && r.segments[0].len == 0);
    arena_fini(&r.arena);
}

TEST(a_path_with_too_many_segments_is_not_found)
{
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    send_text(&t, "GET /parts/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17 HTTP/1.1\r\n" HOST);
    const struct received h = read_answer(&t);
    CHECK(h.status == 404);
    CHECK(str_is(h.body, "{\"message\":\"no route has a path with so many segments\","
                         "\"status\":404,\"code\":\"not_found\"}"));
    send_text(&t, "GET /parts HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&t).status == 200);
    CHECK(served(w) == 1);
    hang_up(&t);
    world_close(w);
}

TEST(a_zero_byte_in_the_request_line_does_not_end_it)
{
    static const char zero[] = "GET /a\0b HTTP/1.1\r\n" HOST;
    static const char zero_at_end[] = "GET /a\0 HTTP/1.1\r\n" HOST;
    static const char zero_in_query[] = "GET /a?b\0=c HTTP/1.1\r\n" HOST;
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    CHECK(send_bytes(&t, zero, sizeof zero - 1));
    CHECK(read_answer(&t).status == 400);
    CHECK(send_bytes(&t, zero_at_end, sizeof zero_at_end - 1));
    CHECK(read_answer(&t).status == 400);
    CHECK(send_bytes(&t, zero_in_query, sizeof zero_in_query - 1));
    CHECK(read_answer(&t).status == 400);
    CHECK(served(w) == 0);
    hang_up(&t);
    world_close(w);
}

static void is_refused(struct world *w, const char *text, int status)
{
    struct talk t = dial(w);
    send_text(&t, text);
    CHECK(read_answer(&t).status == status);
    hang_up(&t);
}

TEST(requests_that_break_the_protocol_never_reach_the_handler)
{
    struct world *w = world_open((struct http_options){0});
    is_refused(w, "GET / HTTP/1.1\r\n\r\n", 400);
    is_refused(w, "GET /\r\n" HOST, 400);
    is_refused(w, "GET / HTTP/1.1\r\nno colon\r\n" HOST, 400);
    is_refused(w, "GET / HTTP/9.9\r\n" HOST, 505);
    is_refused(w, "POST / HTTP/1.1\r\nContent-Length: five\r\n" HOST, 400);
    is_refused(w, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "zz\r\n\r\n", 400);
    CHECK(served(w) == 0);
    world_close(w);
}

TEST(a_body_with_two_lengths_is_refused_and_the_connection_closed)
{
    static const char *const heads[] = {
        "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 60\r\n",
        "content-length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    };
    struct world *w = world_open((struct http_options){0});
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        struct talk t = dial(w);
        char text[200];
        snprintf(text, sizeof text, "POST / HTTP/1.1\r\n%s" HOST, heads[i]);
        send_text(&t, text);
        const struct received h = read_answer(&t);
        CHECK(h.status == 400);
        CHECK(str_is(h.body, REFUSED_400));
        CHECK(read_end(&t));
        hang_up(&t);
    }
    CHECK(served(w) == 0);
    world_close(w);
}

TEST(a_head_without_end_is_refused)
{
    struct world *w = world_open((struct http_options){0});
    const size_t size = HTTP_CONNECTION_MEMORY + 1000;
    char *text = malloc(size + 1);
    CHECK(text != NULL);
    memset(text, 'a', size);
    text[size] = '\0';
    memcpy(text, "GET /", 5);
    is_refused(w, text, 414);
    memcpy(text, "GET / HTTP/1.1\r\nX: ", 19);
    is_refused(w, text, 431);
    free(text);
    CHECK(served(w) == 0);
    world_close(w);
}

/* --- bodies -----------------------------------------------------------------------------------*/

static const char REFUSED_413[] =
    "{\"message\":\"the request body is too large\",\"status\":413,\"code\":\"too_large\"}";

TEST(a_body_may_be_as_large_as_the_limit_and_no_larger)
{
    struct world *w = world_open((struct http_options){.body_max = 1000});
    struct talk t = dial(w);
    send_post(&t, 1000, "");
    send_body(&t, 1000);
    struct received h = read_answer(&t);
    CHECK(h.status == 200);
    CHECK(h.body.len == strlen("POST /|||loopback|") + 1000);
    send_post(&t, 1001, "");
    send_body(&t, 1001);
    h = read_answer(&t);
    CHECK(h.status == 413);
    CHECK(str_is(h.body, REFUSED_413));
    send_post(&t, 0, "");
    CHECK(read_answer(&t).status == 200);
    CHECK(served(w) == 2);
    hang_up(&t);
    world_close(w);
}

TEST(a_body_far_too_large_is_refused_before_it_is_sent)
{
    struct world *w = world_open((struct http_options){.body_max = 1000});
    struct talk t = dial(w);
    send_post(&t, 2001, "");
    const struct received h = read_answer(&t);
    CHECK(h.status == 413);
    CHECK(str_is(h.body, REFUSED_413));
    CHECK(read_end(&t));
    hang_up(&t);
    is_refused(w, "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n" HOST, 413);
    CHECK(served(w) == 0);
    world_close(w);
}

TEST(expect_continue_is_answered_before_the_body)
{
    struct world *w = world_open((struct http_options){.body_max = 1000});
    struct talk t = dial(w);
    send_post(&t, 5, "Expect: 100-continue\r\n");
    CHECK(read_one_answer(&t, false).status == 100);
    send_text(&t, "12345");
    CHECK(str_is(read_answer(&t).body, "POST /|||loopback|12345"));
    send_post(&t, 1001, "Expect: 100-continue\r\n");
    CHECK(read_answer(&t).status == 413);
    CHECK(read_end(&t));
    hang_up(&t);
    world_close(w);
}

TEST(a_chunked_body_is_assembled)
{
    struct world *w = world_open((struct http_options){.body_max = 1000});
    struct talk t = dial(w);
    send_text(&t, "PUT /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "3\r\nabc\r\n");
    send_text(&t, "A;note=1\r\n0123456789\r\n");
    send_text(&t, "0\r\nTrailer: x\r\n\r\n");
    const struct received h = read_answer(&t);
    CHECK(h.status == 201);
    CHECK(str_is(h.body, "PUT /x|||loopback|abc0123456789"));
    hang_up(&t);
    world_close(w);
}

TEST(too_many_chunks_are_refused_and_far_too_many_disconnect)
{
    struct world *w = world_open((struct http_options){.body_max = 1000});
    struct talk t = dial(w);
    send_text(&t, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST);
    for (int i = 0; i < 2; i++) {
        send_text(&t, "3e8\r\n");
        send_body(&t, 1000);
        send_text(&t, "\r\n");
    }
    send_text(&t, "0\r\n\r\n");
    CHECK(read_answer(&t).status == 413);
    send_text(&t, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST);
    /* The kernel decides how much is sent before the error; there must be one. */
    char chunk[1007] = "3e8\r\n";
    memset(chunk + 5, 'c', 1000);
    memcpy(chunk + 1005, "\r\n", 2);
    while (send_bytes(&t, chunk, sizeof chunk)) {
    }
    CHECK(served(w) == 0);
    hang_up(&t);
    world_close(w);
}

TEST(a_large_body_arrives_byte_for_byte_and_is_sent_back)
{
    enum { SIZE = 3 << 20 };
    struct world *w = world_open((struct http_options){0});
    struct talk t = dial(w);
    char *bytes = malloc(SIZE);
    CHECK(bytes != NULL);
    for (uint32_t i = 0; i < SIZE; i++)
        bytes[i] = (char)(i * 2654435761u >> 24);
    send_post(&t, SIZE, "");
    CHECK(send_bytes(&t, bytes, SIZE));
    const struct received h = read_answer(&t);
    CHECK(h.status == 200);
    const uint32_t start = (uint32_t)strlen("POST /|||loopback|");
    CHECK(h.body.len == SIZE + start);
    CHECK(memcmp(h.body.at + start, bytes, SIZE) == 0);
    free(bytes);
    hang_up(&t);
    world_close(w);
}

TEST(the_first_query_parameter_of_a_name_is_used)
{
    struct http_request r = {0};
    struct str value = STR("untouched");
    CHECK(target_parse(&r, STR("/x?a=1&b=%20&a=2&c")) == OK);
    CHECK(http_query(&r, STR("a"), &value) && str_eq(value, STR("1")));
    CHECK(http_query(&r, STR("b"), &value) && str_eq(value, STR(" ")));
    CHECK(http_query(&r, STR("c"), &value) && str_eq(value, STR("")));
    value = STR("untouched");
    CHECK(!http_query(&r, STR("A"), &value) && !http_query(&r, STR(""), &value));
    CHECK(str_eq(value, STR("untouched")));
    arena_fini(&r.arena);
}
