#include "api/nouns/snapshots.h"

#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/nouns/attribs.h"
#include "api/nouns/snapshot_diff.h"
#include "api/rest/standard_routes.h"
#include "api/views/graph.h"

/* Snapshots: fields, parameters, navigation, and the verbs of a deployment through its head. A
 * snapshot is the membership and the data of a deployment at one commit; the newest one is the
 * head, all others are archived. The file has no state; the content of archived snapshots is read
 * by snapshot_diff.c.
 *
 * Order: a verb is a command about the deployment, but the request names a snapshot. Whether the
 * snapshot is the head is therefore tested here, and the command gets the precondition that the
 * deployment has not changed since. If it has, the call is served again (can_try_again), and tests
 * again.
 *
 * Failure: a problem ends the call before anything is submitted. Verbs and the graph of an archived
 * snapshot are refused. */

/* clang-format off */
static const struct object_view_field snapshot_fields[] = {
    {"id",            PROP_INT,            PROP_AT(snapshot.id),             0, NULL},
    {"state",         PROP_SNAPSHOT_STATE, PROP_AT(snapshot.state),          0, "0"},
    {"name",          PROP_TEXT,           PROP_AT(snapshot.name),           0, "null"},
    {"description",   PROP_OPTIONAL,       PROP_AT(snapshot.description),    0, "null"},
    {"order",         PROP_UINT32,          PROP_AT(snapshot.order),          0, "1000"},
    {"deployment_id", PROP_REF,            PROP_AT(snapshot.deployment_id),  0, NULL},
    {"snapshot_id",   PROP_REF,            PROP_AT(snapshot.predecessor_id), 0, NULL},
    PROP_TIMES(snapshot)
    {"seq",           PROP_UINT32,          PROP_AT(snapshot.seq),            0, NULL},
    {"committed_at",  PROP_TIME,           PROP_AT(snapshot.committed_at),   0, NULL},
    {"archived_at",   PROP_TIME,           PROP_AT(snapshot.archived_at),    0, NULL},
    {"actor",         PROP_TEXT,           PROP_AT(snapshot.actor),          0, NULL},
    {"counts",        PROP_OBJECT,         PROP_AT(snapshot.counts),         0, NULL},
};
/* clang-format on */

static const struct object_view shape_snapshot = {
    .type = "snapshot", .table = TABLE_SNAPSHOT, PROP_ROWS(snapshot_fields), .extras = 5};

static const struct param_rule update_rules[] = {
    {.name = "name",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(snapshot_update.name),
     .given = GIVEN_NAME},
    {.name = "description",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(snapshot_update.description),
     .given = GIVEN_DESCRIPTION},
};
static const struct params_schema update = {
    .kind = COMMAND_SNAPSHOT_UPDATE, PARAM_RULES(update_rules), GIVEN_MASK_AT(snapshot_update)};

bool snapshot_head(struct call *call, int64_t deployment_id, struct record *out_head)
{
    struct record deployment;
    return core_record(call->core, TABLE_DEPLOYMENT, deployment_id, &deployment) &&
           core_record(call->core, TABLE_SNAPSHOT, deployment.deployment.head_id, out_head);
}

/* Finds the head of the deployment with that name. */
static int64_t snapshot_find_head(struct call *call, struct str name)
{
    struct record head;
    const int64_t deployment_id = core_find(call->core, TABLE_DEPLOYMENT, name);
    return deployment_id && snapshot_head(call, deployment_id, &head) ? head.id : 0;
}

const struct resource resource_snapshots = {
    .view = &shape_snapshot,
    .order = ORDER_NEWEST_FIRST,
    .update = &update,
    .find = snapshot_find_head,
};

static bool snapshot_find(struct call *call, struct record *out)
{
    return resource_find(call, &resource_snapshots, call->keys[0], out);
}

static bool snapshot_is_head(const struct record *snapshot)
{
    return snapshot->snapshot.state != SNAPSHOT_ARCHIVED;
}

/* ---- navigation ---- */

enum handler_result serve_head(struct call *call)
{
    struct record deployment, head;
    if (resource_find(call, &resource_deployments, call->keys[0], &deployment) &&
        snapshot_head(call, deployment.id, &head))
        reply_record(call, &shape_snapshot, &head);
    return SERVED_REPLY;
}

