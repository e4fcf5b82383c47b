/* Goal: the last hop that a proxy wrote is the client, and a client cannot forge it.
 * Method: header lines as proxies and attackers write them; then a real server that trusts the
 * loopback, or another address. */
#include "http/forwarded.h"

#include "http/address.h"
#include "tests/unit/http/http_world.h"

static struct str line(const char *text)
{
    return text ? str_from(text) : (struct str){0};
}

static struct forwarded read_all(const char *forwarded, const char *for_, const char *proto)
{
    struct arena a = {0};
    const struct forwarded_headers headers = {line(forwarded), line(for_), line(proto)};
    const struct forwarded f = forwarded_read(&a, &headers);
    arena_fini(&a);
    return f;
}

/* The client's address as text; "unknown", "absent". */
static bool client_is(struct forwarded f, const char *wanted)
{
    char text[INET6_ADDRSTRLEN];
    const char *is = !f.is_forwarded ? "absent"
                     : !f.is_known   ? "unknown"
                                     : address_text(&f.address, text);
    if (strcmp(is, wanted) != 0)
        fprintf(stderr, "%s, not %s\n", is, wanted);
    return strcmp(is, wanted) == 0;
}

TEST(the_last_hop_of_forwarded_is_the_client)
{
    static const struct {
        const char *line, *client;
    } cases[] = {
        {"for=192.0.2.43", "192.0.2.43"},
        {"For=192.0.2.43", "192.0.2.43"},
        {"for=192.0.2.43:47011", "192.0.2.43"},
        {"for=\"192.0.2.43:47011\"", "192.0.2.43"},
        {"for=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"},
        {"for=\"[2001:db8:cafe::17]\"", "2001:db8:cafe::17"},
        {"for=\"\\[2001:db8::1\\]\"", "2001:db8::1"},
        {"for=192.0.2.1;proto=http;by=203.0.113.43", "192.0.2.1"},
        {"by=203.0.113.43; for = 192.0.2.1", "unknown"},
        {"by=203.0.113.43 ; for=192.0.2.1 ", "192.0.2.1"},
        {"for=10.0.0.1, for=192.0.2.7", "192.0.2.7"},
        {"for=127.0.0.1,for=unknown", "unknown"},
        {"for=127.0.0.1, for=_hidden", "unknown"},
        {"for=_hidden", "unknown"},
        {"for=127.0.0.1, proto=https", "unknown"},
        {"for=127.0.0.1,", "unknown"},
        {"", "unknown"},
        {"for=", "unknown"},
        {"for=localhost", "unknown"},
        {"for=[2001:db8::1", "unknown"},
        {"for=\"[127.0.0.1]\"", "unknown"},
        {"for=\"[2001:db8::1]x\"", "unknown"},
        {"for=fe80::1%eth0", "unknown"},
        {"for=0.0.0.0", "unknown"},
        {"for=\"[::]\"", "unknown"},
        {"for=\"[::ffff:0.0.0.0]\"", "unknown"},
        {"for=\"[::FFFF:192.0.2.1]\"", "192.0.2.1"},
        {"for=\"[2001:0DB8:0::0007]\"", "2001:db8::7"},
        {"for=1.2.3.4;for=127.0.0.1", "unknown"},
        {"for=1.2.3.4567890123456789012345678901234567890123456789012345", "unknown"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(client_is(read_all(cases[i].line, NULL, NULL), cases[i].client));
}

/* Everything before the last comma is from the client, whatever quotes it contains. */
TEST(a_client_cannot_write_the_hop_of_its_proxy)
{
    static const char *const sent[] = {
        "for=127.0.0.1",
        "for=127.0.0.1;x=\"",
        "for=127.0.0.1, x=\"",
        "for=\"127.0.0.1",
        "for=127.0.0.1;x=\"\\",
        "for=127.0.0.1;x=\"\\\"",
        "x=\", for=127.0.0.1;y=\"",
        "\"",
        "for=127.0.0.1\\",
    };
    static const char *const appended[] = {", for=192.0.2.9", ", for=\"[2001:db8::9]:80\"",
                                           ",for=\"192.0.2.9\";host=\"a,b\""};
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++)
        for (size_t j = 0; j < sizeof appended / sizeof *appended; j++) {
            char text[200];
            snprintf(text, sizeof text, "%s%s", sent[i], appended[j]);
            const struct forwarded f = read_all(text, NULL, NULL);
            CHECK(f.is_forwarded);
            CHECK(!f.is_known || !address_is_loopback(&f.address));
            CHECK(!f.has_proto);
        }
}

TEST(the_last_hop_of_x_forwarded_for_is_the_client)
{
    CHECK(client_is(read_all(NULL, "192.0.2.1", NULL), "192.0.2.1"));
    CHECK(client_is(read_all(NULL, "127.0.0.1, 192.0.2.1", NULL), "192.0.2.1"));
    CHECK(client_is(read_all(NULL, "127.0.0.1, \"192.0.2.1", NULL), "unknown"));
    CHECK(client_is(read_all(NULL, "\", 192.0.2.1", NULL), "192.0.2.1"));
    CHECK(client_is(read_all(NULL, "192.0.2.1:80", NULL), "192.0.2.1"));
    CHECK(client_is(read_all(NULL, "2001:db8::1", NULL), "2001:db8::1"));
    CHECK(client_is(read_all(NULL, "[2001:db8::1]:80", NULL), "2001:db8::1"));
    CHECK(client_is(read_all(NULL, "127.0.0.1, unknown", NULL), "unknown"));
    CHECK(client_is(read_all(NULL, "127.0.0.1,", NULL), "unknown"));
    CHECK(client_is(read_all(NULL, "", NULL), "unknown"));
    CHECK(client_is(read_all(NULL, NULL, NULL), "absent"));
}

/* A proxy that writes one of the headers may forward the other. */
TEST(two_headers_that_differ_make_the_client_unknown)
{
    CHECK(client_is(read_all("for=192.0.2.1", "10.0.0.1, 192.0.2.1", NULL), "192.0.2.1"));
    CHECK(client_is(read_all("for=127.0.0.1", "192.0.2.1", NULL), "unknown"));
    CHECK(client_is(read_all("for=192.0.2.1", "127.0.0.1", NULL), "unknown"));
    CHECK(client_is(read_all("for=unknown", "127.0.0.1", NULL), "unknown"));
}

TEST(the_scheme_is_https_only_if_no_header_differs)
{
    CHECK(!read_all(NULL, "192.0.2.1", NULL).has_proto);
    CHECK(read_all(NULL, NULL, "https").is_https && read_all(NULL, NULL, "HTTPS").is_https);
    CHECK(read_all(NULL, NULL, "http, https").is_https);
    CHECK(!read_all(NULL, NULL, "https, http").is_https);
    CHECK(!read_all(NULL, NULL, "").is_https && read_all(NULL, NULL, "").has_proto);
    CHECK(read_all("for=192.0.2.1;proto=https", NULL, NULL).is_https);
    CHECK(read_all("for=192.0.2.1;Proto=\"HTTPS\"", NULL, NULL).is_https);
    CHECK(!read_all("proto=https, for=192.0.2.1", NULL, NULL).has_proto);
    CHECK(!read_all("for=192.0.2.1;proto=https", NULL, "http").is_https);
    CHECK(!read_all("for=192.0.2.1;proto=http", NULL, "https").is_https);
    CHECK(read_all("for=192.0.2.1;proto=https", NULL, "https").is_https);
}

static const uint8_t LOOPBACK[1][16] = {{[10] = 0xff, 0xff, 127, 0, 0, 1}};
static const uint8_t ELSEWHERE[1][16] = {{[10] = 0xff, 0xff, 10, 0, 0, 1}};

/* The answer to a request with these header lines has this body. */
static void answers(struct world *w, const char *path, const char *lines, const char *body)
{
    char text[400];
    struct talk t = dial(w);
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n%s" HOST, path, lines);
    send_text(&t, text);
    const struct received h = read_answer(&t);
    CHECK(h.status == 200 && str_is(h.body, body));
    hang_up(&t);
}

/* What the handler sees of a request with these header lines. */
static void sees(struct world *w, const char *lines, const char *seen)
{
    char text[40];
    snprintf(text, sizeof text, "GET /x|||%s|", seen);
    answers(w, "/x", lines, text);
}

TEST(headers_of_a_trusted_proxy_are_used_and_its_client_is_not_local)
{
    struct world *w = world_open((struct http_options){.proxies = LOOPBACK, .proxy_count = 1});
    sees(w, "", "loopback");
    sees(w, "X-Forwarded-For: 192.0.2.1\r\n", "far");
    sees(w, "X-Forwarded-For: 127.0.0.1\r\n", "loopback");
    sees(w, "X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-For: 192.0.2.1\r\n", "far");
    sees(w, "Forwarded: for=unknown\r\n", "far");
    sees(w, "Forwarded: for=_secret;proto=https\r\n", "far secure");
    sees(w, "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n", "far secure");
    sees(w, "X-Forwarded-Proto: http\r\n", "loopback");
    world_close(w);
}

TEST(headers_of_other_peers_are_ignored)
{
    struct world *w = world_open((struct http_options){.proxies = ELSEWHERE, .proxy_count = 1});
    sees(w, "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n", "loopback");
    sees(w, "Forwarded: for=192.0.2.1;proto=https\r\n", "loopback");
    world_close(w);
    w = world_open((struct http_options){0});
    sees(w, "Forwarded: for=192.0.2.1;proto=https\r\n", "loopback");
    world_close(w);
}

/* The full address that the handler gets. */
static void sees_client(struct world *w, const char *lines, const char *client)
{
    answers(w, "/client", lines, client);
}

TEST(the_address_of_the_client_is_complete_and_normalised)
{
    struct world *w = world_open((struct http_options){.proxies = LOOPBACK, .proxy_count = 1});
    sees_client(w, "", "127.0.0.1");
    sees_client(w, "X-Forwarded-For: 198.51.100.1, 192.0.2.1\r\n", "192.0.2.1");
    sees_client(w, "X-Forwarded-For: 2001:0DB8:1:2:3:4:5:6\r\n", "2001:db8:1:2:3:4:5:6");
    sees_client(w, "Forwarded: for=\"[::ffff:192.0.2.1]:80\"\r\n", "192.0.2.1");
    /* An unknown client has the address of the proxy. */
    sees_client(w, "Forwarded: for=unknown\r\n", "127.0.0.1");
    sees_client(w, "X-Forwarded-For: <script>\r\n", "127.0.0.1");
    sees_client(w, "X-Forwarded-For: ::\r\n", "127.0.0.1");
    world_close(w);
    w = world_open((struct http_options){.proxies = ELSEWHERE, .proxy_count = 1});
    sees_client(w, "X-Forwarded-For: 192.0.2.1\r\n", "127.0.0.1");
    sees_client(w, "Forwarded: for=192.0.2.1\r\n", "127.0.0.1");
    world_close(w);
}

TEST(an_address_has_one_text_form)
{
    static const struct {
        const char *text, *written;
    } cases[] = {
        {"192.0.2.7", "192.0.2.7"},
        {"::ffff:192.0.2.7", "192.0.2.7"},
        {"2001:DB8:0:0::7", "2001:db8::7"},
        {"2001:db8:1:2:3:4:255.255.255.255", "2001:db8:1:2:3:4:ffff:ffff"},
        {"::1", "::1"},
        {"0.0.0.0", ""},
        {"::", ""},
    };
    struct arena a = {0};
    struct in6_addr address;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(address_parse(str_from(cases[i].text), &address));
        const struct str written = address_format(&a, address.s6_addr);
        CHECK(str_eq(written, str_from(cases[i].written)));
        CHECK(address_is_unspecified(&address) == (written.len == 0));
    }
    arena_fini(&a);
}
