/* boot_sandbox.h - dropping every privilege of the process, for good.
 *
 * The caller opens its sockets and directories first, and enters the sandbox before it reads the
 * first byte of a packet. Afterwards the process runs as another user without any capability; it
 * cannot execute a program, open a file for writing, open a socket of another family than AF_INET,
 * AF_INET6 and AF_UNIX, or trace a process. A violation kills it; in a build with sanitizers, which
 * make system calls of their own, it is logged by the kernel.
 *
 * Landlock (landlock(7)) also limits reading to the directory of the files and forbids TCP
 * connections. It is left out where the kernel does not have it; everything else is required.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The user as which the process runs. */
struct sandbox_user {
    uid_t uid;
    gid_t gid;
};

/* True if a process that starts as this user and group id has to change its user. */
bool sandbox_is_root(void);
/* Looks up a user. False: it does not exist, or it is root. */
bool sandbox_find_user(const char *name, struct sandbox_user *out_user);

/* A missing requirement is a phrase in `why`. */
struct sandbox_why {
    char text[160];
};

/* The version of Landlock of the running kernel; 0: none. */
int sandbox_landlock_version(void);
/* True if the kernel can filter system calls. */
bool sandbox_has_seccomp(void);
/* False if a capability (a number of <linux/capability.h>) is not effective. */
bool sandbox_has_capability(unsigned capability);

/* Drops privileges in this order: bounding set, groups and user (if the process is root; otherwise
 * `user` is ignored), capabilities, core dumps, Landlock with read access below `files_fd` (a
 * directory, -1: none), system calls. False, with the reason: the process must exit, because it may
 * have dropped a part. Only one thread may exist. */
bool sandbox_enter(const struct sandbox_user *user, int files_fd, struct sandbox_why *why);
