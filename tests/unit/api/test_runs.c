/* Runs: open, ended, logs, cancellation. */
#include "model/limits.h"
#include "tests/unit/api/api_world.h"

/* The fake store of ended runs and logs. */
struct fake_history {
    struct front *f;
    err answers; /* result of the next query */
    uint32_t asked;
    int64_t noderole_id, number;
    uint32_t limit;
    struct api_log_chunk log; /* last request, then its result */
    err log_answers;
    int64_t total;
    bool ended;
    const char *text;
};

static struct fake_history fake_history;

static err fake_history_runs(void *self, int64_t noderole_id, uint32_t limit, int64_t number)
{
    CHECK(self == fake_history.f);
    fake_history.asked++;
    fake_history.noderole_id = noderole_id;
    fake_history.limit = limit;
    fake_history.number = number;
    return fake_history.answers;
}

static err fake_history_log(void *self, struct api_log_chunk *log)
{
    CHECK(self == fake_history.f);
    fake_history.log = *log;
    if (fake_history.log_answers != OK)
        return fake_history.log_answers;
    const struct str all = str_from(fake_history.text);
    log->total = fake_history.total ? fake_history.total : (int64_t)all.len;
    log->ended = fake_history.ended;
    if (log->offset < (int64_t)all.len)
        log->text = str_slice(all, (uint32_t)log->offset, all.len);
    else
        log->offset = log->total;
    return OK;
}

/* a@n1 runs. */
static struct front *world_with_nodes(bool has_history)
{
    struct front *f = front_open();
    if (has_history) {
        f->engine.runs = fake_history_runs;
        f->engine.run_log = fake_history_log;
        api_free(f->api);
        f->api = api_new(f->engine, f->passwords);
    }
    fake_history = (struct fake_history){.f = f, .text = ""};
    world_role(f->w, "a", "");
    world_node(f->w, "n1", NULL);
    world_bind(f->w, "a@n1");
    world_commit(f->w, "a@n1");
    world_deliver(f->w);
    world_anneal(f->w);
    world_collect(f->w);
    return f;
}

/* "/api/v2/" and a path in which # is replaced by the id. */
static const char *target(struct front *f, const char *path, int64_t id)
{
    struct buf b = buf_in(&f->w->arena);
    buf_put_z(&b, "/api/v2/");
    for (; *path; path++)
        if (*path == '#')
            buf_put_i64(&b, id);
        else
            buf_put_c(&b, *path);
    return str_z(&f->w->arena, buf_str(&b));
}

static int64_t the_run(struct front *f)
{
    return world_run(f->w, "a@n1", RUN_RUNNING);
}

/* ---- open runs ---- */

TEST(open_runs_are_listed_and_shown)
{
    struct front *f = world_with_nodes(true);
    struct asked *list = get(f, "/api/v2/runs");
    STATUS(list, 200);
    EXPECT_STR(list->type, "application/vnd.crowbar.run.list+json; version=2.0");
    EXPECT_STR(column(list, "state"), "running");
    struct asked *one = get(f, target(f, "runs/#", the_run(f)));
    STATUS(one, 200);
    EXPECT_STR(keys(one, body_of(one)),
               "attempt,begun,created_at,id,job,node_id,node_role_id,queue,role,"
               "running,started_at,state,tries,updated_at");
    EXPECT_STR(at(f, one, "role"), "'a'");
    EXPECT_STR(at(f, one, "queue"), "'normal'");
    EXPECT_STR(at(f, one, "attempt"), "1");
    EXPECT_STR(at(f, one, "begun"), "false");
    struct asked *few =
        ask_with(f, HTTP_GET, "/api/v2/runs", "", "x-return-attributes: [\"role\",\"id\"]");
    EXPECT_STR(keys(few, body_of(few)->first), "id,role");
    world_finish(f->w, "a@n1", RESULT_OK);
    world_collect(f->w);
    EXPECT_STR(get(f, "/api/v2/runs")->body, "[]");
    front_close(f);
}

