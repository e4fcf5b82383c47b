/* backup_files.c - copy, hash, sync and remove files of a backup.
 *
 * Files are opened with O_NOFOLLOW and must be regular, so that a symbolic link, pipe or device in
 * the place of a file is refused. A copy is synced before it counts; directories are synced at the
 * end by backup_sync_tree(), because a directory entry is durable only after its directory is
 * synced. It owns nothing between calls.
 *
 * Failure: an error code, with errno set to that of the first failure. A failed copy is removed. A
 * tree that is synced or removed is left at the first entry that fails.
 */
#include "daemon/admin/backup_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash/sha256.h"
#include "sys/files.h"

enum { PIECE = 64 << 10 /* bytes of one read() */, DIGEST_SIZE = 32 };

bool backup_path_is_safe(const char *path)
{
    if (strlen(path) >= PATH_MAX)
        return false;
    for (;;) {
        const size_t len = strcspn(path, "/");
        if (len == 0 || (len == 1 && path[0] == '.') || (len == 2 && strncmp(path, "..", 2) == 0))
            return false;
        if (!path[len])
            return true;
        path += len + 1;
    }
}

err backup_make_parents(const char *path)
{
    char parent[PATH_MAX];
    if (snprintf(parent, sizeof parent, "%s", path) >= (int)sizeof parent) {
        errno = ENAMETOOLONG;
        return ERR_LIMIT;
    }
    for (char *slash = strchr(parent + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(parent, 0700) != 0 && errno != EEXIST)
            return err_from_errno(errno);
        *slash = '/';
    }
    return OK;
}

/* ---- content ---- */

static bool backup_write_all(int fd, const char *at, size_t size)
{
    while (size) {
        const ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* Read `from` to its end, compute size and SHA-256, and also write it to `to` unless that is -1. */
static bool backup_copy_bytes(int from, int to, struct backup_measure *out)
{
    char piece[PIECE];
    struct sha256 hash;
    uint8_t digest[DIGEST_SIZE];
    ssize_t n;
    sha256_init(&hash);
    out->size = 0;
    while ((n = read(from, piece, sizeof piece)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || (to >= 0 && !backup_write_all(to, piece, (size_t)n)))
            return false;
        sha256_add(&hash, piece, (uint32_t)n);
        out->size += n;
    }
    sha256_end(&hash, digest);
    for (int i = 0; i < DIGEST_SIZE; i++)
        snprintf(out->sha256 + (size_t)i * 2, 3, "%02x", digest[i]);
    return true;
}

/* Only regular files: O_NONBLOCK keeps a pipe from blocking open(). */
static int backup_open_regular(const char *path)
{
    struct stat facts;
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode))
        return fd;
    ignore(close(fd), "nothing was read from it");
    errno = ENOTSUP;
    return -1;
}

/* close() and unlink() may have changed errno since the failure: set it again. 0 is OK. */
static err backup_err_from(int number)
{
    errno = number;
    return number ? err_from_errno(number) : OK;
}

err backup_measure(const char *path, struct backup_measure *out_measure)
{
    const int fd = backup_open_regular(path);
    if (fd < 0)
        return err_from_errno(errno);
    const int number = backup_copy_bytes(fd, -1, out_measure) ? 0 : errno;
    ignore(close(fd), "it was only read");
    return backup_err_from(number);
}

err backup_copy(const char *from, const char *to, unsigned mode, struct backup_measure *out_measure)
{
    const int in = backup_open_regular(from);
    if (in < 0)
        return err_from_errno(errno);
    const int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int number = out < 0 ? errno : 0;
    if (out >= 0) {
        if (!backup_copy_bytes(in, out, out_measure) || fchmod(out, (mode_t)mode) != 0 ||
            fsync(out) != 0)
            number = errno;
        if (close(out) != 0 && !number)
            number = errno;
        if (number)
            ignore(unlink(to), "the first error is reported");
    }
    ignore(close(in), "it was only read");
    return backup_err_from(number);
}

/* ---- trees ---- */

static err backup_walk(const char *path, bool (*visit)(const FTSENT *entry))
{
    char *const roots[] = {(char *)(uintptr_t)path, NULL}; /* fts_open() does not modify it */
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!tree)
        return err_from_errno(errno);
    int number = 0;
    for (FTSENT *entry; !number && (errno = 0, entry = fts_read(tree)) != NULL;)
        if (!visit(entry))
            number = errno ? errno : EIO;
    if (!number)
        number = errno;
    ignore(fts_close(tree), "it was only read");
    return backup_err_from(number);
}

/* Directories are visited twice; FTS_DP is the visit after their content. */
static bool backup_sync_entry(const FTSENT *entry)
{
    if (entry->fts_info != FTS_DP)
        return true;
    const int fd = open(entry->fts_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const bool done = fsync(fd) == 0;
    const int number = errno;
    ignore(close(fd), "nothing was written through it");
    errno = number;
    return done;
}

static bool backup_remove_entry(const FTSENT *entry)
{
    if (entry->fts_info == FTS_D)
        return true;
    return (entry->fts_info == FTS_DP ? rmdir(entry->fts_path) : unlink(entry->fts_path)) == 0 ||
           errno == ENOENT;
}

err backup_sync_tree(const char *path)
{
    return backup_walk(path, backup_sync_entry);
}

err backup_remove_tree(const char *path)
{
    return file_exists(path) ? backup_walk(path, backup_remove_entry) : OK;
}
