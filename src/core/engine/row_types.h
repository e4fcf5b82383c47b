/* row_types.h - what all rows of the core consist of: typed indices, handles and the object header.
 *
 * A part of rows.h, which explains how rows are read and written.
 */
#pragma once

#include <stdint.h>

#include "base/hash/hash.h"
#include "base/mem/pool.h"

#define INDEX(name)                                                                                \
    typedef struct {                                                                               \
        uint32_t v;                                                                                \
    } name##_ix
INDEX(settings);
INDEX(counter);
INDEX(barclamp);
INDEX(jig);
INDEX(hammer_kind);
INDEX(role);
INDEX(attrib);
INDEX(deployment);
INDEX(snapshot);
INDEX(deployment_role);
INDEX(node);
INDEX(noderole);
INDEX(run);
INDEX(hammer);
INDEX(group);
INDEX(user);
INDEX(token);
INDEX(outbox);
INDEX(host_key);
INDEX(network);
INDEX(network_range);
INDEX(network_router);
INDEX(network_allocation);
INDEX(lease);
INDEX(nic);
INDEX(dns_name_filter);
INDEX(dns_name_entry);
INDEX(bootenv);
INDEX(boot_due);

typedef uint32_t text_h; /* handle of an interned string; 0 = "" */
typedef uint32_t doc_h;  /* handle of an interned document; 0 = {} (or none) */

/* Derived: the entry of a row in the boot view (core/boot). */
struct boot_state {
    struct digest128 hash; /* of the entry; 0 = it is not in the view */
    int64_t turn;          /* that changed it last, or BOOT_TURN_OPEN; 0 = never in the view */
};

/* The common first part of every row. Rows with a name have `name_next` as their next field: it
 * chains rows whose names have the same hash. */
struct object {
    struct row row;
    int64_t id;
    struct digest128 hash; /* of the record as of the last collect: its summand of the digest */
    int64_t created_at;    /* ms since 1970 */
    int64_t updated_at;    /* ms since 1970 */
    int64_t turn;          /* that changed it last */
};
