#include "base/json.h"

/* Work on canonical texts without making trees of them: what is only carried along costs a look at
 * each of its bytes, and a large document changes as quickly as it can be copied. */

/* ---- walking over a text that is known to be canonical ---- */

static uint32_t after_string(struct str text, uint32_t at)
{
    must(text.at[at] == '"');
    for (at++; text.at[at] != '"'; at++)
        at += text.at[at] == '\\';
    return at + 1;
}

static bool ends_scalar(char c)
{
    return c == ',' || c == '}' || c == ']';
}

static uint32_t after_value(struct str text, uint32_t at)
{
    uint32_t open = 0;
    do {
        const char c = text.at[at];
        if (c == '"') {
            at = after_string(text, at);
            continue;
        }
        open += c == '{' || c == '[';
        open -= c == '}' || c == ']';
        at++;
        /* A number or a word ends where something else begins. */
        while (open == 0 && !ends_scalar(c) && at < text.len && !ends_scalar(text.at[at]))
            at++;
    } while (open);
    return at;
}

uint32_t json_text_depth(struct str text)
{
    uint32_t open = 0, deepest = 0;
    for (uint32_t at = 0; at < text.len;) {
        const char c = text.at[at];
        if (c == '"') {
            at = after_string(text, at);
            continue;
        }
        if (c == '{' || c == '[')
            deepest = ++open > deepest ? open : deepest;
        open -= c == '}' || c == ']';
        at++;
    }
    return deepest;
}

/* ---- merging a tree into a text ---- */

struct weaver {
    struct arena *arena;
    struct str text;
    struct buf out;
    bool drop_nulls;
};

/* A member as it stands in the text. */
struct member {
    struct str key; /* unescaped */
    uint32_t from;  /* of the key */
    uint32_t value; /* where the value begins */
    uint32_t to;    /* behind it */
};

static struct str unescaped(struct weaver *w, struct str quoted)
{
    struct json *string;
    uint32_t offset;
    const char *what;
    if (str_find(quoted, '\\', 0) == quoted.len)
        return str_slice(quoted, 1, quoted.len - 1);
    must(json_read(w->arena, quoted, &string, &offset, &what) == OK);
    return string->text;
}

/* The member at `at`; false at the end of the object. */
static bool next_member(struct weaver *w, uint32_t at, struct member *out_member)
{
    if (w->text.at[at] == '}')
        return false;
    at += w->text.at[at] == ',';
    const uint32_t key_end = after_string(w->text, at);
    *out_member = (struct member){.key = unescaped(w, str_slice(w->text, at, key_end)),
                                  .from = at,
                                  .value = key_end + 1,
                                  .to = after_value(w->text, key_end + 1)};
    return true;
}

static void separate(struct weaver *w)
{
    const struct str so_far = buf_str(&w->out);
    if (so_far.at[so_far.len - 1] != '{')
        buf_put_c(&w->out, ',');
}

static void put_copy(struct weaver *w, const struct member *m)
{
    separate(w);
    buf_put_str(&w->out, str_slice(w->text, m->from, m->to));
}

/* Recursion is bounded by the depth of a document. */
static void put_fresh(struct weaver *w, const struct json *value)
{
    if (value->kind != JSON_OBJECT || !w->drop_nulls) {
        json_write_to(&w->out, value);
        return;
    }
    buf_put_c(&w->out, '{');
    for (const struct json *item = value->first; item; item = item->next) {
        if (item->kind == JSON_NULL)
            continue;
        separate(w);
        json_write_string(&w->out, item->key);
        buf_put_c(&w->out, ':');
        put_fresh(w, item);
    }
    buf_put_c(&w->out, '}');
}

static void put_item(struct weaver *w, const struct json *item)
{
    if (item->kind == JSON_NULL && w->drop_nulls)
        return;
    separate(w);
    json_write_string(&w->out, item->key);
    buf_put_c(&w->out, ':');
    put_fresh(w, item);
}

/* The object at `at` with the members of `value`, both in the order of their keys. Recursion is
 * bounded by the depth of a document. */
static void weave(struct weaver *w, uint32_t at, const struct json *value)
{
    struct member m;
    const struct json *item = value->first;
    buf_put_c(&w->out, '{');
    for (at++; next_member(w, at, &m); at = m.to) {
        while (item && str_cmp(item->key, m.key) < 0) {
            put_item(w, item);
            item = item->next;
        }
        if (!item || !str_eq(item->key, m.key)) {
            put_copy(w, &m);
            continue;
        }
        if (item->kind == JSON_OBJECT && w->text.at[m.value] == '{') {
            separate(w);
            buf_put_str(&w->out, str_slice(w->text, m.from, m.value));
            weave(w, m.value, item);
        } else {
            put_item(w, item);
        }
        item = item->next;
    }
    for (; item; item = item->next)
        put_item(w, item);
    buf_put_c(&w->out, '}');
}

struct str json_text_put(struct arena *a, struct str doc, const struct json *object,
                         bool drop_nulls)
{
    must(object->kind == JSON_OBJECT);
    const bool is_object = doc.len && doc.at[0] == '{';
    struct weaver w = {.arena = a,
                       .text = is_object ? doc : STR("{}"),
                       .out = buf_in(a),
                       .drop_nulls = drop_nulls};
    buf_room(&w.out, w.text.len + 64); /* it is hardly longer afterwards */
    weave(&w, 0, object);
    return buf_str(&w.out);
}
