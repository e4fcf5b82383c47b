/* Goal: the engine accepts the documents that are read from files, and its problems get their
 * lines. Method: directories of files, imported into the real core as in the daemon. */
#include "content/role_file.h"
#include "content/tree.h"
#include "model/limits.h"
#include "tests/unit/content/content_disk.h"
#include "tests/world/world.h"

#include <time.h>

/* How the chain of a cycle is reported. */
#define CYCLE      "the roles require each other in a cycle: "
#define CYCLE_SELF "the role requires itself: "
#define CYCLE_END                                                                                  \
    "; each role requires the next one, by its own `requires` or by the `attaches` of the next "   \
    "one: remove one of these entries"

/* The test's Lua: each line is the name of a hook. */
static void find_hooks(void *self, const char *lua_path, struct diagnostics *r, struct json *names)
{
    char line[100];
    FILE *f = fopen(lua_path, "r");
    CHECK(f && !self);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        json_append(names, json_make_string(r->arena, str_copy(r->arena, str_from(line))));
    }
    fclose(f);
}

static const struct hook_finder finder = {.find = find_hooks};

static struct content_tree read_disk(struct bench *b, const char *folder)
{
    return content_read_tree(&b->report, on_disk(b, folder), &finder);
}

static struct command importing(const struct barclamp_file *file)
{
    return CMD(IMPORT, import, .barclamp = file->document);
}

/* Every file must get in at its first try. */
static void import_all(struct world *w, struct bench *b, const struct content_tree *tree)
{
    for (uint32_t i = 0; i < tree->count; i++) {
        DONE(w, importing(&tree->files[i]));
        content_report_warnings(&b->report, &tree->files[i], w->out.doc);
    }
}

static void write_checkout(void)
{
    disk_write("core/crowbar.yml", "# The workload\n"
                                   "barclamp:\n"
                                   "  name: core\n"
                                   "  display: Core\n"
                                   "  description: The base of everything\n"
                                   "  version: 2.0\n"
                                   "  source_url: http://example.com/core\n"
                                   "crowbar:\n"
                                   "  layout: 2.0\n"
                                   "git:\n"
                                   "  commit: 0a1b2c3d\n"
                                   "  date: Thu Mar 13 12:00:00 CET 2014\n"
                                   "os_support:\n"
                                   "  - ubuntu-12.04\n"
                                   "jigs:\n"
                                   "  - name: noop\n"
                                   "    class: NoopJig\n"
                                   "  - name: script\n"
                                   "    class: BarclampCrowbar::Jig\n"
                                   "    description: Scripts over a shell\n"
                                   "hammers:\n"
                                   "  - name: ssh\n"
                                   "    type: SecureShellHammer\n"
                                   "    priority: 0\n"
                                   "debs:\n"
                                   "  ubuntu-12.04:\n"
                                   "    repos: [deb http://example.com precise main]\n"
                                   "    pkgs: [curl, jq]\n"
                                   "rpms:\n"
                                   "  pkgs: [curl]\n"
                                   "gems:\n"
                                   "  required_pkgs: [json]\n"
                                   "extra_files:\n"
                                   "  - http://example.com/file files/x\n");
    disk_write("core/barclamps/deployer.yml", "barclamp:\n"
                                              "  name: deployer\n"
                                              "  parent: deployer\n"
                                              "roles:\n"
                                              "  - name: admin-node\n"
                                              "    jig: noop\n"
                                              "    flags: [bootstrap, implicit]\n"
                                              "  - name: managed-node\n"
                                              "    jig: noop\n"
                                              "    flags:\n"
                                              "      - discovery\n"
                                              "      - implicit\n"
                                              "      - milestone\n"
                                              "    attribs:\n"
                                              "      - name: claimed-disks\n"
                                              "        description: Disks in use\n"
                                              "        map: 'claimed/disks'\n"
                                              "        schema:\n"
                                              "          type: map\n"
                                              "          mapping:\n"
                                              "            '=':\n"
                                              "              type: str\n"
                                              "              required: true\n"
                                              "attribs:\n"
                                              "  - name: number_of_drives\n"
                                              "    description: How many drives there are\n"
                                              "    map: ohai/drives\n"
                                              "  - name: bmc_address\n"
                                              "    map: bmc/address\n"
                                              "    default: 0.0.0.0\n"
                                              "    schema:\n"
                                              "      type: str\n"
                                              "      pattern: '/^[0-9.]+$/'\n");
    disk_write("core/barclamps/apps.yml", "barclamp:\n"
                                          "  name: apps\n"
                                          "  parent: core\n"
                                          "roles:\n"
                                          "  - name: database\n"
                                          "    jig: script\n"
                                          "    type: BarclampApps::Database\n"
                                          "    flags: [service, cluster, destructive, server]\n"
                                          "    requires: [managed-node]\n"
                                          "    provides: [storage]\n"
                                          "    conflicts: [flat-files]\n"
                                          "    announces: [wipe]\n"
                                          "    wants-attribs:\n"
                                          "      - number_of_drives\n"
                                          "      - name: claimed-disks\n"
                                          "        at: apps/disks\n"
                                          "    attribs:\n"
                                          "      - name: port\n"
                                          "        map: db/port\n"
                                          "        default: 5432\n"
                                          "        schema: {type: int, required: true}\n"
                                          "  - name: monitor\n"
                                          "    jig: puppet-sa\n"
                                          "    attaches: [database]\n");
    disk_write("core/roles/database.lua", "on_active\non_node_change\n");
    disk_write("core/script/roles/database/01-install.sh", "exit 0\n");
}

