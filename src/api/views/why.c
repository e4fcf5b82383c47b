#include "api/views/graph.h"

#include "api/call/refused_reports.h"
#include "api/call/reply.h"
#include "api/call/route.h"
#include "api/call/streaming.h"
#include "api/rest/json_object_writer.h"

/* Why an object is not ACTIVE: the chain of causes down to the first one, for a deployment also all
 * first causes in groups, and faults of the installation.
 *
 * The causes come from the core; a power action that failed and is about to be retried, and what
 * boot servers reported about a machine, are known to the daemon only and are appended. A
 * deployment is walked in steps of a stream, which writes no pieces: the last step makes the whole
 * reply.
 *
 * Owns the walk of a deployment (struct why_walk of the core). It is closed when the reply is made
 * at once, otherwise by long_why_fini(), however the stream ends.
 *
 * Failure: while the store is stalled and the core has changes that are not durable, only the
 * faults of the installation are returned, because nothing else may be shown. This is tested before
 * the object is searched, because even its existence may not be durable. If the core is dropped
 * during a walk, the call is served again (needs_same_core); if the deployment is deleted, the
 * reply is 404.
 */

/* ---- one cause ---- */

/* Identifies a noderole by the names of its node and role. */
static void why_put_noderole(struct call *call, struct object_writer *m, int64_t id)
{
    struct record noderole;
    if (!id || !core_record(call->core, TABLE_NODEROLE, id, &noderole))
        return;
    object_put_number(m, "node_role_id", id);
    object_put_optional(
        m, "node", object_name(call->core, TABLE_NODE, noderole.noderole.node_id, call->arena));
    object_put_optional(
        m, "role", object_name(call->core, TABLE_ROLE, noderole.noderole.role_id, call->arena));
}

static void why_put_members(struct call *call, struct object_writer *m, const struct cause *cause)
{
    object_put_text(m, "code", str_from(cause_code_name(cause)));
    object_put_text(m, "object", str_from(object_noun(cause->object)));
    object_put_number(m, "object_id", cause->object_id);
    object_put_optional(m, "name",
                        object_name(call->core, cause->object, cause->object_id, call->arena));
    object_put_optional(m, "subject", cause->subject);
    object_put_time(m, "since", cause->since);
    object_put_text(m, "text", refused_reports_explain(call_refusals(call), call, cause));
}

static void why_put_cause(struct call *call, const struct cause *cause, struct buf *b)
{
    struct object_writer m = object_writer_open(b, NULL);
    why_put_members(call, &m, cause);
    why_put_noderole(call, &m, cause->noderole_id);
    object_writer_close(&m);
}

void why_put_causes(struct call *call, const struct cause *first, struct buf *b)
{
    buf_put_c(b, '[');
    for (const struct cause *cause = first; cause; cause = cause->next) {
        buf_put_z(b, cause == first ? "" : ",\n");
        why_put_cause(call, cause, b);
    }
    buf_put_c(b, ']');
}

/* ---- what only the daemon has ---- */

static int64_t why_node_of(struct call *call, const struct cause *last)
{
    struct record noderole;
    if (last->object == TABLE_NODE)
        return last->object_id;
    return last->noderole_id &&
                   core_record(call->core, TABLE_NODEROLE, last->noderole_id, &noderole)
               ? noderole.noderole.node_id
               : 0;
}

static void why_put_reason(struct call *call, int64_t node_id, const struct reason *why,
                           struct buf *b)
{
    buf_put_z(b, ",\n");
    why_put_cause(call,
                  &(struct cause){.code = CAUSE_REASON,
                                  .reason = why->code,
                                  .subject = why->subject,
                                  .object = TABLE_NODE,
                                  .object_id = node_id,
                                  .text = why->text},
                  b);
}

/* The core has the order; the failure before a retry is known to the daemon only. */
static void why_put_power_retry(struct call *call, int64_t node_id, struct buf *b)
{
    const struct api_engine *engine = call_engine(call);
    struct reason why;
    if (!node_id || !engine->power_retry ||
        !engine->power_retry(engine->self, node_id, call->arena, &why))
        return;
    why.code = REASON_POWER_RETRYING;
    why_put_reason(call, node_id, &why, b);
}

