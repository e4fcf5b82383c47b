#include "api/views/inventory.h"

#include "api/call/api.h"
#include "api/call/route.h"
#include "api/call/streaming.h"
#include "api/rest/json_object_writer.h"
#include "api/views/inventory_names.h"
#include "api/views/inventory_networks.h"

/* A dynamic inventory of Ansible: groups of hosts, and under _meta the variables of all hosts, so
 * that Ansible does not have to request them one by one. Groups are deployments (with their child
 * deployments), roles, states and groups of nodes.
 *
 * Owns struct inventory, the state of one reply, in the arena of the call. Its two arenas for
 * temporary memory are freed by inventory_free_scratch(), also at the end of a stream.
 *
 * Order: it grows with the number of nodes, so it is a stream of parts (enum part). Hosts and names
 * of groups are collected first, because the name of one group depends on all others; then one
 * group after the other is written by iterating over the hosts. Names of hosts are read when they
 * are written; a host that was deleted meanwhile is left out.
 *
 * Failure: the collected ids may be wrong if the core is dropped, so the stream is then aborted, or
 * served again if nothing was sent (needs_same_core). An unknown deployment or host is a problem.
 */

enum {
    WRITE_BYTES = 64 << 10, /* of one step */
    WORK_MAX = 20000,       /* of one step, in visited hosts */
    WORK_RECORD = 10,       /* reading an object */
    WORK_HOSTVARS = 100,    /* writing the variables of a host */
};

/* A node as it was when the hosts were collected. */
struct host {
    int64_t id, deployment_id;
    bool alive, available;
    enum noderole_state state;
};

/* The parts in their order. Their functions return true when the part is complete. */
enum part {
    PART_COLLECT,     /* hosts; writes nothing */
    PART_NAMES,       /* names of groups; writes nothing */
    PART_HEAD,        /* the group "all" */
    PART_DEPLOYMENTS, /* one group for each */
    PART_ROLES,       /* one group for each that is bound */
    PART_STATES,      /* one group for each state of nodes that occurs */
    PART_GROUPS,      /* one group for each group of nodes */
    PART_META,        /* variables of hosts */
    PART_END,
};

struct inventory {
    struct reply_stream stream;
    struct call *call;
    int64_t root;       /* deployment at the root; 0: all */
    bool has_no_vars;   /* without _meta */
    struct host *hosts; /* ascending by id */
    uint32_t host_count, host_max;
    struct inventory_names names;
    struct arena scratch; /* temporary memory of one step */
    struct arena group;   /* holds `members` while the group is written */
    uint32_t work;        /* work done in this step */

    enum part part;
    int64_t key;            /* current group: id of an object, or a state; 0: none */
    uint32_t at;            /* next host or member */
    bool is_open;           /* the start of the group is written */
    bool has_host;          /* and at least one host */
    const int64_t *members; /* PART_GROUPS: ids of the nodes of the current group */
    uint32_t member_count;
};

/* ---- hosts ---- */

static const struct core *inventory_core(const struct inventory *in)
{
    return in->call->core;
}

/* Is the deployment the root or below it? Walks up the parents. */
static bool inventory_shows_deployment(const struct inventory *in, int64_t deployment_id)
{
    struct record record;
    int64_t id = deployment_id;
    while (id && id != in->root && in->root)
        id = core_record(inventory_core(in), TABLE_DEPLOYMENT, id, &record)
                 ? record.deployment.parent_id
                 : 0;
    return id != 0;
}

/* System nodes, which only carry services of a deployment, are not hosts. */
static void inventory_add_host(struct inventory *in, const struct node_record *node)
{
    if (node->system || !inventory_shows_deployment(in, node->deployment_id))
        return;
    in->hosts[in->host_count++] =
        (struct host){.id = node->id,
                      .deployment_id = node->deployment_id,
                      .alive = node->alive,
                      .available = node->available,
                      .state = core_node_state(inventory_core(in), node->id)};
}

static bool inventory_step_is_full(const struct inventory *in, const struct buf *out)
{
    return in->work >= WORK_MAX || out->len >= WRITE_BYTES;
}

/* True if there are no more. */
static bool inventory_collect_hosts(struct inventory *in, struct buf *out)
{
    struct record record;
    while (!inventory_step_is_full(in, out)) {
        in->key = core_next_id(inventory_core(in), TABLE_NODE, in->key);
        if (!in->key || in->host_count == in->host_max)
            return true;
        if (core_record(inventory_core(in), TABLE_NODE, in->key, &record))
            inventory_add_host(in, &record.node);
        in->work += 2 * WORK_RECORD;
    }
    return false;
}

