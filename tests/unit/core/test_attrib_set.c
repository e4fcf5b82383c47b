/* Writing values: attribs, whole documents, deployment roles, and the reruns they cause
 * (docs/spec/data.md, "Write buckets", "Feedback", "Reruns"). */
#include "tests/unit/core/data_world.h"

#include "base/json/json.h"

static const char shop[] =
    "{\"barclamp\":{\"name\":\"shop\",\"source_path\":\"x\"},"
    "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],"
    "\"attribs\":[{\"name\":\"rack\",\"map\":\"site/rack\",\"default\":0,"
    "\"schema\":{\"type\":\"int\"}},"
    "{\"name\":\"serial\",\"map\":\"site/serial\"},"
    "{\"name\":\"whole\",\"schema\":{\"type\":\"any\"}}],"
    "\"roles\":[{\"name\":\"db\",\"jig\":\"script\",\"attribs\":["
    "{\"name\":\"port\",\"map\":\"db/port\",\"default\":1,\"schema\":{\"type\":\"int\"}},"
    "{\"name\":\"mode\",\"map\":\"db/mode\",\"schema\":{\"type\":\"str\","
    "\"enum\":[\"on\",\"off\"],\"required\":true},\"default\":\"off\"},"
    "{\"name\":\"table\",\"map\":\"db/table\",\"schema\":{\"type\":\"map\",\"mapping\":{"
    "\"name\":{\"type\":\"str\",\"required\":true},\"rows\":{\"type\":\"int\"}}}},"
    "{\"name\":\"fixed\",\"map\":\"db/fixed\",\"default\":\"f\"}]},"
    "{\"name\":\"app\",\"jig\":\"script\",\"requires\":[\"db\"],"
    "\"wants-attribs\":[\"port\",\"rack\",\"serial\"]},"
    "{\"name\":\"idle\",\"jig\":\"script\",\"requires\":[\"app\"]}]}";

/* db and app run on different nodes; idle, on the node of app, wants no attrib. */
struct shop {
    struct world w;
    int64_t front, back;
    int64_t db, app, idle, dr;
};

static struct shop open_shop(void)
{
    struct shop s = {.w = world_open()};
    struct world *w = &s.w;
    import(w, shop);
    s.back = add_node(w, "back.example.com");
    s.front = add_node(w, "front.example.com");
    s.db = bind(w, s.back, "db");
    s.idle = bind(w, s.front, "idle");
    s.app = core_noderole(w->c, s.front, role_id(w, "app"));
    CHECK(s.app && !core_noderole(w->c, s.front, role_id(w, "db")));
    s.dr = core_deployment_role(w->c, 1, role_id(w, "db"));
    return s;
}

static void commit_all(struct shop *s)
{
    commit(&s->w, s->db);
    commit(&s->w, s->app);
    commit(&s->w, s->idle);
    settle(&s->w, NULL);
    CHECK(state_of(&s->w, s->db) == NODEROLE_ACTIVE);
    CHECK(state_of(&s->w, s->app) == NODEROLE_ACTIVE);
    CHECK(state_of(&s->w, s->idle) == NODEROLE_ACTIVE);
}

static void states_are(struct shop *s, enum noderole_state db, enum noderole_state app,
                       enum noderole_state idle)
{
    CHECK(state_of(&s->w, s->db) == db);
    CHECK(state_of(&s->w, s->app) == app);
    CHECK(state_of(&s->w, s->idle) == idle);
}

static uint32_t runs_of(struct world *w, int64_t noderole_id)
{
    struct record record;
    CHECK(core_record(w->c, TABLE_NODEROLE, noderole_id, &record));
    return record.noderole.run_count;
}

static struct str doc_in(struct world *w, enum table table, int64_t id, const char *field)
{
    struct record record;
    CHECK(core_record(w->c, table, id, &record));
    const struct layout *layout = record_layout(table);
    const char *object = (const char *)&record.id;
    for (uint32_t i = 0; i < layout->count; i++)
        if (str_eq(str_from(layout->fields[i].name), str_from(field)))
            return *(const struct str *)(const void *)(object + layout->fields[i].offset);
    check_failed(field, (int)table, "no such field");
    return STR("");
}

static bool holds(struct world *w, enum table table, int64_t id, const char *field,
                  const char *expected)
{
    const struct str found = doc_in(w, table, id, field);
    if (str_eq(found, str_from(expected)))
        return true;
    check_failed(field, (int)id, str_z(&w->arena, found));
    return false;
}

/* ---- refusals ---- */

TEST(what_does_not_exist_is_named)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    const int64_t rack = attrib_id(w, "rack");
    must_refuse(w, set_command(TABLE_NODE, s.front, 999, BUCKET_USER, "1"), PROBLEM_NOT_FOUND,
                "attrib_id");
    must_refuse(w, set_command(TABLE_NODE, 999, rack, BUCKET_USER, "1"), PROBLEM_NOT_FOUND, "id");
    must_refuse(w, set_command(TABLE_NODE, 0, rack, BUCKET_USER, "1"), PROBLEM_NOT_FOUND, "id");
    must_refuse(w, set_command(TABLE_NODE, -5, rack, BUCKET_USER, "1"), PROBLEM_NOT_FOUND, "id");
    must_refuse(w, set_command(TABLE_GROUP, 1, rack, BUCKET_USER, "1"), PROBLEM_BAD_VALUE,
                "target");
    must_refuse(w, set_command(TABLE_COUNT, 1, rack, BUCKET_USER, "1"), PROBLEM_BAD_VALUE,
                "target");
    must_refuse(w, set_command(TABLE_NODE, s.front, rack, BUCKET_COUNT, "1"), PROBLEM_BAD_VALUE,
                "bucket");
    world_close(w);
}

