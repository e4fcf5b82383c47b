/* Goal: the check without a daemon reports the same problems as the engine.
 * Method: directories of files; the report is compared as one string, with relative paths. */
#include "base/text/buf.h"
#include "check/barclamp_check.h"
#include "tests/unit/cli/cli_disk.h"

/* How the chain of a cycle is reported. */
#define CYCLE      "the roles require each other in a cycle: "
#define CYCLE_SELF "the role requires itself: "
#define CYCLE_END                                                                                  \
    "; each role requires the next one, by its own `requires` or by the `attaches` of the next "   \
    "one: remove one of these entries"

/* "error /a/a.yml:3: text", a line each. */
static struct str told(const struct barclamp_check *check)
{
    struct buf out = buf_in(&arena);
    const struct str root = str_from(disk);
    for (const struct diagnostics_entry *e = check->report.first; e; e = e->next) {
        struct diagnostics_entry shorter = *e;
        if (str_starts(e->file, root))
            shorter.file = str_slice(e->file, root.len, e->file.len);
        buf_put_z(&out, e->severity == DIAGNOSTICS_ERROR ? "error " : "warning ");
        diagnostics_format(&shorter, &out);
        buf_put_c(&out, '\n');
    }
    return buf_str(&out);
}

static bool tells(const struct barclamp_check *check, const char *wanted)
{
    const struct str seen = told(check);
    if (str_eq(seen, str_from(wanted)))
        return true;
    printf("  seen:\n%.*swanted:\n%s", STR_FMT_ARGS(seen), wanted);
    return false;
}

static struct barclamp_check look_at(const char *name)
{
    return barclamp_check_directories(&arena, on_disk(name), NULL);
}

TEST(an_empty_directory_is_empty_and_a_wrong_barclamp_is_not)
{
    disk_open();
    disk_run("mkdir empty wrong");
    struct barclamp_check check = look_at("empty");
    CHECK(check.is_empty && check.report.errors == 0 && check.report.warnings == 1);
    disk_write("wrong/wrong.yml", "barclamp: [");
    check = look_at("wrong");
    CHECK(!check.is_empty && check.report.errors == 1 && check.barclamps == 0);
    check = look_at("nowhere");
    CHECK(!check.is_empty && check.report.errors == 1);
    disk_close();
}

TEST(only_what_the_engine_takes_is_counted)
{
    disk_open();
    disk_write("s/a/a.yml", "barclamp: {name: a}\n"
                            "roles: [{name: r1, jig: noop}, {name: r2, jig: noop}]\n");
    disk_write("s/b/b.yml", "barclamp: {name: b, parent: c}\nroles: [{name: r3, jig: noop}]\n");
    const struct barclamp_check check = look_at("s");
    CHECK(check.barclamps == 1 && check.roles == 2);
    CHECK(tells(&check, "error /s/b/b.yml:1: barclamp/parent: there is no barclamp called c\n"));
    disk_close();
}

/* The files are read in one order, and need each other in both. */
TEST(warnings_are_those_of_the_end_not_of_the_way)
{
    disk_open();
    disk_write("s/a/a.yml", "barclamp: {name: a}\n"
                            "jigs: [{name: ja, class: noop}]\n"
                            "roles: [{name: r1, jig: jb, attaches: [r2]}]\n");
    disk_write("s/b/b.yml", "barclamp: {name: b}\n"
                            "jigs: [{name: jb, class: noop}]\n"
                            "roles: [{name: r2, jig: ja}]\n");
    const struct barclamp_check check = look_at("s");
    CHECK(tells(&check, "") && check.barclamps == 2);
    disk_close();
}

TEST(a_circle_that_only_closes_at_the_end_is_an_error)
{
    disk_open();
    /* c attaches to a role that comes later, because both b and c need each other. */
    disk_write("s/b/b.yml", "barclamp: {name: b}\n"
                            "jigs: [{name: jb, class: noop}]\n"
                            "roles:\n"
                            "  - {name: r1, jig: jc, requires: [r3]}\n");
    disk_write("s/c/c.yml", "barclamp: {name: c}\n"
                            "jigs: [{name: jc, class: noop}]\n"
                            "roles:\n"
                            "  - {name: r2, jig: jb, attaches: [r1]}\n"
                            "  - {name: r3, jig: jb, requires: [r2]}\n"
                            "  - {name: r4, jig: jb, attaches: [r3], requires: [r1]}\n");
    const struct barclamp_check check = look_at("s");
    CHECK(check.report.errors == 1 && check.barclamps == 1);
    disk_close();
}

