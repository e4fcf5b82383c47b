#include <string.h>

#include "core/core_private.h"

/* What keeps a whole deployment, counted. Each noderole that is not ACTIVE is followed to its root
 * once: the group of a noderole on the way is noted for all that come later by the same way, so the
 * cost is a step per noderole and per edge, whatever the depth of the graph.
 *
 * The walk goes over all noderoles of the deployment, some at a time, and the core may change
 * between two calls. Then noderoles may be counted that are done by now, and new ones may not be;
 * nothing that is kept is used without a check that it still exists. */

enum { PATH_KEPT = 1024 }; /* on a longer way, those further on are noted by a later look */
enum { KEPT_MAX = 256 };   /* kept while counting; what does not fit is counted as left off */

struct why_walk {
    const struct core *c; /* of this call */
    struct arena steps;   /* for one step at a time */
    int64_t deployment_id;
    uint32_t role_at, member_at; /* where it goes on */
    uint32_t looked_at;
    uint8_t telling;    /* the state whose first noderole is the chain's; STATE_COUNT: none is */
    int64_t first_id;   /* of those met in that state the first by (cohort, id); 0 = none yet */
    uint32_t size;      /* of group_of; noderoles that are made later are beyond it */
    uint32_t *group_of; /* by index of noderoles: 1 + its group; 0 = not known yet */
    uint32_t path[PATH_KEPT]; /* indices of the noderoles between the one looked at and its root */
    struct cause_group *groups;
    text_h *subjects; /* of the groups; texts are interned, so equal ones have one handle */
    uint32_t count;
    uint64_t *roots; /* a set, by open addressing; 0 = free, and one always is */
    uint32_t roots_mask, root_count;
    uint32_t left_off;
};

enum { LEFT_OFF = KEPT_MAX + 1 };

/* ---- the set of roots ---- */

_Static_assert(REASON_COUNT <= 1 << 7 && CAUSE_REASON < 1 << 5, "both must fit below the id");

/* True when it was not in it before. Of what is about a role or an attrib the noderoles count. */
static bool add_root(struct why_walk *g, const struct cause *root, noderole_ix nearest)
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
        if (g->root_count == g->roots_mask)
            return false;
        g->root_count++;
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
static uint32_t find_group(struct why_walk *g, const struct cause *root, noderole_ix nearest)
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