TEST(a_checkout_is_taken_by_the_engine)
{
    struct bench b;
    disk_open();
    bench_open(&b);
    write_checkout();
    struct world *w = world_open();
    const struct content_tree tree = read_disk(&b, "core");
    CHECK(tree.count == 3 && same(told(&b), ""));
    CHECK(same(tree.files[0].name, "core") && same(tree.files[2].name, "apps"));
    import_all(w, &b, &tree);
    CHECK(same(told(&b), "warning /core/barclamps/apps.yml:23: roles/1/jig: jig puppet-sa is not "
                         "known here; the role cannot run\n"));
    const struct role_record role = read_role(w, "database");
    EXPECT_STR(shown(w, role.requires), "['managed-node','monitor']");
    EXPECT_STR(shown(w, role.provides), "['storage']");
    EXPECT_STR(shown(w, role.wants),
               "[{'at':'','name':'number_of_drives'},{'at':'apps/disks','name':'claimed-disks'}]");
    CHECK(role.flags == (ROLE_SERVICE | ROLE_CLUSTER | ROLE_DESTRUCTIVE | ROLE_SERVER));
    CHECK(role.hooks == (1u << HOOK_ACTIVE | 1u << HOOK_NODE_CHANGE));
    CHECK(same(role.class_name, "BarclampApps::Database") && same(role.announces, "[\"wipe\"]"));
    EXPECT_STR(shown(w, read_attrib(w, "port").default_value), "{'value':5432}");
    struct record core_row;
    CHECK(core_record(w->core, TABLE_BARCLAMP, core_find(w->core, TABLE_BARCLAMP, STR("core")),
                      &core_row));
    CHECK(same(core_row.barclamp.version, "2.0") && same(core_row.barclamp.commit, "0a1b2c3d"));
    CHECK(same(core_row.barclamp.source_path, on_disk(&b, "core")));
    CHECK(same(core_row.barclamp.cfg_data, str_z(&b.arena, tree.files[0].document)));
    EXPECT_STR(world_path(w, core_row.barclamp.cfg_data, "debs/ubuntu-12.04/pkgs"),
               "['curl','jq']");
    /* The source path that the engine keeps leads to the role's files. */
    const char *scripts;
    CHECK(content_role_file(&b.arena, core_row.barclamp.source_path, STR("database"),
                            ROLE_FILE_SCRIPTS, &scripts) == OK);
    CHECK(str_ends(str_from(scripts), STR("/core/script/roles/database")));
    world_close(w);
    bench_close(&b);
    disk_close();
}

TEST(the_same_tree_again_changes_nothing)
{
    struct bench b;
    disk_open();
    bench_open(&b);
    write_checkout();
    struct world *w = world_open();
    struct content_tree tree = read_disk(&b, "core");
    import_all(w, &b, &tree);
    world_collect(w);
    const struct digest128 before = core_digest_now(w->core);
    tree = read_disk(&b, "core");
    import_all(w, &b, &tree);
    CHECK(core_changed(w->core) == 0 && digest_eq(before, core_digest_now(w->core)));
    world_close(w);
    bench_close(&b);
    disk_close();
}

