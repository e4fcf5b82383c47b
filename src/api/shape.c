#include "api/shape.h"

#include <string.h>

#include "api/times.h"
#include "model/hammer_class.h"

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
        if (names ? shape_wants(names, shape->fields[i].name) : i < shape->count - shape->extras)
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
