/* archive.h - tar archives in memory.
 *
 * The writer creates plain ustar with regular files and directories, owned by root, in the order
 * they were added; equal content gives equal bytes. The reader handles untrusted input from a node:
 * ustar, with long names of GNU and pax, several archives in a row, and every number is checked.
 * Nothing is unpacked here. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/buf.h"
#include "base/text/str.h"
#include "model/reason.h"

#define ARCHIVE_SIZE_MAX  (64u << 20) /* bytes */
#define ARCHIVE_FILES_MAX 10000u      /* files of one directory tree */
#define ARCHIVE_DEPTH_MAX 32u         /* levels of directories */

struct archive {
    struct buf bytes;
    uint32_t count;
};

struct archive archive_begin(struct arena *a);
/* Names are paths with slashes. ERR_LIMIT: the name does not fit (100 bytes, or 255 with a slash at
 * a suitable position), or the archive is full. */
NODISCARD err archive_add_file(struct archive *archive, struct str name, unsigned mode,
                               struct str content);
NODISCARD err archive_add_folder(struct archive *archive, struct str name, unsigned mode);
/* Add the directory `path` recursively below `name`; names that begin with a dot are skipped. A
 * symbolic link to a file is added as that file if the file is below `root`. ERR_REFUSED: *out_why
 * states what cannot be added. */
NODISCARD err archive_add_tree(struct archive *archive, struct str name, const char *path,
                               const char *root, struct reason *out_why);
struct str archive_end(struct archive *archive);

enum archive_kind { ARCHIVE_FILE, ARCHIVE_LINK, ARCHIVE_OTHER };

struct archive_member {
    enum archive_kind kind;
    struct str name;
    struct str content; /* of a file */
    struct str target;  /* of a hard link: the name of an earlier file */
};

struct archive_reader {
    struct arena *arena;
    struct str bytes;
    uint32_t at;
};

/* The next member; ERR_NOT_FOUND at the end; ERR_CORRUPT. */
NODISCARD err archive_next(struct archive_reader *r, struct archive_member *out_member);
