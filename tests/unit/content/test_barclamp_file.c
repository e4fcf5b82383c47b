/* Goal: a file is converted to the document of an import, and all errors of its form are reported
 * with their lines. */
#include "content/barclamp_file.h"
#include "model/limits.h"
#include "tests/unit/content/content_test.h"

#include <sys/stat.h>
#include <unistd.h>

static struct barclamp_file convert(struct bench *b, const char *text,
                                    const struct hook_finder *finder)
{
    struct barclamp_file file = {.path = "f.yml", .source_path = STR("/src"), .is_yaml = true};
    bench_open(b);
    barclamp_from_yaml(&b->report, str_from(text), finder, &file);
    CHECK((file.document.len == 0) == (b->report.errors > 0));
    diagnostics_sort(&b->report);
    return file;
}

static bool converts(const char *text, const char *quoted)
{
    struct bench b;
    const struct barclamp_file file = convert(&b, text, NULL);
    char json[4000];
    snprintf(json, sizeof json, "%s", quoted);
    for (char *c = json; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    bool is_same = same(said(&b), "");
    is_same = same(file.document, json) && is_same;
    bench_close(&b);
    return is_same;
}

static bool complains(const char *text, const char *complaint)
{
    struct bench b;
    convert(&b, text, NULL);
    const bool is_same = same(said(&b), complaint);
    bench_close(&b);
    return is_same;
}

/* ---- golden ---- */

TEST(a_bare_barclamp_gets_its_source_path)
{
    CHECK(converts("barclamp:\n  name: small\n",
                   "{'barclamp':{'name':'small','source_path':'/src'}}"));
}

TEST(a_whole_file_is_carried_over)
{
    CHECK(converts(
        "barclamp:\n"
        "  name: chef\n"
        "  display: Chef\n"
        "  description: Runs recipes\n"
        "  version: 0.1\n"
        "  source_url: http://example.com/chef\n"
        "  parent: core\n"
        "  license: Apache 2\n"
        "  license_url: http://example.com/license\n"
        "  copyright: 2014, Example\n"
        "crowbar:\n"
        "  layout: 2.0\n"
        "git:\n"
        "  commit: 0a1b2c3\n"
        "  date: 2014-03-13\n"
        "os_support: [ubuntu-12.04, centos-6.5]\n"
        "jigs:\n"
        "  - name: chef\n"
        "    class: BarclampChef::Jig\n"
        "    description: Recipes\n"
        "    implementor: chef-client\n"
        "hammers:\n"
        "  - name: ssh\n"
        "    type: SecureShellHammer\n"
        "    priority: 0\n"
        "roles:\n"
        "  - name: chef-server\n"
        "    jig: chef\n"
        "    type: Special\n"
        "    description: Keeps the recipes\n"
        "    flags: [implicit, service, server]\n"
        "    requires:\n"
        "      - installed-node\n"
        "    provides: [recipe-store]\n"
        "    conflicts: [puppet-master]\n"
        "    attaches: [chef-client]\n"
        "    announces: [reboot]\n"
        "    wants-attribs:\n"
        "      - ntp_servers\n"
        "      - name: dns_servers\n"
        "        at: chef/dns\n"
        "    attribs:\n"
        "      - name: chef-port\n"
        "        description: Where it listens\n"
        "        map: chef/port\n"
        "        default: 443\n"
        "        ui_renderer: attribs/port\n"
        "        schema:\n"
        "          type: int\n"
        "          required: yes\n"
        "attribs:\n"
        "  - name: chef-key\n"
        "    map: chef/key\n"
        "    type: BarclampChef::Key\n"
        "    writable: true\n"
        "debs:\n"
        "  ubuntu-12.04:\n"
        "    repos: [deb http://example.com precise main]\n"
        "  pkgs: [chef]\n"
        "rpms: {centos-6.5: {raw_pkgs: [http://example.com/x.rpm]}}\n"
        "gems: {pkgs: [json]}\n"
        "removed-attribs: [chef-old]\n"
        "extra_files: [http://example.com/file]\n",
        "{'attribs':[{'map':'chef/key','name':'chef-key','type':'BarclampChef::Key',"
        "'writable':true}],"
        "'barclamp':{'copyright':'2014, Example','description':'Runs recipes','display':'Chef',"
        "'license':'Apache 2','license_url':'http://example.com/license','name':'chef',"
        "'parent':'core','source_path':'/src','source_url':'http://example.com/chef',"
        "'version':0.1},"
        "'crowbar':{'layout':2.0},"
        "'debs':{'pkgs':['chef'],'ubuntu-12.04':{'repos':['deb http://example.com precise main']}},"
        "'extra_files':['http://example.com/file'],'gems':{'pkgs':['json']},"
        "'git':{'commit':'0a1b2c3','date':'2014-03-13'},"
        "'hammers':[{'name':'ssh','priority':0,'type':'SecureShellHammer'}],"
        "'jigs':[{'class':'BarclampChef::Jig','description':'Recipes','implementor':'chef-client',"
        "'name':'chef'}],'os_support':['ubuntu-12.04','centos-6.5'],"
        "'removed-attribs':['chef-old'],"
        "'roles':[{'announces':['reboot'],'attaches':['chef-client'],'attribs':[{'default':443,"
        "'description':'Where it listens','map':'chef/port','name':'chef-port',"
        "'schema':{'required':true,'type':'int'},'ui_renderer':'attribs/port'}],"
        "'conflicts':['puppet-master'],'description':'Keeps the recipes',"
        "'flags':['implicit','service','server'],'jig':'chef','name':'chef-server',"
        "'provides':['recipe-store'],'requires':['installed-node'],'type':'Special',"
        "'wants-attribs':['ntp_servers',{'at':'chef/dns','name':'dns_servers'}]}],"
        "'rpms':{'centos-6.5':{'raw_pkgs':['http://example.com/x.rpm']}}}"));
}

TEST(keys_without_a_value_are_as_good_as_none)
{
    CHECK(converts(
        "barclamp: {name: a, parent: }\nroles:\njigs: ~\ndebs: {pkgs: , sles: {repos: }}\n",
        "{'barclamp':{'name':'a','parent':null,'source_path':'/src'},"
        "'debs':{'pkgs':null,'sles':{'repos':null}},'jigs':null,'roles':null}"));
}

TEST(the_file_says_who_it_is)
{
    struct bench b;
    const struct barclamp_file file =
        convert(&b, "barclamp:\n  name: chef\n  parent: core\nroles: 3\n", NULL);
    CHECK(same(file.name, "chef") && same(file.parent, "core") && file.tree);
    CHECK(file.document.len == 0);
    CHECK(barclamp_field_position(&file, STR("barclamp/parent")).line == 3);
    CHECK(barclamp_field_position(&file, STR("roles/0/jig")).line == 4);
    bench_close(&b);
    const struct barclamp_file bad = convert(&b, "barclamp: [", NULL);
    CHECK(!bad.tree && bad.name.len == 0 &&
          barclamp_field_position(&bad, STR("barclamp")).line == 0);
    bench_close(&b);
}

/* ---- what is unknown ---- */

TEST(unknown_keys_are_kept_and_warned_about)
{
    struct bench b;
    const struct barclamp_file file = convert(&b,
                                              "barclamp:\n"
                                              "  name: a\n"
                                              "  colour: red\n"
                                              "wizard: {steps: 3}\n"
                                              "crowbar: {order: 1}\n"
                                              "git: {branch: x}\n"
                                              "jigs: [{name: j, class: noop, speed: 9}]\n"
                                              "hammers: [{name: h, type: ssh, weight: 2}]\n"
                                              "attribs: [{name: n, unit: mm}]\n"
                                              "roles:\n"
                                              "  - name: r\n"
                                              "    icon: star\n"
                                              "    jig: j\n"
                                              "    wants-attribs: [{name: n, to: x}]\n"
                                              "    attribs:\n"
                                              "      - name: m\n"
                                              "        order: 5\n",
                                              NULL);
    CHECK(same(said(&b),
               "3:3 warning unknown key colour of the section barclamp; it is kept but not used\n"
               "4:1 warning unknown key wizard of a barclamp's file; it is kept but not used\n"
               "5:11 warning unknown key order of the section crowbar; it is kept but not used\n"
               "6:7 warning unknown key branch of the section git; it is kept but not used\n"
               "7:31 warning unknown key speed of a jig; it is kept but not used\n"
               "8:32 warning unknown key weight of a hammer; it is kept but not used\n"
               "9:21 warning unknown key unit of an attrib; it is kept but not used\n"
               "12:5 warning unknown key icon of a role; it is kept but not used\n"
               "14:31 warning unknown key to of a wanted attrib; it is kept but not used\n"
               "17:9 warning unknown key order of an attrib; it is kept but not used\n"));
    CHECK(same(
        file.document,
        "{\"attribs\":[{\"name\":\"n\",\"unit\":\"mm\"}],\"barclamp\":{\"colour\":\"red\","
        "\"name\":\"a\",\"source_path\":\"/src\"},\"crowbar\":{\"order\":1},"
        "\"git\":{\"branch\":\"x\"},\"hammers\":[{\"name\":\"h\",\"type\":\"ssh\",\"weight\":2}],"
        "\"jigs\":[{\"class\":\"noop\",\"name\":\"j\",\"speed\":9}],"
        "\"roles\":[{\"attribs\":[{\"name\":\"m\",\"order\":5}],\"icon\":\"star\",\"jig\":\"j\","
        "\"name\":\"r\",\"wants-attribs\":[{\"name\":\"n\",\"to\":\"x\"}]}],"
        "\"wizard\":{\"steps\":3}}"));
    bench_close(&b);
}

TEST(a_source_path_of_its_own_is_not_used)
{
    struct bench b;
    const struct barclamp_file file =
        convert(&b, "barclamp:\n  name: a\n  source_path: /elsewhere\n", NULL);
    CHECK(
        same(said(&b),
             "3:3 warning source_path is the directory of the barclamp; this value is not used\n"));
    CHECK(same(file.document, "{\"barclamp\":{\"name\":\"a\",\"source_path\":\"/src\"}}"));
    bench_close(&b);
}

TEST(package_lists_of_another_shape_are_only_warned_about)
{
    CHECK(complains("barclamp: {name: a}\nos_support: ubuntu\nextra_files: {}\ndebs: [x]\n"
                    "rpms:\n  pkgs: x\n  centos:\n    repos: y\n    pkgs: [z]\ngems: 3\n",
                    "2:1 warning os_support should be a list, not a string\n"
                    "3:1 warning extra_files should be a list, not a map\n"
                    "4:1 warning debs should be a map of lists, not a list\n"
                    "6:3 warning pkgs in rpms should be a list, not a string\n"
                    "8:5 warning repos in rpms should be a list, not a string\n"
                    "10:1 warning gems should be a map of lists, not a number\n"));
}

/* ---- what is wrong ---- */

TEST(a_file_that_is_no_map_is_refused)
{
    CHECK(complains("", "1:1 error a barclamp must be a map, this is null\n"));
    CHECK(complains("- a\n", "1:1 error a barclamp must be a map, this is a list\n"));
    CHECK(complains("\nhello\n", "2:1 error a barclamp must be a map, this is a string\n"));
    CHECK(complains("{}", "1:1 error a barclamp's file must have a barclamp\n"));
    CHECK(complains("a: [\n",
                    "2:1 error did not find expected node content, while parsing a flow node\n"));
}

TEST(every_wrong_type_is_reported)
{
    CHECK(complains("barclamp: text\n"
                    "git: []\n"
                    "crowbar: 2.0\n"
                    "jigs: {}\n"
                    "hammers: ssh\n"
                    "roles: 12\n"
                    "attribs: yes\n",
                    "1:1 error barclamp must be a map, not a string\n"
                    "2:1 error git must be a map, not a list\n"
                    "3:1 error crowbar must be a map, not a number\n"
                    "4:1 error jigs must be a list, not a map\n"
                    "5:1 error hammers must be a list, not a string\n"
                    "6:1 error roles must be a list, not a number\n"
                    "7:1 error attribs must be a list, not the boolean true\n"));
}

TEST(items_that_are_not_maps_are_reported_one_by_one)
{
    CHECK(complains("barclamp: {name: a}\n"
                    "roles:\n"
                    "  - text\n"
                    "  - {name: r, jig: j}\n"
                    "  -\n"
                    "  - [x]\n"
                    "jigs: [7]\n"
                    "hammers: [no]\n"
                    "attribs:\n"
                    "  - x\n",
                    "3:5 error roles must be a list of maps, this is a string\n"
                    "5:4 error roles must be a list of maps, this is null\n"
                    "6:5 error roles must be a list of maps, this is a list\n"
                    "7:8 error jigs must be a list of maps, this is a number\n"
                    "8:11 error hammers must be a list of maps, this is the boolean false\n"
                    "10:5 error attribs must be a list of maps, this is a string\n"));
}

TEST(a_missing_key_is_reported_at_its_map)
{
    CHECK(complains("barclamp:\n"
                    "  version: 1\n"
                    "jigs:\n"
                    "  - description: d\n"
                    "hammers:\n"
                    "  - {priority: 1}\n"
                    "attribs:\n"
                    "  - map: x\n"
                    "roles:\n"
                    "  - name:\n"
                    "    jig:\n"
                    "    wants-attribs:\n"
                    "      - at: x\n"
                    "  - flags: []\n",
                    "1:1 error the section barclamp must have a name\n"
                    "4:5 error a jig must have a name\n"
                    "4:5 error a jig must have a class\n"
                    "6:5 error a hammer must have a name\n"
                    "6:5 error a hammer must have a type\n"
                    "8:5 error an attrib must have a name\n"
                    "10:5 error a role must have a name\n"
                    "11:5 error a role must have a jig\n"
                    "13:9 error a wanted attrib must have a name\n"
                    "14:5 error a role must have a name\n"
                    "14:5 error a role must have a jig\n"));
}

TEST(strings_and_names_are_checked)
{
    CHECK(complains(
        "barclamp:\n"
        "  name: not-this\n"
        "  version: [1]\n"
        "  description: {}\n"
        "  source_url: yes\n"
        "  parent: no\n"
        "  license: [kept, as it is]\n"
        "git: {commit: on}\n"
        "jigs: [{name: 1st, class: c, implementor: a b}]\n"
        "hammers: [{name: h h, type: [], priority: -1}, {name: h, type: t, priority: x}]\n"
        "attribs: [{name: 1a, map: [], writable: 1}]\n"
        "roles:\n"
        "  - name: off\n"
        "    jig: ''\n"
        "    type: {}\n",
        "2:3 error name may contain only letters, digits and underscores: \"not-this\"\n"
        "3:3 error version must be a string, not a list\n"
        "4:3 error description must be a string, not a map\n"
        "5:3 error source_url must be a string, but is read as the boolean true; put it in quotes\n"
        "6:3 error parent must be a string, but is read as the boolean false; put it in quotes\n"
        "8:7 error commit must be a string, but is read as the boolean true; put it in quotes\n"
        "9:9 error name must begin with a letter: \"1st\"\n"
        "9:30 error implementor may contain only letters, digits, dashes and underscores: \"a b\"\n"
        "10:12 error name may contain only letters, digits, dashes and underscores: \"h h\"\n"
        "10:23 error type must be a string, not a list\n"
        "10:33 error priority must be a whole number, not below 0\n"
        "10:67 error priority must be a whole number, not below 0\n"
        "11:12 error name must not begin with a digit: \"1a\"\n"
        "11:22 error map must be a string, not a list\n"
        "11:31 error writable must be true or false\n"
        "13:5 error name must be a string, but is read as the boolean false; put it in quotes\n"
        "14:5 error jig is required\n"
        "15:5 error type must be a string, not a map\n"));
}

TEST(removed_attribs_are_checked_name_by_name)
{
    CHECK(complains("barclamp: {name: a}\nremoved-attribs: b\n",
                    "2:1 error removed-attribs must be a list, not a string\n"));
    CHECK(complains("barclamp: {name: a}\nremoved-attribs:\n  - old.one\n  - a b\n  - 3\n",
                    "4:5 error a name in removed-attribs may contain only letters, digits, dashes, "
                    "underscores and dots: \"a b\"\n"
                    "5:5 error removed-attribs must be a list of names, this is a number\n"));
}

TEST(boot_environments_are_checked_key_by_key)
{
    CHECK(complains(
        "barclamp: {name: a}\n"
        "bootenvs:\n"
        "  - text\n"
        "  - os: x\n"
        "  - {name: local, kernel: /k, method: magic, initrd: i}\n"
        "  - {name: 1x, kernel: [], method: {}, args: [a], os: yes}\n"
        "  - {name: x, kernel: a/../k, method: image, initrd: [i, /i, [], 7]}\n"
        "  - {name: y, kernel: k, method: on, initrd: {}, args: \"a\\nb\", os: \"a\\tb\"}\n"
        "  - {name: z, kernel: k, method: Image}\n",
        "3:5 error bootenvs must be a list of maps, this is a string\n"
        "4:5 error a boot environment must have a name\n"
        "4:5 error a boot environment must have a kernel\n"
        "4:5 error a boot environment must have a method\n"
        "5:6 error name must not be local, which means the disk: \"local\"\n"
        "5:19 error kernel must be a relative path without empty segments, . and ..: \"/k\"\n"
        "5:31 error method must be discovery, image or installer: \"magic\"\n"
        "5:46 error initrd must be a list, not a string\n"
        "6:6 error name must not begin with a digit: \"1x\"\n"
        "6:16 error kernel must be a string, not a list\n"
        "6:28 error method must be a string, not a map\n"
        "6:40 error args must be a string, not a list\n"
        "6:51 error os must be a string, but is read as the boolean true; put it in quotes\n"
        "7:15 error kernel must be a relative path without empty segments, . and ..: \"a/../k\"\n"
        "7:58 error a name in initrd must be a relative path without empty segments, . and ..: "
        "\"/i\"\n"
        "7:62 error initrd must be a list of names, this is a list\n"
        "7:66 error initrd must be a list of names, this is a number\n"
        "8:26 error method must be a string, but is read as the boolean true; put it in quotes\n"
        "8:38 error initrd must be a list, not a map\n"
        "8:50 error args must be one line without control characters: \"a\n"
        "b\"\n"
        "8:64 error os must not contain control characters: \"a\tb\"\n"
        "9:26 error method must be discovery, image or installer: \"Image\"\n"));
}

TEST(lists_of_names_are_checked_name_by_name)
{
    CHECK(complains("barclamp: {name: a}\n"
                    "roles:\n"
                    "  - name: r\n"
                    "    jig: j\n"
                    "    requires: other\n"
                    "    provides: [1, good, a b]\n"
                    "    conflicts: {x: y}\n"
                    "    attaches:\n"
                    "      - ok\n"
                    "      -\n"
                    "      - [deep]\n"
                    "    preceeds: 5\n"
                    "    flags: implicit\n"
                    "    announces: ['']\n"
                    "    hooks: [yes]\n"
                    "    wants-attribs:\n"
                    "      - 3\n"
                    "      - a b\n"
                    "      - {name: 1x, at: []}\n"
                    "      - [x]\n"
                    "  - name: s\n"
                    "    jig: j\n"
                    "    wants-attribs: x\n"
                    "    attribs: {name: x}\n",
                    "5:5 error requires must be a list, not a string\n"
                    "6:16 error provides must be a list of names, this is a number\n"
                    "6:25 error a name in provides may contain only letters, digits, dashes and"
                    " underscores: \"a b\"\n"
                    "7:5 error conflicts must be a list, not a map\n"
                    "10:8 error attaches must be a list of names, this is null\n"
                    "11:9 error attaches must be a list of names, this is a list\n"
                    "12:5 error preceeds must be a list, not a number\n"
                    "13:5 error flags must be a list, not a string\n"
                    "14:17 error a name in announces must not be empty or too long: \"\"\n"
                    "15:13 error hooks must be a list of names, this is the boolean true\n"
                    "17:9 error wants-attribs must be a list of names, this is a number\n"
                    "18:9 error a name in wants-attribs may contain only letters, digits, dashes,"
                    " underscores and dots: \"a b\"\n"
                    "19:10 error name must not begin with a digit: \"1x\"\n"
                    "19:20 error at must be a string, not a list\n"
                    "20:9 error wants-attribs must be a list of names, this is a list\n"
                    "23:5 error wants-attribs must be a list, not a string\n"
                    "24:5 error attribs must be a list, not a map\n"));
}

TEST(errors_of_a_schema_have_their_own_lines)
{
    CHECK(complains(
        "barclamp: {name: a}\n"
        "attribs:\n"
        "  - name: x\n"
        "    schema: 3\n"
        "roles:\n"
        "  - name: r\n"
        "    jig: j\n"
        "    attribs:\n"
        "      - name: y\n"
        "        schema:\n"
        "          type: map\n"
        "          mapping:\n"
        "            port:\n"
        "              type: colour\n"
        "            host:\n"
        "              type: str\n"
        "              length: 3\n",
        "4:5 error in the schema of attrib x, / must be a rule, which is a map\n"
        "14:15 error in the schema of attrib y, /mapping/port/type must be one of str, int, bool,"
        " seq, map, any, scalar, float, number, text\n"
        "17:15 error in the schema of attrib y, /mapping/host/length is not a keyword of the schema"
        " language\n"));
}

TEST(a_document_that_the_engine_would_not_take_is_refused)
{
    struct bench b;
    struct arena a = {0};
    struct buf text = buf_in(&a);
    buf_put_z(&text, "barclamp: {name: a}\nx: ");
    for (uint32_t i = 0; i < DOC_DEPTH_MAX; i++)
        buf_put_c(&text, '[');
    for (uint32_t i = 0; i < DOC_DEPTH_MAX; i++)
        buf_put_c(&text, ']');
    convert(&b, str_z(&a, buf_str(&text)), NULL);
    CHECK(b.report.errors == 1);
    CHECK(same(b.report.first->text, "the barclamp is nested more than 48 levels deep"));
    bench_close(&b);
    text = buf_in(&a);
    buf_put_z(&text, "barclamp: {name: a}\nx: ");
    for (uint32_t i = 0; i < DOC_MAX; i++)
        buf_put_c(&text, 'x');
    convert(&b, str_z(&a, buf_str(&text)), NULL);
    CHECK(b.report.errors == 1);
    CHECK(same(b.report.first->text, "the barclamp is larger than 1024 KiB"));
    bench_close(&b);
    arena_fini(&a);
}

/* ---- drafts ---- */

/* The draft of a file with errors, as JSON; "" when there is none. */
static bool drafts(const char *text, const char *quoted)
{
    struct bench b;
    const struct barclamp_file file = convert(&b, text, NULL);
    char json[2000];
    snprintf(json, sizeof json, "%s", quoted);
    for (char *c = json; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    const bool is_same = same(file.draft, json);
    bench_close(&b);
    return is_same;
}

TEST(a_draft_is_the_document_without_what_is_wrong)
{
    CHECK(drafts("barclamp: {name: a, version: [1]}\n"
                 "extra: 7\n"
                 "roles:\n"
                 "  - {name: r, jig: j, flags: implicit, requires: [a, 'b c', d], type: !x y}\n"
                 "  - 7\n"
                 "  - {name: s, wants-attribs: [v, 8, {name: w, at: [x]}]}\n"
                 "attribs:\n"
                 "  - {name: t, schema: {type: blue}, map: m}\n",
                 "{'attribs':[{'map':'m','name':'t','schema':null}],"
                 "'barclamp':{'name':'a','source_path':'/src','version':null},'extra':7,"
                 "'roles':[{'flags':null,'jig':'j','name':'r','requires':['a','d'],'type':null},"
                 "null,{'name':'s','wants-attribs':['v',null,{'at':null,'name':'w'}]}]}"));
    CHECK(drafts("barclamp: 3\njigs: {name: one}\n", "{'barclamp':null,'jigs':null}"));
    CHECK(drafts("roles: [1, 2]\n", "{'roles':[]}"));
}

TEST(what_reads_has_no_draft_and_neither_has_what_is_no_barclamp)
{
    CHECK(drafts("barclamp: {name: a}\n", ""));
    CHECK(drafts("- barclamp: {name: a}\n", ""));
    CHECK(drafts("barclamp: [\n", ""));
    CHECK(drafts("!x {barclamp: {name: a}}\n", ""));
}

TEST(a_draft_has_the_bounds_of_a_document)
{
    struct bench b;
    struct arena a = {0};
    struct buf text = buf_in(&a);
    buf_put_z(&text, "barclamp: {name: 7 7}\nx: ");
    for (uint32_t i = 0; i < DOC_DEPTH_MAX; i++)
        buf_put_c(&text, '[');
    for (uint32_t i = 0; i < DOC_DEPTH_MAX; i++)
        buf_put_c(&text, ']');
    CHECK(convert(&b, str_z(&a, buf_str(&text)), NULL).draft.len == 0 && b.report.errors == 1);
    bench_close(&b);
    text = buf_in(&a);
    buf_put_z(&text, "barclamp: {name: 7 7}\nx: ");
    for (uint32_t i = 0; i < DOC_MAX; i++)
        buf_put_c(&text, 'x');
    CHECK(convert(&b, str_z(&a, buf_str(&text)), NULL).draft.len == 0 && b.report.errors == 1);
    bench_close(&b);
    arena_fini(&a);
}

TEST(a_broken_value_is_not_reported_twice)
{
    CHECK(complains(
        "barclamp: {name: *a}\n"
        "roles:\n"
        "  - {name: r, jig: !x j}\n"
        "  - !y {name: s}\n"
        "  - !z t\n"
        "  - {<<: 7, name: u}\n"
        "  - {name: v, jig: j, flags: [!f one], wants-attribs: [!w two]}\n"
        "  - {name: w, jig: j, jig: k, type: [1]}\n",
        "1:18 error unknown anchor &a\n"
        "3:20 error the tag !x is not supported\n"
        "4:5 error the tag !y is not supported\n"
        "5:5 error the tag !z is not supported\n"
        "6:6 error << must name a map or a list of maps\n"
        "7:31 error the tag !f is not supported\n"
        "7:56 error the tag !w is not supported\n"
        "8:23 warning the key jig is repeated in one map: the value in line 8 is used, the"
        " value in line 8 is ignored\n"
        "8:31 error type must be a string, not a list\n"));
    CHECK(complains("!x a\n", "1:1 error the tag !x is not supported\n"));
}

/* ---- hooks ---- */

static char folder[] = "/tmp/halligan-barclamp-XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void in_folder(const char *format)
{
    char command[300];
    snprintf(command, sizeof command, "cd %s && %s", folder, format);
    CHECK(system(command) == 0);
}

/* Each line of the file is a hook; "!" is an error. */
static void find_hooks(void *self, const char *lua_path, struct diagnostics *r, struct json *names)
{
    char line[100];
    FILE *f = fopen(lua_path, "r");
    CHECK(f && self == folder);
    for (uint32_t n = 1; fgets(line, sizeof line, f); n++) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '!')
            diagnostics_error(r, str_copy(r->arena, str_from(lua_path)),
                              (struct text_position){n, 0}, "bad");
        else
            json_append(names, json_make_string(r->arena, str_copy(r->arena, str_from(line))));
    }
    fclose(f);
}

