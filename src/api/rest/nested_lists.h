/* nested_lists.h - lists of the objects that belong to an object, for users only. */
#pragma once

#include "api/call/call.h"

/* The objects of the route's resource that belong to the object of the first key. */
enum handler_result serve_owned_list(struct call *call);

#define ROUTE_OWNED_LIST(path, noun, owner, summary)                                               \
    {                                                                                              \
        .method = HTTP_GET, .pattern = V path, .serve = serve_owned_list, .resource = &noun,       \
        .within = &owner, .form = REPLY_LIST, .does = summary                                      \
    }
