/* request.h - one invocation of a verb that calls the API, from its arguments to its exit status.
 *
 * struct cli_request has what such a verb needs: operands, options, memory, and an HTTP client that
 * is opened by the first call. A failed call prints its error to stderr, so a verb only returns the
 * status. Everything is freed when the verb returns.
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
    const struct cli_noun *noun; /* NULL: a command without a noun */
    const struct cli_verb *verb;
    const char *prog; /* "halligan nodes list" */
    struct args *args;
    struct options options;
    struct settings settings;
    bool has_settings;     /* `settings` is complete */
    struct client *client; /* NULL until the first call */
};

/* A call of the API. Empty members are not sent. */
struct api_request {
    const char *method; /* NULL: GET */
    struct str
        path; /* URL-encoded, below /api/v2: "nodes/n1/commit"; absolute with a leading "/" */
    struct str query; /* URL-encoded: "limit=10&after=3" */
    const struct json *body;
    const char *attributes; /* JSON list of the fields to return; NULL: all, with view=full */
    bool is_quiet;          /* do not print a failure */
    /* A refusal with this problem code is not printed: *out_expected is set to true, and the status
     * is CLI_REFUSED. */
    const char *expects;
    bool *out_expected;
};

/* Run a verb: parse its options, check its operands, and call verb->run_online. */
enum cli_exit request_run(const struct cli_noun *noun, const struct cli_verb *verb,
                          struct args *args);

/* Send a call. *out_reply is the parsed reply; JSON null for a reply without a body. */
enum cli_exit request_send(struct cli_request *req, const struct api_request *call,
                           const struct json **out_reply);
/* State of a caller that polls. Zero at the beginning. */
struct server_retry {
    bool had_reply;        /* an earlier call got a reply */
    int64_t lost_since_ms; /* monotonic time of the first call without a reply; 0: none */
};

/* The same for callers that poll: once there was a reply, calls without a reply (CLI_NO_SERVER) are
 * tolerated for 60 s, for example while the server restarts. Then the status is CLI_OK and
 * *out_reply is NULL. */
enum cli_exit request_send_again(struct cli_request *req, const struct api_request *call,
                                 struct server_retry *retry, const struct json **out_reply);
/* Read the settings, unless that was done before. */
enum cli_exit request_read_settings(struct cli_request *req);
/* Print every problem of an error reply. Returns the exit status for its HTTP status. */
enum cli_exit request_report_refusal(const struct cli_request *req,
                                     const struct client_reply *reply);
/* Print "PROG: no reply from ERROR"; `error` begins with the URL. Returns CLI_NO_SERVER. */
enum cli_exit request_report_no_reply(const struct cli_request *req, const char *error);
/* Print "PROG: TEXT", for a client that cannot be opened or a reply that lacks a field. Returns
 * CLI_NO_SERVER. */
enum cli_exit request_report_failure(const struct cli_request *req, const char *text);

/* Print "PROG: WHAT: ABOUT" and return CLI_USAGE. */
enum cli_exit request_usage_error(const struct cli_request *req, const char *what,
                                  const char *about);

/* The API path of the object that an operand names: "node_roles/7" for "7" and "n1/dns-server". */
enum cli_exit request_path(struct cli_request *req, const char *word, struct str *out_path);
/* The same for another noun. */
enum cli_exit request_path_of(struct cli_request *req, const struct cli_noun *noun,
                              const char *word, struct str *out_path);
/* "PATH/SEGMENT", with the segment URL-encoded; PATH alone if the segment is NULL or empty. */
struct str request_join(struct cli_request *req, struct str path, const char *segment);
/* Append text with percent-encoding (RFC 3986, unreserved characters are kept). */
void request_encode(struct buf *b, struct str text);

#define TIMEOUT_NONE INT64_MAX

/* The option --timeout in ms, TIMEOUT_NONE without it. False: it is not a number, and the error is
 * printed. */
bool request_timeout(const struct cli_request *req, int64_t *out_ms);
