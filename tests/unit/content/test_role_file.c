/* Goal: the files of a role are found in both layouts, and no file outside of the barclamp is read
 * by the daemon. */
#include "base/err.h"
#include "content/role_file.h"
#include "tests/unit/content/content_disk.h"

/* The path below the directory; the error as a word otherwise. */
static bool lies(err e, const char *path, const char *wanted)
{
    if (e != OK)
        return same(e == ERR_NOT_FOUND ? STR("none")
                    : e == ERR_REFUSED ? STR("refused")
                    : e == ERR_EXISTS  ? STR("no file")
                    : e == ERR_LIMIT   ? STR("too long")
                                       : STR("unreadable"),
                    wanted);
    CHECK(strncmp(path, disk, strlen(disk)) == 0);
    return same(str_from(path + strlen(disk)), wanted);
}

static bool role_lies(const char *source, const char *role, enum role_file which,
                      const char *wanted)
{
    struct bench b;
    const char *path = NULL;
    bench_open(&b);
    const err e =
        content_role_file(&b.arena, str_from(on_disk(&b, source)), str_from(role), which, &path);
    const bool as_wanted = lies(e, path, wanted);
    bench_close(&b);
    return as_wanted;
}

static bool template_lies(const char *source, const char *name, const char *wanted)
{
    struct bench b;
    const char *path = NULL;
    bench_open(&b);
    const err e =
        content_template_file(&b.arena, str_from(on_disk(&b, source)), str_from(name), &path);
    const bool as_wanted = lies(e, path, wanted);
    bench_close(&b);
    return as_wanted;
}

TEST(our_own_layout)
{
    disk_open();
    disk_write("ntp/roles/ntp-server.lua", "");
    disk_write("ntp/scripts/ntp-server/01.sh", "");
    disk_write("ntp/puppet/roles/ntp-server/init.pp", "");
    CHECK(role_lies("ntp", "ntp-server", ROLE_FILE_LUA, "/ntp/roles/ntp-server.lua"));
    CHECK(role_lies("ntp", "ntp-server", ROLE_FILE_SCRIPTS, "/ntp/scripts/ntp-server"));
    CHECK(role_lies("ntp", "ntp-server", ROLE_FILE_PUPPET, "/ntp/puppet/roles/ntp-server"));
    disk_write("ntp/ansible/roles/ntp-server.yml", "");
    disk_write("ntp/ansible/ntp-client/playbook.yml", "");
    CHECK(role_lies("ntp", "ntp-server", ROLE_FILE_PLAYBOOK, "/ntp/ansible/roles/ntp-server.yml"));
    CHECK(
        role_lies("ntp", "ntp-client", ROLE_FILE_PLAYBOOK, "/ntp/ansible/ntp-client/playbook.yml"));
    CHECK(role_lies("ntp", "ntp-client", ROLE_FILE_LUA, "none"));
    CHECK(role_lies("ntp", "ntp-client", ROLE_FILE_SCRIPTS, "none"));
    CHECK(role_lies("nowhere", "ntp-server", ROLE_FILE_LUA, "none"));
    disk_close();
}

TEST(a_checkout)
{
    disk_open();
    disk_write("core/script/roles/deployer/01.sh", "");
    disk_write("core/puppet/roles/deployer/init.pp", "");
    disk_write("core/roles/deployer.lua", "");
    CHECK(role_lies("core", "deployer", ROLE_FILE_SCRIPTS, "/core/script/roles/deployer"));
    CHECK(role_lies("core", "deployer", ROLE_FILE_PUPPET, "/core/puppet/roles/deployer"));
    CHECK(role_lies("core", "deployer", ROLE_FILE_LUA, "/core/roles/deployer.lua"));
    CHECK(role_lies("core", "other", ROLE_FILE_PUPPET, "none"));
    disk_close();
}

TEST(what_is_of_the_wrong_kind_is_none)
{
    disk_open();
    disk_run("mkdir -p a/roles a/scripts/s && touch a/scripts/r a/puppet");
    CHECK(role_lies("a", "r", ROLE_FILE_SCRIPTS, "none"));
    CHECK(role_lies("a", "s", ROLE_FILE_SCRIPTS, "/a/scripts/s"));
    CHECK(role_lies("a", "r", ROLE_FILE_PUPPET, "none"));
    disk_run("mkdir -p a/ansible/roles/r.yml a/ansible/r && touch a/ansible/r/playbook.yml");
    CHECK(role_lies("a", "r", ROLE_FILE_PLAYBOOK, "/a/ansible/r/playbook.yml"));
    disk_close();
}

