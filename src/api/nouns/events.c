#include "api/call/auth.h"
#include "api/call/authorize.h"
#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/call/route.h"
#include "api/call/sse.h"
#include "api/call/streaming.h"
#include "api/rest/json_object_writer.h"
#include "api/rest/url_escape.h"
#include "http/address.h"

/* Events (rows of the audit log): search of the stored ones, and a stream of new ones.
 *
 * Owns the state of a search (struct event_search) and of a stream (struct event_stream), both in
 * the arena of their call; the text that a stream has not written yet has an arena of its own, so
 * that it is freed as soon as it is written.
 *
 * Events are read from the store, not from the core, so they are always durable. A search reads
 * batches of BATCH_MAX rows until the page is full, and stops after SCAN_MAX rows or PAGE_BYTES_MAX
 * bytes with a Link to the rest, so that a rare filter cannot make it run for ever. A stream polls:
 * whenever the durable turn has advanced, it requests the events after its cursor. A step writes
 * the text of the last query before it starts the next one, because the next result replaces it.
 *
 * Failure: if a query of a search fails, the reply is an error, without the rows found before. If a
 * query of a stream fails, the next poll repeats it; the cursor advances only over events that were
 * received. A stream whose credentials were revoked ends. Actors and addresses are for admins only:
 * others do not see them, and 403 is the reply if they filter by them.
 */

/* Events that a stream requests at once; it holds them in memory until its client has read them. */
enum { STREAM_BATCH_MAX = 50 };
enum { PAGE_BYTES_MAX = 4 << 20 }; /* a page ends early after so many bytes */
/* Events of one query of a search, events of a page, and events that one search may read. */
enum { BATCH_MAX = 500, LIMIT_DEFAULT = 100, LIMIT_MAX = 1000, SCAN_MAX = 100000 };

static const char type[] = "event";

static bool event_cursor_parse(struct str s, struct api_event_cursor *out)
{
    const uint32_t dot = str_find(s, '.', 0);
    return dot < s.len && str_parse_i64(str_slice(s, 0, dot), &out->turn) &&
           str_parse_i64(str_slice(s, dot + 1, s.len), &out->n);
}

static struct str event_cursor_format(struct arena *a, struct api_event_cursor place)
{
    struct buf b = buf_in(a);
    buf_put_i64(&b, place.turn);
    buf_put_c(&b, '.');
    buf_put_i64(&b, place.n);
    return buf_str(&b);
}

static struct api_event_cursor event_cursor(const struct event_record *e)
{
    return (struct api_event_cursor){e->turn, e->n, false};
}

/* Actor and address are returned to admins only. */
static void event_put(struct buf *b, const struct event_record *e, const struct json *wanted,
                      bool shows_actor)
{
    struct object_writer m = object_writer_open(b, wanted);
    object_put_text(&m, "id", event_cursor_format(b->arena, event_cursor(e)));
    object_put_time(&m, "at", e->at);
    if (shows_actor) {
        object_put_text(&m, "actor", e->actor);
        object_put_optional(&m, "address", e->address);
    }
    object_put_text(&m, "verb", e->verb);
    object_put_optional(&m, "object", e->object);
    if (e->object_id)
        object_put_number(&m, "object_id", e->object_id);
    object_put_json(&m, "changes", e->changes.len ? e->changes : STR("{}"));
    object_writer_close(&m);
}

/* ---- search ---- */

struct event_search {
    struct api_event_cursor at;              /* the last event that was read */
    int64_t limit;                           /* events of the page */
    int64_t since_ms, object_id;             /* 0: any; ms since 1970 */
    struct str actor, address, verb, object; /* empty: any */
    uint32_t scanned, found;                 /* events that were read, and that match */
    bool is_audit;                           /* the route is audit, not events: for the link */
    bool shows_actor;                        /* the caller is an admin */
    struct buf rows;                         /* the reply so far */
};