TEST(an_attrib_is_set_only_on_its_owner)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    const int64_t rack = attrib_id(w, "rack"), port = attrib_id(w, "port");
    must_refuse(w, set_command(TABLE_NODE, s.front, port, BUCKET_USER, "1"), PROBLEM_NOT_FOUND,
                "attrib_id");
    must_refuse(w, set_command(TABLE_NODEROLE, s.app, port, BUCKET_USER, "1"), PROBLEM_NOT_FOUND,
                "attrib_id");
    must_refuse(w, set_command(TABLE_NODEROLE, s.app, rack, BUCKET_USER, "1"), PROBLEM_NOT_FOUND,
                "attrib_id");
    must_refuse(w, set_command(TABLE_DEPLOYMENT, 1, rack, BUCKET_USER, "1"), PROBLEM_NOT_FOUND,
                "attrib_id");
    must_refuse(w, set_command(TABLE_ROLE, role_id(w, "app"), port, BUCKET_USER, "1"),
                PROBLEM_NOT_FOUND, "attrib_id");
    world_close(w);
}

TEST(from_outside_only_user_and_note_can_be_written)
{
    static const enum bucket inner[] = {BUCKET_SYSTEM, BUCKET_WALL, BUCKET_DISCOVERY, BUCKET_HINT};
    struct shop s = open_shop();
    struct world *w = &s.w;
    for (uint32_t i = 0; i < sizeof inner / sizeof *inner; i++) {
        must_refuse(w, set_command(TABLE_NODE, s.front, attrib_id(w, "rack"), inner[i], "1"),
                    PROBLEM_NOT_SUPPORTED, "bucket");
        must_refuse(w, set_command(TABLE_NODEROLE, s.db, attrib_id(w, "port"), inner[i], "1"),
                    PROBLEM_NOT_SUPPORTED, "bucket");
    }
    CHECK(problem_status(PROBLEM_NOT_SUPPORTED) == 405);
    world_close(w);
}

TEST(buckets_that_an_object_does_not_have_are_refused_to_hooks_too)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    const struct {
        enum table target;
        int64_t id;
        const char *attrib;
        enum bucket bucket;
    } none[] = {
        {TABLE_NODE, s.front, "rack", BUCKET_WALL},
        {TABLE_NODEROLE, s.db, "port", BUCKET_DISCOVERY},
        {TABLE_DEPLOYMENT_ROLE, s.dr, "port", BUCKET_DISCOVERY},
        {TABLE_ROLE, role_id(w, "db"), "port", BUCKET_WALL},
        {TABLE_ROLE, role_id(w, "db"), "port", BUCKET_DISCOVERY},
    };
    for (uint32_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct command command = set_command(none[i].target, none[i].id,
                                             attrib_id(w, none[i].attrib), none[i].bucket, "1");
        command.depth = 1;
        must_refuse(w, command, PROBLEM_NOT_SUPPORTED, "bucket");
    }
    world_close(w);
}

TEST(only_writable_attribs_take_a_users_value)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    const int64_t fixed = attrib_id(w, "fixed");
    must_refuse(w, set_command(TABLE_NODEROLE, s.db, fixed, BUCKET_USER, "1"), PROBLEM_READ_ONLY,
                "attrib_id");
    must_step(w, set_command(TABLE_NODEROLE, s.db, fixed, BUCKET_NOTE, "1"));
    set_inside(w, TABLE_NODEROLE, s.db, "fixed", BUCKET_SYSTEM, "2");
    CHECK(reads(w, TABLE_NODEROLE, s.db, "fixed", VIEW_ALL, "2"));
    CHECK(reads(w, TABLE_NODEROLE, s.db, "fixed", VIEW_NOTE, "1"));
    world_close(w);
}

static uint32_t problem_count(const struct world *w)
{
    uint32_t count = 0;
    for (const struct problem *p = w->out.problems; p; p = p->next)
        count++;
    return count;
}

TEST(a_value_that_breaks_the_schema_changes_nothing)
{
    static const struct {
        const char *attrib, *value;
        uint32_t problems;
    } broken[] = {
        {"port", "\"80\"", 1},
        {"mode", "\"maybe\"", 1},
        {"mode", "null", 1},
        {"mode", "", 1},
        {"table", "{\"rows\":1}", 1},
        {"table", "{\"name\":\"n\",\"colour\":1}", 1},
        {"table", "{\"rows\":\"many\",\"colour\":1}", 3},
    };
    struct shop s = open_shop();
    struct world *w = &s.w;
    for (uint32_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        must_refuse(w,
                    set_command(TABLE_NODEROLE, s.db, attrib_id(w, broken[i].attrib), BUCKET_USER,
                                broken[i].value),
                    PROBLEM_SCHEMA_VIOLATED, "value");
        CHECK(problem_count(w) == broken[i].problems);
        const struct str path = STR_CONCAT(&w->arena, STR("/"), str_from(broken[i].attrib));
        for (const struct problem *p = w->out.problems; p; p = p->next)
            CHECK(str_starts(p->text, path));
    }
    set_user(w, TABLE_NODEROLE, s.db, "table", "{\"name\":\"n\",\"rows\":2}");
    set_user(w, TABLE_NODEROLE, s.db, "mode", "\"on\"");
    /* System data is written by hooks; the schema applies to values of users. */
    set_inside(w, TABLE_NODEROLE, s.db, "mode", BUCKET_SYSTEM, "\"maybe\"");
    world_close(w);
}

