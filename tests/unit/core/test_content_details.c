/* Fields, timestamps, messages and counts of the objects that describe an installation: jigs,
 * roles, settings, attribs, groups, users, hammers. */
#include "tests/unit/core/content_details.h"

/* ---- jigs and settings ---- */

TEST(a_jig_keeps_every_field_it_is_made_with)
{
    struct world w = world_with_content();
    struct command make = {.kind = COMMAND_JIG_CREATE,
                           .jig_create = {.name = STR("puppet"),
                                          .description = STR("strings"),
                                          .class_name = STR("script"),
                                          .client_role_name = STR("puppet-client")}};
    must_step(&w, make);
    const struct record r = row(&w, TABLE_JIG, w.out.id);
    CHECK(core_find(w.c, TABLE_JIG, STR("puppet")) == r.id);
    CHECK(is(r.jig.name, "puppet") && is(r.jig.description, "strings"));
    CHECK(is(r.jig.class_name, "script") && is(r.jig.client_role_name, "puppet-client"));
    CHECK(!r.jig.active && r.jig.order == 10000 && r.jig.created_at == w.now);
    must_refuse(&w, make, PROBLEM_NAME_TAKEN, "name");
    CHECK(says(&w, "name must be unique: there is a jig called puppet already"));
    make.jig_create.name = STR("other");
    make.jig_create.class_name = STR("odd");
    must_refuse(&w, make, PROBLEM_CLASS_UNKNOWN, "class_name");
    CHECK(says(&w, "there is no jig class odd"));
    make.jig_create.class_name = STR("");
    must_refuse(&w, make, PROBLEM_MISSING, "class_name");
    CHECK(says(&w, "class_name is required"));
    world_close(&w);
}

TEST(an_update_of_a_jig_leaves_alone_what_is_not_given)
{
    struct world w = world_with_content();
    const int64_t id = core_find(w.c, TABLE_JIG, STR("script"));
    static const uint32_t bits[] = {GIVEN_JIG_DESCRIPTION, GIVEN_JIG_SERVER, GIVEN_JIG_CLIENT_NAME,
                                    GIVEN_JIG_KEY};
    for (uint32_t i = 0; i < 4; i++) {
        struct jig_update_command p = {.id = id,
                                       .given = bits[i],
                                       .description = STR("d"),
                                       .server = STR("s"),
                                       .client_name = STR("c"),
                                       .key = STR("k")};
        must_step(&w, (struct command){.kind = COMMAND_JIG_UPDATE, .jig_update = p});
        CHECK(w.out.id == id);
        const struct jig_record r = row(&w, TABLE_JIG, id).jig;
        CHECK(is(r.description, "d"));
        CHECK(is(r.server, i >= 1 ? "s" : "") && is(r.client_name, i >= 2 ? "c" : ""));
        CHECK(is(r.key, i >= 3 ? "k" : "") && r.active && r.updated_at == w.now);
        store(&w);
        must_step(&w, (struct command){.kind = COMMAND_JIG_UPDATE, .jig_update = p});
        CHECK(core_changed(w.c) == 0);
    }
    world_close(&w);
}

static struct command activating(struct world *w, const char *jig, bool active)
{
    return (struct command){.kind = COMMAND_JIG_UPDATE,
                            .jig_update = {.id = core_find(w->c, TABLE_JIG, str_from(jig)),
                                           .given = GIVEN_JIG_ACTIVE,
                                           .active = active}};
}

TEST(activating_a_jig_resumes_nodes_unless_it_was_active)
{
    struct world w = world_with_content();
    const int64_t nr = bind(&w, add_node(&w, "n.example.com"), "owner");
    must_step(&w, activating(&w, "script", false));
    commit(&w, nr);
    settle(&w, NULL);
    CHECK(state_of(&w, nr) == NODEROLE_TODO && !core_has_work(w.c));
    store(&w);
    must_step(&w, activating(&w, "script", false));
    CHECK(!core_has_work(w.c) && core_changed(w.c) == 0);
    must_step(&w, activating(&w, "script", true));
    CHECK(core_has_work(w.c));
    settle(&w, NULL);
    CHECK(state_of(&w, nr) == NODEROLE_ACTIVE);
    world_close(&w);
}

#define LATE(jig) "{" HEAD("late") ",\"roles\":[{\"name\":\"late\",\"jig\":\"" jig "\"}]}"

/* A committed noderole whose role names a jig that does not exist any more. */
static int64_t late_noderole(struct world *w)
{
    import(w, LATE("script"));
    const int64_t nr = bind(w, add_node(w, "n.example.com"), "late");
    commit(w, nr);
    import(w, LATE("new"));
    settle(w, NULL);
    CHECK(state_of(w, nr) == NODEROLE_TODO && !core_has_work(w->c));
    return nr;
}

TEST(a_jig_made_later_resumes_the_nodes_whose_roles_wait_for_it)
{
    struct world w = world_with_content();
    const int64_t nr = late_noderole(&w);
    must_step(&w,
              (struct command){
                  .kind = COMMAND_JIG_CREATE,
                  .jig_create = {.name = STR("new"), .class_name = STR("script"), .active = true}});
    CHECK(core_has_work(w.c));
    settle(&w, NULL);
    CHECK(state_of(&w, nr) == NODEROLE_ACTIVE);
    world_close(&w);
}

TEST(an_import_of_the_jig_resumes_the_nodes_too)
{
    struct world w = world_with_content();
    const int64_t nr = late_noderole(&w);
    import(&w, "{" HEAD("tools") ",\"jigs\":[{\"name\":\"new\",\"class\":\"script\"}]}");
    CHECK(core_has_work(w.c));
    settle(&w, NULL);
    CHECK(state_of(&w, nr) == NODEROLE_ACTIVE);
    import(&w, "{" HEAD("tools") ",\"jigs\":[{\"name\":\"new\",\"class\":\"script\"}]}");
    CHECK(!core_has_work(w.c)); /* nothing changed */
    world_close(&w);
}

