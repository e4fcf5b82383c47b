/* snapshot_diff.h - content of snapshots: difference, revert, and archived lists (ADR 0011).
 *
 * A snapshot is not stored as a whole: what is still valid is in the core, what is not is in the
 * store as closed intervals. A call copies the first at a moment at which every closed interval is
 * durable, then reads the second page by page. The first is counted against the memory of the
 * request before it is copied, the second after each page. The reply is written row by row.
 */
#pragma once

#include "api/call/params_schema.h"

/* GET snapshots/:id/diff/:id */
enum handler_result serve_diff(struct call *call);
/* PUT deployments/:id/revert */
enum handler_result serve_revert(struct call *call);
extern const struct params_schema revert_params;
/* GET snapshots/:id/nodes and others, of an archived snapshot. */
enum handler_result serve_archived(struct call *call, const struct snapshot_record *snapshot);
