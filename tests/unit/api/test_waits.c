/* When replies are sent: waiting reads, dropped cores, failed commands, shutdown. */
#include "tests/unit/api/api_world.h"

#define LAB "/api/v2/deployments/lab"

static struct front *world_with_nodes(void)
{
    struct front *f = front_open();
    world_deployment(f->w, "lab");
    world_collect(f->w);
    return f;
}

/* ---- reads ---- */

TEST(a_read_waits_until_its_turn_is_durable)
{
    struct front *f = world_with_nodes();
    const int64_t now = f->w->turn;
    f->held = 2;
    struct asked *a = get(f, LAB);
    f->held = 1;
    struct asked *b = get(f, "/api/v2/deployments/nix");
    f->held = 0;
    struct asked *c = get(f, LAB);
    CHECK(a->answers == 0 && b->answers == 0);
    STATUS(c, 200);
    api_durable(f->api, now);
    CHECK(a->answers == 0 && b->answers == 0);
    api_durable(f->api, now + 1);
    CHECK(a->answers == 0);
    PROBLEM(f, b, 404, "not_found", "id");
    api_durable(f->api, now + 2);
    STATUS(a, 200);
    front_close(f);
}

/* Other changes do not matter for the fields of a node; the state of a deployment depends on them.
 */
TEST(an_unchanged_object_is_shown_at_once)
{
    struct front *f = world_with_nodes();
    const int64_t id = world_node(f->w, "n1", "system");
    world_node(f->w, "n2", "system");
    world_collect(f->w);
    f->held = 1;
    STATUS(get(f, "/api/v2/nodes/n1.example.com"), 200);
    CHECK(get(f, LAB)->answers == 0);
    CHECK(get(f, "/api/v2/nodes/nix.example.com")->answers == 0);
    /* Changed and not collected; then collected and not durable. */
    DONE(f->w, CMD(NODE_UPDATE, node_update, .id = id, .given = GIVEN_DESCRIPTION,
                   .description = STR("later")));
    struct asked *a = get(f, "/api/v2/nodes/n1.example.com");
    STATUS(get(f, "/api/v2/nodes/n2.example.com"), 200);
    world_collect(f->w);
    f->w->turn--;
    struct asked *b = get(f, "/api/v2/nodes/n1.example.com");
    CHECK(a->answers == 0 && b->answers == 0);
    f->w->turn++;
    f->held = 0;
    api_durable(f->api, f->w->turn);
    EXPECT_STR(at(f, a, "description"), "'later'");
    EXPECT_STR(at(f, b, "description"), "'later'");
    front_close(f);
}

TEST(a_waiting_read_shows_the_core_it_was_computed_from)
{
    struct front *f = world_with_nodes();
    f->held = 1;
    struct asked *a = get(f, LAB);
    DONE(f->w, CMD(DEPLOYMENT_UPDATE, deployment_update, .id = 2, .given = GIVEN_DESCRIPTION,
                   .description = STR("later")));
    api_durable(f->api, f->w->turn + 1);
    EXPECT_STR(at(f, a, "description"), "''");
    front_close(f);
}

TEST(waiting_reads_are_answered_in_order)
{
    struct front *f = world_with_nodes();
    struct asked *all[20];
    f->held = 1;
    for (int i = 0; i < 20; i++)
        all[i] = get(f, i % 2 ? LAB : "/api/v2/nodes");
    api_durable(f->api, f->w->turn + 1);
    for (int i = 0; i < 20; i++)
        STATUS(all[i], 200);
    front_close(f);
}

TEST(a_reload_computes_waiting_reads_again)
{
    struct front *f = world_with_nodes();
    f->held = 1;
    struct asked *one = get(f, LAB);
    struct asked *list = get(f, "/api/v2/deployments");
    DONE(f->w, CMD(DEPLOYMENT_UPDATE, deployment_update, .id = 2, .given = GIVEN_NAME,
                   .name = STR("other")));
    f->held = 0;
    api_reloaded(f->api);
    PROBLEM(f, one, 404, "not_found", "id");
    EXPECT_STR(column(list, "name"), "other,system");
    front_close(f);
}

