/* Goal: the key is created once and completely; host keys of the local machine are recognized.
 * Method: a real directory, a real loop and the real ssh-keygen. */
#include "power/ssh_keys.h"
#include "sys/files.h"
#include "sys/log.h"
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64], place[96];
static uv_loop_t loop;
static struct ssh_keys home;
static struct arena arena;
static uint32_t wakes;

static void woken(void *self)
{
    CHECK(self == &home);
    wakes++;
}

static const char *path_of(const char *name)
{
    return str_z(&arena, STR_CONCAT(&arena, str_from(place), STR("/"), str_from(name)));
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
    home = (struct ssh_keys){.self = &home, .wake = woken};
    return ssh_keys_open(&home, &loop, place);
}

static void wait_for_key(void)
{
    while (ssh_keys_is_busy(&home))
        CHECK(uv_run(&loop, UV_RUN_ONCE) >= 0);
}

static void close_home(void)
{
    ssh_keys_close(&home);
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

/* The state after a first start, without running ssh-keygen. */
static void begin_with_key(void)
{
    begin();
    CHECK(mkdir(place, 0700) == 0);
    CHECK(file_write(path_of("id_ed25519"), STR("key"), 0600) == OK);
    CHECK(file_write(path_of("id_ed25519.pub"), STR("public"), 0644) == OK);
    CHECK(open_home() && home.has_key && !ssh_keys_is_busy(&home));
}

static void end(void)
{
    arena_fini(&arena);
    char line[96];
    snprintf(line, sizeof line, "rm -rf %s", folder);
    CHECK(system(line) == 0);
}

/* ---- key of the installation ---- */

TEST(a_key_is_created_at_the_first_start_and_kept_at_the_next)
{
    struct stat facts;
    begin();
    CHECK(open_home() && ssh_keys_is_busy(&home) && !home.has_key);
    wait_for_key();
    CHECK(home.has_key && wakes == 1);
    CHECK(stat(home.key_path, &facts) == 0 && (facts.st_mode & 0777) == 0600);
    const struct str key = content("id_ed25519");
    CHECK(str_starts(key, STR("-----BEGIN OPENSSH PRIVATE KEY-----\n")));
    CHECK(str_starts(content("id_ed25519.pub"), STR("ssh-ed25519 ")));
    close_home();
    CHECK(open_home() && home.has_key && !ssh_keys_is_busy(&home));
    CHECK(str_eq(content("id_ed25519"), key));
    close_home();
    end();
}

TEST(files_of_an_interrupted_start_are_replaced)
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

TEST(open_succeeds_without_a_key)
{
    begin();
    CHECK(mkdir(place, 0700) == 0 && mkdir(path_of("id_ed25519.new"), 0700) == 0);
    CHECK(file_write(path_of("id_ed25519.new/in the way"), STR(""), 0600) == OK);
    CHECK(open_home());
    wait_for_key();
    CHECK(!home.has_key && wakes == 1 && !file_exists(home.key_path));
    close_home();
    end();
}

TEST(closing_does_not_wait_for_the_key)
{
    begin();
    CHECK(open_home() && ssh_keys_is_busy(&home));
    close_home();
    CHECK(wakes == 0 && !file_exists(path_of("id_ed25519")));
    end();
}

TEST(open_fails_if_the_directory_cannot_be_created)
{
    begin();
    log_setup(LOG_ERROR, LOG_TEXT);
    CHECK(file_write(place, STR("a file"), 0600) == OK);
    CHECK(!open_home());
    close_home();
    end();
}

/* ---- host keys of the local machine ---- */

TEST(a_host_key_of_the_local_machine_is_recognised)
{
    begin_with_key();
    home.host_key_dir = place;
    CHECK(!ssh_keys_is_own_key(&home, STR("ssh-ed25519 AAAA\n"))); /* no files */
    CHECK(file_write(path_of("ssh_host_ed25519_key.pub"), STR("ssh-ed25519 AAAA root@here\n"),
                     0644) == OK);
    CHECK(file_write(path_of("ssh_host_rsa_key.pub"), STR("ssh-rsa BBBB"), 0644) == OK);
    CHECK(file_write(path_of("ssh_host_ecdsa_key.pub"), STR(""), 0644) == OK);
    CHECK(ssh_keys_is_own_key(&home, STR("ssh-ed25519 AAAA\n")));
    CHECK(ssh_keys_is_own_key(&home, STR("ecdsa-sha2-nistp256 CCCC\nssh-rsa BBBB\n")));
    CHECK(!ssh_keys_is_own_key(&home, STR("ssh-ed25519 AAAAA\nssh-rsa AAAA\n")));
    CHECK(!ssh_keys_is_own_key(&home, STR("")));
    close_home();
    end();
}
