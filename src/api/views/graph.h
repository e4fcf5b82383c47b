/* graph.h - what depends on what, and what a commit would do; why.c: why something is not done. */
#pragma once

#include "api/call/call.h"

/* Its noderoles: [{"id","name","adjacencies":[{"nodeTo","nodeFrom"}]}] */
enum handler_result reply_graph(struct call *call, int64_t deployment_id);

/* GET deployments/:id/graph */
enum handler_result serve_graph(struct call *call);
/* GET .../:id/why, of the route's resource */
enum handler_result serve_why(struct call *call);
/* GET deployments/:id/plan */
enum handler_result serve_plan(struct call *call);
/* GET .../:id/consent, of the route's command */
enum handler_result serve_consent(struct call *call);
