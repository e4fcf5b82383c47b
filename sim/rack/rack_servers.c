#include "sim/rack/server_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text/buf.h"
#include "boot/script/boot_args.h"
#include "model/grant.h"

/* Boot servers: one process on each admin node, for roles with a native jig. This file has the
 * daemon end of their connections, and what is on its way; rack_process.c has the process.
 *
 * The daemon end of a connection reads a base image from the core by a cursor, in several events,
 * and adds the changes of each durable batch (port/boot_port.h) and the settings when they change.
 * It reports connections and acknowledgements to the core with COMMAND_BOOT_SERVER, and executes
 * what the process asks (LEASE_TAKE, GRANT_USE); the answer follows the changes of its turn.
 *
 * Messages of one connection arrive in order, some of them late. A connection may be lost with all
 * that is on its way; the daemon notices that later. A process that restarts has no copy and does
 * not answer machines; one that has lost its connection answers with what it has. A crash of the
 * daemon ends all connections. */

enum {
    ENTRIES_READ = 8,   /* of a base image, in one event */
    LATE_MS_MAX = 200,  /* usual delay of a message */
    RETRY_S_MAX = 20,   /* until a command that was not accepted is sent again */
    AWAY_S_MAX = 2400,  /* without a connection */
    TROUBLE_M_MAX = 90, /* minutes until the next opportunity of a fault */
};

struct rack_server *rack_server_find(struct rack *r, int64_t connection, uint32_t *out_admin)
{
    for (uint32_t i = 0; i < RACK_ADMINS && connection; i++)
        if (r->servers[i].connection == connection || r->servers[i].joined == connection) {
            *out_admin = i;
            return &r->servers[i];
        }
    return NULL;
}

static bool rack_has_servers(const struct rack *r)
{
    return r->scenario.is_native[RACK_DHCP] || r->scenario.is_native[RACK_PROVISIONER];
}

bool rack_servers_are_up(const struct rack *r)
{
    for (uint32_t i = 0; i < RACK_ADMINS; i++) {
        const struct rack_server *server = &r->servers[i];
        if (server->is_installed && (!server->connection || server->joined != server->connection ||
                                     !server->has_copy || server->taken != server->said))
            return false;
    }
    return true;
}

/* ---- reports to the core ---- */

void rack_server_say_later(struct rack *r, uint32_t admin, int64_t delay_ms)
{
    rack_at(r, delay_ms, RACK_EVENT_SERVER_SAYS, (struct event){.id = admin});
}

static bool servers_say(struct rack *r, uint32_t admin, enum boot_event event, int64_t turn)
{
    struct command command = {.kind = COMMAND_BOOT_SERVER, .actor = STR("boot server")};
    command.boot_server.node_id = rack_node_id(r, rack_admin_machine(admin));
    command.boot_server.event = event;
    command.boot_server.turn = turn;
    if (event == BOOT_EVENT_FAILED)
        command.boot_server.text = STR("port 67 on eth1 is held by dnsmasq");
    return turn_submit(r->turn, &command) == OK;
}

/* In this order, each when the one before was accepted. */
static void rack_server_says(struct rack *r, uint32_t admin)
{
    struct rack_server *server = &r->servers[admin];
    bool accepted = rack_core(r) != NULL;
    if (accepted && server->is_lost)
        server->is_lost = !(accepted = servers_say(r, admin, BOOT_EVENT_LOST, 0));
    if (accepted && server->is_new)
        server->is_new = !(accepted = servers_say(r, admin, BOOT_EVENT_CONNECTED, 0));
    if (accepted && server->connection && server->taken > server->said &&
        (accepted = servers_say(r, admin, BOOT_EVENT_TAKEN, server->taken)))
        server->said = server->taken;
    if (accepted && server->connection && server->has_failed)
        server->has_failed = !(accepted = servers_say(r, admin, BOOT_EVENT_FAILED, 0));
    if (!accepted)
        rack_server_say_later(r, admin, RACK_SECOND * prng_between(&r->rng, 1, RETRY_S_MAX));
}

