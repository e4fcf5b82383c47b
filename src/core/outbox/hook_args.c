#include "core/boot/boot_service.h"
#include "core/boot/boot_changes.h"
#include "core/data/data.h"
#include "core/network/network_private.h"
#include "core/machine/grants.h"

#include "base/containers/sort.h"

/* The arguments of hooks and of runs of role code (docs/hooks.md): the object of the call and its
 * context as canonical JSON, as they are at the time of the call. The file owns no state and
 * changes no row.
 *
 * Order: the text is written directly, key by key in sorted order, and stored documents are copied
 * into it: building a tree would parse and write large documents again. args_key() asserts the
 * order of keys, so a field that is added at the wrong place fails in tests.
 *
 * Failure: if the object was deleted, there are no arguments and the caller does not call the
 * hook; delete hooks get the id and the name, or a description, instead. A document that would
 * exceed the depth limit inside the arguments is replaced by {}. */

enum {
    NODEROLES_LISTED_MAX = 100, /* noderoles of the role in the context                 */
    LEVELS_ABOVE = 4,           /* levels of the arguments around a document inside them */
};

/* The JSON text that is being written. */
struct writer {
    const struct core *c;
    struct arena *arena;
    struct buf b;
    struct str last; /* last key of the current object; "" at its beginning */
};

/* ---- JSON writer ---- */

static void args_begin_object(struct writer *w)
{
    buf_put_c(&w->b, '{');
    w->last = STR("");
}

static void args_end_object(struct writer *w, const char *key_of_this)
{
    buf_put_c(&w->b, '}');
    w->last = str_from(key_of_this);
}

static void args_key(struct writer *w, const char *name)
{
    const struct str k = str_from(name);
    must(str_cmp(w->last, k) < 0);
    if (w->last.len)
        buf_put_c(&w->b, ',');
    json_write_string(&w->b, k);
    buf_put_c(&w->b, ':');
    w->last = k;
}

static void args_put_string(struct writer *w, const char *name, struct str text)
{
    args_key(w, name);
    json_write_string(&w->b, text);
}

static void args_put_number(struct writer *w, const char *name, int64_t value)
{
    args_key(w, name);
    buf_put_i64(&w->b, value);
}

static void args_put_bool(struct writer *w, const char *name, bool value)
{
    args_key(w, name);
    buf_put_z(&w->b, value ? "true" : "false");
}

/* A document that is too deep to be parsed inside the arguments is written as {}. */
static void args_put_tree(struct writer *w, const char *name, const struct json *tree)
{
    args_key(w, name);
    if (json_depth(tree) <= JSON_DEPTH_MAX - LEVELS_ABOVE)
        json_write_to(&w->b, tree);
    else
        buf_put_z(&w->b, "{}");
}

static void args_put_document(struct writer *w, const char *name, struct str doc)
{
    args_key(w, name);
    if (json_text_depth(doc) <= JSON_DEPTH_MAX - LEVELS_ABOVE)
        buf_put_str(&w->b, doc);
    else
        buf_put_z(&w->b, "{}");
}

/* A stored document, which is canonical; handle 0 is written as `empty`. */
static void args_put_stored(struct writer *w, const char *name, doc_h doc, const char *empty)
{
    args_put_document(w, name, doc ? doc_of(w->c, doc) : str_from(empty));
}

/* The discovery data of a node with its hint, like data_node(), but merged as text, because both
 * documents can be long. */
static void args_put_node_data(struct writer *w, const struct node *node)
{
    const struct str found = doc_of(w->c, node->discovery);
    const struct str hint = doc_of(w->c, node->hint);
    args_put_document(w, "data",
                      json_text_put(w->arena, found, hint.at[0] == '{' ? hint : STR("{}"), false));
}

/* ---- networks ---- */

static void args_put_interface(struct writer *w, const struct interface_settings *s)
{
    args_put_number(w, "team_mode", s->team_mode);
    args_put_bool(w, "use_bridge", s->use_bridge);
    args_put_bool(w, "use_team", s->use_team);
    args_put_bool(w, "use_vlan", s->use_vlan);
}

