/* power_port.h - the seam to the machines themselves: switch them, and see whether they answer.
 *
 * Orders come from outbox rows, are repeated after a restart, and are answered with OUTBOX_DONE;
 * for a probe `failed` says that the node did not answer. What may not be done twice is announced
 * by OUTBOX_BEGUN before it is done, and a row that comes with `begun` set is not carried out:
 * nobody knows what became of it. Texts live for the call.
 */
#pragma once

#include "model/record.h"

struct power_port {
    void *self;
    /* row->detail is the action, row->object_id the node. */
    void (*act)(void *self, const struct outbox_record *row);
    void (*probe)(void *self, const struct outbox_record *row);
};
