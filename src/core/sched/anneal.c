#include "core/boot/boot_service.h"
#include "core/network/network_private.h"

/* The scheduler ("annealer"): which noderole starts, and when (docs/spec/runs.md, ADR 0019).
 *
 * It owns two kinds of queues. The dirty queue is a FIFO list of nodes: every change that may make
 * a noderole of a node startable calls sched_enqueue_node(). The maps core.waiting hold the
 * candidates, at most one for each node and worker pool, ordered for the whole installation: by
 * (cohort, id) in the pool NORMAL, by run id in HIGH.
 *
 * An annealing step (do_anneal) first evaluates nodes of the dirty queue. On each node it selects
 * what may start: the first enqueued run that can start, otherwise the first TODO noderole by
 * (cohort, id). Instant runs, which need no worker, are executed at once; anything else becomes a
 * candidate. Then candidates are started while workers are free. The order matters: a candidate of
 * a node that is dirty again may be outdated, so it is dropped and selected again later, and its
 * start conditions are checked a second time when it starts.
 *
 * The step is bounded by a number of nodes and by a budget of changed rows; core_has_work() reports
 * that more is to do. The cost is proportional to the nodes evaluated; an installation in which
 * nothing changes costs nothing. If a start is refused (a table is full), the whole step is rolled
 * back, queues included, and the turn tries again after the next command. */

/* ---- the dirty queue ---- */

void sched_enqueue_node(struct core *c, node_ix n)
{
    if (node_at(c, n)->in_dirty_queue)
        return;
    struct node *node = node_derive(c, n);
    node->in_dirty_queue = true;
    node->dirty_next = (node_ix){0};
    struct vars *vars = vars_edit(c);
    if (vars->dirty_last.v)
        node_derive(c, vars->dirty_last)->dirty_next = n;
    else
        vars->dirty_first = n;
    vars->dirty_last = n;
}

void anneal_enqueue_all_nodes(struct core *c)
{
    for (uint32_t ix = core_next_row(c, TABLE_NODE, 0); ix;
         ix = core_next_row(c, TABLE_NODE, node_at(c, (node_ix){ix})->o.id))
        sched_enqueue_node(c, (node_ix){ix});
}

static node_ix anneal_dequeue_node(struct core *c)
{
    const node_ix n = c->vars.dirty_first;
    if (!n.v)
        return n;
    struct node *node = node_derive(c, n);
    struct vars *vars = vars_edit(c);
    vars->dirty_first = node->dirty_next;
    if (!vars->dirty_first.v)
        vars->dirty_last = (node_ix){0};
    node->dirty_next = (node_ix){0};
    node->in_dirty_queue = false;
    return n;
}

void node_lower_todo_cursor(struct core *c, noderole_ix nr)
{
    const node_ix n = noderole_at(c, nr)->node;
    const struct node *node = node_at(c, n);
    const uint32_t first = node->todo_cursor;
    if (first == 0 || (first < node->noderoles.count &&
                       noderole_cmp(c, (noderole_ix){vec_at(c, &node->noderoles, first)}, nr) <= 0))
        return;
    node_derive(c, n)->todo_cursor = node_noderole_position(c, nr);
}

/* ---- candidates ---- */

static void anneal_set_candidate(struct core *c, node_ix n, enum queue queue, uint64_t key,
                                 uint32_t value)
{
    const uint64_t old = node_at(c, n)->waiting[queue];
    if (old == key)
        return;
    if (old)
        omap_remove(&c->waiting[queue], old);
    if (key)
        omap_put(&c->waiting[queue], key, value);
    node_derive(c, n)->waiting[queue] = key;
}

/* The conditions of the noderole itself; those of its node are in anneal_node_is_open(). */
static bool anneal_noderole_can_start(const struct core *c, noderole_ix ix)
{
    return noderole_at(c, ix)->hooks_pending_count == 0 && noderole_is_runnable(c, ix);
}

/* True if the node is not `stopped` and no liveness probe is outstanding. */
static bool anneal_node_accepts_runs(const struct core *c, node_ix n)
{
    return !node_at(c, n)->stopped && !node_at(c, n)->probe.v;
}

static bool anneal_queued_can_start(const struct core *c, run_ix ix)
{
    const struct run *run = run_at(c, ix);
    const struct noderole *nr = noderole_at(c, run->noderole);
    const bool resumed = nr->run.v == ix.v; /* it was parked; its noderole is in TRANSITION */
    const bool state = resumed ? nr->state == NODEROLE_TRANSITION
                               : nr->state == NODEROLE_TODO || nr->state == NODEROLE_ACTIVE;
    return state && anneal_node_accepts_runs(c, nr->node) &&
           anneal_noderole_can_start(c, run->noderole);
}

