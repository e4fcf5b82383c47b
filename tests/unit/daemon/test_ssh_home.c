/* Goal: the key is made once and whole; a pin that is said to be kept is in the file, and nothing
 * else in there is touched.
 * Method: a real directory, a real loop and the real ssh-keygen; the file is read from outside. */
#include "daemon/ssh_home.h"
#include "sys/files.h"
#include "sys/log.h"
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64], place[96];
static uv_loop_t loop;
static struct ssh_home home;
static struct arena arena;
static uint32_t wakes;

static void woken(void *self)
{
    CHECK(self == &home);
    wakes++;
}

static const char *path_of(const char *name)
{
    return str_z(&arena, str_join3(&arena, str_from(place), STR("/"), str_from(name)));
}

static struct str content(const char *name)
{
    struct str text = STR("");
    CHECK(file_read(&arena, path_of(name), 1 << 20, &text) == OK);
    return text;
}

static bool open_home(void)
{
    CHECK(uv_loop_init(&loop) == 0);
    home = (struct ssh_home){.self = &home, .wake = woken};
    return ssh_home_open(&home, &loop, place);
}

static void wait_for_key(void)
{
    while (ssh_home_is_busy(&home))
        CHECK(uv_run(&loop, UV_RUN_ONCE) >= 0);
}

static void close_home(void)
{
    ssh_home_close(&home);
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0);
    CHECK(uv_loop_close(&loop) == 0);
}

static void begin(void)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    snprintf(folder, sizeof folder, "/tmp/halligan-ssh-home-XXXXXX");
    CHECK(mkdtemp(folder));
    snprintf(place, sizeof place, "%s/ssh", folder);
    wakes = 0;
}

/* As it is after a first start, which most tests are not about. */
static void begin_with_key(void)
{
    begin();
    CHECK(mkdir(place, 0700) == 0);
    CHECK(file_write(path_of("id_ed25519"), STR("key"), 0600) == OK);
    CHECK(file_write(path_of("id_ed25519.pub"), STR("public"), 0644) == OK);
    CHECK(open_home() && home.has_key && !ssh_home_is_busy(&home));
}

static void end(void)
{
    arena_fini(&arena);
    char line[96];
    snprintf(line, sizeof line, "rm -rf %s", folder);
    CHECK(system(line) == 0);
}

static uint64_t pin(const char *node, const char *lines)
{
    return ssh_home_pin(&home, str_from(node), str_from(lines), STR(""));
}

static void keep(uint64_t change)
{
    while (!ssh_home_is_kept(&home, change))
        CHECK(uv_run(&loop, UV_RUN_ONCE) >= 0);
}

static bool has(const char *node)
{
    return ssh_home_has(&home, str_from(node));
}

/* ---- the key ---- */

TEST(a_key_is_made_at_the_first_start_and_kept_at_the_next)
{
    struct stat facts;
    begin();
    CHECK(open_home() && ssh_home_is_busy(&home) && !home.has_key);
    wait_for_key();
    CHECK(home.has_key && wakes == 1);
    CHECK(stat(home.key_path, &facts) == 0 && (facts.st_mode & 0777) == 0600);
    const struct str key = content("id_ed25519");
    CHECK(str_starts(key, STR("-----BEGIN OPENSSH PRIVATE KEY-----\n")));
    CHECK(str_starts(content("id_ed25519.pub"), STR("ssh-ed25519 ")));
    close_home();
    CHECK(open_home() && home.has_key && !ssh_home_is_busy(&home));
    CHECK(str_eq(content("id_ed25519"), key));
    close_home();
    end();
}

TEST(what_a_start_left_that_was_cut_off_is_no_key)
{
    begin();
    CHECK(mkdir(place, 0700) == 0);
    CHECK(file_write(path_of("id_ed25519.new"), STR("half"), 0600) == OK);
    CHECK(file_write(path_of("id_ed25519.new.pub"), STR("half"), 0600) == OK);
    CHECK(file_write(path_of("id_ed25519.pub"), STR("of another"), 0600) == OK);
    CHECK(open_home());
    wait_for_key();
    CHECK(home.has_key && str_starts(content("id_ed25519.pub"), STR("ssh-ed25519 ")));
    CHECK(!file_exists(path_of("id_ed25519.new")) && !file_exists(path_of("id_ed25519.new.pub")));
    close_home();
    end();
}

