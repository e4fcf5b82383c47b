#include "api/rest/lists.h"

#include "api/call/params.h"
#include "api/call/query.h"
#include "api/call/reply.h"
#include "api/call/streaming.h"
#include "api/rest/standard_routes.h"
#include "api/rest/url_escape.h"
#include "base/containers/sort.h"

/* Lists of objects. The state of a list (struct list_walk) is in the arena of its call and refers
 * to objects by id only, so it stays valid if the core is dropped and loaded again.
 *
 * A list is made in three phases: collect (test every object against scope and query, and keep id
 * and sort key), sort, and write one page. The order matters: the total and the link to the next
 * page are headers, and are known only when everything is collected. Short lists do all phases at
 * once; long ones and those with substring filters are streamed, and each step has a budget of
 * work. Rows that are written in a later step than they were chosen in are tested again, because
 * the object may have changed or been deleted since: no row is sent that does not match the filter
 * when it is written. Objects that are created while a list is streamed may be missing.
 *
 * A page of an unfiltered list in the order of ids skips all objects before it and starts directly
 * after the id `after`.
 *
 * Failure: a wrong query, or a page after an object that is no longer in the list, is a problem,
 * found before anything is sent. Later failures are those of streams (streaming.c).
 */

/* Limits of lists that are made at once. No other request is served meanwhile, so scanned bytes
 * count, not only objects. */
enum {
    AT_ONCE_MAX = 1000,          /* objects */
    AT_ONCE_BYTES_MAX = 1 << 20, /* of the reply */
    SCAN_COST = 1000,            /* of testing one object, in scanned bytes */
    SCAN_MAX = 1000 * SCAN_COST, /* work of one step of a stream */
    WRITE_BYTES = 64 << 10,      /* output of one step of a stream */
    ROW_BYTES_GUESS = 320,       /* estimated size of a row */
};

/* A chosen object and its sort key. */
struct chosen {
    int64_t id;
    uint32_t cohort;
};

struct chosen_list {
    struct chosen *at;
    uint32_t count;
};

/* State of a list. Objects may be created and deleted while it is streamed. */
struct list_walk {
    struct reply_stream stream;
    struct list_scope scope;
    struct query query;
    int64_t last;  /* id that was tested last, or next index in scope.ids */
    int64_t end;   /* most objects to choose: their number at the start, or the limit of a page */
    uint64_t work; /* work done so far, in scanned bytes */
    bool is_collected;
    bool is_streamed;        /* written in later steps than collected */
    struct chosen_list all;  /* the objects that match; has space for `end` */
    struct chosen_list page; /* the part of `all` that is written */
    uint32_t total;          /* objects that match, on all pages */
    uint64_t first_row;      /* index of the first row that was written; UINT64_MAX: none */
    bool has_more;           /* there are objects after the page */
};

/* ---- collection ---- */

static bool list_accepts(struct list_walk *w, struct call *call, const struct record *record)
{
    return (!w->scope.accepts || w->scope.accepts(&w->scope, call, record)) &&
           query_matches(&w->query, call->core, record, call->arena, &w->work);
}

/* All objects in the order of ids or in reverse: no record has to be read. */
static bool list_is_unfiltered(const struct list_walk *w)
{
    return !w->scope.accepts && w->query.count == 0 && !w->query.sort &&
           w->scope.resource->order != ORDER_BY_COHORT;
}

/* Adds the object to w->all if it matches. */
static void list_consider(struct list_walk *w, struct call *call, int64_t id)
{
    const enum table table = w->scope.resource->view->table;
    struct chosen *c = &w->all.at[w->all.count];
    struct record record;
    *c = (struct chosen){.id = id};
    if (!list_is_unfiltered(w)) {
        const struct arena_mark mark = arena_mark(call->arena);
        const bool kept =
            core_record(call->core, table, id, &record) && list_accepts(w, call, &record);
        arena_rewind(call->arena, mark);
        if (!kept)
            return;
        c->cohort = table == TABLE_NODEROLE ? record.noderole.cohort : 0;
    }
    w->all.count++;
}

