/* Goal: cases 1 to 21 of docs/spec/cases.md: the names of objects and the defaults of their fields
 * (docs/spec/objects.md). Passwords (cases 17, 18 and 20) are tested in tests/api.
 * Method: commands to a core in memory; the outcome and the stored records are checked. */
#include <string.h>

#include "tests/world/world.h"

/* Case 3: names that are refused as identifiers. */
static const char *const bad_names[] = {"1123", "1foo", "foo!", " foo", "f oo", "foo "};

#define EACH(item, list)                                                                           \
    for (const char *const *item = (list); item < (list) + sizeof(list) / sizeof((list)[0]); item++)

static struct command cmd_barclamp(struct world *w, const char *name)
{
    const struct str head = STR("{'barclamp':{'source_path':'/src/x','name':'");
    const struct str json = STR_CONCAT(&w->arena, head, str_from(name), STR("'}}"));
    return cmd_import(w, str_z(&w->arena, json));
}

static struct barclamp_record read_barclamp(struct world *w, const char *name)
{
    struct record record;
    const int64_t id = core_find(w->core, TABLE_BARCLAMP, str_from(name));
    CHECK(id && core_record(w->core, TABLE_BARCLAMP, id, &record));
    return record.barclamp;
}

static struct command cmd_group(const char *name, const char *category)
{
    return CMD(GROUP_CREATE, group_create, .name = str_from(name), .category = str_from(category));
}

static struct group_record read_group(struct world *w, int64_t id)
{
    struct record record;
    CHECK(core_record(w->core, TABLE_GROUP, id, &record));
    return record.group;
}

static struct command cmd_jig(const char *name, const char *class_name)
{
    return CMD(JIG_CREATE, jig_create, .name = str_from(name), .class_name = str_from(class_name));
}

static struct command cmd_deployment(const char *name)
{
    return CMD(DEPLOYMENT_CREATE, deployment_create, .name = str_from(name));
}

static struct command cmd_named_node(const char *name)
{
    return CMD(NODE_CREATE, node_create, .name = str_from(name));
}

static struct command cmd_user(const char *username, const char *email)
{
    return CMD(USER_CREATE, user_create, .username = str_from(username), .email = str_from(email));
}

/* ---- barclamps ---- */

TEST(c001_a_second_import_updates_the_barclamp)
{
    struct world *w = world_open();
    DONE(w, cmd_barclamp(w, "foo"));
    const uint32_t count = core_count(w->core, TABLE_BARCLAMP);

    DONE(w, cmd_barclamp(w, "foo"));

    CHECK(core_count(w->core, TABLE_BARCLAMP) == count);
    world_close(w);
}

TEST(c001_a_barclamp_name_that_differs_only_by_case_is_taken)
{
    struct world *w = world_open();
    DONE(w, cmd_barclamp(w, "foo"));
    REFUSED(w, cmd_barclamp(w, "FOO"), NAME_TAKEN, NULL);
    world_close(w);
}

TEST(c002_reserved_words_are_refused_as_barclamp_names)
{
    static const char *const reserved[] = {"barclamp", "docs",    "machines",
                                           "users",    "support", "application"};
    struct world *w = world_open();
    EACH(name, reserved)
    REFUSED(w, cmd_barclamp(w, *name), NAME_INVALID, NULL);
    REFUSED(w, cmd_barclamp(w, "Users"), NAME_INVALID, NULL);
    world_close(w);
}

TEST(c003_bad_barclamp_names_are_refused)
{
    struct world *w = world_open();
    EACH(name, bad_names)
    REFUSED(w, cmd_barclamp(w, *name), NAME_INVALID, NULL);
    world_close(w);
}

TEST(c004_a_barclamp_without_version_reads_as_0_0)
{
    struct world *w = world_open();
    DONE(w, cmd_barclamp(w, "foo"));
    EXPECT_STR(shown(w, read_barclamp(w, "foo").version), "0.0");
    EXPECT_STR(shown(w, read_barclamp(w, "foo").build_version), "0.0");
    world_close(w);
}

/* ---- deployments ---- */

