#define _GNU_SOURCE
/* port_holder.c - finds a process by the port of its socket. Everything is read from /proc, whose
 * text is parsed defensively; whatever cannot be read or parsed is skipped. */
#include "boot/server/port_holder.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text/buf.h"

enum { INODES_MAX = 64, TCP_LISTEN = 0x0A };

struct inodes {
    uint64_t list[INODES_MAX];
    uint32_t count;
};

/* Adds the inodes of the sockets with this local port in a table like /proc/net/udp. */
static void inodes_read(struct inodes *out, const char *path, bool is_tcp, uint16_t port)
{
    char line[512];
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    while (fgets(line, sizeof line, file) && out->count < INODES_MAX) {
        unsigned local, state;
        uint64_t inode;
        /* sl local remote state queues timer retransmits uid timeout inode */
        if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*s %x %*s %*s %*s %*u %*u %" SCNu64, &local,
                   &state, &inode) == 3 &&
            local == port && (!is_tcp || state == TCP_LISTEN) && inode != 0)
            out->list[out->count++] = inode;
    }
    ignore(fclose(file), "it was only read");
}

static bool inodes_have(const struct inodes *inodes, const char *link)
{
    uint64_t inode;
    if (sscanf(link, "socket:[%" SCNu64 "]", &inode) != 1)
        return false;
    for (uint32_t i = 0; i < inodes->count; i++)
        if (inodes->list[i] == inode)
            return true;
    return false;
}

/* True if a descriptor in the directory /proc/PID/fd is one of these sockets. */
static bool process_has_socket(const char *path, const struct inodes *inodes)
{
    DIR *directory = opendir(path);
    bool has = false;
    for (const struct dirent *e; !has && directory && (e = readdir(directory));) {
        char link[64];
        const ssize_t n = readlinkat(dirfd(directory), e->d_name, link, sizeof link - 1);
        if (n <= 0)
            continue;
        link[n] = 0;
        has = inodes_have(inodes, link);
    }
    if (directory)
        ignore(closedir(directory), "it was only read");
    return has;
}

/* The name of the program of a process, as ps(1) prints it. */
static struct str process_name(struct arena *a, const char *pid)
{
    char path[64], name[64] = "";
    snprintf(path, sizeof path, "/proc/%.20s/comm", pid);
    FILE *file = fopen(path, "re");
    if (file) {
        if (fgets(name, sizeof name, file))
            name[strcspn(name, "\n")] = 0;
        ignore(fclose(file), "it was only read");
    }
    const struct str text = str_from(name);
    return str_copy(a, str_is_empty(text) || !str_is_clean(text) ? STR("a process") : text);
}

struct str port_holder_find(struct arena *a, bool is_tcp, uint16_t port)
{
    struct inodes inodes = {.count = 0};
    struct str found = STR("another process");
    inodes_read(&inodes, is_tcp ? "/proc/net/tcp" : "/proc/net/udp", is_tcp, port);
    inodes_read(&inodes, is_tcp ? "/proc/net/tcp6" : "/proc/net/udp6", is_tcp, port);
    DIR *processes = inodes.count ? opendir("/proc") : NULL;
    for (const struct dirent *e; processes && (e = readdir(processes));) {
        char path[64];
        if (!str_is_digits(str_from(e->d_name)) || strlen(e->d_name) > 20)
            continue;
        snprintf(path, sizeof path, "/proc/%.20s/fd", e->d_name);
        if (!process_has_socket(path, &inodes))
            continue;
        found = STR_CONCAT(a, process_name(a, e->d_name), STR(", pid "), str_from(e->d_name));
        break;
    }
    if (processes)
        ignore(closedir(processes), "it was only read");
    return found;
}
