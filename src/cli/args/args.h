/* args.h - options out of the words behind a verb; what is left are its operands.
 *
 * An option is "--name" or "--name=value", "--name value", "-n value", "-nvalue"; it may stand
 * anywhere, and "--" ends them. Everything that is wrong is said at once, on stderr.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/args/noun.h"

enum { ARGS_LIST_MAX = 64 };

/* The values of an option that may be repeated. */
struct args_list {
    const char *texts[ARGS_LIST_MAX];
    uint32_t count;
};

/* Exactly one of `flag`, `value` and `list` is there; a value that was not given is left as it is.
 */
struct args_option {
    const char *name; /* without dashes */
    char letter;      /* 0: it has none */
    bool *flag;
    const char **value;
    struct args_list *list;
};

/* Takes the options out. False when something was wrong with them. */
bool args_take_options(struct args *words, const struct args_option *options, uint32_t count);

/* On stderr: who says it, what is wrong, and which word that is about. */
void args_complain(const struct args *words, const char *what, const char *about);
