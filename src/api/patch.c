#include "api/objects.h"

#include "api/params.h"
#include "api/reply.h"
#include "api/route.h"

/* PATCH: an array of operations (RFC 6902) on the object as it is shown, plus the one document of
 * it that is not. What changed by them is then an update like any other. */

enum { OPERATIONS_MAX = 1000 };

/* It cannot be read as operations. */
static bool wrong(struct call *call, const char *code, struct str message)
{
    reply_error(call, 400, code, message);
    return false;
}

/* It can, but the object is not what it takes for granted. */
static bool conflict(struct call *call, struct str message)
{
    reply_error(call, 409, "patch_conflict", message);
    return false;
}

/* The key behind "/key", with ~1 and ~0 as / and ~. */
static bool read_path(struct call *call, const struct json *operation, struct str *out_key)
{
    const struct json *path = json_get(operation, STR("path"));
    if (!path || path->kind != JSON_STRING || path->text.len < 2 || path->text.at[0] != '/')
        return wrong(call, "bad_value", STR("each operation needs a path such as /description"));
    struct buf b = buf_in(call->arena);
    for (uint32_t i = 1; i < path->text.len; i++) {
        const char c = path->text.at[i];
        if (c == '/')
            return wrong(call, "bad_value",
                         SAY(call, STR("only members of the object itself can be patched, not "),
                             path->text));
        const char next = c == '~' && i + 1 < path->text.len ? path->text.at[i + 1] : 0;
        if (c == '~' && next != '0' && next != '1')
            return wrong(call, "bad_value", SAY(call, STR("not a JSON pointer: "), path->text));
        i += c == '~';
        buf_put_c(&b, next == '1' ? '/' : next == '0' ? '~' : c);
    }
    *out_key = buf_str(&b);
    return true;
}

static bool put(struct call *call, struct json *object, const struct json *operation,
                struct str key)
{
    const struct json *value = json_get(operation, STR("value"));
    if (!value)
        return wrong(call, "missing",
                     SAY(call, STR("the operation on "), key, STR(" has no value")));
    struct json *copy = json_clone(call->arena, value);
    json_set(object, key, copy);
    return true;
}

static bool apply(struct call *call, struct json *object, const struct json *operation)
{
    const struct json *op = json_get(operation, STR("op"));
    const struct str verb = op && op->kind == JSON_STRING ? op->text : STR("");
    struct str key;
    if (!read_path(call, operation, &key))
        return false;
    const struct json *there = json_get(object, key);
    if (str_eq(verb, STR("add")))
        return put(call, object, operation, key);
    if (!str_eq(verb, STR("replace")) && !str_eq(verb, STR("remove")) && !str_eq(verb, STR("test")))
        return wrong(call, "bad_value",
                     STR("each operation needs an op: add, replace, remove or test"));
    if (!there)
        return conflict(call, SAY(call, STR("there is no "), key));
    if (str_eq(verb, STR("replace")))
        return put(call, object, operation, key);
    if (str_eq(verb, STR("remove")))
        return json_unset(object, key);
    const struct json *value = json_get(operation, STR("value"));
    return (value && json_eq(there, value)) ||
           conflict(call, SAY(call, key, STR(" is not what the test expects")));
}

static struct json *object_of(struct call *call, const struct record *record)
{
    const struct resource *resource = call->route->resource;
    struct buf b = buf_in(call->arena);
    struct json *object, *hidden;
    uint32_t offset;
    const char *what;
    shape_write(resource->shape, call->core, record, UINT64_MAX, &b);
    must(json_read(call->arena, buf_str(&b), &object, &offset, &what) == OK);
    if (resource->hidden_key) {
        const struct str doc = resource->hidden_doc(record);
        must(json_read(call->arena, doc.len ? doc : STR("{}"), &hidden, &offset, &what) == OK);
        json_set(object, str_from(resource->hidden_key), hidden);
    }
    return object;
}

static bool is_editable(const struct resource *resource, struct str key)
{
    for (const char *const *name = resource->editable; *name; name++)
        if (str_eq(key, str_from(*name)))
            return true;
    return false;
}

/* Keep `key` if it differs; a key that is gone counts as null. */
static void note_change(struct call *call, struct str key, const struct json *before,
                        const struct json *after)
{
    if (before && after && json_eq(before, after))
        return;
    if (!is_editable(call->route->resource, key)) {
        call_refuse(call, PROBLEM_READ_ONLY, key, SAY(call, key, STR(" cannot be changed")));
        return;
    }
    struct json *value = after ? json_clone(call->arena, after) : json_make(call->arena, JSON_NULL);
    json_set(call->params, key, value);
}

static void note_changes(struct call *call, const struct json *before, const struct json *after)
{
    for (const struct json *member = before->first; member; member = member->next)
        note_change(call, member->key, member, json_get(after, member->key));
    for (const struct json *member = after->first; member; member = member->next)
        if (!json_get(before, member->key))
            note_change(call, member->key, NULL, member);
}

static bool apply_all(struct call *call, struct json *object)
{
    const struct json *operations = params_read_json(call);
    if (!operations)
        return false;
    if (operations->kind != JSON_ARRAY || operations->count > OPERATIONS_MAX)
        return wrong(call, "bad_json", STR("the body must be an array of operations (RFC 6902)"));
    for (const struct json *operation = operations->first; operation; operation = operation->next)
        if (!apply(call, object, operation))
            return false;
    return true;
}

enum served serve_patch(struct call *call)
{
    struct command command = {0};
    struct record record;
    if (!resource_find(call, call->route->resource, call->keys[0], &record) ||
        !object_is_as_expected(call, &record))
        return SERVED_REPLY;
    const struct json *before = object_of(call, &record);
    struct json *after = json_clone(call->arena, before);
    if (!apply_all(call, after))
        return SERVED_REPLY;
    call->params = json_make(call->arena, JSON_OBJECT);
    note_changes(call, before, after);
    if (call->problems)
        return SERVED_REPLY;
    call->resource = call->route->resource;
    if (call->params->count == 0) {
        object_shown(call, record.id);
        return SERVED_REPLY;
    }
    call->resource->update(call, record.id, &command);
    return call->problems ? SERVED_REPLY : call_submit(call, &command, object_shown);
}
