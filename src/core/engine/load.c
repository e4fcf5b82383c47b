#include "core/network/network_private.h"

#include "base/json/json.h"
#include "core/boot/boot_changes.h"
#include "core/boot/boot_service.h"
#include "core/engine/row_maps.h"
#include "core/machine/grants.h"

/* Conversion of the records of a store into rows, and the computation of all derived state.
 *
 * core_load() receives the records table by table in the order of enum table, ids ascending, so a
 * reference can be checked when it arrives: the referenced row is loaded already. The exceptions
 * are the parent of a barclamp and the head and phantom node of a deployment, whose ids are kept in
 * scratch fields until core_load_end() resolves them. core_load_end() then derives what depends on
 * several tables (role graph, timers, queues), runs core_check() and computes the digest.
 *
 * Failure: a record that contradicts another one is an error with a static description, never
 * repaired or skipped; the core can then only be freed. Loading is not under undo. */

static bool load_text(struct core *c, text_h *slot, struct str text)
{
    bool full = false;
    *slot = blob_take(&c->blobs, text, &full);
    return !full;
}

#define IN_TEXT(field) ok &= load_text(c, &row->field, r->field);
#define IN_SAME(field) row->field = r->field;
/* A reference by id: 0 means none, any other id must exist. */
#define IN_REF(field, noun, from)                                                                  \
    row->field = noun##_by_id(c, r->from);                                                         \
    ok &= r->from == 0 || row->field.v != 0;

#define X(upper, lower)                                                                            \
    static bool lower##_in(struct core *c, struct lower *row, const struct lower##_record *r)      \
    {                                                                                              \
        bool ok = c != NULL;                                                                       \
        upper##_MAP(IN_TEXT, IN_SAME, IN_REF) return ok;                                           \
    }
OBJECTS(X)
#undef X

/* Fields that do not map one to one, and checks of values. */

static bool settings_by_hand(struct settings *row, const struct settings_record *r)
{
    row->pool_size[QUEUE_NORMAL] = r->pool_normal;
    row->pool_size[QUEUE_HIGH] = r->pool_high;
    return r->id == 1;
}

/* The parent may have a higher id and be loaded later; core_load_end() resolves it. */
static bool barclamp_by_hand(struct barclamp *row, const struct barclamp_record *r)
{
    row->load_parent_id = r->parent_id;
    row->has_per = barclamp_document_has_per(r->cfg_data);
    return true;
}

/* The head and phantom node are in later tables; core_load_end() resolves them. */
static bool deployment_by_hand(struct deployment *row, const struct deployment_record *r)
{
    row->load_head_id = r->head_id;
    row->load_phantom_id = r->phantom_id;
    return r->system == (r->parent_id == 0);
}

static bool noderole_by_hand(struct core *c, struct noderole *row, const struct noderole_record *r)
{
    if (!row->deployment.v || !row->role.v || !row->node.v || r->state >= NODEROLE_STATE_COUNT ||
        r->cohort > COHORT_MAX)
        return false;
    row->state = (uint8_t)r->state;
    row->dr = deployment_role_find(c, row->deployment, row->role);
    return row->dr.v != 0;
}

/* The noderole and the node of a STOPPING run may have been deleted. */
static bool run_by_hand(struct core *c, struct run *row, const struct run_record *r)
{
    row->node = node_by_id(c, r->node_id);
    if (r->state != RUN_STOPPING) {
        row->noderole = noderole_by_id(c, r->noderole_id);
        if (!row->node.v || !row->noderole.v ||
            noderole_at(c, row->noderole)->node.v != row->node.v)
            return false;
    }
    return r->state <= RUN_STOPPING && r->queue < QUEUE_COUNT && r->park_left_ms >= 0 &&
           r->park_left_ms <= PARK_MS_MAX;
}

