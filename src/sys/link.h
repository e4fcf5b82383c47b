/* link.h - frames over a non-blocking stream socket.
 *
 * A frame is its length (four bytes, little-endian) and a body of at least one byte. A link owns
 * the descriptor and the buffers of received and unsent bytes. It does not interpret bodies and
 * does not poll: its users do that with epoll, poll(2) or libuv. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text/str.h"

#define LINK_LENGTH_SIZE 4u /* bytes of the length before a body */

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
/* The next body, which is valid until the next link_fill. ERR_NOT_FOUND: no complete frame.
 * ERR_CORRUPT: its length is 0 or above body_max; the boundary of the next frame is unknown. */
NODISCARD err link_take(struct link *l, uint32_t body_max, struct str *out_body);

/* Append a frame, length included; link_flush sends it. ERR_LIMIT: the unsent bytes would be more
 * than waiting_max. */
NODISCARD err link_put(struct link *l, struct str frame, uint32_t waiting_max);
/* Number of unsent bytes. */
uint32_t link_waiting(const struct link *l);
/* Write until done or EAGAIN. ERR_UNAVAILABLE: the peer has closed the connection. */
NODISCARD err link_flush(struct link *l);
/* True if there are unsent bytes. */
bool link_is_waiting(const struct link *l);
