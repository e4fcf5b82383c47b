/* noun.h - the tables behind `halligan NOUN VERB`.
 *
 * A noun is a kind of object: nodes, roles, runs. Its table has its verbs and, for objects of a
 * daemon, the collection of the API and the columns of a list. nouns.c has the nouns of the daemon,
 * barclamp_exec.c the one of local directories; cli.c lists them all. Help, shell completion and
 * the test of the manual page are generated from these tables, which are constants.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The exit status. It has the same meaning for all verbs and is documented in halligan(1). */
enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,      /* a check found errors, or a run ended in error */
    CLI_USAGE = 2,       /* the command line is wrong */
    CLI_IO_ERROR = 3,    /* a local file cannot be read or written, or is empty */
    CLI_NOT_FOUND = 4,   /* the server has no such object */
    CLI_REFUSED = 5,     /* the server refused the request with a reason; nothing has changed */
    CLI_NOT_ALLOWED = 6, /* credentials are missing, wrong or insufficient */
    CLI_NO_SERVER = 7,   /* no usable reply, or HTTP status 408, 429 or 5xx (except 501) */
    CLI_TIMEOUT = 8,     /* --timeout expired before the condition held */
    CLI_NOT_AGREED = 9,  /* data would be destroyed and consent was not given; see confirm.h */
};

/* The arguments after the verb. */
struct args {
    const char *prog; /* "halligan barclamp check": the prefix of error messages */
    int count;
    char **words;
};

struct cli_request;

enum { OPERANDS_ANY = 255 };

struct cli_verb {
    const char *name;
    const char *operands; /* of the usage line; a verb with run_local also lists its options */
    const char *summary;  /* one line */
    const char *help;     /* further lines of --help; "" or ends with a newline */
    /* Exactly one of the two is set. A verb without a daemon parses its arguments itself; for one
     * that calls the API, request_run() has parsed options and checked the operands. */
    enum cli_exit (*run_local)(struct args *args);
    enum cli_exit (*run_online)(struct cli_request *req);
    /* The rest is for verbs with run_online. */
    uint32_t options; /* OPTION_... of option.h */
    uint8_t operands_min;
    uint8_t operands_max; /* or OPERANDS_ANY */
    const char *method;   /* of the call, where several verbs share one function */
    const char *path;     /* of the call, below the path of the object */
};

/* A state that the API shows as a number, and its name in tables. */
struct cli_state {
    int number;
    const char *name;
    const char *color; /* the parameters of an escape sequence */
};

struct cli_column {
    const char *field;
    const char *names_in; /* the field is an id of this collection; NULL: shown as it is */
};

struct cli_noun {
    const char *name;
    const char *singular; /* accepted in place of the name; NULL: none */
    const char *summary;  /* one line */
    const struct cli_verb *verbs;
    uint32_t verb_count;

    const char *collection; /* "node_roles" of /api/v2/node_roles; NULL: local directories */
    const char *key;        /* the field that names an object; -q prints it */
    const struct cli_column *columns;
    uint32_t column_count;
    uint32_t rare_columns; /* count of last columns that are omitted if all their values are 0 */
    const char *age_field; /* the time in this column is shown as an age, with the title AGE */
    bool hides_system;     /* lists omit objects whose field `system` is true */
    const char *sort;      /* the default of --sort; NULL: the order of the server */
    uint32_t page_size;    /* objects that the server lists without --limit; 0: all of them */
    const struct cli_state *states; /* of the field "state"; NULL: it is a name already */
    uint32_t state_count;
    /* The id of an object that is named as "a/b", by two other objects. 0: not found, the error is
     * printed and *out_status is the exit status. NULL: objects of the noun have no such names. */
    int64_t (*find_pair)(struct cli_request *req, const char *first, const char *second,
                         enum cli_exit *out_status);
};