/* Only power actions wait at the boot barrier, and only for a node that exists. */
static bool outbox_by_hand(const struct core *c, const struct outbox_record *r)
{
    const bool waits = r->generation != 0;
    if (waits &&
        (r->kind != OUTBOX_POWER || r->object != TABLE_NODE || !node_by_id(c, r->object_id).v))
        return false;
    return r->kind <= OUTBOX_PROBE && r->hook < HOOK_COUNT && r->object < TABLE_COUNT &&
           r->generation >= 0 && r->left_ms >= 0 && r->left_ms <= RUN_TIME_S_MAX * INT64_C(1000);
}

static bool load_fill_by_hand(struct core *c, void *row, const struct record *r)
{
    switch ((int)r->table) {
    case TABLE_SETTINGS: return settings_by_hand(row, &r->settings);
    case TABLE_COUNTER: return r->id <= TABLE_OBJECTS;
    case TABLE_BARCLAMP: return barclamp_by_hand(row, &r->barclamp);
    case TABLE_DEPLOYMENT: return deployment_by_hand(row, &r->deployment);
    case TABLE_SNAPSHOT: return r->snapshot.deployment_id && r->snapshot.state <= SNAPSHOT_ARCHIVED;
    case TABLE_DEPLOYMENT_ROLE:
        return r->deployment_role.deployment_id && r->deployment_role.role_id;
    case TABLE_NODE:
        return r->node.deployment_id != 0 && r->node.boot_generation >= 0 &&
               r->node.power_state < POWER_STATE_COUNT && r->node.power_reason < REASON_COUNT &&
               r->node.power_order >= 0;
    case TABLE_NODEROLE: return noderole_by_hand(c, row, &r->noderole);
    case TABLE_RUN: return run_by_hand(c, row, &r->run);
    case TABLE_HAMMER: return r->hammer.node_id && r->hammer.hammer_kind_id;
    case TABLE_USER: return r->user.access == ACCESS_VIEWER || r->user.access == ACCESS_OPERATOR;
    case TABLE_TOKEN: /* it belongs either to a user or to a node */
        return (r->token.user_id == 0) != (r->token.node_id == 0) &&
               r->token.hash.len == TOKEN_HASH_LEN && r->token.access < ACCESS_COUNT &&
               r->token.kind < TOKEN_KIND_COUNT;
    case TABLE_OUTBOX: return outbox_by_hand(c, &r->outbox);
    case TABLE_HOST_KEY: return host_key_can_load(c, &r->host_key);
    case TABLE_NETWORK: return network_can_load(&r->network);
    case TABLE_NETWORK_RANGE: return network_range_fill(row, &r->network_range);
    case TABLE_NETWORK_ROUTER: return network_router_fill(c, row, &r->network_router);
    case TABLE_NETWORK_ALLOCATION: return network_allocation_fill(c, row, &r->network_allocation);
    case TABLE_LEASE: return lease_fill(c, row, &r->lease);
    case TABLE_NIC: return nic_can_load(c, row, &r->nic);
    case TABLE_DNS_NAME_FILTER: return dns_name_filter_fill(c, row, &r->dns_name_filter);
    case TABLE_DNS_NAME_ENTRY: return dns_name_entry_fill(c, row, &r->dns_name_entry);
    case TABLE_BOOTENV: return bootenv_can_load(row, &r->bootenv);
    case TABLE_BOOT_DUE: return boot_due_can_load(c, &r->boot_due);
    default: return true;
    }
}

/* ---- relations ---- */

static bool load_edge(struct core *c, const struct edge_record *r)
{
    const noderole_ix parent = noderole_by_id(c, r->parent_id);
    const noderole_ix child = noderole_by_id(c, r->child_id);
    if (!parent.v || !child.v || graph_has_edge(c, parent, child) ||
        noderole_at(c, parent)->cohort >= noderole_at(c, child)->cohort)
        return false; /* the cohort increases along every edge, so there is no cycle either */
    ids_insert(c, &noderole_derive(c, parent)->children, TABLE_NODEROLE, child.v);
    struct noderole *row = noderole_derive(c, child);
    ids_insert(c, &row->parents, TABLE_NODEROLE, parent.v);
    if (noderole_at(c, parent)->state != NODEROLE_ACTIVE)
        row->inactive_parents++;
    return true;
}

