#include "base/json/json.h"
#include "tests/unit/core/data_world.h"
#include "tests/world/snapshot_diff.h"

/* Plans, explanations and reverts. */

/* clang-format off */
static const char content[] =
    "{\"barclamp\":{\"name\":\"tools\",\"source_path\":\"p\"},"
    "\"jigs\":[{\"name\":\"noop\",\"class\":\"noop\"},{\"name\":\"test\",\"class\":\"test\"},"
    "{\"name\":\"script\",\"class\":\"script\"}],"
    "\"roles\":["
    "{\"name\":\"base\",\"jig\":\"noop\",\"flags\":[\"implicit\"]},"
    "{\"name\":\"wipe\",\"jig\":\"script\",\"flags\":[\"destructive\",\"implicit\"],"
    "\"requires\":[\"base\"],\"announces\":[\"wipe\",\"reboot\"]},"
    "{\"name\":\"db\",\"jig\":\"script\"},"
    "{\"name\":\"app\",\"jig\":\"script\",\"requires\":[\"base\",\"db\"]},"
    "{\"name\":\"gate\",\"jig\":\"noop\",\"flags\":[\"milestone\",\"implicit\"]},"
    "{\"name\":\"solo\",\"jig\":\"script\",\"flags\":[\"implicit\"]}]}";
/* clang-format on */

struct setting {
    struct world w;
    int64_t d, n1, n2;
};

static struct setting open_setting(void)
{
    struct setting s = {.w = world_open()};
    import(&s.w, content);
    must_step(&s.w, (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                     .deployment_create = {.name = STR("d")}});
    s.d = s.w.out.id;
    s.n1 = add_node(&s.w, "n1.example.com");
    s.n2 = add_node(&s.w, "n2.example.com");
    return s;
}

static int64_t bind_in(struct setting *s, int64_t node, const char *role)
{
    must_step(&s->w, (struct command){.kind = COMMAND_NODEROLE_BIND,
                                      .noderole_bind = {.node_id = node,
                                                        .role_id = role_id(&s->w, role),
                                                        .deployment_id = s->d}});
    return s->w.out.id;
}

static struct command committing(const struct setting *s, struct str plan)
{
    return (struct command){.kind = COMMAND_DEPLOYMENT_COMMIT,
                            .deployment_commit = {.id = s->d, .plan = plan}};
}

static void commit_d(struct setting *s)
{
    must_step(&s->w, committing(s, STR("")));
}

static void set_data(struct setting *s, int64_t noderole, const char *data)
{
    must_step(&s->w, (struct command){.kind = COMMAND_NODEROLE_DATA,
                                      .noderole_data = {.id = noderole, .data = str_from(data)}});
}

/* ---- plan ---- */

static const struct json *plan(struct setting *s)
{
    const struct command c = committing(s, STR(""));
    const struct digest128 before = core_digest_now(s->w.c);
    const uint32_t changed = core_changed(s->w.c);
    core_plan(s->w.c, &c, &s->w.arena, &s->w.out);
    const struct digest128 after = core_digest_now(s->w.c);
    CHECK(s->w.out.verdict == VERDICT_DONE && s->w.out.doc.len);
    CHECK(memcmp(&before, &after, sizeof before) == 0 && core_changed(s->w.c) == changed);
    struct str canonical;
    uint32_t offset;
    const char *what;
    CHECK(json_canonical(&s->w.arena, s->w.out.doc, &canonical, &offset, &what) == OK);
    CHECK(str_eq(canonical, s->w.out.doc)); /* it is written in order */
    return doc_tree(&s->w.arena, s->w.out.doc);
}

static struct str hash_of(const struct json *doc)
{
    return json_get(doc, STR("hash"))->text;
}

/* "app@n1 db@n1": the entries of a list of the plan, in order. */
static void lists(struct setting *s, const struct json *doc, const char *key, const char *wanted)
{
    struct buf b = buf_in(&s->w.arena);
    for (const struct json *item = json_get(doc, str_from(key))->first; item; item = item->next) {
        const struct str node = json_get(item, STR("node_name"))->text;
        buf_put_z(&b, b.len ? " " : "");
        buf_put_str(&b, json_get(item, STR("role_name"))->text);
        buf_put_c(&b, '@');
        buf_put_str(&b, str_slice(node, 0, str_find(node, '.', 0)));
    }
    if (!str_eq(buf_str(&b), str_from(wanted)))
        check_failed(key, 0, str_z(&s->w.arena, buf_str(&b)));
}

static struct str of_first(const struct json *doc, const char *list, const char *key)
{
    return json_get(json_get(doc, str_from(list))->first, str_from(key))->text;
}

