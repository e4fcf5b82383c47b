/* Goal: a JSON patch (RFC 6902) has the result that the standard defines, does not change the
 * original document, and its result is a valid tree: it can be written and read back, and the
 * operation "test" of it against itself succeeds.
 * Method: the first line of an input is a document, the rest is the patch. The result is compared
 * with that of a simple model, which walks from the root for each operation and builds a new
 * document. */
#include "api/rest/objects.h"
#include "tests/fuzz/lone_call.h"

static struct lone_call lone;
static struct arena model;

/* ---- the model ---- */

/* Takes the first step off a JSON pointer. */
static bool next_step(struct str *pointer, struct str *out_step)
{
    if (pointer->len == 0 || pointer->at[0] != '/')
        return false;
    const uint32_t end = str_find(*pointer, '/', 1);
    struct buf b = buf_in(&model);
    for (uint32_t i = 1; i < end; i++) {
        const char c = pointer->at[i];
        if (c != '~')
            buf_put_c(&b, c);
        else
            buf_put_c(&b, pointer->at[++i] == '1' ? '/' : '~');
    }
    *out_step = buf_str(&b);
    *pointer = str_slice(*pointer, end, pointer->len);
    return true;
}

static bool is_index(struct str step, uint32_t count, uint32_t *out_index)
{
    int64_t index;
    *out_index = count;
    if (str_eq(step, STR("-")))
        return true;
    if (!str_parse_i64(step, &index) || index > count || (step.len > 1 && step.at[0] == '0'))
        return false;
    *out_index = (uint32_t)index;
    return true;
}

static const struct json *child_of(const struct json *value, struct str step)
{
    uint32_t index;
    if (value->kind == JSON_OBJECT)
        return json_get(value, step);
    if (value->kind != JSON_ARRAY || !is_index(step, value->count, &index))
        return NULL;
    const struct json *child = value->first;
    while (child && index-- > 0)
        child = child->next;
    return child;
}

static const struct json *model_find(const struct json *value, struct str pointer)
{
    struct str step;
    while (value && next_step(&pointer, &step))
        value = child_of(value, step);
    return value;
}

static struct json *edited(const struct json *value, struct str pointer, const struct json *put);

/* Computes the replacement of a child: `put` (NULL: the child is removed), or the child edited at
 * the rest of the pointer. Returns false if the pointer names nothing. */
static bool edit_child(const struct json *child, struct str rest, const struct json *put,
                       struct json **out_child)
{
    *out_child = NULL;
    if (rest.len == 0) {
        *out_child = put ? json_clone(&model, put) : NULL;
        if (put)
            (*out_child)->key = STR(""); /* elements of arrays have no key */
        return put || child;
    }
    *out_child = child ? edited(child, rest, put) : NULL;
    return *out_child != NULL;
}

static struct json *edited_object(const struct json *value, struct str step, struct str rest,
                                  const struct json *put)
{
    struct json *copy = json_clone(&model, value), *child;
    if (!edit_child(json_get(value, step), rest, put, &child))
        return NULL;
    json_unset(copy, step);
    if (child)
        json_set(copy, step, child);
    return copy;
}

static struct json *edited_array(const struct json *value, struct str step, struct str rest,
                                 const struct json *put)
{
    struct json *copy = json_make(&model, JSON_ARRAY), *child;
    uint32_t index, at = 0;
    if (!is_index(step, value->count, &index) ||
        !edit_child(child_of(value, step), rest, put, &child))
        return NULL;
    const bool pushes = rest.len == 0 && put; /* inserts before the element at index */
    for (const struct json *item = value->first; item; item = item->next, at++) {
        if (at == index && child)
            json_append(copy, child);
        if (at != index || pushes)
            json_append(copy, json_clone(&model, item));
    }
    if (at == index && child)
        json_append(copy, child);
    return copy;
}

/* Returns a copy of the value with `put` at the pointer, or without that position if put is NULL.
 * Returns NULL if the pointer names nothing. The functions call each other, once for each step of
 * the pointer. */
static struct json *edited(const struct json *value, struct str pointer, const struct json *put)
{
    struct str step;
    if (!next_step(&pointer, &step))
        return NULL;
    if (value->kind == JSON_OBJECT)
        return edited_object(value, step, pointer, put);
    return value->kind == JSON_ARRAY ? edited_array(value, step, pointer, put) : NULL;
}

