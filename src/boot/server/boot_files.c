#define _GNU_SOURCE /* O_PATH */
/* boot_files.c - opens files below a directory.
 *
 * openat2(2) with RESOLVE_BENEATH would do the same in one call, but its flags are in memory, where
 * the filter of system calls cannot inspect them (boot_sandbox.c). With openat and O_NOFOLLOW for
 * each component, a component can neither be a symbolic link nor leave the directory. */
#include "boot/server/boot_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int boot_files_open_directory(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static err files_error(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG: return ERR_NOT_FOUND;
    case EMFILE:
    case ENFILE:
    case ENOMEM: return ERR_UNAVAILABLE;
    case EACCES:
    case EPERM:
    case ELOOP:
    case ENXIO: return ERR_REFUSED;
    default: return ERR_IO;
    }
}

/* A name that begins with a dot is "..", "." or that of a file that is being written. */
static bool files_name_is_valid(struct str name)
{
    return name.len > 0 && name.len <= BOOT_NAME_SIZE_MAX && name.at[0] != '.' &&
           !memchr(name.at, 0, name.len);
}

static int files_open_at(int directory_fd, struct str name, int flags)
{
    char text[BOOT_NAME_SIZE_MAX + 1];
    memcpy(text, name.at, name.len);
    text[name.len] = 0;
    return openat(directory_fd, text, flags | O_NOFOLLOW | O_CLOEXEC);
}

static err files_check(int fd, struct boot_file *out_file)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return ERR_IO;
    if (!S_ISREG(status.st_mode))
        return ERR_REFUSED;
    *out_file = (struct boot_file){
        .fd = fd,
        .size = (uint64_t)status.st_size,
        .inode = status.st_ino,
        .changed_ns =
            (uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec,
    };
    return OK;
}

/* The last component: O_NONBLOCK, because opening a FIFO would wait for a writer. */
static err files_open_last(int directory_fd, struct str name, struct boot_file *out_file)
{
    const int fd = files_open_at(directory_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return files_error(errno);
    const err e = files_check(fd, out_file);
    if (e != OK)
        ignore(close(fd), "it was only read");
    return e;
}

err boot_files_open(int directory_fd, struct str path, struct boot_file *out_file)
{
    int parent = directory_fd;
    err e = ERR_NOT_FOUND;
    uint32_t from = 0;
    for (uint32_t depth = 0; depth < BOOT_PATH_DEPTH_MAX; depth++) {
        const uint32_t end = str_find(path, '/', from);
        const struct str name = str_slice(path, from, end);
        if (!files_name_is_valid(name))
            break;
        if (end == path.len) {
            e = files_open_last(parent, name, out_file);
            break;
        }
        const int child = files_open_at(parent, name, O_PATH | O_DIRECTORY);
        const int error = errno;
        if (parent != directory_fd)
            ignore(close(parent), "it was only read");
        parent = child;
        if (child < 0)
            return files_error(error);
        from = end + 1;
    }
    if (parent != directory_fd)
        ignore(close(parent), "it was only read");
    return e;
}

void boot_file_close(struct boot_file *file)
{
    if (file->fd >= 0)
        ignore(close(file->fd), "it was only read");
    file->fd = -1;
}

bool boot_files_have(int directory_fd, struct str path)
{
    struct boot_file file;
    if (directory_fd < 0 || boot_files_open(directory_fd, path, &file) != OK)
        return false;
    boot_file_close(&file);
    return true;
}
