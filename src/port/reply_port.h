/* reply_port.h - the seam to whoever waits for the outcome of a command.
 *
 * Each command with a request gets one word, and only when everything it saw is durable. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct outcome;

struct reply_port {
    void *self;
    /* Done or refused. `turn` is the one that holds what it did, or what it saw. The outcome lives
     * for the call. */
    void (*outcome)(void *self, int64_t request, const struct outcome *outcome, int64_t turn);
    /* Not done, and nothing of it is in the store: ERR_UNAVAILABLE (the store failed), ERR_FENCED
     * (somebody else leads now), ERR_LIMIT (too many wait for hooks, or it changes more at once
     * than a store can take). Or ERR_UNKNOWN: somebody else leads now, and only they can see
     * whether it was done. */
    void (*failed)(void *self, int64_t request, err why);
};
