/* proc_tree.h - the processes below this one, as /proc shows them.
 *
 * One look is a picture that is old at once: whoever acts on it looks again until there is nobody
 * left. A number that has passed to a stranger meanwhile is not signalled.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_tree_member {
    pid_t pid;
    pid_t parent;
    char state; /* the kernel's letter for it */
};

struct proc_tree {
    struct proc_tree_member *at; /* all processes there are, by number */
    uint32_t count;
    uint32_t cap;
};

/* A zeroed struct proc_tree is an empty picture. */
void proc_tree_scan(struct proc_tree *f);
void proc_tree_fini(struct proc_tree *f);

/* Signal everybody below this process. How many there were, the dead not counted. */
uint32_t proc_tree_signal(const struct proc_tree *f, int signal_number);
/* One of those that proc_tree_signal would count; NULL: there is none. Valid until the next look.
 * */
const struct proc_tree_member *proc_tree_survivor(const struct proc_tree *f);
/* Kill our own children that `is_known` does not know; by that, theirs come to us.
 * How many there were. */
uint32_t proc_tree_kill_unknown(const struct proc_tree *f, void *self,
                                bool (*is_known)(void *self, pid_t pid));
/* Kill everybody, wherever it stands, whose environment holds exactly `pair` ("NAME=value").
 * Nobody is below us by then who should live. How many there were. */
uint32_t proc_tree_kill_marked(const struct proc_tree *f, const char *pair);
