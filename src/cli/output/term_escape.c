#include "cli/output/term_escape.h"

/* Stateless filters that append to the buffer of the caller; they cannot fail. Bytes that are not
 * control characters are copied unchanged, also if they are not valid UTF-8. */

/* The count of bytes of a control character at `at`: C0 and DEL have one byte, C1 has two in UTF-8
 * (C2 80 to C2 9F). 0: not a control character. */
static uint32_t control_size(struct str text, uint32_t at)
{
    const unsigned char c = (unsigned char)text.at[at];
    if (c < 0x20 || c == 0x7f)
        return 1;
    const bool is_c1 = c == 0xc2 && at + 1 < text.len && (unsigned char)text.at[at + 1] < 0xa0;
    return is_c1 ? 2 : 0;
}

static void term_put_filtered(struct buf *b, struct str text, bool keeps_lines)
{
    uint32_t from = 0, at = 0;
    while (at < text.len) {
        const uint32_t size = control_size(text, at);
        const bool is_kept = keeps_lines && (text.at[at] == '\n' || text.at[at] == '\t');
        if (size == 0 || is_kept) {
            at++;
            continue;
        }
        buf_put(b, text.at + from, at - from);
        buf_put_c(b, ' ');
        at += size;
        from = at;
    }
    if (from < at)
        buf_put(b, text.at + from, at - from);
}

void term_put_escaped(struct buf *b, struct str text)
{
    term_put_filtered(b, text, false);
}

void term_put_escaped_lines(struct buf *b, struct str text)
{
    term_put_filtered(b, text, true);
}

uint32_t term_width_escaped(struct str text)
{
    uint32_t width = 0;
    for (uint32_t i = 0; i < text.len; i++)
        width += ((unsigned char)text.at[i] & 0xc0) != 0x80;
    return width;
}
