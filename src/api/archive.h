/* archive.h - what snapshots held, and what can be done with that (DECISIONS D11).
 *
 * A snapshot is not kept whole: what still holds is in the core, what does not hold any more is
 * with whoever keeps closed intervals, and a call that needs both waits. What the two say belongs
 * together only if no interval was closed meanwhile; otherwise the call begins again.
 */
#pragma once

#include "api/intake.h"

/* GET snapshots/:id/diff/:id */
enum served serve_diff(struct call *call);
/* PUT deployments/:id/revert */
enum served serve_revert(struct call *call);
extern const struct intake revert_intake;
/* Of an archived snapshot, what its content tells about the route's resource. */
enum served serve_archived(struct call *call, const struct snapshot_record *snapshot);
