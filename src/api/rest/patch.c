#include "api/rest/objects.h"

#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/rest/json_pointer.h"
#include "api/rest/nested.h"
#include "api/rest/standard_routes.h"

/* PATCH: an array of operations (RFC 6902) on the object as it is returned, plus its hidden
 * document.
 *
 * The operations are applied to a JSON tree of the object; the members that differ afterwards
 * become the parameters of an ordinary update command, with the precondition that the object has
 * not changed since it was read. Steps and copied bytes are limited, because the patch is computed
 * on the loop. All state is in the arena of the call.
 *
 * Order: each operation is parsed and applied before the next one is parsed. Only the result
 * counts: whether a member may be changed is checked after the last operation, so that operations
 * that cancel each other are accepted.
 *
 * Failure: nothing is changed if one operation fails. 400: the patch is malformed; 409: it does not
 * fit the object, or a limit is reached; 412: If-Match does not hold. If the client sent no
 * If-Match and the object changed meanwhile, the whole patch is computed again (can_try_again), a
 * limited number of times.
 */

/* Limits that keep a short patch from taking long or from multiplying data by repeated copies. */
enum { OPERATIONS_MAX = 1000, STEPS_MAX = 20 * 1000 * 1000, COPIED_BYTES_MAX = 16 << 20 };

enum op { OP_ADD, OP_REMOVE, OP_REPLACE, OP_MOVE, OP_COPY, OP_TEST, OP_COUNT };

struct patch {
    struct call *call;
    struct document document; /* the object; the operations change it */
    uint64_t copied_left;     /* bytes that copy operations may still copy */
};

/* A parsed operation. */
struct operation {
    enum op op;
    struct str path_text;
    struct json_pointer path;
    struct json_pointer from; /* move, copy */
    const struct json *value; /* add, replace, test; NULL: none given */
};

/* The patch is malformed: 400. */
static bool patch_refuse(struct call *call, const char *code, struct str message)
{
    reply_error(call, 400, code, message);
    return false;
}

/* The patch is well-formed, but does not fit the object, or a limit is reached: 409. */
static bool patch_refuse_conflict(struct patch *p, struct str message)
{
    if (p->document.steps_left == 0)
        reply_error(p->call, 409, "limit_reached",
                    STR("the patch takes too many steps or copies too much; split it"));
    else
        reply_error(p->call, 409, "patch_conflict", message);
    return false;
}

/* ---- parsing ---- */

static bool patch_read_pointer(struct call *call, const struct json *operation, const char *name,
                               struct json_pointer *out_pointer)
{
    const struct json *text = json_get(operation, str_from(name));
    if (!text || text->kind != JSON_STRING)
        return patch_refuse(call, "bad_value",
                            STR_CONCAT(call->arena, STR("the operation needs a "), str_from(name),
                                       STR(" such as /description")));
    return json_pointer_parse(call->arena, text->text, out_pointer) ||
           patch_refuse(call, "bad_value",
                        STR_CONCAT(call->arena, STR("not a JSON pointer: "), text->text));
}

static bool patch_read_op(struct call *call, const struct json *operation, enum op *out_op)
{
    static const char *const names[OP_COUNT] = {"add", "remove", "replace", "move", "copy", "test"};
    const struct json *op = json_get(operation, STR("op"));
    for (int i = 0; op && op->kind == JSON_STRING && i < OP_COUNT; i++)
        if (str_eq(op->text, str_from(names[i]))) {
            *out_op = (enum op)i;
            return true;
        }
    return patch_refuse(
        call, "bad_value",
        STR("each operation needs an op: add, remove, replace, move, copy or test"));
}