TEST(a_plan_lists_what_a_commit_would_do_and_changes_nothing)
{
    struct setting s = open_setting();
    bind_in(&s, s.n1, "app");
    bind_in(&s, s.n1, "wipe");
    bind_in(&s, s.n2, "app");
    const struct json *doc = plan(&s);
    lists(&s, doc, "commits", "base@n1 db@n1 base@n2 app@n1 wipe@n1 app@n2");
    lists(&s, doc, "runs", "base@n1 db@n1 base@n2 app@n1 wipe@n1 app@n2");
    lists(&s, doc, "destructive", "wipe@n1");
    lists(&s, doc, "announced", "wipe@n1");
    lists(&s, doc, "held", "");
    lists(&s, doc, "removes", "");
    lists(&s, doc, "reruns", "");
    CHECK(str_eq(of_first(doc, "runs", "how"), STR("noop")));
    CHECK(str_eq(of_first(doc, "runs", "wave"), STR("1")));
    CHECK(str_eq(
        json_write(&s.w.arena, json_get(json_get(doc, STR("announced"))->first, STR("steps"))),
        STR("[\"wipe\",\"reboot\"]")));
    CHECK(hash_of(doc).len == 64);
    CHECK(str_eq(hash_of(plan(&s)), hash_of(doc)));
    must_step(&s.w, committing(&s, hash_of(doc)));
    world_close(&s.w);
}

TEST(machines_that_a_commit_switches_on_are_listed_with_what_they_boot)
{
    struct setting s = open_setting();
    const int64_t machines[] = {s.n2, add_node(&s.w, "n3.example.com"), s.n1};
    import(&s.w, "{\"barclamp\":{\"name\":\"drivers\",\"source_path\":\"p\"},"
                 "\"hammers\":[{\"name\":\"power\",\"type\":\"ipmi\",\"priority\":1}]}");
    /* n2 and n3 are off and n1 runs; n3 has no driver that can switch it. */
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        bind_in(&s, machines[i], "app");
        must_step(&s.w,
                  (struct command){.kind = COMMAND_NODE_UPDATE,
                                   .node_update = {.id = machines[i],
                                                   .given = GIVEN_NODE_ALIVE | GIVEN_NODE_BOOTENV,
                                                   .alive = machines[i] == s.n1,
                                                   .bootenv = STR("debug-image")}});
        if (i != 1)
            must_step(&s.w, (struct command){
                                .kind = COMMAND_HAMMER_CREATE,
                                .hammer_create = {.node_id = machines[i],
                                                  .hammer_kind_id = core_find(
                                                      s.w.c, TABLE_HAMMER_KIND, STR("power")),
                                                  .username = STR("u")}});
    }
    const struct json *doc = plan(&s);
    const struct json *list = json_get(doc, STR("power"));
    struct buf wanted = buf_in(&s.w.arena);
    buf_put_z(&wanted, "[{\"action\":\"on\",\"bootenv\":\"debug-image\",\"node\":");
    buf_put_i64(&wanted, s.n2);
    buf_put_z(&wanted, ",\"node_name\":\"n2.example.com\"}]");
    CHECK(str_eq(json_write(&s.w.arena, list), buf_str(&wanted)));
    CHECK(str_eq(json_get(json_get(doc, STR("summary")), STR("power"))->text, STR("1")));
    /* What the machine boots is shown, and is no part of what is agreed to. */
    must_step(&s.w, (struct command){.kind = COMMAND_NODE_UPDATE,
                                     .node_update = {.id = s.n2,
                                                     .given = GIVEN_NODE_BOOTENV,
                                                     .bootenv = STR("rescue")}});
    const struct json *other = plan(&s);
    CHECK(str_eq(of_first(other, "power", "bootenv"), STR("rescue")));
    CHECK(str_eq(hash_of(other), hash_of(doc)));
    must_step(&s.w, (struct command){
                        .kind = COMMAND_NODE_UPDATE,
                        .node_update = {.id = s.n2, .given = GIVEN_NODE_ALIVE, .alive = true}});
    CHECK(!json_get(plan(&s), STR("power"))->first);
    world_close(&s.w);
}

TEST(a_commit_that_would_do_something_else_is_refused)
{
    struct setting s = open_setting();
    const int64_t solo = bind_in(&s, s.n1, "solo");
    const struct str first = hash_of(plan(&s));
    set_data(&s, solo, "{\"v\":1}");
    const struct str second = hash_of(plan(&s));
    CHECK(!str_eq(first, second));
    must_refuse(&s.w, committing(&s, first), PROBLEM_PLAN_CHANGED, "plan");
    bind_in(&s, s.n2, "solo");
    const struct str third = hash_of(plan(&s));
    must_refuse(&s.w, committing(&s, second), PROBLEM_PLAN_CHANGED, "plan");
    must_step(&s.w, committing(&s, third));
    must_refuse(&s.w, committing(&s, third), PROBLEM_PLAN_CHANGED, "plan");
    world_close(&s.w);
}

TEST(states_of_others_do_not_change_a_plan)
{
    struct setting s = open_setting();
    const int64_t other = bind(&s.w, s.n2, "solo"); /* in system */
    bind_in(&s, s.n1, "solo");
    const struct str before = hash_of(plan(&s));
    commit(&s.w, other);
    settle(&s.w, NULL);
    must_step(&s.w, committing(&s, before));
    world_close(&s.w);
}

