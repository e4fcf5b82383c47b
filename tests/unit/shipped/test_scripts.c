/* Goal: the shipped scripts do what they document, and the one that wipes disks wipes only the
 * disks on its list.
 * Method: script-runner.sh runs them as on a machine, with every path that they write below a
 * temporary directory. Disks are files below /dev/shm; fake versions of lsblk and other tools read
 * their output from files. */
#include "base/mem/arena.h"
#include "base/text/buf.h"
#include "sys/files.h"
#include "tests/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char work_dir[64];
static struct arena arena;

/* Runs a shell command in the temporary directory; $SOURCE is the source tree. Returns the exit
 * status. */
__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...)
{
    char command[4000], line[5000];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(command, sizeof command, format, args);
    va_end(args);
    CHECK(length > 0 && (size_t)length < sizeof command);
    const char *source = getenv("HALLIGAN_SOURCE");
    const int total = snprintf(line, sizeof line, "SOURCE=$(cd '%s' && pwd) && cd %s && { %s\n}",
                               source ? source : ".", work_dir, command);
    CHECK(total > 0 && (size_t)total < sizeof line);
    const int status = system(line);
    CHECK(status >= 0 && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void write_file(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", work_dir, name);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static const char *read_text(const char *name)
{
    char path[200];
    struct str text;
    snprintf(path, sizeof path, "%s/%s", work_dir, name);
    return file_read(&arena, path, 1u << 20, &text) == OK ? str_z(&arena, text) : "absent";
}

static void begin(void)
{
    snprintf(work_dir, sizeof work_dir, "/dev/shm/halligan-scripts-XXXXXX");
    CHECK(mkdtemp(work_dir));
    CHECK(shell("mkdir run fake state") == 0);
}

static void end(void)
{
    CHECK(shell("rm -r %s", work_dir) == 0);
    arena_reset(&arena);
}

/* Runs the scripts of a role with the given data, in which ' means " and @ the temporary directory.
 * Returns the exit status. */
static int run(const char *barclamp, const char *role, const char *quoted)
{
    struct buf json = buf_in(&arena);
    for (const char *c = quoted; *c; c++)
        if (*c == '@')
            buf_put_z(&json, work_dir);
        else
            buf_put_c(&json, *c == '\'' ? '"' : *c);
    CHECK(shell("rm -rf run/attrs run/*.sh && cp $SOURCE/barclamps/%s/scripts/%s/*.sh run/",
                barclamp, role) == 0);
    write_file("run/attrs.json", str_z(&arena, buf_str(&json)));
    return shell("FAKE=$PWD/fake PATH=$PWD/fake:$PATH HALLIGAN_RUN=$PWD/state/run "
                 "HALLIGAN_JOINED=$PWD/state/joined HALLIGAN_STATE=$PWD/state/publish "
                 "HALLIGAN_SSH_DIR=$PWD/state/ssh HALLIGAN_KEY_DIR=$PWD/state/keys "
                 "HALLIGAN_PUBLISHERS=$PWD/fake/publishers "
                 "sh $SOURCE/barclamps/crowbar/templates/script-runner.sh run > log 2>&1");
}

static bool log_contains(const char *part)
{
    const bool found = strstr(read_text("log"), part) != NULL;
    if (!found)
        printf("wanted: %s\nseen: %s\n", part, read_text("log"));
    return found;
}

/* ---- script-runner.sh ---- */

TEST(scripts_are_given_their_data)
{
    begin();
    write_file("run/attrs.json",
               "{\"a\":{\"b\":\"x\\n\\\"y\\\"\\\\z\\u00e9\\ud83d\\ude00\\t.\",\"c\":[1,true,null,"
               "{\"k\":\"v\"}],\"e/f%\":-1.5,\"n\":null},\"empty\":\"\"}");
    write_file("run/10-read.sh",
               "read_attribute a/b\nread_attribute a/c\nread_attribute a/c/1\n"
               "read_attribute a/e%2Ff%25\nread_attribute empty\n"
               "read_attribute a/n || echo none\nread_attribute a/z || echo none\n"
               "get_keys a\nget_keys a/c\nget_keys a/z\nflat_attributes a\nflat_attributes a/c\n");
    write_file("run/20-write.sh", "#!/bin/bash\n[[ a = a ]]\nwrite_attribute a/b '{\"x\":1}'\n"
                                  "write_attribute ../a b || echo refused\nexit 16\n");
    write_file("run/30-never.sh", "echo never\n");
    CHECK(shell("sh $SOURCE/barclamps/crowbar/templates/script-runner.sh run > log 2>&1") == 16);
    CHECK(
        log_contains("== 10-read.sh\nx\n\"y\"\\z\xc3\xa9\xf0\x9f\x98\x80\t.\n"
                     "[1,true,null,{\"k\":\"v\"}]\ntrue\n-1.5\n\nnone\nnone\n"
                     "b\nc\ne%2Ff%25\nn\n0\n1\n2\n3\n"
                     "b\tx\\n\"y\"\\\\z\xc3\xa9\xf0\x9f\x98\x80\\t.\nc/0\t1\nc/1\ttrue\nc/3/k\tv\n"
                     "e%2Ff%25\t-1.5\n0\t1\n1\ttrue\n3/k\tv\n== 20-write.sh\n"));
    CHECK(log_contains("has an empty part, . or ..\nrefused\n") &&
          !strstr(read_text("log"), "never"));
    CHECK(strcmp(read_text("run/attrs/a/b/wall"), "{\"x\":1}") == 0);
    end();
}

/* ---- provisioner-os-install ---- */

/* Makes three disks of 4.5 MiB with text on them, and a fake lsblk that describes them. */
static void begin_disks(void)
{
    begin();
    CHECK(shell("for d in a b other; do yes $d | head -c 4718592 > $d; done; sha256sum a b other "
                "> before") == 0);
    write_file("fake/lsblk",
               "#!/bin/sh\n"
               "for last; do :; done\n"
               "name=$(basename \"$last\")\n"
               "case $1 in\n"
               "-nrpo) cat \"$FAKE/$name.tree\" 2> /dev/null || echo \"$last disk\" ;;\n"
               "-nrpso) cat \"$FAKE/$name.below\" ;;\n"
               "-dnro) echo disk ;;\n"
               "-bdnro) stat -c %s \"$last\" ;;\n"
               "esac\n");
    write_file("fake/noted", "#!/bin/sh\necho \"$(basename $0) $*\" >> \"$FAKE/noted.log\"\n");
    CHECK(shell("chmod +x fake/*; for c in wipefs blockdev dmsetup mdadm; do ln -s noted fake/$c; "
                "done; : > fake/noted.log") == 0);
}

static bool untouched(void)
{
    return shell("sha256sum --quiet -c before") == 0 &&
           strcmp(read_text("fake/noted.log"), "") == 0;
}

#define TWO_DISKS                                                                                  \
    "'provisioner':{'target_os':'debian-12','wipe':[{'name':'@/a'},{'name':'b','path':'@/b'}]}"

static const char *install_with(const char *hints)
{
    return str_z(&arena,
                 STR_CONCAT(&arena, STR("{'hints':{"), str_from(hints), STR("}," TWO_DISKS "}")));
}

static int run_install(const char *data)
{
    return run("provisioner", "provisioner-os-install", data);
}

TEST(only_the_disks_on_the_list_are_wiped_and_the_run_parks)
{
    begin_disks();
    CHECK(run_install(install_with("'claimed-disks':{'@/a':'operating system'}")) == 128);
    CHECK(shell("grep other before | sha256sum --quiet -c -") == 0);
    CHECK(shell("for d in a b; do [ $(stat -c %%s $d) = 4718592 ] && "
                "[ $(head -c 1048576 $d | tr -d '\\0' | wc -c) = 0 ] && "
                "[ $(tail -c 1048576 $d | tr -d '\\0' | wc -c) = 0 ] && "
                "[ $(head -c 2097152 $d | tail -c 1048576 | tr -d '\\0' | wc -c) = 1048576 ] || "
                "exit 1; done") == 0);
    CHECK(strlen(read_text("run/attrs/crowbar_wall/provisioner/wiped/wall")) == 36);
    CHECK(strcmp(read_text("run/attrs/crowbar_wall/provisioner/wiped/wall"),
                 read_text("state/run/wiped")) == 0);
    end();
}

static const char *after_wipe(const char *boots, const char *dhcp)
{
    char hints[500];
    snprintf(hints, sizeof hints,
             "'crowbar_wall':{'provisioner':{'wiped':'%s'}},'provisioner-active-bootstate':'%s',"
             "'dhcp-active-bootstate':'%s'",
             read_text("state/run/wiped"), boots, dhcp);
    return install_with(hints);
}

TEST(run_again_it_reboots_only_into_the_installer)
{
    begin_disks();
    CHECK(run_install(install_with("")) == 128);
    CHECK(run_install(after_wipe("debian-12-install", "debian-12-install")) == 64);
    CHECK(log_contains("debian-12-install: rebooting"));
    CHECK(strlen(read_text("run/attrs/crowbar_wall/provisioner/wiped/wall")) == 36);
    CHECK(run_install(install_with("")) == 128); /* the next run wipes again */
    CHECK(run_install(after_wipe("debian-12-install", "sledgehammer")) == 1);
    CHECK(log_contains("dhcp-active-bootstate is: sledgehammer"));
    CHECK(run_install(install_with("")) == 128);
    CHECK(run_install(after_wipe("failed: out of order", "debian-12-install")) == 1);
    CHECK(log_contains("provisioner-active-bootstate is: failed: out of order"));
    end();
}

/* The mark in /run was written in another boot or for another machine. */
TEST(a_wipe_with_another_mark_does_not_count)
{
    begin_disks();
    CHECK(shell("mkdir -p state/run && printf old > state/run/wiped") == 0);
    CHECK(run_install(install_with("'crowbar_wall':{'provisioner':{'wiped':'new'}},"
                                   "'provisioner-active-bootstate':'debian-12-install',"
                                   "'dhcp-active-bootstate':'debian-12-install'")) == 128);
    end();
}

TEST(one_disk_in_use_stops_everything)
{
    begin_disks();
    char tree[300];
    snprintf(tree, sizeof tree, "%s/b disk\n%s/b1 part /srv\n", work_dir, work_dir);
    write_file("fake/b.tree", tree);
    CHECK(run_install(install_with("")) == 1);
    CHECK(log_contains("/b1 on /srv. Nothing was wiped") && untouched());
    snprintf(tree, sizeof tree, "%s/b disk [SWAP]\n", work_dir);
    write_file("fake/b.tree", tree);
    CHECK(run_install(install_with("")) == 1 && untouched());
    end();
}

TEST(one_disk_with_another_owner_stops_everything)
{
    begin_disks();
    CHECK(run_install(install_with("'claimed-disks':{'b':'ceph'}")) == 1);
    CHECK(log_contains("the disk b belongs to ceph: nothing was wiped") && untouched());
    end();
}

TEST(a_volume_that_also_uses_other_disks_stops_everything)
{
    begin_disks();
    char text[300];
    snprintf(text, sizeof text, "%s/b disk\n/dev/md0 raid1\n", work_dir);
    write_file("fake/b.tree", text);
    snprintf(text, sizeof text, "/dev/md0 raid1\n%s/b disk\n%s/other disk\n", work_dir, work_dir);
    write_file("fake/md0.below", text);
    CHECK(run_install(install_with("")) == 1);
    CHECK(log_contains("/dev/md0 also uses") && untouched());
    snprintf(text, sizeof text, "/dev/md0 raid1\n%s/b disk\n%s/a disk\n", work_dir, work_dir);
    write_file("fake/md0.below", text);
    CHECK(run_install(install_with("")) == 128);
    CHECK(strstr(read_text("fake/noted.log"), "mdadm --stop /dev/md0\n") != NULL);
    end();
}

TEST(names_of_other_files_than_disks_are_refused)
{
    static const char *const lists[] = {
        "[{'name':'@/a'},{'name':'@/gone'}]",
        "[{'name':'@/a'},{'name':'../..@/b'}]",
        "[{'name':'@/a'},{'name':'/etc/passwd','path':'/etc/passwd'}]",
        "[{'name':'@/a'},{'path':'@/b'}]",
    };
    begin_disks();
    for (uint32_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct str data = STR_CONCAT(&arena, STR("{'provisioner':{'target_os':'x','wipe':"),
                                           str_from(lists[i]), STR("}}"));
        CHECK(run_install(str_z(&arena, data)) == 1 && untouched());
    }
    end();
}

TEST(a_machine_with_an_installed_system_is_not_wiped)
{
    begin_disks();
    CHECK(run_install("{'provisioner':{'target_os':'debian-12','wipe':[]}}") == 0 && untouched());
    CHECK(run_install("{}") == 0 && untouched());
    CHECK(shell(": > state/joined") == 0);
    CHECK(run_install(install_with("")) == 0);
    CHECK(log_contains("already runs from its disk") && untouched());
    end();
}

/* ---- other scripts ---- */

TEST(keys_are_added_to_files_with_other_keys)
{
    begin();
    CHECK(shell("mkdir state/ssh && printf 'ssh-rsa mine\\n' > state/ssh/authorized_keys") == 0);
    const char *data = "{'crowbar':{'access_keys':{'ann':'ssh-ed25519 AAAA ann','bob':null,"
                       "'cy':'ssh-rsa BBBB cy'},'machine_key':'secret'}}";
    for (int i = 0; i < 2; i++) {
        CHECK(run("crowbar", "crowbar-access", data) == 0);
        CHECK(strcmp(read_text("state/ssh/authorized_keys"),
                     "ssh-rsa mine\n# begin halligan\nssh-ed25519 AAAA ann\nssh-rsa BBBB cy\n"
                     "# end halligan\n") == 0);
    }
    CHECK(log_contains("authorized_keys is up to date"));
    CHECK(strcmp(read_text("state/keys/machine.key"), "secret\n") == 0);
    CHECK(shell("[ $(stat -c %%a state/keys/machine.key) = 600 ]") == 0);
    CHECK(run("crowbar", "crowbar-access", "{}") == 0);
    CHECK(strcmp(read_text("state/ssh/authorized_keys"),
                 "ssh-rsa mine\n# begin halligan\n# end halligan\n") == 0);
    end();
}

TEST(a_database_reports_what_the_publisher_accepted)
{
    static const char *const sections[] = {"dhcp", "provisioner"};
    for (int i = 0; i < 2; i++) {
        char data[600], role[100], wall[100], saved[100];
        begin();
        snprintf(role, sizeof role, "%s-database", sections[i]);
        snprintf(wall, sizeof wall, "run/attrs/crowbar_wall/%s/clients/wall", sections[i]);
        snprintf(saved, sizeof saved, "state/publish/%s/clients.json", sections[i]);
        snprintf(data, sizeof data,
                 "{'crowbar':{'%s':{'clients':{'n1.example.com':{'bootenv':'local','generation':7,"
                 "'mac_addresses':['52:54:00:ab:cd:01'],'node_id':12,'v4addr':'x'},"
                 "'n2.example.com':null,'n3.example.com':{'bootenv':'b\\\\ad','generation':3},"
                 "'n4.example.com':{'bootenv':'debian-12-install','generation':'1,x'}}}}}",
                 sections[i]);
        CHECK(shell("mkdir fake/publishers && printf '#!/bin/sh\\nexit 1\\n' > "
                    "fake/publishers/%s && chmod +x fake/publishers/%s",
                    sections[i], sections[i]) == 0);
        CHECK(run(sections[i], role, data) == 1);
        CHECK(strcmp(read_text(wall), "absent") == 0);
        CHECK(shell("printf '#!/bin/sh\\ngrep -q n1 \"$1\"\\n' > fake/publishers/%s",
                    sections[i]) == 0);
        CHECK(run(sections[i], role, data) == 0);
        CHECK(strcmp(read_text(wall),
                     "{\"n1.example.com\":{\"bootenv\":\"local\",\"generation\":7,\"node_id\":12},"
                     "\"n4.example.com\":{\"bootenv\":\"debian-12-install\"}}") == 0);
        CHECK(log_contains("left out: n3.example.com") &&
              strstr(read_text(saved), "n4.example.com"));
        CHECK(shell("rm -r fake/publishers") == 0);
        CHECK(run(sections[i], role, "{}") == 0 && strcmp(read_text(wall), "{}") == 0);
        end();
    }
}

TEST(records_are_published_when_they_changed)
{
    begin();
    const char *data = "{'crowbar':{'dns':{'records':{'b.example.com':{'address':'10.0.0.2','type':"
                       "'A'},'a.example.com':{'address':'10.0.0.1','type':'A'}}}}}";
    CHECK(run("dns", "dns-database", data) == 0 && log_contains("published 2 records"));
    CHECK(strcmp(read_text("state/publish/dns/records"),
                 "a.example.com. IN A 10.0.0.1\nb.example.com. IN A 10.0.0.2\n") == 0);
    CHECK(run("dns", "dns-database", data) == 0 && log_contains("the records have not changed"));
    end();
}

TEST(images_and_sources_are_stored_where_installers_read_them)
{
    begin();
    CHECK(shell("mkdir -p state/root/debian-12 && : > state/root/debian-12/linux") == 0);
    CHECK(run("provisioner", "provisioner-base-images",
              "{'provisioner':{'images':{'debian-12':['debian-12/linux'],'debian-13':"
              "['debian-13/linux']},'root':'@/state/root'}}") == 0);
    CHECK(strcmp(read_text("run/attrs/crowbar_wall/provisioner/available_oses/wall"),
                 "[\"debian-12\"]") == 0);
    CHECK(log_contains("debian-13 cannot be installed: missing debian-13/linux"));
    CHECK(run("provisioner", "provisioner-base-images",
              "{'provisioner':{'images':{'x':['../../etc/passwd']},'root':'@/state/root'}}") == 1);
    CHECK(run("provisioner", "provisioner-repos",
              "{'provisioner':{'repos':{'debian-12':['deb http://x y z','deb http://u v']},"
              "'root':'@/state/root'}}") == 0);
    CHECK(strcmp(read_text("state/root/debian-12/sources.list"),
                 "deb http://x y z\ndeb http://u v\n") == 0);
    CHECK(run("provisioner", "provisioner-repos",
              "{'provisioner':{'repos':{'..':['x']},'root':'@/state/root'}}") == 1);
    end();
}

TEST(a_server_must_have_the_address_it_serves_on)
{
    begin();
    CHECK(run("dhcp", "dhcp-server", "{'dhcp':{'service_address':'127.0.0.1'}}") == 0);
    CHECK(run("dhcp", "dhcp-server", "{'dhcp':{'service_address':'192.0.2.77'}}") == 1);
    CHECK(log_contains("does not have the address 192.0.2.77"));
    CHECK(run("dhcp", "dhcp-server", "{}") == 1);
    CHECK(log_contains("the service address of this DHCP server is not set"));
    CHECK(run("dns", "dns-server",
              "{'dns':{'service_address':'127.0.0.1','default_domain':'example.com','ttl':'2h',"
              "'forwarders':['10.0.0.53']}}") == 0);
    CHECK(strstr(read_text("state/publish/dns/zone.head"), "$TTL 2h\n@ IN SOA ns.example.com.") !=
          NULL);
    CHECK(strcmp(read_text("state/publish/dns/forwarders"), "10.0.0.53\n") == 0);
    CHECK(run("provisioner", "provisioner-server",
              "{'provisioner':{'root':'@/state/root','service_address':'127.0.0.1'}}") == 0);
    CHECK(shell("[ -d state/root/nodes ]") == 0);
    end();
}
