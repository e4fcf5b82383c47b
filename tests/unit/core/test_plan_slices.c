#include <stdio.h>

#include "base/json/json.h"
#include "base/prng.h"
#include "core/plan/plan.h"
#include "tests/unit/core/data_world.h"

/* Plans that are computed in slices are compared with a dry commit, over random installations; and
 * changes between two slices make them stale. */

/* clang-format off */
static const char content[] =
    "{\"barclamp\":{\"name\":\"tools\",\"source_path\":\"p\"},"
    "\"hammers\":[{\"name\":\"power\",\"type\":\"ipmi\"}],"
    "\"jigs\":[{\"name\":\"noop\",\"class\":\"noop\"},{\"name\":\"test\",\"class\":\"test\"},"
    "{\"name\":\"script\",\"class\":\"script\"}],"
    "\"roles\":["
    "{\"name\":\"base\",\"jig\":\"noop\",\"flags\":[\"implicit\"]},"
    "{\"name\":\"wipe\",\"jig\":\"script\",\"flags\":[\"destructive\",\"implicit\"],"
    "\"requires\":[\"base\"],\"announces\":[\"wipe\",\"reboot\"]},"
    "{\"name\":\"db\",\"jig\":\"script\",\"flags\":[\"server\"],"
    "\"attribs\":[{\"name\":\"size\",\"map\":\"db/size\",\"writable\":true}]},"
    "{\"name\":\"app\",\"jig\":\"script\",\"requires\":[\"base\",\"db\"],"
    "\"attribs\":[{\"name\":\"port\",\"map\":\"app/port\",\"writable\":true}]},"
    "{\"name\":\"needy\",\"jig\":\"script\",\"requires\":[\"base\"],"
    "\"attribs\":[{\"name\":\"must\",\"map\":\"must\",\"writable\":true,"
    "\"schema\":{\"type\":\"int\",\"required\":true}}]},"
    "{\"name\":\"ring\",\"jig\":\"script\",\"flags\":[\"cluster\"],\"requires\":[\"base\"],"
    "\"wants-attribs\":[\"size\"],"
    "\"attribs\":[{\"name\":\"members\",\"map\":\"ring/members\",\"writable\":true}]},"
    "{\"name\":\"user\",\"jig\":\"script\",\"requires\":[\"ring\"]},"
    "{\"name\":\"gate\",\"jig\":\"noop\",\"flags\":[\"milestone\",\"implicit\"],"
    "\"requires\":[\"app\"]},"
    "{\"name\":\"asker\",\"jig\":\"script\",\"hooks\":[\"on_commit\"]},"
    "{\"name\":\"end\",\"jig\":\"script\",\"requires\":[\"wipe\",\"app\"]},"
    "{\"name\":\"pxe\",\"jig\":\"script\",\"flags\":[\"serves-boot\"]}]}";
/* clang-format on */

static const char *const roles[] = {"base", "wipe", "db",   "app",   "needy",
                                    "ring", "user", "gate", "asker", "end"};
enum { ROLES = sizeof roles / sizeof *roles, NODES = 5, DEPLOYMENTS = 2, CONTENTS = 8 };

struct play {
    struct world w;
    struct prng r;
    int64_t d[DEPLOYMENTS], n[NODES];
    struct str contents[CONTENTS];
    int64_t content_of[CONTENTS];
    struct arena kept;
    uint32_t compared, asked, refused, with_removals, with_reruns, with_held, with_clusters,
        with_power;
};

static uint32_t pick(struct play *p, uint32_t count)
{
    return (uint32_t)prng_below(&p->r, count);
}

/* ---- the comparison ---- */

static struct command committing(int64_t d)
{
    return (struct command){
        .kind = COMMAND_DEPLOYMENT_COMMIT, .actor = STR("test"), .deployment_commit = {.id = d}};
}

static void same_problems(const struct problem *x, const struct problem *y)
{
    for (; x && y; x = x->next, y = y->next)
        CHECK(x->code == y->code && str_eq(x->field, y->field) && str_eq(x->text, y->text));
    CHECK(!x && !y);
}

static void same_asks(const struct veto_call *x, const struct veto_call *y)
{
    for (; x && y; x = x->next, y = y->next)
        CHECK(x->key == y->key && x->hook == y->hook && x->role_id == y->role_id &&
              str_eq(x->argument, y->argument));
    CHECK(!x && !y);
}

static int64_t number_at(const struct json *o, const char *a, const char *b)
{
    int64_t value = -1;
    const struct json *inner = json_get(o, str_from(a));
    CHECK(inner && json_as_i64(b ? json_get(inner, str_from(b)) : inner, &value));
    return value;
}

static uint32_t length(const struct json *doc, const char *list)
{
    return json_get(doc, str_from(list))->count;
}

/* The totals equal the lengths of the lists. */
static void fits_summary(const struct json *doc)
{
    const struct json *s = json_get(doc, STR("summary"));
    CHECK(number_at(s, "actions", "commit") == length(doc, "commits"));
    CHECK(number_at(s, "actions", "commit_role") == length(doc, "role_commits"));
    CHECK(number_at(s, "actions", "remove") == length(doc, "removes"));
    CHECK(number_at(s, "actions", "hold") == length(doc, "held"));
    CHECK(number_at(s, "actions", "rerun") == length(doc, "reruns"));
    CHECK(number_at(s, "actions", "destroy") == length(doc, "destroys"));
    CHECK(number_at(s, "actions", "run") + number_at(s, "actions", "again") +
              number_at(s, "actions", "noop") + number_at(s, "actions", "skip") ==
          length(doc, "runs"));
    CHECK(number_at(s, "missing", NULL) == length(doc, "missing"));
    CHECK(number_at(s, "power", NULL) == length(doc, "power"));
    CHECK(number_at(s, "unproposed", NULL) == length(doc, "unproposed"));
    CHECK(number_at(s, "changed", NULL) == length(doc, "changed"));
    int64_t runs = 0;
    for (const struct json *wave = json_get(s, STR("waves"))->first; wave; wave = wave->next)
        runs += number_at(wave, "run", NULL) + number_at(wave, "again", NULL) +
                number_at(wave, "noop", NULL) + number_at(wave, "skip", NULL);
    CHECK(runs == length(doc, "runs"));
}

