/* snapshot_content.h - what a snapshot held, as a document and back.
 *
 * {"data":[{"data":{...},"node":1,"role":2},...],"members":[{"node":1,"role":2},...]}, both lists
 * by node and role. Node 0 stands for the data of the role in the deployment as a whole. Empty data
 * are left out. Everything read lies in the arena given.
 */
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

/* False when the document is not of this form. */
bool snapshot_content_read(struct arena *a, struct str text, struct snapshot_content *out_content);
/* NULL when it is not there. */
const struct snapshot_content_entry *snapshot_content_find(const struct snapshot_content_list *list,
                                                           int64_t node_id, int64_t role_id);

/* Where two documents differ. */
struct snapshot_content_changes {
    struct json *paths;
    struct json *values; /* [before, after] of each */
    bool is_clipped;     /* they are not all that differs */
};

enum { CONTENT_SHOWN_MAX = 1024 };

/* The first `most` of the differences between two objects. A value with more than CONTENT_SHOWN_MAX
 * bytes of text is null, and what has a longer path is left out. */
struct snapshot_content_changes snapshot_content_compare(struct arena *a, struct str before,
                                                         struct str after, uint32_t most);
/* What a snapshot held as arrays: 16 bytes for each member, and the documents as texts. The API
 * collects them, since the text above and its tree take many times as much. Everything lies in the
 * arena. The live part comes from the core, the rest from records of closed intervals; both may
 * name the same pair, with the same data. Sorted, each pair is there once, by node and role. */
struct snapshot_pair {
    int64_t node_id, role_id;
};

struct snapshot_data {
    struct snapshot_pair pair; /* first: both kinds of items are compared by it */
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
    size_t text; /* bytes of all documents */
};

/* How much the live part of snapshot `seq` is, and how many bytes parts of that size take. */
struct snapshot_size core_snapshot_live_size(const struct core *c, int64_t deployment_id,
                                             int64_t seq);
size_t snapshot_size_bytes(struct snapshot_size size);
void core_snapshot_add_live(const struct core *c, int64_t deployment_id, int64_t seq,
                            struct snapshot_parts *parts);
/* A record of a closed interval; one that does not cover the snapshot adds nothing. */
void snapshot_add_old(struct snapshot_parts *parts, const struct record *record,
                      int64_t deployment_id, int64_t seq);
void snapshot_sort(struct snapshot_parts *parts);
/* Of sorted parts; {} when it had none. */
struct str snapshot_data_of(const struct snapshot_parts *parts, struct snapshot_pair pair);
/* The document above, and no fewer bytes than it has. */
size_t snapshot_text_bytes(const struct snapshot_parts *parts);
struct str snapshot_write(const struct snapshot_parts *parts, struct arena *a);
/* {"paths":[...],"values":[[before,after],...]} of two documents that are objects; NULL when they
 * are equal. */
struct json *snapshot_changes(struct str before, struct str after, struct arena *a);

enum snapshot_list { SNAPSHOT_ADDED, SNAPSHOT_CHANGED, SNAPSHOT_REMOVED, SNAPSHOT_LISTS };

/* What came, what has other data, what went: the pairs of all lists, one list behind the other. */
struct snapshot_diff {
    const struct snapshot_parts *before, *after; /* sorted */
    struct snapshot_pair *pairs;                 /* NULL: they are only counted */
    uint32_t count;
    uint32_t begins[SNAPSHOT_LISTS + 1]; /* list i has the pairs from begins[i] to begins[i + 1] */
};

/* Makes the lists of which `lists` has the bit 1 << SNAPSHOT_...; there must be space for as many
 * pairs as were counted before. */
void snapshot_diff_list(struct snapshot_diff *d, uint32_t lists);