static void count_root(struct why_walk *g, uint32_t group, const struct cause *root,
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

static uint32_t known_group(const struct why_walk *g, noderole_ix nr)
{
    return nr.v < g->size ? g->group_of[nr.v] : 0;
}

/* 1 + the group of the noderole, which is noted for all on the way to its root. */
static uint32_t look_at(struct why_walk *g, noderole_ix nr)
{
    struct cause root = {0};
    uint32_t length = 0, group = 0;
    while (!group) {
        if (nr.v < g->size && length < PATH_KEPT)
            g->path[length++] = nr.v;
        const noderole_ix next = why_step(g->c, nr, &g->steps, &root);
        arena_reset(&g->steps);
        if (!next.v) {
            const noderole_ix named = noderole_by_id(g->c, root.noderole_id);
            const noderole_ix nearest = named.v ? named : nr;
            group = find_group(g, &root, nearest);
            count_root(g, group, &root, nearest);
        } else {
            group = known_group(g, next);
        }
        nr = next;
    }
    for (uint32_t i = 0; i < length; i++)
        g->group_of[g->path[i]] = group;
    return group;
}

static void count_noderole(struct why_walk *g, noderole_ix nr)
{
    const uint32_t known = known_group(g, nr);
    const uint32_t group = known ? known : look_at(g, nr);
    g->looked_at++;
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
static void sort_groups(struct why_walk *g)
{
    for (uint32_t i = 1; i < g->count; i++) {
        const struct cause_group moved = g->groups[i];
        uint32_t at = i;
        for (; at > 0 && goes_before(&moved, &g->groups[at - 1]); at--)
            g->groups[at] = g->groups[at - 1];
        g->groups[at] = moved;
    }
}

/* The texts of what is shown, from the chain of its first example. If that is gone, or waits for
 * something else by now, the group has its code and its counts. */
static void give_texts(struct why_walk *g, struct cause_group *groups, uint32_t count,
                       struct arena *a)
{
    for (uint32_t i = 0; i < count; i++) {
        struct cause_group *group = &groups[i];
        const noderole_ix nr = noderole_by_id(g->c, group->examples[0]);
        const struct cause *last = nr.v ? why_noderole(g->c, nr, false, a) : NULL;
        while (last && last->next)
            last = last->next;
        if (last && last->code == group->cause.code && last->reason == group->cause.reason)
            group->cause = *last;
        else
            group->cause.subject = STR("");
    }
}

/* ---- the walk ---- */

struct why_walk *core_why_open(const struct core *c, int64_t deployment_id, struct arena *a)
{
    const deployment_ix d = deployment_by_id(c, deployment_id);
    if (!d.v)
        return NULL;
    const struct deployment *row = deployment_at(c, d);
    const uint32_t waiting = waiting_in(row);
    struct why_walk *g = arena_new(a, struct why_walk);
    uint32_t slots = 16;
    while (slots < waiting * 2 && slots < WHY_NODEROLES_MAX * 2)
        slots *= 2;
    g->deployment_id = deployment_id;
    g->telling = row->committed ? why_telling_state(row->counts) : NODEROLE_STATE_COUNT;
    g->size = c->tables[TABLE_NODEROLE].pool.high + 1;
    g->group_of = arena_array(a, uint32_t, g->size);
    g->roots = arena_array(a, uint64_t, slots);
    g->roots_mask = slots - 1;
    g->subjects = arena_array(a, text_h, KEPT_MAX);
    g->groups = arena_array(a, struct cause_group, KEPT_MAX);
    return g;
}

void core_why_close(struct why_walk *g)
{
    arena_fini(&g->steps);
}

static void meet_noderole(struct why_walk *g, noderole_ix nr)
{
    const uint8_t state = noderole_at(g->c, nr)->state;
    const noderole_ix first = noderole_by_id(g->c, g->first_id);
    if (state == g->telling && (!first.v || noderole_cmp(g->c, nr, first) < 0))
        g->first_id = noderole_at(g->c, nr)->o.id;
    if (state != NODEROLE_ACTIVE && g->looked_at < WHY_NODEROLES_MAX)
        count_noderole(g, nr);
}

bool core_why_walk(struct why_walk *g, const struct core *c, uint32_t budget)
{
    const deployment_ix d = deployment_by_id(c, g->deployment_id);
    const struct vec *roles = d.v ? &deployment_at(c, d)->roles : NULL;
    g->c = c;
    for (; roles && g->role_at < roles->count; g->role_at++, g->member_at = 0) {
        const deployment_role_ix dr = {vec_at(c, roles, g->role_at)};
        const struct vec *members = &deployment_role_at(c, dr)->noderoles;
        for (; g->member_at < members->count; g->member_at++) {
            if (budget-- == 0)
                return true;
            meet_noderole(g, (noderole_ix){vec_at(c, members, g->member_at)});
        }
    }
    return false;
}

struct cause *core_why_chain(struct why_walk *g, const struct core *c, struct arena *a)
{
    const noderole_ix first = noderole_by_id(c, g->first_id);
    if (first.v && noderole_at(c, first)->state == g->telling)
        return why_noderole(c, first, false, a);
    return core_why(c, TABLE_DEPLOYMENT, g->deployment_id, a);
}

void core_why_result(struct why_walk *g, const struct core *c, struct arena *a,
                     struct cause_groups *out_groups)
{
    const deployment_ix d = deployment_by_id(c, g->deployment_id);
    g->c = c;
    sort_groups(g);
    for (uint32_t i = WHY_GROUPS; i < g->count; i++)
        g->left_off += g->groups[i].noderoles;
    const uint32_t count = g->count < WHY_GROUPS ? g->count : WHY_GROUPS;
    struct cause_group *groups = arena_array(a, struct cause_group, WHY_GROUPS);
    memcpy(groups, g->groups, count * sizeof *groups);
    give_texts(g, groups, count, a);
    *out_groups = (struct cause_groups){.groups = groups,
                                        .count = count,
                                        .left_off = g->left_off,
                                        .looked_at = g->looked_at,
                                        .waiting = d.v ? waiting_in(deployment_at(c, d)) : 0};
}
