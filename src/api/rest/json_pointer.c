#include "api/rest/json_pointer.h"

/* JSON Pointers and changes of JSON trees by them. The members of an object are sorted by key, so a
 * lookup also finds the position at which a missing member is inserted. The functions have no state
 * except for the budget of steps in struct document. On failure the tree is unchanged. */

/* ---- parsing ---- */

/* Decodes ~1 and ~0 of one step to / and ~. */
static bool json_pointer_unescape(struct arena *a, struct str text, struct str *out_step)
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
            !json_pointer_unescape(a, str_slice(text, at, end),
                                   &out_pointer->steps[out_pointer->count]))
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

/* A position among the children of a value: the child, the one before it, and the parent. Without a
 * child it is where one could be inserted. */
struct slot {
    struct json *parent;
    struct json *before; /* NULL: it is the first */
    struct json *child;  /* NULL: there is none */
};

static bool document_spend_step(struct document *d)
{
    if (d->steps_left == 0)
        return false;
    d->steps_left--;
    return true;
}

/* Finds the member, or the position at which it would be inserted. False: no steps are left. */
static bool document_find_member(struct document *d, struct str key, struct slot *slot)
{
    for (; slot->child && str_cmp(slot->child->key, key) < 0; slot->child = slot->child->next) {
        if (!document_spend_step(d))
            return false;
        slot->before = slot->child;
    }
    if (slot->child && !str_eq(slot->child->key, key))
        slot->child = NULL;
    return true;
}

/* Finds an element, or the position after the last one. False: not an index, too large, or no steps
 * are left. */
static bool document_find_element(struct document *d, struct str step, struct slot *slot)
{
    int64_t index = slot->parent->count;
    if (str_eq(step, STR("-"))) {
        slot->before = slot->parent->last;
        slot->child = NULL;
        return true;
    }
    /* Leading zeros are not allowed (RFC 6901). */
    const bool is_index = str_parse_i64(step, &index) && (step.len == 1 || step.at[0] != '0');
    if (!is_index || index > slot->parent->count)
        return false;
    for (; index > 0; index--, slot->child = slot->child->next) {
        if (!document_spend_step(d))
            return false;
        slot->before = slot->child;
    }
    return true;
}

/* Finds the slot of the last step; false if a step before it has no value. */
static bool document_find_slot(struct document *d, const struct json_pointer *at,
                               struct slot *out_slot)
{
    struct json *parent = d->root;
    for (uint32_t i = 0; i < at->count; i++) {
        *out_slot = (struct slot){.parent = parent, .child = parent->first};
        const bool found =
            parent->kind == JSON_OBJECT  ? document_find_member(d, at->steps[i], out_slot)
            : parent->kind == JSON_ARRAY ? document_find_element(d, at->steps[i], out_slot)
                                         : false;
        if (!found || !document_spend_step(d))
            return false;
        if (i + 1 == at->count)
            return true;
        if (!out_slot->child)
            return false;
        parent = out_slot->child;
    }
    return false;
}

const struct json *document_find(struct document *d, const struct json_pointer *at)
{
    struct slot slot;
    if (at->count == 0)
        return d->root;
    return document_find_slot(d, at, &slot) ? slot.child : NULL;
}

static void document_insert(const struct slot *slot, struct json *value)
{
    struct json *parent = slot->parent;
    struct json **link = slot->before ? &slot->before->next : &parent->first;
    value->next = *link;
    *link = value;
    if (!value->next)
        parent->last = value;
    parent->count++;
}

static void document_unlink(const struct slot *slot)
{
    struct json *parent = slot->parent;
    *(slot->before ? &slot->before->next : &parent->first) = slot->child->next;
    if (parent->last == slot->child)
        parent->last = slot->before;
    slot->child->next = NULL;
    parent->count--;
}

bool document_add(struct document *d, const struct json_pointer *at, struct json *value)
{
    struct slot slot;
    if (!document_find_slot(d, at, &slot))
        return false;
    const bool is_member = slot.parent->kind == JSON_OBJECT;
    if (is_member && slot.child)
        document_unlink(&slot);
    value->key = is_member ? at->steps[at->count - 1] : STR("");
    document_insert(&slot, value);
    return true;
}

struct json *document_take(struct document *d, const struct json_pointer *at)
{
    struct slot slot;
    if (!document_find_slot(d, at, &slot) || !slot.child)
        return NULL;
    document_unlink(&slot);
    return slot.child;
}
