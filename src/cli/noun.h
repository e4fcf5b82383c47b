/* noun.h - what `halligan NOUN VERB` can be about.
 *
 * A noun is a table of verbs in a file of its own; cli.c lists the nouns. To add one, write its
 * file and name it there. Tables are constant and live for ever.
 */
#pragma once

#include <stdint.h>

/* The same for all verbs, and documented in halligan(1). */
enum cli_exit {
    CLI_FINE = 0,
    CLI_FAILED = 1,  /* it was looked at, and is not right; or there is one already */
    CLI_USAGE = 2,   /* these words mean nothing */
    CLI_NOTHING = 3, /* there was nothing to look at, or it cannot be read or written */
};

/* What follows the verb on the command line. */
struct words {
    const char *whose; /* "halligan barclamp check", for complaints */
    int count;
    char **texts;
};

struct cli_verb {
    const char *name;
    const char *takes; /* "DIR [...] [--strict]" */
    const char *does;  /* one line */
    const char *help;  /* the rest of what --help says; lines */
    enum cli_exit (*run)(struct words *words);
};

struct cli_noun {
    const char *name;
    const char *is; /* one line */
    const struct cli_verb *verbs;
    uint32_t verb_count;
};