/* Tests objects until `budget` is used up. True: that was the last. */
static bool list_collect(struct list_walk *w, struct call *call, uint64_t budget)
{
    const enum table table = w->scope.resource->view->table;
    for (const uint64_t before = w->work; w->work - before < budget; w->work += SCAN_COST) {
        if (w->scope.ids) {
            if (w->last >= w->end)
                return true;
            list_consider(w, call, w->scope.ids[w->last++]);
            continue;
        }
        const int64_t id = core_next_id(call->core, table, w->last);
        if (!id || w->all.count == w->end)
            return true;
        list_consider(w, call, id);
        w->last = id;
    }
    return false;
}

/* ---- sorting ---- */

static void list_reverse(struct chosen_list found)
{
    for (uint32_t i = 0; i < found.count / 2; i++) {
        const struct chosen c = found.at[i];
        found.at[i] = found.at[found.count - 1 - i];
        found.at[found.count - 1 - i] = c;
    }
}

static int list_cmp_cohorts(const void *a, const void *b)
{
    const uint32_t x = ((const struct chosen *)a)->cohort, y = ((const struct chosen *)b)->cohort;
    return (x > y) - (x < y);
}

struct sorted {
    struct object_view_value value;
    struct chosen chosen;
};

static int list_cmp_values(const void *a, const void *b)
{
    return query_compare(&((const struct sorted *)a)->value, &((const struct sorted *)b)->value);
}

static void list_sort_by_field(struct list_walk *w, struct call *call)
{
    struct record record;
    const enum table table = w->scope.resource->view->table;
    struct sorted *items = arena_array(call->arena, struct sorted, w->all.count + (size_t)1);
    for (uint32_t i = 0; i < w->all.count; i++) {
        items[i].chosen = w->all.at[i];
        if (core_record(call->core, table, w->all.at[i].id, &record))
            items[i].value = object_view_value(w->query.sort, call->core, &record, call->arena);
    }
    sort_items(items, w->all.count, sizeof *items, list_cmp_values, call->arena);
    for (uint32_t i = 0; i < w->all.count; i++)
        w->all.at[i] = items[i].chosen;
    if (w->query.is_descending)
        list_reverse(w->all);
}

static void list_put_in_order(struct list_walk *w, struct call *call)
{
    if (w->query.sort) {
        list_sort_by_field(w, call);
        return;
    }
    if (w->scope.ids)
        return;
    switch (w->scope.resource->order) {
    case ORDER_BY_ID: return;
    case ORDER_NEWEST_FIRST: list_reverse(w->all); return;
    case ORDER_BY_COHORT:
        sort_items(w->all.at, w->all.count, sizeof *w->all.at, list_cmp_cohorts, call->arena);
        return;
    }
    impossible("an order outside the enum");
}

/* ---- pages ---- */

/* Finds the start of the page after the object w->query.after. In lists by id an object that was
 * deleted still has a position; in others its deletion makes this function return false. */
static bool list_find_after(const struct list_walk *w, uint32_t *out_first)
{
    const enum resource_order order = w->scope.resource->order;
    const bool is_usual = !w->query.sort && !w->scope.ids;
    const bool up = is_usual && order == ORDER_BY_ID,
               down = is_usual && order == ORDER_NEWEST_FIRST;
    for (uint32_t i = 0; i < w->all.count; i++) {
        const int64_t id = w->all.at[i].id;
        const bool is_it = id == w->query.after;
        if (is_it || (up && id > w->query.after) || (down && id < w->query.after)) {
            *out_first = is_it ? i + 1 : i;
            return true;
        }
    }
    *out_first = w->all.count;
    return up || down;
}

