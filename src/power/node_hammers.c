/* node_hammers.c - conversion of the hammer records of a node into hammers of an order. It reads
 * the core and keeps no state. A hammer that cannot be used is left out; there is no error
 * result. */
#include "power/node_hammers.h"

#include "base/json/json.h"
#include "core/core.h"
#include "power/known_hosts.h"
#include "power/transport.h"

/* Adds the pinned host key to the JSON object `extra`, unless it has one. An `extra` that is not a
 * JSON object is returned unchanged: the driver refuses it with a message. */
static struct str hammer_extra_add_host_key(struct str extra, struct str key, struct arena *a)
{
    struct json *object = json_make(a, JSON_OBJECT);
    uint32_t offset;
    const char *what;
    if (key.len == 0 || (extra.len && json_read(a, extra, &object, &offset, &what) != OK))
        return extra;
    if (object->kind != JSON_OBJECT || json_get(object, STR("host_key")))
        return extra;
    json_set(object, STR("host_key"), json_make_string(a, key));
    return json_write(a, object);
}

/* False: the hammer cannot be used, because it has no endpoint and the node is reached locally. */
static bool hammer_bound_complete_ssh(const struct core *core, const struct node_record *node,
                                      struct arena *a, struct hammer_bound *hammer)
{
    struct transport t;
    if (hammer->endpoint.len == 0) {
        if (!transport_of(core, node->id, a, &t) || t.kind != TRANSPORT_SSH)
            return false;
        hammer->endpoint = core_node_address(core, node->id, a);
    }
    hammer->extra =
        hammer_extra_add_host_key(hammer->extra, known_hosts_best_key(core, node->id, a), a);
    return true;
}

struct node_hammers node_hammers_of(const struct core *core, int64_t node_id, struct arena *a)
{
    uint32_t count;
    struct record node, hammer, kind;
    const struct hammer_class *ssh_class = hammer_class_find(STR("ssh"));
    const int64_t *ids = core_hammers_of(core, node_id, a, &count);
    struct node_hammers all = {arena_array(a, struct hammer_bound, count + 1),
                               arena_array(a, struct str, count + 1), 0};
    for (uint32_t i = 0; i < count && core_record(core, TABLE_NODE, node_id, &node); i++) {
        if (!core_record(core, TABLE_HAMMER, ids[i], &hammer) ||
            !core_record(core, TABLE_HAMMER_KIND, hammer.hammer.hammer_kind_id, &kind))
            continue;
        struct hammer_bound *one = &all.at[all.count];
        *one = (struct hammer_bound){.klass = kind.hammer_kind.klass,
                                     .priority = hammer.hammer.priority,
                                     .endpoint = hammer.hammer.endpoint,
                                     .username = hammer.hammer.username,
                                     .authenticator = hammer.hammer.authenticator,
                                     .extra = hammer.hammer.extra};
        if (hammer_class_find(one->klass) == ssh_class &&
            !hammer_bound_complete_ssh(core, &node.node, a, one))
            continue;
        all.names[all.count++] = hammer.hammer.name;
    }
    return all;
}
