/* json_pointer.h - JSON Pointer (RFC 6901): lookup and change of values in a document.
 *
 * "/a/b~1c/0" refers by member a, member "b/c" and the first element to a value. Trees are linked
 * lists, so a lookup takes as many steps as there are values before the target; each document has a
 * budget of steps, so that a patch cannot block the loop. Trees and strings live in the arena of
 * the caller.
 */
#pragma once

#include "base/json/json.h"

struct json_pointer {
    struct str steps[JSON_DEPTH_MAX];
    uint32_t count; /* 0: the whole document */
};

/* False: not a pointer, or deeper than documents may be. */
bool json_pointer_parse(struct arena *a, struct str text, struct json_pointer *out_pointer);
/* Does `inner` refer to a value below `outer`? */
bool json_pointer_is_below(const struct json_pointer *inner, const struct json_pointer *outer);

struct document {
    struct json *root;
    uint64_t
        steps_left; /* budget of lookup steps; 0: every lookup fails, except that of the root */
};

/* NULL if there is no value. */
const struct json *document_find(struct document *d, const struct json_pointer *at);
/* Inserts a value and takes ownership of its node: a member is set, an element shifts the following
 * ones, "-" appends. False if the parent does not exist; the root cannot be set. */
bool document_add(struct document *d, const struct json_pointer *at, struct json *value);
/* Removes a value from the tree and returns it. NULL if there is none; the root cannot be removed.
 */
struct json *document_take(struct document *d, const struct json_pointer *at);
