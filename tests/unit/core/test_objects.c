/* Commands that change one object: a jig, a role, settings, an attrib, a group, a user, a
 * hammer. */
#include "base/json/json.h"
#include "tests/unit/core/data_world.h"

static const char content[] =
    "{\"barclamp\":{\"name\":\"b\",\"source_path\":\"p\"},\"jigs\":["
    "{\"name\":\"noop\",\"class\":\"noop\"},{\"name\":\"script\",\"class\":\"script\"},"
    "{\"name\":\"test\",\"class\":\"test\"}],\"hammers\":[{\"name\":\"ssh\",\"type\":\"ssh\","
    "\"priority\":2},{\"name\":\"ipmi\",\"type\":\"ipmi\",\"priority\":9}],\"roles\":["
    "{\"name\":\"owner\",\"jig\":\"script\",\"attribs\":[{\"name\":\"v\",\"map\":\"a/v\","
    "\"default\":1}]},{\"name\":\"user\",\"jig\":\"script\",\"wants-attribs\":[\"v\"]},"
    "{\"name\":\"plain\",\"jig\":\"noop\"},{\"name\":\"tested\",\"jig\":\"test\"}]}";

static struct world world_with_content(void)
{
    struct world w = world_open();
    import(&w, content);
    return w;
}

static struct record get(struct world *w, enum table table, int64_t id)
{
    struct record r;
    CHECK(core_record(w->c, table, id, &r));
    return r;
}

/* The i-th element of a list; 0 if it is shorter. */
static uint32_t item(const struct core *c, const struct vec *v, uint32_t i)
{
    return i < v->count ? vec_at(c, v, i) : 0;
}

static bool is(struct str s, const char *expected)
{
    return str_eq(s, str_from(expected));
}

static bool runs(struct world *w, const char *role)
{
    return role_can_run(w->c, role_by_id(w->c, role_id(w, role)));
}

static bool uses(struct world *w, const char *role, const char *jig)
{
    return is(role_jig_name(w->c, role_by_id(w->c, role_id(w, role))), jig);
}

static void forget_change(void *context, const struct change *change)
{
    (void)context, (void)change;
}

static void store(struct world *w)
{
    core_collect(w->c, 1, forget_change, NULL);
}

/* ---- jigs ---- */

static struct command making_jig(const char *name, const char *class, const char *client)
{
    return (struct command){.kind = COMMAND_JIG_CREATE,
                            .jig_create = {.name = str_from(name),
                                           .class_name = str_from(class),
                                           .active = true,
                                           .client_role_name = str_from(client)}};
}

static struct command setting_active(struct world *w, const char *jig, bool active)
{
    return (struct command){.kind = COMMAND_JIG_UPDATE,
                            .jig_update = {.id = core_find(w->c, TABLE_JIG, str_from(jig)),
                                           .given = GIVEN_JIG_ACTIVE,
                                           .active = active}};
}

TEST(a_jig_needs_a_free_name_and_a_known_class)
{
    static const char *const bad[] = {"1123", "1foo", "fo!o", " foo", "f o", "foo "};
    struct world w = world_with_content();
    for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        must_refuse(&w, making_jig(bad[i], "noop", ""), PROBLEM_NAME_INVALID, "name");
    must_refuse(&w, making_jig("", "noop", ""), PROBLEM_MISSING, "name");
    must_refuse(&w, making_jig("NOOP", "noop", ""), PROBLEM_NAME_TAKEN, "name");
    must_refuse(&w, making_jig("j", "Odd", ""), PROBLEM_CLASS_UNKNOWN, "class_name");
    step(&w, making_jig("j", "Odd", ""));
    CHECK(str_ends(w.out.problems->text, STR("Odd")));
    must_refuse(&w, making_jig("j", "", ""), PROBLEM_MISSING, "class_name");
    must_refuse(&w, making_jig("j", "noop", "a b"), PROBLEM_NAME_INVALID, "client_role_name");
    must_step(&w, making_jig("j", "BarclampChef::Jig", ""));
    const struct record r = get(&w, TABLE_JIG, w.out.id);
    CHECK(is(r.jig.class_name, "BarclampChef::Jig") && r.jig.active && r.jig.order == 10000);
    world_close(&w);
}