/* A machine that is not alive: what it was answered when it booted last. */
static void why_put_boot_reason(struct call *call, int64_t node_id, struct buf *b)
{
    const struct api_engine *engine = call_engine(call);
    struct reason why;
    struct record node;
    if (node_id && engine->boot_reason && core_record(call->core, TABLE_NODE, node_id, &node) &&
        !node.node.alive && !node.node.system &&
        engine->boot_reason(engine->self, node_id, call->arena, &why))
        why_put_reason(call, node_id, &why, b);
}

static void why_put_chain(struct call *call, const struct cause *first, struct buf *b)
{
    const struct cause *last = first;
    buf_put_c(b, '[');
    for (const struct cause *cause = first; cause; cause = cause->next) {
        buf_put_z(b, cause == first ? "" : ",\n");
        why_put_cause(call, cause, b);
        last = cause;
    }
    if (last) {
        const int64_t node_id = why_node_of(call, last);
        why_put_power_retry(call, node_id, b);
        why_put_boot_reason(call, node_id, b);
    }
    buf_put_c(b, ']');
}

/* ---- first causes of a deployment ---- */

/* has_log is false if the noderole never began a run. */
static void why_put_has_log(struct call *call, struct object_writer *m, int64_t id)
{
    struct record row;
    const bool has_log =
        core_record(call->core, TABLE_NODEROLE, id, &row) &&
        (row.noderole.attempt || row.noderole.run_count || row.noderole.runlog.len);
    object_put_bool(m, "has_log", has_log);
}

static void why_put_group(struct call *call, const struct cause_group *group, struct buf *b)
{
    struct object_writer m = object_writer_open(b, NULL);
    why_put_members(call, &m, &group->cause);
    object_put_optional(&m, "role",
                        object_name(call->core, TABLE_ROLE, group->role_id, call->arena));
    object_put_number(&m, "node_roles", group->noderoles);
    object_put_number(&m, "roots", group->roots);
    if (object_put_key(&m, "examples")) {
        buf_put_c(b, '[');
        for (uint32_t i = 0; i < group->example_count; i++) {
            buf_put_z(b, i ? "," : "");
            struct object_writer example = object_writer_open(b, NULL);
            why_put_noderole(call, &example, group->examples[i]);
            why_put_has_log(call, &example, group->examples[i]);
            object_writer_close(&example);
        }
        buf_put_c(b, ']');
    }
    object_writer_close(&m);
}

static void why_put_groups(struct call *call, struct why_walk *walk, struct object_writer *m,
                           struct buf *b)
{
    struct cause_groups found;
    core_why_result(walk, call->core, call->arena, &found);
    object_put_number(m, "waiting", found.waiting);
    object_put_number(m, "looked_at", found.looked_at);
    object_put_number(m, "left_off", found.left_off);
    if (!object_put_key(m, "groups"))
        return;
    buf_put_c(b, '[');
    for (uint32_t i = 0; i < found.count; i++) {
        buf_put_z(b, i ? ",\n" : "");
        why_put_group(call, &found.groups[i], b);
    }
    buf_put_c(b, ']');
}

/* ---- boot and names of a node ---- */

/* What keeps the machine from booting, while boots are served at all. */
static void why_put_boot(struct call *call, int64_t node_id, struct object_writer *m, struct buf *b)
{
    if (object_put_key(m, "boot"))
        why_put_causes(
            call,
            core_boot_is_used(call->core) ? core_why_boot(call->core, node_id, call->arena) : NULL,
            b);
}

/* Addresses of the node that filters match and give no DNS name. They hold back nothing, so they
 * are no part of the chain. */
static void why_put_names(struct call *call, int64_t node_id, struct object_writer *m,
                          struct buf *b)
{
    bool is_all;
    const struct cause *first = core_why_names(call->core, node_id, call->arena, &is_all);
    if (object_put_key(m, "names"))
        why_put_causes(call, first, b);
    object_put_bool(m, "names_complete", is_all);
}

/* ---- installation ---- */

static void why_put_faults(struct call *call, struct buf *b)
{
    const struct api_engine *engine = call_engine(call);
    struct api_fault faults[API_FAULTS_MAX];
    const uint32_t count = engine->faults ? engine->faults(engine->self, call->arena, faults) : 0;
    buf_put_c(b, '[');
    for (uint32_t i = 0; i < count; i++) {
        buf_put_z(b, i ? "," : "");
        struct object_writer m = object_writer_open(b, NULL);
        object_put_text(&m, "code", str_from(reason_name(faults[i].code)));
        object_put_text(&m, "object", str_from(faults[i].object));
        object_put_text(&m, "text", faults[i].text);
        object_writer_close(&m);
    }
    buf_put_c(b, ']');
}