/* ---- the daemon end ---- */

static void servers_put_entry(struct buf *b, struct boot_key key, const struct boot_entry *entry,
                              struct arena *scratch)
{
    struct buf bytes = buf_in(scratch);
    if (entry)
        boot_entry_encode(entry, &bytes);
    boot_key_encode(key, b);
    buf_put_varint(b, bytes.len);
    buf_put_str(b, buf_str(&bytes));
}

static void servers_put_header(struct buf *b, struct servers_message header)
{
    buf_put_varint(b, (uint64_t)header.loads);
    buf_put_varint(b, (uint64_t)header.turn);
    buf_put_varint(b, header.parts);
}

static void servers_send(struct rack *r, struct rack_server *server, const struct buf *message)
{
    int64_t at_ms = r->mono_ms + rack_delay(r, RACK_SERVER_LATE, 1, LATE_MS_MAX);
    if (at_ms < server->arrives_ms)
        at_ms = server->arrives_ms;
    server->arrives_ms = at_ms;
    rack_at(r, at_ms - r->mono_ms, RACK_EVENT_SERVER_GETS,
            (struct event){.id = server->connection, .bytes = buf_str(message)});
}

/* ---- settings ---- */

/* Rows that change have new turns, so their sum changes. */
static int64_t servers_config_stamp(const struct core *core, int64_t node_id)
{
    int64_t stamp = 0, one;
    for (int64_t id = 0; (id = core_next_native(core, node_id, id, &one)) != 0;)
        stamp += one + id;
    return stamp;
}

static void servers_configure(struct rack *r, uint32_t admin)
{
    struct rack_server *server = &r->servers[admin];
    struct buf message = buf_in(&r->arena);
    int64_t one;
    const int64_t node_id = rack_node_id(r, rack_admin_machine(admin));
    const int64_t stamp = servers_config_stamp(rack_core(r), node_id);
    if (stamp == server->config_stamp)
        return;
    server->config_stamp = stamp;
    servers_put_header(
        &message,
        (struct servers_message){.loads = r->loads, .turn = r->view_turn, .parts = SERVER_CONFIG});
    for (int64_t id = 0; (id = core_next_native(rack_core(r), node_id, id, &one)) != 0;) {
        const struct str document = core_staged(rack_core(r), id, &r->scratch);
        buf_put_varint(&message, document.len);
        buf_put_str(&message, document);
    }
    servers_send(r, server, &message);
}

void rack_servers_configure(struct rack *r)
{
    for (uint32_t i = 0; i < RACK_ADMINS; i++)
        if (r->servers[i].connection)
            servers_configure(r, i);
}

/* ---- base images and changes ---- */

/* The next entries behind the cursor; false: there are no more. */
static bool servers_read_entries(struct rack *r, struct rack_server *server, struct buf *out)
{
    struct boot_key key = server->cursor;
    for (uint32_t i = 0; i < ENTRIES_READ; i++) {
        struct boot_entry entry;
        if (!core_boot_next(rack_core(r), &key))
            return false;
        must(core_boot_view(rack_core(r), key, &r->scratch, &entry));
        servers_put_entry(out, key, &entry, &r->scratch);
        server->cursor = key;
    }
    return true;
}

static void servers_read_later(struct rack *r, struct rack_server *server, int64_t delay_ms)
{
    if (!server->is_reading)
        rack_at(r, delay_ms, RACK_EVENT_SERVER_READS, (struct event){.id = server->connection});
    server->is_reading = true;
}

/* Read the next part of the base image. The last part waits until every row of the core is durable:
 * an entry may belong to a batch that is never stored. */
