#include "core/core.h"

#include "base/mem/pages.h"
#include "core/boot/boot_changes.h"
#include "core/core_private.h"

/* Creation and destruction of a core, and the rows of a new installation. A core owns all its
 * memory (pages for itself, its pools, its heap and its lists) and frees it in core_free().
 *
 * Order: pools and maps are initialized after the undo log and the heap, which they refer to. In a
 * new installation the counters come first, because every other row takes its id from one.
 *
 * Failure: if the system has no memory, the program aborts. A new installation cannot be refused;
 * that is asserted. */

struct table_limits {
    uint32_t row_size; /* bytes */
    uint32_t max;      /* rows */
};

static const struct table_limits table_limits[TABLE_OBJECTS] = {
    [TABLE_SETTINGS] = {sizeof(struct settings), 1},
    [TABLE_COUNTER] = {sizeof(struct counter), TABLE_COUNT},
    [TABLE_BARCLAMP] = {sizeof(struct barclamp), BARCLAMPS_MAX},
    [TABLE_JIG] = {sizeof(struct jig), JIGS_MAX},
    [TABLE_HAMMER_KIND] = {sizeof(struct hammer_kind), JIGS_MAX},
    [TABLE_ROLE] = {sizeof(struct role), ROLES_MAX},
    [TABLE_ATTRIB] = {sizeof(struct attrib), ATTRIBS_MAX},
    [TABLE_DEPLOYMENT] = {sizeof(struct deployment), DEPLOYMENTS_MAX},
    [TABLE_SNAPSHOT] = {sizeof(struct snapshot), SNAPSHOTS_MAX},
    [TABLE_DEPLOYMENT_ROLE] = {sizeof(struct deployment_role), DEPLOYMENT_ROLES_MAX},
    [TABLE_NODE] = {sizeof(struct node), NODES_MAX},
    [TABLE_NODEROLE] = {sizeof(struct noderole), NODEROLES_MAX},
    [TABLE_RUN] = {sizeof(struct run), RUNS_MAX},
    [TABLE_HAMMER] = {sizeof(struct hammer), HAMMERS_MAX},
    [TABLE_GROUP] = {sizeof(struct group), GROUPS_MAX},
    [TABLE_USER] = {sizeof(struct user), USERS_MAX},
    [TABLE_TOKEN] = {sizeof(struct token), TOKENS_MAX},
    [TABLE_OUTBOX] = {sizeof(struct outbox), OUTBOX_MAX},
    [TABLE_HOST_KEY] = {sizeof(struct host_key), HOST_KEYS_MAX},
    [TABLE_NETWORK] = {sizeof(struct network), NETWORKS_MAX},
    [TABLE_NETWORK_RANGE] = {sizeof(struct network_range), NETWORK_RANGES_MAX},
    [TABLE_NETWORK_ROUTER] = {sizeof(struct network_router), NETWORKS_MAX},
    [TABLE_NETWORK_ALLOCATION] = {sizeof(struct network_allocation), ALLOCATIONS_MAX},
    [TABLE_LEASE] = {sizeof(struct lease), LEASES_MAX},
    [TABLE_NIC] = {sizeof(struct nic), NICS_MAX},
    [TABLE_DNS_NAME_FILTER] = {sizeof(struct dns_name_filter), NAME_FILTERS_MAX},
    [TABLE_DNS_NAME_ENTRY] = {sizeof(struct dns_name_entry), NAME_ENTRIES_MAX},
    [TABLE_BOOTENV] = {sizeof(struct bootenv), BOOTENVS_MAX},
    [TABLE_BOOT_DUE] = {sizeof(struct boot_due), BOOT_DUE_MAX},
};

