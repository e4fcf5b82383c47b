/* Goal: clients that open many connections and send nothing, or very slowly, do not keep others
 * from being served, and neither do exhausted descriptors. Method: a real server with few slots;
 * slots of a server without a loop, for addresses that the loopback does not have; a limit of
 * descriptors that the test lowers and raises. */
#include "tests/unit/http/http_world.h"

#include <poll.h>
#include <sys/resource.h>

#include "http/http_private.h"

#define GET(path) "GET " path " HTTP/1.1\r\n" HOST

/* Of the server; written in its loop. */
static struct http_stats stats;

static void ask_stats(struct world *w)
{
    stats = http_stats(w->server);
}

static struct http_stats stats_of(struct world *w)
{
    in_loop(w, ask_stats);
    return stats;
}

static bool becomes_connected(struct world *w, uint32_t count)
{
    const uint64_t end = uv_hrtime() + PATIENCE_S * 1000000000ull;
    while (stats_of(w).connections != count && uv_hrtime() < end) {
    }
    return stats.connections == count;
}

/* Connected and accepted by the server. */
static struct talk dial_seen(struct world *w, const char *bytes)
{
    const uint32_t before = stats_of(w).connections;
    struct talk t = dial(w);
    send_text(&t, bytes);
    CHECK(becomes_connected(w, before + 1));
    return t;
}

static bool is_closed(const struct talk *t)
{
    char byte;
    const ssize_t got = recv(t->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN);
}

/* --- eviction ---------------------------------------------------------------------------------*/

TEST(the_oldest_without_a_complete_request_is_closed_for_a_new_one)
{
    struct world *w = world_open((struct http_options){.connections_max = 4});
    struct talk waiting = dial_seen(w, GET("/hold"));
    wait_held(w, 1);
    struct talk silent = dial_seen(w, "");
    struct talk half = dial_seen(w, "POST /x HTTP/1.1\r\nContent-Length: 9\r\n" HOST "half");
    struct talk idle = dial_seen(w, GET("/x"));
    CHECK(read_answer(&idle).status == 200);
    CHECK(stats_of(w).evicted == 0 && stats.connections == 4 && stats.connections_max == 4);

    struct talk first = dial(w);
    send_text(&first, GET("/x"));
    CHECK(read_answer(&first).status == 200);
    CHECK(read_end(&silent));
    CHECK(!is_closed(&half) && !is_closed(&idle));
    struct talk second = dial(w);
    send_text(&second, GET("/x"));
    CHECK(read_answer(&second).status == 200);
    CHECK(read_end(&half));
    struct talk third = dial(w);
    send_text(&third, GET("/x"));
    CHECK(read_answer(&third).status == 200);
    CHECK(read_end(&idle));
    CHECK(stats_of(w).evicted == 3 && stats.refused == 0 && stats.connections == 4);
    in_loop(w, answer_held);
    CHECK(read_answer(&waiting).status == 200);

    struct talk *all[] = {&waiting, &silent, &half, &idle, &first, &second, &third};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        hang_up(all[i]);
    CHECK(becomes_connected(w, 0));
    world_close(w);
}

TEST(a_new_connection_is_refused_if_every_request_is_complete)
{
    struct world *w = world_open((struct http_options){.connections_max = 2});
    struct talk waiting = dial_seen(w, GET("/hold"));
    wait_held(w, 1);
    /* A stream whose client does not read is being answered too. */
    struct talk stream = dial_seen(w, GET("/count?to=100000000"));
    CHECK(read_one_answer(&stream, false).status == 200);
    for (uint32_t i = 1; i < 3; i++) {
        struct talk more = dial(w);
        CHECK(read_end(&more));
        hang_up(&more);
        CHECK(stats_of(w).refused == i && stats.evicted == 0);
    }
    CHECK(!is_closed(&stream));
    hang_up(&stream);
    in_loop(w, answer_held);
    CHECK(read_answer(&waiting).status == 200);
    /* It is between two requests now, and can be closed. */
    struct talk more = dial(w);
    send_text(&more, GET("/x"));
    CHECK(read_answer(&more).status == 200);
    hang_up(&more);
    hang_up(&waiting);
    world_close(w);
}

