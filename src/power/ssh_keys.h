/* ssh_keys.h - DATA/ssh: the ssh key of this installation, and the paths that ssh needs.
 *
 *   id_ed25519, id_ed25519.pub   created by ssh-keygen at the first start
 *   known_hosts                  the host keys that ssh accepts (known_hosts.h)
 *   control/                     sockets of shared connections (ControlPath)
 *
 * All functions are called from the thread of the loop. The paths live until ssh_keys_close().
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
    const char *host_key_dir; /* of the ssh server of the daemon's machine; NULL: /etc/ssh */
    bool has_key;             /* false: ssh cannot be used */

    /* Called when ssh-keygen has ended. */
    void *self;
    void (*wake)(void *self);

    uv_loop_t *loop;
    struct spawn_ops spawn;
    struct spawn_run *keygen; /* NULL: not running */
};

/* Creates missing directories and starts ssh-keygen if there is no key; ssh_keys_is_busy() is true
 * until it has ended. A failure of ssh-keygen is logged, and has_key stays false. False: the
 * directory cannot be used, which is logged. */
bool ssh_keys_open(struct ssh_keys *h, uv_loop_t *loop, const char *directory);
void ssh_keys_close(struct ssh_keys *h);
/* True while ssh-keygen runs. */
bool ssh_keys_is_busy(const struct ssh_keys *h);

/* True if one of the keys ("TYPE BASE64" lines) is a host key of the daemon's machine: then the
 * address of the node leads to this machine. */
bool ssh_keys_is_own_key(const struct ssh_keys *h, struct str keys);
