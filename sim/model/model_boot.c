#include "sim/model/model_private.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash/hash.h"
#include "base/json/json.h"

/* The barrier before power, from the records alone. After each step: a machine is only told to boot
 * when every committed noderole that serves boots has served the generation it is about; nobody
 * waits for nobody, for somebody in error, or for ever; whoever waited in vain says so. */

/* ---- who has not served ---- */

struct lag {
    int64_t first; /* the smallest id; 0 = nobody */
    bool has_error;
};

static int64_t number_at(const struct json *seen, int64_t id)
{
    for (const struct json *entry = seen->first; entry; entry = entry->next) {
        int64_t key = 0, value = 0;
        if (str_parse_i64(entry->key, &key) && key == id && json_as_i64(entry, &value))
            return value;
    }
    return 0;
}

static struct lag lag_of(const struct model *m, const struct node_record *node, int64_t generation,
                         struct arena *scratch)
{
    struct lag lag = {0};
    struct json *seen = json_make(scratch, JSON_OBJECT);
    uint32_t offset;
    const char *what;
    if (m->test_jig)
        return lag;
    if (node->boot_seen.len)
        must(json_read(scratch, node->boot_seen, &seen, &offset, &what) == OK);
    MODEL_NODEROLES(m, id)
    {
        const struct model_noderole *nr = &m->noderoles[id];
        if (!(m->roles[nr->role_id].flags & ROLE_SERVES_BOOT) || nr->state == NODEROLE_PROPOSED ||
            number_at(seen, id) >= generation)
            continue;
        lag.first = lag.first ? lag.first : id;
        lag.has_error = lag.has_error || nr->state == NODEROLE_ERROR;
    }
    return lag;
}

static bool restarts(struct str action)
{
    return str_eq(action, STR("reboot")) || str_eq(action, STR("reset")) ||
           str_eq(action, STR("cycle")) || str_eq(action, STR("pxeboot"));
}

static bool boots(struct str action)
{
    return str_eq(action, STR("on")) || restarts(action);
}

/* ---- nodes ---- */

static void keep(char *to, uint32_t size, struct str text)
{
    must(text.len < size);
    if (text.len)
        memcpy(to, text.at, text.len);
    to[text.len] = 0;
}

static bool is_among(const char *old_boots, const char *id)
{
    char quoted[40];
    snprintf(quoted, sizeof quoted, "\"%s\"", id);
    return strstr(old_boots, quoted) != NULL;
}

static bool is_over(const struct model_boot *boot, struct str boot_id)
{
    char id[24];
    keep(id, sizeof id, boot_id);
    return is_among(boot->old_boots, id);
}

bool model_boot_is_over(const struct model *m, int64_t node_id, struct str boot_id)
{
    return node_id > 0 && node_id < (int64_t)m->boots_count && is_over(&m->boots[node_id], boot_id);
}

static bool is_late_word(const struct command *command, int64_t node_id,
                         const struct model_boot *before)
{
    const struct node_update_command *update = &command->node_update;
    return command->kind == COMMAND_NODE_UPDATE && update->id == node_id &&
           update->given & GIVEN_NODE_BOOT_ID && is_over(before, update->boot_id);
}

static const char *follow_boot_id(struct model *m, int64_t node_id, const struct model_boot *before,
                                  const struct command *command)
{
    const struct model_boot *now = &m->boots[node_id];
    const bool is_other = strcmp(before->boot_id, now->boot_id) != 0;
    if (is_late_word(command, node_id, before) &&
        (is_other || before->alive != now->alive || before->generation != now->generation))
        return model_trouble(m, "X12: a late word of an earlier boot changed node %lld",
                             (long long)node_id);
    if (is_other && before->boot_id[0] && !is_among(now->old_boots, before->boot_id))
        return model_trouble(m, "X12: after %s node %lld is in %s and has forgotten %s",
                             command_name(command->kind), (long long)node_id, now->boot_id,
                             before->boot_id);
    return NULL;
}

