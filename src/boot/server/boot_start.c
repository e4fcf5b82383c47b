#define _GNU_SOURCE
/* boot_start.c - opens what needs privileges, and finds what is missing.
 *
 * Everything is tried and reported, so that one start or one --check shows all problems. A problem
 * of one service or interface limits the program; it is fatal only if nothing is left to serve, or
 * if privileges could not be dropped afterwards. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "boot/server/boot_files.h"
#include "boot/server/boot_server_private.h"

enum { ARCHITECTURE_MAX = 64, DESCRIPTORS = 8192 };

/* ---- privileges ---- */

static void start_check_capability(struct boot_server *s, unsigned capability, const char *name,
                                   enum boot_service service, enum finding_weight weight)
{
    if (sandbox_has_capability(capability))
        return;
    findings_add(&s->findings, service, weight,
                 "the capability %s is missing: start as root, or with AmbientCapabilities= of "
                 "systemd.exec(5)",
                 name);
}

static void start_check_privileges(struct boot_server *s)
{
    const struct boot_options *o = s->options;
    if (sandbox_is_root()) {
        start_check_capability(s, CAP_SETUID, "CAP_SETUID", SERVICE_PROGRAM, FINDING_FATAL);
        start_check_capability(s, CAP_SETGID, "CAP_SETGID", SERVICE_PROGRAM, FINDING_FATAL);
        if (!sandbox_find_user(o->user, &s->user))
            findings_add(&s->findings, SERVICE_PROGRAM, FINDING_FATAL,
                         "the user \"%s\" does not exist, or is root: create it (adduser --system "
                         "--group %s), or name another one with --user",
                         o->user, o->user);
    }
    if (!o->no_dhcp || !o->no_tftp)
        start_check_capability(s, CAP_NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE",
                               o->no_dhcp ? SERVICE_TFTP : SERVICE_DHCP, FINDING_LIMIT);
    if (!o->no_dhcp)
        start_check_capability(s, CAP_NET_RAW, "CAP_NET_RAW", SERVICE_DHCP, FINDING_LIMIT);
    if (!sandbox_has_seccomp())
        findings_add(&s->findings, SERVICE_PROGRAM, FINDING_FATAL,
                     "the kernel cannot filter system calls: use one with CONFIG_SECCOMP_FILTER");
    if (sandbox_landlock_version() == 0)
        findings_add(&s->findings, SERVICE_PROGRAM, FINDING_NOTE,
                     "the kernel has no Landlock: access to files is limited by the user only; "
                     "enable it with lsm=landlock,...");
}

/* ---- interfaces ---- */

static void start_check_interface(struct boot_server *s, const struct interface *i)
{
    if (i->index == 0)
        findings_add(&s->findings, SERVICE_PROGRAM, FINDING_LIMIT,
                     "there is no interface %s: it is not served; create it and restart "
                     "halligan-boot, or correct --interface",
                     i->name);
    else if (!i->is_up)
        findings_add(&s->findings, SERVICE_PROGRAM, FINDING_NOTE,
                     "the interface %s is down or has no carrier: machines on it are answered when "
                     "it is up (ip link set %s up)",
                     i->name, i->name);
    if (i->index != 0 && i->address_count == 0)
        findings_add(
            &s->findings, SERVICE_PROGRAM, FINDING_NOTE,
            "the interface %s has no IPv4 address: machines on it are answered when it has "
            "one (ip address add ADDRESS/PREFIX dev %s)",
            i->name, i->name);
}

static void start_open_interfaces(struct boot_server *s)
{
    if (!interfaces_open(&s->interfaces, s->options)) {
        findings_add(&s->findings, SERVICE_PROGRAM, FINDING_FATAL,
                     "the interfaces cannot be read from the kernel: %s", strerror(errno));
        return;
    }
    for (uint32_t i = 0; i < s->interfaces.count; i++)
        start_check_interface(s, &s->interfaces.list[i]);
}

/* ---- files ---- */

/* True if the user may read the directory. Directories above it need not be accessible, because a
 * descriptor is kept. */
