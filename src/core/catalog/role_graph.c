#include "core/catalog/roles_private.h"

/* The role graph: cohorts, and the search for cycles that a refusal reports. The cohort of a role
 * is its depth in the graph of requirements. Apart from a load, this file is the only one that
 * writes role.cohort; the edges (role.parents, role.children) are written by roles.c before it is
 * called.
 *
 * Order: cohorts are computed in topological order (Kahn's algorithm), so that the cohorts of all
 * parents are final before that of a role is computed. If roles remain, the graph has a cycle. The
 * report then lists the chains: roles that are merely below a cycle are set aside first, and for
 * each remaining role the elementary cycles whose oldest member it is are enumerated. Their number
 * can be exponential, so the search is bounded; if it found none, chain_walk_any() finds one
 * chain.
 *
 * Failure: each chain is one problem. The step is rolled back, which restores cohorts that were
 * raised already. */

/* Limits of a report: an operator repairs the first chains and imports again, and a longer text is
 * not read. */

enum { CHAINS_MAX = 20, CHAIN_NAMES_MAX = 100 };
/* Bound of the edges that the search follows: elementary cycles can be exponentially many. */
enum { SEARCH_MAX = 1000000 };

struct chain_search {
    struct core *c;
    const struct roles_touched *touched;
    const uint32_t *missing; /* per role: number of parents without a cohort; 0: in no chain */
    uint32_t *reach;         /* per role: the last start that the role can reach */
    uint8_t *on_path;        /* per role: 1 if it is an element of the path */
    uint32_t *path;          /* role_ix, from the start */
    uint32_t *edge;          /* per element of the path: the parent to follow next */
    uint32_t *queue;         /* queue of the backward search */
    uint32_t length;         /* of the path */
    uint32_t edges_left;     /* edges that may still be followed, of SEARCH_MAX */
    uint32_t chains;         /* that were reported */
};

static const struct role *graph_role(const struct core *c, uint32_t r)
{
    return role_at(c, (role_ix){r});
}

struct str role_problem_field(struct core *c, const struct roles_touched *touched, role_ix r)
{
    for (uint32_t i = 0; touched && i < touched->count; i++)
        if (touched->roles[i].v == r.v && touched->positions[i] != NO_POSITION)
            return STR_CONCAT(c->arena, STR("roles/"),
                              str_from_i64(c->arena, touched->positions[i]));
    return STR("roles");
}

/* ---- report of a chain ---- */

static struct str chain_text(const struct chain_search *s)
{
    struct buf b = buf_in(s->c->arena);
    buf_put_z(&b, s->length == 1 ? "the role requires itself: "
                                 : "the roles require each other in a cycle: ");
    for (uint32_t i = 0; i < s->length; i++) {
        if (i == CHAIN_NAMES_MAX) {
            buf_put_z(&b, "(");
            buf_put_u64(&b, s->length - i);
            buf_put_z(&b, " more) -> ");
            break;
        }
        buf_put_str(&b, text_of(s->c, graph_role(s->c, s->path[i])->name));
        buf_put_z(&b, " -> ");
    }
    buf_put_str(&b, text_of(s->c, graph_role(s->c, s->path[0])->name));
    buf_put_z(&b, "; each role requires the next one, by its own `requires` or by the `attaches` "
                  "of the next one: remove one of these entries");
    return buf_str(&b);
}

/* The problem field is the first role of the chain that the imported document defines. */
static struct str chain_field(const struct chain_search *s)
{
    for (uint32_t i = 0; i < s->length; i++)
        for (uint32_t k = 0; s->touched && k < s->touched->count; k++)
            if (s->touched->roles[k].v == s->path[i])
                return role_problem_field(s->c, s->touched, (role_ix){s->path[i]});
    return STR("roles");
}

static void chain_report(struct chain_search *s)
{
    refuse(s->c, PROBLEM_ROLE_CYCLE, chain_field(s), chain_text(s));
    s->chains++;
}

/* ---- search for chains ---- */

/* Marks the roles that reach `start` without passing a role that is older than `start`. */
static void chain_mark_reach(struct chain_search *s, uint32_t start)
{
    const int64_t start_id = graph_role(s->c, start)->o.id;
    uint32_t from = 0, to = 0;
    s->queue[to++] = start;
    s->reach[start] = start;
    while (from < to) {
        const struct vec *children = &graph_role(s->c, s->queue[from++])->children;
        for (uint32_t i = 0; i < children->count && s->edges_left; i++, s->edges_left--) {
            const uint32_t child = vec_at(s->c, children, i);
            if (!s->missing[child] || s->reach[child] == start ||
                graph_role(s->c, child)->o.id < start_id)
                continue;
            s->reach[child] = start;
            s->queue[to++] = child;
        }
    }
}

static void chain_path_push(struct chain_search *s, uint32_t r)
{
    s->path[s->length] = r;
    s->edge[s->length++] = 0;
    s->on_path[r] = 1;
}

/* Reports every chain from `start` back to `start`, by a depth-first search with its own stack. */
static void chain_walk_from(struct chain_search *s, uint32_t start)
{
    chain_mark_reach(s, start);
    chain_path_push(s, start);
    while (s->length) {
        const uint32_t here = s->path[s->length - 1];
        const struct vec *parents = &graph_role(s->c, here)->parents;
        const uint32_t i = s->edge[s->length - 1]++;
        if (i >= parents->count || !s->edges_left || s->chains >= CHAINS_MAX) {
            s->on_path[here] = 0;
            s->length--;
            continue;
        }
        s->edges_left--;
        const uint32_t parent = vec_at(s->c, parents, i);
        if (parent == start)
            chain_report(s);
        else if (s->reach[parent] == start && !s->on_path[parent])
            chain_path_push(s, parent);
    }
}