static void rack_server_reads(struct rack *r, int64_t connection)
{
    uint32_t admin;
    struct rack_server *server = rack_server_find(r, connection, &admin);
    if (!server || server->connection != connection)
        return;
    server->is_reading = false;
    if (server->is_complete)
        return;
    if (!rack_core(r)) {
        servers_read_later(r, server, RACK_SECOND);
        return;
    }
    struct servers_message header = {
        .loads = r->loads, .turn = r->view_turn, .parts = server->is_begun ? 0 : SERVER_BASE_FIRST};
    struct buf entries = buf_in(&r->scratch), message = buf_in(&r->arena);
    const bool is_durable = turn_seen(r->turn) == turn_durable(r->turn);
    if (!servers_read_entries(r, server, &entries) && is_durable)
        header.parts |= SERVER_BASE_LAST;
    servers_put_header(&message, header);
    buf_put_str(&message, buf_str(&entries));
    servers_send(r, server, &message);
    if (is_durable)
        servers_configure(r, admin);
    server->is_begun = true;
    server->is_complete = (header.parts & SERVER_BASE_LAST) != 0;
    if (!server->is_complete)
        servers_read_later(r, server, prng_between(&r->rng, 1, RACK_SECOND));
}

/* The core knows nothing of the connection: it is new, or the core was loaded. */
static void servers_begin_base(struct rack *r, uint32_t admin)
{
    struct rack_server *server = &r->servers[admin];
    server->is_begun = server->is_complete = false;
    server->cursor = (struct boot_key){0};
    server->is_new = true;
    server->is_lost = server->has_failed = false;
    server->taken = server->said = 0;
    server->config_stamp = -1;
    rack_server_say_later(r, admin, 1);
    servers_read_later(r, server, prng_between(&r->rng, 1, LATE_MS_MAX));
}

static void servers_loaded(void *self, int64_t turn)
{
    struct rack *r = self;
    r->loads++;
    r->view_turn = turn;
    rack_check_loaded(r);
    boot_view_oracle_begin(&r->view, rack_core(r), memory_store_mark(r->store).turn, &r->scratch);
    for (uint32_t i = 0; i < RACK_ADMINS; i++)
        if (r->servers[i].connection)
            servers_begin_base(r, i);
}

static void servers_changed(void *self, int64_t turn, const struct boot_change *changes,
                            uint32_t count)
{
    struct rack *r = self;
    r->view_turn = turn;
    for (uint32_t i = 0; i < RACK_ADMINS; i++) {
        struct rack_server *server = &r->servers[i];
        if (!server->connection || !server->is_begun)
            continue;
        struct buf message = buf_in(&r->arena);
        servers_put_header(&message, (struct servers_message){.loads = r->loads, .turn = turn});
        for (uint32_t k = 0; k < count; k++)
            if (server->is_complete || boot_key_cmp(changes[k].key, server->cursor) <= 0)
                servers_put_entry(&message, changes[k].key, changes[k].entry, &r->scratch);
        servers_send(r, server, &message);
    }
}

/* ---- questions ---- */

static struct command servers_command_of(struct rack *r, const struct rack_ask *ask)
{
    struct command command = {.actor = STR("boot server"), .request = -ask->id};
    const struct str mac = boot_args_mac(ask->mac, &r->scratch);
    if (ask->is_grant) {
        command.kind = COMMAND_GRANT_USE;
        command.grant_use.node_id = ask->node_id;
        command.grant_use.generation = ask->generation;
        command.grant_use.ticket = str_from(ask->ticket_hash);
        command.grant_use.mac = mac;
    } else {
        command.kind = COMMAND_LEASE_TAKE;
        command.lease_take.range_id = ask->range;
        command.lease_take.address = ip_format_address(
            &r->scratch, (struct ip){.lo = ask->address, .family = IP_V4, .prefix = 32});
        command.lease_take.mac = mac;
        command.lease_take.lease_s = ask->lease_s;
    }
    return command;
}