static const char roles[] = "barclamp: {name: a}\n"
                            "roles:\n"
                            "  - {name: one, jig: j}\n"
                            "  - {name: two, jig: j, hooks: [on_todo]}\n"
                            "  - {name: three, jig: j}\n";

static struct barclamp_file with_code(struct bench *b, const char *text)
{
    const struct hook_finder finder = {.self = folder, .find = find_hooks};
    struct barclamp_file file = {.path = "f.yml", .source_path = str_from(folder), .is_yaml = true};
    bench_open(b);
    barclamp_from_yaml(&b->report, str_from(text), &finder, &file);
    diagnostics_sort(&b->report);
    return file;
}

static struct barclamp_file with_hooks(struct bench *b)
{
    return with_code(b, roles);
}

/* A folder of our own with roles in it; the name stays until the test ends. */
static void folder_open(void)
{
    snprintf(folder, sizeof folder, "/tmp/halligan-barclamp-XXXXXX");
    CHECK(mkdtemp(folder));
    in_folder("mkdir roles");
}

TEST(errors_of_form_and_code_are_reported_together)
{
    struct bench b;
    folder_open();
    write_file("roles/one.lua", "!\n");
    write_file("roles/two.lua", "on_todo\n!\n");
    write_file("roles/four.lua", "on_active\n");
    in_folder("mkdir roles/three.lua");
    const struct barclamp_file file = with_code(&b, "barclamp: {name: a, version: [1]}\n"
                                                    "roles:\n"
                                                    "  - {name: one, jig: j, flags: implicit}\n"
                                                    "  - 7\n"
                                                    "  - {jig: j}\n"
                                                    "  - {name: ../two, jig: j}\n"
                                                    "  - {name: three, jig: j}\n"
                                                    "  - {name: four, jig: j, requires: 1}\n"
                                                    "  - {name: two}\n");
    CHECK(file.document.len == 0 && b.report.errors == 10);
    uint32_t of_code = 0, of_form = 0, of_folder = 0;
    for (const struct diagnostics_entry *e = b.report.first; e; e = e->next) {
        of_code += str_ends(e->file, STR(".lua"));
        of_form += str_eq(e->file, STR("f.yml"));
        of_folder +=
            str_starts(e->text, STR("the Lua file of role three is not a regular file: /")) &&
            str_ends(e->text, STR("/roles/three.lua"));
    }
    CHECK(of_code == 2 && of_form == 8 && of_folder == 1);
    CHECK(str_ends(file.draft,
                   STR("\"roles\":[{\"flags\":null,\"hooks\":[],\"jig\":\"j\",\"name\":\"one\"},"
                       "null,{\"jig\":\"j\"},{\"jig\":\"j\",\"name\":null},"
                       "{\"jig\":\"j\",\"name\":\"three\"},{\"hooks\":[\"on_active\"],"
                       "\"jig\":\"j\",\"name\":\"four\",\"requires\":null},"
                       "{\"hooks\":[\"on_todo\"],\"name\":\"two\"}]}")));
    bench_close(&b);
    const struct barclamp_file odd = with_code(&b, "barclamp: 3\nroles: {name: one}\n");
    CHECK(odd.document.len == 0 && b.report.errors == 2);
    bench_close(&b);
    in_folder("rm -r ../$(basename $PWD)");
}

