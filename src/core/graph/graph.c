#include "core/core_private.h"

#include "base/containers/sort.h"

/* Edges between noderoles, their depth (cohort), and walks over them. Every walk uses a worklist
 * and stamps what it has seen, so it visits each noderole once whatever the shape. */

/* ---- walks ---- */

/* A fresh stamp; `visited` covers every index of the pool. */
static uint32_t walk_begin(struct core *c)
{
    const uint32_t high = c->tables[TABLE_NODEROLE].pool.high;
    while (c->visited.count <= high)
        *(uint32_t *)list_push(&c->visited, sizeof(uint32_t)) = 0;
    if (c->visit == UINT32_MAX) {
        memset(c->visited.items, 0, (size_t)c->visited.count * sizeof(uint32_t));
        c->visit = 0;
    }
    return ++c->visit;
}

/* True the first time a walk meets `ix`. */
static bool walk_sees(struct core *c, uint32_t walk, noderole_ix ix)
{
    uint32_t *stamp = (uint32_t *)c->visited.items + ix.v;
    if (*stamp == walk)
        return false;
    *stamp = walk;
    return true;
}

enum direction { UP, DOWN };

static const struct vec *neighbours(const struct core *c, noderole_ix ix, enum direction way)
{
    const struct noderole *nr = noderole_at(c, ix);
    return way == UP ? &nr->parents : &nr->children;
}

struct found {
    struct arena *arena;
    noderole_ix *items;
    uint32_t count, cap;
};

static void found_add(struct found *f, noderole_ix ix)
{
    if (f->count == f->cap) {
        const uint32_t cap = f->cap ? f->cap * 2 : 64;
        noderole_ix *items = arena_alloc(f->arena, cap * sizeof *items);
        if (f->count)
            memcpy(items, f->items, f->count * sizeof *items);
        f->items = items;
        f->cap = cap;
    }
    f->items[f->count++] = ix;
}

static noderole_ix *walk(struct core *c, noderole_ix from, enum direction way, struct arena *a,
                         uint32_t *out_count)
{
    struct found f = {.arena = a};
    const uint32_t stamp = walk_begin(c);
    noderole_ix at = from;
    for (uint32_t next = 0;; at = f.items[next++]) {
        const struct vec *v = neighbours(c, at, way);
        for (uint32_t i = 0; i < v->count; i++) {
            const noderole_ix ix = {vec_at(c, v, i)};
            if (walk_sees(c, stamp, ix))
                found_add(&f, ix);
        }
        if (next == f.count)
            break;
    }
    *out_count = f.count;
    return f.items;
}

noderole_ix *graph_descendants(struct core *c, noderole_ix from, struct arena *a,
                               uint32_t *out_count)
{
    return walk(c, from, DOWN, a, out_count);
}

noderole_ix *graph_ancestors(const struct core *c, noderole_ix from, struct arena *a,
                             uint32_t *out_count)
{
    /* The stamps are scratch, not state: a walk leaves nothing behind that anyone can see. */
    return walk((struct core *)(uintptr_t)c, from, UP, a, out_count);
}

/* The shortest way down from `from` to `to`, both included; NULL when there is none. Only what lies
 * above `to` by cohort can lead there, so the walk stays small. */
static noderole_ix *path_down(struct core *c, noderole_ix from, noderole_ix to, uint32_t *out_count)
{
    struct found seen = {.arena = c->arena};
    struct found came = {.arena = c->arena}; /* came.items[i]: position in `seen` it was met from */
    const uint32_t stamp = walk_begin(c);
    const uint32_t deepest = noderole_at(c, to)->cohort;
    walk_sees(c, stamp, from);
    found_add(&seen, from);
    found_add(&came, (noderole_ix){0});
    uint32_t next = 0;
    for (; next < seen.count && seen.items[next].v != to.v; next++) {
        const struct vec *v = neighbours(c, seen.items[next], DOWN);
        for (uint32_t i = 0; i < v->count; i++) {
            const noderole_ix ix = {vec_at(c, v, i)};
            if (noderole_at(c, ix)->cohort > deepest || !walk_sees(c, stamp, ix))
                continue;
            found_add(&seen, ix);
            found_add(&came, (noderole_ix){next});
        }
    }
    if (next == seen.count)
        return NULL;
    uint32_t length = 1;
    for (uint32_t at = next; at; at = came.items[at].v)
        length++;
    noderole_ix *path = arena_array(c->arena, noderole_ix, length);
    for (uint32_t at = next, i = length; i--; at = came.items[at].v)
        path[i] = seen.items[at];
    *out_count = length;
    return path;
}

