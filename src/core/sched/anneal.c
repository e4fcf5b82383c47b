#include "core/core_private.h"

/* Who may start, and when. Theory of operation:
 *
 * Whatever changes a node's prospects puts the node into a line (sched_enqueue_node). An annealing
 * step takes nodes from that line. At each it looks for the one thing that may start there: the
 * first queued run that can (they were asked for explicitly), else the first TODO noderole by
 * (cohort, id). What needs no worker is done on the spot; anything else becomes the node's
 * candidate in a waiting line ordered for the whole installation, and candidates start as workers
 * are free. A candidate is examined again when its turn comes, so nothing stale ever starts.
 *
 * The cost is that of the nodes looked at; a settled graph costs nothing. */

/* ---- the line of nodes to look at ---- */

void sched_enqueue_node(struct core *c, node_ix n)
{
    if (node_at(c, n)->in_dirty_queue)
        return;
    struct node *node = node_derive(c, n);
    node->in_dirty_queue = true;
    node->dirty_next = (node_ix){0};
    struct vars *vars = vars_edit(c);
    if (vars->look_last.v)
        node_derive(c, vars->look_last)->dirty_next = n;
    else
        vars->look_first = n;
    vars->look_last = n;
}

void anneal_look_everywhere(struct core *c)
{
    for (uint32_t ix = core_next_row(c, TABLE_NODE, 0); ix;
         ix = core_next_row(c, TABLE_NODE, node_at(c, (node_ix){ix})->o.id))
        sched_enqueue_node(c, (node_ix){ix});
}

static node_ix take_looked(struct core *c)
{
    const node_ix n = c->vars.look_first;
    if (!n.v)
        return n;
    struct node *node = node_derive(c, n);
    struct vars *vars = vars_edit(c);
    vars->look_first = node->dirty_next;
    if (!vars->look_first.v)
        vars->look_last = (node_ix){0};
    node->dirty_next = (node_ix){0};
    node->in_dirty_queue = false;
    return n;
}

void node_lower_todo_cursor(struct core *c, noderole_ix nr)
{
    const node_ix n = noderole_at(c, nr)->node;
    const struct node *node = node_at(c, n);
    const uint32_t first = node->first_todo;
    if (first == 0 || (first < node->noderoles.count &&
                       noderole_cmp(c, (noderole_ix){vec_at(c, &node->noderoles, first)}, nr) <= 0))
        return;
    node_derive(c, n)->first_todo = node_place_of(c, nr);
}

/* ---- candidates ---- */

static void set_candidate(struct core *c, node_ix n, enum queue queue, uint64_t key, uint32_t value)
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

/* The noderole's own conditions, beyond those of its node (K5, K6). */
static bool can_start(const struct core *c, noderole_ix ix)
{
    return noderole_at(c, ix)->hooks_waiting == 0 && noderole_is_runnable(c, ix);
}

/* Nobody asked for peace there, and it is known to answer. */
static bool may_begin(const struct core *c, node_ix n)
{
    return !node_at(c, n)->stopped && !node_at(c, n)->probe.v;
}

static bool queued_can_start(const struct core *c, run_ix ix)
{
    const struct run *run = run_at(c, ix);
    const struct noderole *nr = noderole_at(c, run->noderole);
    const bool resumed = nr->run.v == ix.v;
    const bool state = resumed ? nr->state == NODEROLE_TRANSITION
                               : nr->state == NODEROLE_TODO || nr->state == NODEROLE_ACTIVE;
    return state && may_begin(c, nr->node) && can_start(c, run->noderole);
}

static bool node_is_open(const struct core *c, node_ix n)
{
    const struct node *node = node_at(c, n);
    return node->alive && node->available && may_begin(c, n) && !node->run.v &&
           !node->queued.count && !node->counts[NODEROLE_TRANSITION] &&
           !node->counts[NODEROLE_ERROR];
}

/* The node's first TODO noderole that meets its own conditions; moves first_todo over the rest. */
static noderole_ix first_todo(struct core *c, node_ix n)
{
    const struct node *node = node_at(c, n);
    uint32_t at = node->first_todo;
    if (!node->counts[NODEROLE_TODO])
        return (noderole_ix){0};
    while (at < node->noderoles.count &&
           noderole_at(c, (noderole_ix){vec_at(c, &node->noderoles, at)})->state != NODEROLE_TODO)
        at++;
    if (at != node->first_todo)
        node_derive(c, n)->first_todo = at;
    for (; at < node->noderoles.count; at++) {
        const noderole_ix ix = {vec_at(c, &node->noderoles, at)};
        if (noderole_at(c, ix)->state == NODEROLE_TODO && can_start(c, ix)) {
            must(noderole_at(c, ix)->missing == 0);
            return ix;
        }
    }
    return (noderole_ix){0};
}

/* ---- looking at one node ---- */

/* One candidate for each pool: a run that waits for a worker of one does not hold up a run that
 * could have one of the other (X7). What needs no worker waits for nobody. */
