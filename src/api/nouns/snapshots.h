/* snapshots.h - the timeline of a deployment, seen from outside. */
#pragma once

#include "api/call/call.h"

/* The head of a deployment; false when there is no such deployment. */
bool snapshot_head(struct call *call, int64_t deployment_id, struct record *out_head);

/* GET deployments/:id/head */
enum handler_result serve_head(struct call *call);
/* GET deployments/:id/next(?snapshot=ID): what follows that snapshot, or the head. */
enum handler_result serve_next_of_deployment(struct call *call);
