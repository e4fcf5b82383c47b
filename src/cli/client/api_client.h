/* api_client.h - calls of the API over HTTP.
 *
 * One connection that is kept, one call at a time. Nothing is known here of nouns, nor of what an
 * answer means. A call that changes something is never made twice: only a GET that meets a 503 with
 * Retry-After is repeated, until CLIENT_TOTAL_MS are over. Redirects are not followed, so that
 * credentials go nowhere else. libcurl is fetched by the first client_open.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "cli/client/settings.h"

enum { CLIENT_TOTAL_MS = 120 * 1000, CLIENT_CONNECT_MS = 10 * 1000, CLIENT_WHY_SIZE = 256 };

struct client;

struct client_call {
    const char *method;
    const char *path;       /* "/api/v2/nodes?limit=10", encoded */
    struct str body;        /* JSON; empty: none */
    const char *attributes; /* of x-return-attributes; NULL: all */
    const char *last_event; /* of a stream that goes on; NULL: from now on */
};

struct client_answer {
    int status;
    struct str body;     /* in the arena of the call */
    const char *trouble; /* in that too: why there is no answer */
    struct str warning;  /* in that too: text of a Warning header; empty: there was none */
};

/* Takes what is said as it comes; false ends the call. `opened` hears that the stream stands. */
struct client_listener {
    bool (*opened)(void *self);
    bool (*take)(void *self, struct str bytes);
    void *self;
};

/* The texts of the settings outlive the client. NULL: libcurl is not there or refuses to work, with
 * a sentence in `why`. */
struct client *client_open(const struct settings *settings, char *why, size_t why_size);
void client_close(struct client *client);

/* ERR_UNAVAILABLE: there was no answer, and `trouble` says why. Any status is an answer. */
NODISCARD err client_ask(struct client *client, const struct client_call *call, struct arena *a,
                         struct client_answer *out_answer);
/* A stream of events, until it breaks or the listener has enough (OK, both). With a status other
 * than 200 the body is in the answer and the listener has heard nothing. */
NODISCARD err client_follow(struct client *client, const struct client_call *call,
                            const struct client_listener *listener, struct arena *a,
                            struct client_answer *out_answer);
