#include "tests/attack/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "base/text/buf.h"

enum {
    FIELDS_MAX = 64,
    OVERSIZE_BODY = (4 << 20) + 1, /* one byte more than the API reads */
    BYTEWISE_MAX = 1500,
};

/* A request while it is being made: the lines of its head without their ends, and its body. */
struct draft {
    struct arena *arena;
    struct prng random;
    const struct corpus *corpus;
    struct str start; /* METHOD TARGET */
    struct str version;
    struct str fields[FIELDS_MAX];
    uint32_t fields_count;
    struct str line_end;
    struct str body;
    bool is_chunked;
};

static uint32_t below(struct draft *d, uint32_t bound)
{
    return (uint32_t)prng_below(&d->random, bound);
}

static bool happens(struct draft *d, uint32_t per_mille)
{
    return prng_chance(&d->random, per_mille);
}

static struct str pick(struct draft *d, const struct texts *list)
{
    return list->at[below(d, list->count)];
}

#define PICK(d, array) ((array)[below((d), (uint32_t)(sizeof(array) / sizeof(array)[0]))])

/* -- text ------------------------------------------------------------------------------------- */

/* `text` with [from, to) replaced. */
static struct str text_splice(struct draft *d, struct str text, uint32_t from, uint32_t to,
                              struct str replacement)
{
    return STR_CONCAT(d->arena, str_slice(text, 0, from), replacement,
                      str_slice(text, to, text.len));
}

static struct str text_repeat(struct draft *d, struct str unit, uint32_t times)
{
    struct buf out = buf_in(d->arena);
    for (uint32_t i = 0; i < times; i++)
        buf_put_str(&out, unit);
    return buf_str(&out);
}

/* Changes that make no difference between head and body: they work on bytes. */
static struct str bytes_mutate(struct draft *d, struct str text)
{
    static const struct str pieces[] = {
        {"\0", 1},      {"\r", 1},   {"\n", 1},       {"\r\n", 2}, {"\x7f", 1},
        {"\x01", 1},    {"\xff", 1}, {"\xc0\x80", 2}, {"\"", 1},   {"\xed\xa0\x80", 3},
        {"%00", 3},     {"%", 1},    {"\xe2\x82", 2}, {";", 1},    {"\xf4\x90\x80\x80", 4},
        {"\t", 1},      {" ", 1},    {":", 1},        {",", 1},    {"\\u0000", 6},
        {"\\ud800", 6}, {"{", 1},    {"[", 1},        {"&", 1},    {"=", 1},
    };
    uint32_t at = below(d, text.len + 1);
    uint32_t len = at < text.len ? 1 + below(d, text.len - at > 16 ? 16 : text.len - at) : 0;
    switch (below(d, 6)) {
    case 0: { /* one bit flipped */
        char byte = (char)((unsigned char)(at < text.len ? text.at[at] : 0) ^ (1u << below(d, 8)));
        return text_splice(d, text, at, at + 1, (struct str){&byte, at < text.len ? 1 : 0});
    }
    case 1: return text_splice(d, text, at, at, PICK(d, pieces));
    case 2: return text_splice(d, text, at, at + 1, PICK(d, pieces));
    case 3: return text_splice(d, text, at, at + len, (struct str){"", 0});
    case 4: { /* a part repeated */
        struct str part = str_slice(text, at, at + len);
        return text_splice(d, text, at, at, text_repeat(d, part, 1 + below(d, 64)));
    }
    default: return str_slice(text, 0, at);
    }
}

/* -- bodies ----------------------------------------------------------------------------------- */

static enum body_kind kind_of(const struct draft *d)
{
    for (uint32_t i = 0; i < d->fields_count; i++) {
        struct str field = str_lower(d->arena, d->fields[i]);
        if (!str_starts(field, STR("content-type:")))
            continue;
        for (uint32_t at = 0; at < field.len; at++) {
            struct str rest = str_slice(field, at, field.len);
            if (str_starts(rest, STR("json")))
                return BODY_JSON;
            if (str_starts(rest, STR("urlencoded")))
                return BODY_FORM;
            if (str_starts(rest, STR("multipart")))
                return BODY_MULTIPART;
            if (str_starts(rest, STR("yaml")))
                return BODY_YAML;
        }
    }
    return BODY_KINDS;
}

