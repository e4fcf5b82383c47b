/* id_names.h - looks up the names of objects by id, for tables and documents.
 *
 * There is one request for each field with ids, for the ids that occur, or for the whole collection
 * if there are many. If it fails, ids are shown: a missing name is not an error.
 */
#pragma once

#include "base/json/json.h"
#include "cli/cmd/request.h"

/* Objects sorted by id. They are in the arena of the request. */
struct id_names {
    const struct json **objects;
    uint32_t count;
    const char *key; /* the field with the name */
};

/* The objects of `collection` whose ids are in `field` of the objects of `list`. */
struct id_names id_names_fetch(struct cli_request *req, const char *collection,
                               const struct json *list, const char *field);
/* A copy of a list of objects of the noun with additional members: the name of each id, with the
 * key without "_id", and the name of a numeric state, with the key state_name; null if unknown. A
 * member that exists already is not replaced. */
struct json *id_names_add(struct cli_request *req, const struct json *list);
/* The name for an id; empty: unknown. */
struct str id_names_find(const struct id_names *names, const struct json *id);
