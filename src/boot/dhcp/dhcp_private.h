/* dhcp_private.h - what the files of the DHCP server share. */
#pragma once

#include "boot/dhcp/dhcp_engine.h"
#include "boot/dhcp/dhcp_wire.h"

enum {
    OFFER_MS = 30000,          /* an offer is kept */
    PROBE_CLEAR_MS = 300000,   /* the address is not probed again */
    PROBE_CONFLICT_MS = 60000, /* the address is not offered */
    FORMER_MS = 86400000,      /* the last address of an unknown machine is kept */
    BOOTING_MS = 600000,       /* router advertisements for a machine that asked for a boot */
    OBSERVED_MS = 600000,      /* an observation is not repeated */
    WAIT_MS = 4000,            /* for an ARP probe or the daemon */
    SEARCH_START_MS = 4000,    /* for foreign servers, before an interface is served */
    SEARCH_MS = 300000,        /* between searches */
    SEARCH_MISSED_MAX = 3,     /* searches without an answer after which a server is gone */
    ADVERTISED_MS = 1800000,   /* another router is taken to exist */
    DECLINE_MS = 4000,         /* between declines, beyond a burst */
    DECLINE_BURST = 16,
    CANDIDATES_MAX = 4096, /* addresses of a pool that one DISCOVER examines */
};

/* Result of an ARP probe, in `value` of the table of probes. */
enum probe_result { PROBE_CLEAR = 1, PROBE_CONFLICT };

/* The segment on which the client is. */
struct dhcp_link {
    struct dhcp_address addresses[DHCP_ADDRESSES_MAX]; /* one address in each of its subnets */
    uint32_t count;
    bool is_remote; /* behind a router: a relay, or a client that renews by unicast */
};

/* What the client is, from the options 60, 77, 93 and 175. */
struct dhcp_client {
    bool is_boot; /* firmware or iPXE */
    bool is_ipxe;
    bool is_http;  /* UEFI HTTP boot */
    bool can_http; /* iPXE with HTTP */
    uint32_t arch;
};

/* The address that a client is given. */
struct dhcp_binding {
    uint32_t address;
    uint8_t prefix;
    int64_t network;  /* id */
    int64_t range;    /* id; 0 = a reservation */
    uint32_t lease_s; /* 0 = no lease: answer to an INFORM */
};

/* One packet in work. */
struct dhcp_work {
    struct dhcp *d;
    const struct view *v;
    const struct dhcp_packet *packet;
    struct dhcp_out *out;
    struct arena *a;
    int64_t now_ms;
    struct dhcp_message m;
    struct dhcp_link link;
    struct dhcp_client client;
    uint64_t mac;
    int64_t node; /* 0 = not known */
    struct boot_machine machine;
};

/* ---- dhcp_engine.c ---- */

struct dhcp_port *dhcp_port(struct dhcp *d, uint32_t slot); /* NULL if it is not used */
struct dhcp_action *dhcp_add_action(struct dhcp_out *out, enum dhcp_action_kind kind,
                                    uint32_t slot);
/* An observation about the client; NULL if the same one was made a short time ago. */
struct dhcp_action *dhcp_observe(struct dhcp_work *w, enum dhcp_observation observation,
                                 uint32_t address);
/* True if one of our interfaces has the address. */
bool dhcp_is_own_address(const struct dhcp *d, uint32_t address);
/* The outstanding offer to the client; 0 = none. */
uint32_t dhcp_offered_address(const struct dhcp_work *w);
void dhcp_keep_offer(struct dhcp_work *w, uint32_t address);
void dhcp_drop_offer(struct dhcp_work *w);
void dhcp_note_probe(struct dhcp *d, uint32_t address, enum probe_result result, int64_t now_ms);

/* ---- dhcp_link.c ---- */

uint32_t dhcp_netmask(uint8_t prefix);
/* Find the segment of the client; false if it is not one of our networks. */
bool dhcp_find_link(struct dhcp_work *w);
/* True if the segment is in the subnet of address and prefix. */
bool dhcp_link_has(const struct dhcp_link *link, uint32_t address, uint8_t prefix);
/* True if an address of the interface is in one of our networks. */
bool dhcp_port_is_ours(const struct dhcp_port *port, const struct view *v);
/* Our address that is sent to the client as the server identifier. */
uint32_t dhcp_server_address(const struct dhcp_work *w, uint32_t client_address);
const struct boot_network_settings *dhcp_network_settings(const struct view *v, int64_t network);

