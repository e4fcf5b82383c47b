/* Goal: requests over TLS are served like others, and old versions and plain text are refused.
 * Method: openssl(1) creates the certificate and is the client; wrong versions, keys and plain text
 * must fail. */
#include "tests/unit/http/http_world.h"

static char folder[] = "/tmp/halligan-tls-XXXXXX";
static char cert[100];
static char key[100];
static char other_key[100];

static void make_key_pair(const char *key_path, const char *cert_path)
{
    char command[500];
    snprintf(command, sizeof command,
             "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
             "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout %s -out %s "
             "2>/dev/null",
             key_path, cert_path);
    CHECK(system(command) == 0);
}

static struct http_options make_certificates(void)
{
    CHECK(mkdtemp(folder) != NULL);
    snprintf(cert, sizeof cert, "%s/cert.pem", folder);
    snprintf(key, sizeof key, "%s/key.pem", folder);
    snprintf(other_key, sizeof other_key, "%s/other.pem", folder);
    make_key_pair(other_key, cert);
    make_key_pair(key, cert);
    return (struct http_options){.address = "127.0.0.1", .tls_cert = cert, .tls_key = key};
}

static void remove_certificates(void)
{
    CHECK(unlink(cert) == 0 && unlink(key) == 0 && unlink(other_key) == 0 && rmdir(folder) == 0);
    memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
}

/* The answer to `request`, sent by openssl with these additional flags. */
static struct str over_tls(struct world *w, struct arena *a, const char *flags, const char *request)
{
    char command[500];
    snprintf(command, sizeof command,
             "printf '%s' | timeout 20 openssl s_client -quiet -verify_return_error -CAfile %s %s "
             "-connect 127.0.0.1:%u 2>/dev/null",
             request, cert, flags, w->port);
    FILE *from = popen(command, "r");
    CHECK(from != NULL);
    struct buf b = buf_in(a);
    size_t got;
    do {
        got = fread(buf_room(&b, 4096), 1, 4096, from);
        b.len += (uint32_t)got;
    } while (got > 0);
    pclose(from); /* what it printed is what counts */
    return buf_str(&b);
}

#define CLOSING "Host: here\\r\\nConnection: close\\r\\n\\r\\n"

TEST(requests_over_tls_are_served_and_marked)
{
    struct arena a = {0};
    struct world *w = world_open(make_certificates());
    struct str said = over_tls(w, &a, "-tls1_3",
                               "GET /now HTTP/1.1\\r\\nHost: here\\r\\n\\r\\n"
                               "POST /later HTTP/1.1\\r\\nContent-Length: 3\\r\\n" CLOSING "abc");
    CHECK(str_starts(said, STR("HTTP/1.1 200 OK\r\n")));
    CHECK(has_text(said, "\r\n\r\nGET /now|||loopback secure|HTTP/1.1 200 OK\r\n"));
    CHECK(str_ends(said, STR("\r\n\r\nPOST /later|||loopback secure|abc")));
    said = over_tls(w, &a, "-tls1_2", "GET /later HTTP/1.1\\r\\n" CLOSING);
    CHECK(str_ends(said, STR("\r\n\r\nGET /later|||loopback secure|")));
    said = over_tls(w, &a, "", "GET /%%00 HTTP/1.1\\r\\n" CLOSING);
    CHECK(str_starts(said, STR("HTTP/1.1 400 ")));
    CHECK(served(w) == 3);
    world_close(w);
    remove_certificates();
    arena_fini(&a);
}

TEST(a_stream_over_tls_arrives_whole)
{
    struct arena a = {0};
    struct world *w = world_open(make_certificates());
    struct str said = over_tls(w, &a, "", "GET /count?to=300000 HTTP/1.1\\r\\n" CLOSING);
    CHECK(str_starts(said, STR("HTTP/1.1 200 OK\r\n")));
    CHECK(has_text(said, "\n0\n1\n2\n"));
    CHECK(str_ends(said, STR("\n299999\n\r\n0\r\n\r\n")));
    said = over_tls(w, &a, "", "GET /count?to=300000 HTTP/1.0\\r\\n" CLOSING);
    CHECK(str_ends(said, STR("\n299999\n")));
    CHECK(gone_count(w) == 0);
    world_close(w);
    remove_certificates();
    arena_fini(&a);
}

TEST(a_client_that_sends_far_too_much_over_tls_gets_an_answer)
{
    struct arena a = {0};
    struct http_options options = make_certificates();
    options.body_max = 1000;
    struct world *w = world_open(options);
    const struct str said =
        over_tls(w, &a, "",
                 "POST /x HTTP/1.1\\r\\nHost: here\\r\\nContent-Length: 30000\\r\\n\\r\\n%030000d");
    CHECK(str_starts(said, STR("HTTP/1.1 413 ")));
    CHECK(str_ends(said, STR("\"code\":\"too_large\"}")));
    CHECK(served(w) == 0);
    world_close(w);
    remove_certificates();
    arena_fini(&a);
}

