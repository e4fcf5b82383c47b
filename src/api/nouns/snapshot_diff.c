#include "api/nouns/snapshot_diff.h"

#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/call/route.h"
#include "api/nouns/snapshots.h"
#include "api/rest/json_object_writer.h"
#include "api/rest/lists.h"
#include "api/rest/objects.h"
#include "api/rest/row_stream.h"
#include "base/containers/sort.h"
#include "core/deploy/snapshot_content.h"

/* The content of snapshots (ADR 0011): its difference, revert to it, and lists of an archived one.
 *
 * A snapshot is the members (pairs of node and role) and the data of a deployment at one commit. It
 * is not stored as a whole. Each member and each document is in force for an interval of snapshot
 * numbers (seq). An open interval is a live record of the core; when it is closed, a record is
 * written to the archive tables of the store (old_member, old_data), which are not loaded into
 * memory. The content of an archived snapshot is therefore the live records that are in force since
 * it or before, plus the closed intervals that cover it. The content of a head is live only.
 *
 * Order of reading (snapshot_read_sides), which matters:
 * 1. For an archived snapshot, wait until the turn that the call sees is durable, so that every
 *    interval that was closed up to now can be read from the store.
 * 2. Count the live part and reserve its memory, then copy it.
 * 3. Read the archive page by page. The call waits for each page, and commands are executed
 *    meanwhile. An interval that is closed during that time was copied in step 2; it may be read a
 *    second time, and snapshot_sort() drops duplicates. In the other order it would be missed.
 * 4. Sort, then continue with the function of the request: difference, revert, or list.
 *
 * Failure: reading changes nothing, and the command of a revert is submitted only after everything
 * was read, so after any failure before that nothing was changed. 404: this daemon has no archive;
 * 409 or 503: the memory limit of the call or of all replies; 503: the store is stalled; other
 * errors of the store are replied by call_history_failed(). What was read is freed with the arena
 * of the call. */

/* ---- reading the content of snapshots ---- */

/* Records in one page. Members are small; a document may have DOC_MAX bytes, so a page of documents
 * has fewer records. */
enum { PAGE_MEMBERS = 4000, PAGE_DATA = 100 };

/* A snapshot and its content. */
struct snapshot_side {
    int64_t deployment_id, seq;
    bool is_head;                /* not archived: its content is in the core only */
    struct snapshot_parts parts; /* the content read so far */
};

/* State of reading one snapshot, or the two sides of a difference; in the arena of the call, like
 * everything that was read. */
struct snapshot_reading {
    struct snapshot_side sides[2];
    uint32_t side_count;
    uint32_t at;               /* the side whose intervals are read */
    struct interval_page page; /* the page that is requested */
    /* called once when all sides are read and sorted; makes the reply */
    enum handler_result (*on_read)(struct call *call, struct snapshot_reading *r);
};

static struct snapshot_side snapshot_side_of(struct call *call,
                                             const struct snapshot_record *snapshot)
{
    return (struct snapshot_side){.deployment_id = snapshot->deployment_id,
                                  .seq = snapshot->seq,
                                  .is_head = snapshot->state != SNAPSHOT_ARCHIVED,
                                  .parts = {.arena = call->arena}};
}

static enum handler_result snapshot_page_received(struct call *call, const struct record *records,
                                                  uint32_t count);

/* The first page of a table. The key {0, -1} is smaller than all others: data of the deployment as
 * a whole has node 0. */
static void snapshot_begin_table(struct snapshot_reading *r, enum table table)
{
    const struct snapshot_side *side = &r->sides[r->at];
    r->page = (struct interval_page){.deployment_id = side->deployment_id,
                                     .seq = side->seq,
                                     .table = table,
                                     .after = {0, -1},
                                     .limit = table == TABLE_OLD_DATA ? PAGE_DATA : PAGE_MEMBERS};
}

/* The page arrives in snapshot_page_received(), never from within this function. */
static enum handler_result snapshot_request_page(struct call *call,
                                                 const struct snapshot_reading *r)
{
    const struct api_engine *engine = call_engine(call);
    const err e =
        engine->intervals(engine->self, &r->page, call_wait_history(call, snapshot_page_received));
    return e == OK ? SERVED_LATER : call_history_failed(call, e);
}

