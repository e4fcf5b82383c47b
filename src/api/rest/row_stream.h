/* row_stream.h - replies with one row for each of many objects.
 *
 * A short reply is sent at once. A longer one is a stream (streaming.h): rows are written in small
 * steps from the current core, and deleted objects are left out. Temporary memory of a row is taken
 * from the arena of the call and released after the row, so that the length of the reply does not
 * count against the memory of the request.
 */
#pragma once

#include "api/call/streaming.h"

/* Another list in the same reply. */
struct row_stream_section {
    /* text that closes the list before it and opens it; written before the row `begin` */
    struct str head;
    uint64_t begin;
};

enum { ROWS_SECTIONS_MAX = 2 };

struct rows {
    struct str head, tail; /* before the first row and after the last; they live with the call */
    /* The keys of the rows: `count` values of `ids`; or the ids of all objects of the table; or, if
     * that is TABLE_COUNT, the numbers below `count`. */
    const int64_t *ids;
    enum table table;
    uint64_t count;
    /* Writes the row. False: there is no row for that key, and nothing was written. */
    bool (*put)(struct call *call, const struct rows *rows, int64_t key, struct buf *out);
    void *self; /* context of put() */
    /* The lists after the first, in order; only with numbers as keys. They live with the call. */
    const struct row_stream_section *sections;
    uint32_t section_count;

    /* Private to row_stream.c. */
    struct reply_stream stream;
    /* For each list the position of its first written row; UINT64_MAX: none. */
    uint64_t first[ROWS_SECTIONS_MAX + 1];
};

/* Precondition: the reply of the call has status and content type, and no body. The rows are
 * copied. */
enum handler_result reply_rows(struct call *call, const struct rows *rows);