struct core *core_new(void)
{
    struct core *c = sys_pages_get(sizeof *c);
    c->deletion_rows = DELETION_ROWS;
    c->boot_part = BOOT_DUE_STAGED_MAX;
    undo_init(&c->undo);
    heap_init(&c->heap, &c->undo);
    blobs_init(&c->blobs, &c->heap, &c->undo, BLOBS_MAX);
    for (uint32_t t = 0; t < TABLE_OBJECTS; t++) {
        pool_init(&c->tables[t].pool, &c->undo, table_limits[t].row_size, table_limits[t].max);
        omap_init(&c->tables[t].by_id, &c->heap);
        omap_init(&c->tables[t].by_name, &c->heap);
    }
    for (uint32_t q = 0; q < QUEUE_COUNT; q++)
        omap_init(&c->waiting[q], &c->heap);
    omap_init(&c->timers, &c->heap);
    omap_init(&c->barrier, &c->heap);
    omap_init(&c->installs, &c->heap);
    omap_init(&c->boot_due, &c->heap);
    omap_init(&c->boot_calls, &c->heap);
    omap_init(&c->attachers, &c->heap);
    omap_init(&c->addresses, &c->heap);
    omap_init(&c->range_rows, &c->heap);
    omap_init(&c->lease_ends, &c->heap);
    omap_init(&c->macs, &c->heap);
    omap_init(&c->name_rows, &c->heap);
    omap_init(&c->name_nodes, &c->heap);
    return c;
}

void core_free(struct core *c)
{
    if (!c)
        return;
    for (uint32_t t = 0; t < TABLE_OBJECTS; t++)
        pool_fini(&c->tables[t].pool);
    blobs_fini(&c->blobs);
    heap_fini(&c->heap);
    undo_fini(&c->undo);
    list_fini(&c->dirty, sizeof(uint64_t));
    list_fini(&c->relations, sizeof(struct relation_change));
    list_fini(&c->archives, sizeof(struct archived));
    list_fini(&c->visited, sizeof(uint32_t));
    boot_view_fini(c);
    sys_pages_put(c, sizeof *c);
}

void core_set_deletion_rows(struct core *c, uint32_t rows)
{
    must(rows > 0);
    c->deletion_rows = rows;
}

void core_set_boot_part(struct core *c, uint32_t machines)
{
    must(machines > 0);
    c->boot_part = machines;
}

bool core_needs_reload(const struct core *c)
{
    return c->undo.stamp > UINT32_MAX / 2 || c->step_number > UINT32_MAX / 2;
}

/* ---- a new installation ---- */

void core_bootstrap(struct core *c, int64_t now_ms)
{
    struct arena scratch = {0};
    struct outcome out = {0};
    struct effects fx = {0};
    const struct command bootstrap = {.actor = STR("founding")};

    /* Rows are added outside of a step, so set up what refuse() and effect_add() need. */
    must(c->tables[TABLE_COUNTER].pool.live == 0);
    c->now_ms = now_ms;
    c->arena = &scratch;
    c->out = &out;
    c->fx = &fx;
    c->command = &bootstrap;

    /* Counters come first: every other row takes its id from one. */
    for (uint32_t t = 0; t < TABLE_OBJECTS; t++)
        core_add_row_with_id(c, TABLE_COUNTER, (int64_t)t + 1);

    const settings_ix s = settings_add(c);
    struct settings *settings = settings_edit(c, s);
    settings->pool_size[QUEUE_NORMAL] = POOL_NORMAL_DEFAULT;
    settings->nics_made = true;          /* there are no nodes */
    settings->host_keys_imported = true; /* there are no nodes that an old known_hosts file names */
    settings->pool_size[QUEUE_HIGH] = POOL_HIGH_DEFAULT;
    settings->keep_runs = KEEP_RUNS_DEFAULT;
    settings->run_deadline_s = RUN_DEADLINE_S_DEFAULT;
    settings->barrier_s = BARRIER_S_DEFAULT;
    settings->install_wait_s = INSTALL_WAIT_S_DEFAULT;

    const group_ix unsorted = group_add(c);
    struct group *group = group_edit(c, unsorted);
    put_text(c, &group->name, STR("not_set"));
    put_text(c, &group->category, STR("ui"));
    put_text(c, &group->description, STR("nodes in no other group"));
    group->order = 10000;
    name_add(c, TABLE_GROUP, unsorted.v);

    const deployment_ix system =
        deployment_make(c, STR("system"), STR("discovery and bootstrap"), (deployment_ix){0}, true);
    must(system.v && deployment_at(c, system)->o.id == 1 && !refused(c));
    boot_view_settle(c);

    c->arena = NULL;
    c->out = NULL;
    c->fx = NULL;
    c->command = NULL;
    arena_fini(&scratch);
}
