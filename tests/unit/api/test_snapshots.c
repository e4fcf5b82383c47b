/* What snapshots held: the call that asks waits for whoever keeps it, and tells nothing that does
 * not belong together. */
#include "tests/unit/api/api_world.h"

/* Whoever keeps closed intervals: it answers when a test lets it. */
struct keeper {
    struct front *f;
    err answers;
    uint32_t asked;
    int64_t deployment_id, seq, number;
};

static struct keeper keeper;

static err keeper_intervals(void *self, int64_t deployment_id, int64_t seq, int64_t number)
{
    CHECK(self == keeper.f);
    keeper.asked++;
    keeper.deployment_id = deployment_id;
    keeper.seq = seq;
    keeper.number = number;
    return keeper.answers;
}

static void set_data(struct front *f, const char *noderole, const char *data)
{
    DONE(f->w, cmd_propose(f->w, noderole));
    DONE(f->w, CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(f->w, noderole),
                   .data = world_json(f->w, data)));
    DONE(f->w, cmd_commit(f->w, noderole));
    world_run_all(f->w);
}

/* a@n1 in d: snapshot 1 with {"v":1}, snapshot 2 with {"v":2}, the head with {"v":3} and b@n1. */
static struct front *furnished(void)
{
    struct front *f = front_open();
    f->engine.intervals = keeper_intervals;
    api_free(f->api);
    f->api = api_new(f->engine, f->passwords);
    keeper = (struct keeper){.f = f};
    world_role(f->w, "a", "");
    world_role(f->w, "b", "");
    world_deployment(f->w, "d");
    world_node(f->w, "n1", "d");
    world_bind_in(f->w, "a@n1", "d");
    DONE(f->w, CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(f->w, "a@n1"),
                   .data = world_json(f->w, "{'v':1}")));
    world_commit_deployment(f->w, "d");
    world_run_all(f->w);
    set_data(f, "a@n1", "{'v':2}");
    DONE(f->w, CMD(DEPLOYMENT_PROPOSE, deployment_propose, .id = the_deployment(f->w, "d")));
    world_bind_in(f->w, "b@n1", "d");
    world_commit_deployment(f->w, "d");
    world_run_all(f->w);
    set_data(f, "a@n1", "{'v':3}");
    world_collect(f->w);
    return f;
}

/* The archive covers that seq. */
static bool covers(const struct record *r)
{
    if (r->table == TABLE_OLD_DATA)
        return r->old_data.deployment_id == keeper.deployment_id &&
               r->old_data.from_seq <= keeper.seq && keeper.seq < r->old_data.to_seq;
    return r->table == TABLE_OLD_MEMBER && r->old_member.deployment_id == keeper.deployment_id &&
           r->old_member.from_seq <= keeper.seq && keeper.seq < r->old_member.to_seq;
}

/* The keeper says what it keeps by now. */
static void let_answer(struct front *f)
{
    struct record found[16];
    uint32_t count = 0;
    for (size_t i = 0; i < f->w->kept_count; i++)
        if (covers(&f->w->kept[i]))
            found[count++] = f->w->kept[i];
    api_found(f->api, keeper.number, found, count, OK);
}

/* "/api/v2/" and a path in which # stands for the id of the snapshot with that seq. */
static const char *target(struct front *f, const char *path, int64_t seq)
{
    struct record s;
    int64_t id = read_head(f->w, "d").id;
    for (; core_record(f->w->core, TABLE_SNAPSHOT, id, &s) && s.snapshot.seq != seq;)
        id = s.snapshot.predecessor_id;
    CHECK(id != 0);
    struct buf b = buf_in(&f->w->arena);
    buf_put_z(&b, "/api/v2/");
    for (; *path; path++)
        if (*path == '#')
            buf_put_i64(&b, id);
        else
            buf_put_c(&b, *path);
    return str_z(&f->w->arena, buf_str(&b));
}

TEST(a_difference_asks_for_each_side_that_is_history)
{
    struct front *f = furnished();
    const struct snapshot_record head = read_head(f->w, "d");
    CHECK(head.seq == 4);
    struct asked *d = get(f, target(f, "snapshots/#/diff/d", 1));
    CHECK(d->answers == 0 && keeper.asked == 1 && keeper.seq == 1);
    let_answer(f);
    STATUS(d, 200);
    CHECK(keeper.asked == 1); /* the head is in the core */
    SAYS(d->type, "application/vnd.crowbar.diff.obj+json; version=2.0");
    SAYS(at(f, d, "from"), "1");
    SAYS(at(f, d, "to"), "4");
    SAYS(at(f, d, "changed"), "[{'node':3,'node_name':'n1.example.com','paths':['v'],'role':1,"
                              "'role_name':'a','values':[[1,3]]}]");
    SAYS(at(f, d, "added"), "[{'node':3,'node_name':'n1.example.com','role':2,'role_name':'b'}]");
    SAYS(at(f, d, "removed"), "[]");
    struct asked *both = get(f, target(f, "snapshots/d/diff/#", 4));
    STATUS(both, 200); /* nobody was asked */
    CHECK(keeper.asked == 1);
    struct asked *old = get(f, target(f, "snapshots/#/node_roles", 2));
    CHECK(keeper.asked == 2 && keeper.seq == 2);
    let_answer(f);
    STATUS(old, 200);
    SAYS(column(old, "data"), "{\"v\":2}");
    front_close(f);
}

