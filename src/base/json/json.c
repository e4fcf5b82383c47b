/* json.c - the parser: JSON text to a tree, or an error with offset and reason.
 *
 * The text is copied into the arena once; keys, strings and numbers are views of that copy, and
 * escapes are resolved in place, because no escape is shorter than the character it encodes. There
 * is no recursion: open containers are on a stack of JSON_DEPTH_MAX frames.
 *
 * Order: a container is attached to its parent when it opens. The members of an object are sorted
 * when it closes, and only if they were not in order; repeated keys are found in the same pass,
 * because the sort makes them neighbours.
 *
 * Failure: reader_refuse() records offset and reason and returns false, every function returns
 * false to its caller, and the arena is rewound, so that nothing of the text remains. The tree
 * belongs to the arena of the caller.
 */
#include "base/json/json.h"

#include <string.h>

/* A container that is not closed yet. */
struct frame {
    struct json *container;
    bool sorted; /* keys ascending so far: no sorting needed, and no key is repeated */
};

struct reader {
    struct arena *arena;
    char *text;     /* copy of the text; strings are unescaped in it */
    uint32_t len;   /* bytes */
    uint32_t at;    /* offset of the next byte to read */
    uint32_t depth; /* frames in use */
    struct json *root;
    uint32_t bad_at;      /* offset of the error */
    const char *bad_what; /* reason of the error */
    bool keeps_last;      /* keep the last value of a repeated key; else refuse the text */
    struct str repeated;  /* the first repeated key                                      */
    struct frame open[JSON_DEPTH_MAX];
};

static bool reader_refuse(struct reader *r, uint32_t at, const char *what)
{
    r->bad_at = at;
    r->bad_what = at < r->len ? what : "the text ends too early";
    return false;
}

/* The byte at the current position; 0 at the end, which no rule accepts, like a zero byte. */
static char reader_peek(const struct reader *r)
{
    return r->at < r->len ? r->text[r->at] : 0;
}

static void skip_spaces(struct reader *r)
{
    for (;;) {
        char c = reader_peek(r);
        if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
            return;
        r->at++;
    }
}

/* --- Strings --- */

/* Refuses the first character of the run [from, to) that is not clean. */
static bool refuse_unclean(struct reader *r, uint32_t from, uint32_t to)
{
    struct str run = {r->text, to};
    while (from < to) {
        uint32_t size = 1;
        while (size <= 4 && !str_is_clean(str_slice(run, from, from + size)))
            size++;
        if (size > 4)
            break;
        from += size;
    }
    return reader_refuse(r, from, "this is not UTF-8");
}

static bool json_hex_value(char c, uint32_t *out_value)
{
    if (c >= '0' && c <= '9')
        *out_value = (uint32_t)(c - '0');
    else if (c >= 'a' && c <= 'f')
        *out_value = (uint32_t)(c - 'a' + 10);
    else if (c >= 'A' && c <= 'F')
        *out_value = (uint32_t)(c - 'A' + 10);
    else
        return false;
    return true;
}

/* Four hex digits after \u. */
static bool read_unit(struct reader *r, uint32_t *out_unit)
{
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t digit;
        if (!json_hex_value(reader_peek(r), &digit))
            return reader_refuse(r, r->at, "four hex digits are expected after \\u");
        unit = unit << 4 | digit;
        r->at++;
    }
    *out_unit = unit;
    return true;
}

