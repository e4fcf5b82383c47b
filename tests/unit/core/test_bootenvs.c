/* Goal: boot environments of barclamps are rows and entries of the boot view, follow a reimport,
 * and a wrong entry refuses the import with all problems at once. Method: documents through the
 * core, with reloads that compare digests (world.h); records that no import makes are refused by a
 * load. */
#include "tests/unit/core/boot_world.h"

#define BARCLAMP(name) "{'barclamp':{'name':'" name "','source_path':'/b'},'bootenvs':["
#define SLEDGEHAMMER                                                                               \
    "{'name':'sledgehammer','kernel':'sledgehammer/vmlinuz','initrd':['sledgehammer/stage1.img',"  \
    "'firmware.cpio'],'args':'quiet x={{url}}','method':'discovery','os':'debian'}"
#define INSTALL "{'name':'debian-12-install','kernel':'d/linux','method':'installer'}"

static struct bootenv_record find_bootenv(struct world *w, const char *name)
{
    struct record record;
    const int64_t id = core_find(w->core, TABLE_BOOTENV, str_from(name));
    if (!id)
        return (struct bootenv_record){0};
    CHECK(core_record(w->core, TABLE_BOOTENV, id, &record));
    return record.bootenv;
}

TEST(an_environment_is_a_row_and_an_entry)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, BARCLAMP("b") SLEDGEHAMMER "," INSTALL "]}"));
    const struct bootenv_record r = find_bootenv(w, "sledgehammer");
    CHECK(str_eq(r.kernel, STR("sledgehammer/vmlinuz")));
    CHECK(str_eq(r.initrd, STR("[\"sledgehammer/stage1.img\",\"firmware.cpio\"]")));
    CHECK(str_eq(r.args, STR("quiet x={{url}}")) && str_eq(r.method, STR("discovery")));
    CHECK(str_eq(r.os, STR("debian")) && !r.available);
    CHECK(r.barclamp_id == core_find(w->core, TABLE_BARCLAMP, STR("b")));
    struct boot_entry entry;
    CHECK(core_boot_view(w->core, (struct boot_key){BOOT_BOOTENV, r.id}, &w->arena, &entry));
    CHECK(entry.bootenv.initrd_count == 2);
    CHECK(str_eq(entry.bootenv.initrds[1], STR("firmware.cpio")));
    CHECK(str_eq(entry.bootenv.kernel, r.kernel) && str_eq(entry.bootenv.args, r.args));
    CHECK(str_eq(entry.bootenv.method, r.method) && str_eq(entry.bootenv.os, r.os));
    CHECK(find_bootenv(w, "debian-12-install").initrd.len == 0);
    CHECK(strstr(view_text(w), "bootenv debian-12-install d/linux\n"));
    world_reload(w);
    CHECK(strstr(view_text(w), "bootenv sledgehammer sledgehammer/vmlinuz\n"));
    world_close(w);
}

TEST(an_environment_follows_a_reimport_and_belongs_to_the_last_barclamp_that_defines_it)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, BARCLAMP("b") SLEDGEHAMMER "," INSTALL "]}"));
    const int64_t id = find_bootenv(w, "sledgehammer").id;
    uint32_t count;
    int64_t turn;
    world_collect(w);
    DONE(w, cmd_import(w, BARCLAMP("b") SLEDGEHAMMER "]}"));
    CHECK(find_bootenv(w, "sledgehammer").id == id && !find_bootenv(w, "debian-12-install").id);
    world_collect(w);
    core_boot_changes(w->core, &count, &turn);
    CHECK(count == 1);
    DONE(w, cmd_import(w, BARCLAMP("c") SLEDGEHAMMER "]}"));
    CHECK(find_bootenv(w, "sledgehammer").id == id);
    DONE(w, cmd_import(w, "{'barclamp':{'name':'b','source_path':'/b'}}"));
    CHECK(find_bootenv(w, "sledgehammer").id == id);
    DONE(w, cmd_import(w, "{'barclamp':{'name':'c','source_path':'/b'}}"));
    CHECK(!find_bootenv(w, "sledgehammer").id);
    EXPECT_STR(entry_text(w, BOOT_BOOTENV, id), "none");
    world_close(w);
}

TEST(other_files_are_not_available_until_a_boot_server_reports_them)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, BARCLAMP("b") INSTALL "]}"));
    const bootenv_ix e = {name_find(w->core, TABLE_BOOTENV, STR("debian-12-install"))};
    bootenv_edit(w->core, e)->available = true;
    DONE(w, cmd_import(w, BARCLAMP("b") "{'name':'debian-12-install','kernel':'d/linux',"
                                        "'method':'installer','args':'quiet'}]}"));
    CHECK(find_bootenv(w, "debian-12-install").available);
    DONE(w, cmd_import(w, BARCLAMP("b") "{'name':'debian-12-install','kernel':'e/linux',"
                                        "'method':'installer','args':'quiet'}]}"));
    CHECK(!find_bootenv(w, "debian-12-install").available);
    world_close(w);
}