TEST(what_is_not_open_is_not_found)
{
    struct front *f = world_with_nodes(true);
    static const char *const names[] = {"999", "a", "0", "-1", "99999999999999999999"};
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];
        snprintf(path, sizeof path, "/api/v2/runs/%s", names[i]);
        PROBLEM(f, get(f, path), 404, "not_found", "id");
        snprintf(path, sizeof path, "/api/v2/runs/%s/cancel", names[i]);
        PROBLEM(f, ask(f, HTTP_PUT, path, ""), 404, "not_found", "id");
        snprintf(path, sizeof path, "/api/v2/runs/%s/log", names[i]);
        PROBLEM(f, get(f, path), 404, "not_found", "id");
    }
    STATUS(ask(f, HTTP_POST, "/api/v2/runs", "{}"), 405);
    front_close(f);
}

TEST(a_run_is_cancelled)
{
    struct front *f = world_with_nodes(true);
    const int64_t id = the_run(f);
    struct asked *a = ask(f, HTTP_PUT, target(f, "runs/#/cancel", id), "");
    STATUS(a, 200);
    HAS(a->body, "is being stopped");
    IS(f->w, "a@n1", "error");
    HAS(str_z(&f->w->arena, read_noderole(f->w, "a@n1").runlog), "cancelled by");
    EXPECT_STR(at(f, get(f, target(f, "runs/#", id)), "state"), "'stopping'");
    PROBLEM(f, ask(f, HTTP_PUT, target(f, "runs/#/cancel", id), ""), 409, "wrong_state", "run_id");
    front_close(f);
}

TEST(a_queued_run_is_cancelled_at_once)
{
    struct front *f = world_with_nodes(true);
    world_finish(f->w, "a@n1", RESULT_OK);
    DONE(f->w, cmd_enqueue(f->w, "a@n1"));
    world_collect(f->w);
    const int64_t id = world_run(f->w, "a@n1", RUN_QUEUED);
    struct asked *a = ask(f, HTTP_PUT, target(f, "runs/#/cancel", id), "");
    STATUS(a, 200);
    HAS(a->body, "was cancelled");
    CHECK(world_runs(f->w, NULL) == 0);
    front_close(f);
}

/* ---- logs ---- */

TEST(a_log_is_read_piece_by_piece)
{
    struct front *f = world_with_nodes(true);
    fake_history.text = "one\ntwo\n";
    const int64_t id = the_run(f);
    struct asked *a = get(f, target(f, "runs/#/log", id));
    STATUS(a, 200);
    EXPECT_STR(keys(a, body_of(a)), "ended,next,offset,text,total");
    EXPECT_STR(at(f, a, "text"), "'one\\ntwo\\n'");
    EXPECT_STR(at(f, a, "offset"), "0");
    EXPECT_STR(at(f, a, "next"), "8");
    EXPECT_STR(at(f, a, "total"), "8");
    EXPECT_STR(at(f, a, "ended"), "false");
    CHECK(fake_history.log.run_id == id && fake_history.log.attempt == 1);
    CHECK(fake_history.log.noderole_id == the_noderole(f->w, "a@n1"));
    fake_history.ended = true;
    struct asked *b = get(f, target(f, "runs/#/log?offset=4", id));
    EXPECT_STR(at(f, b, "text"), "'two\\n'");
    EXPECT_STR(at(f, b, "ended"), "true");
    struct asked *c = get(f, target(f, "runs/#/log?offset=100", id));
    EXPECT_STR(at(f, c, "offset"), "8");
    EXPECT_STR(at(f, c, "next"), "8");
    EXPECT_STR(at(f, c, "text"), "''");
    PROBLEM(f, get(f, target(f, "runs/#/log?offset=-1", id)), 400, "bad_value", "offset");
    PROBLEM(f, get(f, target(f, "runs/#/log?offset=x", id)), 400, "bad_value", "offset");
    front_close(f);
}

TEST(the_log_of_an_ended_run_is_requested_by_attempt)
{
    struct front *f = world_with_nodes(true);
    fake_history.text = "what was";
    PROBLEM(f, get(f, "/api/v2/runs/900/log"), 404, "not_found", "id");
    PROBLEM(f, get(f, "/api/v2/runs/900/log?attempt=2"), 404, "not_found", "id");
    PROBLEM(f, get(f, "/api/v2/runs/900/log?node_role=8&attempt=0"), 400, "bad_value", "attempt");
    struct asked *a = get(f, "/api/v2/runs/900/log?node_role=8&attempt=2");
    EXPECT_STR(at(f, a, "text"), "'what was'");
    CHECK(fake_history.log.run_id == 900 && fake_history.log.attempt == 2 &&
          fake_history.log.noderole_id == 8);
    /* Of an open run, an earlier attempt. */
    STATUS(get(f, target(f, "runs/#/log?attempt=3", the_run(f))), 200);
    CHECK(fake_history.log.attempt == 3 &&
          fake_history.log.noderole_id == the_noderole(f->w, "a@n1"));
    fake_history.log_answers = ERR_NOT_FOUND;
    PROBLEM(f, get(f, "/api/v2/runs/900/log?node_role=8&attempt=2"), 404, "not_found", "id");
    fake_history.log_answers = ERR_UNAVAILABLE;
    STATUS(get(f, "/api/v2/runs/900/log?node_role=8&attempt=2"), 503);
    front_close(f);
}