/* Replies with the snapshot whose predecessor is `before`. */
static enum handler_result snapshot_reply_next(struct call *call, const struct record *before)
{
    struct record record;
    for (bool more = snapshot_head(call, before->snapshot.deployment_id, &record); more;
         more = core_record(call->core, TABLE_SNAPSHOT, record.snapshot.predecessor_id, &record)) {
        if (record.snapshot.predecessor_id != before->id)
            continue;
        reply_record(call, &shape_snapshot, &record);
        return SERVED_REPLY;
    }
    call_refuse(call, PROBLEM_NOT_FOUND, STR("id"),
                STR("the snapshot is the newest of its deployment; there is no next one"));
    return SERVED_REPLY;
}

enum handler_result serve_next_of_deployment(struct call *call)
{
    struct record deployment, before;
    struct str key;
    if (!resource_find(call, &resource_deployments, call->keys[0], &deployment) ||
        !snapshot_head(call, deployment.id, &before))
        return SERVED_REPLY;
    if (http_query(call->request, STR("snapshot"), &key)) {
        if (!resource_find(call, &resource_snapshots, key, &before))
            return SERVED_REPLY;
        if (before.snapshot.deployment_id != deployment.id) {
            call_refuse(call, PROBLEM_NOT_FOUND, STR("snapshot"),
                        STR("the deployment has no such snapshot"));
            return SERVED_REPLY;
        }
    }
    return snapshot_reply_next(call, &before);
}

static enum handler_result serve_next(struct call *call)
{
    struct record before;
    return snapshot_find(call, &before) ? snapshot_reply_next(call, &before) : SERVED_REPLY;
}

/* ---- verbs ---- */

static void snapshot_reply_head(struct call *call, int64_t deployment_id)
{
    struct record head;
    if (call->core && snapshot_head(call, deployment_id, &head))
        reply_record(call, &shape_snapshot, &head);
    else
        reply_message(call, shape_snapshot.type,
                      STR("the change was made; the deployment has been deleted since"));
}

/* Applies a verb to the deployment, with the precondition that the deployment has not changed. If
 * that fails, the call is served again, and finds out whether the snapshot is still the head. */
static enum handler_result serve_head_verb(struct call *call)
{
    struct record snapshot, deployment;
    if (!snapshot_find(call, &snapshot) || !object_condition(call))
        return SERVED_REPLY;
    /* If-Match is tested here: it is the ETag of the snapshot, and the command is about the
     * deployment. */
    if (call->if_turn && call->if_turn != snapshot.snapshot.turn)
        object_refuse_turn(call);
    if (call->problems || !params_read(call, shape_snapshot.type))
        return SERVED_REPLY;
    if (!snapshot_is_head(&snapshot)) {
        call_refuse(call, PROBLEM_WRONG_STATE, STR("id"),
                    STR("the snapshot is archived: only the head of a deployment can be changed"));
        return SERVED_REPLY;
    }
    must(core_record(call->core, TABLE_DEPLOYMENT, snapshot.snapshot.deployment_id, &deployment));
    struct command command = {0};
    params_schema_read(call, call->route->params, deployment.id, &command);
    if (call->problems)
        return SERVED_REPLY;
    call->if_turn = deployment.deployment.turn;
    call->can_try_again = true;
    return call_submit(call, &command, snapshot_reply_head);
}

static const struct param_rule propose_rules[] = {
    {.name = "name", .kind = PARAM_TEXT, .at = COMMAND_AT(deployment_propose.name)},
};
static const struct param_rule commit_rules[] = {
    {.name = "plan", .kind = PARAM_TEXT, .at = COMMAND_AT(deployment_commit.plan)},
    {.name = "consent", .kind = PARAM_TEXT, .at = COMMAND_AT(deployment_commit.consent)},
    {.name = "rerun_changed",
     .kind = PARAM_BOOL,
     .at = COMMAND_AT(deployment_commit.rerun_changed)},
};
static const struct params_schema propose = {.kind = COMMAND_DEPLOYMENT_PROPOSE,
                                             PARAM_RULES(propose_rules)};
static const struct params_schema commit = {.kind = COMMAND_DEPLOYMENT_COMMIT,
                                            PARAM_RULES(commit_rules)};
