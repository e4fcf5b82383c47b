#include "core/boot/boot_changes.h"
#include "core/catalog/roles_private.h"
#include "core/network/network_private.h"
#include "core/machine/grants.h"

/* core_check(): the invariants of one core, verified from its durable fields. The numbers in the
 * messages are those of docs/invariants.md. Counters and lists are recomputed and compared, never
 * trusted. The functions return NULL or a static message; the first violation ends the check. Tests
 * and the simulator call it often; core_load_end() calls it, so a store that violates an invariant
 * is not loaded. */

#define FOR_EACH_ROW(c, TABLE, type, ix)                                                           \
    for (type##_ix ix = {pool_next(&(c)->tables[TABLE].pool, 0)}; ix.v;                            \
         ix.v = pool_next(&(c)->tables[TABLE].pool, ix.v))

/* ---- states and graph ---- */

static uint32_t count_inactive_parents(const struct core *c, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    uint32_t count = 0;
    for (uint32_t i = 0; i < nr->parents.count; i++)
        count +=
            noderole_at(c, (noderole_ix){vec_at(c, &nr->parents, i)})->state != NODEROLE_ACTIVE;
    return count;
}

static const char *check_edges(const struct core *c, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    for (uint32_t i = 0; i < nr->parents.count; i++) {
        const noderole_ix parent = {vec_at(c, &nr->parents, i)};
        if (!pool_is_live(&c->tables[TABLE_NODEROLE].pool, parent.v))
            return "C3: a parent does not exist";
        if (!ids_has(c, &noderole_at(c, parent)->children, TABLE_NODEROLE, ix.v))
            return "C3: a parent does not list its child";
        if (noderole_at(c, parent)->cohort >= nr->cohort)
            return "C4: a child is not deeper than its parent";
        if (i && noderole_at(c, (noderole_ix){vec_at(c, &nr->parents, i - 1)})->o.id >=
                     noderole_at(c, parent)->o.id)
            return "C3: parents are out of order";
    }
    for (uint32_t i = 0; i < nr->children.count; i++) {
        const noderole_ix child = {vec_at(c, &nr->children, i)};
        if (!pool_is_live(&c->tables[TABLE_NODEROLE].pool, child.v) ||
            !graph_has_edge(c, ix, child))
            return "C3: a child does not list its parent";
    }
    return NULL;
}

static const char *check_runs_of(const struct core *c, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    if (nr->run.v) {
        const struct run *run = run_at(c, nr->run);
        if (!(run->o.row.flags & ROW_LIVE) || run->noderole.v != ix.v ||
            run->attempt != nr->attempt || nr->state != NODEROLE_TRANSITION)
            return "I3: a live run does not belong to its noderole";
    }
    if (nr->queued.v) {
        const struct run *run = run_at(c, nr->queued);
        if (!(run->o.row.flags & ROW_LIVE) || run->noderole.v != ix.v || run->state != RUN_QUEUED)
            return "I3: a queued run does not belong to its noderole";
        if (nr->state == NODEROLE_PROPOSED || nr->state == NODEROLE_BLOCKED ||
            nr->state == NODEROLE_ERROR)
            return "C5: a noderole that cannot run has a queued run";
    }
    return NULL;
}

static const char *check_noderole(const struct core *c, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    const uint32_t inactive = count_inactive_parents(c, ix);
    if (inactive != nr->inactive_parents)
        return "C1: the count of inactive parents is wrong";
    if (nr->state == NODEROLE_TODO && inactive)
        return "I2: a noderole is TODO with a parent outside ACTIVE";
    if (nr->state == NODEROLE_BLOCKED && !inactive)
        return "I2: a noderole is BLOCKED with all parents ACTIVE";
    if (nr->dr.v != deployment_role_find(c, nr->deployment, nr->role).v)
        return "C2: the deployment role of a noderole is wrong";
    if (!ids_has(c, &deployment_role_at(c, nr->dr)->noderoles, TABLE_NODEROLE, ix.v))
        return "C2: a deployment role does not list its noderole";
    const char *what = check_edges(c, ix);
    return what ? what : check_runs_of(c, ix);
}

/* ---- nodes and deployments ---- */

