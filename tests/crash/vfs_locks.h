/* vfs_locks.h - who holds which lock of a database file, among the connections of one process.
 *
 * The five levels of a file lock and the eight slots of a write-ahead log's memory, as SQLite
 * defines them, and that memory itself. It lives as long as the file is open. The caller
 * sees to it that one thread is here at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

enum { VFS_REGIONS_MAX = 64 };

/* What one connection holds. */
struct vfs_holder {
    int level;
    uint16_t shared; /* masks of slots */
    uint16_t exclusive;
};

struct vfs_locks {
    uint32_t readers;
    const struct vfs_holder *reserved; /* RESERVED or more */
    const struct vfs_holder *pending;  /* PENDING or more */
    char *regions[VFS_REGIONS_MAX];
    int region_size;
    uint32_t slot_readers[SQLITE_SHM_NLOCK];
    const struct vfs_holder *slot_writer[SQLITE_SHM_NLOCK];
};

struct vfs_locks *vfs_locks_new(void);
void vfs_locks_free(struct vfs_locks *l);

/* SQLITE_OK or SQLITE_BUSY. */
int vfs_lock(struct vfs_locks *l, struct vfs_holder *h, int level);
void vfs_unlock(struct vfs_locks *l, struct vfs_holder *h, int level);

/* `flags` as for xShmLock. */
int vfs_slots(struct vfs_locks *l, struct vfs_holder *h, int first, int count, int flags);
void vfs_slots_release(struct vfs_locks *l, struct vfs_holder *h);
/* NULL when it is not there and was not to be made. */
void *vfs_region(struct vfs_locks *l, int region, int size, bool make);
