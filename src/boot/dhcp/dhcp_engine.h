/* dhcp_engine.h - the DHCPv4 server of a boot server, without sockets.
 *
 * The caller gives packets, the boot view and the time in, and executes the actions that come out:
 * packets to send, addresses to probe by ARP, commands for the daemon, observations. All memory is
 * bounded: tables have a fixed number of entries and lose the oldest one when they are full.
 *
 * A machine is identified by the hardware address of the client (chaddr), never by a client id. A
 * known machine is one with a MAC that is in the view: it gets its own address (a reservation) and
 * nothing is written. Other machines get a lease of a pool range, which the daemon makes durable
 * before it is acknowledged.
 *
 * Addresses are numbers in host order, MACs 48-bit numbers (base/net/mac.h), times ms of a
 * monotonic clock. Call view_refresh() before the functions here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/containers/heap.h"
#include "base/mem/arena.h"
#include "base/mem/undo.h"
#include "base/prng.h"
#include "base/text/str.h"
#include "boot/dhcp/dhcp_table.h"
#include "boot/view/view.h"

enum {
    DHCP_INTERFACES_MAX = 32,
    DHCP_ADDRESSES_MAX = 16,  /* IPv4 addresses of one interface */
    DHCP_NAME_MAX = 15,       /* bytes in the name of an interface */
    DHCP_FILES_MAX = 16,      /* boot files of other architectures */
    DHCP_FILE_NAME_MAX = 64,  /* bytes in the name of a boot file */
    DHCP_OFFERS_MAX = 4096,   /* outstanding offers */
    DHCP_HOLDERS_MAX = 65536, /* reservations in use */
    DHCP_MEMORY_MAX = 4096,   /* results of ARP probes, former addresses, machines that boot */
    DHCP_PENDING_MAX = 1024,  /* requests that wait for an ARP probe or the daemon */
    DHCP_OBSERVED_MAX = 1024, /* observations that are not repeated */
    DHCP_FOREIGN_MAX = 4,     /* foreign DHCP servers of one interface */
    DHCP_PACKET_MAX = 2048,   /* bytes of a received packet */
    DHCP_SERVER_PORT = 67,
    DHCP_CLIENT_PORT = 68
};

/* ---- what comes in ---- */

struct dhcp_address {
    uint32_t address;
    uint8_t prefix;
};

struct dhcp_interface {
    uint32_t slot;   /* below DHCP_INTERFACES_MAX; chosen by the caller */
    struct str name; /* at most DHCP_NAME_MAX bytes */
    uint64_t mac;
    const struct dhcp_address *addresses; /* at most DHCP_ADDRESSES_MAX are used */
    uint32_t address_count;
    uint32_t mtu;
    bool forwards_v6; /* the host is a router of IPv6 on it: no advertisements */
};

/* The boot file of an architecture (option 93, RFC 4578) that is not x86. */
struct dhcp_file {
    uint16_t arch;
    struct str name; /* below the files of the boot server */
};

struct dhcp_setup {
    uint64_t seed;      /* of transaction ids */
    uint16_t http_port; /* of boot scripts and files */
    const struct dhcp_file *files;
    uint32_t file_count;
    /* A ticket (boot/script/ticket.h) for a machine, made now. Unknown machines have node 0. */
    struct str (*make_ticket)(void *self, uint64_t mac, int64_t node, int64_t generation,
                              struct arena *a);
    void *self;
};

/* A UDP payload that came to port 67 or, as an answer to the search for foreign servers, 68. */
struct dhcp_packet {
    uint32_t slot; /* of the interface */
    struct str bytes;
    uint32_t source;      /* IPv4 source address */
    uint32_t destination; /* IPv4 destination address; decides between renewing and rebinding */
    uint32_t local;       /* the address of ours that replies to the sender have (ipi_spec_dst of
                             IP_PKTINFO): server identifier for machines behind a relay */
    int64_t now_ms;
};

/* ---- what goes out ---- */

enum dhcp_action_kind {
    DHCP_SEND,      /* a DHCP packet */
    DHCP_ADVERTISE, /* an ICMPv6 packet; the kernel computes the checksum */
    DHCP_PROBE,     /* is there a host with the address? answered by dhcp_probed() */
    DHCP_TAKE,      /* LEASE_TAKE in the daemon; answered by dhcp_taken() */
    DHCP_RELEASE,   /* LEASE_RELEASE: address, mac */
    DHCP_DECLINE,   /* LEASE_DECLINE: range, address, mac */
    DHCP_OBSERVE,   /* something that the operator should know */
    DHCP_ACTION_COUNT
};

/* How a DHCP packet leaves. */
enum dhcp_to {
    DHCP_TO_ADDRESS,   /* an ordinary UDP packet to the address */
    DHCP_TO_BROADCAST, /* to 255.255.255.255 on the interface */
    DHCP_TO_HARDWARE   /* to the address with the MAC of the client, which does not answer ARP yet:
                          needs a packet socket */
};