/* The pairs of `links` are sorted by attrib id, whatever the order of the records is. */
static bool load_link(struct core *c, const struct link_record *r)
{
    const noderole_ix parent = noderole_by_id(c, r->parent_id);
    const noderole_ix child = noderole_by_id(c, r->child_id);
    const attrib_ix attrib = attrib_by_id(c, r->attrib_id);
    if (!parent.v || !child.v || !attrib.v)
        return false;
    struct vec *links = &noderole_derive(c, child)->links;
    uint32_t at = 0;
    while (at < links->count &&
           attrib_at(c, (attrib_ix){vec_at(c, links, at + 1)})->o.id < r->attrib_id)
        at += 2;
    vec_insert(&c->heap, links, at, parent.v);
    vec_insert(&c->heap, links, at + 1, attrib.v);
    return true;
}

static bool load_membership(struct core *c, const struct membership_record *r)
{
    const group_ix g = group_by_id(c, r->group_id);
    const node_ix n = node_by_id(c, r->node_id);
    if (!g.v || !n.v || ids_has(c, &group_at(c, g)->nodes, TABLE_NODE, n.v))
        return false;
    ids_insert(c, &group_derive(c, g)->nodes, TABLE_NODE, n.v);
    node_derive(c, n)->group_count++;
    return true;
}

/* ---- one record ---- */

static bool load_is_canonical(struct str text)
{
    struct arena scratch = {0};
    struct str canonical = STR("");
    uint32_t offset, depth;
    const char *what;
    if (json_text_is_canonical(text, &depth))
        return true;
    /* It can still be canonical, with escapes in keys or control characters. */
    const bool same =
        json_canonical(&scratch, text, &canonical, &offset, &what) == OK && str_eq(text, canonical);
    arena_fini(&scratch);
    return same;
}

static bool load_fill_row(struct core *c, void *row, const struct record *r)
{
    switch (r->table) {
#define X(upper, lower)                                                                            \
    case TABLE_##upper: return lower##_in(c, row, &r->lower) && load_fill_by_hand(c, row, r);
        OBJECTS(X)
#undef X
    case TABLE_EDGE:
    case TABLE_LINK:
    case TABLE_MEMBERSHIP:
    case TABLE_OLD_MEMBER:
    case TABLE_OLD_DATA:
    case TABLE_EVENT:
    case TABLE_OLD_RUN:
    case TABLE_COUNT: break;
    }
    impossible("a table without rows of its own");
}

static bool load_table_has_names(enum table t)
{
    return t == TABLE_BARCLAMP || t == TABLE_JIG || t == TABLE_HAMMER_KIND || t == TABLE_ROLE ||
           t == TABLE_ATTRIB || t == TABLE_DEPLOYMENT || t == TABLE_NODE || t == TABLE_GROUP ||
           t == TABLE_USER || t == TABLE_TOKEN || t == TABLE_NETWORK ||
           t == TABLE_DNS_NAME_FILTER || t == TABLE_BOOTENV;
}

/* The same rules as the input validation of step.c, and the bound of names. */
static const char *load_check_texts(const struct record *r)
{
    const struct layout *layout = record_layout(r->table);
    const char *object = (const char *)&r->id;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct field *f = &layout->fields[i];
        if (f->kind != FIELD_TEXT && f->kind != FIELD_DOC)
            continue;
        struct str s;
        memcpy(&s, object + f->offset, sizeof s);
        if (s.len == 0)
            continue;
        if (!str_is_clean(s) || (f->kind == FIELD_TEXT && s.len > TEXT_MAX))
            return "a string is too long or not valid UTF-8";
        const struct str name = str_from(f->name);
        if ((str_eq(name, STR("name")) || str_eq(name, STR("category")) ||
             str_eq(name, STR("username"))) &&
            s.len > NAME_LEN_MAX)
            return "a name is too long";
        if (f->kind == FIELD_DOC && !load_is_canonical(s))
            return "a document is not canonical JSON";
    }
    return NULL;
}

