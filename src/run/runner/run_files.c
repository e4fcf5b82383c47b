/* run_files.c - what runs find below the data directory, and what is left of it. */
#define _GNU_SOURCE /* nftw */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/runner/runner_private.h"
#include "sys/clock.h"
#include "sys/files.h"

static const char *const folders[] = {"runs", "runs/in", "runs/scratch", "runs/trash", "logs"};

static const char *say(struct arena *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *say(struct arena *a, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    must(length >= 0);
    char *at = arena_alloc(a, (size_t)length + 1);
    vsnprintf(at, (size_t)length + 1, format, args);
    va_end(args);
    return at;
}

err files_make_folders(const char *data)
{
    struct arena arena = {0};
    int number = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !number; i++)
        if (mkdir(say(&arena, "%s/%s", data, folders[i]), 0700) != 0 && errno != EEXIST)
            number = errno;
    arena_fini(&arena);
    errno = number;
    return number ? err_from_errno(number) : OK;
}

const char *files_path(struct arena *a, const struct runner *r, const char *folder, int64_t id,
                       uint32_t attempt)
{
    return say(a, "%s/runs/%s/%lld-%u", r->setup.data, folder, (long long)id, attempt);
}

/* Nothing is synced: after a power cut nobody is there to read it. */
err files_write(const char *path, struct str bytes)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    int number = fd < 0 ? errno : 0;
    while (bytes.len && !number) {
        const ssize_t n = write(fd, bytes.at, bytes.len);
        if (n >= 0)
            bytes = str_slice(bytes, (uint32_t)n, bytes.len);
        else if (errno != EINTR)
            number = errno;
    }
    if (fd >= 0 && close(fd) != 0 && !number)
        number = errno;
    if (number && fd >= 0)
        ignore(unlink(path), "half of it is of no use to anybody");
    errno = number;
    return number ? err_from_errno(number) : OK;
}

/* ---- removing ---- */

static _Thread_local bool is_opened; /* a directory was, in this walk: nftw has no room for it */

static void open_up(const char *folder)
{
    struct stat facts;
    if (lstat(folder, &facts) == 0 && S_ISDIR(facts.st_mode) && (facts.st_mode & 0700) != 0700 &&
        chmod(folder, 0700) == 0)
        is_opened = true;
}

/* What is in a directory that its owner may not read or change goes in the next walk. */
static int remove_one(const char *path, const struct stat *facts, int flag, struct FTW *where)
{
    (void)facts;
    if (remove(path) == 0)
        return 0;
    if (flag == FTW_DNR)
        open_up(path);
    if (where->level > 0) {
        char *folder = strndup(path, (size_t)where->base - 1);
        must(folder);
        open_up(folder);
        free(folder);
    }
    return 0;
}

bool files_remove_tree(const char *path)
{
    enum { FDS = 16, WALKS_MAX = 256 }; /* each comes one directory deeper */
    struct stat facts;
    int walks = 0;
    do {
        is_opened = false;
        ignore(nftw(path, remove_one, FDS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT),
               "mostly it is not there");
    } while (is_opened && ++walks < WALKS_MAX);
    if (lstat(path, &facts) != 0)
        return errno == ENOENT;
    return rmdir(path) == 0; /* for its errno */
}

/* "12-3" */
static bool is_open_run(const struct runner *r, const char *name)
{
    int64_t id, attempt;
    const struct str text = str_from(name);
    const uint32_t dash = str_find(text, '-', 0);
    if (!str_parse_i64(str_slice(text, 0, dash), &id) ||
        !str_parse_i64(str_slice(text, dash + 1, text.len), &attempt) || attempt > UINT32_MAX)
        return false;
    return runs_find(r, id >= SWEEP_IDS ? id - SWEEP_IDS : id, (uint32_t)attempt) != NULL;
}

/* Moving is quick, however much it is; whoever begins a run of that name finds nothing. */
static void put_away(struct runner *r, struct arena *a, const char *folder)
{
    DIR *listing = opendir(say(a, "%s/runs/%s", r->setup.data, folder));
    if (!listing)
        return;
    for (const struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (entry->d_name[0] == '.' || is_open_run(r, entry->d_name))
            continue;
        const char *to =
            say(a, "%s/runs/trash/%016llx", r->setup.data, (unsigned long long)sys_random64());
        ignore(renameat(dirfd(listing), entry->d_name, AT_FDCWD, to), "the next start tries again");
    }
    ignore(closedir(listing), "it was only read");
}

void files_put_away(struct runner *r)
{
    struct arena arena = {0};
    put_away(r, &arena, "in");
    put_away(r, &arena, "scratch");
    arena_fini(&arena);
}

void files_empty_trash(const struct runner *r)
{
    struct arena arena = {0};
    DIR *listing = opendir(say(&arena, "%s/runs/trash", r->setup.data));
    if (listing) {
        for (const struct dirent *entry; (entry = readdir(listing)) != NULL;)
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                ignore(files_remove_tree(
                           say(&arena, "%s/runs/trash/%s", r->setup.data, entry->d_name)),
                       "the next time, then");
        ignore(closedir(listing), "it was only read");
    }
    arena_fini(&arena);
}