TEST(what_the_engine_refuses_has_its_line)
{
    struct bench b;
    disk_open();
    bench_open(&b);
    disk_write("a/a.yml", "barclamp:\n"
                          "  name: a\n"
                          "  parent: missing\n"
                          "roles:\n"
                          "  - name: one\n"
                          "    jig: noop\n"
                          "    requires:\n"
                          "      - two\n"
                          "  - name: two\n"
                          "    jig: noop\n"
                          "    requires: [one]\n"
                          "  - name: one\n"
                          "    jig: noop\n"
                          "    attribs:\n"
                          "      - name: x\n"
                          "        map: '//'\n");
    struct world *w = world_open();
    const struct content_tree tree = read_disk(&b, "a");
    CHECK(tree.count == 1 && same(told(&b), ""));
    REFUSED(w, importing(&tree.files[0]), NONE, NULL);
    content_report_problems(&b.report, &tree.files[0], w->out.problems);
    diagnostics_sort(&b.report);
    const struct str all = told(&b);
    HAS(str_z(&b.arena, all),
        "error /a/a.yml:3: barclamp/parent: there is no barclamp called missing\n");
    HAS(str_z(&b.arena, all), "error /a/a.yml:12: roles/2/name: role one is defined twice\n");
    HAS(str_z(&b.arena, all), "error /a/a.yml:16: roles/2/attribs/0/map: ");
    world_close(w);
    bench_close(&b);
    disk_close();
}

TEST(a_circle_of_roles_is_refused_with_its_line)
{
    struct bench b;
    disk_open();
    bench_open(&b);
    disk_write("a/a.yml", "barclamp: {name: a}\n"
                          "roles:\n"
                          "  - {name: one, jig: noop, requires: [two]}\n"
                          "  - {name: two, jig: noop, requires: [one]}\n");
    struct world *w = world_open();
    const struct content_tree tree = read_disk(&b, "a");
    REFUSED(w, importing(&tree.files[0]), ROLE_CYCLE, NULL);
    content_report_problems(&b.report, &tree.files[0], w->out.problems);
    CHECK(b.report.errors && b.report.first->at.line >= 3 && b.report.first->at.line <= 4);
    world_close(w);
    bench_close(&b);
    disk_close();
}

/* ---- drafts ---- */

static void rehearse(struct world *w, struct bench *b, const struct content_tree *tree)
{
    struct str texts[8];
    struct outcome outcomes[8];
    CHECK(tree->draft_count <= 8);
    for (uint32_t i = 0; i < tree->draft_count; i++)
        texts[i] = tree->drafts[i].draft;
    const struct digest128 before = core_digest_now(w->core);
    core_import_dry_run(w->core, texts, tree->draft_count, &b->arena, outcomes);
    CHECK(digest_eq(before, core_digest_now(w->core)) && !core_check(w->core, &b->arena));
    for (uint32_t i = 0; i < tree->draft_count; i++)
        content_report_draft(&b->report, tree, i, outcomes[i].problems);
    diagnostics_sort(&b->report);
}

/* What reader and engine say to files with errors. */
static bool both_say(struct bench *b, const char *wanted)
{
    struct world *w = world_open();
    bench_open(b);
    const struct content_tree tree = read_disk(b, "s");
    import_all(w, b, &tree);
    rehearse(w, b, &tree);
    const bool is_same = same(told(b), wanted);
    world_close(w);
    bench_close(b);
    return is_same;
}

TEST(the_engine_has_its_say_on_files_with_errors)
{
    struct bench b;
    disk_open();
    disk_write("s/base/base.yml", "barclamp: {name: base}\n"
                                  "jigs: [{name: noop, class: noop}]\n"
                                  "attribs: [{name: size}]\n"
                                  "roles: [{name: taken, jig: noop, requires: [first]}]\n");
    disk_write("s/a/a.yml", "barclamp: {name: a, parent: missing, version: [1]}\n"
                            "jigs: [{name: j}, {name: k, class: noop}, {name: k, class: noop}]\n"
                            "attribs: [{name: size}, {name: 'a b', map: '//'}, 7]\n"
                            "roles:\n"
                            "  - {name: taken, jig: noop}\n"
                            "  - {name: first, jig: noop, requires: [taken, 'x y'], flags: no}\n"
                            "  - {name: lone, requires: [lone], attribs: [{name: e, map: '/'}]}\n"
                            "  - {jig: noop, wants-attribs: [{at: 'a//b'}, {name: f, at: '/'}]}\n"
                            "  - {name: lone, jig: noop}\n");
    CHECK(both_say(
        &b,
        "error /s/a/a.yml:1: barclamp/parent: there is no barclamp called missing\n"
        "error /s/a/a.yml:1: version must be a string, not a list\n"
        "error /s/a/a.yml:2: a jig must have a class\n"
        "error /s/a/a.yml:2: jigs/2/name: jig k is defined twice\n"
        "error /s/a/a.yml:3: attribs/0/name: attrib size belongs to base\n"
        "error /s/a/a.yml:3: name may contain only letters, digits, dashes, underscores and dots:"
        " \"a b\"\n"
        "error /s/a/a.yml:3: attribs/1/map: map must not begin or end with a slash\n"
        "error /s/a/a.yml:3: attribs must be a list of maps, this is a number\n"
        "error /s/a/a.yml:5: roles/0/name: role taken belongs to barclamp base\n"
        "error /s/a/a.yml:6: roles/1: " CYCLE "taken -> first -> taken" CYCLE_END "\n"
        "error /s/a/a.yml:6: a name in requires may contain only letters, digits, dashes and "
        "underscores: \"x y\"\n"
        "error /s/a/a.yml:6: flags must be a list, not the boolean false\n"
        "error /s/a/a.yml:7: a role must have a jig\n"
        "error /s/a/a.yml:7: roles/2: " CYCLE_SELF "lone -> lone" CYCLE_END "\n"
        "error /s/a/a.yml:7: roles/2/attribs/0/map: map must not begin or end with a slash\n"
        "error /s/a/a.yml:8: a role must have a name\n"
        "error /s/a/a.yml:8: a wanted attrib must have a name\n"
        "error /s/a/a.yml:8: roles/3/wants-attribs/0/at: at must not have an empty step\n"
        "error /s/a/a.yml:8: roles/3/wants-attribs/1/at: at must not begin or end with a slash\n"
        "error /s/a/a.yml:9: roles/4/name: role lone is defined twice\n"));
    disk_close();
}