static bool list_select_page(struct list_walk *w, struct call *call)
{
    uint32_t first = 0;
    if (w->query.has_after && !list_find_after(w, &first)) {
        call_refuse(
            call, PROBLEM_BAD_VALUE, STR("after"),
            STR("after: the object is no longer in this list; start again at the first page"));
        return false;
    }
    const uint32_t left = w->all.count - first;
    const uint32_t limit = w->query.limit;
    w->page = (struct chosen_list){w->all.at + first, limit && limit < left ? limit : left};
    w->total = w->all.count;
    w->has_more = w->page.count && w->page.count < left;
    return true;
}

/* The Link header with the URL of the next page. */
static void list_put_next_link(struct call *call, int64_t last)
{
    struct buf b = buf_in(call->arena);
    buf_put_c(&b, '<');
    for (uint32_t i = 0; i < call->request->segment_count; i++) {
        buf_put_c(&b, '/');
        url_escape(&b, call->request->segments[i]);
    }
    buf_put_z(&b, "?after=");
    buf_put_i64(&b, last);
    for (const struct http_pair *pair = call->request->query; pair; pair = pair->next) {
        if (str_eq(pair->name, STR("after")))
            continue;
        buf_put_c(&b, '&');
        url_escape(&b, pair->name);
        buf_put_c(&b, '=');
        url_escape(&b, pair->value);
    }
    buf_put_z(&b, ">; rel=\"next\"");
    reply_header(call, "Link", buf_str(&b));
}

/* ---- output ---- */

/* Does the object still match? It may have changed since an earlier step chose it. Rows that were
 * chosen in the same step are not tested again. */
static bool list_still_accepts(struct list_walk *w, struct call *call, const struct record *record)
{
    if (!w->is_streamed || list_is_unfiltered(w))
        return true;
    const struct arena_mark mark = arena_mark(call->arena);
    const bool kept = list_accepts(w, call, record);
    arena_rewind(call->arena, mark);
    w->work += SCAN_COST;
    return kept;
}

/* Writes rows from `first` on until there are `enough` bytes or the work of a step is done; deleted
 * and no longer matching objects are left out. Returns the next row. */
static uint64_t list_write_rows(struct list_walk *w, struct call *call, uint64_t first,
                                uint32_t enough, struct buf *b)
{
    const struct object_view *view = w->scope.resource->view;
    const uint64_t mask = reply_mask(call, view);
    struct record record;
    /* The stream was rewound to a position before the first row: it is written again. */
    if (first <= w->first_row)
        w->first_row = UINT64_MAX;
    const uint64_t work_before = w->work;
    uint64_t i = first;
    for (; i < w->page.count && b->len < enough && w->work - work_before < SCAN_MAX; i++) {
        if (!core_record(call->core, view->table, w->page.at[i].id, &record) ||
            !list_still_accepts(w, call, &record))
            continue;
        buf_put_z(b, w->first_row == UINT64_MAX ? "" : ",\n");
        if (w->first_row == UINT64_MAX)
            w->first_row = i;
        object_view_write(view, call->core, &record, mask, b);
    }
    return i;
}

static void list_begin_reply(struct list_walk *w, struct call *call)
{
    struct buf total = buf_in(call->arena);
    reply_json(call, w->scope.resource->view->type, "list", STR(""));
    buf_put_u64(&total, w->total);
    reply_header(call, "X-Total-Count", buf_str(&total));
    if (w->has_more)
        list_put_next_link(call, w->page.at[w->page.count - 1].id);
}

static enum reply_stream_step list_step(struct call *call, struct buf *out);

static enum handler_result list_begin_stream(struct list_walk *w, struct call *call)
{
    w->stream = (struct reply_stream){.step = list_step, .self = w};
    w->is_streamed = true;
    return reply_stream_begin(call, &w->stream);
}

/* Writes the page at once, or streams it from the start if it is too long. The headers are made
 * before the mark, because they are needed in both cases. */
