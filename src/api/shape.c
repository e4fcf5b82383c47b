#include "api/shape.h"

#include <stddef.h>
#include <string.h>

#include "api/times.h"
#include "model/hammer_class.h"

/* ---- the tables ---- */

#define AT(member) (uint16_t) offsetof(struct record, member)
#define OBJECT_TIMES(noun)                                                                         \
    {.name = "created_at", .kind = SHAPE_TIME, .at = AT(noun.created_at)},                         \
        {.name = "updated_at", .kind = SHAPE_TIME, .at = AT(noun.updated_at)},
#define SHAPE(noun, type_name, TABLE, rows)                                                        \
    const struct shape noun = {                                                                    \
        .type = type_name, .table = TABLE, .fields = rows, .count = sizeof rows / sizeof *rows}

/* clang-format off */
static const struct shape_field node_fields[] = {
    {"id",             SHAPE_INT,   AT(node.id),             0, NULL},
    {"name",           SHAPE_TEXT,  AT(node.name),           0, "null"},
    {"description",    SHAPE_TEXT,  AT(node.description),    0, "\"\""},
    {"admin",          SHAPE_BOOL,  AT(node.admin),          0, "false"},
    {"system",         SHAPE_BOOL,  AT(node.system),         0, "false"},
    {"deployment_id",  SHAPE_REF,   AT(node.deployment_id),  0, NULL},
    {"target_role_id", SHAPE_REF,   AT(node.target_role_id), 0, NULL},
    {"allocated",      SHAPE_BOOL,  AT(node.allocated),      0, "false"},
    {"alive",          SHAPE_BOOL,  AT(node.alive),          0, "false"},
    {"available",      SHAPE_BOOL,  AT(node.available),      0, "false"},
    {"bootenv",        SHAPE_TEXT,  AT(node.bootenv),        0, "\"sledgehammer\""},
    {"quirks",         SHAPE_ARRAY, AT(node.quirks),         0, "[]"},
    {"boot_generation", SHAPE_INT,  AT(node.boot_generation), 0, "0"},
    {"status",         SHAPE_TEXT,  AT(node.status),         0, "\"\""},
    OBJECT_TIMES(node)
};

static const struct shape_field deployment_fields[] = {
    {"id",          SHAPE_INT,              AT(deployment.id),          0, NULL},
    {"name",        SHAPE_TEXT,             AT(deployment.name),        0, "null"},
    {"description", SHAPE_TEXT,             AT(deployment.description), 0, "\"\""},
    {"state",       SHAPE_DEPLOYMENT_STATE, AT(deployment.id),          0, "0"},
    {"system",      SHAPE_BOOL,             AT(deployment.system),      0, "false"},
    {"parent_id",   SHAPE_REF,              AT(deployment.parent_id),   0, NULL},
    OBJECT_TIMES(deployment)
};

#define FLAG(key, BIT) {key, SHAPE_FLAG, AT(role.flags), BIT, "false"}
static const struct shape_field role_fields[] = {
    {"id",          SHAPE_INT,   AT(role.id),          0, NULL},
    {"name",        SHAPE_TEXT,  AT(role.name),        0, "null"},
    {"description", SHAPE_TEXT,  AT(role.description), 0, "\"\""},
    {"jig_name",    SHAPE_TEXT,  AT(role.jig_name),    0, "null"},
    {"barclamp_id", SHAPE_REF,   AT(role.barclamp_id), 0, NULL},
    {"provides",    SHAPE_ARRAY, AT(role.provides),    0, "[]"},
    {"conflicts",   SHAPE_ARRAY, AT(role.conflicts),   0, "[]"},
    {"cohort",      SHAPE_SMALL, AT(role.cohort),      0, "0"},
    FLAG("library", ROLE_LIBRARY),
    FLAG("implicit", ROLE_IMPLICIT),
    FLAG("bootstrap", ROLE_BOOTSTRAP),
    FLAG("discovery", ROLE_DISCOVERY),
    FLAG("cluster", ROLE_CLUSTER),
    FLAG("destructive", ROLE_DESTRUCTIVE),
    FLAG("abstract", ROLE_ABSTRACT),
    FLAG("milestone", ROLE_MILESTONE),
    FLAG("powersave", ROLE_POWERSAVE),
    FLAG("service", ROLE_SERVICE),
    OBJECT_TIMES(role)
    {"withdrawn",   SHAPE_FLAG,     AT(role.flags), ROLE_WITHDRAWN, NULL},
    {"unusable",    SHAPE_UNUSABLE, AT(role.id),    0,              NULL},
};