static bool patch_read_operation(struct call *call, const struct json *operation,
                                 struct operation *out)
{
    if (!patch_read_op(call, operation, &out->op) ||
        !patch_read_pointer(call, operation, "path", &out->path))
        return false;
    const bool has_from = out->op == OP_MOVE || out->op == OP_COPY;
    out->path_text = json_get(operation, STR("path"))->text;
    out->value = json_get(operation, STR("value"));
    if (has_from && !patch_read_pointer(call, operation, "from", &out->from))
        return false;
    if ((out->op == OP_ADD || out->op == OP_REPLACE) && !out->value)
        return patch_refuse(call, "missing",
                            STR_CONCAT(call->arena, STR("the operation on "), out->path_text,
                                       STR(" has no value")));
    if (out->op == OP_MOVE && json_pointer_is_below(&out->path, &out->from))
        return patch_refuse(call, "bad_value", STR("a value cannot be moved into itself"));
    const bool is_whole = out->path.count == 0 || (out->op == OP_MOVE && out->from.count == 0);
    if (is_whole && out->op != OP_TEST)
        return patch_refuse(call, "bad_value",
                            STR("the whole object can only be tested; path must name a member"));
    return true;
}

/* ---- operations ---- */

static bool patch_refuse_absent(struct patch *p, const struct operation *o)
{
    return patch_refuse_conflict(
        p,
        STR_CONCAT(p->call->arena, STR("there is no value for the operation on "), o->path_text));
}

static bool patch_put(struct patch *p, const struct operation *o, struct json *value)
{
    if (o->path.count + json_depth(value) > JSON_DEPTH_MAX)
        return patch_refuse(p->call, "bad_json",
                            STR_CONCAT(p->call->arena, o->path_text,
                                       STR(" would be nested deeper than documents may be")));
    return document_add(&p->document, &o->path, value) ||
           patch_refuse_conflict(
               p,
               STR_CONCAT(p->call->arena, STR("there is no parent or index for "), o->path_text));
}

/* Bytes that a copy takes. Recursive, to a depth of at most JSON_DEPTH_MAX. */
static uint64_t patch_copy_size(const struct json *value)
{
    uint64_t weight = sizeof *value + value->key.len + value->text.len;
    for (const struct json *child = value->first; child; child = child->next)
        weight += patch_copy_size(child);
    return weight;
}

static bool patch_copy(struct patch *p, const struct operation *o)
{
    const struct json *from = document_find(&p->document, &o->from);
    if (!from)
        return patch_refuse_absent(p, o);
    const uint64_t weight = patch_copy_size(from);
    if (weight > p->copied_left) {
        /* Report it as a reached limit. */
        p->document.steps_left = 0;
        return patch_refuse_absent(p, o);
    }
    p->copied_left -= weight;
    return patch_put(p, o, json_clone(p->call->arena, from));
}

static bool patch_move(struct patch *p, const struct operation *o)
{
    struct json *taken = document_take(&p->document, &o->from);
    if (!taken)
        return patch_refuse_absent(p, o);
    /* patch_put() visits every value below it, so they count as steps. This is an upper bound. */
    const uint64_t steps = patch_copy_size(taken) / sizeof *taken;
    p->document.steps_left -= steps < p->document.steps_left ? steps : p->document.steps_left;
    return patch_put(p, o, taken);
}

static bool patch_test(struct patch *p, const struct operation *o)
{
    const struct json *there = document_find(&p->document, &o->path);
    if (!there)
        return patch_refuse_absent(p, o);
    return (o->value && json_eq(there, o->value)) ||
           patch_refuse_conflict(
               p, STR_CONCAT(p->call->arena, o->path_text, STR(" is not what the test expects")));
}

static bool patch_apply_operation(struct patch *p, const struct operation *o)
{
    switch (o->op) {
    case OP_ADD: return patch_put(p, o, json_clone(p->call->arena, o->value));
    case OP_REMOVE: return document_take(&p->document, &o->path) || patch_refuse_absent(p, o);
    case OP_REPLACE:
        if (!document_take(&p->document, &o->path))
            return patch_refuse_absent(p, o);
        return patch_put(p, o, json_clone(p->call->arena, o->value));
    case OP_MOVE: return patch_move(p, o);
    case OP_COPY: return patch_copy(p, o);
    case OP_TEST: return patch_test(p, o);
    case OP_COUNT: break;
    }
    impossible("an operation outside the enum");
}

