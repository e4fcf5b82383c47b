/* csrf.h - did a page of somebody else's make a browser send this?
 *
 * A browser adds credentials that it remembers to whatever a page makes it send, so a request that
 * changes something must not come from another site's page. Programs say nothing of origins, and
 * are believed.
 */
#pragma once

#include <stdbool.h>

#include "http/http.h"

/* It would change something, and its headers say that another site's page sent it. */
bool csrf_is_foreign_origin(const struct http_request *request);