/* A code point after "\u"; a high surrogate must be followed by the escape of a low one. */
static bool read_code_point(struct reader *r, uint32_t escape_at, uint32_t *out_code)
{
    static const char alone[] = "half of a surrogate pair is missing";
    uint32_t unit;
    if (!read_unit(r, &unit))
        return false;
    if (unit == 0)
        return reader_refuse(r, escape_at, "U+0000 is not allowed");
    if (unit >= 0xdc00 && unit <= 0xdfff)
        return reader_refuse(r, escape_at, alone);
    if (unit < 0xd800 || unit > 0xdbff) {
        *out_code = unit;
        return true;
    }
    for (const char *want = "\\u"; *want; want++, r->at++)
        if (reader_peek(r) != *want)
            return reader_refuse(r, r->at < r->len ? escape_at : r->len, alone);
    uint32_t low;
    if (!read_unit(r, &low))
        return false;
    if (low < 0xdc00 || low > 0xdfff)
        return reader_refuse(r, escape_at, alone);
    *out_code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

/* Writes the UTF-8 form and returns its size. */
static uint32_t put_code_point(char *to, uint32_t code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* The byte that a one-letter escape encodes; 0 if there is no such escape. */
static char escape_meaning(char letter)
{
    switch (letter) {
    case '"':
    case '\\':
    case '/': return letter;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
    }
}

/* Reads one escape and writes its meaning at `to`, which is at or before the escape. */
static bool reader_read_escape(struct reader *r, uint32_t *to)
{
    uint32_t escape_at = r->at++;
    char letter = reader_peek(r);
    if (letter == 'u') {
        uint32_t code;
        r->at++;
        if (!read_code_point(r, escape_at, &code))
            return false;
        *to += put_code_point(r->text + *to, code);
        return true;
    }
    char meaning = escape_meaning(letter);
    if (!meaning)
        return reader_refuse(r, r->at, "this escape is unknown");
    r->at++;
    r->text[(*to)++] = meaning;
    return true;
}

/* Moves the plain bytes before the next quote, backslash or control character to `to`. */
static bool read_run(struct reader *r, uint32_t *to)
{
    uint32_t from = r->at;
    uint32_t end = from;
    while (end < r->len) {
        unsigned char c = (unsigned char)r->text[end];
        if (c == '"' || c == '\\' || c < 0x20)
            break;
        end++;
    }
    uint32_t size = end - from;
    if (!str_is_clean((struct str){r->text + from, size}))
        return refuse_unclean(r, from, end);
    if (*to != from)
        memmove(r->text + *to, r->text + from, size);
    *to += size;
    r->at = end;
    return true;
}

/* A string, the reading position being at its opening quote. */
static bool read_string(struct reader *r, struct str *out_text)
{
    uint32_t start = ++r->at;
    uint32_t to = start;
    for (;;) {
        if (!read_run(r, &to))
            return false;
        char c = reader_peek(r);
        if (c == '"')
            break;
        if (c != '\\')
            return reader_refuse(r, r->at, "a control character must be written as an escape");
        if (!reader_read_escape(r, &to))
            return false;
    }
    r->at++;
    *out_text = (struct str){r->text + start, to - start};
    return true;
}

/* --- Numbers and words --- */

static bool read_digits(struct reader *r)
{
    if (!char_is_digit(reader_peek(r)))
        return reader_refuse(r, r->at, "a digit is expected");
    while (char_is_digit(reader_peek(r)))
        r->at++;
    return true;
}

static bool read_number(struct reader *r, struct str *out_literal)
{
    uint32_t start = r->at;
    if (reader_peek(r) == '-')
        r->at++;
    if (reader_peek(r) == '0') {
        r->at++;
        if (char_is_digit(reader_peek(r)))
            return reader_refuse(r, r->at, "a number does not begin with 0 and more digits");
    } else if (!read_digits(r)) {
        return false;
    }
    if (reader_peek(r) == '.') {
        r->at++;
        if (!read_digits(r))
            return false;
    }
    if (reader_peek(r) == 'e' || reader_peek(r) == 'E') {
        r->at++;
        if (reader_peek(r) == '+' || reader_peek(r) == '-')
            r->at++;
        if (!read_digits(r))
            return false;
    }
    *out_literal = (struct str){r->text + start, r->at - start};
    return true;
}

static bool reader_read_word(struct reader *r, const char *word)
{
    for (; *word; word++, r->at++)
        if (reader_peek(r) != *word)
            return reader_refuse(r, r->at, "a value is expected");
    return true;
}

/* --- Objects: sorting and repeated keys --- */

static struct json *merge_sorted(struct json *older, struct json *newer)
{
    struct json *first = NULL;
    struct json **end = &first;
    while (older && newer) {
        struct json **from = str_cmp(older->key, newer->key) <= 0 ? &older : &newer;
        *end = *from;
        end = &(*end)->next;
        *from = *end;
    }
    *end = older ? older : newer;
    return first;
}

/* A stable merge sort without recursion: bin i holds nothing or a sorted list of 2^i members, so
 * adding a member is like adding one to a binary number. A count has 32 bits, and so 32 bins. */
static struct json *sort_members(struct json *member)
{
    struct json *bins[32] = {NULL};
    while (member) {
        struct json *list = member;
        member = member->next;
        list->next = NULL;
        uint32_t i = 0;
        for (; bins[i]; i++) {
            list = merge_sorted(bins[i], list);
            bins[i] = NULL;
        }
        bins[i] = list;
    }
    struct json *all = NULL;
    for (uint32_t i = 0; i < 32; i++)
        if (bins[i])
            all = all ? merge_sorted(bins[i], all) : bins[i];
    return all;
}

/* Sorts the members and handles repeated keys. The sort is stable, so the second of two members
 * with the same key is the one that is later in the text. */
static bool close_object(struct reader *r, struct frame *frame)
{
    if (frame->sorted)
        return true;
    struct json *object = frame->container;
    object->first = sort_members(object->first);
    for (struct json **at = &object->first; *at;) {
        struct json *member = *at, *next = member->next;
        object->last = member;
        if (!next || !str_eq(member->key, next->key)) {
            at = &member->next;
            continue;
        }
        if (!r->keeps_last)
            return reader_refuse(r, (uint32_t)(next->key.at - r->text) - 1,
                                 "this key is in the object twice");
        if (!r->repeated.at)
            r->repeated = next->key;
        *at = next;
        object->count--;
    }
    return true;
}

/* --- The document --- */

static void reader_attach(struct reader *r, struct json *value)
{
    if (r->depth == 0) {
        r->root = value;
        return;
    }
    struct frame *frame = &r->open[r->depth - 1];
    struct json *container = frame->container;
    if (container->last) {
        if (container->kind == JSON_OBJECT && str_cmp(container->last->key, value->key) >= 0)
            frame->sorted = false;
        container->last->next = value;
    } else {
        container->first = value;
    }
    container->last = value;
    container->count++;
}

static bool read_key(struct reader *r, struct json *value)
{
    if (reader_peek(r) != '"')
        return reader_refuse(r, r->at, "a key in double quotes is expected");
    if (!read_string(r, &value->key))
        return false;
    skip_spaces(r);
    if (reader_peek(r) != ':')
        return reader_refuse(r, r->at, "a colon is expected after the key");
    r->at++;
    skip_spaces(r);
    return true;
}

static bool open_container(struct reader *r, struct json *value)
{
    if (r->depth == JSON_DEPTH_MAX)
        return reader_refuse(r, r->at, "the document is nested too deeply");
    reader_attach(r, value);
    r->open[r->depth++] = (struct frame){.container = value, .sorted = true};
    r->at++;
    return true;
}

/* The first byte of a value determines its kind. False: no value starts with it. */
static bool kind_of(char c, enum json_kind *out_kind)
{
    switch (c) {
    case '{': *out_kind = JSON_OBJECT; return true;
    case '[': *out_kind = JSON_ARRAY; return true;
    case '"': *out_kind = JSON_STRING; return true;
    case 't': *out_kind = JSON_TRUE; return true;
    case 'f': *out_kind = JSON_FALSE; return true;
    case 'n': *out_kind = JSON_NULL; return true;
    default: *out_kind = JSON_NUMBER; return c == '-' || char_is_digit(c);
    }
}

static bool read_scalar(struct reader *r, struct json *value)
{
    switch (value->kind) {
    case JSON_NULL: return reader_read_word(r, "null");
    case JSON_FALSE: return reader_read_word(r, "false");
    case JSON_TRUE: return reader_read_word(r, "true");
    case JSON_NUMBER: return read_number(r, &value->text);
    case JSON_STRING: return read_string(r, &value->text);
    case JSON_ARRAY:
    case JSON_OBJECT: break;
    }
    impossible("a container is not read as a scalar");
}

/* A scalar, or the opening of a container; before it the key, when inside an object. */
static bool read_item(struct reader *r, bool *out_opened)
{
    struct json *value = arena_new(r->arena, struct json);
    skip_spaces(r);
    bool in_object = r->depth && r->open[r->depth - 1].container->kind == JSON_OBJECT;
    if (in_object && !read_key(r, value))
        return false;
    if (!kind_of(reader_peek(r), &value->kind))
        return reader_refuse(r, r->at, "a value is expected");
    *out_opened = value->kind == JSON_ARRAY || value->kind == JSON_OBJECT;
    if (*out_opened)
        return open_container(r, value);
    if (!read_scalar(r, value))
        return false;
    reader_attach(r, value);
    return true;
}

static char reader_closer(const struct reader *r)
{
    return r->open[r->depth - 1].container->kind == JSON_OBJECT ? '}' : ']';
}

/* After a value: closes the containers that end here, up to a comma or the end of the document. */
static bool close_finished(struct reader *r)
{
    while (r->depth) {
        skip_spaces(r);
        char c = reader_peek(r);
        if (c == ',') {
            r->at++;
            return true;
        }
        if (c != reader_closer(r))
            return reader_refuse(r, r->at,
                                 reader_closer(r) == '}' ? "a comma or } is expected"
                                                         : "a comma or ] is expected");
        if (c == '}' && !close_object(r, &r->open[r->depth - 1]))
            return false;
        r->at++;
        r->depth--;
    }
    return true;
}

static bool reader_read_document(struct reader *r)
{
    do {
        bool opened;
        if (!read_item(r, &opened))
            return false;
        skip_spaces(r);
        if (opened && reader_peek(r) != reader_closer(r))
            continue;
        if (!close_finished(r))
            return false;
    } while (r->depth);
    skip_spaces(r);
    return r->at == r->len || reader_refuse(r, r->at, "something follows the document");
}

static err reader_read_text(struct arena *a, struct str text, struct reader *r,
                            struct json **out_value, struct json_remarks *out_remarks)
{
    struct arena_mark mark = arena_mark(a);
    r->arena = a;
    r->text = arena_alloc(a, text.len);
    r->len = text.len;
    r->at = 0;
    r->depth = 0;
    r->root = NULL;
    r->repeated = (struct str){0};
    if (text.len)
        memcpy(r->text, text.at, text.len);
    if (!reader_read_document(r)) {
        arena_rewind(a, mark);
        *out_remarks = (struct json_remarks){.offset = r->bad_at, .what = r->bad_what};
        return ERR_SYNTAX;
    }
    *out_value = r->root;
    *out_remarks = (struct json_remarks){.repeated = r->repeated};
    return OK;
}

err json_read(struct arena *a, struct str text, struct json **out_value, uint32_t *out_offset,
              const char **out_what)
{
    struct json_remarks remarks;
    struct reader r; /* its frames need no zeroes */
    r.keeps_last = false;
    const err e = reader_read_text(a, text, &r, out_value, &remarks);
    if (e != OK) {
        *out_offset = remarks.offset;
        *out_what = remarks.what;
    }
    return e;
}

err json_read_last(struct arena *a, struct str text, struct json **out_value,
                   struct json_remarks *out_remarks)
{
    struct reader r;
    r.keeps_last = true;
    return reader_read_text(a, text, &r, out_value, out_remarks);
}
