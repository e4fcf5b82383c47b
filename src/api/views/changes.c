#include "api/call/auth.h"
#include "api/call/change_feed.h"
#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/call/route.h"
#include "api/call/sse.h"

/* The objects that changed since a turn, as a document or as an event stream (docs/spec/api.md,
 * Changes). The ids come from the feed of the API (change_feed.h), which has durable changes only,
 * so nothing here waits for the store. All streams write up to the same turn at a time, so clients
 * that are not behind share one text.
 *
 * Failure: a turn that the feed does not have, because it is too old, or newer than the store, is a
 * reply with `reset`: the client reads its objects again, and then the changes after that turn. */

/* ---- parameters ---- */

struct changes_query {
    int64_t since; /* -1: from now on */
    int64_t deployment_id;
};

static bool changes_read_query(struct call *call, struct changes_query *out)
{
    static const char *const names[] = {"since", "deployment", "deployment_id", NULL};
    static const struct param_ref deployment = {"deployment", "deployment_id", TABLE_DEPLOYMENT,
                                                false};
    out->since = -1;
    if (!params_read(call, "changes"))
        return false;
    params_refuse_unknown(call, names, STR("since and deployment"));
    param_number(call, "since", 0, INT64_MAX, &out->since);
    param_ref(call, &deployment, &out->deployment_id);
    return !call->problems;
}

static struct change_feed *changes_open(const struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    struct change_feed *feed = api_change_feed(call->api);
    change_feed_read(feed, engine->durable(engine->self), engine->mono_ms(engine->self));
    return feed;
}

/* ---- document ---- */

static enum handler_result changes_reply(struct call *call, const struct changes_query *query)
{
    struct change_feed *feed = changes_open(call);
    const int64_t since = query->since < 0 ? feed->turn : query->since;
    struct str text;
    if (!change_feed_has(feed, since))
        text = change_feed_nothing(feed->turn, true, call->arena);
    else if (since == feed->turn)
        text = change_feed_nothing(since, false, call->arena);
    else
        text = str_copy(call->arena,
                        change_feed_message(feed, since, feed->turn, query->deployment_id)->text);
    call->reply = (struct reply){.status = 200, .content_type = "application/json", .body = text};
    call->seen = feed->turn;
    return SERVED_REPLY;
}

/* ---- stream ---- */

struct change_stream {
    struct reply_stream stream;
    struct changes_query query;
    int64_t at;            /* changes up to this turn were written */
    int64_t last_write_ms; /* monotonic; 0: nothing written yet */
    int64_t last_change_ms;
};

static struct str changes_turn_text(struct arena *a, int64_t turn)
{
    struct buf b = buf_in(a);
    buf_put_i64(&b, turn);
    return buf_str(&b);
}

static void changes_put_next(struct change_stream *s, struct change_feed *feed, int64_t until,
                             struct buf *out)
{
    if (!change_feed_has(feed, s->at)) {
        s->at = feed->turn;
        sse_put(out, STR("reset"), changes_turn_text(out->arena, s->at),
                change_feed_nothing(s->at, true, out->arena));
    } else if (s->at < until) {
        const struct change_message *message =
            change_feed_message(feed, s->at, until, s->query.deployment_id);
        s->at = message->to;
        sse_put(out, STR("change"), changes_turn_text(out->arena, s->at), message->text);
    }
}

static enum reply_stream_step changes_step(struct call *call, struct buf *out)
{
    struct change_stream *s = call->stream->self;
    const struct api_engine *engine = call_engine(call);
    const int64_t now = engine->mono_ms(engine->self);
    if (!auth_holds(call))
        return STREAM_END;
    struct change_feed *feed = changes_open(call);
    const int64_t until = change_feed_tick(feed, now);
    if (!s->last_write_ms && s->query.since < 0)
        s->at = feed->turn;
    /* The first write is an id, from which the client resumes if the stream breaks before the first
     * change. */
    if (!s->last_write_ms)
        sse_put_id(out, changes_turn_text(call->arena, s->at));
    if (!s->last_change_ms || now - s->last_change_ms >= CHANGE_INTERVAL_MS) {
        const uint32_t before = out->len;
        changes_put_next(s, feed, until, out);
        s->last_change_ms = out->len > before ? now : s->last_change_ms;
    }
    if (!out->len && now - s->last_write_ms >= SSE_KEEPALIVE_MS)
        sse_put_keepalive(out);
    if (out->len)
        s->last_write_ms = now;
    return STREAM_IDLE;
}

static enum handler_result changes_begin_stream(struct call *call,
                                                const struct changes_query *query)
{
    struct change_stream *s = arena_new(call->arena, struct change_stream);
    s->stream = (struct reply_stream){
        .step = changes_step, .self = s, .is_infinite = true, .ignores_durability = true};
    s->query = *query;
    /* A client that reconnects states the last turn that it received. */
    const struct str text = http_header(call->request, "Last-Event-ID");
    if (text.len && (!str_parse_i64(text, &s->query.since) || s->query.since < 0)) {
        call_refuse(call, PROBLEM_BAD_VALUE, STR("Last-Event-ID"),
                    STR("Last-Event-ID must be the number of a turn"));
        return SERVED_REPLY;
    }
    s->at = s->query.since;
    return sse_begin(call, &s->stream);
}

static enum handler_result serve_changes(struct call *call)
{
    struct changes_query query = {0};
    if (!changes_read_query(call, &query))
        return SERVED_REPLY;
    return sse_is_wanted(call) ? changes_begin_stream(call, &query) : changes_reply(call, &query);
}

static const struct route routes[] = {
    {.method = HTTP_GET,
     .pattern = V "changes",
     .serve = serve_changes,
     .form = REPLY_CUSTOM,
     .query = "since,deployment",
     .does = "the ids of objects that changed after the turn `since`, and states of noderoles; as "
             "text/event-stream: at most one message in 250 ms"},
};

const struct route_table route_table_changes = ROUTE_TABLE("changes", routes);
