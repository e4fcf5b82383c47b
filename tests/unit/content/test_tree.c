/* Goal: barclamps are found in every layout and sorted for the import; errors of one do not exclude
 * another. */
#include "content/tree.h"
#include "tests/unit/content/content_disk.h"

static struct content_tree read_tree(struct bench *b, const char *names)
{
    struct buf list = buf_in(&b->arena);
    for (const char *c = names; *c; c++)
        if (*c == '@')
            buf_put_z(&list, disk);
        else
            buf_put_c(&list, *c);
    return content_read_tree(&b->report, str_z(&b->arena, buf_str(&list)), NULL);
}

/* "name(source path) ..." */
static struct str found(struct bench *b, const struct content_tree *tree)
{
    struct buf out = buf_in(&b->arena);
    const struct str root = str_from(disk);
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct barclamp_file *f = &tree->files[i];
        CHECK(f->document.len && f->tree);
        CHECK(str_starts(f->source_path, root));
        buf_put_str(&out, f->name);
        buf_put_c(&out, '(');
        buf_put_str(&out, str_slice(f->source_path, root.len, f->source_path.len));
        buf_put_z(&out, ") ");
    }
    return buf_str(&out);
}

static bool finds(const char *names, const char *files, const char *report)
{
    struct bench b;
    bench_open(&b);
    const struct content_tree tree = read_tree(&b, names);
    bool as_wanted = same(found(&b, &tree), files);
    as_wanted = same(told(&b), report) && as_wanted;
    bench_close(&b);
    return as_wanted;
}

#define NAMED(name) "barclamp:\n  name: " name "\n"

/* ---- our own layout ---- */

TEST(a_collection_has_barclamps_by_name)
{
    disk_open();
    disk_write("ntp/ntp.yml", NAMED("ntp"));
    disk_write("dns/dns.yml", NAMED("dns"));
    disk_write("dns/roles/dns.lua", "");
    disk_write("dns/templates/dns.yml", "not: read");
    disk_write("docs/readme.yml", NAMED("readme"));
    disk_write(".hidden/.hidden.yml", NAMED("hidden"));
    disk_write("loose.yml", NAMED("loose"));
    disk_write("old.json", "{\"barclamp\":{\"name\":\"old\"}}");
    disk_write("web/web.json", "{\"barclamp\":{\"name\":\"web\"}}");
    disk_write("web/other.json", "{\"barclamp\":{\"name\":\"other\"}}");
    disk_write(".dot.json", "{");
    disk_write("notes/notes.txt", "barclamp: none");
    disk_write("notes/other.yml", "not: a barclamp");
    const char *warning =
        "warning /docs/readme.yml: not read: the file of a barclamp must be called "
        "like its directory, docs.yml\n";
    CHECK(finds("@", "dns(/dns) ntp(/ntp) old() web(/web) ", warning));
    CHECK(finds("@/", "dns(/dns) ntp(/ntp) old() web(/web) ", warning));
    disk_close();
}

TEST(a_directory_may_be_one_barclamp)
{
    disk_open();
    disk_write("ntp/ntp.yml", NAMED("ntp"));
    disk_write("ntp/inner/inner.yml", NAMED("inner"));
    disk_write("ntp/package.json", "{");
    disk_write("crowbar/crowbar.yml", "barclamp: {name: crowbar, parent: ntp}\n");
    disk_write("crowbar/roles/x.lua", "");
    CHECK(finds("@/ntp", "ntp(/ntp) ", ""));
    CHECK(finds("@/ntp/:@/crowbar//", "ntp(/ntp) crowbar(/crowbar) ", ""));
    CHECK(finds("@", "ntp(/ntp) crowbar(/crowbar) ", ""));
    disk_close();
}

TEST(yaml_goes_before_json_of_the_same_barclamp)
{
    disk_open();
    disk_write("a/a.yml", NAMED("a"));
    disk_write("a/a.json", "{");
    CHECK(finds("@", "a(/a) ",
                "warning /a/a.json: not read, because a.yml exists in the same directory\n"));
    disk_close();
}

TEST(of_two_barclamps_with_one_name_the_first_counts)
{
    disk_open();
    disk_write("mine/ntp/ntp.yml", "# own\n" NAMED("ntp"));
    disk_write("shipped/ntp/ntp.yml", NAMED("ntp"));
    disk_write("shipped/dns/dns.yml", NAMED("dns"));
    char report[300];
    snprintf(report, sizeof report,
             "warning /shipped/ntp/ntp.yml:2: not read, because barclamp ntp is also in "
             "%s/mine/ntp/ntp.yml\n",
             disk);
    CHECK(finds("@/mine:@/shipped", "ntp(/mine/ntp) dns(/shipped/dns) ", report));
    disk_close();
}

