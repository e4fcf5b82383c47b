/* Goal: the access level and the grants of a user are stored as given, and only valid ones are
 * accepted; an admin that is not locked always remains. Method: commands through the core, each
 * refusal once; a reload; records that are altered outside the core, which a load must refuse. */
#include "core/core_private.h"
#include "tests/world/world.h"

static struct command cmd_user(const char *name)
{
    return CMD(USER_CREATE, user_create, .username = str_from(name));
}

static struct command cmd_update(int64_t id, uint32_t given)
{
    return CMD(USER_UPDATE, user_update, .id = id, .given = given);
}

static struct user_record read_user(struct world *w, int64_t id)
{
    struct record record;
    CHECK(core_record(w->core, TABLE_USER, id, &record));
    return record.user;
}

static int64_t add_admin(struct world *w, const char *name)
{
    struct command command = cmd_user(name);
    command.user_create.is_admin = true;
    return DONE(w, command);
}

static struct command cmd_grants(struct world *w, int64_t id, const char *grants)
{
    struct command command = cmd_update(id, GIVEN_USER_GRANTS);
    command.user_update.grants = world_json(w, grants);
    return command;
}

/* ---- levels ---- */

TEST(levels_have_names)
{
    CHECK(str_eq(str_from(access_name(ACCESS_NONE)), STR("")));
    for (uint32_t i = ACCESS_VIEWER; i < ACCESS_COUNT; i++)
        CHECK(access_find(str_from(access_name((enum access)i))) == i);
    CHECK(access_find(STR("operator")) == ACCESS_OPERATOR);
    CHECK(access_find(STR("viewer")) < access_find(STR("operator")));
    CHECK(access_find(STR("operator")) < access_find(STR("admin")));
    CHECK(access_find(STR("")) == ACCESS_NONE && access_find(STR("Admin")) == ACCESS_NONE);
}

TEST(a_new_user_is_an_operator_by_default)
{
    struct world *w = world_open();
    const int64_t ann = DONE(w, cmd_user("ann"));
    CHECK(read_user(w, ann).access == ACCESS_OPERATOR && read_user(w, ann).grants.len == 0);
    struct command bob = cmd_user("bob");
    bob.user_create.access = ACCESS_VIEWER;
    CHECK(read_user(w, DONE(w, bob)).access == ACCESS_VIEWER);
    world_close(w);
}

TEST(a_level_is_viewer_or_operator)
{
    struct world *w = world_open();
    const int64_t ann = DONE(w, cmd_user("ann"));
    static const uint32_t wrong[] = {ACCESS_ADMIN, ACCESS_COUNT, UINT32_MAX};
    for (uint32_t i = 0; i < 3; i++) {
        struct command create = cmd_user("bob"), update = cmd_update(ann, GIVEN_USER_ACCESS);
        create.user_create.access = update.user_update.access = wrong[i];
        REFUSED(w, create, BAD_VALUE, "access");
        REFUSED(w, update, BAD_VALUE, "access");
    }
    REFUSED(w, cmd_update(ann, GIVEN_USER_ACCESS), BAD_VALUE, "access");
    struct command lower = cmd_update(ann, GIVEN_USER_ACCESS);
    lower.user_update.access = ACCESS_VIEWER;
    DONE(w, lower);
    CHECK(read_user(w, ann).access == ACCESS_VIEWER);
    /* Fields that are not given stay. */
    DONE(w, cmd_update(ann, GIVEN_USER_EMAIL));
    CHECK(read_user(w, ann).access == ACCESS_VIEWER);
    world_close(w);
}

/* ---- grants ---- */

TEST(grants_are_kept_as_they_were_given)
{
    struct world *w = world_open();
    const int64_t d = world_deployment(w, "d");
    CHECK(d == 2);
    struct command create = cmd_user("ann");
    create.user_create.grants = world_json(w, "{'2':'viewer'}");
    const int64_t ann = DONE(w, create);
    EXPECT_STR(shown(w, read_user(w, ann).grants), "{'2':'viewer'}");
    DONE(w, cmd_grants(w, ann, "{'2':'operator','1':'viewer'}"));
    world_reload(w);
    EXPECT_STR(shown(w, read_user(w, ann).grants), "{'1':'viewer','2':'operator'}");
    DONE(w, cmd_grants(w, ann, "{}"));
    CHECK(read_user(w, ann).grants.len == 0);
    world_close(w);
}

TEST(grants_name_deployments_and_levels)
{
    static const char *const wrong[] = {"{'9':'viewer'}",  "{'0':'viewer'}", "{'-1':'viewer'}",
                                        "{'01':'viewer'}", "{'':'viewer'}",  "{'system':'viewer'}",
                                        "{'1':'admin'}",   "{'1':''}",       "{'1':2}",
                                        "{'1':null}",      "{'1':'Viewer'}", "{'1 ':'viewer'}"};
    struct world *w = world_open();
    const int64_t ann = DONE(w, cmd_user("ann"));
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct command create = cmd_user("bob");
        create.user_create.grants = world_json(w, wrong[i]);
        REFUSED(w, create, BAD_VALUE, "grants");
        REFUSED(w, cmd_grants(w, ann, wrong[i]), BAD_VALUE, "grants");
    }
    REFUSED(w, cmd_grants(w, ann, "['1']"), BAD_JSON, "grants");
    REFUSED(w, cmd_grants(w, ann, "'operator'"), BAD_JSON, "grants");
    REFUSED(w, cmd_grants(w, ann, "{'99999999999999999999':'viewer'}"), BAD_VALUE, "grants");
    const char *why = REFUSED(w, cmd_grants(w, ann, "{'7':'viewer'}"), BAD_VALUE, "grants");
    HAS(why, "deployment with id 7");
    world_close(w);
}

