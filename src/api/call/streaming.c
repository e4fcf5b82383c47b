#include "api/call/streaming.h"

#include <stdlib.h>

#include "api/call/reply.h"

/* Streams: production, durability and sending of pieces.
 *
 * Owns the queues of unsent pieces. Each piece is allocated on its own, not in the arena of the
 * call, so that its memory is released as soon as it is sent.
 *
 * Order: reply_streams_pump() calls the step of each ready stream; the piece is queued in memory
 * with the turn that it was read from. stream_flush() sends the queued pieces whose turn is
 * durable, in order, as far as the HTTP server accepts bytes. Pieces that wait for the store are
 * bounded per stream (HELD_BYTES_MAX) and by the memory of all replies; bytes that wait for the
 * client are bounded by UNSENT_BYTES_MAX, after which the stream is blocked until
 * reply_stream_drained().
 *
 * Failure: if the core is dropped, unsent pieces may show lost changes: they are discarded and
 * computed again from the position before them. A piece that was sent in part is durable and is
 * completed. Errors before the headers are sent become an ordinary error reply; after that the
 * reply is aborted, so that the client does not take it for complete.
 *
 * Lifetime: a stream is in the arena of its call. After the end of a stream neither it nor its call
 * may be used; functions that may end the stream return false in that case, or are called last.
 */

/* Bytes that one stream may queue for the store before its step is called again, and bytes that may
 * wait in the HTTP server for the client. */
enum { HELD_BYTES_MAX = 1 << 20, UNSENT_BYTES_MAX = 256 << 10 };

struct reply_stream_piece {
    struct arena arena; /* holds `text` */
    struct str text;
    uint32_t out;      /* bytes that were sent */
    int64_t seen;      /* turn that must be durable before it is sent */
    uint64_t position; /* position of the stream before this piece */
    bool is_last;      /* the reply ends with this piece */
    struct reply_stream_piece *next;
};

static void stream_set_ready(struct reply_stream *stream, bool is_ready)
{
    struct reply_streams *streams = call_streams(stream->call);
    if (stream->is_ready == is_ready)
        return;
    stream->is_ready = is_ready;
    streams->ready_count += is_ready ? 1 : (uint32_t)-1;
}

void reply_stream_wake(struct reply_stream *stream)
{
    if (!stream->is_over && !stream->is_blocked)
        stream_set_ready(stream, true);
}

enum handler_result reply_stream_begin(struct call *call, struct reply_stream *stream)
{
    struct reply_streams *streams = call_streams(call);
    must(!call->stream && call->reply.status == 200);
    call->stream = stream;
    stream->call = call;
    stream->next = streams->first;
    if (streams->first)
        streams->first->prev = stream;
    streams->first = stream;
    streams->infinite_count += stream->is_infinite;
    call_wait(call, WAITS_STREAM);
    reply_stream_wake(stream);
    return SERVED_LATER;
}

uint32_t reply_streams_infinite_of(const struct call *call, uint32_t *out_all)
{
    uint32_t count = 0;
    *out_all = 0;
    for (const struct reply_stream *stream = call_streams(call)->first; stream;
         stream = stream->next) {
        *out_all += stream->is_infinite;
        count += stream->is_infinite && stream->call->caller.user_id == call->caller.user_id &&
                 stream->call->caller.node_id == call->caller.node_id;
    }
    return count;
}

int64_t reply_stream_await(struct reply_stream *stream,
                           void (*found)(struct call *call, const struct record *records,
                                         uint32_t count, err why))
{
    must(!stream->found);
    stream->found = found;
    return call_take_number(stream->call);
}

void reply_stream_await_failed(struct reply_stream *stream)
{
    stream->found = NULL;
    call_drop_number(stream->call);
}

void reply_stream_found(struct reply_stream *stream, const struct record *records, uint32_t count,
                        err why)
{
    struct call *call = stream->call;
    void (*found)(struct call *, const struct record *, uint32_t, err) = stream->found;
    reply_stream_await_failed(stream);
    found(call, records, count, why);
}