static const char *check_node(const struct core *c, node_ix ix)
{
    const struct node *node = node_at(c, ix);
    uint32_t counts[NODEROLE_STATE_COUNT] = {0};
    for (uint32_t i = 0; i < node->noderoles.count; i++) {
        const noderole_ix nr = {vec_at(c, &node->noderoles, i)};
        if (!pool_is_live(&c->tables[TABLE_NODEROLE].pool, nr.v) ||
            noderole_at(c, nr)->node.v != ix.v)
            return "C2: a node lists a noderole that is not its own";
        if (i && noderole_cmp(c, (noderole_ix){vec_at(c, &node->noderoles, i - 1)}, nr) >= 0)
            return "C2: a node's noderoles are out of order";
        if (noderole_at(c, nr)->state == NODEROLE_TODO && i < node->todo_cursor)
            return "C6: a TODO noderole is before the todo cursor of its node";
        counts[noderole_at(c, nr)->state]++;
    }
    if (memcmp(counts, node->counts, sizeof counts) != 0)
        return "C1: a node's counts of states are wrong";
    if (node->run.v) {
        const struct run *run = run_at(c, node->run);
        if (!(run->o.row.flags & ROW_LIVE) || run->node.v != ix.v ||
            (run->state != RUN_RUNNING && run->state != RUN_STOPPING))
            return "I3: the slot of a node is held by a run that does not run there";
    }
    for (uint32_t i = 0; i < node->queued.count; i++) {
        const struct run *run = run_at(c, (run_ix){vec_at(c, &node->queued, i)});
        if (run->state != RUN_QUEUED || run->node.v != ix.v)
            return "C5: the queue of runs of a node is wrong";
    }
    return NULL;
}

/* Counts of noderoles of one deployment, computed from the rows. */
struct tally {
    uint32_t counts[NODEROLE_STATE_COUNT];
    uint32_t reruns, removing, unproposed;
};

static const char *check_deployments(const struct core *c, struct arena *a)
{
    struct tally *tally = arena_array(a, struct tally, c->tables[TABLE_DEPLOYMENT].pool.high + 1);
    FOR_EACH_ROW(c, TABLE_NODEROLE, noderole, nr)
    {
        const struct noderole *row = noderole_at(c, nr);
        struct tally *t = &tally[row->deployment.v];
        t->counts[row->state]++;
        t->reruns += row->rerun;
        t->removing += row->removing;
        t->unproposed += noderole_has_unproposed(row);
    }
    FOR_EACH_ROW(c, TABLE_DEPLOYMENT, deployment, ix)
    {
        const struct deployment *d = deployment_at(c, ix);
        const struct tally *t = &tally[ix.v];
        uint32_t proposed = 0;
        for (uint32_t i = 0; i < d->roles.count; i++)
            proposed +=
                deployment_role_at(c, (deployment_role_ix){vec_at(c, &d->roles, i)})->proposed;
        if (memcmp(t->counts, d->counts, sizeof t->counts) != 0 || t->reruns != d->reruns ||
            t->removing != d->removing || t->unproposed != d->unproposed ||
            proposed != d->proposed_roles)
            return "C1: a deployment's counts are wrong";
        if (d->committed != (snapshot_at(c, d->head)->state == SNAPSHOT_COMMITTED))
            return "C7: a deployment and its head disagree";
        if (snapshot_at(c, d->head)->state == SNAPSHOT_ARCHIVED)
            return "C7: a head is archived";
    }
    return NULL;
}

/* ---- runs, outbox, queues of the scheduler ---- */

static const char *check_run_table(const struct core *c)
{
    uint32_t busy[QUEUE_COUNT] = {0}, parked = 0;
    FOR_EACH_ROW(c, TABLE_RUN, run, ix)
    {
        const struct run *run = run_at(c, ix);
        const bool holds = run->state == RUN_RUNNING || run->state == RUN_STOPPING;
        busy[run->queue] += holds;
        parked += run->state == RUN_PARKED;
        if (holds && run->node.v && node_at(c, run->node)->run.v != ix.v)
            return "I3: two runs run on one node";
        if (run->state != RUN_STOPPING &&
            (!run->noderole.v || (noderole_at(c, run->noderole)->run.v != ix.v &&
                                  noderole_at(c, run->noderole)->queued.v != ix.v)))
            return "I3: no noderole refers to the run";
    }
    for (uint32_t q = 0; q < QUEUE_COUNT; q++)
        if (busy[q] != c->vars.busy[q])
            return "C1: the count of busy workers is wrong";
    return parked == c->timers.count ? NULL : "C8: a parked run has no timer";
}

static const char *check_outbox(const struct core *c, struct arena *a)
{
    uint32_t *waiting = arena_array(a, uint32_t, c->tables[TABLE_NODEROLE].pool.high + 1);
    FOR_EACH_ROW(c, TABLE_OUTBOX, outbox, ix)
    {
        const struct outbox *row = outbox_at(c, ix);
        if (row->object == TABLE_NODEROLE) {
            const noderole_ix nr = noderole_by_id(c, row->object_id);
            if (!nr.v)
                return "C9: a hook refers to a noderole that does not exist";
            waiting[nr.v]++;
        }
    }
    FOR_EACH_ROW(c, TABLE_NODEROLE, noderole, nr)
    {
        if (waiting[nr.v] != noderole_at(c, nr)->hooks_pending_count)
            return "C9: the count of waiting hooks is wrong";
    }
    return NULL;
}

