#include "content/import_order.h"

#include <stdlib.h>

#include "base/text/buf.h"

/* Sorts barclamps so that each is imported after those that it refers to. All memory is temporary
 * and in the arena of the caller. Nothing can fail: what cannot be ordered is placed all the same,
 * and the import reports it.
 *
 * A topological sort (Kahn). The names that files define and refer to are collected, the
 * definitions are sorted by name, and each reference becomes an edge from the defining file to the
 * referring one. Then the first file without open edges is placed, and its edges are removed. In a
 * cycle there is none; then a file whose parent is placed is chosen, because a missing parent is an
 * error and every other missing object only a warning. */

/* Further edges are ignored. The order is only an optimization: imports are repeated in rounds. */
enum { EDGES_MAX = 1 << 20 };
enum { NO_FILE = UINT32_MAX >> 1 }; /* fits an int, the type of an enum constant */

enum noun { BARCLAMP, ROLE, JIG, ATTRIB };

/* A file defines an object, or refers to it. */
struct mention {
    struct str name;
    enum noun noun;
    uint32_t file;
};

/* The file `later` depends on the file `earlier`. */
struct edge {
    uint32_t earlier, later;
};

struct ordering {
    struct buf defined, needed; /* mentions */
    struct buf edges;
    uint32_t edge_count;
    uint32_t *parents; /* file of the parent, by file; NO_FILE: none */
    uint32_t *waiting; /* count of open edges, by file */
    bool *placed;
};

/* ---- definitions and references ---- */

static void order_add_mention(struct buf *list, enum noun noun, const struct json *name,
                              uint32_t file)
{
    if (!name || name->kind != JSON_STRING || name->text.len == 0)
        return;
    const struct mention m = {.name = name->text, .noun = noun, .file = file};
    buf_put(list, &m, sizeof m);
}

/* Each item of a list of names, or of maps with a name. */
static void order_add_mentions(struct buf *list, enum noun noun, const struct json *names,
                               uint32_t file)
{
    const bool is_list = names && names->kind == JSON_ARRAY;
    for (const struct json *item = is_list ? names->first : NULL; item; item = item->next)
        order_add_mention(list, noun,
                          item->kind == JSON_OBJECT ? json_get(item, STR("name")) : item, file);
}

static void order_read_role(struct ordering *o, const struct json *role, uint32_t file)
{
    order_add_mention(&o->defined, ROLE, json_get(role, STR("name")), file);
    order_add_mentions(&o->defined, ROLE, json_get(role, STR("provides")), file);
    order_add_mentions(&o->defined, ATTRIB, json_get(role, STR("attribs")), file);
    order_add_mention(&o->needed, JIG, json_get(role, STR("jig")), file);
    order_add_mentions(&o->needed, ROLE, json_get(role, STR("requires")), file);
    order_add_mentions(&o->needed, ROLE, json_get(role, STR("attaches")), file);
    order_add_mentions(&o->needed, ROLE, json_get(role, STR("preceeds")), file);
    order_add_mentions(&o->needed, ATTRIB, json_get(role, STR("wants-attribs")), file);
}

static void order_read_file(struct ordering *o, const struct json *tree, uint32_t file)
{
    const struct json *roles = json_get(tree, STR("roles"));
    const bool is_list = roles && roles->kind == JSON_ARRAY;
    order_add_mention(&o->defined, BARCLAMP, json_at(tree, STR("barclamp/name")), file);
    order_add_mention(&o->needed, BARCLAMP, json_at(tree, STR("barclamp/parent")), file);
    order_add_mentions(&o->defined, JIG, json_get(tree, STR("jigs")), file);
    order_add_mentions(&o->defined, ATTRIB, json_get(tree, STR("attribs")), file);
    for (const struct json *role = is_list ? roles->first : NULL; role; role = role->next)
        order_read_role(o, role, file);
}

/* ---- edges ---- */

static int mention_compare_names(const struct mention *x, const struct mention *y)
{
    if (x->noun != y->noun)
        return x->noun < y->noun ? -1 : 1;
    return str_cmp(x->name, y->name);
}

static int mention_compare(const void *a, const void *b)
{
    const struct mention *x = a, *y = b;
    const int names = mention_compare_names(x, y);
    return names ? names : (x->file > y->file) - (x->file < y->file);
}

/* The index of the first definition that is not less than `wanted` (binary search). */
static uint32_t mention_find_first(const struct mention *list, uint32_t count,
                                   const struct mention *wanted)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (mention_compare_names(&list[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void order_add_edge(struct ordering *o, uint32_t earlier, const struct mention *need)
{
    if (earlier == need->file || o->edge_count == EDGES_MAX)
        return;
    if (need->noun == BARCLAMP)
        o->parents[need->file] = earlier;
    buf_put(&o->edges, &(struct edge){.earlier = earlier, .later = need->file},
            sizeof(struct edge));
    o->edge_count++;
    o->waiting[need->file]++;
}

static int edge_compare(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return (x->earlier > y->earlier) - (x->earlier < y->earlier);
}

static void order_add_edges(struct ordering *o)
{
    struct mention *defined = (struct mention *)(void *)o->defined.at;
    const struct mention *needed = (const struct mention *)(void *)o->needed.at;
    const uint32_t defined_count = o->defined.len / (uint32_t)sizeof *defined;
    const uint32_t needed_count = o->needed.len / (uint32_t)sizeof *needed;
    if (defined_count == 0)
        return;
    qsort(defined, defined_count, sizeof *defined, mention_compare);
    for (uint32_t i = 0; i < needed_count; i++)
        for (uint32_t k = mention_find_first(defined, defined_count, &needed[i]);
             k < defined_count && mention_compare_names(&defined[k], &needed[i]) == 0; k++)
            order_add_edge(o, defined[k].file, &needed[i]);
    if (o->edge_count)
        qsort(o->edges.at, o->edge_count, sizeof(struct edge), edge_compare);
}

/* ---- order ---- */

/* The first file without open edges; otherwise the first whose parent is placed; otherwise the
 * first. */
static uint32_t order_choose_next(const struct ordering *o, uint32_t count)
{
    uint32_t parented = NO_FILE, first = NO_FILE;
    for (uint32_t i = 0; i < count; i++) {
        if (o->placed[i])
            continue;
        if (o->waiting[i] == 0)
            return i;
        if (parented == NO_FILE && (o->parents[i] == NO_FILE || o->placed[o->parents[i]]))
            parented = i;
        if (first == NO_FILE)
            first = i;
    }
    return parented != NO_FILE ? parented : first;
}

static void order_release(struct ordering *o, uint32_t file)
{
    const struct edge *edges = (const struct edge *)(void *)o->edges.at;
    uint32_t low = 0, high = o->edge_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (edges[middle].earlier < file)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < o->edge_count && edges[low].earlier == file; low++)
        o->waiting[edges[low].later]--;
}

void import_order_sort(struct arena *a, const struct barclamp_file *files, uint32_t count,
                       uint32_t *order)
{
    struct ordering o = {
        .defined = buf_in(a),
        .needed = buf_in(a),
        .edges = buf_in(a),
        .parents = arena_array(a, uint32_t, count),
        .waiting = arena_array(a, uint32_t, count),
        .placed = arena_array(a, bool, count),
    };
    for (uint32_t i = 0; i < count; i++) {
        o.parents[i] = NO_FILE;
        if (files[i].tree)
            order_read_file(&o, files[i].tree, i);
    }
    order_add_edges(&o);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t next = order_choose_next(&o, count);
        order[i] = next;
        o.placed[next] = true;
        order_release(&o, next);
    }
}
