/* authorize.h - who may do what, at the edge of the API.
 *
 * The rule is in the core (core_forbids, ADR 0051), which judges each command in the step that
 * executes it. The API asks the same function before it queues a command, so that what cannot
 * succeed is refused before it costs anything, and keeps nodes to the routes about themselves.
 * Routes do not ask for themselves, but for reads that not every user may have.
 */
#pragma once

#include "api/call/call.h"

/* The caller as commands carry it. */
struct principal authorize_principal(const struct call *call);
/* May the caller have this done, as far as is known before it is stepped? False after a 403 that
 * names the level and the deployment. */
bool authorize_command(struct call *call, const struct command *command);
/* May the caller have the call's route served? Only nodes are kept from some. False after a 403. */
bool authorize_request(struct call *call);

/* The caller's level in a deployment; 0: everywhere. */
enum access authorize_level(const struct call *call, int64_t deployment_id);
bool authorize_is_admin(const struct call *call);
/* 403, with a sentence. */
void authorize_refuse(struct call *call, struct str text);
