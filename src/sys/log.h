/* log.h - one line for each thing worth telling, on standard error.
 *
 * A line is key=value pairs or a JSON object, leaves in one write(2), and may come from any thread.
 * What somebody else wrote into a value cannot break out of it. The setting is one for the process;
 * before log_setup it is text at level info.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

/* name, text, priority of syslog */
#define LOG_LEVELS(X)                                                                              \
    X(ERROR, "error", 3)     /* a person must act              */                                  \
    X(WARNING, "warning", 4) /* we coped                       */                                  \
    X(NOTICE, "notice", 5)   /* the state of the world changed */                                  \
    X(INFO, "info", 6)                                                                             \
    X(DEBUG, "debug", 7)

enum log_level {
#define X(name, text, priority) LOG_##name,
    LOG_LEVELS(X)
#undef X
        LOG_LEVEL_COUNT
};

enum log_format { LOG_TEXT, LOG_JSON };

/* A pair behind the message. */
struct log_field {
    const char *key; /* NULL ends a list */
    bool is_text;    /* otherwise the number counts */
    struct str text;
    int64_t number;
};

#define LOG_FIELDS(...) ((const struct log_field[]){__VA_ARGS__, {0}})
#define LOG_S(name, value)                                                                         \
    {                                                                                              \
        .key = (name), .is_text = true, .text = (value)                                            \
    }
#define LOG_Z(name, value)                                                                         \
    {                                                                                              \
        .key = (name), .is_text = true, .text = str_from(value)                                    \
    }
#define LOG_I64(name, value)                                                                       \
    {                                                                                              \
        .key = (name), .number = (value)                                                           \
    }

/* Lines of higher detail than `level` are dropped. When the journal reads our standard error
 * (JOURNAL_STREAM), each line begins with its priority and goes without the time, which the
 * journal has. */
void log_setup(enum log_level level, enum log_format format);
bool log_wants(enum log_level level);

bool log_level_parse(struct str text, enum log_level *out_level);
bool log_format_parse(struct str text, enum log_format *out_format);

/* The message is a sentence: what failed, its subject in quotes, what we do about it. */
void log_print(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_with(enum log_level level, const struct log_field *fields, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
