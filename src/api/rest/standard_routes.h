/* standard_routes.h - the routes that most nouns have, as entries of a route table.
 *
 * Each macro gives the entries for one group of operations on a noun: reading it, changing it,
 * creating and deleting it, a verb, a nested list. Nouns name them in their tables (route.h).
 */
#pragma once

#include "api/call/route.h"
#include "api/rest/lists.h"
#include "api/rest/nested_lists.h"
#include "api/rest/objects.h"

/* Read routes of all nouns; routes of nouns that can be updated; routes of nouns that can be
 * created and deleted. */
#define ROUTES_READ(path, noun)                                                                    \
    {.method = HTTP_GET,                                                                           \
     .pattern = V path,                                                                            \
     .serve = serve_list,                                                                          \
     .resource = &noun,                                                                            \
     .form = REPLY_LIST,                                                                           \
     .does = "list the objects"},                                                                  \
        {.method = HTTP_GET,                                                                       \
         .pattern = V path "/sample",                                                              \
         .serve = serve_sample,                                                                    \
         .resource = &noun,                                                                        \
         .form = REPLY_CUSTOM,                                                                     \
         .does = "an object with its default values"},                                             \
        {.method = HTTP_POST,                                                                      \
         .pattern = V path "/match",                                                               \
         .serve = serve_match,                                                                     \
         .resource = &noun,                                                                        \
         .form = REPLY_LIST,                                                                       \
         .does = "the objects with the given field values"},                                       \
    {                                                                                              \
        .method = HTTP_GET, .pattern = V path "/:id", .serve = serve_show, .resource = &noun,      \
        .access = ROUTE_AUTH_OR_NODE, .does = "show one object"                                    \
    }
#define ROUTES_EDIT(path, noun)                                                                    \
    {.method = HTTP_PUT,                                                                           \
     .pattern = V path "/:id",                                                                     \
     .serve = serve_update,                                                                        \
     .resource = &noun,                                                                            \
     .access = ROUTE_AUTH_OR_NODE,                                                                 \
     .does = "update the object"},                                                                 \
    {                                                                                              \
        .method = HTTP_PATCH, .pattern = V path "/:id", .serve = serve_patch, .resource = &noun,   \
        .does = "update the object with a JSON Patch"                                              \
    }
#define ROUTES_MAKE(path, noun, DELETE)                                                            \
    {.method = HTTP_POST,                                                                          \
     .pattern = V path,                                                                            \
     .serve = serve_create,                                                                        \
     .resource = &noun,                                                                            \
     .does = "create an object"},                                                                  \
    {                                                                                              \
        .method = HTTP_DELETE, .pattern = V path "/:id", .serve = serve_delete, .resource = &noun, \
        .command = DELETE, .form = REPLY_MESSAGE, .does = "delete the object"                      \
    }
#define ROUTE_VERB(path, noun, COMMAND, summary)                                                   \
    {                                                                                              \
        .method = HTTP_PUT, .pattern = V path, .serve = serve_verb, .resource = &noun,             \
        .command = COMMAND, .does = summary                                                        \
    }
#define ROUTE_CONSENT(path, noun, COMMIT)                                                          \
    {                                                                                              \
        .method = HTTP_GET, .pattern = V path, .serve = serve_consent, .resource = &noun,          \
        .command = COMMIT, .form = REPLY_CUSTOM,                                                   \
        .does = "the data that a commit would destroy, and the hash that consents to exactly that" \
    }
#define ROUTE_NESTED(path, noun, owner, summary)                                                   \
    {                                                                                              \
        .method = HTTP_GET, .pattern = V path, .serve = serve_nested, .resource = &noun,           \
        .within = &owner, .form = REPLY_LIST, .access = ROUTE_AUTH_OR_NODE, .does = summary        \
    }