static const struct shape_field noderole_fields[] = {
    {"id",            SHAPE_INT,            AT(noderole.id),            0, NULL},
    {"deployment_id", SHAPE_REF,            AT(noderole.deployment_id), 0, NULL},
    {"role_id",       SHAPE_REF,            AT(noderole.role_id),       0, NULL},
    {"node_id",       SHAPE_REF,            AT(noderole.node_id),       0, NULL},
    {"state",         SHAPE_NODEROLE_STATE, AT(noderole.state),         0, "4"},
    {"cohort",        SHAPE_SMALL,          AT(noderole.cohort),        0, "0"},
    {"run_count",     SHAPE_SMALL,          AT(noderole.run_count),     0, "0"},
    {"status",        SHAPE_TEXT,           AT(noderole.status),        0, "\"\""},
    {"runlog",        SHAPE_TEXT,           AT(noderole.runlog),        0, "\"\""},
    {"available",     SHAPE_NOT,            AT(noderole.unavailable),   0, "true"},
    {"order",         SHAPE_SMALL,          AT(noderole.order),         0, "10000"},
    {"node_error",    SHAPE_NODE_ERROR,     AT(noderole.node_id),       0, "false"},
    OBJECT_TIMES(noderole)
};

static const struct shape_field jig_fields[] = {
    {"id",               SHAPE_INT,      AT(jig.id),               0, NULL},
    {"name",             SHAPE_TEXT,     AT(jig.name),             0, "null"},
    {"description",      SHAPE_TEXT,     AT(jig.description),      0, "\"\""},
    {"order",            SHAPE_SMALL,    AT(jig.order),            0, "10000"},
    {"active",           SHAPE_BOOL,     AT(jig.active),           0, "false"},
    {"client_role_name", SHAPE_OPTIONAL, AT(jig.client_role_name), 0, "null"},
    {"server",           SHAPE_OPTIONAL, AT(jig.server),           0, "null"},
    {"client_name",      SHAPE_OPTIONAL, AT(jig.client_name),      0, "null"},
    {"key",              SHAPE_OPTIONAL, AT(jig.key),              0, "null"},
    OBJECT_TIMES(jig)
    {"inactive_reason",  SHAPE_INACTIVE, AT(jig.id),               0, NULL},
};

/* Without the secret. */
static const struct shape_field hammer_fields[] = {
    {"id",                  SHAPE_INT,     AT(hammer.id),             0, NULL},
    {"node_id",             SHAPE_REF,     AT(hammer.node_id),        0, NULL},
    {"available_hammer_id", SHAPE_REF,     AT(hammer.hammer_kind_id), 0, NULL},
    {"priority",            SHAPE_SMALL,   AT(hammer.priority),       0, "0"},
    {"name",                SHAPE_TEXT,    AT(hammer.name),           0, "null"},
    {"endpoint",            SHAPE_TEXT,    AT(hammer.endpoint),       0, "null"},
    {"username",            SHAPE_TEXT,    AT(hammer.username),       0, "null"},
    {"extra",               SHAPE_OBJECT,  AT(hammer.extra),          0, "{}"},
    {"actions",             SHAPE_ACTIONS, AT(hammer.hammer_kind_id), 0, NULL},
};

static const struct shape_field hammer_kind_fields[] = {
    {"id",       SHAPE_INT,   AT(hammer_kind.id),       0, NULL},
    {"name",     SHAPE_TEXT,  AT(hammer_kind.name),     0, "null"},
    {"klass",    SHAPE_TEXT,  AT(hammer_kind.klass),    0, "null"},
    {"priority", SHAPE_SMALL, AT(hammer_kind.priority), 0, "0"},
    OBJECT_TIMES(hammer_kind)
};

/* Without the hash. */
static const struct shape_field token_fields[] = {
    {"id",         SHAPE_INT,  AT(token.id),         0, NULL},
    {"name",       SHAPE_TEXT, AT(token.name),       0, NULL},
    {"user_id",    SHAPE_REF,  AT(token.user_id),    0, NULL},
    {"expires_at", SHAPE_TIME, AT(token.expires_at), 0, NULL},
    OBJECT_TIMES(token)
};
/* clang-format on */

