#include "api/rest/row_stream.h"

/* A step looks at so many keys and writes about so many bytes. What fits into one step is answered
 * at once. */
enum { LOOK_MAX = 1000, WRITE_BYTES = 64 << 10 };

/* The key at the place, and the place behind it. False: there is no more. */
static bool next_key(const struct call *call, const struct rows *rows, uint64_t *place,
                     int64_t *out_key)
{
    if (!rows->ids && rows->table != TABLE_COUNT) {
        *out_key = core_next_id(call->core, rows->table, (int64_t)*place);
        *place = *out_key ? (uint64_t)*out_key : *place;
        return *out_key != 0;
    }
    if (*place >= rows->count)
        return false;
    *out_key = rows->ids ? rows->ids[*place] : (int64_t)*place;
    ++*place;
    return true;
}

/* The list that the row at that place belongs to. */
static uint64_t *first_of(struct rows *rows, uint64_t place)
{
    uint32_t list = 0;
    while (list < rows->section_count && rows->sections[list].begin <= place)
        list++;
    return &rows->first[list];
}

static void put_row(struct call *call, struct rows *rows, uint64_t place, int64_t key,
                    struct buf *out)
{
    const uint32_t before = out->len;
    uint64_t *first = first_of(rows, place);
    const struct arena_mark mark = arena_mark(call->arena);
    buf_put_z(out, *first == UINT64_MAX ? "" : ",\n");
    if (!rows->put(call, rows, key, out))
        out->len = before;
    else if (*first == UINT64_MAX)
        *first = place;
    arena_rewind(call->arena, mark);
}

static void forget_rows_from(struct rows *rows, uint64_t place)
{
    for (uint32_t i = 0; i <= ROWS_SECTIONS_MAX; i++)
        if (place <= rows->first[i])
            rows->first[i] = UINT64_MAX;
}

/* The rows from *place on, which moves behind them. True: that was all. */
static bool put_some(struct call *call, struct rows *rows, uint64_t *place, struct buf *out)
{
    int64_t key;
    if (*place == 0)
        buf_put_str(out, rows->head);
    forget_rows_from(rows, *place); /* those that were written are written again */
    for (uint32_t looked = 0; looked < LOOK_MAX && out->len < WRITE_BYTES; looked++) {
        const uint64_t at = *place;
        for (uint32_t i = 0; i < rows->section_count; i++)
            if (rows->sections[i].begin == at)
                buf_put_str(out, rows->sections[i].head);
        if (!next_key(call, rows, place, &key)) {
            buf_put_str(out, rows->tail);
            return true;
        }
        put_row(call, rows, at, key, out);
    }
    return false;
}

static enum reply_stream_step step(struct call *call, struct buf *out)
{
    return put_some(call, call->flow->self, &call->flow->place, out) ? FLOW_END : FLOW_MORE;
}

enum handler_result reply_rows(struct call *call, const struct rows *rows)
{
    struct rows *own = arena_copy(call->arena, rows, sizeof *rows);
    struct arena text = {0}; /* the call's own is rewound behind each row */
    struct buf b = buf_in(&text);
    uint64_t place = 0;
    must(own->section_count <= ROWS_SECTIONS_MAX);
    forget_rows_from(own, 0);
    const bool is_all = put_some(call, own, &place, &b);
    if (is_all)
        call->reply.body = str_copy(call->arena, buf_str(&b));
    arena_fini(&text);
    if (is_all)
        return SERVED_REPLY;
    forget_rows_from(own, 0);
    own->flow = (struct reply_stream){.step = step, .self = own};
    return reply_stream_begin(call, &own->flow);
}
