#include "api/call/metrics.h"

#include "api/call/reply.h"
#include "api/call/route.h"

/* Request counters, and the routes /metrics and /version.
 *
 * The counters belong to the API; a reply is counted when it is sent. They are only incremented,
 * and start at 0 with the daemon. All other figures are computed from the core for each request.
 *
 * /metrics is served from the newest core, durable or not (.is_immediate), so that monitoring works
 * while the store is stalled. Within the reply only one order matters: the HELP and TYPE lines of a
 * metric (prom_head) come before its values, and no other metric is written between them.
 *
 * The handlers cannot fail. Before they are called, the API replies 503 if no core is loaded; after
 * them, it replaces a reply that exceeds the memory limits. */

/* ---- counters ---- */

void request_counts_init(struct request_counts *c)
{
    *c = (struct request_counts){.took = {.scale = &prom_quick}};
}

/* Counts a reply; `us` is the time since its request was read, in microseconds. A method has
 * COUNTED_STATUSES counters, which get their status in the order in which statuses first occur. A
 * status that finds all of them in use is counted by the last one, under the status of that one. */
void request_counts_note(struct request_counts *c, enum http_method method, int status, uint64_t us)
{
    uint32_t i = 0;
    while (i + 1 < COUNTED_STATUSES && c->by[method][i].status && c->by[method][i].status != status)
        i++;
    if (!c->by[method][i].status)
        c->by[method][i].status = status;
    c->by[method][i].count++;
    histogram_note(&c->took, us);
}

/* ---- /metrics ---- */

