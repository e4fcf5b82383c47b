#include "turn/audit.h"

#include <string.h>

#include "base/json/json.h"
#include "core/core.h"
#include "model/grant.h"
#include "model/reason.h"
#include "model/subject.h"
#include "port/batch.h"
#include "port/watch_port.h"

/* Events of the audit log: this file collects them in struct events while a batch is stepped, and
 * encodes them as rows of that batch, so that they are durable together with it.
 *
 * An event is the difference of one record before and after a command. Order: the object of the
 * command is copied before the step (audit_before), because the step changes it in place, and
 * compared after it (audit_after). The event of the engine counts the changed rows of the batch
 * (audit_count), so audit_put() is called after the last row was collected.
 *
 * Failure: a command that is refused, or changes nothing, adds no event. For a COMMAND_BATCH the
 * events of the parts are collected while the core steps them, and dropped if the batch is refused
 * or needs replies of hooks. If the store does not commit, the events are lost with their batch. */

enum { AUDIT_STRING_MAX = 1024 }; /* bytes; a longer string is shown as {"bytes": N} */

/* A command that is being stepped: its object before the step. */
struct event_watch {
    uint64_t edits;    /* core_edits() before the step */
    bool known;        /* the object existed: `before` is set */
    struct str action; /* the power action whose result the command is; empty: none */
    struct json *pins; /* of the node, for commands about its host keys; NULL for others */
    struct record before;
};

/* The result of a power action is an event of its node, so that the audit log has each action with
 * its result. All other results of the outbox belong to the event of the engine. */
static struct subject audit_subject(const struct core *core, const struct command *command,
                                    struct str *out_action)
{
    struct record row;
    *out_action = STR("");
    if (command->kind != COMMAND_OUTBOX_DONE ||
        !core_record(core, TABLE_OUTBOX, command->outbox_done.outbox_id, &row) ||
        row.outbox.kind != OUTBOX_POWER || row.outbox.generation ||
        str_starts(row.outbox.detail, STR("boot ")))
        return command_subject(command);
    *out_action = row.outbox.detail;
    return (struct subject){TABLE_NODE, row.outbox.object_id};
}

/* The ssh host keys that are pinned for the node; null if there are none. They are rows of their
 * own, so the difference of the node record does not contain them. */
static struct json *audit_host_keys(const struct core *core, int64_t node_id, struct arena *arena)
{
    uint32_t count;
    const int64_t *ids = core_host_keys_of(core, node_id, arena, &count);
    struct json *pins = json_make(arena, count ? JSON_ARRAY : JSON_NULL);
    struct record row;
    for (uint32_t i = 0; i < count; i++)
        if (core_record(core, TABLE_HOST_KEY, ids[i], &row))
            json_append(pins, json_make_string(arena, str_copy(arena, row.host_key.key)));
    return pins;
}

static struct event_watch audit_before(const struct core *core, const struct command *command,
                                       struct arena *arena)
{
    struct event_watch watch = {.edits = core_edits(core)};
    struct record record;
    struct str action;
    const struct subject subject = audit_subject(core, command, &action);
    watch.action = str_copy(arena, action);
    if (subject.table >= TABLE_OBJECTS || !core_record(core, subject.table, subject.id, &record))
        return watch;
    watch.known = true;
    if (command->kind == COMMAND_NODE_PIN_KEYS || command->kind == COMMAND_NODE_FORGET_KEY)
        watch.pins = audit_host_keys(core, subject.id, arena);
    watch.before.table = record.table;
    fields_copy(arena, record_layout(record.table), &record.id, &watch.before.id);
    return watch;
}

/* ---- the difference of two records ---- */

static bool audit_is_secret(struct str name)
{
    return str_eq(name, STR("password_hash")) || str_eq(name, STR("digest_ha1")) ||
           str_eq(name, STR("authenticator")) || str_eq(name, STR("key")) ||
           str_eq(name, STR("hash"));
}