static void args_put_range(struct writer *w, network_range_ix ix)
{
    const struct network_range *range = network_range_at(w->c, ix);
    const struct interface_settings s = network_range_interface(w->c, ix);
    args_begin_object(w);
    args_put_string(w, "conduit", s.conduit);
    args_put_string(w, "first", text_of(w->c, range->first));
    args_put_number(w, "id", range->o.id);
    args_put_string(w, "last", text_of(w->c, range->last));
    args_put_string(w, "name", text_of(w->c, range->name));
    args_put_bool(w, "overlap", range->overlap);
    args_put_interface(w, &s);
    args_put_number(w, "vlan", s.vlan);
    buf_put_c(&w->b, '}');
}

static void args_put_network(struct writer *w, network_ix ix)
{
    const struct network *network = network_at(w->c, ix);
    const struct interface_settings s = network_interface(w->c, ix);
    args_begin_object(w);
    args_put_string(w, "category", text_of(w->c, network->category));
    args_put_string(w, "conduit", s.conduit);
    args_put_bool(w, "configure", network->configure);
    args_put_string(w, "deployment", text_of(w->c, deployment_at(w->c, network->deployment)->name));
    args_put_string(w, "description", text_of(w->c, network->description));
    args_put_string(w, "group", text_of(w->c, network->group));
    args_put_number(w, "id", network->o.id);
    args_put_string(w, "name", text_of(w->c, network->name));
    args_put_number(w, "order", network->order);
    args_put_string(w, "pbr", text_of(w->c, network->pbr));
    args_key(w, "ranges");
    buf_put_c(&w->b, '[');
    for (uint32_t i = 0; i < network->ranges.count; i++) {
        if (i)
            buf_put_c(&w->b, ',');
        args_put_range(w, (network_range_ix){vec_at(w->c, &network->ranges, i)});
    }
    buf_put_c(&w->b, ']');
    w->last = STR("ranges");
    if (network->router.v) {
        const struct network_router *router = network_router_at(w->c, network->router);
        args_key(w, "router");
        args_begin_object(w);
        args_put_string(w, "address", text_of(w->c, router->address));
        args_put_number(w, "pref", router->pref);
        args_end_object(w, "router");
    }
    args_put_interface(w, &s);
    args_put_string(w, "v6prefix", text_of(w->c, network->v6prefix));
    args_put_number(w, "vlan", s.vlan);
    buf_put_c(&w->b, '}');
}

/* One address with its network and range; in the arguments of a noderole also with the interface
 * settings of the range. */
static void args_put_address(struct writer *w, network_allocation_ix ix, bool with_interface)
{
    const struct network_allocation *row = network_allocation_at(w->c, ix);
    const struct interface_settings s = network_range_interface(w->c, row->range);
    const struct network *network = network_at(w->c, row->network);
    args_begin_object(w);
    args_put_string(w, "address", text_of(w->c, row->address));
    args_put_string(w, "category", text_of(w->c, network->category));
    if (with_interface)
        args_put_string(w, "conduit", s.conduit);
    args_put_number(w, "id", row->o.id);
    args_put_string(w, "network", text_of(w->c, network->name));
    args_put_number(w, "network_id", network->o.id);
    args_put_string(w, "range", text_of(w->c, network_range_at(w->c, row->range)->name));
    if (with_interface) {
        args_put_interface(w, &s);
        args_put_number(w, "vlan", s.vlan);
    }
    buf_put_c(&w->b, '}');
}

/* The addresses of a node in the order of their ids: all, or those in one network. */
static void args_put_addresses(struct writer *w, node_ix n, network_ix only)
{
    const struct vec *all = &node_at(w->c, n)->allocations;
    bool any = false;
    args_key(w, "addresses");
    buf_put_c(&w->b, '[');
    for (uint32_t i = 0; i < all->count; i++) {
        const network_allocation_ix a = {vec_at(w->c, all, i)};
        if (only.v && network_allocation_at(w->c, a)->network.v != only.v)
            continue;
        if (any)
            buf_put_c(&w->b, ',');
        args_put_address(w, a, only.v != 0);
        any = true;
    }
    buf_put_c(&w->b, ']');
    w->last = STR("addresses");
}

