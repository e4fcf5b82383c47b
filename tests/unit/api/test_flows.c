/* Streamed lists: pieces, backpressure, recomputation, abort. */
#include <unistd.h>

#include "tests/unit/api/api_world.h"

enum { NODES = 1500 };

static struct front *world_with_many_nodes(void)
{
    struct front *f = front_open();
    for (int i = 0; i < NODES; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%04d", i);
        world_node(f->w, name, "system");
    }
    world_collect(f->w);
    return f;
}

static struct asked *begin(struct front *f, enum http_method method, const char *target)
{
    struct asked *a = asked_new(f, method, target);
    asked_header(a, "Authorization", f->bearer);
    asked_send(f, a);
    return a;
}

static void finish(struct front *f, const struct asked *a)
{
    for (int i = 0; i < 1000 && !a->answers; i++)
        ignore(api_pump(f->api), "it says when it is over by answering");
    CHECK(a->answers == 1);
}

static uint32_t rows(struct asked *a)
{
    return body_of(a)->count;
}

TEST(a_long_list_is_streamed_completely)
{
    struct front *f = world_with_many_nodes();
    struct asked *a = begin(f, HTTP_GET, "/api/v2/nodes?system=false");
    CHECK(a->answers == 0 && !a->is_streamed);
    finish(f, a);
    STATUS(a, 200);
    CHECK(a->is_streamed && a->pieces > 5 && !a->is_broken);
    EXPECT_STR(a->type, "application/vnd.crowbar.node.list+json; version=2.0");
    CHECK(rows(a) == NODES);
    SAID(a, "X-Total-Count: 1500");
    CHECK(!api_pump(f->api));
    front_close(f);
}

TEST(a_long_list_is_sorted_and_paged_like_a_short_one)
{
    struct front *f = world_with_many_nodes();
    struct asked *a = begin(f, HTTP_GET, "/api/v2/nodes?system=false&sort=-name&limit=3");
    finish(f, a);
    EXPECT_STR(column(a, "name"), "n1499.example.com,n1498.example.com,n1497.example.com");
    SAID(a, "X-Total-Count: 1500");
    a = begin(f, HTTP_HEAD, "/api/v2/nodes?name.contains=n00");
    finish(f, a);
    SAID(a, "X-Total-Count: 100");
    EXPECT_STR(a->body, "");
    a = begin(f, HTTP_GET, "/api/v2/nodes?sort=name&after=999999");
    finish(f, a);
    STATUS(a, 400);
    EXPECT_STR(at(f, a, "field"), "'after'");
    front_close(f);
}

/* Other objects are not visited. */
TEST(a_page_by_id_is_not_streamed)
{
    struct front *f = world_with_many_nodes();
    struct asked *a = get(f, "/api/v2/nodes?limit=2");
    CHECK(rows(a) == 2 && !a->is_streamed);
    CHECK(a->said_count == 2);
    char total[40];
    snprintf(total, sizeof total, "X-Total-Count: %u", core_count(f->w->core, TABLE_NODE));
    SAID(a, total);
    front_close(f);
}

TEST(a_list_stays_well_formed_when_objects_are_deleted)
{
    struct front *f = world_with_many_nodes();
    struct asked *a = begin(f, HTTP_GET, "/api/v2/nodes?system=false");
    while (!a->is_streamed) {
        /* Collected, but nothing written. */
        if (api_pump(f->api) && !a->is_streamed && f->w->turn > 0)
            break;
    }
    STATUS(ask(f, HTTP_DELETE, "/api/v2/nodes/n0000.example.com", ""), 200);
    STATUS(ask(f, HTTP_DELETE, "/api/v2/nodes/n0001.example.com", ""), 200);
    STATUS(ask(f, HTTP_DELETE, "/api/v2/nodes/n1499.example.com", ""), 200);
    finish(f, a);
    CHECK(rows(a) >= NODES - 3 && rows(a) <= NODES);
    front_close(f);
}

