#include "sim/rack/rack_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text/buf.h"
#include "sim/oracle/boot_copy.h"

/* Boot servers: one process on each admin node, for roles with a native jig.
 *
 * The daemon end of a connection reads a base image from the core by a cursor, in several events,
 * and adds the changes of each durable batch (port/boot_port.h). It reports connections and
 * acknowledgements to the core with COMMAND_BOOT_SERVER. The process keeps a copy of the boot
 * view, answers machines from it and acknowledges each turn that it has reached; then the copy is
 * compared with the view of the core at that turn.
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

struct rack_server {
    bool is_installed; /* the process exists */
    /* the daemon end */
    int64_t connection; /* number of the connection; 0 = none */
    bool is_begun;      /* the first part of the base image was sent */
    bool is_complete;   /* the whole base image was sent */
    bool is_reading;    /* an event that reads the next part is on its way */
    struct boot_key cursor;
    int64_t arrives_ms;  /* monotonic time at which the last message arrives */
    bool is_new;         /* to be reported to the core: the connection ... */
    bool is_lost;        /* ... that it is lost ... */
    bool has_failed;     /* ... that something cannot be served ... */
    int64_t taken, said; /* ... of the turn that was acknowledged last; and the last one it knows */
    int64_t away_ms;     /* for tests: added to the time without a connection */
    /* the process */
    int64_t joined; /* number of the connection; 0 = none */
    bool has_copy;  /* a base image was complete since the process started */
    bool is_receiving;
    uint32_t history; /* rack.history of the copy */
    struct boot_copy copy;
    struct boot_copy base; /* the base image that is being received */
};

/* Header of a message; entries follow, each as a key, a length and its bytes. */
struct servers_message {
    int64_t loads;
    int64_t turn;
    uint64_t parts; /* BASE_FIRST, BASE_LAST */
};

enum { BASE_FIRST = 1, BASE_LAST = 2 };

static struct rack_server *servers_find(struct rack *r, int64_t connection, uint32_t *out_admin)
{
    for (uint32_t i = 0; i < RACK_ADMINS && connection; i++)
        if (r->servers[i].connection == connection || r->servers[i].joined == connection) {
            *out_admin = i;
            return &r->servers[i];
        }
    return NULL;
}

bool rack_has_servers(const struct rack *r)
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

static void servers_say_later(struct rack *r, uint32_t admin, int64_t delay_ms)
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
void rack_server_says(struct rack *r, uint32_t admin)
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
        servers_say_later(r, admin, RACK_SECOND * prng_between(&r->rng, 1, RETRY_S_MAX));
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
void rack_server_reads(struct rack *r, int64_t connection)
{
    uint32_t admin;
    struct rack_server *server = servers_find(r, connection, &admin);
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
        .loads = r->loads, .turn = r->view_turn, .parts = server->is_begun ? 0 : BASE_FIRST};
    struct buf entries = buf_in(&r->scratch), message = buf_in(&r->arena);
    const bool is_durable = turn_seen(r->turn) == turn_durable(r->turn);
    if (!servers_read_entries(r, server, &entries) && is_durable)
        header.parts |= BASE_LAST;
    servers_put_header(&message, header);
    buf_put_str(&message, buf_str(&entries));
    servers_send(r, server, &message);
    server->is_begun = true;
    server->is_complete = (header.parts & BASE_LAST) != 0;
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
    servers_say_later(r, admin, 1);
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
        servers_put_header(&message, (struct servers_message){r->loads, turn, 0});
        for (uint32_t k = 0; k < count; k++)
            if (server->is_complete || boot_key_cmp(changes[k].key, server->cursor) <= 0)
                servers_put_entry(&message, changes[k].key, changes[k].entry, &r->scratch);
        servers_send(r, server, &message);
    }
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

void rack_server_connects(struct rack *r, uint32_t admin)
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
    servers_connect_later(r, admin, RACK_SECOND * prng_between(&r->rng, 1, RETRY_S_MAX));
    rack_at(r, RACK_MINUTE * prng_between(&r->rng, 1, TROUBLE_M_MAX), RACK_EVENT_SERVER_TROUBLE,
            (struct event){.id = admin});
}

