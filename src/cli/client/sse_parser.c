#include "cli/client/sse_parser.h"

#include <string.h>

/* A parser that is fed byte by byte; all state is in struct sse_parser, which the caller owns.
 * Lines are collected until they end, events until an empty line. The id of an event becomes
 * last_id only when the event is complete.
 *
 * There is no failure: what is too long is truncated (a line, the data of an event) or ignored (an
 * id), unknown fields and comments are ignored, and the next event is parsed as usual. */

/* Several data lines of an event are joined with newlines. */
static void sse_add_data(struct sse_parser *s, struct str value)
{
    const uint32_t free_size = SSE_DATA_MAX - s->data_len;
    if (s->has_data && free_size)
        s->data[s->data_len++] = '\n';
    const uint32_t left = SSE_DATA_MAX - s->data_len;
    const uint32_t size = value.len < left ? value.len : left;
    memcpy(s->data + s->data_len, value.at, size);
    s->data_len += size;
    s->has_data = true;
}

static void sse_end_line(struct sse_parser *s)
{
    const struct str line = {s->line, s->line_len};
    s->line_len = 0;
    /* An empty line ends an event. last_id changes only here, so that a stream that breaks within
     * an event is resumed with that event. */
    if (line.len == 0) {
        memcpy(s->last_id, s->next_id, sizeof s->last_id);
        if (s->has_data)
            s->on_event(s->self, (struct str){s->data, s->data_len});
        s->has_data = false;
        s->data_len = 0;
        return;
    }
    const uint32_t colon = str_find(line, ':', 0);
    const struct str name = str_slice(line, 0, colon);
    struct str value = str_slice(line, colon + 1, line.len);
    if (value.len && value.at[0] == ' ')
        value = str_slice(value, 1, value.len);
    if (str_eq(name, STR("data"))) {
        sse_add_data(s, value);
    } else if (str_eq(name, STR("id")) && value.len < SSE_ID_SIZE) {
        memcpy(s->next_id, value.at, value.len);
        s->next_id[value.len] = 0;
    }
}

void sse_parser_feed(struct sse_parser *s, struct str bytes)
{
    for (uint32_t i = 0; i < bytes.len; i++) {
        const char c = bytes.at[i];
        const bool is_end = c == '\r' || (c == '\n' && !s->was_cr);
        if (is_end)
            sse_end_line(s);
        else if (c != '\n' && s->line_len < SSE_LINE_SIZE)
            s->line[s->line_len++] = c;
        s->was_cr = c == '\r';
    }
}

void sse_parser_reset(struct sse_parser *s)
{
    memcpy(s->next_id, s->last_id, sizeof s->next_id);
    s->line_len = s->data_len = 0;
    s->has_data = s->was_cr = false;
}
