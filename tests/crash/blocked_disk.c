/* blocked_disk.c - a disk that does not answer, for one process (LD_PRELOAD).
 *
 * While the file that HALLIGAN_TEST_BLOCKED names exists, fsync() and fdatasync() of files of
 * SQLite (those whose name contains ".db") wait until it is removed. Other files are not affected:
 * the runner and the test jig sync files of their own in the threads that serve requests. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static bool is_of_sqlite(int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return false;
    path[length] = '\0';
    return strstr(path, ".db") != NULL;
}

static void wait_while_blocked(int fd)
{
    const char *blocked = getenv("HALLIGAN_TEST_BLOCKED");
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    if (!blocked || !is_of_sqlite(fd))
        return;
    while (access(blocked, F_OK) == 0)
        nanosleep(&pause, NULL);
}

int fsync(int fd)
{
    wait_while_blocked(fd);
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    wait_while_blocked(fd);
    return (int)syscall(SYS_fdatasync, fd);
}