/* ---- groups ---- */

static bool inventory_collect_names(struct inventory *in, struct buf *out)
{
    while (!inventory_step_is_full(in, out)) {
        in->work += WORK_RECORD;
        if (!inventory_names_add(&in->names, inventory_core(in), &in->scratch))
            return true;
    }
    return false;
}

static struct str inventory_group_name(struct inventory *in, enum inventory_kind kind, int64_t id)
{
    return inventory_names_get(&in->names, inventory_core(in), (struct inventory_object){kind, id},
                               &in->scratch);
}

static struct str inventory_deployment_group(struct inventory *in, int64_t id)
{
    return inventory_group_name(in, INVENTORY_DEPLOYMENT, id);
}

/* Writes `"halligan_name":"NAME"` if the name of the group differs from that of the object. */
static bool inventory_put_true_name(struct inventory *in, enum inventory_kind kind, struct buf *out)
{
    struct str name;
    const struct inventory_object object = {kind, in->key};
    if (!inventory_names_differs(&in->names, inventory_core(in), object, &in->scratch, &name))
        return false;
    buf_put_z(out, "\"halligan_name\":");
    json_write_string(out, name);
    return true;
}

static void inventory_open_group(struct inventory *in, struct str name, struct buf *out)
{
    buf_put_z(out, ",\n"); /* the first group is "all" */
    json_write_string(out, name);
    buf_put_z(out, ":{\"hosts\":[");
    in->is_open = true;
}

/* How to name the current group, and whether a host is in it. */
struct group_kind {
    struct str (*name)(struct inventory *in);
    bool (*has)(struct inventory *in, const struct host *host);
};

/* A group is opened by its first host, so empty groups are left out, except for deployments, which
 * are opened before. */
static void inventory_put_host_name(struct inventory *in, const struct group_kind *kind, int64_t id,
                                    struct buf *out)
{
    struct record record;
    in->work += WORK_RECORD;
    if (!core_record(inventory_core(in), TABLE_NODE, id, &record))
        return;
    if (!in->is_open)
        inventory_open_group(in, kind->name(in), out);
    buf_put_z(out, in->has_host ? "," : "");
    in->has_host = true;
    json_write_string(out, record.node.name);
}

/* Writes the remaining hosts of the group. True if that was all. */
static bool inventory_put_hosts(struct inventory *in, const struct group_kind *kind,
                                struct buf *out)
{
    for (; in->at < in->host_count; in->at++) {
        if (inventory_step_is_full(in, out))
            return false;
        in->work++;
        if (kind->has(in, &in->hosts[in->at]))
            inventory_put_host_name(in, kind, in->hosts[in->at].id, out);
    }
    return true;
}

/* Resets the position for the next group; key 0: for the next part. */
static void inventory_next_group(struct inventory *in, int64_t key)
{
    in->key = key;
    in->at = 0;
    in->is_open = in->has_host = false;
    arena_reset(&in->scratch);
}

/* Closes a group of a role, state or group; names of states have no variable. */
static void inventory_close_group(struct inventory *in, enum inventory_kind kind, struct buf *out)
{
    if (!in->is_open)
        return;
    buf_put_c(out, ']');
    const uint32_t before = out->len;
    buf_put_z(out, ",\"vars\":{");
    if (kind != INVENTORY_KINDS && inventory_put_true_name(in, kind, out))
        buf_put_c(out, '}');
    else
        out->len = before;
    buf_put_c(out, '}');
}

/* ---- deployments ---- */

static void inventory_put_deployment_roles(struct inventory *in, struct buf *out)
{
    bool is_first = true;
    for (int64_t id = core_next_id(inventory_core(in), TABLE_ROLE, 0); id;
         id = core_next_id(inventory_core(in), TABLE_ROLE, id)) {
        in->work += 2;
        if (!core_deployment_role(inventory_core(in), in->key, id))
            continue;
        buf_put_z(out, is_first ? "" : ",");
        is_first = false;
        json_write_string(out, object_name(inventory_core(in), TABLE_ROLE, id, &in->scratch));
    }
}

