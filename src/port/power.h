/* power.h - the seam to the machines themselves: switch them, and see whether they answer.
 *
 * Orders come from outbox rows, are repeated after a restart, and are answered with OUTBOX_DONE;
 * for a probe `failed` says that the node did not answer. Texts live for the call.
 */
#pragma once

#include "model/record.h"

struct power_port {
    void *self;
    /* row->detail is the action, row->object_id the node. */
    void (*act)(void *self, const struct outbox_record *row);
    void (*probe)(void *self, const struct outbox_record *row);
};
