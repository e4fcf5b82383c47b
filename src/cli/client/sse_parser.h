/* sse_parser.h - server-sent events out of the bytes of a stream.
 *
 * Bytes come in pieces of any size; lines end with CR, LF or both. Of an event the id and the data
 * are kept, and the id of the last one is what a broken stream is taken up with. Longer events than
 * SSE_DATA_MAX lose their end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

enum { SSE_ID_SIZE = 64, SSE_LINE_SIZE = 64 << 10, SSE_DATA_MAX = 64 << 10 };

/* Zeroed but for the listener: at the beginning of a stream. */
struct sse_parser {
    void (*on_event)(void *self, struct str data);
    void *self;
    char last_id[SSE_ID_SIZE]; /* of the last event that was heard to its end; "": none yet */
    char next_id[SSE_ID_SIZE]; /* of the one that is being said */
    char line[SSE_LINE_SIZE];
    uint32_t line_len;
    bool was_cr;
    char data[SSE_DATA_MAX];
    uint32_t data_len;
    bool has_data;
};

void sse_parser_take(struct sse_parser *s, struct str bytes);
/* The stream broke: half an event is none. The last id stays. */
void sse_parser_break(struct sse_parser *s);