TEST(the_jigs_of_the_engine_are_there_without_any_barclamp)
{
    disk_open();
    disk_write("a/a.yml", "barclamp: {name: a}\n"
                          "roles:\n"
                          "  - {name: r1, jig: noop}\n"
                          "  - {name: r2, jig: test}\n"
                          "  - {name: r3, jig: puppet-sa}\n"
                          "  - {name: r4, jig: perl}\n");
    disk_write("a/puppet/roles/r3/init.pp", "");
    const struct barclamp_check check = look_at("a");
    CHECK(tells(&check, "warning /a/a.yml:6: roles/3/jig: jig perl is not known here; the role "
                        "cannot run\n"));
    disk_close();
}

/* A barclamp may still say what they are. */
TEST(a_barclamp_may_define_the_jigs_of_the_engine)
{
    disk_open();
    disk_write("a/a.yml", "barclamp: {name: a}\n"
                          "jigs:\n"
                          "  - {name: script, class: noop, implementor: gone}\n"
                          "roles:\n"
                          "  - {name: r1, jig: script}\n");
    const struct barclamp_check check = look_at("a");
    CHECK(tells(
        &check,
        "warning /a/a.yml:3: jig script requires role gone on its nodes, which does not exist\n"));
    disk_close();
}

TEST(names_without_regard_to_case)
{
    disk_open();
    disk_write("a/a.yml", "barclamp: {name: a}\n"
                          "roles:\n"
                          "  - {name: Server, jig: noop}\n"
                          "  - {name: client, jig: noop, requires: [server]}\n");
    const struct barclamp_check check = look_at("a");
    CHECK(tells(&check, ""));
    disk_close();
}

TEST(what_is_with_it_is_silent_and_not_counted)
{
    disk_open();
    disk_write("with/w/w.yml", "barclamp: {name: w}\n"
                               "colour: red\n"
                               "roles: [{name: base, jig: perl}]\n"
                               "attribs: [{name: size}]\n");
    disk_write("with/v/v.yml", "barclamp: [\n");
    disk_write("a/a.yml", "barclamp: {name: a, parent: w}\n"
                          "roles:\n"
                          "  - {name: r, jig: noop, requires: [base], wants-attribs: [size]}\n");
    struct barclamp_check check = barclamp_check_directories(&arena, on_disk("a"), on_disk("with"));
    CHECK(tells(&check, "") && check.barclamps == 1 && check.roles == 1);
    /* And it still owns what it owns. */
    disk_write("a/a.yml", "barclamp: {name: a}\nattribs: [{name: size}]\n");
    check = barclamp_check_directories(&arena, on_disk("a"), on_disk("with"));
    CHECK(tells(&check, "error /a/a.yml:2: attribs/0/name: attrib size belongs to w\n"));
    disk_close();
}

/* Of two barclamps of one name a daemon reads the first, and the other one is as if it were not. */
TEST(what_replaces_a_barclamp_of_with_replaces_all_of_it)
{
    disk_open();
    disk_write("with/w/w.yml", "barclamp: {name: w}\njigs: [{name: special, class: noop}]\n");
    disk_write("with/v/v.yml", "barclamp: {name: v, parent: w}\nattribs: [{name: size}]\n");
    disk_write("s/a/a.yml", "barclamp: {name: a}\n"
                            "roles: [{name: r, jig: special, wants-attribs: [size]}]\n");
    struct barclamp_check check = barclamp_check_directories(&arena, on_disk("s"), on_disk("with"));
    CHECK(tells(&check, "") && check.barclamps == 1);
    disk_write("s/w/w.yml", "barclamp: {name: w}\n");
    check = barclamp_check_directories(&arena, on_disk("s"), on_disk("with"));
    CHECK(tells(&check,
                "warning /s/a/a.yml:2: roles/0/jig: jig special is not known here; the role "
                "cannot run\n") &&
          check.barclamps == 2);
    disk_close();
}

TEST(a_barclamp_of_with_can_be_checked_itself)
{
    disk_open();
    disk_write("s/a/a.yml", "barclamp: {name: a}\nroles: [{name: r, jig: noop}]\n");
    disk_write("s/b/b.yml", "barclamp: {name: b, parent: a}\n"
                            "roles: [{name: q, jig: noop, requires: [r]}]\n");
    const struct barclamp_check check =
        barclamp_check_directories(&arena, on_disk("s/b"), on_disk("s"));
    CHECK(tells(&check, "") && check.barclamps == 1 && check.roles == 1);
    disk_close();
}

