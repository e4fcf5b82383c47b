/* Goal: libcurl and libuv never get a NULL that they do not accept. Method: empty strings, with and
 * without a pointer, passed to each function that passes strings on. */
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "power/hammer/hammer_ops.h"
#include "power/hammer/http_client.h"
#include "power/hammer/spawn.h"
#include "tests/check.h"

struct ends {
    uint32_t count;
    enum hammer_end end;
    bool has_why;
};

static void answered(void *self, const struct http_client_response *answer)
{
    struct ends *e = self;
    e->count++;
    e->end = answer->end;
    e->has_why = answer->why && answer->why[0];
}

TEST(empty_requests_end_with_a_reason)
{
    static const char *const empty[] = {NULL, ""};
    uv_loop_t loop;
    CHECK(uv_loop_init(&loop) == 0);
    struct http_client *web = http_client_open(&loop);
    for (int i = 0; i < 2; i++) {
        struct ends e = {0};
        const struct http_client_request ask = {.method = "GET",
                                                .url = "",
                                                .username = empty[i],
                                                .password = empty[i],
                                                .token = empty[i],
                                                .if_match = empty[i],
                                                .timeout_ms = 1000};
        if (!http_client_start(web, &ask, answered, &e))
            continue; /* refused at once */
        while (!e.count)
            CHECK(uv_run(&loop, UV_RUN_ONCE) >= 0);
        CHECK(e.count == 1 && e.end != HAMMER_END_DONE && e.has_why);
    }
    http_client_close(web);
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0 && uv_loop_close(&loop) == 0);
}

static void ended(void *self, const struct spawn_result *result)
{
    struct ends *e = self;
    e->count++;
    e->has_why = result->why && result->why[0];
    CHECK(result->out.len == 0 && result->err.len == 0);
}

TEST(a_program_without_a_name_ends_with_a_reason)
{
    const char *const argv[] = {"", NULL};
    struct ends e = {0};
    uv_loop_t loop;
    CHECK(uv_loop_init(&loop) == 0);
    const struct spawn_ops seam = spawn_ops_default(&loop);
    const struct spawn_order order = {
        .argv = argv, .deadline_ms = 60000, .self = &e, .done = ended};
    CHECK(seam.start(seam.self, &order));
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0 && uv_loop_close(&loop) == 0);
    CHECK(e.count == 1 && e.has_why);
}

static void order_done(void *self, uint64_t key, const struct hammer_result *result)
{
    struct ends *e = self;
    (void)key;
    e->count++;
    e->end = result->end;
    e->has_why = result->text.len > 0;
}

/* Each class with no endpoint, user, secret, options, method or arguments. */
TEST(empty_orders_end_with_a_reason)
{
    static const char *const classes[] = {"", "redfish", "ipmi", "ssh", "wol", "local"};
    char scratch[] = "/tmp/halligan-empty-XXXXXX";
    uv_loop_t loop;
    CHECK(mkdtemp(scratch) && uv_loop_init(&loop) == 0);
    struct ends e = {0};
    const struct hammers_options options = {.scratch = scratch, .poll_ms = 1};
    struct hammers *h =
        hammers_open(&loop, &options, (struct hammers_callbacks){.self = &e, .done = order_done});
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        const struct hammer_bound hammer = {.klass = str_from(classes[i])};
        const struct hammer_order order = {
            .key = i + 1, .node_id = 1, .hammers = &hammer, .hammer_count = 1, .deadline_ms = 2000};
        hammers_submit(h, &order);
        while (e.count == i)
            CHECK(uv_run(&loop, UV_RUN_ONCE) >= 0);
        CHECK(e.count == i + 1 && e.end != HAMMER_END_DONE && e.has_why);
    }
    hammers_close(h);
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0 && uv_loop_close(&loop) == 0);
    CHECK(rmdir(scratch) == 0);
}
