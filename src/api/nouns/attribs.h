/* attribs.h - attribs as they are read and written on somebody.
 *
 * An attrib by itself is a name for a place in data. On a node, role, deployment, deployment role
 * or noderole it has a value, and is shown with it. These routes stand in the chapters of those who
 * have attribs.
 */
#pragma once

#include "api/call/params_schema.h"

/* Those that mean something there, and one of them; ?bucket= says which data is looked at. */
enum handler_result serve_values(struct call *call);
enum handler_result serve_value(struct call *call);
/* What is written is merged into what is there, as everywhere (SEMANTICS 6.2). */
enum handler_result serve_value_set(struct call *call);
enum handler_result serve_value_patch(struct call *call);
extern const struct params_schema value_params;

#define ROUTES_ATTRIBS(path, owner, who)                                                           \
    {.method = HTTP_GET,                                                                           \
     .pattern = V path "/:id/attribs",                                                             \
     .serve = serve_values,                                                                        \
     .resource = &resource_attribs,                                                                \
     .within = &owner,                                                                             \
     .form = REPLY_LIST,                                                                           \
     .access = who,                                                                                \
     .does = "the attribs that are defined on it, with their values; bucket selects the layer"},   \
        {.method = HTTP_GET,                                                                       \
         .pattern = V path "/:id/attribs/:id",                                                     \
         .serve = serve_value,                                                                     \
         .resource = &resource_attribs,                                                            \
         .within = &owner,                                                                         \
         .access = who,                                                                            \
         .does = "an attrib with its value on it; bucket selects the layer"},                      \
        {.method = HTTP_PUT,                                                                       \
         .pattern = V path "/:id/attribs/:id",                                                     \
         .serve = serve_value_set,                                                                 \
         .resource = &resource_attribs,                                                            \
         .within = &owner,                                                                         \
         .params = &value_params,                                                                  \
         .does = "set the value of the attrib on it, in bucket user or note"},                     \
    {                                                                                              \
        .method = HTTP_PATCH, .pattern = V path "/:id/attribs/:id", .serve = serve_value_patch,    \
        .resource = &resource_attribs, .within = &owner,                                           \
        .does = "update the value of the attrib on it with a JSON Patch"                           \
    }
