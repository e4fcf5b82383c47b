/* daemon_link.h - the connection of a boot server to the daemon, in the libuv loop.
 *
 * Connects to the unix socket of the daemon, repeats that after a failure, and exchanges the
 * messages of boot/proto. The socket is opened after privileges were dropped. A message that is
 * sent without a connection is dropped, as are unsent ones when the connection breaks: after the
 * next `connected` the daemon sends its state again. All callbacks are called in the thread of the
 * loop.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "boot/proto/boot_proto.h"

struct daemon_link;

struct daemon_link_callbacks {
    void *self;
    /* The message that begins a connection; its strings are valid until the callback returns to the
     * loop. */
    void (*hello)(void *self, struct boot_msg_hello *out_hello);
    /* WELCOME was received. False: the connection is closed, because the daemon is not acceptable;
     * the reason was logged. */
    bool (*connected)(void *self, const struct boot_msg_welcome *welcome);
    /* Any other message; its strings are valid during the call. False: it makes no sense, and the
     * connection is closed. */
    bool (*message)(void *self, const struct boot_message *message);
    /* After each `connected` that returned true, unless the link was closed. */
    void (*lost)(void *self);
};

/* The path must stay valid. Aborts without memory. */
struct daemon_link *daemon_link_open(uv_loop_t *loop, const char *path,
                                     struct daemon_link_callbacks callbacks);
/* No callback is called after this; the loop must run once more. */
void daemon_link_close(struct daemon_link *l);
bool daemon_link_is_connected(const struct daemon_link *l);
/* Queue a message. False, and it is dropped: there is no connection, or the daemon does not read
 * and too many bytes are unsent. */
bool daemon_link_send(struct daemon_link *l, const struct boot_message *message);
