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

/* What all nouns have; what those have that can be changed; those that come and go. */
#define ROUTES_READ(path, noun)                                                                    \
    {.method = HTTP_GET,                                                                           \
     .pattern = V path,                                                                            \
     .serve = serve_list,                                                                          \
     .resource = &noun,                                                                            \
     .form = REPLY_LIST,                                                                           \
     .does = "list them"},                                                                         \
        {.method = HTTP_GET,                                                                       \
         .pattern = V path "/sample",                                                              \
         .serve = serve_sample,                                                                    \
         .resource = &noun,                                                                        \
         .form = REPLY_CUSTOM,                                                                     \
         .does = "what a new one would look like"},                                                \
        {.method = HTTP_POST,                                                                      \
         .pattern = V path "/match",                                                               \
         .serve = serve_match,                                                                     \
         .resource = &noun,                                                                        \
         .form = REPLY_LIST,                                                                       \
         .does = "those with these values"},                                                       \
    {                                                                                              \
        .method = HTTP_GET, .pattern = V path "/:id", .serve = serve_show, .resource = &noun,      \
        .access = ROUTE_AUTH_OR_NODE, .does = "show one"                                           \
    }
#define ROUTES_EDIT(path, noun)                                                                    \
    {.method = HTTP_PUT,                                                                           \
     .pattern = V path "/:id",                                                                     \
     .serve = serve_update,                                                                        \
     .resource = &noun,                                                                            \
     .access = ROUTE_AUTH_OR_NODE,                                                                 \
     .does = "change it"},                                                                         \
    {                                                                                              \
        .method = HTTP_PATCH, .pattern = V path "/:id", .serve = serve_patch, .resource = &noun,   \
        .does = "change it by a JSON patch"                                                        \
    }
#define ROUTES_MAKE(path, noun, DELETE)                                                            \
    {.method = HTTP_POST,                                                                          \
     .pattern = V path,                                                                            \
     .serve = serve_create,                                                                        \
     .resource = &noun,                                                                            \
     .does = "make one"},                                                                          \
    {                                                                                              \
        .method = HTTP_DELETE, .pattern = V path "/:id", .serve = serve_delete, .resource = &noun, \
        .command = DELETE, .form = REPLY_MESSAGE, .does = "delete it"                              \
    }
#define ROUTE_VERB(path, noun, COMMAND, says)                                                      \
    {                                                                                              \
        .method = HTTP_PUT, .pattern = V path, .serve = serve_verb, .resource = &noun,             \
        .command = COMMAND, .does = says                                                           \
    }
#define ROUTE_CONSENT(path, noun, COMMIT)                                                          \
    {                                                                                              \
        .method = HTTP_GET, .pattern = V path, .serve = serve_consent, .resource = &noun,          \
        .command = COMMIT, .form = REPLY_CUSTOM,                                                   \
        .does = "what a commit would let destroy data, and the hash to agree to exactly that"      \
    }
#define ROUTE_NESTED(path, noun, owner, says)                                                      \
    {                                                                                              \
        .method = HTTP_GET, .pattern = V path, .serve = serve_nested, .resource = &noun,           \
        .within = &owner, .form = REPLY_LIST, .access = ROUTE_AUTH_OR_NODE, .does = says           \
    }
