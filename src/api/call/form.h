/* form.h - form-encoded bodies and query strings as JSON objects.
 *
 * "a=1&b[c]=2&d[]=3&d[]=4" becomes {"a":"1","b":{"c":"2"},"d":["3","4"]}: values are strings, one
 * level of brackets makes objects and arrays, and the last of several equal names wins. Strings are
 * allocated in the arena. Errors are returned as a sentence.
 */
#pragma once

#include "base/json/json.h"
#include "http/http.h"

/* Limit of parameters: inserting one takes time linear in their number. */
#define FORM_PAIRS_MAX 1000u

/* Both return NULL, or the error. */
const char *form_read(struct arena *a, struct str body, struct json *into);
const char *form_read_pairs(struct arena *a, const struct http_pair *pairs, struct json *into);