SHAPE(shape_node, "node", TABLE_NODE, node_fields);
SHAPE(shape_deployment, "deployment", TABLE_DEPLOYMENT, deployment_fields);
SHAPE(shape_role, "role", TABLE_ROLE, role_fields);
SHAPE(shape_noderole, "node_role", TABLE_NODEROLE, noderole_fields);
SHAPE(shape_jig, "jig", TABLE_JIG, jig_fields);
SHAPE(shape_token, "token", TABLE_TOKEN, token_fields);
SHAPE(shape_hammer, "hammer", TABLE_HAMMER, hammer_fields);
SHAPE(shape_hammer_kind, "available_hammer", TABLE_HAMMER_KIND, hammer_kind_fields);

/* ---- values ---- */

enum value_kind {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_TEXT,
    VALUE_DOC,
    VALUE_TIME,
    VALUE_ACTIONS
};

struct value {
    enum value_kind kind;
    bool truth;
    int64_t number;  /* also of a time */
    struct str text; /* of actions: the class */
};

static int64_t noderole_state_number(uint32_t state)
{
    static const int8_t numbers[NODEROLE_STATE_COUNT] = {
        [NODEROLE_ERROR] = -1,     [NODEROLE_ACTIVE] = 0,  [NODEROLE_TODO] = 1,
        [NODEROLE_TRANSITION] = 2, [NODEROLE_BLOCKED] = 3, [NODEROLE_PROPOSED] = 4};
    must(state < NODEROLE_STATE_COUNT);
    return numbers[state];
}

static int64_t deployment_state_number(enum deployment_state state)
{
    switch (state) {
    case DEPLOYMENT_ERROR: return -1;
    case DEPLOYMENT_PROPOSED: return 0;
    case DEPLOYMENT_COMMITTED: return 1;
    case DEPLOYMENT_ACTIVE: return 2;
    }
    impossible("a deployment state outside the enum");
}

static struct value truth(bool is_true)
{
    return (struct value){.kind = VALUE_BOOL, .truth = is_true};
}

static struct value number(int64_t value)
{
    return (struct value){.kind = VALUE_INT, .number = value};
}

static struct value document(struct str doc, struct str empty)
{
    return (struct value){.kind = VALUE_DOC, .text = doc.len ? doc : empty};
}

static struct value actions(const struct core *core, int64_t kind_id)
{
    struct record kind;
    const bool found = core_record(core, TABLE_HAMMER_KIND, kind_id, &kind);
    return (struct value){.kind = VALUE_ACTIONS, .text = found ? kind.hammer_kind.klass : STR("")};
}

static struct value text_or_null(struct str text)
{
    return (struct value){.kind = text.len ? VALUE_TEXT : VALUE_NULL, .text = text};
}

static struct value value_of(const struct shape_field *f, const struct core *core,
                             const struct record *record, struct arena *a)
{
    const void *at = (const char *)record + f->at;
    switch (f->kind) {
    case SHAPE_INT: return number(*(const int64_t *)at);
    case SHAPE_SMALL: return number(*(const uint32_t *)at);
    case SHAPE_REF:
        return *(const int64_t *)at ? number(*(const int64_t *)at)
                                    : (struct value){.kind = VALUE_NULL};
    case SHAPE_BOOL: return truth(*(const bool *)at);
    case SHAPE_NOT: return truth(!*(const bool *)at);
    case SHAPE_FLAG: return truth(*(const uint32_t *)at & f->bit);
    case SHAPE_TEXT: return (struct value){.kind = VALUE_TEXT, .text = *(const struct str *)at};
    case SHAPE_ARRAY: return document(*(const struct str *)at, STR("[]"));
    case SHAPE_OBJECT: return document(*(const struct str *)at, STR("{}"));
    case SHAPE_TIME:
        return (struct value){.kind = *(const int64_t *)at ? VALUE_TIME : VALUE_NULL,
                              .number = *(const int64_t *)at};
    case SHAPE_NODEROLE_STATE: return number(noderole_state_number(*(const uint32_t *)at));
    case SHAPE_DEPLOYMENT_STATE:
        return number(deployment_state_number(core_deployment_state(core, *(const int64_t *)at)));
    case SHAPE_NODE_ERROR:
        return truth(core_node_state(core, *(const int64_t *)at) == NODEROLE_ERROR);
    case SHAPE_OPTIONAL: return text_or_null(*(const struct str *)at);
    case SHAPE_UNUSABLE: return text_or_null(core_role_unusable(core, *(const int64_t *)at, a));
    case SHAPE_INACTIVE: return text_or_null(core_jig_inactive(core, *(const int64_t *)at));
    case SHAPE_ACTIONS: return actions(core, *(const int64_t *)at);
    }
    impossible("a kind of field outside the enum");
}