TEST(a_read_may_wait_again_after_a_reload)
{
    struct front *f = world_with_nodes();
    f->held = 1;
    struct asked *a = get(f, LAB);
    api_reloaded(f->api);
    api_reloaded(f->api);
    CHECK(a->answers == 0);
    api_durable(f->api, f->w->turn + 1);
    STATUS(a, 200);
    front_close(f);
}

TEST(a_reload_without_a_core_answers_503)
{
    struct front *f = world_with_nodes();
    f->held = 1;
    struct asked *a = get(f, LAB);
    f->is_down = true;
    f->trouble = "disk full";
    api_reloaded(f->api);
    PROBLEM(f, a, 503, "unavailable", "absent");
    EXPECT_STR(at(f, a, "message"), "'the store is not available: disk full'");
    f->is_down = false;
    front_close(f);
}

TEST(with_a_stalled_store_only_durable_data_is_returned)
{
    struct front *f = world_with_nodes();
    const int64_t id = world_node(f->w, "n1", "system");
    world_collect(f->w);
    f->held = 1;
    struct asked *held = get(f, LAB);
    f->is_stalled = true;
    api_reloaded(f->api);
    PROBLEM(f, held, 503, "unavailable", "absent");
    PROBLEM(f, get(f, LAB), 503, "unavailable", "absent");
    STATUS(get(f, "/api/v2/nodes/n1.example.com"), 200); /* unchanged */
    STATUS(get(f, "/metrics"), 200);
    /* A changed object is not durable. */
    DONE(f->w, CMD(NODE_UPDATE, node_update, .id = id, .given = GIVEN_DESCRIPTION,
                   .description = STR("later")));
    PROBLEM(f, get(f, "/api/v2/nodes/n1.example.com"), 503, "unavailable", "absent");
    f->held = 0;
    STATUS(get(f, LAB), 200);
    f->is_stalled = false;
    front_close(f);
}

TEST(metrics_never_wait)
{
    struct front *f = world_with_nodes();
    f->held = 1;
    STATUS(get(f, "/metrics"), 200);
    f->is_down = true; /* the core has a batch whose commit is uncertain */
    STATUS(get(f, "/metrics"), 200);
    PROBLEM(f, get(f, LAB), 503, "unavailable", "absent");
    f->is_down = false;
    front_close(f);
}

TEST(a_reload_authenticates_again)
{
    struct front *f = world_with_nodes();
    f->held = 1;
    struct asked *a = get(f, LAB);
    DONE(f->w, CMD(USER_CREATE, user_create, .username = STR("boss"), .is_admin = true));
    DONE(f->w,
         CMD(USER_UPDATE, user_update, .id = 1, .given = GIVEN_USER_IS_LOCKED, .is_locked = true));
    api_reloaded(f->api);
    f->held = 0;
    api_durable(f->api, INT64_MAX);
    STATUS(a, 401);
    front_close(f);
}

TEST(a_refusal_based_on_the_core_waits_too)
{
    struct front *f = world_with_nodes();
    f->held = 1;
    struct asked *a = ask(f, HTTP_PUT, "/api/v2/deployments/nix/commit", "");
    CHECK(a->answers == 0);
    f->held = 0;
    DONE(f->w, CMD(DEPLOYMENT_CREATE, deployment_create, .name = STR("nix")));
    api_reloaded(f->api);
    CHECK(a->answers == 0 && f->line_count == 1); /* valid now, and submitted */
    front_take(f);
    STATUS(a, 200);
    front_close(f);
}

/* ---- writes ---- */

