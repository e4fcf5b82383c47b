#include "core/core_private.h"

/* What keeps a whole deployment, counted. Each noderole that is not ACTIVE is followed to its root
 * once: the group of a noderole on the way is noted for all that come later by the same way, so the
 * cost is a step per noderole and per edge, whatever the depth of the graph. */

enum { KEPT_MAX = 256 }; /* kept while counting; what does not fit is counted as left off */

struct grouping {
    const struct core *c;
    struct arena *arena;
    struct arena steps; /* for one step at a time */
    uint32_t *group_of; /* by index of noderoles: 1 + its group; 0 = not known yet */
    uint32_t *path;     /* indices of the noderoles between the one looked at and its root */
    struct cause_group *groups;
    text_h *subjects; /* of the groups; texts are interned, so equal ones have one handle */
    uint32_t count;
    uint64_t *roots; /* a set, by open addressing; 0 = free */
    uint32_t roots_mask;
    uint32_t left_off;
};

enum { LEFT_OFF = KEPT_MAX + 1 };

/* ---- the set of roots ---- */

_Static_assert(REASON_COUNT <= 1 << 7 && CAUSE_REASON < 1 << 5, "both must fit below the id");

/* True when it was not in it before. Of what is about a role or an attrib the noderoles count. */
static bool add_root(struct grouping *g, const struct cause *root, noderole_ix nearest)
{
    const bool is_node = root->object == TABLE_NODE;
    const int64_t id = is_node ? root->object_id : noderole_at(g->c, nearest)->o.id;
    const uint64_t key = (uint64_t)id << 13 | (uint64_t)is_node << 12 | (uint64_t)root->code << 7 |
                         (uint64_t)root->reason;
    uint64_t mixed = key * UINT64_C(0x9e3779b97f4a7c15);
    for (mixed >>= 32;; mixed++) {
        uint64_t *slot = &g->roots[mixed & g->roots_mask];
        if (*slot == key)
            return false;
        if (*slot)
            continue;
        *slot = key;
        return true;
    }
}

/* ---- groups ---- */

/* The role of what the root is about; 0 when it is about no noderole. */
static int64_t role_of(const struct core *c, const struct cause *root, noderole_ix nearest)
{
    const bool is_own = root->object == TABLE_NODEROLE || root->object == TABLE_RUN ||
                        root->object == TABLE_ROLE || root->object == TABLE_ATTRIB;
    return is_own ? role_at(c, noderole_at(c, nearest)->role)->o.id : 0;
}

static text_h subject_of(const struct core *c, const struct cause *root, noderole_ix nearest)
{
    const bool counts = root->code == CAUSE_REASON && root->object != TABLE_NODE;
    return counts ? noderole_at(c, nearest)->reason_subject : 0;
}

/* 1 + the group; LEFT_OFF when there are too many. */
static uint32_t find_group(struct grouping *g, const struct cause *root, noderole_ix nearest)
{
    const int64_t role_id = role_of(g->c, root, nearest);
    const text_h subject = subject_of(g->c, root, nearest);
    for (uint32_t i = 0; i < g->count; i++) {
        const struct cause_group *group = &g->groups[i];
        if (group->cause.code == root->code && group->cause.reason == root->reason &&
            group->role_id == role_id && g->subjects[i] == subject)
            return i + 1;
    }
    if (g->count == KEPT_MAX)
        return LEFT_OFF;
    g->groups[g->count] = (struct cause_group){.cause = *root, .role_id = role_id};
    g->groups[g->count].cause.text = STR("");
    g->subjects[g->count] = subject;
    return ++g->count;
}

static void count_root(struct grouping *g, uint32_t group, const struct cause *root,
                       noderole_ix nearest)
{
    if (group == LEFT_OFF || !add_root(g, root, nearest))
        return;
    struct cause_group *row = &g->groups[group - 1];
    row->roots++;
    if (row->example_count < WHY_EXAMPLES)
        row->examples[row->example_count++] = noderole_at(g->c, nearest)->o.id;
}

/* ---- one noderole ---- */

static void look_at(struct grouping *g, noderole_ix nr)
{
    struct cause root = {0};
    uint32_t length = 0, group = 0;
    while (!group) {
        g->path[length++] = nr.v;
        const noderole_ix next = why_step(g->c, nr, &g->steps, &root);
        arena_reset(&g->steps);
        if (!next.v) {
            const noderole_ix named = noderole_by_id(g->c, root.noderole_id);
            const noderole_ix nearest = named.v ? named : nr;
            group = find_group(g, &root, nearest);
            count_root(g, group, &root, nearest);
        } else {
            group = g->group_of[next.v];
        }
        nr = next;
    }
    for (uint32_t i = 0; i < length; i++)
        g->group_of[g->path[i]] = group;
}

static void count_noderole(struct grouping *g, noderole_ix nr)
{
    if (!g->group_of[nr.v])
        look_at(g, nr);
    const uint32_t group = g->group_of[nr.v];
    if (group == LEFT_OFF)
        g->left_off++;
    else
        g->groups[group - 1].noderoles++;
}

