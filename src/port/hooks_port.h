/* hooks_port.h - the seam to the code that comes with roles.
 *
 * Hooks run elsewhere and answer with commands. A delivery is repeated after a restart until
 * OUTBOX_DONE removes its row, so a hook may run twice; its wishes count once. Questions are asked
 * about a command that waits for the answers (turn.h, turn_answer). Texts live for the call.
 */
#pragma once

#include <stdint.h>

#include "base/text/str.h"
#include "model/record.h"

struct hook_question {
    uint64_t key; /* goes back with the answer */
    enum hook hook;
    int64_t role_id;
    struct str argument; /* canonical JSON: the thing as it would be */
};

struct hooks_port {
    void *self;
    /* Call the hook of this outbox row; answer OUTBOX_DONE. In order per role and object. */
    void (*deliver)(void *self, const struct outbox_record *row);
    /* May this be? Answer all of them together under the token. */
    void (*ask)(void *self, uint64_t token, const struct hook_question *questions, uint32_t count);
};
