/* route.h - what is served, in tables.
 *
 * A route is a method and a path, who serves it, and what it is about. Paths are matched segment
 * by segment; ":id" takes any segment. The version segment may be v2 to v9. Each noun has a chapter
 * with its routes, in the noun's own file; route.c lists the chapters. The description of the API
 * (openapi.c) is written from the same tables.
 */
#pragma once

#include "api/call/call.h"
#include "api/call/resource.h"

enum route_access {
    ROUTE_AUTH_REQUIRED, /* whoever is let in                                      */
    ROUTE_AUTH_OR_NODE,  /* also a node, where the first key of the path is itself */
    ROUTE_AUTH_NONE,     /* anybody                                                */
    ROUTE_AUTH_IN_BODY,  /* whose body says who comes, with a password             */
};

/* What a good answer is. */
enum route_form {
    REPLY_OBJECT,  /* the resource's shape   */
    REPLY_LIST,    /* many of them           */
    REPLY_MESSAGE, /* {"message"}            */
    REPLY_CUSTOM,  /* a document of its own  */
    REPLY_TEXT,    /* no JSON                */
};

struct route {
    enum http_method method;
    const char *pattern;
    enum handler_result (*serve)(struct call *call);
    const struct resource *resource;    /* whose answers it gives; NULL: nobody's        */
    const struct resource *within;      /* whose object the first :id is, when another's */
    enum command_kind command;          /* for handlers that serve several verbs         */
    const struct params_schema *params; /* what it takes, where the resource does not say */
    enum route_form form;
    enum route_access access;
    bool is_immediate; /* answered at once from the newest core, durable or not */
    const char *does;  /* one line */
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

/* The chapters, NULL at the end. */
extern const struct route_table *const route_tables[];

/* Finds the call's route, its keys, and which methods the path knows. HEAD is served as GET. */
void route_find(struct call *call);
/* "GET, HEAD, PUT" */
struct str route_allowed(struct call *call);
