#include "api/call/streaming.h"

#include <stdlib.h>

#include "api/call/reply.h"

/* What one flow may hold back before it is asked for more, and what may wait in its stream before
 * it waits for its client. */
enum { HELD_MAX = 1 << 20, WAITING_MAX = 256 << 10 };

struct reply_stream_piece {
    struct arena arena; /* the text lies here */
    struct str text;
    uint32_t out;   /* as much of it has left                  */
    int64_t seen;   /* leaves when this turn is durable        */
    uint64_t place; /* where the flow was before it            */
    bool is_last;   /* what comes with it is the end           */
    struct reply_stream_piece *next;
};

static void count_ready(struct reply_stream *flow, bool is_ready)
{
    struct flows *flows = call_flows(flow->call);
    if (flow->is_ready == is_ready)
        return;
    flow->is_ready = is_ready;
    flows->ready += is_ready ? 1 : (uint32_t)-1;
}

void reply_stream_wake(struct reply_stream *flow)
{
    if (!flow->is_over && !flow->is_blocked)
        count_ready(flow, true);
}

enum handler_result reply_stream_begin(struct call *call, struct reply_stream *flow)
{
    struct flows *flows = call_flows(call);
    must(!call->flow && call->reply.status == 200);
    call->flow = flow;
    flow->call = call;
    flow->next = flows->first;
    if (flows->first)
        flows->first->prev = flow;
    flows->first = flow;
    flows->endless += flow->is_endless;
    call_wait(call, WAITS_FLOW);
    reply_stream_wake(flow);
    return SERVED_LATER;
}

uint32_t flows_endless_of(const struct call *call, uint32_t *out_all)
{
    uint32_t count = 0;
    *out_all = 0;
    for (const struct reply_stream *flow = call_flows(call)->first; flow; flow = flow->next) {
        *out_all += flow->is_endless;
        count += flow->is_endless && flow->call->caller.user_id == call->caller.user_id &&
                 flow->call->caller.node_id == call->caller.node_id;
    }
    return count;
}

int64_t reply_stream_await(struct reply_stream *flow,
                           void (*found)(struct call *call, const struct record *records,
                                         uint32_t count, err why))
{
    must(!flow->found);
    flow->found = found;
    return call_take_number(flow->call);
}

void reply_stream_await_failed(struct reply_stream *flow)
{
    flow->found = NULL;
    call_drop_number(flow->call);
}

void reply_stream_found(struct reply_stream *flow, const struct record *records, uint32_t count,
                        err why)
{
    struct call *call = flow->call;
    void (*found)(struct call *, const struct record *, uint32_t, err) = flow->found;
    reply_stream_await_failed(flow);
    found(call, records, count, why);
}

void flows_beat(struct flows *flows)
{
    for (struct reply_stream *flow = flows->endless ? flows->first : NULL; flow; flow = flow->next)
        if (flow->is_endless)
            reply_stream_wake(flow);
}

/* ---- pieces ---- */

static struct reply_stream_piece *piece_new(uint64_t place)
{
    struct reply_stream_piece *piece = calloc(1, sizeof *piece);
    must(piece);
    piece->place = place;
    return piece;
}

static void piece_free(struct reply_stream_piece *piece)
{
    arena_fini(&piece->arena);
    free(piece);
}

static void add_piece(struct reply_stream *flow, struct reply_stream_piece *piece)
{
    *(flow->last ? &flow->last->next : &flow->first) = piece;
    flow->last = piece;
    flow->held += piece->text.len;
}

static void drop_first(struct reply_stream *flow)
{
    struct reply_stream_piece *piece = flow->first;
    flow->first = piece->next;
    if (!flow->first)
        flow->last = NULL;
    flow->held -= piece->text.len;
    piece_free(piece);
}

static void drop_all(struct reply_stream *flow)
{
    while (flow->first)
        drop_first(flow);
}

static void drop_behind_first(struct reply_stream *flow)
{
    struct reply_stream_piece *piece = flow->first->next;
    flow->first->next = NULL;
    flow->last = flow->first;
    flow->held = flow->first->text.len;
    while (piece) {
        struct reply_stream_piece *next = piece->next;
        piece_free(piece);
        piece = next;
    }
}

/* ---- the end ---- */

