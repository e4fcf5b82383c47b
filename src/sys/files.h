/* files.h - reading and replacing small files as a whole, and lock files that name their holder.
 *
 * For the few files that the programs keep beside the store. After a failure errno is set to its
 * cause, so that the caller can use it in a message.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"

/* Maps an errno to an error code. */
err err_from_errno(int number);

/* Reads a whole file. ERR_NOT_FOUND: it does not exist. ERR_LIMIT: it is larger than `size_max`
 * bytes. A pipe, a device or a directory is an error and never blocks. */
NODISCARD err file_read(struct arena *a, const char *path, uint32_t size_max,
                        struct str *out_bytes);
/* The same for a file with a secret. ERR_REFUSED unless it is a regular file, not a link, belongs
 * to this user, and no other user can access it. */
NODISCARD err file_read_private(struct arena *a, const char *path, uint32_t size_max,
                                struct str *out_bytes);
/* Replaces the file atomically: a reader sees the old or the new content, also after a power
 * failure. Not for two writers of the same path at a time. */
NODISCARD err file_write(const char *path, struct str bytes, unsigned mode);
/* Syncs a file that another program wrote, renames it to `to`, which is replaced, and syncs the
 * directory. */
NODISCARD err file_move_durably(const char *from, const char *to);
NODISCARD err file_remove(const char *path); /* OK if it does not exist */
bool file_exists(const char *path);

#define FILE_HOLDER_SIZE 256u

/* A flock(2), held from file_lock() to file_unlock() or to the end of the process. */
struct file_lock {
    int fd;
    char holder[FILE_HOLDER_SIZE]; /* after ERR_EXISTS: the content of the file */
};

/* Takes the lock and writes `who` into the file. ERR_EXISTS: another process holds it. A symbolic
 * link is not followed. */
NODISCARD err file_lock(const char *path, struct str who, struct file_lock *out_lock);
void file_unlock(struct file_lock *lock); /* the file remains, empty */
/* True if a process holds the lock. Changes nothing. */
bool file_is_locked(const char *path);
