/* input_text.h - parses text with the fields of objects. Does not read files. */
#pragma once

#include <stdint.h>

#include "base/json/json.h"

/* Parse text that is one JSON object, a list of objects, or one object per line. NULL, or an error
 * message; then *out_line is its line. */
const char *input_parse(struct arena *a, struct str text, struct json **out_value,
                        uint32_t *out_line);
/* The text parsed as JSON if it is valid JSON, otherwise a JSON string with the text. */
struct json *input_value(struct arena *a, const char *text);