TEST(c005_a_deployment_name_is_used_once)
{
    struct world *w = world_open();
    world_deployment(w, "foo");
    REFUSED(w, cmd_deployment("foo"), NAME_TAKEN, "name");
    REFUSED(w, cmd_deployment("Foo"), NAME_TAKEN, "name");
    REFUSED(w, cmd_deployment("system"), NAME_TAKEN, "name");
    world_close(w);
}

TEST(c005_bad_deployment_names_are_refused)
{
    struct world *w = world_open();
    EACH(name, bad_names)
    REFUSED(w, cmd_deployment(*name), NAME_INVALID, "name");
    REFUSED(w, cmd_deployment("a23456789-123456789-123456789-123456789-123456789-123456"),
            NAME_INVALID, "name");
    DONE(w, cmd_deployment("a23456789-123456789-123456789-123456789-123456789-12345"));
    world_close(w);
}

TEST(c005_a_deployment_without_parent_is_below_system)
{
    struct world *w = world_open();
    struct record record;
    CHECK(core_record(w->core, TABLE_DEPLOYMENT, DONE(w, cmd_deployment("foo")), &record));
    CHECK(record.deployment.parent_id == SYSTEM);
    CHECK(!record.deployment.system);
    CHECK(core_record(w->core, TABLE_DEPLOYMENT, SYSTEM, &record));
    CHECK(record.deployment.system && record.deployment.parent_id == 0);
    world_close(w);
}

TEST(c005_a_new_deployment_has_a_phantom_node)
{
    struct world *w = world_open();
    struct record record;
    const int64_t foo = world_deployment(w, "foo");
    const int64_t id = core_find(w->core, TABLE_NODE, STR("foo-phantom.internal.local"));
    CHECK(id && core_record(w->core, TABLE_NODE, id, &record));
    CHECK(record.node.system && record.node.alive && !record.node.available);
    CHECK(record.node.deployment_id == foo);
    CHECK(str_eq(record.node.bootenv, STR("local")));
    CHECK(core_find(w->core, TABLE_NODE, STR("system-phantom.internal.local")) != 0);
    world_close(w);
}

/* ---- groups ---- */

TEST(c006_bad_group_names_are_refused)
{
    struct world *w = world_open();
    EACH(name, bad_names)
    REFUSED(w, cmd_group(*name, "rack"), NAME_INVALID, "name");
    world_close(w);
}

TEST(c007_a_group_name_is_used_once_per_category)
{
    struct world *w = world_open();
    DONE(w, cmd_group("foo", "rack"));
    REFUSED(w, cmd_group("foo", "rack"), NAME_TAKEN, "name");
    REFUSED(w, cmd_group("FOO", "rack"), NAME_TAKEN, "name");
    DONE(w, cmd_group("foo", "tag"));
    world_close(w);
}

TEST(c008_a_group_without_category_has_category_ui)
{
    struct world *w = world_open();
    const int64_t foo = DONE(w, cmd_group("foo", ""));
    EXPECT_STR(shown(w, read_group(w, foo).category), "ui");
    world_close(w);
}

TEST(c009_a_group_keeps_its_name_and_category)
{
    struct world *w = world_open();
    const int64_t foo = DONE(w, cmd_group("Foo_1", "rack"));
    EXPECT_STR(shown(w, read_group(w, foo).name), "Foo_1");
    EXPECT_STR(shown(w, read_group(w, foo).category), "rack");
    world_close(w);
}

TEST(c010_a_category_is_one_of_four)
{
    struct world *w = world_open();
    REFUSED(w, cmd_group("foo", "foo"), NONE, "category");
    DONE(w, cmd_group("foo", "class"));
    DONE(w, cmd_group("foo", "rack"));
    DONE(w, cmd_group("foo", "tag"));
    DONE(w, cmd_group("foo", "ui"));
    world_close(w);
}

/* ---- jigs ---- */

TEST(c011_a_jig_name_is_used_once)
{
    struct world *w = world_open();
    DONE(w, cmd_jig("foo", "noop"));
    REFUSED(w, cmd_jig("foo", "noop"), NAME_TAKEN, "name");
    REFUSED(w, cmd_jig("FOO", "noop"), NAME_TAKEN, "name");
    world_close(w);
}