static void rack_server_asks(struct rack *r, const struct event *event)
{
    uint32_t admin;
    const struct rack_server *server = rack_server_find(r, event->id, &admin);
    if (!server || server->connection != event->id || !rack_core(r))
        return;
    const struct command command = servers_command_of(r, &r->asks[event->detail - 1]);
    if (command.kind == COMMAND_GRANT_USE)
        grant_oracle_ask(&r->grants, command.request, &command.grant_use);
    if (turn_submit(r->turn, &command) != OK) /* the machine asks again */
        grant_oracle_drop(&r->grants, command.request);
}

/* 0, or the answer plus 1: an outcome that is none sends the machine to its disk. */
static uint64_t servers_answer_of(const struct rack_ask *ask, const struct outcome *outcome)
{
    if (!ask->is_grant)
        return outcome->verdict == VERDICT_DONE;
    for (uint32_t i = 0; i < GRANT_ANSWER_COUNT; i++)
        if (outcome->verdict == VERDICT_DONE &&
            str_eq(outcome->doc, grant_answer_doc((enum grant_answer)i)))
            return i + 1;
    return GRANT_LOCAL + 1;
}

void rack_server_answered(struct rack *r, int64_t request, const struct outcome *outcome)
{
    uint32_t admin;
    const struct rack_ask *ask = &r->asks[-request - 1];
    const uint64_t answer = servers_answer_of(ask, outcome);
    if (ask->is_grant) {
        const char *said = grant_oracle_reply(&r->grants, request, outcome->doc);
        if (said)
            rack_fail(r, "grant: %s", said);
        if (answer == GRANT_GRANTED + 1)
            rack_call_note_disk(r, ask->machine);
    }
    struct rack_server *server = rack_server_find(r, ask->connection, &admin);
    if (!server || server->connection != ask->connection)
        return;
    struct buf message = buf_in(&r->arena);
    servers_put_header(
        &message,
        (struct servers_message){.loads = r->loads, .turn = r->view_turn, .parts = SERVER_ANSWER});
    buf_put_varint(&message, (uint64_t)ask->id);
    buf_put_varint(&message, answer);
    servers_send(r, server, &message);
}

struct boot_port rack_boot_port(struct rack *r)
{
    return (struct boot_port){.self = r, .loaded = servers_loaded, .changed = servers_changed};
}

/* ---- connections ---- */

static void servers_connect_later(struct rack *r, uint32_t admin, int64_t delay_ms)
{
    rack_at(r, delay_ms, RACK_EVENT_SERVER_CONNECTS, (struct event){.id = admin});
}

static void rack_server_connects(struct rack *r, uint32_t admin)
{
    struct rack_server *server = &r->servers[admin];
    if (server->connection)
        return;
    if (!rack_core(r) || !rack_node_id(r, rack_admin_machine(admin))) {
        servers_connect_later(r, admin, RACK_SECOND * prng_between(&r->rng, 1, RETRY_S_MAX));
        return;
    }
    server->connection = server->joined = ++r->connections;
    server->is_receiving = server->is_reading = false;
    server->arrives_ms = r->mono_ms;
    servers_begin_base(r, admin);
}

void rack_server_install(struct rack *r, uint32_t admin)
{
    if (!rack_has_servers(r) || r->servers[admin].is_installed)
        return;
    r->servers[admin].is_installed = true;
    rack_process_start(r, admin);
    servers_connect_later(r, admin, RACK_SECOND * prng_between(&r->rng, 1, RETRY_S_MAX));
    rack_at(r, RACK_MINUTE * prng_between(&r->rng, 1, TROUBLE_M_MAX), RACK_EVENT_SERVER_TROUBLE,
            (struct event){.id = admin});
}

/* The connection is lost; the daemon notices that later. */
static void servers_lose(struct rack *r, struct rack_server *server)
{
    server->joined = 0;
    if (server->connection)
        rack_at(r, prng_between(&r->rng, 1, 2 * RACK_MINUTE), RACK_EVENT_SERVER_LOST,
                (struct event){.id = server->connection});
}