static struct command settling(struct settings_update_command p)
{
    return (struct command){.kind = COMMAND_SETTINGS_UPDATE, .settings_update = p};
}

TEST(each_setting_changes_alone)
{
    struct world w = world_with_content();
    add_node(&w, "n.example.com");
    settle(&w, NULL);
    const struct settings_record first = row(&w, TABLE_SETTINGS, 1).settings;
    struct settings_update_command p = {
        .pool_normal = 1, .pool_high = 10000, .max_depth = 77, .test_jig = true};

    p.given = GIVEN_SETTINGS_MAX_DEPTH;
    must_step(&w, settling(p));
    struct settings_record now = row(&w, TABLE_SETTINGS, 1).settings;
    CHECK(now.max_depth == 77 && now.pool_normal == first.pool_normal);
    CHECK(now.pool_high == first.pool_high && !now.test_jig && now.updated_at == w.now);
    CHECK(!core_has_work(w.c)); /* no role can run that could not before */

    p.given = GIVEN_SETTINGS_POOL_NORMAL;
    must_step(&w, settling(p));
    now = row(&w, TABLE_SETTINGS, 1).settings;
    CHECK(now.pool_normal == 1 && now.pool_high == first.pool_high && !now.test_jig);
    CHECK(core_has_work(w.c));
    settle(&w, NULL);

    p.given = GIVEN_SETTINGS_POOL_HIGH;
    must_step(&w, settling(p));
    now = row(&w, TABLE_SETTINGS, 1).settings;
    CHECK(now.pool_high == 10000 && now.pool_normal == 1 && core_has_work(w.c));
    settle(&w, NULL);

    p.given = GIVEN_SETTINGS_TEST_JIG;
    must_step(&w, settling(p));
    CHECK(row(&w, TABLE_SETTINGS, 1).settings.test_jig && core_has_work(w.c));
    settle(&w, NULL);
    store(&w);
    p.given = 15;
    must_step(&w, settling(p));
    CHECK(core_changed(w.c) == 0 && !core_has_work(w.c));
    p.pool_normal = 0;
    must_refuse(&w, settling(p), PROBLEM_BAD_VALUE, "pool_normal");
    CHECK(says(&w, "pool_normal must be from 1 to 10000"));
    world_close(&w);
}

TEST(hooks_of_nodes_follow_the_jig_and_the_test_jig)
{
    struct world w = world_with_content();
    import(&w, "{" HEAD("h") ",\"roles\":[{\"name\":\"hooked\",\"jig\":\"script\","
                             "\"hooks\":[\"on_node_change\"]}]}");
    CHECK(w.c->vars.hook_roles[HOOK_NODE_CHANGE].count == 1);
    must_step(&w, activating(&w, "script", false));
    CHECK(w.c->vars.hook_roles[HOOK_NODE_CHANGE].count == 0);
    must_step(&w, settling((struct settings_update_command){.given = GIVEN_SETTINGS_TEST_JIG,
                                                            .test_jig = true}));
    CHECK(w.c->vars.hook_roles[HOOK_NODE_CHANGE].count == 1);
    must_step(&w, settling((struct settings_update_command){.given = GIVEN_SETTINGS_TEST_JIG}));
    CHECK(w.c->vars.hook_roles[HOOK_NODE_CHANGE].count == 0);
    must_step(&w, activating(&w, "script", true));
    CHECK(w.c->vars.hook_roles[HOOK_NODE_CHANGE].count == 1);
    world_close(&w);
}

/* ---- roles ---- */

TEST(an_update_of_a_role_leaves_alone_what_is_not_given)
{
    struct world w = world_with_content();
    struct role_update_command p = {.id = role_id(&w, "owner"),
                                    .given = GIVEN_ROLE_DESCRIPTION,
                                    .description = STR("mine"),
                                    .template = STR("{\"a\":{\"v\":1}}")};
    must_step(&w, (struct command){.kind = COMMAND_ROLE_UPDATE, .role_update = p});
    CHECK(w.out.id == p.id);
    CHECK(is(row(&w, TABLE_ROLE, p.id).role.description, "mine"));
    CHECK(is(row(&w, TABLE_ROLE, p.id).role.template, ""));
    CHECK(row(&w, TABLE_ROLE, p.id).role.updated_at == w.now);
    store(&w);
    must_step(&w, (struct command){.kind = COMMAND_ROLE_UPDATE, .role_update = p});
    CHECK(core_changed(w.c) == 0);
    p.given = GIVEN_ROLE_TEMPLATE;
    p.description = STR("other");
    must_step(&w, (struct command){.kind = COMMAND_ROLE_UPDATE, .role_update = p});
    CHECK(is(row(&w, TABLE_ROLE, p.id).role.description, "mine"));
    CHECK(is(row(&w, TABLE_ROLE, p.id).role.template, "{\"a\":{\"v\":1}}"));
    store(&w);
    must_step(&w, (struct command){.kind = COMMAND_ROLE_UPDATE, .role_update = p});
    CHECK(core_changed(w.c) == 0);
    p.template = STR("");
    must_step(&w, (struct command){.kind = COMMAND_ROLE_UPDATE, .role_update = p});
    CHECK(is(row(&w, TABLE_ROLE, p.id).role.template, ""));
    p.template = STR("[]");
    must_refuse(&w, (struct command){.kind = COMMAND_ROLE_UPDATE, .role_update = p},
                PROBLEM_BAD_JSON, "template");
    CHECK(says(&w, "template must be an object"));
    world_close(&w);
}