static const char *load_object(struct core *c, const struct record *r)
{
    const char *wrong = load_check_texts(r);
    if (wrong)
        return wrong;
    struct table_rows *t = &c->tables[r->table];
    if (r->id <= 0 || omap_find(&t->by_id, (uint64_t)r->id))
        return "a row has no id, or an id that is used twice";
    const uint32_t ix = pool_add(&t->pool);
    if (!ix)
        return "a table has more rows than this build supports";
    omap_put(&t->by_id, (uint64_t)r->id, ix);
    struct object *o = pool_at(&t->pool, ix);
    o->row.flags |= ROW_STORED;
    o->id = r->settings.id;
    o->created_at = r->settings.created_at;
    o->updated_at = r->settings.updated_at;
    o->turn = r->settings.turn;
    if (o->turn > c->boot_turn)
        c->boot_turn = o->turn;
    if (!load_fill_row(c, o, r))
        return "a row has an invalid value or refers to a row that does not exist";
    if (load_table_has_names(r->table) && name_is_taken(c, r->table, ix))
        return "two rows have the same name";
    if (load_table_has_names(r->table))
        name_add(c, r->table, ix);
    return NULL;
}

static void load_index_object(struct core *c, enum table table, uint32_t ix);

err core_load(struct core *c, const struct record *r, const char **out_what)
{
    must(c->undo.depth == 0 && r->table < TABLE_LOADED);
    const char *what = NULL;
    if (r->table < TABLE_OBJECTS)
        what = load_object(c, r);
    else if (r->table == TABLE_EDGE)
        what = load_edge(c, &r->edge)
                   ? NULL
                   : "a dependency is a duplicate, closes a cycle or refers to a "
                     "noderole that does not exist";
    else if (r->table == TABLE_LINK)
        what = load_link(c, &r->link) ? NULL : "an attrib link refers to a row that does not exist";
    else
        what = load_membership(c, &r->membership)
                   ? NULL
                   : "a group membership is a duplicate or refers to a row that does not exist";
    if (!what && r->table < TABLE_OBJECTS)
        load_index_object(c, r->table, omap_find(&c->tables[r->table].by_id, (uint64_t)r->id));
    *out_what = what;
    return what ? ERR_CORRUPT : OK;
}

/* ---- derived state ---- */

static void load_index_noderole(struct core *c, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(c, ix);
    node_insert_noderole(c, ix);
    node_derive(c, nr->node)->counts[nr->state]++;
    struct deployment *d = deployment_derive(c, nr->deployment);
    d->counts[nr->state]++;
    d->reruns += nr->rerun;
    d->removing += nr->removing;
    ids_insert(c, &deployment_role_derive(c, nr->dr)->noderoles, TABLE_NODEROLE, ix.v);
    d->unproposed += noderole_has_unproposed(nr);
    defaults_count(c, ix, true);
}

/* A run with an attempt number has started before: it is the live run of its noderole, also if it
 * is QUEUED again after parking. Other QUEUED runs are only enqueued. */
static void load_index_run(struct core *c, run_ix ix)
{
    const struct run *run = run_at(c, ix);
    const bool holds = run->state == RUN_RUNNING || run->state == RUN_STOPPING;
    if (holds)
        vars_edit(c)->busy[run->queue]++;
    if (holds && run->node.v)
        node_derive(c, run->node)->run = ix;
    if (run->state == RUN_QUEUED)
        ids_insert(c, &node_derive(c, run->node)->queued, TABLE_RUN, ix.v);
    if (run->noderole.v && (run->state != RUN_QUEUED || run->attempt))
        noderole_derive(c, run->noderole)->run = ix;
    else if (run->noderole.v)
        noderole_derive(c, run->noderole)->queued = ix;
}