/* ---- the deployment ---- */

static uint32_t waiting_in(const struct deployment *d)
{
    uint32_t waiting = 0;
    for (uint32_t s = 0; s < NODEROLE_STATE_COUNT; s++)
        waiting += s == NODEROLE_ACTIVE ? 0 : d->counts[s];
    return waiting;
}

/* Failures come before what people have not decided yet, and that before work in hand. */
static uint32_t rank_of(enum cause_code code)
{
    switch (code) {
    case CAUSE_REASON:
    case CAUSE_ERROR:
    case CAUSE_NOT_ALIVE:
    case CAUSE_JIG_INACTIVE:
    case CAUSE_NODE_CLOSED:
    case CAUSE_NODE_STOPPED:
    case CAUSE_BOOT_NOT_SERVED:
    case CAUSE_POWER_FAILED: return 0;
    case CAUSE_PROPOSED:
    case CAUSE_HEAD_PROPOSED:
    case CAUSE_NOT_AVAILABLE:
    case CAUSE_HELD_BY_TARGET: return 1;
    case CAUSE_NONE:
    case CAUSE_PARENT:
    case CAUSE_NODE_BUSY:
    case CAUSE_PROBING:
    case CAUSE_WAITING_FOR_HOOK:
    case CAUSE_NO_WORKER:
    case CAUSE_READY:
    case CAUSE_RUNNING:
    case CAUSE_STOPPING:
    case CAUSE_PARKED:
    case CAUSE_ASYNC: return 2;
    }
    impossible("a cause outside the enum");
}

static bool goes_before(const struct cause_group *a, const struct cause_group *b)
{
    const uint32_t x = rank_of(a->cause.code), y = rank_of(b->cause.code);
    if (x != y)
        return x < y;
    return a->noderoles != b->noderoles ? a->noderoles > b->noderoles
                                        : a->cause.object_id < b->cause.object_id;
}

/* By insertion: there are KEPT_MAX of them at most. */
static void sort_groups(struct grouping *g)
{
    for (uint32_t i = 1; i < g->count; i++) {
        const struct cause_group moved = g->groups[i];
        uint32_t at = i;
        for (; at > 0 && goes_before(&moved, &g->groups[at - 1]); at--)
            g->groups[at] = g->groups[at - 1];
        g->groups[at] = moved;
    }
}

/* The texts of what is shown, from the chain of its first example. */
static void give_texts(struct grouping *g)
{
    for (uint32_t i = 0; i < g->count; i++) {
        struct cause_group *group = &g->groups[i];
        const noderole_ix nr = noderole_by_id(g->c, group->examples[0]);
        const struct cause *last = why_noderole(g->c, nr, false, g->arena);
        while (last->next)
            last = last->next;
        group->cause = *last;
    }
}

static void count_all(struct grouping *g, const struct deployment *d, struct cause_groups *out)
{
    for (uint32_t i = 0; i < d->roles.count && out->looked_at < out->waiting; i++) {
        const deployment_role_ix dr = {vec_at(g->c, &d->roles, i)};
        const struct vec *members = &deployment_role_at(g->c, dr)->noderoles;
        for (uint32_t k = 0; k < members->count && out->looked_at < WHY_NODEROLES_MAX; k++) {
            const noderole_ix nr = {vec_at(g->c, members, k)};
            if (noderole_at(g->c, nr)->state == NODEROLE_ACTIVE)
                continue;
            count_noderole(g, nr);
            out->looked_at++;
        }
    }
}

bool core_why_groups(const struct core *c, int64_t deployment_id, struct arena *a,
                     struct cause_groups *out_groups)
{
    const deployment_ix d = deployment_by_id(c, deployment_id);
    *out_groups = (struct cause_groups){0};
    if (!d.v)
        return false;
    const struct deployment *row = deployment_at(c, d);
    const uint32_t high = c->tables[TABLE_NODEROLE].pool.high;
    struct grouping g = {.c = c, .arena = a};
    struct arena scratch = {0};
    out_groups->waiting = waiting_in(row);
    uint32_t size = 16;
    while (size < out_groups->waiting * 2 && size < WHY_NODEROLES_MAX * 2)
        size *= 2;
    g.group_of = arena_array(&scratch, uint32_t, high + 1);
    g.path = arena_array(&scratch, uint32_t, high + 1);
    g.roots = arena_array(&scratch, uint64_t, size);
    g.roots_mask = size - 1;
    g.subjects = arena_array(&scratch, text_h, KEPT_MAX);
    g.groups = arena_array(a, struct cause_group, KEPT_MAX);
    count_all(&g, row, out_groups);
    sort_groups(&g);
    for (uint32_t i = WHY_GROUPS; i < g.count; i++)
        g.left_off += g.groups[i].noderoles;
    g.count = g.count < WHY_GROUPS ? g.count : WHY_GROUPS;
    give_texts(&g);
    out_groups->groups = g.groups;
    out_groups->count = g.count;
    out_groups->left_off = g.left_off;
    arena_fini(&g.steps);
    arena_fini(&scratch);
    return true;
}
