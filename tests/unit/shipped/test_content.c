/* Goal: the barclamps in barclamps/ are read, imported and bound without an error or a warning,
 * their Lua files define the functions that are called, and their scripts are valid shell.
 * Method: the real barclamp reader, hook finder and engine, and checks of the files themselves. */
#include "content/role_file.h"
#include "content/tree.h"
#include "hooks/code_finder.h"
#include "hooks/hooks.h"
#include "tests/unit/content/content_test.h"
#include "tests/world/live.h"

#include <dirent.h>
#include <sys/stat.h>

enum { BARCLAMPS = 8 };

static const char *shipped(struct world *w)
{
    return live_path(w, "barclamps");
}

/* With a network, so that the roles which are made for each network exist. */
static struct world *open_shipped(void)
{
    struct world *w = live_open();
    live_import(w, shipped(w));
    DONE(w, CMD(NETWORK_CREATE, network_create, .name = STR("lab"), .conduit = STR("1g0"),
                .given = GIVEN_NETWORK_CONDUIT));
    return w;
}

/* The name of the role whose files have this name. */
static const char *role_of_files(struct world *w, const char *name)
{
    for (int64_t id = core_next_id(w->core, TABLE_ROLE, 0); id;
         id = core_next_id(w->core, TABLE_ROLE, id)) {
        struct record row;
        CHECK(core_record(w->core, TABLE_ROLE, id, &row));
        if (same(row.role.per_name, name))
            return str_z(&w->arena, row.role.name);
    }
    return name;
}

/* ---- the tree of barclamps ---- */

TEST(the_shipped_tree_is_read_without_errors_and_warnings)
{
    struct bench b;
    bench_open(&b);
    struct world *w = live_open();
    struct code_finder code = {0};
    const struct hook_finder finder = code_finder_hook_finder(&code);
    const struct content_tree tree = content_read_tree(&b.report, shipped(w), &finder);
    CHECK(same(said(&b), ""));
    CHECK(tree.count == BARCLAMPS && same(tree.files[0].name, "crowbar"));
    for (uint32_t i = 1; i < tree.count; i++)
        CHECK(same(tree.files[i].parent, "crowbar"));
    live_close(w);
    bench_close(&b);
}

TEST(the_shipped_tree_is_imported_without_errors_and_warnings)
{
    struct world *w = open_shipped();
    CHECK(same(str_from(live_hook_log(w)), ""));
    live_close(w);
}

TEST(a_second_import_of_the_shipped_tree_changes_nothing)
{
    struct world *w = open_shipped();
    const struct digest128 before = core_digest_now(w->core);
    live_import(w, shipped(w));
    CHECK(digest_eq(before, core_digest_now(w->core)));
    live_close(w);
}

/* A site can list its own barclamps before the shipped ones, in any order. */
TEST(the_order_of_the_children_does_not_matter)
{
    struct bench b;
    bench_open(&b);
    struct world *there = live_open(), *back = live_open();
    struct code_finder code = {0};
    const struct hook_finder finder = code_finder_hook_finder(&code);
    const struct content_tree tree = content_read_tree(&b.report, shipped(there), &finder);
    for (uint32_t i = 0; i < tree.count; i++)
        DONE(there, CMD(IMPORT, import, .barclamp = tree.files[i].document));
    DONE(back, CMD(IMPORT, import, .barclamp = tree.files[0].document));
    for (uint32_t i = tree.count - 1; i > 0; i--)
        DONE(back, CMD(IMPORT, import, .barclamp = tree.files[i].document));
    for (int64_t id = core_next_id(there->core, TABLE_ROLE, 0); id;
         id = core_next_id(there->core, TABLE_ROLE, id)) {
        struct record row;
        CHECK(core_record(there->core, TABLE_ROLE, id, &row));
        const char *name = str_z(&b.arena, row.role.name);
        CHECK(row.role.cohort == read_role(back, name).cohort);
        CHECK(str_eq(row.role.template, read_role(back, name).template));
    }
    live_close(there);
    live_close(back);
    bench_close(&b);
}

/* ---- names ---- */

/* Checks that each string of a list, or the given member of each object in it, names a row of the
 * table. */
