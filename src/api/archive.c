#include "api/archive.h"

#include "api/members.h"
#include "api/objects.h"
#include "api/params.h"
#include "api/reply.h"
#include "api/route.h"
#include "api/snapshots.h"
#include "core/sort.h"

/* ---- reading ---- */

/* Which snapshot; what is needed of it while the core goes on. */
struct place {
    int64_t deployment_id, seq;
    bool is_head; /* nothing of it is archived */
};

/* `content` is as core_snapshot_content writes it, in the call's arena. */
typedef enum served then_fn(struct call *call, void *context, struct str content);

struct reading {
    struct place place;
    uint64_t closed, reloads; /* by these it is told whether what was read is still all of it */
    then_fn *then;
    void *context;
};

static struct place place_of(const struct snapshot_record *snapshot)
{
    return (struct place){.deployment_id = snapshot->deployment_id,
                          .seq = snapshot->seq,
                          .is_head = snapshot->state != SNAPSHOT_ARCHIVED};
}

static bool still_holds(const struct call *call, const struct reading *r)
{
    return r->closed == core_intervals_closed(call->core) && r->reloads == call_reloads(call);
}

static enum served intervals_told(struct call *call, const struct record *records, uint32_t count)
{
    const struct reading *r = call->own;
    if (!still_holds(call, r))
        return call_again(call);
    const struct str content = core_snapshot_content(call->core, r->place.deployment_id,
                                                     r->place.seq, records, count, call->arena);
    return r->then(call, r->context, content);
}

/* The first time, everything that was closed must be in the store for the reader to find. For what
 * is read next nothing was closed since, so it is. */
static struct reading *begin_reading(struct call *call)
{
    if (call->own || !call_is_durable(call))
        return call->own;
    struct reading *r = arena_new(call->arena, struct reading);
    r->closed = core_intervals_closed(call->core);
    r->reloads = call_reloads(call);
    call->own = r;
    return r;
}

/* Go on with what the snapshot held, now or later. The context lies in the call's arena. */
static enum served read_content(struct call *call, struct place place, then_fn *then, void *context)
{
    const struct api_engine *engine = call_engine(call);
    if (place.is_head)
        return then(call, context,
                    core_snapshot_content(call->core, place.deployment_id, place.seq, NULL, 0,
                                          call->arena));
    if (!engine->intervals) {
        reply_error(call, 404, "not_found", STR("what snapshots held is not kept here"));
        return SERVED_REPLY;
    }
    struct reading *r = begin_reading(call);
    if (!r)
        return call_when_durable(call);
    r->place = place;
    r->then = then;
    r->context = context;
    const err e = engine->intervals(engine->self, place.deployment_id, place.seq,
                                    call_await(call, intervals_told));
    return e == OK ? SERVED_LATER : call_await_failed(call, e);
}

/* ---- lists of nodes and roles ---- */

static struct json *read_doc(struct call *call, struct str doc)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    must(json_read(call->arena, doc, &tree, &offset, &what) == OK);
    return tree;
}

static int64_t number_in(const struct json *item, const char *key)
{
    int64_t id = 0;
    must(json_as_i64(json_get(item, str_from(key)), &id));
    return id;
}

static struct json *name_or_null(struct call *call, enum table table, int64_t id)
{
    const struct str name = object_name(call->core, table, id, call->arena);
    return name.len ? json_make_string(call->arena, name) : json_make(call->arena, JSON_NULL);
}

/* [{"node":1,"role":2,...}] with what the two are called; no node is null, not 0. */
static struct str with_names(struct call *call, const struct json *list)
{
    struct buf b = buf_in(call->arena);
    buf_put_c(&b, '[');
    for (struct json *item = list ? list->first : NULL; item; item = item->next) {
        const int64_t node_id = number_in(item, "node");
        json_set(item, STR("node_name"), name_or_null(call, TABLE_NODE, node_id));
        json_set(item, STR("role_name"), name_or_null(call, TABLE_ROLE, number_in(item, "role")));
        if (!node_id)
            json_set(item, STR("node"), json_make(call->arena, JSON_NULL));
        buf_put_z(&b, item == list->first ? "" : ",\n");
        json_write_to(&b, item);
    }
    buf_put_c(&b, ']');
    return buf_str(&b);
}

/* ---- diff ---- */

struct diff {
    struct place from, to;
    struct str before;
};