/* Grants stay when their deployment is deleted; its id is not used again. */
TEST(a_grant_may_outlive_its_deployment_but_not_be_made_after_it)
{
    struct world *w = world_open();
    const int64_t d = world_deployment(w, "d");
    CHECK(d == 2);
    const int64_t ann = DONE(w, cmd_user("ann")), bob = DONE(w, cmd_user("bob"));
    DONE(w, cmd_grants(w, ann, "{'2':'viewer'}"));
    DONE(w, CMD(DEPLOYMENT_DELETE, deployment_delete, .id = d));
    DONE(w, cmd_grants(w, ann, "{'1':'operator','2':'viewer'}"));
    DONE(w, cmd_update(ann, GIVEN_USER_EMAIL));
    REFUSED(w, cmd_grants(w, bob, "{'2':'viewer'}"), BAD_VALUE, "grants");
    DONE(w, cmd_grants(w, ann, "{'1':'operator'}"));
    REFUSED(w, cmd_grants(w, ann, "{'2':'viewer'}"), BAD_VALUE, "grants");
    world_reload(w);
    world_close(w);
}

/* ---- the last admin ---- */

static struct command cmd_demote(int64_t id)
{
    return cmd_update(id, GIVEN_USER_IS_ADMIN);
}

static struct command cmd_lock(int64_t id)
{
    struct command command = cmd_update(id, GIVEN_USER_IS_LOCKED);
    command.user_update.is_locked = true;
    return command;
}

TEST(the_last_admin_stays)
{
    struct world *w = world_open();
    const int64_t ann = add_admin(w, "ann");
    DONE(w, cmd_user("bob"));
    REFUSED(w, CMD(USER_DELETE, user_delete, .id = ann), LAST_ADMIN, "id");
    REFUSED(w, cmd_demote(ann), LAST_ADMIN, "is_admin");
    const char *why = REFUSED(w, cmd_lock(ann), LAST_ADMIN, "is_locked");
    HAS(why, "last admin");
    CHECK(problem_status(PROBLEM_LAST_ADMIN) == 409);
    /* All other fields may change. */
    struct command other = cmd_update(ann, GIVEN_USER_USERNAME | GIVEN_USER_ACCESS);
    other.user_update.username = STR("anna");
    other.user_update.access = ACCESS_VIEWER;
    DONE(w, other);
    world_close(w);
}

TEST(with_another_admin_the_first_may_be_deleted)
{
    struct world *w = world_open();
    const int64_t ann = add_admin(w, "ann"), bob = add_admin(w, "bob");
    DONE(w, cmd_lock(ann));
    /* A locked admin cannot unlock others and does not count. */
    REFUSED(w, cmd_demote(bob), LAST_ADMIN, "is_admin");
    REFUSED(w, CMD(USER_DELETE, user_delete, .id = bob), LAST_ADMIN, "id");
    DONE(w, CMD(USER_DELETE, user_delete, .id = ann));
    const int64_t cid = add_admin(w, "cid");
    DONE(w, cmd_demote(bob));
    REFUSED(w, cmd_lock(cid), LAST_ADMIN, "is_locked");
    DONE(w, CMD(USER_DELETE, user_delete, .id = bob));
    world_close(w);
}

/* Without any admin, a user that is not an admin may be deleted. */
TEST(without_an_admin_every_user_may_be_deleted)
{
    struct world *w = world_open();
    const int64_t ann = DONE(w, cmd_user("ann"));
    DONE(w, cmd_lock(ann));
    DONE(w, CMD(USER_DELETE, user_delete, .id = ann));
    world_close(w);
}

/* ---- load ---- */

TEST(a_load_refuses_invalid_levels)
{
    static const uint32_t wrong[] = {ACCESS_NONE, ACCESS_ADMIN, ACCESS_COUNT, UINT32_MAX};
    struct world *w = world_open();
    DONE(w, cmd_user("ann"));
    world_reload(w);
    for (uint32_t i = 0; i < 4; i++) {
        struct core *c = core_new();
        const char *what = NULL;
        err e = OK;
        for (size_t k = 0; e == OK && k < w->kept_count && w->kept[k].table <= TABLE_USER; k++) {
            struct record record = w->kept[k];
            if (record.table == TABLE_USER)
                record.user.access = wrong[i];
            e = core_load(c, &record, &what);
        }
        CHECK(e == ERR_CORRUPT && what);
        core_free(c);
    }
    world_close(w);
}
