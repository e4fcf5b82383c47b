/* boot_view_oracle.h - invariant I19 at boot servers: a copy of the boot view that begins with a
 * base image and applies the changes of every batch equals the view of the core at that turn.
 *
 * The oracle keeps a copy of its own, which the changes of the core update. After every durable
 * batch it is compared with a base image, byte by byte and by digest. What the changes replaced is
 * kept as well, so that the copy of a boot server can be compared with the view at an earlier turn.
 */
#pragma once

#include <stdint.h>

#include "base/mem/arena.h"
#include "core/core.h"
#include "sim/oracle/boot_copy.h"

/* An entry as it was before the batch of `turn`. */
struct boot_replaced {
    int64_t turn;
    struct boot_key key;
    char *bytes; /* NULL: there was none */
    uint32_t len;
};

struct boot_view_oracle {
    struct boot_copy copy;
    int64_t turn;                   /* of the copy; -1 = none */
    int64_t first_turn;             /* highest turn of a row when the core was loaded */
    struct boot_replaced *replaced; /* since that load, in the order of turns */
    uint32_t replaced_count, replaced_cap;
    uint64_t compared; /* changes that were applied and compared, ever */
    char trouble[200];
};

void boot_view_oracle_fini(struct boot_view_oracle *oracle);
/* Begin with a base image of a core that was loaded or bootstrapped at this turn. */
void boot_view_oracle_begin(struct boot_view_oracle *oracle, const struct core *core, int64_t turn,
                            struct arena *scratch);
/* The batch of this turn is stored. Returns NULL, or the violation. */
const char *boot_view_oracle_batch(struct boot_view_oracle *oracle, const struct core *core,
                                   int64_t turn, struct arena *scratch);
/* A boot server says that its copy is that of the turn. Returns NULL, or the violation; a turn
 * before the last load cannot be compared. */
const char *boot_view_oracle_server(struct boot_view_oracle *oracle, const struct boot_copy *copy,
                                    int64_t turn, struct arena *scratch);
