#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/call/route.h"
#include "api/rest/json_object_writer.h"
#include "api/rest/row_stream.h"
#include "api/views/inventory.h"
#include "base/hash/md5.h"

/* Status endpoints for pages that poll: states without the objects (docs/spec/api.md, Status
 * endpoints). The handlers have no state and change nothing. Replies that grow with the number of
 * objects are written row by row (row_stream.h). The only failures are an unknown object and a
 * wrong parameter, which become problems, and GET anneal, which replies 409 if a noderole is in
 * ERROR. */

static enum handler_result status_reply(struct call *call, const struct buf *b)
{
    call->reply =
        (struct reply){.status = 200, .content_type = "application/json", .body = buf_str(b)};
    return SERVED_REPLY;
}

/* The states of nodes and deployments have the content type that OpenCrowbar uses for data without
 * a model. */
static enum handler_result status_reply_array(struct call *call, const struct buf *b)
{
    reply_json(call, "json", "array", buf_str(b));
    return SERVED_REPLY;
}

static enum handler_result status_reply_array_rows(struct call *call, const struct rows *rows)
{
    reply_json(call, "json", "array", STR(""));
    return reply_rows(call, rows);
}

static void status_put_id_key(struct buf *b, int64_t id)
{
    buf_put_c(b, '"');
    buf_put_i64(b, id);
    buf_put_z(b, "\":");
}

/* ---- nodes ---- */

/* Clients of OpenCrowbar expect these four keys in this order. */
static void status_put_node(struct call *call, const struct record *record, struct buf *b)
{
    const struct node_record *node = &record->node;
    const enum noderole_state state = core_node_state(call->core, node->id);
    const struct str name = str_from(noderole_state_name(state));
    struct object_writer m = object_writer_open(b, NULL);
    object_put_text(&m, "name", node->name);
    object_put_number(&m, "state", object_view_noderole_state(state));
    object_put_text(&m, "status", name);
    object_put_text(&m, "strStatus",
                    STR_CONCAT(call->arena, node->alive ? STR("alive\n") : STR("dead\n"),
                               node->available ? STR("available\n") : STR("reserved\n"), name));
    object_writer_close(&m);
}

static bool status_put_node_row(struct call *call, const struct rows *rows, int64_t id,
                                struct buf *out)
{
    (void)rows;
    struct record record;
    if (!core_record(call->core, TABLE_NODE, id, &record))
        return false;
    status_put_id_key(out, id);
    status_put_node(call, &record, out);
    return true;
}

static enum handler_result serve_status_nodes(struct call *call)
{
    return status_reply_array_rows(call, &(struct rows){.head = STR("{"),
                                                        .tail = STR("}"),
                                                        .table = TABLE_NODE,
                                                        .put = status_put_node_row});
}

static enum handler_result serve_status_node(struct call *call)
{
    struct record record;
    if (!resource_find(call, &resource_nodes, call->keys[0], &record))
        return SERVED_REPLY;
    struct buf b = buf_in(call->arena);
    buf_put_c(&b, '{');
    status_put_id_key(&b, record.id);
    status_put_node(call, &record, &b);
    buf_put_c(&b, '}');
    return status_reply_array(call, &b);
}

/* ---- deployments and snapshots ---- */

/* A hash of the ids of the noderoles, by which a page detects that their set has changed. */
static struct str status_noderoles_md5(struct call *call, const int64_t *ids, uint32_t count)
{
    uint8_t digest[16];
    struct arena scratch = {0};
    struct buf joined = buf_in(&scratch), hex = buf_in(call->arena);
    if (count == 0)
        return STR("");
    for (uint32_t i = 0; i < count; i++) {
        buf_put_z(&joined, i ? "_" : "");
        buf_put_i64(&joined, ids[i]);
    }
    md5(buf_str(&joined), digest);
    arena_fini(&scratch);
    buf_put_hex(&hex, digest, sizeof digest);
    return buf_str(&hex);
}

static bool status_put_noderole_row(struct call *call, const struct rows *rows, int64_t id,
                                    struct buf *out)
{
    (void)rows;
    struct record record;
    if (!core_record(call->core, TABLE_NODEROLE, id, &record))
        return false;
    status_put_id_key(out, id);
    struct object_writer m = object_writer_open(out, NULL);
    object_put_number(&m, "state", object_view_noderole_state(record.noderole.state));
    object_put_text(&m, "status", str_from(noderole_state_name(record.noderole.state)));
    object_writer_close(&m);
    return true;
}

/* States of the noderoles of a deployment or snapshot. deployment_id 0: there are none. The members
 * before "node_roles" are the head of the rows, because that key is the last one. */