TEST(a_write_waits_for_its_outcome)
{
    struct front *f = world_with_nodes();
    struct asked *a = asked_new(f, HTTP_PUT, LAB);
    asked_header(a, "Authorization", f->bearer);
    asked_body(f, a, "{'description':'x'}");
    asked_send(f, a);
    CHECK(a->answers == 0 && f->line_count == 1);
    CHECK(f->line[0].kind == COMMAND_DEPLOYMENT_UPDATE && f->line[0].request > 0);
    CHECK(str_eq(f->line[0].actor, STR("user admin")));
    api_durable(f->api, INT64_MAX);
    api_reloaded(f->api);
    CHECK(a->answers == 0);
    front_take(f);
    STATUS(a, 200);
    EXPECT_STR(at(f, a, "description"), "'x'");
    front_close(f);
}

TEST(outcomes_come_in_any_order)
{
    struct front *f = world_with_nodes();
    struct asked *all[10];
    for (int i = 0; i < 10; i++) {
        char body[64];
        snprintf(body, sizeof body, "{'name':'d%d'}", i);
        all[i] = asked_new(f, HTTP_POST, "/api/v2/deployments");
        asked_header(all[i], "Authorization", f->bearer);
        asked_body(f, all[i], body);
        asked_send(f, all[i]);
    }
    for (uint32_t i = 0; i < 5; i++) {
        const struct command last = f->line[9 - i];
        f->line[9 - i] = f->line[i];
        f->line[i] = last;
    }
    while (f->line_count)
        front_take(f);
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "'d%d'", i);
        STATUS(all[i], 200);
        EXPECT_STR(at(f, all[i], "name"), name);
    }
    front_close(f);
}

TEST(an_outcome_may_come_from_within_the_submit)
{
    struct front *f = world_with_nodes();
    f->at_once = true;
    STATUS(ask(f, HTTP_POST, "/api/v2/deployments", "{'name':'now'}"), 200);
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/deployments", "{'name':'now'}"), 409, "name_taken",
            "name");
    front_close(f);
}

TEST(a_change_of_an_object_deleted_since_is_reported_as_made)
{
    struct front *f = world_with_nodes();
    struct asked *a = asked_new(f, HTTP_PUT, LAB);
    asked_header(a, "Authorization", f->bearer);
    asked_send(f, a);
    const int64_t request = f->line[0].request;
    f->line_count = 0;
    DONE(f->w, CMD(DEPLOYMENT_DELETE, deployment_delete, .id = 2));
    api_outcome(f->api, request, &(struct outcome){.verdict = VERDICT_DONE, .id = 2}, 9);
    STATUS(a, 200);
    HAS(a->type, "deployment.empty+json");
    HAS(a->body, "deleted since");
    front_close(f);
}

TEST(outcomes_with_unknown_numbers_are_ignored)
{
    struct front *f = world_with_nodes();
    api_outcome(f->api, 7, &(struct outcome){.verdict = VERDICT_DONE, .id = 2}, 9);
    api_failed(f->api, 7, ERR_UNAVAILABLE);
    front_close(f);
}

/* ---- failures ---- */

static const struct {
    err why;
    int status;
    const char *code;
    bool later_may_be_better;
} failures[] = {{ERR_UNAVAILABLE, 503, "unavailable", true},
                {ERR_LIMIT, 429, "limit", true},
                {ERR_FENCED, 503, "fenced", true},
                {ERR_UNKNOWN, 500, "unknown", false},
                {ERR_IO, 500, "failed", false}};

static void check_failure(struct front *f, struct asked *a, uint32_t i)
{
    PROBLEM(f, a, failures[i].status, failures[i].code, "absent");
    if (failures[i].later_may_be_better)
        SAID(a, "Retry-After: 1");
    if (failures[i].why == ERR_UNKNOWN)
        HAS(a->body, "the outcome is unknown");
    if (failures[i].why == ERR_UNAVAILABLE)
        HAS(a->body, "no disk");
}