static const char *follow_node(struct model *m, const struct node_record *node,
                               const struct command *command)
{
    struct model_boot *boot = model_boot_of(m, node->id);
    m->nodes[node->id].stopped = node->stopped;
    const struct model_boot before = *boot;
    *boot = (struct model_boot){.here = true,
                                .alive = node->alive,
                                .has_status = node->status.len > 0,
                                .generation = node->boot_generation,
                                .bootenv = hash64(node->bootenv, 0)};
    keep(boot->boot_id, sizeof boot->boot_id, node->boot_id);
    keep(boot->old_boots, sizeof boot->old_boots, node->old_boots);
    if (!before.here || !command)
        return NULL;
    const char *trouble = follow_boot_id(m, node->id, &before, command);
    if (trouble)
        return trouble;
    const bool has_wishes = command->kind == COMMAND_OUTBOX_DONE;
    const bool changed = before.bootenv != boot->bootenv;
    const int64_t steps = boot->generation - before.generation;
    if (steps < 0 || (changed && steps == 0) || (!has_wishes && steps != (changed ? 1 : 0)))
        return model_trouble(m, "X1: after %s node %lld is at boot generation %lld after %lld",
                             command_name(command->kind), (long long)node->id,
                             (long long)boot->generation, (long long)before.generation);
    if (!has_wishes && boot->alive && !before.alive && boot->has_status && !node->stopped)
        return model_trouble(m, "node %lld came alive and still says \"%.*s\"", (long long)node->id,
                             STR_FMT_ARGS(node->status));
    return NULL;
}

static const char *follow_nodes(struct model *m, const struct core *c,
                                const struct command *command)
{
    const char *trouble = NULL;
    for (uint32_t i = 0; i < m->boots_count; i++)
        if (m->boots[i].here && core_next_id(c, TABLE_NODE, (int64_t)i - 1) != (int64_t)i)
            m->boots[i] = (struct model_boot){0};
    for (int64_t id = 0; !trouble && (id = core_next_id(c, TABLE_NODE, id)) != 0;) {
        struct record record;
        if (core_record(c, TABLE_NODE, id, &record))
            trouble = follow_node(m, &record.node, command);
    }
    return trouble;
}

/* ---- rows ---- */

/* One that waited before this step and is not there any more. */
static const char *check_given_up(struct model *m, const struct model_power *power,
                                  const struct node_record *node, const struct command *command,
                                  struct arena *scratch)
{
    const struct lag lag = lag_of(m, node, power->generation, scratch);
    m->counts.given_up++;
    const bool is_restart = power->restarts;
    const bool late = command->mono_ms >= power->since_ms + power->left_ms;
    if (power->left_ms && (!lag.first || !(lag.has_error || late)))
        return model_trouble(m, "X1: power %lld of node %lld was given up without a reason",
                             (long long)power->id, (long long)node->id);
    if (!power->left_ms)
        return model_trouble(m, "X1: power %lld that stood in line is gone", (long long)power->id);
    if (!node->status.len || (is_restart && !node->stopped))
        return model_trouble(m, "X8: node %lld does not say that its power was given up",
                             (long long)node->id);
    return NULL;
}

static const char *check_let_go(struct model *m, const struct model_power *power,
                                const struct node_record *node, struct arena *scratch)
{
    m->counts.went++;
    if (power->left_ms && lag_of(m, node, power->generation, scratch).first)
        return model_trouble(
            m, "X1: power %lld went before generation %lld was served to node %lld",
            (long long)power->id, (long long)power->generation, (long long)node->id);
    return NULL;
}

/* A restart that was asked for later takes the place of one that waited, waiting itself or not. */
static bool is_superseded(const struct model *m, const struct core *c,
                          const struct model_power *power)
{
    for (int64_t id = m->outbox_seen;
         power->restarts && (id = core_next_id(c, TABLE_OUTBOX, id));) {
        struct record record;
        if (core_record(c, TABLE_OUTBOX, id, &record) && record.outbox.kind == OUTBOX_POWER &&
            record.outbox.object_id == power->node_id && restarts(record.outbox.detail))
            return true;
    }
    return false;
}

/* What became of those that waited when the step began. */
static const char *follow_waiting(struct model *m, const struct core *c,
                                  const struct command *command, struct arena *scratch)
{
    for (uint32_t i = 0; i < m->powers_count; i++) {
        const struct model_power *power = &m->powers[i];
        struct record node, row;
        const char *trouble = NULL;
        if (!core_record(c, TABLE_NODE, power->node_id, &node) || is_superseded(m, c, power))
            continue;
        if (!core_record(c, TABLE_OUTBOX, power->id, &row))
            trouble = check_given_up(m, power, &node.node, command, scratch);
        else if (!row.outbox.generation)
            trouble = check_let_go(m, power, &node.node, scratch);
        if (trouble)
            return trouble;
    }
    return NULL;
}

