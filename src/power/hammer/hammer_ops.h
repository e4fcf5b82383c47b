/* hammer_ops.h - reaching into machines: switching them, and saying what they start from.
 *
 * An order names a node, the hammers bound to it and a method; the first hammer that offers the
 * method, by descending priority, carries it out (SEMANTICS 8.7). It is done in the daemon's loop
 * and never waits there; its result comes by hammers_seams.done, once, not from inside
 * hammers_do(). At most one order is carried out per node at a time, and a bounded number in all;
 * the rest wait, and their deadlines run meanwhile. Readings have a bound of their own and keep no
 * order waiting; the deadline of a reading starts when it is served, and its time in the queue has
 * a bound of its own.
 *
 * It knows no core and no store: whoever gives an order brings everything it needs. Texts of an
 * order are copied. What has not ended when it closes gets no result.
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

/* How an order ended: name, word. */
#define HAMMER_ENDS(X)                                                                             \
    X(DONE, done)                                                                                  \
    X(REFUSED, refused)         /* nobody listens there                                 */         \
    X(UNREACHABLE, unreachable) /* no such name, or no way there                        */         \
    X(TIMEOUT, timeout)         /* the deadline passed; it may still happen             */         \
    X(TLS, tls)                 /* the other side could not prove who it is             */         \
    X(AUTH, auth)               /* the user is not known, or may not do this            */         \
    X(NOT_FOUND, not_found)     /* the thing to act on is not there                     */         \
    X(NOT_OFFERED, not_offered) /* it cannot do that; the text lists what it can        */         \
    X(BUSY, busy)               /* it says: later                                       */         \
    X(BAD_ANSWER, bad_answer)   /* what it answered makes no sense                      */         \
    X(LOST, lost)               /* the connection broke; it may have happened           */         \
    X(FAILED, failed)           /* it tried, or says why it did not                     */         \
    X(SETTING, setting)         /* what the hammer or the order says is wrong           */

enum hammer_end {
#define X(name, word) HAMMER_END_##name,
    HAMMER_ENDS(X)
#undef X
        HAMMER_END_COUNT
};

const char *hammer_end_word(enum hammer_end end);
/* The code of a power action that ended so; REASON_NONE when it was done. */
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

/* What each class reads in `extra` and, behind the bar, in the args of an order:
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
    uint64_t key; /* comes back with the result */
    int64_t node_id;
    struct str node_name;
    const struct hammer_bound *hammers;
    uint32_t hammer_count;
    enum hammer_category category;
    struct str method;
    struct str args;      /* a JSON object, or empty */
    uint32_t deadline_ms; /* from now, of a reading from when it is served; 0 = a minute */
    uint32_t queue_ms;    /* of a reading: until it is served; 0 = five minutes */
    bool is_reading; /* changes nothing: it is served beside other orders of its node, and counts
                           * against readings_max and not against parallel_max */
};

struct hammer_result {
    enum hammer_end end;
    struct str text;  /* a sentence */
    struct str value; /* canonical JSON; "null" when there is none */
    bool is_unserved; /* it ended in the queue: the machine was not asked */
};

struct hammers_seams {
    void *self;
    /* Texts live for the call. Orders may be given from here; hammers_close() may not be called. */
    void (*done)(void *self, uint64_t key, const struct hammer_result *result);
    struct spawn_seam commands; /* .start NULL: processes of our own */
};

struct hammers_options {
    const char *scratch;   /* a directory of ours alone: files with secrets live there for the
                              * length of a command, and what is left of an earlier life goes  */
    const char *ssh_key;   /* NULL: an ssh hammer brings its own */
    uint32_t parallel_max; /* 0: 128 */
    uint32_t readings_max; /* 0: 64; beside those above, so that no order waits for a reading */
    uint32_t poll_ms;      /* 0: what is usual for the vendor */
};

/* NULL when memory, libcurl or the scratch directory is not to be had. */
struct hammers *hammers_open(uv_loop_t *loop, const struct hammers_options *options,
                             struct hammers_seams seams);
/* Processes are killed, connections cut. The loop must run until it has nothing left to close. */
void hammers_close(struct hammers *h);

void hammers_do(struct hammers *h, const struct hammer_order *order);
/* End it without a result. The key must be that of an order without one. */
void hammers_cancel(struct hammers *h, uint64_t key);
/* Orders without a result. */
uint32_t hammers_pending(const struct hammers *h);

/* Which hammer supplies the method: its index, or `count` when none does. Equal priorities: the
 * first of the list. */
uint32_t hammers_choose(const struct hammer_bound *list, uint32_t count,
                        enum hammer_category category, struct str method);
/* {"power":["on","off"],"run":["run"]}: what they offer together, by descending priority, each
 * method once; canonical JSON. */
struct str hammers_methods(struct arena *a, const struct hammer_bound *list, uint32_t count);
