/* proc_tree.h - the descendants of the calling process, as read from /proc.
 *
 * A scan is not atomic and outdated as soon as it is made: a caller that kills processes repeats
 * scan and kill until a scan finds none. Before a signal is sent, the process is pinned with a
 * pidfd and its parent is read again, so that an unrelated process that reused the pid is not
 * signalled. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_tree_member {
    pid_t pid;
    pid_t parent;
    char state; /* state character of /proc/PID/stat */
};

struct proc_tree {
    struct proc_tree_member *at; /* all processes of the machine, sorted by pid */
    uint32_t count;
    uint32_t cap;
};

/* Read /proc again. A zeroed struct proc_tree is an empty scan. */
void proc_tree_scan(struct proc_tree *tree);
void proc_tree_fini(struct proc_tree *tree);

/* Signal all descendants of the calling process. Returns their number without zombies. */
uint32_t proc_tree_signal(const struct proc_tree *tree, int signal_number);
/* One process that proc_tree_signal would count, or NULL. Valid until the next scan. */
const struct proc_tree_member *proc_tree_survivor(const struct proc_tree *tree);
/* Kill the direct children for which `is_known` returns false; their children are then reparented
 * to the calling process. Returns the number of processes killed. */
uint32_t proc_tree_kill_unknown(const struct proc_tree *tree, void *self,
                                bool (*is_known)(void *self, pid_t pid));
/* Kill every process of the machine whose environment contains exactly `pair` ("NAME=value"). Must
 * only be called when no run is active. Returns the number of processes killed. */
uint32_t proc_tree_kill_marked(const struct proc_tree *tree, const char *pair);