static void inventory_put_children(struct inventory *in, struct buf *out)
{
    struct record record;
    bool is_first = true;
    for (int64_t id = core_next_id(inventory_core(in), TABLE_DEPLOYMENT, 0); id;
         id = core_next_id(inventory_core(in), TABLE_DEPLOYMENT, id)) {
        in->work += 2;
        if (!core_record(inventory_core(in), TABLE_DEPLOYMENT, id, &record) ||
            record.deployment.parent_id != in->key)
            continue;
        buf_put_z(out, is_first ? "" : ",");
        is_first = false;
        json_write_string(out, inventory_deployment_group(in, id));
    }
}

static bool inventory_is_in_deployment(struct inventory *in, const struct host *host)
{
    return host->deployment_id == in->key;
}

static bool inventory_put_deployment(struct inventory *in, struct buf *out)
{
    static const struct group_kind kind = {.has = inventory_is_in_deployment};
    if (!inventory_put_hosts(in, &kind, out))
        return false;
    buf_put_z(out, "],\"vars\":{");
    if (inventory_put_true_name(in, INVENTORY_DEPLOYMENT, out))
        buf_put_c(out, ',');
    buf_put_z(out, "\"networks\":");
    in->work += inventory_write_networks(inventory_core(in), in->key, &in->scratch, out);
    buf_put_z(out, ",\"roles\":[");
    inventory_put_deployment_roles(in, out);
    buf_put_z(out, "]},\"children\":[");
    inventory_put_children(in, out);
    buf_put_z(out, "]}");
    return true;
}

static bool inventory_put_deployments(struct inventory *in, struct buf *out)
{
    for (;;) {
        if (in->key && !inventory_put_deployment(in, out))
            return false;
        inventory_next_group(in, core_next_id(inventory_core(in), TABLE_DEPLOYMENT, in->key));
        while (in->key && !inventory_shows_deployment(in, in->key))
            in->key = core_next_id(inventory_core(in), TABLE_DEPLOYMENT, in->key);
        if (!in->key)
            return true;
        inventory_open_group(in, inventory_deployment_group(in, in->key), out);
    }
}

/* ---- roles and states ---- */

static struct str inventory_role_group(struct inventory *in)
{
    return inventory_group_name(in, INVENTORY_ROLE, in->key);
}

static bool inventory_has_role(struct inventory *in, const struct host *host)
{
    in->work++;
    return core_noderole(inventory_core(in), host->id, in->key) != 0;
}

static bool inventory_role_is_bound(struct inventory *in, int64_t role_id)
{
    uint32_t count;
    core_noderoles_of_role(inventory_core(in), role_id, 1, &in->scratch, &count);
    return count > 0;
}

static bool inventory_put_roles(struct inventory *in, struct buf *out)
{
    static const struct group_kind kind = {inventory_role_group, inventory_has_role};
    for (;;) {
        if (in->key && !inventory_put_hosts(in, &kind, out))
            return false;
        inventory_close_group(in, INVENTORY_ROLE, out);
        inventory_next_group(in, core_next_id(inventory_core(in), TABLE_ROLE, in->key));
        while (in->key && !inventory_role_is_bound(in, in->key))
            in->key = core_next_id(inventory_core(in), TABLE_ROLE, in->key);
        if (!in->key)
            return true;
    }
}

/* The key of a state is its number plus one. The last key is a group of hosts that are not alive:
 * they are not in state_active, although their noderoles may be ACTIVE. */
enum { KEY_DEAD = NODEROLE_STATE_COUNT + 1 };

static struct str inventory_state_name(int64_t key)
{
    if (key == KEY_DEAD)
        return STR("dead");
    return str_from(noderole_state_name((enum noderole_state)(key - 1)));
}

static struct str inventory_state_group(struct inventory *in)
{
    return STR_CONCAT(&in->scratch, STR("state_"), inventory_state_name(in->key));
}

static bool inventory_is_in_state(struct inventory *in, const struct host *host)
{
    if (in->key == KEY_DEAD)
        return !host->alive;
    return (int64_t)host->state == in->key - 1 && (host->alive || host->state != NODEROLE_ACTIVE);
}

static bool inventory_put_states(struct inventory *in, struct buf *out)
{
    static const struct group_kind kind = {inventory_state_group, inventory_is_in_state};
    for (;;) {
        if (in->key && !inventory_put_hosts(in, &kind, out))
            return false;
        inventory_close_group(in, INVENTORY_KINDS, out);
        if (in->key == KEY_DEAD)
            return true;
        inventory_next_group(in, in->key + 1);
    }
}