/* ---- dhcp_reserve.c ---- */

enum reservation { RESERVATION_NONE, RESERVATION_HERE, RESERVATION_IN_USE };
/* The reservation of a known machine on the segment, `wanted` if there are several. IN_USE:
 * another MAC of the node has it. What is in the way is observed. */
enum reservation dhcp_find_reservation(struct dhcp_work *w, uint32_t wanted,
                                       struct dhcp_binding *out);
enum dhcp_result dhcp_offer_reservation(struct dhcp_work *w, const struct dhcp_binding *binding);
enum dhcp_result dhcp_grant_reservation(struct dhcp_work *w, const struct dhcp_binding *binding);
/* True if the client has the reservation. */
bool dhcp_holds_reservation(const struct dhcp_work *w, uint32_t address);

/* ---- dhcp_pool.c ---- */

/* The live lease that the client has of the address. */
bool dhcp_find_lease(const struct dhcp_work *w, uint32_t address, struct view_lease *out);
/* True if the network answers the client although it has no reservation there. */
bool dhcp_is_eligible(const struct dhcp_work *w, int64_t network);
/* The binding of an address in a pool of the segment; false if it is in none. */
bool dhcp_pool_binding(const struct dhcp_work *w, uint32_t address, struct dhcp_binding *out);
/* True if a foreign server was found on the segment and is not accepted. */
bool dhcp_has_foreign(const struct dhcp_work *w);
enum dhcp_result dhcp_offer_pool(struct dhcp_work *w);
enum dhcp_result dhcp_request_pool(struct dhcp_work *w, uint32_t wanted);
enum dhcp_result dhcp_finish_take(struct dhcp_work *w, const struct dhcp_binding *binding,
                                  enum dhcp_take take);

/* ---- dhcp_candidates.c ---- */

/* An address of a pool of the segment that can be offered; false if there is none. */
bool dhcp_pick_candidate(const struct dhcp_work *w, struct dhcp_binding *out);
/* True if the address is in a pool that answers the client, and no other host has it. */
bool dhcp_is_candidate(const struct dhcp_work *w, uint32_t address, struct dhcp_binding *out);

/* ---- dhcp_wait.c ---- */

/* A request that waits for the result of an action. */
struct dhcp_waiting {
    enum dhcp_action_kind kind; /* PROBE or TAKE */
    struct dhcp_packet packet;
    struct dhcp_binding binding;
};

/* Keep the packet and add the action, unless the same client waits for the same already. */
void dhcp_wait(struct dhcp_work *w, enum dhcp_action_kind kind, const struct dhcp_binding *binding);
/* Remove the request of the token; false if there is none of this kind. Its packet is copied into
 * `a`. */
bool dhcp_end_wait(struct dhcp *d, enum dhcp_action_kind kind, uint64_t token, struct arena *a,
                   struct dhcp_waiting *out);
/* Remove the oldest request if its time has ended. */
bool dhcp_end_late_wait(struct dhcp *d, int64_t now_ms, struct arena *a, struct dhcp_waiting *out);

/* ---- dhcp_bootfile.c ---- */

struct dhcp_boot {
    struct str file; /* name or URL; empty = none */
    bool is_ipxe;    /* option 175 is sent */
    bool is_http;    /* option 60 is sent */
};

struct dhcp_client dhcp_identify(const struct dhcp_message *m);
/* What the client boots, from a server with the address. */
struct dhcp_boot dhcp_find_boot(struct dhcp_work *w, uint32_t server, int64_t network);

/* ---- dhcp_reply.c ---- */

/* Send an OFFER or ACK. */
void dhcp_send_reply(struct dhcp_work *w, enum dhcp_message_type type,
                     const struct dhcp_binding *binding);
void dhcp_send_nak(struct dhcp_work *w);

/* ---- dhcp_foreign.c ---- */

/* An answer to one of our searches. */
enum dhcp_result dhcp_note_reply(struct dhcp_work *w);
void dhcp_tick_port(struct dhcp *d, uint32_t slot, const struct view *v, int64_t now_ms,
                    struct dhcp_out *out);
int64_t dhcp_port_deadline(const struct dhcp_port *port);
/* True if the message is a search, of this or another boot server. */
bool dhcp_is_search(const struct dhcp_message *m);
