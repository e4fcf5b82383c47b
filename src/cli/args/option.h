/* option.h - the options of the verbs that ask a daemon, in one table.
 *
 * A verb says by bits which of them it takes; reading, help and completion follow from that. Those
 * of where the server is and who asks (OPTION_SERVER) belong to all of them.
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
    OPTION_NODES = 1u << 19, /* which nodes: --all, --state, --group */
    OPTION_PROPOSE = 1u << 20,
    OPTION_DETAIL = 1u << 21,
};

/* As they were given; NULL and false: not at all. */
struct options {
    const char *output, *sort, *limit, *file, *timeout, *plan, *bucket, *attempt, *host, *after,
        *group;
    const char *url, *user, *token_file, *ca;
    bool quiet, watch, wait, follow, list, yes, rerun_changed, all, propose, detail;
    struct args_list filters, states;
};

struct option {
    uint32_t bit;
    const char *name;
    char letter;       /* 0: none */
    const char *value; /* "FORMAT"; NULL: a flag */
    const char *does;
    uint16_t at; /* in struct options */
    bool many;   /* may be given again and again */
};

extern const struct option option_table[];
extern const uint32_t option_count;

/* Takes them out of the words. False when something was wrong, which has been told. */
bool options_take(struct args *words, uint32_t allowed, struct options *out_options);
/* The option that a word such as "--url=x" or "-qx" names; NULL: none. *out_has_value: the value is
 * part of the word. */
const struct option *option_find(const char *word, bool *out_has_value);
/* One line each. */
void options_tell(FILE *out, uint32_t allowed);
