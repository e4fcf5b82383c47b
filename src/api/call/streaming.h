/* streaming.h - an answer that is told in pieces, because it is long or has no end.
 *
 * A call whose handler begins a flow is asked for one piece after the other, a little at a time, so
 * that nobody else waits for it. A piece leaves when the turn it was read in is durable; when the
 * core is dropped before that, the pieces that did not leave are made again. A client that does
 * not read is waited for, then cut (http.h). The flow lives in the call's arena and ends with it.
 */
#pragma once

#include "api/call/call.h"
#include "base/text/buf.h"

enum reply_stream_step {
    STREAM_MORE,  /* there is more to say, or to find out                               */
    STREAM_IDLE,  /* nothing until reply_stream_wake()                                          */
    STREAM_END,   /* that was all                                                       */
    STREAM_REPLY, /* the call's reply is the answer after all: nothing was said before  */
};

struct reply_stream_piece;

struct reply_stream {
    /* Append the next piece to `out`, which may stay empty, and move `place` behind it. The call's
     * core is there. Each step should take well below a millisecond. */
    enum reply_stream_step (*step)(struct call *call, struct buf *out);
    void (*fini)(struct reply_stream *stream); /* may be NULL: free what the arena does not hold */
    void *self;                                /* the step's own                                 */
    uint64_t position;                         /* where the step goes on */
    bool is_infinite;        /* it is cut when the daemon stops, and never says that it is whole */
    bool ignores_durability; /* what it says does not come from the core                         */
    bool needs_same_core; /* what it keeps was read from a core that must not be dropped: then it is
                          * cut, or its call is served anew if nothing was said               */

    /* Of streaming.c. */
    bool is_ready, is_blocked, is_over;
    struct http_stream *http; /* NULL: the head is not out */
    struct reply_stream_piece *first, *last;
    size_t held; /* bytes in pieces */
    struct reply_stream *next, *prev;
    struct call *call;
    void (*found)(struct call *call, const struct record *records, uint32_t count, err why);
};

/* The head is the call's reply, which is 200 and has no body; it leaves with the first piece, so a
 * step may still change it before that. */
enum handler_result reply_stream_begin(struct call *call, struct reply_stream *stream);
/* How many flows without an end the call's user or node has, and how many there are. */
uint32_t reply_streams_infinite_of(const struct call *call, uint32_t *out_all);
/* There is something to say again. */
void reply_stream_wake(struct reply_stream *stream);
/* The number under which the engine tells what it finds when it looks back, while the flow goes on;
 * `found` hears of it and may wake the flow. One at a time. The second: nobody was asked after
 * all. */
int64_t reply_stream_await(struct reply_stream *stream,
                           void (*found)(struct call *call, const struct record *records,
                                         uint32_t count, err why));
void reply_stream_await_failed(struct reply_stream *stream);

/* What the life of a call (api.c) needs. */
struct reply_streams {
    struct reply_stream *first;
    uint32_t ready_count;    /* flows that can be asked      */
    uint32_t infinite_count; /* flows that want to be woken now and then */
};

struct reply_streams *call_streams(const struct call *call);
/* Wake those without an end: something may have come. */
void reply_streams_poll(struct reply_streams *streams);
/* One piece of each that has any. True: there is more. */
bool reply_streams_pump(struct reply_streams *streams);
void reply_streams_durable(struct reply_streams *streams);
void reply_streams_reloaded(struct reply_streams *streams);
/* All end here, cut. */
void reply_streams_close(struct reply_streams *streams);
void reply_stream_found(struct reply_stream *stream, const struct record *records, uint32_t count,
                        err why);
/* From the HTTP server, about one. */
void reply_stream_gone(struct reply_stream *stream);
void reply_stream_drained(struct reply_stream *stream);
void reply_stream_stopping(struct reply_stream *stream);
