/* id_names.h - which name an id stands for, for people who read tables.
 *
 * The daemon is asked once for each collection, for the ids that occur. Where it does not answer,
 * ids are shown: nobody fails for want of a name.
 */
#pragma once

#include "base/json/json.h"
#include "cli/cmd/request.h"

/* By id. Texts live as long as the errand. */
struct id_names {
    const struct json **objects;
    uint32_t count;
    const char *key;
};

/* Of those whose ids the objects of a list have in a field. */
struct id_names id_names_fetch(struct cli_request *e, const char *collection,
                               const struct json *list, const char *field);
/* A copy of a list of objects of the noun in which the name is put beside each id, under the
 * key without "_id", and the word beside the number of a state, under state_name; null: not
 * known. A key that is there already stays as it is. */
struct json *id_names_beside(struct cli_request *e, const struct json *list);
/* Empty: not known. */
struct str id_names_find(const struct id_names *names, const struct json *id);