/* Replaces one value of a JSON document or a form by another: text between a colon or an equals
 * sign and whatever ends a value there. */
static struct str body_replace_value(struct draft *d, struct str body)
{
    static const struct str values[] = {
        {"\"\"", 2},
        {"null", 4},
        {"[]", 2},
        {"{}", 2},
        {"0", 1},
        {"-1", 2},
        {"1e308", 5},
        {"true", 4},
        {"\"\\u0000\"", 8},
        {"", 0},
        {"[[[[]]]]", 8},
        {"\"\xff\"", 3},
        {"1.5", 3},
        {"[null]", 6},
        {"{\"\":\"\"}", 7},
        {"\"a\\nb\"", 6},
        {"999999999999999999999", 21},
        {"\"---\\n\"", 7},
        {"\"...\"", 5},
        {"\" \"", 3},
    };
    uint32_t from = below(d, body.len + 1);
    while (from < body.len && body.at[from] != ':' && body.at[from] != '=')
        from++;
    if (from >= body.len)
        return bytes_mutate(d, body);
    uint32_t to = ++from;
    bool is_quoted = false;
    while (to < body.len) {
        char c = body.at[to];
        if (c == '"' && (to == from || body.at[to - 1] != '\\'))
            is_quoted = !is_quoted;
        if (!is_quoted && (c == ',' || c == '}' || c == ']' || c == '&' || c == '\n'))
            break;
        to++;
    }
    return text_splice(d, body, from, to, PICK(d, values));
}

static struct str body_nested(struct draft *d)
{
    uint32_t levels = 1 + below(d, 1200);
    struct str inside = text_repeat(d, STR("["), levels);
    if (happens(d, 700))
        inside = STR_CONCAT(d->arena, inside, text_repeat(d, STR("]"), levels));
    return STR_CONCAT(d->arena, STR("{\"value\":"), inside, STR("}"));
}

static struct str body_mutate(struct draft *d, struct str body)
{
    switch (below(d, 12)) {
    case 0: return STR("");
    case 1: return str_slice(body, 0, below(d, body.len + 1));
    case 2: return body_nested(d);
    case 3: { /* the beginning of one document and the end of another */
        struct str other = pick(d, &d->corpus->bodies[below(d, BODY_KINDS)]);
        return STR_CONCAT(d->arena, str_slice(body, 0, below(d, body.len + 1)),
                          str_slice(other, below(d, other.len + 1), other.len));
    }
    case 4: {
        static const struct str whole[] = {
            {"null", 4},
            {"[]", 2},
            {"{}", 2},
            {"\"\"", 2},
            {"[{}]", 4},
            {"0", 1},
            {" ", 1},
            {"\xef\xbb\xbf{}", 5},
            {"{\"value\":\"\"}", 12},
            {"value=", 6},
            {"=", 1},
            {"&&&", 3},
            {"[[]]", 4},
            {"{\"a\":1,\"a\":2}", 13},
        };
        return PICK(d, whole);
    }
    case 5:
    case 6:
    case 7:
    case 8: return body_replace_value(d, body);
    default: return bytes_mutate(d, body);
    }
}

/* The body with chunked transfer encoding; if is_broken, some chunks are framed wrongly. */
static struct str body_chunked(struct draft *d, struct str body, bool is_broken)
{
    static const struct str wrong[] = {
        {"-1\r\n", 4},   {"0x5\r\n", 5},          {"FFFFFFFFFFFFFFFFF\r\n", 19},
        {"\r\n", 2},     {"5;e=\"\r\n", 8},       {"5\n", 2},
        {"1;\0\r\n", 5}, {"5 \r\nabcde\r\n", 11}, {"00000000000000000001\r\na\r\n", 25},
        {"g\r\n", 3},    {"0\r\nX\r\n", 6},
    };
    struct buf out = buf_in(d->arena);
    uint32_t at = 0, error_at = is_broken ? below(d, body.len + 1) : UINT32_MAX;
    char size[32];
    while (at < body.len) {
        uint32_t len = 1 + below(d, body.len - at);
        if (at <= error_at && error_at < at + len)
            buf_put_str(&out, PICK(d, wrong));
        snprintf(size, sizeof size, happens(d, 200) ? "%x;a=b\r\n" : "%x\r\n", len);
        buf_put_z(&out, size);
        buf_put(&out, body.at + at, len);
        buf_put_str(&out, STR("\r\n"));
        at += len;
    }
    if (error_at == body.len)
        buf_put_str(&out, PICK(d, wrong));
    buf_put_str(&out, happens(d, 150) ? STR("0\r\nX-Trailer: t\r\nCookie: a=\"\r\n\r\n")
                                      : STR("0\r\n\r\n"));
    return buf_str(&out);
}

