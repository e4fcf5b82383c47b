/* Goal: small files are read and replaced as a whole, and a lock excludes other processes and names
 * its holder. Method: a temporary directory; a second process where one is needed. */
#include "sys/clock.h"
#include "sys/files.h"
#include "tests/check.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static char path[128];

static const char *in(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void begin(void)
{
    snprintf(folder, sizeof folder, "/tmp/halligan-files-XXXXXX");
    CHECK(mkdtemp(folder));
}

static void end(void)
{
    CHECK(rmdir(folder) == 0); /* fails if a file is left */
}

static void write_plain(const char *name, const char *text)
{
    FILE *file = fopen(in(name), "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

TEST(a_written_file_has_its_content_and_mode)
{
    struct arena arena = {0};
    struct str bytes;
    struct stat facts;
    begin();
    umask(022);
    CHECK(file_write(in("f"), STR("one\0two"), 0600) == OK);
    CHECK(stat(in("f"), &facts) == 0 && (facts.st_mode & 0777) == 0600);
    CHECK(file_read(&arena, in("f"), 100, &bytes) == OK && str_eq(bytes, STR("one\0two")));
    CHECK(file_write(in("f"), STR(""), 0644) == OK);
    CHECK(stat(in("f"), &facts) == 0 && (facts.st_mode & 0777) == 0644);
    CHECK(file_read(&arena, in("f"), 100, &bytes) == OK && bytes.len == 0);
    CHECK(!file_exists(in("f.tmp")));
    CHECK(file_remove(in("f")) == OK && !file_exists(in("f")));
    arena_fini(&arena);
    end();
}

TEST(reading_is_bounded)
{
    struct arena arena = {0};
    struct str bytes = STR("untouched");
    begin();
    write_plain("f", "12345");
    CHECK(file_read(&arena, in("f"), 4, &bytes) == ERR_LIMIT);
    CHECK(str_eq(bytes, STR("untouched")));
    CHECK(file_read(&arena, in("f"), 5, &bytes) == OK && str_eq(bytes, STR("12345")));
    CHECK(file_remove(in("f")) == OK);
    arena_fini(&arena);
    end();
}

TEST(failures_set_errno_and_error)
{
    struct arena arena = {0};
    struct str bytes;
    begin();
    CHECK(file_read(&arena, in("absent"), 10, &bytes) == ERR_NOT_FOUND && errno == ENOENT);
    CHECK(file_read(&arena, folder, 1 << 20, &bytes) == ERR_IO && errno == EISDIR);
    CHECK(file_write(in("no/such/folder"), STR("x"), 0600) == ERR_NOT_FOUND && errno == ENOENT);
    CHECK(file_remove(in("absent")) == OK);
    CHECK(file_remove(folder) != OK);
    CHECK(file_move_durably(in("absent"), "/nowhere") == ERR_NOT_FOUND);
    char *long_name = arena_zalloc(&arena, 5000);
    memset(long_name, 'a', 4999);
    CHECK(file_write(long_name, STR("x"), 0600) == ERR_LIMIT && errno == ENAMETOOLONG);
    CHECK(err_from_errno(ENOSPC) == ERR_NO_SPACE && err_from_errno(EDQUOT) == ERR_NO_SPACE);
    CHECK(err_from_errno(EEXIST) == ERR_EXISTS && err_from_errno(EACCES) == ERR_REFUSED);
    CHECK(err_from_errno(EMFILE) == ERR_LIMIT && err_from_errno(EIO) == ERR_IO);
    arena_fini(&arena);
    end();
}

/* Without a writer, reading a pipe would block forever. */
TEST(a_pipe_or_device_does_not_block)
{
    struct arena arena = {0};
    struct str bytes;
    begin();
    CHECK(mkfifo(in("pipe.json"), 0600) == 0);
    CHECK(file_read(&arena, in("pipe.json"), 100, &bytes) == ERR_IO && errno == ENOTSUP);
    CHECK(file_read(&arena, "/dev/zero", 100, &bytes) == ERR_IO && errno == ENOTSUP);
    CHECK(file_remove(in("pipe.json")) == OK);
    arena_fini(&arena);
    end();
}

TEST(a_secret_is_read_only_if_it_is_private)
{
    struct arena arena = {0};
    struct str bytes;
    begin();
    CHECK(file_read_private(&arena, in("f"), 100, &bytes) == ERR_NOT_FOUND);
    CHECK(file_write(in("f"), STR("secret"), 0600) == OK);
    CHECK(file_read_private(&arena, in("f"), 100, &bytes) == OK && str_eq(bytes, STR("secret")));
    CHECK(file_read_private(&arena, in("f"), 5, &bytes) == ERR_LIMIT);
    CHECK(symlink("f", in("link")) == 0);
    CHECK(file_read_private(&arena, in("link"), 100, &bytes) == ERR_REFUSED && errno == EPERM);
    CHECK(file_remove(in("link")) == OK);
    for (unsigned bit = 01; bit <= 0100; bit *= 2) {
        CHECK(chmod(in("f"), 0600 | bit) == 0);
        CHECK(file_read_private(&arena, in("f"), 100, &bytes) == ERR_REFUSED && errno == EPERM);
    }
    CHECK(file_remove(in("f")) == OK && mkfifo(in("f"), 0600) == 0);
    CHECK(file_read_private(&arena, in("f"), 100, &bytes) == ERR_REFUSED);
    CHECK(file_remove(in("f")) == OK);
    if (geteuid() == 0) { /* only root can change the owner */
        CHECK(file_write(in("f"), STR("secret"), 0600) == OK && chown(in("f"), 1, 1) == 0);
        CHECK(file_read_private(&arena, in("f"), 100, &bytes) == ERR_REFUSED);
        CHECK(file_remove(in("f")) == OK);
    }
    arena_fini(&arena);
    end();
}

TEST(a_lock_file_may_not_be_a_link)
{
    struct arena arena = {0};
    struct file_lock lock;
    struct str bytes;
    begin();
    write_plain("victim", "precious");
    CHECK(symlink("victim", in("lock")) == 0);
    CHECK(file_lock(in("lock"), STR("us"), &lock) == ERR_IO && errno == ELOOP && lock.fd < 0);
    CHECK(file_read(&arena, in("victim"), 100, &bytes) == OK && str_eq(bytes, STR("precious")));
    CHECK(file_remove(in("lock")) == OK && file_remove(in("victim")) == OK);
    arena_fini(&arena);
    end();
}

TEST(a_full_disk_leaves_the_old_content_and_no_temporary_file)
{
    struct arena arena = {0};
    struct str bytes;
    begin();
    CHECK(file_write(in("f"), STR("old"), 0600) == OK);
    int status;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        /* A limit on file sizes has the effect of a full disk and ends with this process. */
        static const char big[8192];
        const struct rlimit small = {4096, 4096};
        if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &small) != 0)
            _exit(99);
        _exit((int)file_write(in("f"), (struct str){big, sizeof big}, 0600));
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == ERR_NO_SPACE);
    CHECK(!file_exists(in("f.tmp")));
    CHECK(file_read(&arena, in("f"), 100, &bytes) == OK && str_eq(bytes, STR("old")));
    /* The temporary name is a directory. */
    CHECK(mkdir(in("f.tmp"), 0700) == 0);
    CHECK(file_write(in("f"), STR("new"), 0600) != OK);
    CHECK(file_read(&arena, in("f"), 100, &bytes) == OK && str_eq(bytes, STR("old")));
    CHECK(rmdir(in("f.tmp")) == 0);
    /* A leftover of a crash is overwritten, a planted link is refused. */
    write_plain("f.tmp", "half");
    CHECK(file_write(in("f"), STR("new"), 0600) == OK);
    CHECK(symlink("target", in("f.tmp")) == 0);
    CHECK(file_write(in("f"), STR("newer"), 0600) != OK);
    CHECK(file_read(&arena, in("f"), 100, &bytes) == OK && str_eq(bytes, STR("new")));
    CHECK(!file_exists(in("target")));
    CHECK(file_remove(in("f")) == OK && file_remove(in("f.tmp")) == OK);
    arena_fini(&arena);
    end();
}