static void metrics_put_requests(struct call *call, struct buf *b)
{
    static const char *const methods[COUNTED_METHODS] = {
        [HTTP_GET] = "GET",     [HTTP_HEAD] = "HEAD",   [HTTP_POST] = "POST",
        [HTTP_PUT] = "PUT",     [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
        [HTTP_OTHER] = "other",
    };
    static const char name[] = "halligan_http_requests_total";
    const struct request_counts *c = call_counts(call);
    prom_head(b, name, "counter", "Requests by method and status; 499: the client disconnected.");
    for (uint32_t m = 0; m < COUNTED_METHODS; m++)
        for (uint32_t i = 0; i < COUNTED_STATUSES && c->by[m][i].status; i++) {
            struct buf code = buf_in(call->arena);
            buf_put_i64(&code, c->by[m][i].status);
            prom_put(b, name,
                     METER_LABELS({"method", str_from(methods[m])}, {"code", buf_str(&code)}),
                     c->by[m][i].count);
        }
    prom_head(b, "halligan_http_request_seconds", "histogram",
              "Time from reading a request to its reply.");
    prom_put_histogram(b, "halligan_http_request_seconds", NULL, 0, &c->took);
}

static void metrics_put_memory(struct call *call, struct buf *b)
{
    prom_put_one(b, "halligan_http_answer_bytes", "gauge",
                 "Memory of replies that are not sent yet.", http_memory_total(call->request));
    prom_put_one(b, "halligan_http_answers_refused_total", "counter",
                 "Replies refused because of the memory that they or other replies use.",
                 call_counts(call)->refused_for_memory);
}

static void metrics_put_states(struct buf *b, const char *name,
                               const uint64_t counts[NODEROLE_STATE_COUNT])
{
    for (int state = 0; state < NODEROLE_STATE_COUNT; state++)
        prom_put(b, name,
                 METER_LABELS({"state", str_from(noderole_state_name((enum noderole_state)state))}),
                 counts[state]);
}

static void metrics_put_nodes(struct call *call, struct buf *b)
{
    uint32_t counts[NODEROLE_STATE_COUNT];
    uint64_t totals[NODEROLE_STATE_COUNT] = {0};
    core_count_nodes(call->core, counts);
    for (int state = 0; state < NODEROLE_STATE_COUNT; state++)
        totals[state] = counts[state];
    prom_head(b, "halligan_nodes", "gauge", "Nodes by the combined state of their noderoles.");
    metrics_put_states(b, "halligan_nodes", totals);
}

/* The core counts noderoles for each deployment; the metric is the sum over all deployments. */
static void metrics_put_noderoles(struct call *call, struct buf *b)
{
    uint32_t counts[NODEROLE_STATE_COUNT];
    uint64_t totals[NODEROLE_STATE_COUNT] = {0};
    for (int64_t id = core_next_id(call->core, TABLE_DEPLOYMENT, 0); id;
         id = core_next_id(call->core, TABLE_DEPLOYMENT, id)) {
        core_count_noderoles(call->core, id, counts);
        for (int state = 0; state < NODEROLE_STATE_COUNT; state++)
            totals[state] += counts[state];
    }
    prom_head(b, "halligan_noderoles", "gauge", "Noderoles by state.");
    metrics_put_states(b, "halligan_noderoles", totals);
}

/* Counts the records in the table of runs; a run has one until it ends. */
static void metrics_put_runs(struct call *call, struct buf *b)
{
    enum { STATES = RUN_STOPPING + 1 };
    static const char *const states[STATES] = {[RUN_QUEUED] = "queued",
                                               [RUN_RUNNING] = "running",
                                               [RUN_PARKED] = "parked",
                                               [RUN_STOPPING] = "stopping"};
    static const char *const queues[QUEUE_COUNT] = {
        [QUEUE_NORMAL] = "normal", [QUEUE_HIGH] = "high"};
    uint64_t counts[QUEUE_COUNT][STATES] = {{0}};
    struct record record;
    for (int64_t id = core_next_id(call->core, TABLE_RUN, 0); id;
         id = core_next_id(call->core, TABLE_RUN, id))
        if (core_record(call->core, TABLE_RUN, id, &record))
            counts[record.run.queue][record.run.state]++;
    prom_head(b, "halligan_runs", "gauge", "Open runs by queue and state.");
    for (int q = 0; q < QUEUE_COUNT; q++)
        for (int s = 0; s < STATES; s++)
            prom_put(b, "halligan_runs",
                     METER_LABELS({"queue", str_from(queues[q])}, {"state", str_from(states[s])}),
                     counts[q][s]);
}

/* The metrics of the daemon (engine->metrics), then those of the core and the API. */
static enum handler_result serve_metrics(struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    struct buf b = buf_in(call->arena);
    if (engine->metrics)
        engine->metrics(engine->self, &b);
    metrics_put_nodes(call, &b);
    metrics_put_noderoles(call, &b);
    metrics_put_runs(call, &b);
    metrics_put_requests(call, &b);
    metrics_put_memory(call, &b);
    call->reply = (struct reply){.status = 200,
                                 .content_type = "text/plain; version=0.0.4; charset=utf-8",
                                 .body = buf_str(&b)};
    return SERVED_REPLY;
}

/* ---- /version ---- */

static enum handler_result serve_version(struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    const struct str version = engine->version ? str_from(engine->version) : STR("unknown");
    struct buf b = buf_in(call->arena);
    buf_put_z(&b, "{\"name\":\"halligan\",\"version\":");
    json_write_string(&b, version);
    buf_put_z(&b, ",\"api\":\"2.0\"}");
    call->reply =
        (struct reply){.status = 200, .content_type = "application/json", .body = buf_str(&b)};
    return SERVED_REPLY;
}

static const struct route routes[] = {
    {.method = HTTP_GET,
     .pattern = "/metrics",
     .serve = serve_metrics,
     .form = REPLY_TEXT,
     .is_immediate = true,
     .does = "metrics in the text format of Prometheus"},
    {.method = HTTP_GET,
     .pattern = "/version",
     .serve = serve_version,
     .form = REPLY_CUSTOM,
     .does = "name and version of the daemon"},
};

const struct route_table route_table_metrics = ROUTE_TABLE(NULL, routes);