/* -- heads ------------------------------------------------------------------------------------ */

static void fields_insert(struct draft *d, struct str field)
{
    if (d->fields_count == FIELDS_MAX)
        return;
    uint32_t at = below(d, d->fields_count + 1);
    memmove(&d->fields[at + 1], &d->fields[at], (d->fields_count - at) * sizeof(struct str));
    d->fields[at] = field;
    d->fields_count++;
}

static void fields_remove(struct draft *d, uint32_t at)
{
    d->fields_count--;
    memmove(&d->fields[at], &d->fields[at + 1], (d->fields_count - at) * sizeof(struct str));
}

/* A field with the name of one that is there already, and another value. */
static struct str field_contradict(struct draft *d, struct str field)
{
    static const struct str values[] = {
        {" 0", 2},          {" ", 1},        {"", 0},         {" ,", 2},
        {" \"", 2},         {" chunked", 8}, {" -1", 3},      {" *", 2},
        {" bytes=0-0", 10}, {" Bearer", 7},  {" Basic !", 8}, {" a=\"", 4},
        {" \xff", 2},       {" close", 6},   {" abc", 4},     {" 100-continue", 13},
    };
    uint32_t colon = str_find(field, ':', 0);
    return STR_CONCAT(d->arena, str_slice(field, 0, colon), STR(":"), PICK(d, values));
}

static void start_mutate(struct draft *d)
{
    static const struct str methods[] = {
        {"GET", 3},     {"POST", 4},  {"PUT", 3},     {"PATCH", 5}, {"DELETE", 6},
        {"OPTIONS", 7}, {"TRACE", 5}, {"CONNECT", 7}, {"BREW", 4},  {"get", 3},
        {"", 0},        {"G\0T", 3},  {"PRI", 3},     {"LOCK", 4},  {"PROPFIND", 8},
    };
    uint32_t space = str_find(d->start, ' ', 0);
    struct str method = str_slice(d->start, 0, space);
    struct str target = str_slice(d->start, space + 1, d->start.len);
    switch (below(d, 4)) {
    case 0: method = PICK(d, methods); break;
    case 1: target = pick(d, &d->corpus->targets); break;
    case 2: { /* a query of hostile parameters */
        static const struct str queries[] = {
            {"?limit=-1", 9},
            {"?after=99999999999999999999", 27},
            {"?sort=", 6},
            {"?view=full&view=x", 17},
            {"?%", 2},
            {"?a=%ff", 6},
            {"?=&=&=", 6},
            {"?limit=1&limit=2", 16},
            {"?name.contains=", 15},
            {"?deployment=", 12},
            {"?state=nix", 10},
            {"?a[]=1&a[b]=2", 13},
            {"?since=x", 8},
            {"?_method=DELETE", 15},
            {"?value=", 7},
            {"?id.min=a", 9},
            {"?offset=-5", 10},
            {"?x\0y=z", 7},
            {"?bucket=note", 12},
        };
        target = STR_CONCAT(d->arena, target, PICK(d, queries));
        break;
    }
    default: target = bytes_mutate(d, target);
    }
    d->start = STR_CONCAT(d->arena, method, STR(" "), target);
}