TEST(a_new_template_reruns_the_noderoles_of_every_deployment)
{
    struct world w = world_with_content();
    int64_t nr[4];
    must_step(&w, (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                   .deployment_create = {.name = STR("two"), .parent_id = 1}});
    const int64_t two = w.out.id;
    must_step(
        &w, (struct command){.kind = COMMAND_DEPLOYMENT_COMMIT, .deployment_commit = {.id = two}});
    static const char *const names[] = {"a.example.com", "b.example.com", "c.example.com",
                                        "d.example.com"};
    for (uint32_t i = 0; i < 4; i++) {
        const int64_t node = add_node(&w, names[i]);
        must_step(&w, (struct command){.kind = COMMAND_NODEROLE_BIND,
                                       .noderole_bind = {.node_id = node,
                                                         .role_id = role_id(&w, "owner"),
                                                         .deployment_id = i < 2 ? 1 : two}});
        nr[i] = w.out.id;
        commit(&w, nr[i]);
    }
    settle(&w, NULL);
    for (uint32_t i = 0; i < 4; i++)
        CHECK(state_of(&w, nr[i]) == NODEROLE_ACTIVE);
    struct role_update_command p = {.id = role_id(&w, "owner"),
                                    .given = GIVEN_ROLE_TEMPLATE,
                                    .template = STR("{\"a\":{\"v\":1}}")};
    must_step(&w, (struct command){.kind = COMMAND_ROLE_UPDATE, .role_update = p});
    for (uint32_t i = 0; i < 4; i++)
        CHECK(state_of(&w, nr[i]) == NODEROLE_TODO);
    settle(&w, NULL);
    set_inside(&w, TABLE_ROLE, p.id, "v", BUCKET_SYSTEM, "2");
    for (uint32_t i = 0; i < 4; i++)
        CHECK(state_of(&w, nr[i]) == NODEROLE_TODO);
    world_close(&w);
}

/* ---- attribs ---- */

static struct command making_attrib(struct attrib_create_command p)
{
    return (struct command){.kind = COMMAND_ATTRIB_CREATE, .attrib_create = p};
}

TEST(an_attrib_keeps_every_field_it_is_made_with)
{
    struct world w = world_with_content();
    import(&w, "{" HEAD("c") "}");
    struct attrib_create_command p = {.name = STR("full"),
                                      .description = STR("all of it"),
                                      .barclamp_id = core_find(w.c, TABLE_BARCLAMP, STR("c")),
                                      .role_id = role_id(&w, "owner"),
                                      .order = 7,
                                      .map = STR("x/y"),
                                      .ui_renderer = STR("attribs/odd"),
                                      .schema = STR("{\"type\":\"int\"}"),
                                      .default_value = STR("{\"value\":3}")};
    must_step(&w, making_attrib(p));
    const struct record r = row(&w, TABLE_ATTRIB, w.out.id);
    CHECK(core_find(w.c, TABLE_ATTRIB, STR("full")) == r.id && r.attrib.created_at == w.now);
    CHECK(is(r.attrib.description, "all of it") && r.attrib.barclamp_id == p.barclamp_id);
    CHECK(r.attrib.role_id == p.role_id && r.attrib.order == 7 && is(r.attrib.map, "x/y"));
    CHECK(is(r.attrib.ui_renderer, "attribs/odd") && is(r.attrib.schema, "{\"type\":\"int\"}"));
    CHECK(is(r.attrib.default_value, "{\"value\":3}") && r.attrib.writable);
    must_refuse(&w, making_attrib(p), PROBLEM_NAME_TAKEN, "name");
    CHECK(says(&w, "there is an attrib called full already"));
    p = (struct attrib_create_command){.name = STR("bare"), .writable = true};
    must_step(&w, making_attrib(p));
    CHECK(row(&w, TABLE_ATTRIB, w.out.id).attrib.writable);
    p = (struct attrib_create_command){.name = STR("barest"), .schema = STR("{}")};
    must_step(&w, making_attrib(p));
    CHECK(!row(&w, TABLE_ATTRIB, w.out.id).attrib.writable);
    CHECK(is(row(&w, TABLE_ATTRIB, w.out.id).attrib.schema, ""));
    p = (struct attrib_create_command){.name = STR("barer"), .default_value = STR("{}")};
    must_step(&w, making_attrib(p));
    CHECK(is(row(&w, TABLE_ATTRIB, w.out.id).attrib.default_value, ""));
    world_close(&w);
}

TEST(a_map_is_limited_in_bytes_and_steps)
{
    char wide[256], deep[66];
    memset(wide, 'a', sizeof wide);
    for (uint32_t i = 0; i < sizeof deep; i++)
        deep[i] = i % 2 ? '/' : 'a';
    struct world w = world_with_content();
    struct attrib_create_command p = {.name = STR("wide"), .map = {wide, 256}};
    must_refuse(&w, making_attrib(p), PROBLEM_BAD_VALUE, "map");
    CHECK(says(&w, "map must be at most 255 bytes"));
    p.map.len = 255;
    must_step(&w, making_attrib(p));
    p = (struct attrib_create_command){.name = STR("deep"), .map = {deep, 65}};
    must_refuse(&w, making_attrib(p), PROBLEM_BAD_VALUE, "map");
    CHECK(says(&w, "map must have at most 32 steps"));
    p.map.len = 63;
    must_step(&w, making_attrib(p));
    p = (struct attrib_create_command){.name = STR("one"), .map = STR("a//b")};
    must_refuse(&w, making_attrib(p), PROBLEM_BAD_VALUE, "map");
    CHECK(says(&w, "map must not have an empty step"));
    p.map = STR("b/");
    must_refuse(&w, making_attrib(p), PROBLEM_BAD_VALUE, "map");
    CHECK(says(&w, "map must not begin or end with a slash"));
    p.map = STR("b");
    p.schema = STR("[]");
    must_refuse(&w, making_attrib(p), PROBLEM_SCHEMA_INVALID, "schema");
    CHECK(says(&w, "the schema of attrib one must be an object"));
    world_close(&w);
}

