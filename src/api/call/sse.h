/* sse.h - replies as text/event-stream (server-sent events, WHATWG HTML). */
#pragma once

#include "api/call/streaming.h"

/* Interval of keep-alive comments in ms, so that proxies do not close an idle stream. */
#define SSE_KEEPALIVE_MS 15000

/* Does the Accept header request an event stream? */
bool sse_is_wanted(const struct call *call);
/* Each stream occupies a connection, so one user or node may have at most this many streams, and at
 * most a quarter of all connections. */
#define SSE_STREAMS_MAX 64u
/* Begins the stream with the headers of an event stream; or refuses it (429 `limit`) if the caller
 * or all callers together have too many. */
enum handler_result sse_begin(struct call *call, struct reply_stream *stream);
/* Writes one event; `data` must not contain newlines. */
void sse_put(struct buf *out, struct str event, struct str id, struct str data);
/* Writes an id without an event: the position from which the client resumes after a reconnect. */
void sse_put_id(struct buf *out, struct str id);
/* Writes a comment as a keep-alive. */
void sse_put_keepalive(struct buf *out);