TEST(what_cannot_start_is_held_with_its_reason)
{
    struct setting s = open_setting();
    bind_in(&s, s.n1, "app");
    bind_in(&s, s.n2, "app");
    struct command c = {.kind = COMMAND_NODE_UPDATE,
                        .node_update = {.id = s.n1, .given = GIVEN_NODE_ALIVE}};
    must_step(&s.w, c);
    const struct json *doc = plan(&s);
    lists(&s, doc, "runs", "base@n2");
    lists(&s, doc, "held", "base@n1 db@n1 app@n1 app@n2");
    CHECK(str_eq(of_first(doc, "held", "cause"), STR("not_alive")));
    CHECK(str_eq(of_first(doc, "held", "why"), STR("node `n1.example.com` is not alive")));
    const struct json *last = json_get(doc, STR("held"))->last;
    CHECK(str_eq(json_get(last, STR("cause"))->text, STR("not_alive")));
    world_close(&s.w);
}

TEST(noderoles_that_ran_before_are_distinguished)
{
    struct setting s = open_setting();
    const int64_t wipe = bind_in(&s, s.n1, "wipe"), solo = bind_in(&s, s.n1, "solo");
    commit_d(&s);
    settle(&s.w, NULL);
    must_step(&s.w, (struct command){.kind = COMMAND_NODE_PROPOSE, .node_propose = {.id = s.n1}});
    CHECK(wipe && solo);
    const struct json *doc = plan(&s);
    lists(&s, doc, "reruns", "base@n1 solo@n1");
    lists(&s, doc, "destructive", "");
    lists(&s, doc, "announced", "");
    lists(&s, doc, "runs", "base@n1 solo@n1 wipe@n1");
    CHECK(str_eq(json_get(json_get(doc, STR("runs"))->last, STR("how"))->text, STR("skip")));
    world_close(&s.w);
}

/* ---- consent ---- */

static const struct json *consent(struct setting *s, struct command commit)
{
    const struct digest128 before = core_digest_now(s->w.c);
    commit.is_dry = commit.is_brief = true;
    core_plan(s->w.c, &commit, &s->w.arena, &s->w.out);
    const struct digest128 after = core_digest_now(s->w.c);
    CHECK(s->w.out.verdict == VERDICT_DONE && memcmp(&before, &after, sizeof before) == 0);
    return doc_tree(&s->w.arena, s->w.out.doc);
}

static struct str consent_of(const struct json *doc)
{
    return json_get(doc, STR("consent"))->text;
}

static void destroys(struct setting *s, const struct json *doc, const char *wanted, int64_t count)
{
    int64_t said;
    lists(s, doc, "destroys", wanted);
    CHECK(json_as_i64(json_get(doc, STR("destroys_count")), &said) && said == count);
}

static struct command agreeing(const struct setting *s, struct str consent)
{
    return (struct command){.kind = COMMAND_DEPLOYMENT_COMMIT,
                            .deployment_commit = {.id = s->d, .consent = consent}};
}

TEST(a_consent_is_to_what_is_destroyed_and_to_nothing_else)
{
    struct setting s = open_setting();
    bind_in(&s, s.n1, "solo");
    const struct json *nothing = consent(&s, committing(&s, STR("")));
    destroys(&s, nothing, "", 0);
    CHECK(str_eq(consent_of(nothing), consent_of(plan(&s))));
    const int64_t wipe = bind_in(&s, s.n1, "wipe");
    must_refuse(&s.w, agreeing(&s, consent_of(nothing)), PROBLEM_PLAN_CHANGED, "consent");
    const struct json *one = consent(&s, committing(&s, STR("")));
    destroys(&s, one, "wipe@n1", 1);
    CHECK(str_eq(
        json_write(&s.w.arena, json_get(json_get(one, STR("destroys"))->first, STR("steps"))),
        STR("[\"wipe\",\"reboot\"]")));
    /* Noderoles that destroy nothing do not change the consent. */
    bind_in(&s, s.n2, "solo");
    CHECK(str_eq(consent_of(consent(&s, committing(&s, STR("")))), consent_of(one)));
    /* Other data is another wipe. */
    set_data(&s, wipe, "{\"disk\":\"sdb\"}");
    must_refuse(&s.w, agreeing(&s, consent_of(one)), PROBLEM_PLAN_CHANGED, "consent");
    const struct str two = consent_of(consent(&s, committing(&s, STR(""))));
    must_step(&s.w, agreeing(&s, two));
    world_close(&s.w);
}

TEST(what_is_off_or_held_back_is_in_the_consent)
{
    struct setting s = open_setting();
    bind_in(&s, s.n1, "wipe");
    must_step(&s.w, (struct command){.kind = COMMAND_NODE_UPDATE,
                                     .node_update = {.id = s.n1, .given = GIVEN_NODE_ALIVE}});
    destroys(&s, consent(&s, committing(&s, STR(""))), "wipe@n1", 1);
    /* Committed and recalled before it ran: the next commit lets it start. */
    commit_d(&s);
    destroys(&s, consent(&s, committing(&s, STR(""))), "", 0);
    must_step(&s.w, (struct command){.kind = COMMAND_DEPLOYMENT_RECALL,
                                     .deployment_recall = {.id = s.d}});
    destroys(&s, consent(&s, committing(&s, STR(""))), "wipe@n1", 1);
    world_close(&s.w);
}