/* Fields that change with every write, or whose content is shown as the event itself. */
static bool audit_is_bookkeeping(struct str name)
{
    return str_eq(name, STR("id")) || str_eq(name, STR("created_at")) ||
           str_eq(name, STR("updated_at")) || str_eq(name, STR("turn")) ||
           str_eq(name, STR("power_read_at")) || str_eq(name, STR("power_order")) ||
           str_eq(name, STR("power_results"));
}

static struct json *audit_string_value(struct arena *a, const struct field *field, struct str text)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (audit_is_secret(str_from(field->name)))
        return json_make_string(a, text.len ? STR("(secret)") : STR(""));
    if (text.len > AUDIT_STRING_MAX) {
        struct json *length = json_make(a, JSON_OBJECT);
        json_set(length, STR("bytes"), json_make_i64(a, text.len));
        return length;
    }
    if (field->kind == FIELD_TEXT)
        return json_make_string(a, text);
    if (text.len == 0 || json_read(a, text, &tree, &offset, &what) != OK)
        return json_make(a, JSON_OBJECT);
    return tree;
}

/* The name of an enum value, because the numbers of the store are not those of the API; "" for no
 * value, NULL if the field is a number. */
static const char *audit_enum_name(enum table table, struct str name, uint32_t value)
{
    if (table == TABLE_NODEROLE && str_eq(name, STR("state")))
        return noderole_state_name((enum noderole_state)value);
    if (str_eq(name, STR("reason")) || str_eq(name, STR("power_reason")))
        return value == REASON_NONE ? "" : reason_name((enum reason_code)value);
    if (str_eq(name, STR("power_state")))
        return power_state_name((enum power_state)value);
    if (str_eq(name, STR("grant_void")) || str_eq(name, STR("grant_barred")))
        return value ? grant_void_name((enum grant_void)value) : "";
    if (str_eq(name, STR("access")))
        return access_name((enum access)value);
    return NULL;
}

static struct json *audit_u32_value(struct arena *a, const struct field *field, enum table table,
                                    uint32_t value)
{
    const char *word = audit_enum_name(table, str_from(field->name), value);
    if (!word)
        return json_make_i64(a, value);
    return *word ? json_make_string(a, str_from(word)) : json_make(a, JSON_NULL);
}

static struct json *audit_value(struct arena *a, const struct field *field, enum table table,
                                const struct record *record)
{
    if (!record)
        return json_make(a, JSON_NULL);
    const char *at = (const char *)&record->id + field->offset;
    switch (field->kind) {
    case FIELD_I64: return json_make_i64(a, *(const int64_t *)(const void *)at);
    case FIELD_U32: return audit_u32_value(a, field, table, *(const uint32_t *)(const void *)at);
    case FIELD_BOOL: return json_make_bool(a, *(const bool *)at);
    case FIELD_TEXT:
    case FIELD_DOC:
    case FIELD_RAW: return audit_string_value(a, field, *(const struct str *)(const void *)at);
    }
    impossible("unknown kind of field");
}

static void audit_add_pair(struct arena *a, struct json *changes, const char *key,
                           struct json *before, struct json *after)
{
    struct json *pair = json_make(a, JSON_ARRAY);
    json_append(pair, before);
    json_append(pair, after);
    json_set(changes, str_from(key), pair);
}

static void audit_add_value(struct arena *a, struct json *changes, const char *key,
                            struct json *value)
{
    audit_add_pair(a, changes, key, json_make(a, JSON_NULL), value);
}

/* Commands about power also list the action, the id of its order and its result. */
static void audit_add_power(struct arena *a, struct json *changes, const struct command *command,
                            const struct event_watch *watch)
{
    const struct outbox_done_command *done = &command->outbox_done;
    if (command->kind == COMMAND_NODE_POWER) {
        audit_add_value(a, changes, "action", json_make_string(a, command->node_power.action));
    } else if (watch->action.len) {
        audit_add_value(a, changes, "action", json_make_string(a, watch->action));
        audit_add_value(a, changes, "order", json_make_i64(a, done->outbox_id));
        audit_add_value(a, changes, "result",
                        json_make_string(a, done->failed ? STR("failed") : STR("done")));
        audit_add_value(a, changes, "text",
                        json_make_string(a, str_clip(done->text, AUDIT_STRING_MAX)));
    }
}

