/* content_disk.h - a directory of our own with files in it, for the tests about trees.
 *
 * A test program is one file, so all of it is static.
 */
#pragma once

#include "tests/unit/content/content_test.h"

#include <sys/stat.h>
#include <unistd.h>

static char disk[64];

static inline void disk_run(const char *command)
{
    char line[1000];
    const int length = snprintf(line, sizeof line, "cd %s && %s", disk, command);
    CHECK(length > 0 && (size_t)length < sizeof line && system(line) == 0);
}

static inline void disk_open(void)
{
    snprintf(disk, sizeof disk, "/tmp/halligan-tree-XXXXXX");
    CHECK(mkdtemp(disk));
}

static inline void disk_close(void)
{
    disk_run("rm -r ../$(basename $PWD)");
}

/* Directories on the way are made. */
static inline void disk_write(const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", disk, name);
    for (char *slash = strchr(path + strlen(disk) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static inline const char *on_disk(struct bench *b, const char *name)
{
    return str_z(&b->arena, STR_CONCAT(&b->arena, str_from(disk), STR("/"), str_from(name)));
}

/* The report, with paths below the directory. */
static inline struct str told(struct bench *b)
{
    struct buf out = buf_in(&b->arena);
    const struct str root = str_from(disk);
    for (const struct diagnostics_entry *e = b->report.first; e; e = e->next) {
        struct diagnostics_entry shorter = *e;
        if (str_starts(e->file, root))
            shorter.file = str_slice(e->file, root.len, e->file.len);
        buf_put_z(&out, e->severity == DIAGNOSTICS_ERROR ? "error " : "warning ");
        diagnostics_format(&shorter, &out);
        buf_put_c(&out, '\n');
    }
    return buf_str(&out);
}
