/* Memory limits of replies: what grows with the number of nodes is counted first, then streamed row
 * by row, or refused before it is built. */
#include "model/limits.h"
#include "tests/unit/api/archive_world.h"

static struct record old_member(struct front *f, int64_t i)
{
    return (struct record){.table = TABLE_OLD_MEMBER,
                           .old_member = {.deployment_id = the_deployment(f->w, "d"),
                                          .noderole_id = 1000000 + i,
                                          .role_id = 1,
                                          .node_id = 1000000 + i,
                                          .from_seq = 1,
                                          .to_seq = 2}};
}

static struct record old_data(struct front *f, int64_t i, struct str data)
{
    return (struct record){.table = TABLE_OLD_DATA,
                           .old_data = {.deployment_id = the_deployment(f->w, "d"),
                                        .role_id = 1,
                                        .node_id = 1000000 + i,
                                        .from_seq = 1,
                                        .to_seq = 2,
                                        .data = data}};
}

/* Adds so many members to snapshot 1, each with such data ("": none). */
static void keep(struct front *f, uint32_t count, struct str data)
{
    const bool has_data = data.len > 0;
    struct record *all = arena_array(&f->w->arena, struct record, count * (size_t)2);
    fake_history.more = all;
    fake_history.more_count = has_data ? count * 2 : count;
    for (uint32_t i = 0; i < count; i++) {
        all[i] = old_member(f, i);
        if (has_data)
            all[count + i] = old_data(f, i, data);
    }
}

/* {"a":"xxx..."} of so many bytes. */
static struct str document(struct front *f, uint32_t bytes)
{
    char *text = arena_alloc(&f->w->arena, bytes);
    memset(text, 'x', bytes);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + bytes - 2, "\"}", 2);
    return (struct str){text, bytes};
}

static void finish(struct front *f, const struct asked *a)
{
    let_answer(f);
    for (int i = 0; i < 10000 && !a->answers; i++)
        ignore(api_pump(f->api), "it says when it is over by answering");
    CHECK(a->answers == 1);
}

TEST(a_large_archived_snapshot_is_read_in_pages_and_streamed)
{
    enum { MEMBERS = 9000 };
    struct front *f = world_with_nodes();
    keep(f, MEMBERS, STR("{\"v\":7}"));
    struct asked *a = get(f, target(f, "snapshots/#/node_roles", 1));
    CHECK(a->answers == 0 && fake_history.pages == 1);
    finish(f, a);
    STATUS(a, 200);
    CHECK(fake_history.asked == 1 && fake_history.pages > MEMBERS / 4000 + MEMBERS / 100);
    CHECK(a->is_streamed && a->pieces > 5 && !a->is_broken);
    const struct json *all = body_of(a);
    CHECK(all->count == MEMBERS + 1);
    int64_t last = 0, node_id = 0;
    for (const struct json *row = all->first; row; row = row->next, last = node_id) {
        CHECK(json_as_i64(json_get(row, STR("node_id")), &node_id) && node_id > last);
        const struct json *data = json_get(row, STR("data"));
        EXPECT_STR(shown(f->w, json_write(&a->kept, data)), node_id == 3 ? "{'v':1}" : "{'v':7}");
    }
    a = get(f, target(f, "snapshots/#/deployment_roles", 1));
    finish(f, a);
    STATUS(a, 200);
    EXPECT_STR(a->body, "[]"); /* no data of deployment roles is stored */
    front_close(f);
}

TEST(a_long_diff_is_streamed_with_the_requested_lists)
{
    enum { MEMBERS = 3000 };
    static const char *const wanted[] = {
        "added,changed,from,removed,to", "from,to", "removed", "added,removed", "changed,to",
    };
    static const char *const headers[] = {
        "", "[\"from\",\"to\"]", "[\"removed\"]", "[\"added\",\"removed\"]", "[\"changed\",\"to\"]",
    };
    struct front *f = world_with_nodes();
    keep(f, MEMBERS, STR(""));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct asked *a = asked_new(f, HTTP_GET, target(f, "snapshots/#/diff/d", 1));
        asked_header(a, "Authorization", f->bearer);
        if (*headers[i])
            asked_header(a, "x-return-attributes", headers[i]);
        asked_send(f, a);
        finish(f, a);
        STATUS(a, 200);
        const struct json *diff = body_of(a);
        CHECK(strlen(keys(a, diff)) == strlen(wanted[i]));
        const struct json *removed = json_get(diff, STR("removed"));
        const struct json *added = json_get(diff, STR("added"));
        const struct json *changed = json_get(diff, STR("changed"));
        CHECK(!removed == !strstr(wanted[i], "removed") && !added == !strstr(wanted[i], "added"));
        CHECK(!changed == !strstr(wanted[i], "changed"));
        CHECK(!removed || (removed->count == MEMBERS && a->is_streamed && a->pieces > 2));
        CHECK(!added || added->count == 1);
        CHECK(!changed || changed->count == 1);
    }
    front_close(f);
}

