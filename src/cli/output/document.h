/* document.h - writes JSON values as indented JSON or as YAML.
 *
 * The YAML has the same meaning for readers of YAML 1.1 and 1.2: a string is written as a plain
 * scalar only if no version reads it as another type. Members are written in the order of the keys.
 */
#pragma once

#include "base/json/json.h"
#include "base/text/buf.h"

/* JSON with one member per line and an indent of two spaces per level; ends with a newline. */
void document_put_json(struct buf *b, const struct json *value);
/* YAML in block style; ends with a newline. */
void document_put_yaml(struct buf *b, const struct json *value);