/* The hardware addresses of a node, in the order of their rows. */
static void args_put_macs(struct writer *w, node_ix n)
{
    const struct vec *nics = &node_at(w->c, n)->nics;
    args_key(w, "macs");
    buf_put_c(&w->b, '[');
    for (uint32_t i = 0; i < nics->count; i++) {
        const struct nic *nic = nic_at(w->c, (nic_ix){vec_at(w->c, nics, i)});
        if (i)
            buf_put_c(&w->b, ',');
        json_write_string(&w->b, nic_format_mac(w->arena, (uint64_t)nic->mac));
    }
    buf_put_c(&w->b, ']');
    w->last = STR("macs");
}

static void args_put_deleted_network(struct writer *w, const struct outbox_record *row)
{
    args_begin_object(w);
    args_put_bool(w, "gone", true);
    args_put_number(w, "id", row->object_id);
    args_put_string(w, "name", row->detail);
    /* As for a deleted node: another network may have the name now. */
    args_put_bool(w, "taken", name_find(w->c, TABLE_NETWORK, row->detail) != 0);
    buf_put_c(&w->b, '}');
}

/* The noderole of the role on the node of an allocation, if it is bound. */
static struct json *args_bound_noderole(struct writer *w, int64_t role_id, int64_t node_id)
{
    const node_ix n = node_by_id(w->c, node_id);
    const role_ix r = role_by_id(w->c, role_id);
    const noderole_ix nr = n.v && r.v ? noderole_find(w->c, n, r) : (noderole_ix){0};
    if (!nr.v)
        return NULL;
    struct json *o = json_make(w->arena, JSON_OBJECT);
    const struct str state = str_from(noderole_state_name(noderole_at(w->c, nr)->state));
    json_set(o, STR("id"), json_make_i64(w->arena, noderole_at(w->c, nr)->o.id));
    json_set(o, STR("state"), json_make_string(w->arena, state));
    return o;
}

/* The list of a batch (network_hooks.c): ids of created allocations, or descriptions of deleted
 * ones; null at its end means that there are more. */
static void args_put_allocations(struct writer *w, const struct outbox_record *row)
{
    const struct json *listed = doc_tree(w->arena, row->detail);
    struct json *list = json_make(w->arena, JSON_ARRAY);
    bool has_more = false;
    for (const struct json *item = listed->first; item; item = item->next) {
        int64_t id, node_id;
        struct json *o = item->kind == JSON_OBJECT ? json_clone(w->arena, item) : NULL;
        if (json_as_i64(item, &id)) {
            const network_allocation_ix ix = network_allocation_by_id(w->c, id);
            o = ix.v ? allocation_describe(w->c, ix, w->arena) : NULL;
        }
        has_more = has_more || item->kind == JSON_NULL;
        const struct json *member = o ? json_get(o, STR("node_id")) : NULL;
        if (!member || !json_as_i64(member, &node_id))
            continue; /* it was deleted since */
        struct json *nr = args_bound_noderole(w, row->role_id, node_id);
        if (nr)
            json_set(o, STR("noderole"), nr);
        json_append(list, o);
    }
    args_begin_object(w);
    args_put_tree(w, "allocations", list);
    args_put_bool(w, "more", has_more);
    buf_put_c(&w->b, '}');
}

/* ---- nodes ---- */

/* {"role": "state"} of the noderoles of the node, also by the names of roles that they provide. */
static struct json *args_roles_of_node(const struct writer *w, node_ix n)
{
    struct json *roles = json_make(w->arena, JSON_OBJECT);
    const struct vec *v = &node_at(w->c, n)->noderoles;
    for (uint32_t i = 0; i < v->count; i++) {
        const struct noderole *nr = noderole_at(w->c, (noderole_ix){vec_at(w->c, v, i)});
        const struct role *role = role_at(w->c, nr->role);
        const struct str state = str_from(noderole_state_name(nr->state));
        json_set(roles, text_of(w->c, role->name), json_make_string(w->arena, state));
        for (uint32_t k = 0; k < role->provided.count; k++)
            json_set(roles, text_of(w->c, vec_at(w->c, &role->provided, k)),
                     json_make_string(w->arena, state));
    }
    return roles;
}

