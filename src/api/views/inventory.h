/* inventory.h - the nodes as a dynamic inventory of Ansible. */
#pragma once

#include "api/call/call.h"

/* GET /api/status/inventory(/:id)?hostvar= */
enum handler_result serve_inventory(struct call *call);