TEST(a_default_is_an_object_with_the_single_member_value)
{
    static const char *const bad[] = {"7", "[]", "{\"value\":1,\"more\":2}", "{\"values\":1}"};
    struct world w = world_with_content();
    struct attrib_create_command p = {.name = STR("odd")};
    for (uint32_t i = 0; i < 4; i++) {
        p.default_value = str_from(bad[i]);
        must_refuse(&w, making_attrib(p), PROBLEM_BAD_JSON, "default_value");
        CHECK(says(&w, "default_value must be an object with the single member value"));
    }
    p.schema = STR("{\"type\":\"int\",\"required\":true}");
    p.default_value = STR("{\"value\":null}"); /* no default is valid whatever the schema */
    must_step(&w, making_attrib(p));
    world_close(&w);
}

TEST(every_invalid_field_of_an_attrib_is_reported)
{
    struct world w = world_with_content();
    step(&w, making_attrib((struct attrib_create_command){.name = STR("1a"),
                                                          .map = STR("/"),
                                                          .schema = STR("7"),
                                                          .barclamp_id = 99,
                                                          .role_id = 99}));
    CHECK(w.out.verdict == VERDICT_REFUSED && count_problems(&w) == 5);
    CHECK(has_problem(&w, PROBLEM_NAME_INVALID, "name", "name "));
    CHECK(has_problem(&w, PROBLEM_BAD_VALUE, "map", "map "));
    CHECK(has_problem(&w, PROBLEM_SCHEMA_INVALID, "schema", "object"));
    CHECK(has_problem(&w, PROBLEM_NOT_FOUND, "barclamp_id", "99"));
    CHECK(has_problem(&w, PROBLEM_NOT_FOUND, "role_id", "99"));
    world_close(&w);
}

TEST(a_deleted_attrib_takes_only_its_own_links_along)
{
    struct world w = world_with_content();
    noderole_ix nr[2];
    nr[0] = noderole_by_id(w.c, bind(&w, add_node(&w, "a.example.com"), "user"));
    nr[1] = noderole_by_id(w.c, bind(&w, add_node(&w, "b.example.com"), "user"));
    const attrib_ix u = attrib_by_id(w.c, attrib_id(&w, "u"));
    CHECK(tally_of(&w).kept[TABLE_LINK] == 4);
    must_step(
        &w, (struct command){.kind = COMMAND_ATTRIB_DELETE, .attrib_delete = {attrib_id(&w, "v")}});
    for (uint32_t i = 0; i < 2; i++) {
        CHECK(noderole_at(w.c, nr[i])->links.count == 2);
        CHECK(item(w.c, &noderole_at(w.c, nr[i])->links, 1) == u.v);
    }
    const struct tally tally = tally_of(&w);
    CHECK(tally.gone[TABLE_LINK] == 2 && tally.kept[TABLE_LINK] == 0);
    CHECK(tally.gone[TABLE_ATTRIB] == 1);
    CHECK(role_row(&w, "owner")->attribs.count == 1);
    world_close(&w);
}

/* ---- groups ---- */

static struct command making_group(const char *name, const char *category)
{
    return (struct command){.kind = COMMAND_GROUP_CREATE,
                            .group_create = {.name = str_from(name),
                                             .category = str_from(category),
                                             .description = STR("about"),
                                             .order = 5}};
}

static struct command updating_group(struct group_update_command p)
{
    return (struct command){.kind = COMMAND_GROUP_UPDATE, .group_update = p};
}

TEST(a_group_keeps_every_field_and_changes_only_in_what_is_given)
{
    struct world w = world_open();
    must_step(&w, making_group("first", "rack"));
    const int64_t id = w.out.id;
    struct group_record r = row(&w, TABLE_GROUP, id).group;
    CHECK(is(r.name, "first") && is(r.category, "rack") && is(r.description, "about"));
    CHECK(r.order == 5 && r.created_at == w.now && r.updated_at == w.now);
    CHECK(core_find(w.c, TABLE_GROUP, STR("rack/first")) == id);
    must_refuse(&w, making_group("first", "rack"), PROBLEM_NAME_TAKEN, "name");
    CHECK(says(&w, "there is a group called first in category rack already"));

    struct group_update_command p = {.id = id,
                                     .name = STR("second"),
                                     .category = STR("tag"),
                                     .description = STR("changed"),
                                     .order = 6};
    store(&w);
    must_step(&w, updating_group(p)); /* no field is given */
    CHECK(w.out.id == id && core_changed(w.c) == 0);
    p.given = GIVEN_NAME;
    must_step(&w, updating_group(p));
    CHECK(w.out.id == id && core_find(w.c, TABLE_GROUP, STR("rack/second")) == id);
    CHECK(!core_find(w.c, TABLE_GROUP, STR("rack/first")));
    p.given = GIVEN_GROUP_CATEGORY;
    must_step(&w, updating_group(p));
    CHECK(core_find(w.c, TABLE_GROUP, STR("tag/second")) == id);
    r = row(&w, TABLE_GROUP, id).group;
    CHECK(is(r.name, "second") && is(r.category, "tag") && is(r.description, "about"));
    CHECK(r.order == 5 && r.updated_at == w.now);
    p.given = GIVEN_DESCRIPTION;
    must_step(&w, updating_group(p));
    r = row(&w, TABLE_GROUP, id).group;
    CHECK(is(r.description, "changed") && r.order == 5 && r.updated_at == w.now);
    p.given = GIVEN_GROUP_ORDER;
    must_step(&w, updating_group(p));
    CHECK(row(&w, TABLE_GROUP, id).group.order == 6);
    store(&w);
    p.given = 15;
    must_step(&w, updating_group(p));
    CHECK(core_changed(w.c) == 0);
    p.given = GIVEN_GROUP_CATEGORY;
    p.category = STR("");
    must_step(&w, updating_group(p));
    CHECK(is(row(&w, TABLE_GROUP, id).group.category, "ui"));
    world_close(&w);
}

