/* explain_machines.h - the lines of a plan about machines: addresses, and what is switched on. */
#pragma once

#include "base/json/json.h"

/* Write the lists `addresses` and `power` of the plan, one line for each entry. */
void explain_machines_put(struct buf *b, const struct json *plan);
