#include "tests/crash/vfs_locks.h"

#include <stdlib.h>

#include "base/err.h"

struct vfs_locks *vfs_locks_new(void)
{
    struct vfs_locks *l = calloc(1, sizeof *l);
    must(l != NULL);
    return l;
}

void vfs_locks_free(struct vfs_locks *l)
{
    for (int i = 0; i < VFS_REGIONS_MAX; i++)
        free(l->regions[i]);
    free(l);
}

/* ---- the file ---- */

static bool can_lock(const struct vfs_locks *l, const struct vfs_holder *h, int level)
{
    const uint32_t other_readers = l->readers - (h->level >= SQLITE_LOCK_SHARED);
    if (level == SQLITE_LOCK_SHARED)
        return !l->pending || l->pending == h;
    if (l->reserved && l->reserved != h)
        return false;
    return level == SQLITE_LOCK_RESERVED || other_readers == 0;
}

static void take(struct vfs_locks *l, struct vfs_holder *h, int level)
{
    l->readers += h->level < SQLITE_LOCK_SHARED;
    if (level >= SQLITE_LOCK_RESERVED)
        l->reserved = h;
    if (level >= SQLITE_LOCK_PENDING)
        l->pending = h;
    h->level = level;
}

int vfs_lock(struct vfs_locks *l, struct vfs_holder *h, int level)
{
    if (h->level >= level)
        return SQLITE_OK;
    if (can_lock(l, h, level)) {
        take(l, h, level);
        return SQLITE_OK;
    }
    /* A handle that requests the exclusive lock keeps new readers out while it waits. */
    if (level == SQLITE_LOCK_EXCLUSIVE && l->reserved == h)
        take(l, h, SQLITE_LOCK_PENDING);
    return SQLITE_BUSY;
}

void vfs_unlock(struct vfs_locks *l, struct vfs_holder *h, int level)
{
    if (h->level <= level)
        return;
    if (l->pending == h)
        l->pending = NULL;
    if (l->reserved == h)
        l->reserved = NULL;
    if (level == SQLITE_LOCK_NONE)
        l->readers--;
    h->level = level;
}

/* ---- the memory of a write-ahead log ---- */

static bool can_take_slot(const struct vfs_locks *l, const struct vfs_holder *h, int slot,
                          bool exclusive)
{
    if (l->slot_writer[slot] && l->slot_writer[slot] != h)
        return false;
    const uint32_t own = (uint32_t)(h->shared >> slot & 1);
    return !exclusive || l->slot_readers[slot] == own;
}

static void take_slot(struct vfs_locks *l, struct vfs_holder *h, int slot, bool exclusive)
{
    const uint16_t bit = (uint16_t)(1u << slot);
    if (exclusive) {
        l->slot_writer[slot] = h;
        h->exclusive |= bit;
    } else if (!(h->shared & bit)) {
        l->slot_readers[slot]++;
        h->shared |= bit;
    }
}

static void leave_slot(struct vfs_locks *l, struct vfs_holder *h, int slot)
{
    const uint16_t bit = (uint16_t)(1u << slot);
    if (h->exclusive & bit)
        l->slot_writer[slot] = NULL;
    if (h->shared & bit)
        l->slot_readers[slot]--;
    h->exclusive &= (uint16_t)~bit;
    h->shared &= (uint16_t)~bit;
}

int vfs_slots(struct vfs_locks *l, struct vfs_holder *h, int first, int count, int flags)
{
    const bool exclusive = flags & SQLITE_SHM_EXCLUSIVE, lock = flags & SQLITE_SHM_LOCK;
    for (int slot = first; slot < first + count; slot++)
        if (lock && !can_take_slot(l, h, slot, exclusive))
            return SQLITE_BUSY;
    for (int slot = first; slot < first + count; slot++)
        if (lock)
            take_slot(l, h, slot, exclusive);
        else
            leave_slot(l, h, slot);
    return SQLITE_OK;
}

void vfs_slots_release(struct vfs_locks *l, struct vfs_holder *h)
{
    for (int slot = 0; slot < SQLITE_SHM_NLOCK; slot++)
        leave_slot(l, h, slot);
}

void *vfs_region(struct vfs_locks *l, int region, int size, bool make)
{
    must(region < VFS_REGIONS_MAX && (!l->region_size || l->region_size == size));
    if (!l->regions[region] && make) {
        l->region_size = size;
        l->regions[region] = calloc(1, (size_t)size);
        must(l->regions[region] != NULL);
    }
    return l->regions[region];
}