TEST(a_value_must_fit_into_the_document)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    must_refuse(w, set_command(TABLE_NODE, s.front, attrib_id(w, "whole"), BUCKET_USER, "1"),
                PROBLEM_BAD_VALUE, "value");
    set_user(w, TABLE_NODE, s.front, "whole", "{\"a\":1}");
    CHECK(holds(w, TABLE_NODE, s.front, "hint", "{\"a\":1}"));

    struct buf deep = buf_in(&w->arena);
    for (uint32_t i = 0; i < JSON_DEPTH_MAX; i++)
        buf_put_c(&deep, '[');
    for (uint32_t i = 0; i < JSON_DEPTH_MAX; i++)
        buf_put_c(&deep, ']');
    must_refuse(w,
                set_command(TABLE_NODE, s.front, attrib_id(w, "serial"), BUCKET_NOTE,
                            str_z(&w->arena, buf_str(&deep))),
                PROBLEM_BAD_JSON, "value");

    struct buf longest = buf_in(&w->arena);
    buf_put_c(&longest, '"');
    while (longest.len < DOC_MAX - 1)
        buf_put_c(&longest, 'x');
    buf_put_c(&longest, '"');
    must_refuse(w,
                set_command(TABLE_NODE, s.front, attrib_id(w, "serial"), BUCKET_NOTE,
                            str_z(&w->arena, buf_str(&longest))),
                PROBLEM_BAD_TEXT, "value");
    world_close(w);
}

/* ---- documents that are written ---- */

TEST(each_bucket_writes_its_document)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    set_user(w, TABLE_NODE, s.front, "rack", "1");
    CHECK(w->out.id == s.front);
    CHECK(holds(w, TABLE_NODE, s.front, "hint", "{\"site\":{\"rack\":1}}"));
    set_inside(w, TABLE_NODE, s.front, "serial", BUCKET_HINT, "2");
    set_inside(w, TABLE_NODE, s.front, "rack", BUCKET_SYSTEM, "3");
    CHECK(holds(w, TABLE_NODE, s.front, "hint", "{\"site\":{\"rack\":3,\"serial\":2}}"));
    set_inside(w, TABLE_NODE, s.front, "rack", BUCKET_DISCOVERY, "4");
    CHECK(holds(w, TABLE_NODE, s.front, "discovery", "{\"site\":{\"rack\":4}}"));
    set_inside(w, TABLE_NODE, s.front, "rack", BUCKET_NOTE, "\"n\"");
    CHECK(holds(w, TABLE_NODE, s.front, "notes", "{\"site\":{\"rack\":\"n\"}}"));

    set_user(w, TABLE_NODE, s.back, "port", "10"); /* stored in the noderole */
    CHECK(holds(w, TABLE_NODEROLE, s.db, "proposed_data", "{\"db\":{\"port\":10}}"));
    set_inside(w, TABLE_NODEROLE, s.db, "fixed", BUCKET_HINT, "11");
    CHECK(holds(w, TABLE_NODEROLE, s.db, "proposed_data", "{\"db\":{\"fixed\":11,\"port\":10}}"));
    set_inside(w, TABLE_NODEROLE, s.db, "port", BUCKET_SYSTEM, "12");
    CHECK(holds(w, TABLE_NODEROLE, s.db, "sysdata", "{\"db\":{\"port\":12}}"));
    set_inside(w, TABLE_NODEROLE, s.db, "port", BUCKET_WALL, "13");
    CHECK(holds(w, TABLE_NODEROLE, s.db, "wall", "{\"db\":{\"port\":13}}"));
    set_inside(w, TABLE_NODEROLE, s.db, "port", BUCKET_NOTE, "14");
    CHECK(holds(w, TABLE_NODEROLE, s.db, "notes", "{\"db\":{\"port\":14}}"));
    CHECK(holds(w, TABLE_NODEROLE, s.db, "committed_data", ""));

    set_inside(w, TABLE_DEPLOYMENT, 1, "port", BUCKET_SYSTEM, "20");
    CHECK(holds(w, TABLE_DEPLOYMENT_ROLE, s.dr, "wall", "{\"db\":{\"port\":20}}"));
    set_inside(w, TABLE_DEPLOYMENT_ROLE, s.dr, "fixed", BUCKET_WALL, "21");
    CHECK(holds(w, TABLE_DEPLOYMENT_ROLE, s.dr, "wall", "{\"db\":{\"fixed\":21,\"port\":20}}"));
    set_inside(w, TABLE_DEPLOYMENT_ROLE, s.dr, "port", BUCKET_NOTE, "22");
    CHECK(holds(w, TABLE_DEPLOYMENT_ROLE, s.dr, "notes", "{\"db\":{\"port\":22}}"));
    CHECK(!deployment_role_at(w->c, deployment_role_by_id(w->c, s.dr))->proposed);

    const int64_t role = role_id(w, "db");
    set_user(w, TABLE_ROLE, role, "port", "30");
    set_inside(w, TABLE_ROLE, role, "fixed", BUCKET_SYSTEM, "31");
    CHECK(holds(w, TABLE_ROLE, role, "template", "{\"db\":{\"fixed\":31,\"port\":30}}"));
    set_inside(w, TABLE_ROLE, role, "port", BUCKET_NOTE, "32");
    CHECK(holds(w, TABLE_ROLE, role, "notes", "{\"db\":{\"port\":32}}"));
    world_close(w);
}

