/* ssh_home.h - DATA/ssh: the key of this installation, and the host keys that nodes are pinned to.
 *
 *   id_ed25519, id_ed25519.pub   made by ssh-keygen at the first start
 *   known_hosts                  one line for each key of a node, by the node's name; behind it
 *                                which machine and which boot it was seen at
 *   control/                     for the sockets of shared connections
 *
 * It decides nothing about whom to trust: whoever made contact pins. The list is kept in memory and
 * written as a whole, beside the loop; what is pinned during a writing goes with the next one. What
 * somebody else wrote into the file meanwhile is taken over before it is looked at.
 *
 * Belongs to the loop's thread, and must outlive the loop: a writing may end while that is closed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <uv.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "hammer/command.h"

struct ssh_home {
    struct arena paths;
    const char *key_path;
    const char *known_hosts_path;
    const char *control_dir;
    const char *host_key_dir; /* of the ssh server of this machine; NULL: /etc/ssh */
    bool has_key;             /* without it ssh is not to be had */

    /* Something that was waited for is over. */
    void *self;
    void (*wake)(void *self);

    uv_loop_t *loop;
    struct command_seam commands;
    struct command_run *keygen; /* NULL: none runs */

    char *text; /* of the list */
    uint32_t len, cap;
    struct stat seen; /* the file that it was read from, or written to */
    uint64_t changes; /* of the list */
    uint64_t kept;    /* of them are in the file */
    uint64_t carried; /* of them are in the one that is being written */
    bool is_writing;
    bool is_closed;
};

/* Makes what is not there. The key is made beside the loop (ssh_home_is_busy); where that is not
 * possible there is none, which is logged. False: the directory cannot be used, and that is
 * logged. */
bool ssh_home_open(struct ssh_home *h, uv_loop_t *loop, const char *directory);
/* What is not written yet still will be, while the loop is closed. */
void ssh_home_close(struct ssh_home *h);
/* The key is being made. */
bool ssh_home_is_busy(const struct ssh_home *h);

bool ssh_home_has(struct ssh_home *h, struct str node);
/* "TYPE KEY" of the key that ssh likes best; empty: it is pinned to none. In the arena. */
struct str ssh_home_host_key(struct ssh_home *h, struct str node, struct arena *a);
/* Was it pinned at another occasion? A machine that boots something else shows other keys, and so
 * does another machine of the same name. Lines that people wrote say no occasion, and stay. */
bool ssh_home_is_outdated(struct ssh_home *h, struct str node, struct str occasion);
/* Add the lines of ssh_pin(), unless the node has some. `occasion` is one word. What it returns is
 * for ssh_home_is_kept: are they in the file? */
uint64_t ssh_home_pin(struct ssh_home *h, struct str node, struct str lines, struct str occasion);
bool ssh_home_is_kept(const struct ssh_home *h, uint64_t change);
/* Is one of the lines of ssh_pin() a host key of this machine? A node that shows one is this
 * machine under another name. */
bool ssh_home_is_own_key(const struct ssh_home *h, struct str lines);
/* Whoever answers for the node next is pinned. */
void ssh_home_forget(struct ssh_home *h, struct str node);
