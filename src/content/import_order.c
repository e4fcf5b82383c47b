#include "content/import_order.h"

#include <stdlib.h>

#include "base/text/buf.h"

enum { EDGES_MAX = 1 << 20 }; /* beyond that the rest stays as it came; the engine sorts it out */
enum { NOBODY = UINT32_MAX >> 1 };

enum noun { BARCLAMP, ROLE, JIG, ATTRIB };

/* A file defines a thing, or speaks of it. */
struct mention {
    struct str name;
    enum noun noun;
    uint32_t file;
};

/* `later` is to come behind `earlier`. */
struct edge {
    uint32_t earlier, later;
};

struct ordering {
    struct buf defined, needed; /* mentions */
    struct buf edges;
    uint32_t edge_count;
    uint32_t *parents; /* file of the parent, by file; NOBODY */
    uint32_t *waiting; /* for how many edges, by file */
    bool *placed;
};

/* ---- what the files say ---- */

static void mention(struct buf *list, enum noun noun, const struct json *name, uint32_t file)
{
    if (!name || name->kind != JSON_STRING || name->text.len == 0)
        return;
    const struct mention m = {.name = name->text, .noun = noun, .file = file};
    buf_put(list, &m, sizeof m);
}

/* Each of a list: of texts, or of maps with a name. */
static void mention_all(struct buf *list, enum noun noun, const struct json *names, uint32_t file)
{
    const bool is_list = names && names->kind == JSON_ARRAY;
    for (const struct json *item = is_list ? names->first : NULL; item; item = item->next)
        mention(list, noun, item->kind == JSON_OBJECT ? json_get(item, STR("name")) : item, file);
}

static void read_role(struct ordering *o, const struct json *role, uint32_t file)
{
    mention(&o->defined, ROLE, json_get(role, STR("name")), file);
    mention_all(&o->defined, ROLE, json_get(role, STR("provides")), file);
    mention_all(&o->defined, ATTRIB, json_get(role, STR("attribs")), file);
    mention(&o->needed, JIG, json_get(role, STR("jig")), file);
    mention_all(&o->needed, ROLE, json_get(role, STR("requires")), file);
    mention_all(&o->needed, ROLE, json_get(role, STR("attaches")), file);
    mention_all(&o->needed, ROLE, json_get(role, STR("preceeds")), file);
    mention_all(&o->needed, ATTRIB, json_get(role, STR("wants-attribs")), file);
}

static void read_file(struct ordering *o, const struct json *tree, uint32_t file)
{
    const struct json *roles = json_get(tree, STR("roles"));
    const bool is_list = roles && roles->kind == JSON_ARRAY;
    mention(&o->defined, BARCLAMP, json_at(tree, STR("barclamp/name")), file);
    mention(&o->needed, BARCLAMP, json_at(tree, STR("barclamp/parent")), file);
    mention_all(&o->defined, JIG, json_get(tree, STR("jigs")), file);
    mention_all(&o->defined, ATTRIB, json_get(tree, STR("attribs")), file);
    for (const struct json *role = is_list ? roles->first : NULL; role; role = role->next)
        read_role(o, role, file);
}

/* ---- who waits for whom ---- */

static int cmp_names(const struct mention *x, const struct mention *y)
{
    if (x->noun != y->noun)
        return x->noun < y->noun ? -1 : 1;
    return str_cmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    const struct mention *x = a, *y = b;
    const int names = cmp_names(x, y);
    return names ? names : (x->file > y->file) - (x->file < y->file);
}

/* The first definition that is not before `wanted`. */
static uint32_t find_first(const struct mention *list, uint32_t count, const struct mention *wanted)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (cmp_names(&list[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_edge(struct ordering *o, uint32_t earlier, const struct mention *need)
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

static int by_earlier(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return (x->earlier > y->earlier) - (x->earlier < y->earlier);
}

static void connect(struct ordering *o)
{
    struct mention *defined = (struct mention *)(void *)o->defined.at;
    const struct mention *needed = (const struct mention *)(void *)o->needed.at;
    const uint32_t defined_count = o->defined.len / (uint32_t)sizeof *defined;
    const uint32_t needed_count = o->needed.len / (uint32_t)sizeof *needed;
    if (defined_count == 0)
        return;
    qsort(defined, defined_count, sizeof *defined, by_name);
    for (uint32_t i = 0; i < needed_count; i++)
        for (uint32_t k = find_first(defined, defined_count, &needed[i]);
             k < defined_count && cmp_names(&defined[k], &needed[i]) == 0; k++)
            add_edge(o, defined[k].file, &needed[i]);
    if (o->edge_count)
        qsort(o->edges.at, o->edge_count, sizeof(struct edge), by_earlier);
}

/* ---- placing ---- */

/* The first that waits for nobody; else the first whose parent is placed; else the first. */
static uint32_t choose(const struct ordering *o, uint32_t count)
{
    uint32_t parented = NOBODY, first = NOBODY;
    for (uint32_t i = 0; i < count; i++) {
        if (o->placed[i])
            continue;
        if (o->waiting[i] == 0)
            return i;
        if (parented == NOBODY && (o->parents[i] == NOBODY || o->placed[o->parents[i]]))
            parented = i;
        if (first == NOBODY)
            first = i;
    }
    return parented != NOBODY ? parented : first;
}

static void release(struct ordering *o, uint32_t file)
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

void content_order(struct arena *a, const struct barclamp_file *files, uint32_t count,
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
        o.parents[i] = NOBODY;
        if (files[i].tree)
            read_file(&o, files[i].tree, i);
    }
    connect(&o);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t next = choose(&o, count);
        order[i] = next;
        o.placed[next] = true;
        release(&o, next);
    }
}
