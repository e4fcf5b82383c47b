/* sse.h - answers as text/event-stream, which browsers and tools know how to resume. */
#pragma once

#include "api/call.h"
#include "base/buf.h"

/* Something is said at least this often, so that everybody in between knows it is alive. */
#define SSE_QUIET_MS 15000

/* Does the client ask for one? */
bool sse_is_wanted(const struct call *call);
/* The head of it as the call's reply. */
void sse_head(struct call *call);
/* One event; `data` has no line ends. */
void sse_put(struct buf *out, struct str event, struct str id, struct str data);
/* Where the client would go on from here, though nothing has happened. */
void sse_put_place(struct buf *out, struct str id);
/* Nothing, said aloud. */
void sse_breathe(struct buf *out);
