#include "base/containers/sort.h"
#include "core/network/network_private.h"

/* Read access for modules outside the core (core.h). The file owns nothing, no function changes a
 * row, and no order of calls matters.
 *
 * Callers address objects by id and never see row indices, which are reused after a removal. Lists
 * of ids are allocated in the arena of the caller. They are sorted by id, except
 * core_noderoles_of(), whose list is sorted by cohort (depth in the role graph), then id.
 *
 * Failure. An id or name that does not exist gives false, 0 or an empty list. A table that is not
 * an object table is a bug of the caller and aborts. */

bool core_record(const struct core *c, enum table table, int64_t id, struct record *out_record)
{
    must(table < TABLE_OBJECTS);
    const uint32_t ix = id > 0 ? omap_find(&c->tables[table].by_id, (uint64_t)id) : 0;
    if (ix)
        record_of_row(c, table, ix, out_record);
    return ix != 0;
}

bool core_last_turn(const struct core *c, enum table table, int64_t id, int64_t *out_turn)
{
    must(table < TABLE_OBJECTS);
    const uint32_t ix = id > 0 ? omap_find(&c->tables[table].by_id, (uint64_t)id) : 0;
    const struct object *o = ix ? pool_at(&c->tables[table].pool, ix) : NULL;
    /* A dirty row has changed since the last collect and gets its turn at the next one. */
    if (!o || o->row.flags & ROW_DIRTY)
        return false;
    *out_turn = o->turn;
    return true;
}

int64_t core_next_id(const struct core *c, enum table table, int64_t after)
{
    uint64_t id;
    uint32_t ix;
    must(table < TABLE_OBJECTS && after >= 0);
    return omap_ceil(&c->tables[table].by_id, (uint64_t)after + 1, &id, &ix) ? (int64_t)id : 0;
}

uint32_t core_count(const struct core *c, enum table table)
{
    must(table < TABLE_OBJECTS);
    return c->tables[table].pool.live;
}

/* The admin node with the smallest id; 0 = none. */
static int64_t query_first_admin(const struct core *c)
{
    for (uint32_t ix = core_next_row(c, TABLE_NODE, 0); ix;
         ix = core_next_row(c, TABLE_NODE, node_at(c, (node_ix){ix})->o.id))
        if (node_at(c, (node_ix){ix})->admin)
            return node_at(c, (node_ix){ix})->o.id;
    return 0;
}

/* The key of a group is category/name. A name without a category refers to the oldest group of that
 * name. */
static int64_t query_group_by_name(const struct core *c, struct str name)
{
    for (uint32_t ix = core_next_row(c, TABLE_GROUP, 0); ix;
         ix = core_next_row(c, TABLE_GROUP, group_at(c, (group_ix){ix})->o.id))
        if (str_eq_nocase(text_of(c, group_at(c, (group_ix){ix})->name), name))
            return group_at(c, (group_ix){ix})->o.id;
    return 0;
}

/* Two short forms precede the index of names: a group without its category, and "admin". */
int64_t core_find(const struct core *c, enum table table, struct str name)
{
    if (table == TABLE_GROUP && str_find(name, '/', 0) == name.len)
        return query_group_by_name(c, name);
    if (table == TABLE_NODE && str_eq(name, STR("admin")))
        return query_first_admin(c);
    if (table == TABLE_NETWORK_RANGE)
        return network_range_find_id(c, name);
    const uint32_t ix = name_find(c, table, name);
    return ix ? ((const struct object *)pool_at(&c->tables[table].pool, ix))->id : 0;
}

int64_t core_noderole(const struct core *c, int64_t node_id, int64_t role_id)
{
    const node_ix n = node_by_id(c, node_id);
    const role_ix r = role_by_id(c, role_id);
    const noderole_ix nr = n.v && r.v ? noderole_find(c, n, r) : (noderole_ix){0};
    return nr.v ? noderole_at(c, nr)->o.id : 0;
}

int64_t core_deployment_role(const struct core *c, int64_t deployment_id, int64_t role_id)
{
    const deployment_ix d = deployment_by_id(c, deployment_id);
    const role_ix r = role_by_id(c, role_id);
    const deployment_role_ix dr =
        d.v && r.v ? deployment_role_find(c, d, r) : (deployment_role_ix){0};
    return dr.v ? deployment_role_at(c, dr)->o.id : 0;
}

