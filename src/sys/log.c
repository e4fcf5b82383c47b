/* log.c - a line is built in a buffer on the stack and written with one write(2), so that lines of
 * several threads do not mix. A line that is too long is truncated inside a value, whose quote is
 * still closed, so that every line stays parseable. The state is the level and the format, which
 * are atomic. A line that cannot be written is lost: there is no other place to report it. */
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
    LINE_SIZE = 8192, /* bytes; longer lines are truncated */
    TEXT_SIZE = 4096, /* of the message, in bytes */
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

/* ---- line buffer ---- */

/* Bytes reserved for the end of a truncated line: "...", quote, brace and newline. */
enum { TAIL = 8 };

struct log_line {
    char at[LINE_SIZE];
    uint32_t len;   /* bytes */
    uint32_t pairs; /* keys written so far; the first has no separator */
    bool full;      /* truncated: nothing is appended but the end of the value and of the line */
};

static uint32_t log_line_space(const struct log_line *l)
{
    return l->len < LINE_SIZE - TAIL ? LINE_SIZE - TAIL - l->len : 0;
}

static void log_line_put(struct log_line *l, const char *text, uint32_t len)
{
    if (l->full || len > log_line_space(l)) {
        l->full = true;
        return;
    }
    memcpy(l->at + l->len, text, len);
    l->len += len;
}

static void log_line_put_z(struct log_line *l, const char *text)
{
    log_line_put(l, text, (uint32_t)strlen(text));
}

/* The length of the valid UTF-8 character at `at`; 0: the byte is not part of one. */
static uint32_t log_character_len(struct str s, uint32_t at)
{
    const uint8_t first = (uint8_t)s.at[at];
    const uint32_t len = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const struct str piece = str_slice(s, at, at + len);
    return piece.len == len && str_is_clean(piece) ? len : 0;
}

static void log_put_escaped(struct log_line *l, uint8_t byte, bool json)
{
    char text[8];
    switch (byte) {
    case '\n': log_line_put_z(l, "\\n"); return;
    case '\r': log_line_put_z(l, "\\r"); return;
    case '\t': log_line_put_z(l, "\\t"); return;
    case '"': log_line_put_z(l, "\\\""); return;
    case '\\': log_line_put_z(l, "\\\\"); return;
    default: break;
    }
    if (json && byte >= 0x80) {
        log_line_put_z(l, "\xef\xbf\xbd"); /* JSON cannot represent a single byte */
        return;
    }
    snprintf(text, sizeof text, json ? "\\u%04x" : "\\x%02x", byte);
    log_line_put_z(l, text);
}

static bool log_is_plain(struct str s)
{
    for (uint32_t i = 0; i < s.len; i++) {
        const uint8_t c = (uint8_t)s.at[i];
        if (c <= ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '=')
            return false;
    }
    return s.len > 0;
}

/* Appends the escaped value and the closing quote. */
static void log_put_quoted(struct log_line *l, struct str s, bool json)
{
    for (uint32_t i = 0; i < s.len && !l->full;) {
        const uint8_t c = (uint8_t)s.at[i];
        const bool special = c < ' ' || c == '"' || c == '\\' || c == 0x7f;
        const uint32_t len = special ? 0 : log_character_len(s, i);
        if (len)
            log_line_put(l, s.at + i, len);
        else
            log_put_escaped(l, c, json);
        i += len ? len : 1;
    }
    /* TAIL has space for the quote also if the value was truncated. */
    const char *end = l->full ? "...\"" : "\"";
    const uint32_t end_len = (uint32_t)strlen(end);
    memcpy(l->at + l->len, end, end_len);
    l->len += end_len;
}

static void log_put_key(struct log_line *l, const char *key, bool json)
{
    const bool first = l->pairs++ == 0;
    if (json)
        log_line_put_z(l, first ? "\"" : ",\"");
    else
        log_line_put_z(l, first ? "" : " ");
    log_line_put_z(l, key);
    log_line_put_z(l, json ? "\":" : "=");
}

static void log_put_string(struct log_line *l, const char *key, struct str text, bool json)
{
    const uint32_t before = l->len;
    const bool plain = !json && log_is_plain(text);
    log_put_key(l, key, json);
    if (!plain || text.len > log_line_space(l))
        log_line_put_z(l, "\"");
    if (l->full)
        l->len = before; /* drop an incomplete key */
    else if (l->at[l->len - 1] == '"')
        log_put_quoted(l, text, json);
    else
        log_line_put(l, text.at, text.len);
}

static void log_put_number(struct log_line *l, const char *key, int64_t number, bool json)
{
    char digits[24];
    const uint32_t before = l->len;
    log_put_key(l, key, json);
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    log_line_put_z(l, digits);
    if (l->full)
        l->len = before;
}

static void log_put_head(struct log_line *l, enum log_level level, bool json)
{
    char text[SYS_TIME_SIZE];
    const bool journal = getenv("JOURNAL_STREAM") != NULL;
    if (journal) {
        snprintf(text, sizeof text, "<%d>", priorities[level]);
        log_line_put_z(l, text);
    }
    if (json)
        log_line_put_z(l, "{");
    if (!journal) {
        sys_time_format(sys_now_ms(), text);
        log_put_string(l, "time", str_from(text), json);
    }
    log_put_string(l, "level", str_from(level_names[level]), json);
}

static void log_write_line(enum log_level level, const struct log_field *fields,
                           const char *message)
{
    struct log_line l = {.len = 0};
    const bool json = atomic_load(&wanted_format) == LOG_JSON;
    log_put_head(&l, level, json);
    log_put_string(&l, "msg", str_from(message), json);
    for (const struct log_field *f = fields; f && f->key && !l.full; f++) {
        if (f->is_text)
            log_put_string(&l, f->key, f->text, json);
        else
            log_put_number(&l, f->key, f->number, json);
    }
    const char *end = json ? "}\n" : "\n";
    memcpy(l.at + l.len, end, strlen(end));
    l.len += (uint32_t)strlen(end);
    ignore(write(STDERR_FILENO, l.at, l.len) < 0, "there is no other place to report it");
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
    log_write_line(level, NULL, message);
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
    log_write_line(level, fields, message);
}
