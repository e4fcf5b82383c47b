#include "sim/world/actors.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text/buf.h"
#include "sim/oracle/boot_copy.h"
#include "sim/oracle/checks.h"

/* Simulated boot servers: one for each admin node.
 *
 * The daemon end of a connection reads a base image from the core by a cursor, in several events,
 * and adds the changes of each durable batch (port/boot_port.h). The process at the other end keeps
 * a copy of the boot view and acknowledges each turn that it has reached; then the copy is compared
 * with the view at that turn (I19).
 *
 * The daemon end reports to the core what happens to its connection, in order: CONNECTED when it
 * begins and after every load of a core, TAKEN when an acknowledgement arrives, LOST when it
 * notices the loss, and FAILED when the process reports that it cannot serve. What the turn does
 * not accept is kept and sent later. Acknowledgements of an earlier load are dropped, as the daemon
 * does.
 *
 * Messages of one connection arrive in order; acknowledgements may be late, and arrive twice. A
 * connection is lost with everything that is on its way, the daemon notices that later, and a new
 * connection begins with a base image. A process that restarts loses its copy; otherwise it keeps
 * the copy until the next base image is complete. A crash of the daemon ends all connections. */

enum {
    SECOND = 1000,
    MINUTE = 60 * SECOND,
    HOUR = 60 * MINUTE,
    ENTRIES_READ = 8, /* of a base image, in one event */
};

/* An event that is to be reported to the core. */
struct boot_notice {
    enum boot_event event;
    int64_t turn;
};

struct boot_server {
    int64_t node_id;
    /* the daemon end */
    struct boot_notice *notices;
    uint32_t notice_count, notice_cap;
    int64_t connection; /* number of the connection; 0 = none */
    bool is_begun;      /* the first part of the base image was sent */
    bool is_complete;   /* the whole base image was sent */
    struct boot_key cursor;
    int64_t arrives_ms; /* monotonic time at which the last message arrives */
    /* the process */
    int64_t joined; /* number of the connection; 0 = none */
    bool is_receiving;
    struct boot_copy copy; /* what it answers machines with */
    struct boot_copy base; /* the base image that is being received */
};

struct boot_servers {
    struct prng rng;
    struct boot_server *at;
    uint32_t count;
    int64_t connections; /* number of the last one */
    int64_t loads;       /* number of loads that the daemon reported */
    int64_t turn;        /* of the last load or change that it reported */
    int64_t seen_node;   /* the highest node for which a server was considered */
};

/* Header of a message; entries follow, each as a key, a length and its bytes. */
struct boot_message {
    int64_t loads;
    int64_t turn;
    uint64_t parts; /* BASE_FIRST, BASE_LAST */
};

enum { BASE_FIRST = 1, BASE_LAST = 2 };

static struct boot_server *boot_sim_find(struct world *w, int64_t connection)
{
    struct boot_servers *all = w->boot_servers;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->at[i].connection == connection || all->at[i].joined == connection)
            return &all->at[i];
    return NULL;
}

static struct boot_server *boot_sim_of_node(struct world *w, int64_t node_id)
{
    struct boot_servers *all = w->boot_servers;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->at[i].node_id == node_id)
            return &all->at[i];
    return NULL;
}

/* ---- events for the core ---- */

void boot_sim_notifies(struct world *w, int64_t node_id)
{
    struct boot_server *server = boot_sim_of_node(w, node_id);
    uint32_t done = 0;
    must(server);
    for (; done < server->notice_count; done++) {
        const struct boot_notice *notice = &server->notices[done];
        struct command command = {.kind = COMMAND_BOOT_SERVER, .actor = STR("boot")};
        command.boot_server.node_id = node_id;
        command.boot_server.event = notice->event;
        command.boot_server.turn = notice->turn;
        if (notice->event == BOOT_EVENT_FAILED)
            command.boot_server.text = STR("port 67 is in use by another process");
        if (turn_submit(w->turn, &command) != OK)
            break;
    }
    server->notice_count -= done;
    memmove(server->notices, server->notices + done,
            server->notice_count * sizeof *server->notices);
    if (server->notice_count)
        world_in(w, prng_between(&w->boot_servers->rng, SECOND, 20 * SECOND), EVENT_BOOT_NOTIFIES,
                 node_id);
}

/* It is submitted by an event, because the turn may be at work. */
static void boot_sim_notify(struct world *w, struct boot_server *server, struct boot_notice notice)
{
    if (server->notice_count == server->notice_cap) {
        server->notice_cap = server->notice_cap ? 2 * server->notice_cap : 8;
        server->notices = realloc(server->notices, server->notice_cap * sizeof *server->notices);
        must(server->notices);
    }
    server->notices[server->notice_count++] = notice;
    if (server->notice_count == 1)
        world_in(w, 0, EVENT_BOOT_NOTIFIES, server->node_id);
}

