/* call.h - one request inside the API module.
 *
 * A call is allocated in the arena of its request and lives until its reply is handed to the HTTP
 * server, which frees the arena: no field may be accessed after that. The handler of a call is run
 * once, and again if the core that it read was dropped before the turn it saw was durable.
 *
 * A handler either leaves a reply in the call and returns SERVED_REPLY, or submits a command,
 * starts a query or a stream, and returns SERVED_LATER. After SERVED_LATER the call may already be
 * freed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/call/api.h"
#include "base/json/json.h"
#include "core/core.h"
#include "http/http.h"
#include "model/problem.h"

struct call;
struct auth_state;
struct reply_stream;
struct refused_reports;
struct resource;
struct route;

enum handler_result {
    SERVED_REPLY, /* the reply or at least one problem is in the call, and is sent by api.c */
    SERVED_LATER, /* the call waits, or was answered already */
};

enum { REPLY_HEADERS_MAX = 4, PATH_KEYS_MAX = 2 };

struct reply {
    int status; /* 0: no reply yet */
    const char *content_type;
    struct str body;
    struct http_header headers[REPLY_HEADERS_MAX];
    uint32_t header_count;
};

enum auth_method { BY_PASSWORD, BY_DIGEST, BY_TOKEN, BY_SESSION };

/* The authenticated caller, with the ids and the hash by which auth_holds() repeats the check
 * against a newer core. */
struct caller {
    enum auth_method auth_method;
    int64_t user_id;
    int64_t node_id;  /* the token belongs to a node; user_id is 0 */
    int64_t token_id; /* BY_TOKEN, BY_SESSION */
    struct str name;  /* of the user or node */
    struct str hash;  /* of the token or password, or the HA1 of Digest authentication */
    struct str actor; /* actor of its commands: "user NAME" or "node NAME" */
};

enum call_wait {
    WAITS_NOTHING,
    WAITS_PASSWORD, /* a worker thread verifies or hashes a password */
    WAITS_DURABLE,  /* until `seen` is durable: to send the reply or, without one, to start again */
    WAITS_OUTCOME,  /* the result of a submitted command */
    WAITS_HISTORY,  /* the result of a query of the history */
    WAITS_STREAM,   /* the end of its stream */
};

struct call {
    struct api *api;
    struct http_request *request;
    struct arena *arena;
    const struct route *route;      /* NULL: no route matches */
    uint32_t methods;               /* methods of the path: bits 1 << HTTP_... */
    struct str keys[PATH_KEYS_MAX]; /* the segments of the path that match ":id", in order */
    struct caller caller;

    /* State of one attempt; call_try() resets it. */
    const struct core *core;
    int64_t seen;              /* last turn that is applied to `core` */
    struct arena_mark mark;    /* the arena before the first attempt; a retry rewinds to it */
    struct json *params;       /* an object: body and query merged */
    const struct json *wanted; /* names of the keys to return; NULL: all keys of OpenCrowbar */
    bool wants_extras;         /* view=full: also the keys that OpenCrowbar does not have */
    struct problem *problems;  /* reasons for a refusal, a list; NULL: none */
    struct problem *last_problem;
    struct reply reply;
    int64_t if_turn;    /* precondition: the last change of the object was in this turn; 0: none */
    bool can_try_again; /* the API set the precondition, not the client: retry if it fails */

    uint32_t tries_left;               /* retries after a failed precondition of the API */
    char made_hash[PASSWORD_HASH_MAX]; /* of the new password in the request; "": not computed */

    /* State of a pending query of the history. */
    enum handler_result (*on_history)(struct call *call, const struct record *records,
                                      uint32_t count);
    void *handler_state; /* state of the handler between its parts, in the arena */

    /* State of a pending command. */
    int64_t number; /* request number, of a query of the history as well; 0: none */
    /* makes the reply; `id` is that of the outcome. Errors of the command do not get here */
    void (*finish)(struct call *call, int64_t id);
    const struct resource *resource; /* type of the objects in the reply */
    struct str doc;                  /* document of its outcome */
    struct str secret;               /* secret of a new token, shown once */

    struct reply_stream *stream; /* NULL: the reply is not streamed */

    uint64_t began_ns;   /* monotonic clock */
    bool is_client_gone; /* the client disconnected; counted as status 499 */
    enum call_wait waits;
    struct call *next, *prev;   /* list of all waiting calls */
    struct call *next_numbered; /* next call in the hash bucket of `number` */
};

/* Appends a problem; the strings must live as long as the call. */
void call_refuse(struct call *call, enum problem_code code, struct str field, struct str text);
/* Authorizes the command and submits it in the name of the caller, with the precondition of the
 * call. `finish` makes the reply when it is committed. */
enum handler_result call_submit(struct call *call, struct command *command,
                                void (*finish)(struct call *call, int64_t id));

/* Makes the call wait for the result of a query of the history, and returns the number for the
 * query. `on_history` continues like a handler, with the core of that moment. If the query could
 * not be started, the second function replies with the error. */
int64_t call_wait_history(struct call *call,
                          enum handler_result (*on_history)(struct call *call,
                                                            const struct record *records,
                                                            uint32_t count));
enum handler_result call_history_failed(struct call *call, err why);
/* The core that replies to this call are read from; NULL: none is loaded. */
const struct core *call_core(const struct call *call);
/* Is the turn that the call read committed by the store? */
bool call_is_durable(const struct call *call);
/* The store is stalled: a reply that is not durable is refused with 503 instead of waiting. */
bool call_is_stalled(const struct call *call);
/* Waits until the turn that the call read is durable, then runs the handler again from the start.
 */
enum handler_result call_retry_when_durable(struct call *call);

/* The caller is authenticated: run the handler. The call may be freed on return. */
void call_admit(struct call *call);
/* Runs the handler again with the current core. The call may be freed on return. */
void call_restart(struct call *call);
/* Bytes of memory that one request may use for its reply. Replies that grow with the number of
 * nodes are streamed (streaming.h); others that exceed this limit are refused with 409
 * `limit_reached`. A handler that builds a reply of unknown size tests the second while it builds,
 * and stops. */
#define CALL_MEMORY_MAX ((size_t)64 << 20)
bool call_is_over_memory(const struct call *call);
/* Reserves so many more bytes, within the limit of the call and the limit of all replies together,
 * until the reply is accounted for. False: the reply states the exceeded limit, and the handler has
 * to stop. */
bool call_reserve_memory(struct call *call, size_t more);

/* Sends the reply; the call is freed. The second waits until the turn that the call read is
 * durable. */
void call_answer(struct call *call);
void call_send_when_durable(struct call *call);

/* Access to the state of the API that owns the call. */
const struct api_engine *call_engine(const struct call *call);
struct passwords *call_passwords(const struct call *call);
struct auth_state *call_auth_state(const struct call *call);
int64_t call_now_ms(const struct call *call); /* clocks as in struct api_engine */
int64_t call_mono_ms(const struct call *call);
int64_t call_stamp_ms(const struct call *call);
/* Assigns a unique request number, under which an outcome or the result of a query finds the call.
 * call_resume() drops it. */
int64_t call_take_number(struct call *call);
void call_drop_number(struct call *call);
struct request_counts *call_counts(const struct call *call);
const struct refused_reports *call_refusals(const struct call *call);
/* Counts the request in the metrics, with the status of its reply. */
void call_note(const struct call *call);
/* Adds the call to the list of waiting calls, and removes it. Neither continues the call. */
void call_wait(struct call *call, enum call_wait what);
void call_resume(struct call *call);
