/* exec_link.h - the messages of protocol.h over a link. Stateless. */
#pragma once

#include "run/exec/protocol.h"
#include "sys/link.h"

/* Limit of unsent bytes. Reports of all runs of a journal together are smaller unless very many of
 * them have long reasons, so usually only a peer that does not read reaches it. */
#define EXEC_WAITING_MAX (16u << 20)

/* The next message; its strings are valid until the next link_fill. ERR_NOT_FOUND: no complete
 * message. ERR_CORRUPT: invalid bytes; the boundary of the next message is unknown. */
NODISCARD err exec_link_take(struct link *l, struct exec_message *out_message);
/* Append a message; link_flush sends it. ERR_LIMIT: the message or the unsent bytes are too many.
 */
NODISCARD err exec_link_put(struct link *l, const struct exec_message *message);
