/* nested.h - one object below its owner: nodes/N/node_roles/R, deployments/D/nodes/N.
 *
 * The first key of the path names the owner, the second the object. An object that belongs to
 * another owner is not found. The second key is:
 *
 *   nodes/N/node_roles/R              the name or the id of a role that is bound to the node
 *   nodes/N/hammers/H                 the name or the id of a hammer of the node
 *   deployments/D/nodes/N             the name or the id of a node
 *   deployments/D/node_roles/R        the id of a noderole
 *   deployments/D/deployment_roles/R  the name of a role, or the id of a deployment role
 *   networks/N/network_ranges/R       the name or the id of a range of the network
 *   networks/N/network_routers/R      anything: a network has one router
 *
 * An object that is created below an owner belongs to it; a body that names another owner is
 * refused.
 */
#pragma once

#include "api/call/call.h"

/* Finds the object that both keys of the path name. False after a problem was added. */
bool nested_find(struct call *call, struct record *out_record);

enum handler_result serve_nested_show(struct call *call);
enum handler_result serve_nested_update(struct call *call);
enum handler_result serve_nested_create(struct call *call);
/* The route names the command. */
enum handler_result serve_nested_delete(struct call *call);

#define ROUTE_NESTED_SHOW(path, noun, owner, who, summary)                                         \
    {                                                                                              \
        .method = HTTP_GET, .pattern = V path "/:id", .serve = serve_nested_show,                  \
        .resource = &noun, .within = &owner, .access = who, .does = summary                        \
    }
#define ROUTE_NESTED_UPDATE(path, noun, owner)                                                     \
    {                                                                                              \
        .method = HTTP_PUT, .pattern = V path "/:id", .serve = serve_nested_update,                \
        .resource = &noun, .within = &owner, .does = "update the object"                           \
    }
#define ROUTE_NESTED_PATCH(path, noun, owner)                                                      \
    {                                                                                              \
        .method = HTTP_PATCH, .pattern = V path "/:id", .serve = serve_patch, .resource = &noun,   \
        .within = &owner, .does = "update the object with a JSON Patch"                            \
    }
#define ROUTE_NESTED_CREATE(path, noun, owner, summary)                                            \
    {                                                                                              \
        .method = HTTP_POST, .pattern = V path, .serve = serve_nested_create, .resource = &noun,   \
        .within = &owner, .does = summary                                                          \
    }
#define ROUTE_NESTED_DELETE(path, noun, owner, COMMAND)                                            \
    {                                                                                              \
        .method = HTTP_DELETE, .pattern = V path "/:id", .serve = serve_nested_delete,             \
        .resource = &noun, .within = &owner, .command = COMMAND, .form = REPLY_MESSAGE,            \
        .does = "delete the object"                                                                \
    }