static void boot_sim_notify_event(struct world *w, struct boot_server *server,
                                  enum boot_event event)
{
    boot_sim_notify(w, server, (struct boot_notice){event, 0});
    if (event != BOOT_EVENT_CONNECTED && world_fault(w, FAULT_BOOT_TWICE))
        boot_sim_notify(w, server, (struct boot_notice){event, 0});
}

/* The process reports whether it has the files of an environment; some reports are of one that
 * does not exist any more. */
static void boot_sim_report_bootenv(struct world *w)
{
    const struct core *core = world_core(w);
    struct prng *rng = &w->boot_servers->rng;
    struct record record;
    struct command command = {.kind = COMMAND_BOOTENV_REPORT, .actor = STR("boot")};
    const int64_t id = core ? core_next_id(core, TABLE_BOOTENV, 0) : 0;
    command.bootenv_report.available = prng_chance(rng, 700);
    command.bootenv_report.name = STR("removed");
    if (id && prng_chance(rng, 900)) {
        must(core_record(core, TABLE_BOOTENV, id, &record));
        command.bootenv_report.name = record.bootenv.name;
    }
    world_send(w, prng_between(rng, 0, MINUTE), &command);
}

/* ---- messages ---- */

static void boot_sim_put_header(struct buf *b, struct boot_message header)
{
    buf_put_varint(b, (uint64_t)header.loads);
    buf_put_varint(b, (uint64_t)header.turn);
    buf_put_varint(b, header.parts);
}

static void boot_sim_put_entry(struct buf *b, struct boot_key key, const struct boot_entry *entry,
                               struct arena *scratch)
{
    struct buf bytes = buf_in(scratch);
    if (entry)
        boot_entry_encode(entry, &bytes);
    boot_key_encode(key, b);
    buf_put_varint(b, bytes.len);
    buf_put_str(b, buf_str(&bytes));
}

static void boot_sim_send(struct world *w, struct boot_server *server, const struct buf *message)
{
    int64_t at_ms = w->mono_ms + prng_between(&w->boot_servers->rng, 0, 3 * SECOND);
    if (at_ms < server->arrives_ms)
        at_ms = server->arrives_ms;
    server->arrives_ms = at_ms;
    world_at(w, at_ms, EVENT_BOOT_ARRIVES, server->connection, buf_str(message));
}

/* ---- the daemon end ---- */

/* Read the next part of the base image. The last part waits until every row of the core is durable:
 * an entry may belong to a batch that is never stored. */
void boot_sim_read(struct world *w, int64_t connection)
{
    struct boot_server *server = boot_sim_find(w, connection);
    const struct core *core = world_core(w);
    if (!server || server->connection != connection || server->is_complete)
        return;
    if (!core || !w->boot_servers->loads) {
        world_in(w, 5 * SECOND, EVENT_BOOT_READS, connection);
        return;
    }
    const struct arena_mark mark = arena_mark(&w->scratch);
    const bool is_durable = turn_seen(w->turn) == turn_durable(w->turn);
    struct boot_message header = {.loads = w->boot_servers->loads,
                                  .turn = w->boot_servers->turn,
                                  .parts = server->is_begun ? 0 : BASE_FIRST};
    struct buf entries = buf_in(&w->scratch);
    struct boot_key key = server->cursor;
    bool has_more = true;
    for (uint32_t i = 0; i < ENTRIES_READ && (has_more = core_boot_next(core, &key)); i++) {
        struct boot_entry entry;
        must(core_boot_view(core, key, &w->scratch, &entry));
        boot_sim_put_entry(&entries, key, &entry, &w->scratch);
        server->cursor = key;
    }
    if (!has_more && is_durable)
        header.parts |= BASE_LAST;
    struct buf message = buf_in(&w->arena);
    boot_sim_put_header(&message, header);
    buf_put_str(&message, buf_str(&entries));
    boot_sim_send(w, server, &message);
    arena_rewind(&w->scratch, mark);
    server->is_begun = true;
    server->is_complete = (header.parts & BASE_LAST) != 0;
    if (!server->is_complete)
        world_in(w, prng_between(&w->boot_servers->rng, 1, SECOND), EVENT_BOOT_READS, connection);
}

