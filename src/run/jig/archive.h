/* archive.h - many files as one text: tar, as every machine reads it.
 *
 * What is written is plain ustar with regular files and folders, owned by root, in the order they
 * were added; equal content gives equal bytes. What is read comes from a machine that nobody
 * vouches for: ustar, with the long names of GNU and pax, archives one behind the other, and every
 * number checked. Nothing is ever unpacked here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/buf.h"
#include "base/text/str.h"
#include "model/reason.h"

#define ARCHIVE_SIZE_MAX  (64u << 20)
#define ARCHIVE_FILES_MAX 10000u /* of one folder on the disk, with all below it */
#define ARCHIVE_DEPTH_MAX 32u    /* folders in folders on the disk */

struct archive {
    struct buf bytes;
    uint32_t count;
};

struct archive archive_begin(struct arena *a);
/* Names are slash paths. ERR_LIMIT: the name does not fit (100 bytes, or 255 with a slash at the
 * right place), or there is no more room. */
NODISCARD err archive_add_file(struct archive *archive, struct str name, unsigned mode,
                               struct str content);
NODISCARD err archive_add_folder(struct archive *archive, struct str name, unsigned mode);
/* Everything in the folder `path`, below `name`; names that begin with a dot are passed over. A
 * link to a file is that file, as long as it lies below `root`. ERR_REFUSED: *out_why says what
 * cannot be taken. */
NODISCARD err archive_add_tree(struct archive *archive, struct str name, const char *path,
                               const char *root, struct reason *out_why);
struct str archive_end(struct archive *archive);

enum archive_kind { ARCHIVE_FILE, ARCHIVE_LINK, ARCHIVE_OTHER };

struct archive_member {
    enum archive_kind kind;
    struct str name;
    struct str content; /* a file's */
    struct str target;  /* a link's: the name of a file that came before */
};

struct archive_reader {
    struct arena *arena;
    struct str bytes;
    uint32_t at;
};

/* The next one; ERR_NOT_FOUND at the end; ERR_CORRUPT. */
NODISCARD err archive_next(struct archive_reader *r, struct archive_member *out_member);