TEST(a_commit_of_a_node_or_noderole_takes_a_consent_too)
{
    struct setting s = open_setting();
    const int64_t wipe = bind_in(&s, s.n1, "wipe"), solo = bind_in(&s, s.n1, "solo");
    struct command node = {.kind = COMMAND_NODE_COMMIT, .node_commit = {.id = s.n1}};
    struct command one = {.kind = COMMAND_NODEROLE_COMMIT, .noderole_commit = {.id = wipe}};
    struct command other = {.kind = COMMAND_NODEROLE_COMMIT, .noderole_commit = {.id = solo}};
    destroys(&s, consent(&s, node), "wipe@n1", 1);
    destroys(&s, consent(&s, one), "wipe@n1", 1);
    const struct json *nothing = consent(&s, other);
    destroys(&s, nothing, "", 0);
    node.node_commit.consent = one.noderole_commit.consent = consent_of(nothing);
    must_refuse(&s.w, node, PROBLEM_PLAN_CHANGED, "consent");
    must_refuse(&s.w, one, PROBLEM_PLAN_CHANGED, "consent");
    other.noderole_commit.consent = consent_of(nothing);
    must_step(&s.w, other);
    node.node_commit.consent = consent_of(consent(&s, node));
    must_step(&s.w, node);
    commit_d(&s);
    settle(&s.w, NULL);
    /* It has run: another commit destroys nothing. */
    must_step(&s.w, (struct command){.kind = COMMAND_NODE_PROPOSE, .node_propose = {.id = s.n1}});
    destroys(
        &s, consent(&s, (struct command){.kind = COMMAND_NODE_COMMIT, .node_commit = {.id = s.n1}}),
        "", 0);
    world_close(&s.w);
}

/* ---- values stored but not proposed ---- */

static int64_t unproposed(struct setting *s)
{
    const uint32_t count = core_count_unproposed(s->w.c, s->d);
    int64_t said = -1;
    const struct json *doc = consent(s, committing(s, STR("")));
    CHECK(core_check(s->w.c, &s->w.arena) == NULL);
    CHECK(json_as_i64(json_get(doc, STR("unproposed_count")), &said) && said == count);
    CHECK(json_get(doc, STR("unproposed"))->count == count);
    return count;
}

TEST(values_stored_on_what_is_not_proposed_are_counted_and_listed)
{
    struct setting s = open_setting();
    import(&s.w, "{\"barclamp\":{\"name\":\"sized\",\"source_path\":\"p\"},\"roles\":["
                 "{\"name\":\"sized\",\"jig\":\"script\",\"attribs\":["
                 "{\"name\":\"size\",\"map\":\"size\",\"writable\":true}]}]}");
    const int64_t nr = bind_in(&s, s.n1, "sized"), other = bind_in(&s, s.n2, "sized");
    struct command set = set_command(TABLE_NODEROLE, nr, attrib_id(&s.w, "size"), BUCKET_USER, "1");
    must_step(&s.w, set);
    CHECK(unproposed(&s) == 0); /* part of the proposal */
    commit_d(&s);
    settle(&s.w, NULL);
    CHECK(unproposed(&s) == 0);
    set.attrib_set.value = STR("2");
    must_step(&s.w, set);
    CHECK(unproposed(&s) == 1);
    const struct json *doc = plan(&s);
    lists(&s, doc, "commits", "");
    lists(&s, doc, "unproposed", "sized@n1");
    CHECK(str_eq(
        json_write(&s.w.arena, json_get(json_get(doc, STR("unproposed"))->first, STR("values"))),
        STR("[[1,2]]")));
    commit_d(&s); /* publishes none of it */
    CHECK(unproposed(&s) == 1);
    const struct json *of_node =
        consent(&s, (struct command){.kind = COMMAND_NODE_COMMIT, .node_commit = {.id = s.n1}});
    lists(&s, of_node, "unproposed", "sized@n1");
    must_step(&s.w,
              (struct command){.kind = COMMAND_NODEROLE_PROPOSE, .noderole_propose = {.id = nr}});
    CHECK(unproposed(&s) == 0);
    commit_d(&s);
    settle(&s.w, NULL);
    CHECK(unproposed(&s) == 0);
    /* Cleared by a write of the published value, or deleted with the noderole. */
    set.attrib_set.value = STR("3");
    must_step(&s.w, set);
    set.attrib_set.id = other;
    must_step(&s.w, set);
    CHECK(unproposed(&s) == 2);
    set.attrib_set.id = nr;
    set.attrib_set.value = STR("2");
    must_step(&s.w, set);
    CHECK(unproposed(&s) == 1);
    must_step(&s.w,
              (struct command){.kind = COMMAND_NODEROLE_DELETE, .noderole_delete = {.id = other}});
    CHECK(unproposed(&s) == 0);
    world_close(&s.w);
}

TEST(a_plan_right_after_a_load_counts_from_the_head)
{
    struct setting s = open_setting();
    bind_in(&s, s.n1, "solo");
    s.w.c->step_number = 0; /* as after a load */
    const struct json *doc = plan(&s);
    CHECK(str_eq(json_get(doc, STR("seq"))->text, STR("1")));
    lists(&s, doc, "commits", "solo@n1");
    world_close(&s.w);
}

