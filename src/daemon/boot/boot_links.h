/* boot_links.h - the daemon's end of the connections to boot servers.
 *
 * It listens on a unix socket, sends each boot server the boot view (a base image, then the changes
 * of each durable turn) and the data of the native noderoles of its node, and turns its messages
 * into commands: acknowledged turns, leases, grants, reports. boot/proto/boot_proto.h has the
 * messages and their order.
 *
 * Everything belongs to the thread of the loop. Sending never waits: a boot server that leaves more
 * than 8 MiB unread is disconnected and gets a base image when it returns. Nothing of a peer is
 * trusted: a message that is not legal, or not its turn, ends the connection.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/buf.h"
#include "base/text/str.h"
#include "core/core.h"
#include "model/command.h"
#include "port/boot_port.h"

struct boot_links;
struct boot_seen;
struct turn;

struct boot_links_setup {
    uv_loop_t *loop;
    const char *path;      /* of the socket */
    const char *user;      /* that boot servers run as, besides root and the user of the daemon */
    const char *key_path;  /* of the secret that keys of tickets are derived from; created */
    int64_t request_first; /* its request ids are this one, which is negative, and lower ones */
    void *self;
    void (*wake)(void *self); /* requests a call of boot_links_pump() soon */
    err (*submit)(void *self, const struct command *command);
};

/* The strings are copied. After a failure, which is logged, there is none: ERR_IO. */
NODISCARD err boot_links_open(const struct boot_links_setup *setup, struct boot_links **out_links);
/* Close all connections; memory is freed while the loop is run to its end. NULL is ignored. */
void boot_links_close(struct boot_links *all);
/* The port for the turn; the turn itself is set when it exists. */
struct boot_port boot_links_port(struct boot_links *all);
void boot_links_set_turn(struct boot_links *all, struct turn *turn);
/* Send what is ready and submit what waits. True: a command was submitted. */
bool boot_links_pump(struct boot_links *all);
/* The outcome of a command that was submitted with this request id; NULL if it is not in the
 * store. */
void boot_links_on_result(struct boot_links *all, int64_t request, const struct outcome *outcome);

/* What boot servers reported about machines. */
const struct boot_seen *boot_links_seen(const struct boot_links *all);

/* One connected boot server, for status and metrics. */
struct boot_link_state {
    int64_t node_id;
    struct str interfaces; /* with commas between them */
    struct str version;
    struct str status; /* what it cannot serve; empty: nothing */
    uint32_t http_port;
    int64_t sent_turn, taken_turn;
    int64_t connected_ms; /* wall clock */
    uint64_t waiting;     /* unsent bytes */
    struct str counts;    /* its metrics (boot_count_next) */
    int64_t seen_dropped; /* reports that it did not send */
    int64_t foreign;      /* address of another DHCP server on its segments; 0: none */
    struct str foreign_interface;
};
/* The next one after `after` (a node id, 0 to begin), by node id; false at the end. */
bool boot_links_next(const struct boot_links *all, int64_t after, struct arena *a,
                     struct boot_link_state *out);
/* Append the metrics of all connected boot servers (base/text/prom_metrics.h). */
void boot_links_metrics(const struct boot_links *all, struct buf *out);
