/* bulk.h - creation of several objects by one request: all of them, or none.
 *
 * A body that is an array becomes one batch command with a command for each element. Problems of an
 * element have a field such as "2.name": index, then field.
 */
#pragma once

#include "api/call/call.h"

/* Precondition: the resource of the route can be created, and the body is an array. */
enum handler_result serve_create_many(struct call *call);