/* ---- why ---- */

static void why_is(struct setting *s, int64_t noderole, const char *wanted)
{
    struct buf b = buf_in(&s->w.arena);
    const struct cause *cause = core_why(s->w.c, TABLE_NODEROLE, noderole, &s->w.arena);
    CHECK(cause != NULL);
    for (; cause; cause = cause->next) {
        buf_put_z(&b, b.len ? " < " : "");
        buf_put_z(&b, cause_name(cause->code));
        CHECK(cause->text.len > 0 && cause->object_id > 0);
    }
    if (!str_eq(buf_str(&b), str_from(wanted)))
        check_failed("why", (int)noderole, str_z(&s->w.arena, buf_str(&b)));
}

static void set_flag(struct setting *s, uint32_t given, bool on)
{
    must_step(&s->w,
              (struct command){
                  .kind = COMMAND_NODE_UPDATE,
                  .node_update = {.id = s->n1, .given = given, .alive = on, .available = on}});
}

static void finish(struct setting *s, enum run_result result)
{
    struct record run;
    const int64_t id = core_next_id(s->w.c, TABLE_RUN, 0);
    CHECK(core_record(s->w.c, TABLE_RUN, id, &run));
    must_step(&s->w, (struct command){.kind = COMMAND_RUN_DONE,
                                      .run_done = {.run_id = id,
                                                   .attempt = run.run.attempt,
                                                   .result = result,
                                                   .runlog = STR("no luck"),
                                                   .park_ms = result == RESULT_PARKED ? 1000 : 0}});
}

TEST(why_names_the_first_unmet_condition)
{
    struct setting s = open_setting();
    const int64_t solo = bind_in(&s, s.n1, "solo");
    why_is(&s, solo, "proposed");
    commit(&s.w, solo);
    why_is(&s, solo, "head_proposed");
    commit_d(&s);
    why_is(&s, solo, "ready");
    set_flag(&s, GIVEN_NODE_AVAILABLE, false);
    why_is(&s, solo, "not_available");
    set_flag(&s, GIVEN_NODE_ALIVE, false);
    why_is(&s, solo, "not_alive");
    set_flag(&s, GIVEN_NODE_ALIVE | GIVEN_NODE_AVAILABLE, true);
    open_node(&s.w, s.n1)->stopped = true;
    why_is(&s, solo, "node_stopped");
    open_node(&s.w, s.n1)->stopped = false;
    must_step(&s.w,
              (struct command){.kind = COMMAND_JIG_UPDATE,
                               .jig_update = {.id = core_find(s.w.c, TABLE_JIG, STR("script")),
                                              .given = GIVEN_JIG_ACTIVE}});
    why_is(&s, solo, "jig_inactive");
    CHECK(core_why(s.w.c, TABLE_NODEROLE, 99, &s.w.arena) == NULL);
    CHECK(core_why(s.w.c, TABLE_ROLE, 1, &s.w.arena) == NULL);
    world_close(&s.w);
}

TEST(why_follows_a_run_through_its_life)
{
    struct setting s = open_setting();
    const int64_t solo = bind_in(&s, s.n1, "solo"), db = bind_in(&s, s.n1, "db");
    commit_d(&s);
    why_is(&s, db, "node_busy < ready");
    must_step(&s.w, (struct command){.kind = COMMAND_ANNEAL});
    why_is(&s, solo, "running");
    why_is(&s, db, "node_busy < running");
    finish(&s, RESULT_PARKED);
    why_is(&s, solo, "parked");
    why_is(&s, db, "node_busy < parked");
    must_step(&s.w, (struct command){.kind = COMMAND_RUN_RESUME,
                                     .run_resume = {.run_id = core_next_id(s.w.c, TABLE_RUN, 0)}});
    why_is(&s, solo, "node_busy");
    must_step(&s.w, (struct command){.kind = COMMAND_ANNEAL});
    finish(&s, RESULT_ASYNC);
    why_is(&s, solo, "async");
    why_is(&s, db, "node_busy < async");
    must_step(&s.w,
              (struct command){.kind = COMMAND_NODEROLE_RETRY, .noderole_retry = {.id = solo}});
    must_step(&s.w, (struct command){.kind = COMMAND_ANNEAL});
    finish(&s, RESULT_FAILED);
    why_is(&s, solo, "error");
    why_is(&s, db, "node_closed < error");
    world_close(&s.w);
}

TEST(why_waits_for_a_cancelled_run_to_stop)
{
    struct setting s = open_setting();
    const int64_t solo = bind_in(&s, s.n1, "solo"), db = bind_in(&s, s.n1, "db");
    commit_d(&s);
    must_step(&s.w, (struct command){.kind = COMMAND_ANNEAL});
    must_step(&s.w,
              (struct command){.kind = COMMAND_NODEROLE_PROPOSE, .noderole_propose = {.id = solo}});
    why_is(&s, db, "node_busy < stopping");
    world_close(&s.w);
}