TEST(a_lingering_connection_can_be_evicted)
{
    struct world *w = world_open((struct http_options){.connections_max = 1, .body_max = 10});
    for (int i = 0; i < 5; i++) {
        struct talk t = dial(w);
        send_text(&t, "POST /x HTTP/1.1\r\nContent-Length: 100000\r\n" HOST "half");
        CHECK(read_answer(&t).status == 413);
        CHECK(read_end(&t));
        hang_up(&t);
    }
    struct talk t = dial(w);
    send_text(&t, GET("/x"));
    CHECK(read_answer(&t).status == 200);
    hang_up(&t);
    world_close(w);
}

/* --- many connections -------------------------------------------------------------------------*/

TEST(many_slow_connections_do_not_keep_others_from_connecting)
{
    enum { SLOW = 300, SLOTS = 50, ROUNDS = 10 };
    static const char *const starts[] = {"", "G", "GET /x HT", "GET /x HTTP/1.1\r\nX-Slow: ",
                                         "POST /x HTTP/1.1\r\nContent-Length: 9\r\n" HOST "half"};
    struct world *w = world_open((struct http_options){.connections_max = SLOTS});
    struct talk slow[SLOW];
    for (int i = 0; i < SLOW; i++) {
        slow[i] = dial(w);
        const char *start = starts[i % 5];
        ignore(send_bytes(&slow[i], start, strlen(start)), "it may be closed already");
        if (i % (SLOW / ROUNDS) == 0) {
            struct talk t = dial(w);
            send_text(&t, GET("/x"));
            CHECK(read_answer(&t).status == 200);
            hang_up(&t);
        }
    }
    const uint64_t end = uv_hrtime() + PATIENCE_S * 1000000000ull;
    while (stats_of(w).evicted < SLOW - SLOTS - ROUNDS && uv_hrtime() < end) {
    }
    CHECK(stats.evicted >= SLOW - SLOTS - ROUNDS && stats.refused == 0);
    CHECK(stats.connections <= SLOTS);
    for (int i = 0; i < SLOW; i++)
        hang_up(&slow[i]);
    CHECK(becomes_connected(w, 0));
    world_close(w);
}

/* --- limit per address ------------------------------------------------------------------------*/

static struct sockaddr_storage address_from(const char *text)
{
    struct sockaddr_storage address = {0};
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&address;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)&address;
    if (inet_pton(AF_INET, text, &in->sin_addr) == 1)
        in->sin_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1)
        in6->sin6_family = AF_INET6;
    CHECK(address.ss_family != 0);
    return address;
}

static bool has_space(struct http_server *s, const char *text)
{
    const struct sockaddr_storage address = address_from(text);
    return clients_make_slot(s, (const struct sockaddr *)&address);
}

static struct client *take(struct http_server *s, const char *text)
{
    const struct sockaddr_storage address = address_from(text);
    CHECK(has_space(s, text));
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct client *c = client_acquire(s, fd, (const struct sockaddr *)&address);
    CHECK(c != NULL);
    return c;
}

static void give_back(struct http_server *s, struct client *c)
{
    CHECK(close(c->fd) == 0);
    client_release(s, c);
}

static void give_all_back(struct http_server *s)
{
    for (uint32_t i = 0; i < s->slot_count; i++)
        if (s->clients[i].fd >= 0)
            give_back(s, &s->clients[i]);
    CHECK(s->client_count == 0);
    clients_fini(s);
}

TEST(one_address_evicts_only_its_own_connections)
{
    struct http_server s = {.connections_max = 10, .per_address_max = 2};
    CHECK(clients_init(&s));
    struct client *other = take(&s, "192.0.2.9");
    struct client *first = take(&s, "192.0.2.1");
    struct client *mapped = take(&s, "::ffff:192.0.2.1");
    CHECK(!first->is_loopback && s.stats.evicted == 0);
    /* The third from there closes the first from there, though another is older. */
    struct client *third = take(&s, "192.0.2.1");
    CHECK(s.stats.evicted == 1 && first->is_evicted && !other->is_evicted && s.client_count == 3);
    /* Those that have a complete request are not closed, and then there is no space. */
    mapped->request_is_complete = third->request_is_complete = true;
    CHECK(!has_space(&s, "192.0.2.1") && !has_space(&s, "::ffff:192.0.2.1"));
    CHECK(has_space(&s, "192.0.2.2") && s.stats.evicted == 1);
    give_back(&s, first);
    CHECK(s.client_count == 3);
    give_back(&s, mapped);
    CHECK(has_space(&s, "192.0.2.1") && s.stats.evicted == 1 && s.client_count == 2);
    /* A host may use all addresses of an IPv6 /64. */
    struct client *sixth = take(&s, "2001:db8::1");
    take(&s, "2001:db8::2");
    CHECK(has_space(&s, "2001:db8:0:1::3") && s.stats.evicted == 1);
    take(&s, "2001:db8::3");
    CHECK(s.stats.evicted == 2 && sixth->is_evicted);
    give_all_back(&s);
}