TEST(a_new_jig_is_found_by_the_roles_that_wait_for_it)
{
    struct world w = world_with_content();
    import(&w,
           "{\"barclamp\":{\"name\":\"c\",\"source_path\":\"p\"},\"roles\":[{\"name\":\"late\","
           "\"jig\":\"new\"},{\"name\":\"client\",\"jig\":\"noop\",\"flags\":[\"implicit\"]}]}");
    CHECK(!runs(&w, "late") && uses(&w, "late", "new"));
    must_refuse(&w, making_jig("new", "chef", "plain"), PROBLEM_WRONG_STATE, "roles");
    CHECK(!runs(&w, "late"));
    must_step(&w, making_jig("new", "chef", "client"));
    CHECK(runs(&w, "late"));
    const struct role *late = role_at(w.c, role_by_id(w.c, role_id(&w, "late")));
    CHECK(late->parents.count == 1 && late->cohort == 1 && !late->unresolved);
    must_step(&w, setting_active(&w, "new", false));
    CHECK(!runs(&w, "late"));
    world_close(&w);
}

TEST(an_update_of_a_jig_changes_what_it_names)
{
    struct world w = world_with_content();
    const int64_t id = core_find(w.c, TABLE_JIG, STR("script"));
    must_step(&w,
              (struct command){.kind = COMMAND_JIG_UPDATE,
                               .jig_update = {.id = id,
                                              .given = GIVEN_JIG_DESCRIPTION | GIVEN_JIG_SERVER |
                                                       GIVEN_JIG_CLIENT_NAME | GIVEN_JIG_KEY,
                                              .description = STR("d"),
                                              .server = STR("s"),
                                              .client_name = STR("c"),
                                              .key = STR("k")}});
    const struct record r = get(&w, TABLE_JIG, id);
    CHECK(is(r.jig.description, "d") && is(r.jig.server, "s"));
    CHECK(is(r.jig.client_name, "c") && is(r.jig.key, "k") && r.jig.active);
    store(&w);
    must_step(&w,
              (struct command){.kind = COMMAND_JIG_UPDATE,
                               .jig_update = {.id = id, .given = GIVEN_JIG_KEY, .key = STR("k")}});
    CHECK(core_changed(w.c) == 0);
    must_refuse(&w, (struct command){.kind = COMMAND_JIG_UPDATE, .jig_update = {.id = 99}},
                PROBLEM_NOT_FOUND, "id");
    world_close(&w);
}

/* ---- settings ---- */

static struct command test_jig(bool on)
{
    return (struct command){.kind = COMMAND_SETTINGS_UPDATE,
                            .settings_update = {.given = GIVEN_SETTINGS_TEST_JIG, .test_jig = on}};
}

TEST(the_test_jig_replaces_other_jigs)
{
    struct world w = world_with_content();
    CHECK(runs(&w, "owner") && uses(&w, "owner", "script") && !runs(&w, "tested"));
    must_step(&w, setting_active(&w, "script", false));
    CHECK(!runs(&w, "owner"));
    must_step(&w, test_jig(true));
    CHECK(runs(&w, "owner") && uses(&w, "owner", "test"));
    CHECK(runs(&w, "tested") && uses(&w, "tested", "test"));
    CHECK(runs(&w, "plain") && uses(&w, "plain", "noop"));
    CHECK(role_is_noop(w.c, role_by_id(w.c, role_id(&w, "plain"))));
    must_step(&w, setting_active(&w, "noop", false));
    CHECK(!runs(&w, "plain"));
    must_step(&w, test_jig(false));
    CHECK(!runs(&w, "owner") && !runs(&w, "tested"));
    must_step(&w, setting_active(&w, "test", true));
    CHECK(runs(&w, "tested"));
    world_close(&w);
}