void reply_streams_poll(struct reply_streams *streams)
{
    for (struct reply_stream *stream = streams->infinite_count ? streams->first : NULL; stream;
         stream = stream->next)
        if (stream->is_infinite)
            reply_stream_wake(stream);
}

/* ---- pieces ---- */

static struct reply_stream_piece *stream_piece_new(uint64_t position)
{
    struct reply_stream_piece *piece = calloc(1, sizeof *piece);
    must(piece);
    piece->position = position;
    return piece;
}

static void stream_piece_free(struct reply_stream_piece *piece)
{
    arena_fini(&piece->arena);
    free(piece);
}

static void stream_add_piece(struct reply_stream *stream, struct reply_stream_piece *piece)
{
    *(stream->last ? &stream->last->next : &stream->first) = piece;
    stream->last = piece;
    stream->held += piece->text.len;
}

static void stream_drop_first_piece(struct reply_stream *stream)
{
    struct reply_stream_piece *piece = stream->first;
    stream->first = piece->next;
    if (!stream->first)
        stream->last = NULL;
    stream->held -= piece->text.len;
    stream_piece_free(piece);
}

static void stream_drop_pieces(struct reply_stream *stream)
{
    while (stream->first)
        stream_drop_first_piece(stream);
}

static void stream_drop_later_pieces(struct reply_stream *stream)
{
    struct reply_stream_piece *piece = stream->first->next;
    stream->first->next = NULL;
    stream->last = stream->first;
    stream->held = stream->first->text.len;
    while (piece) {
        struct reply_stream_piece *next = piece->next;
        stream_piece_free(piece);
        piece = next;
    }
}

/* ---- end of a stream ---- */

/* Removes the stream from all lists and from its call, which does not wait any more. The stream is
 * freed with the call, so the caller answers or restarts the call next. */
static void stream_detach(struct reply_stream *stream)
{
    struct reply_streams *streams = call_streams(stream->call);
    stream_set_ready(stream, false);
    stream_drop_pieces(stream);
    *(stream->prev ? &stream->prev->next : &streams->first) = stream->next;
    if (stream->next)
        stream->next->prev = stream->prev;
    streams->infinite_count -= stream->is_infinite;
    if (stream->found)
        reply_stream_await_failed(stream);
    if (stream->fini)
        stream->fini(stream);
    call_resume(stream->call);
    stream->call->stream = NULL;
}

/* Ends the HTTP stream: complete, or aborted. The call is freed. */
static void stream_finish(struct reply_stream *stream, bool is_whole)
{
    struct http_stream *http = stream->http;
    stream_detach(stream);
    if (is_whole)
        http_stream_end(http);
    else
        http_stream_break(http);
}

/* ---- sending ---- */

/* Answers with a failure instead of a stream. The call is freed. */
static void stream_refuse(struct reply_stream *stream, err why)
{
    struct call *call = stream->call;
    stream_detach(stream);
    reply_failure(call, why);
    call_answer(call);
}

static bool stream_open(struct reply_stream *stream)
{
    struct call *call = stream->call;
    const struct http_answer head = {.status = call->reply.status,
                                     .content_type = call->reply.content_type,
                                     .headers = call->reply.headers,
                                     .header_count = call->reply.header_count};
    /* Without a connection http_stream_begin() frees the request with its arena, in which the call
     * and the stream are. */
    if (call->is_client_gone) {
        stream_refuse(stream, ERR_UNKNOWN);
        return false;
    }
    call_note(call); /* the duration ends here: how long a stream lasts depends on its client */
    stream->http = http_stream_begin(call->request, &head);
    if (!stream->http)
        stream_detach(stream); /* the request was answered otherwise */
    return stream->http != NULL;
}

/* Sends the next part of the piece, at most as many bytes as an empty stream accepts: a larger part
 * would never be accepted. */
