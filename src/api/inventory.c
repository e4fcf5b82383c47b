#include "api/inventory.h"

#include "api/members.h"
#include "api/route.h"
#include "core/sort.h"

/* A dynamic inventory: groups of hosts, and under _meta what is known about each, so that nobody
 * has to ask host by host. Groups are deployments (which hold each other), roles, states and our
 * own groups. Things that belong together are found by sorting pairs, not by searching. */

struct host {
    int64_t id, deployment_id;
    struct str name;
    bool alive, available;
    enum noderole_state state;
};

struct pair {
    int64_t key;
    int64_t value;
};

struct pairs {
    struct pair *at;
    uint32_t count, cap;
};

struct inventory {
    const struct core *core;
    struct arena *arena;
    struct host *hosts; /* by id */
    uint32_t host_count;
    struct pairs homes;  /* deployment -> host, by its place */
    struct pairs roles;  /* role -> host                     */
    struct pairs states; /* state -> host                    */
    struct pairs offers; /* deployment -> role               */
    struct pairs below;  /* deployment -> deployment         */
    int64_t root;        /* of what is shown; 0: everything  */
    struct buf b;
};

/* ---- pairs ---- */

static void pairs_add(struct arena *a, struct pairs *p, int64_t key, int64_t value)
{
    if (p->count == p->cap) {
        const uint32_t cap = p->cap ? p->cap * 2 : 64;
        struct pair *larger = arena_array(a, struct pair, cap);
        for (uint32_t i = 0; i < p->count; i++)
            larger[i] = p->at[i];
        p->at = larger;
        p->cap = cap;
    }
    p->at[p->count++] = (struct pair){key, value};
}

static int cmp_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

static void pairs_sort(struct arena *a, struct pairs *p)
{
    sort_items(p->at, p->count, sizeof *p->at, cmp_pairs, a);
}

