/* power_port.h - the port to power control and liveness probes of machines.
 *
 * Orders are outbox rows. They are repeated after a restart and end with OUTBOX_DONE; for a probe,
 * `failed` means that the node did not answer. An action that must not be performed twice is
 * announced with OUTBOX_BEGUN before it is performed. A row that arrives with `begun` set is not
 * performed again and fails, because the result of the first attempt is unknown. Strings are valid
 * during the call.
 */
#pragma once

#include "model/record.h"

struct power_port {
    void *self;
    /* row->detail is the action, row->object_id the node. */
    void (*act)(void *self, const struct outbox_record *row);
    void (*probe)(void *self, const struct outbox_record *row);
};
