/* ssh_keys.h - DATA/ssh: the key of this installation, and what else ssh needs.
 *
 *   id_ed25519, id_ed25519.pub   made by ssh-keygen at the first start
 *   known_hosts                  the host keys that ssh accepts (known_hosts.h)
 *   control/                     for the sockets of shared connections
 *
 * Belongs to the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "power/hammer/spawn.h"

struct ssh_keys {
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
    struct spawn_seam commands;
    struct spawn_run *keygen; /* NULL: none runs */
};

/* Makes what is not there. The key is made beside the loop (ssh_keys_is_busy); where that is not
 * possible there is none, which is logged. False: the directory cannot be used, and that is
 * logged. */
bool ssh_keys_open(struct ssh_keys *h, uv_loop_t *loop, const char *directory);
void ssh_keys_close(struct ssh_keys *h);
/* The key is being made. */
bool ssh_keys_is_busy(const struct ssh_keys *h);

/* Is one of the keys ("TYPE BASE64" lines) a host key of this machine? A node that shows one is
 * this machine under another name. */
bool ssh_keys_is_own_key(const struct ssh_keys *h, struct str keys);
