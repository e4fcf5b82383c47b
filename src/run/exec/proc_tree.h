/* proc_tree.h - the processes below this one, as /proc shows them.
 *
 * One look is a picture that is old at once: whoever acts on it looks again until there is nobody
 * left. A number that has passed to a stranger meanwhile is not signalled.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct family_member {
    pid_t pid;
    pid_t parent;
    char state; /* the kernel's letter for it */
};

struct family {
    struct family_member *at; /* all processes there are, by number */
    uint32_t count;
    uint32_t cap;
};

/* A zeroed struct family is an empty picture. */
void family_look(struct family *f);
void family_fini(struct family *f);

/* Signal everybody below this process. How many there were, the dead not counted. */
uint32_t family_signal(const struct family *f, int signal_number);
/* One of those that family_signal would count; NULL: there is none. Valid until the next look. */
const struct family_member *family_survivor(const struct family *f);
/* Kill our own children that `is_known` does not know; by that, theirs come to us.
 * How many there were. */
uint32_t family_kill_strangers(const struct family *f, void *self,
                               bool (*is_known)(void *self, pid_t pid));
/* Kill everybody, wherever it stands, whose environment holds exactly `pair` ("NAME=value").
 * Nobody is below us by then who should live. How many there were. */
uint32_t family_kill_marked(const struct family *f, const char *pair);