/* Rows are chosen in one step and written in another: what does not match any more is left out. */
TEST(a_filtered_list_has_no_row_that_does_not_match_when_it_is_written)
{
    struct front *f = world_with_many_nodes();
    struct asked *a = begin(f, HTTP_GET, "/api/v2/nodes?system=false&description=");
    ignore(api_pump(f->api), "the first thousand are chosen");
    CHECK(!a->is_streamed && a->answers == 0);
    STATUS(ask(f, HTTP_PUT, "/api/v2/nodes/n0000.example.com", "{'description':'changed'}"), 200);
    STATUS(ask(f, HTTP_PUT, "/api/v2/nodes/n0500.example.com", "{'description':'changed'}"), 200);
    while (!a->is_streamed)
        ignore(api_pump(f->api), "until the first piece left");
    STATUS(ask(f, HTTP_PUT, "/api/v2/nodes/n1499.example.com", "{'description':'changed'}"), 200);
    finish(f, a);
    STATUS(a, 200);
    CHECK(!a->is_broken && rows(a) == NODES - 3);
    for (const struct json *row = body_of(a)->first; row; row = row->next)
        CHECK(json_get(row, STR("description"))->text.len == 0);
    SAID(a, "X-Total-Count: 1500");
    front_close(f);
}

/* A list of an owner whose objects may move to another owner. */
TEST(a_nested_list_has_no_row_of_another_owner)
{
    struct front *f = world_with_many_nodes();
    STATUS(ask(f, HTTP_POST, "/api/v2/deployments", "{'name':'lab'}"), 200);
    struct asked *a = begin(f, HTTP_GET, "/api/v2/deployments/system/nodes");
    ignore(api_pump(f->api), "the first thousand are chosen");
    CHECK(!a->is_streamed && a->answers == 0);
    STATUS(ask(f, HTTP_PUT, "/api/v2/nodes/n0001.example.com", "{'deployment':'lab'}"), 200);
    finish(f, a);
    for (const struct json *row = body_of(a)->first; row; row = row->next)
        CHECK(!str_eq(json_get(row, STR("name"))->text, STR("n0001.example.com")));
    front_close(f);
}

/* If nothing matches any more, the stream finds that out in several steps. */
TEST(rows_that_are_left_out_count_as_work)
{
    struct front *f = world_with_many_nodes();
    struct asked *a = begin(f, HTTP_GET, "/api/v2/nodes?system=false&sort=name&alive=true");
    for (int i = 0; i < 2; i++)
        ignore(api_pump(f->api), "all are chosen");
    CHECK(!a->is_streamed && a->answers == 0);
    for (int i = 0; i < NODES; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%04d", i);
        world_alive(f->w, name, false);
    }
    world_collect(f->w);
    uint32_t steps = 0;
    for (; !a->answers && steps < 100; steps++)
        ignore(api_pump(f->api), "it says when it is over by answering");
    STATUS(a, 200);
    CHECK(rows(a) == 0 && steps >= 2);
    front_close(f);
}

TEST(pieces_wait_until_their_turn_is_durable)
{
    struct front *f = world_with_many_nodes();
    f->held = 1;
    struct asked *a = begin(f, HTTP_GET, "/api/v2/nodes");
    for (int i = 0; i < 20; i++)
        ignore(api_pump(f->api), "nothing may come out");
    CHECK(a->answers == 0 && !a->is_streamed);
    f->held = 0;
    f->w->turn++;
    api_durable(f->api, f->w->turn);
    finish(f, a);
    CHECK(rows(a) > NODES);
    front_close(f);
}

TEST(unsent_pieces_are_computed_again_after_a_reload)
{
    struct front *f = world_with_many_nodes();
    struct asked *a = begin(f, HTTP_GET, "/api/v2/nodes?system=false");
    while (!a->is_streamed)
        CHECK(api_pump(f->api));
    const uint32_t pieces = a->pieces;
    f->held = 1;
    for (int i = 0; i < 3; i++)
        ignore(api_pump(f->api), "it is held");
    CHECK(a->pieces == pieces);
    f->held = 0;
    api_reloaded(f->api);
    finish(f, a);
    CHECK(rows(a) == NODES);
    front_close(f);
}

TEST(a_stream_pauses_while_its_client_does_not_read)
{
    struct front *f = world_with_many_nodes();
    struct asked *a = asked_new(f, HTTP_GET, "/api/v2/nodes?system=false");
    asked_header(a, "Authorization", f->bearer);
    a->window = 1;
    asked_send(f, a);
    for (int i = 0; i < 50 && !a->is_awaited; i++)
        ignore(api_pump(f->api), "it says so by waiting");
    CHECK(a->is_awaited && a->pieces == 0 && !api_pump(f->api));
    const struct http_handler handler = api_handler(f->api);
    for (int i = 0; i < 1000 && !a->answers; i++) {
        if (a->is_awaited) {
            a->is_awaited = false;
            a->window = a->received.len + 100000;
            handler.drained(handler.self, &a->request);
        }
        ignore(api_pump(f->api), "it says so by answering");
    }
    CHECK(rows(a) == NODES);
    front_close(f);
}

