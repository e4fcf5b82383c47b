#define _GNU_SOURCE
/* sandbox_drive.c - makes one call inside the sandbox of halligan-boot.
 *
 *     sandbox-drive --list                  the names of the calls
 *     sandbox-drive USER FILES NAME         enters the sandbox, and makes the call
 *
 * Prints "done N" (the result) or "failed ERRNO". A call that the filter forbids kills the
 * process, so that nothing is printed; a test reads the signal. */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "boot/server/boot_sandbox.h"

static int files_fd;

static long drive_socket(int family, int type, int protocol)
{
    return socket(family, type, protocol);
}

static long drive_bind(int type, uint16_t port)
{
    const struct sockaddr_in own = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, type, 0);
    return bind(fd, (const struct sockaddr *)(const void *)&own, sizeof own);
}

static long drive_connect_tcp(void)
{
    const struct sockaddr_in peer = {
        .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    return connect(fd, (const struct sockaddr *)(const void *)&peer, sizeof peer);
}

static long drive_execute(void)
{
    char name[] = "true";
    char *const arguments[] = {name, NULL};
    return execve("/bin/true", arguments, arguments + 1);
}

static long drive_open_how(void)
{
    const uint64_t how[3] = {O_WRONLY, 0, 0};
    return syscall(SYS_openat2, files_fd, "file", how, sizeof how);
}

static long drive_map(int protection)
{
    return mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
}

static long drive_protect(int protection)
{
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mprotect(page, 4096, protection);
}

static long drive_interface_name(void)
{
    struct ifreq request = {.ifr_ifindex = 1};
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    return ioctl(fd, SIOCGIFNAME, &request);
}

/* Name, and the call. */
/* clang-format off */
#define CALLS(C)                                                                                   \
    C(execve, drive_execute())                                                                     \
    C(fork, fork())                                                                                \
    C(ptrace, ptrace(PTRACE_TRACEME, 0, NULL, NULL))                                               \
    C(process_vm_readv, syscall(SYS_process_vm_readv, getppid(), NULL, 0L, NULL, 0L, 0L))          \
    C(kill_parent, kill(getppid(), 0))                                                             \
    C(tgkill_parent, syscall(SYS_tgkill, getppid(), getppid(), 0))                                 \
    C(open_write, openat(files_fd, "file", O_WRONLY))                                              \
    C(open_read_write, openat(files_fd, "file", O_RDWR))                                           \
    C(open_create, openat(files_fd, "new", O_RDONLY | O_CREAT, 0600))                              \
    C(open_truncate, openat(files_fd, "file", O_RDONLY | O_TRUNC))                                 \
    C(open_append, openat(files_fd, "file", O_RDONLY | O_APPEND))                                  \
    C(open_temporary, openat(files_fd, ".", O_TMPFILE | O_RDWR, 0600))                             \
    C(open_how, drive_open_how())                                                                  \
    C(unlink, unlinkat(files_fd, "file", 0))                                                       \
    C(rename, renameat(files_fd, "file", files_fd, "other"))                                       \
    C(mkdir, mkdirat(files_fd, "new", 0700))                                                       \
    C(symlink, symlinkat("/etc/passwd", files_fd, "new"))                                          \
    C(chmod, fchmodat(files_fd, "file", 0777, 0))                                                  \
    C(truncate, truncate("file", 0))                                                               \
    C(memfd, memfd_create("x", 0))                                                                 \
    C(setuid, setuid(0))                                                                           \
    C(capset, syscall(SYS_capset, NULL, NULL))                                                     \
    C(prctl, prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))                                                   \
    C(unshare, unshare(CLONE_NEWUSER))                                                             \
    C(mount, syscall(SYS_mount, "a", "b", "c", 0L, NULL))                                          \
    C(bpf, syscall(SYS_bpf, 0, NULL, 0))                                                           \
    C(io_uring, syscall(SYS_io_uring_setup, 1, NULL))                                              \
    C(keyctl, syscall(SYS_keyctl, 0, 0, 0))                                                        \
    C(socket_packet, drive_socket(AF_PACKET, SOCK_RAW, 0))                                         \
    C(socket_netlink, drive_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE))                           \
    C(socket_vsock, drive_socket(AF_VSOCK, SOCK_STREAM, 0))                                        \
    C(map_execute, drive_map(PROT_READ | PROT_EXEC))                                               \
    C(protect_execute, drive_protect(PROT_READ | PROT_EXEC))                                       \
    C(interface_name, drive_interface_name())                                                      \
    C(socket_raw, drive_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP))                                   \
    C(open_outside, openat(AT_FDCWD, "/etc/passwd", O_RDONLY))                                     \
    C(connect_tcp, drive_connect_tcp())                                                            \
    C(bind_tcp, drive_bind(SOCK_STREAM, 0))                                                        \
    C(bind_tftp, drive_bind(SOCK_DGRAM, 69))                                                       \
    C(open_read, openat(files_fd, "file", O_RDONLY))                                               \
    C(bind_udp, drive_bind(SOCK_DGRAM, 0))                                                         \
    C(socket_unix, drive_socket(AF_UNIX, SOCK_STREAM, 0))                                          \
    C(socket_inet6, drive_socket(AF_INET6, SOCK_DGRAM, 0))                                         \
    C(map, drive_map(PROT_READ | PROT_WRITE))
/* clang-format on */

static long drive_call(const char *name)
{
#define C(word, call)                                                                              \
    if (strcmp(name, #word) == 0)                                                                  \
        return (long)(call);
    CALLS(C)
#undef C
    errno = ENOSYS;
    return -1;
}

static int drive_list(void)
{
#define C(word, call) puts(#word);
    CALLS(C)
#undef C
    return 0;
}

int main(int argc, char **argv)
{
    struct sandbox_user user;
    struct sandbox_why why;
    char text[64];
    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        return drive_list();
    if (argc != 4 || !sandbox_find_user(argv[1], &user))
        return 2;
    files_fd = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (files_fd < 0 || !sandbox_enter(&user, files_fd, &why)) {
        fprintf(stderr, "%s\n", why.text);
        return 2;
    }
    errno = 0;
    const long result = drive_call(argv[3]);
    const int size = result < 0 ? snprintf(text, sizeof text, "failed %d\n", errno)
                                : snprintf(text, sizeof text, "done %ld\n", result);
    return write(STDOUT_FILENO, text, (size_t)size) == size ? 0 : 1;
}