/* Observations: identifier, name in messages. What is set besides the interface is in brackets. */
/* clang-format off */
#define DHCP_OBSERVATIONS(O)                                                                       \
    O(FOREIGN_SERVER, "foreign-server")             /* [address, other_mac] of another server */   \
    O(FOREIGN_SERVER_GONE, "foreign-server-gone")   /* [address] no answer in three probes */      \
    O(RESERVATION_IN_USE, "reservation-in-use")     /* [mac, node, address, other_mac] another */  \
                                                    /* MAC of the node has the address */          \
    O(NO_RESERVATION, "no-reservation")             /* [mac, node] known, but without address */   \
                                                    /* on this segment */                          \
    O(RESERVATION_CONFLICT, "reservation-conflict") /* [mac, node, address, other_mac] another */  \
                                                    /* host answered the ARP probe */              \
    O(POOL_CONFLICT, "pool-conflict")               /* [mac, address, other_mac] the same in a */  \
                                                    /* pool; the next address is tried */          \
    O(DECLINED, "declined")                         /* [mac, node, address] by the client */       \
    O(LEASE_REFUSED, "lease-refused")               /* [mac, address] by the daemon */             \
    O(POOL_FULL, "pool-full")                       /* [mac, node] no free address */              \
    O(NO_BOOT_FILE, "no-boot-file")                 /* [mac, node, arch] no file for its type */   \
    O(UNKNOWN_BOOTENV, "unknown-bootenv")           /* [mac, node] it boots its disk */
/* clang-format on */

enum dhcp_observation {
#define O(upper, name) DHCP_OBSERVED_##upper,
    DHCP_OBSERVATIONS(O)
#undef O
        DHCP_OBSERVATION_COUNT
};

struct dhcp_action {
    struct dhcp_action *next;
    enum dhcp_action_kind kind;
    uint32_t slot;    /* of the interface */
    uint32_t address; /* SEND: destination; PROBE, TAKE, RELEASE, DECLINE: of the client */
    uint64_t mac;     /* of the client */
    uint64_t token;   /* PROBE, TAKE: for the answer */
    /* SEND, ADVERTISE */
    enum dhcp_to to;
    uint16_t port;   /* destination port */
    uint32_t source; /* source address */
    struct str bytes;
    uint8_t destination6[16]; /* ADVERTISE */
    /* SEND of an OFFER or ACK to a node that boots */
    bool is_boot, is_ack;
    uint32_t offered;     /* its address */
    struct str boot_file; /* empty: none; "script": the URL of its boot script */
    /* TAKE, DECLINE */
    int64_t range;
    uint32_t lease_s; /* TAKE */
    /* OBSERVE; the fields that do not apply are 0 */
    enum dhcp_observation observation;
    int64_t node;
    uint64_t other_mac;
    uint32_t arch;
};

/* The actions of one call, in order; they and what they refer to are in the arena. */
struct dhcp_out {
    struct arena *arena;
    struct dhcp_action *first, *last;
};

/* ---- counters ---- */

/* Packets by type and result, for halligan_dhcp_packets_total{type,result}. */
/* clang-format off */
#define DHCP_TYPES(T)                                                                              \
    T(DISCOVER, "discover")                                                                        \
    T(REQUEST, "request")                                                                          \
    T(DECLINE, "decline")                                                                          \
    T(RELEASE, "release")                                                                          \
    T(INFORM, "inform")                                                                            \
    T(REPLY, "reply")               /* of another server */                                        \
    T(SOLICITATION, "solicitation") /* of a router, IPv6 */                                        \
    T(OTHER, "other")

#define DHCP_RESULTS(R)                                                                            \
    R(OFFERED, "offer")                                                                            \
    R(ACKED, "ack")                                                                                \
    R(NAKED, "nak")                                                                                \
    R(PROBING, "probing")             /* waits for the result of an ARP probe */                   \
    R(TAKING, "taking")               /* waits for the daemon */                                   \
    R(ADVERTISED, "advertised")       /* a router advertisement was sent */                        \
    R(ACCEPTED, "accepted")           /* a release, a decline, an answer to our own DISCOVER */    \
    R(MALFORMED, "malformed")                                                                      \
    R(OUTSIDE, "outside")             /* not in one of our networks */                             \
    R(NOT_SERVED, "not-served")       /* DHCP is off, starting, or left to a foreign server */     \
    R(OTHER_SERVER, "other-server")   /* names another server */                                   \
    R(NOT_ELIGIBLE, "not-eligible")   /* an unknown machine that is not answered */                \
    R(CONFLICT, "conflict")           /* another host has the reservation */                       \
    R(POOL_FULL, "pool-full")                                                                      \
    R(NO_LEASE, "no-lease")           /* concerns an address that the client does not have */      \
    R(DAEMON_AWAY, "daemon-away")     /* a new lease while the daemon is not connected */          \
    R(LIMITED, "limited")             /* more declines than are accepted */                        \
    R(IGNORED, "ignored")
