#include "core/catalog/roles_private.h"

/* A person mends the first chains and looks again; and a chain of a thousand names is not read. */
enum { CHAINS_MAX = 20, CHAIN_NAMES_MAX = 100 };
/* Edges followed while looking for chains. Elementary cycles can be exponentially many. */
enum { SEARCH_MAX = 1000000 };

struct search {
    struct core *c;
    const struct roles_touched *touched;
    const uint32_t *missing; /* per role: not 0 when it may be part of a chain */
    uint32_t *reach;         /* per role: the last start that it can reach */
    uint8_t *on_path;
    uint32_t *path; /* role_ix from the start on */
    uint32_t *edge; /* per step of the path: which parent comes next */
    uint32_t *line; /* scratch of the walk backwards */
    uint32_t length;
    uint32_t edges_left;
    uint32_t chains;
};

static const struct role *role_of(const struct core *c, uint32_t r)
{
    return role_at(c, (role_ix){r});
}

struct str role_field(struct core *c, const struct roles_touched *touched, role_ix r)
{
    for (uint32_t i = 0; touched && i < touched->count; i++)
        if (touched->roles[i].v == r.v && touched->places[i] != NO_PLACE)
            return STR_CONCAT(c->arena, STR("roles/"), str_from_i64(c->arena, touched->places[i]));
    return STR("roles");
}

/* ---- telling a chain ---- */

static struct str chain_text(const struct search *s)
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
        buf_put_str(&b, text_of(s->c, role_of(s->c, s->path[i])->name));
        buf_put_z(&b, " -> ");
    }
    buf_put_str(&b, text_of(s->c, role_of(s->c, s->path[0])->name));
    buf_put_z(&b, "; each waits for the one behind the arrow, by its `requires` or by `attaches` "
                  "of that one: remove one of them");
    return buf_str(&b);
}

/* The field is the first role of the chain that this document could mend. */
static struct str chain_field(const struct search *s)
{
    for (uint32_t i = 0; i < s->length; i++)
        for (uint32_t k = 0; s->touched && k < s->touched->count; k++)
            if (s->touched->roles[k].v == s->path[i])
                return role_field(s->c, s->touched, (role_ix){s->path[i]});
    return STR("roles");
}

static void tell_chain(struct search *s)
{
    refuse(s->c, PROBLEM_ROLE_CYCLE, chain_field(s), chain_text(s));
    s->chains++;
}

/* ---- looking for chains ---- */

static bool is_after(const struct core *c, uint32_t r, uint32_t start)
{
    return role_of(c, r)->o.id >= role_of(c, start)->o.id;
}

/* Marks the roles that can come back to `start` without passing a role before it. */
static void mark_reach(struct search *s, uint32_t start)
{
    uint32_t from = 0, to = 0;
    s->line[to++] = start;
    s->reach[start] = start;
    while (from < to) {
        const struct vec *children = &role_of(s->c, s->line[from++])->children;
        for (uint32_t i = 0; i < children->count && s->edges_left; i++, s->edges_left--) {
            const uint32_t child = vec_at(s->c, children, i);
            if (!s->missing[child] || s->reach[child] == start || !is_after(s->c, child, start))
                continue;
            s->reach[child] = start;
            s->line[to++] = child;
        }
    }
}

static void path_push(struct search *s, uint32_t r)
{
    s->path[s->length] = r;
    s->edge[s->length++] = 0;
    s->on_path[r] = 1;
}

/* Every chain from `start` back to it: a walk in depth with its own stack. */
static void walk_from(struct search *s, uint32_t start)
{
    mark_reach(s, start);
    path_push(s, start);
    while (s->length) {
        const uint32_t here = s->path[s->length - 1];
        const struct vec *parents = &role_of(s->c, here)->parents;
        const uint32_t i = s->edge[s->length - 1]++;
        if (i >= parents->count || !s->edges_left || s->chains >= CHAINS_MAX) {
            s->on_path[here] = 0;
            s->length--;
            continue;
        }
        s->edges_left--;
        const uint32_t parent = vec_at(s->c, parents, i);
        if (parent == start)
            tell_chain(s);
        else if (s->reach[parent] == start && !s->on_path[parent])
            path_push(s, parent);
    }
}