TEST(a_value_that_is_there_already_changes_no_row)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    set_user(w, TABLE_NODE, s.front, "rack", "1");
    const struct digest128 before = core_digest_now(w->c);
    set_user(w, TABLE_NODE, s.front, "rack", "1");
    set_user(w, TABLE_NODE, s.front, "whole", "{}");
    const struct digest128 after = core_digest_now(w->c);
    CHECK(memcmp(&before, &after, sizeof before) == 0);
    world_close(w);
}

TEST(null_is_stored_and_reads_as_the_default)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    set_user(w, TABLE_NODE, s.front, "rack", "5");
    set_user(w, TABLE_NODE, s.front, "rack", "");
    CHECK(holds(w, TABLE_NODE, s.front, "hint", "{\"site\":{\"rack\":null}}"));
    CHECK(reads(w, TABLE_NODE, s.front, "rack", VIEW_ALL, "0"));
    world_close(w);
}

TEST(data_of_a_noderole_are_replaced_only_while_it_is_proposed)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    struct command data = {.kind = COMMAND_NODEROLE_DATA,
                           .noderole_data = {.id = s.db, .data = STR("{ \"b\": 1, \"a\": 2 }")}};
    set_user(w, TABLE_NODEROLE, s.db, "port", "10");
    must_step(w, data);
    CHECK(w->out.id == s.db);
    CHECK(holds(w, TABLE_NODEROLE, s.db, "proposed_data", "{\"a\":2,\"b\":1}"));
    const struct digest128 before = core_digest_now(w->c);
    must_step(w, data);
    const struct digest128 after = core_digest_now(w->c);
    CHECK(memcmp(&before, &after, sizeof before) == 0);
    data.noderole_data.data = STR("[1]");
    must_refuse(w, data, PROBLEM_BAD_JSON, "data");
    data.noderole_data.data = STR("{");
    must_refuse(w, data, PROBLEM_BAD_JSON, "data");
    data.noderole_data = (struct noderole_data_command){.id = 999, .data = STR("{}")};
    must_refuse(w, data, PROBLEM_NOT_FOUND, "id");
    data.noderole_data.id = s.db;
    must_step(w, data);
    CHECK(holds(w, TABLE_NODEROLE, s.db, "proposed_data", ""));

    commit_all(&s);
    data.noderole_data.data = STR("{\"x\":1}");
    must_refuse(w, data, PROBLEM_NOT_PROPOSED, "data");
    /* A single attrib may be written in every state; it is in force after propose and commit. */
    set_user(w, TABLE_NODEROLE, s.db, "port", "33");
    states_are(&s, NODEROLE_ACTIVE, NODEROLE_ACTIVE, NODEROLE_ACTIVE);
    CHECK(reads(w, TABLE_NODEROLE, s.db, "port", VIEW_ALL, "1"));
    CHECK(holds(w, TABLE_NODEROLE, s.db, "proposed_data", "{\"db\":{\"port\":33}}"));
    CHECK(holds(w, TABLE_NODEROLE, s.db, "committed_data", ""));
    must_step(w,
              (struct command){.kind = COMMAND_NODEROLE_PROPOSE, .noderole_propose = {.id = s.db}});
    commit(w, s.db);
    CHECK(reads(w, TABLE_NODEROLE, s.db, "port", VIEW_COMMITTED, "33"));
    world_close(w);
}

/* ---- reruns ---- */

TEST(a_node_attrib_reruns_noderoles_on_the_node_that_want_it)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    commit_all(&s);
    set_user(w, TABLE_NODE, s.back, "rack", "1"); /* no role there wants it */
    states_are(&s, NODEROLE_ACTIVE, NODEROLE_ACTIVE, NODEROLE_ACTIVE);
    set_user(w, TABLE_NODE, s.front, "rack", "0"); /* the value is the same */
    states_are(&s, NODEROLE_ACTIVE, NODEROLE_ACTIVE, NODEROLE_ACTIVE);
    must_step(w, set_command(TABLE_NODE, s.front, attrib_id(w, "rack"), BUCKET_NOTE, "9"));
    states_are(&s, NODEROLE_ACTIVE, NODEROLE_ACTIVE, NODEROLE_ACTIVE);
    set_user(w, TABLE_NODE, s.front, "rack", "1");
    CHECK(state_of(w, s.db) == NODEROLE_ACTIVE);
    CHECK(state_of(w, s.app) == NODEROLE_TODO);
    settle(w, NULL);
    states_are(&s, NODEROLE_ACTIVE, NODEROLE_ACTIVE, NODEROLE_ACTIVE);
    CHECK(runs_of(w, s.app) == 2 && runs_of(w, s.db) == 1);
    set_inside(w, TABLE_NODE, s.front, "rack", BUCKET_DISCOVERY, "8"); /* the hint overrides it */
    CHECK(state_of(w, s.app) == NODEROLE_ACTIVE);
    set_user(w, TABLE_NODE, s.front, "whole", "{\"other\":1}"); /* changes, but no role wants it */
    CHECK(state_of(w, s.app) == NODEROLE_ACTIVE);
    set_inside(w, TABLE_NODE, s.front, "serial", BUCKET_DISCOVERY, "1"); /* no hint overrides it */
    CHECK(state_of(w, s.app) == NODEROLE_TODO);
    world_close(w);
}

