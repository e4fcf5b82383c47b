#define _GNU_SOURCE /* O_DIRECTORY */
#include "run/exec/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/files.h"

/* Directories are created with mode 0700 and accepted only if they belong to this user and no one
 * else has access: the socket in them accepts orders to execute programs. The module owns nothing:
 * the caller gets the descriptor. On failure nothing is left open; directories that were created
 * stay. */

static err state_dir_close_with(int fd, int error)
{
    ignore(close(fd), "nothing was written through it");
    errno = error;
    return error ? err_from_errno(error) : OK;
}

/* Create or open a private directory below `at`. The parent is synced after mkdir, so that the name
 * survives a power failure: without the journal a new supervisor would report started runs as never
 * started. */
static err state_dir_make_private(int at, const char *name, int *out_fd)
{
    struct stat st;
    if (mkdirat(at, name, 0700) == 0) {
        if (fsync(at) != 0)
            return err_from_errno(errno);
    } else if (errno != EEXIST) {
        return err_from_errno(errno);
    }
    const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_from_errno(errno);
    if (fstat(fd, &st) != 0)
        return state_dir_close_with(fd, errno);
    if (st.st_uid != geteuid() || st.st_mode & 077)
        return state_dir_close_with(fd, EPERM);
    *out_fd = fd;
    return OK;
}

err state_dir_open(const char *dir, int *out_fd)
{
    int state_dirfd, spool;
    const int data = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (data < 0)
        return err_from_errno(errno);
    err e = state_dir_make_private(data, "exec", &state_dirfd);
    const int error = errno;
    ignore(close(data), "it was only read");
    errno = error;
    if (e != OK)
        return e;
    e = state_dir_make_private(state_dirfd, STATE_SPOOL, &spool);
    if (e != OK)
        return state_dir_close_with(state_dirfd, errno);
    ignore(close(spool), "it was opened for the check only");
    *out_fd = state_dirfd;
    return OK;
}

struct sockaddr_un state_dir_socket(int state_dirfd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" STATE_SOCKET,
             state_dirfd);
    return address;
}