static const struct params_schema recall = {.kind = COMMAND_DEPLOYMENT_RECALL};

/* ---- content ---- */

static enum handler_result serve_snapshot_content(struct call *call)
{
    struct record snapshot;
    if (!snapshot_find(call, &snapshot))
        return SERVED_REPLY;
    if (snapshot_is_head(&snapshot))
        return reply_nested(call, &resource_deployments, snapshot.snapshot.deployment_id);
    return serve_archived(call, &snapshot.snapshot);
}

static enum handler_result serve_snapshot_graph(struct call *call)
{
    struct record snapshot;
    if (!snapshot_find(call, &snapshot))
        return SERVED_REPLY;
    if (snapshot_is_head(&snapshot))
        return reply_graph(call, snapshot.snapshot.deployment_id);
    call_refuse(call, PROBLEM_WRONG_STATE, STR("id"),
                STR("the snapshot is archived, and its graph is not stored; its node_roles list "
                    "what it contained"));
    return SERVED_REPLY;
}

/* ---- routes ---- */

#define ROUTE_HEAD_VERB(path, rules, summary)                                                      \
    {                                                                                              \
        .method = HTTP_PUT, .pattern = V path, .serve = serve_head_verb,                           \
        .resource = &resource_snapshots, .params = &rules, .does = summary                         \
    }
#define ROUTE_SNAPSHOT_CONTENT(path, noun, summary)                                                \
    {                                                                                              \
        .method = HTTP_GET, .pattern = V path, .serve = serve_snapshot_content, .resource = &noun, \
        .within = &resource_snapshots, .form = REPLY_LIST, .does = summary                         \
    }

static const struct route routes[] = {
    ROUTES_READ("snapshots", resource_snapshots),
    ROUTES_EDIT("snapshots", resource_snapshots),
    ROUTE_HEAD_VERB("snapshots/:id/commit", commit, "commit its deployment, if it is the head"),
    ROUTE_HEAD_VERB("snapshots/:id/propose", propose,
                    "open the next snapshot for changes, if it is the head"),
    ROUTE_HEAD_VERB("snapshots/:id/recall", recall,
                    "change its deployment back to PROPOSED, if it is the head"),
    {.method = HTTP_GET,
     .pattern = V "snapshots/:id/next",
     .serve = serve_next,
     .resource = &resource_snapshots,
     .does = "the next snapshot of its deployment"},
    {.method = HTTP_GET,
     .pattern = V "snapshots/:id/diff/:id",
     .serve = serve_diff,
     .form = REPLY_CUSTOM,
     .does = "what was added, changed and removed from the first to the second"},
    {.method = HTTP_GET,
     .pattern = V "snapshots/:id/graph",
     .serve = serve_snapshot_graph,
     .form = REPLY_CUSTOM,
     .does = "its noderoles and their dependencies, while it is the head"},
    ROUTE_SNAPSHOT_CONTENT(
        "snapshots/:id/nodes", resource_nodes,
        "its nodes; of an archived one, those that had roles in it and still exist"),
    ROUTE_SNAPSHOT_CONTENT(
        "snapshots/:id/roles", resource_roles,
        "its roles; of an archived one, those that were bound in it and still exist"),
    {.method = HTTP_GET,
     .pattern = V "snapshots/:id/deployment_roles",
     .serve = serve_snapshot_content,
     .resource = &resource_deployment_roles,
     .within = &resource_snapshots,
     .form = REPLY_CUSTOM,
     .does = "its deployment roles; of an archived one, those that had data, with it"},
    {.method = HTTP_GET,
     .pattern = V "snapshots/:id/attribs",
     .serve = serve_values,
     .resource = &resource_attribs,
     .within = &resource_snapshots,
     .form = REPLY_LIST,
     .does = "the attribs that are defined on it, with their values, while it is the head"},
    {.method = HTTP_GET,
     .pattern = V "snapshots/:id/node_roles",
     .serve = serve_snapshot_content,
     .resource = &resource_noderoles,
     .within = &resource_snapshots,
     .form = REPLY_CUSTOM,
     .does = "its noderoles; of an archived one, which role was on which node with which data"},
};

const struct route_table route_table_snapshots = ROUTE_TABLE("snapshots", routes);
