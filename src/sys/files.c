/* files.c - a file is replaced in this order: write a temporary file, fsync it, rename it, fsync
 * the directory. Without the first fsync a power failure could leave the new name with no content;
 * without the second the rename itself could be lost. After a failure the old file is unchanged,
 * except if the sync of the directory failed: then the new content is in place but may not survive
 * a power failure. No state is kept; a lock belongs to the caller (struct file_lock). */
#include "sys/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

err err_from_errno(int number)
{
    switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return ERR_NO_SPACE;
    case ENOENT: return ERR_NOT_FOUND;
    case EEXIST:
    case ENOTEMPTY: return ERR_EXISTS;
    case EACCES:
    case EPERM:
    case EROFS: return ERR_REFUSED;
    case ENAMETOOLONG:
    case EMFILE:
    case ENFILE: return ERR_LIMIT;
    default: return ERR_IO;
    }
}

/* Closes and sets errno to `number`, the error that is to be reported. */
static err file_close_with(int fd, int number)
{
    ignore(close(fd), "what was written is synced already or failed");
    errno = number;
    return number ? err_from_errno(number) : OK;
}

/* ---- reading ---- */

/* Up to `size` bytes; fewer only at the end of the file. -1 with errno. */
static ssize_t file_read_up_to(int fd, char *at, size_t size)
{
    size_t have = 0;
    while (have < size) {
        const ssize_t n = read(fd, at + have, size - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

static err file_read_whole(struct arena *a, int fd, uint32_t size_max, struct str *out_bytes)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return file_close_with(fd, errno);
    /* Only a regular file: reading a pipe or a device may never end. */
    if (!S_ISREG(facts.st_mode))
        return file_close_with(fd, S_ISDIR(facts.st_mode) ? EISDIR : ENOTSUP);
    if (facts.st_size > (off_t)size_max) {
        ignore(file_close_with(fd, EFBIG),
               "EFBIG would mean a full disk; the caller's limit is ERR_LIMIT");
        return ERR_LIMIT;
    }
    /* One byte more than the size, so that a file that grows meanwhile is noticed. */
    const size_t room = (size_t)facts.st_size + 1;
    char *at = arena_alloc(a, room);
    const ssize_t n = file_read_up_to(fd, at, room);
    if (n < 0)
        return file_close_with(fd, errno);
    if ((size_t)n == room)
        return file_close_with(fd, EBUSY);
    *out_bytes = (struct str){at, (uint32_t)n};
    return file_close_with(fd, 0);
}

err file_read(struct arena *a, const char *path, uint32_t size_max, struct str *out_bytes)
{
    /* Without O_NONBLOCK open() of a pipe would block until a writer opens it. */
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd < 0 ? err_from_errno(errno) : file_read_whole(a, fd, size_max, out_bytes);
}

err file_read_private(struct arena *a, const char *path, uint32_t size_max, struct str *out_bytes)
{
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ELOOP)
        errno = EPERM;
    if (fd < 0)
        return err_from_errno(errno);
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return file_close_with(fd, errno);
    if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid() || facts.st_mode & 0177)
        return file_close_with(fd, EPERM);
    return file_read_whole(a, fd, size_max, out_bytes);
}

bool file_exists(const char *path)
{
    struct stat facts;
    return lstat(path, &facts) == 0;
}

/* ---- writing ---- */

static bool file_write_all(int fd, struct str bytes)
{
    uint32_t done = 0;
    while (done < bytes.len) {
        const ssize_t n = write(fd, bytes.at + done, bytes.len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        done += (uint32_t)n;
    }
    return true;
}

static err file_sync_directory(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const size_t len = !slash ? 1 : slash == path ? 1 : (size_t)(slash - path);
    if (len >= sizeof folder) {
        errno = ENAMETOOLONG;
        return ERR_LIMIT;
    }
    memcpy(folder, slash ? path : ".", len);
    folder[len] = 0;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_from_errno(errno);
    return file_close_with(fd, fsync(fd) == 0 ? 0 : errno);
}

static err file_rename_synced(const char *from, const char *to)
{
    if (rename(from, to) != 0)
        return err_from_errno(errno);
    return file_sync_directory(to);
}

/* Writes and syncs the temporary file. O_NOFOLLOW: a symbolic link planted there is refused. */
static err file_write_new(const char *path, struct str bytes, unsigned mode)
{
    const int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, (mode_t)(mode & 0600));
    if (fd < 0)
        return err_from_errno(errno);
    if (fchmod(fd, (mode_t)mode) != 0 || !file_write_all(fd, bytes) || fsync(fd) != 0)
        return file_close_with(fd, errno);
    return file_close_with(fd, 0);
}

err file_write(const char *path, struct str bytes, unsigned mode)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.tmp", path) >= (int)sizeof temporary) {
        errno = ENAMETOOLONG;
        return ERR_LIMIT;
    }
    err e = file_write_new(temporary, bytes, mode);
    if (e == OK)
        e = file_rename_synced(temporary, path);
    if (e != OK) {
        const int number = errno;
        ignore(unlink(temporary), "the next write truncates it");
        errno = number;
    }
    return e;
}

err file_move_durably(const char *from, const char *to)
{
    const int fd = open(from, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_from_errno(errno);
    const err e = file_close_with(fd, fsync(fd) == 0 ? 0 : errno);
    return e == OK ? file_rename_synced(from, to) : e;
}

err file_remove(const char *path)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return OK;
    return err_from_errno(errno);
}

/* ---- lock files ---- */

static void file_lock_read_holder(int fd, struct file_lock *lock)
{
    const ssize_t n = file_read_up_to(fd, lock->holder, sizeof lock->holder - 1);
    size_t len = n > 0 ? (size_t)n : 0;
    while (len && (lock->holder[len - 1] == '\n' || lock->holder[len - 1] == ' '))
        len--;
    lock->holder[len] = 0;
}

err file_lock(const char *path, struct str who, struct file_lock *out_lock)
{
    *out_lock = (struct file_lock){.fd = -1};
    /* The file is overwritten, so a symbolic link is not followed. */
    const int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_from_errno(errno);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        const int number = errno;
        if (number == EWOULDBLOCK)
            file_lock_read_holder(fd, out_lock);
        const err e = file_close_with(fd, number);
        return number == EWOULDBLOCK ? ERR_EXISTS : e;
    }
    if (ftruncate(fd, 0) != 0 || !file_write_all(fd, who))
        return file_close_with(fd, errno);
    out_lock->fd = fd;
    return OK;
}

void file_unlock(struct file_lock *lock)
{
    if (lock->fd < 0)
        return;
    ignore(ftruncate(lock->fd, 0), "the text is for messages only");
    ignore(close(lock->fd), "the lock is released in any case");
    lock->fd = -1;
}

bool file_is_locked(const char *path)
{
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    const bool is_locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    ignore(close(fd), "the descriptor was used for the test only");
    return is_locked;
}
