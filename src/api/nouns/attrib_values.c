#include "api/call/reply.h"
#include "api/call/route.h"
#include "api/nouns/attribs.h"
#include "api/rest/lists.h"
#include "api/rest/objects.h"
#include "model/schema.h"

/* ---- on whom, and what of it ---- */

/* Which data is looked at, as the old API calls it. */
static bool read_view(struct call *call, enum view *out_view)
{
    static const struct {
        const char *name;
        enum view view;
    } names[] = {{"all", VIEW_ALL},
                 {"proposed", VIEW_PROPOSED},
                 {"user", VIEW_USER},
                 {"committed", VIEW_COMMITTED},
                 {"hint", VIEW_USER},
                 {"system", VIEW_SYSTEM},
                 {"discovery", VIEW_DISCOVERY},
                 {"wall", VIEW_WALL},
                 {"note", VIEW_NOTE}};
    struct str bucket = STR("all");
    http_query(call->request, STR("bucket"), &bucket);
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq(bucket, str_from(names[i].name))) {
            *out_view = names[i].view;
            return true;
        }
    call_refuse(call, PROBLEM_BAD_VALUE, STR("bucket"),
                STR("bucket must be one of: all, proposed, committed, user, hint, system, "
                    "discovery, wall, note"));
    return false;
}

static bool find_target(struct call *call, struct subject *out_target)
{
    struct record owner;
    const struct resource *within = call->route->within;
    if (!resource_find(call, within, call->keys[0], &owner))
        return false;
    *out_target = (struct subject){within->shape->table, owner.id};
    if (within != &resource_snapshots)
        return true;
    /* What a head holds is what its deployment holds. */
    *out_target = (struct subject){TABLE_DEPLOYMENT, owner.snapshot.deployment_id};
    if (owner.snapshot.state == SNAPSHOT_ARCHIVED)
        call_refuse(call, PROBLEM_WRONG_STATE, STR("id"),
                    STR("it is archived, and of its data only what users wanted is kept; "
                        "deployment_roles and node_roles tell that"));
    return !call->problems;
}

/* An attrib on somebody. */
struct reading {
    struct subject target, place;
    struct record attrib;
};

static bool find_reading(struct call *call, struct reading *out)
{
    if (!find_target(call, &out->target) ||
        !resource_find(call, &resource_attribs, call->keys[1], &out->attrib))
        return false;
    out->place = core_attrib_place(call->core, out->target, out->attrib.id);
    if (out->place.table != TABLE_COUNT)
        return true;
    call_refuse(call, PROBLEM_NOT_FOUND, STR("id"),
                STR_CONCAT(call->arena, STR("attrib "), out->attrib.attrib.name,
                           STR(" has no meaning on this "),
                           str_from(call->route->within->shape->type)));
    return false;
}

/* ---- attribs with a value behind them ---- */

/* Many attribs look at the same data: what was looked at last is kept, until something changes. */
struct value_cache {
    struct arena *arena;
    const struct core *core;
    uint64_t edits;
    struct subject place;
    const struct json *data;
};

struct value_tail {
    struct object_view_tail tail; /* first, so that the one can be had from the other */
    struct subject target;
    enum view view;
    struct value_cache *cache;
};

static const struct json *data_of(const struct value_tail *v, const struct core *core,
                                  struct subject place)
{
    struct value_cache *cache = v->cache;
    const uint64_t edits = core_edits(core);
    const bool holds = cache->core == core && cache->edits == edits &&
                       cache->place.table == place.table && cache->place.id == place.id;
    if (!holds) {
        cache->core = core;
        cache->edits = edits;
        cache->place = place;
        cache->data = core_data(core, place, v->view, cache->arena);
    }
    return cache->data;
}

static void write_value(const struct object_view_tail *tail, const struct core *core,
                        const struct record *record, struct buf *out)
{
    const struct value_tail *v = (const struct value_tail *)tail;
    const struct subject place = core_attrib_place(core, v->target, record->id);
    if (place.table == TABLE_COUNT)
        buf_put_z(out, "null");
    else
        buf_put_str(out, core_value_in(core, data_of(v, core, place), record->id, v->cache->arena));
}