/* Reports one chain: every role that remains has a parent that remains, so following such parents
 * returns to a role of the path. */
static void chain_walk_any(struct chain_search *s, uint32_t start)
{
    uint32_t here = start;
    for (s->length = 0; !s->on_path[here];) {
        s->on_path[here] = 1;
        s->path[s->length++] = here;
        const struct vec *parents = &graph_role(s->c, here)->parents;
        uint32_t i = 0;
        while (!s->missing[vec_at(s->c, parents, i)])
            i++;
        here = vec_at(s->c, parents, i);
    }
    uint32_t first = 0;
    while (s->path[first] != here)
        first++;
    s->path += first;
    s->length -= first;
    chain_report(s);
}

/* Removes roles that are below a cycle but not part of one: repeatedly sets aside the roles that
 * have no remaining child. */
static void chains_drop_leaves(const struct core *c, uint32_t *missing, struct arena *scratch)
{
    const uint32_t size = c->tables[TABLE_ROLE].pool.high + 1;
    uint32_t *waiting = arena_array(scratch, uint32_t, size); /* remaining children */
    uint32_t *queue = arena_array(scratch, uint32_t, size);
    uint32_t to = 0;
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, graph_role(c, ix)->o.id)) {
        waiting[ix] = graph_role(c, ix)->children.count;
        if (missing[ix] && !waiting[ix])
            queue[to++] = ix;
    }
    for (uint32_t from = 0; from < to; from++) {
        missing[queue[from]] = 0;
        const struct vec *parents = &graph_role(c, queue[from])->parents;
        for (uint32_t i = 0; i < parents->count; i++) {
            const uint32_t parent = vec_at(c, parents, i);
            if (--waiting[parent] == 0 && missing[parent])
                queue[to++] = parent;
        }
    }
}

static void chains_report(struct core *c, const struct roles_touched *touched, uint32_t *missing,
                          struct arena *scratch)
{
    const uint32_t size = c->tables[TABLE_ROLE].pool.high + 1;
    struct chain_search s = {
        .c = c,
        .touched = touched,
        .missing = missing,
        .reach = arena_array(scratch, uint32_t, size),
        .on_path = arena_array(scratch, uint8_t, size),
        .path = arena_array(scratch, uint32_t, size),
        .edge = arena_array(scratch, uint32_t, size),
        .queue = arena_array(scratch, uint32_t, size),
        .edges_left = SEARCH_MAX,
    };
    uint32_t last = 0;
    chains_drop_leaves(c, missing, scratch);
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix && s.chains < CHAINS_MAX;
         ix = core_next_row(c, TABLE_ROLE, graph_role(c, ix)->o.id)) {
        if (!missing[ix])
            continue;
        last = ix;
        if (s.edges_left)
            chain_walk_from(&s, ix);
    }
    if (s.chains == 0)
        chain_walk_any(&s, last);
}

/* ---- cohorts ---- */

/* The cohort is 0 without parents, otherwise one more than the highest cohort of a parent. It is
 * never lowered. */
static bool role_raise_cohort(struct core *c, uint32_t r)
{
    const struct role *role = graph_role(c, r);
    uint32_t cohort = role->cohort;
    for (uint32_t i = 0; i < role->parents.count; i++) {
        const uint32_t above = graph_role(c, vec_at(c, &role->parents, i))->cohort;
        if (above >= cohort)
            cohort = above + 1;
    }
    if (cohort == role->cohort)
        return true;
    if (cohort > COHORT_MAX)
        return refuse(c, PROBLEM_LIMIT_REACHED, STR("roles"),
                      STR_CONCAT(c->arena, STR("the chain of roles that "), text_of(c, role->name),
                                 STR(" requires is longer than "),
                                 str_from_i64(c->arena, COHORT_MAX), STR(" roles")));
    role_edit(c, (role_ix){r})->cohort = cohort;
    return true;
}

void role_graph_update(struct core *c, const struct roles_touched *touched, struct arena *scratch)
{
    const uint32_t size = c->tables[TABLE_ROLE].pool.high + 1;
    uint32_t *missing = arena_array(scratch, uint32_t, size);
    uint32_t *queue = arena_array(scratch, uint32_t, size);
    uint32_t to = 0;
    /* Count the parents of each role; roles without parents are enqueued. */
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, graph_role(c, ix)->o.id)) {
        missing[ix] = graph_role(c, ix)->parents.count;
        if (!missing[ix])
            queue[to++] = ix;
    }
    /* Visit each role after all its parents. A role of a cycle, or below one, is never enqueued. */
    for (uint32_t from = 0; from < to; from++) {
        if (!role_raise_cohort(c, queue[from]))
            return;
        const struct vec *children = &graph_role(c, queue[from])->children;
        for (uint32_t i = 0; i < children->count; i++) {
            const uint32_t child = vec_at(c, children, i);
            if (--missing[child] == 0)
                queue[to++] = child;
        }
    }
    if (to < c->tables[TABLE_ROLE].pool.live)
        chains_report(c, touched, missing, scratch);
}