static enum handler_result list_write_page(struct list_walk *w, struct call *call)
{
    list_begin_reply(w, call);
    if (call->request->method == HTTP_HEAD)
        return SERVED_REPLY;
    const struct arena_mark mark = arena_mark(call->arena);
    struct buf b = buf_in(call->arena);
    buf_room(&b, w->page.count * ROW_BYTES_GUESS + 2); /* avoids copies while the buffer grows */
    buf_put_c(&b, '[');
    if (list_write_rows(w, call, 0, AT_ONCE_BYTES_MAX, &b) < w->page.count) {
        w->is_collected = true;
        w->first_row = UINT64_MAX;
        arena_rewind(call->arena, mark);
        return list_begin_stream(w, call);
    }
    buf_put_c(&b, ']');
    call->reply.body = buf_str(&b);
    return SERVED_REPLY;
}

/* ---- streaming ---- */

/* Steps that collect write nothing, so the headers, which are sent with the first piece, can still
 * be set when the collection has ended. */
static enum reply_stream_step list_step(struct call *call, struct buf *out)
{
    struct list_walk *w = call->stream->self;
    if (!w->is_collected) {
        if (!list_collect(w, call, SCAN_MAX))
            return STREAM_MORE;
        w->is_collected = true;
        list_put_in_order(w, call);
        if (!list_select_page(w, call)) {
            reply_problems(call, call->problems);
            return STREAM_REPLY;
        }
        list_begin_reply(w, call);
        return call->request->method == HTTP_HEAD ? STREAM_REPLY : STREAM_MORE;
    }
    const uint64_t first = call->stream->position;
    buf_put_z(out, first ? "" : "[");
    call->stream->position = list_write_rows(w, call, first, WRITE_BYTES, out);
    if (call->stream->position < w->page.count)
        return STREAM_MORE;
    buf_put_c(out, ']');
    return STREAM_END;
}

static enum handler_result list_refuse_query(struct call *call, struct query_error trouble)
{
    call_refuse(call, PROBLEM_BAD_VALUE, trouble.field,
                STR_CONCAT(call->arena, trouble.field, STR(" "), str_from(trouble.text)));
    return SERVED_REPLY;
}

static struct list_walk *list_walk_new(struct call *call, const struct list_scope *scope,
                                       const struct query *query)
{
    struct list_walk *w = arena_new(call->arena, struct list_walk);
    const enum table table = scope->resource->view->table;
    w->scope = *scope;
    w->query = *query;
    w->first_row = UINT64_MAX;
    if (!w->query.sort && scope->resource->sorted_by)
        w->query.sort = query_field(scope->resource->view, str_from(scope->resource->sorted_by));
    w->end = scope->ids ? scope->id_count : core_count(call->core, table);
    w->all.at = arena_array(call->arena, struct chosen, (size_t)w->end + 1);
    return w;
}

static enum handler_result list_reply_query(struct call *call, const struct list_scope *scope,
                                            const struct query *query)
{
    struct list_walk *w = list_walk_new(call, scope, query);
    const struct object_view *view = scope->resource->view;
    /* A page of an unfiltered list in the order of ids: objects before and after it need not be
     * visited. */
    if (w->query.limit && w->query.limit <= AT_ONCE_MAX && list_is_unfiltered(w) && !scope->ids &&
        scope->resource->order == ORDER_BY_ID) {
        w->total = (uint32_t)w->end;
        w->end = w->query.limit;
        w->last = w->query.has_after ? w->query.after : 0;
        must(list_collect(w, call, UINT64_MAX));
        w->page = w->all;
        w->has_more = core_next_id(call->core, view->table, w->last) != 0;
        return list_write_page(w, call);
    }
    /* A short list with cheap conditions is collected and written at once. */
    if (w->end <= AT_ONCE_MAX && !query_is_slow(query)) {
        must(list_collect(w, call, UINT64_MAX));
        list_put_in_order(w, call);
        return list_select_page(w, call) ? list_write_page(w, call) : SERVED_REPLY;
    }
    /* Any other list is collected and written in steps. */
    reply_json(call, view->type, "list", STR(""));
    return list_begin_stream(w, call);
}

