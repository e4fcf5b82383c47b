/* csrf.h - detection of cross-site requests.
 *
 * A browser adds stored credentials to every request that a page makes it send. A request that
 * changes something is therefore refused if its headers (Origin, Sec-Fetch-Site) show that a page
 * of another site sent it. Programs that are not browsers send neither header and are accepted.
 */
#pragma once

#include <stdbool.h>

#include "http/http.h"

/* The method is not GET or HEAD, and the headers show that a page of another site sent the request.
 */
bool csrf_is_foreign_origin(const struct http_request *request);