static err stream_send_some(struct reply_stream *stream, struct reply_stream_piece *piece)
{
    const struct str some =
        str_slice(piece->text, piece->out, piece->out + (uint32_t)HTTP_STREAM_LOW);
    const err e = some.len ? http_stream_put(stream->http, some) : OK;
    if (e != ERR_LIMIT)
        piece->out += some.len;
    return e;
}

/* Sends all durable pieces. False: the stream is freed. */
static bool stream_flush(struct reply_stream *stream)
{
    const struct api_engine *engine = call_engine(stream->call);
    const int64_t durable = engine->durable(engine->self);
    while (stream->first && stream->first->seen <= durable) {
        struct reply_stream_piece *piece = stream->first;
        if (!stream->http && !stream_open(stream))
            return false;
        /* The client does not read fast enough: pause until reply_stream_drained(). */
        if (http_stream_waiting(stream->http) >= UNSENT_BYTES_MAX ||
            stream_send_some(stream, piece) == ERR_LIMIT) {
            stream->is_blocked = true;
            stream_set_ready(stream, false);
            http_stream_await(stream->http);
            return true;
        }
        if (piece->out < piece->text.len)
            continue;
        const bool is_last = piece->is_last;
        stream_drop_first_piece(
            stream); /* also if the client disconnected: reply_stream_gone() follows */
        if (is_last) {
            stream_finish(stream, true);
            return false;
        }
    }
    return true;
}

/* ---- steps ---- */

/* Accounts for the memory of the stream. If it is too much, the stream is refused, or aborted if it
 * has begun. False: the stream is freed. */
static bool stream_count_memory(struct reply_stream *stream)
{
    struct call *call = stream->call;
    const size_t bytes = call->arena->held + stream->held;
    const bool is_over = call_is_over_memory(call);
    const bool fits = stream->http || http_memory_fits(call->request, bytes);
    if (!is_over && fits) {
        http_count_memory(call->request, bytes);
        return true;
    }
    if (stream->http) {
        stream_finish(stream, false);
        return false;
    }
    stream_detach(stream);
    if (is_over)
        reply_too_large(call);
    else
        reply_full(call);
    call_answer(call);
    return false;
}

/* Calls the step once and queues its piece. The piece is tagged with the turn of the core that it
 * was read from, which is taken before the step. */
static void stream_take_step(struct reply_stream *stream)
{
    struct call *call = stream->call;
    const struct api_engine *engine = call_engine(call);
    struct reply_stream_piece *piece = stream_piece_new(stream->position);
    struct buf out = buf_in(&piece->arena);
    call->seen = engine->seen(engine->self);
    const enum reply_stream_step step = stream->step(call, &out);
    piece->text = buf_str(&out);
    piece->seen = stream->ignores_durability ? 0 : call->seen;
    piece->is_last = step == STREAM_END;
    /* The step has made an ordinary reply, which replaces the stream. */
    if (step == STREAM_REPLY) {
        stream_piece_free(piece);
        must(!stream->http);
        stream_detach(stream);
        call_send_when_durable(call);
        return;
    }
    /* An empty piece is queued only if it ends the reply, or to send the headers of a stream at
     * once. */
    if (piece->text.len || piece->is_last || (stream->ignores_durability && !stream->http))
        stream_add_piece(stream, piece);
    else
        stream_piece_free(piece);
    stream->is_over = step == STREAM_END;
    if (step != STREAM_MORE)
        stream_set_ready(stream, false);
    /* Count the memory before the piece is sent: a stream that is too large can be refused with a
     * status only as long as its headers are not sent. */
    if (stream_count_memory(stream))
        ignore(stream_flush(stream), "the stream is not used after this");
}

static const struct core *stream_core(const struct reply_stream *stream)
{
    const struct api_engine *engine = call_engine(stream->call);
    return engine->core(engine->self);
}

/* Can the step be called? Pieces that wait for durability are flushed by api_durable(), which makes
 * the stream continue. While the store does not commit, all streams together hold at most the
 * memory for replies. */