/* The errors themselves are left out of the drafts, so that these get in for each other. */
TEST(files_with_errors_see_each_other)
{
    struct bench b;
    disk_open();
    disk_write("s/a/a.yml", "barclamp: {name: a, version: [1]}\n"
                            "jigs: [{name: noop, class: noop}]\n"
                            "roles: [{name: ra, jig: noop, requires: [rb, 7]}]\n");
    disk_write("s/b/b.yml", "barclamp: {name: b, parent: a}\n"
                            "attribs: [{name: size, schema: {type: blue}}]\n"
                            "roles: [{name: rb, jig: noop, requires: [ra]}]\n");
    disk_write("s/c/c.yml", "barclamp: {name: c, parent: b, version: *v}\n"
                            "attribs: [{name: size}]\n"
                            "roles: [{name: ra, jig: noop}]\n");
    CHECK(both_say(
        &b,
        "error /s/a/a.yml:1: version must be a string, not a list\n"
        "error /s/a/a.yml:3: requires must be a list of names, this is a number\n"
        "error /s/b/b.yml:2: in the schema of attrib size, /type must be one of str, int, bool, "
        "seq, map, any, scalar, float, number, text\n"
        "error /s/b/b.yml:3: roles/0: " CYCLE "ra -> rb -> ra" CYCLE_END "\n"
        "error /s/c/c.yml:1: unknown anchor &v\n"
        "error /s/c/c.yml:3: roles/0/name: role ra belongs to barclamp a\n"));
    disk_close();
}

/* Only what the engine says of its own accord: not that the parent is missing, which does not
 * read, and not that a draft lacks what was left out of it. */
TEST(problems_that_follow_from_errors_are_not_reported)
{
    struct bench b;
    disk_open();
    disk_write("s/a/a.yml", "barclamp: {name: a, parent: [x]}\n"
                            "roles: [{name: r, jig: [x]}, {jig: [y]}, x, {name: r, jig: j}]\n"
                            "hammers: [{name: h, type: [x], priority: low}]\n");
    disk_write("s/b/b.yml", "barclamp: {name: b, parent: a}\n"
                            "roles: {name: r}\n");
    disk_write("s/c/c.yml", "barclamp: {name: c, parent: x}\n"
                            "roles: {name: r}\n");
    disk_write("s/d/d.yml", "roles: [{name: q, jig: j}]\n");
    disk_write("s/e/e.yml", "barclamp: [e]\nroles: [{name: q, jig: j}]\n");
    CHECK(both_say(&b, "error /s/a/a.yml:1: parent must be a string, not a list\n"
                       "error /s/a/a.yml:2: jig must be a string, not a list\n"
                       "error /s/a/a.yml:2: a role must have a name\n"
                       "error /s/a/a.yml:2: jig must be a string, not a list\n"
                       "error /s/a/a.yml:2: roles must be a list of maps, this is a string\n"
                       "error /s/a/a.yml:2: roles/3/name: role r is defined twice\n"
                       "error /s/a/a.yml:3: type must be a string, not a list\n"
                       "error /s/a/a.yml:3: priority must be a whole number, not below 0\n"
                       "error /s/b/b.yml:2: roles must be a list, not a map\n"
                       "error /s/c/c.yml:1: barclamp/parent: there is no barclamp called x\n"
                       "error /s/c/c.yml:2: roles must be a list, not a map\n"
                       "error /s/d/d.yml:1: a barclamp's file must have a barclamp\n"
                       "error /s/e/e.yml:1: barclamp must be a map, not a list\n"));
    disk_close();
}