TEST(system_data_rerun_their_noderole_and_walls_of_a_deployment_role_all_of_its)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    commit_all(&s);
    set_inside(w, TABLE_NODEROLE, s.db, "port", BUCKET_WALL, "5");
    set_inside(w, TABLE_NODEROLE, s.db, "port", BUCKET_SYSTEM, "5");
    CHECK(state_of(w, s.db) == NODEROLE_ACTIVE); /* the value was 5 before */
    set_inside(w, TABLE_NODEROLE, s.db, "port", BUCKET_SYSTEM, "6");
    CHECK(state_of(w, s.db) == NODEROLE_TODO);
    settle(w, NULL);
    set_inside(w, TABLE_DEPLOYMENT_ROLE, s.dr, "port", BUCKET_SYSTEM, "6");
    CHECK(state_of(w, s.db) == NODEROLE_TODO);
    settle(w, NULL);
    set_inside(w, TABLE_DEPLOYMENT_ROLE, s.dr, "port", BUCKET_NOTE, "7");
    set_inside(w, TABLE_DEPLOYMENT_ROLE, s.dr, "port", BUCKET_WALL, "6");
    CHECK(state_of(w, s.db) == NODEROLE_ACTIVE);
    set_inside(w, TABLE_DEPLOYMENT_ROLE, s.dr, "fixed", BUCKET_WALL, "7");
    CHECK(state_of(w, s.db) == NODEROLE_TODO);
    settle(w, NULL);
    CHECK(runs_of(w, s.db) == 4);
    world_close(w);
}

TEST(a_template_reruns_every_noderole_of_its_role)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    commit_all(&s);
    set_user(w, TABLE_ROLE, role_id(w, "db"), "port", "1");
    CHECK(state_of(w, s.db) == NODEROLE_ACTIVE);
    set_user(w, TABLE_ROLE, role_id(w, "db"), "port", "2");
    CHECK(state_of(w, s.db) == NODEROLE_TODO);
    world_close(w);
}

/* ---- deployment roles ---- */

static uint32_t proposed_roles(struct world *w)
{
    return deployment_at(w->c, deployment_by_id(w->c, 1))->proposed_roles;
}

static struct command role_commit(int64_t id)
{
    return (struct command){.kind = COMMAND_DEPLOYMENT_ROLE_COMMIT,
                            .deployment_role_commit = {.id = id}};
}

TEST(data_of_a_deployment_are_proposed_then_committed_then_seen)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    commit_all(&s);
    set_user(w, TABLE_DEPLOYMENT, 1, "port", "7");
    CHECK(proposed_roles(w) == 1);
    states_are(&s, NODEROLE_ACTIVE, NODEROLE_ACTIVE, NODEROLE_ACTIVE);
    CHECK(reads(w, TABLE_NODEROLE, s.db, "port", VIEW_ALL, "7"));
    CHECK(reads(w, TABLE_NODEROLE, s.db, "port", VIEW_COMMITTED, "1"));
    set_user(w, TABLE_DEPLOYMENT_ROLE, s.dr, "mode", "\"on\"");
    CHECK(proposed_roles(w) == 1);
    CHECK(holds(w, TABLE_DEPLOYMENT_ROLE, s.dr, "proposed_data",
                "{\"db\":{\"mode\":\"on\",\"port\":7}}"));
    must_step(w, role_commit(s.dr));
    CHECK(proposed_roles(w) == 0);
    CHECK(state_of(w, s.db) == NODEROLE_TODO);
    CHECK(holds(w, TABLE_DEPLOYMENT_ROLE, s.dr, "committed_data",
                "{\"db\":{\"mode\":\"on\",\"port\":7}}"));
    CHECK(holds(w, TABLE_DEPLOYMENT_ROLE, s.dr, "proposed_data", ""));
    settle(w, NULL);

    /* Committed data is overridden by data that is proposed next. */
    set_user(w, TABLE_DEPLOYMENT, 1, "port", "8");
    CHECK(holds(w, TABLE_DEPLOYMENT_ROLE, s.dr, "proposed_data",
                "{\"db\":{\"mode\":\"on\",\"port\":8}}"));
    must_step(w, role_commit(s.dr));
    settle(w, NULL);
    CHECK(runs_of(w, s.db) == 3);
    world_close(w);
}