TEST(a_wrong_name_and_a_wrong_category_are_both_reported)
{
    struct world w = world_open();
    step(&w, making_group("f o", "nowhere"));
    CHECK(w.out.verdict == VERDICT_REFUSED && count_problems(&w) == 2);
    CHECK(has_problem(&w, PROBLEM_NAME_INVALID, "name", "name "));
    CHECK(has_problem(&w, PROBLEM_NAME_INVALID, "category", "category "));
    world_close(&w);
}

TEST(the_group_not_set_keeps_its_name)
{
    struct world w = world_open();
    const int64_t id = core_find(w.c, TABLE_GROUP, STR("ui/not_set"));
    CHECK(id);
    struct group_update_command p = {
        .id = id, .given = GIVEN_GROUP_CATEGORY, .category = STR("tag")};
    must_refuse(&w, updating_group(p), PROBLEM_IN_USE, "name");
    CHECK(says(&w, "the group not_set cannot be renamed: nodes without a group are added to it"));
    p = (struct group_update_command){
        .id = id, .given = GIVEN_NAME | GIVEN_DESCRIPTION, .name = STR("not_set")};
    p.description = STR("lost and found");
    must_step(&w, updating_group(p));
    CHECK(is(row(&w, TABLE_GROUP, id).group.description, "lost and found"));
    must_refuse(&w, (struct command){.kind = COMMAND_GROUP_DELETE, .group_delete = {id}},
                PROBLEM_IN_USE, "id");
    CHECK(says(&w, "the group not_set cannot be deleted"));
    must_step(&w, making_group("not_set", "tag"));
    const int64_t tag = w.out.id;
    p = (struct group_update_command){.id = tag, .given = GIVEN_NAME, .name = STR("some_set")};
    must_step(&w, updating_group(p));
    must_step(&w, making_group("not_set", "tag"));
    const int64_t other = w.out.id;
    must_step(&w, (struct command){.kind = COMMAND_GROUP_DELETE, .group_delete = {other}});
    CHECK(w.out.id == other);
    world_close(&w);
}

TEST(memberships_are_written_once_and_removed_once)
{
    struct world w = world_with_content();
    int64_t node[3], group[2];
    node[0] = add_node(&w, "a.example.com");
    node[1] = add_node(&w, "b.example.com");
    node[2] = add_node(&w, "c.example.com");
    must_step(&w, making_group("one", "tag"));
    group[0] = w.out.id;
    must_step(&w, making_group("two", "tag"));
    group[1] = w.out.id;
    store(&w);
    for (uint32_t i = 0; i < 6; i++) {
        must_step(&w, (struct command){.kind = COMMAND_GROUP_ADD,
                                       .group_add = {group[i / 3], node[i % 3]}});
        CHECK(w.out.id == group[i / 3]);
    }
    struct tally tally = tally_of(&w);
    CHECK(tally.kept[TABLE_MEMBERSHIP] == 6 && tally.gone[TABLE_MEMBERSHIP] == 0);
    must_step(&w,
              (struct command){.kind = COMMAND_GROUP_REMOVE, .group_remove = {group[0], node[1]}});
    CHECK(w.out.id == group[0]);
    tally = tally_of(&w);
    CHECK(tally.kept[TABLE_MEMBERSHIP] == 0 && tally.gone[TABLE_MEMBERSHIP] == 1);
    const uint32_t groups_of_a = node_at(w.c, node_by_id(w.c, node[0]))->group_count;
    must_step(&w, (struct command){.kind = COMMAND_GROUP_DELETE, .group_delete = {group[0]}});
    CHECK(w.out.id == group[0]);
    tally = tally_of(&w);
    CHECK(tally.gone[TABLE_MEMBERSHIP] == 2 && tally.gone[TABLE_GROUP] == 1);
    CHECK(node_at(w.c, node_by_id(w.c, node[0]))->group_count == groups_of_a - 1);
    must_step(&w, (struct command){.kind = COMMAND_NODE_DELETE, .node_delete = {node[0]}});
    tally = tally_of(&w);
    CHECK(tally.gone[TABLE_MEMBERSHIP] == groups_of_a - 1);
    CHECK(group_at(w.c, group_by_id(w.c, group[1]))->nodes.count == 2);
    world_close(&w);
}

/* ---- users ---- */

static struct command updating_user(struct user_update_command p)
{
    return (struct command){.kind = COMMAND_USER_UPDATE, .user_update = p};
}

static int64_t full_user(struct world *w, const char *name, const char *email)
{
    must_step(w, (struct command){.kind = COMMAND_USER_CREATE,
                                  .user_create = {.username = str_from(name),
                                                  .email = str_from(email),
                                                  .password_hash = STR("hash"),
                                                  .digest_ha1 = STR("ha1"),
                                                  .is_admin = true}});
    return w->out.id;
}

