#include <string.h>

#include "core/core_private.h"

/* Causes of a whole deployment, grouped and counted. Each noderole that is not ACTIVE is followed
 * to its root cause once: the group of each noderole on the path is stored, so that later
 * noderoles end there. The cost is one step per noderole and edge, whatever the depth of the
 * graph. The file owns struct why_walk, which is in the arena of the caller; core_why_close()
 * frees its scratch memory.
 *
 * Order: open, walk until it returns false, result, close. The iteration covers all noderoles of
 * the deployment, some at a time, and the core may change between two calls. Noderoles may then be
 * counted that are ACTIVE by now, and new ones may be missed. Ids that are kept are used only
 * after a check that the row still exists. Indices and string handles that are kept (group_of,
 * subjects) are only compared: if one was freed and used again, a noderole is counted in the wrong
 * group.
 *
 * Failure: beyond the limits below noderoles are counted as left off. A deployment that was
 * deleted during the walk ends it. */

enum {
    PATH_KEPT = 1024, /* on a longer path, the noderoles behind are stored by a later call */
    KEPT_MAX = 256,   /* groups that are kept; noderoles of further ones are counted as left off */
};

struct why_walk {
    const struct core *c; /* of the current call */
    struct arena steps;   /* scratch memory of one step */
    int64_t deployment_id;
    uint32_t role_at, member_at; /* position of the iteration */
    uint32_t looked_at;          /* noderoles that were counted; WHY_NODEROLES_MAX at most */
    uint8_t explaining_state;    /* its first noderole explains the deployment; STATE_COUNT: none */
    int64_t first_id;   /* id of the first noderole by (cohort, id) in that state; 0 = none yet */
    uint32_t size;      /* entries of group_of; noderoles created later have none */
    uint32_t *group_of; /* by noderole index: 1 + its group; 0 = not known yet */
    uint32_t path[PATH_KEPT]; /* indices of the noderoles between the current one and its root */
    struct cause_group *groups;
    text_h *subjects; /* of the groups; equal strings have the same handle */
    uint32_t count;   /* groups */
    uint64_t *roots;  /* keys of root causes: open addressing; 0 = free, and one slot always is */
    uint32_t roots_mask, root_count; /* number of slots - 1, and of keys */
    uint32_t left_off;               /* noderoles of groups that are not kept */
};

enum { LEFT_OFF = KEPT_MAX + 1 }; /* in group_of: its group is not kept */

/* ---- set of root causes ---- */

_Static_assert(REASON_COUNT <= 1 << 7 && CAUSE_REASON < 1 << 6, "both must fit below the id");

/* Returns true if the root was not in the set. Roots about a role or an attrib are counted by
 * noderole. */
static bool why_groups_add_root(struct why_walk *g, const struct cause *root, noderole_ix nearest)
{
    const bool is_node = root->object == TABLE_NODE;
    const int64_t id = is_node ? root->object_id : noderole_at(g->c, nearest)->o.id;
    const uint64_t key = (uint64_t)id << 14 | (uint64_t)is_node << 13 | (uint64_t)root->code << 7 |
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

/* Returns 1 + the group; LEFT_OFF if there are too many groups. */
static uint32_t why_groups_find(struct why_walk *g, const struct cause *root, noderole_ix nearest)
{
    const struct noderole *nr = noderole_at(g->c, nearest);
    /* A root about a noderole is grouped by its role; other roots have role 0. */
    const bool is_own = root->object == TABLE_NODEROLE || root->object == TABLE_RUN ||
                        root->object == TABLE_ROLE || root->object == TABLE_ATTRIB;
    const int64_t role_id = is_own ? role_at(g->c, nr->role)->o.id : 0;
    const bool has_subject = root->code == CAUSE_REASON && root->object != TABLE_NODE;
    const text_h subject = has_subject ? nr->reason_subject : 0;
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

static void why_groups_count_root(struct why_walk *g, uint32_t group, const struct cause *root,
                                  noderole_ix nearest)
{
    if (group == LEFT_OFF || !why_groups_add_root(g, root, nearest))
        return;
    struct cause_group *row = &g->groups[group - 1];
    row->roots++;
    if (row->example_count < WHY_EXAMPLES)
        row->examples[row->example_count++] = noderole_at(g->c, nearest)->o.id;
}

/* ---- one noderole ---- */

static uint32_t why_groups_known(const struct why_walk *g, noderole_ix nr)
{
    return nr.v < g->size ? g->group_of[nr.v] : 0;
}

/* Returns 1 + the group of the noderole, and stores it for all noderoles on the path to its
 * root. */
static uint32_t why_groups_follow(struct why_walk *g, noderole_ix nr)
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
            group = why_groups_find(g, &root, nearest);
            why_groups_count_root(g, group, &root, nearest);
        } else {
            group = why_groups_known(g, next);
        }
        nr = next;
    }
    for (uint32_t i = 0; i < length; i++)
        g->group_of[g->path[i]] = group;
    return group;
}

/* ---- the deployment ---- */

static uint32_t why_groups_waiting(const struct deployment *d)
{
    uint32_t waiting = 0;
    for (uint32_t s = 0; s < NODEROLE_STATE_COUNT; s++)
        waiting += s == NODEROLE_ACTIVE ? 0 : d->counts[s];
    return waiting;
}

