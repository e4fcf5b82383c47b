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
    ROUTE_GUARDED, /* whoever is let in                                      */
    ROUTE_NODE,    /* also a node, where the first key of the path is itself */
    ROUTE_OPEN,    /* anybody                                                */
    ROUTE_LOGIN,   /* whose body says who comes, with a password             */
};

/* What a good answer is. */
enum route_form {
    FORM_OBJECT,  /* the resource's shape   */
    FORM_LIST,    /* many of them           */
    FORM_MESSAGE, /* {"message"}            */
    FORM_FREE,    /* a document of its own  */
    FORM_TEXT,    /* no JSON                */
};

struct route {
    enum http_method method;
    const char *pattern;
    enum served (*serve)(struct call *call);
    const struct resource *resource; /* whose answers it gives; NULL: nobody's        */
    const struct resource *within;   /* whose object the first :id is, when another's */
    enum command_kind command;       /* for handlers that serve several verbs         */
    const struct intake *intake;     /* what it takes, where the resource does not say */
    enum route_form form;
    enum route_access access;
    bool is_immediate; /* answered at once from the newest core, durable or not */
    const char *does;  /* one line */
};

struct chapter {
    const char *noun; /* the segment after the version; NULL: paths outside /api/vN */
    const struct route *routes;
    uint32_t count;
};

#define V "/api/v2/"
#define CHAPTER(noun_text, rows)                                                                   \
    {                                                                                              \
        .noun = noun_text, .routes = rows, .count = sizeof rows / sizeof *rows                     \
    }

/* The chapters, NULL at the end. */
extern const struct chapter *const chapters[];

/* Finds the call's route, its keys, and which methods the path knows. HEAD is served as GET. */
void route_find(struct call *call);
/* "GET, HEAD, PUT" */
struct str route_allowed(struct call *call);