TEST(pools_have_a_size_within_bounds)
{
    struct world w = world_open();
    const uint32_t bad[] = {0, 10001, UINT32_MAX};
    for (uint32_t i = 0; i < 3; i++) {
        must_refuse(&w,
                    (struct command){.kind = COMMAND_SETTINGS_UPDATE,
                                     .settings_update = {.given = GIVEN_SETTINGS_POOL_NORMAL,
                                                         .pool_normal = bad[i]}},
                    PROBLEM_BAD_VALUE, "pool_normal");
        must_refuse(&w,
                    (struct command){.kind = COMMAND_SETTINGS_UPDATE,
                                     .settings_update = {.given = GIVEN_SETTINGS_POOL_HIGH,
                                                         .pool_high = bad[i]}},
                    PROBLEM_BAD_VALUE, "pool_high");
    }
    must_step(&w, (struct command){.kind = COMMAND_SETTINGS_UPDATE,
                                   .settings_update = {.given = GIVEN_SETTINGS_POOL_HIGH |
                                                                GIVEN_SETTINGS_MAX_DEPTH,
                                                       .pool_normal = 77,
                                                       .pool_high = 10000,
                                                       .max_depth = 2}});
    const struct record r = get(&w, TABLE_SETTINGS, 1);
    CHECK(w.out.id == 1 && r.settings.pool_normal == POOL_NORMAL_DEFAULT);
    CHECK(r.settings.pool_high == 10000 && r.settings.max_depth == 2 && !r.settings.test_jig);
    store(&w);
    must_step(&w, (struct command){
                      .kind = COMMAND_SETTINGS_UPDATE,
                      .settings_update = {.given = GIVEN_SETTINGS_POOL_HIGH, .pool_high = 10000}});
    CHECK(core_changed(w.c) == 0);
    world_close(&w);
}

/* ---- roles ---- */

static struct command templating(struct world *w, const char *role, const char *template)
{
    return (struct command){.kind = COMMAND_ROLE_UPDATE,
                            .role_update = {.id = role_id(w, role),
                                            .given = GIVEN_ROLE_TEMPLATE,
                                            .template = str_from(template)}};
}

TEST(a_new_template_reruns_the_noderoles_of_the_role)
{
    struct world w = world_with_content();
    const int64_t node = add_node(&w, "n.example.com");
    const int64_t nr = bind(&w, node, "owner");
    commit(&w, nr);
    settle(&w, NULL);
    CHECK(state_of(&w, nr) == NODEROLE_ACTIVE);
    must_refuse(&w, templating(&w, "owner", "[1]"), PROBLEM_BAD_JSON, "template");
    must_step(&w, templating(&w, "owner", "{}"));
    CHECK(state_of(&w, nr) == NODEROLE_ACTIVE);
    must_step(&w, templating(&w, "owner", "{\"a\":{\"v\":5}}"));
    CHECK(state_of(&w, nr) != NODEROLE_ACTIVE);
    settle(&w, NULL);
    CHECK(get(&w, TABLE_NODEROLE, nr).noderole.run_count == 2);
    must_step(&w, templating(&w, "owner", "{\"a\":{\"v\":5}}"));
    CHECK(state_of(&w, nr) == NODEROLE_ACTIVE);
    must_refuse(&w, (struct command){.kind = COMMAND_ROLE_UPDATE, .role_update = {.id = 99}},
                PROBLEM_NOT_FOUND, "id");
    world_close(&w);
}

TEST(a_description_of_a_role_can_be_changed)
{
    struct world w = world_with_content();
    const int64_t id = role_id(&w, "owner");
    must_step(&w, (struct command){.kind = COMMAND_ROLE_UPDATE,
                                   .role_update = {.id = id,
                                                   .given = GIVEN_ROLE_DESCRIPTION,
                                                   .description = STR("d")}});
    CHECK(is(get(&w, TABLE_ROLE, id).role.description, "d") && w.out.id == id);
    world_close(&w);
}

/* ---- attribs ---- */

static struct attrib_create_command attrib_called(const char *name)
{
    return (struct attrib_create_command){.name = str_from(name), .map = STR("m/n")};
}

static struct command creating(struct attrib_create_command payload)
{
    return (struct command){.kind = COMMAND_ATTRIB_CREATE, .attrib_create = payload};
}

