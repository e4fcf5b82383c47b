/* diagnostics.h - a report of errors and warnings about files, with their lines.
 *
 * Readers add an entry and continue, so that all errors of a tree of files are reported together.
 * The module does not depend on the content of the files and prints nothing: the daemon logs an
 * entry, the command line prints it as "FILE:LINE: text".
 *
 * Entries are in the arena that was passed to diagnostics_begin.
 */
#pragma once

#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/buf.h"
#include "base/text/str.h"

#define DIAGNOSTICS_ENTRIES_MAX 10000u /* kept; the rest is only counted */

enum diagnostics_severity {
    DIAGNOSTICS_WARNING, /* the file is used    */
    DIAGNOSTICS_ERROR,   /* the file is not used */
};

/* Both count from 1, columns in characters; 0: unknown. */
struct text_position {
    uint32_t line;
    uint32_t column;
};

struct diagnostics_entry {
    struct str file;
    struct text_position at;
    enum diagnostics_severity severity;
    const char *code; /* stable; docs/runbook.md lists the codes */
    struct str text;
    struct diagnostics_entry *next;
};

struct diagnostics {
    struct arena *arena;
    const char *code;      /* default of entries; NULL: bad_value for errors, odd for warnings */
    const char *next_code; /* of the next entry only; NULL: the default */
    struct diagnostics_entry *first, *last;
    uint32_t count;            /* of entries in the list */
    uint32_t errors, warnings; /* counts, including entries that were dropped */
};

struct diagnostics diagnostics_begin(struct arena *a);

/* `file` is not copied. Arguments that come from a file go through diagnostics_brief. */
__attribute__((format(printf, 4, 5))) void diagnostics_error(struct diagnostics *r, struct str file,
                                                             struct text_position at,
                                                             const char *format, ...);
__attribute__((format(printf, 4, 5))) void diagnostics_warning(struct diagnostics *r,
                                                               struct str file,
                                                               struct text_position at,
                                                               const char *format, ...);

/* Set the code of the next entry; returns the report, for use as an argument:
 * diagnostics_error(diagnostics_as(r, "missing"), ...). */
struct diagnostics *diagnostics_as(struct diagnostics *r, const char *code);

/* The first 60 bytes of a string, cut between characters, for messages ("%.*s", STR_FMT_ARGS). */
struct str diagnostics_brief(struct str text);

/* Sort by file, line and column. The sort is stable. */
void diagnostics_sort(struct diagnostics *r);

/* "FILE:LINE: text", or "FILE: text" if the line is unknown; without a newline. Control characters
 * are replaced by '?', so that a file cannot send escape sequences to a terminal. */
void diagnostics_format(const struct diagnostics_entry *entry, struct buf *out);

/* The position of byte `offset` in a text, from the count of characters and newlines before it. */
struct text_position text_position_of(struct str text, uint32_t offset);
