/* boot_view_oracle.h - invariant I19 at a boot server: a copy of the boot view that begins with a
 * base image and applies the changes of every batch equals the view of the core at that turn.
 *
 * The oracle keeps the encoded entries, as a boot server receives them. After every durable batch
 * it applies the changes of the core and compares all entries and the digest with a base image.
 */
#pragma once

#include <stdint.h>

#include "base/mem/arena.h"
#include "core/core.h"

struct boot_copy_entry {
    struct boot_key key;
    char *bytes;
    uint32_t len;
};

struct boot_view_oracle {
    struct boot_copy_entry *entries; /* in no order */
    uint32_t count, cap;
    int64_t turn;      /* of the copy; -1 = none */
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
