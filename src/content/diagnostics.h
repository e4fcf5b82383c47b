/* diagnostics.h - what there is to say about files, with the line it is about.
 *
 * Readers add to it and go on, so that everything wrong with a tree of files is told at once. It
 * knows nothing of what is in them, and prints nothing itself: the daemon logs an entry, the
 * command line writes it as "FILE:LINE: text".
 *
 * Entries lie in the arena the report was begun with and live as long as its content.
 */
#pragma once

#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/buf.h"
#include "base/text/str.h"

#define DIAGNOSTICS_ENTRIES_MAX 10000u /* kept; the rest is only counted */

enum diagnostics_severity {
    DIAGNOSTICS_WARNING, /* read all the same  */
    DIAGNOSTICS_ERROR,   /* the file is not used */
};

/* Both count from 1, columns in characters; 0: nobody knows. */
struct text_place {
    uint32_t line;
    uint32_t column;
};

struct diagnostics_entry {
    struct str file;
    struct text_place at;
    enum diagnostics_severity severity;
    const char *code; /* stable, for programs; docs/runbook.md lists them */
    struct str text;
    struct diagnostics_entry *next;
};

struct diagnostics {
    struct arena *arena;
    const char *code;      /* of entries that are added without one; NULL: bad_value, or odd */
    const char *next_code; /* of the next entry; NULL: it has none of its own */
    struct diagnostics_entry *first, *last;
    uint32_t count;            /* in the list */
    uint32_t errors, warnings; /* also those that were left out */
};

struct diagnostics diagnostics_begin(struct arena *a);

/* `file` is not copied. Arguments that come from a file go through diagnostics_brief. */
__attribute__((format(printf, 4, 5))) void diagnostics_error(struct diagnostics *r, struct str file,
                                                             struct text_place at,
                                                             const char *format, ...);
__attribute__((format(printf, 4, 5))) void diagnostics_warning(struct diagnostics *r,
                                                               struct str file,
                                                               struct text_place at,
                                                               const char *format, ...);

/* The report, whose next entry has this code: diagnostics_error(diagnostics_as(r, "missing"), ...).
 * */
struct diagnostics *diagnostics_as(struct diagnostics *r, const char *code);

/* The beginning of a text, short enough for a sentence; whole characters. For "%.*s" and
 * STR_FMT_ARGS. */
struct str diagnostics_brief(struct str text);

/* By file, line and column; what stands at one place stays in the order it was said. */
void diagnostics_sort(struct diagnostics *r);

/* "FILE:LINE: text", "FILE: text" where the line is unknown; no line end. Control characters of
 * names and texts are shown as '?', so that no file can play with a terminal. */
void diagnostics_format(const struct diagnostics_entry *entry, struct buf *out);

/* The place of byte `offset` in a text: the characters and line ends before it are counted. */
struct text_place text_place_of(struct str text, uint32_t offset);
