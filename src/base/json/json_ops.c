/* json_ops.c - construction, lookup, comparison, copy and merge of trees.
 *
 * Stateless; new nodes are in the arena of the caller. json_set() and the merge keep the members of
 * an object sorted by key, on which lookup, comparison and merge rely. No function goes deeper than
 * JSON_DEPTH_MAX levels into a tree: json_depth() reports a deeper tree as too deep, all others
 * abort, because it is a defect of the caller.
 */
#include "base/json/json.h"

/* --- Building --- */

struct json *json_make(struct arena *a, enum json_kind kind)
{
    struct json *value = arena_new(a, struct json);
    value->kind = kind;
    return value;
}

struct json *json_make_string(struct arena *a, struct str s)
{
    struct json *value = json_make(a, JSON_STRING);
    value->text = s;
    return value;
}

struct json *json_make_i64(struct arena *a, int64_t value)
{
    struct json *number = json_make(a, JSON_NUMBER);
    struct buf b = buf_in(a);
    buf_put_i64(&b, value);
    number->text = buf_str(&b);
    return number;
}

struct json *json_make_bool(struct arena *a, bool value)
{
    return json_make(a, value ? JSON_TRUE : JSON_FALSE);
}

/* Appends without checking the order of keys. */
static void link_last(struct json *container, struct json *value)
{
    value->next = NULL;
    if (container->last)
        container->last->next = value;
    else
        container->first = value;
    container->last = value;
    container->count++;
}

void json_set(struct json *object, struct str key, struct json *value)
{
    must(object->kind == JSON_OBJECT);
    value->key = key;
    if (!object->last || str_cmp(object->last->key, key) < 0) {
        link_last(object, value);
        return;
    }
    /* The last key is not smaller than this one, so the walk ends before the list does. */
    struct json **at = &object->first;
    while (str_cmp((*at)->key, key) < 0)
        at = &(*at)->next;
    struct json *found = *at;
    bool replaces = str_eq(found->key, key);
    value->next = replaces ? found->next : found;
    *at = value;
    if (!replaces)
        object->count++;
    else if (object->last == found)
        object->last = value;
}

bool json_unset(struct json *object, struct str key)
{
    must(object->kind == JSON_OBJECT);
    struct json *before = NULL;
    for (struct json *member = object->first; member; before = member, member = member->next) {
        if (!str_eq(member->key, key))
            continue;
        if (before)
            before->next = member->next;
        else
            object->first = member->next;
        if (object->last == member)
            object->last = before;
        member->next = NULL;
        object->count--;
        return true;
    }
    return false;
}

void json_append(struct json *array, struct json *value)
{
    must(array->kind == JSON_ARRAY);
    link_last(array, value);
}

static struct json *clone_one(struct arena *a, const struct json *value)
{
    struct json *copy = json_make(a, value->kind);
    if (value->key.len)
        copy->key = str_copy(a, value->key);
    if (value->text.len)
        copy->text = str_copy(a, value->text);
    return copy;
}

struct json *json_clone(struct arena *a, const struct json *value)
{
    const struct json *open[JSON_DEPTH_MAX];
    struct json *copies[JSON_DEPTH_MAX];
    uint32_t depth = 0;
    struct json *root = clone_one(a, value);
    struct json *copy = root;
    for (;;) {
        if (value->first) {
            must(depth < JSON_DEPTH_MAX);
            open[depth] = value;
            copies[depth++] = copy;
            value = value->first;
        } else {
            while (depth && !value->next)
                value = open[--depth];
            if (depth == 0)
                return root;
            value = value->next;
        }
        copy = clone_one(a, value);
        link_last(copies[depth - 1], copy);
    }
}

/* --- Reading --- */

const struct json *json_get(const struct json *object, struct str key)
{
    if (!object || object->kind != JSON_OBJECT)
        return NULL;
    for (const struct json *member = object->first; member; member = member->next) {
        int order = str_cmp(member->key, key);
        if (order >= 0)
            return order == 0 ? member : NULL;
    }
    return NULL;
}

const struct json *json_at(const struct json *value, struct str slash_path)
{
    if (str_is_empty(slash_path))
        return value;
    for (uint32_t from = 0; value && from <= slash_path.len;) {
        uint32_t to = str_find(slash_path, '/', from);
        value = json_get(value, str_slice(slash_path, from, to));
        from = to + 1;
    }
    return value;
}