TEST(a_proxy_on_this_machine_may_take_all_slots)
{
    static const char *const here[] = {"127.0.0.1", "::1", "127.1.2.3", "::ffff:127.0.0.1"};
    struct http_server s = {.connections_max = 8, .per_address_max = 2};
    CHECK(clients_init(&s));
    struct client *first = take(&s, here[0]);
    CHECK(first->is_loopback);
    for (int i = 1; i < 8; i++)
        CHECK(take(&s, here[i % 4])->is_loopback);
    CHECK(s.stats.evicted == 0 && s.client_count == 8);
    take(&s, "192.0.2.1");
    CHECK(s.stats.evicted == 1 && first->is_evicted && s.client_count == 8);
    give_all_back(&s);
}

TEST(progress_makes_a_connection_younger)
{
    struct http_server s = {.connections_max = 3, .per_address_max = 3};
    CHECK(clients_init(&s));
    struct client *a = take(&s, "127.0.0.1");
    struct client *b = take(&s, "127.0.0.1");
    struct client *c = take(&s, "127.0.0.1");
    a->since_ms = b->since_ms = c->since_ms = 1000;
    client_progress(a);
    take(&s, "127.0.0.1");
    CHECK(b->is_evicted && !a->is_evicted && !c->is_evicted);
    take(&s, "127.0.0.1");
    CHECK(c->is_evicted && !a->is_evicted);
    give_all_back(&s);
}

TEST(connections_with_unread_answers_are_evicted_after_a_while)
{
    struct http_server s = {.connections_max = 3, .per_address_max = 3};
    CHECK(clients_init(&s));
    struct exchange answered = {.state = EXCHANGE_ANSWERED};
    struct exchange streaming = {.state = EXCHANGE_STREAMING, .stream.is_begun = true};
    struct exchange suspended = {.state = EXCHANGE_SUSPENDED};
    struct exchange *const exchanges[] = {&answered, &streaming, &suspended};
    struct client *clients[3];
    for (int i = 0; i < 3; i++) {
        clients[i] = take(&s, "127.0.0.1");
        clients[i]->exchange = exchanges[i];
        clients[i]->request_is_complete = true;
    }
    CHECK(!has_space(&s, "127.0.0.1")); /* they were answered just now */
    clients[0]->since_ms = clients[1]->since_ms = clients[2]->since_ms = 0;
    streaming.stream.is_paused = true; /* nothing to send */
    CHECK(has_space(&s, "127.0.0.1") && clients[0]->is_evicted);
    take(&s, "127.0.0.1")->request_is_complete = true;
    CHECK(!has_space(&s, "127.0.0.1"));
    streaming.stream.is_paused = false;
    CHECK(has_space(&s, "127.0.0.1") && clients[1]->is_evicted);
    CHECK(!clients[2]->is_evicted);
    for (int i = 0; i < 3; i++)
        clients[i]->exchange = NULL;
    give_all_back(&s);
}

TEST(limits_are_logged_at_once_and_then_once_a_minute)
{
    struct http_server s = {.connections_max = 7};
    listener_notice(&s, 5000);
    CHECK(s.evicted_logged.at_ms == 0 && s.refused_logged.at_ms == 0 && s.failed_logged.at_ms == 0);
    s.stats = (struct http_stats){.evicted = 3, .refused = 2, .accept_failures = 1};
    s.accept_error = EMFILE;
    listener_notice(&s, 6000);
    CHECK(s.evicted_logged.at_ms == 6000 && s.evicted_logged.count == 3);
    CHECK(s.refused_logged.at_ms == 6000 && s.refused_logged.count == 2);
    CHECK(s.failed_logged.at_ms == 6000 && s.failed_logged.count == 1);
    s.stats.evicted = 9;
    listener_notice(&s, 65999);
    CHECK(s.evicted_logged.at_ms == 6000 && s.evicted_logged.count == 3);
    listener_notice(&s, 66000);
    CHECK(s.evicted_logged.at_ms == 66000 && s.evicted_logged.count == 9);
    CHECK(s.refused_logged.at_ms == 6000 && s.failed_logged.at_ms == 6000);
}

