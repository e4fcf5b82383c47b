/* request.h - one verb that asks a daemon, from its words to its exit status.
 *
 * Holds what such verbs need: operands, options, memory, and a client that is there from the first
 * question on. Questions are told about on stderr when they fail, so a verb only passes the status
 * on. Nothing outlives the errand.
 */
#pragma once

#include "base/json/json.h"
#include "base/mem/arena.h"
#include "cli/args/noun.h"
#include "cli/args/option.h"
#include "cli/client/api_client.h"
#include "cli/client/settings.h"

struct cli_request {
    struct arena *arena;
    const struct cli_noun *noun; /* NULL: of a verb that has none */
    const struct cli_verb *verb;
    const char *whose; /* "halligan nodes list" */
    struct args *words;
    struct options options;
    struct settings settings;
    bool is_settled; /* the settings have been read */
    struct client *client;
};

/* A call of /api/v2. What is not given is not sent. */
struct api_request {
    const char *method; /* NULL: GET */
    struct str path;    /* "nodes/n1/commit": encoded; with "/" before it: not below /api/v2 */
    struct str query;   /* "limit=10&after=3": encoded */
    const struct json *body;
    const char *attributes;
    bool is_quiet; /* failing is fine: say nothing */
    /* A refusal with this code is not reported: *out_expected is set, and it is CLI_REFUSED. */
    const char *expects;
    bool *out_expected;
};

enum cli_exit request_run(const struct cli_noun *noun, const struct cli_verb *verb,
                          struct args *words);

/* The answer as a tree; of one without a body: null. */
enum cli_exit request_send(struct cli_request *e, const struct api_request *question,
                           const struct json **out_answer);
/* Of somebody who asks again and again. */
struct patience {
    bool had_answer;
    int64_t lost_ms; /* when the server was not there any more; 0: it is */
};

/* The same for those who wait: a server that was there and is not for a while (it starts anew, say)
 * is waited for, and *out_answer is NULL meanwhile. */
enum cli_exit request_send_again(struct cli_request *e, const struct api_request *question,
                                 struct patience *patience, const struct json **out_answer);
/* The settings, read once. */
enum cli_exit request_settle(struct cli_request *e);
/* What the server says is wrong, all of it, and what that makes of the exit status. */
enum cli_exit request_tell_refusal(const struct cli_request *e, const struct client_answer *answer);
enum cli_exit request_tell_trouble(const struct cli_request *e, const char *trouble);

/* "whose: what: about", and the exit status for words that are wrong. */
enum cli_exit request_complain(const struct cli_request *e, const char *what, const char *about);

/* The path of the object that a word names: "node_roles/7" of "7" and of "n1/dns-server". */
enum cli_exit request_path(struct cli_request *e, const char *word, struct str *out_path);
/* The same of another noun. */
enum cli_exit request_path_of(struct cli_request *e, const struct cli_noun *noun, const char *word,
                              struct str *out_path);
/* "a/b/c" with the last two encoded as one segment each; an empty one is left out. */
struct str request_join(struct cli_request *e, struct str path, const char *segment);
/* Appends with everything that is not plain escaped. */
void request_encode(struct buf *b, struct str text);

#define ERRAND_FOR_EVER INT64_MAX

/* The option --timeout in milliseconds. False: it is none, which has been told. */
bool request_timeout(const struct cli_request *e, int64_t *out_ms);