TEST(a_commit_reruns_only_when_a_value_changes)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    commit_all(&s);
    must_step(w, role_commit(s.dr)); /* nothing is proposed */
    struct command data = {.kind = COMMAND_DEPLOYMENT_ROLE_DATA,
                           .deployment_role_data = {.id = s.dr, .data = STR("{\"other\":1}")}};
    must_step(w, data);
    CHECK(proposed_roles(w) == 1);
    must_step(w, role_commit(s.dr));
    CHECK(state_of(w, s.db) == NODEROLE_ACTIVE);
    CHECK(holds(w, TABLE_DEPLOYMENT_ROLE, s.dr, "committed_data", "{\"other\":1}"));
    data.deployment_role_data.data = STR("{\"db\":{\"port\":1}}"); /* equal to the default */
    must_step(w, data);
    must_step(w, role_commit(s.dr));
    CHECK(state_of(w, s.db) == NODEROLE_ACTIVE);
    must_step(w, (struct command){.kind = COMMAND_DEPLOYMENT_ROLE_PROPOSE,
                                  .deployment_role_propose = {.id = s.dr}});
    CHECK(proposed_roles(w) == 1);
    CHECK(holds(w, TABLE_DEPLOYMENT_ROLE, s.dr, "proposed_data", "{\"db\":{\"port\":1}}"));
    must_step(w, role_commit(s.dr));
    CHECK(state_of(w, s.db) == NODEROLE_ACTIVE && proposed_roles(w) == 0);
    data.deployment_role_data.data = STR("{\"db\":{\"port\":null}}");
    must_step(w, data);
    must_step(w, role_commit(s.dr));
    CHECK(state_of(w, s.db) == NODEROLE_ACTIVE);
    data.deployment_role_data.data = STR("7");
    must_refuse(w, data, PROBLEM_BAD_JSON, "data");
    world_close(w);
}

TEST(propose_takes_back_what_was_not_committed)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    set_user(w, TABLE_DEPLOYMENT, 1, "port", "7");
    must_step(w, (struct command){.kind = COMMAND_DEPLOYMENT_ROLE_PROPOSE,
                                  .deployment_role_propose = {.id = s.dr}});
    CHECK(holds(w, TABLE_DEPLOYMENT_ROLE, s.dr, "proposed_data", ""));
    CHECK(proposed_roles(w) == 1);
    world_close(w);
}

TEST(deployment_roles_come_and_go)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    import(w, "{\"barclamp\":{\"name\":\"extra\",\"source_path\":\"x\"},"
              "\"roles\":[{\"name\":\"lonely\",\"jig\":\"script\"}]}");
    struct command create = {
        .kind = COMMAND_DEPLOYMENT_ROLE_CREATE,
        .deployment_role_create = {.deployment_id = 1, .role_id = role_id(w, "lonely")}};
    const struct digest128 before = core_digest_now(w->c);
    must_step(w, create);
    const int64_t id = w->out.id;
    CHECK(id && core_deployment_role(w->c, 1, role_id(w, "lonely")) == id);
    must_step(w, create);
    CHECK(w->out.id == id);
    must_step(w, (struct command){.kind = COMMAND_DEPLOYMENT_ROLE_DATA,
                                  .deployment_role_data = {.id = id, .data = STR("{\"a\":1}")}});
    CHECK(proposed_roles(w) == 1);
    struct command gone = {.kind = COMMAND_DEPLOYMENT_ROLE_DELETE,
                           .deployment_role_delete = {.id = id}};
    must_step(w, gone);
    CHECK(proposed_roles(w) == 0);
    CHECK(core_deployment_role(w->c, 1, role_id(w, "lonely")) == 0);
    const struct digest128 after = core_digest_now(w->c);
    CHECK(memcmp(&before, &after, sizeof before) != 0); /* the counter of ids is not reset */
    must_refuse(w, gone, PROBLEM_NOT_FOUND, "id");
    gone.deployment_role_delete.id = s.dr;
    must_refuse(w, gone, PROBLEM_IN_USE, "id");
    create.deployment_role_create.role_id = 999;
    must_refuse(w, create, PROBLEM_NOT_FOUND, "role_id");
    create.deployment_role_create =
        (struct deployment_role_create_command){.deployment_id = 999, .role_id = 1};
    must_refuse(w, create, PROBLEM_NOT_FOUND, "deployment_id");
    must_refuse(w, role_commit(999), PROBLEM_NOT_FOUND, "id");
    must_refuse(w,
                (struct command){.kind = COMMAND_DEPLOYMENT_ROLE_PROPOSE,
                                 .deployment_role_propose = {.id = 999}},
                PROBLEM_NOT_FOUND, "id");
    must_refuse(
        w,
        (struct command){.kind = COMMAND_DEPLOYMENT_ROLE_DATA, .deployment_role_data = {.id = 999}},
        PROBLEM_NOT_FOUND, "id");
    world_close(w);
}

/* ---- feedback of runs ---- */

TEST(node_attribs_in_a_wall_go_to_the_nodes_hint)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    commit(w, s.db);
    settle(w, "{\"site\":{\"rack\":3,\"serial\":null,\"more\":1}}");
    CHECK(state_of(w, s.db) == NODEROLE_ACTIVE);
    /* Neither null values, defaults of other attribs, nor keys without an attrib are copied. */
    CHECK(holds(w, TABLE_NODE, s.back, "hint", "{\"site\":{\"rack\":3}}"));
    CHECK(holds(w, TABLE_NODE, s.front, "hint", ""));
    struct record before, after;
    CHECK(core_record(w->c, TABLE_NODE, s.back, &before));
    must_step(w, (struct command){.kind = COMMAND_NODEROLE_RETRY, .noderole_retry = {.id = s.db}});
    settle(w, "{\"news\":1,\"site\":{\"rack\":3}}"); /* no change of the node */
    CHECK(core_record(w->c, TABLE_NODE, s.back, &after));
    CHECK(before.node.updated_at == after.node.updated_at);
    world_close(w);
}