static struct str without_summary(struct arena *a, struct str text)
{
    const struct json *doc = doc_tree(a, text);
    struct json *rest = json_make(a, JSON_OBJECT);
    for (const struct json *m = doc->first; m; m = m->next)
        if (!str_eq(m->key, STR("summary")))
            json_set(rest, m->key, json_clone(a, m));
    return json_write(a, rest);
}

static void show_difference(struct arena *a, struct str whole, struct str sliced)
{
    uint32_t at = 0;
    while (at < whole.len && at < sliced.len && whole.at[at] == sliced.at[at])
        at++;
    const uint32_t from = at > 200 ? at - 200 : 0;
    check_failed(str_z(a, str_slice(whole, from, at + 200)), (int)at,
                 str_z(a, str_slice(sliced, from, at + 200)));
}

static void compare(struct play *p, const struct command *commit)
{
    struct arena *a = &p->w.arena;
    struct outcome whole, sliced;
    const struct digest128 before = core_digest_now(p->w.c);
    const uint32_t changed = core_changed(p->w.c);
    core_plan_whole(p->w.c, commit, a, &whole);
    struct plan *plan = core_plan_begin(p->w.c, commit, true);
    while (!core_plan_is_done(plan)) {
        core_plan_advance(plan, 1 + pick(p, 40));
        CHECK(!core_plan_is_stale(plan));
    }
    core_plan_outcome(plan, commit, &sliced);
    const struct digest128 after = core_digest_now(p->w.c);
    CHECK(memcmp(&before, &after, sizeof before) == 0 && core_changed(p->w.c) == changed);
    CHECK(whole.verdict == sliced.verdict);
    same_problems(whole.problems, sliced.problems);
    same_asks(whole.veto_calls, sliced.veto_calls);
    p->compared++;
    p->asked += whole.verdict == VERDICT_NEEDS_HOOKS;
    p->refused += whole.verdict == VERDICT_REFUSED;
    if (whole.verdict == VERDICT_DONE) {
        const struct str doc = without_summary(a, sliced.doc);
        if (!str_eq(doc, whole.doc))
            show_difference(a, whole.doc, doc);
        const struct json *tree = doc_tree(a, sliced.doc);
        struct str canonical;
        uint32_t offset;
        const char *what;
        CHECK(json_canonical(a, sliced.doc, &canonical, &offset, &what) == OK);
        CHECK(str_eq(canonical, sliced.doc));
        fits_summary(tree);
        p->with_removals += length(tree, "removes") > 0;
        p->with_reruns += length(tree, "reruns") > 0;
        p->with_held += length(tree, "held") > 0;
        p->with_power += length(tree, "power") > 0;
        for (const struct json *r = json_get(json_get(tree, STR("summary")), STR("reruns"))->first;
             r; r = r->next)
            p->with_clusters += str_eq(json_get(r, STR("reason"))->text, STR("cluster"));
    }
    core_plan_end(plan);
}

/* With replies of the hooks, so that no veto request is left; sometimes one is a veto. */
static void compare_answered(struct play *p, struct command commit)
{
    struct outcome out;
    compare(p, &commit);
    core_plan_whole(p->w.c, &commit, &p->w.arena, &out);
    if (out.verdict != VERDICT_NEEDS_HOOKS)
        return;
    struct veto_reply *veto_replies =
        arena_array(&p->w.arena, struct veto_reply, out.veto_call_count);
    uint32_t count = 0;
    for (const struct veto_call *ask = out.veto_calls; ask; ask = ask->next)
        veto_replies[count++] = (struct veto_reply){
            .key = ask->key, .veto = pick(p, 4) == 0, .text = STR("not on Sundays")};
    commit.veto_replies = veto_replies;
    commit.veto_reply_count = count;
    compare(p, &commit);
}

/* ---- changes between slices ---- */

static void anneal(struct play *p)
{
    uint32_t left = pick(p, 12);
    while (core_has_work(p->w.c) && left--) {
        step(&p->w, (struct command){.kind = COMMAND_ANNEAL, .anneal = {.budget = 1 + pick(p, 8)}});
        const struct effects started = p->w.fx;
        for (const struct effect *e = started.first; e; e = e->next) {
            const uint32_t fate = pick(p, 10);
            if (e->kind != EFFECT_RUN_START || fate == 0)
                continue; /* continued */
            step(&p->w, (struct command){.kind = COMMAND_RUN_DONE,
                                         .run_done = {.run_id = e->id,
                                                      .attempt = e->attempt,
                                                      .result = fate == 1   ? RESULT_FAILED
                                                                : fate == 2 ? RESULT_ASYNC
                                                                            : RESULT_OK}});
        }
    }
}

static void commit_d(struct play *p, int64_t d)
{
    struct command commit = committing(d);
    step(&p->w, commit);
    if (p->w.out.verdict != VERDICT_NEEDS_HOOKS)
        return;
    struct veto_reply *veto_replies =
        arena_array(&p->w.arena, struct veto_reply, p->w.out.veto_call_count);
    uint32_t count = 0;
    for (const struct veto_call *ask = p->w.out.veto_calls; ask; ask = ask->next)
        veto_replies[count++] = (struct veto_reply){.key = ask->key};
    commit.veto_replies = veto_replies;
    commit.veto_reply_count = count;
    step(&p->w, commit);
}

static int64_t any_noderole(struct play *p)
{
    const int64_t last = core_last_id(p->w.c, TABLE_NODEROLE);
    return last ? prng_between(&p->r, 1, last) : 1;
}