static bool event_matches(const struct event_search *s, const struct event_record *e)
{
    return e->at >= s->since_ms && (!s->actor.len || str_eq(s->actor, e->actor)) &&
           (!s->address.len || str_eq(s->address, e->address)) &&
           (!s->verb.len || str_eq(s->verb, e->verb)) &&
           (!s->object.len || str_eq(s->object, e->object)) &&
           (!s->object_id || s->object_id == e->object_id);
}

static void events_put_next_link(struct call *call, const struct event_search *s)
{
    struct buf b = buf_in(call->arena);
    buf_put_z(&b, s->is_audit ? "<" V "audit?after=" : "<" V "events?after=");
    buf_put_str(&b, event_cursor_format(call->arena, s->at));
    buf_put_z(&b, s->at.is_backward ? "&sort=-id" : "");
    const struct {
        const char *name;
        struct str value;
    } filters[] = {
        {"actor", s->actor}, {"address", s->address}, {"verb", s->verb}, {"object", s->object}};
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        if (!filters[i].value.len)
            continue;
        buf_put_c(&b, '&');
        buf_put_z(&b, filters[i].name);
        buf_put_c(&b, '=');
        url_escape(&b, filters[i].value);
    }
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"&since=", s->since_ms}, {"&object_id=", s->object_id}, {"&limit=", s->limit}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!numbers[i].value)
            continue;
        buf_put_z(&b, numbers[i].name);
        buf_put_i64(&b, numbers[i].value);
    }
    buf_put_z(&b, ">; rel=\"next\"");
    reply_header(call, "Link", buf_str(&b));
}

static enum handler_result events_reply_search(struct call *call, struct event_search *s,
                                               bool has_more)
{
    buf_put_c(&s->rows, ']');
    reply_json(call, type, "list", buf_str(&s->rows));
    if (has_more)
        events_put_next_link(call, s);
    return SERVED_REPLY;
}

static enum handler_result events_search_more(struct call *call);

/* Filters one batch. The page ends, in this order: when it has enough bytes (with a link), when all
 * further events are older than `since`, at the last event, or when it is full or enough events
 * were read (with a link). Otherwise the next batch is requested. */
static enum handler_result events_search_received(struct call *call, const struct record *records,
                                                  uint32_t count)
{
    struct event_search *s = call->handler_state;
    for (uint32_t i = 0; i < count && s->found < s->limit; i++) {
        if (s->rows.len >= PAGE_BYTES_MAX)
            return events_reply_search(call, s, true);
        const struct event_record *e = &records[i].event;
        s->at.turn = e->turn;
        s->at.n = e->n;
        s->scanned++;
        if (s->at.is_backward && e->at < s->since_ms)
            return events_reply_search(call, s, false); /* all further events are older */
        if (!event_matches(s, e))
            continue;
        buf_put_z(&s->rows, s->found++ ? ",\n" : "");
        event_put(&s->rows, e, call->wanted, s->shows_actor);
    }
    if (count < BATCH_MAX && s->found < s->limit)
        return events_reply_search(call, s, false);
    if (s->found == s->limit || s->scanned >= SCAN_MAX)
        return events_reply_search(call, s, true);
    return events_search_more(call);
}

static enum handler_result events_search_more(struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    const struct event_search *s = call->handler_state;
    if (!engine->events) {
        reply_error(call, 404, "not_found", STR("this daemon does not store events"));
        return SERVED_REPLY;
    }
    const int64_t number = call_wait_history(call, events_search_received);
    const err e = engine->events(engine->self, s->at, BATCH_MAX, number);
    return e == OK ? SERVED_LATER : call_history_failed(call, e);
}

static void events_read_after(struct call *call, struct str text, struct api_event_cursor *out)
{
    if (!event_cursor_parse(text, out))
        call_refuse(call, PROBLEM_BAD_VALUE, STR("after"),
                    STR("after must be the id of an event, such as 17.0"));
}