TEST(c012_bad_jig_names_are_refused)
{
    struct world *w = world_open();
    EACH(name, bad_names)
    REFUSED(w, cmd_jig(*name, "noop"), NAME_INVALID, "name");
    world_close(w);
}

TEST(c013_a_jig_of_an_unknown_class_is_refused_by_name)
{
    struct world *w = world_open();
    HAS(REFUSED(w, cmd_jig("foo", "no-such-class"), CLASS_UNKNOWN, "class_name"), "no-such-class");
    world_close(w);
}

TEST(c013_a_jig_of_a_known_class_is_read_back_with_it)
{
    struct world *w = world_open();
    struct record record;
    const int64_t foo = DONE(w, cmd_jig("foo", "script"));
    CHECK(core_record(w->core, TABLE_JIG, foo, &record));
    EXPECT_STR(shown(w, record.jig.class_name), "script");
    world_close(w);
}

TEST(c013_an_imported_jig_of_an_unknown_class_is_kept_inactive_with_the_reason)
{
    struct world *w = world_open();
    struct record record;
    DONE(w, cmd_import(w, "{'barclamp':{'name':'x','source_path':'/src/x'},"
                          "'jigs':[{'name':'odd','class':'no-such-class'}]}"));
    const int64_t odd = core_find(w->core, TABLE_JIG, STR("odd"));
    CHECK(odd && core_record(w->core, TABLE_JIG, odd, &record));
    CHECK(!record.jig.active);
    HAS(shown(w, record.jig.inactive_reason), "no-such-class");
    world_close(w);
}

/* ---- nodes ---- */

/* Returns a node name "a.a.a ... .com" of `len` bytes. */
static const char *long_name(struct world *w, uint32_t len)
{
    char *name = arena_zalloc(&w->arena, len + 1u);
    for (uint32_t i = 0; i < len; i++)
        name[i] = i % 2 == 0 ? 'a' : '.';
    const char *tail = len % 2 == 0 ? "aa.com" : "a.com";
    memcpy(name + len - strlen(tail), tail, strlen(tail));
    return name;
}

TEST(c014_a_node_name_has_at_most_255_characters)
{
    struct world *w = world_open();
    DONE(w, cmd_named_node(long_name(w, 255)));
    REFUSED(w, cmd_named_node(long_name(w, 256)), NONE, "name");
    REFUSED(w, cmd_named_node(long_name(w, 300)), NONE, "name");
    world_close(w);
}

TEST(c015_bad_node_names_are_refused)
{
    static const char *const bad[] = {"foo",          "f!o.bar.com", " foo.bar.com", "f oo.bar.com",
                                      "foo.bar.com ", "foo.com",     "foo..com",     ".bar.com",
                                      "foo.bar.c",    "foo.bar.c0m", "foo.bar.com.", "12345"};
    struct world *w = world_open();
    EACH(name, bad)
    REFUSED(w, cmd_named_node(*name), NAME_INVALID, "name");
    REFUSED(w, cmd_named_node(""), NONE, "name");
    DONE(w, cmd_named_node("1foo-b_ar.7.com"));
    world_close(w);
}

TEST(c016_a_node_name_is_kept_in_lower_case)
{
    struct world *w = world_open();
    struct record record;
    const int64_t foo = DONE(w, cmd_named_node("Foo.Example.COM"));
    CHECK(core_record(w->core, TABLE_NODE, foo, &record));
    EXPECT_STR(shown(w, record.node.name), "foo.example.com");
    REFUSED(w, cmd_named_node("foo.example.com"), NAME_TAKEN, "name");
    REFUSED(w, cmd_named_node("FOO.example.com"), NAME_TAKEN, "name");
    CHECK(core_find(w->core, TABLE_NODE, STR("FOO.EXAMPLE.com")) == foo);
    world_close(w);
}

