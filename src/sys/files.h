/* files.h - small files as a whole, and a lock that says who holds it.
 *
 * For the handful of files that the program keeps beside its store. Where a call fails, errno
 * still says why when it returns, so that the caller can put it into a sentence.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"

/* What an errno means to those who do not look at it. */
err err_from_errno(int number);

/* The whole file. ERR_NOT_FOUND; ERR_LIMIT when it is larger than `size_max`; an error at once
 * when it is none, but a pipe, a device or a directory. */
NODISCARD err file_read(struct arena *a, const char *path, uint32_t size_max,
                        struct str *out_bytes);
/* The same of a secret: ERR_REFUSED unless it is a file and no link, belongs to us, and nobody
 * else may read or write it. */
NODISCARD err file_read_private(struct arena *a, const char *path, uint32_t size_max,
                                struct str *out_bytes);
/* Whoever reads the path sees the old content or the new one, also after a power cut. */
NODISCARD err file_write(const char *path, struct str bytes, unsigned mode);
/* Bring a file that somebody else wrote to the disk, and move it, directory entry included.
 * Whatever was at `to` is gone. */
NODISCARD err file_move_durably(const char *from, const char *to);
NODISCARD err file_remove(const char *path); /* one that is not there is fine */
bool file_exists(const char *path);

#define FILE_HOLDER_SIZE 256u

/* Held from file_lock to file_unlock or to the end of the process, however that comes. */
struct file_lock {
    int fd;
    char holder[FILE_HOLDER_SIZE]; /* after ERR_EXISTS: what the file says of its holder */
};

/* Take the lock and write `who` into the file. ERR_EXISTS: somebody else has it. A symbolic link
 * is not followed. */
NODISCARD err file_lock(const char *path, struct str who, struct file_lock *out_lock);
void file_unlock(struct file_lock *lock); /* the file stays, empty */
/* Does a process hold it? Nothing is changed. */
bool file_is_locked(const char *path);
