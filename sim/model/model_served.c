#include "sim/model/model_private.h"

#include <string.h>

#include "base/err.h"
#include "base/hash/hash.h"
#include "base/json/json.h"
#include "base/text/buf.h"

/* Which machine is served by which noderole (invariant I21), without the due rows and cursors of
 * the core.
 *
 * For noderoles that publish, the model keeps a list of what their runs publish: the staged data
 * of every run, read when it starts, and whether its success was accepted. A machine is served if
 * the newest run that published it succeeded and had its present entry, and the entry has not
 * changed since the step in which that run started.
 *
 * For native noderoles, the model follows the events of boot servers. A machine is served if the
 * server on the node of the noderole has acknowledged the turn in which the entry changed last.
 *
 * The entries are those of the boot view, which I19 checks; when they change, the model finds out
 * by comparing them after every step. An entry that changes and changes back within one step is
 * published again by the core, which is allowed: the model takes such changes from
 * core_boot_turn().
 *
 * The violations begin with "I21:". */

/* ---- entries ---- */

/* Of what runs publish of a machine. */
static uint64_t served_hash_machine(const struct boot_machine *e, struct arena *a)
{
    struct buf b = buf_in(a);
    buf_put_str(&b, e->name);
    buf_put_c(&b, '\n');
    buf_put_str(&b, e->bootenv);
    buf_put_c(&b, '\n');
    buf_put_i64(&b, e->generation);
    for (uint32_t i = 0; i < e->mac_count; i++) {
        buf_put_c(&b, '\n');
        for (int shift = 40; shift >= 0; shift -= 8) {
            static const char digits[] = "0123456789abcdef";
            buf_put_c(&b, digits[e->macs[i] >> (shift + 4) & 15]);
            buf_put_c(&b, digits[e->macs[i] >> shift & 15]);
            if (shift)
                buf_put_c(&b, ':');
        }
    }
    buf_put_c(&b, '\n');
    for (uint32_t i = 0; i < e->address_count; i++) {
        buf_put_c(&b, '\n');
        buf_put_str(&b, e->addresses[i].address);
    }
    const uint64_t hash = hash64(buf_str(&b), 21);
    return hash ? hash : 1;
}

static void served_put_list(struct buf *b, const struct json *list)
{
    for (const struct json *item = list ? list->first : NULL; item; item = item->next) {
        buf_put_c(b, '\n');
        buf_put_str(b, item->text);
    }
}

/* The same of the staged data. */
static uint64_t served_hash_staged(const struct json *entry, struct arena *a)
{
    struct buf b = buf_in(a);
    int64_t generation = 0;
    if (entry->kind != JSON_OBJECT)
        return 0;
    const struct json *name = json_get(entry, STR("name"));
    const struct json *bootenv = json_get(entry, STR("bootenv"));
    if (!name || !bootenv || !json_as_i64(json_get(entry, STR("generation")), &generation))
        return 2; /* of no entry */
    buf_put_str(&b, name->text);
    buf_put_c(&b, '\n');
    buf_put_str(&b, bootenv->text);
    buf_put_c(&b, '\n');
    buf_put_i64(&b, generation);
    served_put_list(&b, json_get(entry, STR("macs")));
    buf_put_c(&b, '\n');
    served_put_list(&b, json_get(entry, STR("addresses")));
    const uint64_t hash = hash64(buf_str(&b), 21);
    return hash ? hash : 1;
}

static void served_change(struct model *m, struct model_entry *entry)
{
    entry->was_in_view = true;
    entry->is_open = true;
    entry->changed_step = m->step;
}