TEST(an_attrib_must_be_well_formed)
{
    struct world w = world_with_content();
    struct attrib_create_command p = attrib_called("new");
    must_refuse(&w, creating(attrib_called("v")), PROBLEM_NAME_TAKEN, "name");
    must_refuse(&w, creating(attrib_called("")), PROBLEM_MISSING, "name");
    must_refuse(&w, creating(attrib_called("1a")), PROBLEM_NAME_INVALID, "name");
    static const char *const maps[] = {"/", "/a", "a/", "a//b"};
    for (uint32_t i = 0; i < 4; i++) {
        p.map = str_from(maps[i]);
        must_refuse(&w, creating(p), PROBLEM_BAD_VALUE, "map");
    }
    char deep[80];
    for (uint32_t i = 0; i < sizeof deep; i++)
        deep[i] = i % 2 ? '/' : 'a';
    p.map = (struct str){deep, 65};
    must_refuse(&w, creating(p), PROBLEM_BAD_VALUE, "map");
    char wide[256];
    memset(wide, 'a', sizeof wide);
    p.map = (struct str){wide, sizeof wide};
    must_refuse(&w, creating(p), PROBLEM_BAD_VALUE, "map");
    p.map = STR("");
    p.schema = STR("{\"type\":\"seq\"}");
    must_refuse(&w, creating(p), PROBLEM_SCHEMA_INVALID, "schema");
    p.schema = STR("7");
    must_refuse(&w, creating(p), PROBLEM_SCHEMA_INVALID, "schema");
    p.schema = STR("{\"type\":\"int\"}");
    p.default_value = STR("{\"value\":\"x\"}");
    must_refuse(&w, creating(p), PROBLEM_SCHEMA_VIOLATED, "default_value");
    p.default_value = STR("{\"values\":7}");
    must_refuse(&w, creating(p), PROBLEM_BAD_JSON, "default_value");
    p.default_value = STR("{\"value\":7}");
    p.role_id = 99;
    must_refuse(&w, creating(p), PROBLEM_NOT_FOUND, "role_id");
    p.role_id = 0;
    p.barclamp_id = 99;
    must_refuse(&w, creating(p), PROBLEM_NOT_FOUND, "barclamp_id");
    world_close(&w);
}

TEST(a_new_attrib_gets_its_defaults_and_its_owner)
{
    struct world w = world_with_content();
    struct attrib_create_command p = attrib_called("new");
    p.role_id = role_id(&w, "plain");
    p.schema = STR("{\"type\":\"int\"}");
    must_step(&w, creating(p));
    const struct record r = get(&w, TABLE_ATTRIB, w.out.id);
    CHECK(r.attrib.writable && r.attrib.order == 10000 && r.attrib.role_id == p.role_id);
    CHECK(is(r.attrib.ui_renderer, "attribs/default") && is(r.attrib.default_value, ""));
    CHECK(r.attrib.barclamp_id == core_find(w.c, TABLE_BARCLAMP, STR("b")));
    CHECK(role_at(w.c, role_by_id(w.c, p.role_id))->attribs.count == 1);
    p = attrib_called("of_nodes");
    p.schema = STR("null");
    p.default_value = STR("{\"value\":null}");
    must_step(&w, creating(p));
    CHECK(!get(&w, TABLE_ATTRIB, w.out.id).attrib.writable);
    CHECK(is(get(&w, TABLE_ATTRIB, w.out.id).attrib.default_value, ""));
    CHECK(get(&w, TABLE_ATTRIB, w.out.id).attrib.barclamp_id == 0);
    world_close(&w);
}