/* Replies with the faults of the installation only: while the store is stalled, changes in the core
 * that are not durable must not be shown, and the faults do not come from the core. */
static enum handler_result why_reply_faults_only(struct call *call, enum table table)
{
    struct buf b = buf_in(call->arena);
    struct object_writer m = object_writer_open(&b, call->wanted);
    object_put_text(&m, "object", str_from(object_noun(table)));
    if (object_put_key(&m, "chain"))
        buf_put_z(&b, "[]");
    if (object_put_key(&m, "installation"))
        why_put_faults(call, &b);
    object_writer_close(&m);
    call->seen = 0; /* nothing was read from the core: the reply need not wait for durability */
    reply_json(call, "why", "obj", buf_str(&b));
    return SERVED_REPLY;
}

/* `walk` is that of a deployment, for the groups of first causes; NULL for other objects. */
static void reply_why(struct call *call, enum table table, int64_t id, const struct cause *first,
                      struct why_walk *walk)
{
    struct buf b = buf_in(call->arena);
    struct object_writer m = object_writer_open(&b, call->wanted);
    must(first);
    object_put_text(&m, "object", str_from(object_noun(table)));
    object_put_number(&m, "id", id);
    object_put_text(&m, "name", object_name(call->core, table, id, call->arena));
    if (object_put_key(&m, "chain"))
        why_put_chain(call, first, &b);
    if (walk)
        why_put_groups(call, walk, &m, &b);
    if (table == TABLE_NODE) {
        why_put_boot(call, id, &m, &b);
        why_put_names(call, id, &m, &b);
        object_put_bool(&m, "interfaces_complete", core_nics_are_complete(call->core, id));
    }
    if (object_put_key(&m, "installation"))
        why_put_faults(call, &b);
    object_writer_close(&m);
    reply_json(call, "why", "obj", buf_str(&b));
}

/* ---- deployments, as a stream ---- */

enum { NODEROLES_A_STEP = 1000 }; /* about 0.3 us each */

/* State of the walk of a deployment with many noderoles. */
struct long_why {
    struct reply_stream stream;
    struct why_walk *walk;
    int64_t deployment_id;
};

static void long_why_fini(struct reply_stream *stream)
{
    core_why_close(((struct long_why *)stream->self)->walk);
}

static enum reply_stream_step long_why_step(struct call *call, struct buf *out)
{
    struct long_why *l = call->stream->self;
    struct record record;
    (void)out;
    if (core_why_walk(l->walk, call->core, NODEROLES_A_STEP))
        return STREAM_MORE;
    if (core_record(call->core, TABLE_DEPLOYMENT, l->deployment_id, &record))
        reply_why(call, TABLE_DEPLOYMENT, l->deployment_id,
                  core_why_chain(l->walk, call->core, call->arena), l->walk);
    else
        reply_error(call, 404, "not_found", STR("the deployment was deleted meanwhile"));
    return STREAM_REPLY;
}

/* A walk that ends within one step is replied to at once. */
static enum handler_result serve_why_of_deployment(struct call *call, int64_t id)
{
    struct long_why *l = arena_new(call->arena, struct long_why);
    *l = (struct long_why){.stream = {.step = long_why_step,
                                      .fini = long_why_fini,
                                      .self = l,
                                      .needs_same_core = true},
                           .walk = core_why_open(call->core, id, call->arena),
                           .deployment_id = id};
    must(l->walk);
    if (core_why_walk(l->walk, call->core, NODEROLES_A_STEP)) {
        reply_json(call, "why", "obj", STR("")); /* the last step replaces it by the whole reply */
        return reply_stream_begin(call, &l->stream);
    }
    reply_why(call, TABLE_DEPLOYMENT, id, core_why_chain(l->walk, call->core, call->arena),
              l->walk);
    core_why_close(l->walk);
    return SERVED_REPLY;
}

enum handler_result serve_why(struct call *call)
{
    const struct object_view *view = call->route->resource->view;
    struct record record;
    if (call_is_stalled(call) && !call_is_durable(call))
        return why_reply_faults_only(call, view->table);
    if (!resource_find(call, call->route->resource, call->keys[0], &record))
        return SERVED_REPLY;
    if (view->table == TABLE_DEPLOYMENT)
        return serve_why_of_deployment(call, record.id);
    reply_why(call, view->table, record.id,
              core_why(call->core, view->table, record.id, call->arena), NULL);
    return SERVED_REPLY;
}