static void args_put_node(struct writer *w, node_ix n, bool with_roles)
{
    const struct node *node = node_at(w->c, n);
    args_begin_object(w);
    args_put_addresses(w, n, (network_ix){0});
    args_put_bool(w, "admin", node->admin);
    args_put_string(w, "admin_address", boot_first_address(w->c, n, w->arena));
    args_put_bool(w, "alive", node->alive);
    args_put_bool(w, "available", node->available);
    args_put_number(w, "boot_generation", node->boot_generation);
    args_put_string(w, "boot_problem", boot_service_failure(w->c, n, w->arena));
    args_put_bool(w, "boot_served", !boot_service_late(w->c, n, false).first.v);
    args_put_string(w, "bootenv", text_of(w->c, node->bootenv));
    args_put_node_data(w, node);
    args_put_string(w, "deployment", text_of(w->c, deployment_at(w->c, node->deployment)->name));
    args_put_number(w, "deployment_id", deployment_at(w->c, node->deployment)->o.id);
    args_put_string(w, "description", text_of(w->c, node->description));
    args_put_string(w, "grant", grant_state_text(w->c, n));
    args_put_stored(w, "hint", node->hint, "{}");
    args_put_number(w, "id", node->o.id);
    args_put_macs(w, n);
    args_put_string(w, "name", text_of(w->c, node->name));
    args_put_stored(w, "quirks", node->quirks, "[]");
    if (with_roles)
        args_put_tree(w, "roles", args_roles_of_node(w, n));
    args_put_string(w, "status", text_of(w->c, node->status));
    args_put_bool(w, "system", node->system);
    buf_put_c(&w->b, '}');
}

static void args_put_deleted_node(struct writer *w, const struct outbox_record *row)
{
    args_begin_object(w);
    args_put_bool(w, "gone", true);
    args_put_number(w, "id", row->object_id);
    args_put_string(w, "name", row->detail);
    /* Delete hooks may arrive late or twice: `taken` is true if another node has the name now, and
     * cleanup by name would affect that one. */
    args_put_bool(w, "taken", name_find(w->c, TABLE_NODE, row->detail) != 0);
    buf_put_c(&w->b, '}');
}

/* ---- noderoles ---- */

static void args_put_run(struct writer *w, run_ix ix)
{
    static const char *const states[] = {[RUN_QUEUED] = "queued",
                                         [RUN_RUNNING] = "running",
                                         [RUN_PARKED] = "parked",
                                         [RUN_STOPPING] = "stopping"};
    const struct run *run = run_at(w->c, ix);
    args_key(w, "run");
    args_begin_object(w);
    args_put_number(w, "attempt", run->attempt);
    args_put_number(w, "id", run->o.id);
    args_put_string(w, "state", str_from(states[run->state]));
    args_end_object(w, "run");
}

static void args_put_node_names(struct writer *w, const struct noderole *nr)
{
    args_put_string(w, "node", text_of(w->c, node_at(w->c, nr->node)->name));
    args_put_number(w, "node_id", node_at(w->c, nr->node)->o.id);
}

static void args_put_noderole_names(struct writer *w, const struct noderole *nr)
{
    args_put_number(w, "id", nr->o.id);
    args_put_node_names(w, nr);
}

static void args_put_parent(struct writer *w, noderole_ix ix)
{
    const struct noderole *nr = noderole_at(w->c, ix);
    args_begin_object(w);
    args_put_tree(w, "data", data_noderole(w->c, ix, true, w->arena));
    args_put_stored(w, "hint", node_at(w->c, nr->node)->hint, "{}");
    args_put_noderole_names(w, nr);
    args_put_string(w, "role", text_of(w->c, role_at(w->c, nr->role)->name));
    args_put_string(w, "state", str_from(noderole_state_name(nr->state)));
    buf_put_c(&w->b, '}');
}

static void args_put_parents(struct writer *w, const struct noderole *nr)
{
    args_key(w, "parents");
    buf_put_c(&w->b, '[');
    for (uint32_t i = 0; i < nr->parents.count; i++) {
        if (i)
            buf_put_c(&w->b, ',');
        args_put_parent(w, (noderole_ix){vec_at(w->c, &nr->parents, i)});
    }
    buf_put_c(&w->b, ']');
    w->last = STR("parents");
}

