/* yaml_private.h - one YAML text being read; shared by yaml.c and yaml_map.c.
 *
 * The reader follows the events of libyaml with a stack of its own, so that a deep text costs no
 * deep calls. A map's members hang on it as they came until the map ends; then yaml_map.c sorts
 * them, brings in what "<<" names, and drops the earlier values of repeated keys.
 */
#pragma once

#include <stdbool.h>
#include <yaml.h>

#include "content/yaml.h"

/* What every value of a tree really is. */
struct node {
    struct json value; /* first, so that the one can be had from the other */
    struct text_place at;
    bool is_broken; /* what stands there is not to be used; the report says why */
};

struct anchor {
    struct str name;
    const struct node *node;
};

/* A list or map that is not complete yet. Members hang on it in the order they came. */
struct level {
    struct node *node;
    struct node *key; /* a map's: the key whose value is to come */
    bool key_merges;
    const struct json *merged; /* the value of "<<" */
    struct text_place merged_at;
};

struct reader {
    struct arena *arena;
    struct diagnostics *report;
    struct str file;
    yaml_parser_t parser;
    struct node *root;
    uint32_t depth; /* levels in use */
    uint32_t values, text_size;
    uint32_t anchor_count;
    bool stopped; /* there is no sense in reading on */
    struct level open[JSON_DEPTH_MAX];
    struct anchor anchors[YAML_ANCHORS_MAX];
};

#define SAY_ERROR(r, at, ...) diagnostics_error((r)->report, (r)->file, (at), __VA_ARGS__)

/* A copy that shares the texts; NULL when that cannot be afforded. */
struct node *yaml_copy(struct reader *r, const struct node *from);
void yaml_append(struct json *container, struct json *child);

/* yaml_map.c: the map is complete. */
void yaml_end_map(struct reader *r, const struct level *level);
