/* api.h - requests in, commands out; the core in, JSON out.
 *
 * The API room turns HTTP requests into commands and reads of the core into JSON documents in the
 * shapes of the specification. It changes nothing itself: what must change goes out as a command
 * through `submit`, and the answer to the client waits for the outcome. A read is computed at once
 * and held until the turn it saw is durable. It belongs to the loop's thread.
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
struct core;
struct outcome;
struct record;

/* A piece of what a run says. */
struct api_log {
    int64_t noderole_id, run_id;
    uint32_t attempt;
    struct arena *arena; /* for the text */
    int64_t offset;      /* asked for; then where the text begins: what is too old is gone */
    int64_t total;       /* so many bytes were said until now */
    bool ended;          /* and there will be no more */
    struct str text;     /* as it was said: any bytes */
};

/* A barclamp that somebody sent. */
struct api_barclamp {
    struct arena *arena;
    struct str text;          /* YAML, or canonical JSON              */
    bool is_json;             /* it is an object, not a text          */
    struct str document;      /* to import; empty: there are problems */
    struct problem *problems; /* all that is wrong with it, each with its line where it has one */
    struct json
        *warnings; /* of [{"code","line"?,"text"}]: what is odd, or missing beside it; NULL: none */
};

/* Behind an event, on the way to newer ones or back to older ones. */
struct api_place {
    int64_t turn, n;
    bool is_backward;
};

/* Something wrong with the installation itself, which keeps work from being done or kept. */
struct api_fault {
    enum reason_code code;
    const char *object; /* the part of the installation: "store", "supervisor", "clock" */
    struct str text;    /* a sentence; in the arena */
};

enum { API_FAULTS_MAX = 8 };

struct api_ssh_address {
    struct str host, user;
    uint16_t port;
};

/* What the API needs of the daemon. */
struct api_engine {
    void *self;
    const struct core *(*core)(void *self); /* NULL: there is none to read just now              */
    /* The core as it is, even if what it shows will not be durable soon: for answers that never
     * wait (route.h, is_immediate). NULL: there is none. */
    const struct core *(*newest_core)(void *self);
    int64_t (*seen)(void *self);     /* turn that core shows                              */
    int64_t (*durable)(void *self);  /* last turn that is in the store                    */
    int64_t (*now_ms)(void *self);   /* wall clock: expiry of tokens and sessions         */
    int64_t (*mono_ms)(void *self);  /* monotonic clock: every duration in this process   */
    int64_t (*stamp_ms)(void *self); /* what the core stamps with: order (turn_now_ms)    */
    err (*submit)(void *self, const struct command *command);
    bool (*is_ready)(void *self, const char **out_why); /* /readyz: leads, loaded, store writable */
    /* Lines "NAME: STATE" for /readyz?verbose. NULL: there are none. */
    void (*conditions)(void *self, struct buf *out);
    /* What is not durable now will not be soon, so no answer waits for it. NULL: never. */
    bool (*is_stalled)(void *self);
    /* What is wrong with the store, for the text of a 503; "" when nothing is. */
    const char *(*trouble)(void *self);
    /* Looking back (port/history_port.h says what each finds): the answer comes as api_on_history()
     * under that number, and not from within; none does after an error. An answer may have fewer
     * records than asked for; it is empty only if there are no more. NULL: they are not kept. */
    err (*runs)(void *self, int64_t noderole_id, uint32_t limit, int64_t number);
    err (*intervals)(void *self, const struct interval_page *page, int64_t number);
    err (*events)(void *self, struct api_place from, uint32_t limit, int64_t number);
    /* ERR_NOT_FOUND when nothing was kept. NULL: nobody keeps any. */
    err (*run_log)(void *self, struct api_log *log);
    /* Read it as files of barclamps are read. NULL: nobody can. */
    err (*read_barclamp)(void *self, struct api_barclamp *barclamp);
    /* What the discovery of a machine tells, from a test file of that name; JSON. ERR_NOT_FOUND
     * when there is none. NULL: there are no test files. */
    err (*test_discovery)(void *self, struct str source, struct arena *arena, struct str *out_text);
    /* Where the ssh driver reaches a node, texts in the arena; false, or no function: not by
     * ssh. */
    bool (*ssh_address)(void *self, int64_t node_id, struct arena *arena,
                        struct api_ssh_address *out_address);
    /* What the daemon counts (base/text/prom_metrics.h). NULL: nothing. */
    void (*metrics)(void *self, struct buf *out);
    /* Faults of the installation, API_FAULTS_MAX at most; returns how many. NULL: none. */
    uint32_t (*faults)(void *self, struct arena *arena, struct api_fault *out_faults);
    /* A power action of the node that failed and is tried again soon. False, or no
     * function: there is none. Texts go into the arena. */
    bool (*power_retry)(void *self, int64_t node_id, struct arena *arena,
                        struct reason *out_reason);
    const char *version; /* NULL: unknown */
};

struct api *api_new(struct api_engine engine, struct passwords *passwords);
/* Pending requests are answered 503 first. The HTTP server is closed after it (or it would answer
 * what we hold), and the passwords are freed before the loop runs again (or their jobs would come
 * back to nobody). */
void api_free(struct api *api);

struct http_handler api_handler(struct api *api);

/* From reply_port: what became of a command with this request number. */
void api_outcome(struct api *api, int64_t request, const struct outcome *outcome, int64_t turn);
void api_failed(struct api *api, int64_t request, err why);
/* What the engine found when it looked back; only records of the tables that were asked for. They
 * live for the call. */
void api_on_history(struct api *api, int64_t number, const struct record *records, uint32_t count,
                    err why);
/* A little of what can wait: answers that are told in pieces. True: there is more. */
bool api_pump(struct api *api);
/* Somebody watches: then api_beat() wants to be called every API_BEAT_MS or so, to look for what
 * there is to tell. */
#define API_BEAT_MS 100
bool api_is_watched(const struct api *api);
void api_beat(struct api *api);
/* The store went on: let out the reads that waited for this turn. */
void api_durable(struct api *api, int64_t turn);
/* The core was dropped and loaded again, or the store is stalled: what held reads saw may never
 * have been, or will not be durable soon. They are computed again. */
void api_reloaded(struct api *api);
