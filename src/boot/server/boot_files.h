/* boot_files.h - the files for machines, below one directory that is opened at the start.
 *
 * A path is opened component by component below the descriptor of the directory, without following
 * symbolic links and without "..", so that nothing outside can be named. Only regular files are
 * opened, and only for reading. Nothing is cached: a file that is replaced has its new content with
 * the next request.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text/str.h"

enum { BOOT_PATH_DEPTH_MAX = 32, BOOT_NAME_SIZE_MAX = 255 };

struct boot_file {
    int fd;
    uint64_t size;
    uint64_t inode;
    uint64_t changed_ns; /* time of the last modification, since 1970 */
};

/* Opens the directory; -1 with errno. */
int boot_files_open_directory(const char *path);
/* Opens "linux/vmlinuz". ERR_NOT_FOUND: there is no such file, or the path has an empty component,
 * one that begins with a dot, or too many. ERR_REFUSED: it is not a regular file, a symbolic link
 * is on the path, or access is denied. ERR_UNAVAILABLE: too many files are open. */
NODISCARD err boot_files_open(int directory_fd, struct str path, struct boot_file *out_file);
void boot_file_close(struct boot_file *file);
/* True if boot_files_open() would succeed. */
bool boot_files_have(int directory_fd, struct str path);
