/* id_map.h - hash table from durable ids to pointers, for modules with many objects in progress.
 *
 * Ids are never 0. The table does not own the pointers and has no order. A zeroed table is empty;
 * its memory is on the heap.
 */
#pragma once

#include <stdint.h>

struct id_slot {
    int64_t id; /* 0: free */
    void *thing;
};

struct id_map {
    struct id_slot *slots;
    uint32_t room; /* number of slots: a power of two, or 0 */
    uint32_t count;
};

void id_map_fini(struct id_map *m);
void *id_map_find(const struct id_map *m, int64_t id); /* NULL: none */
/* Adds an entry, or replaces its pointer. */
void id_map_put(struct id_map *m, int64_t id, void *thing);
void id_map_remove(struct id_map *m, int64_t id); /* must exist */