TEST(lua_has_its_line_and_keeps_its_barclamp_out)
{
    disk_open();
    disk_write("a/a.yml", "barclamp: {name: a}\nroles: [{name: r, jig: noop}]\n");
    disk_write("a/roles/r.lua", "return {\n\n  on_active = 3,\n}}\n");
    const struct barclamp_check check = look_at("a");
    CHECK(check.report.errors == 1 && check.report.first->at.line == 4 && check.barclamps == 0);
    CHECK(str_ends(check.report.first->file, STR("/a/roles/r.lua")));
    CHECK(!str_starts(check.report.first->text, STR(":")) &&
          !str_starts(check.report.first->text, STR("/")));
    disk_close();
}

/* Errors of form, code and engine are reported together. A file with errors counts as imported:
 * what it would define is not reported as missing, and what it lacks itself is reported. */
TEST(all_problems_of_a_file_with_errors_are_reported)
{
    disk_open();
    disk_write("s/a/a.yml", "barclamp: {name: a}\n"
                            "jigs: [{name: j, class: noop, implementor: [x]}]\n"
                            "attribs: [{name: size, schema: {type: blue}}]\n"
                            "roles:\n"
                            "  - {name: one, jig: perl, requires: [two, gone, 'x y'], flags: 3}\n"
                            "  - {name: two, jig: j, requires: [one, three]}\n"
                            "  - {name: four, jig: j, wants-attribs: [weight, width, 5]}\n");
    disk_write("s/a/roles/four.lua", "return {\n");
    disk_write("s/b/b.yml", "barclamp: {name: b}\n"
                            "jigs: [{name: k, class: noop, implementor: two}]\n"
                            "roles:\n"
                            "  - name: three\n"
                            "    jig: k\n"
                            "    requires: [four]\n"
                            "    wants-attribs: [size, height]\n"
                            "    attribs: [{name: weight}]\n");
    disk_write("s/c/c.yml", "barclamp: {name: c, parent: a}\n");
    const struct barclamp_check check = look_at("s");
    CHECK(tells(
        &check,
        "error /s/a/a.yml:2: implementor must be a string, not a list\n"
        "error /s/a/a.yml:3: in the schema of attrib size, /type must be one of str, int, bool, "
        "seq, map, any, "
        "scalar, float, number, text\n"
        "error /s/a/a.yml:5: roles/0: " CYCLE "one -> two -> one" CYCLE_END "\n"
        "warning /s/a/a.yml:5: role one requires role gone, which does not exist; it cannot be "
        "bound\n"
        "error /s/a/a.yml:5: a name in requires may contain only letters, digits, dashes and "
        "underscores: \"x y\"\n"
        "error /s/a/a.yml:5: flags must be a list, not a number\n"
        "error /s/a/a.yml:6: roles/1: " CYCLE "three -> two -> three" CYCLE_END "\n"
        "error /s/a/a.yml:6: roles/1: two is the client role of jig k and must be implicit\n"
        "error /s/a/a.yml:7: roles/2: " CYCLE "three -> four -> three" CYCLE_END "\n"
        "warning /s/a/a.yml:7: role four wants attrib width, which does not exist; it cannot be "
        "bound\n"
        "error /s/a/a.yml:7: wants-attribs must be a list of names, this is a number\n"
        "error /s/a/roles/four.lua:2: unexpected symbol near <eof>\n"
        "warning /s/b/b.yml:7: role three wants attrib height, which does not exist; it cannot be "
        "bound; did you mean weight?\n"
        "error /s/c/c.yml:1: barclamp/parent: there is no barclamp called a\n"));
    CHECK(check.barclamps == 1 && check.roles == 1);
    disk_close();
}

TEST(the_engine_warns_of_a_file_with_errors_too)
{
    disk_open();
    disk_write("a/a.yml", "barclamp: {name: a, version: [1]}\n"
                          "jigs: [{name: j, class: odd}]\n"
                          "roles: [{name: r, jig: perl, flags: [blue]}]\n");
    const struct barclamp_check check = look_at("a");
    CHECK(tells(&check,
                "error /a/a.yml:1: version must be a string, not a list\n"
                "warning /a/a.yml:2: jigs/0/class: jig class odd is not known here\n"
                "warning /a/a.yml:3: roles/0/jig: jig perl is not known here; the role cannot run\n"
                "warning /a/a.yml:3: roles/0/flags: flag blue is unknown and ignored\n"));
    disk_close();
}

