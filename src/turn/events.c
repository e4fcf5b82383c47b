#include "turn/events.h"

#include <string.h>

#include "base/json.h"
#include "core/core.h"
#include "port/batch.h"

enum { TOLD_LEN_MAX = 1024 };

/* ---- what a command is about ---- */

/* 0 (TABLE_SETTINGS) for the settings and for what the engine tells itself. */
static const uint8_t subjects[COMMAND_COUNT] = {
    [COMMAND_IMPORT] = TABLE_BARCLAMP,
    [COMMAND_JIG_CREATE] = TABLE_JIG,
    [COMMAND_JIG_UPDATE] = TABLE_JIG,
    [COMMAND_ROLE_UPDATE] = TABLE_ROLE,
    [COMMAND_ATTRIB_CREATE] = TABLE_ATTRIB,
    [COMMAND_ATTRIB_DELETE] = TABLE_ATTRIB,
    [COMMAND_DEPLOYMENT_CREATE] = TABLE_DEPLOYMENT,
    [COMMAND_DEPLOYMENT_UPDATE] = TABLE_DEPLOYMENT,
    [COMMAND_DEPLOYMENT_DELETE] = TABLE_DEPLOYMENT,
    [COMMAND_DEPLOYMENT_COMMIT] = TABLE_DEPLOYMENT,
    [COMMAND_DEPLOYMENT_PROPOSE] = TABLE_DEPLOYMENT,
    [COMMAND_DEPLOYMENT_RECALL] = TABLE_DEPLOYMENT,
    [COMMAND_DEPLOYMENT_REVERT] = TABLE_DEPLOYMENT,
    [COMMAND_SNAPSHOT_UPDATE] = TABLE_SNAPSHOT,
    [COMMAND_DEPLOYMENT_ROLE_CREATE] = TABLE_DEPLOYMENT_ROLE,
    [COMMAND_DEPLOYMENT_ROLE_DELETE] = TABLE_DEPLOYMENT_ROLE,
    [COMMAND_DEPLOYMENT_ROLE_PROPOSE] = TABLE_DEPLOYMENT_ROLE,
    [COMMAND_DEPLOYMENT_ROLE_COMMIT] = TABLE_DEPLOYMENT_ROLE,
    [COMMAND_DEPLOYMENT_ROLE_DATA] = TABLE_DEPLOYMENT_ROLE,
    [COMMAND_NODE_CREATE] = TABLE_NODE,
    [COMMAND_NODE_UPDATE] = TABLE_NODE,
    [COMMAND_NODE_DELETE] = TABLE_NODE,
    [COMMAND_NODE_PROPOSE] = TABLE_NODE,
    [COMMAND_NODE_COMMIT] = TABLE_NODE,
    [COMMAND_NODE_REDEPLOY] = TABLE_NODE,
    [COMMAND_NODE_DEBUG] = TABLE_NODE,
    [COMMAND_NODE_UNDEBUG] = TABLE_NODE,
    [COMMAND_NODE_POWER] = TABLE_NODE,
    [COMMAND_NODEROLE_BIND] = TABLE_NODEROLE,
    [COMMAND_NODEROLE_DELETE] = TABLE_NODEROLE,
    [COMMAND_NODEROLE_PROPOSE] = TABLE_NODEROLE,
    [COMMAND_NODEROLE_COMMIT] = TABLE_NODEROLE,
    [COMMAND_NODEROLE_RETRY] = TABLE_NODEROLE,
    [COMMAND_NODEROLE_DATA] = TABLE_NODEROLE,
    [COMMAND_NODEROLE_ENQUEUE] = TABLE_NODEROLE,
    [COMMAND_GROUP_CREATE] = TABLE_GROUP,
    [COMMAND_GROUP_UPDATE] = TABLE_GROUP,
    [COMMAND_GROUP_DELETE] = TABLE_GROUP,
    [COMMAND_GROUP_ADD] = TABLE_GROUP,
    [COMMAND_GROUP_REMOVE] = TABLE_GROUP,
    [COMMAND_HAMMER_CREATE] = TABLE_HAMMER,
    [COMMAND_HAMMER_UPDATE] = TABLE_HAMMER,
    [COMMAND_HAMMER_DELETE] = TABLE_HAMMER,
    [COMMAND_USER_CREATE] = TABLE_USER,
    [COMMAND_USER_UPDATE] = TABLE_USER,
    [COMMAND_USER_DELETE] = TABLE_USER,
    [COMMAND_TOKEN_CREATE] = TABLE_TOKEN,
    [COMMAND_TOKEN_DELETE] = TABLE_TOKEN,
    [COMMAND_RUN_RESUME] = TABLE_RUN,
    [COMMAND_RUN_CANCEL] = TABLE_RUN,
};

/* Answers of the world and the engine's own moves; all else somebody wanted. */
static bool is_of_engine(enum command_kind kind)
{
    return kind == COMMAND_RUN_BEGUN || kind == COMMAND_RUN_DONE || kind == COMMAND_RUN_STOPPED ||
           kind == COMMAND_OUTBOX_DONE || kind == COMMAND_ANNEAL || kind == COMMAND_TICK;
}

static enum table subject_of(const struct command *command)
{
    return command->kind == COMMAND_ATTRIB_SET ? (enum table)command->attrib_set.target
                                               : (enum table)subjects[command->kind];
}