TEST(a_wrong_entry_refuses_the_import_with_its_field)
{
    static const struct {
        const char *entry, *field;
        enum problem_code code;
    } cases[] = {
        {"7", "bootenvs/0", PROBLEM_BAD_VALUE},
        {"{'kernel':'k','method':'image'}", "bootenvs/0/name", PROBLEM_MISSING},
        {"{'name':'1x','kernel':'k','method':'image'}", "bootenvs/0/name", PROBLEM_NAME_INVALID},
        {"{'name':'local','kernel':'k','method':'image'}", "bootenvs/0/name", PROBLEM_NAME_INVALID},
        {"{'name':'x/y','kernel':'k','method':'image'}", "bootenvs/0/name", PROBLEM_NAME_INVALID},
        {"{'name':'x','method':'image'}", "bootenvs/0/kernel", PROBLEM_MISSING},
        {"{'name':'x','kernel':'','method':'image'}", "bootenvs/0/kernel", PROBLEM_MISSING},
        {"{'name':'x','kernel':'/k','method':'image'}", "bootenvs/0/kernel", PROBLEM_BAD_VALUE},
        {"{'name':'x','kernel':'a/../k','method':'image'}", "bootenvs/0/kernel", PROBLEM_BAD_VALUE},
        {"{'name':'x','kernel':'a//k','method':'image'}", "bootenvs/0/kernel", PROBLEM_BAD_VALUE},
        {"{'name':'x','kernel':'a/','method':'image'}", "bootenvs/0/kernel", PROBLEM_BAD_VALUE},
        {"{'name':'x','kernel':'a b','method':'image'}", "bootenvs/0/kernel", PROBLEM_BAD_VALUE},
        {"{'name':'x','kernel':{},'method':'image'}", "bootenvs/0/kernel", PROBLEM_BAD_VALUE},
        {"{'name':'x','kernel':'k'}", "bootenvs/0/method", PROBLEM_MISSING},
        {"{'name':'x','kernel':'k','method':'magic'}", "bootenvs/0/method", PROBLEM_BAD_VALUE},
        {"{'name':'x','kernel':'k','method':'image','initrd':'i'}", "bootenvs/0/initrd",
         PROBLEM_BAD_VALUE},
        {"{'name':'x','kernel':'k','method':'image','initrd':['i',7]}", "bootenvs/0/initrd/1",
         PROBLEM_BAD_VALUE},
        {"{'name':'x','kernel':'k','method':'image','initrd':['../i']}", "bootenvs/0/initrd/0",
         PROBLEM_BAD_VALUE},
        {"{'name':'x','kernel':'k','method':'image','initrd':['a','a','a','a','a','a','a','a','a',"
         "'a','a','a','a','a','a','a','a']}",
         "bootenvs/0/initrd", PROBLEM_BAD_VALUE},
        {"{'name':'x','kernel':'k','method':'image','args':'a\\nb'}", "bootenvs/0/args",
         PROBLEM_BAD_VALUE},
        {"{'name':'x','kernel':'k','method':'image','os':'a\\tb'}", "bootenvs/0/os",
         PROBLEM_BAD_VALUE},
        {INSTALL "," INSTALL, "bootenvs/1/name", PROBLEM_NAME_TAKEN},
        {INSTALL ",{'name':'Debian-12-install','kernel':'k','method':'image'}", "bootenvs/1/name",
         PROBLEM_NAME_TAKEN},
    };
    struct world *w = world_open();
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[600];
        snprintf(text, sizeof text, "%s%s]}", BARCLAMP("b"), cases[i].entry);
        world_refused(w, cmd_import(w, text), PROBLEM_NONE, NULL, HERE);
        if (!has_problem(w, cases[i].code, cases[i].field))
            world_fail(HERE, "%s: %s", cases[i].entry, world_trouble(w));
    }
    REFUSED(w, cmd_import(w, "{'barclamp':{'name':'b','source_path':'/b'},'bootenvs':{}}"),
            BAD_VALUE, "bootenvs");
    /* All problems of all entries at once. */
    REFUSED(w, cmd_import(w, BARCLAMP("b") "{'name':'1'},{'name':'x','kernel':'/','method':'m'}]}"),
            NONE, NULL);
    CHECK(problem_count(w) == 5);
    CHECK(core_count(w->core, TABLE_BOOTENV) == 0);
    world_close(w);
}

TEST(records_that_no_import_makes_are_refused)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, BARCLAMP("b") SLEDGEHAMMER "]}"));
    static const struct {
        const char *field, *value;
    } cases[] = {{"name", "local"},   {"kernel", "/k"}, {"kernel", ""},
                 {"method", "magic"}, {"initrd", "{}"}, {"initrd", "[7]"},
                 {"args", "a\nb"},    {"os", "a\tb"},   {"initrd", "[\"../x\"]"}};
    const struct bootenv_record good = find_bootenv(w, "sledgehammer");
    const struct bootenv row = {.barclamp = {1}};
    CHECK(bootenv_can_load(&row, &good));
    CHECK(!bootenv_can_load(&(struct bootenv){0}, &good));
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bootenv_record bad = good;
        const struct layout *layout = record_layout(TABLE_BOOTENV);
        for (uint32_t f = 0; f < layout->count; f++)
            if (strcmp(layout->fields[f].name, cases[i].field) == 0) {
                const struct str value = str_from(cases[i].value);
                memcpy((char *)&bad + layout->fields[f].offset, &value, sizeof value);
            }
        if (bootenv_can_load(&row, &bad))
            world_fail(HERE, "%s \"%s\" is accepted", cases[i].field, cases[i].value);
    }
    world_close(w);
}