static int64_t *query_noderole_ids(const struct core *c, const struct vec *v, struct arena *a,
                                   uint32_t *out_count)
{
    int64_t *ids = arena_array(a, int64_t, v->count + 1);
    for (uint32_t i = 0; i < v->count; i++)
        ids[i] = noderole_at(c, (noderole_ix){vec_at(c, v, i)})->o.id;
    *out_count = v->count;
    return ids;
}

int64_t *core_parents(const struct core *c, int64_t noderole_id, struct arena *a,
                      uint32_t *out_count)
{
    static const struct vec none = {0};
    const noderole_ix nr = noderole_by_id(c, noderole_id);
    return query_noderole_ids(c, nr.v ? &noderole_at(c, nr)->parents : &none, a, out_count);
}

int64_t *core_children(const struct core *c, int64_t noderole_id, struct arena *a,
                       uint32_t *out_count)
{
    static const struct vec none = {0};
    const noderole_ix nr = noderole_by_id(c, noderole_id);
    return query_noderole_ids(c, nr.v ? &noderole_at(c, nr)->children : &none, a, out_count);
}

int64_t *core_noderoles_of(const struct core *c, int64_t node_id, struct arena *a,
                           uint32_t *out_count)
{
    static const struct vec none = {0};
    const node_ix n = node_by_id(c, node_id);
    return query_noderole_ids(c, n.v ? &node_at(c, n)->noderoles : &none, a, out_count);
}

/* What makes an allocation the preferred address of its node, lowest first: networks of the
 * category admin before the network `unmanaged`, IPv4 before IPv6, then the order of the network,
 * its id and the id of the allocation. Other networks are not used: the daemon may have no route
 * to them. */
struct query_address_rank {
    uint32_t place, family, order;
    int64_t network_id, id;
};

enum { PLACE_ADMIN, PLACE_UNMANAGED, PLACE_NONE };

static struct query_address_rank query_rank_address(const struct core *c, network_allocation_ix ix)
{
    const struct network_allocation *row = network_allocation_at(c, ix);
    const struct network *network = network_at(c, row->network);
    return (struct query_address_rank){
        .place = str_eq(text_of(c, network->category), STR("admin"))   ? PLACE_ADMIN
                 : str_eq(text_of(c, network->name), STR("unmanaged")) ? PLACE_UNMANAGED
                                                                       : PLACE_NONE,
        .family = row->at.ip.family == IP_V6,
        .order = network->order,
        .network_id = network->o.id,
        .id = row->o.id,
    };
}

static bool query_rank_is_lower(const struct query_address_rank *a,
                                const struct query_address_rank *b)
{
    if (a->place != b->place)
        return a->place < b->place;
    if (a->family != b->family)
        return a->family < b->family;
    if (a->order != b->order)
        return a->order < b->order;
    return a->network_id != b->network_id ? a->network_id < b->network_id : a->id < b->id;
}

struct str core_node_address(const struct core *c, int64_t node_id, struct arena *a)
{
    const node_ix n = node_by_id(c, node_id);
    struct query_address_rank best = {.place = PLACE_NONE};
    network_allocation_ix found = {0};
    const uint32_t count = n.v ? node_at(c, n)->allocations.count : 0;
    for (uint32_t i = 0; i < count; i++) {
        const network_allocation_ix ix = {vec_at(c, &node_at(c, n)->allocations, i)};
        const struct query_address_rank rank = query_rank_address(c, ix);
        if (rank.place == PLACE_NONE || (found.v && !query_rank_is_lower(&rank, &best)))
            continue;
        best = rank;
        found = ix;
    }
    if (found.v)
        return ip_format_address(a, network_allocation_at(c, found)->at.ip);
    return n.v ? str_copy(a, text_of(c, node_at(c, n)->name)) : STR("");
}