/* Reads the order, oldest or newest first, and the start. */
static void events_read_order(struct call *call, struct api_event_cursor *out)
{
    struct str sort = STR("id"), after;
    param_text(call, "sort", &sort);
    out->is_backward = str_eq(sort, STR("-id"));
    if (!out->is_backward && !str_eq(sort, STR("id")))
        call_refuse(call, PROBLEM_BAD_VALUE, STR("sort"),
                    STR("sort must be id, oldest first, or -id, newest first"));
    out->turn =
        out->is_backward ? INT64_MAX : 0; /* before the first or after the last turn of any event */
    if (param_text(call, "after", &after))
        events_read_after(call, after, out);
}

/* Addresses are compared in the normalized form in which they are stored. */
static void events_read_address(struct call *call, struct str *out)
{
    struct str text;
    struct in6_addr address;
    if (!param_text(call, "address", &text) || !text.len)
        return;
    if (!address_parse(text, &address) || address_is_unspecified(&address)) {
        call_refuse(call, PROBLEM_BAD_VALUE, STR("address"),
                    STR("address must be an IP address such as 192.0.2.7 or 2001:db8::7"));
        return;
    }
    *out = address_format(call->arena, address.s6_addr);
}

static void events_read_filters(struct call *call, struct event_search *s)
{
    static const char *const names[] = {"after",  "limit",     "since", "actor", "address", "verb",
                                        "object", "object_id", "sort",  "view",  NULL};
    params_refuse_unknown(
        call, names, STR("actor, address, verb, object, object_id, since, sort, after and limit"));
    param_number(call, "limit", 1, LIMIT_MAX, &s->limit);
    param_number(call, "object_id", 1, INT64_MAX, &s->object_id);
    param_time(call, "since", &s->since_ms);
    param_text(call, "actor", &s->actor);
    events_read_address(call, &s->address);
    param_text(call, "verb", &s->verb);
    param_text(call, "object", &s->object);
}

static enum handler_result events_begin_search(struct call *call, bool is_audit)
{
    struct event_search *s = arena_new(call->arena, struct event_search);
    if (!params_read(call, type))
        return SERVED_REPLY;
    s->limit = LIMIT_DEFAULT;
    s->is_audit = is_audit;
    events_read_order(call, &s->at);
    s->shows_actor = authorize_is_admin(call);
    events_read_filters(call, s);
    if (call->problems)
        return SERVED_REPLY;
    if ((s->actor.len || s->address.len) && !s->shows_actor) {
        authorize_refuse(call,
                         STR("only an admin may read the audit log or filter by actor or address"));
        return SERVED_REPLY;
    }
    s->rows = buf_in(call->arena);
    buf_put_c(&s->rows, '[');
    call->handler_state = s;
    return events_search_more(call);
}

/* ---- stream ---- */

struct event_stream {
    struct reply_stream stream;
    struct api_event_cursor at; /* the last event that was received */
    int64_t searched_turn;   /* durable turn at the last query; 0: query again at the next step */
    bool is_request_pending; /* a query of the store is pending */
    bool shows_actor;
    int64_t last_write_ms; /* monotonic ms; 0: nothing written yet */
    /* Formatted events that are not written to the stream yet. */
    struct arena found;
    struct buf text;
};

static void events_stream_received(struct call *call, const struct record *records, uint32_t count,
                                   err why)
{
    struct event_stream *w = call->stream->self;
    w->is_request_pending = false;
    if (why != OK) {
        w->searched_turn = 0; /* repeat the query at the next poll */
        return;
    }
    w->text = buf_in(&w->found);
    for (uint32_t i = 0; i < count; i++) {
        struct buf one = buf_in(&w->found);
        event_put(&one, &records[i].event, NULL, w->shows_actor);
        w->at = event_cursor(&records[i].event);
        sse_put(&w->text, STR("event"), event_cursor_format(&w->found, w->at), buf_str(&one));
    }
    if (count == STREAM_BATCH_MAX)
        w->searched_turn = 0; /* there may be more events of the same turn */
    reply_stream_wake(&w->stream);
}

