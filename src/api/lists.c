#include "api/lists.h"

#include "api/params.h"
#include "api/query.h"
#include "api/reply.h"
#include "api/route.h"
#include "core/sort.h"

/* One answer is one text; a longer one could not be written (buf.h) nor read by anybody. */
enum { LIST_BYTES_MAX = 1 << 30 };
enum { ROW_BYTES_GUESS = 320, ROOM_MAX = 256 << 20 };

struct ids {
    int64_t *at;
    uint32_t count;
};

/* ---- choosing ---- */

static uint32_t cohort_of(const struct call *call, int64_t id)
{
    struct record record;
    return core_record(call->core, TABLE_NODEROLE, id, &record) ? record.noderole.cohort : 0;
}

/* They come by id and stay so within a cohort: a counting sort, as cohorts are small numbers. */
static struct ids by_cohort(struct call *call, struct ids ids)
{
    uint32_t *cohorts = arena_array(call->arena, uint32_t, ids.count + 1);
    uint32_t highest = 0;
    for (uint32_t i = 0; i < ids.count; i++) {
        cohorts[i] = cohort_of(call, ids.at[i]);
        highest = cohorts[i] > highest ? cohorts[i] : highest;
    }
    uint32_t *places = arena_array(call->arena, uint32_t, highest + 2u);
    for (uint32_t i = 0; i < ids.count; i++)
        places[cohorts[i] + 1]++;
    for (uint32_t i = 0; i <= highest; i++)
        places[i + 1] += places[i];
    struct ids sorted = {arena_array(call->arena, int64_t, ids.count + 1), ids.count};
    for (uint32_t i = 0; i < ids.count; i++)
        sorted.at[places[cohorts[i]]++] = ids.at[i];
    return sorted;
}

static struct ids newest_first(struct ids ids)
{
    for (uint32_t i = 0; i < ids.count / 2; i++) {
        const int64_t id = ids.at[i];
        ids.at[i] = ids.at[ids.count - 1 - i];
        ids.at[ids.count - 1 - i] = id;
    }
    return ids;
}

static struct ids in_usual_order(struct call *call, enum resource_order order, struct ids ids)
{
    switch (order) {
    case ORDER_BY_ID: return ids;
    case ORDER_NEWEST_FIRST: return newest_first(ids);
    case ORDER_BY_COHORT: return by_cohort(call, ids);
    }
    impossible("an order outside the enum");
}

struct sorted {
    struct shape_value value;
    int64_t id;
};

static int cmp_sorted(const void *a, const void *b)
{
    return query_compare(&((const struct sorted *)a)->value, &((const struct sorted *)b)->value);
}

static struct ids by_field(struct call *call, const struct shape *shape, const struct query *query,
                           struct ids ids)
{
    struct record record;
    struct sorted *items = arena_array(call->arena, struct sorted, ids.count + 1);
    for (uint32_t i = 0; i < ids.count; i++) {
        must(core_record(call->core, shape->table, ids.at[i], &record));
        items[i].value = shape_value(query->sort, call->core, &record, call->arena);
        items[i].id = ids.at[i];
    }
    sort_items(items, ids.count, sizeof *items, cmp_sorted, call->arena);
    for (uint32_t i = 0; i < ids.count; i++)
        ids.at[i] = items[i].id;
    return query->is_descending ? newest_first(ids) : ids;
}

static bool is_chosen(const struct choice *choice, struct call *call, const struct query *query,
                      int64_t id)
{
    struct record record;
    if (!choice->keeps && query->count == 0)
        return true;
    const struct arena_mark mark = arena_mark(call->arena);
    const bool chosen = core_record(call->core, choice->resource->shape->table, id, &record) &&
                        (!choice->keeps || choice->keeps(choice, call, &record)) &&
                        query_keeps(query, call->core, &record, call->arena);
    arena_rewind(call->arena, mark);
    return chosen;
}

