/* json.h - JSON documents in canonical form.
 *
 * Inside the program a JSON document has one form only: keys sorted by bytes, no spaces, strings
 * with the shortest escapes, numbers exactly as they were written. Equal documents have equal bytes
 * (ADR 0004). json_read() parses any JSON text into a tree in an arena; json_write() writes a tree
 * as canonical text. Functions on paths take slash-separated paths ("a/b/c").
 *
 * Refused: bad UTF-8, U+0000 (also as \u0000), lone surrogates, a key twice in one object, more
 * than JSON_DEPTH_MAX levels, anything after the value. json_read_last(), for requests of clients
 * that repeat keys, keeps the last value of such a key instead.
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

/* The tree does not refer to `text`. ERR_SYNTAX with *out_offset at the offending byte and
 * *out_what a short reason. */
NODISCARD err json_read(struct arena *a, struct str text, struct json **out_value,
                        uint32_t *out_offset, const char **out_what);

struct json_remarks {
    uint32_t offset;     /* of an error */
    const char *what;    /* reason of an error */
    struct str repeated; /* a key that is repeated in one object; `at` is NULL if there is none */
};

/* As json_read, but a repeated key keeps its last value and is reported in *out_remarks. */
NODISCARD err json_read_last(struct arena *a, struct str text, struct json **out_value,
                             struct json_remarks *out_remarks);
/* Canonical text. A tree of more than JSON_DEPTH_MAX levels fails an assertion: call json_depth()
 * before writing a value that was wrapped under a path from outside. */
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

/* Construction. Keys and strings are not copied. */
struct json *json_make(struct arena *a, enum json_kind kind);
struct json *json_make_string(struct arena *a, struct str s);
struct json *json_make_i64(struct arena *a, int64_t value);
struct json *json_make_bool(struct arena *a, bool value);
/* Set `key` to `value`, replacing an earlier value and keeping the order of keys. The object takes
 * ownership of the node, which must not be a member of another container. */
void json_set(struct json *object, struct str key, struct json *value);
bool json_unset(struct json *object, struct str key);
void json_append(struct json *array, struct json *value);
/* A deep copy, strings included. */
struct json *json_clone(struct arena *a, const struct json *value);

/* Lookup. NULL if absent; a value that is no object has no members. */
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

/* Merge the canonical text `object` into the canonical text `doc`, like json_merge but without
 * building trees. With drop_nulls, a member that is null in `object` is removed. A doc that is no
 * object is treated as {}. */
struct str json_text_put(struct arena *a, struct str doc, struct str object, bool drop_nulls);
/* json_depth of a canonical text. */
uint32_t json_text_depth(struct str text);
/* True if json_canonical() would return this text unchanged; also returns its depth. May return
 * false for a canonical text with escapes in keys or control characters; the caller then parses
 * it. Costs a fraction of parsing, and no memory. */
bool json_text_is_canonical(struct str text, uint32_t *out_depth);