/* The resource as it is shown there; lives as long as the call. */
static const struct resource *valued(struct call *call, struct subject target, enum view view)
{
    struct value_tail *tail = arena_new(call->arena, struct value_tail);
    struct object_view *shape = arena_new(call->arena, struct object_view);
    struct resource *resource = arena_new(call->arena, struct resource);
    struct value_cache *cache = arena_new(call->arena, struct value_cache);
    cache->arena = call->arena;
    *tail = (struct value_tail){.tail = {.name = "value", .write = write_value},
                                .target = target,
                                .view = view,
                                .cache = cache};
    *shape = *resource_attribs.shape;
    shape->tail = &tail->tail;
    *resource = resource_attribs;
    resource->shape = shape;
    return resource;
}

/* Without an ETag: what it reads as can change in half a dozen objects. */
static void reply_reading(struct call *call, const struct reading *r, enum view view)
{
    const struct object_view *shape = valued(call, r->target, view)->shape;
    struct buf b = buf_in(call->arena);
    object_view_write(shape, call->core, &r->attrib, reply_mask(call, shape), &b);
    reply_json(call, shape->type, "obj", buf_str(&b));
}

/* ---- reading ---- */

static bool has_meaning(const struct choice *choice, struct call *call, const struct record *record)
{
    const struct subject target = {call->route->within->shape->table, choice->owner_id};
    return core_attrib_place(call->core, target, record->id).table != TABLE_COUNT;
}

enum handler_result serve_values(struct call *call)
{
    static const char *const passes[] = {"bucket", "deployment", NULL}; /* of a deployment role */
    struct subject target;
    enum view view;
    if (!find_target(call, &target) || !read_view(call, &view))
        return SERVED_REPLY;
    return reply_choice(call, &(struct choice){.resource = valued(call, target, view),
                                               .keeps = has_meaning,
                                               .owner_id = target.id,
                                               .passes = passes});
}

enum handler_result serve_value(struct call *call)
{
    struct reading r;
    enum view view;
    if (find_reading(call, &r) && read_view(call, &view))
        reply_reading(call, &r, view);
    return SERVED_REPLY;
}

/* ---- writing ---- */

/* As enum bucket counts. Those that only the engine may write are named to be refused. */
static const char *const buckets[] = {"user", "note", "system", "wall", "discovery", "hint", NULL};
_Static_assert(sizeof buckets / sizeof *buckets == BUCKET_COUNT + 1, "one name for each bucket");

static const struct param_rule value_takes[] = {
    {.name = "value", .kind = TAKE_VALUE, .at = INTO(attrib_set.value), .is_required = true},
    {.name = "bucket", .kind = TAKE_WORD, .at = INTO(attrib_set.bucket), .words = buckets},
};

const struct params_schema value_intake = {.kind = COMMAND_ATTRIB_SET, TAKES(value_takes)};

/* Where that which was written can be seen, though work does not see it before a commit. */
static enum view written_view(const struct reading *r, uint32_t bucket)
{
    if (bucket == BUCKET_NOTE)
        return VIEW_NOTE;
    return r->place.table == TABLE_NODE ? VIEW_ALL : VIEW_PROPOSED;
}

static void reply_written(struct call *call, uint32_t bucket)
{
    struct reading r;
    if (call->core && find_reading(call, &r))
        reply_reading(call, &r, written_view(&r, bucket));
    else
        reply_message(call, resource_attribs.shape->type,
                      STR("it was done; the object has been deleted since"));
}

static void value_written(struct call *call, int64_t id)
{
    (void)id;
    reply_written(call, BUCKET_USER);
}

static void note_written(struct call *call, int64_t id)
{
    (void)id;
    reply_written(call, BUCKET_NOTE);
}

/* A form can only say texts, and whoever wrote one says "true" for true. A text that the schema
 * refuses is taken for what it says as JSON where the schema takes that. */
