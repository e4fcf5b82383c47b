/* route.h - the routes of the API, as tables.
 *
 * A route is a method, a path pattern, a handler, and the resource that it returns. Paths are
 * matched segment by segment; ":id" matches any non-empty segment. The version segment may be v2 to
 * v9. Each noun (kind of object) has its route table in its own file; route.c lists the tables. The
 * OpenAPI document (openapi.c) is generated from the same tables. Tables are constant.
 */
#pragma once

#include "api/call/call.h"
#include "api/call/resource.h"

enum route_access {
    ROUTE_AUTH_REQUIRED, /* any authenticated user */
    ROUTE_AUTH_OR_NODE,  /* also the token of a node, if the first key of the path is that node */
    ROUTE_AUTH_NONE,     /* no authentication */
    ROUTE_AUTH_IN_BODY,  /* user name and password are in the body: a login */
};

/* Form of the reply with status 200. */
enum route_form {
    REPLY_OBJECT,  /* an object of the resource */
    REPLY_LIST,    /* an array of them */
    REPLY_MESSAGE, /* {"message"} */
    REPLY_CUSTOM,  /* another JSON document */
    REPLY_TEXT,    /* plain text */
};

struct route {
    enum http_method method;
    const char *pattern;
    enum handler_result (*serve)(struct call *call);
    const struct resource *resource;    /* type of the objects in the reply; NULL: none */
    const struct resource *within;      /* type of the object of the first :id, if different */
    enum command_kind command;          /* for handlers that serve several verbs */
    const struct params_schema *params; /* parameters, if not those of the resource */
    const char
        *query; /* names of parameters of the query string, "a,b", for the document; NULL: none */
    enum route_form form;
    enum route_access access;
    bool is_immediate; /* the reply is read from the newest core and never waits for durability */
    const char *does;  /* summary of one line for the OpenAPI document */
};

struct route_table {
    const char *noun; /* the segment after the version; NULL: paths outside /api/vN */
    const struct route *routes;
    uint32_t count;
};

#define V "/api/v2/"
#define ROUTE_TABLE(noun_text, rows)                                                               \
    {                                                                                              \
        .noun = noun_text, .routes = rows, .count = sizeof rows / sizeof *rows                     \
    }

/* All route tables, NULL at the end. */
extern const struct route_table *const route_tables[];

/* Sets the route of the call, the keys of its path, and the methods that the path supports. HEAD is
 * served as GET. */
void route_find(struct call *call);
/* "GET, HEAD, PUT" */
struct str route_allowed(struct call *call);