/* ---- groups of nodes ---- */

static bool inventory_is_host(const struct inventory *in, int64_t node_id)
{
    uint32_t low = 0, high = in->host_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (in->hosts[middle].id < node_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < in->host_count && in->hosts[low].id == node_id;
}

static struct str inventory_own_group(struct inventory *in)
{
    return inventory_group_name(in, INVENTORY_GROUP, in->key);
}

static bool inventory_put_members(struct inventory *in, struct buf *out)
{
    static const struct group_kind kind = {.name = inventory_own_group};
    for (; in->at < in->member_count; in->at++) {
        if (inventory_step_is_full(in, out))
            return false;
        in->work += WORK_RECORD;
        if (inventory_is_host(in, in->members[in->at]))
            inventory_put_host_name(in, &kind, in->members[in->at], out);
    }
    return true;
}

static bool inventory_put_groups(struct inventory *in, struct buf *out)
{
    for (;;) {
        if (in->key && !inventory_put_members(in, out))
            return false;
        inventory_close_group(in, INVENTORY_GROUP, out);
        inventory_next_group(in, core_next_id(inventory_core(in), TABLE_GROUP, in->key));
        if (!in->key)
            return true;
        arena_reset(&in->group);
        in->members =
            core_nodes_of_group(inventory_core(in), in->key, &in->group, &in->member_count);
    }
}

/* ---- variables of hosts ---- */

static const char *const attribs[] = {"os", "cpu_count", "memory", "number_of_drives"};
enum { ATTRIB_COUNT = sizeof attribs / sizeof *attribs };

static void inventory_put_vars(struct inventory *in, const struct host *host, struct buf *out)
{
    const struct api_engine *engine = call_engine(in->call);
    struct object_writer m = object_writer_open(out, NULL);
    /* Address variables, as the ssh driver uses them. A host that is not reached by ssh, such as
     * the host of the daemon itself, has none: Ansible may run elsewhere. */
    struct api_ssh_address at;
    if (engine->ssh_address && engine->ssh_address(engine->self, host->id, &in->scratch, &at)) {
        object_put_text(&m, "ansible_host", at.host);
        object_put_number(&m, "ansible_port", at.port);
        object_put_text(&m, "ansible_user", at.user);
    }
    object_put_bool(&m, "alive", host->alive);
    object_put_bool(&m, "available", host->available);
    object_put_text(&m, "state", inventory_state_name((int64_t)host->state + 1));
    for (uint32_t i = 0; i < ATTRIB_COUNT; i++) {
        const int64_t id = core_find(inventory_core(in), TABLE_ATTRIB, str_from(attribs[i]));
        struct str value;
        const bool known = id && core_value(inventory_core(in), TABLE_NODE, host->id, id, VIEW_ALL,
                                            &in->scratch, &value);
        object_put_json(&m, attribs[i], known && value.len ? value : STR("null"));
    }
    object_put_key(&m, "network");
    inventory_write_addresses(inventory_core(in), host->id, &in->scratch, out);
    object_put_key(&m, "interface");
    inventory_write_interfaces(inventory_core(in), host->id, &in->scratch, out);
    object_writer_close(&m);
    arena_reset(&in->scratch);
}

static void inventory_put_host(struct inventory *in, const struct host *host, struct buf *out)
{
    struct record record;
    in->work += WORK_HOSTVARS;
    if (!core_record(inventory_core(in), TABLE_NODE, host->id, &record))
        return;
    buf_put_z(out, in->has_host ? ",\n" : "\n");
    in->has_host = true;
    json_write_string(out, record.node.name);
    buf_put_c(out, ':');
    inventory_put_vars(in, host, out);
}

static bool inventory_put_meta(struct inventory *in, struct buf *out)
{
    if (in->has_no_vars) {
        buf_put_c(out, '}');
        return true;
    }
    if (!in->is_open)
        buf_put_z(out, ",\n\"_meta\":{\"hostvars\":{");
    in->is_open = true;
    for (; in->at < in->host_count; in->at++) {
        if (inventory_step_is_full(in, out))
            return false;
        inventory_put_host(in, &in->hosts[in->at], out);
    }
    buf_put_z(out, "}}}");
    return true;
}

/* ---- stream ---- */

static bool inventory_put_head(struct inventory *in, struct buf *out)
{
    (void)in;
    buf_put_z(out, "{\"all\":{\"vars\":{}}");
    return true;
}

/* Writes parts until the step is full. True if that was all. */
static bool inventory_write_parts(struct inventory *in, struct buf *out)
{
    static bool (*const parts[PART_END])(struct inventory *, struct buf *) = {
        [PART_COLLECT] = inventory_collect_hosts, [PART_NAMES] = inventory_collect_names,
        [PART_HEAD] = inventory_put_head,         [PART_DEPLOYMENTS] = inventory_put_deployments,
        [PART_ROLES] = inventory_put_roles,       [PART_STATES] = inventory_put_states,
        [PART_GROUPS] = inventory_put_groups,     [PART_META] = inventory_put_meta,
    };
    in->work = 0;
    while (in->part < PART_END && parts[in->part](in, out)) {
        in->part++;
        inventory_next_group(in, 0);
    }
    arena_reset(&in->scratch);
    return in->part == PART_END;
}

static enum reply_stream_step inventory_step(struct call *call, struct buf *out)
{
    return inventory_write_parts(call->stream->self, out) ? STREAM_END : STREAM_MORE;
}

static void inventory_free_scratch(struct inventory *in)
{
    arena_fini(&in->scratch);
    arena_fini(&in->group);
}

static void inventory_fini(struct reply_stream *stream)
{
    inventory_free_scratch(stream->self);
}

/* Replies with the variables of one host, for `--host` of an inventory script. */
static void inventory_reply_vars(struct inventory *in, struct str key)
{
    struct call *call = in->call;
    struct record node;
    struct buf b = buf_in(call->arena);
    if (!resource_find(call, &resource_nodes, key, &node)) {
        if (call->problems)
            call->problems->field = STR("hostvar"); /* the key is a query parameter here */
        return;
    }
    struct host host[1];
    in->hosts = host;
    inventory_add_host(in, &node.node);
    if (in->host_count == 0) {
        call_refuse(
            call, PROBLEM_NOT_FOUND, STR("hostvar"),
            STR_CONCAT(call->arena, node.node.name, STR(" is not a host of this inventory")));
        return;
    }
    inventory_put_vars(in, &host[0], &b);
    call->reply.body = buf_str(&b);
}

/* True if a few steps were enough. `in` is a copy: otherwise a stream starts from the beginning. */
static bool inventory_reply_at_once(struct call *call, struct inventory in)
{
    enum { STEPS_MAX = 4 };
    struct arena text = {0};
    struct buf b = buf_in(&text);
    bool is_all = false;
    for (uint32_t i = 0; i < STEPS_MAX && !is_all && b.len < WRITE_BYTES; i++)
        is_all = inventory_write_parts(&in, &b);
    if (is_all)
        call->reply.body = str_copy(call->arena, buf_str(&b));
    arena_fini(&text);
    inventory_free_scratch(&in);
    return is_all;
}

enum handler_result serve_inventory(struct call *call)
{
    struct inventory *in = arena_new(call->arena, struct inventory);
    struct record root;
    in->call = call;
    if (call->keys[0].len) {
        if (!resource_find(call, &resource_deployments, call->keys[0], &root))
            return SERVED_REPLY;
        in->root = root.id;
    }
    call->reply =
        (struct reply){.status = 200, .content_type = "application/vnd.crowbar.inventory+json"};
    /* hostvar: none, node (the default, all of them), or the name or id of a node. */
    struct str wanted = STR("node");
    http_query(call->request, STR("hostvar"), &wanted);
    in->has_no_vars = str_eq(wanted, STR("none"));
    if (!in->has_no_vars && !str_eq(wanted, STR("node"))) {
        inventory_reply_vars(in, wanted);
        inventory_free_scratch(in);
        return SERVED_REPLY;
    }
    in->names = inventory_names_new(call->core, call->arena);
    in->host_max = core_count(call->core, TABLE_NODE);
    in->hosts = arena_array(call->arena, struct host, in->host_max + (size_t)1);
    in->stream = (struct reply_stream){
        .step = inventory_step, .fini = inventory_fini, .self = in, .needs_same_core = true};
    return inventory_reply_at_once(call, *in) ? SERVED_REPLY
                                              : reply_stream_begin(call, &in->stream);
}
