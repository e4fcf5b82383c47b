/* attribs.h - routes for the values of attribs on an object.
 *
 * An attrib by itself is a name for a path in documents. On a node, role, deployment, deployment
 * role, noderole or head snapshot it has a value and is returned with it. The route tables of these
 * nouns include the routes below.
 */
#pragma once

#include "api/call/params_schema.h"

/* List of the attribs that are defined on the object, and one of them; ?bucket= selects the layer
 * of the data. */
enum handler_result serve_values(struct call *call);
enum handler_result serve_value(struct call *call);
/* Writes a value. It is merged into the stored document (docs/spec/data.md, Write buckets). */
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
