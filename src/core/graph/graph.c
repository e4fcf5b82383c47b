#include "core/network/network_private.h"

#include "base/containers/sort.h"

/* The dependency graph: edges between noderoles, their depth (cohort), and walks over them. This
 * file owns the edges, the cohorts of noderoles and the order of the noderoles of a node. In
 * addition, load.c restores edges, noderole_verbs.c removes a deleted noderole from the list of its
 * node, and noderole.c updates inactive_parents when a state changes.
 *
 * The cohort of a child is higher than that of each parent (invariant C4). This is what makes
 * cycle detection cheap: a new edge can close a cycle only if the child is not deeper than the
 * parent, and a search for the cycle can skip everything deeper than the parent. Cohorts only
 * increase. A cycle is therefore searched before an edge is added, and cohorts are raised
 * afterwards.
 *
 * Walks use a worklist instead of recursion and mark each visited noderole with the number of the
 * walk, so every noderole is visited once and no marks have to be cleared.
 *
 * Failure: an edge that would close a cycle or exceed the depth limit records a problem; the step
 * rolls back the edges that were added before it. */

/* ---- walks ---- */

/* A new walk number. `visited` is extended to cover every index of the pool. */
static uint32_t graph_walk_begin(struct core *c)
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

/* True at the first visit of `ix` in this walk. */
static bool graph_walk_visit(struct core *c, uint32_t walk, noderole_ix ix)
{
    uint32_t *stamp = (uint32_t *)c->visited.items + ix.v;
    if (*stamp == walk)
        return false;
    *stamp = walk;
    return true;
}

enum direction { UP, DOWN };

static const struct vec *graph_neighbours(const struct core *c, noderole_ix ix, enum direction way)
{
    const struct noderole *nr = noderole_at(c, ix);
    return way == UP ? &nr->parents : &nr->children;
}

struct found {
    struct arena *arena;
    noderole_ix *items;
    uint32_t count, cap;
};

static void graph_found_add(struct found *f, noderole_ix ix)
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

