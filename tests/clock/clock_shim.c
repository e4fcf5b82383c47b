/* clock_shim.c - a wall clock that a test can set, for LD_PRELOAD.
 *
 * The file named by HALLIGAN_CLOCK holds a number of seconds, which is added to what the kernel
 * says of CLOCK_REALTIME. It is read again with every call, so a test moves the clock of a running
 * process by writing the file. Without the variable, or without the file, the clock is the
 * kernel's. Other clocks are never changed. The time is read by a direct system call, because the
 * functions of libc are replaced here. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset_s(void)
{
    char text[32] = "";
    const int before = errno;
    const char *path = getenv("HALLIGAN_CLOCK");
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    const ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    errno = before;
    return size > 0 ? strtol(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    if (syscall(SYS_clock_gettime, id, out) != 0)
        return -1;
    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
        out->tv_sec += offset_s();
    return 0;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