static void keep_content(struct play *p, int64_t d)
{
    const uint32_t at = pick(p, CONTENTS);
    const deployment_ix ix = deployment_by_id(p->w.c, d);
    const int64_t seq = snapshot_at(p->w.c, deployment_at(p->w.c, ix)->head)->seq;
    p->contents[at] = core_snapshot_content(p->w.c, d, seq, NULL, 0, &p->kept);
    p->content_of[at] = d;
}

static void change_data(struct play *p)
{
    static const char *const attribs[] = {"size", "port", "must", "members"};
    static const char *const values[] = {"1", "2", "3", "null"};
    const uint32_t which = pick(p, 4);
    const bool on_node = pick(p, 2);
    const int64_t id = on_node ? p->n[pick(p, NODES)] : p->d[pick(p, DEPLOYMENTS)];
    step(&p->w, set_command(on_node ? TABLE_NODE : TABLE_DEPLOYMENT, id,
                            attrib_id(&p->w, attribs[which]), BUCKET_USER, values[pick(p, 4)]));
}

static void change_node(struct play *p)
{
    const uint32_t what = pick(p, 4);
    struct command c = {.kind = COMMAND_NODE_UPDATE,
                        .node_update = {.id = p->n[pick(p, NODES)],
                                        .alive = pick(p, 3) > 0,
                                        .available = pick(p, 3) > 0}};
    c.node_update.given = what == 0   ? GIVEN_NODE_AVAILABLE
                          : what == 1 ? GIVEN_NODE_TARGET
                                      : GIVEN_NODE_ALIVE;
    if (what == 1 && pick(p, 3))
        c.node_update.target_role_id = role_id(&p->w, "gate");
    step(&p->w, c);
}

static void something_happens(struct play *p)
{
    const int64_t d = p->d[pick(p, DEPLOYMENTS)];
    const char *role = pick(p, 4) ? roles[pick(p, ROLES)] : "ring";
    struct command c = {0};
    switch (pick(p, 14)) {
    case 0:
    case 1:
    case 2:
        c = (struct command){.kind = COMMAND_NODEROLE_BIND,
                             .noderole_bind = {.node_id = p->n[pick(p, NODES)],
                                               .role_id = role_id(&p->w, role),
                                               .deployment_id = d}};
        step(&p->w, c);
        return;
    case 3: commit_d(p, d); return;
    case 4: anneal(p); return;
    case 5: change_data(p); return;
    case 6: change_node(p); return;
    case 7:
        c = (struct command){.kind = COMMAND_NODEROLE_PROPOSE,
                             .noderole_propose = {.id = any_noderole(p)}};
        step(&p->w, c);
        return;
    case 8:
        c = pick(p, 2) ? (struct command){.kind = COMMAND_DEPLOYMENT_PROPOSE,
                                          .deployment_propose = {.id = d}}
                       : (struct command){.kind = COMMAND_DEPLOYMENT_RECALL,
                                          .deployment_recall = {.id = d}};
        step(&p->w, c);
        return;
    case 9:
        c = (struct command){.kind = COMMAND_NODEROLE_ENQUEUE,
                             .noderole_enqueue = {.id = any_noderole(p)}};
        step(&p->w, c);
        return;
    case 10: keep_content(p, d); return;
    case 11: {
        const uint32_t at = pick(p, CONTENTS);
        if (!p->contents[at].len)
            return;
        step(&p->w,
             (struct command){.kind = COMMAND_DEPLOYMENT_REVERT,
                              .deployment_revert = {
                                  .id = p->content_of[at], .seq = 1, .content = p->contents[at]}});
        return;
    }
    case 12:
        c = (struct command){.kind = COMMAND_NODEROLE_RETRY,
                             .noderole_retry = {.id = any_noderole(p)}};
        step(&p->w, c);
        return;
    default:
        c = (struct command){.kind = COMMAND_NODEROLE_DELETE,
                             .noderole_delete = {.id = any_noderole(p)}};
        step(&p->w, c);
    }
}

static struct play play_open(uint64_t seed)
{
    static const char *const names[NODES] = {"n1.x.yy", "n2.x.yy", "n3.x.yy", "n4.x.yy", "n5.x.yy"};
    struct play p = {.w = world_open()};
    prng_init(&p.r, seed);
    import(&p.w, content);
    for (uint32_t i = 0; i < DEPLOYMENTS; i++) {
        must_step(&p.w,
                  (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                   .deployment_create = {.name = i ? STR("inner") : STR("outer"),
                                                         .parent_id = i ? p.d[0] : 0}});
        p.d[i] = p.w.out.id;
    }
    for (uint32_t i = 0; i < NODES; i++) {
        p.n[i] = add_node(&p.w, names[i]);
        step(&p.w, (struct command){.kind = COMMAND_HAMMER_CREATE,
                                    .hammer_create = {.node_id = p.n[i],
                                                      .hammer_kind_id = core_find(
                                                          p.w.c, TABLE_HAMMER_KIND, STR("power")),
                                                      .username = STR("u")}});
    }
    return p;
}

static void play_close(struct play *p)
{
    world_close(&p->w);
    arena_fini(&p->kept);
}

static int64_t bind_in(struct play *p, int64_t d, int64_t n, const char *role)
{
    must_step(&p->w, (struct command){.kind = COMMAND_NODEROLE_BIND,
                                      .noderole_bind = {.node_id = n,
                                                        .role_id = role_id(&p->w, role),
                                                        .deployment_id = d}});
    return p->w.out.id;
}

/* A cluster that has run, and a role that depends on it: more members may join. */
static void begin_with_cluster(struct play *p)
{
    bind_in(p, p->d[0], p->n[0], "ring");
    bind_in(p, p->d[0], p->n[1], "user");
    bind_in(p, p->d[0], p->n[1], "app");
    commit_d(p, p->d[0]);
    settle(&p->w, NULL);
}

