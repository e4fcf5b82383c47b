/* form.h - form-encoded bodies and query pairs as JSON objects.
 *
 * "a=1&b[c]=2&d[]=3&d[]=4" is {"a":"1","b":{"c":"2"},"d":["3","4"]}: values are texts, one level
 * of brackets makes objects and arrays, the last of several equal names wins. Texts lie in the
 * arena; what does not read is told as a sentence.
 */
#pragma once

#include "base/json/json.h"
#include "http/http.h"

/* More is refused: inserting costs as much as there is. */
#define FORM_PAIRS_MAX 1000u

/* NULL when it worked. */
const char *form_read(struct arena *a, struct str body, struct json *into);
const char *form_read_pairs(struct arena *a, const struct http_pair *pairs, struct json *into);
