/* api_client.h - calls of the API over HTTP, with libcurl.
 *
 * A client has one persistent connection and makes one call at a time. The module does not know
 * nouns and does not interpret replies. A call that may change something is sent only once; a GET
 * is repeated after a 503 with a Retry-After of up to 30 s, until CLIENT_TOTAL_MS have passed.
 * Redirects are not followed, so that credentials are not sent to another host. The first
 * client_open loads libcurl.
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
    const char *attributes; /* value of x-return-attributes; NULL: all fields */
    const char *last_event; /* value of Last-Event-ID; NULL: a stream starts now */
};

struct client_reply {
    int status;
    struct str body;    /* in the arena of the call, like the next two */
    const char *error;  /* why there is no reply */
    struct str warning; /* text of a Warning header; empty: none */
};

/* Callbacks of a stream. on_open is called after the headers of a 200, on_data for each piece of
 * the body. Returning false ends the call. */
struct client_listener {
    bool (*on_open)(void *self);
    bool (*on_data)(void *self, struct str bytes);
    void *self;
};

/* The strings of `settings` must outlive the client. NULL: libcurl is missing or cannot be used;
 * `why` has the message. */
struct client *client_open(const struct settings *settings, char *why, size_t why_size);
void client_close(struct client *client);

/* Send a call and wait for the reply. OK for a reply with any status. ERR_UNAVAILABLE: no reply;
 * `error` of the result has the reason. */
NODISCARD err client_send(struct client *client, const struct client_call *call, struct arena *a,
                          struct client_reply *out_reply);
/* Read a stream of events until the connection ends or a callback returns false (OK in both cases).
 * With a status other than 200 no callback is called, and the body is in the reply. */
NODISCARD err client_stream(struct client *client, const struct client_call *call,
                            const struct client_listener *listener, struct arena *a,
                            struct client_reply *out_reply);
