/* route.h - everything that is served, in one table.
 *
 * A route is a method and a path, who serves it, and what it is about. Paths are matched segment
 * by segment; ":id" takes any segment. The version segment may be v2 to v9.
 */
#pragma once

#include "api/call.h"
#include "api/resource.h"

enum route_access { ROUTE_OPEN, ROUTE_GUARDED };

struct route {
    enum http_method method;
    const char *pattern;
    enum served (*serve)(struct call *call);
    const struct resource *resource; /* whose answers it gives; NULL: nobody's */
    const struct resource *within;   /* whose object the first :id is, when another's */
    enum command_kind command;       /* for handlers that serve several verbs */
    enum route_access access;
};

/* Finds the call's route, its keys, and which methods the path knows. HEAD is served as GET. */
void route_find(struct call *call);
/* "GET, HEAD, PUT" */
struct str route_allowed(struct call *call);