/* Those with that key. */
static struct pairs pairs_of(const struct pairs *p, int64_t key)
{
    uint32_t low = 0, high = p->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (p->at[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t end = low;
    while (end < p->count && p->at[end].key == key)
        end++;
    return (struct pairs){.at = p->at + low, .count = end - low};
}

/* ---- what is shown ---- */

static bool is_shown(const struct inventory *in, int64_t deployment_id)
{
    struct record record;
    int64_t id = deployment_id;
    while (id && id != in->root && in->root)
        id = core_record(in->core, TABLE_DEPLOYMENT, id, &record) ? record.deployment.parent_id : 0;
    return id != 0;
}

static void take_roles(struct inventory *in, const struct host *host, uint32_t place)
{
    uint32_t count;
    struct record record;
    const int64_t *ids = core_noderoles_of(in->core, host->id, in->arena, &count);
    for (uint32_t i = 0; i < count; i++)
        if (core_record(in->core, TABLE_NODEROLE, ids[i], &record))
            pairs_add(in->arena, &in->roles, record.noderole.role_id, place);
}

/* Nodes that only carry the services of a deployment are no hosts. */
static void take_hosts(struct inventory *in)
{
    struct record record;
    in->hosts = arena_array(in->arena, struct host, core_count(in->core, TABLE_NODE) + (size_t)1);
    for (int64_t id = core_next_id(in->core, TABLE_NODE, 0); id;
         id = core_next_id(in->core, TABLE_NODE, id)) {
        must(core_record(in->core, TABLE_NODE, id, &record));
        const struct node_record *node = &record.node;
        if (node->system || !is_shown(in, node->deployment_id))
            continue;
        const uint32_t place = in->host_count++;
        in->hosts[place] = (struct host){.id = id,
                                         .deployment_id = node->deployment_id,
                                         .name = node->name,
                                         .alive = node->alive,
                                         .available = node->available,
                                         .state = core_node_state(in->core, id)};
        pairs_add(in->arena, &in->homes, node->deployment_id, place);
        pairs_add(in->arena, &in->states, in->hosts[place].state, place);
        take_roles(in, &in->hosts[place], place);
    }
}

static void take_deployments(struct inventory *in)
{
    struct record record;
    for (int64_t id = core_next_id(in->core, TABLE_DEPLOYMENT, 0); id;
         id = core_next_id(in->core, TABLE_DEPLOYMENT, id)) {
        must(core_record(in->core, TABLE_DEPLOYMENT, id, &record));
        if (record.deployment.parent_id && is_shown(in, id))
            pairs_add(in->arena, &in->below, record.deployment.parent_id, id);
    }
    for (int64_t id = core_next_id(in->core, TABLE_DEPLOYMENT_ROLE, 0); id;
         id = core_next_id(in->core, TABLE_DEPLOYMENT_ROLE, id)) {
        must(core_record(in->core, TABLE_DEPLOYMENT_ROLE, id, &record));
        pairs_add(in->arena, &in->offers, record.deployment_role.deployment_id,
                  record.deployment_role.role_id);
    }
}

static void take_all(struct inventory *in)
{
    take_hosts(in);
    take_deployments(in);
    struct pairs *const all[] = {&in->homes, &in->roles, &in->states, &in->offers, &in->below};
    for (uint32_t i = 0; i < sizeof all / sizeof *all; i++)
        pairs_sort(in->arena, all[i]);
}

/* ---- groups ---- */

/* A deployment goes by its name, unless that could be a group of another kind. */
static struct str deployment_group(struct inventory *in, int64_t id)
{
    static const char *const taken[] = {"deployment_", "role_", "state_", "ui_",
                                        "rack_",       "tag_",  "class_"};
    const struct str name = object_name(in->core, TABLE_DEPLOYMENT, id, in->arena);
    bool clashes = str_eq(name, STR("all")) || str_eq(name, STR("ungrouped"));
    for (uint32_t i = 0; i < sizeof taken / sizeof *taken; i++)
        clashes |= str_starts(name, str_from(taken[i]));
    return clashes ? str_join2(in->arena, STR("deployment_"), name) : name;
}

static void begin_group(struct inventory *in, struct str name)
{
    buf_put_z(&in->b, ",\n"); /* the first group is "all" */
    json_write_string(&in->b, name);
    buf_put_z(&in->b, ":{\"hosts\":[");
}

static void put_hosts(struct inventory *in, struct pairs places)
{
    int64_t last = -1; /* a host is in a group once */
    for (uint32_t i = 0; i < places.count; i++) {
        if (places.at[i].value == last)
            continue;
        buf_put_z(&in->b, last >= 0 ? "," : "");
        last = places.at[i].value;
        json_write_string(&in->b, in->hosts[last].name);
    }
    buf_put_c(&in->b, ']');
}

static void put_deployment(struct inventory *in, int64_t id)
{
    const struct pairs roles = pairs_of(&in->offers, id), below = pairs_of(&in->below, id);
    begin_group(in, deployment_group(in, id));
    put_hosts(in, pairs_of(&in->homes, id));
    buf_put_z(&in->b, ",\"vars\":{\"networks\":{},\"roles\":[");
    for (uint32_t i = 0; i < roles.count; i++) {
        buf_put_z(&in->b, i ? "," : "");
        json_write_string(&in->b, object_name(in->core, TABLE_ROLE, roles.at[i].value, in->arena));
    }
    buf_put_z(&in->b, "]},\"children\":[");
    for (uint32_t i = 0; i < below.count; i++) {
        buf_put_z(&in->b, i ? "," : "");
        json_write_string(&in->b, deployment_group(in, below.at[i].value));
    }
    buf_put_z(&in->b, "]}");
}

/* One for each key that there is. */
static void put_groups(struct inventory *in, const struct pairs *pairs, const char *prefix,
                       struct str (*name)(struct inventory *in, int64_t key))
{
    for (uint32_t i = 0; i < pairs->count; i++) {
        if (i && pairs->at[i].key == pairs->at[i - 1].key)
            continue;
        const int64_t key = pairs->at[i].key;
        begin_group(in, str_join2(in->arena, str_from(prefix), name(in, key)));
        put_hosts(in, pairs_of(pairs, key));
        buf_put_c(&in->b, '}');
    }
}

static struct str role_name(struct inventory *in, int64_t id)
{
    return object_name(in->core, TABLE_ROLE, id, in->arena);
}

static struct str state_name(struct inventory *in, int64_t state)
{
    (void)in;
    return str_from(noderole_state_name((enum noderole_state)state));
}

/* Where the host stands; host_count when it is not shown. */
static uint32_t place_of(const struct inventory *in, int64_t node_id)
{
    uint32_t low = 0, high = in->host_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (in->hosts[middle].id < node_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < in->host_count && in->hosts[low].id == node_id ? low : in->host_count;
}

static void put_own_groups(struct inventory *in)
{
    struct record record;
    for (int64_t id = core_next_id(in->core, TABLE_GROUP, 0); id;
         id = core_next_id(in->core, TABLE_GROUP, id)) {
        uint32_t count;
        struct pairs members = {0};
        const int64_t *ids = core_nodes_of_group(in->core, id, in->arena, &count);
        for (uint32_t i = 0; i < count; i++)
            if (place_of(in, ids[i]) < in->host_count)
                pairs_add(in->arena, &members, id, place_of(in, ids[i]));
        if (members.count == 0)
            continue;
        must(core_record(in->core, TABLE_GROUP, id, &record));
        begin_group(in, str_join3(in->arena, record.group.category, STR("_"), record.group.name));
        put_hosts(in, members);
        buf_put_c(&in->b, '}');
    }
}

/* ---- what is known about each ---- */

static const char *const attribs[] = {"os", "cpu_count", "memory", "number_of_drives"};
enum { ATTRIB_COUNT = sizeof attribs / sizeof *attribs };

static void put_attribs(struct inventory *in, struct members *m, const struct host *host)
{
    for (uint32_t i = 0; i < ATTRIB_COUNT; i++) {
        const int64_t id = core_find(in->core, TABLE_ATTRIB, str_from(attribs[i]));
        struct str value;
        const bool known =
            id && core_value(in->core, TABLE_NODE, host->id, id, VIEW_ALL, in->arena, &value);
        member_json(m, attribs[i], known && value.len ? value : STR("null"));
    }
}

static void put_host(struct inventory *in, const struct host *host)
{
    json_write_string(&in->b, host->name);
    buf_put_c(&in->b, ':');
    struct members m = members_open(&in->b, NULL);
    member_bool(&m, "alive", host->alive);
    member_bool(&m, "available", host->available);
    member_text(&m, "state", state_name(in, host->state));
    put_attribs(in, &m, host);
    member_json(&m, "network", STR("{}"));
    member_json(&m, "interface", STR("{}"));
    members_close(&m);
}

/* only: the one that is asked about; 0: all; -1: none. */
static void put_meta(struct inventory *in, int64_t only)
{
    bool is_first = true;
    buf_put_z(&in->b, ",\n\"_meta\":{\"hostvars\":{");
    for (uint32_t i = 0; i < in->host_count; i++) {
        if (only && in->hosts[i].id != only)
            continue;
        buf_put_z(&in->b, is_first ? "\n" : ",\n");
        is_first = false;
        put_host(in, &in->hosts[i]);
    }
    buf_put_z(&in->b, "}}}");
}

/* hostvar: none, node (the default, all of them), or the name or id of a node. */
static bool read_hostvar(struct call *call, int64_t *out_only)
{
    struct str wanted;
    struct record node;
    *out_only = 0;
    if (!http_query(call->request, STR("hostvar"), &wanted) || str_eq(wanted, STR("node")))
        return true;
    if (str_eq(wanted, STR("none"))) {
        *out_only = -1;
        return true;
    }
    if (!resource_find(call, &resource_nodes, wanted, &node))
        return false;
    *out_only = node.id;
    return true;
}

enum served serve_inventory(struct call *call)
{
    struct inventory in = {.core = call->core, .arena = call->arena, .b = buf_in(call->arena)};
    struct record root;
    int64_t only;
    if (call->keys[0].len) {
        if (!resource_find(call, &resource_deployments, call->keys[0], &root))
            return SERVED_REPLY;
        in.root = root.id;
    }
    if (!read_hostvar(call, &only))
        return SERVED_REPLY;
    take_all(&in);
    buf_put_z(&in.b, "{\"all\":{\"vars\":{}}");
    for (int64_t id = core_next_id(call->core, TABLE_DEPLOYMENT, 0); id;
         id = core_next_id(call->core, TABLE_DEPLOYMENT, id))
        if (is_shown(&in, id))
            put_deployment(&in, id);
    put_groups(&in, &in.roles, "role_", role_name);
    put_groups(&in, &in.states, "state_", state_name);
    put_own_groups(&in);
    put_meta(&in, only);
    call->reply = (struct reply){.status = 200,
                                 .content_type = "application/vnd.crowbar.inventory+json",
                                 .body = buf_str(&in.b)};
    return SERVED_REPLY;
}