TEST(a_deleted_attrib_leaves_no_link_and_no_parent_behind)
{
    struct world w = world_with_content();
    const int64_t node = add_node(&w, "n.example.com");
    const int64_t nr = bind(&w, node, "user");
    const noderole_ix ix = noderole_by_id(w.c, nr);
    const role_ix user = role_by_id(w.c, role_id(&w, "user"));
    CHECK(noderole_at(w.c, ix)->links.count == 2 && role_at(w.c, user)->parents.count == 1);
    const int64_t id = attrib_id(&w, "v");
    store(&w);
    must_step(&w, (struct command){.kind = COMMAND_ATTRIB_DELETE, .attrib_delete = {id}});
    CHECK(w.out.id == id);
    CHECK(noderole_at(w.c, ix)->links.count == 0);
    CHECK(role_at(w.c, user)->wanted.count == 0 && role_at(w.c, user)->parents.count == 0);
    CHECK(role_at(w.c, user)->unresolved);
    CHECK(role_at(w.c, role_by_id(w.c, role_id(&w, "owner")))->attribs.count == 0);
    CHECK(!core_find(w.c, TABLE_ATTRIB, STR("v")));
    world_check(&w);
    store(&w);
    must_refuse(&w, (struct command){.kind = COMMAND_ATTRIB_DELETE, .attrib_delete = {id}},
                PROBLEM_NOT_FOUND, "id");
    /* It is created again by the next import, with another id, and is linked again. */
    import(&w, content);
    CHECK(attrib_id(&w, "v") != id && noderole_at(w.c, ix)->links.count == 2);
    CHECK(!role_at(w.c, user)->unresolved);
    world_close(&w);
}

#define PROVIDER(provides)                                                                         \
    "{\"barclamp\":{\"name\":\"c\",\"source_path\":\"p\"},\"roles\":[{\"name\":\"prov\","          \
    "\"jig\":\"script\",\"provides\":[" provides                                                   \
    "]},{\"name\":\"guest\",\"jig\":\"script\",\"requires\":[\"prov\"],\"wants-attribs\":[\"v\"]}]}"

TEST(links_follow_what_roles_provide)
{
    struct world w = world_with_content();
    import(&w, PROVIDER("\"owner\""));
    const int64_t node = add_node(&w, "n.example.com");
    const noderole_ix prov = noderole_by_id(w.c, bind(&w, node, "prov"));
    const noderole_ix guest = noderole_by_id(w.c, bind(&w, node, "guest"));
    CHECK(noderole_at(w.c, guest)->links.count == 2);
    CHECK(item(w.c, &noderole_at(w.c, guest)->links, 0) == prov.v);
    import(&w, PROVIDER(""));
    CHECK(noderole_at(w.c, guest)->links.count == 0);
    import(&w, PROVIDER("\"other\",\"owner\""));
    CHECK(noderole_at(w.c, guest)->links.count == 2);
    world_close(&w);
}

/* ---- groups ---- */

static struct command making_group(const char *name, const char *category)
{
    return (struct command){
        .kind = COMMAND_GROUP_CREATE,
        .group_create = {.name = str_from(name), .category = str_from(category)}};
}

TEST(groups_are_unique_within_their_category)
{
    static const char *const bad[] = {"1123", "1foo", "fo!o", " foo", "f o", "foo ", "a-b"};
    struct world w = world_open();
    for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        must_refuse(&w, making_group(bad[i], "rack"), PROBLEM_NAME_INVALID, "name");
    must_refuse(&w, making_group("", "rack"), PROBLEM_MISSING, "name");
    must_refuse(&w, making_group("foo", "foo"), PROBLEM_NAME_INVALID, "category");
    must_step(&w, making_group("foo", "rack"));
    const int64_t rack = w.out.id;
    CHECK(is(get(&w, TABLE_GROUP, rack).group.category, "rack"));
    CHECK(get(&w, TABLE_GROUP, rack).group.order == 10000);
    must_refuse(&w, making_group("FOO", "rack"), PROBLEM_NAME_TAKEN, "name");
    must_step(&w, making_group("foo", ""));
    CHECK(is(get(&w, TABLE_GROUP, w.out.id).group.category, "ui"));
    must_refuse(&w,
                (struct command){.kind = COMMAND_GROUP_UPDATE,
                                 .group_update = {.id = rack, .given = GIVEN_GROUP_CATEGORY}},
                PROBLEM_NAME_TAKEN, "name");
    must_step(&w,
              (struct command){.kind = COMMAND_GROUP_UPDATE,
                               .group_update = {.id = rack,
                                                .given = GIVEN_NAME | GIVEN_DESCRIPTION |
                                                         GIVEN_GROUP_CATEGORY | GIVEN_GROUP_ORDER,
                                                .name = STR("Foo"),
                                                .description = STR("d"),
                                                .category = STR("tag"),
                                                .order = 3}});
    const struct record r = get(&w, TABLE_GROUP, rack);
    CHECK(is(r.group.name, "Foo") && is(r.group.category, "tag"));
    CHECK(is(r.group.description, "d") && r.group.order == 3);
    must_step(&w, making_group("foo", "rack"));
    world_close(&w);
}