/* Out of every list; the call is its own again. */
static void leave(struct reply_stream *flow)
{
    struct flows *flows = call_flows(flow->call);
    count_ready(flow, false);
    drop_all(flow);
    *(flow->prev ? &flow->prev->next : &flows->first) = flow->next;
    if (flow->next)
        flow->next->prev = flow->prev;
    flows->endless -= flow->is_endless;
    if (flow->found)
        reply_stream_await_failed(flow);
    if (flow->fini)
        flow->fini(flow);
    call_resume(flow->call);
    flow->call->flow = NULL;
}

/* The call and everything in it is gone afterwards. */
static void finish(struct reply_stream *flow, bool is_whole)
{
    struct http_stream *stream = flow->stream;
    leave(flow);
    if (is_whole)
        http_stream_end(stream);
    else
        http_stream_break(stream);
}

/* ---- letting out ---- */

static bool open_stream(struct reply_stream *flow)
{
    struct call *call = flow->call;
    const struct http_answer head = {.status = call->reply.status,
                                     .content_type = call->reply.content_type,
                                     .headers = call->reply.headers,
                                     .header_count = call->reply.header_count};
    call_note(call); /* how long it goes on is up to its client */
    flow->stream = http_stream_begin(call->request, &head);
    if (!flow->stream)
        leave(flow); /* the request is over */
    return flow->stream != NULL;
}

/* Some more of the piece, no more than a stream takes that has nothing to send: what is larger than
 * a stream may hold would wait for ever. */
static err put_some(struct reply_stream *flow, struct reply_stream_piece *piece)
{
    const struct str some =
        str_slice(piece->text, piece->out, piece->out + (uint32_t)HTTP_STREAM_LOW);
    const err e = some.len ? http_stream_put(flow->stream, some) : OK;
    if (e != ERR_LIMIT)
        piece->out += some.len;
    return e;
}

/* Everything that is durable goes out. False: the flow is gone. */
static bool let_out(struct reply_stream *flow)
{
    const struct api_engine *engine = call_engine(flow->call);
    const int64_t durable = engine->durable(engine->self);
    while (flow->first && flow->first->seen <= durable) {
        struct reply_stream_piece *piece = flow->first;
        if (!flow->stream && !open_stream(flow))
            return false;
        if (http_stream_waiting(flow->stream) >= WAITING_MAX ||
            put_some(flow, piece) == ERR_LIMIT) {
            flow->is_blocked = true;
            count_ready(flow, false);
            http_stream_await(flow->stream);
            return true;
        }
        if (piece->out < piece->text.len)
            continue;
        const bool is_last = piece->is_last;
        drop_first(flow); /* also when nobody reads: gone() will say so */
        if (is_last) {
            finish(flow, true);
            return false;
        }
    }
    return true;
}

/* ---- going on ---- */

static void answer_instead(struct reply_stream *flow)
{
    struct call *call = flow->call;
    must(!flow->stream);
    leave(flow);
    call_send_when_durable(call);
}

static void refuse_unbegun(struct reply_stream *flow, err why)
{
    struct call *call = flow->call;
    leave(flow);
    reply_failure(call, why);
    call_answer(call);
}

/* What the flow keeps is counted with the answers of all others. Where it is too much the flow is
 * refused, or cut if it has begun. False: the flow is gone. */
static bool is_bounded(struct reply_stream *flow)
{
    struct call *call = flow->call;
    const size_t bytes = call->arena->held + flow->held;
    const bool is_over = call_is_over(call);
    const bool fits = flow->stream || http_may_hold(call->request, bytes);
    if (!is_over && fits) {
        http_hold(call->request, bytes);
        return true;
    }
    if (flow->stream) {
        finish(flow, false);
        return false;
    }
    leave(flow);
    if (is_over)
        reply_too_large(call);
    else
        reply_full(call);
    call_answer(call);
    return false;
}