static enum handler_result status_reply_states(struct call *call, int64_t id, int64_t state,
                                               const char *status, int64_t deployment_id)
{
    uint32_t count;
    const int64_t *ids = core_noderoles_in(call->core, deployment_id, call->arena, &count);
    struct buf b = buf_in(call->arena);
    struct object_writer m = object_writer_open(&b, call->wanted);
    object_put_number(&m, "id", id);
    object_put_number(&m, "state", state);
    object_put_text(&m, "status", str_from(status));
    object_put_text(&m, "md5", status_noderoles_md5(call, ids, count));
    if (!object_put_key(&m, "node_roles")) {
        object_writer_close(&m);
        return status_reply_array(call, &b);
    }
    buf_put_c(&b, '{');
    return status_reply_array_rows(call, &(struct rows){.head = buf_str(&b),
                                                        .tail = STR("}}"),
                                                        .ids = ids,
                                                        .count = count,
                                                        .put = status_put_noderole_row});
}

/* Without an id: a reply of the same form with the id -1. */
static enum handler_result serve_status_placeholder(struct call *call)
{
    return status_reply_states(call, -1, -1, "unknown", 0);
}

static enum handler_result serve_status_deployment(struct call *call)
{
    struct record record;
    if (!resource_find(call, &resource_deployments, call->keys[0], &record))
        return SERVED_REPLY;
    const int64_t state =
        object_view_deployment_state(core_deployment_state(call->core, record.id));
    return status_reply_states(call, record.id, state,
                               object_view_state_name(PROP_DEPLOYMENT_STATE, state), record.id);
}

/* The states of noderoles in an archived snapshot are not stored. */
static enum handler_result serve_status_snapshot(struct call *call)
{
    struct record record;
    if (!resource_find(call, &resource_snapshots, call->keys[0], &record))
        return SERVED_REPLY;
    const bool is_head = record.snapshot.state != SNAPSHOT_ARCHIVED;
    const int64_t state = object_view_snapshot_state(call->core, &record.snapshot);
    return status_reply_states(call, record.id, state,
                               object_view_state_name(PROP_SNAPSHOT_STATE, state),
                               is_head ? record.snapshot.deployment_id : 0);
}

/* ---- runs and counts ---- */

static const char *const queue_names[QUEUE_COUNT] = {
    [QUEUE_NORMAL] = "normal", [QUEUE_HIGH] = "high"};

static bool status_run_is_busy(const struct run_record *run)
{
    return run->state == RUN_RUNNING || run->state == RUN_STOPPING;
}

static bool status_put_run_row(struct call *call, const struct rows *rows, int64_t id,
                               struct buf *out)
{
    (void)rows;
    struct record record;
    if (!core_record(call->core, TABLE_RUN, id, &record))
        return false;
    struct object_writer m = object_writer_open(out, NULL);
    object_put_number(&m, "id", id);
    object_put_number(&m, "node_id", record.run.node_id);
    object_put_number(&m, "node_role_id", record.run.noderole_id);
    object_put_text(&m, "queue", str_from(queue_names[record.run.queue]));
    object_put_bool(&m, "running", status_run_is_busy(&record.run));
    object_writer_close(&m);
    return true;
}

static void status_put_workers(struct call *call, struct buf *b)
{
    const struct core *core = call->core;
    uint32_t busy[QUEUE_COUNT] = {0};
    struct record settings, record;
    must(core_record(core, TABLE_SETTINGS, 1, &settings));
    const uint32_t sizes[QUEUE_COUNT] = {
        [QUEUE_NORMAL] = settings.settings.pool_normal, [QUEUE_HIGH] = settings.settings.pool_high};
    for (int64_t id = core_next_id(core, TABLE_RUN, 0); id; id = core_next_id(core, TABLE_RUN, id))
        if (core_record(core, TABLE_RUN, id, &record))
            busy[record.run.queue] += status_run_is_busy(&record.run);
    for (int q = 0; q < QUEUE_COUNT; q++) {
        buf_put_z(b, q ? "," : "[");
        struct object_writer worker = object_writer_open(b, NULL);
        object_put_text(&worker, "queue", str_from(queue_names[q]));
        object_put_number(&worker, "size", sizes[q]);
        object_put_number(&worker, "busy", busy[q]);
        object_writer_close(&worker);
    }
    buf_put_c(b, ']');
}

static enum handler_result serve_status_queue(struct call *call)
{
    struct buf b = buf_in(call->arena);
    struct object_writer m = object_writer_open(&b, call->wanted);
    if (object_put_key(&m, "workers"))
        status_put_workers(call, &b);
    if (!object_put_key(&m, "jobs")) {
        object_writer_close(&m);
        return status_reply(call, &b);
    }
    buf_put_c(&b, '[');
    call->reply = (struct reply){.status = 200, .content_type = "application/json"};
    return reply_rows(call, &(struct rows){.head = buf_str(&b),
                                           .tail = STR("]}"),
                                           .table = TABLE_RUN,
                                           .put = status_put_run_row});
}

