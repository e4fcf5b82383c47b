/* boot_copy.h - a copy of the boot view (model/boot_view.h), as a boot server keeps it: the encoded
 * entries by key.
 *
 * Used by the simulated boot servers and by the oracle of the boot view. The bytes belong to the
 * copy.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "model/boot_view.h"

struct boot_copy_entry {
    struct boot_key key;
    char *bytes;
    uint32_t len;
};

struct boot_copy {
    struct boot_copy_entry *entries; /* in the order of keys */
    uint32_t count, cap;
};

/* Zeroed is empty; so is one that was freed. */
void boot_copy_fini(struct boot_copy *copy);
/* Set the entry of the key; empty bytes remove it. */
void boot_copy_set(struct boot_copy *copy, struct boot_key key, struct str bytes);
/* The bytes of the entry; empty if there is none. */
struct str boot_copy_get(const struct boot_copy *copy, struct boot_key key);
void boot_copy_assign(struct boot_copy *copy, const struct boot_copy *from);
/* True if both have the same entries, byte by byte; otherwise *out_key is the first difference. */
bool boot_copy_is_equal(const struct boot_copy *a, const struct boot_copy *b,
                        struct boot_key *out_key);
/* The digest of the entries, each of which is decoded first; ERR_CORRUPT if one cannot be. */
NODISCARD err boot_copy_digest(const struct boot_copy *copy, struct arena *scratch,
                               struct digest128 *out_digest);