TEST(why_goes_down_to_the_root)
{
    struct setting s = open_setting();
    const int64_t app2 = bind_in(&s, s.n2, "app");
    const int64_t db = core_noderole(s.w.c, s.n2, role_id(&s.w, "db"));
    const int64_t app = bind_in(&s, s.n1, "app"); /* on the same db */
    commit_d(&s);
    why_is(&s, app, "parent < node_busy < ready");
    must_step(&s.w, (struct command){.kind = COMMAND_ANNEAL});
    while (state_of(&s.w, db) != NODEROLE_TRANSITION)
        must_step(&s.w, (struct command){.kind = COMMAND_ANNEAL});
    why_is(&s, app, "parent < running");
    finish(&s, RESULT_FAILED);
    why_is(&s, app, "parent < error");
    why_is(&s, app2, "parent < error");
    const struct cause *cause = core_why(s.w.c, TABLE_NODEROLE, app, &s.w.arena);
    CHECK(str_eq(cause->text, STR("waits for `db` on `n2.example.com`, which is in error")));
    CHECK(cause->object == TABLE_NODEROLE && cause->object_id == db && cause->since > 0);
    CHECK(str_eq(cause->next->text, STR("`db` on `n2.example.com` is in error: run failed")));
    world_close(&s.w);
}

TEST(why_counts_workers_and_targets)
{
    struct setting s = open_setting();
    const int64_t gate = bind_in(&s, s.n1, "gate"), solo = bind_in(&s, s.n1, "solo");
    const int64_t busy = bind_in(&s, s.n2, "solo");
    must_step(&s.w, (struct command){.kind = COMMAND_SETTINGS_UPDATE,
                                     .settings_update = {.given = GIVEN_SETTINGS_POOL_NORMAL,
                                                         .pool_normal = 1}});
    commit_d(&s);
    while (core_has_work(s.w.c))
        must_step(&s.w, (struct command){.kind = COMMAND_ANNEAL});
    why_is(&s, solo, "running");
    why_is(&s, busy, "no_worker");
    must_step(&s.w, (struct command){.kind = COMMAND_NODE_UPDATE,
                                     .node_update = {.id = s.n1,
                                                     .given = GIVEN_NODE_TARGET | GIVEN_NODE_ALIVE,
                                                     .alive = true,
                                                     .target_role_id = role_id(&s.w, "gate")}});
    why_is(&s, solo, "held_by_target");
    CHECK(state_of(&s.w, gate) == NODEROLE_TODO);
    why_is(&s, gate, "probing");
    for (int64_t id; (id = core_next_id(s.w.c, TABLE_OUTBOX, 0)) != 0;)
        must_step(&s.w,
                  (struct command){.kind = COMMAND_OUTBOX_DONE, .outbox_done = {.outbox_id = id}});
    why_is(&s, gate, "node_busy < stopping");
    world_close(&s.w);
}

TEST(why_of_a_node_is_that_of_its_worst_noderole)
{
    struct setting s = open_setting();
    const struct cause *cause = core_why(s.w.c, TABLE_NODE, s.n1, &s.w.arena);
    CHECK(cause->code == CAUSE_NONE && cause->object == TABLE_NODE);
    bind_in(&s, s.n1, "solo");
    bind_in(&s, s.n1, "db");
    cause = core_why(s.w.c, TABLE_NODE, s.n1, &s.w.arena);
    CHECK(cause->code == CAUSE_PROPOSED && !cause->next);
    commit_d(&s);
    must_step(&s.w, (struct command){.kind = COMMAND_ANNEAL});
    finish(&s, RESULT_FAILED);
    CHECK(core_node_state(s.w.c, s.n1) == NODEROLE_ERROR);
    CHECK(core_why(s.w.c, TABLE_NODE, s.n1, &s.w.arena)->code == CAUSE_ERROR);
    CHECK(core_why(s.w.c, TABLE_NODE, 99, &s.w.arena) == NULL);
    for (uint32_t i = 0; i < CAUSE_COUNT; i++)
        CHECK(cause_name((enum cause_code)i) != NULL);
    world_close(&s.w);
}

/* ---- content, diff, revert ---- */

static struct str head_content(struct setting *s)
{
    const deployment_ix d = deployment_by_id(s->w.c, s->d);
    const int64_t seq = snapshot_at(s->w.c, deployment_at(s->w.c, d)->head)->seq;
    return core_snapshot_content(s->w.c, s->d, seq, NULL, 0, &s->w.arena);
}

static struct command reverting(const struct setting *s, int64_t seq, struct str to)
{
    return (struct command){.kind = COMMAND_DEPLOYMENT_REVERT,
                            .deployment_revert = {.id = s->d, .seq = seq, .content = to}};
}

TEST(a_content_lists_members_and_data_in_order)
{
    struct setting s = open_setting();
    const int64_t b = bind_in(&s, s.n2, "solo"), a = bind_in(&s, s.n1, "solo");
    set_data(&s, a, "{\"v\":1}");
    CHECK(b);
    CHECK(str_eq(head_content(&s), STR("{\"data\":[],\"members\":[]}")));
    commit_d(&s);
    const struct str content_now = head_content(&s);
    struct buf want = buf_in(&s.w.arena);
    buf_put_z(&want, "{\"data\":[{\"data\":{\"v\":1},\"node\":3,\"role\":6}],\"members\":["
                     "{\"node\":3,\"role\":6},{\"node\":4,\"role\":6}]}");
    CHECK(s.n1 == 3 && s.n2 == 4 && role_id(&s.w, "solo") == 6);
    CHECK(str_eq(content_now, buf_str(&want)));
    world_close(&s.w);
}

