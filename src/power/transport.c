/* transport.c - derivation of the transport of a node from its hammers (docs/spec/machines.md).
 *
 * Reads the core and keeps no state. Values are taken in this order: the port of the endpoint, then
 * extra.port, then 22; the endpoint, then core_node_address(). An invalid port or `extra` counts as
 * absent; the only failure is a node that does not exist. */
#include "power/transport.h"

#include "base/json/json.h"
#include "core/core.h"
#include "model/hammer_class.h"
#include "power/hammer/power_op.h"

enum { SSH_PORT = 22, PORT_MAX = 65535 };

/* The hammers of a node that determine its transport. */
struct node_access {
    bool has_local;
    bool has_ssh;
    struct hammer_record ssh; /* the one with the highest priority */
};

static struct node_access node_access_find(const struct core *core, int64_t node_id,
                                           struct arena *a)
{
    const struct hammer_class *local = hammer_class_find(STR("local"));
    const struct hammer_class *ssh = hammer_class_find(STR("ssh"));
    struct node_access node_access = {0};
    uint32_t count;
    const int64_t *ids = core_hammers_of(core, node_id, a, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct record hammer, kind;
        if (!core_record(core, TABLE_HAMMER, ids[i], &hammer) ||
            !core_record(core, TABLE_HAMMER_KIND, hammer.hammer.hammer_kind_id, &kind))
            continue;
        const struct hammer_class *class = hammer_class_find(kind.hammer_kind.klass);
        node_access.has_local |= class == local;
        if (class != ssh ||
            (node_access.has_ssh && node_access.ssh.priority >= hammer.hammer.priority))
            continue;
        node_access.has_ssh = true;
        node_access.ssh = hammer.hammer;
    }
    return node_access;
}

/* The port in the JSON object `extra` of a hammer. 0: absent or out of range. */
static uint16_t hammer_extra_port(struct str extra, struct arena *a)
{
    struct json *object;
    uint32_t offset;
    const char *what;
    int64_t port;
    if (extra.len == 0 || json_read(a, extra, &object, &offset, &what) != OK)
        return 0;
    const struct json *found = json_get(object, STR("port"));
    return found && json_as_i64(found, &port) && port > 0 && port <= PORT_MAX ? (uint16_t)port : 0;
}

/* `fallback` is the address if the hammer has no endpoint. */
static void transport_set_ssh(const struct node_access *node_access, struct str fallback,
                              struct arena *a, struct transport *out)
{
    struct power_op_address address = {.host = node_access->ssh.endpoint};
    *out = (struct transport){.kind = TRANSPORT_SSH, .user = STR("root"), .port = SSH_PORT};
    if (node_access->ssh.endpoint.len == 0)
        address.host = fallback;
    else if (!power_op_address_parse(node_access->ssh.endpoint, &address))
        address = (struct power_op_address){.host = node_access->ssh.endpoint};
    const uint16_t port =
        address.port ? (uint16_t)address.port : hammer_extra_port(node_access->ssh.extra, a);
    out->address = str_copy(a, address.host);
    if (node_access->ssh.username.len)
        out->user = str_copy(a, node_access->ssh.username);
    if (port)
        out->port = port;
}

bool transport_of(const struct core *core, int64_t node_id, struct arena *a,
                  struct transport *out_transport)
{
    struct record record;
    if (!core_record(core, TABLE_NODE, node_id, &record))
        return false;
    const struct node_record *node = &record.node;
    const struct node_access node_access = node_access_find(core, node_id, a);
    const bool is_here = node->system || (node->admin && node_access.ssh.endpoint.len == 0);
    if (node_access.has_local || is_here)
        *out_transport = (struct transport){.kind = TRANSPORT_LOCAL};
    else
        transport_set_ssh(&node_access, core_node_address(core, node_id, a), a, out_transport);
    out_transport->node_id = node_id;
    return true;
}