static bool start_user_may_read(const struct boot_server *s, const struct stat *status)
{
    const mode_t mode = status->st_mode;
    if (!sandbox_is_root())
        return true;
    if (status->st_uid == s->user.uid)
        return (mode & S_IRUSR) && (mode & S_IXUSR);
    if (status->st_gid == s->user.gid)
        return (mode & S_IRGRP) && (mode & S_IXGRP);
    return (mode & S_IROTH) && (mode & S_IXOTH);
}

static void start_check_loader(struct boot_server *s, const char *name, const char *machines)
{
    if (!boot_files_have(s->files_fd, str_from(name)))
        findings_add(&s->findings, SERVICE_TFTP, FINDING_NOTE,
                     "%s/%s is missing: machines with %s cannot boot; install the package ipxe and "
                     "copy it from /usr/lib/ipxe",
                     s->options->files, name, machines);
}

/* A loader for another architecture is named after its number in option 93 (RFC 4578). */
static void start_find_architectures(struct boot_server *s)
{
    for (uint16_t arch = 0; arch < ARCHITECTURE_MAX && s->file_count < DHCP_FILES_MAX; arch++) {
        char name[32];
        snprintf(name, sizeof name, "arch-%u.efi", arch);
        if (boot_files_have(s->files_fd, str_from(name)))
            s->files[s->file_count++] =
                (struct dhcp_file){arch, str_copy(&s->arena, str_from(name))};
    }
}

static void start_open_files(struct boot_server *s)
{
    const char *path = s->options->files;
    struct stat status;
    s->files_fd = boot_files_open_directory(path);
    if (s->files_fd < 0 || fstat(s->files_fd, &status) != 0) {
        findings_add(&s->findings, SERVICE_TFTP, FINDING_LIMIT,
                     "the directory of the files, %s, cannot be opened: %s; no file is served: "
                     "create it, or name another one with --files",
                     path, strerror(errno));
        return;
    }
    if (!start_user_may_read(s, &status))
        findings_add(&s->findings, SERVICE_TFTP, FINDING_LIMIT,
                     "the user \"%s\" may not read the directory of the files, %s: chmod a+rx it",
                     s->options->user, path);
    start_check_loader(s, "undionly.kpxe", "a BIOS");
    start_check_loader(s, "snponly.efi", "UEFI");
    start_find_architectures(s);
}

/* ---- the socket of the daemon ---- */

static void start_check_socket(struct boot_server *s)
{
    char directory[4096];
    struct stat status;
    const char *slash = strrchr(s->options->socket, '/');
    const size_t len = slash ? (size_t)(slash - s->options->socket) : 0;
    if (len == 0 || len >= sizeof directory)
        return;
    memcpy(directory, s->options->socket, len);
    directory[len] = 0;
    if (stat(directory, &status) != 0)
        findings_add(&s->findings, SERVICE_PROGRAM, FINDING_NOTE,
                     "the directory of the socket, %s, cannot be opened: %s; nothing is answered "
                     "before halligand has created it: start halligand, or correct --socket",
                     directory, strerror(errno));
}

/* ---- all of it ---- */

/* Every connection needs two descriptors, and the usual limit is 1,024. */
static void start_raise_descriptors(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= DESCRIPTORS)
        return;
    files.rlim_cur = files.rlim_max < DESCRIPTORS ? files.rlim_max : DESCRIPTORS;
    ignore(setrlimit(RLIMIT_NOFILE, &files), "the limits of connections follow what is allowed");
}

static void start_open_services(struct boot_server *s)
{
    bool has_service = false;
    for (uint32_t i = 0; i < s->interfaces.count; i++) {
        boot_sockets_open(&s->sockets[i], &s->interfaces.list[i], s->options, &s->findings);
        s->has_dhcp |= s->sockets[i].dhcp >= 0;
        has_service |= s->sockets[i].dhcp >= 0 || s->sockets[i].tftp >= 0;
    }
    boot_http_open(&s->http, &s->loop, s->options, &s->interfaces, &s->findings);
    if (!has_service && s->http.listener_count == 0)
        findings_add(&s->findings, SERVICE_PROGRAM, FINDING_FATAL,
                     "nothing can be served: no port could be opened on any interface");
}

void boot_start_open(struct boot_server *s)
{
    start_raise_descriptors();
    start_check_privileges(s);
    start_open_interfaces(s);
    start_open_files(s);
    s->http.files_fd = s->files_fd;
    start_open_services(s);
    start_check_socket(s);
}