static struct command membership(bool add, int64_t group, int64_t node)
{
    return add ? (struct command){.kind = COMMAND_GROUP_ADD, .group_add = {group, node}}
               : (struct command){.kind = COMMAND_GROUP_REMOVE, .group_remove = {group, node}};
}

TEST(nodes_join_and_leave_groups)
{
    struct world w = world_with_content();
    const int64_t a = add_node(&w, "a.example.com"), b = add_node(&w, "b.example.com");
    const uint32_t already = node_at(w.c, node_by_id(w.c, a))->group_count;
    must_step(&w, making_group("g", "tag"));
    const int64_t g = w.out.id;
    const group_ix gi = group_by_id(w.c, g);
    must_step(&w, membership(true, g, b));
    must_step(&w, membership(true, g, a));
    store(&w);
    must_step(&w, membership(true, g, a));
    CHECK(core_changed(w.c) == 0);
    CHECK(group_at(w.c, gi)->nodes.count == 2);
    CHECK(item(w.c, &group_at(w.c, gi)->nodes, 0) == node_by_id(w.c, a).v);
    CHECK(node_at(w.c, node_by_id(w.c, a))->group_count == already + 1);
    must_step(&w, membership(false, g, b));
    must_step(&w, membership(false, g, b));
    CHECK(group_at(w.c, gi)->nodes.count == 1);
    must_refuse(&w, membership(true, 99, a), PROBLEM_NOT_FOUND, "id");
    must_refuse(&w, membership(false, g, 99), PROBLEM_NOT_FOUND, "node_id");
    must_step(&w, (struct command){.kind = COMMAND_GROUP_DELETE, .group_delete = {g}});
    CHECK(node_at(w.c, node_by_id(w.c, a))->group_count == already);
    CHECK(!core_find(w.c, TABLE_GROUP, STR("tag/g")));
    must_refuse(&w, (struct command){.kind = COMMAND_GROUP_DELETE, .group_delete = {g}},
                PROBLEM_NOT_FOUND, "id");
    world_close(&w);
}

TEST(the_group_not_set_stays)
{
    struct world w = world_open();
    const int64_t id = core_next_id(w.c, TABLE_GROUP, 0);
    must_refuse(&w, (struct command){.kind = COMMAND_GROUP_DELETE, .group_delete = {id}},
                PROBLEM_IN_USE, "id");
    must_refuse(&w,
                (struct command){.kind = COMMAND_GROUP_UPDATE,
                                 .group_update = {.id = id, .given = GIVEN_NAME, .name = STR("x")}},
                PROBLEM_IN_USE, "name");
    must_step(&w,
              (struct command){.kind = COMMAND_GROUP_UPDATE,
                               .group_update = {.id = id, .given = GIVEN_GROUP_ORDER, .order = 1}});
    world_close(&w);
}

/* ---- users ---- */

static struct command making_user(const char *name, const char *email)
{
    return (struct command){.kind = COMMAND_USER_CREATE,
                            .user_create = {.username = str_from(name), .email = str_from(email)}};
}