TEST(without_a_key_it_opens_all_the_same)
{
    begin();
    CHECK(mkdir(place, 0700) == 0 && mkdir(path_of("id_ed25519.new"), 0700) == 0);
    CHECK(file_write(path_of("id_ed25519.new/in the way"), STR(""), 0600) == OK);
    CHECK(open_home());
    wait_for_key();
    CHECK(!home.has_key && wakes == 1 && !file_exists(home.key_path));
    keep(pin("n1", "n1 ssh-rsa AAAA\n"));
    close_home();
    end();
}

TEST(closing_does_not_wait_for_the_key)
{
    begin();
    CHECK(open_home() && ssh_home_is_busy(&home));
    close_home();
    CHECK(wakes == 0 && !file_exists(path_of("id_ed25519")));
    end();
}

TEST(a_place_that_cannot_be_made_is_told)
{
    begin();
    log_setup(LOG_ERROR, LOG_TEXT);
    CHECK(file_write(place, STR("a file"), 0600) == OK);
    CHECK(!open_home());
    close_home();
    end();
}

/* ---- pins ---- */

TEST(a_pin_is_kept_when_it_is_in_the_file)
{
    struct stat facts;
    begin_with_key();
    CHECK(!has("n1"));
    const uint64_t change = pin("n1", "n1 ssh-ed25519 AAAA\nn1 ssh-rsa BBBB\n");
    CHECK(has("n1") && !ssh_home_is_kept(&home, change));
    keep(change);
    CHECK(wakes == 1);
    CHECK(str_eq(content("known_hosts"), STR("n1 ssh-ed25519 AAAA\nn1 ssh-rsa BBBB\n")));
    CHECK(stat(home.known_hosts_path, &facts) == 0 && (facts.st_mode & 0777) == 0600);
    /* the first contact counts */
    CHECK(ssh_home_is_kept(&home, pin("n1", "n1 ssh-ed25519 OTHER\n")));
    CHECK(!has("n") && !has("n11") && !has("1") && !has("") && !has("n1 ssh-rsa BBBB"));
    close_home();
    CHECK(open_home() && has("n1"));
    close_home();
    end();
}

TEST(what_was_pinned_at_another_boot_or_machine_is_outdated)
{
    const struct str lines = STR("n1 ssh-ed25519 AAAA\nn1 ssh-rsa BBBB\n");
    begin_with_key();
    keep(ssh_home_pin(&home, STR("n1"), lines, STR("node-7-boot-3")));
    CHECK(str_eq(content("known_hosts"), STR("n1 ssh-ed25519 AAAA node-7-boot-3\n"
                                             "n1 ssh-rsa BBBB node-7-boot-3\n")));
    CHECK(!ssh_home_is_outdated(&home, STR("n1"), STR("node-7-boot-3")));
    CHECK(ssh_home_is_outdated(&home, STR("n1"), STR("node-7-boot-4")));
    CHECK(ssh_home_is_outdated(&home, STR("n1"), STR("node-8-boot-3")));
    CHECK(!ssh_home_is_outdated(&home, STR("n2"), STR("node-7-boot-4")));
    CHECK(str_eq(ssh_home_host_key(&home, STR("n1"), &arena), STR("ssh-ed25519 AAAA")));
    /* by hand */
    keep(pin("n2", "n2 ssh-rsa CCCC\n"));
    CHECK(!ssh_home_is_outdated(&home, STR("n2"), STR("node-7-boot-4")));
    close_home();
    end();
}

TEST(a_host_key_of_this_machine_is_known)
{
    begin_with_key();
    home.host_key_dir = place;
    CHECK(!ssh_home_is_own_key(&home, STR("n1 ssh-ed25519 AAAA\n"))); /* no files */
    CHECK(file_write(path_of("ssh_host_ed25519_key.pub"), STR("ssh-ed25519 AAAA root@here\n"),
                     0644) == OK);
    CHECK(file_write(path_of("ssh_host_rsa_key.pub"), STR("ssh-rsa BBBB"), 0644) == OK);
    CHECK(file_write(path_of("ssh_host_ecdsa_key.pub"), STR(""), 0644) == OK);
    CHECK(ssh_home_is_own_key(&home, STR("n1 ssh-ed25519 AAAA\n")));
    CHECK(ssh_home_is_own_key(&home, STR("n1 ecdsa-sha2-nistp256 CCCC\nn1 ssh-rsa BBBB\n")));
    CHECK(!ssh_home_is_own_key(&home, STR("n1 ssh-ed25519 AAAAA\nn1 ssh-rsa AAAA\n")));
    CHECK(!ssh_home_is_own_key(&home, STR("")));
    close_home();
    end();
}

