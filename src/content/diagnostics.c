#include "content/diagnostics.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

/* The list of entries belongs to the caller's struct diagnostics, with its memory in the arena.
 * Entries are appended in the order in which problems are found; diagnostics_sort() orders them by
 * file and line, and keeps that order for entries at the same position. Nothing can fail: a text
 * that is too long is cut, and entries beyond the limit are counted and dropped. */

enum { BRIEF_LEN = 60, TEXT_LEN_MAX = 2048 }; /* bytes */

struct diagnostics diagnostics_begin(struct arena *a)
{
    return (struct diagnostics){.arena = a};
}

/* True if byte `i` is a continuation byte of UTF-8. */
static bool is_utf8_continuation(struct str text, uint32_t i)
{
    return ((unsigned char)text.at[i] & 0xc0) == 0x80;
}

/* ---- adding entries ---- */

__attribute__((format(printf, 3, 0))) static void diagnostics_add(struct diagnostics *r,
                                                                  struct diagnostics_entry entry,
                                                                  const char *format,
                                                                  va_list arguments)
{
    char text[TEXT_LEN_MAX];
    const bool is_error = entry.severity == DIAGNOSTICS_ERROR;
    r->errors += is_error;
    r->warnings += !is_error;
    entry.code = r->next_code ? r->next_code : r->code;
    if (!entry.code)
        entry.code = is_error ? "bad_value" : "odd";
    r->next_code = NULL;
    /* A longer text is cut. */
    const int length = vsnprintf(text, sizeof text, format, arguments);
    must(length >= 0);
    const size_t size = (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    entry.text = str_copy(r->arena, (struct str){text, (uint32_t)size});
    /* Entries beyond the limit are counted but not kept. */
    if (r->count == DIAGNOSTICS_ENTRIES_MAX)
        return;
    struct diagnostics_entry *kept = arena_copy(r->arena, &entry, sizeof entry);
    if (r->last)
        r->last->next = kept;
    else
        r->first = kept;
    r->last = kept;
    r->count++;
}

void diagnostics_error(struct diagnostics *r, struct str file, struct text_position at,
                       const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    diagnostics_add(
        r, (struct diagnostics_entry){.file = file, .at = at, .severity = DIAGNOSTICS_ERROR},
        format, arguments);
    va_end(arguments);
}

void diagnostics_warning(struct diagnostics *r, struct str file, struct text_position at,
                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    diagnostics_add(
        r, (struct diagnostics_entry){.file = file, .at = at, .severity = DIAGNOSTICS_WARNING},
        format, arguments);
    va_end(arguments);
}

struct diagnostics *diagnostics_as(struct diagnostics *r, const char *code)
{
    r->next_code = code;
    return r;
}

struct str diagnostics_brief(struct str text)
{
    uint32_t end = text.len < BRIEF_LEN ? text.len : BRIEF_LEN;
    while (end > 0 && end < text.len && is_utf8_continuation(text, end))
        end--;
    return str_slice(text, 0, end);
}

/* ---- sorting (merge sort, because qsort() need not be stable) ---- */

static bool comes_after(const struct diagnostics_entry *x, const struct diagnostics_entry *y)
{
    const int files = str_cmp(x->file, y->file);
    if (files)
        return files > 0;
    if (x->at.line != y->at.line)
        return x->at.line > y->at.line;
    return x->at.column > y->at.column;
}

/* Merge two sorted runs; of equal entries those of the left run are first. */
static void merge_runs(struct diagnostics_entry **from, uint32_t middle, uint32_t end,
                       struct diagnostics_entry **to)
{
    uint32_t left = 0, right = middle;
    for (uint32_t i = 0; i < end; i++) {
        const bool takes_left =
            left < middle && (right == end || !comes_after(from[left], from[right]));
        to[i] = from[takes_left ? left++ : right++];
    }
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void diagnostics_sort(struct diagnostics *r)
{
    struct diagnostics_entry **list = arena_array(r->arena, struct diagnostics_entry *, r->count);
    struct diagnostics_entry **spare = arena_array(r->arena, struct diagnostics_entry *, r->count);
    uint32_t count = 0;
    for (struct diagnostics_entry *entry = r->first; entry; entry = entry->next)
        list[count++] = entry;
    for (uint32_t run = 1; run < count; run *= 2) {
        for (uint32_t from = 0; from < count; from += 2 * run)
            merge_runs(list + from, min_u32(run, count - from), min_u32(2 * run, count - from),
                       spare + from);
        struct diagnostics_entry **sorted = spare;
        spare = list;
        list = sorted;
    }
    struct diagnostics_entry **link = &r->first;
    for (uint32_t i = 0; i < count; i++) {
        *link = r->last = list[i];
        link = &list[i]->next;
    }
    *link = NULL;
}

/* ---- formatting ---- */

/* The count of bytes of a C0, DEL or C1 control character at `i`; 0: none. */
static uint32_t control_at(struct str text, uint32_t i)
{
    const unsigned char c = (unsigned char)text.at[i];
    if (c < ' ' || c == 0x7f)
        return 1;
    return c == 0xc2 && i + 1 < text.len && (unsigned char)text.at[i + 1] < 0xa0 ? 2 : 0;
}

static void diagnostics_put_visible(struct buf *out, struct str text)
{
    for (uint32_t i = 0; i < text.len;) {
        const uint32_t control = control_at(text, i);
        buf_put_c(out, control ? '?' : text.at[i]);
        i += control ? control : 1;
    }
}

void diagnostics_format(const struct diagnostics_entry *entry, struct buf *out)
{
    diagnostics_put_visible(out, entry->file);
    if (entry->at.line) {
        buf_put_c(out, ':');
        buf_put_u64(out, entry->at.line);
    }
    buf_put_z(out, ": ");
    diagnostics_put_visible(out, entry->text);
}

struct text_position text_position_of(struct str text, uint32_t offset)
{
    struct text_position at = {.line = 1, .column = 1};
    for (uint32_t i = 0; i < offset && i < text.len; i++) {
        if (text.at[i] == '\n')
            at = (struct text_position){.line = at.line + 1, .column = 1};
        else if (!is_utf8_continuation(text, i))
            at.column++;
    }
    return at;
}
