#include <stdio.h>

#include "base/json/json.h"
#include "tests/unit/core/data_world.h"

/* Content whose defaults change: noderoles that ran with the old ones are counted, and rerun on
 * request. */

static void import_with(struct world *w, const char *size, const char *disk)
{
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, "{\"barclamp\":{\"name\":\"tools\",\"source_path\":\"p\"},"
                  "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],\"roles\":["
                  "{\"name\":\"app\",\"jig\":\"script\",\"flags\":[\"implicit\"],\"attribs\":["
                  "{\"name\":\"app-size\",\"map\":\"app/size\",\"default\":");
    buf_put_z(&b, size);
    buf_put_z(&b, "}]},{\"name\":\"plain\",\"jig\":\"script\",\"flags\":[\"implicit\"]},"
                  "{\"name\":\"wipe\",\"jig\":\"script\",\"flags\":[\"destructive\",\"implicit\"],"
                  "\"attribs\":[{\"name\":\"wipe-disk\",\"map\":\"wipe/disk\",\"default\":");
    buf_put_z(&b, disk);
    buf_put_z(&b, "}]}]}");
    import(w, str_z(&w->arena, buf_str(&b)));
}

static struct record row(struct world *w, enum table table, int64_t id)
{
    struct record record;
    CHECK(core_record(w->c, table, id, &record));
    return record;
}

struct setting {
    struct world w;
    int64_t d, app, plain, wipe;
};

static int64_t bind_in(struct setting *s, int64_t node, const char *role)
{
    must_step(&s->w, (struct command){.kind = COMMAND_NODEROLE_BIND,
                                      .noderole_bind = {.node_id = node,
                                                        .role_id = role_id(&s->w, role),
                                                        .deployment_id = s->d}});
    return s->w.out.id;
}

static void commit_d(struct setting *s, bool rerun)
{
    must_step(&s->w, (struct command){.kind = COMMAND_DEPLOYMENT_COMMIT,
                                      .deployment_commit = {.id = s->d, .rerun_changed = rerun}});
}

static struct setting open_setting(void)
{
    struct setting s = {.w = world_open()};
    import_with(&s.w, "1", "\"sda\"");
    must_step(&s.w, (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                     .deployment_create = {.name = STR("d")}});
    s.d = s.w.out.id;
    const int64_t n1 = add_node(&s.w, "n1.example.com");
    s.app = bind_in(&s, n1, "app");
    s.plain = bind_in(&s, n1, "plain");
    s.wipe = bind_in(&s, n1, "wipe");
    commit_d(&s, false);
    settle(&s.w, NULL);
    return s;
}

static void counts(const struct setting *s, uint32_t changed, uint32_t destructive)
{
    uint32_t some, wipes;
    core_count_changed(s->w.c, s->d, &some, &wipes);
    CHECK(some == changed && wipes == destructive);
}

static uint32_t runs_of(struct setting *s, int64_t noderole)
{
    return row(&s->w, TABLE_NODEROLE, noderole).noderole.run_count;
}

TEST(new_defaults_are_counted_and_rerun_nothing)
{
    struct setting s = open_setting();
    counts(&s, 0, 0);
    import_with(&s.w, "1", "\"sda\"");
    counts(&s, 0, 0);
    import_with(&s.w, "2", "\"sda\"");
    counts(&s, 1, 0);
    import_with(&s.w, "2", "\"sdb\"");
    counts(&s, 1, 1);
    settle(&s.w, NULL);
    CHECK(runs_of(&s, s.app) == 1 && runs_of(&s, s.plain) == 1 && runs_of(&s, s.wipe) == 1);
    counts(&s, 1, 1);
    world_close(&s.w);
}

TEST(a_commit_reruns_changed_noderoles_on_request_but_destroys_nothing)
{
    struct setting s = open_setting();
    import_with(&s.w, "2", "\"sdb\"");
    commit_d(&s, false);
    settle(&s.w, NULL);
    CHECK(runs_of(&s, s.app) == 1);
    commit_d(&s, true);
    CHECK(row(&s.w, TABLE_DEPLOYMENT, s.d).deployment.rerunning);
    settle(&s.w, NULL);
    CHECK(runs_of(&s, s.app) == 2 && runs_of(&s, s.plain) == 1 && runs_of(&s, s.wipe) == 1);
    CHECK(!row(&s.w, TABLE_DEPLOYMENT, s.d).deployment.rerunning && !core_has_work(s.w.c));
    counts(&s, 0, 1);
    world_close(&s.w);
}

TEST(many_are_rerun_in_bounded_steps)
{
    enum { MANY = 700, STEP = 256 };
    struct setting s = open_setting();
    char name[64];
    for (int i = 0; i < MANY - 1; i++) {
        snprintf(name, sizeof name, "m%d.example.com", i);
        bind_in(&s, add_node(&s.w, name), "app");
    }
    commit_d(&s, false);
    settle(&s.w, NULL);
    import_with(&s.w, "2", "\"sda\"");
    settle(&s.w, NULL);
    counts(&s, MANY, 0);
    commit_d(&s, true);
    uint32_t left = MANY, steps = 0, some, wipes;
    while (row(&s.w, TABLE_DEPLOYMENT, s.d).deployment.rerunning) {
        must_step(&s.w, (struct command){.kind = COMMAND_ANNEAL});
        core_count_changed(s.w.c, s.d, &some, &wipes);
        CHECK(some <= left && left - some <= STEP);
        steps += some < left;
        left = some;
        CHECK(!core_check(s.w.c, &s.w.arena));
    }
    CHECK(steps == 3 && left == 0);
    world_close(&s.w);
}

TEST(a_computed_template_reruns_nothing_but_one_that_is_set_does)
{
    struct setting s = open_setting();
    struct command set = {.kind = COMMAND_ROLE_UPDATE,
                          .role_update = {.id = role_id(&s.w, "app"),
                                          .given = GIVEN_ROLE_TEMPLATE | GIVEN_ROLE_COMPUTED,
                                          .template = STR("{\"app\":{\"x\":1}}")}};
    must_step(&s.w, set);
    settle(&s.w, NULL);
    CHECK(runs_of(&s, s.app) == 1);
    counts(&s, 1, 0);
    set.role_update.given = GIVEN_ROLE_TEMPLATE;
    set.role_update.template = STR("{\"app\":{\"x\":2}}");
    must_step(&s.w, set);
    settle(&s.w, NULL);
    CHECK(runs_of(&s, s.app) == 2);
    counts(&s, 0, 0);
    world_close(&s.w);
}
