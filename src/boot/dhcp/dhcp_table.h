/* dhcp_table.h - a table with a fixed number of entries, each of which ends at a time.
 *
 * Entries are found by a 64-bit key. A table that is full loses the entry that was written longest
 * ago. Expired entries are not found, and are removed when they are seen.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/containers/heap.h"
#include "base/containers/omap.h"
#include "base/mem/arena.h"

struct dhcp_entry {
    uint64_t key;
    uint64_t value;
    uint64_t extra;
    int64_t ends_ms;
    uint32_t older, newer; /* index + 1 in the order of writing; 0 = none */
};

struct dhcp_table {
    struct omap index; /* key -> index of the entry + 1 */
    struct dhcp_entry *entries;
    uint32_t max;
    uint32_t used;           /* entries that were used once */
    uint32_t free;           /* list of unused ones, through `newer` */
    uint32_t oldest, newest; /* index + 1 */
};

/* The entries are in `a`, the index in `h`. */
void dhcp_table_init(struct dhcp_table *t, struct heap *h, struct arena *a, uint32_t max);
/* NULL if there is none or it ended at or before now_ms. Valid until the next change. */
struct dhcp_entry *dhcp_table_find(const struct dhcp_table *t, uint64_t key, int64_t now_ms);
/* Add or overwrite the entry; it becomes the newest one, with value and extra 0 if it is new. */
struct dhcp_entry *dhcp_table_put(struct dhcp_table *t, uint64_t key, int64_t ends_ms);
void dhcp_table_remove(struct dhcp_table *t, uint64_t key);
/* The entry that was written longest ago; NULL if the table is empty. It may have ended. */
const struct dhcp_entry *dhcp_table_oldest(const struct dhcp_table *t);
bool dhcp_table_is_full(const struct dhcp_table *t);