TEST(code_that_is_no_file_is_not_the_same_as_no_code)
{
    disk_open();
    disk_run("mkdir -p a/roles/folder.lua && mkfifo a/roles/pipe.lua && "
             "ln -s nothing a/roles/gone.lua && ln -s loop.lua a/roles/loop.lua && "
             "ln -s /dev/null a/roles/device.lua");
    CHECK(role_lies("a", "folder", ROLE_FILE_LUA, "no file"));
    CHECK(role_lies("a", "pipe", ROLE_FILE_LUA, "no file"));
    CHECK(role_lies("a", "gone", ROLE_FILE_LUA, "no file"));
    CHECK(role_lies("a", "device", ROLE_FILE_LUA, "no file"));
    CHECK(role_lies("a", "loop", ROLE_FILE_LUA, "unreadable"));
    CHECK(role_lies("a", "none", ROLE_FILE_LUA, "none"));
    disk_close();
}

TEST(a_role_for_each_network_has_its_files_under_its_name_in_the_document)
{
    disk_open();
    disk_write("net/roles/net-{name}.lua", "");
    disk_write("net/scripts/net-{name}/01.sh", "");
    CHECK(role_lies("net", "net-{name}", ROLE_FILE_LUA, "/net/roles/net-{name}.lua"));
    CHECK(role_lies("net", "net-{name}", ROLE_FILE_SCRIPTS, "/net/scripts/net-{name}"));
    CHECK(role_lies("net", "net-lab", ROLE_FILE_LUA, "none"));
    CHECK(role_lies("net", "{name}-{name}", ROLE_FILE_LUA, "refused"));
    CHECK(role_lies("net", "net-{nam}", ROLE_FILE_LUA, "refused"));
    CHECK(role_lies("net", "net-{other}", ROLE_FILE_SCRIPTS, "refused"));
    CHECK(role_lies("net", "../{name}", ROLE_FILE_LUA, "refused"));
    disk_close();
}

TEST(names_that_no_role_has_are_refused)
{
    disk_open();
    disk_write("a/roles/x.lua", "");
    disk_write("secret.lua", "");
    CHECK(role_lies("a", "../../secret", ROLE_FILE_LUA, "refused"));
    CHECK(role_lies("a", "", ROLE_FILE_LUA, "refused"));
    CHECK(role_lies("a", "x/../x", ROLE_FILE_SCRIPTS, "refused"));
    disk_close();
}

TEST(links_may_not_lead_out_of_the_barclamp)
{
    disk_open();
    disk_write("a/roles/real.lua", "");
    disk_write("a/templates/real", "");
    disk_write("ab/roles/far.lua", "");
    disk_run("ln -s real.lua a/roles/near.lua && ln -s ../../ab/roles/far.lua a/roles/far.lua && "
             "ln -s /etc/passwd a/roles/away.lua && "
             "ln -s /etc a/templates/etc && ln -s real a/templates/near && ln -s a linked && "
             "ln -s loop a/templates/loop && ln -s ../../ab/roles a/scripts");
    CHECK(role_lies("a", "near", ROLE_FILE_LUA, "/a/roles/real.lua"));
    CHECK(role_lies("a", "far", ROLE_FILE_LUA, "refused")); /* though its path begins alike */
    CHECK(role_lies("a", "away", ROLE_FILE_LUA, "refused"));
    CHECK(role_lies("linked", "real", ROLE_FILE_LUA, "/a/roles/real.lua"));
    CHECK(template_lies("a", "etc/passwd", "refused"));
    CHECK(template_lies("a", "near", "/a/templates/real"));
    disk_close();
}

TEST(templates_are_named_by_a_path_below_theirs)
{
    disk_open();
    disk_write("a/templates/plain", "");
    disk_write("a/templates/pxe/default", "");
    disk_write("a/other", "");
    CHECK(template_lies("a", "plain", "/a/templates/plain"));
    CHECK(template_lies("a", "pxe/default", "/a/templates/pxe/default"));
    CHECK(template_lies("a", "pxe", "none") && template_lies("a", "none", "none"));
    CHECK(template_lies("a", "plain/x", "none") && template_lies("b", "plain", "none"));
    static const char *const bad[] = {"",        "/etc/passwd",  "../other", "pxe/../plain",
                                      "./plain", "pxe//default", "plain/",   "..",
                                      ".",       "a\xff"};
    for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(template_lies("a", bad[i], "refused"));
    disk_close();
}

TEST(paths_have_a_bound)
{
    struct bench b;
    const char *path;
    char source[5000];
    bench_open(&b);
    memset(source, 'x', sizeof source);
    const struct str far = {source, sizeof source};
    CHECK(content_role_file(&b.arena, far, STR("r"), ROLE_FILE_LUA, &path) == ERR_LIMIT);
    CHECK(content_template_file(&b.arena, far, STR("r"), &path) == ERR_LIMIT);
    bench_close(&b);
}