/* {"field":[before,after]}; a record that is NULL did not exist. */
static struct json *audit_difference(struct arena *a, enum table table, const struct record *before,
                                     const struct record *after)
{
    static const struct record nothing;
    const struct record *old = before ? before : &nothing, *now = after ? after : &nothing;
    const struct layout *layout = record_layout(table);
    struct json *changes = json_make(a, JSON_OBJECT);
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct field *field = &layout->fields[i];
        const struct layout one = {"", field, 1, 0}; /* fields_eq() compares this field only */
        if (audit_is_bookkeeping(str_from(field->name)) || fields_eq(&one, &old->id, &now->id))
            continue;
        struct json *pair = json_make(a, JSON_ARRAY);
        json_append(pair, audit_value(a, field, table, before));
        json_append(pair, audit_value(a, field, table, after));
        json_set(changes, str_from(field->name), pair);
    }
    return changes;
}

static struct event_note *audit_add_note(struct events *events)
{
    struct event_note *note = arena_new(events->arena, struct event_note);
    if (events->last)
        events->last->next = note;
    else
        events->first = note;
    events->last = note;
    return note;
}

/* The command was executed: add its event, or count its changes for the event of the engine. */
static void audit_after(struct events *events, const struct event_watch *watch,
                        const struct core *core, const struct command *command,
                        const struct outcome *outcome)
{
    const bool changed = core_edits(core) > watch->edits;
    const bool ends_power = watch->action.len && watch->known;
    const enum table table = ends_power ? TABLE_NODE : command_subject(command).table;
    if (table == TABLE_COUNT) {
        events->engine |= changed;
        return;
    }
    const int64_t id = watch->known ? watch->before.id : outcome->id;
    struct record record;
    const bool there = table < TABLE_OBJECTS && core_record(core, table, id, &record);
    struct json *changes = json_make(events->arena, JSON_OBJECT);
    if (there || watch->known)
        changes = audit_difference(events->arena, table, watch->known ? &watch->before : NULL,
                                   there ? &record : NULL);
    /* A create that finds an existing object changes nothing. */
    if (!changed && (!watch->known || !changes->count))
        return;
    /* A power reading that only updated its time is not recorded. */
    if (command->kind == COMMAND_NODE_POWER_READ && !changes->count)
        return;
    audit_add_power(events->arena, changes, command, watch);
    /* The members of a group are not a field of its record: list the node that was added or
     * removed. */
    if (command->kind == COMMAND_GROUP_ADD)
        audit_add_value(events->arena, changes, "node_id",
                        json_make_i64(events->arena, command->group_add.node_id));
    else if (command->kind == COMMAND_GROUP_REMOVE)
        audit_add_pair(events->arena, changes, "node_id",
                       json_make_i64(events->arena, command->group_remove.node_id),
                       json_make(events->arena, JSON_NULL));
    if (watch->pins)
        audit_add_pair(events->arena, changes, "host_keys", watch->pins,
                       audit_host_keys(core, id, events->arena));
    audit_add_note(events)->event = (struct event_record){
        .actor = str_copy(events->arena, command->actor),
        .verb = ends_power ? STR("node_power_done") : str_from(command_name(command->kind)),
        .object = str_from(table_name(table)),
        .object_id = id,
        .changes = json_write(events->arena, changes),
        .address = str_copy(events->arena, command->address),
    };
}

/* ---- stepping ---- */

/* Observer of the parts of a COMMAND_BATCH. */
struct part_observer {
    struct events *events;
    const struct core *core;
    struct event_watch watch; /* of the part in progress */
};

static void audit_part_before(void *self, const struct command *part)
{
    struct part_observer *part_observer = self;
    part_observer->watch = audit_before(part_observer->core, part, part_observer->events->arena);
}