TEST(two_errors_in_one_head_over_tls_end_only_their_connection)
{
    struct arena a = {0};
    struct world *w = world_open(make_certificates());
    over_tls(w, &a, "-tls1_3",
             "GET /x HTTP/1.1\\r\\nCookie: a=\"\\r\\nContent-Length: abc\\r\\n" CLOSING);
    over_tls(w, &a, "-tls1_2",
             "GET /x HTTP/1.1\\r\\nCookie: a=\"\\r\\nContent-Length: abc\\r\\n" CLOSING);
    CHECK(becomes_pending(w, 0));
    CHECK(served(w) == 0);
    CHECK(!str_is_empty(over_tls(w, &a, "", "GET /x HTTP/1.1\\r\\n" CLOSING)));
    CHECK(served(w) == 1);
    world_close(w);
    remove_certificates();
    arena_fini(&a);
}

TEST(old_versions_and_plain_text_are_refused)
{
    struct arena a = {0};
    struct world *w = world_open(make_certificates());
    const char *old = "-tls1_1 -cipher ALL:@SECLEVEL=0";
    CHECK(str_is_empty(over_tls(w, &a, old, "GET /x HTTP/1.1\\r\\n" CLOSING)));
    struct talk t = dial(w);
    send_text(&t, "GET /x HTTP/1.1\r\n" HOST);
    CHECK(read_answer(&t).status == 0);
    hang_up(&t);
    /* A client that sends nothing, and one that disconnects in the handshake. */
    t = dial(w);
    CHECK(send_bytes(&t, "\x16\x03\x01", 3));
    hang_up(&t);
    CHECK(served(w) == 0);
    CHECK(!str_is_empty(over_tls(w, &a, "", "GET /x HTTP/1.1\\r\\n" CLOSING)));
    world_close(w);
    remove_certificates();
    arena_fini(&a);
}

TEST(unfinished_handshakes_do_not_keep_others_from_connecting)
{
    enum { SLOW = 60 };
    struct arena a = {0};
    struct http_options options = make_certificates();
    options.connections_max = 8;
    struct world *w = world_open(options);
    struct talk slow[SLOW];
    for (int i = 0; i < SLOW; i++) {
        slow[i] = dial(w);
        /* The beginning of a ClientHello of 512 bytes; and some send nothing. */
        if (i % 3)
            ignore(send_bytes(&slow[i], "\x16\x03\x01\x02\x00\x01\x00\x01", 8), "closed already");
        if (i % 20 == 19)
            CHECK(!str_is_empty(over_tls(w, &a, "", "GET /x HTTP/1.1\\r\\n" CLOSING)));
    }
    CHECK(served(w) == SLOW / 20);
    for (int i = 0; i < SLOW; i++)
        hang_up(&slow[i]);
    world_close(w);
    remove_certificates();
    arena_fini(&a);
}

TEST(pending_requests_over_tls_are_answered_when_the_server_closes)
{
    struct world *w = world_open(make_certificates());
    char command[500];
    snprintf(command, sizeof command,
             "printf 'GET /hold HTTP/1.1\\r\\nHost: here\\r\\n\\r\\n' | timeout 20 "
             "openssl s_client -quiet -CAfile %s -connect 127.0.0.1:%u 2>/dev/null",
             cert, w->port);
    FILE *from = popen(command, "r");
    CHECK(from != NULL);
    wait_held(w, 1);
    in_loop(w, close_server);
    char line[100] = "";
    CHECK(fgets(line, sizeof line, from) && strncmp(line, "HTTP/1.1 503 ", 13) == 0);
    while (fgets(line, sizeof line, from)) {
    }
    CHECK(strstr(line, "\"status\":503") != NULL);
    pclose(from); /* what it printed is what counts */
    world_close(w);
    remove_certificates();
}

static bool is_reloaded;
static char why_not[300];

static void reload(struct world *w)
{
    why_not[0] = 0;
    is_reloaded = http_reload_tls(w->server, why_not, sizeof why_not);
}

/* Does a client that trusts the file at `cert` get an answer? */
static bool is_trusted(struct world *w, struct arena *a)
{
    return !str_is_empty(over_tls(w, a, "", "GET /x HTTP/1.1\\r\\n" CLOSING));
}

TEST(a_certificate_may_be_changed_while_the_server_runs)
{
    struct arena a = {0};
    struct world *w = world_open(make_certificates());
    CHECK(is_trusted(w, &a));
    make_key_pair(key, cert);
    CHECK(!is_trusted(w, &a));
    in_loop(w, reload);
    CHECK(is_reloaded && is_trusted(w, &a));
    /* The same files, and files that cannot be used, change nothing. */
    in_loop(w, reload);
    CHECK(is_reloaded && is_trusted(w, &a));
    CHECK(rename(other_key, key) == 0);
    in_loop(w, reload);
    CHECK(!is_reloaded && strstr(why_not, "do not match") && is_trusted(w, &a));
    CHECK(unlink(key) == 0);
    in_loop(w, reload);
    CHECK(!is_reloaded && strstr(why_not, "cannot open") && is_trusted(w, &a));
    make_key_pair(other_key, cert);
    make_key_pair(key, cert);
    in_loop(w, reload);
    CHECK(is_reloaded && is_trusted(w, &a));
    world_close(w);
    remove_certificates();
    arena_fini(&a);
}

TEST(a_key_that_is_not_the_certificates_is_refused)
{
    struct http_options options = make_certificates();
    options.tls_key = other_key;
    uv_loop_t loop;
    char why[300] = "";
    CHECK(uv_loop_init(&loop) == 0);
    CHECK(http_open(&loop, &options, (struct http_handler){0}, why, sizeof why) == NULL);
    CHECK(strstr(why, "do not match") != NULL);
    CHECK(uv_loop_close(&loop) == 0);
    remove_certificates();
}