TEST(a_value_of_a_run_reruns_others_on_the_node_that_want_it)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    commit_all(&s);
    /* Only idle runs: app gets changed data of its node. */
    must_step(w,
              (struct command){.kind = COMMAND_NODEROLE_RETRY, .noderole_retry = {.id = s.idle}});
    settle(w, "{\"site\":{\"serial\":\"s1\"}}");
    states_are(&s, NODEROLE_ACTIVE, NODEROLE_ACTIVE, NODEROLE_ACTIVE);
    CHECK(runs_of(w, s.app) == 2);
    CHECK(reads(w, TABLE_NODE, s.front, "serial", VIEW_USER, "\"s1\""));
    world_close(w);
}

TEST(every_node_attrib_of_the_barclamp_is_fed_back_and_none_of_another)
{
    struct world w = world_open();
    import(&w, "{\"barclamp\":{\"name\":\"b\",\"source_path\":\"x\"},"
               "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],"
               "\"attribs\":[{\"name\":\"a1\",\"map\":\"m/a\"},{\"name\":\"a2\",\"map\":\"m/b\"},"
               "{\"name\":\"a3\",\"map\":\"m/c\"},{\"name\":\"a4\",\"map\":\"m/d\"},"
               "{\"name\":\"a5\",\"map\":\"m/e\"},{\"name\":\"all\"}],"
               "\"roles\":[{\"name\":\"finder\",\"jig\":\"script\"}]}");
    import(&w, "{\"barclamp\":{\"name\":\"c\",\"source_path\":\"x\"},"
               "\"attribs\":[{\"name\":\"b1\",\"map\":\"m/f\"}]}");
    const int64_t node = add_node(&w, "n1.example.com");
    const int64_t nr = bind(&w, node, "finder");
    commit(&w, nr);
    settle(&w, "{\"m\":{\"a\":1,\"b\":false,\"c\":[],\"d\":{\"x\":1},\"e\":\"\",\"f\":6}}");
    CHECK(holds(&w, TABLE_NODE, node, "hint",
                "{\"m\":{\"a\":1,\"b\":false,\"c\":[],\"d\":{\"x\":1},\"e\":\"\"}}"));
    world_close(&w);
}

static const char *nested(struct world *w, const char *before, uint32_t levels, const char *after)
{
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, before);
    for (uint32_t i = 0; i < levels; i++)
        buf_put_c(&b, '[');
    for (uint32_t i = 0; i < levels; i++)
        buf_put_c(&b, ']');
    buf_put_z(&b, after);
    return str_z(&w->arena, buf_str(&b));
}

TEST(the_deepest_value_of_a_run_is_fed_back_and_staged)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    commit(w, s.db);
    settle(w, nested(w, "{\"site\":{\"serial\":", DOC_DEPTH_MAX - 2, "}}"));
    CHECK(state_of(w, s.db) == NODEROLE_ACTIVE);
    CHECK(doc_in(w, TABLE_NODE, s.back, "hint").len > 0);
    CHECK(core_staged(w->c, s.db, &w->arena).len > 0);
    world_close(w);
}

TEST(reservations_of_a_node_are_those_of_all_its_noderoles)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    commit_all(&s);
    doc(w, &open_noderole(w, s.app)->wall,
        "{\"crowbar_wall\":{\"reservations\":{\"a\":1,\"x\":1}}}");
    doc(w, &open_node(w, s.front)->hint, "{\"reservations\":{\"old\":1},\"kept\":1}");
    must_step(w,
              (struct command){.kind = COMMAND_NODEROLE_RETRY, .noderole_retry = {.id = s.idle}});
    settle(w, "{\"crowbar_wall\":{\"reservations\":{\"b\":2,\"x\":2}}}");
    CHECK(holds(w, TABLE_NODE, s.front, "hint",
                "{\"kept\":1,\"reservations\":{\"a\":1,\"b\":2,\"x\":2}}"));
    world_close(w);
}

TEST(linked_children_run_again_when_the_value_they_were_given_changed)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    struct command retry = {.kind = COMMAND_NODEROLE_RETRY, .noderole_retry = {.id = s.db}};
    commit_all(&s);
    CHECK(runs_of(w, s.app) == 1);
    must_step(w, retry);
    /* The port equals the default, and app does not want the rest. */
    settle(w, "{\"db\":{\"port\":1,\"fixed\":2}}");
    CHECK(runs_of(w, s.db) == 2 && runs_of(w, s.app) == 1);
    must_step(w, retry);
    settle(w, "{\"db\":{\"port\":5432,\"fixed\":2}}");
    CHECK(runs_of(w, s.db) == 3);
    CHECK(runs_of(w, s.app) == 2 && runs_of(w, s.idle) == 1);
    must_step(w, retry);
    settle(w, "{\"db\":{\"port\":5432}}");
    CHECK(runs_of(w, s.db) == 4 && runs_of(w, s.app) == 2);
    must_step(w, retry);
    settle(w, "{}");
    CHECK(runs_of(w, s.app) == 3);
    world_close(w);
}

