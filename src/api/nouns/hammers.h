/* hammers.h - power actions of a node through its hammers (drivers such as IPMI or ssh). */
#pragma once

#include "api/call/params_schema.h"

/* GET nodes/:id/power: the power actions that its hammers offer, each once. */
enum handler_result serve_power_actions(struct call *call);
/* PUT nodes/:id/power?poweraction=NAME: the reply means that the action is ordered; it is performed
 * later. */
enum handler_result serve_power(struct call *call);
extern const struct params_schema power_params;
/* GET nodes/:id/power/:order: waiting, ordered, or the result. */
enum handler_result serve_power_order(struct call *call);
