#include "api/views/graph.h"

#include "api/call/reply.h"
#include "api/rest/json_object_writer.h"
#include "api/rest/row_stream.h"
#include "api/rest/standard_routes.h"
#include "model/limits.h"

/* The dependency graph of a deployment, and plan and consent of a commit. The file has no state.
 *
 * A plan is the list of what a commit would do, a consent the part of it that destroys data; both
 * come with a hash that a commit can name. Both are made by a commit command with is_dry: it is
 * queued like a real commit, so that veto hooks are called and all commands before it are applied,
 * and is rolled back.
 *
 * Failure: nothing is changed in any case. A plan that is certainly too long is refused before it
 * is submitted; one that turns out to be too long is refused by the core. */

/* ---- graph ---- */

static void graph_put_adjacencies(struct call *call, int64_t id, struct buf *b)
{
    uint32_t count;
    const int64_t *children = core_children(call->core, id, call->arena, &count);
    buf_put_c(b, '[');
    for (uint32_t i = 0; i < count; i++) {
        buf_put_z(b, i ? ",{\"nodeTo\":" : "{\"nodeTo\":");
        buf_put_i64(b, children[i]);
        buf_put_z(b, ",\"nodeFrom\":");
        buf_put_i64(b, id);
        buf_put_z(b, ",\"data\":{\"$color\":\"#557EAA\"}}");
    }
    buf_put_c(b, ']');
}

static bool graph_put_vertex(struct call *call, const struct rows *rows, int64_t id, struct buf *b)
{
    (void)rows;
    struct record record;
    if (!core_record(call->core, TABLE_NODEROLE, id, &record))
        return false;
    struct object_writer m = object_writer_open(b, call->wanted);
    object_put_number(&m, "id", id);
    object_put_text(
        &m, "name",
        STR_CONCAT(
            call->arena, object_name(call->core, TABLE_NODE, record.noderole.node_id, call->arena),
            STR(": "), object_name(call->core, TABLE_ROLE, record.noderole.role_id, call->arena)));
    /* Drawing attributes for the pages of OpenCrowbar. */
    object_put_json(&m, "data", STR("{\"$color\":\"#83548B\"}"));
    object_put_text(&m, "$type", STR("square"));
    object_put_number(&m, "$dim", 15);
    if (object_put_key(&m, "adjacencies"))
        graph_put_adjacencies(call, id, b);
    object_writer_close(&m);
    return true;
}

enum handler_result reply_graph(struct call *call, int64_t deployment_id)
{
    uint32_t count;
    const int64_t *ids = core_noderoles_in(call->core, deployment_id, call->arena, &count);
    reply_json(call, "graph", "list", STR(""));
    return reply_rows(call, &(struct rows){.head = STR("["),
                                           .tail = STR("]"),
                                           .ids = ids,
                                           .count = count,
                                           .put = graph_put_vertex});
}

enum handler_result serve_graph(struct call *call)
{
    struct record deployment;
    if (!resource_find(call, &resource_deployments, call->keys[0], &deployment))
        return SERVED_REPLY;
    return reply_graph(call, deployment.id);
}

/* ---- plan ---- */

static void plan_reply(struct call *call, int64_t id)
{
    (void)id;
    reply_doc(call, "plan", call->doc);
}

static void consent_reply(struct call *call, int64_t id)
{
    (void)id;
    reply_doc(call, "consent", call->doc);
}

/* Bytes of the shortest entry: {"node":1,"node_name":"n","role":1,"role_name":"r"} */
enum { PLAN_ITEM_BYTES = 50 };

/* A plan lists each noderole that would run or wait, so it is known in advance that some plans are
 * too long for a reply. The core counts the bytes of the others. */
static bool plan_may_fit_answer(const struct call *call, int64_t deployment_id)
{
    uint32_t counts[NODEROLE_STATE_COUNT];
    core_count_noderoles(call->core, deployment_id, counts);
    const uint64_t listed =
        (uint64_t)counts[NODEROLE_PROPOSED] + counts[NODEROLE_TODO] + counts[NODEROLE_BLOCKED];
    return listed * PLAN_ITEM_BYTES <= ANSWER_DOC_MAX;
}

/* ?summary=true: only the totals of the plan. */
static bool plan_wants_summary(struct call *call)
{
    struct str text = STR("false");
    http_query(call->request, STR("summary"), &text);
    const bool is_true = str_eq(text, STR("true"));
    if (!is_true && !str_eq(text, STR("false")))
        call_refuse(call, PROBLEM_BAD_VALUE, STR("summary"), STR("summary must be true or false"));
    return is_true;
}

/* Submits a dry commit: brief for the consent, complete or as a summary for the plan. */
static enum handler_result plan_submit_dry(struct call *call, bool is_brief)
{
    const struct route *route = call->route;
    struct record record;
    if (!resource_find(call, route->resource, call->keys[0], &record))
        return SERVED_REPLY;
    const bool is_summary = !is_brief && plan_wants_summary(call);
    if (!is_brief && !is_summary && !plan_may_fit_answer(call, record.id)) {
        call_refuse(call, PROBLEM_LIMIT_REACHED, STR("summary"), core_plan_too_large());
        return SERVED_REPLY;
    }
    struct command command = {0};
    params_schema_read(call, &(struct params_schema){.kind = route->command}, record.id, &command);
    command.is_dry = true;
    command.is_brief = is_brief;
    command.is_summary = is_summary;
    if (call->problems)
        return SERVED_REPLY;
    return call_submit(call, &command, is_brief ? consent_reply : plan_reply);
}

enum handler_result serve_plan(struct call *call)
{
    return plan_submit_dry(call, false);
}

enum handler_result serve_consent(struct call *call)
{
    return plan_submit_dry(call, true);
}
