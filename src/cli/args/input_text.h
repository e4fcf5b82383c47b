/* input_text.h - texts that say what objects are to be like. Knows no file. */
#pragma once

#include <stdint.h>

#include "base/json/json.h"

/* Of a text that may be one object, a list, or an object a line. What is wrong, or NULL; then
 * *out_line says where. */
const char *input_parse(struct arena *a, struct str text, struct json **out_value,
                        uint32_t *out_line);
/* JSON when it is, and else the text itself. */
struct json *input_value(struct arena *a, const char *text);
