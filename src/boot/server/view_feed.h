/* view_feed.h - keeps the boot view equal to the one of the daemon.
 *
 * Messages of the daemon are collected and applied when their turn is complete: a packet is never
 * answered from half a turn. A base image is built beside the view that is served, and replaces it
 * when it is sealed and its digest is right. Without a connection the view stays as it is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "boot/proto/boot_proto.h"
#include "boot/view/view.h"

struct feed_part;

struct view_feed {
    struct view *view;  /* the one that is served; empty at first */
    struct view *next;  /* NULL: no base image is being received */
    bool is_sealed;     /* `view` was complete once */
    int64_t turn;       /* of `view` */
    struct arena arena; /* of the parts that wait for AT or SEALED */
    struct feed_part *first, *last;
    struct arena config_arena;
    const struct str *documents; /* of the last CONFIG */
    uint32_t document_count;
    bool has_config; /* it is not applied yet */
};

enum feed_result {
    FEED_WAITS,      /* stored for later */
    FEED_APPLIED,    /* the view is that of `turn`, which is to be acknowledged */
    FEED_CONFIGURED, /* the settings have changed */
    FEED_BAD         /* the message makes no sense: end the connection */
};

void view_feed_init(struct view_feed *f);
void view_feed_fini(struct view_feed *f);
/* A connection has ended: what was not applied is dropped. */
void view_feed_reset(struct view_feed *f);
/* BASE, ENTRIES, REMOVED, AT, SEALED or CONFIG. */
enum feed_result view_feed_take(struct view_feed *f, const struct boot_message *message,
                                int64_t now_ms);