static void served_read_entry(struct model *m, const struct core *c, int64_t node_id,
                              struct arena *a)
{
    const struct boot_key key = {BOOT_MACHINE, node_id};
    struct model_entry *entry = model_entry_of(m, node_id);
    struct boot_entry now;
    uint64_t hash = 0, staged = 0;
    if (core_boot_view(c, key, a, &now)) {
        struct buf bytes = buf_in(a);
        boot_entry_encode(&now, &bytes);
        hash = hash64(buf_str(&bytes), 19);
        staged = served_hash_machine(&now.machine, a);
    }
    if (hash != entry->hash || (!entry->is_open && core_boot_turn(c, key) == BOOT_TURN_OPEN))
        served_change(m, entry);
    struct record node;
    must(core_record(c, TABLE_NODE, node_id, &node));
    entry->generation = node.node.boot_generation;
    entry->exists = true;
    entry->hash = hash;
    entry->content = staged;
}

static void served_read_entries(struct model *m, const struct core *c, struct arena *a)
{
    for (int64_t id = 0; (id = core_next_id(c, TABLE_NODE, id)) != 0;)
        served_read_entry(m, c, id, a);
    for (uint32_t id = 1; id < m->entries_count; id++) {
        struct model_entry *entry = &m->entries[id];
        if (!entry->exists || core_next_id(c, TABLE_NODE, (int64_t)id - 1) == (int64_t)id)
            continue;
        if (entry->hash)
            served_change(m, entry);
        entry->exists = false;
        entry->hash = entry->content = 0;
    }
}

/* ---- the book ---- */

static bool served_is_published(const struct model *m, const struct model_noderole *nr)
{
    return nr->exists && nr->state != NODEROLE_PROPOSED &&
           m->roles[nr->role_id].service == MODEL_SERVES_PUBLISHED;
}

void model_forget_staged(struct model *m, int64_t noderole_id)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->staged_count; i++)
        if (m->staged[i].noderole_id != noderole_id)
            m->staged[kept++] = m->staged[i];
    m->staged_count = kept;
}

void model_publish_ok(struct model *m, int64_t noderole_id, uint32_t attempt)
{
    for (uint32_t i = 0; i < m->staged_count; i++)
        if (m->staged[i].noderole_id == noderole_id && m->staged[i].attempt == attempt)
            m->staged[i].is_done = true;
}

/* The newest element for the node; NULL: no run has published it. */
static const struct model_staged *served_find_staged(const struct model *m, int64_t noderole_id,
                                                     int64_t node_id)
{
    for (uint32_t i = m->staged_count; i-- > 0;)
        if (m->staged[i].noderole_id == noderole_id && m->staged[i].after < node_id &&
            m->staged[i].to >= node_id)
            return &m->staged[i];
    return NULL;
}

/* A part replaces what earlier runs had of its machines. */
static void served_add_staged(struct model *m, struct model_staged staged)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->staged_count; i++)
        if (m->staged[i].noderole_id != staged.noderole_id || m->staged[i].after < staged.after ||
            m->staged[i].to > staged.to || (m->staged[i].is_part && !staged.is_part))
            m->staged[kept++] = m->staged[i];
    m->staged_count = kept;
    model_add_staged(m, staged);
}

/* A part that includes the node has been published; before that the node is published again, even
 * if it was due meanwhile. */
static bool served_has_part(const struct model *m, int64_t noderole_id, int64_t node_id)
{
    for (uint32_t i = 0; i < m->staged_count; i++) {
        const struct model_staged *staged = &m->staged[i];
        if (staged->noderole_id == noderole_id && staged->is_part && staged->is_done &&
            staged->after < node_id && staged->to >= node_id)
            return true;
    }
    return false;
}

static bool served_changed_now(const struct model *m, int64_t node_id)
{
    return node_id > 0 && node_id < (int64_t)m->entries_count &&
           m->entries[node_id].changed_step == m->step;
}

/* The present entry of a node, also of one that does not exist: 0. */
static uint64_t served_present(const struct model *m, int64_t node_id)
{
    return node_id > 0 && node_id < (int64_t)m->entries_count ? m->entries[node_id].content : 0;
}