static void ask(struct reply_stream *flow)
{
    struct call *call = flow->call;
    const struct api_engine *engine = call_engine(call);
    struct reply_stream_piece *piece = piece_new(flow->place);
    struct buf out = buf_in(&piece->arena);
    call->seen = engine->seen(engine->self);
    const enum reply_stream_step step = flow->step(call, &out);
    piece->text = buf_str(&out);
    piece->seen = flow->is_timeless ? 0 : call->seen;
    piece->is_last = step == FLOW_END;
    if (step == FLOW_REPLY) {
        piece_free(piece);
        answer_instead(flow);
        return;
    }
    if (piece->text.len || piece->is_last || (flow->is_timeless && !flow->stream))
        add_piece(flow, piece);
    else
        piece_free(piece);
    flow->is_over = step == FLOW_END;
    if (step != FLOW_MORE)
        count_ready(flow, false);
    if (is_bounded(flow))
        ignore(let_out(flow), "it is looked at no more here");
}

static const struct core *core_of(const struct reply_stream *flow)
{
    const struct api_engine *engine = call_engine(flow->call);
    return engine->core(engine->self);
}

/* What is held back is let out by the store, which wakes everybody; so does a core that is there
 * again. While the store does not go on, all flows together hold no more than answers may. */
static bool can_be_asked(const struct reply_stream *flow)
{
    const struct call *call = flow->call;
    return flow->is_ready && core_of(flow) && flow->held < HELD_MAX &&
           (!flow->held ||
            http_may_hold(call->request, call->arena->held + flow->held + HTTP_STREAM_LOW));
}

/* The head has not left, and with a stalled store its first piece would not leave either. */
static bool is_held_by_stall(const struct reply_stream *flow)
{
    const struct api_engine *engine = call_engine(flow->call);
    return !flow->stream && !flow->is_timeless && call_is_stalled(flow->call) &&
           engine->seen(engine->self) > engine->durable(engine->self);
}

bool flows_pump(struct flows *flows)
{
    for (struct reply_stream *flow = flows->ready ? flows->first : NULL, *next; flow; flow = next) {
        next = flow->next;
        flow->call->core = core_of(flow);
        if (is_held_by_stall(flow))
            refuse_unbegun(flow, ERR_UNAVAILABLE);
        else if (can_be_asked(flow))
            ask(flow);
    }
    for (const struct reply_stream *flow = flows->ready ? flows->first : NULL; flow;
         flow = flow->next)
        if (can_be_asked(flow))
            return true;
    return false;
}

void flows_durable(struct flows *flows)
{
    for (struct reply_stream *flow = flows->first, *next; flow; flow = next) {
        next = flow->next;
        if (!flow->is_blocked)
            ignore(let_out(flow), "it is looked at no more here");
    }
}

/* What was seen and did not leave may never have been. What left in part is durable, and the rest
 * of it follows. */
static void look_again(struct reply_stream *flow)
{
    const struct reply_stream_piece *from =
        flow->first && flow->first->out ? flow->first->next : flow->first;
    if (flow->is_timeless || !from)
        return;
    flow->place = from->place;
    flow->is_over = false;
    if (from == flow->first)
        drop_all(flow);
    else
        drop_behind_first(flow);
    reply_stream_wake(flow);
}

static void serve_anew(struct reply_stream *flow)
{
    struct call *call = flow->call;
    leave(flow);
    call_restart(call);
}

/* When there is no core to look again in, those who have heard nothing need not wait for one. */
void flows_reloaded(struct flows *flows)
{
    for (struct reply_stream *flow = flows->first, *next; flow; flow = next) {
        next = flow->next;
        if (flow->is_of_one_core && flow->stream)
            finish(flow, false);
        else if (flow->is_of_one_core && core_of(flow) && !is_held_by_stall(flow))
            serve_anew(flow);
        else if (!is_held_by_stall(flow) && (flow->stream || core_of(flow)))
            look_again(flow);
        else
            refuse_unbegun(flow, ERR_UNAVAILABLE);
    }
}

void flows_end(struct flows *flows)
{
    while (flows->first) {
        struct reply_stream *flow = flows->first;
        if (flow->stream)
            finish(flow, false);
        else
            refuse_unbegun(flow, ERR_UNAVAILABLE);
    }
}

void reply_stream_gone(struct reply_stream *flow)
{
    if (flow->stream)
        finish(flow, true);
    else
        refuse_unbegun(flow, ERR_UNKNOWN);
}

void reply_stream_drained(struct reply_stream *flow)
{
    flow->is_blocked = false;
    if (let_out(flow) && !flow->is_blocked)
        reply_stream_wake(flow);
}

void reply_stream_stopping(struct reply_stream *flow)
{
    if (flow->is_endless)
        finish(flow, true);
}