/* The object a command names; 0 when it is about to make one. */
static int64_t subject_id(const struct command *command)
{
    switch ((int)command->kind) {
    case COMMAND_SETTINGS_UPDATE: return 1;
    case COMMAND_ATTRIB_SET: return command->attrib_set.id;
    case COMMAND_RUN_RESUME: return command->run_resume.run_id;
    case COMMAND_RUN_CANCEL: return command->run_cancel.run_id;
    default: break;
    }
    const struct layout *layout = command_layout(command->kind);
    int64_t id = 0;
    if (layout->count && str_eq(str_from(layout->fields[0].name), STR("id")))
        memcpy(&id, (const char *)command_payload_const(command) + layout->fields[0].offset,
               sizeof id);
    return id;
}

struct event_watch events_before(const struct core *core, const struct command *command,
                                 struct arena *arena)
{
    struct event_watch watch = {.edits = core_edits(core)};
    struct record record;
    if (is_of_engine(command->kind) || subject_of(command) >= TABLE_OBJECTS ||
        !core_record(core, subject_of(command), subject_id(command), &record))
        return watch;
    watch.known = true;
    watch.before.table = record.table;
    fields_copy(arena, record_layout(record.table), &record.id, &watch.before.id);
    return watch;
}

/* ---- what changed ---- */

static bool is_secret(struct str name)
{
    return str_eq(name, STR("password_hash")) || str_eq(name, STR("digest_ha1")) ||
           str_eq(name, STR("authenticator")) || str_eq(name, STR("key")) ||
           str_eq(name, STR("hash"));
}

static bool is_bookkeeping(struct str name)
{
    return str_eq(name, STR("id")) || str_eq(name, STR("created_at")) ||
           str_eq(name, STR("updated_at")) || str_eq(name, STR("turn"));
}

static struct json *told_text(struct arena *a, const struct field *field, struct str text)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (is_secret(str_from(field->name)))
        return json_make_string(a, text.len ? STR("(secret)") : STR(""));
    if (text.len > TOLD_LEN_MAX) {
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

static struct json *told(struct arena *a, const struct field *field, const struct record *record)
{
    if (!record)
        return json_make(a, JSON_NULL);
    const char *at = (const char *)&record->id + field->offset;
    switch (field->kind) {
    case FIELD_I64: return json_make_i64(a, *(const int64_t *)(const void *)at);
    case FIELD_U32: return json_make_i64(a, *(const uint32_t *)(const void *)at);
    case FIELD_BOOL: return json_make_bool(a, *(const bool *)at);
    case FIELD_TEXT:
    case FIELD_DOC:
    case FIELD_RAW: return told_text(a, field, *(const struct str *)(const void *)at);
    }
    impossible("a field of no kind");
}

static bool is_same(const struct field *field, const struct record *a, const struct record *b)
{
    const struct layout one = {"", field, 1, 0};
    return fields_eq(&one, &a->id, &b->id);
}

/* {"field":[before,after]}; NULL stands for "was not there". */
static struct str difference(struct arena *a, enum table table, const struct record *before,
                             const struct record *after)
{
    static const struct record nothing;
    const struct layout *layout = record_layout(table);
    struct json *changes = json_make(a, JSON_OBJECT);
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct field *field = &layout->fields[i];
        if (is_bookkeeping(str_from(field->name)) ||
            is_same(field, before ? before : &nothing, after ? after : &nothing))
            continue;
        struct json *pair = json_make(a, JSON_ARRAY);
        json_append(pair, told(a, field, before));
        json_append(pair, told(a, field, after));
        json_set(changes, str_from(field->name), pair);
    }
    return json_write(a, changes);
}

static struct event_note *note(struct events *events)
{
    struct event_note *note = arena_new(events->arena, struct event_note);
    if (events->last)
        events->last->next = note;
    else
        events->first = note;
    events->last = note;
    return note;
}

void events_after(struct events *events, const struct event_watch *watch, const struct core *core,
                  const struct command *command, const struct outcome *outcome)
{
    const bool changed = core_edits(core) > watch->edits;
    if (is_of_engine(command->kind)) {
        events->engine |= changed;
        return;
    }
    const enum table table = subject_of(command);
    const int64_t id = watch->known ? watch->before.id : outcome->id;
    struct record record;
    const bool there = table < TABLE_OBJECTS && core_record(core, table, id, &record);
    struct str changes = STR("{}");
    if (there || watch->known)
        changes = difference(events->arena, table, watch->known ? &watch->before : NULL,
                             there ? &record : NULL);
    if (!changed && str_eq(changes, STR("{}")))
        return;
    note(events)->event = (struct event_record){
        .actor = str_copy(events->arena, command->actor),
        .verb = str_from(command_name(command->kind)),
        .object = str_from(table_name(table)),
        .object_id = id,
        .changes = changes,
    };
}

/* ---- the engine's one event ---- */

void events_count(struct events *events, const struct change *change)
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

static struct str tallies(const struct events *events)
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
        struct json *told_of = json_make(a, JSON_OBJECT);
        json_set(told_of, STR("count"), json_make_i64(a, tally->count));
        json_set(told_of, STR("ids"), ids);
        json_set(changes, str_from(table_name((enum table)t)), told_of);
    }
    return json_write(a, changes);
}

/* ---- into the batch ---- */

static void put(struct buf *changes, struct event_record event, int64_t turn, int64_t n, int64_t at)
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

uint32_t events_put(const struct events *events, int64_t turn, int64_t now_ms, struct buf *changes)
{
    uint32_t n = 0;
    for (const struct event_note *note = events->first; note; note = note->next)
        put(changes, note->event, turn, n++, now_ms);
    if (events->engine)
        put(changes,
            (struct event_record){
                .actor = STR("engine"), .verb = STR("anneal"), .changes = tallies(events)},
            turn, n++, now_ms);
    return n;
}
