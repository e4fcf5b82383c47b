/* Goal: a new barclamp is complete and valid, and replaces no file. */
#include <errno.h>

#include "barclamp/skeleton.h"
#include "check/barclamp_check.h"
#include "tests/unit/cli/cli_disk.h"

static bool says(const char *seen, const char *wanted)
{
    return seen && strstr(seen, wanted);
}

TEST(names_are_those_of_barclamps_and_leave_room_for_a_role)
{
    char name[300];
    CHECK(!skeleton_check_name(STR("a")) && !skeleton_check_name(STR("A_9")));
    CHECK(says(skeleton_check_name(STR("")), "required"));
    CHECK(says(skeleton_check_name(STR("9a")), "letter"));
    CHECK(says(skeleton_check_name(STR("a-b")), "underscores"));
    CHECK(says(skeleton_check_name(STR("../a")), "letter"));
    CHECK(says(skeleton_check_name(STR("Roles")), "reserved"));
    memset(name, 'a', sizeof name);
    CHECK(!skeleton_check_name((struct str){name, 248}));
    CHECK(says(skeleton_check_name((struct str){name, 249}), "255"));
    CHECK(says(skeleton_check_name((struct str){name, 256}), "255"));
}

TEST(every_file_of_it_is_there_and_nothing_else)
{
    disk_open();
    CHECK(skeleton_write(&arena, disk, STR("demo")) == OK);
    disk_run("test -z \"$(ls -A | grep -vx demo)\"");
    disk_run("test \"$(find demo -type f | wc -l)\" = 4 && test -d demo/templates");
    disk_run("test -x demo/scripts/demo-server/10-install.sh && test ! -x demo/demo.yml");
    disk_run("! grep -r @ demo && sh -n demo/scripts/demo-server/10-install.sh");
    disk_run("! grep -rlE ' +$' demo && test -z \"$(find demo -name '*.tmp')\"");
    const struct barclamp_check check = barclamp_check_directories(&arena, on_disk("demo"), NULL);
    CHECK(check.barclamps == 1 && check.roles == 1 && check.report.count == 0);
    disk_close();
}

TEST(names_that_are_something_else_to_yaml)
{
    static const char *const names[] = {"yes", "No", "null", "on", "OFF", "true", "y", "crowbar"};
    disk_open();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CHECK(skeleton_write(&arena, disk, str_from(names[i])) == OK);
        const struct barclamp_check check =
            barclamp_check_directories(&arena, on_disk(names[i]), NULL);
        CHECK(check.barclamps == 1 && check.report.count == 0);
    }
    disk_close();
}

TEST(what_is_there_stays)
{
    disk_open();
    disk_run("mkdir empty && ln -s nowhere link && echo mine >file");
    CHECK(skeleton_write(&arena, disk, STR("empty")) == ERR_EXISTS);
    CHECK(skeleton_write(&arena, disk, STR("link")) == ERR_EXISTS);
    CHECK(skeleton_write(&arena, disk, STR("file")) == ERR_EXISTS);
    CHECK(skeleton_write(&arena, disk, STR("demo")) == OK);
    disk_run("echo mine >demo/demo.yml");
    CHECK(skeleton_write(&arena, disk, STR("demo")) == ERR_EXISTS);
    disk_run("grep -q mine demo/demo.yml && grep -q mine file && rmdir empty");
    disk_run("test \"$(ls -A | tr '\\n' ' ')\" = 'demo file link '");
    disk_close();
}

TEST(a_place_that_is_none)
{
    disk_open();
    CHECK(skeleton_write(&arena, on_disk("nowhere"), STR("demo")) == ERR_NOT_FOUND);
    CHECK(errno == ENOENT);
    disk_run("echo >file");
    CHECK(skeleton_write(&arena, on_disk("file"), STR("demo")) != OK && errno == ENOTDIR);
    disk_close();
}