TEST(attribs_of_a_provided_role_rerun_like_those_of_the_provider)
{
    struct world w = world_open();
    import(&w, "{\"barclamp\":{\"name\":\"p\",\"source_path\":\"x\"},"
               "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],"
               "\"roles\":[{\"name\":\"base\",\"jig\":\"script\",\"attribs\":["
               "{\"name\":\"port\",\"map\":\"base/port\",\"schema\":{\"type\":\"int\"}}]},"
               "{\"name\":\"one\",\"jig\":\"script\",\"provides\":[\"base\",\"absent\"]},"
               "{\"name\":\"user\",\"jig\":\"script\",\"requires\":[\"base\"],"
               "\"wants-attribs\":[\"port\"]}]}");
    const int64_t a = add_node(&w, "a.example.com"), b = add_node(&w, "b.example.com");
    const int64_t one = bind(&w, a, "one"), user = bind(&w, b, "user");
    commit(&w, one);
    commit(&w, user);
    settle(&w, NULL);
    CHECK(runs_of(&w, one) == 1 && runs_of(&w, user) == 1);
    set_user(&w, TABLE_DEPLOYMENT, 1, "port", "8");
    must_step(&w, role_commit(core_deployment_role(w.c, 1, role_id(&w, "one"))));
    CHECK(state_of(&w, one) == NODEROLE_TODO);
    settle(&w, "{\"base\":{\"port\":9}}"); /* a wall overrides data of the deployment */
    CHECK(runs_of(&w, one) == 2 && runs_of(&w, user) == 2);
    CHECK(staged_is(&w, user, "{\"base\":{\"port\":9},\"hints\":{},\"quirks\":[]}"));
    set_user(&w, TABLE_NODE, a, "port", "10");
    CHECK(holds(&w, TABLE_NODEROLE, one, "proposed_data", "{\"base\":{\"port\":10}}"));
    world_close(&w);
}

TEST(a_wall_of_a_deployment_role_without_noderoles_reruns_nothing)
{
    struct shop s = open_shop();
    struct world *w = &s.w;
    must_step(w,
              (struct command){.kind = COMMAND_NODEROLE_DELETE, .noderole_delete = {.id = s.db}});
    set_inside(w, TABLE_DEPLOYMENT_ROLE, s.dr, "port", BUCKET_WALL, "9");
    CHECK(reads(w, TABLE_DEPLOYMENT, 1, "port", VIEW_ALL, "9"));
    world_close(w);
}

TEST(changes_of_a_proposed_noderole_call_its_hook)
{
    struct world w = world_open();
    import(&w, "{\"barclamp\":{\"name\":\"h\",\"source_path\":\"x\"},"
               "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],"
               "\"roles\":[{\"name\":\"eager\",\"jig\":\"script\",\"hooks\":[\"on_proposed\"],"
               "\"attribs\":[{\"name\":\"v\",\"map\":\"v\",\"schema\":{\"type\":\"int\"}}]}]}");
    const int64_t nr = bind(&w, add_node(&w, "n1.example.com"), "eager");
    uint32_t rows = core_count(w.c, TABLE_OUTBOX);
    struct command data = {.kind = COMMAND_NODEROLE_DATA,
                           .noderole_data = {.id = nr, .data = STR("{\"v\":1}")}};
    must_step(&w, data);
    CHECK(core_count(w.c, TABLE_OUTBOX) == ++rows);
    must_step(&w, data);
    set_user(&w, TABLE_NODEROLE, nr, "v", "1");
    CHECK(core_count(w.c, TABLE_OUTBOX) == rows); /* nothing changed */
    set_user(&w, TABLE_NODEROLE, nr, "v", "2");
    CHECK(core_count(w.c, TABLE_OUTBOX) == ++rows);
    set_inside(&w, TABLE_NODEROLE, nr, "v", BUCKET_SYSTEM, "3");
    CHECK(core_count(w.c, TABLE_OUTBOX) == ++rows);
    set_inside(&w, TABLE_NODEROLE, nr, "v", BUCKET_NOTE, "4");
    CHECK(core_count(w.c, TABLE_OUTBOX) == rows);
    world_close(&w);
}

TEST(a_hook_may_veto_the_commit_of_a_deployments_data)
{
    struct world w = world_open();
    import(&w, "{\"barclamp\":{\"name\":\"h\",\"source_path\":\"x\"},"
               "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],"
               "\"roles\":[{\"name\":\"strict\",\"jig\":\"script\",\"hooks\":[\"on_commit\"]}]}");
    must_step(&w, (struct command){.kind = COMMAND_DEPLOYMENT_ROLE_CREATE,
                                   .deployment_role_create = {.deployment_id = 1,
                                                              .role_id = role_id(&w, "strict")}});
    const int64_t dr = w.out.id;
    must_step(&w, (struct command){.kind = COMMAND_DEPLOYMENT_ROLE_DATA,
                                   .deployment_role_data = {.id = dr, .data = STR("{\"a\":1}")}});
    struct command command = role_commit(dr);
    step(&w, command);
    CHECK(w.out.verdict == VERDICT_NEEDS_HOOKS && w.out.veto_call_count == 1);
    CHECK(w.out.veto_calls->hook == HOOK_COMMIT);
    CHECK(holds(&w, TABLE_DEPLOYMENT_ROLE, dr, "committed_data", ""));
    struct veto_reply answer = {
        .key = w.out.veto_calls->key, .veto = true, .text = STR("not on a Friday")};
    command.veto_replies = &answer;
    command.veto_reply_count = 1;
    step(&w, command);
    CHECK(w.out.verdict == VERDICT_REFUSED && w.out.problems->code == PROBLEM_HOOK_VETO);
    CHECK(proposed_roles(&w) == 1);
    answer.veto = false;
    must_step(&w, command);
    CHECK(holds(&w, TABLE_DEPLOYMENT_ROLE, dr, "committed_data", "{\"a\":1}"));
    CHECK(proposed_roles(&w) == 0);
    world_close(&w);
}