static void head_mutate(struct draft *d)
{
    static const struct str versions[] = {
        {"HTTP/1.0", 8}, {"HTTP/0.9", 8}, {"HTTP/2.0", 8},  {"HTTP/1.2", 8}, {"HTTP/1.", 7},
        {"http/1.1", 8}, {"", 0},         {"HTTP/1.1 ", 9}, {"HTTP/11", 7},  {"\0", 1},
    };
    static const struct str ends[] = {
        {"\n", 1}, {"\r", 1}, {"\r\r\n", 3}, {"\n\r", 2}, {"\r\n ", 3}, {"\0\r\n", 3},
    };
    uint32_t at = d->fields_count ? below(d, d->fields_count) : 0;
    switch (below(d, 16)) {
    case 0:
    case 1:
    case 2: fields_insert(d, pick(d, &d->corpus->lines)); break;
    case 3:
    case 4:
    case 5: /* two errors in one head */
        fields_insert(d, pick(d, &d->corpus->lines));
        fields_insert(d, pick(d, &d->corpus->lines));
        break;
    case 6: start_mutate(d); break;
    case 7: start_mutate(d); break;
    case 8: d->version = PICK(d, versions); break;
    case 9: /* oversize: one long field, or many */
        if (happens(d, 500))
            fields_insert(d, STR_CONCAT(d->arena, STR("X-Long: "),
                                        text_repeat(d, STR("a"), below(d, 70000))));
        else
            fields_insert(d, text_repeat(d, STR("X: y\r\n"), below(d, 3000)));
        break;
    default:
        if (d->fields_count == 0)
            break;
        switch (below(d, 6)) {
        case 0: fields_insert(d, d->fields[at]); break;
        case 1: fields_insert(d, field_contradict(d, d->fields[at])); break;
        case 2: fields_remove(d, at); break;
        case 3: d->fields[at] = bytes_mutate(d, d->fields[at]); break;
        case 4: d->fields[at] = field_contradict(d, d->fields[at]); break;
        default: d->fields[at] = STR_CONCAT(d->arena, d->fields[at], PICK(d, ends));
        }
    }
}

static void draft_start(struct draft *d)
{
    struct str head = pick(d, &d->corpus->heads);
    uint32_t at = str_find(head, '\n', 0);
    d->start = str_slice(head, 0, at);
    d->version = STR("HTTP/1.1");
    d->line_end = STR("\r\n");
    d->fields_count = 0;
    while (at < head.len && d->fields_count < FIELDS_MAX / 2) {
        uint32_t end = str_find(head, '\n', at + 1);
        d->fields[d->fields_count++] = str_slice(head, at + 1, end);
        at = end;
    }
}

/* The framing of the body, usually true. */
static void draft_frame(struct draft *d, bool has_body)
{
    char field[64];
    if (!has_body)
        return;
    d->is_chunked = happens(d, 150);
    if (d->is_chunked) {
        fields_insert(d, STR("Transfer-Encoding: chunked"));
        return;
    }
    uint32_t length = d->body.len;
    if (happens(d, 60))
        length = happens(d, 500) ? below(d, length + 1) : length + 1 + below(d, 100);
    snprintf(field, sizeof field, "Content-Length: %u", length);
    fields_insert(d, str_copy(d->arena, str_from(field)));
}

/* Appends one request; true when it is a HEAD. */
static bool request_write(struct draft *d, struct buf *out, bool is_mutated)
{
    static const uint32_t counts[] = {0, 1, 1, 1, 2, 2, 2, 3, 4, 6};
    draft_start(d);
    enum body_kind kind = kind_of(d);
    bool has_body = kind != BODY_KINDS || happens(d, 60);
    d->body = STR("");
    if (has_body) {
        if (kind == BODY_KINDS || happens(d, 150))
            kind = below(d, BODY_KINDS);
        d->body = pick(d, &d->corpus->bodies[kind]);
    }
    uint32_t mutations = is_mutated ? PICK(d, counts) : 0;
    uint32_t of_body = has_body ? below(d, mutations + 1) : 0;
    for (uint32_t i = 0; i < of_body; i++)
        d->body = body_mutate(d, d->body);
    if (has_body && is_mutated && prng_below(&d->random, 4000) == 0)
        d->body = text_repeat(d, STR("x"), OVERSIZE_BODY);
    draft_frame(d, has_body);
    for (uint32_t i = of_body; i < mutations; i++)
        head_mutate(d);

    uint32_t began = out->len;
    buf_put_str(out, d->start);
    buf_put_c(out, ' ');
    buf_put_str(out, d->version);
    buf_put_str(out, d->line_end);
    for (uint32_t i = 0; i < d->fields_count; i++) {
        buf_put_str(out, d->fields[i]);
        buf_put_str(out, d->line_end);
    }
    buf_put_str(out, d->line_end);
    if (d->is_chunked)
        buf_put_str(out, body_chunked(d, d->body, mutations > 0 && happens(d, 400)));
    else
        buf_put_str(out, d->body);
    /* Now and then the whole is changed without regard to its parts. */
    if (mutations > 0 && happens(d, 80)) {
        struct str whole = str_copy(d->arena, str_slice(buf_str(out), began, out->len));
        out->len = began;
        buf_put_str(out, bytes_mutate(d, whole));
    }
    return str_starts(d->start, STR("HEAD "));
}