/* Update the lists and counts of the rows that a new row refers to; these are loaded already. */
static void load_index_object(struct core *c, enum table table, uint32_t ix)
{
    if (table == TABLE_DEPLOYMENT_ROLE) {
        const struct deployment_role *dr = deployment_role_at(c, (deployment_role_ix){ix});
        struct deployment *d = deployment_derive(c, dr->deployment);
        ids_insert(c, &d->roles, TABLE_DEPLOYMENT_ROLE, ix);
        d->proposed_roles += dr->proposed;
        ids_insert(c, &role_derive(c, dr->role)->deployed, TABLE_DEPLOYMENT_ROLE, ix);
    } else if (table == TABLE_NODEROLE) {
        load_index_noderole(c, (noderole_ix){ix});
    } else if (table == TABLE_RUN) {
        load_index_run(c, (run_ix){ix});
    } else if (table == TABLE_HAMMER) {
        const node_ix n = hammer_at(c, (hammer_ix){ix})->node;
        ids_insert(c, &node_derive(c, n)->hammers, TABLE_HAMMER, ix);
    } else if (table == TABLE_TOKEN) {
        token_index(c, (token_ix){ix});
    } else if (table == TABLE_HOST_KEY) {
        host_key_index(c, (host_key_ix){ix});
    } else if (table == TABLE_NETWORK_RANGE) {
        network_range_index(c, (network_range_ix){ix});
    } else if (table == TABLE_NETWORK_ROUTER) {
        network_router_index(c, (network_router_ix){ix});
    } else if (table == TABLE_NETWORK_ALLOCATION) {
        network_allocation_index(c, (network_allocation_ix){ix});
    } else if (table == TABLE_LEASE) {
        lease_index(c, (lease_ix){ix});
    } else if (table == TABLE_NIC) {
        nic_index(c, (nic_ix){ix});
    } else if (table == TABLE_DNS_NAME_FILTER) {
        dns_name_filter_index(c, (dns_name_filter_ix){ix});
        if (dns_name_filter_at(c, (dns_name_filter_ix){ix})->deleting)
            deletions_index(c, table, ix);
    } else if (table == TABLE_NETWORK) {
        if (network_at(c, (network_ix){ix})->deleting)
            deletions_index(c, table, ix);
    } else if (table == TABLE_BOOT_DUE) {
        boot_due_index(c, (boot_due_ix){ix});
    } else if (table == TABLE_DNS_NAME_ENTRY) {
        dns_name_entry_index(c, (dns_name_entry_ix){ix});
    } else if (table == TABLE_NODE) {
        if (node_at(c, (node_ix){ix})->admin)
            ids_insert(c, &vars_edit(c)->admins, TABLE_NODE, ix);
    } else if (table == TABLE_OUTBOX) {
        const struct outbox *row = outbox_at(c, (outbox_ix){ix});
        const noderole_ix nr =
            row->object == TABLE_NODEROLE ? noderole_by_id(c, row->object_id) : (noderole_ix){0};
        if (nr.v)
            noderole_derive(c, nr)->hooks_pending_count++;
    } else if (table == TABLE_DEPLOYMENT) {
        const deployment_ix parent = deployment_at(c, (deployment_ix){ix})->parent;
        if (parent.v)
            deployment_derive(c, parent)->child_count++;
        vars_edit(c)->rerunning += deployment_at(c, (deployment_ix){ix})->rerunning;
    }
}

