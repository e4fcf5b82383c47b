/* json_pointer.h - places inside a document (RFC 6901), to look at and to change.
 *
 * "/a/b~1c/0" leads by member a, member "b/c" and the first element to a value. Trees are linked
 * lists, so finding a place costs as many steps as there are values before it; a document has so
 * many to give and no more. Trees and texts live in the caller's arena.
 */
#pragma once

#include "base/json/json.h"

struct json_pointer {
    struct str steps[JSON_DEPTH_MAX];
    uint32_t count; /* 0: the whole document */
};

/* False: that is no pointer, or leads deeper than documents go. */
bool json_pointer_parse(struct arena *a, struct str text, struct json_pointer *out_pointer);
/* Is `inner` somewhere below `outer`? */
bool json_pointer_is_below(const struct json_pointer *inner, const struct json_pointer *outer);

struct document {
    struct json *root;
    uint64_t steps_left; /* 0: nothing is found any more */
};

/* NULL when there is nothing. */
const struct json *document_find(struct document *d, const struct json_pointer *at);
/* Put a value there and take its node over: a member is set, an element pushes the others back, "-"
 * is behind the last one. False when there is no such place; the root is none. */
bool document_add(struct document *d, const struct json_pointer *at, struct json *value);
/* The value goes out of the tree. NULL when there is none; the root stays. */
struct json *document_take(struct document *d, const struct json_pointer *at);