static void boot_sim_begin_base(struct world *w, struct boot_server *server)
{
    const bool is_reading = server->is_begun && !server->is_complete;
    server->is_begun = server->is_complete = false;
    server->cursor = (struct boot_key){0};
    if (!is_reading)
        world_in(w, prng_between(&w->boot_servers->rng, 1, 5 * SECOND), EVENT_BOOT_READS,
                 server->connection);
}

static void boot_sim_loaded(void *self, int64_t turn)
{
    struct world *w = self;
    struct boot_servers *all = w->boot_servers;
    all->loads++;
    all->turn = turn;
    for (uint32_t i = 0; i < all->count; i++) {
        struct boot_server *server = &all->at[i];
        if (!server->connection)
            continue;
        server->notice_count = 0; /* the core knows no connection */
        boot_sim_notify_event(w, server, BOOT_EVENT_CONNECTED);
        boot_sim_begin_base(w, server);
    }
}

static void boot_sim_changed(void *self, int64_t turn, const struct boot_change *changes,
                             uint32_t count)
{
    struct world *w = self;
    struct boot_servers *all = w->boot_servers;
    all->turn = turn;
    for (uint32_t i = 0; i < all->count; i++) {
        struct boot_server *server = &all->at[i];
        if (!server->connection || !server->is_begun)
            continue;
        const struct arena_mark mark = arena_mark(&w->scratch);
        struct buf message = buf_in(&w->arena);
        boot_sim_put_header(&message, (struct boot_message){all->loads, turn, 0});
        for (uint32_t k = 0; k < count; k++)
            if (server->is_complete || boot_key_cmp(changes[k].key, server->cursor) <= 0)
                boot_sim_put_entry(&message, changes[k].key, changes[k].entry, &w->scratch);
        boot_sim_send(w, server, &message);
        arena_rewind(&w->scratch, mark);
    }
}

struct boot_port boot_sim_port(struct world *w)
{
    return (struct boot_port){.self = w, .loaded = boot_sim_loaded, .changed = boot_sim_changed};
}

void boot_sim_connect(struct world *w, int64_t node_id)
{
    struct boot_server *server = boot_sim_of_node(w, node_id);
    must(server);
    if (server->connection)
        return;
    server->connection = server->joined = ++w->boot_servers->connections;
    server->is_receiving = false;
    boot_sim_notify_event(w, server, BOOT_EVENT_CONNECTED);
    boot_sim_begin_base(w, server);
    boot_sim_report_bootenv(w);
}

/* An acknowledgement of the process arrives. */
void boot_sim_taken(struct world *w, int64_t connection, struct str bytes)
{
    struct boot_server *server = boot_sim_find(w, connection);
    uint64_t loads, turn;
    uint32_t at = 0;
    must(varint_read(bytes, &at, &loads) && varint_read(bytes, &at, &turn));
    if (server && server->connection == connection && server->joined == connection &&
        (int64_t)loads == w->boot_servers->loads)
        boot_sim_notify(w, server, (struct boot_notice){BOOT_EVENT_TAKEN, (int64_t)turn});
}

/* The daemon notices that the connection is lost. */
void boot_sim_notice_loss(struct world *w, int64_t connection)
{
    struct boot_server *server = boot_sim_find(w, connection);
    if (!server || server->connection != connection)
        return;
    server->connection = 0;
    boot_sim_notify_event(w, server, BOOT_EVENT_LOST);
    world_in(w, prng_between(&w->boot_servers->rng, SECOND, HOUR), EVENT_BOOT_CONNECTS,
             server->node_id);
}

/* ---- the process ---- */

static void boot_sim_read_entries(struct boot_copy *copy, struct str bytes, uint32_t at)
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

static void boot_sim_acknowledge(struct world *w, const struct boot_server *server, int64_t turn)
{
    struct prng *rng = &w->boot_servers->rng;
    struct buf bytes = buf_in(&w->arena);
    int64_t delay_ms = prng_between(rng, 0, 3 * SECOND);
    if (world_fault(w, FAULT_BOOT_LATE))
        delay_ms = prng_between(rng, MINUTE, 3 * HOUR);
    buf_put_varint(&bytes, (uint64_t)w->boot_servers->loads);
    buf_put_varint(&bytes, (uint64_t)turn);
    world_at(w, w->mono_ms + delay_ms, EVENT_BOOT_TAKEN, server->joined, buf_str(&bytes));
    if (world_fault(w, FAULT_BOOT_TWICE))
        world_at(w, w->mono_ms + delay_ms + prng_between(rng, 0, HOUR), EVENT_BOOT_TAKEN,
                 server->joined, buf_str(&bytes));
}

