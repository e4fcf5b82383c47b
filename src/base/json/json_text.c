#include "base/json/json.h"

#include <string.h>

/* Operations on canonical JSON text without building trees. A member that does not change is
 * skipped and copied as bytes, so changing a large document costs about as much as copying it;
 * parsing, merging and writing trees (json_ops.c) costs several times that. Setting an attrib
 * and preparing the arguments of hooks use it for every command. The input is canonical by
 * construction, so the scanner asserts its form instead of handling errors. Only
 * json_text_is_canonical() accepts any input, and returns false if it is not canonical. No state
 * outlives a call; results are in the arena of the caller. */

/* ---- scanning canonical text ---- */

/* The offset after the string at `at`. A quote ends the string unless it is escaped, that is,
 * preceded by an odd number of backslashes. */
static uint32_t after_string(struct str text, uint32_t at)
{
    must(text.at[at] == '"');
    for (;;) {
        const char *quote = memchr(text.at + at + 1, '"', text.len - at - 1);
        must(quote);
        at = (uint32_t)(quote - text.at);
        uint32_t slashes = 0;
        while (text.at[at - 1 - slashes] == '\\')
            slashes++;
        if (slashes % 2 == 0)
            return at + 1;
    }
}

/* The offset after the outermost of the `open` arrays and objects that enclose `at`. */
static uint32_t after_open(struct str text, uint32_t at, uint32_t open)
{
    while (open) {
        const char c = text.at[at];
        if (c == '"') {
            at = after_string(text, at);
            continue;
        }
        open += c == '{' || c == '[';
        open -= c == '}' || c == ']';
        at++;
    }
    return at;
}