/* Everything that passes the check of shapes also passes the engine's, as long as names fit. */
TEST(shapes_that_pass_here_pass_the_engine)
{
    static const char *const pieces[] = {
        "jigs: [{name: j, class: noop, description: , implementor: r}]",
        "hammers: [{name: h, type: ssh, priority: 4294967295}]",
        "attribs: [{name: a.b-c_d, map: , schema: , default: [1, {x: y}], writable: no}]",
        "roles: [{name: r, jig: j, description: 12, flags: [], requires: , wants-attribs: []}]",
        "roles: [{name: r, jig: j, wants-attribs: [a, {name: b, at: }, {name: c, at: x/y}]}]",
        "git: {commit: 12345, date: }",
        "roles: [{name: r, jig: j, attribs: [{name: a, schema: {type: seq, sequence: [{}]}}]}]",
        "crowbar:\nos_support:\ndebs:\n",
    };
    for (uint32_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct bench b;
        bench_open(&b);
        struct barclamp_file file = {.path = "f.yml", .source_path = STR("/src"), .is_yaml = true};
        barclamp_from_yaml(&b.report,
                           STR_CONCAT(&b.arena, STR("barclamp: {name: a}\n"), str_from(pieces[i])),
                           NULL, &file);
        CHECK(same(said(&b), ""));
        struct world *w = world_open();
        DONE(w, importing(&file));
        world_close(w);
        bench_close(&b);
    }
}

/* ---- speed: printed, not checked ---- */

enum { BARCLAMPS = 200, ROLES = 10 };

static void write_many(struct bench *b)
{
    for (uint32_t i = 0; i < BARCLAMPS; i++) {
        char path[100], head[200];
        struct buf text = buf_in(&b->arena);
        snprintf(path, sizeof path, "many/bc%03u/bc%03u.yml", i, i);
        snprintf(head, sizeof head, "barclamp:\n  name: bc%03u\n  version: 1.0\n%sroles:\n", i,
                 i ? "" : "jigs:\n  - {name: script, class: script}\n");
        buf_put_z(&text, head);
        for (uint32_t k = 0; k < ROLES; k++) {
            char role[1000], requires[100] = "";
            const uint32_t n = i * ROLES + k;
            if (n)
                snprintf(requires, sizeof requires,
                         "    requires:\n      - role-%04u\n    wants-attribs:\n"
                         "      - attrib-%04u\n",
                         n / 2, n / 2);
            snprintf(role, sizeof role,
                     "  - name: role-%04u\n"
                     "    jig: script\n"
                     "    description: One of many roles\n"
                     "    flags:\n"
                     "      - implicit\n"
                     "%s"
                     "    attribs:\n"
                     "      - name: attrib-%04u\n"
                     "        description: A value of the role\n"
                     "        map: many/r%04u\n"
                     "        default: 7\n"
                     "        schema:\n"
                     "          type: int\n"
                     "          required: true\n",
                     n, requires, n, n);
            buf_put_z(&text, role);
        }
        disk_write(path, str_z(&b->arena, buf_str(&text)));
    }
}

static double now_ms(void)
{
    struct timespec t;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

TEST(two_thousand_roles_in_two_hundred_barclamps)
{
    struct bench b;
    disk_open();
    bench_open(&b);
    write_many(&b);
    const double begin = now_ms();
    const struct content_tree tree = read_disk(&b, "many");
    const double read = now_ms();
    CHECK(tree.count == BARCLAMPS && same(told(&b), ""));
    struct world *w = world_open();
    const double ready = now_ms();
    struct arena arena = {0};
    for (uint32_t i = 0; i < tree.count; i++) {
        struct command command = importing(&tree.files[i]);
        struct effects effects = {0};
        struct outcome outcome = {0};
        core_step(w->core, &command, &arena, &effects, &outcome);
        CHECK(outcome.verdict == VERDICT_DONE);
        arena_reset(&arena);
    }
    const double done = now_ms();
    printf("%d roles in %d barclamps: read in %.1f ms, imported in %.1f ms\n", BARCLAMPS * ROLES,
           BARCLAMPS, read - begin, done - ready);
    CHECK(the_role(w, "role-1999") > 0);
    arena_fini(&arena);
    world_close(w);
    bench_close(&b);
    disk_close();
}