/* The errors of those that are with it are their owner's, and so is what the engine says then. */
TEST(drafts_of_with_are_silent_too)
{
    disk_open();
    disk_write("with/w/w.yml", "barclamp: {name: w, version: [1]}\n"
                               "roles: [{name: base, jig: noop, requires: [base]}]\n");
    disk_write("a/a.yml", "barclamp: {name: a, parent: w, version: [1]}\n"
                          "roles: [{name: r, jig: noop, requires: [base, r]}]\n");
    const struct barclamp_check check =
        barclamp_check_directories(&arena, on_disk("a"), on_disk("with"));
    CHECK(tells(&check, "error /a/a.yml:1: version must be a string, not a list\n"
                        "error /a/a.yml:2: roles/0: " CYCLE_SELF "r -> r" CYCLE_END "\n"));
    CHECK(check.barclamps == 0 && check.roles == 0);
    disk_close();
}

/* Two barclamps of one checkout share a source path, and so their roles' files. */
TEST(files_beside_a_checkout_belong_to_all_of_it)
{
    disk_open();
    disk_write("co/crowbar.yml", "barclamp: {name: co}\n");
    disk_write("co/barclamps/a.yml",
               "barclamp: {name: a, parent: co}\nroles: [{name: r1, jig: script}]\n");
    disk_write("co/barclamps/b.yml",
               "barclamp: {name: b, parent: co}\nroles: [{name: r2, jig: script}]\n");
    disk_write("co/script/roles/r1/10.sh", "");
    disk_write("co/script/roles/r2/10.sh", "");
    disk_write("co/script/roles/r3/10.sh", "");
    disk_write("co/roles/r2.lua", "return {}");
    const struct barclamp_check check = look_at("co");
    CHECK(tells(&check, "warning /co/script/roles/r3: the barclamp has no role r3; the file is "
                        "never used\n"));
    disk_close();
}

TEST(a_role_for_each_network_is_checked_under_its_name_in_the_document)
{
    disk_open();
    disk_write("n/n.yml", "barclamp: {name: n}\n"
                          "roles:\n"
                          "  - {name: n-server, jig: noop}\n"
                          "  - name: n-{name}\n"
                          "    per: network\n"
                          "    jig: script\n"
                          "    requires: [n-server, absent]\n"
                          "attribs:\n"
                          "  - {name: 'hint-{name}', per: network, map: '{name}-v4addr'}\n");
    disk_write("n/scripts/n-{name}/10.sh", "");
    disk_write("n/roles/n-{name}.lua", "return { sysdata = function() end }");
    struct barclamp_check check = look_at("n");
    CHECK(tells(&check, "warning /n/n.yml:7: role n-{name} requires role absent, which does not "
                        "exist; it cannot be bound\n"));
    disk_run("rm -r 'n/scripts/n-{name}'");
    disk_write("n/n.yml", "barclamp: {name: n}\n"
                          "roles:\n"
                          "  - name: n-{name}\n"
                          "    jig: script\n"
                          "    per: node\n"
                          "  - name: m-{name}\n"
                          "    jig: noop\n");
    check = look_at("n");
    CHECK(check.report.errors == 2);
    CHECK(str_has(told(&check), STR("error /n/n.yml:5: roles/0/per: per must be network")));
    CHECK(str_has(told(&check), STR("error /n/n.yml:6: roles/1/name: contains {name}, which")));
    disk_close();
}

/* "/x/a" is not "/x/ab": one that does not read says nothing about its neighbour. */
TEST(a_neighbour_that_does_not_read_hides_no_orphan)
{
    disk_open();
    disk_write("s/a/a.yml", "barclamp: {name: a}\n");
    disk_write("s/ab/ab.yml", "barclamp: [");
    disk_write("s/a/roles/gone.lua", "return {}");
    const struct barclamp_check check = look_at("s");
    CHECK(check.report.errors == 1 && check.report.warnings == 1);
    disk_close();
}

TEST(many_barclamps_and_all_their_troubles)
{
    enum { COUNT = 150 };
    disk_open();
    for (uint32_t i = 0; i < COUNT; i++) {
        char path[100], text[300];
        snprintf(path, sizeof path, "s/b%03u/b%03u.yml", i, i);
        snprintf(text, sizeof text,
                 "barclamp: {name: b%03u}\n"
                 "roles:\n"
                 "  - {name: r%03u, jig: noop, requires: [r%03u, gone%03u]}\n",
                 i, i, i + 1, i);
        disk_write(path, text);
    }
    const struct barclamp_check check = look_at("s");
    CHECK(check.barclamps == COUNT && check.roles == COUNT && check.report.errors == 0);
    CHECK(check.report.warnings == COUNT + 1);
    disk_close();
}