TEST(a_log_may_contain_any_bytes)
{
    static const struct {
        const char *said;
        bool ended;
        const char *text;
        const char *next;
    } cases[] = {
        {"\xc3\xa4", false, "'\xc3\xa4'", "2"},
        {"a\xc3", false, "'a'", "1"}, /* incomplete: the rest may follow */
        {"a\xf0\x9f\x8c", false, "'a'", "1"},
        {"a\xc3", true, "'a\xef\xbf\xbd'", "2"}, /* the log has ended: it will not */
        {"a\xff"
         "b",
         false,
         "'a\xef\xbf\xbd"
         "b'",
         "3"},
        {"\x80\x80", false, "'\xef\xbf\xbd\xef\xbf\xbd'", "2"},
        {"\xc3(", false, "'\xef\xbf\xbd('", "2"},
        {"\xc0\xaf", false, "'\xef\xbf\xbd\xef\xbf\xbd'", "2"}, /* overlong encoding */
        {"\xed\xa0\x80", false, "'\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd'", "3"}, /* surrogate */
        {"\xf4\x90\x80\x80", false, "'\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd'", "4"},
        {"\xf0\x9f\x8c\x8d", false, "'\xf0\x9f\x8c\x8d'", "4"},
    };
    struct front *f = world_with_nodes(true);
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fake_history.text = cases[i].said;
        fake_history.ended = cases[i].ended;
        struct asked *a = get(f, target(f, "runs/#/log", the_run(f)));
        STATUS(a, 200);
        EXPECT_STR(at(f, a, "text"), cases[i].text);
        EXPECT_STR(at(f, a, "next"), cases[i].next);
    }
    /* Ended, but this is not the last part of the log. */
    fake_history.text = "a\xc3";
    fake_history.total = 10;
    fake_history.ended = true;
    EXPECT_STR(at(f, get(f, target(f, "runs/#/log", the_run(f))), "next"), "1");
    front_close(f);
}

/* ---- ended runs ---- */

static struct record over(struct front *f, int64_t attempt, uint32_t result)
{
    return (struct record){.table = TABLE_OLD_RUN,
                           .old_run = {.noderole_id = the_noderole(f->w, "a@n1"),
                                       .attempt = attempt,
                                       .run_id = 70 + attempt,
                                       .node_id = the_node(f->w, "n1"),
                                       .role_id = the_role(f->w, "a"),
                                       .started_at = 1000,
                                       .ended_at = 2000,
                                       .result = result,
                                       .runlog = STR("said")}};
}

TEST(ended_runs_are_read_from_the_store)
{
    struct front *f = world_with_nodes(true);
    const int64_t id = the_noderole(f->w, "a@n1");
    struct asked *a = get(f, target(f, "node_roles/#/runs", id));
    CHECK(a->answers == 0 && fake_history.asked == 1);
    CHECK(fake_history.noderole_id == id && fake_history.limit == KEEP_RUNS_MAX);
    const struct record runs[] = {over(f, 9, RESULT_CANCELLED),
                                  over(f, 8, RESULT_OK),
                                  over(f, 7, RESULT_FAILED),
                                  over(f, 6, RESULT_LOST),
                                  over(f, 5, RESULT_PARKED),
                                  over(f, 4, RESULT_ASYNC),
                                  over(f, 3, 99)};
    api_on_history(f->api, fake_history.number, runs, 7, OK);
    STATUS(a, 200);
    EXPECT_STR(a->type, "application/vnd.crowbar.run.list+json; version=2.0");
    EXPECT_STR(column(a, "result"), "cancelled,ok,failed,lost,parked,async,unknown");
    EXPECT_STR(column(a, "attempt"), "9,8,7,6,5,4,3");
    EXPECT_STR(keys(a, body_of(a)->first),
               "attempt,ended_at,id,node_id,node_role_id,reason,reason_subject,"
               "reason_text,result,role,runlog,started_at");
    EXPECT_STR(column(a, "role"), "a,a,a,a,a,a,a");
    HAS(column(a, "started_at"), "1970-01-01T00:00:01.000Z,");
    HAS(column(a, "runlog"), "said,said,");
    api_on_history(f->api, fake_history.number, runs, 7, OK); /* no call waits any more */
    front_close(f);
}

