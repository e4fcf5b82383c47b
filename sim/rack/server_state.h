/* server_state.h - what rack_servers.c (the daemon end of connections to boot servers) and
 * rack_process.c (the processes) share. */
#pragma once

#include "base/net/ip.h"
#include "boot/dhcp/dhcp_engine.h"
#include "boot/script/boot_script.h"
#include "boot/view/view.h"
#include "sim/oracle/boot_copy.h"
#include "sim/rack/rack_private.h"

/* What the DHCP server gets back when it makes a ticket. */
struct rack_process {
    struct rack *rack;
    uint32_t admin;
};

struct rack_server {
    bool is_installed; /* the process exists */
    /* the daemon end */
    int64_t connection; /* number of the connection; 0 = none */
    bool is_begun;      /* the first part of the base image was sent */
    bool is_complete;   /* the whole base image was sent */
    bool is_reading;    /* an event that reads the next part is on its way */
    struct boot_key cursor;
    int64_t arrives_ms;  /* monotonic time at which the last message arrives */
    bool is_new;         /* to be reported to the core: the connection ... */
    bool is_lost;        /* ... that it is lost ... */
    bool has_failed;     /* ... that something cannot be served ... */
    int64_t taken, said; /* ... of the turn that was acknowledged last; and the last one it knows */
    int64_t away_ms;     /* for tests: added to the time without a connection */
    int64_t config_stamp; /* of the settings that were sent; -1 = none */
    /* the process */
    uint32_t starts; /* number of starts */
    int64_t joined;  /* number of the connection; 0 = none */
    bool has_copy;   /* a base image was complete since the process started */
    bool is_receiving;
    uint32_t history;      /* rack.history of the copy */
    struct boot_copy copy; /* for the oracle: the entries as they came */
    struct boot_copy base; /* the base image that is being received */
    struct view *view;     /* what it answers from */
    struct view *base_view;
    struct dhcp *dhcp;
    struct str config; /* documents with their lengths */
    int64_t ticks_ms;  /* monotonic time of the next event TICKS; INT64_MAX = none */
    struct rack_process self;
};

/* A question to the daemon. */
struct rack_ask {
    int64_t id;         /* its request has this id, negative */
    int64_t connection; /* over which it was sent */
    uint32_t admin;
    uint32_t starts; /* of the process that asks */
    bool is_grant;
    uint64_t mac;
    /* LEASE_TAKE */
    uint64_t token;
    uint32_t address, lease_s;
    int64_t range;
    /* GRANT_USE */
    uint32_t machine;
    int64_t seq; /* of the request of the machine */
    int64_t node_id, generation;
    char ticket_hash[65];
    struct str ticket;
    uint32_t source;
};

/* Header of a message; entries follow, each as a key, a length and its bytes. */
struct servers_message {
    int64_t loads;
    int64_t turn;
    uint64_t parts; /* what it is */
    uint32_t at;    /* offset of what follows */
};

/* What a message is. CONFIG and ANSWER have no entries. */
enum { SERVER_BASE_FIRST = 1, SERVER_BASE_LAST = 2, SERVER_CONFIG = 4, SERVER_ANSWER = 8 };

/* ---- rack_servers.c ---- */

/* By the number of its connection at either end; NULL if it has ended. */
struct rack_server *rack_server_find(struct rack *r, int64_t connection, uint32_t *out_admin);
void rack_server_say_later(struct rack *r, uint32_t admin, int64_t delay_ms);

/* ---- rack_process.c ---- */

void rack_process_start(struct rack *r, uint32_t admin);
void rack_process_stop(struct rack_server *server);