/* By id ascending. */
static struct ids choose(struct call *call, const struct choice *choice, const struct query *query)
{
    const enum table table = choice->resource->shape->table;
    const size_t room =
        (choice->ids ? choice->id_count : core_count(call->core, table)) + (size_t)1;
    struct ids ids = {arena_array(call->arena, int64_t, room), 0};
    for (uint32_t i = 0; choice->ids && i < choice->id_count; i++)
        if (is_chosen(choice, call, query, choice->ids[i]))
            ids.at[ids.count++] = choice->ids[i];
    for (int64_t id = choice->ids ? 0 : core_next_id(call->core, table, 0); id;
         id = core_next_id(call->core, table, id))
        if (is_chosen(choice, call, query, id))
            ids.at[ids.count++] = id;
    return ids;
}

/* ---- a part of it ---- */

/* Where the part begins. Where ids say the order, one that is gone has still a place in it. */
static bool find_after(const struct choice *choice, const struct query *query, struct ids ids,
                       uint32_t *out_first)
{
    const enum resource_order order = choice->resource->order;
    const bool up = !query->sort && order == ORDER_BY_ID && !choice->ids;
    const bool down = !query->sort && order == ORDER_NEWEST_FIRST;
    for (uint32_t i = 0; i < ids.count; i++) {
        const bool is_it = ids.at[i] == query->after;
        if (is_it || (up && ids.at[i] > query->after) || (down && ids.at[i] < query->after)) {
            *out_first = is_it ? i + 1 : i;
            return true;
        }
    }
    *out_first = ids.count;
    return up || down;
}

static struct ids part_of(const struct query *query, struct ids ids, uint32_t first)
{
    const uint32_t left = ids.count - first;
    return (struct ids){ids.at + first, query->limit && query->limit < left ? query->limit : left};
}

static void put_escaped(struct buf *b, struct str s)
{
    for (uint32_t i = 0; i < s.len; i++) {
        const char c = s.at[i];
        if (char_is_letter(c) || char_is_digit(c) || str_find(STR("-._~"), c, 0) < 4) {
            buf_put_c(b, c);
        } else {
            buf_put_c(b, '%');
            buf_put_hex(b, (const uint8_t *)&c, 1);
        }
    }
}

/* The same question about what comes behind. */
static void link_next(struct call *call, int64_t last)
{
    struct buf b = buf_in(call->arena);
    buf_put_c(&b, '<');
    for (uint32_t i = 0; i < call->request->segment_count; i++) {
        buf_put_c(&b, '/');
        put_escaped(&b, call->request->segments[i]);
    }
    buf_put_z(&b, "?after=");
    buf_put_i64(&b, last);
    for (const struct http_pair *pair = call->request->query; pair; pair = pair->next) {
        if (str_eq(pair->name, STR("after")))
            continue;
        buf_put_c(&b, '&');
        put_escaped(&b, pair->name);
        buf_put_c(&b, '=');
        put_escaped(&b, pair->value);
    }
    buf_put_z(&b, ">; rel=\"next\"");
    reply_header(call, "Link", buf_str(&b));
}

/* ---- writing ---- */

static bool write_rows(struct call *call, const struct shape *shape, struct ids ids, struct buf *b)
{
    const uint64_t mask = reply_mask(call, shape);
    struct record record;
    if (!call->wanted) /* growing a long text means copying it, again and again */
        buf_room(b,
                 ids.count < ROOM_MAX / ROW_BYTES_GUESS ? ids.count * ROW_BYTES_GUESS : ROOM_MAX);
    buf_put_c(b, '[');
    for (uint32_t i = 0; i < ids.count && b->len <= LIST_BYTES_MAX; i++) {
        must(core_record(call->core, shape->table, ids.at[i], &record));
        buf_put_z(b, i ? ",\n" : "");
        shape_write(shape, call->core, &record, mask, b);
    }
    buf_put_c(b, ']');
    return b->len <= LIST_BYTES_MAX;
}

static enum served reply_part(struct call *call, const struct shape *shape, struct ids all,
                              struct ids part)
{
    struct buf b = buf_in(call->arena), total = buf_in(call->arena);
    if (call->request->method != HTTP_HEAD && !write_rows(call, shape, part, &b)) {
        reply_error(call, 409, "limit_reached",
                    STR("the list is longer than one answer may be; ask for a part of it (limit) "
                        "or for fewer keys (x-return-attributes)"));
        return SERVED_REPLY;
    }
    reply_json(call, shape->type, "list", buf_str(&b));
    buf_put_u64(&total, all.count);
    reply_header(call, "X-Total-Count", buf_str(&total));
    if (part.count && part.at + part.count < all.at + all.count)
        link_next(call, part.at[part.count - 1]);
    return SERVED_REPLY;
}

