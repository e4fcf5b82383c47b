/* authority.h - who may do what.
 *
 * Three levels: a viewer reads and changes only himself, an operator changes machines and what runs
 * on them, an admin everything. A user has a level everywhere and may be granted more inside a
 * deployment and those below it. A token may be for less than its owner: at most a level, or only
 * inside a deployment; such a token never changes who its owner is. A node may say how it boots,
 * and read about itself.
 *
 * Everything that changes passes through here as a command, by one total table over their kinds:
 * which level it needs, and in which deployments it acts. Routes do not ask for themselves, but for
 * reads that are not everybody's. It reads the core, and knows nothing of HTTP but the refusal.
 */
#pragma once

#include "api/call.h"

/* May the caller have this done? False after a 403 that says what would be needed. */
bool authority_allows(struct call *call, const struct command *command);
/* May the caller have the call's route served? Only nodes are kept from some. False after a 403. */
bool authority_admits(struct call *call);

/* The caller's level in a deployment; 0: everywhere. */
enum access authority_level(const struct call *call, int64_t deployment_id);
bool authority_is_admin(const struct call *call);
/* 403, with a sentence. */
void authority_refuse(struct call *call, struct str text);