TEST(users_are_unique_by_name_and_by_address_ignoring_case)
{
    struct world w = world_open();
    must_step(&w, making_user("Ann", "Ann@Example.COM"));
    const int64_t ann = w.out.id;
    CHECK(is(get(&w, TABLE_USER, ann).user.username, "ann"));
    CHECK(is(get(&w, TABLE_USER, ann).user.email, "ann@example.com"));
    must_refuse(&w, making_user("ANN", ""), PROBLEM_NAME_TAKEN, "username");
    must_refuse(&w, making_user("bob", "ANN@example.com"), PROBLEM_NAME_TAKEN, "email");
    must_refuse(&w, making_user("bob", "nonsense"), PROBLEM_NAME_INVALID, "email");
    must_refuse(&w, making_user("", ""), PROBLEM_MISSING, "username");
    must_refuse(&w, making_user("b b", ""), PROBLEM_NAME_INVALID, "username");
    must_step(&w, making_user("bob", ""));
    must_step(&w, making_user("carl", "")); /* an empty address is not unique */
    world_close(&w);
}

TEST(a_user_changes_only_in_what_is_given)
{
    struct world w = world_open();
    must_step(&w, making_user("ann", "ann@example.com"));
    const int64_t id = w.out.id;
    must_step(&w, making_user("bob", "bob@example.com"));
    struct user_update_command p = {.id = id,
                                    .given = GIVEN_USER_IS_ADMIN | GIVEN_USER_IS_LOCKED |
                                             GIVEN_USER_PASSWORD_HASH | GIVEN_USER_DIGEST_HA1 |
                                             GIVEN_USER_SETTINGS,
                                    .is_admin = true,
                                    .is_locked = true,
                                    .password_hash = STR("h"),
                                    .digest_ha1 = STR("d"),
                                    .settings = STR("{\"a\":1}")};
    must_step(&w, (struct command){.kind = COMMAND_USER_UPDATE, .user_update = p});
    struct record r = get(&w, TABLE_USER, id);
    CHECK(r.user.is_admin && r.user.is_locked && is(r.user.username, "ann"));
    CHECK(is(r.user.password_hash, "h") && is(r.user.digest_ha1, "d"));
    CHECK(is(r.user.settings, "{\"a\":1}") && is(r.user.email, "ann@example.com"));
    store(&w);
    must_step(&w, (struct command){.kind = COMMAND_USER_UPDATE, .user_update = p});
    CHECK(core_changed(w.c) == 0);
    p.settings = STR("[]");
    must_refuse(&w, (struct command){.kind = COMMAND_USER_UPDATE, .user_update = p},
                PROBLEM_BAD_JSON, "settings");
    p = (struct user_update_command){
        .id = id, .given = GIVEN_USER_EMAIL, .email = STR("BOB@example.com")};
    must_refuse(&w, (struct command){.kind = COMMAND_USER_UPDATE, .user_update = p},
                PROBLEM_NAME_TAKEN, "email");
    p = (struct user_update_command){
        .id = id, .given = GIVEN_USER_USERNAME, .username = STR("Bob")};
    must_refuse(&w, (struct command){.kind = COMMAND_USER_UPDATE, .user_update = p},
                PROBLEM_NAME_TAKEN, "username");
    p.username = STR("Anna");
    must_step(&w, (struct command){.kind = COMMAND_USER_UPDATE, .user_update = p});
    CHECK(core_find(w.c, TABLE_USER, STR("anna")) == id && !core_find(w.c, TABLE_USER, STR("ann")));
    must_step(&w, (struct command){.kind = COMMAND_USER_DELETE, .user_delete = {id}});
    CHECK(!core_find(w.c, TABLE_USER, STR("anna")) && core_count(w.c, TABLE_USER) == 1);
    must_refuse(&w, (struct command){.kind = COMMAND_USER_DELETE, .user_delete = {id}},
                PROBLEM_NOT_FOUND, "id");
    p.id = 99;
    must_refuse(&w, (struct command){.kind = COMMAND_USER_UPDATE, .user_update = p},
                PROBLEM_NOT_FOUND, "id");
    world_close(&w);
}

/* ---- hammers ---- */

static struct command making_hammer(struct world *w, int64_t node, const char *kind,
                                    const char *username)
{
    return (struct command){
        .kind = COMMAND_HAMMER_CREATE,
        .hammer_create = {.node_id = node,
                          .hammer_kind_id = core_find(w->c, TABLE_HAMMER_KIND, str_from(kind)),
                          .endpoint = STR("e"),
                          .username = str_from(username)}};
}