TEST(a_diff_that_is_computed_again_is_the_same)
{
    struct front *f = world_with_nodes();
    keep(f, 3000, STR(""));
    struct asked *whole = get(f, target(f, "snapshots/d/diff/#", 1));
    finish(f, whole);
    struct asked *a = asked_new(f, HTTP_GET, target(f, "snapshots/d/diff/#", 1));
    asked_header(a, "Authorization", f->bearer);
    asked_send(f, a);
    let_answer(f);
    f->held = 1; /* the core is not durable, so nothing is sent */
    for (int i = 0; i < 3; i++)
        ignore(api_pump(f->api), "it holds its pieces back");
    CHECK(a->pieces == 0);
    api_reloaded(f->api);
    f->held = 0;
    finish(f, a);
    STATUS(a, 200);
    CHECK(a->is_streamed && strcmp(a->body, whole->body) == 0);
    front_close(f);
}

TEST(an_archive_over_the_memory_limit_is_refused_while_it_is_read)
{
    enum { DOCUMENTS = 200, DOCUMENT = 1 << 20 };
    struct front *f = world_with_nodes();
    keep(f, DOCUMENTS, document(f, DOCUMENT));
    struct asked *a = get(f, target(f, "snapshots/#/node_roles", 1));
    finish(f, a);
    PROBLEM(f, a, 409, "limit_reached", "absent");
    CHECK(!fake_history.is_asked &&
          fake_history.pages == 3); /* pages: members, end of members, data */
    front_close(f);
}

TEST(memory_of_other_replies_counts_while_an_archive_is_read)
{
    struct front *f = world_with_nodes();
    keep(f, 2000, document(f, 1000));
    held_max = 1 << 20;
    struct asked *a = get(f, target(f, "snapshots/#/node_roles", 1));
    finish(f, a);
    held_max = SIZE_MAX;
    PROBLEM(f, a, 503, "limit", "absent");
    SAID(a, "Retry-After: 1");
    CHECK(!fake_history.is_asked && fake_history.pages > 3 && fake_history.pages < 22);
    front_close(f);
}

TEST(a_revert_is_refused_before_its_content_is_written)
{
    struct front *f = world_with_nodes();
    keep(f, 36, document(f, 1 << 20)); /* 36 MiB are read and would be copied into the command */
    struct asked *a = get(f, target(f, "snapshots/#/node_roles", 1));
    finish(f, a);
    STATUS(a, 200);
    CHECK(a->is_streamed && body_of(a)->count == 37);
    a = asked_new(f, HTTP_PUT, "/api/v2/deployments/d/revert");
    asked_header(a, "Authorization", f->bearer);
    asked_body(f, a, "{'seq':1}");
    asked_send(f, a);
    let_answer(f);
    CHECK(f->line_count == 0);
    PROBLEM(f, a, 409, "limit_reached", "absent");
    front_close(f);
}

static int64_t runs_number;

static err fake_history_runs(void *self, int64_t noderole_id, uint32_t limit, int64_t number)
{
    CHECK(self == fake_history.f && noderole_id && limit == KEEP_RUNS_MAX);
    runs_number = number;
    return OK;
}

TEST(ended_runs_are_streamed)
{
    struct front *f = world_with_nodes();
    f->engine.runs = fake_history_runs;
    api_free(f->api);
    f->api = api_new(f->engine, f->passwords);
    char *log = arena_alloc(&f->w->arena, RUNLOG_MAX);
    memset(log, '\n', RUNLOG_MAX);
    struct record *runs = arena_array(&f->w->arena, struct record, KEEP_RUNS_MAX);
    for (int64_t i = 0; i < KEEP_RUNS_MAX; i++)
        runs[i] = (struct record){.table = TABLE_OLD_RUN,
                                  .old_run = {.noderole_id = 1,
                                              .attempt = KEEP_RUNS_MAX - i,
                                              .run_id = i + 1,
                                              .runlog = {log, RUNLOG_MAX}}};
    struct asked *a = get(f, "/api/v2/node_roles/1/runs");
    CHECK(a->answers == 0);
    api_on_history(f->api, runs_number, runs, KEEP_RUNS_MAX, OK);
    memset(runs, 0xee, KEEP_RUNS_MAX * sizeof *runs); /* records are valid during the call only */
    finish(f, a);
    STATUS(a, 200);
    CHECK(a->is_streamed && a->pieces > 5 && body_of(a)->count == KEEP_RUNS_MAX);
    const struct json *first = body_of(a)->first;
    EXPECT_STR(shown(f->w, json_write(&a->kept, json_get(first, STR("attempt")))), "1000");
    CHECK(json_get(first, STR("runlog"))->text.len == RUNLOG_MAX);
    front_close(f);
}

TEST(a_plan_has_the_requested_members)
{
    struct front *f = world_with_nodes();
    DONE(f->w, CMD(DEPLOYMENT_PROPOSE, deployment_propose, .id = the_deployment(f->w, "d")));
    world_collect(f->w);
    struct asked *whole = get(f, "/api/v2/deployments/d/plan");
    struct asked *some = ask_with(f, HTTP_GET, "/api/v2/deployments/d/plan", "",
                                  "x-return-attributes: [\"seq\",\"commits\",\"hash\",\"none\"]");
    STATUS(some, 200);
    EXPECT_STR(keys(some, body_of(some)), "commits,hash,seq");
    EXPECT_STR(at(f, some, "seq"), at(f, whole, "seq"));
    EXPECT_STR(at(f, some, "hash"), at(f, whole, "hash"));
    EXPECT_STR(at(f, some, "commits"), at(f, whole, "commits"));
    some = ask_with(f, HTTP_GET, "/api/v2/deployments/d/plan", "", "x-return-attributes: [\"n\"]");
    STATUS(some, 200);
    EXPECT_STR(some->body, "{}");
    front_close(f);
}