static enum served refuse_query(struct call *call, struct query_trouble trouble)
{
    call_refuse(call, PROBLEM_BAD_VALUE, trouble.field,
                SAY(call, trouble.field, STR(" "), str_from(trouble.text)));
    return SERVED_REPLY;
}

static enum served reply_query(struct call *call, const struct choice *choice,
                               const struct query *query)
{
    const struct shape *shape = choice->resource->shape;
    struct ids ids = choose(call, choice, query);
    uint32_t first = 0;
    if (query->sort)
        ids = by_field(call, shape, query, ids);
    else if (!choice->ids)
        ids = in_usual_order(call, choice->resource->order, ids);
    if (query->has_after && !find_after(choice, query, ids, &first)) {
        call_refuse(call, PROBLEM_BAD_VALUE, STR("after"),
                    STR("after: there is no such object in this list any more; begin again"));
        return SERVED_REPLY;
    }
    return reply_part(call, shape, ids, part_of(query, ids, first));
}

enum served reply_choice(struct call *call, const struct choice *choice)
{
    struct query query;
    const struct query_trouble trouble =
        query_read_pairs(choice->resource->shape, call->request->query, call->arena, &query);
    return trouble.text ? refuse_query(call, trouble) : reply_query(call, choice, &query);
}

enum served serve_list(struct call *call)
{
    return reply_choice(call, &(struct choice){.resource = call->route->resource});
}

enum served serve_sample(struct call *call)
{
    const struct shape *shape = call->route->resource->shape;
    struct buf b = buf_in(call->arena);
    shape_write_sample(shape, shape_mask(shape, call->wanted), &b);
    reply_json(call, shape->type, "obj", buf_str(&b));
    return SERVED_REPLY;
}

/* ---- nested ---- */

static bool is_in_deployment(const struct choice *choice, struct call *call,
                             const struct record *record)
{
    if (record->table == TABLE_NODE)
        return record->node.deployment_id == choice->owner_id;
    if (record->table == TABLE_NODEROLE)
        return record->noderole.deployment_id == choice->owner_id;
    must(record->table == TABLE_ROLE);
    return core_deployment_role(call->core, choice->owner_id, record->id) != 0;
}

static bool is_on_node(const struct choice *choice, struct call *call, const struct record *record)
{
    if (record->table == TABLE_HAMMER)
        return record->hammer.node_id == choice->owner_id;
    return core_noderole(call->core, choice->owner_id, record->id) != 0;
}

enum served serve_nested(struct call *call)
{
    const struct route *route = call->route;
    struct record owner;
    if (!resource_find(call, route->within, call->keys[0], &owner))
        return SERVED_REPLY;
    if (route->within == &resource_nodes && route->resource == &resource_noderoles) {
        struct choice choice = {.resource = &resource_noderoles};
        choice.ids = core_noderoles_of(call->core, owner.id, call->arena, &choice.id_count);
        return reply_choice(call, &choice);
    }
    const bool of_node = route->within == &resource_nodes;
    return reply_choice(call, &(struct choice){.resource = route->resource,
                                               .keeps = of_node ? is_on_node : is_in_deployment,
                                               .owner_id = owner.id});
}

/* ---- matching ---- */

/* Parameters may stand in the address here; those of them that are no columns are nothing to us. */
enum served serve_match(struct call *call)
{
    const struct shape *shape = call->route->resource->shape;
    struct query query;
    if (!params_read(call, shape->type))
        return SERVED_REPLY;
    const struct query_trouble trouble =
        query_read_object(shape, call->params, call->arena, &query);
    if (trouble.text)
        return refuse_query(call, trouble);
    if (query.count == 0)
        return reply_part(call, shape, (struct ids){0}, (struct ids){0});
    return reply_query(call, &(struct choice){.resource = call->route->resource}, &query);
}