/* Continues with the next archived side; after the last one with on_read(). */
static enum handler_result snapshot_read_next_side(struct call *call, struct snapshot_reading *r)
{
    while (r->at < r->side_count && r->sides[r->at].is_head)
        r->at++;
    if (r->at < r->side_count) {
        snapshot_begin_table(r, TABLE_OLD_MEMBER);
        return snapshot_request_page(call, r);
    }
    for (uint32_t i = 0; i < r->side_count; i++)
        snapshot_sort(&r->sides[i].parts);
    return r->on_read(call, r);
}

/* Adds a page, then requests the next one after its last key. Only an empty page is the end of a
 * table: then the table of data follows that of members, and the next side follows both. The memory
 * of a page is checked after it was added, because its size is not known before; the size of a page
 * bounds the excess. */
static enum handler_result snapshot_page_received(struct call *call, const struct record *records,
                                                  uint32_t count)
{
    struct snapshot_reading *r = call->handler_state;
    struct snapshot_side *side = &r->sides[r->at];
    for (uint32_t i = 0; i < count; i++)
        snapshot_add_old(&side->parts, &records[i], side->deployment_id, side->seq);
    if (!call_reserve_memory(call, 0))
        return SERVED_REPLY;
    if (count && r->page.table == TABLE_OLD_DATA) {
        r->page.after[0] = records[count - 1].old_data.role_id;
        r->page.after[1] = records[count - 1].old_data.node_id;
    } else if (count) {
        r->page.after[0] = records[count - 1].old_member.noderole_id;
    } else if (r->page.table == TABLE_OLD_MEMBER) {
        snapshot_begin_table(r, TABLE_OLD_DATA);
    } else {
        r->at++;
        return snapshot_read_next_side(call, r);
    }
    return snapshot_request_page(call, r);
}

/* Reads the content of all sides in the order that is described above, then calls on_read(). The
 * live parts of both sides are copied in the same turn. If the turn is not durable, the handler is
 * run again from its start when it is. */
static enum handler_result snapshot_read_sides(struct call *call, struct snapshot_reading *r)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < r->side_count; i++) {
        const struct snapshot_side *side = &r->sides[i];
        if (!side->is_head && !call_engine(call)->intervals) {
            reply_error(call, 404, "not_found",
                        STR("this daemon does not store the content of archived snapshots"));
            return SERVED_REPLY;
        }
        if (!side->is_head && !call_is_durable(call))
            return call_retry_when_durable(call);
        bytes += snapshot_size_bytes(
            core_snapshot_live_size(call->core, side->deployment_id, side->seq));
    }
    if (!call_reserve_memory(call, bytes))
        return SERVED_REPLY;
    for (uint32_t i = 0; i < r->side_count; i++)
        core_snapshot_add_live(call->core, r->sides[i].deployment_id, r->sides[i].seq,
                               &r->sides[i].parts);
    call->handler_state = r;
    return snapshot_read_next_side(call, r);
}

static enum handler_result snapshot_read_one(
    struct call *call, const struct snapshot_record *snapshot,
    enum handler_result (*on_read)(struct call *call, struct snapshot_reading *r))
{
    struct snapshot_reading *r = arena_new(call->arena, struct snapshot_reading);
    r->sides[0] = snapshot_side_of(call, snapshot);
    r->side_count = 1;
    r->on_read = on_read;
    return snapshot_read_sides(call, r);
}

/* ---- names of nodes and roles ---- */

static int64_t snapshot_number_in(const struct json *item, const char *key)
{
    int64_t id = 0;
    must(json_as_i64(json_get(item, str_from(key)), &id));
    return id;
}

/* Null if the object has been deleted since the snapshot. */
static struct json *snapshot_name_or_null(struct call *call, enum table table, int64_t id)
{
    const struct str name = object_name(call->core, table, id, call->arena);
    return name.len ? json_make_string(call->arena, name) : json_make(call->arena, JSON_NULL);
}

/* Writes {"node":1,"role":2,...} with the current names of both. Node 0 (the deployment as a whole)
 * is written as null. */
static void snapshot_put_with_names(struct call *call, struct json *item, struct buf *out)
{
    const int64_t node_id = snapshot_number_in(item, "node");
    json_set(item, STR("node_name"), snapshot_name_or_null(call, TABLE_NODE, node_id));
    json_set(item, STR("role_name"),
             snapshot_name_or_null(call, TABLE_ROLE, snapshot_number_in(item, "role")));
    if (!node_id)
        json_set(item, STR("node"), json_make(call->arena, JSON_NULL));
    json_write_to(out, item);
}