/* --- descriptors ------------------------------------------------------------------------------*/

TEST(the_limit_of_connections_follows_the_limit_of_descriptors)
{
    static const struct {
        uint64_t descriptors;
        uint32_t connections;
    } rows[] = {
        {0, 1},
        {1, 1},
        {2, 1},
        {3, 2},
        {64, 32},
        {256, 128},
        {512, 256},
        {1024, 768},
        {1255, 999},
        {1256, 1000},
        {1257, 1000},
        {65536, 1000},
        {UINT64_MAX, 1000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CHECK(http_connections_for(rows[i].descriptors) == rows[i].connections);
    struct rlimit files;
    CHECK(getrlimit(RLIMIT_NOFILE, &files) == 0);
    CHECK(http_connections_default() == http_connections_for(files.rlim_cur));
}

enum { FILL_MAX = 4096 };

static struct rlimit limit_before;
static int filled[FILL_MAX];
static int filled_count;

/* From now on this process has no descriptor left. */
static void use_up_descriptors(void)
{
    CHECK(getrlimit(RLIMIT_NOFILE, &limit_before) == 0);
    struct rlimit low = limit_before;
    low.rlim_cur = 200;
    CHECK(setrlimit(RLIMIT_NOFILE, &low) == 0);
    for (filled_count = 0; filled_count < FILL_MAX; filled_count++)
        if ((filled[filled_count] = dup(0)) < 0)
            break;
    CHECK(errno == EMFILE && filled_count < FILL_MAX);
}

static void give_descriptors_back(void)
{
    while (filled_count > 0)
        CHECK(close(filled[--filled_count]) == 0);
    CHECK(setrlimit(RLIMIT_NOFILE, &limit_before) == 0);
}

static int unconnected(void)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
    return fd;
}

static void connect_to(const struct world *w, int fd)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(w->port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
}

TEST(without_descriptors_accepting_pauses_and_resumes)
{
    struct world *w = world_open((struct http_options){.connections_max = 20});
    struct talk t = {.fd = unconnected()};
    use_up_descriptors();
    connect_to(w, t.fd);
    send_text(&t, GET("/x"));
    const uint64_t end = uv_hrtime() + PATIENCE_S * 1000000000ull;
    while (stats_of(w).accept_failures < 2 && uv_hrtime() < end)
        ignore(poll(NULL, 0, 10), "only to wait");
    CHECK(stats.accept_failures >= 2 && stats.connections == 0);
    /* It does not try again and again: ten times a second, and we allow for far more. */
    const uint64_t before = stats.accept_failures;
    ignore(poll(NULL, 0, 500), "only to wait");
    CHECK(stats_of(w).accept_failures - before < 100);
    give_descriptors_back();
    CHECK(read_answer(&t).status == 200);
    hang_up(&t);
    world_close(w);
}

TEST(without_descriptors_the_oldest_connection_is_evicted)
{
    struct world *w = world_open((struct http_options){.connections_max = 20});
    struct talk waiting = dial_seen(w, GET("/hold"));
    wait_held(w, 1);
    struct talk silent = dial_seen(w, "GET /x HT");
    struct talk t = {.fd = unconnected()};
    use_up_descriptors();
    connect_to(w, t.fd);
    send_text(&t, GET("/x"));
    CHECK(read_answer(&t).status == 200);
    CHECK(read_end(&silent));
    CHECK(!is_closed(&waiting));
    CHECK(stats_of(w).evicted == 1 && stats.accept_failures >= 1);
    give_descriptors_back();
    in_loop(w, answer_held);
    CHECK(read_answer(&waiting).status == 200);
    hang_up(&t);
    hang_up(&silent);
    hang_up(&waiting);
    world_close(w);
}

/* The sweep detects them, without another connection. */
TEST(connections_closed_within_their_request_line_release_their_slots)
{
    enum { COUNT = 40 };
    struct world *w = world_open((struct http_options){.connections_max = 200});
    for (int i = 0; i < COUNT; i++) {
        struct talk t = dial(w);
        send_text(&t, "GET /healthz HT");
        hang_up(&t);
    }
    CHECK(becomes_connected(w, 0));
    struct talk t = dial(w);
    send_text(&t, GET("/x"));
    CHECK(read_answer(&t).status == 200);
    CHECK(stats_of(w).evicted == 0);
    hang_up(&t);
    world_close(w);
}
