/* log.h - log lines on standard error.
 *
 * A line consists of key=value pairs or is a JSON object. It is written with one write(2), from any
 * thread. Values are quoted and escaped, so that untrusted text cannot forge a pair or a line. The
 * settings are those of the process; before log_setup() they are text format and level info.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

/* name, text, priority of syslog */
#define LOG_LEVELS(X)                                                                              \
    X(ERROR, "error", 3)     /* an operator must act           */                                  \
    X(WARNING, "warning", 4) /* a failure that was handled     */                                  \
    X(NOTICE, "notice", 5)   /* a significant change of state  */                                  \
    X(INFO, "info", 6)                                                                             \
    X(DEBUG, "debug", 7)

enum log_level {
#define X(name, text, priority) LOG_##name,
    LOG_LEVELS(X)
#undef X
        LOG_LEVEL_COUNT
};

enum log_format { LOG_TEXT, LOG_JSON };

/* A pair after the message. */
struct log_field {
    const char *key; /* NULL ends a list */
    bool is_text;    /* the value is `text`; otherwise `number` */
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

/* Lines with a level below `level` are dropped. If standard error is connected to the journal
 * (JOURNAL_STREAM), each line starts with its syslog priority and has no time, which the journal
 * adds. */
void log_setup(enum log_level level, enum log_format format);
bool log_wants(enum log_level level);

bool log_level_parse(struct str text, enum log_level *out_level);
bool log_format_parse(struct str text, enum log_format *out_format);

/* The message states what failed, its subject in quotes, and the consequence or remedy. */
void log_print(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_with(enum log_level level, const struct log_field *fields, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
