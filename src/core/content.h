/* content.h - what a snapshot held, as a document and back.
 *
 * {"data":[{"data":{...},"node":1,"role":2},...],"members":[{"node":1,"role":2},...]}, both lists
 * by node and role. Node 0 stands for the data of the role in the deployment as a whole. Empty data
 * are left out. Everything read lies in the arena given.
 */
#pragma once

#include "base/json.h"

struct content_entry {
    int64_t node_id, role_id;
    const struct json *data; /* NULL for members, an object otherwise */
};

struct content_list {
    struct content_entry *items;
    uint32_t count, cap;
};

struct content {
    struct content_list members, data;
};

/* False when the document is not of this form. */
bool content_read(struct arena *a, struct str text, struct content *out_content);
/* NULL when it is not there. */
const struct content_entry *content_find(const struct content_list *list, int64_t node_id,
                                         int64_t role_id);

/* Where two documents differ. */
struct content_changes {
    struct json *paths;
    struct json *values; /* [before, after] of each */
};

/* The first `most` of the differences between two objects. */
struct content_changes content_compare(struct arena *a, struct str before, struct str after,
                                       uint32_t most);