/* Starts a query unless one is pending or no turn was committed since the last one. */
static void events_stream_request(struct call *call, struct event_stream *w)
{
    const struct api_engine *engine = call_engine(call);
    const int64_t durable = engine->durable(engine->self);
    if (w->is_request_pending || w->searched_turn >= durable)
        return;
    w->searched_turn = durable;
    w->is_request_pending = true;
    const int64_t number = reply_stream_await(&w->stream, events_stream_received);
    if (engine->events(engine->self, w->at, STREAM_BATCH_MAX, number) != OK) {
        reply_stream_await_failed(&w->stream);
        w->is_request_pending = false;
        w->searched_turn = 0;
    }
}

static enum reply_stream_step events_stream_step(struct call *call, struct buf *out)
{
    struct event_stream *w = call->stream->self;
    const struct api_engine *engine = call_engine(call);
    const int64_t now = engine->mono_ms(engine->self);
    if (!auth_holds(call))
        return STREAM_END;
    w->shows_actor = authorize_is_admin(call);
    buf_put_str(out, w->text.len ? buf_str(&w->text) : STR(""));
    arena_fini(&w->found);
    w->found = (struct arena){0};
    w->text = (struct buf){0};
    /* The first write is an id, so that the client can resume if the stream breaks before the first
     * event. */
    if (!w->last_write_ms)
        sse_put_id(out, event_cursor_format(call->arena, w->at));
    else if (!out->len && now - w->last_write_ms >= SSE_KEEPALIVE_MS)
        sse_put_keepalive(out);
    if (out->len)
        w->last_write_ms = now;
    events_stream_request(call, w);
    return STREAM_IDLE;
}

static void events_stream_fini(struct reply_stream *stream)
{
    struct event_stream *w = stream->self;
    arena_fini(&w->found);
}

static enum handler_result events_begin_stream(struct call *call)
{
    static const char *const names[] = {"after", NULL};
    struct event_stream *w = arena_new(call->arena, struct event_stream);
    params_refuse_unknown(call, names, STR("after; a stream cannot be filtered"));
    w->stream = (struct reply_stream){.step = events_stream_step,
                                      .fini = events_stream_fini,
                                      .self = w,
                                      .is_infinite = true,
                                      .ignores_durability = true};
    /* The client states the position from which it resumes; without one, the stream begins after
     * the newest event. */
    const struct api_engine *engine = call_engine(call);
    struct str text = http_header(call->request, "Last-Event-ID");
    if (text.len || http_query(call->request, STR("after"), &text))
        events_read_after(call, text, &w->at);
    else
        w->at = (struct api_event_cursor){engine->durable(engine->self), INT64_MAX, false};
    if (call->problems)
        return SERVED_REPLY;
    return sse_begin(call, &w->stream);
}

/* ---- routes ---- */

static enum handler_result serve_events(struct call *call)
{
    if (call_engine(call)->events && sse_is_wanted(call))
        return events_begin_stream(call);
    return events_begin_search(call, false);
}

static enum handler_result serve_audit(struct call *call)
{
    if (authorize_is_admin(call))
        return events_begin_search(call, true);
    authorize_refuse(call,
                     STR("only an admin may read the audit log or filter by actor or address"));
    return SERVED_REPLY;
}

static const struct route event_routes[] = {
    {.method = HTTP_GET,
     .pattern = V "events",
     .serve = serve_events,
     .form = REPLY_CUSTOM,
     .does = "stored events, oldest first, or newest first with sort=-id; as text/event-stream: "
             "new events as they are stored"},
};

static const struct route audit_routes[] = {
    {.method = HTTP_GET,
     .pattern = V "audit",
     .serve = serve_audit,
     .form = REPLY_CUSTOM,
     .does = "the audit log: events by actor, address, verb, object, object_id and since"},
};

const struct route_table route_table_events = ROUTE_TABLE("events", event_routes);
const struct route_table route_table_audit = ROUTE_TABLE("audit", audit_routes);
