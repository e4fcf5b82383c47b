#include "content/yaml_private.h"

#include <stdlib.h>

/* A member on its way into a sorted map; rank 0 is the map's own, the others came by "<<". Of equal
 * keys the first in this order is kept: of the map's own the last that was written, of merged ones
 * that of the first map. */
struct entrant {
    struct json *member;
    uint32_t rank;
    uint32_t order;
};

static int by_key(const void *a, const void *b)
{
    const struct entrant *x = a, *y = b;
    const int keys = str_cmp(x->member->key, y->member->key);
    if (keys)
        return keys;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    const bool is_earlier = x->order < y->order;
    return is_earlier == (x->rank > 0) ? -1 : 1;
}

/* The maps that "<<" names, one or a list of them; the first of `count`. NULL: there are none. */
static const struct json *merge_sources(struct reader *r, const struct level *level,
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
            SAY_ERROR(r, level->merged_at, "<< must name a map or a list of maps");
            return NULL;
        }
    return first;
}

static uint32_t take_own(struct json *map, struct entrant *to)
{
    uint32_t count = 0;
    for (struct json *member = map->first; member; member = member->next, count++)
        to[count] = (struct entrant){.member = member, .order = count};
    return count;
}

static uint32_t take_merged(struct reader *r, const struct json *source, uint32_t rank,
                            struct entrant *to)
{
    uint32_t count = 0;
    for (const struct json *member = source->first; member; member = member->next, count++) {
        struct node *copy = yaml_copy(r, (const struct node *)member);
        if (!copy)
            return 0;
        to[count] = (struct entrant){.member = &copy->value, .rank = rank, .order = count};
    }
    return count;
}

/* Ruby's parser, for which such files were written, takes the last value without a word. */
static void warn_repeated(struct reader *r, const struct json *used, const struct json *ignored)
{
    const struct str key = diagnostics_brief(used->key);
    diagnostics_warning(
        r->report, r->file, yaml_place(used),
        "the key %.*s is repeated in one map: the value in line %u is used, the value in"
        " line %u is ignored",
        STR_FMT_ARGS(key), yaml_place(used).line, yaml_place(ignored).line);
}

/* The sorted entrants become the map's members; of those with one key the first. */
static void settle_map(struct reader *r, struct json *map, struct entrant *list, uint32_t count)
{
    const struct entrant *kept = NULL;
    map->first = map->last = NULL;
    map->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        list[i].member->next = NULL;
        if (kept && str_eq(kept->member->key, list[i].member->key)) {
            if (list[i].rank == 0)
                warn_repeated(r, kept->member, list[i].member);
            continue;
        }
        kept = &list[i];
        yaml_append(map, list[i].member);
    }
}

void yaml_end_map(struct reader *r, const struct level *level)
{
    struct json *map = &level->node->value;
    uint32_t sources, room = map->count;
    const uint32_t errors_before = r->report->errors;
    const struct json *first = merge_sources(r, level, &sources);
    if (r->report->errors > errors_before)
        level->node->is_broken = true; /* nobody knows what it lacks */
    const struct json *source = first;
    for (uint32_t i = 0; source && i < sources; i++, source = source->next)
        room += source->count;
    struct entrant *list = malloc(sizeof *list * (room ? room : 1));
    must(list);
    uint32_t count = take_own(map, list);
    source = first;
    for (uint32_t i = 0; source && i < sources && !r->stopped; i++, source = source->next)
        count += take_merged(r, source, i + 1, list + count);
    qsort(list, count, sizeof *list, by_key);
    settle_map(r, map, list, count);
    free(list);
}