TEST(relative_paths_become_absolute)
{
    char here[1000];
    disk_open();
    disk_write("shelf/ntp/ntp.yml", NAMED("ntp"));
    CHECK(getcwd(here, sizeof here) && chdir(disk) == 0);
    CHECK(finds("shelf", "ntp(/shelf/ntp) ", "") && finds("./shelf/ntp", "ntp(/shelf/ntp) ", ""));
    CHECK(chdir("shelf/ntp") == 0);
    CHECK(finds(".", "ntp(/shelf/ntp) ", "") && finds("..", "ntp(/shelf/ntp) ", ""));
    CHECK(chdir(here) == 0);
    disk_close();
}

/* ---- a checkout ---- */

static void write_checkout(void)
{
    disk_write("core/crowbar.yml", "barclamp:\n"
                                   "  name: core\n"
                                   "  display: Core\n"
                                   "  version: 2.0\n"
                                   "crowbar:\n"
                                   "  layout: 2.0\n"
                                   "git:\n"
                                   "  commit: unknown\n"
                                   "  date: Thu Mar 13 12:00:00 2014\n"
                                   "debs:\n"
                                   "  ubuntu-12.04:\n"
                                   "    pkgs: [curl]\n");
    disk_write("core/barclamps/chef.yml", "barclamp:\n"
                                          "  name: chef\n"
                                          "  parent: core\n"
                                          "jigs:\n"
                                          "  - name: chef\n"
                                          "    class: BarclampChef::Jig\n"
                                          "    implementor: chef-client\n"
                                          "roles:\n"
                                          "  - name: chef-client\n"
                                          "    jig: chef\n"
                                          "    requires:\n"
                                          "      - installed-node\n");
    disk_write("core/barclamps/provisioner.yml", "barclamp:\n"
                                                 "  name: provisioner\n"
                                                 "  parent: core\n"
                                                 "roles:\n"
                                                 "  - name: installed-node\n"
                                                 "    jig: noop\n"
                                                 "    flags:\n"
                                                 "      - milestone\n");
    disk_write("core/barclamps/README", "not a barclamp");
    disk_write("core/barclamps/deeper/x.yml", NAMED("x"));
    disk_write("core/package.json", "{\"barclamp\":{\"name\":\"package\"}}");
    disk_write("core/script/roles/installed-node/01.sh", "exit 0\n");
    disk_write("core/puppet/roles/chef-client/init.pp", "");
}

TEST(a_checkout_is_read_from_its_root)
{
    disk_open();
    write_checkout();
    CHECK(finds("@/core", "core(/core) provisioner(/core) chef(/core) ", ""));
    CHECK(finds("@", "core(/core) provisioner(/core) chef(/core) ", ""));
    disk_close();
}

TEST(a_root_with_a_parent_is_passed_over)
{
    disk_open();
    disk_write("leaf/crowbar.yml", "barclamp: {name: leaf, parent: core}\n");
    disk_write("leaf/barclamps/b.yml", NAMED("b"));
    disk_write("leaf/barclamps/a.yml", NAMED("a"));
    CHECK(finds("@/leaf", "a(/leaf) b(/leaf) ", ""));
    disk_run("rm -r leaf/barclamps");
    CHECK(finds("@/leaf", "", "warning /leaf: there is no barclamp in this directory\n"));
    disk_close();
}

TEST(a_checkout_that_is_called_crowbar_is_one_all_the_same)
{
    disk_open();
    disk_write("crowbar/crowbar.yml", "barclamp: {name: leaf, parent: core}\n");
    disk_write("crowbar/barclamps/a.yml", NAMED("a"));
    CHECK(finds("@/crowbar", "a(/crowbar) ", ""));
    disk_close();
}

TEST(checkouts_and_barclamps_in_one_collection)
{
    disk_open();
    write_checkout();
    disk_write("apps/apps.yml", "barclamp: {name: apps, parent: chef}\n");
    CHECK(finds("@", "core(/core) provisioner(/core) chef(/core) apps(/apps) ", ""));
    disk_close();
}

/* ---- order ---- */