TEST(closed_intervals_count_in_their_snapshots)
{
    struct setting s = open_setting();
    const struct record old[] = {
        {.table = TABLE_OLD_MEMBER,
         .old_member =
             {.deployment_id = s.d, .role_id = 6, .node_id = 3, .from_seq = 2, .to_seq = 4}},
        {.table = TABLE_OLD_DATA,
         .old_data = {.deployment_id = s.d,
                      .role_id = 6,
                      .node_id = 3,
                      .from_seq = 2,
                      .to_seq = 3,
                      .data = STR("{\"v\":1}")}},
        {.table = TABLE_OLD_MEMBER,
         .old_member =
             {.deployment_id = 99, .role_id = 5, .node_id = 3, .from_seq = 1, .to_seq = 9}},
    };
    static const char *const wanted[] = {
        "{\"data\":[],\"members\":[]}",
        ("{\"data\":[{\"data\":{\"v\":1},\"node\":3,\"role\":6}],"
         "\"members\":[{\"node\":3,\"role\":6}]}"),
        "{\"data\":[],\"members\":[{\"node\":3,\"role\":6}]}",
        "{\"data\":[],\"members\":[]}",
    };
    for (int64_t seq = 1; seq <= 4; seq++)
        CHECK(str_eq(core_snapshot_content(s.w.c, s.d, seq, old, 3, &s.w.arena),
                     str_from(wanted[seq - 1])));
    world_close(&s.w);
}

TEST(a_difference_names_paths_and_values)
{
    struct arena a = {0};
    const struct str before =
        STR("{\"data\":[{\"data\":{\"x\":1},\"node\":0,\"role\":1},"
            "{\"data\":{\"a\":{\"b\":1,\"c\":[1]},\"gone\":1,\"same\":{\"k\":0}},"
            "\"node\":1,\"role\":1},"
            "{\"data\":{\"v\":1},\"node\":2,\"role\":1}],"
            "\"members\":[{\"node\":1,\"role\":1},{\"node\":2,\"role\":1}]}");
    const struct str after = STR(
        "{\"data\":[{\"data\":{\"a\":{\"b\":2,\"c\":[1,2]},\"new\":{\"n\":1},\"same\":{\"k\":0}},"
        "\"node\":1,\"role\":1},{\"data\":{\"v\":1},\"node\":3,\"role\":1}],"
        "\"members\":[{\"node\":1,\"role\":1},{\"node\":3,\"role\":1}]}");
    CHECK(str_eq(snapshot_diff_text(before, after, &a),
                 STR("{\"added\":[{\"node\":3,\"role\":1}],\"changed\":["
                     "{\"node\":0,\"paths\":[\"x\"],\"role\":1,\"values\":[[1,null]]},"
                     "{\"node\":1,\"paths\":[\"a/b\",\"a/c\",\"gone\",\"new\"],\"role\":1,"
                     "\"values\":[[1,2],[[1],[1,2]],[1,null],[null,{\"n\":1}]]}],"
                     "\"removed\":[{\"node\":2,\"role\":1}]}")));
    CHECK(str_eq(snapshot_diff_text(after, after, &a),
                 STR("{\"added\":[],\"changed\":[],\"removed\":[]}")));
    arena_fini(&a);
}

TEST(a_revert_lists_what_it_did_and_what_it_did_not)
{
    struct setting s = open_setting();
    const int64_t wipe = bind_in(&s, s.n1, "wipe"), solo = bind_in(&s, s.n2, "solo");
    set_data(&s, solo, "{\"v\":1}");
    commit_d(&s);
    const struct str first = head_content(&s);
    must_step(&s.w,
              (struct command){.kind = COMMAND_NODEROLE_DELETE, .noderole_delete = {.id = wipe}});
    must_step(&s.w, (struct command){.kind = COMMAND_NODE_DELETE, .node_delete = {.id = s.n2}});
    bind_in(&s, s.n1, "db");
    commit_d(&s);
    must_step(&s.w, reverting(&s, 1, first));
    struct buf want = buf_in(&s.w.arena);
    buf_put_z(&want, "{\"bound\":[],\"removed\":[{\"node\":3,\"role\":3}],\"skipped\":["
                     "{\"node\":3,\"role\":2,\"why\":\"the role is destructive: bind it by hand\"},"
                     "{\"node\":4,\"role\":6,\"why\":\"the node does not exist any more\"}]}");
    CHECK(str_eq(s.w.out.doc, buf_str(&want)));
    const struct json *doc = plan(&s);
    lists(&s, doc, "removes", "db@n1");
    commit_d(&s);
    CHECK(core_noderole(s.w.c, s.n1, role_id(&s.w, "db")) == 0);
    CHECK(core_noderole(s.w.c, s.n1, role_id(&s.w, "base")) != 0);
    world_close(&s.w);
}