static struct str snapshot_list_with_names(struct call *call, const struct json *list)
{
    struct buf b = buf_in(call->arena);
    buf_put_c(&b, '[');
    for (struct json *item = list ? list->first : NULL; item; item = item->next) {
        buf_put_z(&b, item == list->first ? "" : ",\n");
        snapshot_put_with_names(call, item, &b);
    }
    buf_put_c(&b, ']');
    return buf_str(&b);
}

/* ---- difference ---- */

struct diff {
    struct snapshot_diff lists;
    /* the text between two lists; the first list has none */
    struct row_stream_section sections[SNAPSHOT_LISTS];
};

static const char *const diff_list_names[SNAPSHOT_LISTS] = {"added", "changed", "removed"};

/* Writes row `key`, which is an index of the pairs of all lists. False: the documents of a changed
 * pair are equal as values, so there is no row. The row is built in a scratch arena, which is freed
 * at once: the trees of two documents may take more memory than the reply may use. */
static bool diff_put_row(struct call *call, const struct rows *rows, int64_t key, struct buf *out)
{
    const struct snapshot_diff *d = &((const struct diff *)rows->self)->lists;
    const struct snapshot_pair pair = d->pairs[key];
    const bool is_changed =
        key >= d->begins[SNAPSHOT_CHANGED] && key < (int64_t)d->begins[SNAPSHOT_REMOVED];
    struct arena scratch = {0};
    struct json *item = is_changed ? snapshot_changes(snapshot_data_of(d->before, pair),
                                                      snapshot_data_of(d->after, pair), &scratch)
                                   : json_make(&scratch, JSON_OBJECT);
    if (item) {
        json_set(item, STR("node"), json_make_i64(&scratch, pair.node_id));
        json_set(item, STR("role"), json_make_i64(&scratch, pair.role_id));
        snapshot_put_with_names(call, item, out);
    }
    arena_fini(&scratch);
    return item != NULL;
}

/* {"from":1,"to":2,"added":[...],"changed":[...],"removed":[...]}, only the requested members. The
 * rows are streamed; here the text around them is made: up to the "[" of the first list it is the
 * head of the reply; for each later list it is a section that closes the list before and opens this
 * one. `count` is the number of lists so far. */
static enum handler_result diff_reply(struct call *call, struct snapshot_reading *r, struct diff *d)
{
    struct buf head = buf_in(call->arena);
    struct object_writer m = object_writer_open(&head, call->wanted);
    uint32_t count = 0;
    object_put_number(&m, "from", r->sides[0].seq);
    object_put_number(&m, "to", r->sides[1].seq);
    for (int i = 0; i < SNAPSHOT_LISTS; i++) {
        struct buf b = buf_in(call->arena);
        struct object_writer list = {count ? &b : &head, call->wanted, m.is_first};
        if (count)
            buf_put_c(&b, ']');
        if (!object_put_key(&list, diff_list_names[i]))
            continue;
        m.is_first = false;
        buf_put_c(list.b, '[');
        if (count)
            d->sections[count - 1] = (struct row_stream_section){buf_str(&b), d->lists.begins[i]};
        count++;
    }
    reply_json(call, "diff", "obj", STR(""));
    return reply_rows(call, &(struct rows){.head = buf_str(&head),
                                           .tail = count ? STR("]}") : STR("}"),
                                           .table = TABLE_COUNT,
                                           .count = d->lists.count,
                                           .put = diff_put_row,
                                           .self = d,
                                           .sections = d->sections,
                                           .section_count = count ? count - 1 : 0});
}

/* The pairs are listed twice: first only counted (lists->pairs is NULL), to reserve their memory.
 */
static enum handler_result diff_build_lists(struct call *call, struct snapshot_reading *r)
{
    struct diff *d = arena_new(call->arena, struct diff);
    struct snapshot_diff *lists = &d->lists;
    uint32_t wanted = 0;
    lists->before = &r->sides[0].parts;
    lists->after = &r->sides[1].parts;
    for (int i = 0; i < SNAPSHOT_LISTS; i++)
        if (object_view_wants(call->wanted, diff_list_names[i]))
            wanted |= 1u << i;
    snapshot_diff_list(lists, wanted);
    if (!call_reserve_memory(call, lists->count * sizeof *lists->pairs))
        return SERVED_REPLY;
    lists->pairs = arena_array(call->arena, struct snapshot_pair, lists->count + (size_t)1);
    snapshot_diff_list(lists, wanted);
    return diff_reply(call, r, d);
}

