#include "api/nouns/node_boot.h"

#include "api/call/reply.h"
#include "api/call/resource.h"
#include "api/rest/json_object_writer.h"
#include "api/views/graph.h"

/* What the machine of a node boots (docs/spec/boot.md): its entry in the boot view, its boot
 * environment, the grant of its installation, what has served it, and what keeps it from booting.
 * Everything is read from the core for each request; the file has no state, and nothing is changed.
 *
 * Failure: a node without an entry in the boot view is no error: `entry` is null, and `missing`
 * says why. An unknown node is 404. */

bool node_boot_entry(struct call *call, int64_t node_id, struct boot_entry *out_entry,
                     struct str *out_why)
{
    *out_why = STR("it is not managed: it has no committed noderole of a discovery role, or was "
                   "installed otherwise and boots from its disk");
    return core_boot_view(call->core, (struct boot_key){BOOT_MACHINE, node_id}, call->arena,
                          out_entry);
}

static void boot_put_addresses(struct call *call, const struct boot_machine *machine, struct buf *b)
{
    struct record network, range;
    buf_put_c(b, '[');
    for (uint32_t i = 0; i < machine->address_count; i++) {
        const struct boot_address *at = &machine->addresses[i];
        const bool has_network = at->network &&
                                 core_record(call->core, TABLE_NETWORK, at->network, &network) &&
                                 core_record(call->core, TABLE_NETWORK_RANGE, at->range, &range);
        buf_put_z(b, i ? "," : "");
        struct object_writer m = object_writer_open(b, NULL);
        object_put_text(&m, "address", at->address);
        object_put_optional(&m, "network", has_network ? network.network.name : STR(""));
        object_put_optional(&m, "network_range", has_network ? range.network_range.name : STR(""));
        object_writer_close(&m);
    }
    buf_put_c(b, ']');
}

/* The ticket is left out: its hash is of no use to others than boot servers. */
static void boot_put_entry(struct call *call, int64_t node_id, const struct boot_machine *machine,
                           struct buf *b)
{
    const int64_t turn = core_boot_turn(call->core, (struct boot_key){BOOT_MACHINE, node_id});
    struct object_writer m = object_writer_open(b, NULL);
    object_put_text(&m, "name", machine->name);
    object_put_json(&m, "mac_addresses", object_view_macs(machine, call->arena));
    if (object_put_key(&m, "addresses"))
        boot_put_addresses(call, machine, b);
    object_put_text(&m, "bootenv", machine->bootenv);
    object_put_number(&m, "generation", machine->generation);
    object_put_bool(&m, "installer_started", machine->ticket.len != 0);
    object_put_count(&m, "turn", turn == BOOT_TURN_OPEN ? 0 : turn);
    object_writer_close(&m);
}

/* `local` is the disk: it always exists, and no boot server needs files for it. */
static void boot_put_environment(struct call *call, struct str name, struct buf *b)
{
    struct record record;
    const bool is_local = str_eq(name, STR("local"));
    const int64_t id = is_local ? 0 : core_find(call->core, TABLE_BOOTENV, name);
    const bool is_known = id && core_record(call->core, TABLE_BOOTENV, id, &record);
    struct object_writer m = object_writer_open(b, NULL);
    object_put_text(&m, "name", name);
    object_put_bool(&m, "exists", is_local || is_known);
    object_put_bool(&m, "available", is_local || (is_known && record.bootenv.available));
    object_put_count(&m, "bootenv_id", is_known ? id : 0);
    object_put_optional(&m, "method", is_known ? record.bootenv.method : STR(""));
    object_writer_close(&m);
}

static void boot_put_grant(struct call *call, int64_t node_id, struct buf *b)
{
    struct grant grant;
    struct record noderole;
    must(core_grant(call->core, node_id, &grant));
    const bool has_owner =
        grant.noderole_id && core_record(call->core, TABLE_NODEROLE, grant.noderole_id, &noderole);
    struct object_writer m = object_writer_open(b, NULL);
    object_put_text(&m, "state", str_from(grant_state_name(grant.state)));
    object_put_optional(&m, "reason",
                        grant.state == GRANT_VOID ? str_from(grant_void_name(grant.void_reason))
                                                  : STR(""));
    object_put_count(&m, "node_role_id", grant.noderole_id);
    object_put_optional(
        &m, "role",
        has_owner ? object_name(call->core, TABLE_ROLE, noderole.noderole.role_id, call->arena)
                  : STR(""));
    object_put_time(&m, "used_at", grant.used_at);
    object_put_count(&m, "stamp_generation", grant.stamp_generation);
    object_writer_close(&m);
}

/* ---- what has served it ---- */

