#include "sys/id_map.h"

#include <stdlib.h>

#include "base/err.h"

enum { ROOM_FIRST = 64 };

static uint32_t home_of(const struct id_map *m, int64_t id)
{
    const uint64_t mixed = (uint64_t)id * 0x9e3779b97f4a7c15u;
    return (uint32_t)(mixed >> 32) & (m->room - 1);
}

/* The slot of that id, or the free one where it belongs. */
static uint32_t slot_of(const struct id_map *m, int64_t id)
{
    uint32_t at = home_of(m, id);
    while (m->slots[at].id && m->slots[at].id != id)
        at = (at + 1) & (m->room - 1);
    return at;
}

static void grow(struct id_map *m)
{
    const struct id_map old = *m;
    m->room = old.room ? old.room * 2 : ROOM_FIRST;
    m->slots = calloc(m->room, sizeof *m->slots);
    must(m->slots);
    for (uint32_t i = 0; i < old.room; i++)
        if (old.slots[i].id)
            m->slots[slot_of(m, old.slots[i].id)] = old.slots[i];
    free(old.slots);
}

void id_map_fini(struct id_map *m)
{
    free(m->slots);
    *m = (struct id_map){0};
}

void *id_map_find(const struct id_map *m, int64_t id)
{
    return m->count ? m->slots[slot_of(m, id)].thing : NULL;
}

void id_map_put(struct id_map *m, int64_t id, void *thing)
{
    must(id != 0 && thing);
    if (m->count * 2 >= m->room)
        grow(m);
    struct id_slot *slot = &m->slots[slot_of(m, id)];
    m->count += slot->id == 0;
    *slot = (struct id_slot){id, thing};
}

/* Whoever had to go further because of it moves up, so that a search may end at a free slot. */
void id_map_remove(struct id_map *m, int64_t id)
{
    must(m->count);
    uint32_t hole = slot_of(m, id);
    must(m->slots[hole].id);
    m->count--;
    for (uint32_t at = (hole + 1) & (m->room - 1); m->slots[at].id; at = (at + 1) & (m->room - 1)) {
        const uint32_t from_home = (at - home_of(m, m->slots[at].id)) & (m->room - 1);
        const uint32_t from_hole = (at - hole) & (m->room - 1);
        if (from_home < from_hole)
            continue;
        m->slots[hole] = m->slots[at];
        hole = at;
    }
    m->slots[hole] = (struct id_slot){0};
}
