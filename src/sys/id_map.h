/* id_map.h - what belongs to an id, for edges that have many things under way at once.
 *
 * Pointers by durable ids, which are never 0. It owns neither, and keeps no order. A zeroed one is
 * empty; memory is the heap's.
 */
#pragma once

#include <stdint.h>

struct id_slot {
    int64_t id; /* 0: free */
    void *thing;
};

struct id_map {
    struct id_slot *slots;
    uint32_t room; /* a power of two, or 0 */
    uint32_t count;
};

void id_map_fini(struct id_map *m);
void *id_map_find(const struct id_map *m, int64_t id); /* NULL: none */
/* Add, or put another thing in its place. */
void id_map_put(struct id_map *m, int64_t id, void *thing);
void id_map_remove(struct id_map *m, int64_t id); /* it must be there */
