/* tokens.h - the tokens of nodes, for the routes of nodes. */
#pragma once

#include "api/call/call.h"

struct intake;
extern const struct intake node_token_intake;

/* POST and DELETE nodes/:id/token */
enum served serve_node_token(struct call *call);
enum served serve_node_token_delete(struct call *call);