/* A part has every machine of its interval that is in the view. */
static const char *served_check_part(struct model *m, int64_t noderole_id, const struct json *due,
                                     const struct model_staged *part, struct arena *a)
{
    for (int64_t id = part->after + 1; id <= part->to && id < (int64_t)m->entries_count; id++) {
        struct buf key = buf_in(a);
        buf_put_i64(&key, id);
        if (m->entries[id].content && !served_changed_now(m, id) && !json_get(due, buf_str(&key)))
            return model_report(m, "I21: the part of noderole %lld has no entry of node %lld",
                                (long long)noderole_id, (long long)id);
    }
    return NULL;
}

static const char *served_read_part(struct model *m, const struct model_run *run,
                                    const struct json *boot, struct arena *a)
{
    const int64_t id = run->noderole_id;
    const struct json *due = json_get(boot, STR("due"));
    const struct json *range = json_get(boot, STR("part"));
    struct model_staged staged = {.noderole_id = id, .attempt = run->attempt, .step = m->step};
    if (!due || due->kind != JSON_OBJECT)
        return model_report(m, "I21: run %lld is staged without due machines", (long long)run->id);
    if (range) {
        const struct json *to = json_get(range, STR("to"));
        staged.to = INT64_MAX;
        if (!json_as_i64(json_get(range, STR("after")), &staged.after) || !to ||
            (to->kind != JSON_NULL && !json_as_i64(to, &staged.to)))
            return model_report(m, "I21: run %lld is staged with a wrong part", (long long)run->id);
        staged.is_part = true;
        m->counts.parts++;
        m->counts.short_parts += staged.to != INT64_MAX;
        served_add_staged(m, staged);
        const char *trouble = served_check_part(m, id, due, &staged, a);
        if (trouble)
            return trouble;
    }
    staged.is_part = false;
    for (const struct json *item = due->first; item; item = item->next) {
        int64_t node_id = 0;
        if (!str_parse_i64(item->key, &node_id))
            return model_report(m, "I21: run %lld is staged with a node without id",
                                (long long)run->id);
        staged.after = node_id - 1;
        staged.to = node_id;
        staged.hash = served_hash_staged(item, a);
        if (staged.hash != served_present(m, node_id) && !served_changed_now(m, node_id))
            return model_report(m, "I21: run %lld is staged with another entry of node %lld",
                                (long long)run->id, (long long)node_id);
        m->counts.staged++;
        served_add_staged(m, staged);
    }
    return NULL;
}

/* Runs of roles that announce to boot their machine are staged with the state of its boot. */
static const char *served_check_announced(struct model *m, const struct core *c,
                                          const struct model_run *run, const struct json *boot)
{
    const struct json *served = json_get(boot, STR("served"));
    const struct json *problem = json_get(boot, STR("problem"));
    const bool is_served = !model_find_unserved(m, c, run->node_id).first;
    if (!served || (served->kind != JSON_TRUE && served->kind != JSON_FALSE) || !problem ||
        problem->kind != JSON_STRING)
        return model_report(m, "I21: run %lld is staged without the boot of its machine",
                            (long long)run->id);
    if (!served_changed_now(m, run->node_id) &&
        ((served->kind == JSON_TRUE) != is_served || (problem->text.len == 0) != is_served))
        return model_report(m, "I21: run %lld is staged as if node %lld was%s served",
                            (long long)run->id, (long long)run->node_id,
                            served->kind == JSON_TRUE ? "" : " not");
    m->counts.announced++;
    return NULL;
}

