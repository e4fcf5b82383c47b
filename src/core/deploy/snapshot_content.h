/* snapshot_content.h - the content of a snapshot, as a document and as arrays.
 *
 * The document is {"data":[{"data":{...},"node":1,"role":2},...],
 * "members":[{"node":1,"role":2},...]}, both lists sorted by node and role. Node 0 denotes the data
 * of the role in the deployment as a whole. Empty data is left out. Everything that is read is
 * allocated in the given arena. */
#pragma once

#include "base/json/json.h"
#include "base/text/buf.h"
#include "model/record.h"

struct core;

struct snapshot_content_entry {
    int64_t node_id, role_id;
    const struct json *data; /* NULL for members, an object otherwise */
};

struct snapshot_content_list {
    struct snapshot_content_entry *items;
    uint32_t count, cap;
};

struct snapshot_content {
    struct snapshot_content_list members, data;
};

/* False if the document does not have this form. */
bool snapshot_content_read(struct arena *a, struct str text, struct snapshot_content *out_content);
/* NULL if there is no such entry. */
const struct snapshot_content_entry *snapshot_content_find(const struct snapshot_content_list *list,
                                                           int64_t node_id, int64_t role_id);

/* The differences of two documents. */
struct snapshot_content_changes {
    struct json *paths;
    struct json *values; /* [before, after] for each path */
    bool is_clipped;     /* not all differences are listed */
};

enum { CONTENT_SHOWN_MAX = 1024 }; /* bytes */

/* Returns the first `most` differences of two objects. A value of more than CONTENT_SHOWN_MAX bytes
 * is shown as null, and a difference at a longer path is left out. */
struct snapshot_content_changes snapshot_content_compare(struct arena *a, struct str before,
                                                         struct str after, uint32_t most);
/* The content of a snapshot as arrays: 16 bytes for each member, and the documents as strings. The
 * API uses them because the document and its tree need many times as much memory. Everything is
 * allocated in the arena. The live part comes from the core, the rest from records of closed
 * intervals; both may contain the same pair, with the same data. After snapshot_sort() each pair
 * occurs once, ordered by node and role. */
struct snapshot_pair {
    int64_t node_id, role_id;
};

struct snapshot_data {
    struct snapshot_pair pair; /* must be first: both kinds of items are compared by it */
    struct str data;
};

struct snapshot_parts {
    struct arena *arena;
    struct snapshot_pair *members;
    struct snapshot_data *data;
    uint32_t member_count, member_cap;
    uint32_t data_count, data_cap;
};

struct snapshot_size {
    uint32_t members, data;
    size_t text; /* total length of the documents, in bytes */
};

/* The size of the live part of snapshot `seq`, and the bytes that parts of that size occupy. */
struct snapshot_size core_snapshot_live_size(const struct core *c, int64_t deployment_id,
                                             int64_t seq);
size_t snapshot_size_bytes(struct snapshot_size size);
void core_snapshot_add_live(const struct core *c, int64_t deployment_id, int64_t seq,
                            struct snapshot_parts *parts);
/* Adds a record of a closed interval, if the interval covers the snapshot. */
void snapshot_add_old(struct snapshot_parts *parts, const struct record *record,
                      int64_t deployment_id, int64_t seq);
void snapshot_sort(struct snapshot_parts *parts);
/* The parts must be sorted. Returns {} if the pair has no data. */
struct str snapshot_data_of(const struct snapshot_parts *parts, struct snapshot_pair pair);
/* Writes the document above. snapshot_text_bytes() is an upper bound of its length. */
size_t snapshot_text_bytes(const struct snapshot_parts *parts);
struct str snapshot_write(const struct snapshot_parts *parts, struct arena *a);
/* Returns {"paths":[...],"values":[[before,after],...]} for two documents that are objects; NULL if
 * they are equal. */
struct json *snapshot_changes(struct str before, struct str after, struct arena *a);

enum snapshot_list { SNAPSHOT_ADDED, SNAPSHOT_CHANGED, SNAPSHOT_REMOVED, SNAPSHOT_LISTS };

/* Pairs that were added, have other data, or were removed; the lists are stored one after the
 * other. */
struct snapshot_diff {
    const struct snapshot_parts *before, *after; /* sorted */
    struct snapshot_pair *pairs;                 /* NULL: the pairs are only counted */
    uint32_t count;
    uint32_t begins[SNAPSHOT_LISTS + 1]; /* list i has the pairs from begins[i] to begins[i + 1] */
};

/* Fills the lists whose bit 1 << SNAPSHOT_... is set in `lists`; `pairs` must have space for the
 * number that was counted before. */
void snapshot_diff_list(struct snapshot_diff *d, uint32_t lists);
