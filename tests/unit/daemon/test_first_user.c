/* Goal: the password of the first user is in the file, however often the start is repeated.
 * Method: the command is created repeatedly over one file, and its hash is verified with the
 * password in the file. */
#include "base/text/str.h"
#include "daemon/first_user.h"
#include "sys/files.h"
#include "sys/log.h"
#include "tests/check.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char path[96];
static struct arena arena;

static void begin(void)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    snprintf(folder, sizeof folder, "/tmp/halligan-admin-XXXXXX");
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/admin.password", folder);
}

static void end(void)
{
    arena_fini(&arena);
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
}

/* The only line of the file. */
static struct str password(void)
{
    struct str text;
    CHECK(file_read(&arena, path, 4096, &text) == OK);
    CHECK(text.len > 1 && str_find(text, '\n', 0) == text.len - 1);
    return str_slice(text, 0, text.len - 1);
}

static bool opens(const struct command *command, struct str word)
{
    const char *hash = str_z(&arena, command->user_create.password_hash);
    CHECK(sodium_init() >= 0);
    return crypto_pwhash_str_verify(hash, word.at, word.len) == 0;
}

TEST(a_new_password_is_in_the_file_and_matches_the_hash)
{
    struct command command = {0};
    struct stat facts;
    begin();
    umask(0);
    CHECK(first_user_create(&arena, path, &command) == OK);
    CHECK(stat(path, &facts) == 0 && (facts.st_mode & 0777) == 0600);
    CHECK(password().len == 24 && opens(&command, password()));
    CHECK(!opens(&command, STR("admin")));
    CHECK(command.kind == COMMAND_USER_CREATE && command.user_create.is_admin);
    CHECK(str_eq(command.user_create.username, STR("admin")));
    CHECK(str_starts(command.user_create.password_hash, STR("$argon2id$")));
    end();
}

TEST(a_start_that_finds_the_file_keeps_its_password)
{
    struct command first = {0}, again = {0};
    begin();
    CHECK(first_user_create(&arena, path, &first) == OK);
    const struct str before = password();
    CHECK(first_user_create(&arena, path, &again) == OK);
    CHECK(str_eq(password(), before) && opens(&again, before));
    CHECK(file_write(path, STR("by hand, with spaces\nand a second line\n"), 0600) == OK);
    CHECK(first_user_create(&arena, path, &again) == OK);
    CHECK(opens(&again, STR("by hand, with spaces")));
    end();
}

static bool is_refused(void)
{
    struct command command = {0};
    return first_user_create(&arena, path, &command) == ERR_REFUSED && command.request == 0 &&
           command.user_create.password_hash.len == 0;
}

TEST(a_password_file_that_others_can_access_or_with_a_short_password_is_refused)
{
    struct command command = {0};
    begin();
    CHECK(file_write(path, STR("elevenchars\n"), 0600) == OK && is_refused());
    CHECK(file_write(path,
                     STR("twelve\xff"
                         "chars\n"),
                     0600) == OK &&
          is_refused());
    CHECK(file_write(path, STR("twelve chars\n"), 0644) == OK && is_refused());
    CHECK(file_write(path, STR("twelve chars\n"), 0620) == OK && is_refused());
    CHECK(file_write(path, STR("\n"), 0622) == OK && is_refused()); /* even if it is empty */
    char aside[128];
    snprintf(aside, sizeof aside, "%s/aside", folder);
    CHECK(file_write(aside, STR("twelve chars\n"), 0600) == OK);
    CHECK(unlink(path) == 0 && symlink("aside", path) == 0 && is_refused());
    CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0 && is_refused());
    CHECK(unlink(path) == 0 && rename(aside, path) == 0);
    if (geteuid() == 0) /* only root can chown a file */
        CHECK(chown(path, 1, 1) == 0 && is_refused() && chown(path, 0, 0) == 0);
    CHECK(first_user_create(&arena, path, &command) == OK);
    CHECK(opens(&command, STR("twelve chars")));
    end();
}

TEST(an_empty_file_gets_a_password_and_two_installations_differ)
{
    struct command command = {0};
    begin();
    CHECK(file_write(path, STR("\n"), 0600) == OK);
    CHECK(first_user_create(&arena, path, &command) == OK);
    const struct str first = password();
    CHECK(first.len == 24 && opens(&command, first));
    CHECK(unlink(path) == 0);
    CHECK(first_user_create(&arena, path, &command) == OK);
    CHECK(!str_eq(password(), first));
    end();
}

TEST(without_a_writable_file_there_is_no_user)
{
    struct command command = {0};
    begin();
    CHECK(first_user_create(&arena, "/nowhere/admin.password", &command) != OK);
    CHECK(first_user_create(&arena, folder, &command) != OK);
    CHECK(file_write(path, STR("x"), 0600) == OK);
    end();
}