static bool load_resolve_deployment(struct core *c, deployment_ix ix)
{
    struct deployment *d = deployment_derive(c, ix);
    d->head = snapshot_by_id(c, d->load_head_id);
    d->phantom = node_by_id(c, d->load_phantom_id);
    if (!d->head.v || !d->phantom.v || snapshot_at(c, d->head)->deployment.v != ix.v)
        return false;
    d->committed = snapshot_at(c, d->head)->state == SNAPSHOT_COMMITTED;
    return true;
}

/* Resolve the parents of barclamps. False if one does not exist, or the parents form a cycle. A
 * barclamp may be its own parent. */
static bool load_resolve_barclamps(struct core *c)
{
    const struct pool *rows = &c->tables[TABLE_BARCLAMP].pool;
    for (uint32_t ix = pool_next(rows, 0); ix; ix = pool_next(rows, ix)) {
        struct barclamp *row = barclamp_derive(c, (barclamp_ix){ix});
        row->parent = barclamp_by_id(c, row->load_parent_id);
        if (row->load_parent_id && !row->parent.v)
            return false;
    }
    for (uint32_t ix = pool_next(rows, 0); ix; ix = pool_next(rows, ix)) {
        uint32_t steps = 0, at = ix, up = barclamp_at(c, (barclamp_ix){ix})->parent.v;
        for (; up && up != at; at = up, up = barclamp_at(c, (barclamp_ix){up})->parent.v)
            if (++steps > rows->live)
                return false;
    }
    return true;
}

err core_load_end(struct core *c, int64_t mono_ms, const char **out_what)
{
    struct arena scratch = {0};
    struct outcome out = {0};
    struct effects fx = {0};
    c->mono_ms = mono_ms;
    *out_what = NULL;

    /* Resolve the references to rows of later tables. */
    if (!c->tables[TABLE_SETTINGS].pool.live || !deployment_by_id(c, 1).v ||
        c->tables[TABLE_COUNTER].pool.live != TABLE_OBJECTS)
        *out_what = "the settings, the counters or the system deployment are missing";
    if (!*out_what && !load_resolve_barclamps(c))
        *out_what = "the parent of a barclamp does not exist or is below it";
    for (uint32_t ix = pool_next(&c->tables[TABLE_DEPLOYMENT].pool, 0); ix && !*out_what;
         ix = pool_next(&c->tables[TABLE_DEPLOYMENT].pool, ix))
        if (!load_resolve_deployment(c, (deployment_ix){ix}))
            *out_what = "the head or the phantom node of a deployment does not exist";
    if (*out_what)
        return ERR_CORRUPT;

    /* Derive. roles_resolve() records problems and needs the frame of a step. Parked runs and rows
     * at the boot barrier get their full time again (ADR 0033). All nodes are put into the dirty
     * queue, because that queue is not stored. */
    c->arena = &scratch;
    c->out = &out;
    c->fx = &fx;
    network_roles_load(c);
    roles_resolve(c);
    if (refused(c))
        *out_what = "the stored roles contradict each other";
    for (uint32_t ix = pool_next(&c->tables[TABLE_RUN].pool, 0); ix;
         ix = pool_next(&c->tables[TABLE_RUN].pool, ix))
        if (run_at(c, (run_ix){ix})->state == RUN_PARKED)
            run_load_timer(c, (run_ix){ix});
    boot_load(c);
    boot_service_load(c);
    grants_load(c);
    leases_load(c);
    dns_names_load(c);
    boot_view_load(c);
    outbox_load_probes(c);
    anneal_enqueue_all_nodes(c);
    c->arena = NULL;
    c->out = NULL;
    c->fx = NULL;

    /* Check. Resolving roles must not have changed a stored field, such as a cohort. */
    if (!*out_what && core_changed(c))
        *out_what = "the stored cohorts of roles are wrong";
    if (!*out_what)
        *out_what = core_check(c, &scratch);
    c->vars.digest = core_store_row_hashes(c);
    arena_fini(&scratch);
    return *out_what ? ERR_CORRUPT : OK;
}