static uint32_t after_value(struct str text, uint32_t at)
{
    const char c = text.at[at];
    if (c == '"')
        return after_string(text, at);
    if (c == '{' || c == '[')
        return after_open(text, at + 1, 1);
    /* A number, true, false or null ends at the next separator. */
    while (at < text.len && text.at[at] != ',' && text.at[at] != '}' && text.at[at] != ']')
        at++;
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

/* ---- checking whether text is canonical ---- */

/* A container that is not closed yet. */
struct level {
    bool is_object;
    struct str last_key; /* with its quotes; empty before the first key */
};

struct checker {
    struct str text;
    uint32_t at;
    uint32_t depth, deepest;
    struct level open[JSON_DEPTH_MAX];
};

static char canonical_peek(const struct checker *k)
{
    return k->at < k->text.len ? k->text.at[k->at] : 0;
}

static bool canonical_take(struct checker *k, char c)
{
    if (canonical_peek(k) != c)
        return false;
    k->at++;
    return true;
}

static bool is_short_escape(char letter)
{
    return letter == '"' || letter == '\\' || letter == 'b' || letter == 'f' || letter == 'n' ||
           letter == 'r' || letter == 't';
}

/* Accepts a string with the shortest escapes and without numeric ones. The caller checks UTF-8. */
static bool canonical_check_string(struct checker *k, bool *out_escaped)
{
    *out_escaped = false;
    if (!canonical_take(k, '"'))
        return false;
    for (; k->at < k->text.len; k->at++) {
        const char c = k->text.at[k->at];
        if (c == '"') {
            k->at++;
            return true;
        }
        if ((unsigned char)c < 0x20)
            return false;
        if (c != '\\')
            continue;
        *out_escaped = true;
        k->at++;
        if (!is_short_escape(canonical_peek(k)))
            return false;
    }
    return false;
}

static bool check_digits(struct checker *k)
{
    if (!char_is_digit(canonical_peek(k)))
        return false;
    while (char_is_digit(canonical_peek(k)))
        k->at++;
    return true;
}

static bool canonical_check_number(struct checker *k)
{
    ignore(canonical_take(k, '-'), "it may be there or not");
    if (!canonical_take(k, '0') && !check_digits(k))
        return false;
    if (canonical_take(k, '.') && !check_digits(k))
        return false;
    if (!canonical_take(k, 'e') && !canonical_take(k, 'E'))
        return true;
    if (!canonical_take(k, '+'))
        ignore(canonical_take(k, '-'), "it may be there or not");
    return check_digits(k);
}

static bool canonical_check_word(struct checker *k, struct str word)
{
    const struct str rest = str_slice(k->text, k->at, k->text.len);
    k->at += word.len;
    return str_starts(rest, word);
}

static bool check_scalar(struct checker *k)
{
    bool escaped;
    switch (canonical_peek(k)) {
    case '"': return canonical_check_string(k, &escaped);
    case 'n': return canonical_check_word(k, STR("null"));
    case 't': return canonical_check_word(k, STR("true"));
    case 'f': return canonical_check_word(k, STR("false"));
    default: return canonical_check_number(k);
    }
}

/* Accepts a key that is greater than the previous one. A key with escapes is refused: it would have
 * to be unescaped to be compared, and such keys are rare. */
static bool check_key(struct checker *k, struct level *level)
{
    bool escaped;
    const uint32_t from = k->at;
    if (!canonical_check_string(k, &escaped) || escaped)
        return false;
    const struct str key = str_slice(k->text, from + 1, k->at - 1);
    if (level->last_key.at && str_cmp(level->last_key, key) >= 0)
        return false;
    level->last_key = key;
    return canonical_take(k, ':');
}

/* After a value: closes the containers that end here, up to a comma or the end of the text. */
static bool check_end(struct checker *k)
{
    while (k->depth) {
        const struct level *level = &k->open[k->depth - 1];
        if (canonical_take(k, ','))
            return true;
        if (!canonical_take(k, level->is_object ? '}' : ']'))
            return false;
        k->depth--;
    }
    return true;
}

/* Opens a container. *out_opened: it is not empty, so a member follows. */
static bool check_open(struct checker *k, bool *out_opened)
{
    const bool is_object = canonical_peek(k) == '{';
    if (k->depth == JSON_DEPTH_MAX)
        return false;
    k->at++;
    k->open[k->depth++] = (struct level){.is_object = is_object};
    k->deepest = k->depth > k->deepest ? k->depth : k->deepest;
    *out_opened = canonical_peek(k) != (is_object ? '}' : ']');
    return true;
}

bool json_text_is_canonical(struct str text, uint32_t *out_depth)
{
    struct checker k;
    k.text = text;
    k.at = k.depth = k.deepest = 0;
    if (!str_is_clean(text))
        return false;
    do {
        bool opened = false;
        struct level *level = k.depth ? &k.open[k.depth - 1] : NULL;
        if (level && level->is_object && !check_key(&k, level))
            return false;
        const bool opens = canonical_peek(&k) == '{' || canonical_peek(&k) == '[';
        if (opens ? !check_open(&k, &opened) : !check_scalar(&k))
            return false;
        if (!opened && !check_end(&k))
            return false;
    } while (k.depth);
    *out_depth = k.deepest;
    return k.at == text.len;
}

/* ---- merging one text into another ---- */

struct text_merge {
    struct arena *arena;
    struct str text;
    struct str over; /* overrides `text` */
    struct buf out;
    bool drop_nulls;
};

/* A member of an object in a text. */
struct member {
    struct str key; /* unescaped */
    uint32_t from;  /* offset of the key */
    uint32_t value; /* offset of the value */
};

static struct str json_unescaped(struct arena *a, struct str quoted)
{
    struct json *string;
    uint32_t offset;
    const char *what;
    if (str_find(quoted, '\\', 0) == quoted.len)
        return str_slice(quoted, 1, quoted.len - 1);
    must(json_read(a, quoted, &string, &offset, &what) == OK);
    return string->text;
}

/* The member at `at`; false at the end of the object. */
static bool next_member(struct arena *a, struct str text, uint32_t at, struct member *out_member)
{
    if (text.at[at] == '}')
        return false;
    at += text.at[at] == ',';
    const uint32_t key_end = after_string(text, at);
    *out_member = (struct member){
        .key = json_unescaped(a, str_slice(text, at, key_end)), .from = at, .value = key_end + 1};
    return true;
}

static void merge_put_comma(struct text_merge *w)
{
    const struct str so_far = buf_str(&w->out);
    if (so_far.at[so_far.len - 1] != '{')
        buf_put_c(&w->out, ',');
}

static uint32_t put_item(struct text_merge *w, const struct member *item);

/* Writes the value at `at` of the overriding text; returns its end. The recursion is bounded by the
 * depth of a document. */
static uint32_t merge_put_value(struct text_merge *w, uint32_t at)
{
    struct member item;
    if (w->over.at[at] != '{' || !w->drop_nulls) {
        const uint32_t end = after_value(w->over, at);
        buf_put_str(&w->out, str_slice(w->over, at, end));
        return end;
    }
    buf_put_c(&w->out, '{');
    for (at++; next_member(w->arena, w->over, at, &item);)
        at = put_item(w, &item);
    buf_put_c(&w->out, '}');
    return at + 1;
}

/* Writes a member of the overriding text, or omits it if it is null and nulls are dropped;
 * returns its end. Of all JSON values only null begins with `n`. */
static uint32_t put_item(struct text_merge *w, const struct member *item)
{
    if (w->drop_nulls && w->over.at[item->value] == 'n')
        return after_value(w->over, item->value);
    merge_put_comma(w);
    buf_put_str(&w->out, str_slice(w->over, item->from, item->value));
    return merge_put_value(w, item->value);
}

/* Copies unchanged members, with the commas between them. */
static void put_copy(struct text_merge *w, uint32_t from, uint32_t to)
{
    if (from == to)
        return;
    merge_put_comma(w);
    buf_put_str(&w->out, str_slice(w->text, from, to));
}

/* Offsets in both texts. */
struct ends {
    uint32_t text, over;
};

static struct ends merge_objects_text(struct text_merge *w, struct ends at);

/* Writes a member that both texts have: merged if both values are objects, else the overriding
 * one. */
static struct ends put_merged(struct text_merge *w, const struct member *m,
                              const struct member *item)
{
    if (w->over.at[item->value] != '{' || w->text.at[m->value] != '{')
        return (struct ends){after_value(w->text, m->value), put_item(w, item)};
    merge_put_comma(w);
    buf_put_str(&w->out, str_slice(w->text, m->from, m->value));
    return merge_objects_text(w, (struct ends){m->value, item->value});
}

/* Merges the objects at `at`, both sorted by key, and returns their ends. Each byte is scanned
 * once: runs of unchanged members are skipped and copied together. The recursion is bounded by
 * the depth of a document. */
static struct ends merge_objects_text(struct text_merge *w, struct ends at)
{
    struct member m, item;
    uint32_t copied = ++at.text; /* start of the unchanged members that are not yet copied */
    at.over++;
    buf_put_c(&w->out, '{');
    bool has_item = next_member(w->arena, w->over, at.over, &item);
    while (has_item && next_member(w->arena, w->text, at.text, &m)) {
        const int order = str_cmp(item.key, m.key);
        if (order > 0) {
            at.text = after_value(w->text, m.value);
            continue;
        }
        put_copy(w, copied, at.text);
        if (order == 0) {
            at = put_merged(w, &m, &item);
            at.text += w->text.at[at.text] == ',';
        } else {
            at.over = put_item(w, &item);
            at.text = m.from;
        }
        copied = at.text;
        has_item = next_member(w->arena, w->over, at.over, &item);
    }
    const uint32_t end = after_open(w->text, at.text, 1);
    put_copy(w, copied, has_item ? at.text : end - 1);
    for (; has_item; has_item = next_member(w->arena, w->over, at.over, &item))
        at.over = put_item(w, &item);
    buf_put_c(&w->out, '}');
    return (struct ends){end, at.over + 1};
}

struct str json_text_put(struct arena *a, struct str doc, struct str object, bool drop_nulls)
{
    must(object.len && object.at[0] == '{');
    const bool is_object = doc.len && doc.at[0] == '{';
    struct text_merge w = {.arena = a,
                           .text = is_object ? doc : STR("{}"),
                           .over = object,
                           .out = buf_in(a),
                           .drop_nulls = drop_nulls};
    buf_room(&w.out, w.text.len + object.len + 1);
    const struct ends ends = merge_objects_text(&w, (struct ends){0, 0});
    must(ends.text == w.text.len && ends.over == object.len);
    return buf_str(&w.out);
}
