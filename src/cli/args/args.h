/* args.h - parses the options after a verb. What remains are the operands of the verb.
 *
 * An option has the form "--name", "--name=value", "--name value", "-n value" or "-nvalue". Options
 * and operands may be mixed; "--" ends the options. Every error is printed to stderr, so that one
 * call reports all wrong options. The module does not depend on a daemon or on the table of nouns.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/args/noun.h"

enum { ARGS_LIST_MAX = 64 };

/* The values of an option that may be repeated. */
struct args_list {
    const char *values[ARGS_LIST_MAX];
    uint32_t count;
};

/* Exactly one of `flag`, `value` and `list` is set. The target of an option that is not given keeps
 * its value. */
struct args_option {
    const char *name; /* without dashes */
    char letter;      /* of the short form; 0: none */
    bool *flag;
    const char **value;
    struct args_list *list;
};

/* Store the values of the options and remove them from `args`, which then has the operands only.
 * False: at least one option is wrong, and all errors are printed. */
bool args_parse_options(struct args *args, const struct args_option *options, uint32_t count);

/* Print "PROG: WHAT: ABOUT" to stderr; `about` is the argument that is wrong. */
void args_error(const struct args *args, const char *what, const char *about);
