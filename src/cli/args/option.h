/* option.h - the table of the options of all verbs that call the API.
 *
 * The bits of a verb select the options that it accepts; parsing, help and completion follow from
 * the bits. Options for the URL and the credentials (OPTION_SERVER) belong to every such verb.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/args/args.h"
#include "cli/args/noun.h"

enum option_bit {
    OPTION_OUTPUT = 1u << 0,
    OPTION_QUIET = 1u << 1,
    OPTION_FILTER = 1u << 2,
    OPTION_SORT = 1u << 3,
    OPTION_LIMIT = 1u << 4,
    OPTION_WATCH = 1u << 5,
    OPTION_FILE = 1u << 6,
    OPTION_TIMEOUT = 1u << 7,
    OPTION_WAIT = 1u << 8,
    OPTION_PLAN = 1u << 9,
    OPTION_BUCKET = 1u << 10,
    OPTION_FOLLOW = 1u << 11,
    OPTION_ATTEMPT = 1u << 12,
    OPTION_LIST = 1u << 13,
    OPTION_HOST = 1u << 14,
    OPTION_AFTER = 1u << 15,
    OPTION_SERVER = 1u << 16,
    OPTION_YES = 1u << 17,
    OPTION_RERUN = 1u << 18,
    OPTION_NODES = 1u << 19, /* selection of nodes: --all, --state, --group */
    OPTION_PROPOSE = 1u << 20,
    OPTION_DETAIL = 1u << 21,
    OPTION_INTERFACE = 1u << 22,
};

/* The values as given; NULL or false: the option was not given. */
struct options {
    const char *output, *sort, *limit, *file, *timeout, *plan, *bucket, *attempt, *host, *after,
        *group, *interface;
    const char *url, *user, *token_file, *ca;
    bool quiet, watch, wait, follow, list, yes, rerun_changed, all, propose, detail;
    struct args_list filters, states;
};

struct option {
    uint32_t bit;
    const char *name;
    char letter;       /* 0: none */
    const char *value; /* "FORMAT"; NULL: a flag */
    const char *summary;
    uint16_t offset; /* of the member of struct options, in bytes */
    bool is_repeatable;
};

extern const struct option option_table[];
extern const uint32_t option_count;

/* Parse the options with a bit in `allowed` and remove them from the arguments. False: an option is
 * wrong, and the errors are printed. */
bool cli_options_parse(struct args *args, uint32_t allowed, struct options *out_options);
/* The option that an argument such as "--url=x" or "-qx" names; NULL: none. *out_has_value: the
 * value is part of the argument. */
const struct option *option_find(const char *word, bool *out_has_value);
/* One line of help for each option with a bit in `allowed`. */
void options_print(FILE *out, uint32_t allowed);