/* Failures come first, then what waits for an operator, then work in progress. */
static uint32_t why_groups_rank(enum cause_code code)
{
    switch (code) {
    case CAUSE_REASON:
    case CAUSE_ERROR:
    case CAUSE_NOT_ALIVE:
    case CAUSE_JIG_INACTIVE:
    case CAUSE_NODE_CLOSED:
    case CAUSE_NODE_STOPPED:
    case CAUSE_BOOT_NOT_SERVED:
    case CAUSE_POWER_FAILED:
    case CAUSE_MAC_TAKEN:
    case CAUSE_INSTALL_STOPPED:
    case CAUSE_NO_MAC:
    case CAUSE_NO_BOOT_ADDRESS:
    case CAUSE_BOOTENV_UNKNOWN:
    case CAUSE_BOOT_SERVER_LOST: return 0;
    case CAUSE_PROPOSED:
    case CAUSE_HEAD_PROPOSED:
    case CAUSE_NOT_AVAILABLE:
    case CAUSE_NAME_INVALID:
    case CAUSE_NAME_NOT_SERVED:
    case CAUSE_HELD_BY_TARGET:
    case CAUSE_NO_GRANT:
    case CAUSE_NOT_MANAGED: return 1;
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
    impossible("an unknown cause code");
}

static bool why_groups_before(const struct cause_group *a, const struct cause_group *b)
{
    const uint32_t x = why_groups_rank(a->cause.code), y = why_groups_rank(b->cause.code);
    if (x != y)
        return x < y;
    return a->noderoles != b->noderoles ? a->noderoles > b->noderoles
                                        : a->cause.object_id < b->cause.object_id;
}

/* Insertion sort: there are at most KEPT_MAX groups. */
static void why_groups_sort(struct why_walk *g)
{
    for (uint32_t i = 1; i < g->count; i++) {
        const struct cause_group moved = g->groups[i];
        uint32_t at = i;
        for (; at > 0 && why_groups_before(&moved, &g->groups[at - 1]); at--)
            g->groups[at] = g->groups[at - 1];
        g->groups[at] = moved;
    }
}

/* Adds the texts of the groups that are shown, from the chain of the first example. If that does
 * not exist any more, or waits for something else by now, the group has only its code and
 * counts. */
static void why_groups_add_texts(struct why_walk *g, struct cause_group *groups, uint32_t count,
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

/* ---- iteration ---- */

struct why_walk *core_why_open(const struct core *c, int64_t deployment_id, struct arena *a)
{
    const deployment_ix d = deployment_by_id(c, deployment_id);
    if (!d.v)
        return NULL;
    const struct deployment *row = deployment_at(c, d);
    const uint32_t waiting = why_groups_waiting(row);
    struct why_walk *g = arena_new(a, struct why_walk);
    uint32_t slots = 16; /* a power of two, twice the number of noderoles that may have a root */
    while (slots < waiting * 2 && slots < WHY_NODEROLES_MAX * 2)
        slots *= 2;
    g->deployment_id = deployment_id;
    g->explaining_state = row->committed ? why_explaining_state(row->counts) : NODEROLE_STATE_COUNT;
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

/* Counts the noderole in the group of its root cause, unless it is ACTIVE. */
static void why_groups_visit(struct why_walk *g, noderole_ix nr)
{
    const uint8_t state = noderole_at(g->c, nr)->state;
    const noderole_ix first = noderole_by_id(g->c, g->first_id);
    if (state == g->explaining_state && (!first.v || noderole_cmp(g->c, nr, first) < 0))
        g->first_id = noderole_at(g->c, nr)->o.id;
    if (state == NODEROLE_ACTIVE || g->looked_at >= WHY_NODEROLES_MAX)
        return;
    const uint32_t known = why_groups_known(g, nr);
    const uint32_t group = known ? known : why_groups_follow(g, nr);
    g->looked_at++;
    if (group == LEFT_OFF)
        g->left_off++;
    else
        g->groups[group - 1].noderoles++;
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
            why_groups_visit(g, (noderole_ix){vec_at(c, members, g->member_at)});
        }
    }
    return false;
}

struct cause *core_why_chain(struct why_walk *g, const struct core *c, struct arena *a)
{
    const noderole_ix first = noderole_by_id(c, g->first_id);
    if (first.v && noderole_at(c, first)->state == g->explaining_state)
        return why_noderole(c, first, false, a);
    return core_why(c, TABLE_DEPLOYMENT, g->deployment_id, a);
}

void core_why_result(struct why_walk *g, const struct core *c, struct arena *a,
                     struct cause_groups *out_groups)
{
    const deployment_ix d = deployment_by_id(c, g->deployment_id);
    g->c = c;
    why_groups_sort(g);
    for (uint32_t i = WHY_GROUPS; i < g->count; i++)
        g->left_off += g->groups[i].noderoles;
    const uint32_t count = g->count < WHY_GROUPS ? g->count : WHY_GROUPS;
    struct cause_group *groups = arena_array(a, struct cause_group, WHY_GROUPS);
    memcpy(groups, g->groups, count * sizeof *groups);
    why_groups_add_texts(g, groups, count, a);
    *out_groups =
        (struct cause_groups){.groups = groups,
                              .count = count,
                              .left_off = g->left_off,
                              .looked_at = g->looked_at,
                              .waiting = d.v ? why_groups_waiting(deployment_at(c, d)) : 0};
}
