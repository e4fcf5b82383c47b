/* hammers.h - what the hammers of a node can do to it, and having it done. */
#pragma once

#include "api/call/params_schema.h"

/* GET nodes/:id/power: the power actions that its hammers offer, each once. */
enum handler_result serve_power_actions(struct call *call);
/* PUT nodes/:id/power?poweraction=NAME: it is ordered when this is answered; done later. */
enum handler_result serve_power(struct call *call);
extern const struct params_schema power_params;
/* GET nodes/:id/power/:order: whether it waits, is under way, or how it ended. */
enum handler_result serve_power_order(struct call *call);
