/* lists.h - lists of objects: all, nested, matching, and samples.
 *
 * Objects are tested one by one, sorted, and written directly into the reply. A long list is
 * streamed (streaming.h) in steps that test or write a limited number of objects, so that other
 * requests are served in between. A streamed list is not a snapshot of one moment.
 */
#pragma once

#include "api/call/call.h"

struct record;

/* The objects that a list is taken from, before the filters of the query string. */
struct list_scope {
    const struct resource *resource;
    /* Selects objects; NULL: all of them. */
    bool (*accepts)(const struct list_scope *scope, struct call *call, const struct record *record);
    int64_t owner_id; /* the object they belong to, or the user; context of accepts() */
    /* NULL: all objects of the table. Otherwise these, in this order. */
    const int64_t *ids;
    uint32_t id_count;
    /* Parameters of the query string that are not filters, NULL at the end. NULL: none. */
    const char *const *ignored_params;
};

/* Replies with the objects that match the query string (query.h). */
enum handler_result reply_list_of(struct call *call, const struct list_scope *scope);

enum handler_result serve_list(struct call *call);
/* The objects of the route's resource that belong to the object of the first key. */
enum handler_result serve_nested(struct call *call);
/* The same for an owner that was found otherwise. */
enum handler_result reply_nested(struct call *call, const struct resource *within,
                                 int64_t owner_id);
enum handler_result serve_sample(struct call *call);
enum handler_result serve_match(struct call *call);
