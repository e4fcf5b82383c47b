/* nouns.h - the nouns that live in a daemon. */
#pragma once

#include "cli/args/noun.h"

extern const struct cli_noun *const online_nouns[];
extern const uint32_t online_noun_count;

/* By its name, or one of it: "nodes", "node". NULL: there is none. */
const struct cli_noun *nouns_find(const char *word);
/* By its place in the API: "node_roles". */
const struct cli_noun *nouns_of(const char *collection);
