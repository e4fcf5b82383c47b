/* yaml.h - parses YAML into a JSON tree with the position of each value.
 *
 * Reads one document with libyaml. Plain scalars have the type of scalar.h; quoted ones are
 * strings. Keys are strings as written. Anchors, aliases and merge keys ("<<") are resolved: a key
 * of the map itself has precedence over a merged one, and an earlier map of a list over a later
 * one. A second document is ignored with a warning. If a key is repeated in one map, the last value
 * is used, with a warning that names both lines.
 *
 * Errors, each with line and column: syntax errors of libyaml; invalid UTF-8 and U+0000; "<<" twice
 * in one map; keys that are not scalars; tags other than the core ones (!!str, !!int, ...); unknown
 * and circular aliases; more than JSON_DEPTH_MAX levels or YAML_SIZE_MAX bytes, and aliases that
 * expand to more than the limits below.
 *
 * The tree is in the arena of the report. The module does not depend on the format of barclamps.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/json/json.h"
#include "content/diagnostics.h"

#define YAML_SIZE_MAX    (4u << 20)
#define YAML_VALUES_MAX  (1u << 18) /* an alias counts with all values that it expands to */
#define YAML_TEXT_MAX    (4u << 20) /* bytes of all keys and strings, likewise            */
#define YAML_ANCHORS_MAX 1000u

/* ERR_SYNTAX: errors were added to the report; warnings may be added in any case. If the text could
 * be read to its end despite errors, *out_value is a tree in which wrong values are marked as
 * broken; otherwise it is NULL. `file` is the name in the report. A text without a document is JSON
 * null. */
NODISCARD err yaml_read(struct diagnostics *r, struct str file, struct str text,
                        const struct json **out_value);

/* The position of a value: of a member that of its key, of any other that of its first character.
 * Values inside of an expanded alias have their position at the anchor. Only for values of a tree
 * of yaml_read. */
struct text_position yaml_position(const struct json *value);
/* The position of the value at a path of the engine ("roles/3/requires/0"); if it does not exist,
 * of the last value on the path that does. */
struct text_position yaml_position_at(const struct json *root, struct str slash_path);

/* Mark a value as wrong: the report has an error about it, and it must not be used. */
void yaml_mark_broken(const struct json *value);
bool yaml_is_broken(const struct json *value);
/* True if there is a value at the path that is not null, and neither it nor a value on the path is
 * broken. */
bool yaml_is_valid_at(const struct json *root, struct str slash_path);
/* A copy in which broken values are null; from lists of scalars they are removed. */
struct json *yaml_copy_valid(struct arena *a, const struct json *value);
