#include "power/transport.h"

#include "base/json/json.h"
#include "core/core.h"
#include "model/hammer_class.h"
#include "power/hammer/power_op.h"

enum { SSH_PORT = 22, PORT_MAX = 65535 };

/* What the hammers of a node say about where it is. */
struct ways {
    bool has_local;
    bool has_ssh;
    struct hammer_record ssh; /* the one with the highest priority */
};

static struct ways ways_to(const struct core *core, int64_t node_id, struct arena *a)
{
    const struct hammer_class *local = hammer_class_find(STR("local"));
    const struct hammer_class *ssh = hammer_class_find(STR("ssh"));
    struct ways ways = {0};
    uint32_t count;
    const int64_t *ids = core_hammers_of(core, node_id, a, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct record hammer, kind;
        if (!core_record(core, TABLE_HAMMER, ids[i], &hammer) ||
            !core_record(core, TABLE_HAMMER_KIND, hammer.hammer.hammer_kind_id, &kind))
            continue;
        const struct hammer_class *class = hammer_class_find(kind.hammer_kind.klass);
        ways.has_local |= class == local;
        if (class != ssh || (ways.has_ssh && ways.ssh.priority >= hammer.hammer.priority))
            continue;
        ways.has_ssh = true;
        ways.ssh = hammer.hammer;
    }
    return ways;
}

/* 0: none is given, or it is no port. */
static uint16_t port_in(struct str extra, struct arena *a)
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

static void reach_by_ssh(const struct ways *ways, struct str node, struct arena *a,
                         struct transport *out)
{
    struct power_op_address address = {.host = ways->ssh.endpoint};
    *out = (struct transport){.kind = TRANSPORT_SSH, .user = STR("root"), .port = SSH_PORT};
    if (ways->ssh.endpoint.len == 0)
        address.host = node;
    else if (!power_op_address_parse(ways->ssh.endpoint, &address))
        address = (struct power_op_address){.host = ways->ssh.endpoint};
    const uint16_t port = address.port ? (uint16_t)address.port : port_in(ways->ssh.extra, a);
    out->address = str_copy(a, address.host);
    if (ways->ssh.username.len)
        out->user = str_copy(a, ways->ssh.username);
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
    const struct ways ways = ways_to(core, node_id, a);
    const bool is_here = node->system || (node->admin && ways.ssh.endpoint.len == 0);
    if (ways.has_local || is_here)
        *out_transport = (struct transport){.kind = TRANSPORT_LOCAL};
    else
        reach_by_ssh(&ways, node->name, a, out_transport);
    out_transport->node_id = node_id;
    return true;
}
