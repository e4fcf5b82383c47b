/* row_stream.h - an answer that is one row for each of many objects.
 *
 * A short one is one text. A longer one is a flow (streaming.h): rows are written a little at a
 * time, by the core of that moment, and what is gone by then is left out. What a row needs besides
 * its text is taken from the call's arena and given back behind each row, so the answer's length
 * does not count for the memory of its request.
 */
#pragma once

#include "api/call/streaming.h"

/* A further list in the same answer. */
struct row_stream_section {
    struct str
        head; /* what ends the list before it and begins it; written before the row `begin` */
    uint64_t begin;
};

enum { ROWS_SECTIONS_MAX = 2 };

struct rows {
    struct str head, tail; /* before the first row and behind the last; they live with the call */
    /* The rows' keys: `ids`, as many as `count`; or the ids of all objects of the table; or, where
     * that is TABLE_COUNT, the numbers below `count`. */
    const int64_t *ids;
    enum table table;
    uint64_t count;
    /* Writes the row. False: there is none for that key, and nothing was written. */
    bool (*put)(struct call *call, const struct rows *rows, int64_t key, struct buf *out);
    void *self; /* the put's own */
    /* Behind the first list, in order; only with numbers for keys. They live with the call. */
    const struct row_stream_section *sections;
    uint32_t section_count;

    /* Of row_stream.c. */
    struct reply_stream stream;
    /* Of each list the place at which its first row was written; UINT64_MAX: none was. */
    uint64_t first[ROWS_SECTIONS_MAX + 1];
};

/* The call's reply has its status and content type, and no body. The rows are copied. */
enum handler_result reply_rows(struct call *call, const struct rows *rows);
