/* api.h - HTTP requests to commands, records of the core to JSON.
 *
 * This module turns HTTP requests into commands and serializes records of the core as the JSON
 * documents of docs/spec/api.md. It owns the requests between their arrival and their reply, the
 * streams, the authentication state and the request counters. It never changes the core itself: a
 * change is submitted as a command through `submit`, and the reply is sent when its outcome
 * arrives, after the batch is committed. The reply to a read is computed at once and held back
 * until the turn that it was read from is durable, so that no client sees a change that a crash
 * could undo.
 *
 * All functions run on the thread of the event loop. The module does not depend on the daemon, the
 * store or the turn; struct api_engine has what it needs of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "auth/passwords.h"
#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "http/http.h"
#include "model/command.h"
#include "model/reason.h"
#include "model/record.h"

struct api;
struct change_feed;
struct core;
struct outcome;
struct record;

/* A part of the log of a run: request and result of run_log(). */
struct api_log_chunk {
    int64_t noderole_id, run_id;
    uint32_t attempt;
    struct arena *arena; /* receives `text` */
    /* bytes: the requested start, then the start of `text`, later if the beginning was dropped */
    int64_t offset;
    int64_t total;   /* bytes written until now */
    bool ended;      /* no more bytes will be written */
    struct str text; /* the bytes as they were written, not necessarily UTF-8 */
};

/* An uploaded barclamp (a package of roles and their attribs): input and result of read_barclamp().
 */
struct api_barclamp {
    struct arena *arena;
    struct str text;          /* YAML, or canonical JSON */
    bool is_json;             /* the client sent a JSON object, not a string of YAML */
    struct str document;      /* result to import; empty if there are problems */
    struct problem *problems; /* all problems found, with line numbers where known */
    /* [{"code","line"?,"text"}]: suspicious keys and missing files; NULL: none */
    struct json *warnings;
};

/* A cursor in the list of events: the position after event (turn, n), read towards newer events or,
 * with is_backward, towards older ones. */
struct api_event_cursor {
    int64_t turn, n;
    bool is_backward;
};

/* A fault of the installation itself, such as an unreachable store, that prevents work. */
struct api_fault {
    enum reason_code code;
    const char *object; /* the part of the installation: "store", "supervisor", "clock" */
    struct str text;    /* a sentence, in the arena of the caller */
};

enum { API_FAULTS_MAX = 8, API_BOOTS_MAX = 64 };

/* Something that a boot server reported about a machine. */
struct api_boot {
    int64_t at_ms; /* wall clock */
    const char *what;
    int64_t server_id; /* node of the boot server */
    int64_t generation;
    uint64_t mac;
    uint32_t address; /* IPv4 as a number; 0: none */
    int64_t other;    /* by `what`: MAC of another host, IPv4 address of a server, or bytes */
    struct str detail;
};

/* A connected boot server. */
struct api_boot_server {
    int64_t node_id;
    struct str interfaces, version;
    struct str status; /* what it cannot serve; empty: nothing */
    uint32_t http_port;
    int64_t sent_turn, taken_turn;
    int64_t connected_ms; /* wall clock */
};

struct api_ssh_address {
    struct str host, user;
    uint16_t port;
};

/* The interface to the daemon. `self` is passed to every callback. Strings that callbacks return
 * live in the given arena. */