static bool list_is_ignored_param(const struct list_scope *scope, struct str name)
{
    for (const char *const *passed = scope->ignored_params; *passed; passed++)
        if (str_eq(name, str_from(*passed)))
            return true;
    return false;
}

/* The query string without the parameters that are not filters. */
static const struct http_pair *list_query_params(struct call *call, const struct list_scope *scope)
{
    struct http_pair *first = NULL, **end = &first;
    if (!scope->ignored_params)
        return call->request->query;
    for (const struct http_pair *pair = call->request->query; pair; pair = pair->next)
        if (!list_is_ignored_param(scope, pair->name)) {
            *end = arena_copy(call->arena, pair, sizeof *pair);
            (*end)->next = NULL;
            end = &(*end)->next;
        }
    return first;
}

enum handler_result reply_list_of(struct call *call, const struct list_scope *scope)
{
    struct query query;
    const struct query_error trouble = query_read_pairs(
        scope->resource->view, list_query_params(call, scope), call->arena, &query);
    return trouble.text ? list_refuse_query(call, trouble) : list_reply_query(call, scope, &query);
}

enum handler_result serve_list(struct call *call)
{
    return reply_list_of(call, &(struct list_scope){.resource = call->route->resource});
}

enum handler_result serve_sample(struct call *call)
{
    const struct object_view *view = call->route->resource->view;
    struct buf b = buf_in(call->arena);
    object_view_write_sample(view, object_view_mask(view, call->wanted), &b);
    reply_json(call, view->type, "obj", buf_str(&b));
    return SERVED_REPLY;
}

/* ---- nested lists ---- */

static bool list_is_in_deployment(const struct list_scope *scope, struct call *call,
                                  const struct record *record)
{
    if (record->table == TABLE_NODE)
        return record->node.deployment_id == scope->owner_id;
    if (record->table == TABLE_NODEROLE)
        return record->noderole.deployment_id == scope->owner_id;
    if (record->table == TABLE_DEPLOYMENT_ROLE)
        return record->deployment_role.deployment_id == scope->owner_id;
    if (record->table == TABLE_SNAPSHOT)
        return record->snapshot.deployment_id == scope->owner_id;
    must(record->table == TABLE_ROLE);
    return core_deployment_role(call->core, scope->owner_id, record->id) != 0;
}

static bool list_is_on_node(const struct list_scope *scope, struct call *call,
                            const struct record *record)
{
    if (record->table == TABLE_HAMMER)
        return record->hammer.node_id == scope->owner_id;
    return core_noderole(call->core, scope->owner_id, record->id) != 0;
}

enum handler_result reply_nested(struct call *call, const struct resource *within, int64_t owner_id)
{
    const struct resource *resource = call->route->resource;
    const bool of_node = within == &resource_nodes;
    struct list_scope scope = {.resource = resource};
    if (of_node && resource == &resource_noderoles) {
        scope.ids = core_noderoles_of(call->core, owner_id, call->arena, &scope.id_count);
    } else {
        scope.accepts = of_node ? list_is_on_node : list_is_in_deployment;
        scope.owner_id = owner_id;
    }
    return reply_list_of(call, &scope);
}

enum handler_result serve_nested(struct call *call)
{
    struct record owner;
    if (!resource_find(call, call->route->within, call->keys[0], &owner))
        return SERVED_REPLY;
    return reply_nested(call, call->route->within, owner.id);
}

/* ---- match ---- */

/* Objects whose fields have the given values. Other parameters of the query string are ignored
 * here. */
enum handler_result serve_match(struct call *call)
{
    const struct object_view *view = call->route->resource->view;
    struct query query;
    if (!params_read(call, view->type))
        return SERVED_REPLY;
    const struct query_error trouble = query_read_object(view, call->params, call->arena, &query);
    if (trouble.text)
        return list_refuse_query(call, trouble);
    if (query.count == 0) {
        reply_json(call, view->type, "list", STR("[]"));
        return SERVED_REPLY;
    }
    return list_reply_query(call, &(struct list_scope){.resource = call->route->resource}, &query);
}