TEST(a_plan_in_slices_is_the_dry_commit)
{
    uint32_t compared = 0, asked = 0, refused_count = 0, removals = 0, reruns = 0, held = 0,
             clusters = 0, power = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct play p = play_open(seed);
        if (seed % 2)
            begin_with_cluster(&p);
        for (uint32_t i = 0; i < 120; i++) {
            something_happens(&p);
            compare_answered(&p, committing(p.d[pick(&p, DEPLOYMENTS)]));
            arena_reset(&p.w.arena);
        }
        compared += p.compared;
        asked += p.asked;
        refused_count += p.refused;
        removals += p.with_removals;
        reruns += p.with_reruns;
        held += p.with_held;
        clusters += p.with_clusters;
        power += p.with_power;
        play_close(&p);
    }
    printf(
        "%u plans compared: %u asked hooks, %u were refused, %u removed, %u reran, %u were held, "
        "%u grew clusters, %u switched machines on\n",
        compared, asked, refused_count, removals, reruns, held, clusters, power);
    /* The random worlds contain the cases that are compared. */
    CHECK(compared > 5000 && asked > 100 && refused_count > 50 && removals > 100 && reruns > 100 &&
          held > 100 && clusters > 10 && power > 100);
}

/* ---- what a commit removes or fails ---- */

static struct command reviving(int64_t n, bool alive)
{
    return (struct command){.kind = COMMAND_NODE_UPDATE,
                            .node_update = {.id = n, .given = GIVEN_NODE_ALIVE, .alive = alive}};
}

/* Starts what can start; the id of the last run that was started. */
static int64_t start_runs(struct play *p)
{
    int64_t run = 0;
    while (core_has_work(p->w.c)) {
        must_step(&p->w, (struct command){.kind = COMMAND_ANNEAL});
        for (const struct effect *e = p->w.fx.first; e; e = e->next)
            run = e->kind == EFFECT_RUN_START ? e->id : run;
    }
    CHECK(run);
    return run;
}

static void park_run(struct play *p, int64_t run)
{
    must_step(
        &p->w,
        (struct command){
            .kind = COMMAND_RUN_DONE,
            .run_done = {.run_id = run, .attempt = 1, .result = RESULT_PARKED, .park_ms = 5000}});
}

static struct command booting(int64_t n, const char *bootenv, int64_t run)
{
    return (struct command){
        .kind = COMMAND_NODE_UPDATE,
        .node_update = {.id = n,
                        .given = GIVEN_NODE_BOOTENV | (run ? GIVEN_NODE_PARKED_RUN : 0),
                        .bootenv = str_from(bootenv),
                        .parked_run = run}};
}

static const struct json *plan_of(struct play *p, int64_t d)
{
    struct outcome out;
    const struct command commit = committing(d);
    core_plan(p->w.c, &commit, &p->w.arena, &out);
    CHECK(out.verdict == VERDICT_DONE);
    return doc_tree(&p->w.arena, out.doc);
}

static void held_is(struct play *p, int64_t d, uint32_t number, const char *cause, const char *why)
{
    const struct json *item = json_get(plan_of(p, d), STR("held"))->first;
    for (uint32_t i = 0; item && i < number; i++)
        item = item->next;
    CHECK(item && str_eq(json_get(item, STR("cause"))->text, str_from(cause)));
    if (!str_eq(json_get(item, STR("why"))->text, str_from(why)))
        check_failed(why, 0, str_z(&p->w.arena, json_get(item, STR("why"))->text));
}

static struct str content_of_head(struct play *p, int64_t d)
{
    const deployment_ix ix = deployment_by_id(p->w.c, d);
    const int64_t seq = snapshot_at(p->w.c, deployment_at(p->w.c, ix)->head)->seq;
    return core_snapshot_content(p->w.c, d, seq, NULL, 0, &p->kept);
}

static void revert_to(struct play *p, int64_t d, struct str content_then)
{
    must_step(&p->w,
              (struct command){.kind = COMMAND_DEPLOYMENT_REVERT,
                               .deployment_revert = {.id = d, .seq = 1, .content = content_then}});
}

TEST(a_grant_of_a_noderole_that_the_commit_removes_is_void)
{
    static const char *const whys[] = {
        "node `n1.x.yy` may not start the installer debian-install of boot generation 1: its "
        "noderole was deleted; redeploy the node",
        "node `n1.x.yy` may not start the installer rescue-install of boot generation 2: its "
        "noderole waited for another environment, which was changed; redeploy the node"};
    for (uint32_t is_void = 0; is_void < 2; is_void++) {
        struct play p = play_open(7);
        const int64_t n = p.n[0];
        const struct str empty = content_of_head(&p, p.d[0]);
        bind_in(&p, p.d[0], n, "db");
        commit_d(&p, p.d[0]);
        const int64_t run = start_runs(&p);
        park_run(&p, run);
        must_step(&p.w, booting(n, "debian-install", run));
        if (is_void)
            must_step(&p.w, booting(n, "rescue-install", 0));
        must_step(&p.w, reviving(n, false));
        revert_to(&p, p.d[0], empty);
        bind_in(&p, p.d[0], n, "base");
        compare_answered(&p, committing(p.d[0]));
        CHECK(p.with_removals && p.with_held);
        held_is(&p, p.d[0], 0, "no_grant", whys[is_void]);
        play_close(&p);
    }
}

/* A run that a recall has postponed fails when the commit resumes it: its role got a required
 * attrib without a value. Its node then starts nothing. */
