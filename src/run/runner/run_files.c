/* run_files.c - the files of runs below the data directory.
 *
 * runs/in/RUN-ATTEMPT is the standard input, runs/scratch/RUN-ATTEMPT the scratch directory of a
 * run, and runs/trash/ holds trees that are being removed. When the runner opens its client, files
 * of runs that are not open are renamed into the trash, which is fast for any size, and a thread
 * removes them later. The rename comes before any new run, so that a run with the same name finds
 * no old files. Nothing is synced: after a power failure no process of a run is left that reads
 * these files.
 *
 * Failure: a file that cannot be written is reported to the caller. A removal that fails is tried
 * again at the next maintenance or start. */
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

static const char *const directories[] = {"runs", "runs/in", "runs/scratch", "runs/trash", "logs"};

static const char *files_format(struct arena *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *files_format(struct arena *a, const char *format, ...)
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
    int error = 0;
    for (size_t i = 0; i < sizeof directories / sizeof *directories && !error; i++)
        if (mkdir(files_format(&arena, "%s/%s", data, directories[i]), 0700) != 0 &&
            errno != EEXIST)
            error = errno;
    arena_fini(&arena);
    errno = error;
    return error ? err_from_errno(error) : OK;
}

const char *files_path(struct arena *a, const struct runner *r, const char *dir, int64_t id,
                       uint32_t attempt)
{
    return files_format(a, "%s/runs/%s/%lld-%u", r->setup.data, dir, (long long)id, attempt);
}

/* Write a file, or remove it after an error. */
err files_write(const char *path, struct str bytes)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error = fd < 0 ? errno : 0;
    while (bytes.len && !error) {
        const ssize_t n = write(fd, bytes.at, bytes.len);
        if (n >= 0)
            bytes = str_slice(bytes, (uint32_t)n, bytes.len);
        else if (errno != EINTR)
            error = errno;
    }
    if (fd >= 0 && close(fd) != 0 && !error)
        error = errno;
    if (error && fd >= 0)
        ignore(unlink(path), "an incomplete file is useless");
    errno = error;
    return error ? err_from_errno(error) : OK;
}

/* ---- removal ---- */

/* a directory was made accessible in this walk; nftw has no context pointer */
static _Thread_local bool made_accessible;

static void files_make_accessible(const char *dir)
{
    struct stat st;
    if (lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0700) != 0700 &&
        chmod(dir, 0700) == 0)
        made_accessible = true;
}

/* Remove one entry. Entries of a directory that its owner may not read or change are removed in the
 * next walk, after chmod. */
static int files_remove_one(const char *path, const struct stat *st, int flag, struct FTW *where)
{
    (void)st;
    if (remove(path) == 0)
        return 0;
    if (flag == FTW_DNR)
        files_make_accessible(path);
    if (where->level > 0) {
        char *dir = strndup(path, (size_t)where->base - 1);
        must(dir);
        files_make_accessible(dir);
        free(dir);
    }
    return 0;
}

bool files_remove_tree(const char *path)
{
    enum { FDS = 16, WALKS_MAX = 256 }; /* each walk gets one directory deeper */
    struct stat st;
    int walks = 0;
    do {
        made_accessible = false;
        ignore(nftw(path, files_remove_one, FDS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT),
               "usually it does not exist");
    } while (made_accessible && ++walks < WALKS_MAX);
    if (lstat(path, &st) != 0)
        return errno == ENOENT;
    return rmdir(path) == 0; /* sets errno */
}

/* "12-3" */
static bool files_is_open_run(const struct runner *r, const char *name)
{
    int64_t id, attempt;
    const struct str text = str_from(name);
    const uint32_t dash = str_find(text, '-', 0);
    if (!str_parse_i64(str_slice(text, 0, dash), &id) ||
        !str_parse_i64(str_slice(text, dash + 1, text.len), &attempt) || attempt > UINT32_MAX)
        return false;
    return runs_find(r, id >= CLEANUP_RUN_IDS ? id - CLEANUP_RUN_IDS : id, (uint32_t)attempt) !=
           NULL;
}

/* Rename into the trash, so that a new run with the same name finds no old files. */
static void files_move_dir_to_trash(struct runner *r, struct arena *a, const char *dir)
{
    DIR *entries = opendir(files_format(a, "%s/runs/%s", r->setup.data, dir));
    if (!entries)
        return;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (entry->d_name[0] == '.' || files_is_open_run(r, entry->d_name))
            continue;
        const char *to = files_format(a, "%s/runs/trash/%016llx", r->setup.data,
                                      (unsigned long long)sys_random64());
        ignore(renameat(dirfd(entries), entry->d_name, AT_FDCWD, to), "the next start tries again");
    }
    ignore(closedir(entries), "it was only read");
}

void files_move_to_trash(struct runner *r)
{
    struct arena arena = {0};
    files_move_dir_to_trash(r, &arena, "in");
    files_move_dir_to_trash(r, &arena, "scratch");
    arena_fini(&arena);
}

void files_empty_trash(const struct runner *r)
{
    struct arena arena = {0};
    DIR *entries = opendir(files_format(&arena, "%s/runs/trash", r->setup.data));
    if (entries) {
        for (const struct dirent *entry; (entry = readdir(entries)) != NULL;)
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                ignore(files_remove_tree(
                           files_format(&arena, "%s/runs/trash/%s", r->setup.data, entry->d_name)),
                       "it is tried again at the next maintenance");
        ignore(closedir(entries), "it was only read");
    }
    arena_fini(&arena);
}