TEST(a_user_keeps_every_field_it_is_made_with)
{
    struct world w = world_open();
    const int64_t id = full_user(&w, "ann", "ann@example.com");
    const struct user_record r = row(&w, TABLE_USER, id).user;
    CHECK(is(r.password_hash, "hash") && is(r.digest_ha1, "ha1") && r.is_admin && !r.is_locked);
    CHECK(is(r.settings, "") && r.created_at == w.now);
    CHECK(core_find(w.c, TABLE_USER, STR("ann")) == id);
    struct command twin = {.kind = COMMAND_USER_CREATE, .user_create = {.username = STR("ann")}};
    must_refuse(&w, twin, PROBLEM_NAME_TAKEN, "username");
    CHECK(says(&w, "there is a user called ann already"));
    twin.user_create.username = STR("bob");
    twin.user_create.email = STR("ann@example.com");
    must_refuse(&w, twin, PROBLEM_NAME_TAKEN, "email");
    CHECK(says(&w, "there is a user with the address ann@example.com already"));
    world_close(&w);
}

static bool user_is(struct world *w, int64_t id, uint32_t changed)
{
    const struct user_record r = row(w, TABLE_USER, id).user;
    return is(r.username, changed & GIVEN_USER_USERNAME ? "new" : "ann") &&
           is(r.email, changed & GIVEN_USER_EMAIL ? "new@example.com" : "ann@example.com") &&
           is(r.password_hash, changed & GIVEN_USER_PASSWORD_HASH ? "hash2" : "hash") &&
           is(r.digest_ha1, changed & GIVEN_USER_DIGEST_HA1 ? "ha2" : "ha1") &&
           is(r.settings, changed & GIVEN_USER_SETTINGS ? "{\"x\":1}" : "") &&
           r.is_admin == !(changed & GIVEN_USER_IS_ADMIN) &&
           r.is_locked == !!(changed & GIVEN_USER_IS_LOCKED);
}

TEST(each_field_of_a_user_changes_alone)
{
    struct world w = world_open();
    full_user(&w, "early", "early@example.com");
    const int64_t id = full_user(&w, "ann", "ann@example.com");
    full_user(&w, "zoe", "zoe@example.com");
    struct user_update_command p = {.id = id,
                                    .username = STR("New"),
                                    .email = STR("New@example.com"),
                                    .password_hash = STR("hash2"),
                                    .digest_ha1 = STR("ha2"),
                                    .settings = STR("{\"x\":1}"),
                                    .is_locked = true};
    uint32_t changed = 0;
    for (uint32_t bit = 1; bit <= GIVEN_USER_SETTINGS; bit *= 2) {
        p.given = bit;
        store(&w);
        must_step(&w, updating_user(p));
        changed |= bit;
        CHECK(w.out.id == id && user_is(&w, id, changed) && core_changed(w.c) == 1);
        CHECK(row(&w, TABLE_USER, id).user.updated_at == w.now);
        store(&w);
        must_step(&w, updating_user(p));
        CHECK(core_changed(w.c) == 0);
    }
    CHECK(core_find(w.c, TABLE_USER, STR("new")) == id);
    p.given = GIVEN_USER_EMAIL;
    p.email = STR("ZOE@example.com");
    must_refuse(&w, updating_user(p), PROBLEM_NAME_TAKEN, "email");
    p.email = STR("EARLY@example.com");
    must_refuse(&w, updating_user(p), PROBLEM_NAME_TAKEN, "email");
    p.given = GIVEN_USER_SETTINGS;
    p.settings = STR("");
    must_step(&w, updating_user(p));
    CHECK(is(row(&w, TABLE_USER, id).user.settings, ""));
    p.settings = STR("7");
    must_refuse(&w, updating_user(p), PROBLEM_BAD_JSON, "settings");
    CHECK(says(&w, "settings must be an object"));
    must_step(&w, (struct command){.kind = COMMAND_USER_DELETE, .user_delete = {id}});
    CHECK(w.out.id == id);
    world_close(&w);
}

/* ---- hammers ---- */

static int64_t full_hammer(struct world *w, int64_t node, const char *kind)
{
    must_step(w, (struct command){.kind = COMMAND_HAMMER_CREATE,
                                  .hammer_create = {.node_id = node,
                                                    .hammer_kind_id = core_find(
                                                        w->c, TABLE_HAMMER_KIND, str_from(kind)),
                                                    .endpoint = STR("10.0.0.7"),
                                                    .username = STR("operator"),
                                                    .authenticator = STR("secret")}});
    return w->out.id;
}

TEST(each_field_of_a_hammer_changes_alone)
{
    struct world w = world_with_content();
    const int64_t node = add_node(&w, "n.example.com");
    const int64_t id = full_hammer(&w, node, "ipmi");
    struct hammer_record r = row(&w, TABLE_HAMMER, id).hammer;
    CHECK(r.node_id == node && r.priority == 9 && is(r.name, "ipmi"));
    CHECK(r.hammer_kind_id == core_find(w.c, TABLE_HAMMER_KIND, STR("ipmi")));
    CHECK(is(r.endpoint, "10.0.0.7") && is(r.username, "operator"));
    CHECK(is(r.authenticator, "secret") && r.created_at == w.now);
    struct hammer_update_command p = {.id = id,
                                      .priority = 4,
                                      .endpoint = STR("e"),
                                      .username = STR("u"),
                                      .authenticator = STR("a")};
    for (uint32_t bit = 1; bit <= GIVEN_HAMMER_AUTHENTICATOR; bit *= 2) {
        p.given = bit;
        must_step(&w, (struct command){.kind = COMMAND_HAMMER_UPDATE, .hammer_update = p});
        r = row(&w, TABLE_HAMMER, id).hammer;
        CHECK(w.out.id == id && r.priority == 4 && r.updated_at == w.now);
        CHECK(is(r.endpoint, bit >= GIVEN_HAMMER_ENDPOINT ? "e" : "10.0.0.7"));
        CHECK(is(r.username, bit >= GIVEN_HAMMER_USERNAME ? "u" : "operator"));
        CHECK(is(r.authenticator, bit >= GIVEN_HAMMER_AUTHENTICATOR ? "a" : "secret"));
        store(&w);
        must_step(&w, (struct command){.kind = COMMAND_HAMMER_UPDATE, .hammer_update = p});
        CHECK(core_changed(w.c) == 0);
    }
    p.given = GIVEN_HAMMER_USERNAME;
    p.username = STR("");
    must_refuse(&w, (struct command){.kind = COMMAND_HAMMER_UPDATE, .hammer_update = p},
                PROBLEM_MISSING, "username");
    CHECK(says(&w, "username is required"));
    must_step(&w, (struct command){.kind = COMMAND_HAMMER_DELETE, .hammer_delete = {id}});
    CHECK(w.out.id == id);
    world_close(&w);
}