TEST(what_waits_for_a_noderole_that_the_commit_fails_has_its_reason)
{
    struct play p = play_open(8);
    import(&p.w, "{\"barclamp\":{\"name\":\"late\",\"source_path\":\"p\"},"
                 "\"roles\":[{\"name\":\"late\",\"jig\":\"script\"}]}");
    const int64_t late = bind_in(&p, p.d[0], p.n[0], "late");
    commit_d(&p, p.d[0]);
    settle(&p.w, NULL);
    CHECK(state_of(&p.w, late) == NODEROLE_ACTIVE);
    must_step(&p.w, (struct command){.kind = COMMAND_DEPLOYMENT_PROPOSE,
                                     .deployment_propose = {.id = p.d[0]}});
    must_step(&p.w,
              (struct command){.kind = COMMAND_NODEROLE_ENQUEUE, .noderole_enqueue = {.id = late}});
    import(&p.w, "{\"barclamp\":{\"name\":\"late\",\"source_path\":\"p\"},"
                 "\"roles\":[{\"name\":\"late\",\"jig\":\"script\",\"attribs\":["
                 "{\"name\":\"due\",\"map\":\"due\",\"writable\":true,"
                 "\"schema\":{\"type\":\"int\",\"required\":true}}]}]}");
    bind_in(&p, p.d[0], p.n[0], "db");
    compare_answered(&p, committing(p.d[0]));
    held_is(&p, p.d[0], 0, "attrib_missing",
            "attrib `due` of role `late` is required and has no value; an operator of deployment "
            "`outer` can set it, for node `n1.x.yy` or for the whole deployment, and commit");
    play_close(&p);
}

/* ---- plans that are not stale ---- */

static struct str finish_plan(struct play *p, struct plan *plan, const struct command *commit,
                              enum verdict *out_verdict)
{
    struct outcome out;
    while (!core_plan_is_done(plan))
        core_plan_advance(plan, 1 + pick(p, 40));
    core_plan_outcome(plan, commit, &out);
    *out_verdict = out.verdict;
    return str_copy(&p->w.arena, out.doc);
}

/* Ends the first run that was started and not ended. */
static void end_run(struct play *p)
{
    int64_t id = core_next_id(p->w.c, TABLE_RUN, 0);
    struct record run = {0};
    while (id && core_record(p->w.c, TABLE_RUN, id, &run) && run.run.state != RUN_RUNNING)
        id = core_next_id(p->w.c, TABLE_RUN, id);
    if (id)
        step(&p->w,
             (struct command){.kind = COMMAND_RUN_DONE,
                              .run_done = {.run_id = id,
                                           .attempt = run.run.attempt,
                                           .result = pick(p, 3) ? RESULT_OK : RESULT_FAILED}});
}

static void something_else_happens(struct play *p)
{
    static const char *const bootenvs[] = {"local", "rescue", "debian-install"};
    static const char *const names[] = {"red", "blue", "green"};
    struct command c = {0};
    switch (pick(p, 8)) {
    case 3:
    case 4: end_run(p); return;
    case 0: step(&p->w, booting(p->n[pick(p, NODES)], bootenvs[pick(p, 3)], 0)); return;
    case 1:
        step(&p->w, (struct command){.kind = COMMAND_DEPLOYMENT_UPDATE,
                                     .deployment_update = {.id = p->d[pick(p, DEPLOYMENTS)],
                                                           .given = GIVEN_NAME,
                                                           .name = str_from(names[pick(p, 3)])}});
        return;
    case 2:
        c = (struct command){.kind = COMMAND_NODEROLE_BIND,
                             .noderole_bind = {.node_id = p->n[pick(p, NODES)],
                                               .role_id = role_id(&p->w, "pxe"),
                                               .deployment_id = p->d[pick(p, DEPLOYMENTS)]}};
        step(&p->w, c);
        return;
    default: something_happens(p);
    }
}

/* A plan that was begun before some steps and is not stale equals one that is begun after them. */
static bool compare_begun(struct play *p, uint32_t steps)
{
    enum verdict begun_verdict, fresh_verdict;
    const struct command commit = committing(p->d[pick(p, DEPLOYMENTS)]);
    struct plan *begun = core_plan_begin(p->w.c, &commit, true);
    core_plan_advance(begun, pick(p, 3) ? UINT32_MAX : 1 + pick(p, 200));
    while (steps-- && !core_plan_is_stale(begun))
        something_else_happens(p);
    const bool is_stale = core_plan_is_stale(begun);
    if (!is_stale) {
        const struct str doc = finish_plan(p, begun, &commit, &begun_verdict);
        struct plan *fresh = core_plan_begin(p->w.c, &commit, true);
        const struct str wanted = finish_plan(p, fresh, &commit, &fresh_verdict);
        CHECK(begun_verdict == fresh_verdict);
        if (!str_eq(doc, wanted))
            show_difference(&p->w.arena, wanted, doc);
        core_plan_end(fresh);
    }
    core_plan_end(begun);
    return !is_stale;
}

TEST(a_plan_that_is_not_stale_is_the_plan_of_the_rows)
{
    uint32_t compared = 0, stale = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct play p = play_open(seed);
        must_step(&p.w, (struct command){.kind = COMMAND_SETTINGS_UPDATE,
                                         .settings_update = {.given = GIVEN_SETTINGS_POOL_NORMAL,
                                                             .pool_normal = 1}});
        if (seed % 2)
            begin_with_cluster(&p);
        for (uint32_t i = 0; i < 120; i++) {
            something_else_happens(&p);
            const bool is_compared = compare_begun(&p, 1 + pick(&p, 3));
            compared += is_compared;
            stale += !is_compared;
            arena_reset(&p.w.arena);
        }
        play_close(&p);
    }
    printf("%u plans were not stale, %u were\n", compared, stale);
    CHECK(compared > 1000 && stale > 1000);
}

/* ---- what makes a plan stale ---- */

/* A plan of `outer`, half computed. */
static struct plan *half(struct play *p)
{
    const struct command commit = committing(p->d[0]);
    struct plan *plan = core_plan_begin(p->w.c, &commit, false);
    CHECK(!core_plan_advance(plan, 20) && !core_plan_is_stale(plan));
    return plan;
}

static bool outdates(struct play *p, struct command command)
{
    struct plan *plan = half(p);
    step(&p->w, command);
    const bool is_stale = core_plan_is_stale(plan);
    if (!is_stale)
        while (!core_plan_is_done(plan))
            core_plan_advance(plan, 20);
    core_plan_end(plan);
    return is_stale;
}