/* Read the staged data of the runs that were started in this step. */
static const char *served_read_starts(struct model *m, const struct core *c, struct arena *a)
{
    for (uint32_t i = 0; i < m->runs_count; i++) {
        const struct model_run *run = &m->runs[i];
        struct model_noderole *nr = model_edit_noderole(m, run->noderole_id);
        struct record record;
        struct json *tree;
        uint32_t offset;
        const char *what;
        if (!nr || run->state != RUN_RUNNING || run->attempt == nr->read_attempt)
            continue;
        nr->read_attempt = run->attempt;
        must(core_record(c, TABLE_RUN, run->id, &record));
        if (!record.run.data.len || json_read(a, record.run.data, &tree, &offset, &what) != OK)
            continue;
        const struct json *boot = json_get(tree, STR("boot"));
        const bool publishes = m->roles[nr->role_id].service == MODEL_SERVES_PUBLISHED;
        if (publishes && !boot)
            return model_report(m, "I21: run %lld is staged without boots", (long long)run->id);
        const char *trouble = !boot       ? NULL
                              : publishes ? served_read_part(m, run, boot, a)
                                          : served_check_announced(m, c, run, boot);
        if (trouble)
            return trouble;
    }
    return NULL;
}

/* ---- comparison ---- */

enum served { SERVED_NO, SERVED_YES, SERVED_UNKNOWN };

static bool served_is_late(const struct model *m, int64_t noderole_id, int64_t node_id)
{
    const struct model_staged *staged = served_find_staged(m, noderole_id, node_id);
    return !staged || !staged->is_done || !served_has_part(m, noderole_id, node_id) ||
           (node_id < (int64_t)m->entries_count &&
            m->entries[node_id].changed_step >= staged->step);
}

/* A node that was in no view since the load waits for a row only. Whether there is one is not known
 * to the model before the noderole has published a part with the node. */
static enum served served_by_noderole(struct model *m, int64_t id, int64_t node_id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    const struct model_entry *entry = model_entry_of(m, node_id);
    if (m->roles[nr->role_id].service == MODEL_SERVES_NATIVE) {
        const struct model_server *server = model_find_server(m, nr->node_id);
        if (!m->boot_server || !entry->was_in_view)
            return SERVED_YES;
        return !entry->is_open && server && server->is_connected && server->taken >= entry->turn
                   ? SERVED_YES
                   : SERVED_NO;
    }
    if (!entry->was_in_view && !served_has_part(m, id, node_id))
        return SERVED_UNKNOWN;
    return served_is_late(m, id, node_id) ? SERVED_NO : SERVED_YES;
}

struct model_unserved model_find_unserved(struct model *m, const struct core *c, int64_t node_id)
{
    struct model_unserved unserved = {0};
    if (!model_entry_of(m, node_id)->generation)
        return unserved;
    MODEL_NODEROLES(m, id)
    {
        const struct model_noderole *nr = &m->noderoles[id];
        if (nr->state == NODEROLE_PROPOSED || m->roles[nr->role_id].service == MODEL_SERVES_NOTHING)
            continue;
        const enum served served = served_by_noderole(m, id, node_id);
        if (served == SERVED_YES ||
            (served == SERVED_UNKNOWN && core_boot_next_due(c, id, node_id - 1) != node_id))
            continue;
        unserved.first = unserved.first ? unserved.first : id;
        unserved.has_error = unserved.has_error || nr->state == NODEROLE_ERROR;
    }
    return unserved;
}

