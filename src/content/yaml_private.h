/* yaml_private.h - the state of the YAML reader; shared by yaml.c and yaml_map.c.
 *
 * The reader processes the events of libyaml with an explicit stack, so that deep nesting does not
 * recurse. Members of a map are appended in the order of the file until the map ends; then
 * yaml_map.c sorts them, merges the maps of "<<", and drops earlier values of repeated keys.
 */
#pragma once

#include <stdbool.h>
#include <yaml.h>

#include "content/yaml.h"

/* Every value of a tree is the first member of a node. */
struct node {
    struct json value; /* must be first: a pointer to it is cast to the node */
    struct text_position at;
    bool is_broken; /* not to be used; the report has the error */
};

struct anchor {
    struct str name;
    const struct node *node;
};

/* A list or map that is not complete yet. Its members are in the order of the file. */
struct level {
    struct node *node;
    struct node *key;          /* of a map: the key whose value is expected next */
    bool key_merges;           /* the key is "<<" */
    const struct json *merged; /* the value of "<<" */
    struct text_position merged_at;
};

struct reader {
    struct arena *arena;
    struct diagnostics *report;
    struct str file;
    yaml_parser_t parser;
    struct node *root;
    uint32_t depth;     /* count of open levels */
    uint32_t values;    /* count, with expanded aliases */
    uint32_t text_size; /* bytes of keys and strings, with expanded aliases */
    uint32_t anchor_count;
    bool stopped; /* after an error that prevents further reading */
    struct level open[JSON_DEPTH_MAX];
    struct anchor anchors[YAML_ANCHORS_MAX];
};

#define YAML_ERROR(r, at, ...) diagnostics_error((r)->report, (r)->file, (at), __VA_ARGS__)

/* A deep copy that shares the strings; NULL: it would exceed the limits, and an error is added. */
struct node *yaml_copy(struct reader *r, const struct node *from);
void yaml_append(struct json *container, struct json *child);

/* yaml_map.c: sort and merge the members of a complete map. */
void yaml_end_map(struct reader *r, const struct level *level);