TEST(what_a_plan_has_read_makes_it_stale_and_nothing_else_does)
{
    struct play p = play_open(1);
    const int64_t end = bind_in(&p, p.d[0], p.n[0], "end");
    bind_in(&p, p.d[0], p.n[1], "end");
    bind_in(&p, p.d[1], p.n[4], "db");
    const struct command elsewhere = {.kind = COMMAND_NODEROLE_BIND,
                                      .noderole_bind = {.node_id = p.n[4],
                                                        .role_id = role_id(&p.w, "app"),
                                                        .deployment_id = p.d[1]}};
    CHECK(outdates(&p, (struct command){.kind = COMMAND_NODEROLE_DATA,
                                        .noderole_data = {.id = end, .data = STR("{\"v\":1}")}}));
    CHECK(outdates(&p, (struct command){
                           .kind = COMMAND_SETTINGS_UPDATE,
                           .settings_update = {.given = GIVEN_SETTINGS_BARRIER, .barrier_s = 7}}));
    CHECK(outdates(&p,
                   (struct command){.kind = COMMAND_IMPORT,
                                    .import = {.barclamp = STR("{\"barclamp\":{\"name\":\"more\","
                                                               "\"source_path\":\"p\"},\"roles\":["
                                                               "{\"name\":\"more\","
                                                               "\"jig\":\"script\"}]}")}}));
    CHECK(outdates(&p, committing(p.d[0])));
    CHECK(outdates(&p, reviving(p.n[0], false)));
    CHECK(!outdates(&p, elsewhere));
    CHECK(!outdates(&p, committing(p.d[1])));
    CHECK(!outdates(&p, reviving(p.n[4], false)));
    CHECK(!outdates(&p,
                    (struct command){.kind = COMMAND_GROUP_CREATE,
                                     .group_create = {.name = STR("g"), .category = STR("rack")}}));
    play_close(&p);
}

TEST(the_head_of_another_deployment_that_was_read_makes_a_plan_stale)
{
    struct play p = play_open(6);
    bind_in(&p, p.d[0], p.n[0], "db");
    commit_d(&p, p.d[0]);
    must_step(&p.w, reviving(p.n[0], false));
    bind_in(&p, p.d[1], p.n[1], "app"); /* it waits for the noderole in the outer deployment */
    for (uint32_t i = 0; i < 2; i++) {
        const struct command commit = committing(p.d[1]);
        struct outcome out;
        struct plan *plan = core_plan_begin(p.w.c, &commit, true);
        CHECK(core_plan_advance(plan, UINT32_MAX));
        core_plan_outcome(plan, &commit, &out);
        const struct json *held = json_get(doc_tree(&p.w.arena, out.doc), STR("held"));
        CHECK(held->count == 1);
        const struct str cause = json_get(held->first, STR("cause"))->text;
        CHECK(str_eq(cause, i ? STR("head_proposed") : STR("not_alive")));
        must_step(&p.w, i ? committing(p.d[0])
                          : (struct command){.kind = COMMAND_DEPLOYMENT_PROPOSE,
                                             .deployment_propose = {.id = p.d[0]}});
        CHECK(core_plan_is_stale(plan));
        core_plan_end(plan);
    }
    play_close(&p);
}

/* `db` in the outer deployment waits on a node where `late` of a third one starts as soon as the
 * head of that is committed; the plan of the inner deployment names what starts first. */
TEST(what_starts_first_where_a_parent_waits_makes_a_plan_stale)
{
    struct play p = play_open(10);
    must_step(&p.w, (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                     .deployment_create = {.name = STR("third")}});
    const int64_t third = p.w.out.id;
    import(&p.w, "{\"barclamp\":{\"name\":\"late\",\"source_path\":\"p\"},"
                 "\"roles\":[{\"name\":\"late\",\"jig\":\"script\"}]}");
    bind_in(&p, third, p.n[0], "late");
    commit_d(&p, third);
    must_step(&p.w, (struct command){.kind = COMMAND_DEPLOYMENT_PROPOSE,
                                     .deployment_propose = {.id = third}});
    bind_in(&p, p.d[0], p.n[0], "db");
    commit_d(&p, p.d[0]);
    bind_in(&p, p.d[1], p.n[1], "app");
    held_is(&p, p.d[1], 0, "ready", "`db` on `n1.x.yy` is about to start");
    const struct command commit = committing(p.d[1]);
    struct plan *plan = core_plan_begin(p.w.c, &commit, true);
    CHECK(core_plan_advance(plan, UINT32_MAX) && !core_plan_is_stale(plan));
    commit_d(&p, third);
    CHECK(core_plan_is_stale(plan));
    core_plan_end(plan);
    held_is(&p, p.d[1], 0, "ready", "`late` on `n1.x.yy` is about to start");
    compare_answered(&p, commit);
    play_close(&p);
}

TEST(a_dependant_in_another_deployment_that_prevents_a_removal_makes_a_plan_stale)
{
    struct play p = play_open(11);
    const struct str empty = content_of_head(&p, p.d[0]);
    bind_in(&p, p.d[0], p.n[0], "db");
    commit_d(&p, p.d[0]);
    revert_to(&p, p.d[0], empty);
    const int64_t app = bind_in(&p, p.d[1], p.n[1], "app");
    commit_d(&p, p.d[1]);
    const struct command commit = committing(p.d[0]);
    struct plan *plan = core_plan_begin(p.w.c, &commit, true);
    struct outcome out;
    CHECK(core_plan_advance(plan, UINT32_MAX) && !core_plan_is_stale(plan));
    core_plan_outcome(plan, &commit, &out);
    CHECK(out.verdict == VERDICT_REFUSED && out.problems->code == PROBLEM_HAS_DEPENDANTS);
    must_step(&p.w,
              (struct command){.kind = COMMAND_NODEROLE_PROPOSE, .noderole_propose = {.id = app}});
    CHECK(core_plan_is_stale(plan));
    core_plan_end(plan);
    CHECK(length(plan_of(&p, p.d[0]), "removes") == 2);
    play_close(&p);
}

