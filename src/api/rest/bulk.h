/* bulk.h - many objects made by one request: all of them, or none.
 *
 * A body that is an array makes one command of its elements. A problem with one of them is about
 * "2.name": its place, then the field.
 */
#pragma once

#include "api/call/call.h"

/* The route's resource can be made, and the body is an array. */
enum handler_result serve_create_many(struct call *call);