/* The process has the view of a turn. */
static void boot_sim_reach(struct world *w, struct boot_server *server, struct boot_message header)
{
    struct boot_view_oracle *oracle = &w->checks->boot_view;
    if (header.loads != w->boot_servers->loads)
        return; /* the view of that time is not known any more */
    const char *said = boot_view_oracle_server(oracle, &server->copy, header.turn, &w->scratch);
    if (said)
        world_fail(w, "%s", said);
    w->counts.boot_copies++;
    boot_sim_acknowledge(w, server, header.turn);
}

void boot_sim_arrives(struct world *w, int64_t connection, struct str bytes)
{
    struct boot_server *server = boot_sim_find(w, connection);
    uint64_t loads, turn, parts;
    uint32_t at = 0;
    if (!server || server->joined != connection)
        return;
    must(varint_read(bytes, &at, &loads) && varint_read(bytes, &at, &turn) &&
         varint_read(bytes, &at, &parts));
    const struct boot_message header = {(int64_t)loads, (int64_t)turn, parts};
    if (header.parts & BASE_FIRST) {
        boot_copy_fini(&server->base);
        server->is_receiving = true;
    }
    boot_sim_read_entries(server->is_receiving ? &server->base : &server->copy, bytes, at);
    if (header.parts & BASE_LAST) {
        boot_copy_fini(&server->copy);
        server->copy = server->base;
        server->base = (struct boot_copy){0};
        server->is_receiving = false;
    }
    if (!server->is_receiving)
        boot_sim_reach(w, server, header);
}

/* ---- faults ---- */

/* Periodic: the connection may be lost, or the process may restart. */
void boot_sim_trouble(struct world *w, int64_t node_id)
{
    struct boot_server *server = boot_sim_of_node(w, node_id);
    struct prng *rng = &w->boot_servers->rng;
    must(server);
    if (w->phase != PHASE_SAFETY)
        return;
    world_in(w, prng_between(rng, 10 * MINUTE, 6 * HOUR), EVENT_BOOT_TROUBLE, node_id);
    if (prng_chance(rng, 200))
        boot_sim_report_bootenv(w);
    if (server->connection && world_fault(w, FAULT_BOOT_FAILED))
        boot_sim_notify_event(w, server, BOOT_EVENT_FAILED);
    const bool restarts = prng_chance(rng, 60);
    if (!server->joined || (!restarts && !prng_chance(rng, 60)))
        return;
    server->joined = 0;
    if (restarts) {
        boot_copy_fini(&server->copy);
        boot_copy_fini(&server->base);
    }
    if (server->connection)
        world_in(w, prng_between(rng, 0, 2 * MINUTE), EVENT_BOOT_LOST, server->connection);
}

void boot_sim_daemon_crashed(struct world *w)
{
    struct boot_servers *all = w->boot_servers;
    all->loads++; /* whatever is on its way is of an earlier load */
    for (uint32_t i = 0; i < all->count; i++) {
        struct boot_server *server = &all->at[i];
        server->joined = 0;
        server->notice_count = 0;
        if (server->connection)
            world_in(w, prng_between(&all->rng, 1, MINUTE), EVENT_BOOT_CONNECTS, server->node_id);
        server->connection = 0;
    }
}

/* ---- life ---- */

void boot_sim_init(struct world *w)
{
    w->boot_servers = calloc(1, sizeof *w->boot_servers);
    must(w->boot_servers);
    prng_init(&w->boot_servers->rng, w->scenario.seed + 171);
}

void boot_sim_fini(struct world *w)
{
    struct boot_servers *all = w->boot_servers;
    for (uint32_t i = 0; i < all->count; i++) {
        boot_copy_fini(&all->at[i].copy);
        boot_copy_fini(&all->at[i].base);
        free(all->at[i].notices);
    }
    free(all->at);
    free(all);
}

void boot_sim_add_new(struct world *w)
{
    struct boot_servers *all = w->boot_servers;
    const struct core *core = world_core(w);
    if (!core)
        return;
    for (int64_t id = all->seen_node; (id = core_next_id(core, TABLE_NODE, id)) != 0;) {
        struct record node;
        all->seen_node = id;
        if (!core_record(core, TABLE_NODE, id, &node) || !node.node.admin || node.node.system)
            continue;
        all->at = realloc(all->at, (all->count + 1) * sizeof *all->at);
        must(all->at);
        all->at[all->count++] = (struct boot_server){.node_id = id};
        world_in(w, prng_between(&all->rng, 1, HOUR), EVENT_BOOT_CONNECTS, id);
        world_in(w, prng_between(&all->rng, MINUTE, 6 * HOUR), EVENT_BOOT_TROUBLE, id);
    }
}