static enum served diff_whole(struct call *call, void *context, struct str content)
{
    const struct diff *d = context;
    const struct json *diff = read_doc(call, core_snapshot_diff(d->before, content, call->arena));
    struct buf b = buf_in(call->arena);
    struct members m = members_open(&b, call->wanted);
    member_number(&m, "from", d->from.seq);
    member_number(&m, "to", d->to.seq);
    member_json(&m, "added", with_names(call, json_get(diff, STR("added"))));
    member_json(&m, "changed", with_names(call, json_get(diff, STR("changed"))));
    member_json(&m, "removed", with_names(call, json_get(diff, STR("removed"))));
    members_close(&m);
    reply_json(call, "diff", "obj", buf_str(&b));
    return SERVED_REPLY;
}

static enum served diff_half(struct call *call, void *context, struct str content)
{
    struct diff *d = context;
    d->before = content;
    return read_content(call, d->to, diff_whole, d);
}

enum served serve_diff(struct call *call)
{
    struct record from, to;
    const bool is_from = resource_find(call, &resource_snapshots, call->keys[0], &from);
    if (!resource_find(call, &resource_snapshots, call->keys[1], &to) || !is_from)
        return SERVED_REPLY;
    if (from.snapshot.deployment_id != to.snapshot.deployment_id) {
        call_refuse(call, PROBLEM_BAD_VALUE, STR("id"),
                    STR("both must be snapshots of the same deployment"));
        return SERVED_REPLY;
    }
    struct diff *d = arena_new(call->arena, struct diff);
    d->from = place_of(&from.snapshot);
    d->to = place_of(&to.snapshot);
    return read_content(call, d->from, diff_half, d);
}

/* ---- revert ---- */

static const struct take revert_takes[] = {
    {.name = "snapshot", .kind = TAKE_INT, .at = INTO(deployment_revert.id)},
    {.name = "seq", .kind = TAKE_INT, .at = INTO(deployment_revert.seq)},
};
const struct intake revert_intake = {.kind = COMMAND_DEPLOYMENT_REVERT, TAKES(revert_takes)};

/* The head as it is then, and what the revert tells besides. */
static void reverted(struct call *call, int64_t deployment_id)
{
    struct record head;
    if (!call->core || !snapshot_head(call, deployment_id, &head)) {
        reply_message(call, "snapshot", STR("it was done; the deployment has been deleted since"));
        return;
    }
    const struct json *doc = read_doc(call, call->doc);
    const struct shape *shape = resource_snapshots.shape;
    struct buf b = buf_in(call->arena);
    shape_write(shape, call->core, &head, reply_mask(call, shape), &b);
    b.len--; /* the object goes on */
    struct members m = {&b, call->wanted, b.at[b.len - 1] == '{'};
    member_json(&m, "bound", with_names(call, json_get(doc, STR("bound"))));
    member_json(&m, "removed", with_names(call, json_get(doc, STR("removed"))));
    member_json(&m, "skipped", with_names(call, json_get(doc, STR("skipped"))));
    members_close(&m);
    reply_json(call, shape->type, "obj", buf_str(&b));
}

static enum served revert_to(struct call *call, void *context, struct str content)
{
    const struct place *place = context;
    struct command command = {
        .kind = COMMAND_DEPLOYMENT_REVERT,
        .deployment_revert = {.id = place->deployment_id, .seq = place->seq, .content = content}};
    return call_submit(call, &command, reverted);
}

/* By its id, or by its order when none of the deployment has that id; or by its number. */
static bool find_wanted(struct call *call, int64_t deployment_id, struct record *out)
{
    int64_t wanted = 0, seq = 0;
    struct record by_order = {.id = 0};
    const bool named = param_number(call, "snapshot", 1, INT64_MAX, &wanted);
    const bool numbered = param_number(call, "seq", 1, INT64_MAX, &seq);
    if (call->problems)
        return false;
    if (!named && !numbered) {
        call_refuse(call, PROBLEM_MISSING, STR("snapshot"), STR("snapshot is required"));
        return false;
    }
    for (bool more = snapshot_head(call, deployment_id, out); more;
         more = core_record(call->core, TABLE_SNAPSHOT, out->snapshot.predecessor_id, out)) {
        if ((named && out->id == wanted) || (numbered && out->snapshot.seq == seq))
            return true;
        if (named && out->snapshot.order == wanted)
            by_order = *out;
    }
    *out = by_order;
    if (!by_order.id)
        call_refuse(call, PROBLEM_NOT_FOUND, named ? STR("snapshot") : STR("seq"),
                    STR("the deployment has no such snapshot"));
    return by_order.id != 0;
}

enum served serve_revert(struct call *call)
{
    struct record deployment, snapshot;
    if (!resource_find(call, &resource_deployments, call->keys[0], &deployment) ||
        !object_condition(call) || !params_read(call, resource_deployments.shape->type) ||
        !find_wanted(call, deployment.id, &snapshot))
        return SERVED_REPLY;
    struct place *place = arena_new(call->arena, struct place);
    *place = place_of(&snapshot.snapshot);
    return read_content(call, *place, revert_to, place);
}