static void servers_stop(struct rack_server *server)
{
    boot_copy_fini(&server->copy);
    boot_copy_fini(&server->base);
    server->has_copy = false;
    server->joined = 0;
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
void rack_server_lost(struct rack *r, int64_t connection)
{
    uint32_t admin;
    struct rack_server *server = servers_find(r, connection, &admin);
    if (!server || server->connection != connection)
        return;
    server->connection = 0;
    server->is_new = server->has_failed = false;
    server->is_lost = true;
    servers_say_later(r, admin, 1);
    servers_connect_later(r, admin,
                          server->away_ms + RACK_SECOND * prng_between(&r->rng, 1, AWAY_S_MAX));
    server->away_ms = 0;
}

void rack_lose_server(struct rack *r, uint32_t admin, int64_t ms)
{
    r->servers[admin].away_ms = ms;
    servers_lose(r, &r->servers[admin]);
}

void rack_server_trouble(struct rack *r, uint32_t admin)
{
    struct rack_server *server = &r->servers[admin];
    rack_at(r, RACK_MINUTE * prng_between(&r->rng, 1, TROUBLE_M_MAX), RACK_EVENT_SERVER_TROUBLE,
            (struct event){.id = admin});
    if (!server->joined)
        return;
    if (rack_fault(r, RACK_SERVER_FAILED)) {
        server->has_failed = true;
        servers_say_later(r, admin, 1);
    }
    if (rack_fault(r, RACK_SERVER_RESTARTED)) {
        servers_stop(server);
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

/* ---- the process ---- */

static void servers_apply(struct boot_copy *copy, struct str bytes, uint32_t at)
{
    while (at < bytes.len) {
        struct boot_key key;
        uint64_t len;
        must(boot_key_decode(bytes, &at, &key) == OK && varint_read(bytes, &at, &len) &&
             len <= bytes.len - at);
        boot_copy_set(copy, key, (struct str){bytes.at + at, (uint32_t)len});
        at += (uint32_t)len;
    }
}

static void servers_finish_base(struct rack *r, struct rack_server *server)
{
    boot_copy_fini(&server->copy);
    server->copy = server->base;
    server->base = (struct boot_copy){0};
    server->is_receiving = false;
    server->has_copy = true;
    server->history = r->history;
    rack_count_reached(r, RACK_REACHED_BASE_RECEIVED);
}

/* The process has the view of a turn: it acknowledges it. */
static void servers_reach(struct rack *r, uint32_t admin, struct servers_message header)
{
    struct rack_server *server = &r->servers[admin];
    if (header.loads != r->loads)
        return; /* of an earlier load: the daemon drops its acknowledgement */
    const char *said = boot_view_oracle_server(&r->view, &server->copy, header.turn, &r->scratch);
    if (said)
        rack_fail(r, "boot view: %s", said);
    rack_count_reached(r, RACK_REACHED_VIEW_COMPARED);
    if (server->connection == server->joined && header.turn > server->taken) {
        server->taken = header.turn;
        servers_say_later(r, admin, prng_between(&r->rng, 1, LATE_MS_MAX));
    }
}

void rack_server_gets(struct rack *r, const struct event *event)
{
    uint32_t admin, at = 0;
    struct rack_server *server = servers_find(r, event->id, &admin);
    uint64_t loads, turn, parts;
    if (!server || server->joined != event->id)
        return;
    must(varint_read(event->bytes, &at, &loads) && varint_read(event->bytes, &at, &turn) &&
         varint_read(event->bytes, &at, &parts));
    const struct servers_message header = {(int64_t)loads, (int64_t)turn, parts};
    if (header.parts & BASE_FIRST) {
        boot_copy_fini(&server->base);
        server->is_receiving = true;
    }
    servers_apply(server->is_receiving ? &server->base : &server->copy, event->bytes, at);
    if (header.parts & BASE_LAST)
        servers_finish_base(r, server);
    if (!server->is_receiving)
        servers_reach(r, admin, header);
}

/* ---- answers ---- */

static uint64_t servers_mac(const char *text)
{
    uint64_t mac = 0;
    for (; *text; text++) {
        const char *digits = "0123456789abcdef", *digit = strchr(digits, *text);
        if (digit)
            mac = mac << 4 | (uint64_t)(digit - digits);
    }
    return mac;
}

/* An environment that no barclamp defines is answered with the disk. */
static bool servers_know_bootenv(struct rack *r, const struct rack_server *server,
                                 struct str bootenv)
{
    for (uint32_t i = 0; i < server->copy.count; i++) {
        const struct boot_copy_entry *own = &server->copy.entries[i];
        struct boot_entry entry;
        if (own->key.kind != BOOT_BOOTENV)
            return false; /* they are the first ones */
        must(boot_entry_decode((struct str){own->bytes, own->len}, &r->scratch, &entry) == OK);
        if (str_eq(entry.bootenv.name, bootenv))
            return true;
    }
    return false;
}

static void servers_make_answer(struct rack *r, const struct rack_server *server,
                                const struct boot_entry *entry, struct rack_answer *out)
{
    const struct boot_machine *m = &entry->machine;
    *out = (struct rack_answer){
        .node_id = entry->key.id, .generation = m->generation, .history = server->history};
    const struct str bootenv =
        servers_know_bootenv(r, server, m->bootenv) ? m->bootenv : STR("local");
    snprintf(out->bootenv, sizeof out->bootenv, "%.*s", STR_FMT_ARGS(bootenv));
}

static bool servers_has_mac(const struct boot_machine *m, uint64_t mac)
{
    for (uint32_t i = 0; i < m->mac_count; i++)
        if (m->macs[i] == mac)
            return true;
    return false;
}

/* The entry of the node, or of the MAC. */
static enum rack_answered servers_look_up(struct rack *r, uint32_t admin, int64_t node_id,
                                          uint64_t mac, struct rack_answer *out)
{
    const struct rack_server *server = &r->servers[admin];
    if (!server->has_copy)
        return RACK_SILENT;
    for (uint32_t i = 0; i < server->copy.count; i++) {
        const struct boot_copy_entry *own = &server->copy.entries[i];
        struct boot_entry entry;
        if (own->key.kind != BOOT_MACHINE || (node_id && own->key.id != node_id))
            continue;
        must(boot_entry_decode((struct str){own->bytes, own->len}, &r->scratch, &entry) == OK);
        if (!node_id && !servers_has_mac(&entry.machine, mac))
            continue;
        servers_make_answer(r, server, &entry, out);
        return RACK_ANSWERED;
    }
    return RACK_NOT_LISTED;
}

enum rack_answered rack_server_ask(struct rack *r, uint32_t admin, uint32_t machine,
                                   struct rack_answer *out)
{
    return servers_look_up(r, admin, 0, servers_mac(r->machines[machine].mac), out);
}

enum rack_answered rack_server_has(struct rack *r, uint32_t admin, int64_t node_id,
                                   struct rack_answer *out)
{
    return servers_look_up(r, admin, node_id, 0, out);
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
        servers_stop(&r->servers[i]);
    free(r->servers);
    boot_view_oracle_fini(&r->view);
}
