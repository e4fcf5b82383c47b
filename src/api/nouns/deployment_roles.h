/* deployment_roles.h - route that adds a role to a deployment, for the routes of deployments. */
#pragma once

#include "api/call/params_schema.h"

/* POST deployments/:id/roles {role}: the reply is the deployment role. */
enum handler_result serve_role_add(struct call *call);
extern const struct params_schema role_add_params;
