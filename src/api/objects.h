/* objects.h - one object at a time: show, create, change, delete, and its verbs. */
#pragma once

#include "api/call.h"

enum served serve_show(struct call *call);
/* GET nodes/:id/node_roles/:role */
enum served serve_show_on_node(struct call *call);
enum served serve_create(struct call *call);
enum served serve_update(struct call *call);
enum served serve_patch(struct call *call);
enum served serve_delete(struct call *call);
/* PUT :id/commit and the like: the route says which command. */
enum served serve_verb(struct call *call);

/* A token is made for the one who asks, and its text is told in this answer only. */
enum served serve_token_create(struct call *call);
enum served serve_token_delete(struct call *call);

/* If the request has an If-Match, the object must have changed last in the turn it names: that is
 * for the core to judge, when it comes to the command. False after a problem: no object can be
 * meant, or several could. */
bool object_condition(struct call *call);
/* The 412 of a condition that cannot hold any more. */
void object_refuse_turn(struct call *call);
/* When the command is done: the object as it is then. */
void object_shown(struct call *call, int64_t id);
