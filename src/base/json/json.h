/* json.h - documents as canonical text.
 *
 * Inside the program a JSON document is text in one form only: keys sorted by bytes, no spaces,
 * strings with the shortest escapes, numbers exactly as they were written. Equal documents are
 * equal bytes. json_read() makes a tree in an arena out of any JSON text; json_write() gives the
 * canonical text of a tree. Functions on paths take slash paths ("a/b/c").
 *
 * Refused: bad UTF-8, U+0000 (also as \u0000), lone surrogates, a key twice in one object, more
 * than JSON_DEPTH_MAX levels, anything after the value. json_read_last(), for requests of clients
 * that repeat keys, takes the last value of such a key instead of refusing it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/buf.h"
#include "base/text/str.h"

#define JSON_DEPTH_MAX 64u

enum json_kind {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

struct json {
    enum json_kind kind;
    uint32_t count;     /* children */
    struct str key;     /* when a member of an object; unescaped */
    struct str text;    /* string: unescaped text; number: the literal */
    struct json *first; /* array, object: children; object members sorted by key */
    struct json *last;  /* kept by json_set and json_append, so appending is quick */
    struct json *next;
};

/* The tree holds no part of `text`. ERR_SYNTAX with *out_offset at the offending byte and
 * *out_what a short English reason. */
NODISCARD err json_read(struct arena *a, struct str text, struct json **out_value,
                        uint32_t *out_offset, const char **out_what);

struct json_remarks {
    uint32_t offset;     /* of an error */
    const char *what;    /* of an error */
    struct str repeated; /* a key that was repeated in one object; its `at` is NULL if none was */
};

/* As json_read, but a repeated key keeps its last value and is remarked. */
NODISCARD err json_read_last(struct arena *a, struct str text, struct json **out_value,
                             struct json_remarks *out_remarks);
/* Canonical text. A tree of more than JSON_DEPTH_MAX levels is our mistake: ask json_depth()
 * before writing what was wrapped under a path from outside. */
struct str json_write(struct arena *a, const struct json *value);
void json_write_to(struct buf *b, const struct json *value);
/* Appends `s` as a JSON string with quotes and escapes. */
void json_write_string(struct buf *b, struct str s);

/* Levels of arrays and objects: 0 for a scalar, 1 for []. Stops at JSON_DEPTH_MAX + 1, which
 * means "too deep". */
uint32_t json_depth(const struct json *value);

/* Parse and write again; ERR_SYNTAX as json_read. */
NODISCARD err json_canonical(struct arena *a, struct str text, struct str *out_text,
                             uint32_t *out_offset, const char **out_what);

/* Building. Keys and texts are not copied. */
struct json *json_make(struct arena *a, enum json_kind kind);
struct json *json_make_string(struct arena *a, struct str s);
struct json *json_make_i64(struct arena *a, int64_t value);
struct json *json_make_bool(struct arena *a, bool value);
/* Put `value` under `key` (replacing), keeping the order; takes the node over (it must not be a
 * member of anything else). */
void json_set(struct json *object, struct str key, struct json *value);
bool json_unset(struct json *object, struct str key);
void json_append(struct json *array, struct json *value);
/* A copy that shares nothing with the original, texts included. */
struct json *json_clone(struct arena *a, const struct json *value);

/* Reading. NULL when absent; a non-object has no members. */
const struct json *json_get(const struct json *object, struct str key);
const struct json *json_at(const struct json *value, struct str slash_path); /* "" is the value */
bool json_is_true(const struct json *value);                                 /* NULL is not */
bool json_eq(const struct json *a, const struct json *b);
/* A number literal that is a plain decimal integer within int64. */
bool json_as_i64(const struct json *value, int64_t *out_value);

/* Deep merge: objects member by member, recursively; otherwise the right side replaces the left.
 * The result shares nodes with neither input. Layers are merged from the left: where a layer in the
 * middle replaces an object by something else, another grouping would give another result. */
struct json *json_merge(struct arena *a, const struct json *left, const struct json *right);
/* {"a":{"b":value}} for path "a/b"; the value itself for "". */
struct json *json_wrap(struct arena *a, struct str slash_path, const struct json *value);

/* `doc` with the object merged in, both canonical texts: as json_merge, but without making trees of
 * them. With drop_nulls a member that is null in the object is taken out instead. A doc that is no
 * object counts for {}. */
struct str json_text_put(struct arena *a, struct str doc, struct str object, bool drop_nulls);
/* json_depth of a canonical text. */
uint32_t json_text_depth(struct str text);
/* True when json_canonical() would give back this very text, and its depth. Of a text with escapes
 * in keys, or control characters, it says false though it may be canonical: whoever needs to know
 * reads it. Costs a fraction of that, and no memory. */
bool json_text_is_canonical(struct str text, uint32_t *out_depth);