static struct str text_of(const struct json *operation, const char *name)
{
    const struct json *text = json_get(operation, str_from(name));
    return text && text->kind == JSON_STRING ? text->text : STR("");
}

static const struct json *model_one(const struct json *root, const struct json *operation)
{
    const struct str op = text_of(operation, "op"), path = text_of(operation, "path"),
                     from = text_of(operation, "from");
    const struct json *value = json_get(operation, STR("value")), *there = model_find(root, path);
    if (str_eq(op, STR("test")))
        return there && value && json_eq(there, value) ? root : NULL;
    if (str_eq(op, STR("add")))
        return edited(root, path, value);
    if (str_eq(op, STR("copy")) || str_eq(op, STR("move"))) {
        value = model_find(root, from);
        if (value && str_eq(op, STR("move")))
            root = edited(root, from, NULL);
        return value && root ? edited(root, path, value) : NULL;
    }
    const struct json *without = there ? edited(root, path, NULL) : NULL;
    return str_eq(op, STR("replace")) && without ? edited(without, path, value) : without;
}

/* Returns NULL if an operation fails. */
static const struct json *model_apply(const struct json *root, const struct json *operations)
{
    for (const struct json *one = operations->first; one && root; one = one->next)
        root = model_one(root, one);
    return root;
}

/* ---- comparison ---- */

/* Parses the operations as the API does: the last value of a repeated key is used. */
static const struct json *read_operations(struct str body)
{
    struct json *tree;
    struct json_remarks remarks;
    if (json_read_last(&model, body, &tree, &remarks) != OK)
        world_fail(HERE, "not JSON (%s at %u): %.*s", remarks.what, remarks.offset,
                   STR_FMT_ARGS(body));
    return tree;
}

static bool is_limit(struct str body)
{
    const struct str code = json_get(read_back(&model, body), STR("code"))->text;
    return str_eq(code, STR("limit_reached"));
}

static void check_done(struct call *call, struct json *before, struct json *after)
{
    const struct json *operations = read_operations(call->request->body);
    CHECK(call->reply.status == 0);
    CHECK(json_depth(after) <= JSON_DEPTH_MAX);
    check_tree(after, 0);
    const struct str text = json_write(call->arena, after);
    const struct json *wanted = model_apply(before, operations);
    if (!wanted || !json_eq(wanted, after))
        world_fail(HERE, "result %.*s, but the model returns %.*s", STR_FMT_ARGS(text),
                   STR_FMT_ARGS(wanted ? json_write(&model, wanted) : STR("nothing")));
    CHECK(json_eq(read_back(&model, text), after));
    call->request->body =
        STR_CONCAT(call->arena, STR("[{\"op\":\"test\",\"path\":\"\",\"value\":"), text, STR("}]"));
    CHECK(json_depth(after) + 2 > JSON_DEPTH_MAX || patch_apply(call, after));
}

static void check_refused(struct call *call, const struct json *before)
{
    const int status = call->reply.status;
    CHECK(status == 400 || status == 409);
    check_error(&model, status, call->reply.body);
    if (status == 409 && !is_limit(call->reply.body) &&
        model_apply(before, read_operations(call->request->body)))
        world_fail(HERE, "refused, but the model succeeds: %.*s", STR_FMT_ARGS(call->reply.body));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str input = {(const char *)data, (uint32_t)size};
    const uint32_t line = str_find(input, '\n', 0);
    struct json *before;
    uint32_t offset;
    const char *what;
    arena_reset(&model);
    arena_reset(&lone.asked.request.arena);
    lone.asked.header_count = 0;
    struct call *call = lone_call(&lone);
    if (json_read(call->arena, str_slice(input, 0, line), &before, &offset, &what) != OK)
        return 0;
    lone_header(&lone, "Content-Type", STR("application/json-patch+json"));
    call->request->body = str_slice(input, line + 1, input.len);
    const struct str written = json_write(call->arena, before);
    struct json *after = json_clone(call->arena, before);
    if (patch_apply(call, after))
        check_done(call, before, after);
    else
        check_refused(call, before);
    CHECK(str_eq(json_write(call->arena, before), written));
    return 0;
}