static void look_at_queue(struct core *c, node_ix n)
{
    run_ix first[QUEUE_COUNT] = {{0}};
    for (uint32_t i = 0; i < node_at(c, n)->queued.count; i++) {
        const run_ix run = {vec_at(c, &node_at(c, n)->queued, i)};
        if (!queued_can_start(c, run))
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
        set_candidate(c, n, QUEUE_HIGH, (uint64_t)run_at(c, high)->o.id, high.v);
    if (normal.v) {
        const noderole_ix nr = run_at(c, normal)->noderole;
        set_candidate(c, n, QUEUE_NORMAL, noderole_key(noderole_at(c, nr)), nr.v);
    }
}

/* No-ops of one node are done in one go: their rows lie side by side. */
static void look_at(struct core *c, node_ix n, uint32_t until)
{
    set_candidate(c, n, QUEUE_NORMAL, 0, 0);
    set_candidate(c, n, QUEUE_HIGH, 0, 0);
    while (!node_at(c, n)->run.v && !node_at(c, n)->queued.count) {
        const noderole_ix nr = node_is_open(c, n) ? first_todo(c, n) : (noderole_ix){0};
        if (!nr.v)
            return;
        if (!run_is_instant(c, nr)) {
            set_candidate(c, n, QUEUE_NORMAL, noderole_key(noderole_at(c, nr)), nr.v);
            return;
        }
        if (c->dirty.count >= until) {
            sched_enqueue_node(c, n);
            return;
        }
        run_instant(c, nr, (run_ix){0});
    }
    if (!node_at(c, n)->run.v)
        look_at_queue(c, n);
}

/* ---- giving work to free workers ---- */

static bool worker_free(const struct core *c, enum queue queue)
{
    return c->vars.busy[queue] < core_settings(c)->pool_size[queue];
}

/* Whose turn it is, seen once more: the world may have changed since it was lined up. */
static bool start_noderole(struct core *c, noderole_ix nr)
{
    const run_ix resumed = noderole_at(c, nr)->run;
    const node_ix n = noderole_at(c, nr)->node;
    const bool ok = resumed.v ? !node_at(c, n)->run.v && queued_can_start(c, resumed)
                              : noderole_at(c, nr)->state == NODEROLE_TODO && node_is_open(c, n) &&
                                    can_start(c, nr);
    if (ok)
        run_start(c, nr, resumed);
    return ok;
}

static bool start_queued(struct core *c, run_ix run)
{
    const bool ok = !node_at(c, run_at(c, run)->node)->run.v && queued_can_start(c, run);
    if (ok)
        run_start(c, run_at(c, run)->noderole, run);
    return ok;
}

static void start_waiting(struct core *c, enum queue queue)
{
    uint64_t key;
    uint32_t value;
    while (worker_free(c, queue) && omap_ceil(&c->waiting[queue], 0, &key, &value)) {
        const node_ix n = queue == QUEUE_HIGH ? run_at(c, (run_ix){value})->node
                                              : noderole_at(c, (noderole_ix){value})->node;
        must(node_at(c, n)->waiting[queue] == key);
        set_candidate(c, n, queue, 0, 0);
        if (node_at(c, n)->in_dirty_queue)
            continue; /* something changed there since: the next look decides anew */
        const bool started = queue == QUEUE_HIGH ? start_queued(c, (run_ix){value})
                                                 : start_noderole(c, (noderole_ix){value});
        if (!started)
            sched_enqueue_node(c, n);
    }
}

static bool can_look_or_start(const struct core *c)
{
    if (c->vars.look_first.v)
        return true;
    return (worker_free(c, QUEUE_HIGH) && c->waiting[QUEUE_HIGH].count) ||
           (worker_free(c, QUEUE_NORMAL) && c->waiting[QUEUE_NORMAL].count);
}

/* In one step: what it may have to take back stays in the processor's cache. */
enum { NODES_PER_STEP_MAX = 512 };

void do_anneal(struct core *c, const struct anneal_command *p)
{
    const uint32_t until = p->budget ? c->dirty.count + p->budget : UINT32_MAX;
    if (!can_look_or_start(c)) {
        if (c->vars.rerunning)
            defaults_step(c, until);
        return;
    }
    for (uint32_t i = 0; i < NODES_PER_STEP_MAX && c->vars.look_first.v && c->dirty.count < until;
         i++)
        look_at(c, take_looked(c), until);
    start_waiting(c, QUEUE_HIGH);
    start_waiting(c, QUEUE_NORMAL);
}

bool core_has_work(const struct core *c)
{
    return c->vars.rerunning || can_look_or_start(c);
}

void anneal_forget_candidates(struct core *c, node_ix n)
{
    set_candidate(c, n, QUEUE_NORMAL, 0, 0);
    set_candidate(c, n, QUEUE_HIGH, 0, 0);
    sched_enqueue_node(c, n);
}

void anneal_forget_node(struct core *c, node_ix n)
{
    set_candidate(c, n, QUEUE_NORMAL, 0, 0);
    set_candidate(c, n, QUEUE_HIGH, 0, 0);
    if (!node_at(c, n)->in_dirty_queue)
        return;
    node_ix at = c->vars.look_first, before = {0};
    for (; at.v != n.v; at = node_at(c, at)->dirty_next)
        before = at;
    struct vars *vars = vars_edit(c);
    if (before.v)
        node_derive(c, before)->dirty_next = node_at(c, n)->dirty_next;
    else
        vars->look_first = node_at(c, n)->dirty_next;
    if (vars->look_last.v == n.v)
        vars->look_last = before;
    node_derive(c, n)->in_dirty_queue = false;
}