int64_t *core_hammers_of(const struct core *c, int64_t node_id, struct arena *a,
                         uint32_t *out_count)
{
    const node_ix n = node_by_id(c, node_id);
    const uint32_t count = n.v ? node_at(c, n)->hammers.count : 0;
    int64_t *ids = arena_array(a, int64_t, count + 1);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = hammer_at(c, (hammer_ix){vec_at(c, &node_at(c, n)->hammers, i)})->o.id;
    *out_count = count;
    return ids;
}

int64_t *core_nodes_of_group(const struct core *c, int64_t group_id, struct arena *a,
                             uint32_t *out_count)
{
    const group_ix g = {group_id > 0 ? omap_find(&c->tables[TABLE_GROUP].by_id, (uint64_t)group_id)
                                     : 0};
    const uint32_t count = g.v ? group_at(c, g)->nodes.count : 0;
    int64_t *ids = arena_array(a, int64_t, count + 1);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = node_at(c, (node_ix){vec_at(c, &group_at(c, g)->nodes, i)})->o.id;
    *out_count = count;
    return ids;
}

static int query_cmp_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t *core_noderoles_in(const struct core *c, int64_t deployment_id, struct arena *a,
                           uint32_t *out_count)
{
    static const struct vec none = {0};
    const deployment_ix d = deployment_by_id(c, deployment_id);
    const struct vec *roles = d.v ? &deployment_at(c, d)->roles : &none;
    uint32_t all = 0, count = 0;
    for (uint32_t i = 0; i < roles->count; i++)
        all += deployment_role_at(c, (deployment_role_ix){vec_at(c, roles, i)})->noderoles.count;
    int64_t *ids = arena_array(a, int64_t, all + (size_t)1);
    for (uint32_t i = 0; i < roles->count; i++) {
        const struct vec *members =
            &deployment_role_at(c, (deployment_role_ix){vec_at(c, roles, i)})->noderoles;
        for (uint32_t k = 0; k < members->count; k++)
            ids[count++] = noderole_at(c, (noderole_ix){vec_at(c, members, k)})->o.id;
    }
    /* The noderoles were collected role by role. */
    sort_items(ids, count, sizeof *ids, query_cmp_ids, a);
    *out_count = count;
    return ids;
}

void core_count_noderoles(const struct core *c, int64_t deployment_id,
                          uint32_t out_counts[NODEROLE_STATE_COUNT])
{
    const deployment_ix d = deployment_by_id(c, deployment_id);
    for (uint32_t state = 0; state < NODEROLE_STATE_COUNT; state++)
        out_counts[state] = d.v ? deployment_at(c, d)->counts[state] : 0;
}

/* System nodes are not machines and are not counted. */
void core_count_nodes(const struct core *c, uint32_t out_counts[NODEROLE_STATE_COUNT])
{
    const struct pool *nodes = &c->tables[TABLE_NODE].pool;
    memset(out_counts, 0, NODEROLE_STATE_COUNT * sizeof *out_counts);
    for (uint32_t ix = 1; ix <= nodes->high; ix++)
        if (pool_is_live(nodes, ix) && !node_at(c, (node_ix){ix})->system)
            out_counts[node_state(c, (node_ix){ix})]++;
}

bool core_is_in_group(const struct core *c, int64_t group_id, int64_t node_id)
{
    const group_ix g = group_by_id(c, group_id);
    const node_ix n = node_by_id(c, node_id);
    return g.v && n.v && ids_has(c, &group_at(c, g)->nodes, TABLE_NODE, n.v);
}

int64_t *core_tokens_of(const struct core *c, enum table owner, int64_t owner_id, struct arena *a,
                        uint32_t *out_count)
{
    static const struct vec none = {0};
    const user_ix u = owner == TABLE_USER ? user_by_id(c, owner_id) : (user_ix){0};
    const node_ix n = owner == TABLE_NODE ? node_by_id(c, owner_id) : (node_ix){0};
    const struct vec *tokens = u.v ? &user_at(c, u)->tokens : n.v ? &node_at(c, n)->tokens : &none;
    int64_t *ids = arena_array(a, int64_t, tokens->count + 1);
    for (uint32_t i = 0; i < tokens->count; i++)
        ids[i] = token_at(c, (token_ix){vec_at(c, tokens, i)})->o.id;
    *out_count = tokens->count;
    return ids;
}
