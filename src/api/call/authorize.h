/* authorize.h - authorization of requests and commands.
 *
 * The rules are in the core (core_check_rights, ADR 0051), which checks each command in the step
 * that executes it. The API calls the same function before it queues a command, so that a command
 * that must fail is refused before it costs anything. It also restricts the tokens of nodes to the
 * routes about that node. Handlers check nothing themselves, except for reads that require a level.
 */
#pragma once

#include "api/call/call.h"

/* The caller as a field of commands. */
struct principal authorize_principal(const struct call *call);
/* May the caller execute this command, as far as is known before its step? False after a 403 that
 * names the required level and the deployment. */
bool authorize_command(struct call *call, const struct command *command);
/* May the caller use the route? Only tokens of nodes are restricted. False after a 403. */
bool authorize_request(struct call *call);

/* The access level of the caller in a deployment; 0: in all of them. */
enum access authorize_level(const struct call *call, int64_t deployment_id);
bool authorize_is_admin(const struct call *call);
/* Replies 403 with this message. */
void authorize_refuse(struct call *call, struct str text);
