#include "api/call/sse.h"

#include "api/call/reply.h"

/* Server-sent events: the start of a stream, and the text format of its events. The file has no
 * state; the streams are those of streaming.c. They end when their clients close them, so their
 * number is limited for each caller and in total, in proportion to the connections of the server. A
 * stream beyond the limit is refused with 429 before its headers are made. */

bool sse_is_wanted(const struct call *call)
{
    const struct str accept = http_header(call->request, "Accept");
    const struct str type = STR("text/event-stream");
    for (uint32_t at = 0; at < accept.len; at = str_find(accept, ',', at) + 1) {
        while (at < accept.len && accept.at[at] == ' ')
            at++;
        if (str_starts(str_slice(accept, at, accept.len), type))
            return true;
    }
    return false;
}

enum handler_result sse_begin(struct call *call, struct reply_stream *stream)
{
    /* All streams together leave a quarter of the connections to other requests, however few
     * connections the limit of open files allows. */
    const uint32_t connections = http_connections_default();
    const uint32_t share = connections / 4 ? connections / 4 : 1;
    const uint32_t own_max = share < SSE_STREAMS_MAX ? share : SSE_STREAMS_MAX;
    uint32_t all;
    if (reply_streams_infinite_of(call, &all) >= own_max || all >= 3 * share) {
        reply_failure(call, ERR_LIMIT);
        return SERVED_REPLY;
    }
    reply_text(call, 200, STR(""));
    call->reply.content_type = "text/event-stream";
    reply_header(call, "Cache-Control", STR("no-store"));
    reply_header(call, "X-Accel-Buffering", STR("no")); /* nginx must not buffer the stream */
    return reply_stream_begin(call, stream);
}

static void sse_put_field(struct buf *out, const char *name, struct str value)
{
    buf_put_z(out, name);
    buf_put_str(out, value);
    buf_put_c(out, '\n');
}

void sse_put(struct buf *out, struct str event, struct str id, struct str data)
{
    sse_put_field(out, "event: ", event);
    if (id.len)
        sse_put_field(out, "id: ", id);
    sse_put_field(out, "data: ", data);
    buf_put_c(out, '\n');
}

void sse_put_id(struct buf *out, struct str id)
{
    sse_put_field(out, "id: ", id);
    buf_put_c(out, '\n');
}

void sse_put_keepalive(struct buf *out)
{
    buf_put_z(out, ":\n\n");
}
