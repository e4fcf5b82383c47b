/* vfs_disk.h - a disk in memory that may lose its power.
 *
 * Files have two images: what a reader sees, and what would still be there after the power went.
 * Between them lie the writes that were not synced. A crash keeps some of them: any of them, torn
 * at sector borders, some sectors filled with garbage; and files that were made or removed without
 * a sync may be there or not. Nothing outside of what was written is ever disturbed.
 *
 * It knows no SQLite. One thread at a time. A disk lives from disk_new (or disk_copy) to disk_free;
 * a file lives as long as its disk, unless disk_sweep finds it useless.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/prng.h"

struct disk;

struct disk_image {
    char *bytes;
    uint64_t size;
    uint64_t cap;
};

struct disk_write {
    bool truncates; /* to `at` bytes */
    uint64_t at;
    uint32_t size;
    char *bytes;
};

struct disk_file {
    char *name; /* NULL: never had one, and goes when it is closed */
    bool linked;
    bool linked_durably;
    uint32_t users; /* open handles; such a file is not swept */
    void *locks;    /* of the open handles */
    struct disk_image now;
    struct disk_image durable;
    struct disk_write *writes; /* not synced, oldest first */
    uint32_t write_count;
    uint32_t write_cap;
    struct disk_file *next;
};

struct disk *disk_new(void);
void disk_free(struct disk *d); /* NULL is fine */
/* As it would be found after a crash; the copy has to go through disk_crash before it is read. */
struct disk *disk_copy(const struct disk *d);

/* NULL when there is none of that name now. */
struct disk_file *disk_find(const struct disk *d, const char *name);
struct disk_file *disk_create(struct disk *d, const char *name);
void disk_remove(struct disk_file *f);
/* Every file that was made or removed is so for good. */
void disk_sync_folder(struct disk *d);
/* Forget files without handles that no crash can restore. */
void disk_sweep(struct disk *d);

/* Bytes that were there; the rest of `out` is filled with zeros. */
uint32_t disk_read(const struct disk_file *f, uint64_t at, uint32_t size, char *out);
void disk_write(struct disk_file *f, uint64_t at, uint32_t size, const char *bytes);
void disk_truncate(struct disk_file *f, uint64_t size);
/* Also the name of the file is there to stay, as on the file systems people use. */
void disk_sync(struct disk_file *f);
/* The sync failed: what was not durable has reached the disk or not, and it is not written
 * again. Readers still see it, until a crash. */
void disk_sync_fail(struct disk_file *f, struct prng *r);

/* The power goes, and comes again. */
void disk_crash(struct disk *d, struct prng *r);
