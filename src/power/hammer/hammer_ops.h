/* hammer_ops.h - hammers: drivers that switch machines, set their boot device, and run commands and
 * copy files on them (classes redfish, ipmi, ssh, local, wol).
 *
 * An order names a node, the hammers bound to it, and a method. The hammer with the highest
 * priority among those that offer the method performs it (docs/spec/machines.md). Orders are
 * performed in the loop of the caller without blocking it. The result is delivered once by
 * hammers_callbacks.done, never from inside hammers_submit().
 *
 * At most one order is performed per node at a time, and a bounded number in total; others wait in
 * a queue, and their deadlines include the waiting time. Readings (orders that change nothing) have
 * their own bound and delay no other order. The deadline of a reading starts when it leaves the
 * queue; its time in the queue is bounded separately.
 *
 * This module does not depend on the core or a store: an order contains everything it needs.
 * Strings of an order are copied. Orders that have not ended when the module is closed get no
 * result.
 */
#pragma once

#include <stdint.h>
#include <uv.h>

#include "base/mem/arena.h"
#include "base/text/str.h"
#include "model/hammer_class.h"
#include "model/reason.h"
#include "power/hammer/spawn.h"

struct hammers;

/* How an order ended: constant, word for messages. */
#define HAMMER_ENDS(X)                                                                             \
    X(DONE, done)                                                                                  \
    X(REFUSED, refused)         /* the connection was refused                           */         \
    X(UNREACHABLE, unreachable) /* the name does not resolve, or there is no route      */         \
    X(TIMEOUT, timeout)         /* the deadline passed; the action may still happen     */         \
    X(TLS, tls)                 /* the certificate or host key of the peer is not valid */         \
    X(AUTH, auth)               /* login refused, or the user lacks the privilege       */         \
    X(NOT_FOUND, not_found)     /* the system or resource does not exist                */         \
    X(NOT_OFFERED, not_offered) /* not supported; the text lists what is                */         \
    X(BUSY, busy)               /* the peer asks to try again later                     */         \
    X(BAD_ANSWER, bad_answer)   /* the response cannot be interpreted                   */         \
    X(LOST, lost)               /* the connection broke; the action may have happened   */         \
    X(FAILED, failed)           /* the peer reports a failure                           */         \
    X(SETTING, setting)         /* a field of the hammer or of the order is wrong       */

enum hammer_end {
#define X(name, word) HAMMER_END_##name,
    HAMMER_ENDS(X)
#undef X
        HAMMER_END_COUNT
};

const char *hammer_end_word(enum hammer_end end);
/* The reason code of a power action that ended this way; REASON_NONE for HAMMER_END_DONE. */
enum reason_code hammer_end_reason(enum hammer_end end);

/* A hammer as it is bound to a node. */
struct hammer_bound {
    struct str klass;
    int64_t priority;
    struct str endpoint;
    struct str username;
    struct str authenticator; /* the secret */
    struct str extra;         /* a JSON object, or empty; see below */
};

/* Keys that each class reads in `extra` and, after the bar, in the args of an order:
 *
 *   redfish  system auth (basic, session) ca insecure uefi_target
 *            | wait (false: do not wait for the power state), once (of boot), on (of identify)
 *   ipmi     port cipher level interface (lanplus, lan) efi
 *            | wait once on seconds, argv (of invoke)
 *   ssh      port host_key | command (of run), from to (of copy_from, copy_to)
 *   local    | command, from to
 *   wol      mac (one, or a list) port
 */

struct hammer_order {
    uint64_t key; /* passed to done() with the result */
    int64_t node_id;
    struct str node_name;
    const struct hammer_bound *hammers;
    uint32_t hammer_count;
    enum hammer_category category;
    struct str method;
    struct str args;      /* a JSON object, or empty */
    uint32_t deadline_ms; /* from now, or for a reading from its start; 0: one minute */
    uint32_t queue_ms;    /* of a reading: bound of its time in the queue; 0: five minutes */
    bool is_reading;      /* changes nothing: performed beside other orders of its node, and
                           * counted against readings_max instead of parallel_max */
};

struct hammer_result {
    enum hammer_end end;
    struct str text;     /* a message for operators */
    struct str value;    /* canonical JSON; "null" if there is none */
    bool ended_in_queue; /* no request was sent to the machine */
};

struct hammers_callbacks {
    void *self;
    /* Strings are valid during the call. New orders may be submitted from here; hammers_close()
     * may not be called. */
    void (*done)(void *self, uint64_t key, const struct hammer_result *result);
    struct spawn_ops spawn; /* .start NULL: spawn_ops_default() */
};

struct hammers_options {
    const char *scratch;   /* directory with mode 0700, for files with secrets that exist during a
                              command; leftovers of an earlier process are deleted at open */
    const char *ssh_key;   /* private key; NULL: an ssh hammer must have its own */
    uint32_t parallel_max; /* orders in progress without readings; 0: 128 */
    uint32_t readings_max; /* readings in progress; 0: 64 */
    uint32_t poll_ms;      /* interval of power state polls; 0: depends on the driver */
};

/* NULL: out of memory, libcurl failed to initialize, or the scratch directory is not private. */
struct hammers *hammers_open(uv_loop_t *loop, const struct hammers_options *options,
                             struct hammers_callbacks callbacks);
/* Kills processes and closes connections. The loop must run until it has nothing left to close. */
void hammers_close(struct hammers *h);

void hammers_submit(struct hammers *h, const struct hammer_order *order);
/* Ends an order without a result. It must not have had a result. */
void hammers_cancel(struct hammers *h, uint64_t key);
/* The number of orders without a result. */
uint32_t hammers_pending(const struct hammers *h);

/* The index of the hammer that performs the method, or `count` if none offers it. The first of
 * several with the highest priority. */
uint32_t hammers_choose(const struct hammer_bound *list, uint32_t count,
                        enum hammer_category category, struct str method);
/* The methods that the hammers offer together, as canonical JSON:
 * {"power":["on","off"],"run":["run"]}. By descending priority, each method once. */
struct str hammers_methods(struct arena *a, const struct hammer_bound *list, uint32_t count);