TEST(what_is_pinned_during_a_writing_goes_with_the_next)
{
    begin_with_key();
    const uint64_t first = pin("n1", "n1 ssh-rsa AAAA\n");
    const uint64_t second = pin("n2", "n2 ssh-rsa BBBB\n");
    const uint64_t third = pin("n3", "n3 ssh-rsa CCCC\n");
    keep(first);
    CHECK(!ssh_home_is_kept(&home, second));
    keep(third);
    CHECK(ssh_home_is_kept(&home, second) && wakes == 2);
    CHECK(
        str_eq(content("known_hosts"), STR("n1 ssh-rsa AAAA\nn2 ssh-rsa BBBB\nn3 ssh-rsa CCCC\n")));
    close_home();
    end();
}

TEST(closing_writes_what_was_not_written_yet)
{
    begin_with_key();
    pin("n1", "n1 ssh-rsa AAAA\n");
    pin("n2", "n2 ssh-rsa BBBB\n");
    ssh_home_forget(&home, STR("n1"));
    close_home();
    CHECK(str_eq(content("known_hosts"), STR("n2 ssh-rsa BBBB\n")) && wakes == 0);
    end();
}

TEST(a_node_is_forgotten_and_no_other)
{
    begin_with_key();
    CHECK(file_write(
              path_of("known_hosts"),
              STR("# by hand\nn1 ssh-rsa AAAA\nn10 ssh-rsa BBBB\n\nn1 ssh-dss CC\nn1.x ssh-rsa D"),
              0600) == OK);
    ssh_home_forget(&home, STR("n"));
    CHECK(home.kept == home.changes); /* there was none */
    ssh_home_forget(&home, STR("n1"));
    keep(home.changes);
    CHECK(str_eq(content("known_hosts"), STR("# by hand\nn10 ssh-rsa BBBB\n\nn1.x ssh-rsa D\n")));
    CHECK(!has("n1") && has("n10") && has("n1.x"));
    close_home();
    end();
}

TEST(what_others_write_into_the_file_counts)
{
    begin_with_key();
    keep(pin("n1", "n1 ssh-rsa AAAA\n"));
    CHECK(file_write(path_of("known_hosts"), STR("n2 ssh-rsa BBBB\n"), 0600) == OK);
    CHECK(!has("n1") && has("n2"));
    keep(pin("n3", "n3 ssh-rsa CCCC\n"));
    CHECK(str_eq(content("known_hosts"), STR("n2 ssh-rsa BBBB\nn3 ssh-rsa CCCC\n")));
    CHECK(unlink(home.known_hosts_path) == 0);
    CHECK(!has("n2") && !has("n3"));
    keep(pin("n4", "n4 ssh-rsa DDDD\n"));
    CHECK(str_eq(content("known_hosts"), STR("n4 ssh-rsa DDDD\n")));
    close_home();
    end();
}

TEST(ssh_is_told_the_key_it_likes_best)
{
    begin_with_key();
    pin("n1", "n1 ssh-rsa AAAA\nn1 ecdsa-sha2-nistp256 BBBB\nn1 ssh-ed25519 CCCC\n");
    pin("n2", "n2 ssh-rsa AAAA\nn2 ecdsa-sha2-nistp256 BBBB\n");
    pin("n3", "n3 ssh-rsa AAAA\n");
    CHECK(str_eq(ssh_home_host_key(&home, STR("n1"), &arena), STR("ssh-ed25519 CCCC")));
    CHECK(str_eq(ssh_home_host_key(&home, STR("n2"), &arena), STR("ecdsa-sha2-nistp256 BBBB")));
    CHECK(str_eq(ssh_home_host_key(&home, STR("n3"), &arena), STR("ssh-rsa AAAA")));
    CHECK(ssh_home_host_key(&home, STR("n4"), &arena).len == 0);
    close_home();
    end();
}

TEST(a_list_that_cannot_be_written_holds_up_nobody)
{
    begin_with_key();
    CHECK(mkdir(path_of("known_hosts.tmp"), 0700) == 0); /* where it is written first */
    keep(pin("n1", "n1 ssh-rsa AAAA\n"));
    CHECK(content("known_hosts").len == 0);
    CHECK(rmdir(path_of("known_hosts.tmp")) == 0);
    keep(pin("n2", "n2 ssh-rsa BBBB\n"));
    CHECK(str_eq(content("known_hosts"), STR("n1 ssh-rsa AAAA\nn2 ssh-rsa BBBB\n")));
    close_home();
    end();
}