static void check_references(struct world *w, struct str list, enum table table, const char *member)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (!list.len)
        return;
    CHECK(json_read(&w->arena, list, &tree, &offset, &what) == OK);
    for (const struct json *item = tree->first; item; item = item->next) {
        const struct json *name = member ? json_get(item, str_from(member)) : item;
        if (!core_find(w->core, table, name->text))
            world_fail(HERE, "there is no %s %.*s", table_name(table), STR_FMT_ARGS(name->text));
    }
}

TEST(everything_a_shipped_role_names_exists)
{
    struct world *w = open_shipped();
    uint32_t count = 0;
    for (int64_t id = core_next_id(w->core, TABLE_ROLE, 0); id;
         id = core_next_id(w->core, TABLE_ROLE, id), count++) {
        struct record row;
        CHECK(core_record(w->core, TABLE_ROLE, id, &row));
        check_references(w, row.role.requires, TABLE_ROLE, NULL);
        check_references(w, row.role.provides, TABLE_ROLE, NULL);
        check_references(w, row.role.conflicts, TABLE_ROLE, NULL);
        check_references(w, row.role.wants, TABLE_ATTRIB, "name");
        CHECK(core_find(w->core, TABLE_JIG, row.role.jig_name));
        CHECK(row.role.description.len > 0);
    }
    CHECK(count == 34);
    for (int64_t id = core_next_id(w->core, TABLE_ATTRIB, 0); id;
         id = core_next_id(w->core, TABLE_ATTRIB, id)) {
        struct record row;
        CHECK(core_record(w->core, TABLE_ATTRIB, id, &row));
        /* test-discovery_data is the whole discovered data, so its map is empty. */
        const bool is_all = same(row.attrib.name, "test-discovery_data");
        CHECK(row.attrib.description.len > 0 && (row.attrib.map.len > 0 || is_all));
    }
    live_close(w);
}

TEST(the_roles_of_opencrowbar_keep_their_flags)
{
    struct world *w = open_shipped();
    CHECK(read_role(w, "crowbar-admin-node").flags == (ROLE_BOOTSTRAP | ROLE_MILESTONE));
    CHECK(read_role(w, "crowbar-managed-node").flags ==
          (ROLE_DISCOVERY | ROLE_IMPLICIT | ROLE_MILESTONE));
    CHECK(read_role(w, "provisioner-os-install").flags == (ROLE_DESTRUCTIVE | ROLE_IMPLICIT));
    CHECK(same(read_role(w, "provisioner-os-install").announces, "[\"wipe\",\"boot\",\"power\"]"));
    CHECK(read_role(w, "test-library").flags == (ROLE_IMPLICIT | ROLE_LIBRARY));
    CHECK(same(read_attrib(w, "test-random").map, "test/random"));
    CHECK(read_role(w, "test-admin").flags == ROLE_BOOTSTRAP);
    CHECK(read_role(w, "test-discovery").flags == (ROLE_BOOTSTRAP | ROLE_DISCOVERY));
    /* Only two roles are bound automatically, unless the test jig is active. */
    for (int64_t id = core_next_id(w->core, TABLE_ROLE, 0); id;
         id = core_next_id(w->core, TABLE_ROLE, id)) {
        struct record row;
        CHECK(core_record(w->core, TABLE_ROLE, id, &row));
        if (row.role.flags & (ROLE_BOOTSTRAP | ROLE_DISCOVERY))
            CHECK(str_starts(row.role.name, STR("crowbar-")) ||
                  str_eq(row.role.jig_name, STR("test")));
    }
    live_close(w);
}

/* ---- files ---- */

/* Calls `visit` for each entry of barclamps/<name>/<folder>, with its name without `suffix`.
 * Returns the number of entries. */
static uint32_t each_file(struct world *w, const char *folder, const char *suffix,
                          void (*visit)(struct world *, const char *barclamp, const char *path,
                                        const char *name))
{
    uint32_t count = 0;
    for (int64_t id = core_next_id(w->core, TABLE_BARCLAMP, 0); id;
         id = core_next_id(w->core, TABLE_BARCLAMP, id)) {
        struct record row;
        CHECK(core_record(w->core, TABLE_BARCLAMP, id, &row));
        const char *path = str_z(
            &w->arena, STR_CONCAT(&w->arena, row.barclamp.source_path, STR("/"), str_from(folder)));
        DIR *entries = opendir(path);
        for (const struct dirent *e = entries ? readdir(entries) : NULL; e; e = readdir(entries)) {
            struct str name = str_from(e->d_name);
            if (e->d_name[0] == '.')
                continue;
            CHECK(str_ends(name, str_from(suffix)));
            name = str_slice(name, 0, name.len - (uint32_t)strlen(suffix));
            const struct str file =
                STR_CONCAT(&w->arena, str_from(path), STR("/"), str_from(e->d_name));
            visit(w, str_z(&w->arena, row.barclamp.name), str_z(&w->arena, file),
                  str_z(&w->arena, name));
            count++;
        }
        if (entries)
            closedir(entries);
    }
    return count;
}