static noderole_ix *graph_walk(struct core *c, noderole_ix from, enum direction way,
                               struct arena *a, uint32_t *out_count)
{
    struct found f = {.arena = a}; /* also the worklist: items before `next` were expanded */
    const uint32_t stamp = graph_walk_begin(c);
    noderole_ix at = from;
    for (uint32_t next = 0;; at = f.items[next++]) {
        const struct vec *v = graph_neighbours(c, at, way);
        for (uint32_t i = 0; i < v->count; i++) {
            const noderole_ix ix = {vec_at(c, v, i)};
            if (graph_walk_visit(c, stamp, ix))
                graph_found_add(&f, ix);
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
    return graph_walk(c, from, DOWN, a, out_count);
}

noderole_ix *graph_ancestors(const struct core *c, noderole_ix from, struct arena *a,
                             uint32_t *out_count)
{
    /* The cast is safe: walk numbers are scratch memory, and no query can observe them. */
    return graph_walk((struct core *)(uintptr_t)c, from, UP, a, out_count);
}

/* The shortest path along children from `from` to `to`, both included; NULL if there is none.
 * Noderoles with a higher cohort than `to` cannot lead to it and are skipped. */
static noderole_ix *graph_path_down(struct core *c, noderole_ix from, noderole_ix to,
                                    uint32_t *out_count)
{
    struct found seen = {.arena = c->arena};
    struct found came = {.arena = c->arena}; /* position in `seen` of the predecessor of each */
    const uint32_t stamp = graph_walk_begin(c);
    const uint32_t deepest = noderole_at(c, to)->cohort;
    graph_walk_visit(c, stamp, from);
    graph_found_add(&seen, from);
    graph_found_add(&came, (noderole_ix){0});
    uint32_t next = 0;
    for (; next < seen.count && seen.items[next].v != to.v; next++) {
        const struct vec *v = graph_neighbours(c, seen.items[next], DOWN);
        for (uint32_t i = 0; i < v->count; i++) {
            const noderole_ix ix = {vec_at(c, v, i)};
            if (noderole_at(c, ix)->cohort > deepest || !graph_walk_visit(c, stamp, ix))
                continue;
            graph_found_add(&seen, ix);
            graph_found_add(&came, (noderole_ix){next});
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

/* True, with a problem that lists the cycle, if the edge parent -> child would close one. */
static bool graph_refuse_cycle(struct core *c, noderole_ix parent, noderole_ix child)
{
    uint32_t count;
    if (noderole_at(c, child)->cohort > noderole_at(c, parent)->cohort)
        return false; /* cohorts increase along edges, so no path leads from child to parent */
    const noderole_ix *path = graph_path_down(c, child, parent, &count);
    if (!path)
        return false;
    struct buf b = buf_in(c->arena);
    buf_put_z(&b, "the noderoles would depend on each other in a cycle: ");
    for (uint32_t i = 0; i < count; i++) {
        buf_put_str(&b, noderole_label(c, path[i], c->arena));
        buf_put_z(&b, " -> ");
    }
    buf_put_str(&b, noderole_label(c, child, c->arena));
    refuse(c, PROBLEM_GRAPH_CYCLE, STR("role_id"), buf_str(&b));
    return true;
}

/* ---- order ---- */

static int graph_cmp_keyed(const void *a, const void *b)
{
    const uint64_t x = ((const struct keyed_noderole *)a)->key;
    const uint64_t y = ((const struct keyed_noderole *)b)->key;
    return (x > y) - (x < y);
}

void graph_sort_keyed(struct keyed_noderole *items, uint32_t count, struct arena *scratch)
{
    sort_items(items, count, sizeof *items, graph_cmp_keyed, scratch);
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

/* ---- the noderoles of a node, by (cohort, id) ---- */

static uint32_t node_position_for(const struct core *c, node_ix n, noderole_ix nr)
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

uint32_t node_noderole_position(const struct core *c, noderole_ix nr)
{
    const node_ix n = noderole_at(c, nr)->node;
    const uint32_t place = node_position_for(c, n, nr);
    must(vec_at(c, &node_at(c, n)->noderoles, place) == nr.v);
    return place;
}

void node_insert_noderole(struct core *c, noderole_ix nr)
{
    const node_ix n = noderole_at(c, nr)->node;
    const uint32_t place = node_position_for(c, n, nr);
    struct node *node = node_derive(c, n);
    vec_insert(&c->heap, &node->noderoles, place, nr.v);
    if (place < node->todo_cursor)
        node->todo_cursor = place;
    if (c->vars.name_filters.count)
        dns_names_noderole_changed(c, nr);
}

static void graph_set_cohort(struct core *c, noderole_ix ix, uint32_t cohort)
{
    const uint32_t old = node_noderole_position(c, ix);
    struct node *node = node_derive(c, noderole_at(c, ix)->node);
    vec_remove(&c->heap, &node->noderoles, old);
    if (old < node->todo_cursor)
        node->todo_cursor = old;
    noderole_edit(c, ix)->cohort = cohort;
    node_insert_noderole(c, ix);
    sched_enqueue_node(c, noderole_at(c, ix)->node); /* the order of candidates changes as well */
}

/* Make the child deeper than the parent, and its descendants deeper than itself
 * (docs/spec/binding.md, Cohorts). */
static void graph_raise_cohorts(struct core *c, noderole_ix parent, noderole_ix child)
{
    struct found f = {.arena = c->arena};
    const uint32_t floor = noderole_at(c, parent)->cohort;
    if (noderole_at(c, child)->cohort > floor)
        return;
    graph_set_cohort(c, child, floor + 1);
    graph_found_add(&f, child);
    for (uint32_t next = 0; next < f.count; next++) {
        const uint32_t own = noderole_at(c, f.items[next])->cohort;
        if (own >= COHORT_MAX) {
            refuse(c, PROBLEM_LIMIT_REACHED, STR("cohort"),
                   STR_CONCAT(c->arena, STR("the dependency graph would be deeper than "),
                              str_from_i64(c->arena, COHORT_MAX), STR(" levels")));
            return;
        }
        for (uint32_t i = 0; i < noderole_at(c, f.items[next])->children.count; i++) {
            const noderole_ix below = {vec_at(c, &noderole_at(c, f.items[next])->children, i)};
            if (noderole_at(c, below)->cohort <= own) {
                graph_set_cohort(c, below, own + 1);
                graph_found_add(&f, below);
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
    if (graph_has_edge(c, parent, child) || graph_refuse_cycle(c, parent, child))
        return;
    ids_insert(c, &noderole_derive(c, parent)->children, TABLE_NODEROLE, child.v);
    struct noderole *row = noderole_derive(c, child);
    ids_insert(c, &row->parents, TABLE_NODEROLE, parent.v);
    relation_note(c, TABLE_EDGE, false, noderole_at(c, parent)->o.id, row->o.id, 0);
    if (noderole_at(c, parent)->state != NODEROLE_ACTIVE) {
        row->inactive_parents++;
        if (row->state == NODEROLE_TODO)
            noderole_apply(c, child, EVENT_LOST); /* I2: TODO requires all parents ACTIVE */
    }
    graph_raise_cohorts(c, parent, child);
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
    row->inactive_parents = 0;
}

/* ---- deletion ---- */

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
