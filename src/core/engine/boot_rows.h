/* boot_rows.h - rows and state about the noderoles that serve boots.
 *
 * A part of rows.h, which explains how rows are read and written.
 */
#pragma once

#include <stdbool.h>

#include "core/engine/row_types.h"

struct boot_due {
    struct object o;
    noderole_ix noderole;
    int64_t node_id;
    uint32_t attempt;
};

/* The connection of the boot server on a node. Not stored: a load begins without connections. */
struct boot_server {
    int64_t node_id;
    bool is_connected;
    int64_t since_ms;  /* when it connected, or was lost */
    int64_t taken;     /* last turn that it acknowledged on this connection; 0 = none */
    int64_t logged;    /* last turn whose changes are in the history of its noderoles */
    int64_t to_log;    /* last turn whose changes must be there; kept when the server is lost */
    int64_t logged_at; /* mono_ms of the last entry there */
};

/* An entry of a machine that a batch changed. */
struct boot_served {
    int64_t turn, node_id;
};
