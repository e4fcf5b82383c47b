/* nouns.h - the nouns whose objects are in a daemon. */
#pragma once

#include "cli/args/noun.h"

extern const struct cli_noun *const online_nouns[];
extern const uint32_t online_noun_count;

/* By name or singular: "nodes", "node". NULL: unknown. */
const struct cli_noun *nouns_find(const char *word);
/* By the collection of the API: "node_roles". NULL: unknown. */
const struct cli_noun *nouns_of(const char *collection);
