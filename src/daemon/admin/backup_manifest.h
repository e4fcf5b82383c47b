/* backup_manifest.h - what a backup says of itself: manifest.json. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "daemon/admin/backup_files.h"

struct manifest_file {
    const char *path; /* in the backup */
    unsigned mode;    /* where it came from */
    struct backup_measure measure;
    struct manifest_file *next;
};

struct manifest_text {
    const char *text;
    struct manifest_text *next;
};

struct manifest {
    struct arena arena;
    const char *data;    /* the data directory it came from */
    const char *version; /* of the program that made it */
    struct manifest_file *files;
    struct manifest_text *left_out;    /* private files, as paths in the backup */
    struct manifest_text *directories; /* of barclamps, elsewhere on the machine */
};

void manifest_add_file(struct manifest *m, const struct manifest_file *file);
void manifest_add_text(struct manifest *m, struct manifest_text **list, const char *text);
NODISCARD err manifest_write(struct manifest *m, const char *path);
/* False, with a reason, when it is not one that this program reads. */
bool manifest_read(const char *path, struct manifest *out_manifest, const char **out_why);
void manifest_fini(struct manifest *m);