/* -- the connection --------------------------------------------------------------------------- */

static void plan_cut(struct plan *p, struct draft *d)
{
    uint32_t len = p->bytes.len;
    p->cuts_count = 0;
    if (len < 2)
        return;
    uint32_t way = below(d, 100);
    if (way < 1 && len <= BYTEWISE_MAX) { /* every byte on its own */
        for (uint32_t at = 1; at < len; at++)
            p->cuts[p->cuts_count++] = at;
    } else if (way < 40) { /* one cut: over the campaign at every byte */
        p->cuts[p->cuts_count++] = 1 + (uint32_t)(p->number % (len - 1));
    } else if (way < 50) {
        uint32_t at = 0;
        while (p->cuts_count < 16 && at + 1 < len) {
            at += 1 + below(d, (len - at - 1 > 64) ? 64 : len - at - 1);
            if (at < len)
                p->cuts[p->cuts_count++] = at;
        }
    }
}

static void plan_control(struct plan *p, struct arena *a, const struct corpus *c)
{
    static const char health[] = "GET /healthz HTTP/1.1\r\nHost: control\r\n\r\n";
    p->is_control = true;
    p->control_status = 200;
    p->requests = 1;
    p->end = PLAN_WAIT;
    p->bytes = STR(health);
    for (uint32_t i = 0; p->number / PLAN_CONTROL_EVERY % 2 == 0 && i < c->values_count; i++)
        if (str_eq(c->values[i].name, STR("viewer"))) {
            struct str begin = STR("GET /api/v2/deployments/system HTTP/1.1\r\nHost: control\r\n"
                                   "Authorization: Bearer ");
            p->bytes = STR_CONCAT(a, begin, c->values[i].value, STR("\r\n\r\n"));
        }
}

void plan_make(struct plan *p, struct arena *a, const struct corpus *c, uint64_t seed,
               uint64_t number)
{
    struct draft draft = {.arena = a, .corpus = c};
    struct draft *d = &draft;
    *p = (struct plan){.number = number};
    if (number % PLAN_CONTROL_EVERY == 0) {
        plan_control(p, a, c);
        return;
    }
    prng_init(&d->random, seed * 0x9e3779b97f4a7c15u + number);
    p->requests = happens(d, 250) ? 2 + below(d, 7) : 1;
    struct buf out = buf_in(a);
    for (uint32_t i = 0; i < p->requests; i++) {
        d->is_chunked = false;
        /* An error of framing ends the connection: most requests before the last are valid. */
        if (request_write(d, &out, happens(d, i + 1 < p->requests ? 250 : 900))) {
            /* An answer without a body ends what the client can frame. */
            p->has_head = true;
            p->requests = i + 1;
        }
    }
    if (happens(d, 60)) /* the peer is gone in the middle */
        out.len = below(d, out.len + 1);
    p->bytes = buf_str(&out);
    static const enum plan_end ends[] = {PLAN_WAIT, PLAN_WAIT, PLAN_WAIT, PLAN_WAIT,  PLAN_WAIT,
                                         PLAN_WAIT, PLAN_HALF, PLAN_HALF, PLAN_RESET, PLAN_UNREAD};
    p->end = PICK(d, ends);
    plan_cut(p, d);
}
