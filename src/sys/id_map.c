/* id_map.c - open addressing with linear probing, at most half full. A removal closes the gap
 * (backward shift), so that a search ends at the first free slot and no tombstones are needed. The
 * table owns its slots, not the objects. Without memory for a larger table the process aborts. */
#include "sys/id_map.h"

#include <stdlib.h>

#include "base/err.h"

enum { ROOM_FIRST = 64 };

static uint32_t id_map_home(const struct id_map *m, int64_t id)
{
    const uint64_t mixed = (uint64_t)id * 0x9e3779b97f4a7c15u;
    return (uint32_t)(mixed >> 32) & (m->room - 1);
}

/* The slot of the id, or the free slot where it would be stored. */
static uint32_t id_map_slot(const struct id_map *m, int64_t id)
{
    uint32_t at = id_map_home(m, id);
    while (m->slots[at].id && m->slots[at].id != id)
        at = (at + 1) & (m->room - 1);
    return at;
}

static void id_map_grow(struct id_map *m)
{
    const struct id_map old = *m;
    m->room = old.room ? old.room * 2 : ROOM_FIRST;
    m->slots = calloc(m->room, sizeof *m->slots);
    must(m->slots);
    for (uint32_t i = 0; i < old.room; i++)
        if (old.slots[i].id)
            m->slots[id_map_slot(m, old.slots[i].id)] = old.slots[i];
    free(old.slots);
}

void id_map_fini(struct id_map *m)
{
    free(m->slots);
    *m = (struct id_map){0};
}

void *id_map_find(const struct id_map *m, int64_t id)
{
    return m->count ? m->slots[id_map_slot(m, id)].thing : NULL;
}

void id_map_put(struct id_map *m, int64_t id, void *thing)
{
    must(id != 0 && thing);
    if (m->count * 2 >= m->room)
        id_map_grow(m);
    struct id_slot *slot = &m->slots[id_map_slot(m, id)];
    m->count += slot->id == 0;
    *slot = (struct id_slot){id, thing};
}

/* Moves each following entry whose search path crosses the hole into it. */
void id_map_remove(struct id_map *m, int64_t id)
{
    must(m->count);
    uint32_t hole = id_map_slot(m, id);
    must(m->slots[hole].id);
    m->count--;
    for (uint32_t at = (hole + 1) & (m->room - 1); m->slots[at].id; at = (at + 1) & (m->room - 1)) {
        const uint32_t from_home = (at - id_map_home(m, m->slots[at].id)) & (m->room - 1);
        const uint32_t from_hole = (at - hole) & (m->room - 1);
        if (from_home < from_hole)
            continue;
        m->slots[hole] = m->slots[at];
        hole = at;
    }
    m->slots[hole] = (struct id_slot){0};
}