static bool boot_is_served_by_all(const struct boot_serving *all, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!all[i].is_served)
            return false;
    return true;
}

static void boot_put_server(struct call *call, const struct boot_serving *s, struct buf *b)
{
    struct record row;
    must(core_record(call->core, TABLE_NODEROLE, s->noderole_id, &row));
    const struct noderole_record *nr = &row.noderole;
    struct object_writer m = object_writer_open(b, NULL);
    object_put_number(&m, "node_role_id", s->noderole_id);
    object_put_text(&m, "role", object_name(call->core, TABLE_ROLE, nr->role_id, call->arena));
    object_put_text(&m, "node", object_name(call->core, TABLE_NODE, nr->node_id, call->arena));
    object_put_text(&m, "state", str_from(noderole_state_name((enum noderole_state)nr->state)));
    object_put_text(&m, "kind", s->is_native ? STR("native") : STR("published"));
    object_put_bool(&m, "served", s->is_served);
    if (s->is_native)
        object_put_bool(&m, "connected", s->is_connected);
    else
        object_put_json(&m, "connected", STR("null"));
    object_put_time(&m, "since", s->since_ms);
    object_put_count(&m, "turn", s->taken);
    object_put_count(&m, "attempt", s->attempt);
    object_writer_close(&m);
}

static void boot_put_servers(struct call *call, const struct boot_serving *all, uint32_t count,
                             struct buf *b)
{
    buf_put_c(b, '[');
    for (uint32_t i = 0; i < count; i++) {
        buf_put_z(b, i ? ",\n" : "");
        boot_put_server(call, &all[i], b);
    }
    buf_put_c(b, ']');
}

/* ---- replies ---- */

/* What the replies about the boot of a node are made of. */
struct node_boot {
    struct record node;
    struct boot_entry entry;
    struct str why; /* there is no entry */
    bool has_entry;
    struct boot_serving *servers;
    uint32_t server_count;
    bool is_served;
};

/* False: the reply is an error. */
static bool boot_read(struct call *call, struct node_boot *out)
{
    if (!resource_find(call, &resource_nodes, call->keys[0], &out->node))
        return false;
    out->has_entry = node_boot_entry(call, out->node.id, &out->entry, &out->why);
    out->server_count = core_boot_servings(call->core, out->node.id, call->arena, &out->servers);
    out->is_served = boot_is_served_by_all(out->servers, out->server_count);
    return true;
}

static struct object_writer boot_writer_open(struct call *call, const struct node_boot *boot,
                                             struct buf *b)
{
    const struct node_record *node = &boot->node.node;
    struct object_writer m = object_writer_open(b, call->wanted);
    object_put_text(&m, "node", node->name);
    object_put_number(&m, "node_id", node->id);
    object_put_text(&m, "bootenv", node->bootenv);
    object_put_number(&m, "generation", node->boot_generation);
    return m;
}

enum handler_result serve_node_boot(struct call *call)
{
    struct node_boot boot;
    struct buf b = buf_in(call->arena);
    if (!boot_read(call, &boot))
        return SERVED_REPLY;
    const struct node_record *node = &boot.node.node;
    struct object_writer m = boot_writer_open(call, &boot, &b);
    object_put_optional(&m, "missing", boot.has_entry ? STR("") : boot.why);
    if (boot.has_entry && object_put_key(&m, "entry"))
        boot_put_entry(call, node->id, &boot.entry.machine, &b);
    else if (!boot.has_entry)
        object_put_json(&m, "entry", STR("null"));
    if (object_put_key(&m, "environment"))
        boot_put_environment(call, node->bootenv, &b);
    if (object_put_key(&m, "grant"))
        boot_put_grant(call, node->id, &b);
    object_put_bool(&m, "served", boot.is_served);
    if (object_put_key(&m, "servers"))
        boot_put_servers(call, boot.servers, boot.server_count, &b);
    if (object_put_key(&m, "problems"))
        why_put_causes(call, core_why_boot(call->core, node->id, call->arena), &b);
    object_writer_close(&m);
    reply_json(call, "boot", "obj", buf_str(&b));
    return SERVED_REPLY;
}

enum handler_result serve_node_bootstate(struct call *call)
{
    struct node_boot boot;
    struct buf b = buf_in(call->arena);
    if (!boot_read(call, &boot))
        return SERVED_REPLY;
    struct object_writer m = boot_writer_open(call, &boot, &b);
    object_put_bool(&m, "served", boot.is_served);
    object_put_optional(&m, "bootstate",
                        boot.has_entry && boot.is_served ? boot.node.node.bootenv : STR(""));
    object_writer_close(&m);
    reply_json(call, "bootstate", "obj", buf_str(&b));
    return SERVED_REPLY;
}
