#include "core/plan/plan.h"

#include "base/mem/pages.h"

/* Plans that are computed in slices: memory, iteration and sorting (ADR 0079).
 *
 * Turns may change the core between two slices. A plan that read a row which changed since is
 * stale (plan_stale.c), and its caller starts it again.
 *
 * Arrays that are indexed by rows do not grow. They have spare entries for rows that are created
 * elsewhere while the plan is computed; a row beyond them makes the plan stale, and the next one
 * starts with larger arrays.
 *
 * This file owns struct plan and core.plans. A refusal of the commit ends the plan (plan_work).
 * Order: slice_enter() saves the step context and sets core.view; slice_leave() restores both. */

enum { SORT_BLOCK = 64, MOVED_BLOCK = 1024, SPARE_ENTRIES = 4096 };

/* ---- memory ---- */

struct pages plan_pages(size_t size)
{
    return (struct pages){.at = sys_pages_get(size), .size = size};
}

static void plan_pages_put(struct pages *pages)
{
    sys_pages_put(pages->at, pages->size);
    *pages = (struct pages){0};
}

void plan_noderoles_add(struct plan_noderoles *list, noderole_ix nr)
{
    if (list->count == list->cap) {
        const uint32_t cap = list->cap ? list->cap * 2 : 1024;
        struct pages larger = plan_pages((size_t)cap * sizeof *list->items);
        if (list->count)
            memcpy(larger.at, list->items, list->count * sizeof *list->items);
        plan_pages_put(&list->pages);
        list->pages = larger;
        list->items = larger.at;
        list->cap = cap;
    }
    list->items[list->count++] = nr;
}

/* ---- iteration and sorting ---- */

void plan_cost(struct plan *p, uint32_t units)
{
    p->units = p->units > units ? p->units - units : 0;
}

noderole_ix plan_next_member(struct plan *p)
{
    const struct vec *roles = &deployment_at(p->c, p->d)->roles;
    while (p->position.role < roles->count) {
        const deployment_role_ix dr = {vec_at(p->c, roles, p->position.role)};
        const struct vec *members = &deployment_role_at(p->c, dr)->noderoles;
        if (p->position.member < members->count)
            return (noderole_ix){vec_at(p->c, members, p->position.member++)};
        p->position = (struct walk_position){.role = p->position.role + 1};
    }
    return (noderole_ix){0};
}

/* The array has an entry for each member of the deployment and one more. Pages that are not touched
 * occupy no memory. */
void plan_key(struct plan *p, noderole_ix nr)
{
    must(p->keyed_count < p->keyed_cap);
    p->keyed[p->keyed_count++] = (struct keyed_noderole){noderole_key(noderole_at(p->c, nr)), nr};
}

