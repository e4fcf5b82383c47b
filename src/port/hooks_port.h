/* hooks_port.h - the port to the Lua code of roles.
 *
 * Hooks are executed outside of the core and report their results as commands. A delivery is
 * repeated after a restart until OUTBOX_DONE has removed its row, so a hook may be called twice;
 * its commands are executed once. Veto requests belong to a command that is pending until the
 * replies arrive (turn.h, turn_submit_veto_replies). Strings are valid during the call.
 */
#pragma once

#include <stdint.h>

#include "base/text/str.h"
#include "model/record.h"

struct veto_request {
    uint64_t key; /* the reply repeats it */
    enum hook hook;
    int64_t role_id;
    struct str argument; /* canonical JSON: the object as it would be after the command */
};

struct hooks_port {
    void *self;
    /* Call the hook of this outbox row and report OUTBOX_DONE. Calls for one role and object are
     * executed in order. */
    void (*deliver)(void *self, const struct outbox_record *row);
    /* Call hooks that may veto; reply to all of them together with
     * turn_submit_veto_replies(token). */
    void (*ask)(void *self, uint64_t token, const struct veto_request *questions, uint32_t count);
};