struct api_engine {
    void *self;
    const struct core *(*core)(void *self); /* NULL: none is loaded */
    /* The newest core, even if its last changes are not durable yet: for replies that are sent
     * immediately (route.h, is_immediate). NULL: none is loaded. */
    const struct core *(*newest_core)(void *self);
    int64_t (*seen)(void *self);     /* last turn that is applied to core() */
    int64_t (*durable)(void *self);  /* last turn that the store has committed */
    int64_t (*now_ms)(void *self);   /* wall clock, ms since 1970: expiry of tokens and sessions */
    int64_t (*mono_ms)(void *self);  /* monotonic clock, ms: all durations */
    int64_t (*stamp_ms)(void *self); /* time stamps of the core, ms; never decrease (turn_now_ms) */
    err (*submit)(void *self, const struct command *command);
    bool (*is_ready)(void *self,
                     const char **out_why); /* /readyz: is the leader, loaded, store writable */
    /* Appends lines "NAME: STATE" for /readyz?verbose. NULL: none. */
    void (*conditions)(void *self, struct buf *out);
    /* The store is stalled: replies are refused with 503 instead of waiting for durability. NULL:
     * never. */
    bool (*is_stalled)(void *self);
    /* The fault of the store for the message of a 503; "" if there is none. */
    const char *(*trouble)(void *self);
    /* Queries of the history (port/history_port.h). The result arrives later, never from within the
     * call, as api_on_history() with that number; after an error none arrives. A page of intervals
     * may have fewer records than requested and is empty only at the end; runs and events have
     * fewer than `limit` only at the end. NULL: the daemon stores no history. */
    err (*runs)(void *self, int64_t noderole_id, uint32_t limit, int64_t number);
    err (*intervals)(void *self, const struct interval_page *page, int64_t number);
    err (*events)(void *self, struct api_event_cursor from, uint32_t limit, int64_t number);
    /* ERR_NOT_FOUND: no log of that run is stored. NULL: logs are not stored. */
    err (*run_log)(void *self, struct api_log_chunk *log);
    /* Parses and checks an uploaded barclamp as files are. NULL: uploads are not supported. */
    err (*read_barclamp)(void *self, struct api_barclamp *barclamp);
    /* The discovery data in the test file of that name, as JSON. ERR_NOT_FOUND: there is no such
     * file. NULL: there are no test files. */
    err (*test_discovery)(void *self, struct str source, struct arena *arena, struct str *out_text);
    /* The address at which the ssh driver reaches a node. False, or NULL: the node is not reached
     * by ssh. */
    bool (*ssh_address)(void *self, int64_t node_id, struct arena *arena,
                        struct api_ssh_address *out_address);
    /* Appends the metrics of the daemon (base/text/prom_metrics.h). NULL: none. */
    void (*metrics)(void *self, struct buf *out);
    /* Writes at most API_FAULTS_MAX faults of the installation and returns their number. NULL:
     * none. */
    uint32_t (*faults)(void *self, struct arena *arena, struct api_fault *out_faults);
    /* The last failure of a power action of the node that is about to be retried. False, or NULL:
     * there is none. */
    bool (*power_retry)(void *self, int64_t node_id, struct arena *arena,
                        struct reason *out_reason);
    /* Writes the last events of the boots of a node, oldest first, and returns their number. NULL:
     * none. */
    uint32_t (*boots)(void *self, int64_t node_id, struct arena *arena,
                      struct api_boot out_boots[API_BOOTS_MAX]);
    /* What boot servers last reported about the machine of a node that is not alive. False, or
     * NULL: nothing. */
    bool (*boot_reason)(void *self, int64_t node_id, struct arena *arena,
                        struct reason *out_reason);
    /* The connected boot server with the lowest node id above `after`; false at the end. NULL:
     * none. */
    bool (*next_boot_server)(void *self, int64_t after, struct arena *arena,
                             struct api_boot_server *out_server);
    const char *version; /* NULL: unknown */
};

struct api *api_new(struct api_engine engine, struct passwords *passwords);
/* Answers all pending requests first: 503, or 500 `unknown` for submitted commands. Order:
 * api_free() before the HTTP server is closed, because the server needs the replies of its open
 * requests; the passwords are freed before the loop runs again, because their jobs would call back
 * into the freed API. */
void api_free(struct api *api);

struct http_handler api_handler(struct api *api);

/* From reply_port: the outcome of the command with this request number, which was committed in
 * `turn`; or the error because of which it has no outcome. */
void api_outcome(struct api *api, int64_t request, const struct outcome *outcome, int64_t turn);
void api_failed(struct api *api, int64_t request, err why);
/* The result of a query of the history. Only records of the requested tables; they are valid during
 * the call. */
void api_on_history(struct api *api, int64_t number, const struct record *records, uint32_t count,
                    err why);
/* Computes the next part of each stream that is ready. True: call again, there is more. */
bool api_pump(struct api *api);
/* True while there are infinite streams (events, logs of runs). Then api_poll_streams() has to
 * be called about every API_POLL_MS to look for new data. */
#define API_POLL_MS 100
bool api_has_infinite_streams(const struct api *api);
void api_poll_streams(struct api *api);
/* The store has committed this turn: sends the replies that waited for it. */
void api_durable(struct api *api, int64_t turn);
/* Receives the rows of each batch that the store has committed, before api_durable(). */
struct change_feed *api_change_feed(struct api *api);
/* The core was dropped and loaded again, or the store is stalled: replies that were held back may
 * show changes that were lost or will not be durable soon. They are computed again. */
void api_reloaded(struct api *api);