/* ---- what is left of an archived one ---- */

static int cmp_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The nodes or roles of its members that there still are, as they are now. */
static enum served reply_those_left(struct call *call, const struct json *members, const char *key)
{
    const struct resource *resource = call->route->resource;
    struct record record;
    int64_t *ids = arena_array(call->arena, int64_t, members->count + (size_t)1);
    uint32_t count = 0, kept = 0;
    for (const struct json *item = members->first; item; item = item->next)
        ids[count++] = number_in(item, key);
    sort_items(ids, count, sizeof *ids, cmp_ids, call->arena);
    for (uint32_t i = 0; i < count; i++)
        if ((!kept || ids[kept - 1] != ids[i]) &&
            core_record(call->core, resource->shape->table, ids[i], &record))
            ids[kept++] = ids[i];
    return reply_choice(call, &(struct choice){.resource = resource, .ids = ids, .id_count = kept});
}

static int cmp_pairs(const struct json *x, const struct json *y)
{
    const int64_t nodes = number_in(x, "node") - number_in(y, "node");
    const int64_t roles = number_in(x, "role") - number_in(y, "role");
    return nodes ? (nodes > 0) - (nodes < 0) : (roles > 0) - (roles < 0);
}

static void put_member(struct call *call, struct buf *b, const struct json *pair,
                       const struct json *data)
{
    const struct reading *r = call->own;
    const int64_t node_id = number_in(pair, "node"), role_id = number_in(pair, "role");
    struct members m = members_open(b, call->wanted);
    member_number(&m, "deployment_id", r->place.deployment_id);
    member_number(&m, "role_id", role_id);
    member_optional(&m, "role", object_name(call->core, TABLE_ROLE, role_id, call->arena));
    member_number(&m, "node_id", node_id);
    member_optional(&m, "node", object_name(call->core, TABLE_NODE, node_id, call->arena));
    member_json(&m, "data", data ? json_write(call->arena, data) : STR("{}"));
    members_close(&m);
}

/* Its noderoles as far as they are kept: both lists come by node and role. */
static enum served reply_members(struct call *call, const struct json *content)
{
    const struct json *data = json_get(content, STR("data"))->first;
    const struct json *members = json_get(content, STR("members"));
    struct buf b = buf_in(call->arena);
    buf_put_c(&b, '[');
    for (const struct json *item = members->first; item; item = item->next) {
        while (data && cmp_pairs(data, item) < 0)
            data = data->next;
        const bool has_data = data && cmp_pairs(data, item) == 0;
        buf_put_z(&b, item == members->first ? "" : ",\n");
        put_member(call, &b, item, has_data ? json_get(data, STR("data")) : NULL);
    }
    buf_put_c(&b, ']');
    reply_json(call, "node_role", "list", buf_str(&b));
    return SERVED_REPLY;
}

/* Of its deployment roles only the data are kept. */
static enum served reply_role_data(struct call *call, const struct json *content)
{
    const struct reading *r = call->own;
    struct buf b = buf_in(call->arena);
    buf_put_c(&b, '[');
    for (const struct json *item = json_get(content, STR("data"))->first; item; item = item->next) {
        const int64_t role_id = number_in(item, "role");
        if (number_in(item, "node") != 0)
            continue;
        buf_put_z(&b, b.len > 1 ? ",\n" : "");
        struct members m = members_open(&b, call->wanted);
        member_number(&m, "deployment_id", r->place.deployment_id);
        member_number(&m, "role_id", role_id);
        member_optional(&m, "role", object_name(call->core, TABLE_ROLE, role_id, call->arena));
        member_json(&m, "data", json_write(call->arena, json_get(item, STR("data"))));
        members_close(&m);
    }
    buf_put_c(&b, ']');
    reply_json(call, "deployment_role", "list", buf_str(&b));
    return SERVED_REPLY;
}

static enum served archived_told(struct call *call, void *context, struct str content)
{
    (void)context;
    const struct json *tree = read_doc(call, content);
    const struct json *members = json_get(tree, STR("members"));
    const struct resource *resource = call->route->resource;
    if (resource == &resource_noderoles)
        return reply_members(call, tree);
    if (resource == &resource_deployment_roles)
        return reply_role_data(call, tree);
    must(resource == &resource_nodes || resource == &resource_roles);
    return reply_those_left(call, members, resource == &resource_nodes ? "node" : "role");
}

enum served serve_archived(struct call *call, const struct snapshot_record *snapshot)
{
    return read_content(call, place_of(snapshot), archived_told, NULL);
}
