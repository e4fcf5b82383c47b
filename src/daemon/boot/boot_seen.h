/* boot_seen.h - what boot servers reported about machines: the last events of each.
 *
 * Kept in memory only, because it explains the present: SEEN_OWN_MAX events of a machine, of
 * SEEN_MACHINES_MAX machines; the machine without an event for the longest time makes room. Events
 * of machines that are no nodes are not kept: their leases are rows.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "boot/proto/boot_proto.h"
#include "model/reason.h"

enum { SEEN_OWN_MAX = 64, SEEN_MACHINES_MAX = 20000, SEEN_DETAIL_MAX = 40 };

struct seen_event {
    int64_t wall_ms;
    int64_t server; /* node id of the boot server */
    int64_t generation;
    uint64_t mac;
    int64_t other;
    uint32_t address;
    enum boot_seen_kind kind;
    char detail[SEEN_DETAIL_MAX]; /* zero-terminated; cut if it is longer */
};

struct boot_seen;

struct boot_seen *boot_seen_new(void);
void boot_seen_free(struct boot_seen *seen); /* NULL is ignored */
/* `server`: the node of the boot server that reports. */
void boot_seen_add(struct boot_seen *seen, int64_t server, const struct boot_msg_seen *event);
/* The events of a node, oldest first; SEEN_OWN_MAX at most. */
uint32_t boot_seen_of_node(const struct boot_seen *seen, int64_t node_id,
                           struct seen_event out_events[SEEN_OWN_MAX]);
/* What the last event says about a machine that has not reported since. False: there is none of the
 * last day. */
bool boot_seen_explain(const struct boot_seen *seen, int64_t node_id, int64_t now_ms,
                       struct arena *a, struct reason *out_reason);
