/* secret_files.c - the files are created with O_EXCL and mode 0600 in a directory that only the
 * daemon's user can enter, so no other user can read a secret or place a link there. They are not
 * synced: after a crash they are deleted at the next start. */
#include "power/hammer/secret_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text/buf.h"
#include "sys/clock.h"

static const char prefix[] = "secret-";

static bool directory_is_private(const char *directory)
{
    struct stat facts;
    return stat(directory, &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
           (facts.st_mode & 077) == 0;
}

bool secret_file_sweep(const char *directory)
{
    if (!directory || !directory_is_private(directory))
        return false;
    DIR *listing = opendir(directory);
    if (!listing)
        return false;
    for (const struct dirent *entry = readdir(listing); entry; entry = readdir(listing))
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0)
            ignore(unlinkat(dirfd(listing), entry->d_name, 0), "the next start tries again");
    ignore(closedir(listing), "it was only read");
    return true;
}

static bool secret_file_write_all(int fd, struct str content)
{
    while (content.len) {
        const ssize_t n = write(fd, content.at, content.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        content = str_slice(content, (uint32_t)n, content.len);
    }
    return true;
}

const char *secret_file_write(struct arena *a, const char *directory, struct str content)
{
    struct buf b = buf_in(a);
    buf_put_z(&b, directory);
    buf_put_z(&b, "/");
    buf_put_z(&b, prefix);
    const uint64_t name = sys_random64();
    buf_put_hex(&b, &name, sizeof name);
    buf_put_c(&b, '\0');
    const int fd = open(b.at, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return NULL;
    const bool is_written = secret_file_write_all(fd, content);
    const int why = errno;
    if (close(fd) == 0 && is_written)
        return b.at;
    ignore(unlink(b.at), "an incomplete file is useless; the sweep of the next start deletes it");
    errno = is_written ? EIO : why;
    return NULL;
}

void secret_file_remove(const char *path)
{
    if (path)
        ignore(unlink(path), "the sweep of the next start deletes it");
}