static void write_key(struct buf *out, const char *name, bool first)
{
    buf_put_z(out, first ? "\"" : ",\"");
    buf_put_z(out, name);
    buf_put_z(out, "\":");
}

/* {"power":["on","off"]} */
static void write_actions(struct buf *out, struct str klass)
{
    const struct hammer_class *found = hammer_class_find(klass);
    bool first = true;
    buf_put_c(out, '{');
    for (int c = 0; found && c < HAMMER_CATEGORY_COUNT; c++) {
        struct str words = hammer_class_words(found, (enum hammer_category)c);
        if (words.len == 0)
            continue;
        write_key(out, hammer_category_name((enum hammer_category)c), first);
        for (const char *before = "["; words.len; before = ",") {
            buf_put_z(out, before);
            json_write_string(out, hammer_next_word(&words));
        }
        buf_put_c(out, ']');
        first = false;
    }
    buf_put_c(out, '}');
}

static void write_value(struct buf *out, struct value v)
{
    switch (v.kind) {
    case VALUE_NULL: buf_put_z(out, "null"); return;
    case VALUE_BOOL: buf_put_z(out, v.truth ? "true" : "false"); return;
    case VALUE_INT: buf_put_i64(out, v.number); return;
    case VALUE_TEXT: json_write_string(out, v.text); return;
    case VALUE_DOC: buf_put_str(out, v.text); return;
    case VALUE_ACTIONS: write_actions(out, v.text); return;
    case VALUE_TIME:
        buf_put_c(out, '"');
        times_format(out, v.number);
        buf_put_c(out, '"');
        return;
    }
}

/* ---- writing ---- */

bool shape_wants(const struct json *names, const char *key)
{
    if (!names)
        return true;
    const struct str wanted = str_from(key);
    for (const struct json *name = names->first; name; name = name->next)
        if (name->kind == JSON_STRING && str_eq(name->text, wanted))
            return true;
    return false;
}

uint64_t shape_mask(const struct shape *shape, const struct json *names)
{
    uint64_t mask = 0;
    for (uint32_t i = 0; i < shape->count; i++)
        if (shape_wants(names, shape->fields[i].name))
            mask |= (uint64_t)1 << i;
    return mask;
}

void shape_write(const struct shape *shape, const struct core *core, const struct record *record,
                 uint64_t mask, struct buf *out)
{
    bool first = true;
    buf_put_c(out, '{');
    for (uint32_t i = 0; i < shape->count; i++) {
        if (!(mask >> i & 1))
            continue;
        write_key(out, shape->fields[i].name, first);
        write_value(out, value_of(&shape->fields[i], core, record, out->arena));
        first = false;
    }
    buf_put_c(out, '}');
}

void shape_write_sample(const struct shape *shape, uint64_t mask, struct buf *out)
{
    bool first = true;
    buf_put_c(out, '{');
    for (uint32_t i = 0; i < shape->count; i++) {
        if (!(mask >> i & 1) || !shape->fields[i].sample)
            continue;
        write_key(out, shape->fields[i].name, first);
        buf_put_z(out, shape->fields[i].sample);
        first = false;
    }
    buf_put_c(out, '}');
}

/* ---- matching ---- */

/* A query while it is read. */
struct reading {
    struct arena *arena;
    struct shape_wanted *next; /* of SHAPE_WANTED_MAX */
    struct shape_wanted *end;
    const char *what; /* NULL: nothing is wrong */
};

static struct shape_wanted *room_for_one(struct reading *r)
{
    if (r->next == r->end) {
        r->what = "lists more values than can be looked for at once";
        return NULL;
    }
    return r->next++;
}