/* parent -> child would close a circle: say which. */
static bool closes_cycle(struct core *c, noderole_ix parent, noderole_ix child)
{
    uint32_t count;
    if (noderole_at(c, child)->cohort > noderole_at(c, parent)->cohort)
        return false; /* depths grow along edges, so no way leads back up */
    const noderole_ix *path = path_down(c, child, parent, &count);
    if (!path)
        return false;
    struct buf b = buf_in(c->arena);
    buf_put_z(&b, "the noderoles would wait for each other: ");
    for (uint32_t i = 0; i < count; i++) {
        buf_put_str(&b, noderole_label(c, path[i], c->arena));
        buf_put_z(&b, " -> ");
    }
    buf_put_str(&b, noderole_label(c, child, c->arena));
    refuse(c, PROBLEM_GRAPH_CYCLE, STR("role_id"), buf_str(&b));
    return true;
}

/* ---- order ---- */

static int cmp_keyed(const void *a, const void *b)
{
    const uint64_t x = ((const struct keyed_noderole *)a)->key;
    const uint64_t y = ((const struct keyed_noderole *)b)->key;
    return (x > y) - (x < y);
}

void graph_sort_keyed(struct keyed_noderole *items, uint32_t count, struct arena *scratch)
{
    sort_items(items, count, sizeof *items, cmp_keyed, scratch);
}

void graph_sort_by_cohort(const struct core *c, noderole_ix *items, uint32_t count, bool descending)
{
    struct arena scratch = {0};
    struct keyed_noderole *keyed = arena_alloc(&scratch, (size_t)count * sizeof *keyed);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t key = noderole_key(noderole_at(c, items[i]));
        keyed[i] = (struct keyed_noderole){descending ? ~key : key, items[i]};
    }
    graph_sort_keyed(keyed, count, &scratch);
    for (uint32_t i = 0; i < count; i++)
        items[i] = keyed[i].nr;
    arena_fini(&scratch);
}

/* ---- the node's list: by (cohort, id) ---- */

