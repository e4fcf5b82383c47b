/* snapshots.h - snapshots: the committed states of a deployment over time. */
#pragma once

#include "api/call/call.h"

/* The newest snapshot of a deployment; false if there is no such deployment. */
bool snapshot_head(struct call *call, int64_t deployment_id, struct record *out_head);

/* GET deployments/:id/head */
enum handler_result serve_head(struct call *call);
/* GET deployments/:id/next(?snapshot=ID): the snapshot after that one; by default after the head.
 */
enum handler_result serve_next_of_deployment(struct call *call);
