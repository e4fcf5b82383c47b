/* Goal: the shipped scripts do what they document, and the one that wipes disks wipes only the
 * disks on its list.
 * Method: script-runner.sh runs them as on a machine, with every path that they write below a
 * temporary directory. Disks are files below /dev/shm; they are described by
 * directories in the form of sysfs, procfs and the database of udev. */
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

/* Puts the scripts of a role and their data into the directory `run`; in the data ' means " and @
 * the temporary directory. */
static void stage(const char *barclamp, const char *role, const char *quoted)
{
    struct buf json = buf_in(&arena);
    for (const char *c = quoted; *c; c++)
        if (*c == '@')
            buf_put_z(&json, work_dir);
        else
            buf_put_c(&json, *c == '\'' ? '"' : *c);
    CHECK(shell("rm -rf run/attrs run/.reason run/.park run/*.sh && "
                "cp $SOURCE/barclamps/%s/scripts/%s/*.sh run/",
                barclamp, role) == 0);
    write_file("run/attrs.json", str_z(&arena, buf_str(&json)));
}

/* Runs the scripts of a role; returns the exit status. */
static int run(const char *barclamp, const char *role, const char *quoted)
{
    stage(barclamp, role, quoted);
    return shell("FAKE=$PWD/fake PATH=$PWD/fake:$PATH HALLIGAN_RUN=$PWD/state/run "
                 "HALLIGAN_JOINED=$PWD/state/joined HALLIGAN_STATE=$PWD/state/publish "
                 "HALLIGAN_SYSFS=$PWD/sys HALLIGAN_PROC=$PWD/proc HALLIGAN_DEV=$PWD/dev "
                 "HALLIGAN_UDEV=$PWD/udev "
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

/* A disk of a fake sysfs: sysfs_disk NAME MAJOR:MINOR, with its size from the file dev/NAME. */
#define SYSFS_DISK                                                                                 \
    "sysfs_disk() { d=sys/block/$1; mkdir -p $d/holders $d/slaves; echo $2 > $d/dev; "             \
    "echo 0 > $d/ro; echo $(($(stat -c %s dev/$1) / 512)) > $d/size; }; "                          \
    "sysfs_part() { d=sys/block/$1/$2; mkdir -p $d/holders; echo 1 > $d/partition; "               \
    "echo $3 > $d/dev; head -c 1048576 dev/$1 > dev/$2; echo 2048 > $d/size; }; "                  \
    "sysfs_on() { mkdir -p $1/holders $2/slaves; ln -s x $1/holders/${2##*/}; "                    \
    "ln -s x $2/slaves/${1##*/}; }; "

/* Makes three disks of 4.5 MiB with text on them, and the directories of sysfs, procfs and udev
 * that describe them. Programs that only a complete system has are fake and note their calls. */
static void begin_disks(void)
{
    begin();
    CHECK(shell("mkdir -p dev/disk/by-id sys/block sys/fs proc/self udev && "
                "for d in a b other; do yes $d | head -c 4718592 > dev/$d; done && "
                "cp -r dev before && : > proc/self/mountinfo && echo Filename > proc/swaps && "
                "echo '1000.42 7.00' > proc/uptime") == 0);
    write_file("sysfs", SYSFS_DISK);
    CHECK(shell(". ./sysfs && sysfs_disk a 8:0 && sysfs_disk b 8:16 && sysfs_disk other 8:32 && "
                "mkdir sys/block/b/device sys/block/other/device && "
                "printf '  SERIAL   A \\n' > sys/block/a/serial && "
                "printf '\\0\\200\\0\\10  SER-B ' > sys/block/b/device/vpd_pg80 && "
                "echo naa.5000C500A1 > sys/block/b/device/wwid && "
                "echo SER-O > sys/block/other/device/serial && "
                "ln -s ../../a dev/disk/by-id/ata-a && "
                "ln -s ../../b dev/disk/by-id/wwn-0x5000c500a1") == 0);
    write_file("fake/noted", "#!/bin/sh\necho \"$(basename $0) $*\" >> \"$FAKE/noted.log\"\n");
    CHECK(shell("chmod +x fake/*; for c in wipefs blockdev dmsetup mdadm; do ln -s noted fake/$c; "
                "done; : > fake/noted.log") == 0);
}

static bool untouched(void)
{
    return shell("for d in a b other; do cmp dev/$d before/$d || exit 1; done") == 0 &&
           strcmp(read_text("fake/noted.log"), "") == 0;
}

#define DISK_A                                                                                     \
    "{'name':'disk/by-id/ata-a','path':'/dev/disk/by-id/ata-a','serial':'SERIAL A','size':4718592}"
#define DISK_B "{'name':'sdb','path':'/dev/b','size':4718592,'wwn':'5000c500a1'}"
#define PLAN(list)                                                                                 \
    "'announced':{'provisioner-os-install':{'wipe':[" list "]}},"                                  \
    "'provisioner':{'target_os':'debian-12'}"
#define BOOTS(bootenv, served, failed, problem, wait_s)                                            \
    "'boot':{'bootenv':'" bootenv "','failed':" failed ",'generation':3,'problem':'" problem       \
    "','served':" served ",'wait_s':" wait_s "}"
#define WIPES(list) PLAN(list) "," BOOTS("sledgehammer", "true", "false", "", "600")
#define TWO_DISKS   WIPES(DISK_A "," DISK_B)

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
    CHECK(run_install(install_with("'claimed-disks':{'disk/by-id/ata-a':'operating system'}")) ==
          128);
    CHECK(shell("cmp dev/other before/other") == 0);
    CHECK(
        shell("for d in a b; do [ $(stat -c %%s dev/$d) = 4718592 ] && "
              "[ $(head -c 1048576 dev/$d | tr -d '\\0' | wc -c) = 0 ] && "
              "[ $(tail -c 1048576 dev/$d | tr -d '\\0' | wc -c) = 0 ] && "
              "[ $(head -c 2097152 dev/$d | tail -c 1048576 | tr -d '\\0' | wc -c) = 1048576 ] || "
              "exit 1; done") == 0);
    CHECK(log_contains("wiped /dev/b: serial SER-B, WWN 5000c500a1, 4718592 bytes"));
    CHECK(strlen(read_text("run/attrs/crowbar_wall/provisioner/wiped/wall")) == 36);
    CHECK(strcmp(read_text("run/attrs/crowbar_wall/provisioner/wiped/wall"),
                 read_text("state/run/wiped")) == 0);
    end();
}

/* The data of a resumed run. */
static const char *after_wipe(const char *boot)
{
    return str_z(&arena,
                 STR_CONCAT(&arena, STR("{'hints':{'crowbar_wall':{'provisioner':{'wiped':'"),
                            str_from(read_text("state/run/wiped")), STR("'}}},"), str_from(boot),
                            STR("," PLAN(DISK_A "," DISK_B) "}")));
}

#define SERVED_BOOT  BOOTS("debian-12-install", "true", "false", "", "600")
#define LATE_BOOT    BOOTS("debian-12-install", "false", "false", LATE, "600")
#define LATE         "dhcp-database on a.x has not served boot generation 3"
#define FAILED_BOOT  BOOTS("debian-12-install", "false", "true", IN_ERROR, "600")
#define IN_ERROR     "dhcp-database on a.x is in error and has not served boot generation 3"
#define ANOTHER_BOOT BOOTS("local", "true", "false", "", "600")

static void check_not_served(const char *boot, const char *problem)
{
    char reason[300];
    CHECK(run_install(after_wipe(boot)) == 1);
    snprintf(reason, sizeof reason,
             "boot_not_served reboot\tthe machine is not rebooted into debian-12-install: %s",
             problem);
    CHECK(log_contains(strchr(reason, '\t') + 1));
    CHECK(strcmp(read_text("run/.reason"), reason) == 0);
    CHECK(strlen(read_text("run/attrs/crowbar_wall/provisioner/wiped/wall")) == 36);
    CHECK(run_install(install_with("")) == 128); /* the next run wipes again */
}

TEST(run_again_it_reboots_only_into_the_installer)
{
    begin_disks();
    CHECK(run_install(install_with("")) == 128);
    CHECK(strcmp(read_text("run/.park"), "600") == 0);
    CHECK(run_install(after_wipe(SERVED_BOOT)) == 64);
    CHECK(log_contains("debian-12-install: rebooting"));
    CHECK(strlen(read_text("run/attrs/crowbar_wall/provisioner/wiped/wall")) == 36);
    CHECK(run_install(install_with("")) == 128); /* the next run wipes again */
    check_not_served(FAILED_BOOT, IN_ERROR);
    CHECK(shell("echo 1600.00 7 > proc/uptime") == 0);
    check_not_served(LATE_BOOT, LATE " within 600 s");
    CHECK(shell("echo 2200.10 7 > proc/uptime") == 0);
    check_not_served(ANOTHER_BOOT, "its boot environment is local within 600 s");
    end();
}

/* Something changed after the run was resumed, or an operator resumed it. */
TEST(a_run_that_is_resumed_too_early_parks_again)
{
    static const char *const early[] = {LATE_BOOT, ANOTHER_BOOT};
    for (uint32_t i = 0; i < 2; i++) {
        begin_disks();
        CHECK(run_install(install_with("")) == 128);
        CHECK(shell("cp -r dev wiped; echo 1200.00 7 > proc/uptime") == 0);
        CHECK(run_install(after_wipe(early[i])) == 128);
        CHECK(strcmp(read_text("run/.park"), "10") == 0);
        CHECK(shell("echo 1597.00 7 > proc/uptime") == 0);
        CHECK(run_install(after_wipe(early[i])) == 128);
        CHECK(strcmp(read_text("run/.park"), "3") == 0);
        CHECK(run_install(after_wipe(SERVED_BOOT)) == 64);
        CHECK(shell("diff -r dev wiped") == 0);
        end();
    }
}

/* With boot-wait = 0 power actions do not wait. The run needs some time to be served. */
TEST(without_boot_wait_the_run_waits_an_hour)
{
    begin_disks();
    CHECK(run_install("{" PLAN(DISK_A) "," BOOTS("sledgehammer", "true", "false", "", "0") "}") ==
          128);
    CHECK(strcmp(read_text("run/.park"), "3600") == 0);
    end();
}

TEST(without_the_state_of_its_boot_nothing_is_wiped)
{
    begin_disks();
    CHECK(run_install("{" PLAN(DISK_A) "}") == 1);
    CHECK(log_contains("does not announce boot. Nothing was wiped") && untouched());
    end();
}

/* The mark in /run was written in another boot or for another machine. */
TEST(a_wipe_with_another_mark_does_not_count)
{
    begin_disks();
    CHECK(shell("mkdir -p state/run && printf old > state/run/wiped") == 0);
    CHECK(run_install("{'hints':{'crowbar_wall':{'provisioner':{'wiped':'new'}}}," PLAN(
              DISK_A) "," SERVED_BOOT "}") == 128);
    end();
}

/* The run parked before an upgrade, which did not note the time. */
TEST(a_wipe_of_an_earlier_version_counts)
{
    begin_disks();
    CHECK(run_install(install_with("")) == 128 && shell("rm state/run/wiped.since") == 0);
    CHECK(run_install(after_wipe(LATE_BOOT)) == 128);
    CHECK(run_install(after_wipe(SERVED_BOOT)) == 64);
    end();
}

/* Runs the installation after a change of the machine; it must stop before the first write. */
static void stops(const char *change, const char *message)
{
    begin_disks();
    CHECK(shell(". ./sysfs && { %s; }", change) == 0);
    CHECK(run_install(install_with("")) == 1);
    CHECK(log_contains(message) && untouched());
    end();
}

TEST(one_disk_in_use_stops_everything)
{
    stops(
        "sysfs_part b b1 8:17; echo '36 35 8:17 / /srv rw - ext4 /dev/b1 rw' > proc/self/mountinfo",
        "in use: b1 is mounted on /srv. Nothing was wiped");
    stops("sysfs_part b b1 8:17; echo '36 35 0:44 / /srv rw shared:1 - btrfs /dev/b1 rw' "
          "> proc/self/mountinfo",
          "in use: b1 is mounted on /srv");
    stops("printf 'Filename\\n/dev/b partition 1 0 -2\\n' > proc/swaps",
          "in use: b is used for swap");
    stops("mkdir -p sys/fs/btrfs/u/devices/b", "in use: b is part of a btrfs file system");
    stops("echo 1 > sys/block/b/ro", "the disk sdb (/dev/b) is read-only. Nothing was wiped");
}

TEST(one_disk_with_another_owner_stops_everything)
{
    begin_disks();
    CHECK(run_install(install_with("'claimed-disks':{'sdb':'ceph'}")) == 1);
    CHECK(log_contains("the disk sdb belongs to ceph. Nothing was wiped") && untouched());
    end();
}

/* The reason that the run reports: script.sh sends the file to the daemon. */
static void differs(const char *change, const char *message)
{
    char reason[800];
    begin_disks();
    CHECK(shell("%s", change) == 0);
    CHECK(run_install(install_with("")) == 1);
    CHECK(log_contains(message) && untouched());
    snprintf(reason, sizeof reason, "disk_differs %s\t%s",
             strstr(message, "ata-a") ? "disk/by-id/ata-a" : "sdb", message);
    CHECK(strstr(read_text("run/.reason"), reason));
    end();
}

TEST(a_disk_that_differs_from_the_committed_one_stops_everything)
{
#define A_DIFFERS                                                                                  \
    "the disk disk/by-id/ata-a differs from the committed one: committed serial SERIAL A, "        \
    "4718592 bytes, found "
#define B_DIFFERS                                                                                  \
    "the disk sdb differs from the committed one: committed WWN 5000c500a1, 4718592 bytes, found "
    differs("echo SERIAL-X > sys/block/a/serial",
            A_DIFFERS "serial SERIAL-X, 4718592 bytes at /dev/disk/by-id/ata-a. Nothing was wiped");
    differs("echo 9215 > sys/block/a/size", A_DIFFERS "serial SERIAL A, 4718080 bytes at /dev/a");
    differs("rm sys/block/a/serial", A_DIFFERS "4718592 bytes at /dev/disk/by-id/ata-a");
    differs("rm -r sys/block/a dev/disk/by-id/ata-a", A_DIFFERS "no such disk on this machine");
    differs("echo naa.7 > sys/block/b/device/wwid; rm dev/disk/by-id/wwn*",
            B_DIFFERS "serial SER-B, WWN 7, 4718592 bytes at /dev/b. Nothing was wiped");
    differs("rm -r sys/block/b dev/disk/by-id/wwn*", B_DIFFERS "no such disk on this machine");
    differs(
        "mv sys/block/b sys/block/c; echo 8:48 > sys/block/c/dev; cp -r sys/block/c sys/block/d; "
        "rm dev/disk/by-id/wwn*",
        B_DIFFERS "several disks with these numbers: c d. Nothing was wiped");
}

/* Names such as /dev/sdb are given in another order at each boot; the committed disk is found. */
TEST(a_disk_with_another_kernel_name_is_found)
{
    begin_disks();
    CHECK(shell("mv sys/block/b sys/block/c && mv sys/block/other sys/block/b && mv dev/b dev/c && "
                "mv dev/other dev/b && rm dev/disk/by-id/wwn* && "
                "mkdir -p udev && printf 'E:ID_SERIAL_SHORT=SERIAL  A\\n' > udev/b8:0 && "
                "rm sys/block/a/serial") == 0);
    CHECK(run_install(install_with("")) == 128);
    CHECK(shell("cmp dev/b before/other && ! cmp -s dev/c before/b && ! cmp -s dev/a before/a") ==
          0);
    end();
}

TEST(a_volume_that_also_uses_other_disks_stops_everything)
{
    stops("mkdir -p sys/block/md0/md; echo 9:0 > sys/block/md0/dev; sysfs_on sys/block/b "
          "sys/block/md0; sysfs_on sys/block/other sys/block/md0",
          "/dev/md0 also uses /dev/other, which is not on the list. Nothing was wiped");
    /* A logical volume on an array on a partition of another disk. */
    stops("mkdir -p sys/block/md0/md sys/block/dm-0/dm; echo 9:0 > sys/block/md0/dev; "
          "echo 253:0 > sys/block/dm-0/dev; sysfs_part other other1 8:33; sysfs_part b b1 8:17; "
          "sysfs_on sys/block/other/other1 sys/block/md0; sysfs_on sys/block/md0 sys/block/dm-0; "
          "sysfs_on sys/block/b/b1 sys/block/dm-0",
          "/dev/dm-0 also uses /dev/other, which is not on the list. Nothing was wiped");
    stops("mkdir sys/block/bcache0; echo 252:0 > sys/block/bcache0/dev; sysfs_on sys/block/b "
          "sys/block/bcache0",
          "/dev/bcache0 is on a disk of the list and cannot be removed. Nothing was wiped");
    stops("ln -s x sys/block/b/holders/dm-7", "sys has no device dm-7");
}

/* A volume on an array on two partitions of one disk and on another disk of the list. */
TEST(volumes_are_removed_from_the_top_down)
{
    begin_disks();
    CHECK(shell(". ./sysfs && mkdir -p sys/block/md0/md sys/block/dm-0/dm && "
                "echo vg-root > sys/block/dm-0/dm/name && echo 9:0 > sys/block/md0/dev && "
                "echo 253:0 > sys/block/dm-0/dev && sysfs_part a a1 8:1 && sysfs_part a a2 8:2 && "
                "sysfs_on sys/block/a/a1 sys/block/md0 && sysfs_on sys/block/a/a2 sys/block/md0 && "
                "sysfs_on sys/block/b sys/block/md0 && sysfs_on sys/block/md0 sys/block/dm-0") ==
          0);
    CHECK(run_install(install_with("")) == 128);
    char wanted[1000];
    snprintf(wanted, sizeof wanted,
             "dmsetup remove --retry vg-root\nmdadm --stop %s/dev/md0\nwipefs -aq %s/dev/a2\n"
             "wipefs -aq %s/dev/a1\nwipefs -aq %s/dev/a\nblockdev --rereadpt %s/dev/a\n"
             "wipefs -aq %s/dev/b\nblockdev --rereadpt %s/dev/b\n",
             work_dir, work_dir, work_dir, work_dir, work_dir, work_dir, work_dir);
    if (strcmp(read_text("fake/noted.log"), wanted))
        printf("seen: %s\n", read_text("fake/noted.log"));
    CHECK(strcmp(read_text("fake/noted.log"), wanted) == 0);
    CHECK(shell("cmp dev/other before/other && "
                "[ $(head -c 1048576 dev/a1 | tr -d '\\0' | wc -c) = 0 ]") == 0);
    end();
}

TEST(entries_that_cannot_be_verified_are_refused)
{
    static const char *const lists[][2] = {
        {DISK_A ",{'path':'/dev/b','size':4718592,'wwn':'5000c500a1'}",
         "disk 1 of the list has no name"},
        {DISK_A ",{'name':'b','size':4718592}", "neither serial number nor WWN of the disk b"},
        {DISK_A ",{'name':'b','wwn':'5000c500a1'}", "the size of the disk b was not committed"},
        {DISK_A ",{'name':'b','wwn':'5000c500a1','size':'1; true'}",
         "the size of the disk b was not"},
        {DISK_A "," DISK_A, "is on the list twice"},
        {DISK_A ",{'name':'../../b','path':'/dev/../../etc/passwd','wwn':'1','size':1}",
         "found no such disk on this machine"},
        {"", "no disk was committed for this machine. Nothing was wiped"},
    };
    begin_disks();
    for (uint32_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct str data = STR_CONCAT(
            &arena, STR("{'announced':{'provisioner-os-install':{'wipe':["), str_from(lists[i][0]),
            STR("]}},'provisioner':{'target_os':'x'}," SERVED_BOOT "}"));
        CHECK(run_install(str_z(&arena, data)) == 1 && untouched());
        CHECK(log_contains(lists[i][1]));
    }
    end();
}

TEST(a_machine_with_an_installed_system_is_not_wiped)
{
    begin_disks();
    CHECK(run_install("{" TWO_DISKS "}") == 128);
    end();
    begin_disks();
    CHECK(run_install("{'announced':{'provisioner-os-install':{'wipe':[" DISK_A
                      "]}},'provisioner':{'runs_from_disk':true,'target_os':'x'}}") == 0);
    CHECK(log_contains("is to boot from its disk: nothing is wiped") && untouched());
    CHECK(run_install("{}") == 1 && untouched());
    CHECK(shell(": > state/joined") == 0);
    CHECK(run_install(install_with("")) == 0);
    CHECK(log_contains("already runs from its disk") && untouched());
    end();
}

/* A discovery image may have nothing but busybox, and no udev. */
TEST(busybox_alone_is_enough)
{
    begin_disks();
    CHECK(
        shell(
            "mkdir box && for c in $(busybox --list); do ln -s $(command -v busybox) box/$c; done "
            "&& rm -f box/blockdev box/dmsetup box/mdadm box/wipefs") == 0);
    stage("provisioner", "provisioner-os-install", install_with(""));
    CHECK(shell("PATH=$PWD/box HALLIGAN_RUN=$PWD/state/run HALLIGAN_JOINED=$PWD/state/joined "
                "HALLIGAN_SYSFS=$PWD/sys HALLIGAN_PROC=$PWD/proc HALLIGAN_DEV=$PWD/dev "
                "HALLIGAN_UDEV=$PWD/udev "
                "sh $SOURCE/barclamps/crowbar/templates/script-runner.sh run > log 2>&1") == 128);
    CHECK(shell("cmp dev/other before/other && for d in a b; do "
                "[ $(tail -c 1048576 dev/$d | tr -d '\\0' | wc -c) = 0 ] || exit 1; done") == 0);
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

/* ---- servers ---- */

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
    CHECK(run("dns", "dns-server",
              "{'dns':{'service_address':'127.0.0.1','default_domain':'example.com','ttl':'2h',"
              "'forwarders':['10.0.0.53']}}") == 0);
    CHECK(strstr(read_text("state/publish/dns/zone.head"), "$TTL 2h\n@ IN SOA ns.example.com.") !=
          NULL);
    CHECK(strcmp(read_text("state/publish/dns/forwarders"), "10.0.0.53\n") == 0);
    CHECK(run("dns", "dns-server", "{'dns':{'service_address':'192.0.2.77','domain':'x'}}") == 1);
    CHECK(log_contains("does not have the address 192.0.2.77"));
    CHECK(run("dns", "dns-server", "{}") == 1);
    CHECK(log_contains("the service address of this DNS server is not set"));
    end();
}
