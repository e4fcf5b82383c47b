/* boot_links_private.h - what the files of daemon/boot share: boot_links.c (socket, connections,
 * notices to the core), boot_messages.c (what arrives), boot_publish.c (base images and changes),
 * boot_requests.c (leases, grants, documents). */
#pragma once

#include "boot/proto/boot_proto.h"
#include "daemon/boot/boot_links.h"
#include "daemon/boot/boot_seen.h"
#include "sys/link.h"
#include "turn/turn.h"

#define BOOT_WAITING_MAX (8u << 20) /* unsent bytes of a connection */

enum {
    BOOT_LINKS_MAX = 72,     /* connections; those without a HELLO included */
    BOOT_REQUESTS_MAX = 4096 /* that wait for the store; a power of two */
};

/* An event for the core (COMMAND_BOOT_SERVER), in the order in which it happened. */
struct boot_notice {
    struct boot_notice *next;
    int64_t node_id;
    enum boot_event event;
    int64_t turn;
    char text[BOOT_STATUS_MAX + 1];
};

struct boot_link {
    struct boot_links *all;
    uv_poll_t poll;
    struct link link;
    uint64_t id;        /* never used again */
    bool is_ending;     /* it is closed by the next pump */
    int64_t opened_ms;  /* monotonic */
    int64_t node_id;    /* 0: no HELLO yet */
    bool was_reloaded;  /* the core was loaded again since it connected */
    bool is_begun;      /* BASE was sent */
    bool is_complete;   /* SEALED was sent */
    struct boot_key at; /* the last entry of the base image that was sent */
    int64_t sent_turn, taken_turn;
    int64_t connected_ms;
    int64_t config_stamp; /* of the CONFIG that was sent; -1: none */
    uint32_t http_port;
    struct arena arena; /* of the texts of HELLO */
    struct str interfaces, version;
    char status[BOOT_STATUS_MAX + 1];
    char *counts;
    uint32_t counts_len;
    int64_t seen_dropped;
    int64_t foreign; /* address of another DHCP server on its segments; 0: none */
    char foreign_interface[24];
};

/* A request of a boot server whose command was submitted. */
struct boot_request {
    int64_t id; /* of the command; 0: free */
    uint64_t link;
    int64_t number; /* of the boot server; 0: it waits for no answer */
    enum boot_message_kind kind;
};

/* An answer that must not be sent before the store has what it was computed from. */
struct boot_held {
    struct boot_held *next;
    uint64_t link;
    int64_t turn;
    int64_t number;
    uint32_t status;
    uint32_t len;
    char body[];
};

struct boot_links {
    struct boot_links_setup setup;
    struct arena arena; /* of the strings of the setup */
    struct arena scratch;
    struct turn *turn;
    uid_t user;
    bool has_user;
    int listener; /* -1: not open */
    uv_poll_t accept;
    struct boot_link *links[BOOT_LINKS_MAX];
    uint32_t count;
    uint64_t link_ids;
    int64_t request_ids; /* used so far */
    struct boot_request requests[BOOT_REQUESTS_MAX];
    struct boot_held *held, **held_end;
    uint32_t held_count;
    struct boot_notice *notices, **notices_end;
    struct boot_seen *seen;
    int64_t warned_ms;   /* when a refused connection was logged last; 0: never */
    bool has_core;       /* `loaded` was called */
    int64_t turn_known;  /* of the newest change of the view */
    int64_t config_turn; /* the durable turn at which configurations were compared last */
    uint8_t secret[BOOT_KEY_SIZE];
    char installation[33];
};

/* ---- boot_links.c ---- */

/* Send the message soon. A connection that cannot take it is ended. */
void boot_link_send(struct boot_link *l, const struct boot_message *message);
void boot_link_end(struct boot_link *l, const char *why);
struct boot_link *boot_links_find(struct boot_links *all, uint64_t id);
/* Queue an event for the core; an acknowledgement replaces an earlier one that is still queued. */
void boot_links_notify(struct boot_links *all, int64_t node_id, enum boot_event event, int64_t turn,
                       struct str text);

/* True if such a warning was logged a short time ago. */
bool boot_links_has_warned(struct boot_links *all);
/* Send what is queued, and wait for the rest. */
void boot_link_flush(struct boot_link *l);

/* ---- boot_messages.c ---- */

/* False: the message is not legal at this point. */
bool boot_message_take(struct boot_link *l, const struct boot_message *message);

/* ---- boot_publish.c ---- */

/* Start the base image from the beginning. */
void boot_publish_begin(struct boot_link *l);
/* Send the next part of the base image, and the configuration if it has changed. */
void boot_publish_pump(struct boot_link *l);
void boot_publish_loaded(void *self, int64_t turn);
void boot_publish_changed(void *self, int64_t turn, const struct boot_change *changes,
                          uint32_t count);
/* A boot server compares its view: true if it has that of the turn. */
bool boot_publish_matches(const struct boot_link *l, const struct boot_msg_digest *digest);

/* ---- boot_requests.c ---- */

/* Submit the command of a request, or answer it. False: the message is of another kind. */
bool boot_request_take(struct boot_link *l, const struct boot_message *message);
/* Send held answers that the store has by now. */
void boot_requests_pump(struct boot_links *all);
/* The core was loaded again: held answers may be of rows that do not exist. */
void boot_requests_reset(struct boot_links *all);

/* ---- boot_key.c ---- */

/* Read or create the secret. False, after logging why, if neither is possible. */
bool boot_key_open(struct boot_links *all);
/* The key of the tickets of one boot server. */
void boot_key_derive(const struct boot_links *all, int64_t node_id, uint8_t out_key[BOOT_KEY_SIZE]);
