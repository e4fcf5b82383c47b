/* filter.h - translates --filter, --state, --all, --sort, --limit and --after into a query string.
 *
 * The server does the filtering. The module only translates: "a!=b" to a.not=b, "a~b" to
 * a.contains=b, "a>=b" and "a<=b" to a.min=b and a.max=b, and where a column shows names for ids, a
 * name to its id ("deployment=d1" to deployment_id=3).
 */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit filter_query(struct cli_request *req, struct str *out_query);
/* The value of --sort, or the default of the noun; NULL: the order of the server. */
const char *filter_sort(const struct cli_request *req);