/* ---- resulting changes ---- */

/* The object with all fields, and its hidden document under its key. */
static struct json *patch_object(struct call *call, const struct record *record)
{
    const struct resource *resource = call->route->resource;
    struct buf b = buf_in(call->arena);
    struct json *object, *hidden;
    uint32_t offset;
    const char *what;
    object_view_write(resource->view, call->core, record, PROP_ALL, &b);
    must(json_read(call->arena, buf_str(&b), &object, &offset, &what) == OK);
    if (resource->hidden_key) {
        const struct str doc = resource->hidden_doc(record);
        must(json_read(call->arena, doc.len ? doc : STR("{}"), &hidden, &offset, &what) == OK);
        json_set(object, str_from(resource->hidden_key), hidden);
    }
    return object;
}

/* Makes `key` a parameter if its value differs; a removed key becomes null. */
static void patch_note_change(struct call *call, struct str key, const struct json *before,
                              const struct json *after)
{
    if (before && after && json_eq(before, after))
        return;
    if (!params_schema_changes(call->route->resource->update, key)) {
        call_refuse(call, PROBLEM_READ_ONLY, key,
                    STR_CONCAT(call->arena, key, STR(" cannot be changed")));
        return;
    }
    struct json *value = after ? json_clone(call->arena, after) : json_make(call->arena, JSON_NULL);
    json_set(call->params, key, value);
}

static void patch_note_changes(struct call *call, const struct json *before,
                               const struct json *after)
{
    for (const struct json *member = before->first; member; member = member->next)
        patch_note_change(call, member->key, member, json_get(after, member->key));
    for (const struct json *member = after->first; member; member = member->next)
        if (!json_get(before, member->key))
            patch_note_change(call, member->key, NULL, member);
}

bool patch_apply(struct call *call, struct json *object)
{
    struct patch patch = {.call = call,
                          .document = {.root = object, .steps_left = STEPS_MAX},
                          .copied_left = COPIED_BYTES_MAX};
    struct operation operation;
    const struct json *operations = params_read_operations(call);
    if (!operations)
        return false;
    if (operations->kind != JSON_ARRAY || operations->count > OPERATIONS_MAX)
        return patch_refuse(call, "bad_json",
                            STR("the body must be an array of operations (RFC 6902)"));
    for (const struct json *at = operations->first; at; at = at->next)
        if (!patch_read_operation(call, at, &operation) ||
            !patch_apply_operation(&patch, &operation))
            return false;
    return true;
}

enum handler_result serve_patch(struct call *call)
{
    struct command command = {0};
    struct record record;
    const struct route *route = call->route;
    const bool is_found = route->within
                              ? nested_find(call, &record)
                              : resource_find(call, route->resource, call->keys[0], &record);
    if (!is_found || !object_condition(call))
        return SERVED_REPLY;
    const int64_t turn =
        record.settings.turn; /* all object records have `turn` at the same offset */
    if (call->if_turn && call->if_turn != turn) {
        object_refuse_turn(call);
        return SERVED_REPLY;
    }
    /* Without a condition of the client, a change in between is a reason to compute the patch
     * again, not to fail. */
    call->can_try_again = call->if_turn == 0;
    call->if_turn = turn;
    /* Apply the operations to a copy, then turn the differences into parameters. */
    const struct json *before = patch_object(call, &record);
    struct json *after = json_clone(call->arena, before);
    if (!patch_apply(call, after))
        return SERVED_REPLY;
    call->params = json_make(call->arena, JSON_OBJECT);
    patch_note_changes(call, before, after);
    if (call->problems)
        return SERVED_REPLY;
    call->resource = call->route->resource;
    /* Without a difference the reply is the object as it is. */
    if (call->params->count == 0) {
        object_reply_shown(call, record.id);
        return SERVED_REPLY;
    }
    params_schema_read(call, call->resource->update, record.id, &command);
    return call->problems ? SERVED_REPLY : call_submit(call, &command, object_reply_shown);
}
