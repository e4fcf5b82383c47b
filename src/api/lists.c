#include "api/lists.h"

#include "api/params.h"
#include "api/reply.h"
#include "api/route.h"

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

static struct ids choose(struct call *call, const struct choice *choice)
{
    const enum table table = choice->resource->shape->table;
    struct ids ids = {arena_array(call->arena, int64_t, core_count(call->core, table) + (size_t)1),
                      0};
    struct record record;
    for (int64_t id = core_next_id(call->core, table, 0); id;
         id = core_next_id(call->core, table, id))
        if (!choice->keeps ||
            (core_record(call->core, table, id, &record) && choice->keeps(choice, call, &record)))
            ids.at[ids.count++] = id;
    switch (choice->resource->order) {
    case ORDER_BY_ID: return ids;
    case ORDER_NEWEST_FIRST: return newest_first(ids);
    case ORDER_BY_COHORT: return by_cohort(call, ids);
    }
    impossible("an order outside the enum");
}

/* ---- writing ---- */

static enum served reply_list(struct call *call, const struct shape *shape, struct ids ids)
{
    const uint64_t mask = reply_mask(call, shape);
    struct buf b = buf_in(call->arena);
    struct record record;
    if (!call->wanted) /* growing a long text means copying it, again and again */
        buf_room(&b,
                 ids.count < ROOM_MAX / ROW_BYTES_GUESS ? ids.count * ROW_BYTES_GUESS : ROOM_MAX);
    buf_put_c(&b, '[');
    for (uint32_t i = 0; i < ids.count; i++) {
        must(core_record(call->core, shape->table, ids.at[i], &record));
        buf_put_z(&b, i ? ",\n" : "");
        shape_write(shape, call->core, &record, mask, &b);
        if (b.len > LIST_BYTES_MAX) {
            reply_error(call, 409, "limit_reached",
                        STR("the list is longer than one answer may be; ask for fewer keys "
                            "(x-return-attributes) or for a part of it (match)"));
            return SERVED_REPLY;
        }
    }
    buf_put_c(&b, ']');
    reply_json(call, shape->type, "list", buf_str(&b));
    return SERVED_REPLY;
}

enum served reply_choice(struct call *call, const struct choice *choice)
{
    return reply_list(call, choice->resource->shape, choose(call, choice));
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
        struct ids ids;
        ids.at = core_noderoles_of(call->core, owner.id, call->arena, &ids.count);
        return reply_list(call, resource_noderoles.shape, ids);
    }
    const bool of_node = route->within == &resource_nodes;
    return reply_choice(call, &(struct choice){.resource = route->resource,
                                               .keeps = of_node ? is_on_node : is_in_deployment,
                                               .owner_id = owner.id});
}

/* ---- matching ---- */

static bool is_matching(const struct choice *choice, struct call *call, const struct record *record)
{
    return shape_matches(choice->resource->shape, call->core, record, choice->query, call->arena);
}

enum served serve_match(struct call *call)
{
    const struct shape *shape = call->route->resource->shape;
    if (!params_read(call, shape->type))
        return SERVED_REPLY;
    struct shape_query query;
    const char *wrong = shape_query_read(shape, call->params, call->arena, &query);
    if (wrong) {
        const struct str field = str_from(query.wrong_field);
        call_refuse(call, PROBLEM_BAD_VALUE, field, SAY(call, field, STR(" "), str_from(wrong)));
        return SERVED_REPLY;
    }
    if (query.count == 0)
        return reply_list(call, shape, (struct ids){0});
    return reply_choice(
        call,
        &(struct choice){.resource = call->route->resource, .keeps = is_matching, .query = &query});
}