/* How many workers are busy is no row, so a plan does not show whether one is free. */
TEST(a_plan_does_not_depend_on_the_workers_that_are_busy)
{
    struct play p = play_open(12);
    must_step(&p.w, (struct command){.kind = COMMAND_SETTINGS_UPDATE,
                                     .settings_update = {.given = GIVEN_SETTINGS_POOL_NORMAL,
                                                         .pool_normal = 1}});
    const int64_t first = bind_in(&p, p.d[0], p.n[4], "asker");
    const int64_t db = bind_in(&p, p.d[0], p.n[0], "db");
    commit_d(&p, p.d[0]);
    bind_in(&p, p.d[1], p.n[1], "app");
    const struct command commit = committing(p.d[1]);
    const int64_t run = start_runs(&p);
    CHECK(state_of(&p.w, first) == NODEROLE_TRANSITION && state_of(&p.w, db) == NODEROLE_TODO);
    for (uint32_t is_free = 0; is_free < 2; is_free++) {
        held_is(&p, p.d[1], 0, "ready", "`db` on `n1.x.yy` is about to start");
        compare_answered(&p, commit);
        struct plan *plan = core_plan_begin(p.w.c, &commit, true);
        CHECK(core_plan_advance(plan, UINT32_MAX));
        if (!is_free)
            must_step(&p.w, (struct command){
                                .kind = COMMAND_RUN_DONE,
                                .run_done = {.run_id = run, .attempt = 1, .result = RESULT_OK}});
        CHECK(!core_plan_is_stale(plan));
        core_plan_end(plan);
    }
    play_close(&p);
}

TEST(what_serves_boots_makes_a_plan_with_a_machine_to_start_stale)
{
    struct play p = play_open(9);
    must_step(&p.w, (struct command){.kind = COMMAND_NODE_UPDATE,
                                     .node_update = {.id = p.n[0],
                                                     .given = GIVEN_NODE_BOOTENV,
                                                     .bootenv = STR("install")}});
    must_step(&p.w, reviving(p.n[0], false));
    bind_in(&p, p.d[0], p.n[0], "db");
    bind_in(&p, p.d[1], p.n[4], "pxe");
    const struct command commit = committing(p.d[0]);
    struct plan *plan = core_plan_begin(p.w.c, &commit, true);
    CHECK(core_plan_advance(plan, UINT32_MAX) && !core_plan_is_stale(plan));
    must_step(&p.w, committing(p.d[1]));
    CHECK(core_plan_is_stale(plan));
    core_plan_end(plan);
    compare_answered(&p, commit);
    play_close(&p);
}

TEST(a_step_that_is_rolled_back_does_not_make_a_plan_stale)
{
    struct play p = play_open(2);
    bind_in(&p, p.d[0], p.n[0], "end");
    struct plan *plan = half(&p);
    struct outcome out;
    struct command commit = committing(p.d[0]);
    core_plan_whole(p.w.c, &commit, &p.w.arena, &out);
    CHECK(out.verdict == VERDICT_DONE && !core_plan_is_stale(plan));
    commit.deployment_commit.plan = STR("00");
    step(&p.w, commit);
    CHECK(p.w.out.verdict == VERDICT_REFUSED && !core_plan_is_stale(plan));
    while (!core_plan_is_done(plan))
        core_plan_advance(plan, 20);
    /* The hash that a commit computes for itself is the one of the plan. */
    struct outcome sliced;
    commit.is_summary = true;
    core_plan_outcome(plan, &commit, &sliced);
    const struct json *doc = doc_tree(&p.w.arena, sliced.doc);
    CHECK(json_get(doc, STR("summary")) && !json_get(doc, STR("runs")));
    commit.deployment_commit.plan = json_get(doc, STR("hash"))->text;
    must_step(&p.w, commit);
    CHECK(core_plan_is_stale(plan));
    core_plan_end(plan);
    play_close(&p);
}

/* One more node, with a noderole in the other deployment. */
static void grow(struct play *p, uint32_t number)
{
    char name[32];
    snprintf(name, sizeof name, "g%u.example.com", number);
    bind_in(p, p->d[1], add_node(&p->w, name), "db");
    arena_reset(&p->w.arena);
}

TEST(rows_beyond_the_arrays_of_a_plan_make_it_stale)
{
    struct play p = play_open(4);
    bind_in(&p, p.d[0], p.n[0], "end");
    bind_in(&p, p.d[0], p.n[1], "app");
    struct plan *few = half(&p), *many = half(&p);
    uint32_t grown = 0;
    while (grown < 100)
        grow(&p, grown++);
    CHECK(!core_plan_is_stale(few));
    while (!core_plan_is_done(few))
        core_plan_advance(few, 20);
    CHECK(!core_plan_is_stale(few) && !core_plan_is_stale(many));
    core_plan_end(few);
    while (grown < 6000 && !core_plan_is_stale(many))
        grow(&p, grown++);
    CHECK(core_plan_is_stale(many) && grown <= 4097);
    while (grown < 6000) /* well beyond the spare entries */
        grow(&p, grown++);
    core_plan_end(many);
    /* Started again, it has entries for all of them. */
    compare_answered(&p, committing(p.d[0]));
    compare_answered(&p, committing(p.d[1]));
    CHECK(p.compared == 2 && p.refused == 0);
    play_close(&p);
}

