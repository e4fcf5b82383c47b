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

/* Owns only the array of the last scan.
 *
 * A scan reads /proc/PID/stat of every process once and sorts the result by pid, so that the chain
 * of parents of a process can be followed by binary search. Two races are handled here. A pid may
 * be reused between scan and signal: proc_tree_signal_descendant opens a pidfd first and checks the
 * parent after that. A process may fork between scan and signal: callers scan again until no
 * process is left. A process that exits during a scan, or whose files cannot be read, is skipped,
 * and if /proc cannot be opened the scan is empty. A signal that cannot be sent is not reported:
 * the next scan shows the process again. */

/* bytes read of /proc/PID/stat, of a path, and of /proc/PID/environ */
enum { STAT_SIZE = 512, PATH_SIZE = 64, ENVIRON_MAX = 4 << 20 };

/* ---- scan ---- */

/* False if the process does not exist any more or cannot be read. */
static bool proc_tree_read(pid_t pid, struct proc_tree_member *out_member)
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
    /* The name is in parentheses and may contain some itself: search the last one. */
    const char *rest = strrchr(text, ')');
    if (!rest || sscanf(rest + 1, " %c %d", &state, &parent) != 2)
        return false;
    *out_member = (struct proc_tree_member){pid, parent, state};
    return true;
}

static bool proc_tree_is_zombie(const struct proc_tree_member *member)
{
    return member->state == 'Z' || member->state == 'X';
}

static int proc_tree_compare_pid(const void *a, const void *b)
{
    const pid_t x = ((const struct proc_tree_member *)a)->pid;
    const pid_t y = ((const struct proc_tree_member *)b)->pid;
    return (x > y) - (x < y);
}

void proc_tree_scan(struct proc_tree *tree)
{
    DIR *dir = opendir("/proc");
    tree->count = 0;
    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct proc_tree_member member;
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (!proc_tree_read((pid_t)strtol(entry->d_name, NULL, 10), &member))
            continue;
        if (tree->count == tree->cap) {
            tree->cap = tree->cap ? tree->cap * 2 : 512;
            tree->at = realloc(tree->at, tree->cap * sizeof *tree->at);
            must(tree->at);
        }
        tree->at[tree->count++] = member;
    }
    ignore(closedir(dir), "it was only read");
    if (tree->count)
        qsort(tree->at, tree->count, sizeof *tree->at, proc_tree_compare_pid);
}

void proc_tree_fini(struct proc_tree *tree)
{
    free(tree->at);
    *tree = (struct proc_tree){0};
}

/* The scan is not atomic, so a reused pid can create a cycle of parents: stop after as many steps
 * as there are processes. */
static bool proc_tree_is_below(const struct proc_tree *tree, const struct proc_tree_member *member,
                               pid_t root)
{
    for (uint32_t steps = 0; member && steps < tree->count; steps++) {
        if (member->parent == root)
            return true;
        const struct proc_tree_member key = {.pid = member->parent};
        member = bsearch(&key, tree->at, tree->count, sizeof key, proc_tree_compare_pid);
    }
    return false;
}

/* ---- signals ---- */

static int proc_tree_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Signal a process that is not our child. Its parent may have reaped it, and the pid may belong to
 * an unrelated process. The order matters: the pidfd pins one process, and only then is its parent
 * compared with the scan. */
static void proc_tree_signal_descendant(const struct proc_tree_member *member, pid_t root,
                                        int signal_number)
{
    struct proc_tree_member now;
    const int fd = proc_tree_pidfd(member->pid);
    if (fd < 0)
        return;
    if (proc_tree_read(member->pid, &now) && (now.parent == member->parent || now.parent == root))
        ignore(syscall(SYS_pidfd_send_signal, fd, signal_number, NULL, 0),
               "it exited or may not be signalled: the next scan shows it");
    ignore(close(fd), "a pidfd");
}

uint32_t proc_tree_signal(const struct proc_tree *tree, int signal_number)
{
    const pid_t self = getpid();
    uint32_t count = 0;
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct proc_tree_member *member = &tree->at[i];
        if (proc_tree_is_zombie(member) || !proc_tree_is_below(tree, member, self))
            continue;
        count++;
        /* A child cannot be replaced: its pid is reserved until we reap it. */
        if (member->parent == self)
            ignore(kill(member->pid, signal_number),
                   "it exited or may not be signalled: the next scan shows it");
        else
            proc_tree_signal_descendant(member, self, signal_number);
    }
    return count;
}

const struct proc_tree_member *proc_tree_survivor(const struct proc_tree *tree)
{
    for (uint32_t i = 0; i < tree->count; i++)
        if (!proc_tree_is_zombie(&tree->at[i]) && proc_tree_is_below(tree, &tree->at[i], getpid()))
            return &tree->at[i];
    return NULL;
}

uint32_t proc_tree_kill_unknown(const struct proc_tree *tree, void *self,
                                bool (*is_known)(void *self, pid_t pid))
{
    const pid_t root = getpid();
    uint32_t count = 0;
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct proc_tree_member *member = &tree->at[i];
        if (member->parent != root || proc_tree_is_zombie(member) || is_known(self, member->pid))
            continue;
        count++;
        ignore(kill(member->pid, SIGKILL), "the next scan shows a survivor");
    }
    return count;
}

/* ---- search by environment ---- */

static bool proc_tree_environ_has(const char *bytes, size_t size, const char *pair)
{
    const size_t len = strlen(pair) + 1; /* with the terminating zero */
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

static bool proc_tree_has_environ(pid_t pid, const char *pair, char *environ_bytes)
{
    char path[PATH_SIZE];
    size_t size = 0;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    for (ssize_t n; size < ENVIRON_MAX; size += (size_t)n) {
        n = read(fd, environ_bytes + size, ENVIRON_MAX - size);
        if (n <= 0)
            break;
    }
    ignore(close(fd), "it was only read");
    return proc_tree_environ_has(environ_bytes, size, pair);
}

uint32_t proc_tree_kill_marked(const struct proc_tree *tree, const char *pair)
{
    uint32_t count = 0;
    char *environ_bytes = malloc(ENVIRON_MAX);
    must(environ_bytes);
    for (uint32_t i = 0; i < tree->count; i++) {
        const pid_t pid = tree->at[i].pid;
        if (proc_tree_is_zombie(&tree->at[i]) || pid == getpid())
            continue;
        const int fd = proc_tree_pidfd(pid);
        if (fd < 0)
            continue;
        if (proc_tree_has_environ(pid, pair, environ_bytes)) {
            count++;
            ignore(syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0),
                   "the next scan shows a survivor");
        }
        ignore(close(fd), "a pidfd");
    }
    free(environ_bytes);
    return count;
}