TEST(a_second_hammer_of_a_kind_is_refused_at_any_position_of_the_first)
{
    struct world w = world_with_content();
    import(&w, "{" HEAD("k") ",\"hammers\":[{\"name\":\"third\",\"type\":\"ipmi\"}]}");
    const int64_t node = add_node(&w, "n.example.com");
    full_hammer(&w, node, "ipmi");
    full_hammer(&w, node, "third");
    static const char *const kinds[] = {"ipmi", "third"};
    for (uint32_t i = 0; i < 2; i++) {
        struct command again = {.kind = COMMAND_HAMMER_CREATE,
                                .hammer_create = {.node_id = node,
                                                  .hammer_kind_id = core_find(
                                                      w.c, TABLE_HAMMER_KIND, str_from(kinds[i])),
                                                  .username = STR("root")}};
        must_refuse(&w, again, PROBLEM_NAME_TAKEN, "hammer_kind_id");
        CHECK(says(&w, i ? "node n.example.com has a hammer third already"
                         : "node n.example.com has a hammer ipmi already"));
    }
    step(&w, (struct command){.kind = COMMAND_HAMMER_CREATE});
    CHECK(count_problems(&w) == 3);
    CHECK(has_problem(&w, PROBLEM_MISSING, "username", "username is required"));
    world_close(&w);
}

/* ---- references that are dropped ---- */

TEST(deleted_objects_leave_no_string_behind)
{
    struct world w = world_with_content();
    const int64_t node = add_node(&w, "n.example.com");
    must_step(&w, (struct command){.kind = COMMAND_USER_CREATE,
                                   .user_create = {.username = STR("stays"), .is_admin = true}});
    const uint32_t before = texts(&w);
    must_step(&w, making_attrib(
                      (struct attrib_create_command){.name = STR("left_name"),
                                                     .description = STR("left description"),
                                                     .map = STR("left/map"),
                                                     .ui_renderer = STR("left/renderer"),
                                                     .schema = STR("{\"type\":\"int\"}"),
                                                     .default_value = STR("{\"value\":424242}")}));
    const int64_t attrib = w.out.id;
    CHECK(texts(&w) == before + 6);
    must_step(&w, (struct command){.kind = COMMAND_ATTRIB_DELETE, .attrib_delete = {attrib}});
    CHECK(texts(&w) == before);

    must_step(&w, making_group("left_group", "tag"));
    const int64_t group = w.out.id;
    CHECK(texts(&w) > before);
    must_step(&w, (struct command){.kind = COMMAND_GROUP_DELETE, .group_delete = {group}});
    CHECK(texts(&w) == before);

    const int64_t user = full_user(&w, "left", "left@example.com");
    must_step(&w, updating_user(
                      (struct user_update_command){.id = user,
                                                   .given = GIVEN_USER_SETTINGS | GIVEN_USER_GRANTS,
                                                   .settings = STR("{\"left\":1}"),
                                                   .grants = STR("{\"1\":\"viewer\"}")}));
    CHECK(texts(&w) == before + 6);
    must_step(&w, (struct command){.kind = COMMAND_USER_DELETE, .user_delete = {user}});
    CHECK(texts(&w) == before);

    const int64_t hammer = full_hammer(&w, node, "ipmi");
    CHECK(texts(&w) == before + 3);
    must_step(&w, (struct command){.kind = COMMAND_HAMMER_DELETE, .hammer_delete = {hammer}});
    CHECK(texts(&w) == before);
    world_close(&w);
}

TEST(names_that_a_role_no_longer_has_leave_no_string_behind)
{
    struct world w = world_with_content();
    import(&w, "{" HEAD("r") ",\"roles\":[{\"name\":\"r\",\"jig\":\"noop\"}]}");
    const uint32_t before = texts(&w);
    import(&w, "{" HEAD("r") ",\"roles\":[{\"name\":\"r\",\"jig\":\"noop\",\"provides\":[\"p1\","
                             "\"p2\"],\"conflicts\":[\"c1\",\"c2\"],\"wants-attribs\":["
                             "{\"name\":\"v\",\"at\":\"x/y\"},{\"name\":\"u\",\"at\":\"x/z\"}]}]}");
    CHECK(texts(&w) > before);
    import(&w, "{" HEAD("r") ",\"roles\":[{\"name\":\"r\",\"jig\":\"noop\"}]}");
    CHECK(texts(&w) == before);
    world_close(&w);
}

