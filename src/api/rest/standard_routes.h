/* standard_routes.h - the routes that most nouns have, as entries of a route table.
 *
 * Each macro gives the entries for one group of operations on a noun: reading it, changing it,
 * creating and deleting it, a verb, a nested list. Nouns name them in their tables (route.h).
 */
#pragma once

#include "api/rest/nested_lists.h"
#include "api/rest/lists.h"
#include "api/rest/objects.h"
#include "api/call/route.h"

/* What all nouns have; what those have that can be changed; those that come and go. */
#define ROUTES_READ(path, noun)                                                                    \
    {.method = HTTP_GET,                                                                           \
     .pattern = V path,                                                                            \
     .serve = serve_list,                                                                          \
     .resource = &noun,                                                                            \
     .form = FORM_LIST,                                                                            \
     .does = "list them"},                                                                         \
        {.method = HTTP_GET,                                                                       \
         .pattern = V path "/sample",                                                              \
         .serve = serve_sample,                                                                    \
         .resource = &noun,                                                                        \
         .form = FORM_FREE,                                                                        \
         .does = "what a new one would look like"},                                                \
        {.method = HTTP_POST,                                                                      \
         .pattern = V path "/match",                                                               \
         .serve = serve_match,                                                                     \
         .resource = &noun,                                                                        \
         .form = FORM_LIST,                                                                        \
         .does = "those with these values"},                                                       \
    {                                                                                              \
        .method = HTTP_GET, .pattern = V path "/:id", .serve = serve_show, .resource = &noun,      \
        .access = ROUTE_NODE, .does = "show one"                                                   \
    }
#define ROUTES_EDIT(path, noun)                                                                    \
    {.method = HTTP_PUT,                                                                           \
     .pattern = V path "/:id",                                                                     \
     .serve = serve_update,                                                                        \
     .resource = &noun,                                                                            \
     .access = ROUTE_NODE,                                                                         \
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
        .command = DELETE, .form = FORM_MESSAGE, .does = "delete it"                               \
    }
#define ROUTE_VERB(path, noun, COMMAND, says)                                                      \
    {                                                                                              \
        .method = HTTP_PUT, .pattern = V path, .serve = serve_verb, .resource = &noun,             \
        .command = COMMAND, .does = says                                                           \
    }
#define ROUTE_CONSENT(path, noun, COMMIT)                                                          \
    {                                                                                              \
        .method = HTTP_GET, .pattern = V path, .serve = serve_consent, .resource = &noun,          \
        .command = COMMIT, .form = FORM_FREE,                                                      \
        .does = "what a commit would let destroy data, and the hash to agree to exactly that"      \
    }
#define ROUTE_NESTED(path, noun, owner, says)                                                      \
    {                                                                                              \
        .method = HTTP_GET, .pattern = V path, .serve = serve_nested, .resource = &noun,           \
        .within = &owner, .form = FORM_LIST, .access = ROUTE_NODE, .does = says                    \
    }