/* Counts the noderoles of all deployments by state; those with a PROPOSED head only on request. */
static void status_count_noderoles(const struct core *core, bool with_proposed,
                                   int64_t out_counts[NODEROLE_STATE_COUNT])
{
    uint32_t counts[NODEROLE_STATE_COUNT];
    for (int state = 0; state < NODEROLE_STATE_COUNT; state++)
        out_counts[state] = 0;
    for (int64_t id = core_next_id(core, TABLE_DEPLOYMENT, 0); id;
         id = core_next_id(core, TABLE_DEPLOYMENT, id)) {
        if (!with_proposed && core_deployment_state(core, id) == DEPLOYMENT_PROPOSED)
            continue;
        core_count_noderoles(core, id, counts);
        for (int state = 0; state < NODEROLE_STATE_COUNT; state++)
            out_counts[state] += counts[state];
    }
}

/* The parameter `marker` is the start of the elapsed time, which is returned in seconds. Noderoles
 * that are neither ACTIVE nor in ERROR count as "todo". */
static enum handler_result serve_heartbeat(struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    int64_t counts[NODEROLE_STATE_COUNT], total = 0, marker = 0;
    if (!params_read(call, "heartbeat"))
        return SERVED_REPLY;
    const bool marked = param_time(call, "marker", &marker);
    if (call->problems)
        return SERVED_REPLY;
    const int64_t elapsed_ms = marked ? engine->now_ms(engine->self) - marker : 0;
    status_count_noderoles(call->core, true, counts);
    for (int state = 0; state < NODEROLE_STATE_COUNT; state++)
        total += counts[state];
    struct buf b = buf_in(call->arena);
    struct object_writer m = object_writer_open(&b, call->wanted);
    object_put_number(&m, "active", counts[NODEROLE_ACTIVE]);
    object_put_number(&m, "todo", total - counts[NODEROLE_ERROR] - counts[NODEROLE_ACTIVE]);
    object_put_number(&m, "error", counts[NODEROLE_ERROR]);
    object_put_number(&m, "elapsed", elapsed_ms > 0 ? elapsed_ms / 1000 : 0);
    object_writer_close(&m);
    return status_reply(call, &b);
}

/* Are all committed noderoles done? The request does not start anything. */
static enum handler_result serve_anneal(struct call *call)
{
    int64_t counts[NODEROLE_STATE_COUNT];
    status_count_noderoles(call->core, false, counts);
    if (counts[NODEROLE_ERROR]) {
        reply_error(call, 409, "failed", STR("failed"));
        return SERVED_REPLY;
    }
    const bool works = counts[NODEROLE_TRANSITION], waits = counts[NODEROLE_TODO];
    reply_message(call, "anneal",
                  works   ? STR("working")
                  : waits ? STR("scheduled")
                          : STR("finished"));
    call->reply.status = works || waits ? 202 : 200;
    return SERVED_REPLY;
}

/* ---- routes ---- */

#define ROUTE_STATUS(path, handler, summary)                                                       \
    {                                                                                              \
        .method = HTTP_GET, .pattern = "/api/status/" path, .serve = handler,                      \
        .form = REPLY_CUSTOM, .does = summary                                                      \
    }

static const struct route routes[] = {
    ROUTE_STATUS("nodes", serve_status_nodes, "the states of all nodes, by id"),
    ROUTE_STATUS("nodes/:id", serve_status_node, "the state of a node"),
    ROUTE_STATUS("deployments", serve_status_placeholder,
                 "a reply of the same form with the id -1"),
    ROUTE_STATUS("deployments/:id", serve_status_deployment,
                 "the state of a deployment and of its noderoles"),
    ROUTE_STATUS("snapshots", serve_status_placeholder, "a reply of the same form with the id -1"),
    ROUTE_STATUS("snapshots/:id", serve_status_snapshot,
                 "the state of a snapshot and of its noderoles"),
    ROUTE_STATUS("queue", serve_status_queue, "workers and open runs"),
    ROUTE_STATUS("heartbeat", serve_heartbeat,
                 "the numbers of noderoles that are active, to do and in error"),
    ROUTE_STATUS("inventory", serve_inventory, "all nodes as an Ansible inventory"),
    ROUTE_STATUS(
        "inventory/:id", serve_inventory,
        "the nodes of a deployment and of the deployments below it as an Ansible inventory"),
};

const struct route_table route_table_status = ROUTE_TABLE(NULL, routes);

static const struct route anneal_routes[] = {
    {.method = HTTP_GET,
     .pattern = V "anneal",
     .serve = serve_anneal,
     .form = REPLY_MESSAGE,
     .does = "200: all committed noderoles are done; 202: not yet; 409: one is in error"},
};

const struct route_table route_table_anneal = ROUTE_TABLE("anneal", anneal_routes);