TEST(a_stream_ends_when_its_client_disconnects)
{
    struct front *f = world_with_many_nodes();
    const struct http_handler handler = api_handler(f->api);
    struct asked *early = begin(f, HTTP_GET, "/api/v2/nodes");
    handler.gone(handler.self, &early->request);
    CHECK(early->answers == 1 && !early->is_streamed);
    struct asked *late = begin(f, HTTP_GET, "/api/v2/nodes");
    while (!late->is_streamed)
        CHECK(api_pump(f->api));
    late->is_gone = true;
    CHECK(api_pump(f->api));
    handler.gone(handler.self, &late->request);
    CHECK(late->answers == 1 && !api_pump(f->api));
    front_close(f);
}

/* The password is verified in a thread, and the call continues when the result arrives. */
TEST(a_client_that_disconnects_while_its_password_is_verified_gets_no_stream)
{
    struct front *f = world_with_many_nodes();
    const struct http_handler handler = api_handler(f->api);
    struct asked *a = asked_new(f, HTTP_GET, "/api/v2/nodes");
    asked_header(a, "Authorization", "Basic YWRtaW46c2VjcmV0");
    asked_send(f, a);
    CHECK(a->answers == 0);
    a->is_gone = true;
    handler.gone(handler.self, &a->request);
    for (int i = 0; i < 10000 && !a->answers; i++) {
        CHECK(uv_run(&f->loop, UV_RUN_NOWAIT) >= 0);
        ignore(api_pump(f->api), "the loop condition reads the result");
        ignore(usleep(1000), "the thread of the password needs time");
    }
    CHECK(a->answers == 1 && !a->is_streamed);
    front_close(f);
}

TEST(a_list_aborted_at_shutdown_is_not_complete)
{
    struct front *f = world_with_many_nodes();
    struct asked *a = begin(f, HTTP_GET, "/api/v2/nodes");
    while (!a->is_streamed)
        CHECK(api_pump(f->api));
    struct asked *b = begin(f, HTTP_GET, "/api/v2/nodes");
    const struct http_handler handler = api_handler(f->api);
    handler.stopping(handler.self, &a->request); /* finite: it is written to its end */
    CHECK(a->answers == 0);
    front_close(f); /* checks that both got a reply */
    (void)b;
}

TEST(no_step_is_called_without_a_core)
{
    struct front *f = world_with_many_nodes();
    struct asked *a = begin(f, HTTP_GET, "/api/v2/nodes?system=false");
    CHECK(api_pump(f->api));
    f->is_down = true;
    CHECK(!api_pump(f->api));
    f->is_down = false;
    CHECK(api_pump(f->api));
    finish(f, a);
    CHECK(rows(a) == NODES);
    front_close(f);
}

TEST(a_list_without_sent_bytes_is_refused_without_a_core)
{
    struct front *f = world_with_many_nodes();
    struct asked *begun = begin(f, HTTP_GET, "/api/v2/nodes?system=false");
    while (!begun->is_streamed)
        CHECK(api_pump(f->api));
    struct asked *unbegun = begin(f, HTTP_GET, "/api/v2/nodes?system=false");
    f->is_down = true;
    api_reloaded(f->api);
    STATUS(unbegun, 503);
    CHECK(begun->answers == 0);
    f->is_down = false;
    api_reloaded(f->api);
    finish(f, begun);
    CHECK(rows(begun) == NODES);
    front_close(f);
}

TEST(an_inventory_is_refused_when_replies_use_all_memory)
{
    struct front *f = world_with_many_nodes();
    held_max = 0;
    struct asked *a = begin(f, HTTP_GET, "/api/status/inventory");
    finish(f, a);
    PROBLEM(f, a, 503, "limit", "absent");
    SAID(a, "Retry-After: 1");
    held_max = SIZE_MAX;
    a = begin(f, HTTP_GET, "/api/status/inventory");
    finish(f, a);
    STATUS(a, 200);
    CHECK(a->is_streamed && a->pieces > 1 && !a->is_broken);
    CHECK(json_at(body_of(a), STR("_meta/hostvars"))->count == NODES);
    front_close(f);
}