/* True if the annealer may start a TODO noderole on the node. */
static bool anneal_node_is_open(const struct core *c, node_ix n)
{
    const struct node *node = node_at(c, n);
    return node->alive && node->available && anneal_node_accepts_runs(c, n) && !node->run.v &&
           !node->queued.count && !node->counts[NODEROLE_TRANSITION] &&
           !node->counts[NODEROLE_ERROR];
}

/* The first TODO noderole of the node that meets its own conditions. Advances todo_cursor to the
 * first TODO noderole, whether that one can start or not. */
static noderole_ix anneal_find_todo(struct core *c, node_ix n)
{
    const struct node *node = node_at(c, n);
    uint32_t at = node->todo_cursor;
    if (!node->counts[NODEROLE_TODO])
        return (noderole_ix){0};
    while (at < node->noderoles.count &&
           noderole_at(c, (noderole_ix){vec_at(c, &node->noderoles, at)})->state != NODEROLE_TODO)
        at++;
    if (at != node->todo_cursor)
        node_derive(c, n)->todo_cursor = at;
    for (; at < node->noderoles.count; at++) {
        const noderole_ix ix = {vec_at(c, &node->noderoles, at)};
        if (noderole_at(c, ix)->state == NODEROLE_TODO && anneal_noderole_can_start(c, ix)) {
            must(noderole_at(c, ix)->inactive_parents == 0);
            return ix;
        }
    }
    return (noderole_ix){0};
}

/* ---- evaluating one node ---- */

/* Select one candidate for each pool, so that a run that waits for a worker of one pool does not
 * delay a run of the other. An instant run is executed at once, and the node evaluated again. */
static void anneal_evaluate_queued_runs(struct core *c, node_ix n)
{
    run_ix first[QUEUE_COUNT] = {{0}};
    for (uint32_t i = 0; i < node_at(c, n)->queued.count; i++) {
        const run_ix run = {vec_at(c, &node_at(c, n)->queued, i)};
        if (!anneal_queued_can_start(c, run))
            continue;
        if (run_is_instant(c, run_at(c, run)->noderole)) {
            run_instant(c, run_at(c, run)->noderole, run);
            sched_enqueue_node(c, n);
            return;
        }
        if (!first[run_at(c, run)->queue].v)
            first[run_at(c, run)->queue] = run;
    }
    const run_ix high = first[QUEUE_HIGH], normal = first[QUEUE_NORMAL];
    if (high.v)
        anneal_set_candidate(c, n, QUEUE_HIGH, (uint64_t)run_at(c, high)->o.id, high.v);
    if (normal.v) {
        const noderole_ix nr = run_at(c, normal)->noderole;
        anneal_set_candidate(c, n, QUEUE_NORMAL, noderole_key(noderole_at(c, nr)), nr.v);
    }
}

/* All instant runs of a node are executed in one go, while its rows are in the cache, until the
 * step has changed `until` rows. */
static void anneal_evaluate_node(struct core *c, node_ix n, uint32_t until)
{
    /* Old candidates may be outdated; the selection below replaces them. */
    anneal_set_candidate(c, n, QUEUE_NORMAL, 0, 0);
    anneal_set_candidate(c, n, QUEUE_HIGH, 0, 0);
    while (!node_at(c, n)->run.v && !node_at(c, n)->queued.count) {
        const noderole_ix nr =
            anneal_node_is_open(c, n) ? anneal_find_todo(c, n) : (noderole_ix){0};
        if (!nr.v)
            return;
        if (!run_is_instant(c, nr)) {
            anneal_set_candidate(c, n, QUEUE_NORMAL, noderole_key(noderole_at(c, nr)), nr.v);
            return;
        }
        if (c->dirty.count >= until) {
            sched_enqueue_node(c, n);
            return;
        }
        run_instant(c, nr, (run_ix){0});
    }
    if (!node_at(c, n)->run.v)
        anneal_evaluate_queued_runs(c, n);
}

/* ---- starting candidates ---- */

static bool anneal_worker_is_free(const struct core *c, enum queue queue)
{
    return c->vars.busy[queue] < core_settings(c)->pool_size[queue];
}

/* Check the start conditions again, because rows may have changed since the candidate was selected.
 * */
static bool anneal_start_noderole(struct core *c, noderole_ix nr)
{
    const run_ix resumed = noderole_at(c, nr)->run;
    const node_ix n = noderole_at(c, nr)->node;
    const bool ok = resumed.v ? !node_at(c, n)->run.v && anneal_queued_can_start(c, resumed)
                              : noderole_at(c, nr)->state == NODEROLE_TODO &&
                                    anneal_node_is_open(c, n) && anneal_noderole_can_start(c, nr);
    if (ok)
        run_start(c, nr, resumed);
    return ok;
}