TEST(c016_a_rename_follows_the_same_rules)
{
    struct world *w = world_open();
    DONE(w, cmd_named_node("foo.example.com"));
    const int64_t bar = DONE(w, cmd_named_node("bar.example.com"));
    REFUSED(w,
            CMD(NODE_UPDATE, node_update, .id = bar, .given = GIVEN_NAME,
                .name = STR("FOO.example.com")),
            NAME_TAKEN, "name");
    REFUSED(w, CMD(NODE_UPDATE, node_update, .id = bar, .given = GIVEN_NAME, .name = STR("baz")),
            NAME_INVALID, "name");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = bar, .given = GIVEN_NAME,
                .name = STR("BAZ.example.com")));
    CHECK(core_find(w->core, TABLE_NODE, STR("baz.example.com")) == bar);
    CHECK(core_find(w->core, TABLE_NODE, STR("bar.example.com")) == 0);
    world_close(w);
}

TEST(c016_a_new_node_has_the_defaults_of_the_table)
{
    struct world *w = world_open();
    DONE(w, cmd_node(w, "n1"));
    const struct node_record n1 = read_node(w, "n1");
    CHECK(!n1.admin && !n1.system && !n1.allocated && !n1.alive && !n1.available);
    CHECK(n1.deployment_id == SYSTEM);
    CHECK(n1.target_role_id == 0);
    EXPECT_STR(shown(w, n1.bootenv), "sledgehammer");
    world_close(w);
}

/* ---- users ---- */

TEST(c019_a_username_is_used_once)
{
    struct world *w = world_open();
    DONE(w, cmd_user("fred", ""));
    REFUSED(w, cmd_user("fred", ""), NAME_TAKEN, "username");
    REFUSED(w, cmd_user("FRED", ""), NAME_TAKEN, "username");
    REFUSED(w, cmd_user("", ""), NONE, "username");
    world_close(w);
}

TEST(c019_good_email_addresses_are_accepted)
{
    static const char *const good[] = {"fred@example.com", "a.b+c@mail.example.org", "x_y@d-e.io"};
    static const char *const names[] = {"a", "b", "c"};
    struct world *w = world_open();
    for (int i = 0; i < 3; i++)
        DONE(w, cmd_user(names[i], good[i]));
    DONE(w, cmd_user("d", ""));
    DONE(w, cmd_user("e", ""));
    world_close(w);
}

TEST(c019_bad_email_addresses_are_rejected)
{
    static const char *const bad[] = {"fred", "fred@example", "@example.com", "a b@example.com"};
    struct world *w = world_open();
    EACH(email, bad)
    REFUSED(w, cmd_user("fred", *email), NONE, "email");
    world_close(w);
}

TEST(c019_an_email_address_is_used_once_whatever_its_case)
{
    struct world *w = world_open();
    DONE(w, cmd_user("fred", "Fred@Example.com"));
    REFUSED(w, cmd_user("barney", "fred@example.com"), NAME_TAKEN, "email");
    REFUSED(w, cmd_user("barney", "FRED@EXAMPLE.COM"), NAME_TAKEN, "email");
    world_close(w);
}

TEST(c019_username_and_email_are_kept_in_lower_case)
{
    struct world *w = world_open();
    struct record record;
    const int64_t fred = DONE(w, cmd_user("Fred", "Fred@Example.COM"));
    CHECK(core_record(w->core, TABLE_USER, fred, &record));
    EXPECT_STR(shown(w, record.user.username), "fred");
    EXPECT_STR(shown(w, record.user.email), "fred@example.com");
    CHECK(!record.user.is_admin && !record.user.is_locked);
    world_close(w);
}

TEST(c021_a_node_created_as_admin_is_the_admin_node)
{
    struct world *w = world_open();
    struct command command = cmd_node(w, "n1");
    command.node_create.admin = true;
    DONE(w, cmd_node(w, "n0"));
    const int64_t n1 = DONE(w, command);
    CHECK(read_node(w, "n1").admin);
    CHECK(!read_node(w, "n0").admin);
    CHECK(core_find(w->core, TABLE_NODE, STR("admin")) == n1);
    world_close(w);
}