static const char *served_compare_node(struct model *m, const struct core *c, int64_t node_id,
                                       const struct command *command, struct arena *a)
{
    struct boot_serving *all;
    const uint32_t count = core_boot_servings(c, node_id, a, &all);
    const struct model_entry *entry = model_entry_of(m, node_id);
    uint32_t i = 0;
    MODEL_NODEROLES(m, id)
    {
        const struct model_noderole *nr = &m->noderoles[id];
        const enum model_service service = m->roles[nr->role_id].service;
        if (nr->state == NODEROLE_PROPOSED || service == MODEL_SERVES_NOTHING)
            continue;
        const bool is_native = service == MODEL_SERVES_NATIVE;
        if (i == count || all[i].noderole_id != id || all[i].is_native != is_native)
            return model_report(m, "I21: noderole %lld serves boots, and the core does not know it",
                                (long long)id);
        const enum served served = served_by_noderole(m, id, node_id);
        if (served != SERVED_UNKNOWN && all[i].is_served != (served == SERVED_YES))
            return model_report(
                m, "I21: after %s node %lld is%s served by noderole %lld for the core only",
                command_name(command ? command->kind : COMMAND_TICK), (long long)node_id,
                all[i].is_served ? "" : " not", (long long)id);
        const struct model_staged *staged = served_find_staged(m, id, node_id);
        if (!is_native && served == SERVED_YES && staged && staged->hash != entry->content)
            return model_report(m, "I21: noderole %lld has published another entry of node %lld",
                                (long long)id, (long long)node_id);
        const struct model_server *server = model_find_server(m, nr->node_id);
        if (is_native && (all[i].is_connected != (server && server->is_connected) ||
                          all[i].taken != (server ? server->taken : 0)))
            return model_report(m, "I21: the boot server of noderole %lld is in another state",
                                (long long)id);
        i++;
    }
    return i == count ? NULL
                      : model_report(m, "I21: noderole %lld serves boots for the core only",
                                     (long long)all[i].noderole_id);
}

/* A row is of a noderole that publishes, and of a machine that it must publish. */
static const char *served_check_rows(struct model *m, const struct core *c)
{
    uint64_t count = 0;
    for (int64_t id = 0; (id = core_next_id(c, TABLE_BOOT_DUE, id)) != 0; count++) {
        struct record row;
        must(core_record(c, TABLE_BOOT_DUE, id, &row));
        const int64_t nr = row.boot_due.noderole_id, node_id = row.boot_due.node_id;
        const struct model_noderole *noderole = model_find_noderole(m, nr);
        if (!noderole || !served_is_published(m, noderole) || !served_is_late(m, nr, node_id))
            return model_report(m, "I21: node %lld is due at noderole %lld without a change",
                                (long long)node_id, (long long)nr);
    }
    if (count > m->counts.due_most)
        m->counts.due_most = count;
    return NULL;
}

/* The arguments of the calls of on_node_change that were added in this step. */
static const char *served_check_hooks(struct model *m, const struct core *c, struct arena *a)
{
    for (int64_t id = m->outbox_seen; (id = core_next_id(c, TABLE_OUTBOX, id)) != 0;) {
        struct record row;
        struct hook_call_args args;
        struct json *tree;
        uint32_t offset;
        const char *what;
        must(core_record(c, TABLE_OUTBOX, id, &row));
        if (row.outbox.kind != OUTBOX_HOOK || row.outbox.hook != HOOK_NODE_CHANGE ||
            !core_hook_args(c, &row.outbox, a, &args) ||
            json_read(a, args.argument, &tree, &offset, &what) != OK)
            continue;
        const struct model_unserved unserved = model_find_unserved(m, c, row.outbox.object_id);
        const struct json *served = json_get(tree, STR("boot_served"));
        const struct json *problem = json_get(tree, STR("boot_problem"));
        if (!served || !problem || (served->kind == JSON_TRUE) != !unserved.first ||
            (problem->text.len != 0) != unserved.has_error)
            return model_report(
                m, "I21: on_node_change of node %lld has another boot_served or boot_problem",
                (long long)row.outbox.object_id);
        m->counts.calls++;
    }
    return NULL;
}

static void served_forget_removed(struct model *m)
{
    for (uint32_t i = 0; i < m->staged_count; i++) {
        const struct model_noderole *nr = model_find_noderole(m, m->staged[i].noderole_id);
        if (nr && served_is_published(m, nr))
            continue;
        model_forget_staged(m, m->staged[i].noderole_id);
        i = (uint32_t)-1;
    }
}

