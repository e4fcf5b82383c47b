/* levels.h - the access level of a caller in a deployment: from the rows of user and token as they
 * are now. It depends on no rule of a command. Grants are in the given arena. */
#pragma once

#include "core/core_private.h"

bool level_is_within(const struct core *c, deployment_ix d, deployment_ix outer);
/* What the user and the token of the caller permit; no level if one of them does not exist. */
struct rights level_rights_of(const struct core *c, const struct principal *who, struct arena *a);
/* No `d`: the level that holds everywhere, to which grants do not contribute. */
enum access level_in(const struct core *c, const struct rights *rights, deployment_ix d,
                     struct arena *a);
