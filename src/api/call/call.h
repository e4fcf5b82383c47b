/* call.h - one request on its way through this room.
 *
 * A call lives in the arena of its request, from the moment it is served until its answer was
 * given; nothing of it may be touched after that. It is tried once, and again if the core it read
 * was dropped before what it saw was durable.
 *
 * A handler either leaves a reply in the call, or has handed a command over and the reply comes
 * with its outcome. It says which by what it returns: after SERVED_LATER the call may be gone.
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

enum handler_result { SERVED_REPLY, SERVED_LATER };

enum { REPLY_HEADERS_MAX = 4, PATH_KEYS_MAX = 2 };

struct reply {
    int status; /* 0: none yet */
    const char *content_type;
    struct str body;
    struct http_header headers[REPLY_HEADERS_MAX];
    uint32_t header_count;
};

enum auth_method { BY_PASSWORD, BY_DIGEST, BY_TOKEN, BY_SESSION };

/* Who asks, and what in the core let them in. */
struct caller {
    enum auth_method auth_method;
    int64_t user_id;
    int64_t node_id;  /* a machine, and no user                       */
    int64_t token_id; /* BY_TOKEN, BY_SESSION                         */
    struct str name;  /* as the user, or the node, is called          */
    struct str hash;  /* of the token, of the password, or the HA1    */
    struct str actor; /* for commands                                 */
};

enum call_wait {
    WAITS_NOTHING,
    WAITS_PASSWORD,
    WAITS_DURABLE,
    WAITS_OUTCOME,
    WAITS_HISTORY,
    WAITS_STREAM
};

struct call {
    struct api *api;
    struct http_request *request;
    struct arena *arena;
    const struct route *route; /* NULL: nothing is served there */
    uint32_t methods;          /* what is: bits 1 << HTTP_...   */
    struct str keys[PATH_KEYS_MAX];
    struct caller caller;

    /* Of one try. */
    const struct core *core;
    int64_t seen; /* turn that core showed */
    struct arena_mark mark;
    struct json *params;       /* object */
    const struct json *wanted; /* names of the keys to show; NULL: all of the specification */
    bool wants_extras;         /* and those that are ours, too                             */
    struct problem *problems;
    struct problem *last_problem;
    struct reply reply;
    int64_t if_turn;    /* the object must have changed last in this turn; 0: whenever */
    bool can_try_again; /* that was our own idea, not the caller's                     */

    uint32_t tries_left;               /* when our own condition did not hold */
    char made_hash[PASSWORD_HASH_MAX]; /* of the password it brings; "": not made yet */

    /* Of what it looks back for. */
    enum handler_result (*on_history)(struct call *call, const struct record *records,
                                      uint32_t count);
    void *handler_state; /* what the handler left for later, in the arena */

    /* Of the command it waits for. */
    int64_t number;
    void (*finish)(struct call *call, int64_t id);
    const struct resource *resource;
    struct str doc;    /* what its outcome tells beside the id */
    struct str secret; /* a token's text, told once            */

    struct reply_stream *stream; /* its answer comes in pieces */

    uint64_t began_ns;
    bool is_client_gone; /* nobody reads the answer */
    enum call_wait waits;
    struct call *next, *prev;   /* among all that wait  */
    struct call *next_numbered; /* in its bucket        */
};

/* Put one more problem on the list; the texts must live as long as the call. */
void call_refuse(struct call *call, enum problem_code code, struct str field, struct str text);
/* Hand the command over in the caller's name and on the call's condition. `finish` makes the reply
 * when it is done. */
enum handler_result call_submit(struct call *call, struct command *command,
                                void (*finish)(struct call *call, int64_t id));

/* The call waits for what the engine finds when it looks back; this is its number. `told` goes on
 * with it as a handler does, by the core of then. When nobody was asked after all, the second makes
 * the reply. */
int64_t call_wait_history(struct call *call,
                          enum handler_result (*on_history)(struct call *call,
                                                            const struct record *records,
                                                            uint32_t count));
enum handler_result call_history_failed(struct call *call, err why);
/* The core that answers to this call are read from; NULL: there is none at the moment. */
const struct core *call_core(const struct call *call);
/* Is what the core shows in the store? */
bool call_is_durable(const struct call *call);
/* The store is stalled: what is not durable is answered 503 and not waited for. */
bool call_is_stalled(const struct call *call);
/* Serve it from the beginning when what the core shows now is durable. */
enum handler_result call_retry_when_durable(struct call *call);

/* The credentials are good: route it. It may be gone afterwards. */
void call_admit(struct call *call);
/* What it waited for is here: serve it once more, with a new look at the core. It may be gone
 * afterwards. */
void call_restart(struct call *call);
/* What one request may take for its answer. What grows with the fleet is streamed (streaming.h);
 * what would take more all the same is refused, 409 `limit_reached`. A handler that builds
 * something of which neither is sure asks the second while it builds, and stops. */
#define CALL_MEMORY_MAX ((size_t)64 << 20)
bool call_is_over_memory(const struct call *call);
/* May the call take so many more bytes, by its own bound and by that of all answers? They are
 * counted then, until its answer is counted. False: the reply says which bound forbids it, and
 * nothing should be built. */
bool call_reserve_memory(struct call *call, size_t more);

/* Give the reply; the call is gone afterwards. The second waits until what the reply tells is
 * durable. */
void call_answer(struct call *call);
void call_send_when_durable(struct call *call);

/* What the room's files need of the api itself. */
const struct api_engine *call_engine(const struct call *call);
struct passwords *call_passwords(const struct call *call);
struct auth_state *call_auth_state(const struct call *call);
int64_t call_now_ms(const struct call *call); /* as in struct api_engine */
int64_t call_mono_ms(const struct call *call);
int64_t call_stamp_ms(const struct call *call);
/* A number of its own, for an answer that comes later. call_resume() drops it. */
int64_t call_take_number(struct call *call);
void call_drop_number(struct call *call);
struct request_counts *call_counts(const struct call *call);
const struct refused_reports *call_refusals(const struct call *call);
/* It was answered, with the status of its reply. */
void call_note(const struct call *call);
void call_wait(struct call *call, enum call_wait what);
void call_resume(struct call *call);