TEST(a_deleted_noderole_may_have_ended_runs)
{
    struct front *f = world_with_nodes(true);
    struct asked *a = get(f, "/api/v2/node_roles/777/runs?limit=5");
    CHECK(fake_history.noderole_id == 777 && fake_history.limit == 5);
    struct record run = over(f, 1, RESULT_OK);
    run.old_run.role_id = 0;
    api_on_history(f->api, fake_history.number, &run, 1, OK);
    STATUS(a, 200);
    EXPECT_STR(column(a, "role"), "null");
    struct asked *b = get(f, "/api/v2/node_roles/777/runs");
    api_on_history(f->api, fake_history.number, NULL, 0, OK);
    PROBLEM(f, b, 404, "not_found", "id");
    struct asked *c = get(f, target(f, "node_roles/#/runs", the_noderole(f->w, "a@n1")));
    api_on_history(f->api, fake_history.number, NULL, 0, OK);
    STATUS(c, 200);
    EXPECT_STR(c->body, "[]");
    fake_history.asked = 0;
    PROBLEM(f, get(f, "/api/v2/node_roles/nix/runs"), 404, "not_found", "id");
    PROBLEM(f, get(f, "/api/v2/node_roles/777/runs?limit=0"), 400, "bad_value", "limit");
    PROBLEM(f, get(f, "/api/v2/node_roles/777/runs?limit=1001"), 400, "bad_value", "limit");
    CHECK(fake_history.asked == 0);
    front_close(f);
}

TEST(a_failed_query_is_reported)
{
    struct front *f = world_with_nodes(true);
    fake_history.answers = ERR_LIMIT;
    STATUS(get(f, "/api/v2/node_roles/1/runs"), 429);
    fake_history.answers = OK;
    struct asked *a = get(f, "/api/v2/node_roles/1/runs");
    api_on_history(f->api, fake_history.number, NULL, 0, ERR_UNAVAILABLE);
    STATUS(a, 503);
    struct asked *b = get(f, "/api/v2/node_roles/1/runs");
    f->is_down = true; /* no core for the names of roles */
    api_on_history(f->api, fake_history.number, NULL, 0, OK);
    STATUS(b, 503);
    f->is_down = false;
    front_close(f);
}

TEST(a_result_waits_until_the_core_is_durable)
{
    struct front *f = world_with_nodes(true);
    struct asked *a = get(f, "/api/v2/node_roles/1/runs");
    const struct record run = over(f, 1, RESULT_OK);
    f->held = 1;
    api_on_history(f->api, fake_history.number, &run, 1, OK);
    CHECK(a->answers == 0);
    api_reloaded(f->api); /* the core was dropped: the query is repeated */
    CHECK(a->answers == 0 && fake_history.asked == 2);
    f->held = 0;
    api_on_history(f->api, fake_history.number, &run, 1, OK);
    STATUS(a, 200);
    front_close(f);
}

TEST(a_result_for_a_disconnected_client_is_dropped)
{
    struct front *f = world_with_nodes(true);
    struct asked *a = get(f, "/api/v2/node_roles/1/runs");
    const int64_t number = fake_history.number;
    const struct http_handler handler = api_handler(f->api);
    handler.gone(handler.self, &a->request);
    CHECK(a->answers == 1);
    api_on_history(f->api, number, NULL, 0, OK);
    struct asked *b = get(f, "/api/v2/node_roles/1/runs");
    CHECK(b->answers == 0);
    front_close(f); /* answered at shutdown */
}

TEST(without_a_history_ended_runs_are_404)
{
    struct front *f = world_with_nodes(false);
    STATUS(get(f, "/api/v2/node_roles/1/runs"), 404);
    PROBLEM(f, get(f, target(f, "runs/#/log", the_run(f))), 404, "not_found", "id");
    front_close(f);
}