TEST(a_node_has_one_hammer_of_each_kind)
{
    struct world w = world_with_content();
    const int64_t node = add_node(&w, "n.example.com");
    const node_ix n = node_by_id(w.c, node);
    const uint32_t already = node_at(w.c, n)->hammers.count;
    must_refuse(&w, making_hammer(&w, 99, "ipmi", "root"), PROBLEM_NOT_FOUND, "node_id");
    must_refuse(&w, making_hammer(&w, node, "none", "root"), PROBLEM_NOT_FOUND, "hammer_kind_id");
    must_refuse(&w, making_hammer(&w, node, "ipmi", ""), PROBLEM_MISSING, "username");
    must_step(&w, making_hammer(&w, node, "ipmi", "root"));
    const int64_t id = w.out.id;
    const struct record r = get(&w, TABLE_HAMMER, id);
    CHECK(is(r.hammer.name, "ipmi") && r.hammer.priority == 9 && r.hammer.node_id == node);
    CHECK(is(r.hammer.endpoint, "e") && is(r.hammer.username, "root"));
    must_refuse(&w, making_hammer(&w, node, "ipmi", "root"), PROBLEM_NAME_TAKEN, "hammer_kind_id");
    CHECK(node_at(w.c, n)->hammers.count == already + 1);
    must_step(&w, (struct command){.kind = COMMAND_HAMMER_UPDATE,
                                   .hammer_update = {
                                       .id = id,
                                       .given = GIVEN_HAMMER_PRIORITY | GIVEN_HAMMER_AUTHENTICATOR |
                                                GIVEN_HAMMER_ENDPOINT | GIVEN_HAMMER_USERNAME,
                                       .priority = 0,
                                       .endpoint = STR("f"),
                                       .username = STR("admin"),
                                       .authenticator = STR("secret")}});
    CHECK(get(&w, TABLE_HAMMER, id).hammer.priority == 0);
    CHECK(is(get(&w, TABLE_HAMMER, id).hammer.authenticator, "secret"));
    CHECK(is(get(&w, TABLE_HAMMER, id).hammer.username, "admin"));
    CHECK(is(get(&w, TABLE_HAMMER, id).hammer.endpoint, "f"));
    must_refuse(&w,
                (struct command){.kind = COMMAND_HAMMER_UPDATE,
                                 .hammer_update = {.id = id, .given = GIVEN_HAMMER_USERNAME}},
                PROBLEM_MISSING, "username");
    must_step(&w, (struct command){.kind = COMMAND_HAMMER_DELETE, .hammer_delete = {id}});
    CHECK(node_at(w.c, n)->hammers.count == already);
    must_refuse(&w, (struct command){.kind = COMMAND_HAMMER_DELETE, .hammer_delete = {id}},
                PROBLEM_NOT_FOUND, "id");
    struct command again = making_hammer(&w, node, "ipmi", "root");
    again.hammer_create.priority = 4;
    must_step(&w, again);
    CHECK(get(&w, TABLE_HAMMER, w.out.id).hammer.priority == 4);
    world_close(&w);
}

TEST(a_deleted_node_removes_its_hammers_and_memberships)
{
    struct world w = world_with_content();
    const int64_t node = add_node(&w, "n.example.com"), other = add_node(&w, "o.example.com");
    const uint32_t hammers = core_count(w.c, TABLE_HAMMER);
    must_step(&w, making_hammer(&w, node, "ipmi", "root"));
    must_step(&w, making_group("g", "tag"));
    const group_ix g = group_by_id(w.c, w.out.id);
    must_step(&w, membership(true, w.out.id, node));
    must_step(&w, membership(true, group_at(w.c, g)->o.id, other));
    must_step(&w, (struct command){.kind = COMMAND_NODE_DELETE, .node_delete = {node}});
    CHECK(group_at(w.c, g)->nodes.count == 1);
    CHECK(core_count(w.c, TABLE_HAMMER) ==
          hammers - node_at(w.c, node_by_id(w.c, other))->hammers.count);
    world_close(&w);
}
