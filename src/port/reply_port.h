/* reply_port.h - the port to the clients that wait for the outcome of a command.
 *
 * Each command with a request id gets exactly one reply, after everything it depends on is durable.
 * */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct outcome;

struct reply_port {
    void *self;
    /* Done or refused. `turn` contains its changes, or the rows that it read. The outcome is valid
     * during the call. */
    void (*outcome)(void *self, int64_t request, const struct outcome *outcome, int64_t turn);
    /* Not executed, and nothing of it is in the store: ERR_UNAVAILABLE (the store failed),
     * ERR_FENCED (another daemon has the leadership), ERR_LIMIT (too many commands wait for hooks,
     * or its changes exceed the size of a batch). Or ERR_UNKNOWN: whether it was committed cannot
     * be determined. */
    void (*failed)(void *self, int64_t request, err why);
};
