#include "api/nouns/node_boot.h"

#include "api/call/reply.h"
#include "api/call/resource.h"
#include "api/call/route.h"
#include "api/rest/json_object_writer.h"
#include "base/net/ip.h"
#include "base/net/mac.h"

/* What boot servers report (docs/spec/boot.md, "Boot servers"): the boot servers of the admin
 * nodes, and the last events of the boots of a machine. The reports are in the memory of the daemon
 * and not in the store; the file has no state, and nothing is changed.
 *
 * Failure: a daemon without reports gives empty lists. An unknown node is 404. */

/* ---- events of a machine ---- */

static void boots_put_address(struct object_writer *m, const char *key, int64_t address,
                              struct arena *a)
{
    const struct ip ip = ip_from_v4((uint32_t)address);
    object_put_optional(m, key, address ? ip_format_address(a, ip) : STR(""));
}

static void boots_put_mac(struct object_writer *m, const char *key, uint64_t number,
                          struct arena *a)
{
    object_put_optional(m, key, number ? mac_format(a, mac_from_number(number)) : STR(""));
}

static void boots_put_event(struct call *call, const struct api_boot *boot, struct buf *b)
{
    struct object_writer m = object_writer_open(b, call->wanted);
    const struct str what = str_from(boot->what);
    object_put_time(&m, "at", boot->at_ms);
    object_put_text(&m, "event", what);
    object_put_text(&m, "server",
                    object_name(call->core, TABLE_NODE, boot->server_id, call->arena));
    boots_put_mac(&m, "mac", boot->mac, call->arena);
    boots_put_address(&m, "address", boot->address, call->arena);
    object_put_count(&m, "generation", boot->generation);
    object_put_optional(&m, "detail", boot->detail);
    /* The meaning of the last value depends on the event. */
    if (str_eq(what, STR("address-in-use")))
        boots_put_mac(&m, "other", (uint64_t)boot->other, call->arena);
    else if (str_eq(what, STR("foreign-server")))
        boots_put_address(&m, "other", boot->other, call->arena);
    else
        object_put_count(&m, "bytes", boot->other);
    object_writer_close(&m);
}

enum handler_result serve_node_boots(struct call *call)
{
    struct record node;
    struct api_boot boots[API_BOOTS_MAX];
    struct buf b = buf_in(call->arena);
    const struct api_engine *engine = call_engine(call);
    if (!resource_find(call, &resource_nodes, call->keys[0], &node))
        return SERVED_REPLY;
    const uint32_t count =
        engine->boots ? engine->boots(engine->self, node.id, call->arena, boots) : 0;
    buf_put_c(&b, '[');
    for (uint32_t i = 0; i < count; i++) {
        buf_put_z(&b, i ? ",\n" : "");
        boots_put_event(call, &boots[i], &b);
    }
    buf_put_c(&b, ']');
    reply_json(call, "boot_event", "list", buf_str(&b));
    return SERVED_REPLY;
}

/* ---- boot servers ---- */

static void boot_server_put(struct call *call, int64_t node_id,
                            const struct api_boot_server *server, struct buf *b)
{
    int64_t stamp;
    struct object_writer m = object_writer_open(b, call->wanted);
    object_put_text(&m, "node", object_name(call->core, TABLE_NODE, node_id, call->arena));
    object_put_number(&m, "node_id", node_id);
    object_put_bool(&m, "connected", server != NULL);
    object_put_time(&m, "connected_at", server ? server->connected_ms : 0);
    object_put_bool(&m, "has_roles", core_next_native(call->core, node_id, 0, &stamp) != 0);
    object_put_optional(&m, "interfaces", server ? server->interfaces : STR(""));
    object_put_count(&m, "http_port", server ? server->http_port : 0);
    object_put_optional(&m, "version", server ? server->version : STR(""));
    object_put_count(&m, "sent_turn", server ? server->sent_turn : 0);
    object_put_count(&m, "taken_turn", server ? server->taken_turn : 0);
    object_put_optional(&m, "status", server ? server->status : STR(""));
    object_writer_close(&m);
}

/* True if the node has a boot server, or committed roles that need one. */
static bool boot_server_find(struct call *call, int64_t node_id, struct api_boot_server *out,
                             bool *out_is_connected)
{
    const struct api_engine *engine = call_engine(call);
    struct record node;
    int64_t stamp;
    *out_is_connected = engine->next_boot_server &&
                        engine->next_boot_server(engine->self, node_id - 1, call->arena, out) &&
                        out->node_id == node_id;
    return core_record(call->core, TABLE_NODE, node_id, &node) && node.node.admin &&
           (*out_is_connected || core_next_native(call->core, node_id, 0, &stamp));
}

static enum handler_result serve_boot_servers(struct call *call)
{
    struct api_boot_server server;
    struct buf b = buf_in(call->arena);
    bool is_first = true, is_connected;
    buf_put_c(&b, '[');
    for (int64_t id = 0; (id = core_next_id(call->core, TABLE_NODE, id)) != 0;) {
        if (!boot_server_find(call, id, &server, &is_connected))
            continue;
        buf_put_z(&b, is_first ? "" : ",\n");
        boot_server_put(call, id, is_connected ? &server : NULL, &b);
        is_first = false;
    }
    buf_put_c(&b, ']');
    reply_json(call, "boot_server", "list", buf_str(&b));
    return SERVED_REPLY;
}

static const struct route routes[] = {
    {.method = HTTP_GET,
     .pattern = V "boot_servers",
     .serve = serve_boot_servers,
     .form = REPLY_CUSTOM,
     .does = "the boot servers of the admin nodes: connection, interfaces, acknowledged turn"},
};

const struct route_table route_table_boot_servers = ROUTE_TABLE("boot_servers", routes);
