/* deployment_roles.h - adding a role to a deployment from the deployment's side. */
#pragma once

#include "api/call/params_schema.h"

/* POST deployments/:id/roles {role}: the answer is the deployment role. */
enum handler_result serve_role_add(struct call *call);
extern const struct params_schema role_add_params;
