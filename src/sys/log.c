#include "sys/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/clock.h"

enum {
    LINE_SIZE = 8192, /* a longer line loses its end */
    TEXT_SIZE = 4096, /* of the message */
};

static atomic_int wanted_level = LOG_INFO;
static atomic_int wanted_format = LOG_TEXT;

void log_setup(enum log_level level, enum log_format format)
{
    atomic_store(&wanted_level, (int)level);
    atomic_store(&wanted_format, (int)format);
}

bool log_wants(enum log_level level)
{
    return (int)level <= atomic_load(&wanted_level);
}

static const char *const level_names[] = {
#define X(name, text, priority) [LOG_##name] = text,
    LOG_LEVELS(X)
#undef X
};

static const int priorities[] = {
#define X(name, text, priority) [LOG_##name] = priority,
    LOG_LEVELS(X)
#undef X
};

bool log_level_parse(struct str text, enum log_level *out_level)
{
    for (int i = 0; i < LOG_LEVEL_COUNT; i++)
        if (str_eq(text, str_from(level_names[i]))) {
            *out_level = (enum log_level)i;
            return true;
        }
    return false;
}

bool log_format_parse(struct str text, enum log_format *out_format)
{
    const bool json = str_eq(text, STR("json"));
    if (!json && !str_eq(text, STR("text")))
        return false;
    *out_format = json ? LOG_JSON : LOG_TEXT;
    return true;
}

/* ---- the line ---- */

/* Room is kept for the end of the line, so whatever is cut, the line stays whole. */
enum { TAIL = 8 };

struct line {
    char at[LINE_SIZE];
    uint32_t len;
    uint32_t pairs;
    bool full;
};

static uint32_t room(const struct line *l)
{
    return l->len < LINE_SIZE - TAIL ? LINE_SIZE - TAIL - l->len : 0;
}

static void put(struct line *l, const char *text, uint32_t len)
{
    if (l->full || len > room(l)) {
        l->full = true;
        return;
    }
    memcpy(l->at + l->len, text, len);
    l->len += len;
}

static void put_z(struct line *l, const char *text)
{
    put(l, text, (uint32_t)strlen(text));
}

/* How many bytes at `at` are one well-formed character; 0 when they are none. */
static uint32_t character(struct str s, uint32_t at)
{
    const uint8_t first = (uint8_t)s.at[at];
    const uint32_t len = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const struct str piece = str_slice(s, at, at + len);
    return piece.len == len && str_is_clean(piece) ? len : 0;
}

static void put_escaped(struct line *l, uint8_t byte, bool json)
{
    char text[8];
    switch (byte) {
    case '\n': put_z(l, "\\n"); return;
    case '\r': put_z(l, "\\r"); return;
    case '\t': put_z(l, "\\t"); return;
    case '"': put_z(l, "\\\""); return;
    case '\\': put_z(l, "\\\\"); return;
    default: break;
    }
    if (json && byte >= 0x80) {
        put_z(l, "\xef\xbf\xbd"); /* JSON has no way to say a byte */
        return;
    }
    snprintf(text, sizeof text, json ? "\\u%04x" : "\\x%02x", byte);
    put_z(l, text);
}

static bool is_plain(struct str s)
{
    for (uint32_t i = 0; i < s.len; i++) {
        const uint8_t c = (uint8_t)s.at[i];
        if (c <= ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '=')
            return false;
    }
    return s.len > 0;
}

/* What stands behind the opening quote, and the closing one. */
static void put_rest(struct line *l, struct str s, bool json)
{
    for (uint32_t i = 0; i < s.len && !l->full;) {
        const uint8_t c = (uint8_t)s.at[i];
        const bool special = c < ' ' || c == '"' || c == '\\' || c == 0x7f;
        const uint32_t len = special ? 0 : character(s, i);
        if (len)
            put(l, s.at + i, len);
        else
            put_escaped(l, c, json);
        i += len ? len : 1;
    }
    /* The quote closes also where the text was cut. */
    const char *end = l->full ? "...\"" : "\"";
    const uint32_t end_len = (uint32_t)strlen(end);
    memcpy(l->at + l->len, end, end_len);
    l->len += end_len;
}

static void put_key(struct line *l, const char *key, bool json)
{
    const bool first = l->pairs++ == 0;
    if (json)
        put_z(l, first ? "\"" : ",\"");
    else
        put_z(l, first ? "" : " ");
    put_z(l, key);
    put_z(l, json ? "\":" : "=");
}

static void put_text(struct line *l, const char *key, struct str text, bool json)
{
    const uint32_t before = l->len;
    const bool plain = !json && is_plain(text);
    put_key(l, key, json);
    if (!plain || text.len > room(l))
        put_z(l, "\"");
    if (l->full)
        l->len = before; /* half a key helps nobody */
    else if (l->at[l->len - 1] == '"')
        put_rest(l, text, json);
    else
        put(l, text.at, text.len);
}

static void put_number(struct line *l, const char *key, int64_t number, bool json)
{
    char digits[24];
    const uint32_t before = l->len;
    put_key(l, key, json);
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    put_z(l, digits);
    if (l->full)
        l->len = before;
}

static void put_head(struct line *l, enum log_level level, bool json)
{
    char text[SYS_TIME_SIZE];
    const bool journal = getenv("JOURNAL_STREAM") != NULL;
    if (journal) {
        snprintf(text, sizeof text, "<%d>", priorities[level]);
        put_z(l, text);
    }
    if (json)
        put_z(l, "{");
    if (!journal) {
        sys_time_format(sys_now_ms(), text);
        put_text(l, "time", str_from(text), json);
    }
    put_text(l, "level", str_from(level_names[level]), json);
}

static void write_line(enum log_level level, const struct log_field *fields, const char *message)
{
    struct line l = {.len = 0};
    const bool json = atomic_load(&wanted_format) == LOG_JSON;
    put_head(&l, level, json);
    put_text(&l, "msg", str_from(message), json);
    for (const struct log_field *f = fields; f && f->key && !l.full; f++) {
        if (f->is_text)
            put_text(&l, f->key, f->text, json);
        else
            put_number(&l, f->key, f->number, json);
    }
    const char *end = json ? "}\n" : "\n";
    memcpy(l.at + l.len, end, strlen(end));
    l.len += (uint32_t)strlen(end);
    ignore(write(STDERR_FILENO, l.at, l.len) < 0, "there is nowhere left to say so");
}

void log_print(enum log_level level, const char *format, ...)
{
    char message[TEXT_SIZE];
    va_list args;
    if (!log_wants(level))
        return;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    write_line(level, NULL, message);
}

void log_with(enum log_level level, const struct log_field *fields, const char *format, ...)
{
    char message[TEXT_SIZE];
    va_list args;
    if (!log_wants(level))
        return;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    write_line(level, fields, message);
}