enum handler_result serve_diff(struct call *call)
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
    struct snapshot_reading *r = arena_new(call->arena, struct snapshot_reading);
    r->sides[0] = snapshot_side_of(call, &from.snapshot);
    r->sides[1] = snapshot_side_of(call, &to.snapshot);
    r->side_count = 2;
    r->on_read = diff_build_lists;
    return snapshot_read_sides(call, r);
}

/* ---- revert ---- */

static const struct param_rule revert_rules[] = {
    {.name = "snapshot", .kind = PARAM_INT64, .at = COMMAND_AT(deployment_revert.id)},
    {.name = "seq", .kind = PARAM_INT64, .at = COMMAND_AT(deployment_revert.seq)},
};
const struct params_schema revert_params = {.kind = COMMAND_DEPLOYMENT_REVERT,
                                            PARAM_RULES(revert_rules)};

/* After the command was committed: replies with the head, and with the pairs that were bound,
 * marked for removal and skipped, which the core lists in call->doc. */
static void revert_reply(struct call *call, int64_t deployment_id)
{
    struct record head;
    if (!call->core || !snapshot_head(call, deployment_id, &head)) {
        reply_message(call, "snapshot",
                      STR("the change was made; the deployment has been deleted since"));
        return;
    }
    /* The document was written by the core, so it is valid. */
    struct json *doc;
    uint32_t offset;
    const char *what;
    must(json_read(call->arena, call->doc, &doc, &offset, &what) == OK);
    const struct object_view *view = resource_snapshots.view;
    struct buf b = buf_in(call->arena);
    object_view_write(view, call->core, &head, reply_mask(call, view), &b);
    b.len--; /* reopen the object */
    struct object_writer m = {&b, call->wanted, b.at[b.len - 1] == '{'};
    object_put_json(&m, "bound", snapshot_list_with_names(call, json_get(doc, STR("bound"))));
    object_put_json(&m, "removed", snapshot_list_with_names(call, json_get(doc, STR("removed"))));
    object_put_json(&m, "skipped", snapshot_list_with_names(call, json_get(doc, STR("skipped"))));
    object_writer_close(&m);
    reply_json(call, view->type, "obj", buf_str(&b));
}

/* Submits the revert as one command, which the core executes completely or refuses. The command
 * contains the content of the snapshot as one string, because the core cannot read the archive; the
 * size of the string is reserved before it is written. */
static enum handler_result revert_submit(struct call *call, struct snapshot_reading *r)
{
    const struct snapshot_side *side = &r->sides[0];
    if (!call_reserve_memory(call, snapshot_text_bytes(&side->parts)))
        return SERVED_REPLY;
    struct command command = {
        .kind = COMMAND_DEPLOYMENT_REVERT,
        .deployment_revert = {.id = side->deployment_id,
                              .seq = side->seq,
                              .content = snapshot_write(&side->parts, call->arena)}};
    return call_submit(call, &command, revert_reply);
}

/* Finds the snapshot among those of the deployment, from the head back through the predecessors.
 * `snapshot` is an id, or the `order` of a snapshot if none has that id: an id therefore returns at
 * once, and an order only after the last snapshot was tested. `seq` is the number in the
 * deployment. False: a problem was added. */
static bool revert_find_snapshot(struct call *call, int64_t deployment_id, struct record *out)
{
    int64_t wanted = 0, seq = 0;
    struct record by_order = {.id = 0};
    const bool has_snapshot = param_number(call, "snapshot", 1, INT64_MAX, &wanted);
    const bool has_seq = param_number(call, "seq", 1, INT64_MAX, &seq);
    if (call->problems)
        return false;
    if (!has_snapshot && !has_seq) {
        call_refuse(call, PROBLEM_MISSING, STR("snapshot"), STR("snapshot is required"));
        return false;
    }
    for (bool more = snapshot_head(call, deployment_id, out); more;
         more = core_record(call->core, TABLE_SNAPSHOT, out->snapshot.predecessor_id, out)) {
        if ((has_snapshot && out->id == wanted) || (has_seq && out->snapshot.seq == seq))
            return true;
        if (has_snapshot && out->snapshot.order == wanted)
            by_order = *out;
    }
    *out = by_order;
    if (!by_order.id)
        call_refuse(call, PROBLEM_NOT_FOUND, has_snapshot ? STR("snapshot") : STR("seq"),
                    STR("the deployment has no such snapshot"));
    return by_order.id != 0;
}