TEST(a_plan_with_lists_longer_than_a_reply_has_totals_only)
{
    struct play p = play_open(5);
    for (uint32_t i = 0; i < NODES; i++)
        bind_in(&p, p.d[0], p.n[i], "end");
    struct command commit = committing(p.d[0]);
    struct outcome whole, brief, out;
    core_plan(p.w.c, &commit, &p.w.arena, &whole);
    commit.is_summary = true;
    core_plan(p.w.c, &commit, &p.w.arena, &brief);
    CHECK(whole.verdict == VERDICT_DONE && brief.verdict == VERDICT_DONE);
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t most[] = {whole.doc.len, whole.doc.len - 1, 500};
        struct plan *plan = core_plan_begin(p.w.c, &commit, true);
        plan->lists_max = most[i];
        while (!core_plan_is_done(plan))
            core_plan_advance(plan, 20);
        commit.is_summary = false;
        core_plan_outcome(plan, &commit, &out);
        if (i == 0)
            CHECK(out.verdict == VERDICT_DONE && str_eq(out.doc, whole.doc));
        else
            CHECK(out.verdict == VERDICT_REFUSED && out.problems->code == PROBLEM_LIMIT_REACHED &&
                  !out.problems->next && str_eq(out.problems->field, STR("summary")) &&
                  !out.doc.len);
        commit.is_summary = true;
        core_plan_outcome(plan, &commit, &out);
        CHECK(out.verdict == VERDICT_DONE && str_eq(out.doc, brief.doc));
        core_plan_end(plan);
    }
    play_close(&p);
}

/* {"v":"xxx..."} with a different string for each number, and in every second one also a short
 * value. */
static struct str long_data(struct play *p, uint32_t number, uint32_t length)
{
    struct buf b = buf_in(&p->w.arena);
    buf_put_z(&b, number % 2 ? "{\"a\":1,\"v\":\"" : "{\"v\":\"");
    buf_put_u64(&b, number);
    for (uint32_t i = 0; i < length; i++)
        buf_put_c(&b, 'x');
    buf_put_z(&b, "\"}");
    return buf_str(&b);
}

static const struct json *values_of(struct play *p, const struct outcome *out)
{
    CHECK(out->verdict == VERDICT_DONE);
    const struct json *doc = doc_tree(&p->w.arena, out->doc);
    return json_get(json_get(doc, STR("summary")), STR("values"));
}

TEST(a_summary_does_not_grow_with_the_documents)
{
    struct play p = play_open(7);
    struct command commit = committing(p.d[0]);
    commit.is_summary = true;
    struct outcome out;
    int64_t nr[NODES];
    for (uint32_t i = 0; i < NODES; i++)
        nr[i] = bind_in(&p, p.d[0], p.n[i], "db");
    for (uint32_t i = 0; i < NODES; i++)
        must_step(&p.w,
                  (struct command){.kind = COMMAND_NODEROLE_DATA,
                                   .noderole_data = {
                                       .id = nr[i], .data = long_data(&p, i, i < 4 ? 900000 : 9)}});
    core_plan(p.w.c, &commit, &p.w.arena, &out);
    const struct json *entry = values_of(&p, &out)->first;
    CHECK(out.doc.len < 8192);
    uint32_t clipped = 0;
    for (uint32_t i = 0; i < NODES; i++, entry = entry->next) {
        const bool is_clipped = json_is_true(json_get(entry, STR("clipped")));
        const struct json *last = json_get(entry, STR("values"))->last;
        CHECK(json_get(entry, STR("paths"))->count == 1 + i % 2);
        CHECK((last->last->kind == JSON_NULL) == is_clipped);
        clipped += is_clipped;
    }
    CHECK(!entry && clipped == 4);
    compare_answered(&p, committing(p.d[0]));
    CHECK(p.compared == 1 && p.refused == 0);
    play_close(&p);
}

TEST(the_values_of_a_summary_are_bounded_together)
{
    enum { COUNT = 80, KEYS = 20 };
    struct play p = play_open(8);
    char name[32];
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "v%u.example.com", i);
        const int64_t nr = bind_in(&p, p.d[0], add_node(&p.w, name), "db");
        struct buf b = buf_in(&p.w.arena);
        for (uint32_t k = 0; k < KEYS; k++) {
            buf_put_z(&b, k ? ",\"k" : "{\"k");
            buf_put_u64(&b, k);
            buf_put_z(&b, "\":\"");
            buf_put_u64(&b, i);
            for (uint32_t x = 0; x < 900; x++)
                buf_put_c(&b, 'x');
            buf_put_c(&b, '"');
        }
        buf_put_c(&b, '}');
        must_step(&p.w, (struct command){.kind = COMMAND_NODEROLE_DATA,
                                         .noderole_data = {.id = nr, .data = buf_str(&b)}});
        arena_reset(&p.w.arena);
    }
    struct command commit = committing(p.d[0]);
    commit.is_summary = true;
    struct outcome out;
    core_plan(p.w.c, &commit, &p.w.arena, &out);
    const struct json *values = values_of(&p, &out);
    uint32_t clipped = 0;
    for (const struct json *entry = values->first; entry; entry = entry->next) {
        const bool is_clipped = json_is_true(json_get(entry, STR("clipped")));
        CHECK(json_get(entry, STR("paths"))->count == (is_clipped ? 0 : KEYS));
        clipped += is_clipped;
    }
    CHECK(values->count == COUNT && clipped > COUNT / 2 && clipped < COUNT);
    CHECK(out.doc.len < 300 << 10);
    play_close(&p);
}

TEST(a_plan_holds_few_bytes_for_each_noderole)
{
    enum { COUNT = 3000 };
    struct play p = play_open(3);
    char name[32];
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "m%d.example.com", i);
        bind_in(&p, p.d[0], add_node(&p.w, name), "db");
        arena_reset(&p.w.arena);
    }
    const struct command commit = committing(p.d[0]);
    struct plan *plan = core_plan_begin(p.w.c, &commit, false);
    uint32_t slices = 1;
    while (!core_plan_advance(plan, 1000))
        slices++;
    CHECK(slices > 10 && core_plan_bytes(plan) < 200 * COUNT);
    core_plan_end(plan);
    play_close(&p);
}
