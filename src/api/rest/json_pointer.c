#include "api/rest/json_pointer.h"

/* ---- pointers ---- */

/* One step, with ~1 and ~0 as / and ~. */
static bool unescape(struct arena *a, struct str text, struct str *out_step)
{
    struct buf b = buf_in(a);
    for (uint32_t i = 0; i < text.len; i++) {
        const char c = text.at[i];
        const char next = c == '~' && i + 1 < text.len ? text.at[i + 1] : 0;
        if (c == '~' && next != '0' && next != '1')
            return false;
        i += c == '~';
        buf_put_c(&b, next == '1' ? '/' : c);
    }
    *out_step = buf_str(&b);
    return true;
}

bool json_pointer_parse(struct arena *a, struct str text, struct json_pointer *out_pointer)
{
    uint32_t end;
    out_pointer->count = 0;
    if (text.len && text.at[0] != '/')
        return false;
    for (uint32_t at = 1; at <= text.len; at = end + 1) {
        end = str_find(text, '/', at);
        if (out_pointer->count == JSON_DEPTH_MAX ||
            !unescape(a, str_slice(text, at, end), &out_pointer->steps[out_pointer->count]))
            return false;
        out_pointer->count++;
    }
    return true;
}

bool json_pointer_is_below(const struct json_pointer *inner, const struct json_pointer *outer)
{
    if (inner->count <= outer->count)
        return false;
    for (uint32_t i = 0; i < outer->count; i++)
        if (!str_eq(inner->steps[i], outer->steps[i]))
            return false;
    return true;
}

/* ---- documents ---- */

/* Among the children of one value: the one that is meant, what stands before it, and who holds
 * them. Without a child it is where one could be put. */
struct place {
    struct json *parent;
    struct json *before; /* NULL: it is the first */
    struct json *child;  /* NULL: there is none   */
};

/* "0", "1", ...: the digits of a number in one way only. */
static bool read_index(struct str step, int64_t *out_index)
{
    return str_parse_i64(step, out_index) && (step.len == 1 || step.at[0] != '0');
}

static bool spend(struct document *d)
{
    if (d->steps_left == 0)
        return false;
    d->steps_left--;
    return true;
}

static bool find_member(struct document *d, struct str key, struct place *place)
{
    for (; place->child && str_cmp(place->child->key, key) < 0; place->child = place->child->next) {
        if (!spend(d))
            return false;
        place->before = place->child;
    }
    if (place->child && !str_eq(place->child->key, key))
        place->child = NULL;
    return true;
}

/* Also the place behind the last one. */
static bool find_element(struct document *d, struct str step, struct place *place)
{
    int64_t index = place->parent->count;
    if (str_eq(step, STR("-"))) {
        place->before = place->parent->last;
        place->child = NULL;
        return true;
    }
    if (!read_index(step, &index) || index > place->parent->count)
        return false;
    for (; index > 0; index--, place->child = place->child->next) {
        if (!spend(d))
            return false;
        place->before = place->child;
    }
    return true;
}

/* The place where the last step leads; false when the steps before it lead nowhere. */
static bool find_place(struct document *d, const struct json_pointer *at, struct place *out_place)
{
    struct json *parent = d->root;
    for (uint32_t i = 0; i < at->count; i++) {
        *out_place = (struct place){.parent = parent, .child = parent->first};
        const bool found = parent->kind == JSON_OBJECT  ? find_member(d, at->steps[i], out_place)
                           : parent->kind == JSON_ARRAY ? find_element(d, at->steps[i], out_place)
                                                        : false;
        if (!found || !spend(d))
            return false;
        if (i + 1 == at->count)
            return true;
        if (!out_place->child)
            return false;
        parent = out_place->child;
    }
    return false;
}

const struct json *document_find(struct document *d, const struct json_pointer *at)
{
    struct place place;
    if (at->count == 0)
        return d->root;
    return find_place(d, at, &place) ? place.child : NULL;
}

static void insert(const struct place *place, struct json *value)
{
    struct json *parent = place->parent;
    struct json **link = place->before ? &place->before->next : &parent->first;
    value->next = *link;
    *link = value;
    if (!value->next)
        parent->last = value;
    parent->count++;
}

static void unlink_child(const struct place *place)
{
    struct json *parent = place->parent;
    *(place->before ? &place->before->next : &parent->first) = place->child->next;
    if (parent->last == place->child)
        parent->last = place->before;
    place->child->next = NULL;
    parent->count--;
}

bool document_add(struct document *d, const struct json_pointer *at, struct json *value)
{
    struct place place;
    if (!find_place(d, at, &place))
        return false;
    const bool is_member = place.parent->kind == JSON_OBJECT;
    if (is_member && place.child)
        unlink_child(&place);
    value->key = is_member ? at->steps[at->count - 1] : STR("");
    insert(&place, value);
    return true;
}

struct json *document_take(struct document *d, const struct json_pointer *at)
{
    struct place place;
    if (!find_place(d, at, &place) || !place.child)
        return NULL;
    unlink_child(&place);
    return place.child;
}