static void take_as_meant(struct call *call, const struct record *attrib, struct str *value)
{
    const struct json *given = json_get(call->params, STR("value"));
    const struct str name = attrib->attrib.name;
    struct violations violations = {0};
    struct json *schema, *meant;
    uint32_t offset;
    const char *what;
    if (given && given->kind == JSON_STRING && attrib->attrib.schema.len &&
        json_read(call->arena, given->text, &meant, &offset, &what) == OK &&
        json_read(call->arena, attrib->attrib.schema, &schema, &offset, &what) == OK &&
        !schema_validate(call->arena, schema, name, given, &violations) &&
        schema_validate(call->arena, schema, name, meant, &violations))
        *value = json_write(call->arena, meant);
}

enum handler_result serve_value_set(struct call *call)
{
    struct reading r;
    if (!find_reading(call, &r) || !object_condition(call) ||
        !params_read(call, resource_attribs.shape->type))
        return SERVED_REPLY;
    struct command command = {.attrib_set = {.target = (uint32_t)r.target.table,
                                             .id = r.target.id,
                                             .attrib_id = r.attrib.id,
                                             .bucket = BUCKET_USER}};
    params_schema_read(call, &value_intake, 0, &command);
    take_as_meant(call, &r.attrib, &command.attrib_set.value);
    const bool is_note = command.attrib_set.bucket == BUCKET_NOTE;
    return object_submit(call, &command, is_note ? note_written : value_written);
}

/* ---- patching ---- */

static struct json *object_of(struct call *call, const struct reading *r)
{
    const struct object_view *shape = valued(call, r->target, written_view(r, BUCKET_USER))->shape;
    struct buf b = buf_in(call->arena);
    struct json *object;
    uint32_t offset;
    const char *what;
    object_view_write(shape, call->core, &r->attrib, SHAPE_ALL, &b);
    must(json_read(call->arena, buf_str(&b), &object, &offset, &what) == OK);
    return object;
}

static void check_untouched(struct call *call, const struct json *one, const struct json *other)
{
    for (const struct json *member = one->first; member; member = member->next) {
        const struct json *there = json_get(other, member->key);
        if (!str_eq(member->key, STR("value")) && (!there || !json_eq(member, there)))
            call_refuse(call, PROBLEM_READ_ONLY, member->key,
                        STR_CONCAT(call->arena, member->key, STR(" cannot be changed")));
    }
}

/* The new value, or null when it is gone. Values are merged, so no key of one can be taken out. */
static struct str patched_value(struct call *call, const struct json *before,
                                const struct json *after)
{
    const struct json *from = json_get(before, STR("value")), *to = json_get(after, STR("value"));
    if (!to)
        return STR("null");
    if (!json_eq(json_merge(call->arena, from, to), to))
        call_refuse(call, PROBLEM_BAD_VALUE, STR("value"),
                    STR("keys cannot be taken out of a value, for it is merged into what is there; "
                        "set them to null"));
    return json_write(call->arena, to);
}

/* Whoever changes the data meanwhile is no reason to fail, unless the caller said so: what comes of
 * the patch is computed again. */
static bool expect_place(struct call *call, const struct reading *r)
{
    struct record place;
    must(core_record(call->core, r->place.table, r->place.id, &place));
    const int64_t turn = place.settings.turn; /* every object has it in the same place */
    if (call->if_turn && call->if_turn != turn) {
        object_refuse_turn(call);
        return false;
    }
    call->can_try_again = call->if_turn == 0;
    call->if_turn = turn;
    return true;
}

enum handler_result serve_value_patch(struct call *call)
{
    struct reading r;
    if (!find_reading(call, &r) || !object_condition(call) || !expect_place(call, &r))
        return SERVED_REPLY;
    const struct json *before = object_of(call, &r);
    struct json *after = json_clone(call->arena, before);
    if (!patch_apply(call, after))
        return SERVED_REPLY;
    check_untouched(call, before, after);
    check_untouched(call, after, before);
    struct command command = {.kind = COMMAND_ATTRIB_SET,
                              .attrib_set = {.target = (uint32_t)r.place.table,
                                             .id = r.place.id,
                                             .attrib_id = r.attrib.id,
                                             .bucket = BUCKET_USER,
                                             .value = patched_value(call, before, after)}};
    return object_submit(call, &command, value_written);
}