TEST(a_file_replaces_another)
{
    struct arena arena = {0};
    struct str bytes;
    char from[128];
    begin();
    write_plain("to", "old");
    write_plain("from", "new");
    snprintf(from, sizeof from, "%s/from", folder);
    CHECK(file_move_durably(from, in("to")) == OK);
    CHECK(file_read(&arena, in("to"), 100, &bytes) == OK && str_eq(bytes, STR("new")));
    CHECK(!file_exists(from) && file_remove(in("to")) == OK);
    arena_fini(&arena);
    end();
}

/* In another process, since a lock belongs to an open file description. */
static int locks_elsewhere(const char *where, char *out_holder)
{
    int ends[2], status;
    CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct file_lock lock;
        const err e = file_lock(where, STR("the other"), &lock);
        if (write(ends[1], lock.holder, sizeof lock.holder) < 0)
            _exit(99);
        _exit((int)e);
    }
    CHECK(read(ends[0], out_holder, FILE_HOLDER_SIZE) == FILE_HOLDER_SIZE);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
    return WEXITSTATUS(status);
}

TEST(a_lock_excludes_other_processes_and_names_its_holder)
{
    struct arena arena = {0};
    struct file_lock lock;
    struct str bytes;
    char holder[FILE_HOLDER_SIZE];
    begin();
    write_plain("lock", "a process that ended long ago, with a rather long name\n");
    CHECK(file_lock(in("lock"), STR("pid 1 host here\n"), &lock) == OK);
    CHECK(locks_elsewhere(in("lock"), holder) == ERR_EXISTS);
    CHECK(strcmp(holder, "pid 1 host here") == 0);
    CHECK(file_read(&arena, in("lock"), 100, &bytes) == OK &&
          str_eq(bytes, STR("pid 1 host here\n")));
    file_unlock(&lock);
    file_unlock(&lock); /* a second call has no effect */
    CHECK(file_read(&arena, in("lock"), 100, &bytes) == OK && bytes.len == 0);
    CHECK(locks_elsewhere(in("lock"), holder) == OK);
    /* The process ended without unlocking, which released the lock. */
    CHECK(file_lock(in("lock"), STR("again"), &lock) == OK);
    file_unlock(&lock);
    CHECK(file_lock(in("no/folder"), STR("x"), &lock) == ERR_NOT_FOUND && lock.fd < 0);
    CHECK(file_remove(in("lock")) == OK);
    arena_fini(&arena);
    end();
}

TEST(time_advances_and_random_numbers_differ)
{
    char text[SYS_TIME_SIZE];
    const int64_t mono = sys_mono_ms();
    CHECK(sys_mono_ms() >= mono);
    CHECK(sys_now_ms() > 1600000000000);
    CHECK(sys_random64() != sys_random64());
    sys_time_format(1700000000007, text);
    CHECK(strcmp(text, "2023-11-14T22:13:20.007Z") == 0);
}
