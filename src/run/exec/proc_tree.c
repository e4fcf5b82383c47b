#define _GNU_SOURCE /* syscall */
#include "run/exec/proc_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"

enum { STAT_SIZE = 512, PATH_SIZE = 64, ENVIRON_MAX = 4 << 20 };

/* ---- looking ---- */

/* False when there is no such process any more. */
static bool read_member(pid_t pid, struct proc_tree_member *out_member)
{
    char path[PATH_SIZE], text[STAT_SIZE], state;
    int parent;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t n = read(fd, text, sizeof text - 1);
    ignore(close(fd), "it was only read");
    if (n <= 0)
        return false;
    text[n] = 0;
    /* Its name stands in brackets, and may hold some of its own: the last one counts. */
    const char *rest = strrchr(text, ')');
    if (!rest || sscanf(rest + 1, " %c %d", &state, &parent) != 2)
        return false;
    *out_member = (struct proc_tree_member){pid, parent, state};
    return true;
}

static bool is_dead(const struct proc_tree_member *member)
{
    return member->state == 'Z' || member->state == 'X';
}

static void add(struct proc_tree *f, struct proc_tree_member member)
{
    if (f->count == f->cap) {
        f->cap = f->cap ? f->cap * 2 : 512;
        f->at = realloc(f->at, f->cap * sizeof *f->at);
        must(f->at);
    }
    f->at[f->count++] = member;
}

static int by_pid(const void *a, const void *b)
{
    const pid_t x = ((const struct proc_tree_member *)a)->pid;
    const pid_t y = ((const struct proc_tree_member *)b)->pid;
    return (x > y) - (x < y);
}

void proc_tree_scan(struct proc_tree *f)
{
    DIR *folder = opendir("/proc");
    f->count = 0;
    if (!folder)
        return;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct proc_tree_member member;
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (read_member((pid_t)strtol(entry->d_name, NULL, 10), &member))
            add(f, member);
    }
    ignore(closedir(folder), "it was only read");
    if (f->count)
        qsort(f->at, f->count, sizeof *f->at, by_pid);
}

void proc_tree_fini(struct proc_tree *f)
{
    free(f->at);
    *f = (struct proc_tree){0};
}

static const struct proc_tree_member *find(const struct proc_tree *f, pid_t pid)
{
    const struct proc_tree_member key = {.pid = pid};
    return f->count ? bsearch(&key, f->at, f->count, sizeof key, by_pid) : NULL;
}

/* The picture was not taken in one instant, so a number used twice could make a circle: the way up
 * is never longer than there are processes. */
static bool is_below(const struct proc_tree *f, const struct proc_tree_member *member, pid_t root)
{
    for (uint32_t steps = 0; member && steps < f->count; steps++) {
        if (member->parent == root)
            return true;
        member = find(f, member->parent);
    }
    return false;
}

/* ---- signalling ---- */

static int pidfd_of(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Its parent may have taken its end, and its number gone to a stranger. The descriptor holds on to
 * one process, and only after that is its parent looked at again. */
static void signal_distant(const struct proc_tree_member *member, pid_t root, int signal_number)
{
    struct proc_tree_member now;
    const int fd = pidfd_of(member->pid);
    if (fd < 0)
        return;
    if (read_member(member->pid, &now) && (now.parent == member->parent || now.parent == root))
        ignore(syscall(SYS_pidfd_send_signal, fd, signal_number, NULL, 0),
               "gone meanwhile, or not ours to signal: the next look tells");
    ignore(close(fd), "it was only a handle");
}

uint32_t proc_tree_signal(const struct proc_tree *f, int signal_number)
{
    const pid_t self = getpid();
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        const struct proc_tree_member *member = &f->at[i];
        if (is_dead(member) || !is_below(f, member, self))
            continue;
        count++;
        /* A child of ours keeps its number until we take its end. */
        if (member->parent == self)
            ignore(kill(member->pid, signal_number), "as for distant ones");
        else
            signal_distant(member, self, signal_number);
    }
    return count;
}

const struct proc_tree_member *proc_tree_survivor(const struct proc_tree *f)
{
    for (uint32_t i = 0; i < f->count; i++)
        if (!is_dead(&f->at[i]) && is_below(f, &f->at[i], getpid()))
            return &f->at[i];
    return NULL;
}

uint32_t proc_tree_kill_unknown(const struct proc_tree *f, void *self,
                                bool (*is_known)(void *self, pid_t pid))
{
    const pid_t root = getpid();
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        const struct proc_tree_member *member = &f->at[i];
        if (member->parent != root || is_dead(member) || is_known(self, member->pid))
            continue;
        count++;
        ignore(kill(member->pid, SIGKILL), "the next look tells");
    }
    return count;
}

/* ---- marks ---- */

static bool environ_holds(const char *bytes, size_t size, const char *pair)
{
    const size_t len = strlen(pair) + 1; /* with its zero */
    for (size_t at = 0; at + len <= size;) {
        if (memcmp(bytes + at, pair, len) == 0)
            return true;
        const char *end = memchr(bytes + at, 0, size - at);
        if (!end)
            return false;
        at = (size_t)(end - bytes) + 1;
    }
    return false;
}

static bool is_marked(pid_t pid, const char *pair, char *room)
{
    char path[PATH_SIZE];
    size_t size = 0;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    for (ssize_t n; size < ENVIRON_MAX; size += (size_t)n) {
        n = read(fd, room + size, ENVIRON_MAX - size);
        if (n <= 0)
            break;
    }
    ignore(close(fd), "it was only read");
    return environ_holds(room, size, pair);
}

uint32_t proc_tree_kill_marked(const struct proc_tree *f, const char *pair)
{
    uint32_t count = 0;
    char *room = malloc(ENVIRON_MAX);
    must(room);
    for (uint32_t i = 0; i < f->count; i++) {
        const pid_t pid = f->at[i].pid;
        if (is_dead(&f->at[i]) || pid == getpid())
            continue;
        const int fd = pidfd_of(pid);
        if (fd < 0)
            continue;
        if (is_marked(pid, pair, room)) {
            count++;
            ignore(syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0), "the next look tells");
        }
        ignore(close(fd), "it was only a handle");
    }
    free(room);
    return count;
}
