#define _GNU_SOURCE /* setresuid, syscall */
/* boot_sandbox.c - the order in which privileges are dropped.
 *
 * The bounding set is cleared first, because that needs CAP_SETPCAP; then groups before the user,
 * because setgroups() needs CAP_SETGID. A change of the user from root clears all capabilities; a
 * process that was started as another user with ambient capabilities clears them with capset().
 * NO_NEW_PRIVS comes before Landlock and seccomp, which both require it. The seccomp filter is the
 * last step, so it need not allow the system calls of the others.
 *
 * What was dropped is verified at the end of each step: setresuid() with an id that is not mapped
 * and a capset() that an LSM changed would otherwise go unnoticed.
 *
 * The filter lists system calls by name for libseccomp, so that it is the same on every
 * architecture. It has no openat2, because a filter cannot inspect its argument, which is a struct
 * in memory; boot_files.c walks paths with openat instead. Failure at any step ends the start. */
#include "boot/server/boot_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANDBOX_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANDBOX_IS_SANITIZED 1
#endif
#endif
#ifndef SANDBOX_IS_SANITIZED
#define SANDBOX_IS_SANITIZED 0
#endif

/* Rights and restrictions of Landlock that the headers of Debian 12 do not name. */
enum {
    LANDLOCK_FS_REFER = 1u << 13,
    LANDLOCK_FS_TRUNCATE = 1u << 14,
    LANDLOCK_FS_IOCTL_DEV = 1u << 15,
    LANDLOCK_FS_FIRST = (1u << 13) - 1, /* the rights of version 1 */
    LANDLOCK_NET_TCP = 3,               /* bind and connect */
    LANDLOCK_SCOPES = 3                 /* abstract unix sockets and signals */
};

/* struct landlock_ruleset_attr of version 6. Older kernels accept it if what they do not define is
 * zero (landlock_create_ruleset(2)). */
struct sandbox_ruleset {
    uint64_t handled_fs;
    uint64_t handled_net;
    uint64_t scoped;
};

static bool sandbox_fail(struct sandbox_why *why, const char *step)
{
    snprintf(why->text, sizeof why->text, "%s: %s", step, strerror(errno));
    return false;
}

/* ---- what the kernel and the host have ---- */

bool sandbox_is_root(void)
{
    return geteuid() == 0;
}

bool sandbox_find_user(const char *name, struct sandbox_user *out_user)
{
    const struct passwd *entry = getpwnam(name);
    if (!entry || entry->pw_uid == 0 || entry->pw_gid == 0)
        return false;
    *out_user = (struct sandbox_user){entry->pw_uid, entry->pw_gid};
    return true;
}

int sandbox_landlock_version(void)
{
    const long version =
        syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);
    return version > 0 ? (int)version : 0;
}

bool sandbox_has_seccomp(void)
{
    const uint32_t action = SECCOMP_RET_KILL_PROCESS;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static bool sandbox_get_capabilities(struct __user_cap_data_struct out_data[2])
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    return syscall(SYS_capget, &header, out_data) == 0;
}

bool sandbox_has_capability(unsigned capability)
{
    struct __user_cap_data_struct data[2];
    return sandbox_get_capabilities(data) &&
           (data[capability / 32].effective >> (capability % 32) & 1) != 0;
}

/* ---- user and capabilities ---- */

/* Without CAP_SETPCAP the bounding set stays: it has no effect without a program to execute. */
static bool sandbox_clear_bounding_set(struct sandbox_why *why)
{
    if (!sandbox_has_capability(CAP_SETPCAP))
        return true;
    for (unsigned capability = 0; capability < 64; capability++)
        if (prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1 &&
            prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0)
            return sandbox_fail(why, "cannot clear the capability bounding set");
    return true;
}

static bool sandbox_change_user(const struct sandbox_user *user, struct sandbox_why *why)
{
    uid_t real, effective, saved;
    if (!sandbox_is_root())
        return true;
    if (setgroups(0, NULL) != 0 || setresgid(user->gid, user->gid, user->gid) != 0 ||
        setresuid(user->uid, user->uid, user->uid) != 0)
        return sandbox_fail(why, "cannot change the user");
    must(getresuid(&real, &effective, &saved) == 0);
    must(real == user->uid && effective == user->uid && saved == user->uid && user->uid != 0);
    return true;
}

