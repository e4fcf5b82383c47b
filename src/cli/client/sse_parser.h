/* sse_parser.h - parses server-sent events (WHATWG HTML, "Server-sent events") from a byte stream.
 *
 * Bytes may come in pieces of any size; lines end with CR, LF or both. The fields id and data are
 * used. The id of the last complete event is sent as Last-Event-ID when a broken stream is resumed.
 * Data beyond SSE_DATA_MAX bytes of an event is dropped, and so is the rest of a line after
 * SSE_LINE_SIZE bytes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

enum { SSE_ID_SIZE = 64, SSE_LINE_SIZE = 64 << 10, SSE_DATA_MAX = 64 << 10 };

/* All zero except for on_event and self: at the beginning of a stream. */
struct sse_parser {
    void (*on_event)(void *self, struct str data);
    void *self;
    char last_id[SSE_ID_SIZE]; /* of the last complete event; "": none yet */
    char next_id[SSE_ID_SIZE]; /* of the event that is being received */
    char line[SSE_LINE_SIZE];  /* the line that is being received */
    uint32_t line_len;
    bool was_cr;             /* the last byte was CR: an LF after it does not end another line */
    char data[SSE_DATA_MAX]; /* of the event that is being received */
    uint32_t data_len;
    bool has_data; /* the event has a data line, which may be empty */
};

void sse_parser_feed(struct sse_parser *s, struct str bytes);
/* The connection ended: drop an incomplete event. last_id is kept. */
void sse_parser_reset(struct sse_parser *s);