TEST(an_error_of_submit_is_answered_at_once)
{
    struct front *f = world_with_nodes();
    f->trouble = "no disk";
    for (uint32_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        f->submits = failures[i].why;
        check_failure(f, ask(f, HTTP_PUT, LAB "/commit", ""), i);
    }
    STATUS(get(f, LAB), 200);
    f->submits = OK;
    STATUS(ask(f, HTTP_PUT, LAB "/commit", ""), 200);
    front_close(f);
}

TEST(a_later_failure_is_answered_when_it_arrives)
{
    struct front *f = world_with_nodes();
    f->trouble = "no disk";
    for (uint32_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        struct asked *a = asked_new(f, HTTP_DELETE, LAB);
        asked_header(a, "Authorization", f->bearer);
        asked_send(f, a);
        CHECK(f->line_count == 1 && !a->answers);
        f->line_count = 0;
        api_failed(f->api, f->line[0].request, failures[i].why);
        check_failure(f, a, i);
    }
    front_close(f);
}

TEST(without_a_core_everything_is_503)
{
    struct front *f = world_with_nodes();
    f->is_down = true;
    PROBLEM(f, get(f, LAB), 503, "unavailable", "absent");
    PROBLEM(f, ask(f, HTTP_PUT, LAB "/commit", ""), 503, "unavailable", "absent");
    SAID(get(f, LAB), "Retry-After: 1");
    f->trouble = "/var/lib/secret: disk full";
    CHECK(!strstr(get(f, LAB)->body, "secret")); /* the caller is not authenticated */
    STATUS(get(f, "/healthz"), 200);
    f->is_down = false;
    front_close(f);
}

/* ---- preconditions ---- */

static void tag(char out_line[64], int64_t turn)
{
    snprintf(out_line, 64, "If-Match: \"%lld\"", (long long)turn);
}

static int64_t lab_turn(struct front *f)
{
    struct record record;
    CHECK(core_record(f->w->core, TABLE_DEPLOYMENT, 2, &record));
    return record.deployment.turn;
}

TEST(if_match_must_name_the_last_change)
{
    struct front *f = world_with_nodes();
    char good[64], stale[64];
    tag(good, lab_turn(f));
    tag(stale, lab_turn(f) - 1);
    struct asked *a = ask_with(f, HTTP_PUT, LAB, "{'description':'x'}", stale);
    PROBLEM(f, a, 412, "precondition_failed", "if_turn");
    STATUS(ask_with(f, HTTP_PUT, LAB, "{'description':'x'}", good), 200);
    const struct {
        enum http_method method;
        const char *target, *body;
    } late[] = {{HTTP_PUT, LAB, "{'description':'y'}"},
                {HTTP_PUT, LAB, ""},
                {HTTP_DELETE, LAB, ""},
                {HTTP_PUT, LAB "/commit", ""},
                {HTTP_PATCH, LAB, "[]"},
                {HTTP_PATCH, LAB, "[{'op':'test','path':'/description','value':'nix'}]"},
                {HTTP_PATCH, LAB, "[{'op':'replace','path':'/description','value':'y'}]"}};
    for (uint32_t i = 0; i < sizeof late / sizeof *late; i++) {
        a = ask_with(f, late[i].method, late[i].target, late[i].body, good);
        PROBLEM(f, a, 412, "precondition_failed", "if_turn");
    }
    EXPECT_STR(at(f, get(f, LAB), "description"), "'x'");
    tag(good, lab_turn(f));
    a = ask_with(f, HTTP_PATCH, LAB, "[{'op':'replace','path':'/description','value':'y'}]", good);
    STATUS(a, 200);
    tag(good, lab_turn(f));
    STATUS(ask_with(f, HTTP_DELETE, LAB, "", good), 200);
    front_close(f);
}

