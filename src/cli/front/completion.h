/* completion.h - `halligan completion SHELL`: the tables of the nouns as a script for a shell.
 *
 * Nouns, verbs and options are in the script; names of objects are asked for while somebody types.
 */
#pragma once

#include "cli/args/noun.h"

/* What the scripts are made of. */
struct completion_words {
    const struct cli_noun *const *nouns;
    uint32_t noun_count;
    const struct cli_verb *commands; /* those that have no noun */
    uint32_t command_count;
};

/* CLI_USAGE when there is no such shell; nothing was printed then. */
enum cli_exit completion_print(const char *shell, const struct completion_words *words);
