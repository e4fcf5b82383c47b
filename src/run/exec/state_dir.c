#define _GNU_SOURCE /* O_DIRECTORY */
#include "run/exec/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/files.h"

static err close_with(int fd, int number)
{
    ignore(close(fd), "nothing was written through it");
    errno = number;
    return number ? err_from_errno(number) : OK;
}

/* A directory of our own below `at`; what it is made in is synced, so its name is there also after
 * a power cut: a journal that vanished would deny what it had begun. */
static err make_private(int at, const char *name, int *out_fd)
{
    struct stat facts;
    if (mkdirat(at, name, 0700) == 0) {
        if (fsync(at) != 0)
            return err_from_errno(errno);
    } else if (errno != EEXIST) {
        return err_from_errno(errno);
    }
    const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_from_errno(errno);
    if (fstat(fd, &facts) != 0)
        return close_with(fd, errno);
    if (facts.st_uid != geteuid() || facts.st_mode & 077)
        return close_with(fd, EPERM);
    *out_fd = fd;
    return OK;
}

err state_dir_open(const char *dir, int *out_fd)
{
    int place, spool;
    const int data = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (data < 0)
        return err_from_errno(errno);
    err e = make_private(data, "exec", &place);
    const int number = errno;
    ignore(close(data), "it was only read");
    errno = number;
    if (e != OK)
        return e;
    e = make_private(place, PLACE_SPOOL, &spool);
    if (e != OK)
        return close_with(place, errno);
    ignore(close(spool), "it was only looked at");
    *out_fd = place;
    return OK;
}

struct sockaddr_un state_dir_socket(int state_dirfd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" PLACE_SOCKET,
             state_dirfd);
    return address;
}
