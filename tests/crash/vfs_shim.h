/* vfs_shim.h - SQLite on a disk in memory with injected faults.
 *
 * shim_install() registers a VFS and makes it the default one, so every database that is opened by
 * name from then on uses it. Its disk (vfs_disk.h) forgets what was not synced when the power goes;
 * its operations can be made to fail, one or all from one on, and it can be full. Several
 * connections of one process share files, locks and the memory of a write-ahead log. Every call may
 * come from any thread; the switches are for one thread while no operation is under way.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tests/crash/vfs_disk.h"

/* The operations that are counted and can fail, each with the error of its kind. */
enum shim_op {
    SHIM_OPEN,
    SHIM_DELETE,
    SHIM_ACCESS,
    SHIM_READ,
    SHIM_WRITE,
    SHIM_TRUNCATE,
    SHIM_SYNC,
    SHIM_SIZE,
    SHIM_LOCK,
    SHIM_MAP,
    SHIM_OP_COUNT
};

const char *shim_op_name(enum shim_op op);

void shim_install(void);
void shim_uninstall(void);

/* An empty disk, no faults, counts at zero, no watcher. No file may be open. */
void shim_reset(void);

/* ---- faults ---- */

/* The nth operation of that kind from now on fails (1 is the next); `lasting`: and all that follow.
 * SHIM_OP_COUNT: of any kind. */
void shim_fail(enum shim_op op, uint64_t nth, bool lasting);
/* The nth write from now on finds the disk full, and all that follow. */
void shim_fill(uint64_t nth);
/* Everything works again. Did it fail meanwhile, and what failed first? */
bool shim_mend(enum shim_op *out_first);
/* Has a sync failed since the last reset? */
bool shim_sync_failed(void);
uint64_t shim_count(enum shim_op op);

/* ---- power ---- */

/* Called just before each sync takes effect and just after, in whatever thread it is; copies of
 * the disk may be made there. NULL: no watcher. */
void shim_watch(void (*watch)(void *context, const struct disk *disk), void *context);
/* Take over another disk. No file may be open. */
void shim_use(struct disk *disk);
/* The power goes, and comes again. No file may be open. */
void shim_crash(uint64_t seed);
