/* tokens.h - handlers for tokens of nodes, for the routes of nodes. */
#pragma once

#include "api/call/call.h"

struct params_schema;
extern const struct params_schema node_token_params;

/* POST and DELETE nodes/:id/token */
enum handler_result serve_node_token(struct call *call);
enum handler_result serve_node_token_delete(struct call *call);
