#include "content/diagnostics.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

enum { BRIEF_LEN = 60, TEXT_LEN_MAX = 2048 };

struct diagnostics diagnostics_begin(struct arena *a)
{
    return (struct diagnostics){.arena = a};
}

/* Byte `i` continues a character. */
static bool continues(struct str text, uint32_t i)
{
    return ((unsigned char)text.at[i] & 0xc0) == 0x80;
}

/* ---- adding ---- */

__attribute__((format(printf, 2, 0))) static struct str say(struct arena *a, const char *format,
                                                            va_list arguments)
{
    char text[TEXT_LEN_MAX];
    const int length = vsnprintf(text, sizeof text, format, arguments);
    must(length >= 0);
    const size_t kept = (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    return str_copy(a, (struct str){text, (uint32_t)kept});
}

static void add(struct diagnostics *r, struct diagnostics_entry entry)
{
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

__attribute__((format(printf, 3, 0))) static void add_said(struct diagnostics *r,
                                                           struct diagnostics_entry entry,
                                                           const char *format, va_list arguments)
{
    const bool is_error = entry.severity == DIAGNOSTICS_ERROR;
    r->errors += is_error;
    r->warnings += !is_error;
    entry.code = r->next_code ? r->next_code : r->code;
    if (!entry.code)
        entry.code = is_error ? "bad_value" : "odd";
    r->next_code = NULL;
    entry.text = say(r->arena, format, arguments);
    add(r, entry);
}

void diagnostics_error(struct diagnostics *r, struct str file, struct text_place at,
                       const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_said(r, (struct diagnostics_entry){.file = file, .at = at, .severity = DIAGNOSTICS_ERROR},
             format, arguments);
    va_end(arguments);
}

void diagnostics_warning(struct diagnostics *r, struct str file, struct text_place at,
                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_said(r, (struct diagnostics_entry){.file = file, .at = at, .severity = DIAGNOSTICS_WARNING},
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
    while (end > 0 && end < text.len && continues(text, end))
        end--;
    return str_slice(text, 0, end);
}

/* ---- putting it in order ---- */

static bool comes_after(const struct diagnostics_entry *x, const struct diagnostics_entry *y)
{
    const int files = str_cmp(x->file, y->file);
    if (files)
        return files > 0;
    if (x->at.line != y->at.line)
        return x->at.line > y->at.line;
    return x->at.column > y->at.column;
}

/* Merges two sorted runs; the left one goes first where they are equal. */
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

static uint32_t lesser(uint32_t a, uint32_t b)
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
            merge_runs(list + from, lesser(run, count - from), lesser(2 * run, count - from),
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

/* ---- showing ---- */

/* Length of the control character at `i`, of ASCII or of Latin 1; 0 when it is none. */
static uint32_t control_at(struct str text, uint32_t i)
{
    const unsigned char c = (unsigned char)text.at[i];
    if (c < ' ' || c == 0x7f)
        return 1;
    return c == 0xc2 && i + 1 < text.len && (unsigned char)text.at[i + 1] < 0xa0 ? 2 : 0;
}

static void put_visible(struct buf *out, struct str text)
{
    for (uint32_t i = 0; i < text.len;) {
        const uint32_t control = control_at(text, i);
        buf_put_c(out, control ? '?' : text.at[i]);
        i += control ? control : 1;
    }
}

void diagnostics_format(const struct diagnostics_entry *entry, struct buf *out)
{
    put_visible(out, entry->file);
    if (entry->at.line) {
        buf_put_c(out, ':');
        buf_put_u64(out, entry->at.line);
    }
    buf_put_z(out, ": ");
    put_visible(out, entry->text);
}

struct text_place text_place_of(struct str text, uint32_t offset)
{
    struct text_place at = {.line = 1, .column = 1};
    for (uint32_t i = 0; i < offset && i < text.len; i++) {
        if (text.at[i] == '\n')
            at = (struct text_place){.line = at.line + 1, .column = 1};
        else if (!continues(text, i))
            at.column++;
    }
    return at;
}
