/* link.h - whole messages over a stream socket that never makes us wait.
 *
 * Owns the descriptor and what was read or is still to be written. It does not know what the
 * messages mean, nor who polls the descriptor: the supervisor does with epoll, a lead with poll,
 * the client with libuv.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text/str.h"
#include "run/exec/protocol.h"

/* So much never waits for somebody who reads: it is more than all runs of a journal together. */
#define LINK_WAITING_MAX (16u << 20)

struct link_bytes {
    char *at;
    uint32_t from; /* taken up to here */
    uint32_t len;
    uint32_t cap;
};

struct link {
    int fd; /* -1: closed */
    struct link_bytes in;
    struct link_bytes out;
};

/* `fd` belongs to the link then, and is non-blocking. False with errno when it cannot be made so;
 * link_fini() closes it all the same. */
NODISCARD bool link_init(struct link *l, int fd);
void link_fini(struct link *l);

/* Read what is there, 64 KiB at most. ERR_UNAVAILABLE: the other side is gone. */
NODISCARD err link_fill(struct link *l);
/* The next message; its texts are valid until the next link_fill. ERR_NOT_FOUND: there is no
 * whole one. ERR_CORRUPT: what came is none, and nothing behind it can be told apart. */
NODISCARD err link_take(struct link *l, struct exec_message *out_message);

/* Append a message; link_flush sends it. ERR_LIMIT: too large, or too many wait already. */
NODISCARD err link_put(struct link *l, const struct exec_message *message);
/* Write as much as the other side takes. ERR_UNAVAILABLE: it is gone. */
NODISCARD err link_flush(struct link *l);
/* Is there something that is not written yet? */
bool link_is_waiting(const struct link *l);
