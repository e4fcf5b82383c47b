#include "content/yaml_private.h"

#include <stdlib.h>

/* The end of a map of a YAML file: its members are sorted by key, those of "<<" are merged, and of
 * repeated keys one is kept. It owns only the list of candidates during the call.
 *
 * Order: the list has the own members first and then copies of the merged ones, because the merged
 * map may have an anchor and be used again. yaml.c calls this when the map ends and before it is
 * added to its container, so every value outside of an open map has its final members.
 *
 * Failure: if "<<" names anything but maps, an error is added, the map is marked as broken and has
 * only its own members. If a copy exceeds the limits of the reader, the reading is stopped. */

/* A candidate for a member of a map. Rank 0 are the members of the map itself, rank n those of the
 * n-th map of "<<". Of candidates with the same key the first in sort order is kept: a member of
 * the map before merged ones; of the map itself the last in the file; of merged maps the first map.
 */
struct map_entry {
    struct json *member;
    uint32_t rank;
    uint32_t order; /* position in its map */
};

static int map_entry_compare(const void *a, const void *b)
{
    const struct map_entry *x = a, *y = b;
    const int keys = str_cmp(x->member->key, y->member->key);
    if (keys)
        return keys;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    const bool is_earlier = x->order < y->order;
    return is_earlier == (x->rank > 0) ? -1 : 1;
}

/* The maps of "<<", one map or a list: the first of *out_count. NULL: none, or an error is added.
 */
static const struct json *map_merge_sources(struct reader *r, const struct level *level,
                                            uint32_t *out_count)
{
    const struct json *first = level->merged;
    *out_count = 1;
    if (!first || first->kind == JSON_NULL)
        return NULL;
    if (first->kind == JSON_ARRAY) {
        *out_count = first->count;
        first = first->first;
    }
    const struct json *source = first;
    for (uint32_t i = 0; source && i < *out_count; i++, source = source->next)
        if (source->kind != JSON_OBJECT) {
            YAML_ERROR(r, level->merged_at, "<< must name a map or a list of maps");
            return NULL;
        }
    return first;
}

static uint32_t map_take_merged(struct reader *r, const struct json *source, uint32_t rank,
                                struct map_entry *to)
{
    uint32_t count = 0;
    for (const struct json *member = source->first; member; member = member->next, count++) {
        struct node *copy = yaml_copy(r, (const struct node *)member);
        if (!copy)
            return 0;
        to[count] = (struct map_entry){.member = &copy->value, .rank = rank, .order = count};
    }
    return count;
}

/* The last value is used, as in Psych, the parser that barclamps were written for; Psych does not
 * warn. */
static void map_warn_repeated(struct reader *r, const struct json *used, const struct json *ignored)
{
    const struct str key = diagnostics_brief(used->key);
    diagnostics_warning(
        r->report, r->file, yaml_position(used),
        "the key %.*s is repeated in one map: the value in line %u is used, the value in"
        " line %u is ignored",
        STR_FMT_ARGS(key), yaml_position(used).line, yaml_position(ignored).line);
}

/* Set the members of the map from the sorted candidates; of equal keys the first is used. */
static void map_set_members(struct reader *r, struct json *map, struct map_entry *list,
                            uint32_t count)
{
    const struct map_entry *kept = NULL;
    map->first = map->last = NULL;
    map->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        list[i].member->next = NULL;
        if (kept && str_eq(kept->member->key, list[i].member->key)) {
            if (list[i].rank == 0)
                map_warn_repeated(r, kept->member, list[i].member);
            continue;
        }
        kept = &list[i];
        yaml_append(map, list[i].member);
    }
}

void yaml_end_map(struct reader *r, const struct level *level)
{
    struct json *map = &level->node->value;
    uint32_t sources, capacity = map->count; /* of the list of candidates */
    const uint32_t errors_before = r->report->errors;
    const struct json *first = map_merge_sources(r, level, &sources);
    if (r->report->errors > errors_before)
        level->node->is_broken = true; /* merged members are missing */
    const struct json *source = first;
    for (uint32_t i = 0; source && i < sources; i++, source = source->next)
        capacity += source->count;
    struct map_entry *list = malloc(sizeof *list * (capacity ? capacity : 1));
    must(list);
    uint32_t count = 0;
    for (struct json *member = map->first; member; member = member->next, count++)
        list[count] = (struct map_entry){.member = member, .order = count};
    source = first;
    for (uint32_t i = 0; source && i < sources && !r->stopped; i++, source = source->next)
        count += map_take_merged(r, source, i + 1, list + count);
    qsort(list, count, sizeof *list, map_entry_compare);
    map_set_members(r, map, list, count);
    free(list);
}