TEST(hooks_are_what_the_lua_files_define)
{
    struct bench b;
    folder_open();
    write_file("roles/one.lua", "on_active\non_todo\n");
    write_file("roles/three.lua", "");
    const struct barclamp_file file = with_hooks(&b);
    CHECK(same(said(&b),
               "4:25 warning the hooks are those that the Lua file of the role defines; this "
               "list is not used\n"));
    const struct str expected =
        STR("\"roles\":[{\"hooks\":[\"on_active\",\"on_todo\"],\"jig\":\"j\","
            "\"name\":\"one\"},{\"jig\":\"j\",\"name\":\"two\"},"
            "{\"hooks\":[],\"jig\":\"j\",\"name\":\"three\"}]}");
    CHECK(str_ends(file.document, expected));
    bench_close(&b);

    write_file("roles/one.lua", "on_active\n!\n");
    const struct barclamp_file bad = with_hooks(&b);
    CHECK(bad.document.len == 0 && b.report.errors == 1);
    CHECK(str_ends(b.report.first->file, STR("/roles/one.lua")) && b.report.first->at.line == 2);
    bench_close(&b);

    in_folder("rm roles/one.lua && echo on_todo > ../$(basename $PWD).lua && "
              "ln -s ../../$(basename $PWD).lua roles/one.lua");
    const struct barclamp_file out = with_hooks(&b);
    CHECK(out.document.len == 0);
    CHECK(str_starts(said(&b), STR("3:5 error the Lua file of role one is outside the barclamp")));
    bench_close(&b);
    in_folder("rm ../$(basename $PWD).lua && rm -r ../$(basename $PWD)");
}