static void plan_sort_block(struct keyed_noderole *items, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct keyed_noderole item = items[i];
        uint32_t at = i;
        for (; at > 0 && items[at - 1].key > item.key; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* Merges one block of two runs; true if a pass over all runs is finished. */
static bool plan_merge_block(struct sorting_noderoles *s, uint32_t count)
{
    const uint32_t mid = s->begin + s->width < count ? s->begin + s->width : count;
    const uint32_t end = mid + s->width < count ? mid + s->width : count;
    for (uint32_t i = 0; i < SORT_BLOCK && s->out < end; i++) {
        const bool takes_left =
            s->left < mid && (s->right >= end || s->from[s->left].key <= s->from[s->right].key);
        s->to[s->out++] = s->from[takes_left ? s->left++ : s->right++];
    }
    if (s->out < end)
        return false;
    s->begin = s->left = s->out = end;
    s->right = end + s->width < count ? end + s->width : count;
    return end == count;
}

bool plan_sort(struct plan *p)
{
    struct sorting_noderoles *s = &p->sorting;
    const uint32_t count = p->keyed_count;
    if (p->is_sorted)
        return true;
    if (s->width == 0) { /* sort blocks first */
        const uint32_t left = count - s->begin;
        plan_sort_block(p->keyed + s->begin, left < SORT_BLOCK ? left : SORT_BLOCK);
        s->begin += left < SORT_BLOCK ? left : SORT_BLOCK;
        plan_cost(p, 4);
        if (s->begin < count)
            return false;
        *s = (struct sorting_noderoles){
            .from = p->keyed, .to = p->other_keys.at, .width = SORT_BLOCK};
        s->right = SORT_BLOCK < count ? SORT_BLOCK : count;
    } else if (plan_merge_block(s, count)) {
        struct keyed_noderole *from = s->from;
        *s = (struct sorting_noderoles){.from = s->to, .to = from, .width = s->width * 2};
        s->right = s->width < count ? s->width : count;
    }
    plan_cost(p, 2);
    if (s->begin || s->out || s->width < count)
        return false;
    if (s->from != p->keyed) { /* exchange the two arrays */
        const struct pages keys = p->keys;
        p->keys = p->other_keys;
        p->other_keys = keys;
        p->keyed = p->keys.at;
    }
    *s = (struct sorting_noderoles){0};
    p->is_sorted = true;
    return true;
}

bool plan_take_sorted(struct plan *p, struct plan_noderoles *out)
{
    if (p->moved == 0 && out->cap < p->keyed_count) {
        plan_pages_put(&out->pages);
        out->pages = plan_pages((size_t)p->keyed_count * sizeof *out->items);
        out->items = out->pages.at;
        out->cap = p->keyed_count;
    }
    for (uint32_t i = 0; i < MOVED_BLOCK && p->moved < p->keyed_count; i++, p->moved++)
        out->items[p->moved] = p->keyed[p->moved].nr;
    plan_cost(p, MOVED_BLOCK / 16);
    if (p->moved < p->keyed_count)
        return false;
    out->count = p->keyed_count;
    p->keyed_count = p->moved = 0;
    p->is_sorted = false;
    return true;
}

/* ---- start and end of a plan ---- */

static uint32_t plan_count_members(const struct core *c, deployment_ix d)
{
    const struct vec *roles = &deployment_at(c, d)->roles;
    uint32_t count = 0;
    for (uint32_t i = 0; i < roles->count; i++)
        count += deployment_role_at(c, (deployment_role_ix){vec_at(c, roles, i)})->noderoles.count;
    return count;
}

/* Entries of an array that is indexed by rows of the table. Pages that are not touched occupy no
 * memory. */
static uint32_t plan_array_size(const struct core *c, enum table table)
{
    return c->tables[table].pool.high + 1 + SPARE_ENTRIES;
}

static void plan_init(struct plan *p, struct core *c, deployment_ix d)
{
    const struct deployment *row = deployment_at(c, d);
    p->c = c;
    p->d = d;
    p->keyed_cap = plan_count_members(c, d) + 1;
    p->keys = plan_pages((size_t)p->keyed_cap * sizeof *p->keyed);
    p->other_keys = plan_pages((size_t)p->keyed_cap * sizeof *p->keyed);
    p->keyed = p->keys.at;
    p->wave_pages = plan_pages((size_t)plan_array_size(c, TABLE_NODEROLE) * sizeof *p->wave);
    p->wave = p->wave_pages.at;
    p->role_requires = arena_array(&p->arena, uint8_t, c->tables[TABLE_ROLE].pool.high + 1);
    p->roles = arena_array(&p->arena, deployment_role_ix, row->roles.count + 1);
    plan_begin_lists(p);
}

static void plan_fini(struct plan *p)
{
    struct plan_noderoles *const lists[] = {&p->items, &p->marked,    &p->removed, &p->reruns,
                                            &p->all,   &p->requested, &p->runs};
    for (uint32_t i = 0; i < sizeof lists / sizeof *lists; i++)
        plan_pages_put(&lists[i]->pages);
    plan_pages_put(&p->keys);
    plan_pages_put(&p->other_keys);
    plan_pages_put(&p->failure_pages);
    plan_pages_put(&p->wave_pages);
    plan_pages_put(&p->order_pages);
    sys_pages_put(p->view.state, p->view.noderoles);
    sys_pages_put(p->view.flags, p->view.noderoles);
    sys_pages_put(p->view.node_flags, p->view.nodes);
    sys_pages_put(p->view.role_reads, p->view.roles);
    sys_pages_put(p->view.deployment_reads, p->view.deployments);
    arena_fini(&p->arena);
    arena_fini(&p->scratch);
}

static void plan_work(struct plan *p)
{
    while (p->phase != PHASE_DONE && p->units && !p->is_stale) {
        plan_cost(p, 1);
        const bool is_finished = p->phase < PHASE_COLLECT ? projection_unit(p) : plan_unit(p);
        if (!is_finished)
            continue;
        const bool ends = p->phase <= PHASE_COMMIT && refused(p->c);
        const bool needs_hooks = p->phase == PHASE_COMMIT && p->c->out->veto_calls;
        p->phase = ends || needs_hooks ? PHASE_DONE : p->phase + 1;
        p->at = 0;
        p->position = (struct walk_position){0};
    }
}

/* ---- slices ---- */

/* The step context of the core, which is saved while a slice is computed. */
struct slice_frame {
    const struct command *command;
    struct arena *arena;
    struct outcome *out;
    struct problem *last_problem;
    struct veto_call *last_veto_call;
    uint32_t problem_count, depth;
    struct authority authority;
};

static struct slice_frame slice_enter(struct core *c, struct plan *p)
{
    const struct slice_frame outer = {c->command,      c->arena,          c->out,
                                      c->last_problem, c->last_veto_call, c->problem_count,
                                      c->depth,        c->authority};
    c->command = &p->command;
    c->arena = &p->arena;
    c->out = &p->out;
    c->last_problem = p->last_problem;
    c->last_veto_call = p->last_veto_call;
    c->problem_count = p->problem_count;
    c->depth = 0;
    c->authority = (struct authority){0};
    c->view = &p->view;
    return outer;
}

static void slice_leave(struct core *c, struct plan *p, const struct slice_frame *outer)
{
    p->last_problem = c->last_problem;
    p->last_veto_call = c->last_veto_call;
    p->problem_count = c->problem_count;
    c->command = outer->command;
    c->arena = outer->arena;
    c->out = outer->out;
    c->last_problem = outer->last_problem;
    c->last_veto_call = outer->last_veto_call;
    c->problem_count = outer->problem_count;
    c->depth = outer->depth;
    c->authority = outer->authority;
    c->view = NULL;
}

struct plan *core_plan_begin(struct core *c, const struct command *commit, bool is_detailed)
{
    must(commit->kind == COMMAND_DEPLOYMENT_COMMIT && !c->view && c->undo.depth == 0);
    const deployment_ix d = deployment_by_id(c, commit->deployment_commit.id);
    struct plan *p = sys_pages_get(sizeof *p);
    p->c = c;
    p->is_projected = true;
    p->is_detailed = is_detailed;
    p->command = (struct command){.kind = commit->kind,
                                  .actor = str_copy(&p->arena, commit->actor),
                                  .veto_reply_count = commit->veto_reply_count,
                                  .deployment_commit = {.id = commit->deployment_commit.id}};
    struct veto_reply *replies =
        arena_array(&p->arena, struct veto_reply, commit->veto_reply_count + 1);
    for (uint32_t i = 0; i < commit->veto_reply_count; i++) {
        replies[i] = commit->veto_replies[i];
        replies[i].text = str_copy(&p->arena, replies[i].text);
    }
    p->command.veto_replies = replies;
    const struct slice_frame outer = slice_enter(c, p);
    command_sort_veto_replies(c, &p->command);
    if (!d.v) {
        refuse_missing(c, "id", "deployment", commit->deployment_commit.id);
        p->phase = PHASE_DONE;
        p->is_stale = true; /* the deployment may exist at the next request */
        slice_leave(c, p, &outer);
        return p;
    }
    const struct deployment *row = deployment_at(c, d);
    p->seq = snapshot_at(c, row->head)->seq;
    p->opens = !row->committed;
    p->some_wait =
        p->opens && row->counts[NODEROLE_TODO] + row->counts[NODEROLE_TRANSITION] + row->reruns > 0;
    p->view.d = d;
    p->view.noderoles = plan_array_size(c, TABLE_NODEROLE);
    p->view.nodes = plan_array_size(c, TABLE_NODE);
    p->view.state = sys_pages_get(p->view.noderoles);
    p->view.flags = sys_pages_get(p->view.noderoles);
    p->view.node_flags = sys_pages_get(p->view.nodes);
    p->view.roles = plan_array_size(c, TABLE_DEPLOYMENT_ROLE);
    p->view.role_reads = sys_pages_get(p->view.roles);
    p->view.deployments = plan_array_size(c, TABLE_DEPLOYMENT);
    p->view.deployment_reads = sys_pages_get(p->view.deployments);
    plan_init(p, c, d);
    p->summary = plan_summary_new(p);
    slice_leave(c, p, &outer);
    p->next = c->plans;
    c->plans = p;
    p->is_registered = true;
    return p;
}

bool core_plan_is_done(const struct plan *p)
{
    return p->phase == PHASE_DONE;
}

bool core_plan_is_stale(const struct plan *p)
{
    return p->is_stale;
}

bool core_plan_advance(struct plan *p, uint32_t units)
{
    struct core *c = p->c;
    must(!p->is_stale && !c->view && c->undo.depth == 0);
    const struct slice_frame outer = slice_enter(c, p);
    p->units = units;
    plan_work(p);
    slice_leave(c, p, &outer);
    return p->phase == PHASE_DONE;
}

void core_plan_end(struct plan *p)
{
    if (!p)
        return;
    struct plan **at = &p->c->plans;
    while (p->is_registered && *at != p)
        at = &(*at)->next;
    if (p->is_registered)
        *at = p->next;
    plan_fini(p);
    sys_pages_put(p, sizeof *p);
}

size_t core_plan_bytes(const struct plan *p)
{
    const struct plan_noderoles *const lists[] = {&p->items, &p->marked,    &p->removed, &p->reruns,
                                                  &p->all,   &p->requested, &p->runs};
    size_t bytes = sizeof *p + p->arena.held + p->scratch.held + p->keys.size + p->other_keys.size +
                   p->failure_pages.size + p->wave_pages.size + p->order_pages.size +
                   2 * (size_t)p->view.noderoles + p->view.nodes + p->view.roles +
                   p->view.deployments;
    for (uint32_t i = 0; i < sizeof lists / sizeof *lists; i++)
        bytes += lists[i]->pages.size;
    return bytes;
}

/* The rights of each caller are checked, also of one that gets a plan that was computed for
 * another. */
static bool plan_check_rights(struct plan *p)
{
    struct core *c = p->c;
    authority_check(c, false);
    if (!refused(c) && p->items.count + p->role_count)
        authority_touch(c, p->d);
    for (uint32_t i = 0; i < p->removed.count && !refused(c); i++)
        authority_touch(c, noderole_at(c, p->removed.items[i])->deployment);
    return !refused(c);
}

void core_plan_outcome(struct plan *p, const struct command *caller, struct outcome *out)
{
    struct core *c = p->c;
    must(p->phase == PHASE_DONE);
    struct plan checking = {.c = c, .command = *caller};
    const struct slice_frame outer = slice_enter(c, &checking);
    c->view = NULL;
    c->arena = &p->arena;
    c->depth = caller->depth;
    bool allowed = plan_check_rights(p);
    if (allowed && p->is_too_large && !p->out.problems && !p->out.veto_calls && !caller->is_summary)
        allowed = refuse(c, PROBLEM_LIMIT_REACHED, STR("summary"), core_plan_too_large());
    slice_leave(c, &checking, &outer);
    *out = allowed ? p->out : checking.out;
    out->verdict = out->veto_calls ? VERDICT_NEEDS_HOOKS : VERDICT_DONE;
    if (out->problems)
        out->verdict = VERDICT_REFUSED;
    out->id = out->verdict == VERDICT_DONE ? caller->deployment_commit.id : 0;
    if (out->verdict == VERDICT_DONE)
        out->doc = caller->is_summary ? p->brief_doc : p->doc;
}

/* ---- computation in one piece ---- */

void plan_check(struct core *c, const struct commit *work, struct str wanted)
{
    struct plan *p = sys_pages_get(sizeof *p);
    p->is_detailed = c->planning;
    p->phase = PHASE_COLLECT;
    p->seq = work->seq;
    p->opens = work->opens;
    plan_init(p, c, work->d);
    p->items.items = work->items;
    p->items.count = work->count;
    p->removed.items = work->removed;
    p->removed.count = work->removed_count;
    p->role_count = work->role_count;
    if (work->role_count)
        memcpy(p->roles, work->roles, work->role_count * sizeof *p->roles);
    /* The commit was executed, so the projection is skipped and the plan is computed at once. */
    while (p->phase != PHASE_DONE) {
        p->units = UINT32_MAX;
        plan_work(p);
    }
    c->out->doc = str_copy(c->arena, p->is_detailed ? p->doc : p->brief_doc);
    if (!c->planning && !str_eq_nocase(p->hash_text, wanted))
        refuse(c, PROBLEM_PLAN_CHANGED, STR("plan"),
               STR("the commit would do something else than the plan; request the plan again"));
    plan_fini(p);
    sys_pages_put(p, sizeof *p);
}

static bool plan_is_commit(enum command_kind kind)
{
    return kind == COMMAND_DEPLOYMENT_COMMIT || kind == COMMAND_NODE_COMMIT ||
           kind == COMMAND_NODEROLE_COMMIT;
}

void core_plan_whole(struct core *c, const struct command *commit, struct arena *arena,
                     struct outcome *out)
{
    must(c->undo.depth == 0);
    must(commit->is_brief ? plan_is_commit(commit->kind)
                          : commit->kind == COMMAND_DEPLOYMENT_COMMIT);
    c->planning = commit->is_brief ? PLANNING_CONSENT : PLANNING_ALL;
    c->step_number++; /* guards of the kind "once per step" treat a plan as a step */
    core_step_dry(c, commit, arena, out);
    c->planning = PLANNING_NOT;
}

/* Copies what outlives the plan: problems, veto requests and the document. */
static void plan_copy_outcome(struct arena *a, struct outcome *out)
{
    struct problem **problem = &out->problems;
    for (; *problem; problem = &(*problem)->next) {
        *problem = arena_copy(a, *problem, sizeof **problem);
        (*problem)->field = str_copy(a, (*problem)->field);
        (*problem)->text = str_copy(a, (*problem)->text);
    }
    struct veto_call **call = &out->veto_calls;
    for (; *call; call = &(*call)->next) {
        *call = arena_copy(a, *call, sizeof **call);
        (*call)->argument = str_copy(a, (*call)->argument);
    }
    out->doc = str_copy(a, out->doc);
}

void core_plan(struct core *c, const struct command *commit, struct arena *arena,
               struct outcome *out)
{
    if (commit->is_brief) {
        core_plan_whole(c, commit, arena, out);
        return;
    }
    struct plan *p = core_plan_begin(c, commit, !commit->is_summary);
    while (!core_plan_is_done(p))
        ignore(core_plan_advance(p, UINT32_MAX), "the loop condition reads it");
    core_plan_outcome(p, commit, out);
    plan_copy_outcome(arena, out);
    core_plan_end(p);
}