static bool anneal_start_queued(struct core *c, run_ix run)
{
    const bool ok = !node_at(c, run_at(c, run)->node)->run.v && anneal_queued_can_start(c, run);
    if (ok)
        run_start(c, run_at(c, run)->noderole, run);
    return ok;
}

static void anneal_start_candidates(struct core *c, enum queue queue)
{
    uint64_t key;
    uint32_t value;
    while (anneal_worker_is_free(c, queue) && omap_ceil(&c->waiting[queue], 0, &key, &value)) {
        const node_ix n = queue == QUEUE_HIGH ? run_at(c, (run_ix){value})->node
                                              : noderole_at(c, (noderole_ix){value})->node;
        must(node_at(c, n)->waiting[queue] == key);
        anneal_set_candidate(c, n, queue, 0, 0);
        if (node_at(c, n)->in_dirty_queue)
            continue; /* the node changed since: its next evaluation selects again */
        const bool started = queue == QUEUE_HIGH ? anneal_start_queued(c, (run_ix){value})
                                                 : anneal_start_noderole(c, (noderole_ix){value});
        if (!started)
            sched_enqueue_node(c, n);
    }
}

static bool anneal_can_progress(const struct core *c)
{
    if (c->vars.dirty_first.v)
        return true;
    return (anneal_worker_is_free(c, QUEUE_HIGH) && c->waiting[QUEUE_HIGH].count) ||
           (anneal_worker_is_free(c, QUEUE_NORMAL) && c->waiting[QUEUE_NORMAL].count);
}

static bool anneal_has_slices(const struct core *c)
{
    return deletions_are_pending(c) || core_dns_names_are_pending(c);
}

/* Nodes evaluated in one step. The bound keeps the undo log of a step in the CPU cache. */
enum { NODES_PER_STEP_MAX = 512 };

void do_anneal(struct core *c, const struct anneal_command *p)
{
    const uint32_t until = p->budget ? c->dirty.count + p->budget : UINT32_MAX;
    const bool is_idle = !anneal_can_progress(c);
    if (c->vars.boot_review)
        boot_due_review(c);
    /* One slice in each batch at least, and in each step if there is nothing else. Deletions come
     * first: names of addresses that are deleted need no evaluation. */
    if (anneal_has_slices(c) && (is_idle || !c->sliced)) {
        if (deletions_are_pending(c))
            deletions_step(c, until);
        else
            dns_names_step(c, until);
        c->sliced = true;
    }
    /* Noderoles with changed defaults are rerun only when there is nothing else to do. */
    if (is_idle) {
        if (c->vars.rerunning)
            defaults_step(c, until);
        return;
    }
    for (uint32_t i = 0; i < NODES_PER_STEP_MAX && c->vars.dirty_first.v && c->dirty.count < until;
         i++)
        anneal_evaluate_node(c, anneal_dequeue_node(c), until);
    anneal_start_candidates(c, QUEUE_HIGH);
    anneal_start_candidates(c, QUEUE_NORMAL);
}

bool core_has_work(const struct core *c)
{
    return c->vars.rerunning || c->vars.boot_review || anneal_has_slices(c) ||
           anneal_can_progress(c);
}

bool core_has_only_slices_left(const struct core *c)
{
    return anneal_has_slices(c) && !c->vars.rerunning && !c->vars.boot_review &&
           !anneal_can_progress(c);
}

void anneal_forget_candidates(struct core *c, node_ix n)
{
    anneal_set_candidate(c, n, QUEUE_NORMAL, 0, 0);
    anneal_set_candidate(c, n, QUEUE_HIGH, 0, 0);
    sched_enqueue_node(c, n);
}

void anneal_forget_node(struct core *c, node_ix n)
{
    anneal_set_candidate(c, n, QUEUE_NORMAL, 0, 0);
    anneal_set_candidate(c, n, QUEUE_HIGH, 0, 0);
    if (!node_at(c, n)->in_dirty_queue)
        return;
    node_ix at = c->vars.dirty_first, before = {0};
    for (; at.v != n.v; at = node_at(c, at)->dirty_next)
        before = at;
    struct vars *vars = vars_edit(c);
    if (before.v)
        node_derive(c, before)->dirty_next = node_at(c, n)->dirty_next;
    else
        vars->dirty_first = node_at(c, n)->dirty_next;
    if (vars->dirty_last.v == n.v)
        vars->dirty_last = before;
    node_derive(c, n)->in_dirty_queue = false;
}