TEST(nobody_is_asked_before_what_is_seen_is_in_the_store)
{
    struct front *f = furnished();
    f->held = 1;
    struct asked *d = get(f, target(f, "snapshots/#/nodes", 1));
    CHECK(d->answers == 0 && keeper.asked == 0);
    f->held = 0;
    api_durable(f->api, f->w->turn + 1);
    CHECK(d->answers == 0 && keeper.asked == 1);
    f->held = 1; /* what it sees when it is told waits again */
    let_answer(f);
    CHECK(d->answers == 0);
    f->held = 0;
    api_durable(f->api, f->w->turn + 1);
    STATUS(d, 200);
    SAYS(column(d, "name"), "n1.example.com");
    front_close(f);
}

TEST(what_came_apart_is_asked_for_again_but_not_for_ever)
{
    struct front *f = furnished();
    struct asked *d = get(f, target(f, "snapshots/#/node_roles", 1));
    CHECK(keeper.asked == 1);
    set_data(f, "a@n1", "{'v':4}");
    world_collect(f->w);
    let_answer(f); /* of before; something was closed since */
    CHECK(d->answers == 0 && keeper.asked == 2);
    api_reloaded(f->api); /* another core counts anew */
    let_answer(f);
    CHECK(d->answers == 0 && keeper.asked == 3);
    let_answer(f);
    STATUS(d, 200);
    SAYS(column(d, "data"), "{\"v\":1}");
    d = get(f, target(f, "snapshots/#/node_roles", 1));
    while (d->answers == 0) {
        api_reloaded(f->api);
        let_answer(f);
        CHECK(keeper.asked < 20);
    }
    PROBLEM(f, d, 503, "busy", "absent");
    SAID(d, "Retry-After: 1");
    front_close(f);
}

TEST(whoever_keeps_nothing_or_cannot_say_is_told_of)
{
    struct front *f = furnished();
    keeper.answers = ERR_LIMIT;
    PROBLEM(f, get(f, target(f, "snapshots/#/node_roles", 1)), 429, "limit", "absent");
    keeper.answers = OK;
    struct asked *d = get(f, target(f, "snapshots/#/diff/d", 1));
    api_found(f->api, keeper.number, NULL, 0, ERR_UNAVAILABLE);
    PROBLEM(f, d, 503, "unavailable", "absent");
    api_found(f->api, keeper.number, NULL, 0, OK); /* nobody waits any more */
    f->engine.intervals = NULL;
    api_free(f->api);
    f->api = api_new(f->engine, f->passwords);
    PROBLEM(f, get(f, target(f, "snapshots/#/node_roles", 1)), 404, "not_found", "absent");
    front_close(f);
}

TEST(a_revert_carries_what_was_read)
{
    struct front *f = furnished();
    struct asked *r = asked_new(f, HTTP_PUT, "/api/v2/deployments/d/revert");
    asked_header(r, "Authorization", f->bearer);
    asked_body(f, r, "{'seq':1}");
    asked_send(f, r);
    CHECK(r->answers == 0 && keeper.asked == 1 && f->line_count == 0);
    let_answer(f);
    CHECK(r->answers == 0 && f->line_count == 1);
    SAYS(shown(f->w, f->line[0].deployment_revert.content),
         "{'data':[{'data':{'v':1},'node':3,'role':1}],'members':[{'node':3,'role':1}]}");
    front_take(f);
    STATUS(r, 200);
    SAYS(at(f, r, "state"), "0");
    SAYS(at(f, r, "skipped"), "[]");
    HAS(at(f, r, "removed"), "'role_name':'b'");
    front_close(f);
}

TEST(a_verb_of_a_snapshot_looks_again_when_the_head_is_another_by_then)
{
    struct front *f = furnished();
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

TEST(a_plan_is_a_commit_that_is_not_done)
{
    struct front *f = furnished();
    DONE(f->w, CMD(DEPLOYMENT_PROPOSE, deployment_propose, .id = the_deployment(f->w, "d")));
    world_collect(f->w);
    struct asked *p = asked_new(f, HTTP_GET, "/api/v2/deployments/d/plan");
    asked_header(p, "Authorization", f->bearer);
    asked_send(f, p);
    CHECK(f->line_count == 1 && f->line[0].is_dry);
    front_take(f);
    STATUS(p, 200);
    SAYS(keys(p, body_of(p)), "announced,changed,changed_destructive,commits,consent,destroys,"
                              "destructive,hash,held,missing,removes,"
                              "reruns,role_commits,runs,seq");
    CHECK(read_head(f->w, "d").state == SNAPSHOT_PROPOSED);
    front_close(f);
}