/* ---- JSON ---- */

TEST(json_is_the_document_itself)
{
    struct bench b;
    bench_open(&b);
    struct barclamp_file file = {.path = "f.json", .source_path = STR("/src")};
    barclamp_from_json(&b.report, STR("{\"barclamp\" : {\"name\":\"a\"},\n\"x\":1}"), &file);
    CHECK(same(said(&b), "") && same(file.name, "a"));
    CHECK(same(file.document, "{\"barclamp\":{\"name\":\"a\",\"source_path\":\"/src\"},\"x\":1}"));
    CHECK(barclamp_field_position(&file, STR("barclamp/name")).line == 0);
    file = (struct barclamp_file){.path = "f.json", .source_path = STR("/src")};
    barclamp_from_json(&b.report, STR("{\"barclamp\":{\"name\":\"a\",\"source_path\":\"/x\"}}"),
                       &file);
    CHECK(same(file.document, "{\"barclamp\":{\"name\":\"a\",\"source_path\":\"/x\"}}"));
    file = (struct barclamp_file){.path = "f.json", .source_path = STR("/src")};
    barclamp_from_json(&b.report, STR("[1]"), &file);
    CHECK(same(file.document, "[1]") && same(said(&b), ""));
    file = (struct barclamp_file){.path = "f.json", .source_path = STR("/src")};
    barclamp_from_json(&b.report, STR("{\n  \"a\": tru\n}"), &file);
    CHECK(file.document.len == 0 && b.report.errors == 1);
    CHECK(b.report.first->at.line == 2);
    bench_close(&b);
}