static bool orders(const char *const (*files)[2], uint32_t count, const char *order)
{
    struct bench b;
    disk_open();
    bench_open(&b);
    for (uint32_t i = 0; i < count; i++) {
        char path[100], text[1000];
        snprintf(path, sizeof path, "%s/%s.yml", files[i][0], files[i][0]);
        snprintf(text, sizeof text, "barclamp: {name: %s%s\n", files[i][0], files[i][1]);
        disk_write(path, text);
    }
    const struct content_tree tree = read_tree(&b, "@");
    struct buf out = buf_in(&b.arena);
    for (uint32_t i = 0; i < tree.count; i++) {
        buf_put_str(&out, tree.files[i].name);
        buf_put_c(&out, ' ');
    }
    const bool as_wanted = same(buf_str(&out), order) && same(told(&b), "");
    bench_close(&b);
    disk_close();
    return as_wanted;
}

#define ORDERS(files, order) orders(files, sizeof files / sizeof files[0], order)

TEST(nothing_needed_leaves_the_names_in_order)
{
    static const char *const files[][2] = {{"c", "}"}, {"a", "}"}, {"b", "}"}};
    CHECK(ORDERS(files, "a b c "));
}

TEST(parents_jigs_roles_and_attribs_come_first)
{
    static const char *const by_parent[][2] = {
        {"a", ", parent: b}"}, {"b", ", parent: c}"}, {"c", "}"}};
    CHECK(ORDERS(by_parent, "c b a "));
    static const char *const by_jig[][2] = {{"a", "}\nroles: [{name: r, jig: j}]"},
                                            {"b", "}\njigs: [{name: j, class: noop}]"}};
    CHECK(ORDERS(by_jig, "b a "));
    static const char *const by_role[][2] = {{"a", "}\nroles: [{name: r, jig: j, requires: [s]}]"},
                                             {"b", "}\nroles: [{name: t, jig: j, attaches: [r]}]"},
                                             {"c", "}\nroles: [{name: u, jig: j, preceeds: [t]}]"},
                                             {"d", "}\nroles: [{name: s, jig: j}]"}};
    CHECK(ORDERS(by_role, "d a b c "));
    static const char *const by_provider[][2] = {
        {"a", "}\nroles: [{name: r, jig: j, requires: [s]}]"},
        {"b", "}\nroles: [{name: x, jig: j, provides: [s]}]"}};
    CHECK(ORDERS(by_provider, "b a "));
    static const char *const by_attrib[][2] = {
        {"a", "}\nroles: [{name: r, jig: j, wants-attribs: [n, {name: m}]}]"},
        {"b", "}\nroles: [{name: x, jig: j, attribs: [{name: m}]}]"},
        {"c", "}\nattribs: [{name: n}]"}};
    CHECK(ORDERS(by_attrib, "b c a "));
}

TEST(circles_are_left_to_the_engine)
{
    static const char *const parents[][2] = {
        {"a", ", parent: b}"}, {"b", ", parent: a}"}, {"c", ", parent: c}"}};
    CHECK(ORDERS(parents, "c a b "));
    /* The child is required by its parent's role: the parent goes first all the same. */
    static const char *const mixed[][2] = {{"a", ", parent: b}\nroles: [{name: x, jig: j}]"},
                                           {"b", "}\nroles: [{name: y, jig: j, requires: [x]}]"}};
    CHECK(ORDERS(mixed, "b a "));
    static const char *const requires[][2] = {
        {"a", "}\nroles: [{name: x, jig: j, requires: [y]}]"},
        {"b", "}\nroles: [{name: y, jig: j, requires: [x]}]"},
        {"c", "}\nroles: [{name: z, jig: j, requires: [x]}]"}};
    CHECK(ORDERS(requires, "a b c "));
}

/* ---- trouble ---- */

TEST(what_is_wrong_keeps_no_other_out)
{
    disk_open();
    disk_write("a/a.yml", "barclamp: [");
    disk_write("b/b.yml", "barclamp: {name: b}\nroles: {}\nicon: x\n");
    disk_write("c/c.yml", NAMED("c"));
    disk_write("d/d.json", "{\n]");
    disk_write("e/e.json", "7");
    CHECK(
        finds("@", "c(/c) (/e) ",
              "error /a/a.yml:2: did not find expected node content, while parsing a flow node\n"
              "error /b/b.yml:2: roles must be a list, not a map\n"
              "warning /b/b.yml:3: unknown key icon of a barclamp's file; it is kept but not used\n"
              "error /d/d.json:2: not valid JSON: a key in double quotes is expected\n"));
    disk_close();
}

