/* sse.h - answers as text/event-stream, which browsers and tools know how to resume. */
#pragma once

#include "api/call/streaming.h"

/* Something is said at least this often, so that everybody in between knows it is alive. */
#define SSE_KEEPALIVE_MS 15000

/* Does the client ask for one? */
bool sse_is_wanted(const struct call *call);
/* Each stream takes a connection, and so one user or node may have that many of them, but no more
 * than a quarter of all connections. */
#define SSE_STREAMS_MAX 64u
/* Begins the flow with the head of an event stream as its reply; or refuses it (429 `limit`),
 * because its caller or all together have too many of them already. */
enum handler_result sse_begin(struct call *call, struct reply_stream *stream);
/* One event; `data` has no line ends. */
void sse_put(struct buf *out, struct str event, struct str id, struct str data);
/* Where the client would go on from here, though nothing has happened. */
void sse_put_id(struct buf *out, struct str id);
/* Nothing, said aloud. */
void sse_put_keepalive(struct buf *out);
