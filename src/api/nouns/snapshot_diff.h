/* snapshot_diff.h - what snapshots held, and what can be done with that (DECISIONS D11).
 *
 * A snapshot is not kept whole: what still holds is in the core, what does not hold any more is in
 * the store as closed intervals. A call copies the first at a moment at which everything closed is
 * durable, then reads the second page by page. Both are counted against the memory of the request
 * before they are kept, and the answer is written row by row.
 */
#pragma once

#include "api/call/params_schema.h"

/* GET snapshots/:id/diff/:id */
enum handler_result serve_diff(struct call *call);
/* PUT deployments/:id/revert */
enum handler_result serve_revert(struct call *call);
extern const struct params_schema revert_params;
/* Of an archived snapshot, what its content tells about the route's resource. */
enum handler_result serve_archived(struct call *call, const struct snapshot_record *snapshot);
