/* cli_disk.h - a directory of our own with files in it.
 *
 * A test program is one file, so all of it is static.
 */
#pragma once

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char disk[64];
static struct arena arena;

static inline void disk_run(const char *command)
{
    char line[1000];
    const int length = snprintf(line, sizeof line, "cd %s && %s", disk, command);
    CHECK(length > 0 && (size_t)length < sizeof line && system(line) == 0);
}

static inline void disk_open(void)
{
    snprintf(disk, sizeof disk, "/tmp/halligan-cli-XXXXXX");
    CHECK(mkdtemp(disk));
    arena = (struct arena){0};
}

static inline void disk_close(void)
{
    disk_run("rm -r ../$(basename $PWD)");
    arena_fini(&arena);
}

static inline const char *on_disk(const char *name)
{
    return str_z(&arena, STR_CONCAT(&arena, str_from(disk), STR("/"), str_from(name)));
}

/* Directories on the way are made. */
static inline void disk_write(const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", disk, name);
    for (char *slash = strchr(path + strlen(disk) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        ignore(mkdir(path, 0777), "it may be there already");
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}