TEST(a_barclamp_cannot_be_a_child_of_its_descendant)
{
    struct world w = world_open();
    const char *head = "{\"barclamp\":{\"source_path\":\"p\",\"name\":\"";
    import(&w, "{" HEAD("a") "}");
    must_step(&w, with_piece(&w, head, "b\",\"parent\":\"a", "\"}}"));
    must_step(&w, with_piece(&w, head, "c\",\"parent\":\"b", "\"}}"));
    must_refuse(&w, with_piece(&w, head, "a\",\"parent\":\"c", "\"}}"), PROBLEM_BAD_VALUE,
                "barclamp/parent");
    CHECK(says(&w, "c is a child of this barclamp, directly or not"));
    must_step(&w, with_piece(&w, head, "c\",\"parent\":\"a", "\"}}"));
    must_refuse(&w, with_piece(&w, head, "d\",\"parent\":\"e", "\"}}"), PROBLEM_NOT_FOUND,
                "barclamp/parent");
    CHECK(says(&w, "there is no barclamp called e"));
    world_close(&w);
}

TEST(a_jig_of_another_class_starts_anew)
{
    const char *head = "{" HEAD("one") ",\"jigs\":[{\"name\":\"j\",\"class\":\"";
    struct world w = world_open();
    must_step(&w, with_piece(&w, head, "script", "\"}]}"));
    must_step(&w, activating(&w, "j", false));
    must_step(&w, with_piece(&w, head, "script", "\",\"description\":\"d\"}]}"));
    CHECK(!get(&w, TABLE_JIG, "j").jig.active);
    must_step(&w, with_piece(&w, head, "noop", "\"}]}"));
    CHECK(get(&w, TABLE_JIG, "j").jig.active);
    must_step(&w, with_piece(&w, head, "test", "\"}]}"));
    CHECK(!get(&w, TABLE_JIG, "j").jig.active);
    world_close(&w);
}

static bool is_named_once(const struct world *w, enum table table)
{
    return w->c->tables[table].by_name.count == w->c->tables[table].pool.live;
}

TEST(names_that_are_given_up_are_forgotten)
{
    struct world w = world_with_content();
    const int64_t user = full_user(&w, "ann", "ann@example.com");
    must_step(&w, updating_user((struct user_update_command){
                      .id = user, .given = GIVEN_USER_USERNAME, .username = STR("beth")}));
    CHECK(is_named_once(&w, TABLE_USER));
    full_user(&w, "ann", "ann2@example.com");
    must_step(&w, (struct command){.kind = COMMAND_USER_DELETE, .user_delete = {user}});
    CHECK(is_named_once(&w, TABLE_USER));
    must_step(&w, making_group("one", "tag"));
    const int64_t group = w.out.id;
    must_step(&w, updating_group((struct group_update_command){
                      .id = group, .given = GIVEN_NAME, .name = STR("two")}));
    CHECK(is_named_once(&w, TABLE_GROUP));
    must_step(&w, (struct command){.kind = COMMAND_GROUP_DELETE, .group_delete = {group}});
    CHECK(is_named_once(&w, TABLE_GROUP));
    must_step(
        &w, (struct command){.kind = COMMAND_ATTRIB_DELETE, .attrib_delete = {attrib_id(&w, "v")}});
    CHECK(is_named_once(&w, TABLE_ATTRIB));
    world_close(&w);
}

/* Lists of a role are allocated in the heap; replaced ones must be freed. */
TEST(lists_that_are_replaced_are_freed)
{
    static const char empty[] = "{" HEAD("r") ",\"roles\":[{\"name\":\"r\",\"jig\":\"noop\"}]}";
    static const char full[] =
        "{" HEAD("r") ",\"roles\":[{\"name\":\"r\",\"jig\":\"noop\",\"requires\":[\"owner\"],"
                      "\"provides\":[\"p\"],\"conflicts\":[\"c\"],"
                      "\"wants-attribs\":[{\"name\":\"v\",\"at\":\"x\"}]}]}";
    struct world w = world_with_content();
    uint64_t used = 0;
    for (uint32_t i = 0; i < 3; i++) {
        import(&w, full);
        import(&w, empty);
        store(&w);
        CHECK(i == 0 || w.c->heap.used == used);
        used = w.c->heap.used;
    }
    world_close(&w);
}

static void load_change(void *context, const struct change *change)
{
    struct core *other = context;
    const char *what = "";
    if (core_load(other, &change->record, &what))
        check_failed("core_load", (int)change->record.table, what);
}

TEST(a_loaded_core_has_resolved_the_names_of_roles)
{
    struct world w = world_open();
    import(&w, CONTENT);
    import(&w, "{" HEAD("more") ",\"roles\":[{\"name\":\"hooked\",\"jig\":\"script\","
                                "\"flags\":[\"server\"],\"provides\":[\"owner\"],"
                                "\"hooks\":[\"on_node_change\"],\"conflicts\":[\"x\",\"y\"]}]}");
    struct world second = {.c = core_new(), .now = w.now};
    core_collect(w.c, 1, load_change, second.c);
    const char *what = "";
    CHECK(!core_load_end(second.c, second.now, &what));
    CHECK(second.c->vars.hook_roles[HOOK_NODE_CHANGE].count == 1);
    CHECK(second.c->vars.provider_count == 1 && second.c->vars.server_count == 1);
    CHECK(role_row(&second, "hooked")->provided.count == 1);
    CHECK(role_row(&second, "hooked")->conflicting.count == 2);
    CHECK(role_row(&second, "owner")->attribs.count == 2);
    CHECK(role_row(&second, "owner")->children.count == 1);
    CHECK(role_row(&second, "user")->wanted.count == 4 && !role_row(&second, "user")->unresolved);
    CHECK(is(parents_of(&second, "user"), "owner") && role_row(&second, "user")->cohort == 1);
    CHECK(role_can_run(second.c, role_by_id(second.c, role_id(&second, "user"))));
    world_close(&second);
    world_close(&w);
}
