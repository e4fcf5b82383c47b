/* Content of archived snapshots: calls wait for the store, and combine core and store consistently.
 */
#include "tests/unit/api/archive_world.h"

TEST(a_diff_reads_each_archived_side_from_the_store)
{
    struct front *f = world_with_nodes();
    const struct snapshot_record head = read_head(f->w, "d");
    CHECK(head.seq == 4);
    struct asked *d = get(f, target(f, "snapshots/#/diff/d", 1));
    CHECK(d->answers == 0 && fake_history.asked == 1 && fake_history.page.seq == 1);
    let_answer(f);
    STATUS(d, 200);
    CHECK(fake_history.asked == 1); /* the head is in the core */
    EXPECT_STR(d->type, "application/vnd.crowbar.diff.obj+json; version=2.0");
    EXPECT_STR(at(f, d, "from"), "1");
    EXPECT_STR(at(f, d, "to"), "4");
    EXPECT_STR(at(f, d, "changed"),
               "[{'node':3,'node_name':'n1.example.com','paths':['v'],'role':1,"
               "'role_name':'a','values':[[1,3]]}]");
    EXPECT_STR(at(f, d, "added"),
               "[{'node':3,'node_name':'n1.example.com','role':2,'role_name':'b'}]");
    EXPECT_STR(at(f, d, "removed"), "[]");
    struct asked *both = get(f, target(f, "snapshots/d/diff/#", 4));
    STATUS(both, 200); /* the store was not read */
    CHECK(fake_history.asked == 1);
    struct asked *old = get(f, target(f, "snapshots/#/node_roles", 2));
    CHECK(fake_history.asked == 2 && fake_history.page.seq == 2);
    let_answer(f);
    STATUS(old, 200);
    EXPECT_STR(column(old, "data"), "{\"v\":2}");
    front_close(f);
}

TEST(the_store_is_read_only_after_the_core_is_durable)
{
    struct front *f = world_with_nodes();
    f->held = 1;
    struct asked *d = get(f, target(f, "snapshots/#/nodes", 1));
    CHECK(d->answers == 0 && fake_history.asked == 0);
    f->held = 0;
    api_durable(f->api, f->w->turn + 1);
    CHECK(d->answers == 0 && fake_history.asked == 1);
    f->held = 1; /* the result waits for durability again */
    let_answer(f);
    CHECK(d->answers == 0);
    f->held = 0;
    api_durable(f->api, f->w->turn + 1);
    STATUS(d, 200);
    EXPECT_STR(column(d, "name"), "n1.example.com");
    front_close(f);
}

/* The live part was copied before; an interval that is closed while pages are read has the same
 * content. */
TEST(an_interval_closed_while_pages_are_read_changes_nothing)
{
    struct front *f = world_with_nodes();
    struct asked *d = get(f, target(f, "snapshots/#/node_roles", 2));
    CHECK(fake_history.asked == 1);
    let_answer_page(f);
    DONE(f->w, CMD(DEPLOYMENT_PROPOSE, deployment_propose, .id = the_deployment(f->w, "d")));
    DONE(f->w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(f->w, "a@n1")));
    world_commit_deployment(f->w, "d");
    world_run_all(f->w);
    world_collect(f->w);
    api_reloaded(f->api); /* nor does another core change it */
    let_answer(f);
    STATUS(d, 200);
    CHECK(fake_history.asked == 1);
    EXPECT_STR(column(d, "data"), "{\"v\":2}");
    struct asked *later = get(f, target(f, "snapshots/#/node_roles", 2));
    let_answer(f);
    STATUS(later, 200);
    EXPECT_STR(later->body, d->body);
    front_close(f);
}

TEST(a_missing_or_failing_archive_is_reported)
{
    struct front *f = world_with_nodes();
    fake_history.answers = ERR_LIMIT;
    PROBLEM(f, get(f, target(f, "snapshots/#/node_roles", 1)), 429, "limit", "absent");
    fake_history.answers = OK;
    struct asked *d = get(f, target(f, "snapshots/#/diff/d", 1));
    api_on_history(f->api, fake_history.number, NULL, 0, ERR_UNAVAILABLE);
    PROBLEM(f, d, 503, "unavailable", "absent");
    api_on_history(f->api, fake_history.number, NULL, 0, OK); /* no call waits any more */
    f->engine.intervals = NULL;
    api_free(f->api);
    f->api = api_new(f->engine, f->passwords);
    PROBLEM(f, get(f, target(f, "snapshots/#/node_roles", 1)), 404, "not_found", "absent");
    front_close(f);
}

TEST(a_revert_command_has_the_content_of_the_snapshot)
{
    struct front *f = world_with_nodes();
    struct asked *r = asked_new(f, HTTP_PUT, "/api/v2/deployments/d/revert");
    asked_header(r, "Authorization", f->bearer);
    asked_body(f, r, "{'seq':1}");
    asked_send(f, r);
    CHECK(r->answers == 0 && fake_history.asked == 1 && f->line_count == 0);
    let_answer(f);
    CHECK(r->answers == 0 && f->line_count == 1);
    EXPECT_STR(shown(f->w, f->line[0].deployment_revert.content),
               "{'data':[{'data':{'v':1},'node':3,'role':1}],'members':[{'node':3,'role':1}]}");
    front_take(f);
    STATUS(r, 200);
    EXPECT_STR(at(f, r, "state"), "0");
    EXPECT_STR(at(f, r, "skipped"), "[]");
    HAS(at(f, r, "removed"), "'role_name':'b'");
    front_close(f);
}

TEST(a_verb_of_a_snapshot_is_served_again_when_the_head_changed)
{
    struct front *f = world_with_nodes();
    struct asked *v = asked_new(f, HTTP_PUT, target(f, "snapshots/#/recall", 4));
    asked_header(v, "Authorization", f->bearer);
    asked_body(f, v, "");
    asked_send(f, v);
    CHECK(v->answers == 0 && f->line_count == 1);
    DONE(f->w, CMD(DEPLOYMENT_PROPOSE, deployment_propose, .id = the_deployment(f->w, "d")));
    world_collect(f->w);
    front_take(f);
    PROBLEM(f, v, 409, "wrong_state", "id");
    front_close(f);
}

TEST(a_plan_is_a_dry_commit)
{
    struct front *f = world_with_nodes();
    DONE(f->w, CMD(DEPLOYMENT_PROPOSE, deployment_propose, .id = the_deployment(f->w, "d")));
    world_collect(f->w);
    struct asked *p = asked_new(f, HTTP_GET, "/api/v2/deployments/d/plan");
    asked_header(p, "Authorization", f->bearer);
    asked_send(f, p);
    CHECK(f->line_count == 1 && f->line[0].is_dry);
    front_take(f);
    STATUS(p, 200);
    EXPECT_STR(keys(p, body_of(p)),
               "addresses,announced,changed,changed_destructive,commits,consent,destroys,"
               "destructive,hash,held,missing,power,removes,"
               "reruns,role_commits,runs,seq,summary,unproposed");
    CHECK(read_head(f->w, "d").state == SNAPSHOT_PROPOSED);
    front_close(f);
}
