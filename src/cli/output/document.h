/* document.h - a tree as text for people who like trees, and for programs.
 *
 * YAML is written so that the reader of any YAML version finds the same tree: a text is plain only
 * when nobody could take it for something else. Members come in the order of their keys.
 */
#pragma once

#include "base/json/json.h"
#include "base/text/buf.h"

/* JSON with one member a line, two spaces deeper each level; ends with a line's end. */
void document_put_json(struct buf *b, const struct json *value);
/* Block style; ends with a line's end. */
void document_put_yaml(struct buf *b, const struct json *value);