static bool sandbox_clear_capabilities(struct sandbox_why *why)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
        syscall(SYS_capset, &header, data) != 0 || !sandbox_get_capabilities(data))
        return sandbox_fail(why, "cannot drop the capabilities");
    must(!data[0].effective && !data[0].permitted && !data[0].inheritable);
    must(!data[1].effective && !data[1].permitted && !data[1].inheritable);
    return true;
}

/* ---- Landlock ---- */

static struct sandbox_ruleset sandbox_ruleset_for(int version)
{
    struct sandbox_ruleset set = {.handled_fs = LANDLOCK_FS_FIRST};
    if (version >= 2)
        set.handled_fs |= LANDLOCK_FS_REFER;
    if (version >= 3)
        set.handled_fs |= LANDLOCK_FS_TRUNCATE;
    if (version >= 4)
        set.handled_net = LANDLOCK_NET_TCP;
    if (version >= 5)
        set.handled_fs |= LANDLOCK_FS_IOCTL_DEV;
    if (version >= 6)
        set.scoped = LANDLOCK_SCOPES;
    return set;
}

/* The leak check of the address sanitizer reads /proc. */
static bool sandbox_allow_proc(int ruleset_fd)
{
    if (!SANDBOX_IS_SANITIZED)
        return true;
    const struct landlock_path_beneath_attr below = {
        .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
        .parent_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
    };
    return syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &below, 0u) == 0;
}

static bool sandbox_restrict_files(int files_fd, struct sandbox_why *why)
{
    const int version = sandbox_landlock_version();
    if (version == 0)
        return true;
    const struct sandbox_ruleset set = sandbox_ruleset_for(version);
    const struct landlock_path_beneath_attr below = {
        .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
        .parent_fd = files_fd,
    };
    const int fd = (int)syscall(SYS_landlock_create_ruleset, &set, sizeof set, 0u);
    if (fd < 0)
        return sandbox_fail(why, "cannot create a Landlock ruleset");
    const bool is_restricted =
        sandbox_allow_proc(fd) &&
        (files_fd < 0 ||
         syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &below, 0u) == 0) &&
        syscall(SYS_landlock_restrict_self, fd, 0u) == 0;
    if (!is_restricted)
        ignore(sandbox_fail(why, "cannot restrict access to files with Landlock"), "it is false");
    ignore(close(fd), "the ruleset is in force or the start has failed");
    return is_restricted;
}

/* ---- system calls ---- */

/* Calls that are allowed with any arguments. */
static const int sandbox_calls[] = {
    /* files and descriptors that are open */
    SCMP_SYS(read),
    SCMP_SYS(readv),
    SCMP_SYS(pread64),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(close),
    SCMP_SYS(lseek),
    SCMP_SYS(_llseek),
    SCMP_SYS(fstat),
    SCMP_SYS(fstat64),
    SCMP_SYS(newfstatat),
    SCMP_SYS(fstatat64),
    SCMP_SYS(statx),
    SCMP_SYS(sendfile),
    SCMP_SYS(sendfile64),
    SCMP_SYS(fcntl),
    SCMP_SYS(fcntl64),
    /* memory */
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    /* the loop */
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(nanosleep),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(futex),
    SCMP_SYS(sched_yield),
    SCMP_SYS(getrandom),
    /* sockets; socket() itself is in sandbox_add_socket_rules() */
    SCMP_SYS(connect),
    SCMP_SYS(bind),
    SCMP_SYS(accept),
    SCMP_SYS(accept4),
    SCMP_SYS(getsockname),
    SCMP_SYS(getpeername),
    SCMP_SYS(setsockopt),
    SCMP_SYS(getsockopt),
    SCMP_SYS(shutdown),
    SCMP_SYS(sendto),
    SCMP_SYS(recvfrom),
    SCMP_SYS(sendmsg),
    SCMP_SYS(recvmsg),
    SCMP_SYS(sendmmsg),
    SCMP_SYS(recvmmsg),
    /* signals and the end */
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getrusage),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
};

