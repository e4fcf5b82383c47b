/* objects.h - one object at a time: show, create, change, delete, and its verbs. */
#pragma once

#include "api/call/call.h"

struct json;

enum handler_result serve_show(struct call *call);
enum handler_result serve_create(struct call *call);
enum handler_result serve_update(struct call *call);
enum handler_result serve_patch(struct call *call);
enum handler_result serve_delete(struct call *call);
/* PUT :id/commit and the like: the route says which command. */
enum handler_result serve_verb(struct call *call);

/* Do to the object what the operations in the request say (RFC 6902); false when it cannot be done,
 * and the reply is made. */
bool patch_apply(struct call *call, struct json *object);

/* If the request has an If-Match, the object must have changed last in the turn it names: that is
 * for the core to judge, when it comes to the command. False after a problem: no object can be
 * meant, or several could. */
bool object_condition(struct call *call);
/* The 412 of a condition that cannot hold any more. */
void object_refuse_turn(struct call *call);
/* When the command is done: the object as it is then. */
void object_reply_shown(struct call *call, int64_t id);
/* Likewise: it was deleted. */
void object_reply_deleted(struct call *call, int64_t id);
/* Hand the command over unless there are problems; the answer is about the route's resource. */
enum handler_result object_submit(struct call *call, struct command *command,
                                  void (*finish)(struct call *call, int64_t id));
