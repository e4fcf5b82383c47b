#include "api/call/reply.h"
#include "api/call/route.h"
#include "api/nouns/attribs.h"
#include "api/rest/lists.h"
#include "api/rest/objects.h"
#include "model/schema.h"

/* Values of attribs on objects. An attrib is a named value at a path of the documents of its owner;
 * it is requested for an object (`target`), and the owner (`place`) is found from it: for an attrib
 * of a role on a node, for example, the owner is the noderole.
 *
 * A value is read from the merged data of its owner (core_data) in the layer that ?bucket= selects,
 * and written by a command attrib_set. For lists the data of the last owner is cached in the arena
 * of the call, because most attribs of an object have the same owner; the cache is valid until the
 * core changes.
 *
 * A PATCH reads the value and its precondition (the turn of the owner) from the same core, so a
 * change of the owner before the command is executed makes the precondition fail.
 *
 * Failure: a problem ends the call before anything is submitted. A PATCH whose precondition fails
 * is computed again, unless the client sent If-Match.
 */

/* ---- object, attrib and layer ---- */

/* Reads ?bucket=, with the names that OpenCrowbar uses. */
static bool attrib_read_bucket(struct call *call, enum data_view *out_view)
{
    static const struct {
        const char *name;
        enum data_view view;
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

/* The object of the first key. False after a problem. */
static bool attrib_find_target(struct call *call, struct subject *out_target)
{
    struct record owner;
    const struct resource *within = call->route->within;
    if (!resource_find(call, within, call->keys[0], &owner))
        return false;
    *out_target = (struct subject){within->view->table, owner.id};
    if (within != &resource_snapshots)
        return true;
    /* The data of a head snapshot is the data of its deployment. */
    *out_target = (struct subject){TABLE_DEPLOYMENT, owner.snapshot.deployment_id};
    if (owner.snapshot.state == SNAPSHOT_ARCHIVED)
        call_refuse(call, PROBLEM_WRONG_STATE, STR("id"),
                    STR("the snapshot is archived, and only its user data is stored; read its "
                        "deployment_roles and node_roles"));
    return !call->problems;
}

/* An attrib, the object it is requested for, and the owner of its value. */
struct attrib_on_owner {
    struct subject target, place;
    struct record attrib;
};

static bool attrib_find_value(struct call *call, struct attrib_on_owner *out)
{
    if (!attrib_find_target(call, &out->target) ||
        !resource_find(call, &resource_attribs, call->keys[1], &out->attrib))
        return false;
    out->place = core_attrib_owner(call->core, out->target, out->attrib.id);
    if (out->place.table != TABLE_COUNT)
        return true;
    call_refuse(call, PROBLEM_NOT_FOUND, STR("id"),
                STR_CONCAT(call->arena, STR("attrib "), out->attrib.attrib.name,
                           STR(" is not defined on this "),
                           str_from(call->route->within->view->type)));
    return false;
}

/* ---- attribs with values ---- */

/* The merged data that was read last, and the state of the core for which it is valid. */
struct value_cache {
    struct arena *arena; /* of the call; receives `data` */
    const struct core *core;
    uint64_t edits; /* core_edits() when `data` was read */
    struct subject place;
    const struct json *data;
};

struct value_tail {
    /* first member, so that a pointer to it is a pointer to the struct */
    struct object_view_tail tail;
    struct subject target;
    enum data_view view;
    struct value_cache *cache;
};

static const struct json *attrib_cached_data(const struct value_tail *v, const struct core *core,
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

static void attrib_write_value(const struct object_view_tail *tail, const struct core *core,
                               const struct record *record, struct buf *out)
{
    const struct value_tail *v = (const struct value_tail *)tail;
    const struct subject place = core_attrib_owner(core, v->target, record->id);
    if (place.table == TABLE_COUNT)
        buf_put_z(out, "null");
    else
        buf_put_str(out, core_value_in(core, attrib_cached_data(v, core, place), record->id,
                                       v->cache->arena));
}

/* The resource of attribs with the key "value" for this object; lives as long as the call. */
static const struct resource *attrib_value_resource(struct call *call, struct subject target,
                                                    enum data_view view)
{
    struct value_tail *tail = arena_new(call->arena, struct value_tail);
    struct object_view *object_view = arena_new(call->arena, struct object_view);
    struct resource *resource = arena_new(call->arena, struct resource);
    struct value_cache *cache = arena_new(call->arena, struct value_cache);
    cache->arena = call->arena;
    *tail = (struct value_tail){.tail = {.name = "value", .write = attrib_write_value},
                                .target = target,
                                .view = view,
                                .cache = cache};
    *object_view = *resource_attribs.view;
    object_view->tail = &tail->tail;
    *resource = resource_attribs;
    resource->view = object_view;
    return resource;
}

/* Without an ETag: the value depends on several objects. */
static void attrib_reply_value(struct call *call, const struct attrib_on_owner *r,
                               enum data_view view)
{
    const struct object_view *object_view = attrib_value_resource(call, r->target, view)->view;
    struct buf b = buf_in(call->arena);
    object_view_write(object_view, call->core, &r->attrib, reply_mask(call, object_view), &b);
    reply_json(call, object_view->type, "obj", buf_str(&b));
}

/* ---- GET ---- */

static bool attrib_is_defined_on(const struct list_scope *scope, struct call *call,
                                 const struct record *record)
{
    const struct subject target = {call->route->within->view->table, scope->owner_id};
    return core_attrib_owner(call->core, target, record->id).table != TABLE_COUNT;
}

enum handler_result serve_values(struct call *call)
{
    static const char *const ignored[] = {"bucket", "deployment",
                                          NULL}; /* used to find a deployment role */
    struct subject target;
    enum data_view view;
    if (!attrib_find_target(call, &target) || !attrib_read_bucket(call, &view))
        return SERVED_REPLY;
    return reply_list_of(call,
                         &(struct list_scope){.resource = attrib_value_resource(call, target, view),
                                              .accepts = attrib_is_defined_on,
                                              .owner_id = target.id,
                                              .ignored_params = ignored});
}

enum handler_result serve_value(struct call *call)
{
    struct attrib_on_owner r;
    enum data_view view;
    if (attrib_find_value(call, &r) && attrib_read_bucket(call, &view))
        attrib_reply_value(call, &r, view);
    return SERVED_REPLY;
}

/* ---- PUT ---- */

/* In the order of enum bucket. Buckets that only the engine may write are listed so that the core
 * can refuse them. */
static const char *const buckets[] = {"user", "note", "system", "wall", "discovery", "hint", NULL};
_Static_assert(sizeof buckets / sizeof *buckets == BUCKET_COUNT + 1, "one name for each bucket");

static const struct param_rule value_rules[] = {
    {.name = "value", .kind = PARAM_VALUE, .at = COMMAND_AT(attrib_set.value), .is_required = true},
    {.name = "bucket", .kind = PARAM_WORD, .at = COMMAND_AT(attrib_set.bucket), .words = buckets},
};

const struct params_schema value_params = {.kind = COMMAND_ATTRIB_SET, PARAM_RULES(value_rules)};

/* The layer in which a written value is visible; runs do not see it before a commit. */
static enum data_view attrib_written_view(const struct attrib_on_owner *r, uint32_t bucket)
{
    if (bucket == BUCKET_NOTE)
        return VIEW_NOTE;
    return r->place.table == TABLE_NODE ? VIEW_ALL : VIEW_PROPOSED;
}

static void attrib_reply_written(struct call *call, uint32_t bucket)
{
    struct attrib_on_owner r;
    if (call->core && attrib_find_value(call, &r))
        attrib_reply_value(call, &r, attrib_written_view(&r, bucket));
    else
        reply_message(call, resource_attribs.view->type,
                      STR("the change was made; the object has been deleted since"));
}

static void attrib_reply_user_value(struct call *call, int64_t id)
{
    (void)id;
    attrib_reply_written(call, BUCKET_USER);
}

static void attrib_reply_note(struct call *call, int64_t id)
{
    (void)id;
    attrib_reply_written(call, BUCKET_NOTE);
}

/* Forms can only send strings. A string that the schema of the attrib refuses is parsed as JSON,
 * and the result is used if the schema accepts it: "true" becomes true. */
static void attrib_coerce_string(struct call *call, const struct record *attrib, struct str *value)
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
    struct attrib_on_owner r;
    if (!attrib_find_value(call, &r) || !object_condition(call) ||
        !params_read(call, resource_attribs.view->type))
        return SERVED_REPLY;
    struct command command = {.attrib_set = {.target = (uint32_t)r.target.table,
                                             .id = r.target.id,
                                             .attrib_id = r.attrib.id,
                                             .bucket = BUCKET_USER}};
    params_schema_read(call, &value_params, 0, &command);
    attrib_coerce_string(call, &r.attrib, &command.attrib_set.value);
    const bool is_note = command.attrib_set.bucket == BUCKET_NOTE;
    return object_submit(call, &command, is_note ? attrib_reply_note : attrib_reply_user_value);
}

/* ---- PATCH ---- */

/* The attrib with its value, as the object that the operations of a PATCH refer to. */
static struct json *attrib_value_object(struct call *call, const struct attrib_on_owner *r)
{
    const struct object_view *object_view =
        attrib_value_resource(call, r->target, attrib_written_view(r, BUCKET_USER))->view;
    struct buf b = buf_in(call->arena);
    struct json *object;
    uint32_t offset;
    const char *what;
    object_view_write(object_view, call->core, &r->attrib, PROP_ALL, &b);
    must(json_read(call->arena, buf_str(&b), &object, &offset, &what) == OK);
    return object;
}

/* Refuses members of `one` that `other` does not have equally, except for the value. */
static void attrib_check_only_value(struct call *call, const struct json *one,
                                    const struct json *other)
{
    for (const struct json *member = one->first; member; member = member->next) {
        const struct json *there = json_get(other, member->key);
        if (!str_eq(member->key, STR("value")) && (!there || !json_eq(member, there)))
            call_refuse(call, PROBLEM_READ_ONLY, member->key,
                        STR_CONCAT(call->arena, member->key, STR(" cannot be changed")));
    }
}

/* The new value, or null if it was removed. Values are merged, so a patch cannot remove a key of a
 * value. */
static struct str attrib_patched_value(struct call *call, const struct json *before,
                                       const struct json *after)
{
    const struct json *from = json_get(before, STR("value")), *to = json_get(after, STR("value"));
    if (!to)
        return STR("null");
    if (!json_eq(json_merge(call->arena, from, to), to))
        call_refuse(call, PROBLEM_BAD_VALUE, STR("value"),
                    STR("keys cannot be removed from a value, because it is merged into the stored "
                        "one; set them to null"));
    return json_write(call->arena, to);
}

/* Sets the precondition that the owner does not change. Unless the client sent one, a failure makes
 * the patch be computed again. */
static bool attrib_set_condition(struct call *call, const struct attrib_on_owner *r)
{
    struct record place;
    must(core_record(call->core, r->place.table, r->place.id, &place));
    const int64_t turn =
        place.settings.turn; /* all object records have `turn` at the same offset */
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
    struct attrib_on_owner r;
    if (!attrib_find_value(call, &r) || !object_condition(call) || !attrib_set_condition(call, &r))
        return SERVED_REPLY;
    const struct json *before = attrib_value_object(call, &r);
    struct json *after = json_clone(call->arena, before);
    if (!patch_apply(call, after))
        return SERVED_REPLY;
    attrib_check_only_value(call, before, after);
    attrib_check_only_value(call, after, before);
    struct command command = {.kind = COMMAND_ATTRIB_SET,
                              .attrib_set = {.target = (uint32_t)r.place.table,
                                             .id = r.place.id,
                                             .attrib_id = r.attrib.id,
                                             .bucket = BUCKET_USER,
                                             .value = attrib_patched_value(call, before, after)}};
    return object_submit(call, &command, attrib_reply_user_value);
}