/* A row that waits now: with a reason, and not for longer than it may. */
static const char *check_waiting(struct model *m, const struct model_power *power, bool is_first,
                                 const struct command *command, struct lag lag)
{
    m->counts.waited += power->id > m->outbox_seen;
    if (is_first && !lag.first)
        return model_trouble(m, "X1: power %lld of node %lld waits for nobody",
                             (long long)power->id, (long long)power->node_id);
    if (power->left_ms && lag.has_error)
        return model_trouble(m, "X8: power %lld of node %lld waits for somebody in error",
                             (long long)power->id, (long long)power->node_id);
    if (power->left_ms && command->kind == COMMAND_TICK &&
        command->mono_ms > power->again_ms + power->left_ms && lag.first)
        return model_trouble(m, "X1: power %lld of node %lld waits for too long",
                             (long long)power->id, (long long)power->node_id);
    return NULL;
}

/* Since when, if it is known from before. */
static void set_since(const struct model *m, struct model_power *power, int64_t now_ms)
{
    power->since_ms = power->again_ms = now_ms;
    for (uint32_t i = 0; i < m->powers_count; i++) {
        const struct model_power *before = &m->powers[i];
        if (before->id != power->id)
            continue;
        power->since_ms = before->since_ms;
        power->again_ms = before->again_ms < 0 ? now_ms : before->again_ms;
    }
}

void model_restarted(struct model *m)
{
    for (uint32_t i = 0; i < m->powers_count; i++)
        m->powers[i].again_ms = -1;
}

/* One that was made in this step and does not wait. A wish may have changed what the machine boots
 * after another had asked for its power. */
static const char *check_at_once(struct model *m, const struct outbox_record *row,
                                 const struct node_record *node, const struct command *command,
                                 struct arena *scratch)
{
    if (row->id <= m->outbox_seen || !boots(row->detail) || !m->barrier_s ||
        command->kind == COMMAND_OUTBOX_DONE ||
        !lag_of(m, node, node->boot_generation, scratch).first)
        return NULL;
    return model_trouble(m, "X10: after %s node %lld is switched before generation %lld is served",
                         command_name(command->kind), (long long)node->id,
                         (long long)node->boot_generation);
}

static bool stands_first(const struct model *m, uint32_t from, int64_t node_id)
{
    for (uint32_t i = from; i < m->powers_count; i++)
        if (m->powers[i].node_id == node_id)
            return false;
    return true;
}

/* The rows as they are now, behind those of before, which then go. */
static const char *read_rows(struct model *m, const struct core *c, const struct command *command,
                             struct arena *scratch)
{
    const uint32_t before = m->powers_count;
    const char *trouble = NULL;
    for (int64_t id = 0; !trouble && (id = core_next_id(c, TABLE_OUTBOX, id)) != 0;) {
        struct record record, node;
        if (!core_record(c, TABLE_OUTBOX, id, &record) || record.outbox.kind != OUTBOX_POWER ||
            !core_record(c, TABLE_NODE, record.outbox.object_id, &node))
            continue;
        const struct outbox_record *row = &record.outbox;
        if (!row->generation) {
            trouble = command ? check_at_once(m, row, &node.node, command, scratch) : NULL;
            continue;
        }
        const struct lag lag = lag_of(m, &node.node, row->generation, scratch);
        struct model_power power = {.id = id,
                                    .node_id = row->object_id,
                                    .generation = row->generation,
                                    .left_ms = row->left_ms,
                                    .restarts = restarts(row->detail),
                                    .server = row->left_ms ? lag.first : 0};
        set_since(m, &power, command ? command->mono_ms : 0);
        if (command)
            trouble =
                check_waiting(m, &power, stands_first(m, before, row->object_id), command, lag);
        model_add_power(m, power);
    }
    for (uint32_t i = before; i < m->powers_count; i++)
        m->powers[i - before] = m->powers[i];
    m->powers_count -= before;
    return trouble;
}

static void note_last(struct model *m, const struct core *c)
{
    struct record record;
    if (core_record(c, TABLE_COUNTER, TABLE_OUTBOX + 1, &record))
        m->outbox_seen = record.counter.last;
}

const char *model_follow_boots(struct model *m, const struct core *c, const struct command *command,
                               struct arena *scratch)
{
    const struct arena_mark mark = arena_mark(scratch);
    const char *trouble = command ? follow_waiting(m, c, command, scratch) : NULL;
    if (!trouble)
        trouble = follow_nodes(m, c, command);
    if (!trouble)
        trouble = read_rows(m, c, command, scratch);
    note_last(m, c);
    arena_rewind(scratch, mark);
    return trouble;
}

int64_t model_waits_for(const struct model *m, int64_t node_id)
{
    for (uint32_t i = 0; i < m->powers_count; i++)
        if (m->powers[i].node_id == node_id && m->powers[i].left_ms)
            return m->powers[i].server;
    return 0;
}
