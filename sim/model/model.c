#include "sim/model/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "sim/model/model_private.h"

/* Arrays and records of the reference model.
 *
 * The model owns one growing array per kind of object. Entries are found by durable id, so there
 * are no maps, and copying a model is a memcpy per array. model_read() fills the arrays from the
 * records of a core; it never writes the computed fields (state and run count of a noderole). Only
 * model_adopt() takes these from the records. Failed allocations abort. */

/* ---- arrays ---- */

static void *model_grow_array(void *old, uint32_t *cap, uint32_t wanted, size_t size)
{
    if (wanted <= *cap)
        return old;
    uint32_t room = *cap ? *cap : 64;
    while (room < wanted)
        room *= 2;
    void *fresh = realloc(old, room * size);
    must(fresh);
    memset((char *)fresh + *cap * size, 0, (room - *cap) * size);
    *cap = room;
    return fresh;
}

#define GROW(m, name, wanted)                                                                      \
    ((m)->name = model_grow_array((m)->name, &(m)->name##_cap, (wanted), sizeof *(m)->name))

/* The entry of an id; grows the array if necessary. */
#define ENTRY(m, name, id)                                                                         \
    (GROW(m, name, (uint32_t)(id) + 1),                                                            \
     (m)->name##_count =                                                                           \
         (m)->name##_count > (uint32_t)(id) ? (m)->name##_count : (uint32_t)(id) + 1,              \
     &(m)->name[id])

struct model *model_new(void)
{
    struct model *m = calloc(1, sizeof *m);
    must(m);
    return m;
}

void model_free(struct model *m)
{
    if (!m)
        return;
#define A(type, name) free(m->name);
    MODEL_ARRAYS(A)
#undef A
    model_free(m->spare);
    free(m);
}

void model_copy(struct model *m, const struct model *from)
{
#define A(type, name)                                                                              \
    GROW(m, name, from->name##_count);                                                             \
    if (from->name##_count)                                                                        \
        memcpy(m->name, from->name, from->name##_count * sizeof *m->name);                         \
    if (m->name##_count > from->name##_count)                                                      \
        memset(m->name + from->name##_count, 0,                                                    \
               (m->name##_count - from->name##_count) * sizeof *m->name);                          \
    m->name##_count = from->name##_count;
    MODEL_ARRAYS(A)
#undef A
    memcpy(m->pool, from->pool, sizeof m->pool);
    m->test_jig = from->test_jig;
    m->boot_server = from->boot_server;
    m->has_servers = from->has_servers;
    m->step = from->step;
    m->barrier_s = from->barrier_s;
    m->install_wait_s = from->install_wait_s;
    m->outbox_seen = from->outbox_seen;
    m->first_hook = from->first_hook;
}

const char *model_report(struct model *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(m->trouble, sizeof m->trouble, format, args);
    va_end(args);
    return m->trouble;
}

const struct model_counts *model_counts(const struct model *m)
{
    return &m->counts;
}

const char *model_event_name(enum model_event event)
{
    static const char *const names[] = {
#define X(name, text) [MODEL_##name] = text,
        MODEL_EVENTS(X)
#undef X
    };
    must(event < MODEL_EVENT_COUNT);
    return names[event];
}

/* ---- lookup ---- */

struct model_noderole *model_edit_noderole(struct model *m, int64_t id)
{
    const bool known = id > 0 && id < (int64_t)m->noderoles_count && m->noderoles[id].exists;
    return known ? &m->noderoles[id] : NULL;
}

const struct model_noderole *model_find_noderole(const struct model *m, int64_t id)
{
    const bool known = id > 0 && id < (int64_t)m->noderoles_count && m->noderoles[id].exists;
    return known ? &m->noderoles[id] : NULL;
}

const struct model_run *model_find_run(const struct model *m, int64_t run_id)
{
    for (uint32_t i = 0; i < m->runs_count; i++)
        if (m->runs[i].id == run_id)
            return &m->runs[i];
    return NULL;
}

const struct model_run *model_live_run(const struct model *m, int64_t noderole_id)
{
    for (uint32_t i = 0; i < m->runs_count; i++) {
        const struct model_run *run = &m->runs[i];
        const bool queued_again = run->state == RUN_QUEUED && run->attempt > 0;
        if (run->noderole_id == noderole_id &&
            (run->state == RUN_RUNNING || run->state == RUN_PARKED || queued_again))
            return run;
    }
    return NULL;
}

bool model_node_is_alive(const struct model *m, int64_t node_id)
{
    return node_id > 0 && node_id < (int64_t)m->nodes_count && m->nodes[node_id].exists &&
           m->nodes[node_id].alive;
}

bool model_is_parent(const struct model *m, int64_t parent_id, int64_t child_id)
{
    const struct model_noderole *child = model_find_noderole(m, child_id);
    for (uint32_t i = 0; child && i < child->parent_count; i++)
        if (m->parents[child->parent_first + i] == parent_id)
            return true;
    return false;
}

/* Recursive: the depth of the graph is bounded by the number of noderoles, which is small. */
bool model_is_ancestor(const struct model *m, int64_t ancestor_id, int64_t id)
{
    const struct model_noderole *nr = model_find_noderole(m, id);
    for (uint32_t i = 0; nr && i < nr->parent_count; i++) {
        const int64_t parent = m->parents[nr->parent_first + i];
        if (parent == ancestor_id || model_is_ancestor(m, ancestor_id, parent))
            return true;
    }
    return false;
}

/* ---- records ---- */

static bool model_jig_is_class(struct str class_name, const char *name)
{
    return str_eq(class_name, str_from(name));
}

/* If the test jig is enabled, it replaces every jig of a real or unknown class, so these count as
 * active. */
static void model_read_role(struct model *m, const struct core *c, const struct role_record *role)
{
    struct model_role *r = ENTRY(m, roles, role->id);
    *r = (struct model_role){.exists = true, .flags = role->flags, .attempts = role->attempts};
    struct record jig;
    const int64_t jig_id = core_find(c, TABLE_JIG, role->jig_name);
    const bool serves =
        role->flags & ROLE_SERVES_BOOT && !(role->flags & ROLE_DESTRUCTIVE) && !m->test_jig;
    if (!jig_id || !core_record(c, TABLE_JIG, jig_id, &jig)) {
        r->usable = m->test_jig;
        r->service = serves ? MODEL_SERVES_PUBLISHED : MODEL_SERVES_NOTHING;
        return;
    }
    const struct str class_name = jig.jig.class_name;
    const bool native = model_jig_is_class(class_name, "native");
    r->instant = native || model_jig_is_class(class_name, "noop");
    if (serves)
        r->service = native       ? MODEL_SERVES_NATIVE
                     : r->instant ? MODEL_SERVES_NOTHING
                                  : MODEL_SERVES_PUBLISHED;
    const bool own = r->instant || model_jig_is_class(class_name, "test") ||
                     model_jig_is_class(class_name, "role-provided");
    r->usable = m->test_jig && !own ? true : jig.jig.active;
}

static void model_read_catalog(struct model *m, const struct core *c)
{
    struct record record;
    if (core_record(c, TABLE_SETTINGS, 1, &record)) {
        m->pool[QUEUE_NORMAL] = record.settings.pool_normal;
        m->pool[QUEUE_HIGH] = record.settings.pool_high;
        m->test_jig = record.settings.test_jig;
        m->boot_server = record.settings.boot_server;
        m->barrier_s = record.settings.barrier_s;
        m->install_wait_s = record.settings.install_wait_s;
    }
    for (int64_t id = 0; (id = core_next_id(c, TABLE_ROLE, id)) != 0;)
        if (core_record(c, TABLE_ROLE, id, &record))
            model_read_role(m, c, &record.role);
}

static void model_read_heads(struct model *m, const struct core *c)
{
    for (uint32_t i = 0; i < m->deployments_count; i++)
        m->deployments[i].exists = false;
    for (int64_t id = 0; (id = core_next_id(c, TABLE_DEPLOYMENT, id)) != 0;) {
        struct record deployment;
        struct record head;
        if (!core_record(c, TABLE_DEPLOYMENT, id, &deployment) ||
            !core_record(c, TABLE_SNAPSHOT, deployment.deployment.head_id, &head))
            continue;
        struct model_deployment *d = ENTRY(m, deployments, id);
        *d = (struct model_deployment){.exists = true,
                                       .committed = head.snapshot.state == SNAPSHOT_COMMITTED};
    }
}

static void model_read_nodes(struct model *m, const struct core *c)
{
    for (uint32_t i = 0; i < m->nodes_count; i++)
        m->nodes[i].exists = false;
    for (int64_t id = 0; (id = core_next_id(c, TABLE_NODE, id)) != 0;) {
        struct record record;
        if (!core_record(c, TABLE_NODE, id, &record))
            continue;
        const struct node_record *node = &record.node;
        *ENTRY(m, nodes, id) = (struct model_node){.exists = true,
                                                   .alive = node->alive,
                                                   .available = node->available,
                                                   .stopped = node->stopped,
                                                   .system = node->system,
                                                   .admin = node->admin,
                                                   .automatic = node->automatic,
                                                   .deployment_id = node->deployment_id,
                                                   .target_role_id = node->target_role_id};
    }
}

static void model_read_parents(struct model *m, const struct core *c, int64_t id,
                               struct arena *scratch)
{
    uint32_t count = 0;
    const int64_t *parents = core_parents(c, id, scratch, &count);
    struct model_noderole *nr = &m->noderoles[id];
    nr->parent_first = m->parents_count;
    nr->parent_count = count;
    GROW(m, parents, m->parents_count + count + 1);
    if (count)
        memcpy(m->parents + m->parents_count, parents, count * sizeof *parents);
    m->parents_count += count;
}

/* Insertion sort. Ids arrive in ascending order, so only the cohort has to be compared. */
static void model_sort_by_cohort(struct model *m)
{
    m->by_cohort_count = 0;
    MODEL_NODEROLES(m, id)
    {
        GROW(m, by_cohort, m->by_cohort_count + 1);
        uint32_t at = m->by_cohort_count++;
        for (; at && m->noderoles[m->by_cohort[at - 1]].cohort > m->noderoles[id].cohort; at--)
            m->by_cohort[at] = m->by_cohort[at - 1];
        m->by_cohort[at] = id;
    }
    for (uint32_t i = 0; i < m->by_cohort_count; i++)
        m->noderoles[m->by_cohort[i]].cohort_index = i;
}

static void model_read_structure(struct model *m, const struct core *c, struct arena *scratch)
{
    for (uint32_t i = 0; i < m->noderoles_count; i++)
        if (m->noderoles[i].exists && core_next_id(c, TABLE_NODEROLE, (int64_t)i - 1) != (int64_t)i)
            m->noderoles[i] = (struct model_noderole){0};
    m->parents_count = 0;
    for (int64_t id = 0; (id = core_next_id(c, TABLE_NODEROLE, id)) != 0;) {
        struct record record;
        if (!core_record(c, TABLE_NODEROLE, id, &record))
            continue;
        struct model_noderole *nr = ENTRY(m, noderoles, id);
        if (!nr->exists)
            *nr = (struct model_noderole){.exists = true, .state = NODEROLE_PROPOSED};
        nr->cohort = record.noderole.cohort;
        nr->node_id = record.noderole.node_id;
        nr->role_id = record.noderole.role_id;
        nr->deployment_id = record.noderole.deployment_id;
        model_read_parents(m, c, id, scratch);
    }
    model_sort_by_cohort(m);
}

static void model_read_hooks(struct model *m, const struct core *c, int64_t after,
                             bool only_waiting)
{
    for (int64_t id = after; (id = core_next_id(c, TABLE_OUTBOX, id)) != 0;) {
        struct record record;
        if (!core_record(c, TABLE_OUTBOX, id, &record))
            continue;
        const struct outbox_record *row = &record.outbox;
        const bool waits =
            row->kind == OUTBOX_HOOK && (row->hook == HOOK_TODO || row->hook == HOOK_BLOCKED ||
                                         row->hook == HOOK_SYSDATA || row->hook == HOOK_TEMPLATE);
        if (only_waiting && !waits)
            continue;
        *ENTRY(m, hooks, id) = (struct model_hook){.waiting = true,
                                                   .about_noderole = row->object == TABLE_NODEROLE,
                                                   .kind = (enum outbox_kind)row->kind,
                                                   .hook = (enum hook)row->hook,
                                                   .object_id = row->object_id,
                                                   .depth = row->depth};
    }
}

void model_add_run(struct model *m, struct model_run run)
{
    GROW(m, runs, m->runs_count + 1);
    m->runs[m->runs_count++] = run;
    *ENTRY(m, run_owner, run.id) = run.noderole_id;
}

void model_drop_run(struct model *m, int64_t run_id)
{
    for (uint32_t i = 0; i < m->runs_count; i++)
        if (m->runs[i].id == run_id) {
            m->runs[i] = m->runs[--m->runs_count];
            return;
        }
}

struct model_grant *model_grant_of(struct model *m, int64_t node_id)
{
    return ENTRY(m, grants, node_id);
}

struct model_boot *model_boot_of(struct model *m, int64_t node_id)
{
    return ENTRY(m, boots, node_id);
}

struct model_reading *model_reading_of(struct model *m, int64_t node_id)
{
    return ENTRY(m, readings, node_id);
}

struct model_entry *model_entry_of(struct model *m, int64_t node_id)
{
    return ENTRY(m, entries, node_id);
}

struct model_server *model_server_of(struct model *m, int64_t node_id)
{
    return ENTRY(m, servers, node_id);
}

void model_add_staged(struct model *m, struct model_staged staged)
{
    GROW(m, staged, m->staged_count + 1);
    m->staged[m->staged_count++] = staged;
}

void model_add_move(struct model *m, struct model_move move)
{
    GROW(m, moves, m->moves_count + 1);
    m->moves[m->moves_count++] = move;
}

void model_add_log(struct model *m, struct model_log log)
{
    GROW(m, logs, m->logs_count + 1);
    m->logs[m->logs_count++] = log;
}

bool model_take_log(struct model *m, struct model_log *out_log)
{
    if (!m->logs_count)
        return false;
    *out_log = m->logs[--m->logs_count];
    return true;
}

void model_add_power(struct model *m, struct model_power power)
{
    GROW(m, powers, m->powers_count + 1);
    m->powers[m->powers_count++] = power;
}

void model_add_rest(struct model *m, struct model_rest rest)
{
    GROW(m, rests, m->rests_count + 1);
    m->rests[m->rests_count++] = rest;
}

void model_add_marked(struct model *m, int64_t network_id)
{
    GROW(m, marked, m->marked_count + 1);
    m->marked[m->marked_count++] = network_id;
}

void model_set_addresses(struct model *m, const struct model_address *all, uint32_t count)
{
    GROW(m, addresses, count);
    if (count)
        memcpy(m->addresses, all, count * sizeof *all);
    m->addresses_count = count;
}

void model_set_belongings(struct model *m, const struct model_belonging *all, uint32_t count)
{
    GROW(m, belongings, count);
    if (count)
        memcpy(m->belongings, all, count * sizeof *all);
    m->belongings_count = count;
}

static void model_read_runs(struct model *m, const struct core *c)
{
    m->runs_count = 0;
    for (int64_t id = 0; (id = core_next_id(c, TABLE_RUN, id)) != 0;) {
        struct record record;
        if (!core_record(c, TABLE_RUN, id, &record))
            continue;
        model_add_run(m, (struct model_run){.id = id,
                                            .node_id = record.run.node_id,
                                            .noderole_id = record.run.noderole_id,
                                            .state = (enum run_state)record.run.state,
                                            .queue = (enum queue)record.run.queue,
                                            .attempt = record.run.attempt,
                                            .tries = record.run.tries});
    }
}

void model_read_fresh_hooks(struct model *m, const struct core *c)
{
    model_read_hooks(m, c, m->hooks_count ? (int64_t)m->hooks_count - 1 : 0, true);
}

void model_read(struct model *m, const struct core *c, uint32_t parts, struct arena *scratch)
{
    const struct arena_mark mark = arena_mark(scratch);
    if (parts & MODEL_CATALOG)
        model_read_catalog(m, c);
    if (parts & MODEL_HEADS)
        model_read_heads(m, c);
    if (parts & MODEL_STRUCTURE)
        model_read_structure(m, c, scratch);
    if (parts & MODEL_NODES)
        model_read_nodes(m, c);
    if (parts & MODEL_MOMENT) {
        model_read_runs(m, c);
        MODEL_HOOKS(m, id)
        {
            m->hooks[id].waiting = false;
        }
        const int64_t first = core_next_id(c, TABLE_OUTBOX, 0);
        m->first_hook = first ? first : m->hooks_count;
        model_read_hooks(m, c, 0, false);
    }
    arena_rewind(scratch, mark);
}

void model_adopt(struct model *m, const struct core *c, struct arena *scratch)
{
#define A(type, name)                                                                              \
    if (m->name##_count)                                                                           \
        memset(m->name, 0, m->name##_count * sizeof *m->name);                                     \
    m->name##_count = 0;
    MODEL_ARRAYS(A)
#undef A
    model_read(m, c, MODEL_ALL, scratch);
    MODEL_NODEROLES(m, id)
    {
        struct record record;
        must(core_record(c, TABLE_NODEROLE, id, &record));
        m->noderoles[id].state = (enum noderole_state)record.noderole.state;
        m->noderoles[id].run_count = record.noderole.run_count;
        m->noderoles[id].rerun = record.noderole.rerun;
        m->noderoles[id].unavailable = record.noderole.unavailable;
        m->noderoles[id].barred = record.noderole.grant_barred != 0;
    }
    ignore(model_follow_served(m, c, NULL, scratch), "nothing is served in a new core");
    ignore(model_follow_boots(m, c, NULL), "nothing is checked without a command");
    ignore(model_follow_grants(m, c, NULL, NULL), "nothing is checked without a command");
    ignore(model_follow_readings(m, c, NULL), "nothing is checked without a command");
    ignore(model_follow_addresses(m, c, NULL, scratch), "a new core has no addresses");
}
