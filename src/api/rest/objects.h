/* objects.h - handlers for one object: show, create, update, delete, and verbs. */
#pragma once

#include "api/call/call.h"

struct json;

enum handler_result serve_show(struct call *call);
enum handler_result serve_create(struct call *call);
enum handler_result serve_update(struct call *call);
enum handler_result serve_patch(struct call *call);
enum handler_result serve_delete(struct call *call);
/* PUT :id/commit and others: the route names the command. */
enum handler_result serve_verb(struct call *call);

/* Applies the operations in the request (RFC 6902) to the object; false if one cannot be applied,
 * and the reply is made. */
bool patch_apply(struct call *call, struct json *object);

/* Reads If-Match into call->if_turn, the turn of the last change of the object. The core tests it
 * when it executes the command. False after a problem: the ETag cannot be that of an object, or
 * there are several. */
bool object_condition(struct call *call);
/* Adds the problem of a precondition that has already failed (412). */
void object_refuse_turn(struct call *call);
/* For call_submit(): replies with the object after the command was committed. */
void object_reply_shown(struct call *call, int64_t id);
/* For call_submit(): replies that the object was deleted. */
void object_reply_deleted(struct call *call, int64_t id);
/* Submits the command unless there are problems; the reply has the type of the route's resource. */
enum handler_result object_submit(struct call *call, struct command *command,
                                  void (*finish)(struct call *call, int64_t id));
