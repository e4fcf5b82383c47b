/* graph.h - dependency graph, plan and consent of a commit (graph.c), and why (why.c). */
#pragma once

#include "api/call/call.h"

struct cause;

/* The noderoles of the deployment: [{"id","name","adjacencies":[{"nodeTo","nodeFrom"}]}] */
enum handler_result reply_graph(struct call *call, int64_t deployment_id);

/* GET deployments/:id/graph */
enum handler_result serve_graph(struct call *call);
/* GET .../:id/why, of the route's resource */
enum handler_result serve_why(struct call *call);
/* The causes as a JSON array, in the form of the chain of a why. */
void why_put_causes(struct call *call, const struct cause *first, struct buf *b);
/* GET deployments/:id/plan */
enum handler_result serve_plan(struct call *call);
/* GET .../:id/consent, of the route's command */
enum handler_result serve_consent(struct call *call);