static bool stream_can_step(const struct reply_stream *stream)
{
    const struct call *call = stream->call;
    return stream->is_ready && stream_core(stream) && stream->held < HELD_BYTES_MAX &&
           (!stream->held ||
            http_memory_fits(call->request, call->arena->held + stream->held + HTTP_STREAM_LOW));
}

/* The headers are not sent, and while the store is stalled the first piece would not be sent
 * either. */
static bool stream_is_stalled(const struct reply_stream *stream)
{
    const struct api_engine *engine = call_engine(stream->call);
    return !stream->http && !stream->ignores_durability && call_is_stalled(stream->call) &&
           engine->seen(engine->self) > engine->durable(engine->self);
}

bool reply_streams_pump(struct reply_streams *streams)
{
    for (struct reply_stream *stream = streams->ready_count ? streams->first : NULL, *next; stream;
         stream = next) {
        next = stream->next;
        stream->call->core = stream_core(stream);
        if (stream_is_stalled(stream))
            stream_refuse(stream, ERR_UNAVAILABLE);
        else if (stream_can_step(stream))
            stream_take_step(stream);
    }
    for (const struct reply_stream *stream = streams->ready_count ? streams->first : NULL; stream;
         stream = stream->next)
        if (stream_can_step(stream))
            return true;
    return false;
}

void reply_streams_durable(struct reply_streams *streams)
{
    for (struct reply_stream *stream = streams->first, *next; stream; stream = next) {
        next = stream->next;
        if (!stream->is_blocked)
            ignore(stream_flush(stream), "the stream is not used after this");
    }
}

/* Discards the unsent pieces, which may show lost changes, and returns to the position before them.
 * A piece that was sent in part is durable; its rest follows. */
static void stream_rewind(struct reply_stream *stream)
{
    const struct reply_stream_piece *from =
        stream->first && stream->first->out ? stream->first->next : stream->first;
    if (stream->ignores_durability || !from)
        return;
    stream->position = from->position;
    stream->is_over = false;
    if (from == stream->first)
        stream_drop_pieces(stream);
    else
        stream_drop_later_pieces(stream);
    reply_stream_wake(stream);
}

static void stream_restart_call(struct reply_stream *stream)
{
    struct call *call = stream->call;
    stream_detach(stream);
    call_restart(call);
}

/* Streams that cannot continue with another core (needs_same_core) are aborted, or their calls are
 * restarted if nothing was sent. The others are rewound. Without a core, or while the store is
 * stalled, streams that have sent nothing are refused instead of waiting. */
void reply_streams_reloaded(struct reply_streams *streams)
{
    for (struct reply_stream *stream = streams->first, *next; stream; stream = next) {
        next = stream->next;
        if (stream->needs_same_core && stream->http)
            stream_finish(stream, false);
        else if (stream->needs_same_core && stream_core(stream) && !stream_is_stalled(stream))
            stream_restart_call(stream);
        else if (!stream_is_stalled(stream) && (stream->http || stream_core(stream)))
            stream_rewind(stream);
        else
            stream_refuse(stream, ERR_UNAVAILABLE);
    }
}

void reply_streams_close(struct reply_streams *streams)
{
    while (streams->first) {
        struct reply_stream *stream = streams->first;
        if (stream->http)
            stream_finish(stream, false);
        else
            stream_refuse(stream, ERR_UNAVAILABLE);
    }
}

/* The reply is dropped by the HTTP server in both cases, but the request has to be ended. */
void reply_stream_gone(struct reply_stream *stream)
{
    if (stream->http)
        stream_finish(stream, true);
    else
        stream_refuse(stream, ERR_UNKNOWN);
}

void reply_stream_drained(struct reply_stream *stream)
{
    stream->is_blocked = false;
    if (stream_flush(stream) && !stream->is_blocked)
        reply_stream_wake(stream);
}

void reply_stream_stopping(struct reply_stream *stream)
{
    if (stream->is_infinite)
        stream_finish(stream, true);
}
