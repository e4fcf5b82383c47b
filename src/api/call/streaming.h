/* streaming.h - replies that are sent in pieces, because they are long or infinite.
 *
 * The step function of a stream is called again and again and appends one piece each time, so that
 * other requests are served in between. A piece is sent when the turn that it was read from is
 * durable. If the core is dropped before that, the unsent pieces are computed again from the stored
 * position. A stream whose client does not read is paused, and the HTTP server closes it after a
 * timeout (http.h). A stream is allocated in the arena of its call and ends with it.
 */
#pragma once

#include "api/call/call.h"
#include "base/text/buf.h"

enum reply_stream_step {
    STREAM_MORE,  /* call the step again: there is more to write or to compute */
    STREAM_IDLE,  /* nothing to do until reply_stream_wake() */
    STREAM_END,   /* the reply is complete */
    STREAM_REPLY, /* send the reply of the call instead; only before the first piece */
};

struct reply_stream_piece;

struct reply_stream {
    /* Appends the next piece, possibly empty, to `out` and advances `position`. call->core is set.
     * A step should take well below a millisecond. */
    enum reply_stream_step (*step)(struct call *call, struct buf *out);
    void (*fini)(struct reply_stream *stream); /* frees what is not in the arena; may be NULL */
    void *self;                                /* context of the step */
    uint64_t position;                         /* where the next step continues */
    bool is_infinite; /* has no end: it is woken by polling, and ended when the daemon stops */
    /* Its data does not come from the core: sent without waiting for durability. */
    bool ignores_durability;
    /* Its state refers to one core: if that is dropped, the stream is aborted, or its call served
     * again if nothing was sent yet. */
    bool needs_same_core;

    /* Private to streaming.c. */
    bool is_ready;            /* the step is to be called; counted in ready_count */
    bool is_blocked;          /* the client reads too slowly: waits for reply_stream_drained() */
    bool is_over;             /* the step has returned STREAM_END */
    struct http_stream *http; /* NULL: the headers are not sent */
    struct reply_stream_piece *first, *last; /* queue of unsent pieces */
    size_t held;                             /* bytes in unsent pieces */
    struct reply_stream *next, *prev;        /* list of all streams */
    struct call *call;
    /* of reply_stream_await(); NULL: no query is pending */
    void (*found)(struct call *call, const struct record *records, uint32_t count, err why);
};

/* The headers are those of the reply of the call, which must be 200 without a body. They are sent
 * with the first piece, so a step may still change them before. */
enum handler_result reply_stream_begin(struct call *call, struct reply_stream *stream);
/* The number of infinite streams of the user or node of the call, and of all. */
uint32_t reply_streams_infinite_of(const struct call *call, uint32_t *out_all);
/* Makes the stream ready: its step is called again. */
void reply_stream_wake(struct reply_stream *stream);
/* Starts to wait for the result of a query of the history while the stream continues, and returns
 * the number for the query. `found` receives the result and may wake the stream. One query at a
 * time. The second function: the query could not be started. */
int64_t reply_stream_await(struct reply_stream *stream,
                           void (*found)(struct call *call, const struct record *records,
                                         uint32_t count, err why));
void reply_stream_await_failed(struct reply_stream *stream);

/* All streams of the API; used by api.c. */
struct reply_streams {
    struct reply_stream *first;
    uint32_t ready_count;    /* streams whose step can be called */
    uint32_t infinite_count; /* streams that are polled */
};

struct reply_streams *call_streams(const struct call *call);
/* Wakes the infinite streams: there may be new data. */
void reply_streams_poll(struct reply_streams *streams);
/* Calls one step of each stream that is ready. True: there are more. */
bool reply_streams_pump(struct reply_streams *streams);
void reply_streams_durable(struct reply_streams *streams);
void reply_streams_reloaded(struct reply_streams *streams);
/* Aborts all streams. */
void reply_streams_close(struct reply_streams *streams);
void reply_stream_found(struct reply_stream *stream, const struct record *records, uint32_t count,
                        err why);
/* From the HTTP server, about one stream: the client disconnected; the send buffer has space again;
 * the server stops. */
void reply_stream_gone(struct reply_stream *stream);
void reply_stream_drained(struct reply_stream *stream);
void reply_stream_stopping(struct reply_stream *stream);