/* A call that the architecture does not have is left out by libseccomp. */
static bool sandbox_allow_calls(scmp_filter_ctx filter)
{
    for (size_t i = 0; i < sizeof sandbox_calls / sizeof sandbox_calls[0]; i++)
        if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, sandbox_calls[i], 0) != 0)
            return false;
    return true;
}

/* Allows a call if the masked low half of an argument has this value. The kernel reads an int from
 * the low half only, so the high half must not be compared. */
static bool sandbox_allow_if(scmp_filter_ctx filter, int call, unsigned argument, uint32_t mask,
                             uint32_t value)
{
    const struct scmp_arg_cmp condition = {
        .arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &condition) == 0;
}

static bool sandbox_add_socket_rules(scmp_filter_ctx filter)
{
    static const uint32_t families[] = {AF_INET, AF_INET6, AF_UNIX};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (!sandbox_allow_if(filter, SCMP_SYS(socket), 0, UINT32_MAX, families[i]))
            return false;
    return true;
}

/* O_TMPFILE contains O_DIRECTORY, which is allowed. */
static bool sandbox_add_open_rule(scmp_filter_ctx filter)
{
    const uint32_t writing =
        O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
    return sandbox_allow_if(filter, SCMP_SYS(openat), 2, writing, 0);
}

/* Memory that is executable is the first step of most attacks. */
static bool sandbox_add_memory_rules(scmp_filter_ctx filter)
{
    const int calls[] = {SCMP_SYS(mmap), SCMP_SYS(mmap2), SCMP_SYS(mprotect)};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (!sandbox_allow_if(filter, calls[i], 2, PROT_EXEC, 0))
            return false;
    return true;
}

/* libuv makes descriptors non-blocking with FIONBIO. abort() sends the signal to this process. */
static bool sandbox_add_other_rules(scmp_filter_ctx filter)
{
    return sandbox_allow_if(filter, SCMP_SYS(ioctl), 1, UINT32_MAX, FIONBIO) &&
           sandbox_allow_if(filter, SCMP_SYS(ioctl), 1, UINT32_MAX, FIONREAD) &&
           sandbox_allow_if(filter, SCMP_SYS(tgkill), 0, UINT32_MAX, (uint32_t)getpid());
}

static bool sandbox_filter_calls(struct sandbox_why *why)
{
    scmp_filter_ctx filter =
        seccomp_init(SANDBOX_IS_SANITIZED ? SCMP_ACT_LOG : SCMP_ACT_KILL_PROCESS);
    const bool is_made = filter && sandbox_allow_calls(filter) &&
                         sandbox_add_socket_rules(filter) && sandbox_add_open_rule(filter) &&
                         sandbox_add_memory_rules(filter) && sandbox_add_other_rules(filter);
    errno = is_made ? -seccomp_load(filter) : ENOMEM;
    const bool is_loaded = is_made && errno == 0;
    if (!is_loaded)
        ignore(sandbox_fail(why, "cannot filter system calls"), "it is false");
    if (filter)
        seccomp_release(filter);
    return is_loaded;
}

/* ---- all of it ---- */

bool sandbox_enter(const struct sandbox_user *user, int files_fd, struct sandbox_why *why)
{
    if (!sandbox_clear_bounding_set(why) || !sandbox_change_user(user, why) ||
        !sandbox_clear_capabilities(why))
        return false;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return sandbox_fail(why, "cannot set NO_NEW_PRIVS");
    /* No core dump and no debugger: the memory has keys of tickets. The leak check of the address
     * sanitizer traces the process. */
    if (prctl(PR_SET_DUMPABLE, SANDBOX_IS_SANITIZED, 0, 0, 0) != 0)
        return sandbox_fail(why, "cannot forbid core dumps");
    return sandbox_restrict_files(files_fd, why) && sandbox_filter_calls(why);
}