/* clang-format on */

enum dhcp_type {
#define T(upper, name) DHCP_TYPE_##upper,
    DHCP_TYPES(T)
#undef T
        DHCP_TYPE_COUNT
};

enum dhcp_result {
#define R(upper, name) DHCP_RESULT_##upper,
    DHCP_RESULTS(R)
#undef R
        DHCP_RESULT_COUNT
};

const char *dhcp_type_name(enum dhcp_type type);
const char *dhcp_result_name(enum dhcp_result result);
const char *dhcp_observation_name(enum dhcp_observation observation);

/* ---- the engine ---- */

/* A segment is served after a search for foreign servers. */
enum dhcp_phase {
    DHCP_PHASE_OFF,      /* DHCP is off, or no address of the interface is in our networks */
    DHCP_PHASE_STARTING, /* the first search waits for answers; leases are renewed */
    DHCP_PHASE_SERVED,
    DHCP_PHASE_BLOCKED /* a foreign server was there before; left to it */
};

struct dhcp_foreign {
    uint32_t address; /* server identifier; 0 = free */
    uint32_t missed;  /* searches since its last answer */
};

struct dhcp_port {
    bool is_used;
    char name[DHCP_NAME_MAX];
    uint32_t name_len;
    uint64_t mac;
    struct dhcp_address addresses[DHCP_ADDRESSES_MAX];
    uint32_t address_count;
    uint32_t mtu;
    bool forwards_v6;
    enum dhcp_phase phase;
    int64_t search_ms;     /* when the next search for foreign servers is sent */
    int64_t served_ms;     /* STARTING: when it ends */
    uint32_t search_xid;   /* of the last search */
    int64_t advertised_ms; /* until then another router was observed */
    struct dhcp_foreign foreign[DHCP_FOREIGN_MAX];
};

struct dhcp {
    struct dhcp_setup setup;
    struct dhcp_file files[DHCP_FILES_MAX];
    uint32_t file_count;
    struct undo undo; /* never marked: the containers require one */
    struct heap heap;
    struct arena arena;
    struct prng prng;
    struct dhcp_port ports[DHCP_INTERFACES_MAX];
    struct dhcp_table offers;            /* MAC -> address */
    struct dhcp_table offered_addresses; /* address -> MAC */
    struct dhcp_table holders;           /* reservation -> MAC that has it */
    struct dhcp_table probes;            /* address -> result of the ARP probe */
    struct dhcp_table former;            /* MAC -> last address of a pool */
    struct dhcp_table booting;           /* MACs of machines that asked for a boot */
    struct dhcp_table observed;          /* observations that were made */
    struct dhcp_table pending;           /* MAC -> request that waits */
    uint16_t token_count;
    int64_t declines_ms; /* token bucket of declines: time up to which tokens are used */
    uint64_t counters[DHCP_TYPE_COUNT][DHCP_RESULT_COUNT];
};

/* Files beyond DHCP_FILES_MAX, and names that are too long, are ignored. */
void dhcp_init(struct dhcp *d, const struct dhcp_setup *setup);
void dhcp_fini(struct dhcp *d);

/* Add an interface, or replace what is known of it. A new one, and one whose addresses changed, is
 * served after a search for foreign servers. */
void dhcp_set_interface(struct dhcp *d, const struct dhcp_interface *interface);
void dhcp_remove_interface(struct dhcp *d, uint32_t slot);

void dhcp_receive(struct dhcp *d, const struct view *v, const struct dhcp_packet *packet,
                  struct dhcp_out *out);

/* The result of a PROBE: MAC of the host that answered, 0 if none did in time. Unknown tokens are
 * ignored, here and below. */
struct dhcp_probed {
    uint64_t token;
    uint64_t mac;
    int64_t now_ms;
};
void dhcp_probed(struct dhcp *d, const struct view *v, const struct dhcp_probed *probed,
                 struct dhcp_out *out);

/* The answer to a TAKE. AWAY: the daemon is not connected, or did not answer. */
enum dhcp_take { DHCP_TAKE_GRANTED, DHCP_TAKE_REFUSED, DHCP_TAKE_AWAY };
struct dhcp_taken {
    uint64_t token;
    enum dhcp_take take;
    int64_t now_ms;
};
void dhcp_taken(struct dhcp *d, const struct view *v, const struct dhcp_taken *taken,
                struct dhcp_out *out);

/* Do what is due: searches for foreign servers, ends of waiting requests. Call it after changes of
 * settings, networks and interfaces, and at dhcp_next_deadline(). */
void dhcp_tick(struct dhcp *d, const struct view *v, int64_t now_ms, struct dhcp_out *out);
int64_t dhcp_next_deadline(const struct dhcp *d); /* INT64_MAX = none */