TEST(a_revert_that_removes_a_parent_of_others_is_refused)
{
    struct setting s = open_setting();
    commit_d(&s);
    const struct str nothing = head_content(&s);
    bind_in(&s, s.n2, "db");
    commit_d(&s);
    settle(&s.w, NULL);
    /* A child in another deployment, which is not part of the snapshot. */
    must_step(&s.w, (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                     .deployment_create = {.name = STR("e"), .parent_id = s.d}});
    const int64_t e = s.w.out.id;
    must_step(&s.w, (struct command){.kind = COMMAND_NODEROLE_BIND,
                                     .noderole_bind = {.node_id = s.n1,
                                                       .role_id = role_id(&s.w, "app"),
                                                       .deployment_id = e}});
    const int64_t app = s.w.out.id;
    must_step(&s.w,
              (struct command){.kind = COMMAND_NODEROLE_COMMIT, .noderole_commit = {.id = app}});
    must_refuse(&s.w, reverting(&s, 1, nothing), PROBLEM_HAS_DEPENDANTS, "seq");
    must_refuse(&s.w, reverting(&s, 9, nothing), PROBLEM_NOT_FOUND, "seq");
    must_refuse(&s.w, reverting(&s, 1, STR("{\"data\":[]}")), PROBLEM_BAD_JSON, "content");
    must_refuse(&s.w, reverting(&s, 1, STR("{\"data\":[],\"members\":[{\"node\":1}]}")),
                PROBLEM_BAD_JSON, "content");
    struct command system = reverting(&s, 1, nothing);
    system.deployment_revert.id = 1;
    must_refuse(&s.w, system, PROBLEM_SYSTEM_DEPLOYMENT, "id");
    must_refuse(
        &s.w, (struct command){.kind = COMMAND_DEPLOYMENT_DELETE, .deployment_delete = {.id = s.d}},
        PROBLEM_HAS_CHILDREN, "id");
    must_step(&s.w,
              (struct command){.kind = COMMAND_NODEROLE_PROPOSE, .noderole_propose = {.id = app}});
    must_step(&s.w, reverting(&s, 1, nothing));
    world_close(&s.w);
}

TEST(data_of_a_role_are_reverted_too)
{
    struct setting s = open_setting();
    bind_in(&s, s.n1, "solo");
    const int64_t dr = core_deployment_role(s.w.c, s.d, role_id(&s.w, "solo"));
    commit_d(&s);
    const struct str first = head_content(&s);
    must_step(&s.w, (struct command){.kind = COMMAND_DEPLOYMENT_ROLE_DATA,
                                     .deployment_role_data = {.id = dr, .data = STR("{\"k\":2}")}});
    commit_d(&s);
    must_step(&s.w, reverting(&s, 1, first));
    struct record record;
    CHECK(core_record(s.w.c, TABLE_DEPLOYMENT_ROLE, dr, &record));
    CHECK(record.deployment_role.proposed && record.deployment_role.proposed_data.len == 0);
    CHECK(str_eq(record.deployment_role.committed_data, STR("{\"k\":2}")));
    const struct json *doc = plan(&s);
    CHECK(json_get(doc, STR("role_commits"))->count == 1);
    commit_d(&s);
    CHECK(core_record(s.w.c, TABLE_DEPLOYMENT_ROLE, dr, &record));
    CHECK(!record.deployment_role.proposed && record.deployment_role.committed_data.len == 0);
    world_close(&s.w);
}

/* ---- tree of deployments ---- */

TEST(the_tree_grows_as_deep_as_allowed)
{
    struct setting s = open_setting();
    must_step(&s.w, (struct command){
                        .kind = COMMAND_SETTINGS_UPDATE,
                        .settings_update = {.given = GIVEN_SETTINGS_MAX_DEPTH, .max_depth = 2}});
    must_refuse(&s.w,
                (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                 .deployment_create = {.name = STR("e"), .parent_id = s.d}},
                PROBLEM_TOO_DEEP, "parent_id");
    must_step(&s.w, (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                     .deployment_create = {.name = STR("e")}});
    must_refuse(&s.w,
                (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                 .deployment_create = {.name = STR("E")}},
                PROBLEM_NAME_TAKEN, "name");
    must_refuse(&s.w,
                (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                 .deployment_create = {.name = STR("f"), .parent_id = 99}},
                PROBLEM_NOT_FOUND, "parent_id");
    world_close(&s.w);
}

TEST(a_deployment_is_deleted_with_what_only_it_needs)
{
    struct setting s = open_setting();
    bind_in(&s, s.n1, "app");
    bind_in(&s, s.n2, "app");
    commit_d(&s);
    settle(&s.w, NULL);
    must_step(&s.w, (struct command){.kind = COMMAND_DEPLOYMENT_DELETE,
                                     .deployment_delete = {.id = s.d}});
    CHECK(core_count(s.w.c, TABLE_NODEROLE) == 0 && core_count(s.w.c, TABLE_DEPLOYMENT) == 1);
    CHECK(core_count(s.w.c, TABLE_SNAPSHOT) == 1 && core_count(s.w.c, TABLE_NODE) == 3);
    CHECK(core_count(s.w.c, TABLE_DEPLOYMENT_ROLE) == 0);
    world_close(&s.w);
}
