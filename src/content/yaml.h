/* yaml.h - YAML text into a JSON tree that remembers where everything stood.
 *
 * Reads one document through libyaml. Plain scalars mean what scalar.h says; quoted ones are texts.
 * Keys are texts as written, whatever they look like. Anchors, aliases and merge keys ("<<") are
 * resolved: a key of the map itself wins over a merged one, an earlier map of a list over a later.
 * A second document is left aside with a warning. Of a key that is repeated in one map the last
 * value is used, with a warning that names both lines.
 *
 * Wrong, each with line and column: what libyaml cannot read; bad UTF-8 and U+0000; "<<" twice in
 * one map; keys that are no scalars; tags beyond the core ones (!!str, !!int, ...); unknown and
 * circular aliases; JSON_DEPTH_MAX levels, YAML_SIZE_MAX bytes, and aliases that add up to more
 * than the bounds below.
 *
 * The tree lies in the report's arena. It knows nothing of barclamps.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/json/json.h"
#include "content/diagnostics.h"

#define YAML_SIZE_MAX    (4u << 20)
#define YAML_VALUES_MAX  (1u << 18) /* an alias counts as all that it stands for */
#define YAML_TEXT_MAX    (4u << 20) /* bytes of all keys and texts, likewise      */
#define YAML_ANCHORS_MAX 1000u

/* ERR_SYNTAX, and the report says why; warnings may be added in any case. Where the text could be
 * read to its end all the same, there is a tree then too, in which what is wrong is marked as
 * broken; else *out_value is NULL. `file` names the text in the report. A text without any document
 * is null. */
NODISCARD err yaml_read(struct diagnostics *r, struct str file, struct str text,
                        const struct json **out_value);

/* Where a value stands: a member where its key is, any other where it begins. What came by an
 * alias stands where it was written. Only for values of a tree that yaml_read made. */
struct text_place yaml_place(const struct json *value);
/* The place of the value at a path as the engine writes them ("roles/3/requires/0"); of the last
 * one on the way that exists. */
struct text_place yaml_place_at(const struct json *root, struct str slash_path);

/* The report says what is wrong with this value, and nobody is to use it. */
void yaml_mark_broken(const struct json *value);
bool yaml_is_broken(const struct json *value);
/* There is a value at the path, and neither it nor anything it stands in is broken or null. */
bool yaml_is_sound_at(const struct json *root, struct str slash_path);
/* A copy in which what is broken is null; in lists of plain values it is left out. */
struct json *yaml_sound_copy(struct arena *a, const struct json *value);
