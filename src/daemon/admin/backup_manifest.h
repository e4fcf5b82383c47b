/* backup_manifest.h - manifest.json: the list of the files of a backup. All strings are in its
 * arena. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "daemon/admin/backup_files.h"

struct manifest_file {
    const char *path; /* in the backup */
    unsigned mode;    /* permission bits of the original file */
    struct backup_measure measure;
    struct manifest_file *next;
};

struct manifest_text {
    const char *text;
    struct manifest_text *next;
};

struct manifest {
    struct arena arena;
    const char *data;    /* the data directory that was backed up */
    const char *version; /* of the program that created it */
    struct manifest_file *files;
    struct manifest_text *left_out;    /* private files and links, as paths in the backup */
    struct manifest_text *directories; /* of barclamps, as absolute paths of the host */
};

void manifest_add_file(struct manifest *m, const struct manifest_file *file);
void manifest_add_text(struct manifest *m, struct manifest_text **list, const char *text);
NODISCARD err manifest_write(struct manifest *m, const char *path);
/* False, with a reason, if it cannot be read or has another format. */
bool manifest_read(const char *path, struct manifest *out_manifest, const char **out_why);
void manifest_fini(struct manifest *m);
