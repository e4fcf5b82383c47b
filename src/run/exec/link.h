/* link.h - framed messages over a non-blocking stream socket.
 *
 * Owns the descriptor and the buffers of received and unsent bytes. It does not interpret messages
 * and does not poll: the supervisor uses epoll, a shim poll(2), the client libuv. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text/str.h"
#include "run/exec/protocol.h"

/* Limit of unsent bytes. Reports of all runs of a journal together are smaller unless very many of
 * them have long reasons, so usually only a peer that does not read reaches it. */
#define LINK_WAITING_MAX (16u << 20)

struct link_bytes {
    char *at;
    uint32_t from; /* bytes before this offset are consumed */
    uint32_t len;  /* bytes used, from `at` */
    uint32_t cap;  /* bytes allocated */
};

struct link {
    int fd; /* -1: closed */
    struct link_bytes in;
    struct link_bytes out;
};

/* Takes ownership of `fd` and makes it non-blocking. False with errno if that fails; link_fini()
 * closes the descriptor in any case. */
NODISCARD bool link_init(struct link *l, int fd);
void link_fini(struct link *l);

/* Read available bytes, 64 KiB at most. ERR_UNAVAILABLE: EOF or an error. */
NODISCARD err link_fill(struct link *l);
/* The next message; its strings are valid until the next link_fill. ERR_NOT_FOUND: no complete
 * message. ERR_CORRUPT: invalid bytes; the boundary of the next message is unknown. */
NODISCARD err link_take(struct link *l, struct exec_message *out_message);

/* Append a message; link_flush sends it. ERR_LIMIT: the message or the unsent bytes are too many.
 */
NODISCARD err link_put(struct link *l, const struct exec_message *message);
/* Write until done or EAGAIN. ERR_UNAVAILABLE: the peer has closed the connection. */
NODISCARD err link_flush(struct link *l);
/* True if there are unsent bytes. */
bool link_is_waiting(const struct link *l);