const char *model_follow_served(struct model *m, const struct core *c,
                                const struct command *command, struct arena *scratch)
{
    const struct arena_mark mark = arena_mark(scratch);
    m->step++;
    served_forget_removed(m);
    served_read_entries(m, c, scratch);
    const char *trouble = model_follow_servers(m, c, command, scratch);
    for (int64_t id = 0; !trouble && (id = core_next_id(c, TABLE_NODE, id)) != 0;)
        trouble = served_compare_node(m, c, id, command, scratch);
    if (!trouble)
        trouble = served_read_starts(m, c, scratch);
    if (!trouble)
        trouble = served_check_rows(m, c);
    if (!trouble && command)
        trouble = served_check_hooks(m, c, scratch);
    arena_rewind(scratch, mark);
    return trouble;
}

const char *model_collect_served(struct model *m, const struct core *c, int64_t turn)
{
    uint32_t count;
    int64_t of_turn;
    const struct boot_key *changes = core_boot_changes(c, &count, &of_turn);
    for (uint32_t i = 0; i < count && of_turn == turn && m->has_servers; i++)
        if (changes[i].kind == BOOT_MACHINE)
            model_add_move(m, (struct model_move){turn, changes[i].id});
    for (uint32_t id = 1; id < m->entries_count; id++) {
        struct model_entry *entry = &m->entries[id];
        bool listed = false;
        for (uint32_t i = 0; i < count && of_turn == turn; i++)
            listed = listed || (changes[i].kind == BOOT_MACHINE && changes[i].id == (int64_t)id);
        if (entry->is_open && !listed)
            return model_report(m, "I21: node %lld changed, and turn %lld does not list it",
                                (long long)id, (long long)turn);
        if (listed)
            entry->turn = turn;
        entry->is_open = false;
    }
    return NULL;
}

void model_restart_served(struct model *m, const struct core *c)
{
    uint32_t count;
    int64_t turn;
    ignore(core_boot_changes(c, &count, &turn), "only the turn is needed");
    for (uint32_t id = 1; id < m->entries_count; id++) {
        m->entries[id].is_open = false;
        m->entries[id].was_in_view = m->entries[id].hash != 0;
        m->entries[id].turn = m->entries[id].hash ? turn : 0;
    }
    for (uint32_t id = 0; id < m->servers_count; id++)
        m->servers[id] = (struct model_server){0};
    m->moves_count = 0;
    m->logs_count = 0;
    m->has_servers = false;
}

/* The databases may be of any time, and entries lose the tickets of grants that became void. */
void model_import_served(struct model *m, const struct core *c)
{
    struct arena arena = {0};
    m->staged_count = 0;
    m->step++;
    served_read_entries(m, c, &arena);
    for (uint32_t id = 1; id < m->entries_count; id++)
        m->entries[id].is_open = false;
    arena_fini(&arena);
}

/* It has a rerun mark, which is executed when it becomes runnable. */
static bool served_has_mark(const struct model *m, int64_t id)
{
    return m->noderoles[id].rerun && (m->noderoles[id].unavailable || !model_is_runnable(m, id));
}

/* C23: what is to be published has a run. */
const char *model_check_publishers(struct model *m)
{
    MODEL_NODEROLES(m, id)
    {
        const struct model_noderole *nr = &m->noderoles[id];
        if (!served_is_published(m, nr) || nr->state != NODEROLE_ACTIVE || served_has_mark(m, id))
            continue;
        bool is_late = served_is_late(m, id, INT64_MAX);
        for (int64_t node = 1; node < (int64_t)m->entries_count; node++)
            is_late = is_late || (m->entries[node].was_in_view && served_is_late(m, id, node));
        bool has_run = false;
        for (uint32_t i = 0; i < m->runs_count; i++)
            has_run = has_run || m->runs[i].noderole_id == id;
        if (is_late && !has_run)
            return model_report(m, "I21: noderole %lld has boots to publish and no run",
                                (long long)id);
    }
    return NULL;
}
