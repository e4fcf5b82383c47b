/* args.h - options out of the words behind a verb; what is left are its operands.
 *
 * An option is "--name" or "--name=value", "--name value", "-n value", "-nvalue"; it may stand
 * anywhere, and "--" ends them. Everything that is wrong is said at once, on stderr.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/args/noun.h"

enum { WORDS_LIST_MAX = 64 };

/* The values of an option that may be repeated. */
struct words_list {
    const char *texts[WORDS_LIST_MAX];
    uint32_t count;
};

/* Exactly one of `flag`, `value` and `list` is there; a value that was not given is left as it is.
 */
struct words_option {
    const char *name; /* without dashes */
    char letter;      /* 0: it has none */
    bool *flag;
    const char **value;
    struct words_list *list;
};

/* Takes the options out. False when something was wrong with them. */
bool words_take_options(struct words *words, const struct words_option *options, uint32_t count);

/* On stderr: who says it, what is wrong, and which word that is about. */
void words_complain(const struct words *words, const char *what, const char *about);
