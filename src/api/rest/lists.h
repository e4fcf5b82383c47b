/* lists.h - many objects at once: lists, nested lists, matches, samples.
 *
 * Objects are looked at one by one and put in order, then each is written straight into the
 * answer. A long list is told in pieces (streaming.h): each looks at so many objects, or writes so
 * many, and everybody else comes in between. It is no snapshot of one moment.
 */
#pragma once

#include "api/call/call.h"

struct record;

/* What is looked for. */
struct list_scope {
    const struct resource *resource;
    /* NULL: all of them. */
    bool (*accepts)(const struct list_scope *scope, struct call *call, const struct record *record);
    int64_t owner_id; /* the object that nests them, or the user       */
    /* NULL: those of the core. Otherwise these, in this order. */
    const int64_t *ids;
    uint32_t id_count;
    /* Parameters of the address that ask nothing about them; NULL behind the last. NULL: none. */
    const char *const *ignored_params;
};

/* What the address asks for of them (query.h). */
enum handler_result reply_list_of(struct call *call, const struct list_scope *scope);

enum handler_result serve_list(struct call *call);
/* Those of the route's resource that belong to the object of the first key. */
enum handler_result serve_nested(struct call *call);
/* The same of an object that was found otherwise. */
enum handler_result reply_nested(struct call *call, const struct resource *within,
                                 int64_t owner_id);
enum handler_result serve_sample(struct call *call);
enum handler_result serve_match(struct call *call);