TEST(directories_and_files_that_cannot_be_read_are_reported)
{
    disk_open();
    CHECK(finds("@/nowhere", "",
                "error /nowhere: the directory cannot be read: No such file or directory\n"));
    CHECK(finds("@", "", "warning : there is no barclamp in this directory\n"));
    CHECK(finds("", "", "") && finds(":", "", ""));
    disk_write("plain", "x");
    CHECK(finds("@/plain", "", "error /plain: the directory cannot be read: Not a directory\n"));
    disk_run("mkdir big && head -c 4194305 /dev/zero | tr '\\0' ' ' > big/big.yml");
    CHECK(finds("@/big", "", "error /big/big.yml: the file is larger than 4 MiB\n"));
    disk_run("mkdir x.json");
    CHECK(finds("@", "",
                "error /big/big.yml: the file is larger than 4 MiB\n"
                "error /x.json: the file cannot be read: Is a directory\n"));
    disk_close();
}

TEST(names_that_are_not_utf_8_are_reported)
{
    disk_open();
    disk_write("a/a.yml", NAMED("a"));
    disk_run("mkdir \"$(printf 'b\\377')\"");
    CHECK(finds("@", "a(/a) ", "error : a file name in this directory is not valid UTF-8\n"));
    disk_run("mkdir -p \"$(printf 'c\\377')/x\"");
    struct bench b;
    bench_open(&b);
    const struct content_tree tree = read_tree(&b, "@/c\377/x");
    CHECK(tree.count == 0 && b.report.errors == 1);
    CHECK(same(b.report.first->text, "the path of this directory is not valid UTF-8"));
    bench_close(&b);
    disk_close();
}

TEST(a_path_that_is_too_long_is_reported)
{
    disk_open();
    char name[300];
    memset(name, 'n', 250);
    name[250] = 0;
    char command[1000];
    snprintf(command, sizeof command,
             "i=0; while [ $i -lt 16 ]; do mkdir %s && cd %s || exit 1; i=$((i+1)); done", name,
             name);
    disk_run(command);
    struct bench b;
    bench_open(&b);
    struct buf path = buf_in(&b.arena);
    buf_put_z(&path, disk);
    for (int i = 0; i < 15; i++) {
        buf_put_c(&path, '/');
        buf_put_z(&path, name);
    }
    content_read_tree(&b.report, str_z(&b.arena, buf_str(&path)), NULL);
    CHECK(b.report.errors >= 1);
    CHECK(same(b.report.first->text, "the path is too long; only its beginning is shown"));
    bench_close(&b);
    disk_close();
}

/* ---- what the engine says ---- */

TEST(problems_and_warnings_of_an_import_get_their_lines)
{
    struct bench b;
    disk_open();
    bench_open(&b);
    disk_write("a/a.yml", "barclamp:\n  name: a\nroles:\n  - name: r\n    jig: none\n");
    disk_write("z.json", "{\"barclamp\":{\"name\":\"z\"}}");
    const struct content_tree tree = read_tree(&b, "@");
    struct problem second = {.field = STR("roles/0/requires/2"),
                             .text = STR("there is no such role")};
    struct problem first = {.field = STR("roles/0/name"), .text = STR("is taken"), .next = &second};
    content_report_problems(&b.report, &tree.files[0], &first);
    content_report_problems(&b.report, &tree.files[1], &first);
    content_report_warnings(
        &b.report, &tree.files[0],
        STR("{\"warnings\":[{\"code\":\"jig_unknown\",\"field\":\"roles/0/jig\","
            "\"text\":\"odd\"},"
            "{\"field\":1},{\"text\":\"x\"}]}"));
    content_report_warnings(&b.report, &tree.files[0], STR(""));
    content_report_warnings(&b.report, &tree.files[0], STR("{\"id\":1}"));
    content_report_problems(&b.report, &tree.files[0], NULL);
    CHECK(same(told(&b), "error /a/a.yml:4: roles/0/name: is taken\n"
                         "error /a/a.yml:4: roles/0/requires/2: there is no such role\n"
                         "error /z.json: roles/0/name: is taken\n"
                         "error /z.json: roles/0/requires/2: there is no such role\n"
                         "warning /a/a.yml:5: roles/0/jig: odd\n"));
    bench_close(&b);
    disk_close();
}