enum handler_result serve_revert(struct call *call)
{
    struct record deployment, snapshot;
    if (!resource_find(call, &resource_deployments, call->keys[0], &deployment) ||
        !object_condition(call) || !params_read(call, resource_deployments.view->type) ||
        !revert_find_snapshot(call, deployment.id, &snapshot))
        return SERVED_REPLY;
    return snapshot_read_one(call, &snapshot.snapshot, revert_submit);
}

/* ---- lists of an archived snapshot ---- */

static int snapshot_cmp_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Replies with the nodes or roles of the members that still exist, in their current form. The ids
 * are sorted first, so that duplicates are adjacent and each object is listed once. */
static enum handler_result snapshot_reply_existing(struct call *call,
                                                   const struct snapshot_parts *parts,
                                                   bool is_of_nodes)
{
    const struct resource *resource = call->route->resource;
    struct record record;
    uint32_t kept = 0;
    if (!call_reserve_memory(call, (parts->member_count + (size_t)1) * sizeof(int64_t)))
        return SERVED_REPLY;
    int64_t *ids = arena_array(call->arena, int64_t, parts->member_count + (size_t)1);
    struct arena scratch = {0};
    for (uint32_t i = 0; i < parts->member_count; i++)
        ids[i] = is_of_nodes ? parts->members[i].node_id : parts->members[i].role_id;
    sort_items(ids, parts->member_count, sizeof *ids, snapshot_cmp_ids, &scratch);
    arena_fini(&scratch);
    for (uint32_t i = 0; i < parts->member_count; i++)
        if ((!kept || ids[kept - 1] != ids[i]) &&
            core_record(call->core, resource->view->table, ids[i], &record))
            ids[kept++] = ids[i];
    return reply_list_of(call,
                         &(struct list_scope){.resource = resource, .ids = ids, .id_count = kept});
}

static void snapshot_put_role(struct call *call, struct object_writer *m,
                              const struct snapshot_side *side, int64_t role_id)
{
    object_put_number(m, "deployment_id", side->deployment_id);
    object_put_number(m, "role_id", role_id);
    object_put_optional(m, "role", object_name(call->core, TABLE_ROLE, role_id, call->arena));
}

/* A noderole of an archived snapshot. */
static bool snapshot_put_noderole(struct call *call, const struct rows *rows, int64_t key,
                                  struct buf *out)
{
    const struct snapshot_side *side = rows->self;
    const struct snapshot_pair pair = side->parts.members[key];
    struct object_writer m = object_writer_open(out, call->wanted);
    snapshot_put_role(call, &m, side, pair.role_id);
    object_put_number(&m, "node_id", pair.node_id);
    object_put_optional(&m, "node", object_name(call->core, TABLE_NODE, pair.node_id, call->arena));
    object_put_json(&m, "data", snapshot_data_of(&side->parts, pair));
    object_writer_close(&m);
    return true;
}

/* A deployment role of an archived snapshot. Only those that had data are stored. */
static bool snapshot_put_deployment_role(struct call *call, const struct rows *rows, int64_t key,
                                         struct buf *out)
{
    const struct snapshot_side *side = rows->self;
    const struct snapshot_data *item = &side->parts.data[key];
    struct object_writer m = object_writer_open(out, call->wanted);
    snapshot_put_role(call, &m, side, item->pair.role_id);
    object_put_json(&m, "data", item->data);
    object_writer_close(&m);
    return true;
}

/* The resource of the route determines what is listed. */
static enum handler_result archived_reply(struct call *call, struct snapshot_reading *r)
{
    const struct resource *resource = call->route->resource;
    const struct snapshot_parts *parts = &r->sides[0].parts;
    struct rows rows = {
        .head = STR("["), .tail = STR("]"), .table = TABLE_COUNT, .self = &r->sides[0]};
    if (resource == &resource_noderoles) {
        rows.put = snapshot_put_noderole;
        rows.count = parts->member_count;
        reply_json(call, "node_role", "list", STR(""));
        return reply_rows(call, &rows);
    }
    if (resource == &resource_deployment_roles) {
        rows.put = snapshot_put_deployment_role;
        while (rows.count < parts->data_count && !parts->data[rows.count].pair.node_id)
            rows.count++; /* sorted: entries without a node are first */
        reply_json(call, "deployment_role", "list", STR(""));
        return reply_rows(call, &rows);
    }
    must(resource == &resource_nodes || resource == &resource_roles);
    return snapshot_reply_existing(call, parts, resource == &resource_nodes);
}

enum handler_result serve_archived(struct call *call, const struct snapshot_record *snapshot)
{
    return snapshot_read_one(call, snapshot, archived_reply);
}