static void args_put_noderole(struct writer *w, noderole_ix ix, bool with_parents)
{
    const struct noderole *nr = noderole_at(w->c, ix);
    const run_ix run = nr->run.v ? nr->run : nr->queued;
    const network_ix network = network_by_id(w->c, role_at(w->c, nr->role)->network_id);
    args_begin_object(w);
    if (network.v)
        args_put_addresses(w, nr->node, network);
    args_put_bool(w, "available", !nr->unavailable);
    args_put_number(w, "cohort", nr->cohort);
    args_put_tree(w, "data", data_noderole(w->c, ix, true, w->arena));
    args_put_string(w, "deployment", text_of(w->c, deployment_at(w->c, nr->deployment)->name));
    args_put_number(w, "deployment_id", deployment_at(w->c, nr->deployment)->o.id);
    args_key(w, "host");
    args_put_node(w, nr->node, false);
    w->last = STR("host");
    args_put_number(w, "id", nr->o.id);
    if (network.v) {
        args_key(w, "network");
        args_put_network(w, network);
        w->last = STR("network");
    }
    args_put_node_names(w, nr);
    args_put_stored(w, "notes", nr->notes, "{}");
    if (with_parents)
        args_put_parents(w, nr);
    if (nr->state == NODEROLE_PROPOSED)
        args_put_tree(w, "proposed", data_noderole(w->c, ix, false, w->arena));
    args_put_string(w, "role", text_of(w->c, role_at(w->c, nr->role)->name));
    args_put_number(w, "role_id", role_at(w->c, nr->role)->o.id);
    if (run.v)
        args_put_run(w, run);
    args_put_number(w, "run_count", nr->run_count);
    args_put_string(w, "state", str_from(noderole_state_name(nr->state)));
    args_put_string(w, "status", text_of(w->c, nr->status));
    args_put_tree(
        w, "system",
        data_view(w->c, (struct data_owner){TABLE_NODEROLE, ix.v}, VIEW_SYSTEM, w->arena));
    args_put_stored(w, "wall", nr->wall, "{}");
    buf_put_c(&w->b, '}');
}

/* ---- deployment roles ---- */

static void args_put_deployment_role(struct writer *w, const struct outbox_record *row)
{
    const deployment_role_ix ix = deployment_role_by_id(w->c, row->object_id);
    const struct deployment_role *dr = ix.v ? deployment_role_at(w->c, ix) : NULL;
    const role_ix role = role_by_id(w->c, row->role_id);
    args_begin_object(w);
    if (dr)
        args_put_tree(w, "data", data_deployment_role(w->c, ix, true, w->arena));
    args_put_string(w, "deployment", row->detail);
    if (dr)
        args_put_number(w, "deployment_id", deployment_at(w->c, dr->deployment)->o.id);
    else
        args_put_bool(w, "gone", true);
    args_put_number(w, "id", row->object_id);
    args_put_string(w, "role", text_of(w->c, role_at(w->c, role)->name));
    args_put_number(w, "role_id", row->role_id);
    if (dr)
        args_put_stored(w, "wall", dr->wall, "{}");
    buf_put_c(&w->b, '}');
}

/* ---- context ---- */

static int args_cmp_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t *core_noderoles_of_role(const struct core *c, int64_t role_id, uint32_t max,
                                struct arena *a, uint32_t *out_count)
{
    const role_ix role = role_by_id(c, role_id);
    const uint32_t deployed = role.v ? role_at(c, role)->deployed.count : 0;
    uint32_t count = 0;
    int64_t *ids = arena_array(a, int64_t, (size_t)deployed * max + 1);
    for (uint32_t i = 0; i < deployed; i++) {
        const deployment_role_ix dr = {vec_at(c, &role_at(c, role)->deployed, i)};
        const struct vec *v = &deployment_role_at(c, dr)->noderoles;
        for (uint32_t k = 0; k < v->count && k < max; k++)
            ids[count++] = noderole_at(c, (noderole_ix){vec_at(c, v, k)})->o.id;
    }
    sort_items(ids, count, sizeof *ids, args_cmp_ids, a);
    *out_count = count < max ? count : max;
    return ids;
}

