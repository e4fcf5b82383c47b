/* power_op.h - one order while it is carried out; what the classes of this room share.
 *
 * A work belongs to `struct hammers`. It is started once, by the class of its hammer, and ended
 * once: by power_op_end() or power_op_fail(), by its deadline, or by closing. Whatever way it ends,
 * its class is told by stop(), after which nothing may refer to it. Everything it needs lies in its
 * arena.
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
    void (*start)(struct power_op *w);
    /* Let go of whatever is outside. Called exactly once, also when start() ended it. */
    void (*stop)(struct power_op *w);
};

struct power_op {
    struct hammers *hammers;
    struct arena arena;
    struct hammer_order order; /* its texts lie in the arena */
    struct hammer_bound hammer;
    const struct json *extra; /* objects, never NULL */
    const struct json *args;
    const struct power_op_class *klass; /* NULL: not started */
    void *job;                          /* of the class */
    struct str seen;                    /* for the sentence of the deadline: what it said last, */
    struct str doing;                   /* and what is being asked or waited for since */
    int64_t deadline_ms;                /* sys_mono_ms() */
    void (*paused)(struct power_op *w);
    uv_timer_t deadline;
    uv_timer_t pause;
    uint32_t open_handles;
    bool has_ended;
    struct power_op *next;
    struct power_op **link;
};

struct spawn_seam *power_op_commands(struct power_op *w);
struct http_client *power_op_web(struct power_op *w);
const struct hammers_options *power_op_options(const struct power_op *w);

int64_t power_op_left_ms(const struct power_op *w); /* 0 at the least */
/* Call `then` after that time; one at a time. */
void power_op_pause(struct power_op *w, int64_t ms, void (*then)(struct power_op *w));
/* What it is about, for the sentence at its deadline: "waiting for ...". */
__attribute__((format(printf, 2, 3))) void power_op_doing(struct power_op *w, const char *format,
                                                          ...);
/* What keeps it from its end: told at the deadline even when something is asked again by then. */
__attribute__((format(printf, 2, 3))) void power_op_seen(struct power_op *w, const char *format,
                                                         ...);
/* It said something else: what was seen before does not count any more. */
void power_op_unseen(struct power_op *w);

/* The end. Nothing may touch the work afterwards. `value` NULL: null. */
__attribute__((format(printf, 3, 4))) void power_op_end(struct power_op *w,
                                                        const struct json *value,
                                                        const char *format, ...);
__attribute__((format(printf, 3, 4))) void power_op_fail(struct power_op *w, enum hammer_end end,
                                                         const char *format, ...);

__attribute__((format(printf, 2, 3))) struct str power_op_say(struct power_op *w,
                                                              const char *format, ...);
const char *power_op_z(struct power_op *w, struct str s);
/* A copy in which bytes that are no text are U+FFFD. */
struct str power_op_clean(struct power_op *w, struct str bytes);
/* Overwrites a secret in memory of ours. */
void power_op_wipe(struct str secret);

/* A text of `extra` or `args`, empty when absent. False: it is there and no text, and the work has
 * failed with that. */
bool power_op_text(struct power_op *w, const struct json *from, const char *key,
                   struct str *out_text);
/* The same of a whole number from 1 to `max`, 0 when absent. */
bool power_op_number(struct power_op *w, const struct json *from, const char *key, int64_t max,
                     int64_t *out_number);

/* host, host:port, v6 or [v6]:port; the port is 0 when none is given. */
struct power_op_address {
    struct str host;
    int64_t port;
    bool is_v6;
};

/* False: it is none of these. Only characters that cannot be taken for an option or a path. */
bool power_op_address_parse(struct str text, struct power_op_address *out_address);
/* The endpoint of the hammer; its port may also stand in extra.port. False: it is wrong or not
 * there, and the work has failed with that. */
bool power_op_address(struct power_op *w, struct power_op_address *out_address);

/* {"stdout":...,"stderr":...,"status":...} */
struct json *power_op_output(struct power_op *w, const struct spawn_result *result);

/* What it said last, for a sentence. */
struct str power_op_last_line(struct power_op *w, struct str bytes);

extern const struct power_op_class ipmi_class;
extern const struct power_op_class local_class;
extern const struct power_op_class redfish_class;
extern const struct power_op_class ssh_class;
extern const struct power_op_class wol_class;
