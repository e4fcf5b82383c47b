/* power_op.h - an order in progress, and what the drivers (classes of hammers) share.
 *
 * An operation belongs to `struct hammers`. The class of its hammer starts it once. It ends once:
 * by power_op_end() or power_op_fail(), at its deadline, by hammers_cancel(), or when the module is
 * closed. In each case stop() of the class is called, after which the class may not refer to the
 * operation. All memory of an operation is in its arena.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/json/json.h"
#include "power/hammer/hammer_ops.h"

struct http_client;
struct power_op;

struct power_op_class {
    const char *name;
    void (*start)(struct power_op *op);
    /* Releases processes, connections and files. Called exactly once, also if start() ended the
     * operation. */
    void (*stop)(struct power_op *op);
};

struct power_op {
    struct hammers *hammers;
    struct arena arena;
    struct hammer_order order;          /* its strings are in the arena */
    struct hammer_bound hammer;         /* the chosen one */
    const struct json *extra;           /* object, not NULL once started */
    const struct json *args;            /* object, not NULL once started */
    const struct power_op_class *klass; /* NULL: in the queue */
    void *job;                          /* state of the class */
    struct str observation;             /* for the message at the deadline: the last state of the */
    struct str activity;                /* machine, and what the operation has waited for since */
    int64_t deadline_ms;                /* sys_mono_ms() */
    void (*after_pause)(struct power_op *op);
    uv_timer_t deadline;
    uv_timer_t pause;
    uint32_t open_handles; /* not closed yet; at 0 the memory is freed */
    bool has_ended;
    struct power_op *next; /* in its queue */
    struct power_op **link;
};

struct spawn_ops *power_op_spawn_ops(struct power_op *op);
struct http_client *power_op_http_client(struct power_op *op);
const struct hammers_options *power_op_options(const struct power_op *op);

/* Time until the deadline, at least 0. */
int64_t power_op_left_ms(const struct power_op *op);
/* Calls `then` after that time; one pause at a time. */
void power_op_pause(struct power_op *op, int64_t ms, void (*then)(struct power_op *op));
/* Sets what the operation waits for, for the message at the deadline: "waiting for ...". */
__attribute__((format(printf, 2, 3))) void power_op_set_activity(struct power_op *op,
                                                                 const char *format, ...);
/* Sets the state of the machine that keeps the operation from ending. It is part of the message at
 * the deadline even if another request is in progress by then. */
__attribute__((format(printf, 2, 3))) void power_op_set_observation(struct power_op *op,
                                                                    const char *format, ...);
/* Clears the observation, because a newer response has arrived. */
void power_op_clear_observation(struct power_op *op);

/* Ends the operation, which may not be used afterwards. `value` NULL: JSON null. */
__attribute__((format(printf, 3, 4))) void power_op_end(struct power_op *op,
                                                        const struct json *value,
                                                        const char *format, ...);
__attribute__((format(printf, 3, 4))) void power_op_fail(struct power_op *op, enum hammer_end end,
                                                         const char *format, ...);

__attribute__((format(printf, 2, 3))) struct str power_op_format(struct power_op *op,
                                                                 const char *format, ...);
const char *power_op_z(struct power_op *op, struct str s);
/* A copy with U+FFFD in place of bytes that are not valid UTF-8 or are control characters. */
struct str power_op_clean(struct power_op *op, struct str bytes);
/* Overwrites a secret in our memory. */
void power_op_wipe(struct str secret);

/* A string in `extra` or `args`; empty if absent. False: the value is not a string, and the
 * operation has failed. */
bool power_op_text(struct power_op *op, const struct json *from, const char *key,
                   struct str *out_text);
/* The same for a whole number from 1 to `max`; 0 if absent. */
bool power_op_number(struct power_op *op, const struct json *from, const char *key, int64_t max,
                     int64_t *out_number);

/* HOST, HOST:PORT, V6 or [V6]:PORT; the port is 0 if absent. */
struct power_op_address {
    struct str host;
    int64_t port;
    bool is_v6;
};

/* False: another form. Characters with which a host could be taken for an option or a path are
 * refused, since the host becomes an argument of programs. */
bool power_op_address_parse(struct str text, struct power_op_address *out_address);
/* The endpoint of the hammer, with the port of extra.port if it has none. False: it is missing or
 * invalid, and the operation has failed. */
bool power_op_address(struct power_op *op, struct power_op_address *out_address);

/* {"stdout":...,"stderr":...,"status":...} */
struct json *power_op_output(struct power_op *op, const struct spawn_result *result);

/* The last line of a program's output, for messages; never empty. */
struct str power_op_last_line(struct power_op *op, struct str bytes);

extern const struct power_op_class ipmi_class;
extern const struct power_op_class local_class;
extern const struct power_op_class redfish_class;
extern const struct power_op_class ssh_class;
extern const struct power_op_class wol_class;