/* One chain for certain: whoever may be part of one has a parent that may. */
static void walk_any(struct search *s, uint32_t start)
{
    uint32_t here = start;
    for (s->length = 0; !s->on_path[here];) {
        s->on_path[here] = 1;
        s->path[s->length++] = here;
        const struct vec *parents = &role_of(s->c, here)->parents;
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
    tell_chain(s);
}

/* Roles that only hang below a cycle are out of order too, but no chain leads back to them: whoever
 * has no child left is put aside, again and again. */
static void set_leaves_aside(const struct core *c, uint32_t *missing, struct arena *scratch)
{
    const uint32_t room = c->tables[TABLE_ROLE].pool.high + 1;
    uint32_t *waiting = arena_array(scratch, uint32_t, room); /* children not set aside */
    uint32_t *line = arena_array(scratch, uint32_t, room);
    uint32_t to = 0;
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, role_of(c, ix)->o.id)) {
        waiting[ix] = role_of(c, ix)->children.count;
        if (missing[ix] && !waiting[ix])
            line[to++] = ix;
    }
    for (uint32_t from = 0; from < to; from++) {
        missing[line[from]] = 0;
        const struct vec *parents = &role_of(c, line[from])->parents;
        for (uint32_t i = 0; i < parents->count; i++) {
            const uint32_t parent = vec_at(c, parents, i);
            if (--waiting[parent] == 0 && missing[parent])
                line[to++] = parent;
        }
    }
}

static void tell_chains(struct core *c, const struct roles_touched *touched, uint32_t *missing,
                        struct arena *scratch)
{
    const uint32_t room = c->tables[TABLE_ROLE].pool.high + 1;
    struct search s = {
        .c = c,
        .touched = touched,
        .missing = missing,
        .reach = arena_array(scratch, uint32_t, room),
        .on_path = arena_array(scratch, uint8_t, room),
        .path = arena_array(scratch, uint32_t, room),
        .edge = arena_array(scratch, uint32_t, room),
        .line = arena_array(scratch, uint32_t, room),
        .edges_left = SEARCH_MAX,
    };
    uint32_t last = 0;
    set_leaves_aside(c, missing, scratch);
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix && s.chains < CHAINS_MAX;
         ix = core_next_row(c, TABLE_ROLE, role_of(c, ix)->o.id)) {
        if (!missing[ix])
            continue;
        last = ix;
        if (s.edges_left)
            walk_from(&s, ix);
    }
    if (s.chains == 0)
        walk_any(&s, last);
}

/* ---- order and cohorts ---- */

/* 0 without parents, else one more than the highest of them; never lower than it was. */
static bool raise_cohort(struct core *c, uint32_t r)
{
    const struct role *role = role_of(c, r);
    uint32_t cohort = role->cohort;
    for (uint32_t i = 0; i < role->parents.count; i++) {
        const uint32_t above = role_of(c, vec_at(c, &role->parents, i))->cohort;
        if (above >= cohort)
            cohort = above + 1;
    }
    if (cohort == role->cohort)
        return true;
    if (cohort > COHORT_MAX)
        return refuse(c, PROBLEM_LIMIT_REACHED, STR("roles"),
                      STR_CONCAT(c->arena, STR("the chain of roles above "), text_of(c, role->name),
                                 STR(" is longer than the engine can follow")));
    role_edit(c, (role_ix){r})->cohort = cohort;
    return true;
}

/* How many parents each role waits for; roles without any go into the line. */
static uint32_t count_parents(const struct core *c, uint32_t *missing, uint32_t *line)
{
    uint32_t count = 0;
    for (uint32_t ix = core_next_row(c, TABLE_ROLE, 0); ix;
         ix = core_next_row(c, TABLE_ROLE, role_of(c, ix)->o.id)) {
        missing[ix] = role_of(c, ix)->parents.count;
        if (!missing[ix])
            line[count++] = ix;
    }
    return count;
}

void role_graph_settle(struct core *c, const struct roles_touched *touched, struct arena *scratch)
{
    const uint32_t room = c->tables[TABLE_ROLE].pool.high + 1;
    uint32_t *missing = arena_array(scratch, uint32_t, room);
    uint32_t *line = arena_array(scratch, uint32_t, room);
    uint32_t to = count_parents(c, missing, line);
    for (uint32_t from = 0; from < to; from++) {
        if (!raise_cohort(c, line[from]))
            return;
        const struct vec *children = &role_of(c, line[from])->children;
        for (uint32_t i = 0; i < children->count; i++) {
            const uint32_t child = vec_at(c, children, i);
            if (--missing[child] == 0)
                line[to++] = child;
        }
    }
    if (to < c->tables[TABLE_ROLE].pool.live)
        tell_chains(c, touched, missing, scratch);
}