static uint32_t place_for(const struct core *c, node_ix n, noderole_ix nr)
{
    const struct vec *v = &node_at(c, n)->noderoles;
    uint32_t low = 0, high = v->count;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (noderole_cmp(c, (noderole_ix){vec_at(c, v, mid)}, nr) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

uint32_t node_place_of(const struct core *c, noderole_ix nr)
{
    const node_ix n = noderole_at(c, nr)->node;
    const uint32_t place = place_for(c, n, nr);
    must(vec_at(c, &node_at(c, n)->noderoles, place) == nr.v);
    return place;
}

void node_place(struct core *c, noderole_ix nr)
{
    const node_ix n = noderole_at(c, nr)->node;
    const uint32_t place = place_for(c, n, nr);
    struct node *node = node_derive(c, n);
    vec_insert(&c->heap, &node->noderoles, place, nr.v);
    if (place < node->first_todo)
        node->first_todo = place;
}

static void set_cohort(struct core *c, noderole_ix ix, uint32_t cohort)
{
    const uint32_t old = node_place_of(c, ix);
    struct node *node = node_derive(c, noderole_at(c, ix)->node);
    vec_remove(&c->heap, &node->noderoles, old);
    if (old < node->first_todo)
        node->first_todo = old;
    noderole_edit(c, ix)->cohort = cohort;
    node_place(c, ix);
    sched_enqueue_node(c, noderole_at(c, ix)->node); /* its place in the waiting line changes too */
}

/* `child` must lie deeper than `parent`; so must everything below it (SEMANTICS 2.7). */
static void lift(struct core *c, noderole_ix parent, noderole_ix child)
{
    struct found f = {.arena = c->arena};
    const uint32_t floor = noderole_at(c, parent)->cohort;
    if (noderole_at(c, child)->cohort > floor)
        return;
    set_cohort(c, child, floor + 1);
    found_add(&f, child);
    for (uint32_t next = 0; next < f.count; next++) {
        const uint32_t own = noderole_at(c, f.items[next])->cohort;
        if (own >= COHORT_MAX) {
            refuse(c, PROBLEM_LIMIT_REACHED, STR("cohort"),
                   STR("the graph of noderoles would be deeper than this installation allows"));
            return;
        }
        for (uint32_t i = 0; i < noderole_at(c, f.items[next])->children.count; i++) {
            const noderole_ix below = {vec_at(c, &noderole_at(c, f.items[next])->children, i)};
            if (noderole_at(c, below)->cohort <= own) {
                set_cohort(c, below, own + 1);
                found_add(&f, below);
            }
        }
    }
}

/* ---- edges ---- */

bool graph_has_edge(const struct core *c, noderole_ix parent, noderole_ix child)
{
    return ids_has(c, &noderole_at(c, child)->parents, TABLE_NODEROLE, parent.v);
}

void graph_add_edge(struct core *c, noderole_ix parent, noderole_ix child)
{
    if (graph_has_edge(c, parent, child) || closes_cycle(c, parent, child))
        return;
    ids_insert(c, &noderole_derive(c, parent)->children, TABLE_NODEROLE, child.v);
    struct noderole *row = noderole_derive(c, child);
    ids_insert(c, &row->parents, TABLE_NODEROLE, parent.v);
    relation_note(c, TABLE_EDGE, false, noderole_at(c, parent)->o.id, row->o.id, 0);
    if (noderole_at(c, parent)->state != NODEROLE_ACTIVE) {
        row->missing++;
        if (row->state == NODEROLE_TODO)
            noderole_apply(c, child, EVENT_LOST); /* I2: nothing is TODO below what is not ACTIVE */
    }
    lift(c, parent, child);
}

void graph_detach(struct core *c, noderole_ix child)
{
    struct noderole *row = noderole_derive(c, child);
    for (uint32_t i = 0; i < row->parents.count; i++) {
        const noderole_ix parent = {vec_at(c, &row->parents, i)};
        ids_remove(c, &noderole_derive(c, parent)->children, TABLE_NODEROLE, child.v);
        relation_note(c, TABLE_EDGE, true, noderole_at(c, parent)->o.id, row->o.id, 0);
    }
    vec_clear(&c->heap, &row->parents);
    vec_clear(&c->heap, &row->children);
    row->missing = 0;
}

/* ---- may it go? ---- */

bool graph_can_delete(struct core *c, noderole_ix ix)
{
    uint32_t count;
    const noderole_ix *below = graph_descendants(c, ix, c->arena, &count);
    const node_ix home = noderole_at(c, ix)->node;
    bool same_node = true, never_ran = true;
    noderole_ix foreign = {0};
    for (uint32_t i = 0; i < count; i++) {
        const struct noderole *nr = noderole_at(c, below[i]);
        never_ran &= nr->state == NODEROLE_PROPOSED && nr->run_count == 0;
        if (nr->node.v != home.v) {
            same_node = false;
            foreign = below[i];
        }
    }
    if (same_node || never_ran)
        return true;
    return refuse(c, PROBLEM_HAS_DEPENDANTS, STR("id"),
                  STR_CONCAT(c->arena, noderole_label(c, foreign, c->arena), STR(" depends on "),
                             noderole_label(c, ix, c->arena)));
}