static const char *barclamp_of(struct world *w, const char *role)
{
    struct record row;
    CHECK(core_record(w->core, TABLE_BARCLAMP, read_role(w, role).barclamp_id, &row));
    return str_z(&w->arena, row.barclamp.name);
}

static void check_lua(struct world *w, const char *barclamp, const char *path, const char *role)
{
    struct hooks_report found;
    role = role_of_files(w, role);
    CHECK(hooks_inspect(path, &w->arena, &found) == OK);
    CHECK(same(found.functions.unknown, "") && same(found.text, ""));
    CHECK(found.functions.hooks || found.functions.has_do_transition);
    CHECK(strcmp(barclamp_of(w, role), barclamp) == 0);
    CHECK(read_role(w, role).hooks == found.functions.hooks);
    CHECK(found.functions.has_do_transition ==
          str_eq(read_role(w, role).jig_name, STR("role-provided")));
}

TEST(every_lua_file_belongs_to_a_role_and_defines_what_is_called)
{
    struct world *w = open_shipped();
    CHECK(each_file(w, "roles", ".lua", check_lua) == 18);
    live_close(w);
}

static void check_shell(const char *path)
{
    char command[1000];
    struct stat facts;
    snprintf(command, sizeof command, "sh -n '%s'", path);
    CHECK(system(command) == 0);
    CHECK(stat(path, &facts) == 0 && facts.st_mode & S_IXUSR);
}

static void check_scripts(struct world *w, const char *barclamp, const char *path, const char *role)
{
    uint32_t count = 0;
    role = role_of_files(w, role);
    CHECK(strcmp(barclamp_of(w, role), barclamp) == 0);
    CHECK(same(read_role(w, role).jig_name, "script"));
    DIR *entries = opendir(path);
    CHECK(entries != NULL);
    for (const struct dirent *e = readdir(entries); e; e = readdir(entries)) {
        if (e->d_name[0] == '.' || e->d_type == DT_DIR) /* scripts may keep other files in one */
            continue;
        CHECK(e->d_name[0] >= '0' && e->d_name[0] <= '9' && e->d_name[2] == '-');
        CHECK(str_ends(str_from(e->d_name), STR(".sh")));
        check_shell(
            str_z(&w->arena, STR_CONCAT(&w->arena, str_from(path), STR("/"), str_from(e->d_name))));
        count++;
    }
    closedir(entries);
    CHECK(count > 0);
}

TEST(every_script_is_shell_and_belongs_to_a_role_that_runs_it)
{
    struct world *w = open_shipped();
    uint32_t with_scripts = 0;
    const uint32_t folders = each_file(w, "scripts", "", check_scripts);
    for (int64_t id = core_next_id(w->core, TABLE_ROLE, 0); id;
         id = core_next_id(w->core, TABLE_ROLE, id)) {
        struct record row;
        CHECK(core_record(w->core, TABLE_ROLE, id, &row));
        with_scripts += str_eq(row.role.jig_name, STR("script"));
    }
    CHECK(folders == with_scripts);
    check_shell(live_path(w, "barclamps/crowbar/templates/script-runner.sh"));
    live_close(w);
}

static void check_readme(struct world *w, const char *barclamp)
{
    struct stat facts;
    const struct str file =
        STR_CONCAT(&w->arena, STR("barclamps/"), str_from(barclamp), STR("/README.md"));
    CHECK(stat(live_path(w, str_z(&w->arena, file)), &facts) == 0 && facts.st_size > 200);
}

TEST(every_barclamp_has_a_readme)
{
    struct world *w = open_shipped();
    for (int64_t id = core_next_id(w->core, TABLE_BARCLAMP, 0); id;
         id = core_next_id(w->core, TABLE_BARCLAMP, id)) {
        struct record row;
        CHECK(core_record(w->core, TABLE_BARCLAMP, id, &row));
        check_readme(w, str_z(&w->arena, row.barclamp.name));
    }
    live_close(w);
}
