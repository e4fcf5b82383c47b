/* completion.h - `halligan completion SHELL`: a completion script generated from the noun tables.
 *
 * Nouns, verbs and options are part of the script. Names of objects are not: at each completion the
 * script runs `halligan NOUN list -q`.
 */
#pragma once

#include "cli/args/noun.h"

/* The tables that a script is generated from. */
struct completion_tables {
    const struct cli_noun *const *nouns;
    uint32_t noun_count;
    const struct cli_verb *commands; /* without a noun */
    uint32_t command_count;
};

/* Print the script to stdout. CLI_USAGE: the shell is unknown, and nothing was printed. */
enum cli_exit completion_print(const char *shell, const struct completion_tables *tables);