/* The daemon notices that the connection is lost. */
static void rack_server_lost(struct rack *r, int64_t connection)
{
    uint32_t admin;
    struct rack_server *server = rack_server_find(r, connection, &admin);
    if (!server || server->connection != connection)
        return;
    server->connection = 0;
    server->is_new = server->has_failed = false;
    server->is_lost = true;
    rack_server_say_later(r, admin, 1);
    servers_connect_later(r, admin,
                          server->away_ms + RACK_SECOND * prng_between(&r->rng, 1, AWAY_S_MAX));
    server->away_ms = 0;
}

void rack_lose_server(struct rack *r, uint32_t admin, int64_t ms)
{
    r->servers[admin].away_ms = ms;
    servers_lose(r, &r->servers[admin]);
}

static void rack_server_trouble(struct rack *r, uint32_t admin)
{
    struct rack_server *server = &r->servers[admin];
    rack_at(r, RACK_MINUTE * prng_between(&r->rng, 1, TROUBLE_M_MAX), RACK_EVENT_SERVER_TROUBLE,
            (struct event){.id = admin});
    if (!server->joined)
        return;
    if (rack_fault(r, RACK_SERVER_FAILED)) {
        server->has_failed = true;
        rack_server_say_later(r, admin, 1);
    }
    if (rack_fault(r, RACK_SERVER_RESTARTED)) {
        rack_process_stop(server);
        rack_process_start(r, admin);
        servers_lose(r, server);
    } else if (rack_fault(r, RACK_SERVER_LOST)) {
        servers_lose(r, server);
    }
}

void rack_servers_daemon_crashed(struct rack *r)
{
    r->loads++; /* whatever is on its way is of an earlier load */
    for (uint32_t i = 0; i < RACK_ADMINS; i++) {
        struct rack_server *server = &r->servers[i];
        if (server->connection)
            servers_connect_later(r, i, RACK_SECOND * prng_between(&r->rng, 1, 60));
        server->connection = server->joined = 0;
        server->is_new = server->is_lost = server->has_failed = false;
    }
}

/* ---- events ---- */

void rack_server_dispatch(struct rack *r, const struct event *event)
{
    const uint32_t id = (uint32_t)event->id;
    switch (event->kind) {
    case RACK_EVENT_SERVER_SAYS: rack_server_says(r, id); return;
    case RACK_EVENT_SERVER_GETS: rack_server_gets(r, event); return;
    case RACK_EVENT_SERVER_READS: rack_server_reads(r, event->id); return;
    case RACK_EVENT_SERVER_CONNECTS: rack_server_connects(r, id); return;
    case RACK_EVENT_SERVER_LOST: rack_server_lost(r, event->id); return;
    case RACK_EVENT_SERVER_TROUBLE: rack_server_trouble(r, id); return;
    case RACK_EVENT_SERVER_ASKS: rack_server_asks(r, event); return;
    case RACK_EVENT_SERVER_TICKS: rack_process_ticks(r, id); return;
    case RACK_EVENT_PROBED: rack_process_probed(r, event); return;
    case RACK_EVENT_DHCP_TO_SERVER: rack_process_packet(r, event); return;
    case RACK_EVENT_DHCP_TO_MACHINE: rack_netboot_packet(r, event); return;
    case RACK_EVENT_NET_TIMEOUT: rack_netboot_timeout(r, event); return;
    case RACK_EVENT_PAGE_ASKED: rack_process_page(r, event); return;
    case RACK_EVENT_PAGE_ARRIVES: rack_netboot_page(r, event); return;
    default: impossible("an event of another kind");
    }
}

/* ---- life ---- */

void rack_servers_init(struct rack *r)
{
    r->servers = calloc(RACK_ADMINS, sizeof *r->servers);
    must(r->servers);
}

void rack_servers_fini(struct rack *r)
{
    for (uint32_t i = 0; i < RACK_ADMINS; i++)
        if (r->servers[i].is_installed)
            rack_process_stop(&r->servers[i]);
    free(r->servers);
    free(r->asks);
    boot_view_oracle_fini(&r->view);
}
