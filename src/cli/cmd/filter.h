/* filter.h - what a list is asked for: filters, order and number, as a query of the API.
 *
 * The server does the choosing. All that is done here is to spell: "a!=b" is a.not=b, "a~b" is
 * a.contains=b, "a>=b" and "a<=b" are a.min and a.max, and where a column shows names for ids, a
 * name stands for its id ("deployment=d1" is deployment_id=3).
 */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit filter_query(struct cli_request *e, struct str *out_query);
/* As somebody said, or else as the noun is best read; NULL: as the server likes it. */
const char *filter_sort(const struct cli_request *e);
