#include "api/rest/row_stream.h"

/* Replies with one row for each key. The state (struct rows) is a copy in the arena of the call.
 *
 * Order: everything that a row refers to is allocated before reply_rows(), because the arena is
 * rewound after each row. A comma is written before every row of a list but the first; rows->first
 * records which row that is, so that a stream that is rewound after the core was dropped writes the
 * same separators again.
 *
 * Failure: a row that put() refuses is left out with its comma. Other failures are those of streams
 * (streaming.c). */

/* A step visits at most so many keys and writes about so many bytes. A reply that fits into one
 * step is sent at once. */
enum { SCAN_MAX = 1000, WRITE_BYTES = 64 << 10 };

/* Returns the key at the position and advances it. False: there are no more. */
static bool rows_next_key(const struct call *call, const struct rows *rows, uint64_t *position,
                          int64_t *out_key)
{
    if (!rows->ids && rows->table != TABLE_COUNT) {
        *out_key = core_next_id(call->core, rows->table, (int64_t)*position);
        *position = *out_key ? (uint64_t)*out_key : *position;
        return *out_key != 0;
    }
    if (*position >= rows->count)
        return false;
    *out_key = rows->ids ? rows->ids[*position] : (int64_t)*position;
    ++*position;
    return true;
}

static void rows_put_one(struct call *call, struct rows *rows, uint64_t position, int64_t key,
                         struct buf *out)
{
    const uint32_t before = out->len;
    /* Find the first-row entry of the list that contains the position. */
    uint32_t list = 0;
    while (list < rows->section_count && rows->sections[list].begin <= position)
        list++;
    uint64_t *first = &rows->first[list];
    const struct arena_mark mark = arena_mark(call->arena);
    buf_put_z(out, *first == UINT64_MAX ? "" : ",\n");
    if (!rows->put(call, rows, key, out))
        out->len = before;
    else if (*first == UINT64_MAX)
        *first = position;
    arena_rewind(call->arena, mark);
}

/* Forgets first rows that are written again from `position` on. */
static void rows_forget_from(struct rows *rows, uint64_t position)
{
    for (uint32_t i = 0; i <= ROWS_SECTIONS_MAX; i++)
        if (position <= rows->first[i])
            rows->first[i] = UINT64_MAX;
}

/* Writes rows from *position on and advances it. True: that was all. */
static bool rows_put_some(struct call *call, struct rows *rows, uint64_t *position, struct buf *out)
{
    int64_t key;
    if (*position == 0)
        buf_put_str(out, rows->head);
    rows_forget_from(rows, *position); /* after a lost core, rows from here on are written again */
    for (uint32_t scanned = 0; scanned < SCAN_MAX && out->len < WRITE_BYTES; scanned++) {
        const uint64_t at = *position;
        for (uint32_t i = 0; i < rows->section_count; i++)
            if (rows->sections[i].begin == at)
                buf_put_str(out, rows->sections[i].head);
        if (!rows_next_key(call, rows, position, &key)) {
            buf_put_str(out, rows->tail);
            return true;
        }
        rows_put_one(call, rows, at, key, out);
    }
    return false;
}

static enum reply_stream_step rows_step(struct call *call, struct buf *out)
{
    return rows_put_some(call, call->stream->self, &call->stream->position, out) ? STREAM_END
                                                                                 : STREAM_MORE;
}

enum handler_result reply_rows(struct call *call, const struct rows *rows)
{
    struct rows *own = arena_copy(call->arena, rows, sizeof *rows);
    struct arena text = {0}; /* the arena of the call is rewound after each row */
    struct buf b = buf_in(&text);
    uint64_t position = 0;
    must(own->section_count <= ROWS_SECTIONS_MAX);
    rows_forget_from(own, 0);
    /* Try to write everything in one step; if it does not fit, discard it and stream from the
     * start. */
    const bool is_all = rows_put_some(call, own, &position, &b);
    if (is_all)
        call->reply.body = str_copy(call->arena, buf_str(&b));
    arena_fini(&text);
    if (is_all)
        return SERVED_REPLY;
    rows_forget_from(own, 0);
    own->stream = (struct reply_stream){.step = rows_step, .self = own};
    return reply_stream_begin(call, &own->stream);
}
