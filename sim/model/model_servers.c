#include "sim/model/model_private.h"

#include "base/err.h"
#include "base/hash/hash.h"
#include "base/text/buf.h"

/* Boot servers, as their events describe them, and the records of what they have acknowledged.
 *
 * A server begins with a base image, which is no change. The machines of the turns that it
 * acknowledges afterwards are recorded as an ended run of each native noderole on its node, at most
 * one in a second. The model predicts these records with their texts; run_history_oracle.c finds
 * them in the batches. After very many changes since a load it predicts none, because the core
 * forgets the oldest ones. */

enum { MOVES_SURE = 3000, RECORD_NAMES_MAX = 40, RECORD_EVERY_MS = 1000 };

struct model_server *model_find_server(struct model *m, int64_t node_id)
{
    return node_id > 0 && node_id < (int64_t)m->servers_count ? &m->servers[node_id] : NULL;
}

/* The machines that changed in the turns (after, to], as the history names them. */
static uint64_t servers_hash_log(struct model *m, const struct core *c, int64_t after, int64_t to,
                                 struct arena *a)
{
    struct buf names = buf_in(a), log = buf_in(a);
    uint32_t count = 0;
    for (uint32_t id = 1; id < m->entries_count; id++) {
        bool changed = false;
        for (uint32_t i = 0; i < m->moves_count; i++)
            changed = changed || (m->moves[i].node_id == (int64_t)id && m->moves[i].turn > after &&
                                  m->moves[i].turn <= to);
        struct record node;
        if (!changed || ++count > RECORD_NAMES_MAX)
            continue;
        buf_put_z(&names, count > 1 ? ", " : "");
        if (core_record(c, TABLE_NODE, id, &node)) {
            buf_put_str(&names, node.node.name);
        } else {
            buf_put_z(&names, "deleted node ");
            buf_put_u64(&names, id);
        }
    }
    if (!count)
        return 0;
    buf_put_u64(&log, count);
    buf_put_z(&log, count == 1 ? " machine: " : " machines: ");
    buf_put_str(&log, buf_str(&names));
    buf_put_z(&log, count > RECORD_NAMES_MAX ? ", ..." : "");
    return hash64(buf_str(&log), 0);
}

/* The changes that the server has acknowledged are recorded, at most once in a second. */
static void servers_expect_log(struct model *m, const struct core *c, int64_t node_id,
                               int64_t mono_ms, struct arena *a)
{
    struct model_server *server = &m->servers[node_id];
    if (server->logged >= server->taken || mono_ms - server->logged_ms < RECORD_EVERY_MS)
        return;
    const uint64_t hash = servers_hash_log(m, c, server->logged, server->taken, a);
    server->logged = server->taken;
    if (!hash)
        return;
    server->logged_ms = mono_ms;
    MODEL_NODEROLES(m, id)
    {
        struct model_noderole *nr = &m->noderoles[id];
        if (nr->node_id != node_id || nr->state == NODEROLE_PROPOSED ||
            m->roles[nr->role_id].service != MODEL_SERVES_NATIVE || model_live_run(m, id))
            continue;
        nr->log_hash = hash;
        nr->logs++;
    }
}

static void servers_follow_event(struct model *m, const struct core *c,
                                 const struct boot_server_command *event, int64_t mono_ms,
                                 struct arena *a)
{
    struct model_server *server = model_server_of(m, event->node_id);
    switch ((enum boot_event)event->event) {
    case BOOT_EVENT_CONNECTED:
        server->is_known = server->is_connected = true;
        server->taken = 0;
        m->has_servers = true;
        return;
    case BOOT_EVENT_LOST:
        m->counts.lost += server->is_connected;
        server->is_connected = false;
        server->taken = 0;
        return;
    case BOOT_EVENT_TAKEN:
        if (!server->is_connected || event->turn <= server->taken)
            return;
        m->counts.taken++;
        if (!server->taken && event->turn > server->logged)
            server->logged = event->turn; /* the base image */
        server->taken = event->turn;
        servers_expect_log(m, c, event->node_id, mono_ms, a);
        return;
    case BOOT_EVENT_FAILED: m->counts.failed += server->is_connected; return;
    case BOOT_EVENT_COUNT: break;
    }
}

/* The attempts of native noderoles are exactly the records of their histories. */
static const char *servers_check_records(struct model *m, const struct core *c)
{
    MODEL_NODEROLES(m, id)
    {
        struct model_noderole *nr = &m->noderoles[id];
        struct record record;
        must(core_record(c, TABLE_NODEROLE, id, &record));
        const bool is_native = m->roles[nr->role_id].service == MODEL_SERVES_NATIVE;
        const uint32_t expected = nr->served_attempt + nr->logs;
        nr->served_attempt = record.noderole.attempt;
        if (nr->logs) {
            model_add_log(m, (struct model_log){id, record.noderole.attempt, nr->log_hash});
            m->counts.logs++;
        }
        nr->logs = 0;
        if (is_native && nr->was_native && m->moves_count < MOVES_SURE &&
            record.noderole.attempt != expected)
            return model_report(m, "I21: noderole %lld has %u attempts and should have %u",
                                (long long)id, record.noderole.attempt, expected);
        nr->was_native = is_native && !model_live_run(m, id);
    }
    return NULL;
}

void model_follow_boot_failure(struct model *m, const struct boot_server_command *event)
{
    const struct model_server *server = model_find_server(m, event->node_id);
    if (event->event != BOOT_EVENT_FAILED || !server || !server->is_connected)
        return;
    MODEL_NODEROLES(m, id)
    {
        const struct model_noderole *nr = &m->noderoles[id];
        if (nr->node_id == event->node_id && nr->state != NODEROLE_PROPOSED &&
            m->roles[nr->role_id].service == MODEL_SERVES_NATIVE)
            model_failed(m, id);
    }
}

const char *model_follow_servers(struct model *m, const struct core *c,
                                 const struct command *command, struct arena *scratch)
{
    if (command && command->kind == COMMAND_BOOT_SERVER)
        servers_follow_event(m, c, &command->boot_server, command->mono_ms, scratch);
    for (uint32_t id = 1; command && command->kind == COMMAND_TICK && id < m->servers_count; id++)
        servers_expect_log(m, c, id, command->mono_ms, scratch);
    for (uint32_t id = 1; id < m->servers_count; id++)
        if (m->servers[id].is_known && core_next_id(c, TABLE_NODE, (int64_t)id - 1) != (int64_t)id)
            m->servers[id] = (struct model_server){0};
    return servers_check_records(m, c);
}