bool json_is_true(const struct json *value)
{
    return value && value->kind == JSON_TRUE;
}

/* True if the nodes are equal without their keys and children. */
static bool same_head(const struct json *a, const struct json *b)
{
    return a->kind == b->kind && a->count == b->count && str_eq(a->text, b->text);
}

bool json_eq(const struct json *a, const struct json *b)
{
    const struct json *open_a[JSON_DEPTH_MAX];
    const struct json *open_b[JSON_DEPTH_MAX];
    uint32_t depth = 0;
    if (!a || !b)
        return a == b;
    if (!same_head(a, b))
        return false;
    for (;;) {
        if (a->first) {
            must(depth < JSON_DEPTH_MAX);
            open_a[depth] = a;
            open_b[depth++] = b;
            a = a->first;
            b = b->first;
        } else {
            while (depth && !a->next) {
                a = open_a[--depth];
                b = open_b[depth];
            }
            if (depth == 0)
                return true;
            a = a->next;
            b = b->next;
        }
        if (!same_head(a, b) || !str_eq(a->key, b->key))
            return false;
    }
}

bool json_as_i64(const struct json *value, int64_t *out_value)
{
    if (!value || value->kind != JSON_NUMBER)
        return false;
    bool negative = str_starts(value->text, STR("-"));
    struct str digits = str_slice(value->text, negative, value->text.len);
    if (!str_is_digits(digits))
        return false;
    /* Counted downwards: there is one negative number more than there are positive ones. */
    int64_t below = 0;
    for (uint32_t i = 0; i < digits.len; i++) {
        int digit = digits.at[i] - '0';
        if (below < (INT64_MIN + digit) / 10)
            return false;
        below = below * 10 - digit;
    }
    if (!negative && below == INT64_MIN)
        return false;
    *out_value = negative ? below : -below;
    return true;
}

uint32_t json_depth(const struct json *value)
{
    const struct json *open[JSON_DEPTH_MAX];
    uint32_t depth = 0;
    uint32_t deepest = 0;
    for (;;) {
        if (value->kind == JSON_ARRAY || value->kind == JSON_OBJECT) {
            if (depth == JSON_DEPTH_MAX)
                return JSON_DEPTH_MAX + 1;
            if (deepest <= depth)
                deepest = depth + 1;
        }
        if (value->first) {
            open[depth++] = value;
            value = value->first;
            continue;
        }
        while (depth && !value->next)
            value = open[--depth];
        if (depth == 0)
            return deepest;
        value = value->next;
    }
}

/* --- Merging --- */

/* Moves the members of `right` into `left`, in order. Both objects are owned by the caller
 * alone, and `right` must not be used afterwards. Calls itself for members that are objects on
 * both sides; the bound is JSON_DEPTH_MAX levels. */
static void json_merge_into(struct json *left, struct json *right, uint32_t depth)
{
    must(depth < JSON_DEPTH_MAX);
    struct json *l = left->first;
    struct json *r = right->first;
    left->first = NULL;
    left->last = NULL;
    left->count = 0;
    while (l || r) {
        int order = !l ? 1 : !r ? -1 : str_cmp(l->key, r->key);
        struct json *l_next = order <= 0 ? l->next : l;
        struct json *r_next = order >= 0 ? r->next : r;
        struct json *winner = order < 0 ? l : r;
        if (order == 0 && l->kind == JSON_OBJECT && r->kind == JSON_OBJECT) {
            json_merge_into(l, r, depth + 1);
            winner = l;
        }
        link_last(left, winner);
        l = l_next;
        r = r_next;
    }
}

struct json *json_merge(struct arena *a, const struct json *left, const struct json *right)
{
    if (left->kind != JSON_OBJECT || right->kind != JSON_OBJECT)
        return json_clone(a, right);
    struct json *merged = json_clone(a, left);
    json_merge_into(merged, json_clone(a, right), 0);
    return merged;
}

struct json *json_wrap(struct arena *a, struct str slash_path, const struct json *value)
{
    struct json *inner = json_clone(a, value);
    if (str_is_empty(slash_path))
        return inner;
    uint32_t end = slash_path.len;
    for (;;) {
        uint32_t from = end;
        while (from && slash_path.at[from - 1] != '/')
            from--;
        struct json *outer = json_make(a, JSON_OBJECT);
        json_set(outer, str_copy(a, str_slice(slash_path, from, end)), inner);
        inner = outer;
        if (from == 0)
            return inner;
        end = from - 1;
    }
}