static void args_put_noderoles(struct writer *w, int64_t role_id)
{
    uint32_t count;
    const int64_t *ids =
        core_noderoles_of_role(w->c, role_id, NODEROLES_LISTED_MAX, w->arena, &count);
    args_key(w, "noderoles");
    buf_put_c(&w->b, '[');
    for (uint32_t i = 0; i < count; i++) {
        const struct noderole *nr = noderole_at(w->c, noderole_by_id(w->c, ids[i]));
        const network_ix network = network_by_id(w->c, role_at(w->c, nr->role)->network_id);
        if (i)
            buf_put_c(&w->b, ',');
        args_begin_object(w);
        if (network.v)
            args_put_addresses(w, nr->node, network);
        args_put_string(w, "deployment", text_of(w->c, deployment_at(w->c, nr->deployment)->name));
        args_put_noderole_names(w, nr);
        args_put_string(w, "state", str_from(noderole_state_name(nr->state)));
        buf_put_c(&w->b, '}');
    }
    buf_put_c(&w->b, ']');
    w->last = STR("noderoles");
}

static struct str args_context(struct writer *w, const struct outbox_record *row)
{
    const role_ix role = role_by_id(w->c, row->role_id);
    const node_ix n = row->object == TABLE_NODE ? node_by_id(w->c, row->object_id) : (node_ix){0};
    const noderole_ix own = n.v ? noderole_find(w->c, n, role) : (noderole_ix){0};
    w->b = buf_in(w->arena);
    args_begin_object(w);
    if (own.v) {
        args_key(w, "noderole");
        args_put_noderole(w, own, false);
        w->last = STR("noderole");
    }
    args_put_noderoles(w, row->role_id);
    args_key(w, "role");
    args_begin_object(w);
    args_put_number(w, "id", row->role_id);
    args_put_string(w, "name", text_of(w->c, role_at(w->c, role)->name));
    args_end_object(w, "role");
    buf_put_c(&w->b, '}');
    return buf_str(&w->b);
}

/* False if the object was deleted and this is not a delete hook. */
static bool args_put_object(struct writer *w, const struct outbox_record *row)
{
    if (row->object == TABLE_NODEROLE) {
        const noderole_ix nr = noderole_by_id(w->c, row->object_id);
        if (nr.v)
            args_put_noderole(w, nr, false);
        return nr.v != 0;
    }
    if (row->object == TABLE_NODE) {
        const node_ix n = node_by_id(w->c, row->object_id);
        if (n.v)
            args_put_node(w, n, true);
        else
            args_put_deleted_node(w, row);
        return n.v || row->hook == HOOK_NODE_DELETE;
    }
    if (row->object == TABLE_NETWORK) {
        const network_ix network = network_by_id(w->c, row->object_id);
        if (network.v)
            args_put_network(w, network);
        else
            args_put_deleted_network(w, row);
        return network.v || row->hook == HOOK_NETWORK_DELETE;
    }
    if (row->object == TABLE_DEPLOYMENT_ROLE)
        args_put_deployment_role(w, row);
    if (row->object == TABLE_NETWORK_ALLOCATION)
        args_put_allocations(w, row);
    return true;
}

bool core_hook_args(const struct core *c, const struct outbox_record *row, struct arena *a,
                    struct hook_call_args *out_facts)
{
    struct writer w = {.c = c, .arena = a, .b = buf_in(a)};
    if (!role_by_id(c, row->role_id).v || !args_put_object(&w, row))
        return false;
    out_facts->argument = buf_str(&w.b);
    out_facts->context = args_context(&w, row);
    return true;
}

bool core_run_args(const struct core *c, int64_t noderole_id, struct arena *a,
                   struct str *out_argument)
{
    const noderole_ix nr = noderole_by_id(c, noderole_id);
    if (!nr.v)
        return false;
    struct writer w = {.c = c, .arena = a, .b = buf_in(a)};
    args_put_noderole(&w, nr, true);
    *out_argument = buf_str(&w.b);
    return true;
}