static void want_scalar(struct reading *r, const struct json *value)
{
    /* A number, or one written as a text: forms know nothing else. */
    const struct json as_number = {.kind = JSON_NUMBER, .text = value->text};
    const bool is_text = value->kind == JSON_STRING;
    struct shape_wanted *w = room_for_one(r);
    if (!w)
        return;
    if (value->text.len > SHAPE_WANTED_SIZE_MAX)
        r->what = "is longer than what can be looked for";
    *w = (struct shape_wanted){.kind = value->kind, .text = value->text};
    w->has_number = (is_text || value->kind == JSON_NUMBER) && json_as_i64(&as_number, &w->number);
    w->has_time = is_text && times_parse(value->text, &w->time_ms);
}

/* As a document. Only arrays are shown as such, but whatever is too long is told. */
static void want_doc(struct reading *r, const struct json *value)
{
    struct shape_wanted *w = room_for_one(r);
    if (!w)
        return;
    *w = (struct shape_wanted){.kind = value->kind, .doc = json_write(r->arena, value)};
    if (w->doc.len > SHAPE_WANTED_SIZE_MAX)
        r->what = "is longer than what can be looked for";
}

static void want_one(struct reading *r, const struct json *value)
{
    if (value->kind == JSON_ARRAY || value->kind == JSON_OBJECT)
        want_doc(r, value);
    else
        want_scalar(r, value);
}

/* An array is one of several values, or where arrays are shown, the value itself. */
static void want(struct reading *r, const struct shape_field *field, const struct json *value)
{
    if (value->kind != JSON_ARRAY || field->kind == SHAPE_ARRAY)
        want_one(r, value);
    const struct json *item = value->kind == JSON_ARRAY ? value->first : NULL;
    for (; item && !r->what; item = item->next)
        want_one(r, item);
}

const char *shape_query_read(const struct shape *shape, const struct json *object, struct arena *a,
                             struct shape_query *out_query)
{
    struct reading r = {.arena = a, .next = arena_array(a, struct shape_wanted, SHAPE_WANTED_MAX)};
    r.end = r.next + SHAPE_WANTED_MAX;
    must(shape->count <= 64);
    *out_query = (struct shape_query){.count = 0};
    for (uint32_t i = 0; i < shape->count; i++) {
        const struct json *value = json_get(object, str_from(shape->fields[i].name));
        if (!value)
            continue;
        const struct shape_wanted *first = r.next;
        want(&r, &shape->fields[i], value);
        if (r.what) {
            out_query->wrong_field = shape->fields[i].name;
            return r.what;
        }
        out_query->fields[i].values = first;
        out_query->fields[i].count = (uint32_t)(r.next - first);
        out_query->fields[i].is_asked = true;
        out_query->count++;
    }
    return NULL;
}

static bool is_text(const struct shape_wanted *wanted, struct str text)
{
    return wanted->kind == JSON_STRING && str_eq(wanted->text, text);
}

static bool value_is(struct value v, const struct shape_wanted *wanted)
{
    switch (v.kind) {
    case VALUE_NULL: return wanted->kind == JSON_NULL;
    case VALUE_BOOL:
        return wanted->kind == (v.truth ? JSON_TRUE : JSON_FALSE) ||
               is_text(wanted, v.truth ? STR("true") : STR("false"));
    case VALUE_INT: return wanted->has_number && wanted->number == v.number;
    case VALUE_TEXT: return is_text(wanted, v.text);
    case VALUE_DOC: return wanted->kind == JSON_ARRAY && str_eq(wanted->doc, v.text);
    case VALUE_TIME: return wanted->has_time && wanted->time_ms == v.number;
    case VALUE_ACTIONS: return false;
    }
    impossible("a kind of value outside the enum");
}

bool shape_matches(const struct shape *shape, const struct core *core, const struct record *record,
                   const struct shape_query *query, struct arena *a)
{
    for (uint32_t i = 0; i < shape->count; i++) {
        if (!query->fields[i].is_asked)
            continue;
        const struct value v = value_of(&shape->fields[i], core, record, a);
        uint32_t k = 0;
        while (k < query->fields[i].count && !value_is(v, &query->fields[i].values[k]))
            k++;
        if (k == query->fields[i].count)
            return false;
    }
    return true;
}