TEST(if_match_is_one_tag_or_any)
{
    struct front *f = world_with_nodes();
    char line[96];
    const char *const never[] = {
        "W/\"%lld\"", "%lld",  "\"%lldx\"", "\"0%lld\"x", "\"-%lld\"",
        "\"\"",       "\"0\"", "nonsense",  "\"a,b\"",    "\"99999999999999999999\""};
    for (uint32_t i = 0; i < sizeof never / sizeof *never; i++) {
        struct buf b = buf_in(&f->w->arena);
        const struct str form = str_from(never[i]);
        const uint32_t percent = str_find(form, '%', 0);
        buf_put_str(&b, str_slice(form, 0, percent));
        if (percent < form.len)
            buf_put_i64(&b, lab_turn(f));
        buf_put_str(&b, str_slice(form, percent + 4, form.len));
        snprintf(line, sizeof line, "If-Match: %s", str_z(&f->w->arena, buf_str(&b)));
        PROBLEM(f, ask_with(f, HTTP_PUT, LAB, "", line), 412, "precondition_failed", "if_turn");
    }
    snprintf(line, sizeof line, "If-Match: \"1\" , \"%lld\"", (long long)lab_turn(f));
    PROBLEM(f, ask_with(f, HTTP_PUT, LAB, "", line), 400, "bad_value", "If-Match");
    PROBLEM(f, ask_with(f, HTTP_DELETE, "/api/v2/tokens/1", "", line), 400, "bad_value",
            "If-Match");
    STATUS(ask_with(f, HTTP_PUT, LAB, "", "If-Match: *"), 200);
    PROBLEM(f, ask_with(f, HTTP_PUT, "/api/v2/deployments/nix", "", "If-Match: *"), 404,
            "not_found", "id");
    front_close(f);
}

static struct asked *patch(struct front *f, const char *header)
{
    struct asked *a = asked_new(f, HTTP_PATCH, LAB);
    asked_header(a, "Authorization", f->bearer);
    if (*header)
        asked_header(a, "If-Match", header);
    asked_body(f, a,
               "[{'op':'test','path':'/description','value':''},"
               "{'op':'add','path':'/name','value':'patched'}]");
    asked_send(f, a);
    CHECK(f->line_count == 1 && !a->answers);
    return a;
}

static void describe(struct front *f, const char *text)
{
    DONE(f->w, CMD(DEPLOYMENT_UPDATE, deployment_update, .id = 2, .given = GIVEN_DESCRIPTION,
                   .description = str_from(text)));
    world_collect(f->w);
}

/* The object must not have changed when the patch is executed. */
TEST(a_patch_is_computed_again_after_another_change)
{
    struct front *f = world_with_nodes();
    struct asked *a = patch(f, "");
    describe(f, "in between");
    front_take(f);
    PROBLEM(f, a, 409, "patch_conflict", "absent"); /* second attempt: the test operation fails */
    describe(f, "");
    a = patch(f, "");
    describe(f, "there");
    describe(f, "and back");
    describe(f, "");
    front_take(f);
    CHECK(!a->answers && f->line_count == 1);
    front_take(f);
    STATUS(a, 200);
    EXPECT_STR(at(f, a, "name"), "'patched'");
    front_close(f);
}

TEST(a_patch_gives_up_after_some_retries)
{
    struct front *f = world_with_nodes();
    struct asked *a = patch(f, "");
    for (int i = 0; i < 100 && !a->answers; i++) {
        describe(f, "x");
        describe(f, "");
        front_take(f);
    }
    PROBLEM(f, a, 412, "precondition_failed", "if_turn");
    front_close(f);
}

TEST(a_patch_with_if_match_is_not_retried)
{
    struct front *f = world_with_nodes();
    char line[64];
    snprintf(line, sizeof line, "\"%lld\"", (long long)lab_turn(f));
    struct asked *a = patch(f, line);
    describe(f, "x");
    describe(f, "");
    front_take(f);
    PROBLEM(f, a, 412, "precondition_failed", "if_turn");
    front_close(f);
}