static void audit_part_after(void *self, const struct command *part, const struct outcome *outcome)
{
    struct part_observer *part_observer = self;
    const struct watch_port *port = part_observer->events->watch;
    if (outcome->verdict == VERDICT_DONE)
        audit_after(part_observer->events, &part_observer->watch, part_observer->core, part,
                    outcome);
    if (port->part)
        port->part(port->self, part, outcome);
}

static void audit_step_parts(struct events *events, struct core *core,
                             const struct command *command, struct effects *fx,
                             struct outcome *outcome)
{
    struct part_observer part_observer = {.events = events, .core = core};
    const struct part_watch watch = {&part_observer, audit_part_before, audit_part_after};
    struct event_note *last = events->last;
    core_watch_parts(core, &watch);
    core_step(core, command, events->arena, fx, outcome);
    core_watch_parts(core, NULL);
    if (outcome->verdict == VERDICT_DONE)
        return;
    /* The batch was refused as a whole: drop the notes of its parts. */
    if (last)
        last->next = NULL;
    else
        events->first = NULL;
    events->last = last;
}

void audit_step(struct events *events, struct core *core, const struct command *command,
                struct effects *fx, struct outcome *outcome)
{
    if (command->kind == COMMAND_BATCH) {
        audit_step_parts(events, core, command, fx, outcome);
        return;
    }
    const struct event_watch watch = audit_before(core, command, events->arena);
    core_step(core, command, events->arena, fx, outcome);
    if (outcome->verdict == VERDICT_DONE)
        audit_after(events, &watch, core, command, outcome);
}

/* ---- the event of the engine ---- */

void audit_count(struct events *events, const struct change *change)
{
    if (!events->engine || change->record.table >= TABLE_OBJECTS)
        return;
    if (!events->tables)
        events->tables = arena_array(events->arena, struct event_tally, TABLE_OBJECTS);
    struct event_tally *tally = &events->tables[change->record.table];
    if (tally->count < EVENT_IDS_MAX)
        tally->ids[tally->count] = change->record.id;
    tally->count++;
}

static struct str audit_engine_changes(const struct events *events)
{
    struct arena *a = events->arena;
    struct json *changes = json_make(a, JSON_OBJECT);
    for (uint32_t t = 0; events->tables && t < TABLE_OBJECTS; t++) {
        const struct event_tally *tally = &events->tables[t];
        if (tally->count == 0 || t == TABLE_COUNTER)
            continue;
        struct json *ids = json_make(a, JSON_ARRAY);
        for (uint32_t i = 0; i < tally->count && i < EVENT_IDS_MAX; i++)
            json_append(ids, json_make_i64(a, tally->ids[i]));
        struct json *entry = json_make(a, JSON_OBJECT);
        json_set(entry, STR("count"), json_make_i64(a, tally->count));
        json_set(entry, STR("ids"), ids);
        json_set(changes, str_from(table_name((enum table)t)), entry);
    }
    return json_write(a, changes);
}

/* ---- encoding ---- */

static void audit_put_event(struct buf *changes, struct event_record event, int64_t turn, int64_t n,
                            int64_t at)
{
    struct change change;
    memset(&change, 0, sizeof change);
    event.turn = turn;
    event.n = n;
    event.at = at;
    change.record.table = TABLE_EVENT;
    change.record.event = event;
    batch_put(changes, &change);
}

uint32_t audit_put(const struct events *events, int64_t turn, int64_t now_ms, struct buf *changes)
{
    uint32_t n = 0;
    for (const struct event_note *note = events->first; note; note = note->next)
        audit_put_event(changes, note->event, turn, n++, now_ms);
    if (events->engine)
        audit_put_event(changes,
                        (struct event_record){.actor = STR("engine"),
                                              .verb = STR("anneal"),
                                              .changes = audit_engine_changes(events)},
                        turn, n++, now_ms);
    return n;
}