/* Every candidate exists and is the one that its node refers to. */
static const char *check_candidates(const struct core *c, enum queue queue)
{
    uint64_t key = 0;
    uint32_t value;
    for (; omap_ceil(&c->waiting[queue], key, &key, &value); key++) {
        const bool high = queue == QUEUE_HIGH;
        if (!pool_is_live(&c->tables[high ? TABLE_RUN : TABLE_NODEROLE].pool, value))
            return "C6: a candidate does not exist";
        const node_ix n =
            high ? run_at(c, (run_ix){value})->node : noderole_at(c, (noderole_ix){value})->node;
        if (node_at(c, n)->waiting[queue] != key)
            return "C6: a candidate is not the one of its node";
    }
    return NULL;
}

static const char *check_queues(const struct core *c)
{
    uint32_t queued = 0, marked = 0, candidates[QUEUE_COUNT] = {0};
    for (node_ix n = c->vars.dirty_first; n.v; n = node_at(c, n)->dirty_next) {
        if (!node_at(c, n)->in_dirty_queue)
            return "C6: a node in the dirty queue is not marked as queued";
        if (++queued > c->tables[TABLE_NODE].pool.live)
            return "C6: the dirty queue is cyclic";
    }
    FOR_EACH_ROW(c, TABLE_NODE, node, n)
    {
        marked += node_at(c, n)->in_dirty_queue;
        for (uint32_t q = 0; q < QUEUE_COUNT; q++)
            candidates[q] += node_at(c, n)->waiting[q] != 0;
    }
    for (uint32_t q = 0; q < QUEUE_COUNT; q++)
        if (candidates[q] != c->waiting[q].count)
            return "C6: a candidate is not in the map of its pool";
    for (uint32_t q = 0; q < QUEUE_COUNT; q++) {
        const char *what = check_candidates(c, (enum queue)q);
        if (what)
            return what;
    }
    return queued == marked ? NULL : "C6: a node is marked as queued and not in the dirty queue";
}

/* ---- tables and id maps ---- */

static const char *check_tables(const struct core *c)
{
    for (uint32_t t = 0; t < TABLE_OBJECTS; t++) {
        const struct table_rows *rows = &c->tables[t];
        if (!omap_check(&rows->by_id) || !omap_check(&rows->by_name))
            return "C10: a map is broken";
        if (rows->by_id.count != rows->pool.live)
            return "C10: rows and ids do not match";
        for (uint32_t ix = pool_next(&rows->pool, 0); ix; ix = pool_next(&rows->pool, ix)) {
            const struct object *o = pool_at(&rows->pool, ix);
            if (omap_find(&rows->by_id, (uint64_t)o->id) != ix)
                return "C10: a row is not found by its id";
            if (t != TABLE_COUNTER && counter_at(c, counter_by_id(c, (int64_t)t + 1))->last < o->id)
                return "C10: an id was never assigned";
        }
    }
    return NULL;
}

/* ---- the automatic admin node ---- */

static const char *check_automatic(const struct core *c)
{
    uint32_t admins = 0, automatic = 0;
    FOR_EACH_ROW(c, TABLE_NODE, node, n)
    {
        admins += node_at(c, n)->admin;
        automatic += node_at(c, n)->automatic;
        if (node_at(c, n)->automatic && !node_at(c, n)->admin)
            return "I13: an automatic node is no admin node";
    }
    if (automatic > 1)
        return "I13: there are two automatic nodes";
    return automatic && admins > 1 ? "I13: an automatic node is beside another admin node" : NULL;
}

/* Tables come first: the later checks follow indices and rely on valid maps. */
const char *core_check(const struct core *c, struct arena *a)
{
    const struct arena_mark mark = arena_mark(a);
    const char *what = check_tables(c);
    if (!what)
        FOR_EACH_ROW(c, TABLE_NODEROLE, noderole, nr)
        {
            what = check_noderole(c, nr);
            if (what)
                break;
        }
    if (!what)
        FOR_EACH_ROW(c, TABLE_NODE, node, n)
        {
            what = check_node(c, n);
            if (what)
                break;
        }
    if (!what)
        what = check_automatic(c);
    if (!what)
        what = check_deployments(c, a);
    if (!what)
        what = defaults_check(c);
    if (!what)
        what = check_run_table(c);
    if (!what)
        what = check_outbox(c, a);
    if (!what)
        what = boot_check(c);
    if (!what)
        what = grants_check(c);
    if (!what)
        what = host_keys_check(c);
    if (!what)
        what = networks_check(c);
    if (!what)
        what = network_roles_check(c, a);
    if (!what)
        what = deletions_check(c);
    if (!what)
        what = addresses_check(c);
    if (!what)
        what = leases_check(c);
    if (!what)
        what = nics_check(c);
    if (!what)
        what = dns_names_check(c);
    if (!what)
        what = boot_view_check(c, a);
    if (!what)
        what = check_queues(c);
    if (!what)
        what = attachments_check(c);
    if (!what)
        what = check_texts(c, a);
    arena_rewind(a, mark);
    return what;
}