/* Two clients with the same ETag: one of them is refused. */
TEST(of_two_writes_with_the_same_if_match_one_succeeds)
{
    struct front *f = world_with_nodes();
    char line[64];
    snprintf(line, sizeof line, "\"%lld\"", (long long)lab_turn(f));
    struct asked *both[2];
    for (int i = 0; i < 2; i++) {
        both[i] = asked_new(f, HTTP_PUT, LAB);
        asked_header(both[i], "Authorization", f->bearer);
        asked_header(both[i], "If-Match", line);
        asked_body(f, both[i], i ? "{'description':'second'}" : "{'description':'first'}");
        asked_send(f, both[i]);
    }
    CHECK(f->line_count == 2);
    front_take(f);
    front_take(f);
    STATUS(both[0], 200);
    PROBLEM(f, both[1], 412, "precondition_failed", "if_turn");
    EXPECT_STR(at(f, get(f, LAB), "description"), "'first'");
    front_close(f);
}

/* ---- disconnected clients ---- */

TEST(calls_of_disconnected_clients_are_ended)
{
    struct front *f = world_with_nodes();
    const struct http_handler handler = api_handler(f->api);
    f->held = 1;
    struct asked *held = get(f, LAB);
    struct asked *writing = asked_new(f, HTTP_PUT, LAB);
    asked_header(writing, "Authorization", f->bearer);
    asked_body(f, writing, "{'description':'done all the same'}");
    asked_send(f, writing);
    struct asked *knocking = asked_new(f, HTTP_GET, LAB);
    asked_header(knocking, "Authorization", "Basic YWRtaW46c2VjcmV0");
    asked_send(f, knocking);
    handler.gone(handler.self, &held->request);
    handler.gone(handler.self, &writing->request);
    handler.gone(handler.self, &knocking->request);
    CHECK(held->answers && writing->answers && !knocking->answers);
    f->held = 0;
    front_take(f); /* and no reply is sent */
    front_wait(f, knocking);
    STATUS(knocking, 200);
    EXPECT_STR(at(f, knocking, "description"), "'done all the same'");
    front_close(f);
}

/* ---- shutdown ---- */

TEST(waiting_calls_are_answered_at_shutdown)
{
    struct front *f = world_with_nodes();
    f->held = 1;
    struct asked *held = get(f, LAB);
    struct asked *writing = asked_new(f, HTTP_PUT, LAB);
    asked_header(writing, "Authorization", f->bearer);
    asked_send(f, writing);
    struct asked *knocking = asked_new(f, HTTP_GET, LAB);
    asked_header(knocking, "Authorization", "Basic YWRtaW46c2VjcmV0");
    asked_send(f, knocking);
    CHECK(!held->answers && !writing->answers && !knocking->answers);
    passwords_free(f->passwords);
    api_free(f->api);
    f->passwords = NULL;
    f->api = NULL;
    STATUS(held, 503);
    STATUS(writing, 500); /* submitted: it may still be executed */
    STATUS(knocking, 503);
    front_close(f);
}

/* ---- probes ---- */

TEST(the_probes_need_no_credentials)
{
    struct front *f = world_with_nodes();
    struct asked *a = asked_new(f, HTTP_GET, "/healthz");
    asked_send(f, a);
    STATUS(a, 200);
    EXPECT_STR(a->body, "ok\n");
    EXPECT_STR(a->type, "text/plain; charset=utf-8");
    a = asked_new(f, HTTP_GET, "/readyz");
    asked_send(f, a);
    STATUS(a, 200);
    f->unready = "the store is being loaded";
    a = asked_new(f, HTTP_GET, "/readyz");
    asked_send(f, a);
    STATUS(a, 503);
    EXPECT_STR(a->body, "the store is being loaded\n");
    a = asked_new(f, HTTP_POST, "/healthz");
    asked_send(f, a);
    STATUS(a, 401);
    front_close(f);
}
