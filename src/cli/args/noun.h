/* noun.h - what `halligan NOUN VERB` can be about.
 *
 * A noun is a table: its verbs, and, when it lives in a daemon, where the API keeps it and what is
 * worth a column. nouns.c has those of the daemon, barclamp_exec.c the one on the disk; cli.c lists
 * them all. Help, completion and the checks of the manual are made of these tables. They are
 * constant and live for ever.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The same for all verbs, and documented in halligan(1). */
enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,      /* it was looked at, and is not right; or work ended in error */
    CLI_USAGE = 2,       /* these words mean nothing */
    CLI_IO_ERROR = 3,    /* something here cannot be read or written, or there is nothing in it */
    CLI_NOT_FOUND = 4,   /* the server knows no such object */
    CLI_REFUSED = 5,     /* the server says why it did not do it; nothing has changed */
    CLI_NOT_ALLOWED = 6, /* no or wrong credentials, or they do not suffice */
    CLI_NO_SERVER = 7,   /* nobody answered, or nothing that makes sense */
    CLI_TIMEOUT = 8,     /* what was waited for has not come */
    CLI_NOT_AGREED = 9, /* something would be destroyed, and consent was not given; see confirm.h */
};

/* What follows the verb on the command line. */
struct args {
    const char *whose; /* "halligan barclamp check", for complaints */
    int count;
    char **texts;
};

struct cli_request;

enum { OPERANDS_ANY = 255 };

struct cli_verb {
    const char *name;
    const char *takes; /* "DIR [...] [--strict]"; with `ask`: its operands only */
    const char *does;  /* one line */
    const char *help;  /* the rest of what --help says; lines */
    /* Exactly one of these two: what needs no daemon reads its words itself. */
    enum cli_exit (*run)(struct args *words);
    enum cli_exit (*ask)(struct cli_request *errand);
    uint32_t options;     /* with `ask`: OPTION_... of option.h */
    uint8_t operands_min; /* with `ask` */
    uint8_t operands_max; /* or OPERANDS_ANY */
    const char *method;   /* with `ask`, where several verbs share one: how to call */
    const char *path;     /* and what follows the path of the object */
};

/* A number that stands for a word. */
struct cli_state {
    int number;
    const char *name;
    const char *color; /* the parameters of an escape sequence */
};

struct cli_column {
    const char *field;
    const char *names_in; /* the collection whose ids these are; NULL: it is what it says */
};

struct cli_noun {
    const char *name;
    const char *singular; /* also understood; NULL: it has none */
    const char *is;       /* one line */
    const struct cli_verb *verbs;
    uint32_t verb_count;

    const char *collection; /* "node_roles" of /api/v2/node_roles; NULL: on the disk */
    const char *key;        /* the field by which people and -q name one */
    const struct cli_column *columns;
    uint32_t column_count;
    uint32_t rare_columns; /* so many at the end are left out where they are 0 everywhere */
    const char *age_field; /* the column that is shown as the time since then, under AGE */
    bool hides_system;     /* a list leaves out objects whose field `system` is true */
    const char *sort;      /* unless somebody says how; NULL: as the server likes it */
    uint32_t page;         /* so many are told where nobody says how many; 0: all of them */
    const struct cli_state *states; /* of the field "state"; NULL: it is a word already */
    uint32_t state_count;
    /* What stands for "a/b", where an object can be named by two others: its id; 0: told why. */
    int64_t (*find_pair)(struct cli_request *errand, const char *first, const char *second,
                         enum cli_exit *out_status);
};
